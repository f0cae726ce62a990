/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_reduce.c - sums and the like inside a group. */
#include "collectives/cpu/shm/shm_cma.h"
#include "collectives/cpu/shm/shm_reduce.h"
#include "collectives/cpu/shm/shm_reduce_private.h"

#include <assert.h>
#include <string.h>

/* Measured: bench/collectives.md. */
struct jd_reduce_limits jd__reduce_limits = {
    .inline_bytes = 4032,
    .short_bytes = 8 << 10,
    .zero_copy_bytes = 0,
    .stream_bytes = 20 << 20,
    .bounce_bytes = 64 << 10,
    .cma_bytes = 512 << 10,
    .read_bytes = 256 << 10,
};

#define HEAD sizeof(uint64_t)

static void fill_reduction(struct jd_shm_group *group,
                           struct jd_shm_reduction *r)
{
    const struct jd_collective *call = r->call;
    r->group = group;
    size_t members = r->scatter ? (size_t)group->size : 1;
    r->fold = jd__fold_find(call->dtype, r->op, JD_FOLD_WHOLE);
    r->element = jd_dtype_size(call->dtype);
    r->block = call->count * (r->scatter ? r->rows : 1);
    r->out_bytes = r->block * r->element;
    r->in_bytes = r->out_bytes * members;
}

/* Short data go inline unless others can read them where they are, and that
 * is not cheaper by the line. */
static bool goes_inline(const struct jd_shm_group *group, const void *in,
                        size_t bytes)
{
    const struct jd_reduce_limits *limits = &jd__reduce_limits;
    if (bytes > limits->inline_bytes)
        return false;
    return bytes <= limits->inline_bytes / 4 ||
           jd__shm_place(group, in, bytes) == JD_PLACE_PRIVATE;
}

/* Where it is in the heap, or else its address where others may read it. */
static uint64_t tell_place(struct jd_shm_group *group, const void *data,
                           size_t bytes, uint64_t *ret_address)
{
    uint64_t place = jd__shm_place(group, data, bytes);
    bool is_read =
        place == JD_PLACE_PRIVATE && jd__shm_cma_is_free(group, bytes);
    *ret_address = is_read ? (uintptr_t)data : 0;
    return place;
}

size_t jd__shm_reduce_tell(struct jd_shm_group *group,
                           struct jd_shm_reduction *reduction,
                           unsigned char *payload)
{
    const struct jd_collective *call = reduction->call;
    fill_reduction(group, reduction);
    size_t bytes = reduction->in_bytes;
    struct jd_shm_reduce_desc told = { .in = JD_PLACE_INLINE, .out = 0 };
    if (goes_inline(group, call->in, bytes)) {
        memcpy(payload, &told, HEAD);
        if (bytes)
            memcpy(payload + HEAD, call->in, bytes);
        return HEAD + bytes;
    }
    jd__shm_cma_try(group);
    told.in = tell_place(group, call->in, bytes, &told.in_address);
    told.out =
        tell_place(group, call->out, reduction->out_bytes, &told.out_address);
    memcpy(payload, &told, sizeof told);
    return sizeof told;
}

/* ---- on the way of a meeting -------------------------------------------- */

static void fold_merge(const struct jd_shm_reduction *r, enum jd_fold_form form,
                       int num_ins, void *out)
{
    jd__fold_find(r->call->dtype, r->op, form)(&(struct jd_fold){
        .ins = r->group->ins,
        .outs = &out,
        .num_ins = num_ins,
        .num_outs = 1,
        .count = r->block,
        .divisor = r->divisor,
    });
}

static bool gather_inline(void *arg, const int *members, int count, void *part)
{
    const struct jd_shm_reduction *r = arg;
    for (int i = 0; i < count; i++) {
        const struct jd_shm_reduce_desc *told =
            jd__told_by(r->group, members[i]);
        if (told->in != JD_PLACE_INLINE)
            return false;
        r->group->ins[i] = (const char *)told + HEAD;
    }
    fold_merge(r, JD_FOLD_PARTIAL, count, part);
    return true;
}

/* parts are the group's ins. */
static void finish_inline(void *arg, const void **parts, int count,
                          void *result)
{
    const struct jd_shm_reduction *r = arg;
    assert(parts == r->group->ins);
    fold_merge(r, JD_FOLD_FINISH, count, result);
}

