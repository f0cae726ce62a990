/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_rails.c - long sums and the like: each member carries its own lane.
 *
 * The elements are cut into pieces, and each piece into as many lanes as the
 * smallest team has members. Member l of each team, the carrier of lane l,
 *   start    folds its team's inputs there into a wide partial result, and
 *            sends each other team's carrier what that one is to finish;
 *   middle   finishes its own part from all teams' partial results, team by
 *            team, and sends the result to the other carriers;
 *   end      has the whole lane, and hands it to its team.
 * Two teams with partial results that are no wider than results finish all of
 * it twice instead: the same bytes in one message less. Three pieces are under
 * way at a time, so that MPI, folds and copies overlap.
 *
 * Where all members' buffers can be seen by their teams, carriers read and
 * write them directly, and there is one step at the end. Otherwise everything
 * goes through bounce memory, with a step for each piece: two halves of
 * inputs, three places for results.
 */
#include "collectives/cpu/inter/inter_private.h"

#include <string.h>

#define SLOTS JD_BETWEEN_DEPTH
#define SEEN_PIECE ((size_t)512 << 10)
#define BOUNCE_PIECE ((size_t)192 << 10) /* two, and three lanes, fit */

struct lanes {
    struct jd_clique *clique;
    const struct jd_collective *call;
    jd_fold_function *partial, *finish;
    size_t element, wide; /* bytes */
    size_t piece;         /* elements */
    size_t slot;          /* bytes of a lane's wide results, at most */
    char *scratch;        /* SLOTS of partial results, and of each team's */
    bool is_seen;
    bool finishes_all;
    bool is_carrier;
    bool has_given; /* the first piece, before the meeting ended */
};

