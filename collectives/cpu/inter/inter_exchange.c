/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_exchange.c - data between all pairs of members: pair after pair, some
 * messages under way at a time; or, of a few bytes for each, handed on in
 * ceil(log2) messages.
 */
#include "base/numbers.h"
#include "collectives/cpu/inter/inter_private.h"

#include <string.h>

#define WINDOW 8
/* Of so many bytes for each member a message of its own costs more than to
 * hand them on; measured elsewhere (Bruck et al.). */
#define MOST_SHORT 256
#define LEAST_MEMBERS 4 /* of fewer, pairs are as few messages */

/* ---- pair after pair ------------------------------------------------------
 */

/* A piece of what comes from a member, and of what goes to one. */
struct message {
    struct jd_pair pair;
    struct jd_strided in;
    size_t begin;
};

struct run {
    const struct jd_inter_exchange *x;
    size_t piece;
    size_t posted, finished; /* messages */
    struct message messages[WINDOW];
};

static size_t piece_of(const struct jd_comm *comm)
{
    return jd__numbers_smaller(JD_GROUP_EAGER, jd__channel_piece(comm->wire));
}

size_t jd__inter_exchange_scratch(const struct jd_comm *comm)
{
    return 2 * WINDOW * piece_of(comm);
}

/* Where a message is packed: 0, what comes; 1, what goes. */
static char *slot_of(const struct run *run, size_t number, int direction)
{
    size_t slot = 2 * (number % WINDOW) + (size_t)direction;
    return run->x->scratch + slot * run->piece;
}

/* How many bytes of a pair's are in the piece that begins there. */
static size_t bytes_at(const struct run *run, const struct jd_strided *strided,
                       size_t begin)
{
    size_t all = jd__strided_bytes(strided);
    return all > begin ? jd__numbers_smaller(run->piece, all - begin) : 0;
}

/* Where they belong, or in the slot. */
static char *target_of(const struct run *run, size_t number,
                       const struct jd_strided *strided, size_t begin,
                       size_t bytes)
{
    char *at = NULL;
    if (!run->x->is_in_place)
        at = jd__strided_at(strided, begin, bytes);
    return at ? at : slot_of(run, number, 0);
}

static char *source_of(const struct run *run, size_t number,
                       const struct jd_strided *strided, size_t begin,
                       size_t bytes)
{
    char *at = jd__strided_at(strided, begin, bytes);
    if (at)
        return at;
    jd__strided_read(strided, begin, bytes, slot_of(run, number, 1));
    return slot_of(run, number, 1);
}

static jd_status finish_first(struct run *run)
{
    size_t number = run->finished++;
    struct message *m = &run->messages[number % WINDOW];
    size_t bytes = bytes_at(run, &m->in, m->begin);
    jd_status status = jd__pair_finish(run->x->comm->wire, &m->pair);
    if (status == JD_OK && bytes &&
        target_of(run, number, &m->in, m->begin, bytes) ==
            slot_of(run, number, 0))
        jd__strided_write(&m->in, m->begin, bytes, slot_of(run, number, 0));
    return status;
}

static jd_status finish_all(struct run *run)
{
    jd_status status = JD_OK;
    while (run->finished < run->posted && status == JD_OK)
        status = finish_first(run);
    return status;
}

/* What comes from a member and goes to one; -1: nothing. */
struct flow {
    int from, to;
    struct jd_strided in, out;
};

static struct flow make_flow(const struct jd_inter_exchange *x, int from,
                             int to)
{
    struct jd_strided none = jd__strided_flat(NULL, 0);
    return (struct flow){ from, to, from < 0 ? none : x->receive(x->arg, from),
                          to < 0 ? none : x->send(x->arg, to) };
}

static jd_status post_next(struct run *run, const struct flow *f, size_t begin)
{
    jd_status status = JD_OK;
    if (run->posted - run->finished == WINDOW)
        status = finish_first(run);
    if (status != JD_OK)
        return status;
    size_t number = run->posted++;
    struct message *m = &run->messages[number % WINDOW];
    struct jd_message_end from = { f->from, NULL,
                                   bytes_at(run, &f->in, begin) };
    struct jd_message_end to = { f->to, NULL, bytes_at(run, &f->out, begin) };
    m->in = f->in;
    m->begin = begin;
    if (from.bytes)
        from.data = target_of(run, number, &f->in, begin, from.bytes);
    if (to.bytes)
        to.data = source_of(run, number, &f->out, begin, to.bytes);
    return jd__pair_post(run->x->comm->wire, &m->pair, from, to);
}

static jd_status exchange_pieces(struct run *run, const struct flow *f)
{
    size_t there = jd__strided_bytes(&f->out), here = jd__strided_bytes(&f->in);
    size_t all = here > there ? here : there;
    jd_status status = JD_OK;
    for (size_t at = 0; at < all && status == JD_OK; at += run->piece)
        status = post_next(run, f, at);
    return status;
}

