/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_scatter.c - long reduce_scatters where the members of each team see
 * each other's inputs: a team folds what a member of another team is to get,
 * and sends it one wide partial result; members share that work.
 */
#include "collectives/cpu/inter/inter_private.h"

struct scatter {
    struct jd_clique *clique;
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

/* What is for a member in an input of this team. */
static struct jd_strip block_of(const struct scatter *s, int place, int member)
{
    const struct jd_between *between = s->clique->between;
    size_t width = s->call->count * s->element;
    const char *in = s->call->in;
    if (place != between->place)
        in = jd__between_in_of(s->clique, place, s->in_bytes);
    return (struct jd_strip){
        .base = (char *)in + (size_t)member * width,
        .rows = s->rows,
        .width = width,
        .pitch = (size_t)s->clique->size * width,
    };
}

/* Folds elements [begin, begin + count) of a member's block, row by row. */
static void fold_block(const struct scatter *s, int member, size_t begin,
                       size_t count, char *to)
{
    struct jd_between *between = s->clique->between;
    int size = between->sizes[between->team];
    for (size_t done = 0, part; done < count; done += part) {
        size_t left = s->call->count - (begin + done) % s->call->count;
        void *out = to + done * s->wide;
        part = left < count - done ? left : count - done;
        for (int i = 0; i < size; i++) {
            struct jd_strip block = block_of(s, i, member);
            between->ins[i] = jd__strip_at(&block, (begin + done) * s->element,
                                           part * s->element);
        }
        s->partial(&(struct jd_fold){ .ins = between->ins,
                                      .num_ins = size,
                                      .outs = &out,
                                      .num_outs = 1,
                                      .count = part });
    }
}

/* Who of a team folds for a member of another. */
static int helper_of(const struct jd_clique *clique, int team, int member)
{
    const struct jd_between *between = clique->between;
    return between
        ->members[team][clique->places[member] % between->sizes[team]];
}

static jd_status exchange(const struct scatter *s, size_t begin, size_t count)
{
    struct jd_clique *clique = s->clique;
    int own_team = clique->between->team, size = clique->size;
    size_t bytes = count * s->wide;
    jd_status status = JD_OK;
    for (int t = 0; t < clique->num_teams && status == JD_OK; t++) {
        int from = helper_of(clique, t, clique->index);
        if (t != own_team)
            status = jd__group_receive(clique->wire, from, slot_of(s, 0, from),
                                       bytes);
    }
    for (int i = 1; i < size && status == JD_OK; i++) {
        int to = (clique->index + i) % size;
        if (clique->teams[to] == own_team ||
            helper_of(clique, own_team, to) != clique->index)
            continue;
        fold_block(s, to, begin, count, slot_of(s, 1, to));
        status = jd__group_send(clique->wire, to, slot_of(s, 1, to), bytes);
    }
    fold_block(s, clique->index, begin, count, slot_of(s, 0, clique->index));
    return status == JD_OK ? jd__group_wait(clique->wire) : status;
}

static void finish(const struct scatter *s, size_t begin, size_t count)
{
    struct jd_clique *clique = s->clique;
    void *out = (char *)s->call->out + begin * s->element;
    for (int t = 0; t < clique->num_teams; t++) {
        int from = t == clique->between->team
                       ? clique->index
                       : helper_of(clique, t, clique->index);
        clique->between->ins[t] = slot_of(s, 0, from);
    }
    s->finish(&(struct jd_fold){ .ins = clique->between->ins,
                                 .num_ins = clique->num_teams,
                                 .outs = &out,
                                 .num_outs = 1,
                                 .count = count,
                                 .divisor = clique->size });
}

jd_status jd__between_scatter_seen(struct jd_clique *clique,
                                   const struct jd_meeting *meeting,
                                   size_t rows, char *scratch)
{
    const struct jd_collective *call = meeting->call;
    struct scatter s = {
        .clique = clique,
        .call = call,
        .partial = jd__fold_find(call->dtype, meeting->op, JD_FOLD_PARTIAL),
        .finish = jd__fold_find(call->dtype, meeting->op, JD_FOLD_FINISH),
        .element = jd_dtype_size(call->dtype),
        .wide = jd_dtype_size(jd__fold_wide(call->dtype)),
        .rows = rows,
        .in_bytes = meeting->in_bytes,
        .slot = jd__between_piece(clique),
        .scratch = scratch,
    };
    size_t all = call->count * rows, step = s.slot / s.wide;
    for (size_t at = 0; at < all; at += step) {
        size_t count = all - at < step ? all - at : step;
        jd_status status = exchange(&s, at, count);
        if (status != JD_OK)
            return jd__between_break(clique, status);
        finish(&s, at, count);
    }
    return jd__team_step(clique->team);
}
