/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aborting.c - the end of a communicator, on two threads: "jd-nccl-end" makes
 * NCCL's calls, and may hang in them; "jd-nccl-watch" waits for it, and says so
 * where it does.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "collectives/cuda/aborting.h"
#include "runtime/coordination/failure/failure_exit.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The NCCL that is loaded may be older; then there is no child. */
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 7)
#pragma weak ncclCommRevoke
#endif

#ifndef JD_CUDA_END_SECONDS
#define JD_CUDA_END_SECONDS 10.0
#endif
#define POLL_SECONDS 1e-3

#define NO_DEADLINE 1e9

#define OVER " over " /* how a detail begins */

/* After another exit code than 0 the others are to hear of that soon. */
#define FAILED_EXIT_SECONDS 1.0

/* For the exit handlers of jd and of CUDA, where a communicator hangs. */
#define EXIT_SECONDS JD_CUDA_END_SECONDS

struct jd_cuda_nccl_comm {
    pthread_mutex_t lock; /* around NCCL's calls; guards nccl */
    ncclComm_t nccl;      /* NULL: none, or its end has taken it */
    ncclComm_t child;     /* NCCL writes it; then the end alone */
    atomic_bool is_aborted;
    /* Guarded by the table's lock: */
    struct jd_cuda_nccl_comm *next;
    int references; /* the creator's, and one of each thread */
    bool is_ending; /* end_comm() was called */
    bool in_order;
    bool is_over;     /* NCCL's last call has returned, */
    const char *call; /* which is that; */
    double seconds;   /* it has, */
    double deadline;  /* on the clock: until then; moves when it is aborted */
    bool is_left;     /* it had not by then */
    bool waits;       /* that call is one of the child's that waits, */
    bool is_revoking; /* and is let go */
    char detail[];    /* never changes */
};

/* Of the process. */
static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    pthread_cond_t changed;
    pid_t pid; /* whose exit handler is installed */
    /* Guarded by lock: */
    struct jd_cuda_nccl_comm *first;
    int num_watched; /* threads that wait for an end */
    int num_left;    /* communicators that hang */
    bool is_exiting; /* none is ended any more: CUDA may be gone */
    int exit_code;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

static void prepare_table(void);

static void lock_table(void)
{
    pthread_once(&table.once, prepare_table);
    pthread_mutex_lock(&table.lock);
}

static void unlock_table(void)
{
    pthread_mutex_unlock(&table.lock);
}

static bool start_thread(const char *name, void *(*body)(void *), void *arg)
{
    pthread_t thread;
    return jd__thread_start_detached(name, body, arg, &thread) == 0;
}

/* ---- those there are ---------------------------------------------------- */

jd_status jd__cuda_nccl_comm_create(const char *detail, const char *operation,
                                    struct jd_cuda_nccl_comm **ret_comm)
{
    size_t length = strlen(detail) + 1;
    struct jd_cuda_nccl_comm *comm = calloc(1, sizeof *comm + length);
    if (!comm)
        return jd__fail_no_memory(operation, sizeof *comm + length);
    memcpy(comm->detail, detail, length);
    pthread_mutex_init(&comm->lock, NULL);
    comm->references = 1;
    lock_table();
    comm->next = table.first;
    table.first = comm;
    unlock_table();
    *ret_comm = comm;
    return JD_OK;
}

/* Takes it out where nobody uses it any more. */
static bool drop_reference(struct jd_cuda_nccl_comm *comm)
{
    lock_table();
    bool is_last = --comm->references == 0;
    struct jd_cuda_nccl_comm **link = &table.first;
    while (is_last && *link != comm)
        link = &(*link)->next;
    if (is_last)
        *link = comm->next;
    unlock_table();
    return is_last;
}

void jd__cuda_nccl_comm_put(struct jd_cuda_nccl_comm *comm)
{
    if (!comm || !drop_reference(comm))
        return;
    pthread_mutex_destroy(&comm->lock);
    free(comm);
}

