/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_rails.c - long sums and the like: each member carries its own rail.
 *
 * The elements are cut into pieces, and each piece into as many rails as the
 * smallest group has members. Member l of each group, the carrier of rail l,
 *   start    folds its group's inputs there into a wide partial result, and
 *            sends each other group's carrier what that one is to finish;
 *   middle   finishes its own part from all groups' partial results, group by
 *            group, and sends the result to the other carriers;
 *   end      has the whole rail, and hands it to its group.
 * Two groups with partial results that are no wider than results finish all of
 * it twice instead: the same bytes in one message less. Three pieces are under
 * way at a time, so that MPI, folds and copies overlap.
 *
 * Where all members' buffers can be seen by their groups, carriers read and
 * write them directly, and there is one step at the end. Otherwise everything
 * goes through bounce memory, with a step for each piece: two halves of
 * inputs, three places for results.
 */
#include "base/numbers.h"
#include "collectives/cpu/inter/inter_private.h"

#include <string.h>

#define SLOTS JD_INTER_DEPTH
#define SEEN_PIECE ((size_t)512 << 10)
#define BOUNCE_PIECE ((size_t)192 << 10) /* two, and three rails, fit */

struct rails {
    struct jd_comm *comm;
    const struct jd_collective *call;
    jd_fold_function *partial, *finish;
    size_t element, wide; /* bytes */
    size_t piece;         /* elements */
    size_t slot;          /* bytes of a rail's wide results, at most */
    char *scratch;        /* SLOTS of partial results, and of each group's */
    bool is_seen;
    bool finishes_all;
    bool is_carrier;
    bool has_given; /* the first piece, before the meeting ended */
};

/* Some elements of the whole vector. */
struct part {
    size_t begin, count;
};

/* The i-th of n equal parts. */
static struct part cut(struct part part, int n, int i)
{
    size_t base = part.count / (size_t)n, longer = part.count % (size_t)n;
    size_t m = (size_t)i;
    return (struct part){ part.begin + m * base +
                              jd__numbers_smaller(m, longer),
                          base + (m < longer) };
}

static struct part piece_part(const struct rails *l, size_t k)
{
    size_t begin = k * l->piece;
    return (struct part){ begin, jd__numbers_smaller(l->piece,
                                                     l->call->count - begin) };
}

static struct part lane_part(const struct rails *l, size_t k, int rail)
{
    return cut(piece_part(l, k), l->comm->inter->rails, rail);
}

/* What the carrier of a group finishes of this rail. */
static struct part own_part(const struct rails *l, size_t k, int group)
{
    struct part rail = lane_part(l, k, l->comm->inter->place);
    return l->finishes_all ? rail : cut(rail, l->comm->num_groups, group);
}

/* Where a group's partial results are kept; of this group those of the whole
 * rail, of the others those that are finished here. */
static char *slot_of(const struct rails *l, size_t k, int group)
{
    size_t slot = k % SLOTS * (size_t)l->comm->num_groups + (size_t)group;
    return l->scratch + slot * l->slot;
}

static int carrier_of(const struct rails *l, int group)
{
    const struct jd_inter *inter = l->comm->inter;
    return inter->members[group][inter->place];
}

/* ---- bounce memory ------------------------------------------------------ */

static char *given_at(const struct rails *l, size_t k, int place)
{
    return jd__inter_bounce(l->comm, place) + k % 2 * l->piece * l->element;
}

static char *result_at(const struct rails *l, size_t k, int place)
{
    size_t rail = (l->piece + (size_t)l->comm->inter->rails - 1) /
                  (size_t)l->comm->inter->rails;
    return jd__inter_bounce(l->comm, place) +
           (2 * l->piece + k % SLOTS * rail) * l->element;
}

static void give(const struct rails *l, size_t k)
{
    const struct jd_inter *inter = l->comm->inter;
    struct part piece = piece_part(l, k);
    for (int rail = 0; rail < inter->rails; rail++) {
        struct part part = lane_part(l, k, rail);
        if (rail != inter->place)
            memcpy(given_at(l, k, inter->place) +
                       (part.begin - piece.begin) * l->element,
                   (const char *)l->call->in + part.begin * l->element,
                   part.count * l->element);
    }
}

static void take(const struct rails *l, size_t k)
{
    const struct jd_inter *inter = l->comm->inter;
    for (int rail = 0; rail < inter->rails; rail++) {
        struct part part = lane_part(l, k, rail);
        if (rail != inter->place)
            memcpy((char *)l->call->out + part.begin * l->element,
                   result_at(l, k, rail), part.count * l->element);
    }
}

/* ---- what carriers do --------------------------------------------------- */

static const char *input_at(const struct rails *l, size_t k, int place,
                            size_t begin)
{
    const struct jd_inter *inter = l->comm->inter;
    size_t bytes = l->call->count * l->element;
    if (place == inter->place)
        return (const char *)l->call->in + begin * l->element;
    if (l->is_seen)
        return jd__inter_in_of(l->comm, place, bytes) + begin * l->element;
    return given_at(l, k, place) +
           (begin - piece_part(l, k).begin) * l->element;
}

