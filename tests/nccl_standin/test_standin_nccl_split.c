/* SPDX-License-Identifier: BSD-3-Clause */
/* test_standin_nccl_split.c - communicators of the stand-in that block, split
 * off one that does not; what waits in them, and how it is let go. */
#include "ranks.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { COUNT = 8 };

#define SAYS(text)                                                             \
    ck_assert_msg(strstr(ncclGetLastError(NULL), text) != NULL, "says \"%s\"", \
                  ncclGetLastError(NULL))

/* One that shares its connections with what is split off. */
static void start_parent(struct rank *rank)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.splitShare = 1;
    ck_assert_int_eq(ncclCommInitRankConfig(&rank->comm, rank->size, rank->id,
                                            rank->rank, &config),
                     ncclInProgress);
    NCCL_OK(wait_state(rank->comm));
}

static ncclComm_t split_off(struct rank *rank)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t child;
    config.blocking = 1;
    ck_assert_int_eq(ncclCommSplit(rank->comm, 0, rank->rank, &child, &config),
                     ncclInProgress);
    NCCL_OK(wait_state(rank->comm));
    ck_assert_ptr_nonnull(child);
    return child;
}

static void *run_parent(void *arg)
{
    struct rank *rank = (struct rank *)arg;
    open_stream(rank, rank->rank);
    start_parent(rank);
    rank->body(rank);
    CUDA_OK(cudaStreamDestroy(rank->stream));
    return NULL;
}

static void run_parents(int size, void (*body)(struct rank *rank))
{
    setenv("NCCL_RUNTIME_CONNECT", "0", 1);
    run_threads(size, run_parent, body);
}

/* ---- in order ----------------------------------------------------------- */

static void sum_on(struct rank *rank, ncclComm_t comm)
{
    int host[COUNT], *device = device_memory(sizeof host);
    for (int i = 0; i < COUNT; i++)
        host[i] = rank->rank + i;
    upload(rank, device, host, sizeof host);
    NCCL_OK(ncclAllReduce(device, device, COUNT, ncclInt32, ncclSum, comm,
                          rank->stream));
    fetch(rank, host, device, sizeof host);
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(host[i],
                         rank->size * (rank->size - 1) / 2 + rank->size * i);
}

/* To the next one. */
static ncclResult_t shift_on(struct rank *rank, ncclComm_t comm, int *device)
{
    int to = (rank->rank + 1) % rank->size;
    int from = (rank->rank + rank->size - 1) % rank->size;
    NCCL_OK(ncclGroupStart());
    NCCL_OK(ncclSend(device, 1, ncclInt32, to, comm, rank->stream));
    NCCL_OK(ncclRecv(device + 1, 1, ncclInt32, from, comm, rank->stream));
    return ncclGroupEnd();
}

static void use_child(struct rank *rank)
{
    int host[] = { rank->rank, -1 }, *device = device_memory(sizeof host);
    ncclComm_t child = split_off(rank);
    sum_on(rank, child);
    upload(rank, device, host, sizeof host);
    settle(rank, shift_on(rank, rank->comm, device));
    NCCL_OK(shift_on(rank, child, device));
    fetch(rank, host, device, sizeof host);
    ck_assert_int_eq(host[1], (rank->rank + rank->size - 1) % rank->size);
    NCCL_OK(ncclCommFinalize(child));
    NCCL_OK(ncclCommDestroy(child));
    sum_on(rank, split_off(rank)); /* again; left to the process's end */
    NCCL_OK(ncclCommDestroy(rank->comm));
}

START_TEST(a_child_moves_what_its_parent_has_connected)
{
    run_parents(_i, use_child);
}
END_TEST

/* ---- what is refused ---------------------------------------------------- */

static void transfer_first(struct rank *rank)
{
    int *device = device_memory(2 * sizeof *device);
    ncclComm_t child = split_off(rank);
    ck_assert_int_eq(shift_on(rank, child, device), ncclInvalidUsage);
    SAYS("connects them, and would wait in here; make it on the communicator "
         "that this one was split off");
    NCCL_OK(ncclCommAbort(child));
    NCCL_OK(ncclCommAbort(rank->comm));
}

START_TEST(the_first_transfer_is_the_parents)
{
    run_parents(2, transfer_first);
}
END_TEST

static void sum_first(struct rank *rank)
{
    int *device = device_memory(COUNT * sizeof *device);
    ncclComm_t child = split_off(rank);
    ck_assert_int_eq(ncclAllReduce(device, device, COUNT, ncclInt32, ncclSum,
                                   child, rank->stream),
                     ncclInvalidUsage);
    SAYS("its first collective connects it");
    NCCL_OK(ncclCommAbort(child));
    NCCL_OK(ncclCommAbort(rank->comm));
}

