/* SPDX-License-Identifier: BSD-3-Clause */
/* test_standin_nccl_failure.c - the stand-in refuses, hangs and fails where
 * NCCL does, and where STANDIN_FAIL wants it to. */
#include "ranks.h"

#include <sys/wait.h>
#include <unistd.h>

#define SAYS(text)                                                             \
    ck_assert_msg(strstr(ncclGetLastError(NULL), text) != NULL, "says \"%s\"", \
                  ncclGetLastError(NULL))

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Long after it would have been done, the stream is not. */
static void check_hangs(struct rank *rank)
{
    double end = seconds_now() + 0.05;
    while (seconds_now() < end) {
        ck_assert_int_eq(cudaStreamQuery(rank->stream), cudaErrorNotReady);
        sched_yield();
    }
}

/* ---- what hangs, until it is aborted ------------------------------------ */

/* Where all ranks of a process have got to. */
static pthread_barrier_t meeting;

/* A pipe between processes. */
static int said[2];

/* Both hang; each is aborted, and its stream can be used again. */
static void hang_and_abort(struct rank *rank)
{
    pthread_barrier_wait(&meeting);
    check_hangs(rank);
    pthread_barrier_wait(&meeting);
    NCCL_OK(ncclCommAbort(rank->comm));
    finish(rank);
}

static void *run_until_abort(void *arg)
{
    struct rank *rank = (struct rank *)arg;
    open_stream(rank, rank->rank);
    start_comm(rank);
    NCCL_OK(wait_state(rank->comm));
    rank->body(rank);
    CUDA_OK(cudaStreamDestroy(rank->stream));
    return NULL;
}

static void run_two(void (*body)(struct rank *rank))
{
    pthread_barrier_init(&meeting, NULL, 2);
    run_threads(2, run_until_abort, body);
}

static void send_to_each_other(struct rank *rank)
{
    int *memory = device_memory(64);
    int other = 1 - rank->rank;
    settle(rank,
           ncclSend(memory, 8, ncclInt32, other, rank->comm, rank->stream));
    settle(rank,
           ncclRecv(memory + 8, 8, ncclInt32, other, rank->comm, rank->stream));
    hang_and_abort(rank);
}

static void send_more_than_is_received(struct rank *rank)
{
    int *memory = device_memory(64);
    if (rank->rank == 0)
        settle(rank,
               ncclSend(memory, 9, ncclInt32, 1, rank->comm, rank->stream));
    else
        settle(rank,
               ncclRecv(memory, 8, ncclInt32, 0, rank->comm, rank->stream));
    hang_and_abort(rank);
}

static void make_unlike_calls(struct rank *rank)
{
    int *memory = device_memory(64);
    if (rank->rank == 0)
        settle(rank, ncclAllReduce(memory, memory, 8, ncclInt32, ncclSum,
                                   rank->comm, rank->stream));
    else
        settle(rank, ncclAllReduce(memory, memory, 8, ncclInt32, ncclMax,
                                   rank->comm, rank->stream));
    hang_and_abort(rank);
}

static void sum(struct rank *rank)
{
    int *memory = device_memory(64);
    settle(rank, ncclAllReduce(memory, memory, 8, ncclInt32, ncclSum,
                               rank->comm, rank->stream));
}

/* The third and fourth collectives: the second of each rank, or two of one. */
static void sum_twice(struct rank *rank)
{
    sum(rank);
    finish(rank);
    pthread_barrier_wait(&meeting);
    sum(rank);
    hang_and_abort(rank);
}

START_TEST(what_does_not_match_hangs)
{
    static void (*const bodies[])(struct rank *) = { send_to_each_other,
                                                     send_more_than_is_received,
                                                     make_unlike_calls };
    run_two(bodies[_i]);
}
END_TEST

START_TEST(the_collective_that_is_asked_to_hangs)
{
    setenv("STANDIN_FAIL", "HANG:3", 1);
    run_two(sum_twice);
}
END_TEST

static void fail_asynchronously(struct rank *rank)
{
    sum(rank);
    if (rank->rank == 0)
        finish(rank);
    pthread_barrier_wait(&meeting);
    int *memory = device_memory(64);
    ncclResult_t state = ncclSuccess;
    if (rank->rank == 0) {
        ncclResult_t result = ncclAllReduce(memory, memory, 8, ncclInt32,
                                            ncclSum, rank->comm, rank->stream);
        ck_assert(result == ncclSuccess || result == ncclInProgress);
        while (state == ncclSuccess || state == ncclInProgress)
            NCCL_OK(ncclCommGetAsyncError(rank->comm, &state));
        ck_assert_int_eq(state, ncclInternalError);
        SAYS("stand-in NCCL: rank 0: STANDIN_FAIL wants an asynchronous");
        ck_assert_int_eq(ncclAllReduce(memory, memory, 8, ncclInt32, ncclSum,
                                       rank->comm, rank->stream),
                         ncclInternalError);
        check_hangs(rank);
    }
    pthread_barrier_wait(&meeting);
    NCCL_OK(ncclCommAbort(rank->comm));
    finish(rank);
}

