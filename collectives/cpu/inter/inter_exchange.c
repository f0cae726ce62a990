/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_exchange.c - data between all pairs of members at once, piece by
 * piece.
 */
#include "base/numbers.h"
#include "collectives/cpu/inter/inter_private.h"

/* Less than this at once costs more in messages than it spares in memory. */
#define LEAST_PIECE ((size_t)64 << 10)
#define ALIGNMENT 64

size_t jd__inter_piece(const struct jd_comm *comm)
{
    size_t most = jd__channel_piece(comm->wire);
    size_t share = 4 * JD_GROUP_PIECE / (size_t)comm->size;
    size_t piece =
        jd__numbers_smaller(most, share > LEAST_PIECE ? share : LEAST_PIECE);
    return piece < ALIGNMENT ? ALIGNMENT : piece / ALIGNMENT * ALIGNMENT;
}

/* ---- pieces ------------------------------------------------------------- */

/* An exchange goes piece by piece, of every pair at once; this many pieces
 * are under way at a time. */
#define DEPTH JD_INTER_DEPTH

struct exchange {
    struct jd_comm *comm;
    char *scratch;
    size_t piece;
    bool is_in_place;
    jd_arrived_f *arrived;
    void *arg;
};

static size_t piece_of(const struct jd_comm *comm)
{
    return jd__numbers_smaller(JD_GROUP_EAGER, jd__channel_piece(comm->wire));
}

size_t jd__inter_exchange_scratch(const struct jd_comm *comm)
{
    size_t pieces = DEPTH * piece_of(comm), lone = jd__inter_piece(comm);
    return 2 * (size_t)comm->size * (pieces > lone ? pieces : lone);
}

/* How many bytes of a strip are in piece k. */
static size_t bytes_of(const struct exchange *x, size_t k,
                       const struct jd_strided *strided)
{
    size_t all = jd__strided_bytes(strided), begin = k * x->piece;
    return all > begin ? jd__numbers_smaller(x->piece, all - begin) : 0;
}

static char *slot_of(const struct exchange *x, size_t k, int direction,
                     int member)
{
    size_t first = k % DEPTH * (size_t)x->comm->size;
    size_t slot = 2 * (first + (size_t)member) + (size_t)direction;
    return x->scratch + slot * x->piece;
}

/* Where a member's bytes of this piece come in: where they belong, or in the
 * scratch. */
static char *target_of(const struct exchange *x, size_t k, int member)
{
    const struct jd_strided *strided = &x->comm->inter->receives[member];
    char *at = NULL;
    if (!x->is_in_place)
        at = jd__strided_at(strided, k * x->piece,
                                  bytes_of(x, k, strided));
    return at ? at : slot_of(x, k, 0, member);
}

static const char *source_of(const struct exchange *x, size_t k, int member)
{
    const struct jd_strided *strided = &x->comm->inter->sends[member];
    size_t bytes = bytes_of(x, k, strided), begin = k * x->piece;
    char *at = jd__strided_at(strided, begin, bytes);
    if (at)
        return at;
    jd__strided_read(strided, begin, bytes, slot_of(x, k, 1, member));
    return slot_of(x, k, 1, member);
}

static jd_status post_pair(const struct exchange *x, size_t k, int to, int from)
{
    struct jd_inter *inter = x->comm->inter;
    size_t in = bytes_of(x, k, &inter->receives[from]);
    size_t out = bytes_of(x, k, &inter->sends[to]);
    return jd__inter_post(x->comm, &inter->posts[k % DEPTH], from,
                          in ? target_of(x, k, from) : NULL, in, to,
                          out ? source_of(x, k, to) : NULL, out);
}

static void unpack(const struct exchange *x, size_t k, int member)
{
    const struct jd_strided *strided = &x->comm->inter->receives[member];
    size_t bytes = bytes_of(x, k, strided), begin = k * x->piece;
    if (bytes && target_of(x, k, member) == slot_of(x, k, 0, member))
        jd__strided_write(strided, begin, bytes,
                                slot_of(x, k, 0, member));
    if (bytes && x->arrived)
        x->arrived(x->arg, strided, begin, bytes);
}

static jd_status start(const struct exchange *x, size_t k)
{
    int size = x->comm->size, index = x->comm->index;
    jd_status status = JD_OK;
    for (int i = 1; i < size && status == JD_OK; i++)
        status = post_pair(x, k, (index + i) % size, (index + size - i) % size);
    return status;
}

static jd_status finish(const struct exchange *x, size_t k)
{
    struct jd_comm *comm = x->comm;
    jd_status status = jd__inter_finish(comm, &comm->inter->posts[k % DEPTH]);
    for (int i = 0; i < comm->size && status == JD_OK; i++)
        if (i != comm->index)
            unpack(x, k, i);
    return status;
}

/* ---- all of it ---------------------------------------------------------- */

/* The longest strip, but for this member's own. */
static size_t longest(const struct jd_comm *comm)
{
    const struct jd_inter *inter = comm->inter;
    size_t most = 0;
    for (int i = 0; i < comm->size; i++) {
        size_t out = jd__strided_bytes(&inter->sends[i]);
        size_t in = jd__strided_bytes(&inter->receives[i]);
        size_t more = in > out ? in : out;
        if (i != comm->index && more > most)
            most = more;
    }
    return most;
}

/* What comes of piece k is written where what goes of it was: the others that
 * are under way lie elsewhere. */
static jd_status run(const struct exchange *x, size_t pieces)
{
    jd_status status = JD_OK;
    for (size_t k = 0; k < pieces + DEPTH - 1 && status == JD_OK; k++) {
        if (k < pieces)
            status = start(x, k);
        if (status == JD_OK && k + 1 >= DEPTH && k + 1 - DEPTH < pieces)
            status = finish(x, k + 1 - DEPTH);
    }
    return status;
}

jd_status jd__inter_exchange(struct jd_comm *comm, char *scratch,
                             bool is_in_place, jd_arrived_f *arrived, void *arg)
{
    struct exchange x = { .comm = comm,
                          .scratch = scratch,
                          .piece = piece_of(comm),
                          .is_in_place = is_in_place,
                          .arrived = arrived,
                          .arg = arg };
    jd_status status = run(&x, (longest(comm) + x.piece - 1) / x.piece);
    if (status != JD_OK)
        return jd__inter_break(comm, status);
    jd__strided_copy(&comm->inter->receives[comm->index],
                           &comm->inter->sends[comm->index]);
    return JD_OK;
}