START_TEST(nor_is_the_first_collective_late)
{
    run_threads(2, run_parent, sum_first);
}
END_TEST

static void split_otherwise(struct rank *rank)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t child;
    ck_assert_int_eq(ncclCommSplit(rank->comm, 1, rank->rank, &child, &config),
                     ncclInvalidArgument);
    ck_assert_int_eq(
        ncclCommSplit(rank->comm, 0, 1 - rank->rank, &child, &config),
        ncclInvalidArgument);
    SAYS("takes color 0 and the rank as key");
    NCCL_OK(ncclCommDestroy(rank->comm));
}

START_TEST(all_ranks_stay_as_they_are)
{
    run_parents(2, split_otherwise);
}
END_TEST

/* ---- what waits, and is let go ------------------------------------------ */

static atomic_int num_waiting;

static void await_waiting(int count)
{
    while (atomic_load(&num_waiting) < count)
        sched_yield();
}

struct letting_go {
    ncclComm_t comm;
    ncclResult_t (*how)(ncclComm_t comm);
    int count;
};

static ncclResult_t revoke_it(ncclComm_t comm)
{
    return ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT);
}

static void *let_go(void *arg)
{
    struct letting_go *it = (struct letting_go *)arg;
    await_waiting(it->count);
    NCCL_OK(it->how(it->comm));
    return NULL;
}

/* STANDIN_FAIL lets the calls of both wait. */
static void wait_in_call(struct rank *rank)
{
    int *device = device_memory(COUNT * sizeof *device);
    ncclComm_t child = split_off(rank);
    struct letting_go it = { child, revoke_it, 2 };
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, let_go, &it), 0);
    atomic_fetch_add(&num_waiting, 1);
    ck_assert_int_eq(ncclAllReduce(device, device, COUNT, ncclInt32, ncclSum,
                                   child, rank->stream),
                     ncclInternalError);
    pthread_join(thread, NULL);
    ck_assert_int_eq(ncclAllReduce(device, device, COUNT, ncclInt32, ncclSum,
                                   child, rank->stream),
                     ncclInvalidUsage);
    SAYS("the communicator is revoked");
    NCCL_OK(ncclCommAbort(child));
    NCCL_OK(ncclCommAbort(rank->comm));
}

START_TEST(a_call_that_waits_is_let_go)
{
    setenv("STANDIN_FAIL", "BLOCK:1:1,BLOCK:2:1", 1);
    run_parents(2, wait_in_call);
}
END_TEST

/* Rank 0 alone calls, so that it never ends. */
static void wait_for_ever(struct rank *rank, ncclResult_t (*how)(ncclComm_t),
                          bool is_parents)
{
    int *device = device_memory(COUNT * sizeof *device);
    ncclComm_t child = split_off(rank);
    if (rank->rank == 0) {
        NCCL_OK(ncclAllReduce(device, device, COUNT, ncclInt32, ncclSum, child,
                              rank->stream));
        ck_assert_int_eq(cudaStreamQuery(rank->stream), cudaErrorNotReady);
        NCCL_OK(how(is_parents ? rank->comm : child));
        finish(rank);
        atomic_fetch_add(&num_waiting, 1);
    }
    await_waiting(1);
    NCCL_OK(ncclCommAbort(child));
    if (rank->rank != 0 || !is_parents)
        NCCL_OK(ncclCommAbort(rank->comm));
}

static void be_revoked(struct rank *rank)
{
    wait_for_ever(rank, revoke_it, false);
}

static void be_shared(struct rank *rank)
{
    wait_for_ever(rank, ncclCommAbort, true);
}

START_TEST(what_runs_is_let_go)
{
    run_parents(2, be_revoked);
}
END_TEST

START_TEST(what_runs_ends_with_the_parent)
{
    run_parents(2, be_shared);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stand-in NCCL's splitting");
    TCase *tcase = unit_case(suite, "children");
    tcase_add_loop_test(tcase, a_child_moves_what_its_parent_has_connected, 2,
                        4);
    tcase_add_test(tcase, the_first_transfer_is_the_parents);
    tcase_add_test(tcase, nor_is_the_first_collective_late);
    tcase_add_test(tcase, all_ranks_stay_as_they_are);
    tcase_add_test(tcase, a_call_that_waits_is_let_go);
    tcase_add_test(tcase, what_runs_is_let_go);
    tcase_add_test(tcase, what_runs_ends_with_the_parent);
    return unit_main(suite);
}
