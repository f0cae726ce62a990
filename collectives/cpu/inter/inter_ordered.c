/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_ordered.c - sums and the like between groups in the order of the
 * members, for JD_DETERMINISTIC=1: each element is brought, by pairs, to the
 * member that folds it from the first member's to the last one's.
 */
#include "base/numbers.h"
#include "collectives/cpu/inter/inter_private.h"

/* Less than this at once costs more in messages than it spares in memory. */
#define LEAST_PIECE ((size_t)64 << 10)
#define ALIGNMENT 64

/* A reduction in numbers that all members agree on. */
struct plan {
    struct jd_comm *comm;
    const struct jd_collective *call;
    jd_fold_function *fold;
    const struct jd_inter_scatter *scatter;
    size_t rows; /* of a block; 1 where there are no blocks */
    size_t element, piece;
    char *slots; /* of each member's part */
    char *scratch;
};

static void fold_to(const struct plan *plan, void *out, size_t count)
{
    if (count)
        plan->fold(&(struct jd_fold){ .ins = plan->comm->inter->ins,
                                      .num_ins = plan->comm->size,
                                      .outs = &out,
                                      .num_outs = 1,
                                      .count = count,
                                      .divisor = plan->comm->size });
}

/* What member is to fold: its block, whose rows lie apart, or everything. */
static struct jd_strided input_for(const struct plan *plan, const void *in,
                                   int member)
{
    size_t width = plan->call->count * plan->element;
    if (!plan->scatter)
        return jd__strided_flat(in, width);
    return (struct jd_strided){
        .base = (char *)in + (size_t)member * width,
        .rows = plan->rows,
        .width = width,
        .pitch = (size_t)plan->comm->size * width,
    };
}

/* Folds what all brought to the sync. */
static void take_brought(const struct plan *plan)
{
    struct jd_comm *comm = plan->comm;
    size_t width = plan->call->count * plan->element;
    size_t all = width * plan->rows * (plan->scatter ? (size_t)comm->size : 1);
    struct jd_strided part =
        input_for(plan, jd__inter_brought(comm), comm->index);
    for (size_t row = 0; row < plan->rows && width; row++) {
        for (int i = 0; i < comm->size; i++)
            comm->inter->ins[i] =
                part.base + row * part.pitch + (size_t)i * all;
        fold_to(plan, (char *)plan->call->out + row * width, plan->call->count);
    }
}

/* ---- long ones ------------------------------------------------------------
 */

/* One round: the elements from done on, of all or of every block. */
struct round {
    const struct plan *plan;
    size_t done, count;
};

/* The elements of the round that a member folds. */
static struct jd_part part_of(const struct round *round, int member)
{
    struct jd_part all = { round->done, round->count };
    return round->plan->scatter
               ? all
               : jd__inter_cut(all, round->plan->comm->size, member);
}

static struct jd_strided flat_part(const struct plan *plan, const void *base,
                                   struct jd_part part)
{
    return jd__strided_flat((const char *)base + part.begin * plan->element,
                            part.count * plan->element);
}

static struct jd_strided slot_of(const void *arg, int member)
{
    const struct round *round = arg;
    const struct plan *plan = round->plan;
    size_t bytes = part_of(round, plan->comm->index).count * plan->element;
    return jd__strided_flat(plan->slots + (size_t)member * plan->piece, bytes);
}

/* What another folds of our operand: of a block, some of a row or whole rows
 * (next_count). */
static struct jd_strided operand_for(const void *arg, int member)
{
    const struct round *round = arg;
    const struct plan *plan = round->plan;
    struct jd_part part = part_of(round, member);
    size_t width = plan->call->count;
    if (!plan->scatter)
        return flat_part(plan, plan->call->in, part);
    struct jd_strided in = input_for(plan, plan->call->in, member);
    in.base +=
        part.begin / width * in.pitch + part.begin % width * plan->element;
    in.rows = part.count > width ? part.count / width : 1;
    in.width = part.count > width ? in.width : part.count * plan->element;
    return in;
}