/* Where this group's partial results are: a lone member's input is that. */
static const char *partial_at(const struct rails *l, size_t k)
{
    const struct jd_inter *inter = l->comm->inter;
    size_t begin = lane_part(l, k, inter->place).begin;
    if (inter->sizes[inter->group] == 1 && l->wide == l->element)
        return (const char *)l->call->in + begin * l->element;
    return slot_of(l, k, inter->group);
}

static void fold_partial(const struct rails *l, size_t k)
{
    const struct jd_inter *inter = l->comm->inter;
    struct part part = lane_part(l, k, inter->place);
    void *out = slot_of(l, k, inter->group);
    int size = inter->sizes[inter->group];
    if (part.count == 0 || partial_at(l, k) != out)
        return;
    for (int i = 0; i < size; i++)
        inter->ins[i] = input_at(l, k, i, part.begin);
    l->partial(&(struct jd_fold){ .ins = inter->ins,
                                  .num_ins = size,
                                  .outs = &out,
                                  .num_outs = 1,
                                  .count = part.count });
}

/* Posts one round of messages among the carriers of this rail. */
static jd_status post(const struct rails *l, size_t k, bool results)
{
    struct jd_comm *comm = l->comm;
    struct jd_inter *inter = comm->inter;
    struct jd_posts *posts = &inter->posts[k % SLOTS];
    int groups = comm->num_groups, group = inter->group;
    size_t rail = lane_part(l, k, inter->place).begin;
    struct part own = own_part(l, k, group);
    jd_status status = JD_OK;
    for (int i = 1; i < groups && status == JD_OK; i++) {
        int from = (group + groups - i) % groups, to = (group + i) % groups;
        struct part theirs = own_part(l, k, results ? from : to);
        char *out = l->call->out;
        char *target =
            results ? out + theirs.begin * l->element : slot_of(l, k, from);
        const char *source =
            results ? out + own.begin * l->element
                    : partial_at(l, k) + (theirs.begin - rail) * l->wide;
        size_t in_bytes =
            results ? theirs.count * l->element : own.count * l->wide;
        size_t out_bytes =
            results ? own.count * l->element : theirs.count * l->wide;
        status = jd__inter_post(comm, posts, carrier_of(l, from), target,
                                in_bytes, carrier_of(l, to), source, out_bytes);
    }
    return status;
}

/* Hands elements that are in our out to the group. */
static void deliver(const struct rails *l, size_t k, struct part part)
{
    const struct jd_inter *inter = l->comm->inter;
    size_t rail = lane_part(l, k, inter->place).begin;
    size_t bytes = l->call->count * l->element;
    size_t at = part.begin * l->element, length = part.count * l->element;
    const char *from = (const char *)l->call->out + at;
    if (!l->is_seen) {
        memcpy(result_at(l, k, inter->place) + (part.begin - rail) * l->element,
               from, length);
        return;
    }
    for (int i = 0; i < inter->sizes[inter->group]; i++)
        if (i != inter->place)
            memcpy(jd__inter_out_of(l->comm, i, bytes) + at, from, length);
}

/* The outs of what is finished here; how many. */
static int find_outs(const struct rails *l, size_t k, struct part part)
{
    const struct jd_inter *inter = l->comm->inter;
    size_t rail = lane_part(l, k, inter->place).begin;
    size_t bytes = l->call->count * l->element;
    size_t at = part.begin * l->element;
    int count = 0;
    inter->outs[count++] = (char *)l->call->out + at;
    if (!l->is_seen)
        inter->outs[count++] =
            result_at(l, k, inter->place) + (part.begin - rail) * l->element;
    for (int i = 0; l->is_seen && i < inter->sizes[inter->group]; i++)
        if (i != inter->place)
            inter->outs[count++] = jd__inter_out_of(l->comm, i, bytes) + at;
    return count;
}

static void fold_finish(const struct rails *l, size_t k)
{
    struct jd_comm *comm = l->comm;
    struct jd_inter *inter = comm->inter;
    size_t rail = lane_part(l, k, inter->place).begin;
    struct part own = own_part(l, k, inter->group);
    if (own.count == 0)
        return;
    for (int t = 0; t < comm->num_groups; t++)
        inter->ins[t] = slot_of(l, k, t);
    inter->ins[inter->group] = partial_at(l, k) + (own.begin - rail) * l->wide;
    l->finish(&(struct jd_fold){ .ins = inter->ins,
                                 .num_ins = comm->num_groups,
                                 .outs = inter->outs,
                                 .num_outs = find_outs(l, k, own),
                                 .count = own.count,
                                 .divisor = comm->size });
}

static jd_status start(const struct rails *l, size_t k)
{
    fold_partial(l, k);
    return post(l, k, false);
}

static jd_status middle(const struct rails *l, size_t k)
{
    struct jd_comm *comm = l->comm;
    jd_status status = jd__inter_finish(comm, &comm->inter->posts[k % SLOTS]);
    if (status != JD_OK)
        return status;
    fold_finish(l, k);
    return l->finishes_all ? JD_OK : post(l, k, true);
}

