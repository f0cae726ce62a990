/* SPDX-License-Identifier: BSD-3-Clause */
/* team_reduce.c - sums and the like inside a team. */
#include "collectives/team_reduce.h"
#include "collectives/team_private.h"

#include <string.h>

/* Measured: bench/README.md. */
struct jd_reduce_limits jd__reduce_limits = {
    .inline_bytes = 4032,
    .short_bytes = 8 << 10,
    .zero_copy_bytes = JD_BY_PROCESSOR,
    .stream_bytes = 16 << 20,
    .bounce_bytes = 64 << 10,
};

/* What a member tells: where its buffers are, or the data itself. */
struct told {
    uint64_t in;  /* JD_PLACE_INLINE: the data follow */
    uint64_t out; /* not there where in is JD_PLACE_INLINE */
};
#define JD_PLACE_INLINE (JD_PLACE_PRIVATE - 1)
#define HEAD sizeof(uint64_t)

/* A reduction, in numbers that all members agree on. */
struct plan {
    struct jd_team *team;
    const struct jd_team_reduction *r;
    size_t element, in_bytes, out_bytes, block; /* r's */
};

static void fill(const struct jd_team *team, struct jd_team_reduction *r)
{
    const struct jd_collective *call = r->call;
    size_t members = r->scatter ? (size_t)team->size : 1;
    r->fold = jd__fold_find(call->dtype, r->op, JD_FOLD_WHOLE);
    r->element = jd_dtype_size(call->dtype);
    r->block = call->count * (r->scatter ? r->rows : 1);
    r->out_bytes = r->block * r->element;
    r->in_bytes = r->out_bytes * members;
}

static const struct told *told_by(const struct jd_team *team, int member)
{
    return jd__team_payload(team, member);
}

/* Short data go inline unless others can read them where they are, and that
 * is not cheaper by the line. */
static bool goes_inline(const struct jd_team *team, const void *in,
                        size_t bytes)
{
    const struct jd_reduce_limits *limits = &jd__reduce_limits;
    if (bytes > limits->inline_bytes)
        return false;
    return bytes <= limits->inline_bytes / 4 ||
           jd__team_place(team, in, bytes) == JD_PLACE_PRIVATE;
}

size_t jd__team_reduce_tell(const struct jd_team *team,
                            struct jd_team_reduction *reduction,
                            unsigned char *payload)
{
    const struct jd_collective *call = reduction->call;
    fill(team, reduction);
    size_t bytes = reduction->in_bytes;
    struct told told = { .in = JD_PLACE_INLINE, .out = 0 };
    if (goes_inline(team, call->in, bytes)) {
        memcpy(payload, &told, HEAD);
        if (bytes)
            memcpy(payload + HEAD, call->in, bytes);
        return HEAD + bytes;
    }
    told.in = jd__team_place(team, call->in, bytes);
    told.out = jd__team_place(team, call->out, reduction->out_bytes);
    memcpy(payload, &told, sizeof told);
    return sizeof told;
}

static void run_fold(const struct plan *plan, int num_outs, size_t count,
                     bool streams)
{
    if (count == 0)
        return;
    plan->r->fold(&(struct jd_fold){
        .ins = plan->team->ins,
        .outs = plan->team->outs,
        .num_ins = plan->team->size,
        .num_outs = num_outs,
        .count = count,
        .divisor = plan->r->divisor,
        .streams = streams,
    });
}

/* ---- short -------------------------------------------------------------- */

/* Where member's input can be read: in its payload or in its arena. NULL
 * where it is neither. */
static const char *input_of(const struct plan *plan, int member)
{
    const struct told *told = told_by(plan->team, member);
    if (told->in == JD_PLACE_INLINE)
        return (const char *)told + HEAD;
    return jd__team_at(plan->team, member, told->in, plan->in_bytes);
}

static bool all_inputs_are_seen(const struct plan *plan)
{
    for (int i = 0; i < plan->team->size; i++)
        if (!input_of(plan, i))
            return false;
    return true;
}

static bool somebody_told_a_place(const struct plan *plan)
{
    for (int i = 0; i < plan->team->size; i++)
        if (told_by(plan->team, i)->in != JD_PLACE_INLINE)
            return true;
    return false;
}

static void set_inputs(const struct plan *plan, size_t offset)
{
    for (int i = 0; i < plan->team->size; i++)
        plan->team->ins[i] = input_of(plan, i) + offset;
}

/* A member's own block, row by row where the rows are apart; whole where there
 * is one. */
static void fold_block(const struct plan *plan, bool streams)
{
    const struct jd_team_reduction *r = plan->r;
    size_t width = r->call->count * plan->element;
    size_t rows = r->scatter ? r->rows : 1;
    size_t members = r->scatter ? (size_t)plan->team->size : 1;
    size_t index = r->scatter ? (size_t)plan->team->index : 0;
    for (size_t row = 0; row < rows; row++) {
        set_inputs(plan, (row * members + index) * width);
        plan->team->outs[0] = (char *)r->call->out + row * width;
        run_fold(plan, 1, r->call->count, streams);
    }
}

