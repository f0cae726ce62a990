/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * followed.c - whom a wait is for in the end: where data is handed on from one
 * to the next, those that a process waits for may wait in the same call
 * themselves. From what all have told of their waits (Blocked) the service
 * finds those that wait for nobody in it.
 */
#include "base/ranges.h"
#include "runtime/coordination/server/service_private.h"

#include <stdlib.h>
#include <string.h>

#define MOST_FOLLOWED 256

/* Processes that were come to; of the last ones it is still to be seen whom
 * they wait for. */
struct trail {
    int processes[MOST_FOLLOWED];
    int count;
    int ends[MOST_FOLLOWED]; /* those that wait for nobody */
    int num_ends;
};

/* What a process has told of that call, since the asking one waits. A call that
 * has ended is told of no more, and one that gave up has told last. */
static const struct jd_blocked *find_wait(const struct jd_service *service,
                                          const Jd__Inquiry *inquiry,
                                          int process)
{
    double since = service->now - (double)inquiry->waited_ms / 1000;
    const struct jd_blocked *b = service->members[process].blocked;
    while (b && (b->told < since || strcmp(b->operation, inquiry->operation)))
        b = b->next;
    return b;
}

static void come_to(struct trail *trail, int process)
{
    for (int i = 0; i < trail->count; i++)
        if (trail->processes[i] == process)
            return;
    if (trail->count < MOST_FOLLOWED)
        trail->processes[trail->count++] = process;
}

static void follow(const struct jd_service *service, const Jd__Inquiry *inquiry,
                   struct trail *trail)
{
    for (size_t i = 0; i < inquiry->n_processes; i++)
        if (inquiry->processes[i] < (uint32_t)service->count)
            come_to(trail, (int)inquiry->processes[i]);
    for (int i = 0; i < trail->count; i++) {
        int process = trail->processes[i];
        const struct jd_blocked *b = find_wait(service, inquiry, process);
        if (!b || !b->count)
            trail->ends[trail->num_ends++] = process;
        for (int k = 0; b && k < b->count; k++)
            come_to(trail, b->awaited[k].process);
    }
}

void jd__followed_answer(struct jd_service *service,
                         struct jd_connection *connection,
                         const Jd__Message *message)
{
    Jd__Reply reply = JD__REPLY__INIT;
    struct trail trail = { .count = 0 };
    follow(service, message->inquiry, &trail);
    qsort(trail.ends, (size_t)trail.num_ends, sizeof(int), jd__ranges_compare);
    reply.ranges =
        jd__processes_ranges(trail.ends, trail.num_ends, &reply.n_ranges);
    jd__service_answer(service, connection, message->id, &reply);
    free(reply.ranges);
}