static struct jd_strided result_of(const void *arg, int member)
{
    const struct round *round = arg;
    return flat_part(round->plan, round->plan->call->out,
                     part_of(round, member));
}

static struct jd_strided own_result(const void *arg, int member)
{
    const struct round *round = arg;
    (void)member;
    return result_of(arg, round->plan->comm->index);
}

static jd_status run_round(const struct round *round)
{
    const struct plan *plan = round->plan;
    struct jd_comm *comm = plan->comm;
    struct jd_part own = part_of(round, comm->index);
    struct jd_inter_exchange x = { .comm = comm,
                                   .arg = round,
                                   .send = operand_for,
                                   .receive = slot_of,
                                   .scratch = plan->scratch };
    jd_status status = jd__inter_exchange(&x);
    if (status != JD_OK)
        return status;
    for (int i = 0; i < comm->size; i++)
        comm->inter->ins[i] = slot_of(round, i).base;
    fold_to(plan, (char *)plan->call->out + own.begin * plan->element,
            own.count);
    if (plan->scatter)
        return JD_OK;
    x.send = own_result;
    x.receive = result_of;
    return jd__inter_exchange(&x);
}

/* Elements of a round: those of a block are of one row, or of whole rows. */
static size_t next_count(const struct plan *plan, size_t at, size_t step)
{
    size_t width = plan->call->count, all = width * plan->rows;
    if (!plan->scatter)
        return jd__numbers_smaller(step, all - at);
    if (step >= width && at % width == 0)
        return jd__numbers_smaller(step / width * width, all - at);
    return jd__numbers_smaller(step, width - at % width);
}

static size_t piece_of(const struct jd_comm *comm)
{
    size_t most = jd__channel_piece(comm->wire);
    size_t share = 4 * JD_GROUP_PIECE / (size_t)comm->size;
    size_t piece =
        jd__numbers_smaller(most, share > LEAST_PIECE ? share : LEAST_PIECE);
    return piece < ALIGNMENT ? ALIGNMENT : piece / ALIGNMENT * ALIGNMENT;
}

static jd_status reduce_long(struct plan *plan, struct jd_inter_sync *sync)
{
    struct jd_comm *comm = plan->comm;
    size_t all = plan->call->count * plan->rows, size = (size_t)comm->size;
    size_t step = plan->piece / plan->element * (plan->scatter ? 1 : size);
    jd_status status = JD_OK;
    plan->slots = jd__inter_scratch(
        comm, sync, size * plan->piece + jd__inter_exchange_scratch(comm));
    plan->scratch = plan->slots + (plan->slots ? size * plan->piece : 0);
    sync->in_bytes = sync->offers ? sync->bytes : 0;
    status = jd__inter_sync(comm, sync);
    if (status != JD_OK || jd__inter_has_come(comm, sync))
        return jd__inter_give_up(comm, status);
    for (size_t at = 0, count; at < all && status == JD_OK; at += count) {
        count = next_count(plan, at, step);
        status = run_round(&(struct round){ plan, at, count });
    }
    return jd__inter_give_up(comm, status);
}

jd_status jd__inter_reduce_ordered(struct jd_comm *comm,
                                   struct jd_inter_sync *sync,
                                   const struct jd_inter_scatter *scatter)
{
    const struct jd_collective *call = sync->call;
    struct plan plan = {
        .comm = comm,
        .call = call,
        .fold = jd__fold_find(call->dtype, sync->op, JD_FOLD_WHOLE),
        .scatter = scatter,
        .rows = scatter ? scatter->rows : 1,
        .element = jd_dtype_size(call->dtype),
        .piece = piece_of(comm),
    };
    jd_status status = jd__inter_bring(comm, sync, JD_BRING_ALL, sync->bytes)
                           ? jd__inter_sync(comm, sync)
                           : reduce_long(&plan, sync);
    if (status == JD_OK && jd__inter_has_come(comm, sync))
        take_brought(&plan);
    return status;
}