START_TEST(the_collective_that_is_asked_to_fails)
{
    setenv("STANDIN_FAIL", "ASYNC:3:3", 1);
    run_two(fail_asynchronously);
}
END_TEST

static void fail_at_once(struct rank *rank)
{
    int *memory = device_memory(64);
    if (rank->rank == 0) {
        ck_assert_int_eq(ncclAllGather(memory, memory, 2, ncclInt32, rank->comm,
                                       rank->stream),
                         ncclSystemError);
        SAYS("stand-in NCCL: ncclAllGather fails as STANDIN_FAIL wants it");
    }
    pthread_barrier_wait(&meeting);
    NCCL_OK(ncclCommAbort(rank->comm));
}

START_TEST(a_call_fails_that_is_asked_to)
{
    setenv("STANDIN_FAIL", "ncclAllGather:1:2", 1);
    run_two(fail_at_once);
}
END_TEST

/* ---- what is refused ---------------------------------------------------- */

/* What NCCL says last is the process's: one rank after the other. */
static void refuse_in_turn(struct rank *rank)
{
    int host[64] = { 0 };
    int *memory = device_memory(64 * sizeof(int));
    ncclComm_t comm = rank->comm;
    cudaStream_t stream = rank->stream;
    ck_assert_int_eq(
        ncclAllReduce(host, memory, 8, ncclInt32, ncclSum, comm, stream),
        ncclInvalidArgument);
    SAYS("stand-in NCCL: ncclAllReduce : sendbuff 0x");
    SAYS("is neither device memory nor pinned");
    ck_assert_int_eq(ncclAllGather(memory, memory, 33, ncclInt32, comm, stream),
                     ncclInvalidArgument);
    SAYS("recvbuff");
    ck_assert_int_eq(ncclSend(memory, 1, ncclNumTypes, 0, comm, stream),
                     ncclInvalidArgument);
    SAYS("type 12");
    ck_assert_int_eq(ncclSend(memory, 1, ncclInt8, 2, comm, stream),
                     ncclInvalidArgument);
    SAYS("rank 2 of 2");
    ck_assert_int_eq(ncclSend(memory, 1, ncclInt8, rank->rank, comm, stream),
                     ncclInvalidUsage);
    SAYS("sends 1 bytes to itself and receives 0");
    ck_assert_int_eq(ncclGroupEnd(), ncclInvalidUsage);
    SAYS("not in a group");
    CUDA_OK(cudaSetDevice(1 - rank->rank));
    int *others = device_memory(64);
    ck_assert_int_eq(
        ncclBroadcast(others, others, 1, ncclInt8, rank->rank, comm, stream),
        ncclInvalidArgument);
    SAYS("is of device");
    CUDA_OK(cudaSetDevice(rank->rank));
}

static void refuse(struct rank *rank)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    void *memory = device_memory(64);
    pthread_mutex_lock(&turn);
    refuse_in_turn(rank);
    pthread_mutex_unlock(&turn);
    pthread_barrier_wait(&meeting);
    NCCL_OK(ncclCommDestroy(rank->comm));
    pthread_barrier_wait(&meeting);
    ck_assert_int_eq(ncclSend(memory, 1, ncclInt8, 0, rank->comm, rank->stream),
                     ncclInvalidArgument);
    SAYS("was destroyed");
}

START_TEST(bad_calls_are_refused)
{
    run_two(refuse);
}
END_TEST

/* Two on one GPU. */
static ncclResult_t meet_on_one(struct rank ranks[2])
{
    ncclUniqueId id;
    set_devices(1);
    NCCL_OK(ncclGetUniqueId(&id));
    for (int i = 0; i < 2; i++) {
        ranks[i] = (struct rank){ .rank = i, .size = 2, .id = id };
        start_comm(&ranks[i]);
    }
    ncclResult_t first = wait_state(ranks[0].comm);
    ncclResult_t second = wait_state(ranks[1].comm);
    /* One may see it first, and the other only that this one left. */
    return first == ncclRemoteError ? second : first;
}

