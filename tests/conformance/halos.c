/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * halos.c - the halos of blocks. Shapes, widths, axes, walls and corners are
 * drawn; what should be in an element is worked out from its place alone: whose
 * own element it is once the blocks are put together.
 */
#include "operations.h"

#include <string.h>

enum { MOST_NDIM = 4, MOST_PARTS = 3 };

/* A dimension; part: which of the call's axes cuts it, -1: none. */
struct side {
    int64_t before, after;
    bool is_periodic;
    int part;
};

/* One call; the same on all members. */
struct halo {
    int ndim;
    int64_t edge; /* about as long as the block is in each dimension */
    bool has_corners;
    struct side sides[MOST_NDIM];
    int parts; /* the axes, each alone or all of them as one */
    char axes[MOST_PARTS][8];
    int ways[MOST_PARTS];
};

/* A member's place along the parts. */
struct at {
    int part[MOST_PARTS];
};

/* ---- drawing ------------------------------------------------------------- */

enum { DRAWS = 25000 }; /* the first number of what is drawn here */

/* "x,y"; all axes have a name too. */
static const char *name_axes(const struct attempt *a)
{
    if (a->axes)
        return a->axes;
    return jd_axis_size(a->span->shard, "y") > 0 ? "x,y" : "x";
}

/* Groups are along all of the axes together. */
static void draw_parts(const struct attempt *a, struct halo *halo)
{
    const char *names = name_axes(a);
    int count = (int)(strlen(names) + 1) / 2;
    bool is_joined = a->span->plan->cut != CUT_NONE || count > halo->ndim ||
                     draw(a, DRAWS + 2, 3) == 0;
    halo->parts = is_joined ? 1 : count;
    for (int i = 0; i < halo->parts; i++) {
        snprintf(halo->axes[i], sizeof halo->axes[i], "%.*s",
                 is_joined ? (int)strlen(names) : 1, names + 2 * i);
        halo->ways[i] = jd_axis_size(a->span->shard, halo->axes[i]);
    }
}

/* Each part cuts another dimension, any of them. */
static void draw_cuts(const struct attempt *a, struct halo *halo)
{
    for (int d = 0; d < halo->ndim; d++)
        halo->sides[d].part = -1;
    for (int i = 0; i < halo->parts; i++) {
        int d = (int)draw(a, DRAWS + 10 + (uint64_t)i, (uint64_t)halo->ndim);
        while (halo->sides[d].part >= 0)
            d = (d + 1) % halo->ndim;
        halo->sides[d].part = i;
    }
}

/* The longest edge of a cube of at most so many elements. */
static int64_t edge_of(size_t count, int ndim)
{
    int64_t edge = 0;
    for (size_t volume = 0; volume <= count; edge++) {
        volume = 1;
        for (int d = 0; d < ndim; d++)
            volume *= (size_t)edge + 1;
    }
    return edge - 1;
}

static struct halo draw_halo(const struct attempt *a)
{
    struct halo halo = { .ndim = 1 + (int)draw(a, DRAWS, MOST_NDIM),
                         .has_corners = draw(a, DRAWS + 1, 2) };
    halo.edge = edge_of(a->count, halo.ndim);
    draw_parts(a, &halo);
    draw_cuts(a, &halo);
    for (int d = 0; d < halo.ndim; d++) {
        uint64_t first = DRAWS + 20 + 3 * (uint64_t)d;
        halo.sides[d].before = (int64_t)draw(a, first, 4);
        halo.sides[d].after = (int64_t)draw(a, first + 1, 4);
        halo.sides[d].is_periodic = draw(a, first + 2, 2);
    }
    return halo;
}

/* ---- shapes -------------------------------------------------------------- */

/* Members along a dimension's own axes have unlike lengths there. */
static int64_t size_of(const struct attempt *a, const struct halo *halo, int d,
                       const struct at *at)
{
    const struct side *side = &halo->sides[d];
    int64_t halos = side->before + side->after;
    int64_t least = side->before > side->after ? side->before : side->after;
    uint64_t place = side->part < 0 ? 0 : (uint64_t)at->part[side->part];
    uint64_t which = DRAWS + 100 + 100 * (uint64_t)d + place;
    int64_t own = halo->edge - halos - (int64_t)draw(a, which, 3);
    return halos + (own > least ? own : least);
}

static size_t count_block(const struct attempt *a, const struct halo *halo,
                          const struct at *at)
{
    size_t count = 1;
    for (int d = 0; d < halo->ndim; d++)
        count *= (size_t)size_of(a, halo, d, at);
    return count;
}

