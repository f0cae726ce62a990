/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_aborting.c - the ends of communicators, with an NCCL whose calls
 * can be made to hang, and a deadline that tests set where it is to pass. Those
 * that end the process are children.
 */
#include "base/log.h"
#include "collectives/cuda/aborting.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG = 600 }; /* seconds, for what should come */

double cuda_end_seconds = LONG;
static const double short_end = 0.3;

/* ---- an NCCL ------------------------------------------------------------ */

struct ncclComm {
    atomic_int finalized, destroyed, aborted, revoked;
    atomic_int in_progress; /* looks until it is finalised; -1: never */
    atomic_bool hangs;      /* abort, and destroy */
    atomic_bool waits;      /* finalize, until it is revoked */
    struct ncclComm *child; /* of a parent: it has to end before */
};

static bool has_ended(struct ncclComm *comm)
{
    return atomic_load(&comm->destroyed) + atomic_load(&comm->aborted) > 0;
}

static void hang(void)
{
    for (;;)
        pause();
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    atomic_fetch_add(&comm->finalized, 1);
    while (atomic_load(&comm->waits) && !atomic_load(&comm->revoked))
        sched_yield();
    if (atomic_load(&comm->waits))
        return ncclInternalError;
    return atomic_load(&comm->in_progress) ? ncclInProgress : ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result)
{
    int left = atomic_load(&comm->in_progress);
    if (left > 0)
        atomic_store(&comm->in_progress, left - 1);
    *result = left ? ncclInProgress : ncclSuccess;
    return ncclSuccess;
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags)
{
    ck_assert_int_eq(flags, NCCL_REVOKE_DEFAULT);
    ck_assert(!has_ended(comm));
    atomic_fetch_add(&comm->revoked, 1);
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    ck_assert(!comm->child || has_ended(comm->child));
    if (atomic_load(&comm->hangs))
        hang();
    atomic_fetch_add(&comm->destroyed, 1);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    ck_assert(!comm->child || has_ended(comm->child));
    if (atomic_load(&comm->hangs))
        hang();
    atomic_fetch_add(&comm->aborted, 1);
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    (void)result;
    return "an error";
}

/* ---- ends --------------------------------------------------------------- */

static void await_finalize(struct ncclComm *nccl)
{
    while (!atomic_load(&nccl->finalized))
        sched_yield();
}

static struct jd_cuda_nccl_comm *make(struct ncclComm *nccl)
{
    struct jd_cuda_nccl_comm *comm;
    UNIT_OK(jd__cuda_nccl_comm_create(" over axis \"data\"", "jd_psum", &comm));
    jd__cuda_nccl_comm_set(comm, nccl);
    return comm;
}

/* With its child. */
static struct jd_cuda_nccl_comm *make_both(struct ncclComm *parent)
{
    struct jd_cuda_nccl_comm *comm = make(parent);
    *jd__cuda_nccl_comm_child(comm) = parent->child;
    return comm;
}

static void expect(struct ncclComm *nccl, int finalized, int destroyed,
                   int aborted)
{
    ck_assert_int_eq(atomic_load(&nccl->finalized), finalized);
    ck_assert_int_eq(atomic_load(&nccl->destroyed), destroyed);
    ck_assert_int_eq(atomic_load(&nccl->aborted), aborted);
}

START_TEST(in_order)
{
    struct ncclComm nccl = { .in_progress = 3 };
    struct jd_cuda_nccl_comm *comm = make(&nccl);
    ck_assert(jd__cuda_nccl_comm_lock(comm));
    jd__cuda_nccl_comm_unlock(comm);
    jd__cuda_nccl_comm_end(comm, true);
    jd__cuda_nccl_comm_put(comm);
    ck_assert(jd__cuda_nccl_comms_await(LONG));
    expect(&nccl, 1, 1, 0);
}
END_TEST

START_TEST(aborted)
{
    struct ncclComm nccl = { .in_progress = 0 };
    struct jd_cuda_nccl_comm *comm = make(&nccl);
    ck_assert(!atomic_load(jd__cuda_nccl_comm_is_aborted(comm)));
    jd__cuda_nccl_comm_end(comm, false);
    ck_assert(atomic_load(jd__cuda_nccl_comm_is_aborted(comm)));
    ck_assert(!jd__cuda_nccl_comm_lock(comm));
    jd__cuda_nccl_comm_end(comm, false);
    jd__cuda_nccl_comm_end(comm, true);
    ck_assert(jd__cuda_nccl_comms_await(LONG));
    expect(&nccl, 0, 0, 1);
    jd__cuda_nccl_comm_put(comm);
}
END_TEST