/* In place each would overwrite what the others read. */
static bool is_in_place(const struct plan *plan, int member)
{
    const struct told *told = told_by(plan->team, member);
    return told->in != JD_PLACE_INLINE && told->in == told->out;
}

static bool anybody_is_in_place(const struct plan *plan)
{
    for (int i = 0; i < plan->team->size; i++)
        if (is_in_place(plan, i))
            return true;
    return false;
}

static jd_status reduce_short(struct plan *plan)
{
    fold_block(plan, false);
    return somebody_told_a_place(plan) ? jd__team_step(plan->team) : JD_OK;
}

/* ---- zero copy ---------------------------------------------------------- */

static bool all_outputs_are_seen(const struct plan *plan)
{
    for (int i = 0; i < plan->team->size; i++)
        if (!jd__team_at(plan->team, i, told_by(plan->team, i)->out,
                         plan->out_bytes))
            return false;
    return true;
}

/* Elements [begin, end) of member's share: cut at cache lines. */
static void cut_share(const struct plan *plan, size_t *ret_begin,
                      size_t *ret_count)
{
    size_t line = JD_CACHE_LINE / plan->element;
    size_t lines = (plan->block + line - 1) / line;
    size_t size = (size_t)plan->team->size, index = (size_t)plan->team->index;
    size_t begin = lines / size * index + lines % size * index / size;
    size_t end = lines / size * (index + 1) + lines % size * (index + 1) / size;
    begin = begin * line < plan->block ? begin * line : plan->block;
    end = end * line < plan->block ? end * line : plan->block;
    *ret_begin = begin;
    *ret_count = end - begin;
}

static jd_status reduce_zero_copy(struct plan *plan)
{
    struct jd_team *team = plan->team;
    bool streams = plan->in_bytes >= jd__reduce_limits.stream_bytes;
    size_t begin, count;
    if (plan->r->scatter) {
        fold_block(plan, streams);
        return jd__team_step(team);
    }
    cut_share(plan, &begin, &count);
    set_inputs(plan, begin * plan->element);
    for (int i = 0; i < team->size; i++)
        team->outs[i] = (char *)jd__team_at(team, i, told_by(team, i)->out,
                                            plan->out_bytes) +
                        begin * plan->element;
    run_fold(plan, team->size, count, streams);
    return jd__team_step(team);
}

/* ---- bounce ------------------------------------------------------------- */

/*
 * Bounce memory of a member, in pieces of up to `chunk` elements per member:
 * two halves by turns, each with a chunk for every member's share, and two
 * chunks for results.
 */
struct bounce {
    struct plan *plan;
    size_t chunk;  /* elements */
    size_t stride; /* bytes of a chunk */
    size_t done;   /* elements of the block that earlier pieces had */
    size_t count;  /* of this piece, of each share: the last may be shorter */
    unsigned half;
};

static struct bounce make_bounce(struct plan *plan)
{
    size_t members = (size_t)plan->team->size;
    size_t line = JD_CACHE_LINE;
    size_t most = JD_TEAM_BOUNCE / (2 * members + 2) / line * line;
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
    const struct plan *plan = b->plan;
    size_t left = plan->block - b->done;
    size_t line = JD_CACHE_LINE / plan->element;
    size_t size = (size_t)plan->team->size;
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
    size_t place = b->half * (size_t)b->plan->team->size + (size_t)share;
    return jd__team_bounce(b->plan->team, member) + place * b->stride;
}

static char *result_of(const struct bounce *b, int member)
{
    size_t place = 2 * (size_t)b->plan->team->size + b->half;
    return jd__team_bounce(b->plan->team, member) + place * b->stride;
}

/* Copies elements [begin, begin + count) of the block of a share, whose rows
 * lie apart in a scatter's input. */
static void copy_in(const struct plan *plan, char *to, int share, size_t begin,
                    size_t count)
{
    const struct jd_team_reduction *r = plan->r;
    const char *in = r->call->in;
    size_t width = r->call->count, size = (size_t)plan->team->size;
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
    const struct plan *plan = b->plan;
    int own = plan->team->index;
    for (int share = 0; share < plan->team->size; share++)
        if (share != own || plan->r->scatter)
            copy_in(plan, chunk_of(b, own, share), share, share_begin(b, share),
                    share_count(b, share));
}

