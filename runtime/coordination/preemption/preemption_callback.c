/* SPDX-License-Identifier: BSD-3-Clause */
/* preemption_callback.c - the thread that runs jd_on_preemption's callback. */
#include "runtime/coordination/preemption/preemption_callback.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CALLBACK_SECONDS 30.0

/* One thread's life; its own memory, for it may outlast a stop. */
struct worker {
    pthread_t thread;
    sigset_t mask; /* of the callback */
    /* guarded by lock: */
    bool stopped;
    bool finished;
    bool abandoned; /* it frees itself */
};

static struct {
    pthread_once_t once;
    sem_t wake;           /* stays for the process: handlers post it */
    atomic_bool is_ready; /* wake is made */
    atomic_bool is_due;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock: */
    void (*callback)(void *arg);
    void *arg;
    struct worker *worker;
} state = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static void make_ready(void)
{
    sem_init(&state.wake, 0, 0);
    jd__clock_init_condition(&state.changed);
    atomic_store(&state.is_ready, true);
}

/* ---- the thread --------------------------------------------------------- */

static void run_callback(const struct worker *worker)
{
    void (*callback)(void *arg) = state.callback;
    void *arg = state.arg;
    sigset_t blocked;
    if (!callback || !atomic_exchange(&state.is_due, false))
        return;
    pthread_mutex_unlock(&state.lock);
    pthread_sigmask(SIG_SETMASK, &worker->mask, &blocked);
    callback(arg);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    pthread_mutex_lock(&state.lock);
}

static void *run_callbacks(void *arg)
{
    struct worker *worker = arg;
    pthread_mutex_lock(&state.lock);
    while (!worker->stopped) {
        run_callback(worker);
        if (worker->stopped)
            break;
        pthread_mutex_unlock(&state.lock);
        while (sem_wait(&state.wake) != 0 && errno == EINTR)
            ;
        pthread_mutex_lock(&state.lock);
    }
    worker->finished = true;
    bool abandoned = worker->abandoned;
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.lock);
    if (abandoned)
        free(worker);
    return NULL;
}

static int start_thread(struct worker *worker)
{
    pthread_sigmask(SIG_SETMASK, NULL, &worker->mask);
    int error = jd__thread_start(&worker->thread, run_callbacks, worker);
    if (error == 0)
        pthread_setname_np(worker->thread, "jd-preemption");
    return error;
}

/* ---- from outside ------------------------------------------------------- */

/* Under the lock. */
static jd_status start_worker(void)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return jd__fail_no_memory("jd_on_preemption", sizeof *worker);
    int error = start_thread(worker);
    if (error) {
        free(worker);
        return jd_fail(JD_RESOURCE_EXHAUSTED,
                       "jd_on_preemption: no thread can be made: %s; raise "
                       "the limit of processes (ulimit -u)",
                       strerror(error));
    }
    state.worker = worker;
    return JD_OK;
}

jd_status jd__preemption_callback_set(void (*callback)(void *arg), void *arg)
{
    jd_status status = JD_OK;
    pthread_once(&state.once, make_ready);
    pthread_mutex_lock(&state.lock);
    if (callback && !state.worker)
        status = start_worker();
    if (status == JD_OK) {
        state.callback = callback;
        state.arg = arg;
    }
    pthread_mutex_unlock(&state.lock);
    if (callback && status == JD_OK)
        sem_post(&state.wake);
    return status;
}

void jd__preemption_callback_due(void)
{
    atomic_store(&state.is_due, true);
    if (atomic_load(&state.is_ready))
        sem_post(&state.wake);
}

void jd__preemption_callback_forget(void)
{
    atomic_store(&state.is_due, false);
}

/* Under the lock: true where the thread is at its end. */
static bool await_end(struct worker *worker, const struct jd_clock *clock)
{
    double until = jd__clock_read(clock) + CALLBACK_SECONDS;
    int error = 0;
    if (pthread_equal(worker->thread, pthread_self()))
        return false;
    while (!worker->finished && error == 0)
        error = jd__clock_wait(clock, &state.changed, &state.lock, until);
    return worker->finished;
}

static void warn_of_callback(void)
{
    jd__log(JD_LOG_WARNING,
            "the callback of jd_on_preemption has not returned within %g s "
            "after the end of jd began; it is left to itself",
            CALLBACK_SECONDS);
}

void jd__preemption_callback_stop(const struct jd_clock *clock)
{
    pthread_mutex_lock(&state.lock);
    struct worker *worker = state.worker;
    state.worker = NULL;
    state.callback = NULL;
    if (!worker) {
        pthread_mutex_unlock(&state.lock);
        return;
    }
    worker->stopped = true;
    sem_post(&state.wake);
    bool ended = await_end(worker, clock);
    bool is_self = pthread_equal(worker->thread, pthread_self());
    pthread_t thread = worker->thread;
    worker->abandoned = !ended;
    pthread_mutex_unlock(&state.lock);
    if (!ended) {
        pthread_detach(thread);
        if (!is_self)
            warn_of_callback();
        return;
    }
    pthread_join(thread, NULL);
    free(worker);
}
