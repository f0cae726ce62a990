/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * runtime.c - the runtime in force: none yet, a world of one that was made at
 * the first use, or what jd_initialize() made.
 */
#include "runtime/process/runtime.h"
#include "base/forked.h"
#include "base/text.h"
#include "jd_mpi.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/coordination/preemption/preemption.h"
#include "runtime/process/exit.h"
#include "runtime/process/initialize.h"
#include "runtime/recorder/trace_file.h"

#include <pthread.h>
#include <stdatomic.h>

#define NOTIFICATION_SECONDS 0.1

static struct {
    pthread_mutex_t lock; /* held while the runtime is made or unmade */
    _Atomic(struct jd_runtime *) runtime;
    atomic_bool is_initialized;  /* by jd_initialize(), not by a first use */
    const char *first_operation; /* the first use that made a world of one */
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- reading ------------------------------------------------------------ */

static jd_status create_alone(const char *operation)
{
    struct jd_runtime *runtime;
    jd_status status = JD_OK;
    pthread_mutex_lock(&state.lock);
    if (!atomic_load(&state.runtime)) {
        status = jd__initialize_alone(operation, &runtime);
        if (status == JD_OK) {
            jd__forked_watch();
            state.first_operation = operation;
            atomic_store(&state.runtime, runtime);
        }
    }
    pthread_mutex_unlock(&state.lock);
    return status;
}

jd_status jd__runtime_get(const struct jd_runtime **ret_runtime,
                          const char *operation)
{
    jd_status status = jd__forked_check(operation);
    if (status != JD_OK)
        return status;
    struct jd_runtime *runtime = atomic_load(&state.runtime);
    if (!runtime) {
        status = create_alone(operation);
        if (status != JD_OK)
            return status;
        runtime = atomic_load(&state.runtime);
    }
    *ret_runtime = runtime;
    return JD_OK;
}

/* The runtime is looked at and not made: a job whose world has ended is not one
 * that was never begun. */
jd_status jd__runtime_check_world(uint64_t number, const char *operation,
                                  const char *thing)
{
    const struct jd_runtime *runtime = atomic_load(&state.runtime);
    jd_status status = jd__forked_check(operation);
    if (status != JD_OK || (runtime && runtime->number == number))
        return status;
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s: %s was made before jd_shutdown() ended its world; make "
                   "it again",
                   operation, thing);
}

struct jd_wait jd__runtime_wait(const struct jd_runtime *runtime,
                                const char *operation)
{
    return (struct jd_wait){
        .operation = operation,
        .timeout = jd__options_seconds(runtime->settings,
                                       JD_OPTION_COLLECTIVE_TIMEOUT),
        .notice = jd__options_seconds(runtime->settings, JD_OPTION_WAIT_NOTICE),
        .variable = "JD_COLLECTIVE_TIMEOUT",
        .topology = runtime->topology,
        .self = runtime->world.index,
    };
}

/* ---- making ------------------------------------------------------------- */

/* A program that finalises MPI itself ends jd first. Where that fails, MPI
 * would wait for ever for those that are no more. */
static int on_mpi_finalize(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    if (!jd__forked_is_child && jd__runtime_shut_down() != JD_OK)
        jd__exit_by_failed_shutdown();
    return MPI_SUCCESS;
}

static jd_status watch_mpi_finalize(void)
{
    static int keyval = MPI_KEYVAL_INVALID;
    if (keyval != MPI_KEYVAL_INVALID)
        return JD_OK;
    int code = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_mpi_finalize,
                                      &keyval, NULL);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    return jd__mpi_check(code, "MPI_Comm_set_attr", "jd_initialize");
}

static jd_status refuse_twice(void)
{
    if (atomic_load(&state.is_initialized))
        return jd_fail(JD_FAILED_PRECONDITION,
                       "jd_initialize: jd is initialised already (process %d "
                       "of %d); call jd_shutdown() before you initialise it "
                       "again",
                       jd_process_index(), jd_process_count());
    return jd_fail(JD_FAILED_PRECONDITION,
                   "jd_initialize: jd was used before it was initialised "
                   "(first by %s), as a world of one process; make "
                   "jd_initialize() the program's first call of jd",
                   state.first_operation);
}

static jd_status initialize_runtime(const struct jd_start *start)
{
    struct jd_runtime *runtime;
    if (atomic_load(&state.runtime))
        return refuse_twice();
    jd_status status = jd__exit_install(jd__runtime_shut_down);
    if (status == JD_OK)
        status = jd__initialize_job(start, &runtime);
    if (status != JD_OK)
        return status;
    if (runtime->world.has_mpi)
        status = watch_mpi_finalize();
    if (status != JD_OK) {
        jd__initialize_undo(runtime);
        return status;
    }
    jd__exit_forget();
    jd__forked_watch();
    atomic_store(&state.runtime, runtime);
    atomic_store(&state.is_initialized, true);
    return JD_OK;
}

/* A forked child may have the lock as another thread of its parent held it. */
static jd_status initialize_locked(const struct jd_start *start)
{
    jd_status status = jd__forked_check("jd_initialize");
    if (status != JD_OK)
        return status;
    pthread_mutex_lock(&state.lock);
    status = initialize_runtime(start);
    pthread_mutex_unlock(&state.lock);
    return status;
}

jd_status jd_initialize_with(const jd_options *options, size_t size)
{
    struct jd_start start = { options, size, MPI_COMM_NULL };
    return initialize_locked(&start);
}