/* Some elements of the whole vector. */
struct part {
    size_t begin, count;
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The i-th of n equal parts. */
static struct part cut(struct part part, int n, int i)
{
    size_t base = part.count / (size_t)n, longer = part.count % (size_t)n;
    size_t m = (size_t)i;
    return (struct part){ part.begin + m * base + smaller(m, longer),
                          base + (m < longer) };
}

static struct part piece_part(const struct lanes *l, size_t k)
{
    size_t begin = k * l->piece;
    return (struct part){ begin, smaller(l->piece, l->call->count - begin) };
}

static struct part lane_part(const struct lanes *l, size_t k, int lane)
{
    return cut(piece_part(l, k), l->clique->between->lanes, lane);
}

/* What the carrier of a team finishes of this lane. */
static struct part own_part(const struct lanes *l, size_t k, int team)
{
    struct part lane = lane_part(l, k, l->clique->between->place);
    return l->finishes_all ? lane : cut(lane, l->clique->num_teams, team);
}

/* Where a team's partial results are kept; of this team those of the whole
 * lane, of the others those that are finished here. */
static char *slot_of(const struct lanes *l, size_t k, int team)
{
    size_t slot = k % SLOTS * (size_t)l->clique->num_teams + (size_t)team;
    return l->scratch + slot * l->slot;
}

static int carrier_of(const struct lanes *l, int team)
{
    const struct jd_between *between = l->clique->between;
    return between->members[team][between->place];
}

/* ---- bounce memory ------------------------------------------------------ */

static char *given_at(const struct lanes *l, size_t k, int place)
{
    return jd__between_bounce(l->clique, place) + k % 2 * l->piece * l->element;
}

static char *result_at(const struct lanes *l, size_t k, int place)
{
    size_t lane = (l->piece + (size_t)l->clique->between->lanes - 1) /
                  (size_t)l->clique->between->lanes;
    return jd__between_bounce(l->clique, place) +
           (2 * l->piece + k % SLOTS * lane) * l->element;
}

static void give(const struct lanes *l, size_t k)
{
    const struct jd_between *between = l->clique->between;
    struct part piece = piece_part(l, k);
    for (int lane = 0; lane < between->lanes; lane++) {
        struct part part = lane_part(l, k, lane);
        if (lane != between->place)
            memcpy(given_at(l, k, between->place) +
                       (part.begin - piece.begin) * l->element,
                   (const char *)l->call->in + part.begin * l->element,
                   part.count * l->element);
    }
}

static void take(const struct lanes *l, size_t k)
{
    const struct jd_between *between = l->clique->between;
    for (int lane = 0; lane < between->lanes; lane++) {
        struct part part = lane_part(l, k, lane);
        if (lane != between->place)
            memcpy((char *)l->call->out + part.begin * l->element,
                   result_at(l, k, lane), part.count * l->element);
    }
}

/* ---- what carriers do --------------------------------------------------- */

static const char *input_at(const struct lanes *l, size_t k, int place,
                            size_t begin)
{
    const struct jd_between *between = l->clique->between;
    size_t bytes = l->call->count * l->element;
    if (place == between->place)
        return (const char *)l->call->in + begin * l->element;
    if (l->is_seen)
        return jd__between_in_of(l->clique, place, bytes) + begin * l->element;
    return given_at(l, k, place) +
           (begin - piece_part(l, k).begin) * l->element;
}

/* Where this team's partial results are: a lone member's input is that. */
static const char *partial_at(const struct lanes *l, size_t k)
{
    const struct jd_between *between = l->clique->between;
    size_t begin = lane_part(l, k, between->place).begin;
    if (between->sizes[between->team] == 1 && l->wide == l->element)
        return (const char *)l->call->in + begin * l->element;
    return slot_of(l, k, between->team);
}

static void fold_partial(const struct lanes *l, size_t k)
{
    const struct jd_between *between = l->clique->between;
    struct part part = lane_part(l, k, between->place);
    void *out = slot_of(l, k, between->team);
    int size = between->sizes[between->team];
    if (part.count == 0 || partial_at(l, k) != out)
        return;
    for (int i = 0; i < size; i++)
        between->ins[i] = input_at(l, k, i, part.begin);
    l->partial(&(struct jd_fold){ .ins = between->ins,
                                  .num_ins = size,
                                  .outs = &out,
                                  .num_outs = 1,
                                  .count = part.count });
}

/* Posts one round of messages among the carriers of this lane. */
static jd_status post(const struct lanes *l, size_t k, bool results)
{
    struct jd_clique *clique = l->clique;
    struct jd_between *between = clique->between;
    struct jd_posts *posts = &between->posts[k % SLOTS];
    int teams = clique->num_teams, team = between->team;
    size_t lane = lane_part(l, k, between->place).begin;
    struct part own = own_part(l, k, team);
    jd_status status = JD_OK;
    for (int i = 1; i < teams && status == JD_OK; i++) {
        int from = (team + teams - i) % teams, to = (team + i) % teams;
        struct part theirs = own_part(l, k, results ? from : to);
        char *out = l->call->out;
        char *target =
            results ? out + theirs.begin * l->element : slot_of(l, k, from);
        const char *source =
            results ? out + own.begin * l->element
                    : partial_at(l, k) + (theirs.begin - lane) * l->wide;
        size_t in_bytes =
            results ? theirs.count * l->element : own.count * l->wide;
        size_t out_bytes =
            results ? own.count * l->element : theirs.count * l->wide;
        status =
            jd__between_post(clique, posts, carrier_of(l, from), target,
                             in_bytes, carrier_of(l, to), source, out_bytes);
    }
    return status;
}

/* Hands elements that are in our out to the team. */
static void deliver(const struct lanes *l, size_t k, struct part part)
{
    const struct jd_between *between = l->clique->between;
    size_t lane = lane_part(l, k, between->place).begin;
    size_t bytes = l->call->count * l->element;
    size_t at = part.begin * l->element, length = part.count * l->element;
    const char *from = (const char *)l->call->out + at;
    if (!l->is_seen) {
        memcpy(result_at(l, k, between->place) +
                   (part.begin - lane) * l->element,
               from, length);
        return;
    }
    for (int i = 0; i < between->sizes[between->team]; i++)
        if (i != between->place)
            memcpy(jd__between_out_of(l->clique, i, bytes) + at, from, length);
}

/* The outs of what is finished here; how many. */
static int find_outs(const struct lanes *l, size_t k, struct part part)
{
    const struct jd_between *between = l->clique->between;
    size_t lane = lane_part(l, k, between->place).begin;
    size_t bytes = l->call->count * l->element;
    size_t at = part.begin * l->element;
    int count = 0;
    between->outs[count++] = (char *)l->call->out + at;
    if (!l->is_seen)
        between->outs[count++] =
            result_at(l, k, between->place) + (part.begin - lane) * l->element;
    for (int i = 0; l->is_seen && i < between->sizes[between->team]; i++)
        if (i != between->place)
            between->outs[count++] =
                jd__between_out_of(l->clique, i, bytes) + at;
    return count;
}

static void fold_finish(const struct lanes *l, size_t k)
{
    struct jd_clique *clique = l->clique;
    struct jd_between *between = clique->between;
    size_t lane = lane_part(l, k, between->place).begin;
    struct part own = own_part(l, k, between->team);
    if (own.count == 0)
        return;
    for (int t = 0; t < clique->num_teams; t++)
        between->ins[t] = slot_of(l, k, t);
    between->ins[between->team] =
        partial_at(l, k) + (own.begin - lane) * l->wide;
    l->finish(&(struct jd_fold){ .ins = between->ins,
                                 .num_ins = clique->num_teams,
                                 .outs = between->outs,
                                 .num_outs = find_outs(l, k, own),
                                 .count = own.count,
                                 .divisor = clique->size });
}

static jd_status start(const struct lanes *l, size_t k)
{
    fold_partial(l, k);
    return post(l, k, false);
}

static jd_status middle(const struct lanes *l, size_t k)
{
    struct jd_clique *clique = l->clique;
    jd_status status =
        jd__between_finish(clique, &clique->between->posts[k % SLOTS]);
    if (status != JD_OK)
        return status;
    fold_finish(l, k);
    return l->finishes_all ? JD_OK : post(l, k, true);
}

static jd_status end(const struct lanes *l, size_t k)
{
    struct jd_clique *clique = l->clique;
    if (l->finishes_all)
        return JD_OK;
    jd_status status =
        jd__between_finish(clique, &clique->between->posts[k % SLOTS]);
    for (int t = 0; status == JD_OK && t < clique->num_teams; t++)
        if (t != clique->between->team)
            deliver(l, k, own_part(l, k, t));
    return status;
}

/* ---- piece after piece -------------------------------------------------- */

/* How many pieces later a lane is finished whole. */
static size_t lag(const struct lanes *l)
{
    return l->finishes_all ? 1 : 2;
}

/* The stages of earlier pieces that come after piece k has begun. */
static jd_status carry_on(const struct lanes *l, size_t k, size_t pieces)
{
    jd_status status = JD_OK;
    if (k >= 1 && k - 1 < pieces)
        status = middle(l, k - 1);
    if (status == JD_OK && k >= 2)
        status = end(l, k - 2);
    return status;
}

static jd_status run_seen(const struct lanes *l, size_t pieces)
{
    jd_status status = JD_OK;
    for (size_t k = 0; k < pieces + lag(l) && l->is_carrier; k++) {
        if (k < pieces)
            status = start(l, k);
        if (status == JD_OK)
            status = carry_on(l, k, pieces);
        if (status != JD_OK)
            return jd__between_break(l->clique, status);
    }
    return jd__team_step(l->clique->team);
}

/* What comes between the steps of two pieces. */
static jd_status bounce(const struct lanes *l, size_t k, size_t pieces)
{
    jd_status status = JD_OK;
    if (k < pieces && (k > 0 || !l->has_given))
        give(l, k);
    if (l->is_carrier)
        status = carry_on(l, k, pieces);
    return status == JD_OK ? status : jd__between_break(l->clique, status);
}

static jd_status run_bounced(const struct lanes *l, size_t pieces)
{
    struct jd_team *team = l->clique->team;
    jd_status status = JD_OK;
    for (size_t k = 0; k < pieces + lag(l) && status == JD_OK; k++) {
        status = bounce(l, k, pieces);
        if (status == JD_OK && k == 0 && l->has_given)
            status = jd__team_await_all(team, jd__team_steps(team));
        else if (status == JD_OK)
            status = jd__team_step(team);
        if (status == JD_OK && k >= lag(l))
            take(l, k - lag(l));
        if (status == JD_OK && k < pieces && l->is_carrier)
            status = start(l, k);
    }
    return status;
}

/* In the meeting, where this team's buffers are known not to be seen: the
 * first piece, while the leaders talk. */
static void give_early(void *arg)
{
    struct lanes *l = arg;
    l->has_given = true;
    if (l->call->count)
        give(l, 0);
}

/* How many elements: no more than makes the longest message that goes at
 * once. */
static size_t choose_piece(const struct lanes *l, size_t most)
{
    struct jd_clique *clique = l->clique;
    size_t lanes = (size_t)clique->between->lanes;
    size_t parts = l->finishes_all ? 1 : (size_t)clique->num_teams;
    size_t message = smaller(JD_GROUP_EAGER, jd__group_piece(clique->wire));
    return smaller(most / l->element, lanes * parts * (message / l->wide));
}

/* The longest lane of a piece, in cache lines. */
static size_t slot_bytes(const struct lanes *l)
{
    size_t lanes = (size_t)l->clique->between->lanes;
    size_t piece = choose_piece(l, SEEN_PIECE);
    return ((piece + lanes - 1) / lanes * l->wide + 63) / 64 * 64;
}

jd_status jd__between_reduce_lanes(struct jd_clique *clique,
                                   struct jd_meeting *meeting)
{
    const struct jd_collective *call = meeting->call;
    struct jd_between *between = clique->between;
    struct lanes l = {
        .clique = clique,
        .call = call,
        .partial = jd__fold_find(call->dtype, meeting->op, JD_FOLD_PARTIAL),
        .finish = jd__fold_find(call->dtype, meeting->op, JD_FOLD_FINISH),
        .element = jd_dtype_size(call->dtype),
        .wide = jd_dtype_size(jd__fold_wide(call->dtype)),
        .is_carrier = between->place < between->lanes,
    };
    l.finishes_all = clique->num_teams == 2 && l.wide == l.element;
    l.slot = slot_bytes(&l);
    meeting->in_bytes = meeting->out_bytes = call->count * l.element;
    l.scratch = jd__between_scratch(clique, meeting,
                                    SLOTS * (size_t)clique->num_teams * l.slot);
    l.piece = choose_piece(&l, BOUNCE_PIECE);
    meeting->unless_seen = give_early;
    meeting->arg = &l;
    jd_status status = jd__between_meet(clique, meeting);
    if (status != JD_OK || jd__between_has_come(clique, meeting))
        return status;
    l.is_seen = jd__between_all_seen(clique);
    if (l.is_seen)
        l.piece = choose_piece(&l, SEEN_PIECE);
    size_t pieces = (call->count + l.piece - 1) / l.piece;
    return l.is_seen ? run_seen(&l, pieces) : run_bounced(&l, pieces);
}
