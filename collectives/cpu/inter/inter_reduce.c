/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_reduce.c - sums and the like between groups, each element folded by
 * one member from the first member's to the last one's.
 */
#include "base/numbers.h"
#include "collectives/cpu/inter/inter_private.h"

#include <string.h>

/* A reduction in numbers that all members agree on. */
struct plan {
    struct jd_comm *comm;
    const struct jd_collective *call;
    jd_fold_function *fold;
    bool scatter;
    size_t rows; /* of a block; 1 where there are no blocks */
    size_t element, piece;
    char *scratch; /* a slot for each member's part, and one to send from */
};

static struct plan make_plan(struct jd_comm *comm,
                             const struct jd_collective *call,
                             enum jd_reduce op)
{
    return (struct plan){
        .comm = comm,
        .call = call,
        .fold = jd__fold_find(call->dtype, op, JD_FOLD_WHOLE),
        .rows = 1,
        .element = jd_dtype_size(call->dtype),
        .piece = jd__inter_piece(comm),
    };
}

static void fold_to(const struct plan *plan, void *out, size_t count)
{
    if (count == 0)
        return;
    plan->fold(&(struct jd_fold){
        .ins = plan->comm->inter->ins,
        .num_ins = plan->comm->size,
        .outs = &out,
        .num_outs = 1,
        .count = count,
        .divisor = plan->comm->size,
    });
}

