/* SPDX-License-Identifier: BSD-3-Clause */
/* process_allgather.c - jd_process_allgather: shapes checked, leaves gathered.
 */
#include "base/progress.h"
#include "base/text.h"
#include "collectives/channel/chunks.h"
#include "collectives/multihost/agree.h"
#include "collectives/multihost/leaves.h"
#include "jd_multihost.h"

#include <stdint.h>
#include <string.h>

/* The shape that gathering a leaf gives: size 0 of ret_first: none is added
 * or changed. */
struct gathered {
    bool adds_axis;
    int64_t first; /* size of the first axis, where there is one */
    int ndim;
};

static struct gathered gathered_shape(const jd_leaf *in, int count, int tiled)
{
    bool adds = !tiled || (in->ndim == 0 && count > 1);
    struct gathered shape = {
        .adds_axis = adds,
        .first = adds       ? count
                 : in->ndim ? count * in->shape[0]
                            : 0,
        .ndim = in->ndim + (adds ? 1 : 0),
    };
    return shape;
}

static int64_t gathered_size(const struct gathered *shape, const jd_leaf *in,
                             int axis)
{
    return axis == 0 ? shape->first : in->shape[axis - shape->adds_axis];
}

static bool is_gathered(const jd_leaf *in, const jd_leaf *out, int count,
                        int tiled)
{
    struct gathered shape = gathered_shape(in, count, tiled);
    if (out->dtype != in->dtype || out->ndim != shape.ndim)
        return false;
    for (int axis = 0; axis < shape.ndim; axis++)
        if (out->shape[axis] != gathered_size(&shape, in, axis))
            return false;
    return true;
}

static jd_status fail_shape(const jd_leaf *in, const jd_leaf *out, int count,
                            int tiled, size_t i)
{
    enum { MOST = 16 };
    struct gathered shape = gathered_shape(in, count, tiled);
    int64_t sizes[MOST];
    jd_leaf wanted = { NULL, in->dtype, shape.ndim, sizes };
    char in_text[96], out_text[96], wanted_text[96];
    wanted.ndim = shape.ndim < MOST ? shape.ndim : MOST;
    for (int axis = 0; axis < wanted.ndim; axis++)
        sizes[axis] = gathered_size(&shape, in, axis);
    jd__leaf_print(in, in_text, sizeof in_text);
    jd__leaf_print(out, out_text, sizeof out_text);
    jd__leaf_print(&wanted, wanted_text, sizeof wanted_text);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "jd_process_allgather: out[%zu] is %s; in[%zu] is %s, "
                   "which %d process%s gather%s into %s%s",
                   i, out_text, i, in_text, count, jd__text_es(count),
                   count == 1 ? "s" : "", wanted_text, tiled ? " (tiled)" : "");
}

static bool leaves_overlap(const jd_leaf *a, const jd_leaf *b)
{
    uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
    size_t x_bytes = jd__leaf_bytes(a), y_bytes = jd__leaf_bytes(b);
    return x_bytes && y_bytes && x < y + y_bytes && y < x + x_bytes;
}

static jd_status check_gathering(const jd_leaf *in, const jd_leaf *out,
                                 size_t num_leaves, int count, int tiled)
{
    for (size_t i = 0; i < num_leaves; i++) {
        if (!is_gathered(&in[i], &out[i], count, tiled))
            return fail_shape(&in[i], &out[i], count, tiled, i);
        for (size_t k = 0; k < num_leaves; k++)
            if (leaves_overlap(&in[i], &out[k]))
                return jd_fail(JD_INVALID_ARGUMENT,
                               "jd_process_allgather: in[%zu] and out[%zu] "
                               "overlap; give out memory of its own",
                               i, k);
    }
    return JD_OK;
}

/* Each process's stream goes by the same pieces, so that its place in the
 * scratch memory is where the walk is. */
static jd_status gather_stream(struct jd_channel *group,
                               struct jd_call_desc *desc, const jd_leaf *out)
{
    enum { LEAST = 4096 };
    int size = jd__channel_size(group), index = jd__channel_index(group);
    size_t piece = jd__channel_piece(group) / (size_t)size;
    piece = piece < LEAST ? LEAST : piece;
    char *scratch;
    struct jd_leaf_walk walk = jd__agree_call_walk(desc);
    jd_status status = jd__agree_meet_with_scratch(
        group, desc, piece * (size_t)size, &scratch);
    while (status == JD_OK) {
        struct jd_leaf_walk begin = walk, measured = walk;
        size_t bytes = jd__leaves_walk_pack(&measured, NULL, piece);
        if (bytes == 0)
            break;
        char *own = scratch + (size_t)index * bytes;
        jd__leaves_walk_pack(&walk, own, bytes);
        status = jd__chunks_all_gather(group, own, scratch, bytes);
        for (int i = 0; status == JD_OK && i < size; i++) {
            struct jd_leaf_walk to = begin;
            jd__leaves_walk_unpack(&to, scratch + (size_t)i * bytes, bytes, out,
                                   (size_t)i);
        }
    }
    return status;
}

static jd_status gather_leaves(struct jd_channel *group,
                               struct jd_call_desc *desc, size_t bytes,
                               const jd_leaf *out)
{
    struct jd_merge merge;
    int size = jd__channel_size(group);
    if (bytes > JD_MERGE_PAYLOAD / (size_t)size)
        return gather_stream(group, desc, out);
    jd_status status = jd__agree_meet_with_leaves(desc, true, bytes, &merge);
    for (int i = 0; status == JD_OK && i < size; i++) {
        struct jd_leaf_walk walk = jd__agree_call_walk(desc);
        jd__leaves_walk_unpack(&walk, jd__merge_record(&merge, i), bytes, out,
                               (size_t)i);
    }
    return status;
}

jd_status jd_process_allgather(const jd_leaf *in, const jd_leaf *out,
                               size_t num_leaves, int tiled)
{
    JD_NOTE_CALLER();
    enum jd_activity activity = JD_ACTIVITY_PROCESS_ALLGATHER;
    const char *operation = jd__signature_activity_name(activity);
    struct jd_leaf_list in_list = { in, num_leaves, operation, "in" };
    struct jd_leaf_list out_list = { out, num_leaves, operation, "out" };
    struct jd_channel *group;
    size_t bytes, out_bytes;
    jd_status status = jd__leaves_check(&in_list, &bytes);
    if (status == JD_OK)
        status = jd__leaves_check(&out_list, &out_bytes);
    if (status == JD_OK)
        status = jd__agree_enter(activity, &group);
    if (status != JD_OK)
        return status;
    struct jd_call_desc desc = jd__agree_call(activity, in, num_leaves);
    status =
        check_gathering(in, out, num_leaves, jd__channel_size(group), tiled);
    if (status == JD_OK)
        status = gather_leaves(group, &desc, bytes, out);
    return jd__agree_leave(status);
}