START_TEST(without_a_communicator)
{
    struct jd_cuda_nccl_comm *comm = make(NULL);
    ck_assert(!jd__cuda_nccl_comm_lock(comm));
    jd__cuda_nccl_comm_end(comm, true);
    jd__cuda_nccl_comm_put(comm);
    jd__cuda_nccl_comm_put(NULL);
    ck_assert(jd__cuda_nccl_comms_await(LONG));
}
END_TEST

/* The job may fail while NCCL makes it. */
START_TEST(aborted_before_it_was_there)
{
    struct ncclComm nccl = { .in_progress = 0 };
    struct jd_cuda_nccl_comm *comm = make(NULL);
    jd__cuda_nccl_comms_abort();
    ck_assert(jd__cuda_nccl_comms_await(LONG));
    jd__cuda_nccl_comm_set(comm, &nccl);
    ck_assert(jd__cuda_nccl_comms_await(LONG));
    expect(&nccl, 0, 0, 1);
    ck_assert(!jd__cuda_nccl_comm_lock(comm));
    jd__cuda_nccl_comm_put(comm);
}
END_TEST

START_TEST(an_end_in_order_can_be_aborted)
{
    struct ncclComm nccl = { .in_progress = -1 };
    struct jd_cuda_nccl_comm *comm = make(&nccl);
    jd__cuda_nccl_comm_end(comm, true);
    jd__cuda_nccl_comm_end(comm, false);
    jd__cuda_nccl_comm_put(comm);
    ck_assert(jd__cuda_nccl_comms_await(LONG));
    ck_assert_int_eq(atomic_load(&nccl.aborted), 1);
    ck_assert_int_eq(atomic_load(&nccl.destroyed), 0);
}
END_TEST

/* NCCL waits for the other members of the host. */
START_TEST(an_end_in_order_has_no_deadline)
{
    struct ncclComm nccl = { .in_progress = -1 };
    struct jd_cuda_nccl_comm *comm = make(&nccl);
    cuda_end_seconds = short_end;
    jd__cuda_nccl_comm_end(comm, true);
    await_finalize(&nccl);
    ck_assert(!jd__cuda_nccl_comms_await(3 * short_end));
    expect(&nccl, 1, 0, 0);
    atomic_store(&nccl.in_progress, 0);
    ck_assert(jd__cuda_nccl_comms_await(LONG));
    expect(&nccl, 1, 1, 0);
    jd__cuda_nccl_comm_put(comm);
}
END_TEST

START_TEST(until_it_is_aborted)
{
    static struct ncclComm nccl = { .hangs = true };
    struct jd_cuda_nccl_comm *comm = make(&nccl);
    cuda_end_seconds = short_end;
    jd__cuda_nccl_comm_end(comm, true);
    await_finalize(&nccl);
    ck_assert(!jd__cuda_nccl_comms_await(3 * short_end));
    jd__cuda_nccl_comm_end(comm, false);
    ck_assert(
        !jd__cuda_nccl_comms_await(LONG)); /* Check's limit comes before */
    expect(&nccl, 1, 0, 0);
    jd__cuda_nccl_comm_put(comm);
}
END_TEST

/* ---- with a child ------------------------------------------------------- */

START_TEST(both_in_order)
{
    struct ncclComm child = { .in_progress = 0 };
    struct ncclComm parent = { .in_progress = 2, .child = &child };
    struct jd_cuda_nccl_comm *comm = make_both(&parent);
    jd__cuda_nccl_comm_end(comm, true);
    jd__cuda_nccl_comm_put(comm);
    ck_assert(jd__cuda_nccl_comms_await(LONG));
    expect(&child, 1, 1, 0);
    expect(&parent, 1, 1, 0);
}
END_TEST

START_TEST(both_aborted)
{
    struct ncclComm child = { .in_progress = 0 };
    struct ncclComm parent = { .child = &child };
    struct jd_cuda_nccl_comm *comm = make_both(&parent);
    jd__cuda_nccl_comm_end(comm, false);
    ck_assert(jd__cuda_nccl_comms_await(LONG));
    expect(&child, 0, 0, 1);
    expect(&parent, 0, 0, 1);
    jd__cuda_nccl_comm_put(comm);
}
END_TEST

