/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_spread.c - all_gather and broadcast where the members of each team
 * see each other's buffers: what comes from another team comes to one member
 * of this one, who writes it to all.
 */
#include "collectives/cpu/inter/inter_private.h"

#include <string.h>

struct spread {
    struct jd_clique *clique;
    const struct jd_collective *call;
    size_t out_bytes; /* of all of out */
};

static int team_size(const struct jd_clique *clique)
{
    return clique->between->sizes[clique->between->team];
}

/* Hands what has come to our out to the others of the team. */
static void pass_on(void *arg, const struct jd_strip *own, size_t begin,
                    size_t bytes)
{
    const struct spread *s = arg;
    ptrdiff_t offset = own->base - (char *)s->call->out;
    for (int i = 0; i < team_size(s->clique); i++) {
        struct jd_strip theirs = *own;
        if (i == s->clique->between->place)
            continue;
        theirs.base = jd__between_out_of(s->clique, i, s->out_bytes) + offset;
        jd__strip_copy_part(&theirs, own, begin, bytes);
    }
}

/* Runs what the strips say; then nobody of the team is in our buffers. */
static jd_status run(struct spread *s, char *scratch)
{
    jd_status status =
        jd__between_exchange(s->clique, scratch, false, pass_on, s);
    return status == JD_OK ? jd__team_step(s->clique->team) : status;
}

jd_status jd__between_gather_seen(struct jd_clique *clique,
                                  const struct jd_collective *call,
                                  const struct jd_strip *blocks, char *scratch)
{
    struct jd_between *between = clique->between;
    const struct jd_strip *own = &blocks[clique->index];
    size_t bytes = jd__strip_bytes(own);
    struct jd_strip in = jd__strip_flat(call->in, bytes);
    struct spread s = { clique, call, bytes * (size_t)clique->size };
    int size = team_size(clique);
    in.rows = own->rows;
    in.width = in.pitch = own->width;
    jd__strip_copy(own, &in);
    pass_on(&s, own, 0, bytes);
    for (int i = 0; i < clique->size; i++) {
        bool is_ours = clique->teams[i] == between->team;
        bool comes_here = clique->places[i] % size == between->place;
        between->receives[i] = blocks[i];
        if (is_ours || !comes_here)
            between->receives[i] = jd__strip_flat(NULL, 0);
        between->sends[i] = jd__strip_flat(NULL, 0);
    }
    for (int t = 0; t < clique->num_teams; t++) {
        int place = between->place % between->sizes[t];
        if (t != between->team)
            between->sends[between->members[t][place]] = in;
    }
    return run(&s, scratch);
}

/* The lane of a member, of so many bytes in all. */
static struct jd_strip lane_of(const struct jd_between *between,
                               const void *base, size_t bytes)
{
    size_t lanes = (size_t)between->lanes, place = (size_t)between->place;
    size_t share = (bytes / lanes + 63) / 64 * 64;
    size_t begin = place * share < bytes ? place * share : bytes;
    size_t end =
        place + 1 < lanes && begin + share < bytes ? begin + share : bytes;
    return jd__strip_flat((const char *)base + begin, end - begin);
}

jd_status jd__between_broadcast_seen(struct jd_clique *clique,
                                     const struct jd_collective *call,
                                     int source, char *scratch)
{
    struct jd_between *between = clique->between;
    size_t bytes = call->count * jd_dtype_size(call->dtype);
    struct spread s = { clique, call, bytes };
    int source_team = clique->teams[source];
    bool carries = between->place < between->lanes;
    jd__between_clear(clique);
    if (source_team != between->team) {
        int from = carries ? between->members[source_team][between->place] : 0;
        if (carries)
            between->receives[from] = lane_of(between, call->out, bytes);
        return run(&s, scratch);
    }
    const void *in = call->in;
    if (clique->index != source)
        in = jd__between_in_of(clique, clique->places[source], bytes);
    for (int t = 0; t < clique->num_teams && carries; t++)
        if (t != source_team)
            between->sends[between->members[t][between->place]] =
                lane_of(between, in, bytes);
    if (call->out != in)
        memcpy(call->out, in, bytes);
    return run(&s, scratch);
}