static char *slot_of(const struct plan *plan, int direction, int member)
{
    size_t slot = 2 * (size_t)member + (size_t)direction;
    return plan->scratch + slot * plan->piece;
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

/* Folds what all brought to the meeting; or takes its part of what was folded
 * there. */
static void take_brought(const struct plan *plan, bool is_folded)
{
    struct jd_comm *comm = plan->comm;
    size_t width = plan->call->count * plan->element;
    size_t all = width * plan->rows * (plan->scatter ? (size_t)comm->size : 1);
    const char *brought = jd__inter_brought(comm);
    for (size_t row = 0; row < plan->rows && width; row++) {
        char *out = (char *)plan->call->out + row * width;
        struct jd_strided part = input_for(plan, brought, comm->index);
        const char *in = part.base + row * part.pitch;
        for (int i = 0; i < comm->size && !is_folded; i++)
            comm->inter->ins[i] = in + (size_t)i * all;
        if (is_folded)
            memcpy(out, in, width);
        else
            fold_to(plan, out, plan->call->count);
    }
}

/* ---- long --------------------------------------------------------------- */

/* One round: the elements from done on, of all or of every block. */
struct round {
    const struct plan *plan;
    size_t done, count;
};

/* The elements of the round that a member folds. */
struct part {
    size_t begin, count;
};

static struct part part_of(const struct round *round, int member)
{
    const struct plan *plan = round->plan;
    size_t size = (size_t)plan->comm->size, m = (size_t)member;
    if (plan->scatter)
        return (struct part){ round->done, round->count };
    size_t base = round->count / size, longer = round->count % size;
    return (struct part){ round->done + m * base +
                              jd__numbers_smaller(m, longer),
                          base + (m < longer) };
}

/* What a member is to fold of our input, where it lies or packed. */
static const char *input_at(const struct plan *plan, struct part part,
                            int member)
{
    struct jd_strided in = input_for(plan, plan->call->in, member);
    size_t begin = part.begin * plan->element;
    size_t bytes = part.count * plan->element;
    const char *at = jd__strided_at(&in, begin, bytes);
    if (at)
        return at;
    jd__strided_read(&in, begin, bytes, slot_of(plan, 1, member));
    return slot_of(plan, 1, member);
}

/* Brings everybody's elements to the member that folds them. */
static jd_status collect(const struct round *round)
{
    const struct plan *plan = round->plan;
    struct jd_comm *comm = plan->comm;
    int size = comm->size, index = comm->index;
    struct part own = part_of(round, index);
    jd_status status = JD_OK;
    comm->inter->ins[index] = input_at(plan, own, index);
    for (int i = 1; i < size && status == JD_OK; i++) {
        int from = (index + size - i) % size, to = (index + i) % size;
        struct part part = part_of(round, to);
        comm->inter->ins[from] = slot_of(plan, 0, from);
        status = jd__channel_receive(comm->wire, from, slot_of(plan, 0, from),
                                     own.count * plan->element);
        if (status == JD_OK)
            status = jd__channel_send(comm->wire, to, input_at(plan, part, to),
                                      part.count * plan->element);
    }
    return status == JD_OK ? jd__channel_wait(comm->wire) : status;
}

/* Gives everybody our folded part, and gets theirs. */
static jd_status spread(const struct round *round)
{
    const struct plan *plan = round->plan;
    struct jd_comm *comm = plan->comm;
    int size = comm->size, index = comm->index;
    struct part own = part_of(round, index);
    char *out = plan->call->out;
    jd_status status = JD_OK;
    for (int i = 1; i < size && status == JD_OK; i++) {
        int from = (index + size - i) % size, to = (index + i) % size;
        struct part part = part_of(round, from);
        status = jd__channel_receive(comm->wire, from,
                                     out + part.begin * plan->element,
                                     part.count * plan->element);
        if (status == JD_OK)
            status = jd__channel_send(comm->wire, to,
                                      out + own.begin * plan->element,
                                      own.count * plan->element);
    }
    return status == JD_OK ? jd__channel_wait(comm->wire) : status;
}

static jd_status run_round(const struct round *round)
{
    const struct plan *plan = round->plan;
    struct part own = part_of(round, plan->comm->index);
    jd_status status = collect(round);
    if (status != JD_OK)
        return status;
    fold_to(plan, (char *)plan->call->out + own.begin * plan->element,
            own.count);
    return plan->scatter ? JD_OK : spread(round);
}

static jd_status reduce_long(struct plan *plan, struct jd_inter_sync *meeting)
{
    struct jd_comm *comm = plan->comm;
    size_t all = plan->call->count * plan->rows;
    size_t step = plan->piece / plan->element;
    step *= plan->scatter ? 1 : (size_t)comm->size;
    plan->scratch =
        jd__inter_scratch(comm, meeting, jd__inter_exchange_scratch(comm));
    bool by_groups = plan->scatter && !comm->inter->is_deterministic;
    meeting->in_bytes = by_groups || meeting->offers ? meeting->bytes : 0;
    jd_status status = jd__inter_meet(comm, meeting);
    if (status != JD_OK || jd__inter_has_come(comm, meeting))
        return jd__inter_give_up(comm, status);
    if (by_groups && jd__inter_all_seen(comm))
        return jd__inter_scatter_seen(comm, meeting, plan->rows, plan->scratch);
    for (size_t at = 0; at < all && status == JD_OK; at += step)
        status = run_round(
            &(struct round){ plan, at, jd__numbers_smaller(step, all - at) });
    return jd__inter_give_up(comm, status);
}

/* What fits comes along to the meeting. */
static jd_status reduce(struct plan *plan, struct jd_inter_sync *meeting)
{
    struct jd_comm *comm = plan->comm;
    bool is_folded = !comm->inter->is_deterministic;
    enum jd_bringing brings = is_folded ? JD_BRING_SUM : JD_BRING_ALL;
    jd_status status;
    if (jd__inter_bring(comm, meeting, brings, meeting->bytes))
        status = jd__inter_meet(comm, meeting);
    else if (is_folded && !plan->scatter)
        status = jd__inter_reduce_lanes(comm, meeting);
    else
        status = reduce_long(plan, meeting);
    if (status == JD_OK && jd__inter_has_come(comm, meeting))
        take_brought(plan, is_folded);
    return status;
}

jd_status jd__inter_all_reduce(struct jd_comm *comm,
                               const struct jd_collective *call,
                               enum jd_reduce op)
{
    struct plan plan = make_plan(comm, call, op);
    struct jd_inter_sync meeting = { .call = call,
                                     .signature = jd__inter_sign(call),
                                     .op = op,
                                     .bytes = call->count * plan.element };
    return reduce(&plan, &meeting);
}

jd_status jd__inter_reduce_scatter(struct jd_comm *comm,
                                   const struct jd_collective *call,
                                   enum jd_reduce op, size_t rows)
{
    struct plan plan = make_plan(comm, call, op);
    struct jd_inter_sync meeting = {
        .call = call,
        .signature = jd__inter_sign(call),
        .op = op,
        .bytes = call->count * rows * plan.element * (size_t)comm->size,
    };
    plan.scatter = true;
    plan.rows = rows;
    meeting.signature.digest = rows;
    return reduce(&plan, &meeting);
}