static struct at place_of(const struct halo *halo, int member)
{
    struct at at = { { 0 } };
    for (int i = halo->parts - 1; i >= 0; i--) {
        at.part[i] = member % halo->ways[i];
        member /= halo->ways[i];
    }
    return at;
}

static int member_at(const struct halo *halo, const struct at *at)
{
    int member = 0;
    for (int i = 0; i < halo->parts; i++)
        member = member * halo->ways[i] + at->part[i];
    return member;
}

/* ---- the operation ------------------------------------------------------- */

static void plan_halo(struct attempt *a)
{
    struct halo halo = draw_halo(a);
    struct at at = place_of(&halo, a->span->index);
    a->in_count = a->out_count = count_block(a, &halo, &at);
    a->place = 0;
}

/* The block is in out, as it was given. */
static jd_status run_halo(const struct attempt *a)
{
    struct halo halo = draw_halo(a);
    struct at at = place_of(&halo, a->span->index);
    jd_halo_dim dims[MOST_NDIM];
    jd_status status = JD_OK;
    if (a->out_count && a->in != a->out)
        status = jd_device_copy(a->out, a->in, a->out_count * a->size);
    for (int d = 0; d < halo.ndim; d++) {
        const struct side *side = &halo.sides[d];
        dims[d] =
            (jd_halo_dim){ size_of(a, &halo, d, &at), side->before, side->after,
                           side->part < 0 ? NULL : halo.axes[side->part],
                           side->is_periodic };
    }
    if (status != JD_OK)
        return status;
    return jd_halo_exchange(a->span->shard, a->out, a->dtype, halo.ndim, dims,
                            halo.has_corners);
}

/* An element, and whose it is. */
struct element {
    struct at at;
    int64_t x[MOST_NDIM];
};

/* Whether there is a member a step further, which *at becomes. */
static bool step_to(const struct halo *halo, const struct side *side, int step,
                    struct at *at)
{
    int ways = side->part < 0 ? 1 : halo->ways[side->part];
    int to = (side->part < 0 ? 0 : at->part[side->part]) + step;
    if (!side->is_periodic && (to < 0 || to >= ways))
        return false;
    if (side->part >= 0)
        at->part[side->part] = (to + ways) % ways;
    return true;
}

/* Where the element's value comes from. */
static struct element source_of(const struct attempt *a,
                                const struct halo *halo,
                                const struct element *element)
{
    struct element from = *element;
    int outside = 0, walls = 0;
    for (int d = 0; d < halo->ndim; d++) {
        const struct side *side = &halo->sides[d];
        int64_t x = element->x[d], size = size_of(a, halo, d, &element->at);
        int step = x < side->before ? -1 : x >= size - side->after;
        outside += step != 0;
        if (step == 0)
            continue;
        if (!step_to(halo, side, step, &from.at)) {
            walls++;
            continue;
        }
        int64_t theirs = size_of(a, halo, d, &from.at);
        from.x[d] = step < 0 ? theirs - side->after - side->before + x
                             : side->before + x - (size - side->after);
    }
    return halo->has_corners || (outside == 1 && walls == 0) ? from : *element;
}

static size_t number_of(const struct attempt *a, const struct halo *halo,
                        const struct element *element)
{
    size_t number = 0;
    for (int d = 0; d < halo->ndim; d++)
        number = number * (size_t)size_of(a, halo, d, &element->at) +
                 (size_t)element->x[d];
    return number;
}

static bool step_on(const struct attempt *a, const struct halo *halo,
                    struct element *element)
{
    for (int d = halo->ndim - 1; d >= 0; d--) {
        if (++element->x[d] < size_of(a, halo, d, &element->at))
            return true;
        element->x[d] = 0;
    }
    return false;
}

static void expect_halo(const struct attempt *a, char *wanted)
{
    struct halo halo = draw_halo(a);
    struct element element = { .at = place_of(&halo, a->span->index) };
    expect_given(a, a->span->index, 0, a->out_count, wanted);
    for (size_t i = 0; i < a->out_count; i++) {
        struct element from = source_of(a, &halo, &element);
        size_t number = number_of(a, &halo, &from);
        int member = member_at(&halo, &from.at);
        if (number != i || member != a->span->index)
            expect_given(a, member, number, 1, wanted + i * a->size);
        step_on(a, &halo, &element);
    }
}

const struct operation operation_halo = {
    .name = "halo",
    .call = "jd_halo_exchange",
    .is_transfer = true,
    .plan = plan_halo,
    .run = run_halo,
    .expect = expect_halo,
};