const struct jd_shm_merge *jd__shm_reduce_merge(struct jd_shm_reduction *r)
{
    size_t wide = jd_dtype_size(jd__fold_wide(r->call->dtype));
    if (r->scatter || r->is_ordered || r->block == 0 ||
        r->block > JD_SHM_MERGED / wide)
        return NULL;
    r->merge = (struct jd_shm_merge){ gather_inline, finish_inline, r };
    return &r->merge;
}

void jd__shm_reduce_fold(const struct jd_reduce_plan *plan, int num_outs,
                         size_t count, bool streams)
{
    if (count == 0)
        return;
    plan->r->fold(&(struct jd_fold){
        .ins = plan->group->ins,
        .outs = plan->group->outs,
        .num_ins = plan->group->size,
        .num_outs = num_outs,
        .count = count,
        .divisor = plan->r->divisor,
        .streams = streams,
    });
}

/* ---- short -------------------------------------------------------------- */

/* What a member told, as all members can touch it: in its heap, or anywhere
 * where they are all of one process. NULL where it is neither. */
static void *mapped_place(const struct jd_reduce_plan *plan, int member,
                          uint64_t place, uint64_t address, size_t bytes)
{
    if (place == JD_PLACE_PRIVATE)
        return plan->group->is_one_process ? (void *)(uintptr_t)address : NULL;
    return jd__shm_at(plan->group, member, place, bytes);
}

/* Where member's input can be read: in its payload, or where it is. NULL where
 * it is neither. */
static const char *input_of(const struct jd_reduce_plan *plan, int member)
{
    const struct jd_shm_reduce_desc *told = jd__told_by(plan->group, member);
    if (told->in == JD_PLACE_INLINE)
        return (const char *)told + HEAD;
    return mapped_place(plan, member, told->in, told->in_address,
                        plan->in_bytes);
}

static void set_inputs(const struct jd_reduce_plan *plan, size_t offset)
{
    for (int i = 0; i < plan->group->size; i++)
        plan->group->ins[i] = input_of(plan, i) + offset;
}

/* A member's own block, row by row where the rows are apart; whole where there
 * is one. */
static void fold_block(const struct jd_reduce_plan *plan, bool streams)
{
    const struct jd_shm_reduction *r = plan->r;
    size_t width = r->call->count * plan->element;
    size_t rows = r->scatter ? r->rows : 1;
    size_t members = r->scatter ? (size_t)plan->group->size : 1;
    size_t index = r->scatter ? (size_t)plan->group->index : 0;
    for (size_t row = 0; row < rows; row++) {
        set_inputs(plan, (row * members + index) * width);
        plan->group->outs[0] = (char *)r->call->out + row * width;
        jd__shm_reduce_fold(plan, 1, r->call->count, streams);
    }
}

static jd_status reduce_short(struct jd_reduce_plan *plan, bool has_places)
{
    fold_block(plan, false);
    return has_places ? jd__shm_step(plan->group) : JD_OK;
}

/* ---- zero copy ---------------------------------------------------------- */

static char *output_of(const struct jd_reduce_plan *plan, int member)
{
    const struct jd_shm_reduce_desc *told = jd__told_by(plan->group, member);
    return mapped_place(plan, member, told->out, told->out_address,
                        plan->out_bytes);
}

void jd__shm_reduce_share(const struct jd_reduce_plan *plan, int member,
                          size_t *ret_begin, size_t *ret_count)
{
    size_t line = JD_CACHE_LINE / plan->element;
    size_t lines = (plan->block + line - 1) / line;
    size_t size = (size_t)plan->group->size, index = (size_t)member;
    size_t begin = lines / size * index + lines % size * index / size;
    size_t end = lines / size * (index + 1) + lines % size * (index + 1) / size;
    begin = begin * line < plan->block ? begin * line : plan->block;
    end = end * line < plan->block ? end * line : plan->block;
    *ret_begin = begin;
    *ret_count = end - begin;
}

static jd_status reduce_zero_copy(struct jd_reduce_plan *plan)
{
    struct jd_shm_group *group = plan->group;
    bool streams = plan->in_bytes >= jd__reduce_limits.stream_bytes;
    size_t begin, count;
    if (plan->r->scatter) {
        fold_block(plan, streams);
        return jd__shm_step(group);
    }
    jd__shm_reduce_share(plan, group->index, &begin, &count);
    set_inputs(plan, begin * plan->element);
    for (int i = 0; i < group->size; i++)
        group->outs[i] = output_of(plan, i) + begin * plan->element;
    jd__shm_reduce_fold(plan, group->size, count, streams);
    return jd__shm_step(group);
}

