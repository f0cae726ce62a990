/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_scatter.c - long reduce_scatters where the members of each group see
 * each other's inputs: a group folds what a member of another group is to get,
 * and sends it one wide partial result; members share that work.
 */
#include "collectives/cpu/inter/inter_private.h"

struct scatter {
    struct jd_comm *comm;
    const struct jd_collective *call;
    jd_fold_function *partial, *finish;
    size_t element, wide;
    size_t rows, in_bytes;
    size_t slot; /* bytes; two for each member */
    char *scratch;
};

static char *slot_of(const struct scatter *s, int direction, int member)
{
    return s->scratch + (2 * (size_t)member + (size_t)direction) * s->slot;
}

/* What is for a member in an input of this group. */
static struct jd_strided block_of(const struct scatter *s, int place,
                                  int member)
{
    const struct jd_inter *inter = s->comm->inter;
    size_t width = s->call->count * s->element;
    const char *in = s->call->in;
    if (place != inter->place)
        in = jd__inter_in_of(s->comm, place, s->in_bytes);
    return (struct jd_strided){
        .base = (char *)in + (size_t)member * width,
        .rows = s->rows,
        .width = width,
        .pitch = (size_t)s->comm->size * width,
    };
}

/* Folds elements [begin, begin + count) of a member's block, row by row. */
static void fold_block(const struct scatter *s, int member, size_t begin,
                       size_t count, char *to)
{
    struct jd_inter *inter = s->comm->inter;
    int size = inter->sizes[inter->group];
    for (size_t done = 0, part; done < count; done += part) {
        size_t left = s->call->count - (begin + done) % s->call->count;
        void *out = to + done * s->wide;
        part = left < count - done ? left : count - done;
        for (int i = 0; i < size; i++) {
            struct jd_strided block = block_of(s, i, member);
            inter->ins[i] = jd__strided_at(
                &block, (begin + done) * s->element, part * s->element);
        }
        s->partial(&(struct jd_fold){ .ins = inter->ins,
                                      .num_ins = size,
                                      .outs = &out,
                                      .num_outs = 1,
                                      .count = part });
    }
}

/* Who of a group folds for a member of another. */
static int helper_of(const struct jd_comm *comm, int group, int member)
{
    const struct jd_inter *inter = comm->inter;
    return inter->members[group][comm->places[member] % inter->sizes[group]];
}

static jd_status exchange(const struct scatter *s, size_t begin, size_t count)
{
    struct jd_comm *comm = s->comm;
    int own_group = comm->inter->group, size = comm->size;
    size_t bytes = count * s->wide;
    jd_status status = JD_OK;
    for (int t = 0; t < comm->num_groups && status == JD_OK; t++) {
        int from = helper_of(comm, t, comm->index);
        if (t != own_group)
            status = jd__channel_receive(comm->wire, from, slot_of(s, 0, from),
                                         bytes);
    }
    for (int i = 1; i < size && status == JD_OK; i++) {
        int to = (comm->index + i) % size;
        if (comm->groups[to] == own_group ||
            helper_of(comm, own_group, to) != comm->index)
            continue;
        fold_block(s, to, begin, count, slot_of(s, 1, to));
        status = jd__channel_send(comm->wire, to, slot_of(s, 1, to), bytes);
    }
    fold_block(s, comm->index, begin, count, slot_of(s, 0, comm->index));
    return status == JD_OK ? jd__channel_wait(comm->wire) : status;
}

static void finish(const struct scatter *s, size_t begin, size_t count)
{
    struct jd_comm *comm = s->comm;
    void *out = (char *)s->call->out + begin * s->element;
    for (int t = 0; t < comm->num_groups; t++) {
        int from = t == comm->inter->group ? comm->index
                                           : helper_of(comm, t, comm->index);
        comm->inter->ins[t] = slot_of(s, 0, from);
    }
    s->finish(&(struct jd_fold){ .ins = comm->inter->ins,
                                 .num_ins = comm->num_groups,
                                 .outs = &out,
                                 .num_outs = 1,
                                 .count = count,
                                 .divisor = comm->size });
}

jd_status jd__inter_scatter_seen(struct jd_comm *comm,
                                 const struct jd_inter_sync *meeting,
                                 size_t rows, char *scratch)
{
    const struct jd_collective *call = meeting->call;
    struct scatter s = {
        .comm = comm,
        .call = call,
        .partial = jd__fold_find(call->dtype, meeting->op, JD_FOLD_PARTIAL),
        .finish = jd__fold_find(call->dtype, meeting->op, JD_FOLD_FINISH),
        .element = jd_dtype_size(call->dtype),
        .wide = jd_dtype_size(jd__fold_wide(call->dtype)),
        .rows = rows,
        .in_bytes = meeting->in_bytes,
        .slot = jd__inter_piece(comm),
        .scratch = scratch,
    };
    size_t all = call->count * rows, step = s.slot / s.wide;
    for (size_t at = 0; at < all; at += step) {
        size_t count = all - at < step ? all - at : step;
        jd_status status = exchange(&s, at, count);
        if (status != JD_OK)
            return jd__inter_break(comm, status);
        finish(&s, at, count);
    }
    return jd__shm_step(comm->group);
}
