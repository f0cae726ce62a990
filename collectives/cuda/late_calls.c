/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * late_calls.c - a caller's state is a number that each begin and each end
 * raise: odd in a call. While it is looked at, a bit is set, and an end that
 * finds it waits for the lock, under which all looks are.
 */
#include "collectives/cuda/late_calls.h"
#include "base/clock.h"
#include "base/thread.h"

#include <pthread.h>

#ifndef JD_LATE_LOOK_SECONDS
#define JD_LATE_LOOK_SECONDS 0.1
#endif

#define IN_CALL 1u
#define LOOKED_AT 0x80000000u

/* Of the process. */
static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    pthread_cond_t changed;
    /* Guarded by lock: */
    struct jd_late_caller *first;
    bool is_running;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

static void prepare_table(void)
{
    jd__clock_init_condition(&table.changed);
}

/* ---- looking ------------------------------------------------------------ */

/* Locked. The end of the call waits meanwhile, where it comes. */
static void look_at_call(struct jd_late_caller *caller, unsigned state)
{
    if (!atomic_compare_exchange_strong(&caller->state, &state,
                                        state | LOOKED_AT))
        return;
    bool is_first = !caller->is_looked_at;
    caller->is_looked_at = true;
    caller->look(caller->arg, is_first);
    atomic_fetch_and(&caller->state, ~LOOKED_AT);
}

/* Locked. */
static void look_at(struct jd_late_caller *caller)
{
    unsigned state = atomic_load(&caller->state);
    if (!(state & IN_CALL)) {
        caller->seen = 0;
    } else if (state != caller->seen) {
        caller->seen = state;
        caller->is_looked_at = false;
    } else {
        look_at_call(caller, state);
    }
}

static void *look_at_all(void *unused)
{
    pthread_mutex_lock(&table.lock);
    while (table.first) {
        struct timespec until =
            jd__clock_timespec(jd__clock_now() + JD_LATE_LOOK_SECONDS);
        pthread_cond_timedwait(&table.changed, &table.lock, &until);
        for (struct jd_late_caller *at = table.first; at; at = at->next)
            look_at(at);
    }
    table.is_running = false;
    pthread_mutex_unlock(&table.lock);
    return unused;
}

/* ---- callers ------------------------------------------------------------ */

/* Locked. */
static bool start_thread(void)
{
    pthread_t thread;
    if (!table.is_running)
        table.is_running = jd__thread_start_detached(
                               "jd-nccl-late", look_at_all, NULL, &thread) == 0;
    return table.is_running;
}

bool jd__late_caller_add(struct jd_late_caller *caller, jd_late_look_f look,
                         void *arg)
{
    caller->look = look;
    caller->arg = arg;
    pthread_once(&table.once, prepare_table);
    pthread_mutex_lock(&table.lock);
    caller->next = table.first;
    table.first = caller;
    bool is_running = start_thread();
    pthread_mutex_unlock(&table.lock);
    return is_running;
}

void jd__late_caller_remove(struct jd_late_caller *caller)
{
    pthread_once(&table.once, prepare_table);
    pthread_mutex_lock(&table.lock);
    struct jd_late_caller **link = &table.first;
    while (*link && *link != caller)
        link = &(*link)->next;
    if (*link)
        *link = caller->next;
    pthread_cond_broadcast(&table.changed);
    pthread_mutex_unlock(&table.lock);
}

/* Without the bit. */
static unsigned next_of(unsigned state)
{
    return ((state & ~LOOKED_AT) + 1) & ~LOOKED_AT;
}

/* Written before the call, so that a look finds what the call set. */
void jd__late_caller_begin(struct jd_late_caller *caller)
{
    unsigned state = atomic_load_explicit(&caller->state, memory_order_relaxed);
    atomic_store_explicit(&caller->state, next_of(state), memory_order_release);
}

void jd__late_caller_end(struct jd_late_caller *caller)
{
    unsigned state = atomic_load_explicit(&caller->state, memory_order_relaxed);
    if (!(atomic_exchange(&caller->state, next_of(state)) & LOOKED_AT))
        return;
    pthread_mutex_lock(&table.lock);
    pthread_mutex_unlock(&table.lock);
}