const char *jd__cuda_nccl_comm_name(const struct jd_cuda_nccl_comm *comm)
{
    size_t length = strlen(OVER);
    return strncmp(comm->detail, OVER, length) == 0 ? comm->detail + length
                                                    : comm->detail;
}

ncclComm_t *jd__cuda_nccl_comm_child(struct jd_cuda_nccl_comm *comm)
{
    return &comm->child;
}

bool jd__cuda_nccl_comm_lock(struct jd_cuda_nccl_comm *comm)
{
    pthread_mutex_lock(&comm->lock);
    if (comm->nccl &&
        !atomic_load_explicit(&comm->is_aborted, memory_order_relaxed))
        return true;
    pthread_mutex_unlock(&comm->lock);
    return false;
}

void jd__cuda_nccl_comm_unlock(struct jd_cuda_nccl_comm *comm)
{
    pthread_mutex_unlock(&comm->lock);
}

const atomic_bool *
jd__cuda_nccl_comm_is_aborted(const struct jd_cuda_nccl_comm *comm)
{
    return &comm->is_aborted;
}

/* ---- NCCL's calls ------------------------------------------------------- */

/* Locked. */
static void set_call(struct jd_cuda_nccl_comm *comm, const char *call)
{
    bool is_patient = comm->in_order && !atomic_load(&comm->is_aborted);
    comm->call = call;
    comm->seconds = is_patient ? NO_DEADLINE : JD_CUDA_END_SECONDS;
    comm->deadline = jd__clock_now() + comm->seconds;
    pthread_cond_broadcast(&table.changed);
}

static void begin_call(struct jd_cuda_nccl_comm *comm, const char *call,
                       bool in_order)
{
    lock_table();
    comm->in_order = in_order;
    set_call(comm, call);
    unlock_table();
}

/* The child of NCCL's communicator, where it has been made. */
static ncclComm_t child_of(const struct jd_cuda_nccl_comm *comm)
{
    return __atomic_load_n(&comm->child, __ATOMIC_ACQUIRE);
}

static void revoke_child(const struct jd_cuda_nccl_comm *comm)
{
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 7)
    ncclComm_t child = child_of(comm);
    if (child)
        ncclCommRevoke(child, NCCL_REVOKE_DEFAULT);
#else
    (void)comm;
#endif
}

/* Of one that is aborted a thread may wait in a call of the child's, which has
 * the lock then. */
static void lock_to_end(struct jd_cuda_nccl_comm *comm)
{
    if (pthread_mutex_trylock(&comm->lock) == 0)
        return;
    if (atomic_load(&comm->is_aborted))
        revoke_child(comm);
    pthread_mutex_lock(&comm->lock);
}

static ncclComm_t take_nccl_comm(struct jd_cuda_nccl_comm *comm)
{
    lock_to_end(comm);
    ncclComm_t nccl = comm->nccl;
    comm->nccl = NULL;
    pthread_mutex_unlock(&comm->lock);
    return nccl;
}

/* Between these it may be let go, by the watching thread. */
static void set_waits(struct jd_cuda_nccl_comm *comm, bool waits)
{
    lock_table();
    comm->waits = waits;
    while (comm->is_revoking)
        pthread_cond_wait(&table.changed, &table.lock);
    unlock_table();
}

/* Until all that it has queued is done, and no graph has its calls. */
static bool finalize_nccl(struct jd_cuda_nccl_comm *comm, ncclComm_t nccl)
{
    struct timespec pause = jd__clock_timespec(POLL_SECONDS);
    bool waits = nccl == child_of(comm);
    if (waits)
        set_waits(comm, true);
    ncclResult_t result = ncclCommFinalize(nccl);
    if (waits)
        set_waits(comm, false);
    while (result == ncclInProgress && !atomic_load(&comm->is_aborted)) {
        nanosleep(&pause, NULL);
        if (ncclCommGetAsyncError(nccl, &result) != ncclSuccess)
            result = ncclInternalError;
    }
    return result == ncclSuccess;
}

