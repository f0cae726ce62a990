/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_reduce_bounce.c - reductions of buffers that the others cannot see. */
#include "collectives/cpu/shm/shm_reduce_private.h"

#include <string.h>

/*
 * Bounce memory of a member, in pieces of up to `chunk` elements per member:
 * two halves by turns, each with a chunk for every member's share, and two
 * chunks for results.
 */
struct bounce {
    const struct jd_reduce_plan *plan;
    size_t chunk;  /* elements */
    size_t stride; /* bytes of a chunk */
    size_t done;   /* elements of the block that earlier pieces had */
    size_t count;  /* of this piece, of each share: the last may be shorter */
    unsigned half;
};

static struct bounce make_bounce(const struct jd_reduce_plan *plan)
{
    size_t members = (size_t)plan->group->size;
    size_t line = JD_CACHE_LINE;
    size_t most = JD_SHM_BOUNCE / (2 * members + 2) / line * line;
    size_t stride = jd__reduce_limits.bounce_bytes;
    stride = stride < most ? stride : most;
    return (struct bounce){ .plan = plan,
                            .chunk = stride / plan->element,
                            .stride = stride };
}

/* How many elements of a block the next piece has for each share; for an
 * all_reduce a block is everybody's, and the shares lie one after the other. */
static size_t next_count(const struct bounce *b)
{
    const struct jd_reduce_plan *plan = b->plan;
    size_t left = plan->block - b->done;
    size_t line = JD_CACHE_LINE / plan->element;
    size_t size = (size_t)plan->group->size;
    if (!plan->r->scatter)
        left = (left + size - 1) / size;
    left = (left + line - 1) / line * line;
    return left < b->chunk ? left : b->chunk;
}

/* The elements of a share in this piece: where they begin in the block, and
 * how many there are. */
static size_t share_begin(const struct bounce *b, int share)
{
    return b->done + (b->plan->r->scatter ? 0 : (size_t)share * b->count);
}

static size_t share_count(const struct bounce *b, int share)
{
    size_t begin = share_begin(b, share), block = b->plan->block;
    if (begin >= block)
        return 0;
    return block - begin < b->count ? block - begin : b->count;
}

static char *chunk_of(const struct bounce *b, int member, int share)
{
    size_t place = b->half * (size_t)b->plan->group->size + (size_t)share;
    return jd__shm_bounce(b->plan->group, member) + place * b->stride;
}

static char *result_of(const struct bounce *b, int member)
{
    size_t place = 2 * (size_t)b->plan->group->size + b->half;
    return jd__shm_bounce(b->plan->group, member) + place * b->stride;
}

/* Copies elements [begin, begin + count) of the block of a share, whose rows
 * lie apart in a scatter's input. */
static void copy_in(const struct jd_reduce_plan *plan, char *to, int share,
                    size_t begin, size_t count)
{
    const struct jd_shm_reduction *r = plan->r;
    const char *in = r->call->in;
    size_t width = r->call->count, size = (size_t)plan->group->size;
    if (!r->scatter) {
        memcpy(to, in + begin * plan->element, count * plan->element);
        return;
    }
    while (count) {
        size_t row = begin / width, column = begin % width;
        size_t part = width - column < count ? width - column : count;
        size_t from = (row * size + (size_t)share) * width + column;
        memcpy(to, in + from * plan->element, part * plan->element);
        to += part * plan->element;
        begin += part;
        count -= part;
    }
}

/* Lets the others have this member's part of their shares, and its own where
 * the rows lie apart. */
static void give_piece(const struct bounce *b)
{
    const struct jd_reduce_plan *plan = b->plan;
    int own = plan->group->index;
    for (int share = 0; share < plan->group->size; share++)
        if (share != own || plan->r->scatter)
            copy_in(plan, chunk_of(b, own, share), share, share_begin(b, share),
                    share_count(b, share));
}

static void fold_piece(const struct bounce *b)
{
    const struct jd_reduce_plan *plan = b->plan;
    struct jd_shm_group *group = plan->group;
    bool scatter = plan->r->scatter;
    size_t begin = share_begin(b, group->index);
    size_t offset = begin * plan->element;
    for (int i = 0; i < group->size; i++)
        group->ins[i] = i == group->index && !scatter
                            ? (const char *)plan->r->call->in + offset
                            : chunk_of(b, i, group->index);
    group->outs[0] = (char *)plan->r->call->out + offset;
    group->outs[1] = result_of(b, group->index);
    jd__shm_reduce_fold(plan, scatter ? 1 : 2, share_count(b, group->index),
                        false);
}

static void take_results(const struct bounce *b)
{
    const struct jd_reduce_plan *plan = b->plan;
    for (int i = 0; i < plan->group->size; i++) {
        size_t count = share_count(b, i);
        if (i != plan->group->index && count)
            memcpy((char *)plan->r->call->out +
                       share_begin(b, i) * plan->element,
                   result_of(b, i), count * plan->element);
    }
}

/* The next piece; one of nothing at the end. */
static struct bounce next_piece(const struct bounce *b)
{
    struct bounce next = *b;
    size_t shares = b->plan->r->scatter ? 1 : (size_t)b->plan->group->size;
    next.done += b->count * shares;
    if (next.done > b->plan->block)
        next.done = b->plan->block;
    next.half = 1 - b->half;
    next.count = next_count(&next);
    return next;
}

/*
 * A step says that a member has folded one piece and given the next: nobody
 * reads the half that the next but one goes to any more, nor, as each takes
 * the results before it goes on, the results before these.
 */
jd_status jd__shm_reduce_bounce(const struct jd_reduce_plan *plan)
{
    struct jd_shm_group *group = plan->group;
    struct bounce piece = make_bounce(plan);
    piece.count = next_count(&piece);
    give_piece(&piece);
    jd_status status = jd__shm_step(group);
    while (status == JD_OK && piece.count) {
        struct bounce next = next_piece(&piece);
        give_piece(&next);
        fold_piece(&piece);
        status = jd__shm_step(group);
        if (status == JD_OK && !plan->r->scatter)
            take_results(&piece);
        piece = next;
    }
    return status;
}
