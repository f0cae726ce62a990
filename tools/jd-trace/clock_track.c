/* SPDX-License-Identifier: BSD-3-Clause */
/* clock_track.c - where a clock is against another one, from samples. */
#include "tools/jd-trace/clock_track.h"

#include <math.h>
#include <stdlib.h>

static int compare_bounds(const void *one, const void *other)
{
    const struct clock_bound *a = one, *b = other;
    return (a->at > b->at) - (a->at < b->at);
}

/* What a bound says of another time. */
static struct clock_bound move_bound(const struct clock_bound *bound, double at)
{
    double parted = fabs(at - bound->at) * JD_CLOCK_DRIFT;
    return (struct clock_bound){ .at = at,
                                 .low = bound->low - parted,
                                 .high = bound->high + parted };
}

static void narrow(struct clock_bound *bound, const struct clock_bound *other)
{
    struct clock_bound moved = move_bound(other, bound->at);
    bound->low = fmax(bound->low, moved.low);
    bound->high = fmin(bound->high, moved.high);
}

static bool contradicts(const struct clock_bound *bound,
                        const struct clock_bound *other)
{
    struct clock_bound moved = move_bound(other, bound->at);
    return moved.low > bound->high || moved.high < bound->low;
}

/* What each says of those behind it, and then of those before it: where there
 * is no jump, the next two are then all that has to be asked. */
static void narrow_all(struct clock_track *track)
{
    struct clock_bound *bounds = track->bounds;
    for (size_t i = 1; i < track->count; i++) {
        bounds[i].is_jump = contradicts(&bounds[i], &bounds[i - 1]);
        track->jumps |= bounds[i].is_jump;
        if (!bounds[i].is_jump)
            narrow(&bounds[i], &bounds[i - 1]);
    }
    for (size_t i = track->count - 1; i > 0; i--)
        if (!bounds[i].is_jump)
            narrow(&bounds[i - 1], &bounds[i]);
}

bool clock_track_make(struct clock_track *track,
                      const struct jd_clock_sample *samples, size_t count)
{
    *track = (struct clock_track){ .count = count };
    if (!count || !(track->bounds = calloc(count, sizeof *track->bounds)))
        return false;
    track->base = samples[0].offset;
    for (size_t i = 0; i < count; i++) {
        double middle = (double)(samples[i].offset - track->base);
        track->bounds[i] = (struct clock_bound){
            .at = (double)samples[i].at,
            .low = middle - (double)samples[i].error,
            .high = middle + (double)samples[i].error,
        };
    }
    qsort(track->bounds, count, sizeof *track->bounds, compare_bounds);
    narrow_all(track);
    return true;
}

void clock_track_finish(struct clock_track *track)
{
    free(track->bounds);
    *track = (struct clock_track){ .count = 0 };
}

/* The first one that is not before it; count: none. */
static size_t find_next(const struct clock_track *track, double at)
{
    size_t first = 0, end = track->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (track->bounds[middle].at < at)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static struct clock_bound bound_at(const struct clock_track *track, double at)
{
    size_t next = find_next(track, at);
    const struct clock_bound *after = &track->bounds[next];
    if (next == 0)
        return move_bound(after, at);
    struct clock_bound bound = move_bound(after - 1, at);
    if (next == track->count)
        return bound;
    struct clock_bound other = move_bound(after, at);
    if (!after->is_jump) {
        narrow(&bound, after);
        return bound;
    }
    bound.low = fmin(bound.low, other.low);
    bound.high = fmax(bound.high, other.high);
    return bound;
}

struct clock_offset clock_track_at(const struct clock_track *track,
                                   int64_t time)
{
    struct clock_bound bound = bound_at(track, (double)time);
    return (struct clock_offset){
        .offset = track->base + (int64_t)((bound.low + bound.high) / 2),
        .error = (bound.high - bound.low) / 2,
    };
}