static void end_nccl(struct jd_cuda_nccl_comm *comm, ncclComm_t nccl)
{
    bool in_order = comm->in_order && !atomic_load(&comm->is_aborted);
    if (in_order) {
        begin_call(comm, "ncclCommFinalize", true);
        in_order = finalize_nccl(comm, nccl);
    }
    begin_call(comm, in_order ? "ncclCommDestroy" : "ncclCommAbort", in_order);
    ncclResult_t result =
        in_order ? ncclCommDestroy(nccl) : ncclCommAbort(nccl);
    if (result != ncclSuccess && result != ncclInProgress)
        jd__log(JD_LOG_INFO, "NCCL's communicator%s: %s failed: %s, ignoring",
                comm->detail, comm->call, ncclGetErrorString(result));
}

/* The child first; one that is made meanwhile is there when its parent is
 * not. */
static void end_both(struct jd_cuda_nccl_comm *comm, ncclComm_t nccl)
{
    ncclComm_t child = child_of(comm);
    if (child)
        end_nccl(comm, child);
    end_nccl(comm, nccl);
    if (!child && child_of(comm))
        end_nccl(comm, child_of(comm));
    comm->child = NULL;
}

/* ---- the threads -------------------------------------------------------- */

/* Locked. */
static void finish_end(struct jd_cuda_nccl_comm *comm)
{
    comm->is_over = true;
    table.num_left -= comm->is_left;
    comm->is_left = false;
    pthread_cond_broadcast(&table.changed);
}

static void *run_end(void *arg)
{
    struct jd_cuda_nccl_comm *comm = arg;
    ncclComm_t nccl = take_nccl_comm(comm);
    if (nccl)
        end_both(comm, nccl);
    lock_table();
    finish_end(comm);
    unlock_table();
    jd__cuda_nccl_comm_put(comm);
    return NULL;
}

/* Locked: it is aborted while a call of its end waits. */
static bool lets_go(struct jd_cuda_nccl_comm *comm)
{
    if (!comm->waits || !atomic_load(&comm->is_aborted))
        return false;
    comm->waits = false;
    comm->is_revoking = true;
    unlock_table();
    revoke_child(comm);
    lock_table();
    comm->is_revoking = false;
    pthread_cond_broadcast(&table.changed);
    return true;
}

/* Locked: until it is over, or late; the deadline moves with each call. */
static void wait_for_end(struct jd_cuda_nccl_comm *comm)
{
    while (!comm->is_over && jd__clock_now() < comm->deadline) {
        if (lets_go(comm))
            continue;
        struct timespec until = jd__clock_timespec(comm->deadline);
        pthread_cond_timedwait(&table.changed, &table.lock, &until);
    }
    comm->is_left = !comm->is_over;
    table.num_left += comm->is_left;
}

static void *watch_end(void *arg)
{
    struct jd_cuda_nccl_comm *comm = arg;
    lock_table();
    wait_for_end(comm);
    bool is_left = comm->is_left;
    const char *call = comm->call;
    double seconds = comm->seconds;
    unlock_table();
    if (is_left)
        jd__log(JD_LOG_WARNING,
                "NCCL's communicator%s: %s has not returned for %.3g s, and is "
                "left behind; its GPU may stay busy until this process ends",
                comm->detail, call, seconds);
    lock_table();
    table.num_watched--;
    pthread_cond_broadcast(&table.changed);
    unlock_table();
    jd__cuda_nccl_comm_put(comm);
    return NULL;
}

/* Locked. */
static void start_end(struct jd_cuda_nccl_comm *comm)
{
    if (start_thread("jd-nccl-end", run_end, comm)) {
        comm->references++;
    } else {
        jd__log(JD_LOG_WARNING,
                "NCCL's communicator%s: the thread that ends it cannot be "
                "started, and it is left behind",
                comm->detail);
        finish_end(comm);
    }
    if (!comm->is_over && start_thread("jd-nccl-watch", watch_end, comm)) {
        comm->references++;
        table.num_watched++;
    }
}

