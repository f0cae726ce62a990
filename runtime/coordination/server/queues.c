/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queues.c - how many collectives processes have queued on their GPUs, from
 * their heartbeats, by communicator. Whoever waits for a GPU asks who has not
 * queued as many; of many that wait for the same, the second and those behind
 * it get what the first was answered.
 */
#include "runtime/coordination/net/process_lists.h"
#include "runtime/coordination/server/service_private.h"
#include "runtime/recorder/queued.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_QUEUES = 64 }; /* of a process; the oldest goes */

#define FRESH_SECONDS 0.25 /* for which an answer stays */

static struct jd_told_queue *find_queue(const struct jd_service_process *member,
                                        uint64_t comm)
{
    for (int i = 0; i < member->num_queues; i++)
        if (member->queues[i].comm == comm)
            return &member->queues[i];
    return NULL;
}

static struct jd_told_queue *add_queue(struct jd_service_process *member)
{
    int count = member->num_queues;
    if (count == MOST_QUEUES) {
        member->has_more_queues = true;
        memmove(&member->queues[0], &member->queues[1],
                (MOST_QUEUES - 1) * sizeof *member->queues);
        return &member->queues[MOST_QUEUES - 1];
    }
    struct jd_told_queue *queues =
        realloc(member->queues, ((size_t)count + 1) * sizeof *queues);
    if (!queues) {
        member->has_more_queues = true;
        return NULL;
    }
    member->queues = queues;
    member->num_queues++;
    return &queues[count];
}

void jd__queues_on_heartbeat(struct jd_service_process *member,
                             const Jd__Heartbeat *heartbeat)
{
    member->has_more_queues |= heartbeat->queued_is_partial;
    for (size_t i = 0; i < heartbeat->n_queued && i < JD_QUEUED_MOST; i++) {
        const Jd__Queued *told = heartbeat->queued[i];
        struct jd_told_queue *queue = find_queue(member, told->comm);
        if (!queue)
            queue = add_queue(member);
        if (queue)
            *queue = (struct jd_told_queue){ told->comm, told->calls,
                                             told->is_over };
    }
}

/* It may have queued any number. */
static bool is_unknown(const struct jd_service_process *member,
                       const struct jd_told_queue *queue)
{
    return queue ? queue->is_over : member->has_more_queues;
}

static void find_answer(struct jd_service *service, const Jd__Inquiry *inquiry,
                        struct jd_queues_answer *answer)
{
    int *numbers = malloc((size_t)service->count * sizeof *numbers);
    int count = 0;
    free(answer->ranges);
    *answer = (struct jd_queues_answer){ .comm = inquiry->comm,
                                         .calls = inquiry->calls,
                                         .at = service->now };
    for (int i = 0; numbers && i < service->count; i++) {
        const struct jd_service_process *member = &service->members[i];
        const struct jd_told_queue *queue = find_queue(member, inquiry->comm);
        bool is = is_unknown(member, queue);
        answer->num_unknown += is;
        if (is || (queue && queue->calls >= inquiry->calls))
            numbers[count++] = i;
        else if (queue && (!answer->fewest || queue->calls < answer->fewest))
            answer->fewest = queue->calls;
    }
    answer->ranges = malloc((2 * (size_t)count + 1) * sizeof *answer->ranges);
    if (numbers && answer->ranges)
        answer->n_ranges =
            jd__process_lists_pack(numbers, (size_t)count, answer->ranges);
    answer->is_whole = numbers && answer->ranges;
    free(numbers);
}

static bool is_fresh(const struct jd_service *service,
                     const Jd__Inquiry *inquiry,
                     const struct jd_queues_answer *answer)
{
    return answer->is_whole && answer->comm == inquiry->comm &&
           answer->calls == inquiry->calls &&
           service->now - answer->at < FRESH_SECONDS;
}

const struct jd_queues_answer *jd__queues_ask(struct jd_service *service,
                                              const Jd__Inquiry *inquiry)
{
    struct jd_queues_answer *answer = &service->queues_answer;
    if (!is_fresh(service, inquiry, answer))
        find_answer(service, inquiry, answer);
    return answer;
}
