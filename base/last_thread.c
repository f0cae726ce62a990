/* SPDX-License-Identifier: BSD-3-Clause */
/* last_thread.c - which thread of this process has called jd last. */
#include "base/last_thread.h"

#include <stdatomic.h>
#include <unistd.h>

static atomic_int last;
static _Thread_local int own __attribute__((tls_model("initial-exec")));

void jd__last_thread_note(void)
{
    if (!own)
        own = (int)gettid();
    if (atomic_load_explicit(&last, memory_order_relaxed) != own)
        atomic_store_explicit(&last, own, memory_order_relaxed);
}

int jd__last_thread(void)
{
    return atomic_load_explicit(&last, memory_order_relaxed);
}
