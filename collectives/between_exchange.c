/* SPDX-License-Identifier: BSD-3-Clause */
/* between_exchange.c - data between all pairs of members at once. */
#include "collectives/between_private.h"

/* Less than this at once costs more in messages than it spares in memory. */
#define LEAST_PIECE ((size_t)64 << 10)
#define ALIGNMENT 64

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t jd__between_piece(const struct jd_clique *clique)
{
    size_t most = jd__group_piece(clique->wire);
    size_t share = 4 * JD_GROUP_PIECE / (size_t)clique->size;
    size_t piece = smaller(most, share > LEAST_PIECE ? share : LEAST_PIECE);
    return piece < ALIGNMENT ? ALIGNMENT : piece / ALIGNMENT * ALIGNMENT;
}

size_t jd__between_exchange_scratch(const struct jd_clique *clique)
{
    return 2 * (size_t)clique->size * jd__between_piece(clique);
}

/* One round of an exchange: the bytes [begin, begin + piece) of every pair. */
struct round {
    struct jd_clique *clique;
    char *scratch;
    size_t begin, piece;
    bool is_in_place;
    jd_arrived_f *arrived;
    void *arg;
};

static size_t bytes_of(const struct round *round, const struct jd_strip *strip)
{
    size_t all = jd__strip_bytes(strip);
    return all > round->begin ? smaller(round->piece, all - round->begin) : 0;
}

static char *slot_of(const struct round *round, int direction, int member)
{
    size_t slot = 2 * (size_t)member + (size_t)direction;
    return round->scratch + slot * round->piece;
}

/* Where a member's bytes of this round come in: where they belong, or in the
 * scratch. */
static char *target_of(const struct round *round, int member)
{
    const struct jd_strip *strip = &round->clique->between->receives[member];
    char *at = NULL;
    if (!round->is_in_place)
        at = jd__strip_at(strip, round->begin, bytes_of(round, strip));
    return at ? at : slot_of(round, 0, member);
}

static const char *source_of(const struct round *round, int member)
{
    const struct jd_strip *strip = &round->clique->between->sends[member];
    size_t bytes = bytes_of(round, strip);
    char *at = jd__strip_at(strip, round->begin, bytes);
    if (at)
        return at;
    jd__strip_read(strip, round->begin, bytes, slot_of(round, 1, member));
    return slot_of(round, 1, member);
}

static jd_status post_pair(const struct round *round, int to, int from)
{
    struct jd_group *wire = round->clique->wire;
    const struct jd_strip *sends = round->clique->between->sends;
    size_t in = bytes_of(round, &round->clique->between->receives[from]);
    size_t out = bytes_of(round, &sends[to]);
    jd_status status = JD_OK;
    if (in)
        status = jd__group_receive(wire, from, target_of(round, from), in);
    if (out && status == JD_OK)
        status = jd__group_send(wire, to, source_of(round, to), out);
    return status;
}

static void unpack(const struct round *round, int member)
{
    const struct jd_strip *strip = &round->clique->between->receives[member];
    size_t bytes = bytes_of(round, strip);
    if (bytes && target_of(round, member) == slot_of(round, 0, member))
        jd__strip_write(strip, round->begin, bytes, slot_of(round, 0, member));
    if (bytes && round->arrived)
        round->arrived(round->arg, strip, round->begin, bytes);
}

static jd_status run_round(const struct round *round)
{
    int size = round->clique->size, index = round->clique->index;
    jd_status status = JD_OK;
    for (int i = 1; i < size && status == JD_OK; i++)
        status =
            post_pair(round, (index + i) % size, (index + size - i) % size);
    if (status == JD_OK)
        status = jd__group_wait(round->clique->wire);
    for (int i = 0; i < size && status == JD_OK; i++)
        if (i != index)
            unpack(round, i);
    return status;
}

/* The longest strip, but for this member's own. */
static size_t longest(const struct jd_clique *clique)
{
    const struct jd_between *between = clique->between;
    size_t most = 0;
    for (int i = 0; i < clique->size; i++) {
        size_t out = jd__strip_bytes(&between->sends[i]);
        size_t in = jd__strip_bytes(&between->receives[i]);
        size_t more = in > out ? in : out;
        if (i != clique->index && more > most)
            most = more;
    }
    return most;
}

jd_status jd__between_exchange(struct jd_clique *clique, char *scratch,
                               bool is_in_place, jd_arrived_f *arrived,
                               void *arg)
{
    struct round round = { .clique = clique,
                           .scratch = scratch,
                           .piece = jd__between_piece(clique),
                           .is_in_place = is_in_place,
                           .arrived = arrived,
                           .arg = arg };
    size_t most = longest(clique);
    jd_status status = JD_OK;
    for (; round.begin < most && status == JD_OK; round.begin += round.piece)
        status = run_round(&round);
    if (status != JD_OK)
        return jd__between_break(clique, status);
    jd__strip_copy(&clique->between->receives[clique->index],
                   &clique->between->sends[clique->index]);
    return JD_OK;
}
