/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_move.c - collectives inside a group that only move bytes. */
#include "collectives/cpu/shm/shm_move.h"
#include "collectives/cpu/shm/shm_flow.h"

#include <string.h>

/* ---- the four ----------------------------------------------------------- */

static struct jd_strided make_block(const void *data, size_t rows,
                                      size_t width, size_t pitch,
                                      size_t element)
{
    return (struct jd_strided){ (char *)(uintptr_t)data, rows,
                                  width * element, pitch * element };
}

struct jd_shm_move jd__shm_move_all_gather(const struct jd_shm_group *group,
                                           const struct jd_collective *call,
                                           size_t rows)
{
    size_t element = jd_dtype_size(call->dtype), count = call->count;
    size_t pitch = count * (size_t)jd__shm_size(group);
    return (struct jd_shm_move){
        .in = make_block(call->in, rows, count, count, element),
        .out = make_block(call->out, rows, count, pitch, element),
        .out_step = count * element,
        .to = JD_MOVE_ALL,
        .from = JD_MOVE_ALL,
    };
}

struct jd_shm_move jd__shm_move_all_to_all(const struct jd_shm_group *group,
                                           const struct jd_collective *call,
                                           const struct jd_pieces *pieces)
{
    size_t element = jd_dtype_size(call->dtype);
    (void)group;
    return (struct jd_shm_move){
        .in = make_block(call->in, pieces->rows, pieces->width,
                         pieces->in_pitch, element),
        .out = make_block(call->out, pieces->rows, pieces->width,
                          pieces->out_pitch, element),
        .in_step = pieces->in_step * element,
        .out_step = pieces->out_step * element,
        .to = JD_MOVE_ALL,
        .from = JD_MOVE_ALL,
        .overwrites = call->in == call->out,
    };
}

struct jd_shm_move jd__shm_move_permute(const struct jd_shm_group *group,
                                        const struct jd_collective *call,
                                        const struct jd_permute *permute)
{
    size_t element = jd_dtype_size(call->dtype), count = call->count;
    (void)group;
    return (struct jd_shm_move){
        .in = make_block(call->in, 1, count, count, element),
        .out = make_block(call->out, 1, count, count, element),
        .to = permute->to,
        .from = permute->from,
        .overwrites = call->in == call->out,
        .clears = !permute->keeps,
    };
}

struct jd_shm_move jd__shm_move_broadcast(const struct jd_shm_group *group,
                                          const struct jd_collective *call,
                                          int source)
{
    size_t element = jd_dtype_size(call->dtype), count = call->count;
    bool gives = jd__shm_index(group) == source;
    return (struct jd_shm_move){
        .in = make_block(gives ? call->in : NULL, 1, count, count, element),
        .out = make_block(call->out, 1, count, count, element),
        .to = gives ? JD_MOVE_ALL : JD_MOVE_NONE,
        .from = source,
    };
}

/* ---- as a flow ---------------------------------------------------------- */

static size_t number_of(const struct jd_shm_move *move, int member)
{
    return (size_t)(move->number ? move->number[member] : member);
}

static bool is_among(int members, int member)
{
    return members == JD_MOVE_ALL || members == member;
}

static size_t stream_bytes(const struct jd_shm_flow *flow, int producer,
                           int consumer)
{
    const struct jd_shm_move *move = flow->arg;
    int own = jd__shm_index(flow->group);
    if ((producer == own && !is_among(move->to, consumer)) ||
        (consumer == own && !is_among(move->from, producer)))
        return 0;
    return jd__strided_bytes(&move->in);
}

static void give_block(const struct jd_shm_flow *flow, int consumer,
                       size_t begin, size_t bytes, char *to)
{
    const struct jd_shm_move *move = flow->arg;
    struct jd_strided block = move->in;
    block.base += number_of(move, consumer) * move->in_step;
    jd__strided_read(&block, begin, bytes, to);
}

static struct jd_strided target_of(const struct jd_shm_move *move, int producer)
{
    struct jd_strided block = move->out;
    block.base += number_of(move, producer) * move->out_step;
    return block;
}