jd_status(jd_initialize)(void)
{
    return jd_initialize_with(NULL, 0);
}

jd_status jd_initialize_on(MPI_Comm comm, const jd_options *options,
                           size_t size)
{
    struct jd_start start = { options, size, comm };
    if (comm == MPI_COMM_NULL)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_initialize_on: comm is MPI_COMM_NULL; processes "
                       "that are no members of a communicator do not call");
    return initialize_locked(&start);
}

/* Others still find the runtime while this waits for all processes, and while
 * a callback of preemption runs. */
static jd_status leave_session(const struct jd_runtime *runtime)
{
    jd_status status = jd__session_leave(
        runtime->session,
        jd__options_seconds(runtime->settings, JD_OPTION_SHUTDOWN_TIMEOUT));
    jd__preemption_stop();
    if (status == JD_UNAVAILABLE) { /* process 0 is gone: in words for all */
        jd__failure_exit_await_notification(NOTIFICATION_SECONDS);
        if (jd__failure_exit_has_begun())
            status = jd__failure_exit_check("jd_shutdown");
    }
    return jd__exit_note(status);
}

static _Thread_local int bodies;

void jd__runtime_enter_body(void)
{
    bodies++;
}

void jd__runtime_leave_body(void)
{
    bodies--;
}

static atomic_int started; /* calls that are not done */

void jd__runtime_count_started(int by)
{
    atomic_fetch_add(&started, by);
}

static jd_status check_started(void)
{
    int count = atomic_load(&started);
    if (count == 0 || jd__forked_is_child)
        return JD_OK;
    return jd_fail(JD_FAILED_PRECONDITION,
                   "jd_shutdown: %d call%s of jd_psum_start() and its like "
                   "%s not done; jd_wait() for each request comes first",
                   count, jd__text_s(count), count == 1 ? "is" : "are");
}

/* Other bodies may be in a call, and jd_shard_map() is. */
jd_status jd_shutdown(void)
{
    jd_status status = check_started();
    if (status != JD_OK)
        return status;
    if (bodies == 0)
        return jd__runtime_shut_down();
    return jd_fail(JD_FAILED_PRECONDITION,
                   "jd_shutdown: it was called in a body of jd_shard_map(), "
                   "while other bodies may be at work; return from the body, "
                   "and call it after jd_shard_map()");
}

jd_status jd__runtime_shut_down(void)
{
    jd_status status = jd__forked_check("jd_shutdown");
    if (status != JD_OK)
        return status;
    if (jd__failure_exit_is_callback()) /* other threads may be in a call */
        return jd__exit_note(jd__failure_exit_check("jd_shutdown"));
    status = check_started();
    if (status != JD_OK)
        return jd__exit_note(status);
    jd__failure_exit_await(); /* the callback of a failure uses the service */
    pthread_mutex_lock(&state.lock);
    if (atomic_load(&state.runtime))
        status = leave_session(atomic_load(&state.runtime));
    jd__trace_file_write("%s", status == JD_OK ? JD_TRACE_LEFT : jd_error_message());
    jd__trace_file_end();
    struct jd_runtime *runtime = atomic_exchange(&state.runtime, NULL);
    atomic_store(&state.is_initialized, false);
    jd__initialize_undo(runtime);
    pthread_mutex_unlock(&state.lock);
    return status;
}

/* ---- the small questions ------------------------------------------------ */

int jd_is_initialized(void)
{
    return !jd__forked_is_child && atomic_load(&state.is_initialized);
}

/* For lines of a log, beside a sentence of another call, which stays. */
static const struct jd_world *world_for(const char *operation)
{
    const struct jd_runtime *runtime;
    char *before = jd__message_take();
    jd_status status = jd__runtime_get(&runtime, operation);
    if (before)
        jd__message_put_back(before);
    return status == JD_OK ? &runtime->world : NULL;
}

int jd_process_index(void)
{
    const struct jd_world *world = world_for("jd_process_index");
    return world ? world->index : -1;
}

int jd_process_count(void)
{
    const struct jd_world *world = world_for("jd_process_count");
    return world ? world->count : -1;
}

/* A world of one gets its MPI here. */
static jd_status add_mpi(struct jd_runtime *runtime)
{
    jd_status status = JD_OK;
    pthread_mutex_lock(&state.lock);
    if (!runtime->world.has_mpi) {
        status = jd__exit_install(jd__runtime_shut_down);
        if (status == JD_OK)
            status = jd__initialize_add_mpi(runtime);
        if (status == JD_OK)
            status = watch_mpi_finalize();
    }
    pthread_mutex_unlock(&state.lock);
    return status == JD_OK ? JD_OK : jd__fail_prefix(status, "jd_mpi_comm: ");
}

MPI_Comm jd_mpi_comm(void)
{
    const struct jd_runtime *runtime;
    if (jd__runtime_get(&runtime, "jd_mpi_comm") != JD_OK)
        return MPI_COMM_NULL;
    if (!runtime->world.has_mpi &&
        add_mpi(atomic_load(&state.runtime)) != JD_OK)
        return MPI_COMM_NULL;
    return runtime->world.user_comm;
}

jd_mpi_fint jd_mpi_comm_f(void)
{
#ifdef MPI_ABI
    return MPI_Comm_toint(jd_mpi_comm());
#else
    return MPI_Comm_c2f(jd_mpi_comm());
#endif
}