static jd_status end(const struct rails *l, size_t k)
{
    struct jd_comm *comm = l->comm;
    if (l->finishes_all)
        return JD_OK;
    jd_status status = jd__inter_finish(comm, &comm->inter->posts[k % SLOTS]);
    for (int t = 0; status == JD_OK && t < comm->num_groups; t++)
        if (t != comm->inter->group)
            deliver(l, k, own_part(l, k, t));
    return status;
}

/* ---- piece after piece -------------------------------------------------- */

/* How many pieces later a rail is finished whole. */
static size_t lag(const struct rails *l)
{
    return l->finishes_all ? 1 : 2;
}

/* The stages of earlier pieces that come after piece k has begun. */
static jd_status carry_on(const struct rails *l, size_t k, size_t pieces)
{
    jd_status status = JD_OK;
    if (k >= 1 && k - 1 < pieces)
        status = middle(l, k - 1);
    if (status == JD_OK && k >= 2)
        status = end(l, k - 2);
    return status;
}

static jd_status run_seen(const struct rails *l, size_t pieces)
{
    jd_status status = JD_OK;
    for (size_t k = 0; k < pieces + lag(l) && l->is_carrier; k++) {
        if (k < pieces)
            status = start(l, k);
        if (status == JD_OK)
            status = carry_on(l, k, pieces);
        if (status != JD_OK)
            return jd__inter_break(l->comm, status);
    }
    return jd__shm_step(l->comm->group);
}

/* What comes between the steps of two pieces. */
static jd_status bounce(const struct rails *l, size_t k, size_t pieces)
{
    jd_status status = JD_OK;
    if (k < pieces && (k > 0 || !l->has_given))
        give(l, k);
    if (l->is_carrier)
        status = carry_on(l, k, pieces);
    return status == JD_OK ? status : jd__inter_break(l->comm, status);
}

static jd_status run_bounced(const struct rails *l, size_t pieces)
{
    struct jd_shm_group *group = l->comm->group;
    jd_status status = JD_OK;
    for (size_t k = 0; k < pieces + lag(l) && status == JD_OK; k++) {
        status = bounce(l, k, pieces);
        if (status == JD_OK && k == 0 && l->has_given)
            status = jd__shm_await_all(group, jd__shm_steps(group));
        else if (status == JD_OK)
            status = jd__shm_step(group);
        if (status == JD_OK && k >= lag(l))
            take(l, k - lag(l));
        if (status == JD_OK && k < pieces && l->is_carrier)
            status = start(l, k);
    }
    return status;
}

/* In the meeting, where this group's buffers are known not to be seen: the
 * first piece, while the leaders talk. */
static void give_early(void *arg)
{
    struct rails *l = arg;
    l->has_given = true;
    if (l->call->count)
        give(l, 0);
}

/* How many elements: no more than makes the longest message that goes at
 * once. */
static size_t choose_piece(const struct rails *l, size_t most)
{
    struct jd_comm *comm = l->comm;
    size_t rails = (size_t)comm->inter->rails;
    size_t parts = l->finishes_all ? 1 : (size_t)comm->num_groups;
    size_t message =
        jd__numbers_smaller(JD_GROUP_EAGER, jd__channel_piece(comm->wire));
    return jd__numbers_smaller(most / l->element,
                               rails * parts * (message / l->wide));
}

/* The longest rail of a piece, in cache lines. */
static size_t slot_bytes(const struct rails *l)
{
    size_t rails = (size_t)l->comm->inter->rails;
    size_t piece = choose_piece(l, SEEN_PIECE);
    return ((piece + rails - 1) / rails * l->wide + 63) / 64 * 64;
}

jd_status jd__inter_reduce_lanes(struct jd_comm *comm,
                                 struct jd_inter_sync *meeting)
{
    const struct jd_collective *call = meeting->call;
    struct jd_inter *inter = comm->inter;
    struct rails l = {
        .comm = comm,
        .call = call,
        .partial = jd__fold_find(call->dtype, meeting->op, JD_FOLD_PARTIAL),
        .finish = jd__fold_find(call->dtype, meeting->op, JD_FOLD_FINISH),
        .element = jd_dtype_size(call->dtype),
        .wide = jd_dtype_size(jd__fold_wide(call->dtype)),
        .is_carrier = inter->place < inter->rails,
    };
    l.finishes_all = comm->num_groups == 2 && l.wide == l.element;
    l.slot = slot_bytes(&l);
    meeting->in_bytes = meeting->out_bytes = call->count * l.element;
    l.scratch = jd__inter_scratch(comm, meeting,
                                  SLOTS * (size_t)comm->num_groups * l.slot);
    l.piece = choose_piece(&l, BOUNCE_PIECE);
    meeting->unless_seen = give_early;
    meeting->arg = &l;
    jd_status status = jd__inter_meet(comm, meeting);
    if (status != JD_OK || jd__inter_has_come(comm, meeting))
        return status;
    l.is_seen = jd__inter_all_seen(comm);
    if (l.is_seen)
        l.piece = choose_piece(&l, SEEN_PIECE);
    size_t pieces = (call->count + l.piece - 1) / l.piece;
    return l.is_seen ? run_seen(&l, pieces) : run_bounced(&l, pieces);
}