/* Whoever waits in a call of the child's has the lock. */
START_TEST(who_waits_in_a_call_is_let_go)
{
    struct ncclComm child = { .in_progress = 0 };
    struct ncclComm parent = { .child = &child };
    struct jd_cuda_nccl_comm *comm = make_both(&parent);
    ck_assert(jd__cuda_nccl_comm_lock(comm));
    jd__cuda_nccl_comm_end(comm, false);
    while (!atomic_load(&child.revoked))
        sched_yield();
    ck_assert(!has_ended(&child));
    jd__cuda_nccl_comm_unlock(comm);
    ck_assert(jd__cuda_nccl_comms_await(LONG));
    expect(&child, 0, 0, 1);
    jd__cuda_nccl_comm_put(comm);
}
END_TEST

START_TEST(in_order_nobody_is)
{
    struct ncclComm child = { .in_progress = 0 };
    struct ncclComm parent = { .child = &child };
    struct jd_cuda_nccl_comm *comm = make_both(&parent);
    ck_assert(jd__cuda_nccl_comm_lock(comm));
    jd__cuda_nccl_comm_end(comm, true);
    ck_assert(!jd__cuda_nccl_comms_await(0.05));
    jd__cuda_nccl_comm_unlock(comm);
    ck_assert(jd__cuda_nccl_comms_await(LONG));
    expect(&child, 1, 1, 0);
    expect(&parent, 1, 1, 0);
    ck_assert_int_eq(atomic_load(&child.revoked), 0);
    jd__cuda_nccl_comm_put(comm);
}
END_TEST

START_TEST(an_end_that_waits_can_be_aborted)
{
    struct ncclComm child = { .waits = true };
    struct ncclComm parent = { .child = &child };
    struct jd_cuda_nccl_comm *comm = make_both(&parent);
    jd__cuda_nccl_comm_end(comm, true);
    await_finalize(&child);
    jd__cuda_nccl_comm_end(comm, false);
    ck_assert(jd__cuda_nccl_comms_await(LONG));
    expect(&child, 1, 0, 1);
    expect(&parent, 0, 0, 1);
    ck_assert_int_eq(atomic_load(&child.revoked), 1);
    jd__cuda_nccl_comm_put(comm);
}
END_TEST

/* ---- while it is used --------------------------------------------------- */

START_TEST(who_uses_it_is_waited_for)
{
    struct ncclComm nccl = { .in_progress = 0 };
    struct jd_cuda_nccl_comm *comm = make(&nccl);
    ck_assert(jd__cuda_nccl_comm_lock(comm));
    jd__cuda_nccl_comm_end(comm, false);
    ck_assert(!jd__cuda_nccl_comms_await(0.05));
    ck_assert_int_eq(atomic_load(&nccl.aborted), 0);
    jd__cuda_nccl_comm_unlock(comm);
    ck_assert(jd__cuda_nccl_comms_await(LONG));
    ck_assert_int_eq(atomic_load(&nccl.aborted), 1);
    jd__cuda_nccl_comm_put(comm);
}
END_TEST

START_TEST(all_are_aborted_at_once)
{
    enum { COUNT = 8 };
    static struct ncclComm ncclComms[COUNT];
    struct jd_cuda_nccl_comm *comms[COUNT];
    for (int i = 0; i < COUNT; i++)
        comms[i] = make(&ncclComms[i]);
    atomic_store(&ncclComms[3].hangs, true);
    cuda_end_seconds = short_end;
    jd__failure_exit_note("process 3 has failed");
    for (int i = 0; i < COUNT; i++)
        while (i != 3 && !atomic_load(&ncclComms[i].aborted))
            sched_yield();
    jd__failure_exit_reset();
    for (int i = 0; i < COUNT; i++)
        jd__cuda_nccl_comm_put(comms[i]);
    ck_assert(!jd__cuda_nccl_comms_await(LONG));
}
END_TEST

/* ---- hanging, and the end of the process -------------------------------- */

static struct ncclComm hanging = { .hangs = true };

static void abort_hanging(void)
{
    struct jd_cuda_nccl_comm *comm = make(&hanging);
    cuda_end_seconds = short_end;
    jd__cuda_nccl_comm_end(comm, false);
    jd__cuda_nccl_comm_put(comm);
}

static void exit_at_once(void)
{
    abort_hanging();
    exit(3);
}

static void exit_with_3(void)
{
    abort_hanging();
    jd__cuda_nccl_comms_await(LONG);
    exit(3);
}

static void hang_at_exit(void)
{
    atexit(hang); /* as CUDA may, whose handler comes after jd's */
    exit_with_3();
}

static struct ncclComm slow = { .in_progress = 20 };

static void check_slow(void)
{
    if (!atomic_load(&slow.destroyed))
        _exit(5);
}

static void exit_in_order(void)
{
    atexit(check_slow); /* as CUDA may, which is gone then */
    struct jd_cuda_nccl_comm *comm = make(&slow);
    jd__cuda_nccl_comm_end(comm, true);
    jd__cuda_nccl_comm_put(comm);
    exit(0);
}

