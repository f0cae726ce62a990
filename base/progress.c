/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.c - what this process is doing, in a word. */
#include "base/progress.h"
#include "base/clock.h"
#include "base/last_thread.h"
#include "base/standing.h"
#include "jd_status.h"

#include <stdatomic.h>
#include <stddef.h>

/*
 * Two counters instead of a flag: with several threads inside, one that comes
 * out does not hide the others. The operation is stored before it is counted,
 * so that who reads the count first never has the name of an older one.
 */
static struct {
    _Atomic(const char *) operation;
    atomic_uint_fast64_t entered;
    atomic_uint_fast64_t left;
} state;

_Thread_local struct jd_progress_thread jd__progress_thread
    __attribute__((tls_model("initial-exec")));

const void *jd_call_site(const void *address)
{
    const void *before = jd__progress_thread.given;
    jd__progress_thread.given = address;
    return before;
}

uint64_t jd__progress_enter(const char *operation)
{
    if (jd__progress_thread.depth++ > 0)
        return 0;
    if (!jd__standing_thread.is_counted)
        jd__standing_count_thread();
    jd__last_thread_note();
    atomic_store_explicit(&state.operation, operation, memory_order_relaxed);
    return 1 +
           atomic_fetch_add_explicit(&state.entered, 1, memory_order_release);
}

bool jd__progress_leave(void)
{
    struct jd_progress_thread *thread = &jd__progress_thread;
    if (thread->depth == 0 || --thread->depth > 0)
        return false;
    if (jd__standing_thread.place)
        jd__standing_end();
    atomic_fetch_add_explicit(&state.left, 1, memory_order_release);
    return true;
}

/* What left is read first: an operation that is entered and left meanwhile
 * may count as one that is inside, never the other way round. */
static struct jd_progress read_state(void)
{
    uint64_t left = atomic_load_explicit(&state.left, memory_order_acquire);
    uint64_t entered =
        atomic_load_explicit(&state.entered, memory_order_acquire);
    return (struct jd_progress){
        .operation =
            atomic_load_explicit(&state.operation, memory_order_relaxed),
        .number = entered,
        .inside = entered != left,
    };
}

void jd__progress_sample(struct jd_progress *ret_progress)
{
    static struct jd_progress last;
    struct jd_progress now = read_state();
    bool is_same = last.since > 0 && now.operation == last.operation &&
                   now.number == last.number && now.inside == last.inside;
    now.since = is_same ? last.since : jd__clock_now();
    *ret_progress = last = now;
}
