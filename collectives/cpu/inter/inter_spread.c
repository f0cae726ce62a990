/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_spread.c - all_gather and broadcast where the members of each group
 * see each other's buffers: what comes from another group comes to one member
 * of this one, who writes it to all.
 */
#include "collectives/cpu/inter/inter_private.h"

#include <string.h>

struct spread {
    struct jd_comm *comm;
    const struct jd_collective *call;
    size_t out_bytes; /* of all of out */
};

static int group_size(const struct jd_comm *comm)
{
    return comm->inter->sizes[comm->inter->group];
}

/* Hands what has come to our out to the others of the group. */
static void pass_on(void *arg, const struct jd_strided *own, size_t begin,
                    size_t bytes)
{
    const struct spread *s = arg;
    ptrdiff_t offset = own->base - (char *)s->call->out;
    for (int i = 0; i < group_size(s->comm); i++) {
        struct jd_strided theirs = *own;
        if (i == s->comm->inter->place)
            continue;
        theirs.base = jd__inter_out_of(s->comm, i, s->out_bytes) + offset;
        jd__strided_copy_part(&theirs, own, begin, bytes);
    }
}

/* Runs what the strips say; then nobody of the group is in our buffers. */
static jd_status run(struct spread *s, char *scratch)
{
    jd_status status = jd__inter_exchange(s->comm, scratch, false, pass_on, s);
    return status == JD_OK ? jd__shm_step(s->comm->group) : status;
}

jd_status jd__inter_gather_seen(struct jd_comm *comm,
                                const struct jd_collective *call,
                                const struct jd_strided *blocks, char *scratch)
{
    struct jd_inter *inter = comm->inter;
    const struct jd_strided *own = &blocks[comm->index];
    size_t bytes = jd__strided_bytes(own);
    struct jd_strided in = jd__strided_flat(call->in, bytes);
    struct spread s = { comm, call, bytes * (size_t)comm->size };
    int size = group_size(comm);
    in.rows = own->rows;
    in.width = in.pitch = own->width;
    jd__strided_copy(own, &in);
    pass_on(&s, own, 0, bytes);
    for (int i = 0; i < comm->size; i++) {
        bool is_ours = comm->groups[i] == inter->group;
        bool comes_here = comm->places[i] % size == inter->place;
        inter->receives[i] = blocks[i];
        if (is_ours || !comes_here)
            inter->receives[i] = jd__strided_flat(NULL, 0);
        inter->sends[i] = jd__strided_flat(NULL, 0);
    }
    for (int t = 0; t < comm->num_groups; t++) {
        int place = inter->place % inter->sizes[t];
        if (t != inter->group)
            inter->sends[inter->members[t][place]] = in;
    }
    return run(&s, scratch);
}

/* The rail of a member, of so many bytes in all. */
static struct jd_strided lane_of(const struct jd_inter *inter, const void *base,
                                 size_t bytes)
{
    size_t rails = (size_t)inter->rails, place = (size_t)inter->place;
    size_t share = (bytes / rails + 63) / 64 * 64;
    size_t begin = place * share < bytes ? place * share : bytes;
    size_t end =
        place + 1 < rails && begin + share < bytes ? begin + share : bytes;
    return jd__strided_flat((const char *)base + begin, end - begin);
}

jd_status jd__inter_broadcast_seen(struct jd_comm *comm,
                                   const struct jd_collective *call, int source,
                                   char *scratch)
{
    struct jd_inter *inter = comm->inter;
    size_t bytes = call->count * jd_dtype_size(call->dtype);
    struct spread s = { comm, call, bytes };
    int source_group = comm->groups[source];
    bool carries = inter->place < inter->rails;
    jd__inter_clear(comm);
    if (source_group != inter->group) {
        int from = carries ? inter->members[source_group][inter->place] : 0;
        if (carries)
            inter->receives[from] = lane_of(inter, call->out, bytes);
        return run(&s, scratch);
    }
    const void *in = call->in;
    if (comm->index != source)
        in = jd__inter_in_of(comm, comm->places[source], bytes);
    for (int t = 0; t < comm->num_groups && carries; t++)
        if (t != source_group)
            inter->sends[inter->members[t][inter->place]] =
                lane_of(inter, in, bytes);
    if (call->out != in)
        memcpy(call->out, in, bytes);
    return run(&s, scratch);
}
