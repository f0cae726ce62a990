/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * late_calls.c - a caller's state is a number that each begin and each end
 * raise: odd in a call. While it is looked at, a bit is set, and an end that
 * finds it waits for the lock, under which all looks are.
 */
#include "collectives/cuda/late_calls.h"

#ifndef JD_LATE_LOOK_SECONDS
#define JD_LATE_LOOK_SECONDS 0.1
#endif

#define IN_CALL 1u
#define LOOKED_AT 0x80000000u

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

static void look_at_all(struct jd_looked *first)
{
    for (struct jd_looked *at = first; at; at = at->next)
        look_at((struct jd_late_caller *)at);
}

static struct jd_looker looker =
    JD_LOOKER("jd-nccl-late", JD_LATE_LOOK_SECONDS, look_at_all);

/* ---- callers ------------------------------------------------------------ */

bool jd__late_caller_add(struct jd_late_caller *caller, jd_late_look_f look,
                         void *arg)
{
    caller->look = look;
    caller->arg = arg;
    return jd__looker_add(&looker, &caller->looked);
}

void jd__late_caller_remove(struct jd_late_caller *caller)
{
    jd__looker_remove(&looker, &caller->looked);
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
    pthread_mutex_lock(&looker.lock);
    pthread_mutex_unlock(&looker.lock);
}
