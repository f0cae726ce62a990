/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_flow.c - long collectives between groups, piece by piece.
 *
 * In each turn every piece that is under way goes on by some rounds, the
 * pieces by turns, so that the messages of one are under way while another is
 * folded or copied. All owners of a rail do the same in the same order.
 */
#include "base/numbers.h"
#include "collectives/cpu/inter/inter_private.h"

#include <string.h>

#define ALIGNMENT 64

struct jd_part jd__inter_cut(struct jd_part part, int n, int i)
{
    size_t base = part.count / (size_t)n, longer = part.count % (size_t)n;
    size_t m = (size_t)i;
    return (struct jd_part){ part.begin + m * base +
                                 jd__numbers_smaller(m, longer),
                             base + (m < longer) };
}

/*
 * Between two groups messages are what goes at once by TCP. Among more a piece
 * has many rounds, whose number costs more: measured, psum of 1 MiB among 16
 * processes on 2 cores, 38 ms in pieces of 124 KiB, 14 ms of 496, and less in
 * one; modelled (jd-bench scale), of 64 MiB among 10,240 hosts, 1.39 times the
 * wire's time in pieces of 496 KiB, 1.22 of 992.
 */
#define WHOLE ((size_t)32) /* of the messages that go at once */
#define PIECE ((size_t)16)
size_t jd__inter_rail_bytes(const struct jd_comm *comm, size_t all,
                            bool is_whole)
{
    size_t message =
        jd__numbers_smaller(JD_GROUP_EAGER, jd__channel_piece(comm->wire));
    if (comm->num_groups > 2)
        return (all <= WHOLE * message ? WHOLE : PIECE) * message;
    return is_whole ? message : 2 * message;
}

struct jd_part jd__inter_piece_part(const struct jd_inter_flow *flow,
                                    size_t piece)
{
    size_t begin = piece * flow->piece;
    return (struct jd_part){ begin, jd__numbers_smaller(flow->piece,
                                                        flow->length - begin) };
}

struct jd_part jd__inter_rail_part(const struct jd_inter_flow *flow,
                                   size_t piece, int rail)
{
    return jd__inter_cut(jd__inter_piece_part(flow, piece),
                         flow->comm->inter->rails, rail);
}

struct jd_part jd__inter_own_rail(const struct jd_inter_flow *flow,
                                  size_t piece)
{
    return jd__inter_rail_part(flow, piece, flow->comm->inter->place);
}

size_t jd__inter_even_begin(const struct jd_inter_flow *flow, size_t piece,
                            int group)
{
    struct jd_part rail = { 0, jd__inter_own_rail(flow, piece).count };
    return jd__inter_cut(rail, flow->comm->num_groups, group).begin;
}

/* ---- memory ------------------------------------------------------------- */

