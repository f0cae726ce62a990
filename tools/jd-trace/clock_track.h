/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock_track.h - how far a clock is from another one at any time, from samples
 * of it (clock_samples.h): each bounds it at its own time, and around that by
 * so much more as two clocks may part meanwhile (JD_CLOCK_DRIFT). What all of
 * them leave is where it is; its middle is said, and half of its width is the
 * error.
 *
 *     struct clock_track track;
 *     if (clock_track_make(&track, samples, count))
 *         offset = clock_track_at(&track, time);
 *     clock_track_finish(&track);
 *
 * Samples that contradict each other are of a clock that was stopped or set in
 * between: between them the error has both.
 */
#ifndef TOOLS_JD_TRACE_CLOCK_TRACK_H
#define TOOLS_JD_TRACE_CLOCK_TRACK_H

#include "runtime/recorder/clock_samples.h"

/* Between low and high it is, at that time; nanoseconds. */
struct clock_bound {
    double at, low, high;
    bool is_jump; /* it contradicts what was before */
};

struct clock_track {
    struct clock_bound *bounds; /* by their times */
    size_t count;
    int64_t base; /* low and high are more than this */
    bool jumps;
};

struct clock_offset {
    int64_t offset;
    double error;
};

/* False without memory, or without samples. */
bool clock_track_make(struct clock_track *track,
                      const struct jd_clock_sample *samples, size_t count);
void clock_track_finish(struct clock_track *track);

struct clock_offset clock_track_at(const struct clock_track *track,
                                   int64_t time);

#endif
