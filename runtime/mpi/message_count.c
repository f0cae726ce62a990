/* SPDX-License-Identifier: BSD-3-Clause */
/* message_count.c - how many messages were sent, and have come. */
#include "runtime/mpi/message_count.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Pages of those that nothing goes to or comes from are never touched. */
struct counts {
    _Atomic uint64_t to, from;
};

static struct {
    struct counts *of;
    int processes;
} all;

jd_status jd__message_count_open(int processes)
{
    size_t count = (size_t)processes;
    free(all.of);
    all.of = calloc(count, sizeof *all.of);
    all.processes = all.of ? processes : 0;
    if (all.of)
        return JD_OK;
    return jd__fail_no_memory("jd_initialize", count * sizeof *all.of);
}

void jd__message_count_sent(int process)
{
    if (process < all.processes)
        atomic_fetch_add_explicit(&all.of[process].to, 1, memory_order_relaxed);
}

void jd__message_count_came(int process)
{
    if (process < all.processes)
        atomic_fetch_add_explicit(&all.of[process].from, 1,
                                  memory_order_relaxed);
}

uint64_t jd__message_count_to(int process)
{
    if (process < 0 || process >= all.processes)
        return 0;
    return atomic_load_explicit(&all.of[process].to, memory_order_relaxed);
}

uint64_t jd__message_count_from(int process)
{
    if (process < 0 || process >= all.processes)
        return 0;
    return atomic_load_explicit(&all.of[process].from, memory_order_relaxed);
}