/* ---- which -------------------------------------------------------------- */

/* What all members told, in one look. */
struct told_by_all {
    bool inputs_are_seen, outputs_are_seen; /* all of them */
    bool has_data, has_places;              /* from anybody */
    bool has_in_place, is_in_place;         /* from anybody; from all */
};

/* In place each would overwrite what the others read. */
static bool is_in_place(const struct jd_shm_reduce_desc *told)
{
    return told->in == told->out && told->in_address == told->out_address;
}

static struct told_by_all look_at_all(const struct jd_reduce_plan *plan)
{
    struct told_by_all all = { .inputs_are_seen = true,
                               .outputs_are_seen = true,
                               .is_in_place = true };
    for (int i = 0; i < plan->group->size; i++) {
        const struct jd_shm_reduce_desc *told = jd__told_by(plan->group, i);
        bool is_place = told->in != JD_PLACE_INLINE;
        bool in_place = is_place && is_in_place(told);
        all.inputs_are_seen &= input_of(plan, i) != NULL;
        all.outputs_are_seen &= is_place && output_of(plan, i) != NULL;
        all.has_data |= !is_place;
        all.has_places |= is_place;
        all.has_in_place |= in_place;
        all.is_in_place &= in_place;
    }
    return all;
}

static bool is_short(const struct jd_reduce_plan *plan,
                     const struct told_by_all *all)
{
    if (!all->inputs_are_seen || !all->has_places)
        return all->inputs_are_seen;
    return plan->in_bytes <= jd__reduce_limits.short_bytes &&
           (plan->r->scatter || !all->has_in_place);
}

static bool is_zero_copy(const struct jd_reduce_plan *plan,
                         const struct told_by_all *all)
{
    bool is_long = plan->in_bytes > jd__reduce_limits.zero_copy_bytes;
    if (!all->inputs_are_seen || all->has_data)
        return false;
    if (plan->r->scatter)
        return is_long;
    return all->outputs_are_seen && (is_long || all->is_in_place);
}

/* A member that is alone. */
static jd_status reduce_alone(struct jd_reduce_plan *plan)
{
    plan->group->ins[0] = plan->r->call->in;
    plan->group->outs[0] = plan->r->call->out;
    jd__shm_reduce_fold(plan, 1, plan->block, false);
    return JD_OK;
}

/* What most short calls are. The own data are on their way to the payload, and
 * would be waited for there. */
static bool all_is_inline(const struct jd_reduce_plan *plan)
{
    for (int i = 0; i < plan->group->size; i++) {
        const struct jd_shm_reduce_desc *told = jd__told_by(plan->group, i);
        if (told->in != JD_PLACE_INLINE)
            return false;
        plan->group->ins[i] = (const char *)told + HEAD;
    }
    plan->group->ins[plan->group->index] = plan->r->call->in;
    return true;
}

static jd_status reduce_inline(const struct jd_reduce_plan *plan)
{
    plan->group->outs[0] = plan->r->call->out;
    jd__shm_reduce_fold(plan, 1, plan->block, false);
    return JD_OK;
}

jd_status jd__shm_reduce(struct jd_shm_group *group,
                         const struct jd_shm_reduction *reduction)
{
    struct jd_reduce_plan plan = { .group = group,
                                   .r = reduction,
                                   .element = reduction->element,
                                   .in_bytes = reduction->in_bytes,
                                   .out_bytes = reduction->out_bytes,
                                   .block = reduction->block };
    const void *merged = jd__shm_merged(group);
    if (plan.block == 0)
        return JD_OK;
    if (merged) {
        memcpy(reduction->call->out, merged, plan.out_bytes);
        return JD_OK;
    }
    if (!reduction->scatter && all_is_inline(&plan))
        return reduce_inline(&plan);
    if (group->size == 1)
        return reduce_alone(&plan);
    struct told_by_all all = look_at_all(&plan);
    if (is_short(&plan, &all))
        return reduce_short(&plan, all.has_places);
    if (is_zero_copy(&plan, &all))
        return reduce_zero_copy(&plan);
    return jd__shm_reduce_is_seen(&plan) ? jd__shm_reduce_by_cma(&plan)
                                         : jd__shm_reduce_bounce(&plan);
}