START_TEST(two_ranks_on_a_gpu_are_refused)
{
    struct rank ranks[2];
    ck_assert_int_eq(meet_on_one(ranks), ncclInvalidUsage);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(ncclCommDestroy(ranks[i].comm), ncclInvalidArgument);
        SAYS("ncclCommAbort ends it");
        NCCL_OK(ncclCommAbort(ranks[i].comm));
    }
}
END_TEST

START_TEST(two_ranks_on_a_gpu_are_allowed)
{
    struct rank ranks[2];
    setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
    ck_assert_int_eq(meet_on_one(ranks), ncclSuccess);
    for (int i = 0; i < 2; i++)
        NCCL_OK(ncclCommDestroy(ranks[i].comm));
}
END_TEST

/* Before its state is ncclSuccess a communicator takes nothing. */
START_TEST(a_communicator_in_progress_takes_no_calls)
{
    struct rank rank = { .rank = 0, .size = 2 };
    ncclResult_t state;
    set_devices(1);
    NCCL_OK(ncclGetUniqueId(&rank.id));
    open_stream(&rank, 0);
    start_comm(&rank);
    int *memory = device_memory(64);
    ck_assert_int_eq(ncclAllReduce(memory, memory, 1, ncclInt8, ncclSum,
                                   rank.comm, rank.stream),
                     ncclInvalidArgument);
    SAYS("used before the previous operation returned ncclSuccess");
    NCCL_OK(ncclCommGetAsyncError(rank.comm, &state));
    ck_assert_int_eq(state, ncclInProgress);
    NCCL_OK(ncclCommAbort(rank.comm)); /* the other never came */
}
END_TEST

/* The first collective is taken when all have called it. */
static void sum_in_turn(struct rank *rank)
{
    int *memory = device_memory(64);
    ncclResult_t state;
    if (rank->rank == 1)
        pthread_barrier_wait(&meeting);
    ncclResult_t result = ncclAllReduce(memory, memory, 8, ncclInt32, ncclSum,
                                        rank->comm, rank->stream);
    ck_assert_int_eq(result, ncclInProgress);
    if (rank->rank == 0) {
        for (int i = 0; i < 50; i++) {
            NCCL_OK(ncclCommGetAsyncError(rank->comm, &state));
            ck_assert_int_eq(state, ncclInProgress);
            usleep(1000);
        }
        pthread_barrier_wait(&meeting);
    }
    settle(rank, result);
    finish(rank);
    pthread_barrier_wait(&meeting);
    NCCL_OK(ncclCommAbort(rank->comm));
}

START_TEST(the_first_collective_waits_for_all)
{
    run_two(sum_in_turn);
}
END_TEST

/* Some ranks may have sent and received before it, and others not. */
static void sum_after_one_exchange(struct rank *rank)
{
    int *memory = device_memory(64);
    if (rank->rank == 1) {
        NCCL_OK(ncclGroupStart());
        ncclSend(memory, 8, ncclInt32, 1, rank->comm, rank->stream);
        ncclRecv(memory + 8, 8, ncclInt32, 1, rank->comm, rank->stream);
        settle(rank, ncclGroupEnd());
    }
    settle(rank, ncclAllReduce(memory, memory, 8, ncclInt32, ncclSum,
                               rank->comm, rank->stream));
    finish(rank);
    pthread_barrier_wait(&meeting);
    NCCL_OK(ncclCommAbort(rank->comm));
}

START_TEST(the_first_collective_need_not_be_the_first_call)
{
    run_two(sum_after_one_exchange);
}
END_TEST

/* ---- processes ---------------------------------------------------------- */

static bool are_apart; /* the ranks are on hosts of their own */

