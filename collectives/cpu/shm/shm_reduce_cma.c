/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_reduce_cma.c - reductions of private buffers that the members can read
 * out of each other's processes.
 */
#include "collectives/cpu/shm/shm_cma.h"
#include "collectives/cpu/shm/shm_reduce_private.h"

static struct jd_shm_cma input_of(const struct jd_reduce_plan *plan, int member)
{
    const struct jd_shm_reduce_desc *told = jd__told_by(plan->group, member);
    return jd__shm_cma_of(plan->group, member, told->in, told->in_address,
                          plan->in_bytes);
}

static struct jd_shm_cma output_of(const struct jd_reduce_plan *plan,
                                   int member)
{
    const struct jd_shm_reduce_desc *told = jd__told_by(plan->group, member);
    return jd__shm_cma_of(plan->group, member, told->out, told->out_address,
                          plan->out_bytes);
}

bool jd__shm_reduce_is_seen(const struct jd_reduce_plan *plan)
{
    if (plan->in_bytes < jd__reduce_limits.cma_bytes ||
        (plan->r->scatter && plan->r->rows > 1))
        return false;
    for (int i = 0; i < plan->group->size; i++) {
        const struct jd_shm_reduce_desc *told = jd__told_by(plan->group, i);
        if (told->in == JD_PLACE_INLINE || !input_of(plan, i).data ||
            (!plan->r->scatter && !output_of(plan, i).data))
            return false;
    }
    return true;
}

/* This member's own bounce memory, which nobody else reads here: a piece of
 * each other member's input. */
static size_t piece_bytes(const struct jd_reduce_plan *plan)
{
    size_t most = JD_SHM_BOUNCE / (size_t)plan->group->size;
    size_t bytes = jd__reduce_limits.read_bytes;
    bytes = bytes < most ? bytes : most;
    return bytes / JD_CACHE_LINE * JD_CACHE_LINE;
}

/* Bytes [offset, offset + bytes) of member's input: where they are, or copied
 * to where there is room. */
static jd_status see_input(const struct jd_reduce_plan *plan, int member,
                           size_t offset, size_t bytes, char *room)
{
    struct jd_shm_group *group = plan->group;
    struct jd_shm_cma cma = input_of(plan, member);
    const struct jd_strided block = { room, 1, bytes, bytes };
    group->ins[member] = room;
    if (cma.pid)
        return jd__shm_cma_copy(group, cma, offset, bytes, &block);
    group->ins[member] = (const char *)(uintptr_t)cma.data + offset;
    return JD_OK;
}

/* Elements [begin, begin + count) of the inputs into out. */
static jd_status fold_piece(const struct jd_reduce_plan *plan, size_t begin,
                            size_t count, char *out)
{
    struct jd_shm_group *group = plan->group;
    size_t offset = begin * plan->element, piece = piece_bytes(plan);
    char *room = jd__shm_bounce(group, group->index);
    jd_status status = JD_OK;
    for (int i = 0; i < group->size && status == JD_OK; i++)
        if (i != group->index)
            status = see_input(plan, i, offset, count * plan->element,
                               room + (size_t)i * piece);
    if (status != JD_OK)
        return status;
    group->ins[group->index] = (const char *)plan->r->call->in + offset;
    group->outs[0] = out;
    jd__shm_reduce_fold(plan, 1, count, false);
    return JD_OK;
}

/* Where this member's elements begin in the inputs and in out, and how many
 * they are. */
static void find_share(const struct jd_reduce_plan *plan, size_t *ret_begin,
                       size_t *ret_out, size_t *ret_count)
{
    if (plan->r->scatter) {
        *ret_begin = (size_t)plan->group->index * plan->block;
        *ret_out = 0;
        *ret_count = plan->block;
        return;
    }
    jd__shm_reduce_share(plan, plan->group->index, ret_begin, ret_count);
    *ret_out = *ret_begin;
}

static jd_status fold_share(const struct jd_reduce_plan *plan)
{
    size_t begin, to, count, most = piece_bytes(plan) / plan->element;
    char *out = plan->r->call->out;
    jd_status status = JD_OK;
    find_share(plan, &begin, &to, &count);
    for (size_t done = 0; done < count && status == JD_OK; done += most) {
        size_t part = count - done < most ? count - done : most;
        status = fold_piece(plan, begin + done, part,
                            out + (to + done) * plan->element);
    }
    return status;
}

/* The others' shares of the result. */
static jd_status take_results(const struct jd_reduce_plan *plan)
{
    struct jd_shm_group *group = plan->group;
    jd_status status = JD_OK;
    for (int k = 1; k < group->size && status == JD_OK; k++) {
        int member = (group->index + k) % group->size;
        size_t begin, count;
        jd__shm_reduce_share(plan, member, &begin, &count);
        size_t offset = begin * plan->element, bytes = count * plan->element;
        const struct jd_strided to = { (char *)plan->r->call->out + offset, 1,
                                         bytes, bytes };
        if (bytes)
            status = jd__shm_cma_copy(group, output_of(plan, member), offset,
                                      bytes, &to);
    }
    return status;
}

/* The first step says that all inputs have been read, so that results may lie
 * over them; the second that all results have. */
jd_status jd__shm_reduce_by_cma(const struct jd_reduce_plan *plan)
{
    struct jd_shm_group *group = plan->group;
    jd_status status = fold_share(plan);
    if (status != JD_OK)
        return jd__shm_let_go(group, status);
    status = jd__shm_step(group);
    if (status != JD_OK || plan->r->scatter)
        return status;
    status = take_results(plan);
    return status == JD_OK ? jd__shm_step(group)
                           : jd__shm_let_go(group, status);
}
