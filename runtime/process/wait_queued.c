/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_queued.c - who keeps a GPU waiting. */
#include "runtime/process/wait_queued.h"
#include "base/ranges.h"
#include "runtime/recorder/queued.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* What is known of all queues together. */
struct queue_search {
    int *behind;
    int count;
    bool is_whole; /* all of each have been found, behind or not */
    const struct jd_wait_queue *first; /* in which one is behind */
    uint64_t fewest;                   /* calls of such a one there */
    uint64_t own;                      /* calls of the last queue */
};

static bool has_queued(const struct jd_queued_answer *answer, int process)
{
    for (size_t i = 0; i < answer->num_ranges; i += 2)
        if ((uint32_t)process - answer->ranges[i] < answer->ranges[i + 1])
            return true;
    return false;
}

static void look_at_queue(const struct jd_wait_queue *queue,
                          struct queue_search *search)
{
    struct jd_queued_answer answer;
    int before = search->count;
    search->own = jd__queued_calls(queue->comm, queue->member);
    if (!search->own ||
        !jd__failure_report_queued(queue->comm, search->own, &answer)) {
        search->is_whole = false;
        return;
    }
    for (int i = 0; i < queue->count; i++)
        if (!has_queued(&answer, queue->processes[i]))
            search->behind[search->count++] = queue->processes[i];
    if (search->count > before && !search->first) {
        search->first = queue;
        search->fewest = answer.fewest;
    }
    search->is_whole = search->is_whole && !answer.num_unknown;
    free(answer.ranges);
}

static char *describe_next(const struct queue_search *search)
{
    char *note = NULL,
         *call = jd__queued_describe(search->first->comm, search->first->member,
                                     search->fewest + 1);
    if (call && asprintf(&note, "; here the next is %s", call) < 0)
        note = NULL;
    free(call);
    return note;
}

static char *describe_equal(const struct queue_search *search)
{
    char *note;
    return asprintf(&note,
                    "; all of them have queued as many calls there as this "
                    "process, %" PRIu64
                    ": the calls differ (JD_CHECK_CALLS=1 compares them), or a "
                    "kernel before them does not end",
                    search->own) < 0
               ? NULL
               : note;
}

bool jd__wait_queued_find(const struct jd_wait *wait,
                          struct jd_missing *missing)
{
    int most = 0;
    struct queue_search search = { .is_whole = true };
    for (int i = 0; i < wait->num_queues; i++)
        most += wait->queues[i].count;
    search.behind = malloc(((size_t)most + 1) * sizeof *search.behind);
    if (!search.behind)
        return false;
    for (int i = 0; i < wait->num_queues; i++)
        look_at_queue(&wait->queues[i], &search);
    search.count = jd__ranges_sort(search.behind, search.count);
    for (int i = 0; i < search.count; i++)
        missing->processes[i] = search.behind[i];
    if (search.count)
        missing->count = search.count;
    missing->note = search.count      ? describe_next(&search)
                    : search.is_whole ? describe_equal(&search)
                                      : NULL;
    free(search.behind);
    return search.count > 0;
}