/* Does the same in a second process, as rank 1, which ends by itself. */
static void run_processes(void (*body)(struct rank *rank))
{
    int ids[2];
    struct rank rank = { .size = 2 };
    set_devices(2);
    ck_assert_int_eq(pipe(ids), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        rank.rank = 1;
        setenv("NCCL_HOSTID", are_apart ? "another" : "", 1);
        ck_assert(read(ids[0], &rank.id, sizeof rank.id) > 0);
    } else {
        NCCL_OK(ncclGetUniqueId(&rank.id));
        ck_assert(write(ids[1], &rank.id, sizeof rank.id) > 0);
    }
    open_stream(&rank, rank.rank);
    start_comm(&rank);
    NCCL_OK(wait_state(rank.comm));
    body(&rank);
    if (child == 0)
        _exit(0);
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

static void sum_of_processes(struct rank *rank)
{
    int mine = rank->rank + 1, *memory = device_memory(64);
    upload(rank, memory, &mine, sizeof mine);
    settle(rank, ncclAllReduce(memory, memory, 1, ncclInt32, ncclSum,
                               rank->comm, rank->stream));
    fetch(rank, &mine, memory, sizeof mine);
    ck_assert_int_eq(mine, 3);
    NCCL_OK(ncclCommDestroy(rank->comm));
}

START_TEST(ranks_may_be_processes)
{
    run_processes(sum_of_processes);
}
END_TEST

/* Rank 1 ends without a word, in the middle of what rank 0 waits for: of its
 * own host it is not heard of. */
static void die(struct rank *rank)
{
    int *memory = device_memory(64);
    ncclResult_t state = ncclInProgress; /* until it is queued */
    char byte = 0;
    sum(rank);
    finish(rank);
    if (rank->rank == 1) {
        ck_assert_int_eq(read(said[0], &byte, 1), 1);
        return;
    }
    ck_assert_int_eq(ncclAllReduce(memory, memory, 8, ncclInt32, ncclSum,
                                   rank->comm, rank->stream),
                     ncclInProgress);
    ck_assert_int_eq(write(said[1], &byte, 1), 1);
    while (state == ncclInProgress || (are_apart && state == ncclSuccess))
        NCCL_OK(ncclCommGetAsyncError(rank->comm, &state));
    check_hangs(rank);
    NCCL_OK(ncclCommGetAsyncError(rank->comm, &state));
    ck_assert_int_eq(state == ncclRemoteError, are_apart);
    NCCL_OK(ncclCommAbort(rank->comm));
    finish(rank);
}

START_TEST(a_dead_rank_of_another_host_is_a_remote_error)
{
    ck_assert_int_eq(pipe(said), 0);
    are_apart = true;
    run_processes(die);
}
END_TEST

START_TEST(a_dead_rank_of_the_same_host_is_not_heard_of)
{
    ck_assert_int_eq(pipe(said), 0);
    run_processes(die);
}
END_TEST

/* One that leaves in order is none; it waits for the other. */
static void leave(struct rank *rank)
{
    ncclResult_t state = ncclSuccess;
    char byte = 0;
    double begin;
    sum(rank);
    finish(rank);
    if (rank->rank == 0) {
        ck_assert_int_eq(read(said[0], &byte, 1), 1);
        begin = seconds_now();
        while (state == ncclSuccess && seconds_now() < begin + 0.1)
            NCCL_OK(ncclCommGetAsyncError(rank->comm, &state));
        ck_assert_int_eq(state, ncclSuccess);
        NCCL_OK(ncclCommDestroy(rank->comm));
        return;
    }
    begin = seconds_now(); /* rank 0 begins later */
    ck_assert_int_eq(write(said[1], &byte, 1), 1);
    NCCL_OK(ncclCommDestroy(rank->comm));
    ck_assert(seconds_now() >= begin + 0.05);
}

START_TEST(a_rank_that_leaves_in_order_is_no_error)
{
    ck_assert_int_eq(pipe(said), 0);
    run_processes(leave);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("stand-in NCCL's failures");
    TCase *tcase = unit_case(suite, "hanging");
    tcase_add_loop_test(tcase, what_does_not_match_hangs, 0, 3);
    tcase_add_test(tcase, the_collective_that_is_asked_to_hangs);
    tcase_add_test(tcase, the_collective_that_is_asked_to_fails);
    tcase_add_test(tcase, a_call_fails_that_is_asked_to);
    tcase = unit_case(suite, "refusing");
    tcase_add_test(tcase, bad_calls_are_refused);
    tcase_add_test(tcase, two_ranks_on_a_gpu_are_refused);
    tcase_add_test(tcase, two_ranks_on_a_gpu_are_allowed);
    tcase_add_test(tcase, a_communicator_in_progress_takes_no_calls);
    tcase_add_test(tcase, the_first_collective_waits_for_all);
    tcase_add_test(tcase, the_first_collective_need_not_be_the_first_call);
    tcase = unit_case(suite, "processes");
    tcase_add_test(tcase, ranks_may_be_processes);
    tcase_add_test(tcase, a_dead_rank_of_another_host_is_a_remote_error);
    tcase_add_test(tcase, a_dead_rank_of_the_same_host_is_not_heard_of);
    tcase_add_test(tcase, a_rank_that_leaves_in_order_is_no_error);
    return suite;
}

int main(void)
{
    return unit_main(make_suite());
}