static void copy_own(const struct jd_inter_exchange *x)
{
    struct jd_strided in = x->receive(x->arg, x->comm->index);
    struct jd_strided out = x->send(x->arg, x->comm->index);
    if (jd__strided_bytes(&in))
        jd__strided_copy(&in, &out);
}

/* All of it is over, or has failed. */
static jd_status end_exchange(struct run *run, jd_status status)
{
    if (status == JD_OK)
        status = finish_all(run);
    return status == JD_OK ? status : jd__inter_break(run->x->comm, status);
}

jd_status jd__inter_exchange(const struct jd_inter_exchange *x)
{
    struct run run = { .x = x, .piece = piece_of(x->comm) };
    struct jd_schedule s = { .kind = JD_SCHEDULE_PAIRS,
                             .parties = x->comm->size,
                             .self = x->comm->index };
    jd_status status = JD_OK;
    for (int k = 0; k < s.parties && status == JD_OK; k++) {
        struct jd_round round = jd__schedule_round(&s, k);
        struct flow flow = make_flow(x, round.from, round.to);
        status = exchange_pieces(&run, &flow);
    }
    status = end_exchange(&run, status);
    if (status == JD_OK)
        copy_own(x);
    return status;
}

/* What comes of a piece is written where what goes of it was: the others that
 * are under way lie elsewhere. */
jd_status jd__inter_exchange_one(const struct jd_inter_exchange *x, int from,
                                 int to)
{
    struct run run = { .x = x, .piece = piece_of(x->comm) };
    struct flow flow = make_flow(x, from, to);
    if (from == x->comm->index) {
        copy_own(x);
        return JD_OK;
    }
    return end_exchange(&run, exchange_pieces(&run, &flow));
}

/* ---- few bytes ----------------------------------------------------------- */

bool jd__inter_is_short(const struct jd_comm *comm, size_t bytes)
{
    return comm->size > LEAST_MEMBERS && bytes <= MOST_SHORT &&
           jd__inter_is_lone(comm);
}

/* What is handed on, and a message each way. */
size_t jd__inter_short_scratch(const struct jd_comm *comm, size_t bytes)
{
    return 3 * (size_t)comm->size * bytes;
}

/* Packs the blocks that have the bit into a message, or takes them out. */
static size_t pack_blocks(const struct jd_blocks *blocks, size_t bytes,
                          char *slots, char *message, bool is_out)
{
    size_t done = 0;
    for (int i = blocks->bit; i < blocks->count; i++) {
        char *slot = slots + (size_t)i * bytes;
        if (!(i & blocks->bit))
            continue;
        memcpy(is_out ? message + done : slot, is_out ? slot : message + done,
               bytes);
        done += bytes;
    }
    return done;
}

/* What members whose numbers are so far ahead (behind) get (give). */
static int member_at(const struct jd_comm *comm, int distance)
{
    return (comm->index + comm->size + distance) % comm->size;
}

static jd_status hand_on(const struct jd_inter_exchange *x, size_t bytes,
                         const struct jd_round *round)
{
    size_t all = (size_t)x->comm->size * bytes;
    char *going = x->scratch + all, *coming = going + all;
    struct jd_pair pair;
    size_t packed = pack_blocks(&round->out, bytes, x->scratch, going, true);
    jd_status status =
        jd__pair_post(x->comm->wire, &pair,
                      (struct jd_message_end){ round->from, coming, packed },
                      (struct jd_message_end){ round->to, going, packed });
    if (status == JD_OK)
        status = jd__pair_finish(x->comm->wire, &pair);
    if (status == JD_OK)
        pack_blocks(&round->in, bytes, x->scratch, coming, false);
    return status;
}

jd_status jd__inter_exchange_short(const struct jd_inter_exchange *x,
                                   size_t bytes)
{
    struct jd_schedule s = { .kind = JD_SCHEDULE_BRUCK,
                             .parties = x->comm->size,
                             .self = x->comm->index };
    jd_status status = JD_OK;
    for (int i = 0; i < s.parties; i++) {
        struct jd_strided out = x->send(x->arg, member_at(x->comm, i));
        jd__strided_read(&out, 0, bytes, x->scratch + (size_t)i * bytes);
    }
    for (int k = 0; k < jd__schedule_rounds(&s) && status == JD_OK; k++) {
        struct jd_round round = jd__schedule_round(&s, k);
        status = hand_on(x, bytes, &round);
    }
    if (status != JD_OK)
        return jd__inter_break(x->comm, status);
    for (int i = 0; i < s.parties; i++) {
        struct jd_strided in = x->receive(x->arg, member_at(x->comm, -i));
        jd__strided_write(&in, 0, bytes, x->scratch + (size_t)i * bytes);
    }
    return JD_OK;
}