/* Locked. Once CUDA may be gone, communicators are left as they are. */
static void end_comm(struct jd_cuda_nccl_comm *comm, bool in_order)
{
    bool is_first = !in_order && !atomic_exchange(&comm->is_aborted, true);
    if (is_first && comm->is_ending && !comm->is_over)
        set_call(comm, comm->call); /* it has a deadline from now on */
    if (comm->is_ending || table.is_exiting)
        return;
    comm->is_ending = true;
    comm->in_order = in_order;
    comm->is_over = false;
    set_call(comm, "the call that it is in");
    start_end(comm);
}

void jd__cuda_nccl_comm_end(struct jd_cuda_nccl_comm *comm, bool in_order)
{
    lock_table();
    end_comm(comm, in_order);
    unlock_table();
}

void jd__cuda_nccl_comm_set(struct jd_cuda_nccl_comm *comm, ncclComm_t nccl)
{
    pthread_mutex_lock(&comm->lock);
    comm->nccl = nccl;
    pthread_mutex_unlock(&comm->lock);
    lock_table();
    if (comm->is_ending) {
        comm->is_ending = false;
        end_comm(comm, false);
    }
    unlock_table();
}

void jd__cuda_nccl_comms_abort(void)
{
    lock_table();
    for (struct jd_cuda_nccl_comm *comm = table.first; comm; comm = comm->next)
        end_comm(comm, false);
    unlock_table();
}

/* ---- the end of the process --------------------------------------------- */

/* Locked. */
static void await_ends(double seconds)
{
    struct timespec until = jd__clock_timespec(jd__clock_now() + seconds);
    int error = 0;
    while (table.num_watched > 0 && error == 0)
        error = pthread_cond_timedwait(&table.changed, &table.lock, &until);
}

bool jd__cuda_nccl_comms_await(double seconds)
{
    lock_table();
    await_ends(seconds);
    bool is_clean = table.num_watched == 0 && table.num_left == 0;
    unlock_table();
    return is_clean;
}

/* Locked. Of ends in order, which nobody else would tell of. */
static void say_unended(void)
{
    for (const struct jd_cuda_nccl_comm *comm = table.first; comm;
         comm = comm->next)
        if (comm->is_ending && !comm->is_over && !comm->is_left &&
            comm->in_order && !atomic_load(&comm->is_aborted))
            jd__log(
                JD_LOG_WARNING,
                "NCCL's communicator%s: %s has not returned for %.3g s, and "
                "the process ends without it; a CUDA graph that has its "
                "calls is still there (cudaGraphExecDestroy() comes before "
                "jd_mesh_destroy()), or another process of this host has "
                "not destroyed the mesh",
                comm->detail, comm->call, JD_CUDA_END_SECONDS);
}

/* CUDA's own handlers may wait for what hangs. */
static void *guard_exit(void *unused)
{
    struct timespec pause = jd__clock_timespec(EXIT_SECONDS);
    (void)unused;
    while (nanosleep(&pause, &pause) != 0)
        continue;
    jd__log(JD_LOG_WARNING,
            "the exit handlers of this process have not returned within %.3g "
            "s, and a communicator of NCCL hangs: it ends with exit code %d "
            "without them",
            EXIT_SECONDS, table.exit_code);
    _exit(table.exit_code);
}

static void at_exit(int code, void *unused)
{
    (void)unused;
    if (getpid() != table.pid)
        return;
    lock_table();
    table.is_exiting = true;
    table.exit_code = code;
    await_ends(code == 0 ? JD_CUDA_END_SECONDS : FAILED_EXIT_SECONDS);
    if (code == 0)
        say_unended();
    bool hangs = table.num_watched > 0 || table.num_left > 0;
    unlock_table();
    if (hangs)
        start_thread("jd-nccl-exit", guard_exit, NULL);
}

/* Once, before the first communicator: CUDA has been used, and so the handler
 * comes before CUDA's. */
static void prepare_table(void)
{
    jd__clock_init_condition(&table.changed);
    table.pid = getpid();
    if (on_exit(at_exit, NULL) != 0)
        table.pid = 0;
    jd__failure_exit_set_hook(jd__cuda_nccl_comms_abort);
}