static void take_block(const struct jd_shm_flow *flow, int producer,
                       size_t begin, size_t bytes, const char *from)
{
    struct jd_strided block = target_of(flow->arg, producer);
    jd__strided_write(&block, begin, bytes, from);
}

static jd_status copy_block(const struct jd_shm_flow *flow, int producer,
                            struct jd_shm_cma in)
{
    const struct jd_shm_move *move = flow->arg;
    struct jd_strided block = target_of(move, producer);
    size_t offset = number_of(move, jd__shm_index(flow->group)) * move->in_step;
    return jd__shm_cma_copy(flow->group, in, offset, move->in.pitch, &block);
}

static const struct jd_given *given_by(const struct jd_shm_flow *flow,
                                       int producer)
{
    return jd__shm_payload(flow->group, producer);
}

static const struct jd_shm_flow_ops ops = {
    .bytes = stream_bytes,
    .give = give_block,
    .take = take_block,
    .copy = copy_block,
    .given = given_by,
};

/* What is read of in. */
static size_t extent_of(const struct jd_shm_group *group,
                        const struct jd_shm_move *move)
{
    size_t last = 0;
    for (int i = 0; i < jd__shm_size(group); i++)
        if (number_of(move, i) > last)
            last = number_of(move, i);
    return last * move->in_step + jd__strided_extent(&move->in);
}

static struct jd_shm_flow make_flow(struct jd_shm_group *group,
                                    const struct jd_shm_move *move)
{
    return (struct jd_shm_flow){
        .group = group,
        .ops = &ops,
        .arg = move,
        .in = move->in.base,
        .in_bytes = extent_of(group, move),
        .overwrites = move->overwrites,
        .is_shared = move->in_step == 0,
    };
}

/* ---- in payloads -------------------------------------------------------- */

static bool is_short(const struct jd_shm_group *group,
                     const struct jd_shm_move *move)
{
    size_t streams = move->in_step ? (size_t)jd__shm_size(group) : 1;
    return jd__strided_bytes(&move->in) <=
           jd__shm_flow_limits.inline_bytes / streams;
}

static size_t tell_data(const struct jd_shm_flow *flow, char *payload)
{
    const struct jd_shm_move *move = flow->arg;
    size_t bytes = jd__strided_bytes(&move->in);
    if (bytes == 0 || move->to == JD_MOVE_NONE)
        return 0;
    if (flow->is_shared) {
        give_block(flow, 0, 0, bytes, payload);
        return bytes;
    }
    for (int i = 0; i < jd__shm_size(flow->group); i++)
        give_block(flow, i, 0, bytes, payload + (size_t)i * bytes);
    return (size_t)jd__shm_size(flow->group) * bytes;
}

static void take_data(const struct jd_shm_flow *flow)
{
    int own = jd__shm_index(flow->group);
    for (int i = 0; i < jd__shm_size(flow->group); i++) {
        size_t bytes = stream_bytes(flow, i, own);
        const char *payload = jd__shm_payload(flow->group, i);
        if (bytes)
            take_block(flow, i, 0, bytes,
                       payload + (flow->is_shared ? 0 : (size_t)own * bytes));
    }
}

/* ---- both parts --------------------------------------------------------- */

size_t jd__shm_move_tell(struct jd_shm_group *group,
                         const struct jd_shm_move *move, void *payload)
{
    struct jd_shm_flow flow = make_flow(group, move);
    if (is_short(group, move))
        return tell_data(&flow, payload);
    jd__shm_flow_give(&flow, payload);
    return sizeof(struct jd_given);
}

jd_status jd__shm_move_run(struct jd_shm_group *group,
                           const struct jd_shm_move *move)
{
    struct jd_shm_flow flow = make_flow(group, move);
    jd_status status = JD_OK;
    if (is_short(group, move))
        take_data(&flow);
    else
        status = jd__shm_flow_run(&flow);
    size_t bytes = jd__strided_bytes(&move->out);
    if (status == JD_OK && move->clears && move->from == JD_MOVE_NONE && bytes)
        memset(move->out.base, 0, bytes);
    return status;
}