static void fold_piece(const struct bounce *b)
{
    const struct plan *plan = b->plan;
    struct jd_team *team = plan->team;
    bool scatter = plan->r->scatter;
    size_t begin = share_begin(b, team->index);
    size_t offset = begin * plan->element;
    for (int i = 0; i < team->size; i++)
        team->ins[i] = i == team->index && !scatter
                           ? (const char *)plan->r->call->in + offset
                           : chunk_of(b, i, team->index);
    team->outs[0] = (char *)plan->r->call->out + offset;
    team->outs[1] = result_of(b, team->index);
    run_fold(plan, scatter ? 1 : 2, share_count(b, team->index), false);
}

static void take_results(const struct bounce *b)
{
    const struct plan *plan = b->plan;
    for (int i = 0; i < plan->team->size; i++) {
        size_t count = share_count(b, i);
        if (i != plan->team->index && count)
            memcpy((char *)plan->r->call->out +
                       share_begin(b, i) * plan->element,
                   result_of(b, i), count * plan->element);
    }
}

/* The next piece; one of nothing at the end. */
static struct bounce next_piece(const struct bounce *b)
{
    struct bounce next = *b;
    size_t shares = b->plan->r->scatter ? 1 : (size_t)b->plan->team->size;
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
static jd_status reduce_bounce(struct plan *plan)
{
    struct jd_team *team = plan->team;
    struct bounce piece = make_bounce(plan);
    piece.count = next_count(&piece);
    give_piece(&piece);
    jd_status status = jd__team_step(team);
    while (status == JD_OK && piece.count) {
        struct bounce next = next_piece(&piece);
        give_piece(&next);
        fold_piece(&piece);
        status = jd__team_step(team);
        if (status == JD_OK && !plan->r->scatter)
            take_results(&piece);
        piece = next;
    }
    return status;
}

/* ---- which -------------------------------------------------------------- */

static bool somebody_told_data(const struct plan *plan)
{
    for (int i = 0; i < plan->team->size; i++)
        if (told_by(plan->team, i)->in == JD_PLACE_INLINE)
            return true;
    return false;
}

static bool all_are_in_place(const struct plan *plan)
{
    for (int i = 0; i < plan->team->size; i++)
        if (!is_in_place(plan, i))
            return false;
    return true;
}

static bool is_short(const struct plan *plan)
{
    if (!all_inputs_are_seen(plan))
        return false;
    if (!somebody_told_a_place(plan))
        return true;
    return plan->in_bytes <= jd__reduce_limits.short_bytes &&
           (plan->r->scatter || !anybody_is_in_place(plan));
}

/* Intel's fetch a line that another core has modified more dearly than they
 * copy it twice; AMD's do not. All members are on one host, of one processor.
 */
static size_t zero_copy_bytes(void)
{
    size_t bytes = jd__reduce_limits.zero_copy_bytes;
    if (bytes != JD_BY_PROCESSOR)
        return bytes;
#if defined(__x86_64__) || defined(__i386__)
    if (__builtin_cpu_is("amd"))
        return jd__reduce_limits.short_bytes;
#endif
    return (size_t)512 << 10;
}

static bool is_zero_copy(const struct plan *plan)
{
    bool is_long = plan->in_bytes > zero_copy_bytes();
    if (!all_inputs_are_seen(plan) || somebody_told_data(plan))
        return false;
    if (plan->r->scatter)
        return is_long;
    return all_outputs_are_seen(plan) && (is_long || all_are_in_place(plan));
}

/* A member that is alone. */
static jd_status reduce_alone(struct plan *plan)
{
    plan->team->ins[0] = plan->r->call->in;
    plan->team->outs[0] = plan->r->call->out;
    run_fold(plan, 1, plan->block, false);
    return JD_OK;
}

/* What most short calls are. */
static bool all_is_inline(const struct plan *plan)
{
    for (int i = 0; i < plan->team->size; i++) {
        const struct told *told = told_by(plan->team, i);
        if (told->in != JD_PLACE_INLINE)
            return false;
        plan->team->ins[i] = (const char *)told + HEAD;
    }
    return true;
}

static jd_status reduce_inline(const struct plan *plan)
{
    plan->team->outs[0] = plan->r->call->out;
    run_fold(plan, 1, plan->block, false);
    return JD_OK;
}

jd_status jd__team_reduce(struct jd_team *team,
                          const struct jd_team_reduction *reduction)
{
    struct plan plan = { .team = team,
                         .r = reduction,
                         .element = reduction->element,
                         .in_bytes = reduction->in_bytes,
                         .out_bytes = reduction->out_bytes,
                         .block = reduction->block };
    if (plan.block == 0)
        return JD_OK;
    if (!reduction->scatter && all_is_inline(&plan))
        return reduce_inline(&plan);
    if (team->size == 1)
        return reduce_alone(&plan);
    if (is_short(&plan))
        return reduce_short(&plan);
    return is_zero_copy(&plan) ? reduce_zero_copy(&plan) : reduce_bounce(&plan);
}
