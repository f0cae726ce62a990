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
    int ends[MOST_FOLLOWED]; /* those that wait for no other */
    int num_ends;
    uint32_t members[2 * MOST_FOLLOWED]; /* of theirs, by twos */
    size_t num_members;
};

/* What a process has told of that call, since the asking one waits: this wait,
 * or the first older one. A call that has ended is told of no more, and one
 * that gave up has told last. */
static const struct jd_blocked *find_wait(const struct jd_service *service,
                                          const Jd__Inquiry *inquiry,
                                          const struct jd_blocked *b)
{
    double since = service->now - (double)inquiry->waited_ms / 1000;
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

/* Comes to those that the process waits for; whether there are any. A device
 * may wait for another of its own process. */
static bool go_on(const struct jd_service *service, const Jd__Inquiry *inquiry,
                  int process, struct trail *trail)
{
    bool waits = false;
    const struct jd_blocked *b = service->members[process].blocked;
    while ((b = find_wait(service, inquiry, b))) {
        for (int k = 0; k < b->count; k++) {
            waits |= b->awaited[k].process != process;
            come_to(trail, b->awaited[k].process);
        }
        b = b->next;
    }
    return waits;
}

static bool is_end(const struct trail *trail, int process)
{
    return bsearch(&process, trail->ends, (size_t)trail->num_ends, sizeof(int),
                   jd__ranges_compare);
}

static void add_member(struct trail *trail, const uint32_t *pair)
{
    for (size_t i = 0; i < trail->num_members; i += 2)
        if (trail->members[i + 1] == pair[1])
            return;
    if (trail->num_members == 2 * (size_t)MOST_FOLLOWED)
        return;
    trail->members[trail->num_members++] = pair[0];
    trail->members[trail->num_members++] = pair[1];
}

/* The members of the ends that a process waits for. A device that waits for
 * another of its own process knows best who is missing there: others wait for
 * the one that speaks for them. */
static void name_members(const struct jd_service *service,
                         const Jd__Inquiry *inquiry, int process,
                         struct trail *trail)
{
    const struct jd_blocked *b = service->members[process].blocked;
    while ((b = find_wait(service, inquiry, b))) {
        for (int k = 0; k < b->num_members; k++) {
            uint32_t other = b->members[2 * k];
            if (other < (uint32_t)service->count && is_end(trail, (int)other) &&
                (other == (uint32_t)process ||
                 !find_wait(service, inquiry, service->members[other].blocked)))
                add_member(trail, b->members + 2 * k);
        }
        b = b->next;
    }
}

static void follow_inquiry(const struct jd_service *service,
                           const Jd__Inquiry *inquiry, struct trail *trail)
{
    for (size_t i = 0; i < inquiry->n_processes; i++)
        if (inquiry->processes[i] < (uint32_t)service->count)
            come_to(trail, (int)inquiry->processes[i]);
    for (int i = 0; i < trail->count; i++) {
        int process = trail->processes[i];
        if (!go_on(service, inquiry, process, trail))
            trail->ends[trail->num_ends++] = process;
    }
    qsort(trail->ends, (size_t)trail->num_ends, sizeof(int),
          jd__ranges_compare);
}

void jd__followed_answer(struct jd_service *service,
                         struct jd_connection *connection,
                         const Jd__Message *message)
{
    Jd__Reply reply = JD__REPLY__INIT;
    struct trail trail = { .count = 0 };
    follow_inquiry(service, message->inquiry, &trail);
    for (int i = 0; i < trail.count; i++)
        name_members(service, message->inquiry, trail.processes[i], &trail);
    if (connection->member)
        name_members(service, message->inquiry, connection->member->index,
                     &trail);
    reply.members = trail.members;
    reply.n_members = trail.num_members;
    reply.ranges =
        jd__processes_ranges(trail.ends, trail.num_ends, &reply.n_ranges);
    jd__service_answer(service, connection, message->id, &reply);
    free(reply.ranges);
}