/* A graph has its calls. */
static struct ncclComm endless = { .in_progress = -1 };

static void exit_before_the_end(void)
{
    struct jd_cuda_nccl_comm *comm = make(&endless);
    cuda_end_seconds = short_end;
    jd__cuda_nccl_comm_end(comm, true);
    jd__cuda_nccl_comm_put(comm);
    exit(0);
}

/* The exit code of a child, and what it has written. */
static int run_child(void (*body)(void), char *text, size_t size)
{
    int out[2], status;
    size_t length = 0;
    ck_assert_int_eq(pipe(out), 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], STDERR_FILENO);
        close(out[0]);
        close(out[1]);
        jd__log_set_identity(1, 4);
        body();
        _exit(99);
    }
    close(out[1]);
    for (ssize_t n; (n = read(out[0], text + length, size - 1 - length)) > 0;)
        length += (size_t)n;
    text[length] = '\0';
    close(out[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define LEFT                                                                   \
    " warning NCCL's communicator over axis \"data\": ncclCommAbort has not "  \
    "returned for 0.3 s, and is left behind; its GPU may stay busy until "     \
    "this process ends\n"

START_TEST(a_hanging_abort_does_not_keep_the_process)
{
    char text[4096];
    ck_assert_int_eq(run_child(exit_with_3, text, sizeof text), 3);
    ck_assert_msg(strstr(text, LEFT) != NULL, "%s", text);
    ck_assert_int_eq(run_child(exit_at_once, text, sizeof text), 3);
}
END_TEST

START_TEST(nor_does_an_exit_handler_of_cuda)
{
    char text[4096];
    ck_assert_int_eq(run_child(hang_at_exit, text, sizeof text), 3);
    ck_assert_msg(strstr(text, LEFT) != NULL, "%s", text);
    ck_assert_msg(strstr(text, "the exit handlers of this process have not "
                               "returned within 0.3 s, and a communicator of "
                               "NCCL hangs: it ends with exit code 3 without "
                               "them\n") != NULL,
                  "%s", text);
}
END_TEST

START_TEST(an_end_in_order_is_waited_for)
{
    char text[4096];
    ck_assert_int_eq(run_child(exit_in_order, text, sizeof text), 0);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(what_keeps_an_end_is_told_at_exit)
{
    char text[4096];
    ck_assert_int_eq(run_child(exit_before_the_end, text, sizeof text), 0);
    ck_assert_msg(strstr(text,
                         " warning NCCL's communicator over axis "
                         "\"data\": ncclCommFinalize has not returned "
                         "for 0.3 s, and the process ends without it; a "
                         "CUDA graph that has its calls is still there "
                         "(cudaGraphExecDestroy() comes before "
                         "jd_mesh_destroy()), or another process") != NULL,
                  "%s", text);
}
END_TEST

START_TEST(nccl_has_the_name)
{
    struct jd_cuda_nccl_comm *comm = make(NULL);
    ck_assert_str_eq(jd__cuda_nccl_comm_name(comm), "axis \"data\"");
    jd__cuda_nccl_comm_put(comm);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_aborting");
    TCase *ends = unit_case(suite, "ends");
    tcase_add_test(ends, in_order);
    tcase_add_test(ends, aborted);
    tcase_add_test(ends, without_a_communicator);
    tcase_add_test(ends, nccl_has_the_name);
    tcase_add_test(ends, aborted_before_it_was_there);
    tcase_add_test(ends, an_end_in_order_can_be_aborted);
    tcase_add_test(ends, an_end_in_order_has_no_deadline);
    tcase_add_test(ends, until_it_is_aborted);
    TCase *both = unit_case(suite, "both");
    tcase_add_test(both, both_in_order);
    tcase_add_test(both, both_aborted);
    tcase_add_test(both, who_waits_in_a_call_is_let_go);
    tcase_add_test(both, in_order_nobody_is);
    tcase_add_test(both, an_end_that_waits_can_be_aborted);
    TCase *use = unit_case(suite, "use");
    tcase_add_test(use, who_uses_it_is_waited_for);
    tcase_add_test(use, all_are_aborted_at_once);
    TCase *process = unit_case(suite, "process");
    tcase_add_test(process, a_hanging_abort_does_not_keep_the_process);
    tcase_add_test(process, nor_does_an_exit_handler_of_cuda);
    tcase_add_test(process, an_end_in_order_is_waited_for);
    tcase_add_test(process, what_keeps_an_end_is_told_at_exit);
    return unit_main(suite);
}
