/* SPDX-License-Identifier: BSD-3-Clause */
/* alignment.c - the times of all hosts by the clock of process 0's. */
#include "tools/jd-trace/alignment.h"
#include "tools/jd-trace/clock_track.h"

#include <stdlib.h>
#include <string.h>

/* The processes of one clock while they are moved. */
struct moving {
    struct traced_job *job;
    struct aligned_clock *clock;
    struct clock_track track;
    const uint32_t *numbers; /* of each process's clock */
    uint32_t number;
    const char *name; /* the clock that they have then */
    int64_t last;     /* when the last of them was written */
};

/* ---- times -------------------------------------------------------------- */

/* A time that is not known stays so. Numbers of a file may be anything. */
static void move_time(struct moving *moving, int64_t *time)
{
    if (*time <= 0)
        return;
    struct clock_offset at = clock_track_at(&moving->track, *time);
    int64_t moved = (int64_t)((uint64_t)*time + (uint64_t)at.offset);
    *time = moved > 0 ? moved : 1;
    if (at.error > moving->clock->error)
        moving->clock->error = at.error;
}

/* Where the clock is at the end, and the end. */
static void move_end(struct moving *moving, struct traced_process *process)
{
    int64_t written = process->written;
    if (written >= moving->last) {
        moving->last = written;
        moving->clock->offset = clock_track_at(&moving->track, written).offset;
    }
    move_time(moving, &process->written);
}

static bool move_process(struct moving *moving, struct traced_process *process)
{
    char *name = strdup(moving->name);
    if (!name)
        return false;
    free(process->clock);
    process->clock = name;
    move_end(moving, process);
    for (uint32_t i = 0; i < process->num_calls; i++) {
        move_time(moving, &process->calls[i].came);
        move_time(moving, &process->calls[i].met);
        move_time(moving, &process->calls[i].left);
    }
    for (uint32_t i = 0; i < process->num_own; i++) {
        move_time(moving, &process->own[i].begin);
        move_time(moving, &process->own[i].end);
    }
    return true;
}

static bool move_processes(struct moving *moving)
{
    bool is_whole = true;
    for (int i = 0; is_whole && i < moving->job->count; i++)
        if (moving->numbers[i] == moving->number)
            is_whole = move_process(moving, &moving->job->processes[i]);
    moving->clock->jumps = moving->track.jumps;
    moving->clock->is_aligned = true;
    return is_whole;
}

/* ---- one clock ---------------------------------------------------------- */

static size_t count_samples(const struct moving *moving)
{
    size_t count = 0;
    for (int i = 0; i < moving->job->count; i++)
        if (moving->numbers[i] == moving->number)
            count += moving->job->processes[i].num_samples;
    return count;
}

/* All that the processes of the clock know, malloc'ed. */
static struct jd_clock_sample *gather_samples(const struct moving *moving,
                                              size_t *ret_count)
{
    size_t room = count_samples(moving) + 1, count = 0;
    struct jd_clock_sample *samples = calloc(room, sizeof *samples);
    for (int i = 0; samples && i < moving->job->count; i++) {
        const struct traced_process *from = &moving->job->processes[i];
        for (uint32_t k = 0;
             moving->numbers[i] == moving->number && k < from->num_samples; k++)
            samples[count++] = from->samples[k];
    }
    *ret_count = count;
    return samples;
}

/* False without memory; without samples nothing happens. */
static bool align_clock(struct moving *moving)
{
    size_t count;
    struct jd_clock_sample *samples = gather_samples(moving, &count);
    bool is_whole = samples != NULL;
    if (samples && count) {
        is_whole = clock_track_make(&moving->track, samples, count) &&
                   move_processes(moving);
        clock_track_finish(&moving->track);
    }
    free(samples);
    return is_whole;
}

/* ---- all of them -------------------------------------------------------- */

/* The name of process 0's clock, malloc'ed; one that no clock has where it has
 * left no file. */
static char *name_reference(const struct traced_job *job)
{
    const struct traced_process *first = traced_job_find(job, 0);
    return strdup(first ? first->clock : "that of process 0");
}

static bool align_all(struct traced_job *job, struct alignment *alignment,
                      const uint32_t *numbers, const char *reference)
{
    bool is_whole = true;
    for (int i = 0; is_whole && i < job->count; i++) {
        uint32_t number = numbers[i];
        struct aligned_clock *clock = &alignment->clocks[number - 1];
        if (clock->host)
            continue;
        struct moving moving = { .job = job,
                                 .clock = clock,
                                 .numbers = numbers,
                                 .number = number,
                                 .name = reference };
        clock->host = job->processes[i].host;
        clock->is_aligned = strcmp(job->processes[i].clock, reference) == 0;
        if (!clock->is_aligned)
            is_whole = align_clock(&moving);
        alignment->num_aligned += clock->is_aligned;
        if (clock->is_aligned && clock->error > alignment->error)
            alignment->error = clock->error;
    }
    return is_whole;
}

/* From 1 on, in the order of their first processes. */
static bool number_clocks(const struct traced_job *job, uint32_t *numbers,
                          int *ret_count)
{
    struct text_set seen = { .count = 0 };
    bool is_whole = true;
    for (int i = 0; is_whole && i < job->count; i++)
        is_whole = text_set_add(&seen, job->processes[i].clock, &numbers[i]);
    *ret_count = seen.count ? (int)seen.count - 1 : 0;
    text_set_finish(&seen);
    return is_whole;
}

bool alignment_make(struct traced_job *job, struct alignment *alignment)
{
    uint32_t *numbers = calloc((size_t)job->count + 1, sizeof *numbers);
    char *reference = name_reference(job);
    *alignment = (struct alignment){ .count = 0 };
    alignment->clocks =
        calloc((size_t)job->count + 1, sizeof *alignment->clocks);
    bool is_whole = numbers && reference && alignment->clocks &&
                    number_clocks(job, numbers, &alignment->count) &&
                    align_all(job, alignment, numbers, reference);
    free(numbers);
    free(reference);
    return is_whole;
}

void alignment_finish(struct alignment *alignment)
{
    free(alignment->clocks);
    *alignment = (struct alignment){ .count = 0 };
}
