/* SPDX-License-Identifier: BSD-3-Clause */
/* timeline.c - when calls were, by each clock. */
#include "tools/jd-trace/timeline.h"

#include <stdlib.h>

/* When the call was over; of one that is not, when its process was. */
static int64_t end_of(const struct traced_process *process,
                      const struct traced_call *call)
{
    if (call->left)
        return call->left;
    if (call->state != JD_CALL_DONE || call->status != JD_OK)
        return process->written;
    return call->met;
}

static bool is_timed(const struct traced_process *process,
                     const struct traced_call *call)
{
    return call->came && end_of(process, call) >= call->came;
}

static int64_t end_of_own(const struct traced_process *process,
                          const struct traced_own *own)
{
    return own->end ? own->end : process->written;
}

/* The first time and the last of each clock, by the clock's number. */
struct clock_range {
    double first, last;
    bool is_known;
};

static void widen(struct clock_range *range, double time)
{
    if (!range->is_known || time < range->first)
        range->first = time;
    if (!range->is_known || time > range->last)
        range->last = time;
    range->is_known = true;
}

static void widen_by_process(struct timeline *timeline,
                             struct clock_range *range,
                             const struct traced_process *process)
{
    for (uint32_t i = 0; i < process->num_calls; i++) {
        const struct traced_call *call = &process->calls[i];
        if (is_timed(process, call)) {
            widen(range, (double)call->came);
            widen(range, (double)end_of(process, call));
        } else {
            timeline->num_untimed++;
        }
    }
}

static void widen_by_own(struct clock_range *range,
                         const struct traced_process *process)
{
    for (uint32_t i = 0; i < process->num_own; i++) {
        const struct traced_own *own = &process->own[i];
        if (!own->begin || end_of_own(process, own) < own->begin)
            continue;
        widen(range, (double)own->begin);
        widen(range, (double)end_of_own(process, own));
    }
}

static bool number_clocks(const struct traced_job *job, uint32_t *clocks,
                          int *ret_count)
{
    struct text_set seen = { .count = 0 };
    bool is_whole = true;
    for (int i = 0; is_whole && i < job->count; i++)
        is_whole = text_set_add(&seen, job->processes[i].clock, &clocks[i]);
    *ret_count = (int)seen.count;
    text_set_finish(&seen);
    return is_whole;
}

static void find_ranges(struct timeline *timeline, const uint32_t *clocks,
                        struct clock_range *ranges, int num_ranges)
{
    const struct traced_job *job = timeline->job;
    for (int i = 0; i < job->count; i++) {
        widen_by_process(timeline, &ranges[clocks[i]], &job->processes[i]);
        widen_by_own(&ranges[clocks[i]], &job->processes[i]);
    }
    for (int i = 0; i < job->count; i++)
        timeline->origins[i] = ranges[clocks[i]].first;
    for (int i = 0; i < num_ranges; i++)
        if (ranges[i].is_known &&
            ranges[i].last - ranges[i].first > timeline->length)
            timeline->length = ranges[i].last - ranges[i].first;
}

bool timeline_make(const struct traced_job *job, struct timeline *timeline)
{
    size_t room = (size_t)job->count + 2;
    uint32_t *clocks = calloc(room, sizeof *clocks);
    struct clock_range *ranges = calloc(room, sizeof *ranges);
    int count = 0;
    *timeline = (struct timeline){ .job = job };
    timeline->origins = calloc(room, sizeof *timeline->origins);
    bool is_made = clocks && ranges && timeline->origins &&
                   number_clocks(job, clocks, &count);
    if (is_made)
        find_ranges(timeline, clocks, ranges, count);
    timeline->num_clocks = traced_job_clocks(job);
    free(clocks);
    free(ranges);
    return is_made;
}

void timeline_finish(struct timeline *timeline)
{
    free(timeline->origins);
    timeline->origins = NULL;
}

struct timeline_span timeline_span(const struct timeline *timeline, int place,
                                   const struct traced_call *call)
{
    const struct traced_process *process = &timeline->job->processes[place];
    double origin = timeline->origins[place];
    struct timeline_span span = { .end = 0 };
    if (!is_timed(process, call))
        return span;
    span.begin = (double)call->came - origin;
    span.end = (double)end_of(process, call) - origin;
    span.wait_begin = span.wait_end = span.begin;
    if (call->state == JD_CALL_ENTERED || (call->status != JD_OK && !call->met))
        span.wait_end = span.end;
    else if (call->met > call->came)
        span.wait_end = (double)call->met - origin;
    if (span.wait_end > span.end)
        span.wait_end = span.end;
    return span;
}

struct timeline_span timeline_own_span(const struct timeline *timeline,
                                       int place, const struct traced_own *own)
{
    double origin = timeline->origins[place];
    int64_t end = end_of_own(&timeline->job->processes[place], own);
    struct timeline_span span = { .end = 0 };
    if (!own->begin || end < own->begin)
        return span;
    span.begin = (double)own->begin - origin;
    span.end = (double)end - origin;
    return span;
}