static size_t align_up(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Of a piece: what each schedule moves, and what comes to be folded. */
static size_t slot_bytes(const struct jd_inter_flow *flow)
{
    size_t bytes = 0;
    for (int i = 0; i < flow->num_phases; i++)
        bytes += align_up(flow->rail * flow->widths[i]);
    return bytes + (flow->fold ? align_up(flow->rail * flow->widths[0]) : 0);
}

size_t jd__inter_flow_scratch(const struct jd_inter_flow *flow)
{
    size_t pieces = (flow->length + flow->piece - 1) / flow->piece;
    return jd__numbers_smaller(pieces, JD_INTER_DEPTH) * slot_bytes(flow);
}

static char *slot_of(const struct jd_inter_flow *flow, size_t piece)
{
    return flow->scratch + piece % JD_INTER_DEPTH * slot_bytes(flow);
}

/* The flow's own. */
static char *memory_of(const struct jd_inter_flow *flow, size_t piece,
                       int phase)
{
    return slot_of(flow, piece) +
           (phase ? align_up(flow->rail * flow->widths[0]) : 0);
}

char *jd__inter_flow_came(const struct jd_inter_flow *flow, size_t piece)
{
    return slot_of(flow, piece) + slot_bytes(flow) -
           align_up(flow->rail * flow->widths[0]);
}

static bool has_long_blocks(const struct jd_inter_flow *flow, size_t piece,
                            int phase)
{
    size_t groups = (size_t)flow->comm->num_groups;
    size_t all = flow->ops->begin(flow, piece, flow->comm->num_groups);
    return all / groups * flow->widths[phase] >= JD_INTER_LEAST_CUT;
}

int jd__inter_flow_origin(const struct jd_inter_flow *flow, size_t piece,
                          int phase)
{
    if (flow->is_cut[phase] && has_long_blocks(flow, piece, phase))
        return 0;
    return jd__schedule_origin(&flow->phases[phase]);
}

bool jd__inter_folds_operand(const struct jd_inter_flow *flow, size_t piece)
{
    bool is_cut = flow->cuts_operand && has_long_blocks(flow, piece, 0);
    return flow->widths[0] == flow->unit &&
           (is_cut || jd__schedule_origin(&flow->phases[0]) == 0);
}

struct jd_blocks jd__inter_left_alone(const struct jd_inter_flow *flow)
{
    struct jd_round first = jd__schedule_round(&flow->phases[0], 0);
    int groups = flow->comm->num_groups, folded = first.in.count;
    return (struct jd_blocks){ (first.in.first + folded) % groups,
                               groups - folded - first.out.count, 0 };
}

bool jd__inter_lies_so(const struct jd_inter_flow *flow)
{
    const struct jd_comm *comm = flow->comm;
    return jd__inter_is_lone(comm) &&
           (comm->num_groups == 2 ||
            (flow->piece == flow->length && !comm->inter->list));
}

/* Where a group's block begins in memory, in elements; behind the last one the
 * first begins again. */
static size_t offset_of(const struct jd_inter_flow *flow, size_t piece,
                        int phase, int group)
{
    int origin = jd__inter_flow_origin(flow, piece, phase);
    size_t first = flow->ops->begin(flow, piece, origin);
    size_t begin = flow->ops->begin(flow, piece, group);
    if (group >= origin)
        return begin - first;
    size_t all = flow->ops->begin(flow, piece, flow->comm->num_groups);
    return all - first + begin;
}

char *jd__inter_flow_at(const struct jd_inter_flow *flow, size_t piece,
                        int phase, int group)
{
    char *at = NULL;
    if (flow->ops->memory)
        at = flow->ops->memory(flow, piece, phase, group);
    return at ? at
              : memory_of(flow, piece, phase) +
                    offset_of(flow, piece, phase, group) * flow->widths[phase];
}

/* How many elements some blocks have. */
static size_t count_of(const struct jd_inter_flow *flow, size_t piece,
                       const struct jd_blocks *blocks)
{
    int groups = flow->comm->num_groups, last = blocks->first + blocks->count;
    size_t first = flow->ops->begin(flow, piece, blocks->first);
    if (last <= groups)
        return flow->ops->begin(flow, piece, last) - first;
    return flow->ops->begin(flow, piece, groups) - first +
           flow->ops->begin(flow, piece, last - groups);
}

void jd__inter_flow_read(const struct jd_inter_flow *flow, size_t piece,
                         void *to)
{
    int phase = flow->num_phases - 1, groups = flow->comm->num_groups;
    int origin = jd__inter_flow_origin(flow, piece, phase);
    size_t width = flow->widths[phase];
    size_t begin = flow->ops->begin(flow, piece, origin) * width;
    size_t all = flow->ops->begin(flow, piece, groups) * width;
    const char *memory = jd__inter_flow_at(flow, piece, phase, origin);
    if (all > begin)
        memcpy((char *)to + begin, memory, all - begin);
    if (begin)
        memcpy(to, memory + (all - begin), begin);
}

/* ---- rounds ------------------------------------------------------------- */

static struct jd_inter_piece *state_of(struct jd_inter_flow *flow, size_t piece)
{
    return &flow->under_way[piece % JD_INTER_DEPTH];
}

static int all_rounds(const struct jd_inter_flow *flow)
{
    int rounds = 0;
    for (int i = 0; i < flow->num_phases; i++)
        rounds += jd__schedule_rounds(&flow->phases[i]);
    return rounds;
}

static struct jd_round round_of(const struct jd_inter_flow *flow,
                                const struct jd_inter_piece *state)
{
    return jd__schedule_round(&flow->phases[state->phase], state->round);
}

/* The member that owns this rail in a group. */
static int owner_of(const struct jd_inter_flow *flow, int group)
{
    const struct jd_inter *inter = flow->comm->inter;
    return group < 0 ? -1 : jd__inter_member(inter, group, inter->place);
}

/* Whether a message has all of the memory. */
static bool is_whole(const struct jd_schedule *s)
{
    return s->kind == JD_SCHEDULE_MERGE || s->kind == JD_SCHEDULE_BROADCAST;
}

/* Where a block is before the round: what the first folds and sends may still
 * be the caller's. */
static char *before_round(const struct jd_inter_flow *flow, size_t piece,
                          const struct jd_inter_piece *state, int group)
{
    char *at = NULL;
    if (state->phase == 0 && state->round == 0 && flow->ops->operand)
        at = flow->ops->operand(flow, piece, group);
    return at ? at : jd__inter_flow_at(flow, piece, state->phase, group);
}

static bool is_folded(const struct jd_inter_flow *flow,
                      const struct jd_inter_piece *state)
{
    return flow->fold && state->phase == 0;
}

/* What is behind the last group's block, cut off where such ranges are: all
 * owners cut alike. */
static struct jd_blocks cut_off(const struct jd_inter_flow *flow, size_t piece,
                                const struct jd_inter_piece *state,
                                struct jd_blocks *blocks)
{
    bool is_first = state->phase == 0 && state->round == 0;
    bool is_cut =
        flow->is_cut[state->phase] || (is_first && flow->cuts_operand);
    int behind = blocks->first + blocks->count - flow->comm->num_groups;
    if (!is_cut || behind <= 0 || !has_long_blocks(flow, piece, state->phase))
        return (struct jd_blocks){ 0, 0, 0 };
    blocks->count -= behind;
    return (struct jd_blocks){ 0, behind, 0 };
}

static struct jd_message_end end_of(struct jd_inter_flow *flow, size_t piece,
                                    int group, const struct jd_blocks *blocks)
{
    const struct jd_inter_piece *state = state_of(flow, piece);
    if (group < 0 || blocks->count == 0)
        return (struct jd_message_end){ -1, NULL, 0 };
    return (struct jd_message_end){
        owner_of(flow, group),
        before_round(flow, piece, state, blocks->first),
        count_of(flow, piece, blocks) * flow->widths[state->phase],
    };
}

/* Of a message, or of the two that it was cut into. */
static void find_ends(struct jd_inter_flow *flow, size_t piece, int group,
                      struct jd_blocks blocks, struct jd_message_end ends[2])
{
    const struct jd_inter_piece *state = state_of(flow, piece);
    struct jd_blocks behind = { 0, 0, 0 };
    if (is_whole(&flow->phases[state->phase]))
        blocks = (struct jd_blocks){ 0, flow->comm->num_groups, 0 };
    else
        behind = cut_off(flow, piece, state, &blocks);
    ends[0] = end_of(flow, piece, group, &blocks);
    ends[1] = end_of(flow, piece, group, &behind);
}

static jd_status post_round(struct jd_inter_flow *flow, size_t piece)
{
    struct jd_inter_piece *state = state_of(flow, piece);
    struct jd_round round = round_of(flow, state);
    struct jd_message_end from[2], to[2];
    find_ends(flow, piece, round.from, round.in, from);
    find_ends(flow, piece, round.to, round.out, to);
    if (is_folded(flow, state)) {
        from[0].data = jd__inter_flow_came(flow, piece);
        from[1].data = jd__inter_flow_came(flow, piece) + from[0].bytes;
    }
    state->is_cut = from[1].member >= 0 || to[1].member >= 0;
    jd_status status =
        jd__pair_post(flow->comm->wire, &state->pair, from[0], to[0]);
    if (status == JD_OK && state->is_cut)
        status =
            jd__pair_post(flow->comm->wire, &state->behind, from[1], to[1]);
    return status;
}

static jd_status finish_round(struct jd_inter_flow *flow,
                              struct jd_inter_piece *state)
{
    jd_status status = jd__pair_finish(flow->comm->wire, &state->pair);
    if (status == JD_OK && state->is_cut)
        status = jd__pair_finish(flow->comm->wire, &state->behind);
    return status;
}

/* What came is folded behind the own: an order that is nobody's, but each
 * element is folded by one member alone. */
static void fold_part(struct jd_inter_flow *flow, size_t piece,
                      const struct jd_blocks *blocks, const char *came)
{
    size_t count = count_of(flow, piece, blocks);
    int first = blocks->first;
    void *ours = jd__inter_flow_at(flow, piece, 0, first);
    const void *ins[2] = {
        before_round(flow, piece, state_of(flow, piece), first), came
    };
    if (blocks->count && count)
        flow->fold(&(struct jd_fold){ .ins = ins,
                                      .num_ins = 2,
                                      .outs = &ours,
                                      .num_outs = 1,
                                      .count = count });
}

static void fold_came(struct jd_inter_flow *flow, size_t piece,
                      const struct jd_round *round)
{
    const struct jd_inter_piece *state = state_of(flow, piece);
    struct jd_blocks in = round->in;
    struct jd_blocks behind = cut_off(flow, piece, state, &in);
    const char *came = jd__inter_flow_came(flow, piece);
    if (round->from < 0)
        return;
    fold_part(flow, piece, &in, came);
    came += count_of(flow, piece, &in) * flow->widths[0];
    fold_part(flow, piece, &behind, came);
}

/* The round is over. Returns whether the piece is. */
static bool step_piece(struct jd_inter_flow *flow, size_t piece)
{
    struct jd_inter_piece *state = state_of(flow, piece);
    struct jd_round round = round_of(flow, state);
    if (is_folded(flow, state) && !is_whole(&flow->phases[0]))
        fold_came(flow, piece, &round);
    if (++state->round < jd__schedule_rounds(&flow->phases[state->phase]))
        return false;
    if (state->phase == 0 && flow->ops->turn)
        flow->ops->turn(flow, piece);
    state->round = 0;
    return ++state->phase == flow->num_phases;
}

static jd_status advance_piece(struct jd_inter_flow *flow, size_t piece)
{
    struct jd_inter_piece *state = state_of(flow, piece);
    if (state->phase == flow->num_phases)
        return JD_OK;
    jd_status status = finish_round(flow, state);
    if (status != JD_OK)
        return status;
    if (!step_piece(flow, piece))
        return post_round(flow, piece);
    flow->ops->deliver(flow, piece);
    return JD_OK;
}

/* ---- pieces ------------------------------------------------------------- */

/* How many turns a piece takes, and how many rounds it goes on in one. */
static size_t turns_of(const struct jd_inter_flow *flow)
{
    size_t rounds = (size_t)all_rounds(flow);
    return jd__numbers_smaller(rounds, JD_INTER_DEPTH - 1);
}

static int rounds_of_turn(const struct jd_inter_flow *flow)
{
    int turns = (int)turns_of(flow);
    return (all_rounds(flow) + turns - 1) / turns;
}

static size_t pieces_of(const struct jd_inter_flow *flow)
{
    return (flow->length + flow->piece - 1) / flow->piece;
}

static jd_status start_piece(struct jd_inter_flow *flow, size_t piece)
{
    struct jd_inter_piece *state = state_of(flow, piece);
    state->phase = state->round = 0;
    flow->ops->load(flow, piece);
    return post_round(flow, piece);
}

/* Those that were begun before the turn. */
static jd_status carry_on(struct jd_inter_flow *flow, size_t turn)
{
    size_t first = turn > turns_of(flow) ? turn - turns_of(flow) : 0;
    size_t end = jd__numbers_smaller(turn, pieces_of(flow));
    jd_status status = JD_OK;
    for (int i = 0; i < rounds_of_turn(flow); i++)
        for (size_t k = first; k < end && status == JD_OK; k++)
            status = advance_piece(flow, k);
    return status;
}

static jd_status run_seen(struct jd_inter_flow *flow)
{
    size_t pieces = pieces_of(flow);
    jd_status status = JD_OK;
    for (size_t k = 0; k < pieces + turns_of(flow) && flow->is_owner; k++) {
        if (k < pieces)
            status = start_piece(flow, k);
        if (status == JD_OK)
            status = carry_on(flow, k);
        if (status != JD_OK)
            return jd__inter_break(flow->comm, status);
    }
    return jd__shm_step(flow->comm->group);
}

/* What comes between the steps of two pieces. */
static jd_status bounce_turn(struct jd_inter_flow *flow, size_t turn)
{
    jd_status status = JD_OK;
    if (turn < pieces_of(flow) && flow->ops->give &&
        (turn > 0 || !flow->has_given))
        flow->ops->give(flow, turn);
    if (flow->is_owner)
        status = carry_on(flow, turn);
    return status == JD_OK ? status : jd__inter_break(flow->comm, status);
}

/* What was given during the sync is there with its step. */
static jd_status step_all(struct jd_inter_flow *flow, size_t turn)
{
    struct jd_shm_group *group = flow->comm->group;
    if (turn == 0 && flow->has_given)
        return jd__shm_await_all(group, jd__shm_steps(group));
    return jd__shm_step(group);
}

static jd_status run_bounced(struct jd_inter_flow *flow)
{
    size_t pieces = pieces_of(flow), lag = turns_of(flow);
    jd_status status = JD_OK;
    for (size_t k = 0; k < pieces + lag && status == JD_OK; k++) {
        status = bounce_turn(flow, k);
        if (status == JD_OK)
            status = step_all(flow, k);
        if (status == JD_OK && k >= lag && flow->ops->take)
            flow->ops->take(flow, k - lag);
        if (status != JD_OK || k >= pieces || !flow->is_owner)
            continue;
        status = start_piece(flow, k);
        if (status != JD_OK)
            return jd__inter_break(flow->comm, status);
    }
    return status;
}

jd_status jd__inter_flow_run(struct jd_inter_flow *flow)
{
    const struct jd_inter *inter = flow->comm->inter;
    flow->is_owner = inter->place < inter->rails;
    return flow->is_seen ? run_seen(flow) : run_bounced(flow);
}

/* ---- from the sync on --------------------------------------------------- */

static void give_first(void *arg)
{
    struct jd_inter_flow *flow = arg;
    flow->has_given = true;
    if (flow->length && flow->ops->give)
        flow->ops->give(flow, 0);
}

jd_status jd__inter_flow_sync(struct jd_inter_flow *flow,
                              struct jd_inter_sync *sync)
{
    sync->unless_seen = give_first;
    sync->arg = flow;
    jd_status status = jd__inter_sync(flow->comm, sync);
    flow->is_seen = status == JD_OK && jd__inter_all_seen(flow->comm);
    return status;
}

#define SEEN_PIECE ((size_t)512 << 10)   /* between two groups */
#define BOUNCE_PIECE ((size_t)192 << 10) /* two, and two rails, fit */

/* Pieces of at most so many bytes. */
static void choose_piece(struct jd_inter_flow *flow, size_t most)
{
    size_t rails = (size_t)flow->comm->inter->rails, width = flow->widths[0];
    size_t rail = jd__inter_rail_bytes(flow->comm, flow->length * width / rails,
                                       is_whole(&flow->phases[0]));
    flow->piece =
        jd__numbers_smaller(most / flow->unit, rails * (rail / width));
    flow->piece = jd__numbers_smaller(flow->piece, flow->length);
    flow->rail = (flow->piece + rails - 1) / rails;
}

jd_status jd__inter_flow_even(struct jd_inter_flow *flow,
                              struct jd_inter_sync *sync)
{
    struct jd_comm *comm = flow->comm;
    size_t most_seen = comm->num_groups == 2 ? SEEN_PIECE : SIZE_MAX;
    choose_piece(flow, most_seen);
    size_t seen = jd__inter_flow_scratch(flow);
    choose_piece(flow, BOUNCE_PIECE);
    size_t bounced = jd__inter_flow_scratch(flow);
    flow->scratch =
        jd__inter_scratch(comm, sync, seen > bounced ? seen : bounced);
    sync->in_bytes = sync->out_bytes = flow->length * flow->unit;
    jd_status status = jd__inter_flow_sync(flow, sync);
    if (status != JD_OK || jd__inter_has_come(comm, sync))
        return status;
    if (flow->is_seen)
        choose_piece(flow, most_seen);
    return jd__inter_flow_run(flow);
}
