/* SPDX-License-Identifier: BSD-3-Clause */
/* chunks.c - all-gather and broadcast of long buffers. */
#include "collectives/channel/chunks.h"
#include "base/numbers.h"
#include "collectives/channel/pair.h"
#include "collectives/schedule/schedule.h"

#include <string.h>

/* Up to here the whole goes down a tree. */
#define SHORT_BROADCAST ((size_t)16 << 10)

/* The buffer that the blocks of a schedule are in, one block for each party;
 * the first `longer` blocks have a byte more than the others. */
struct ring {
    struct jd_channel *channel;
    struct jd_parties parties;
    char *data;
    size_t bytes; /* of all */
    size_t block, longer;
};

/* What is left of a range of blocks. */
struct chunk_range {
    size_t at, left;
};

static struct ring make_ring(struct jd_channel *channel,
                             const struct jd_parties *parties, void *data,
                             size_t bytes)
{
    size_t count = (size_t)parties->count;
    return (struct ring){ channel, *parties,      data,
                          bytes,   bytes / count, bytes % count };
}

static size_t begin_of(const struct ring *ring, int block)
{
    size_t i = (size_t)block;
    return i * ring->block + jd__numbers_smaller(i, ring->longer);
}

static struct chunk_range range_of(const struct ring *ring,
                                   const struct jd_blocks *blocks)
{
    int end = blocks->first + blocks->count, count = ring->parties.count;
    size_t at = begin_of(ring, blocks->first);
    size_t wrapped = end > count ? begin_of(ring, end - count) : 0;
    size_t last = end > count ? ring->bytes : begin_of(ring, end);
    return (struct chunk_range){ at, last - at + wrapped };
}

/* Cuts off the next piece: both ends of a message cut alike. */
static size_t cut_piece(const struct ring *ring, struct chunk_range *range,
                        char **ret_at)
{
    if (range->at == ring->bytes)
        range->at = 0;
    size_t bytes = jd__numbers_smaller(range->left, ring->bytes - range->at);
    bytes = jd__numbers_smaller(bytes, jd__channel_piece(ring->channel));
    *ret_at = ring->data + range->at;
    range->at += bytes;
    range->left -= bytes;
    return bytes;
}

/* The next piece of the range, to or from a party; none is left of an empty
 * one. */
static struct jd_message_end next_end(const struct ring *ring, int party,
                                      struct chunk_range *range)
{
    struct jd_message_end end = { -1, NULL, 0 };
    char *data;
    if (!range->left)
        return end;
    end.bytes = cut_piece(ring, range, &data);
    end.data = data;
    end.member = jd__channel_party(&ring->parties, party);
    return end;
}

static jd_status move_piece(const struct ring *ring,
                            const struct jd_round *round,
                            struct chunk_range *out, struct chunk_range *in)
{
    struct jd_pair pair;
    struct jd_message_end from = next_end(ring, round->from, in);
    struct jd_message_end to = next_end(ring, round->to, out);
    jd_status status = jd__pair_post(ring->channel, &pair, from, to);
    return status == JD_OK ? jd__pair_finish(ring->channel, &pair) : status;
}

static jd_status go_round(const struct ring *ring, const struct jd_round *round)
{
    struct chunk_range none = { 0, 0 };
    struct chunk_range out = round->to < 0 ? none : range_of(ring, &round->out);
    struct chunk_range in = round->from < 0 ? none : range_of(ring, &round->in);
    jd_status status = JD_OK;
    while (status == JD_OK && (out.left || in.left))
        status = move_piece(ring, round, &out, &in);
    return status;
}

static jd_status follow_schedule(const struct ring *ring,
                                 enum jd_schedule_kind kind, int root)
{
    struct jd_schedule schedule = { .kind = kind,
                                    .parties = ring->parties.count,
                                    .self = ring->parties.self,
                                    .root = root };
    int rounds = jd__schedule_rounds(&schedule);
    jd_status status = JD_OK;
    for (int k = 0; status == JD_OK && k < rounds; k++) {
        struct jd_round round = jd__schedule_round(&schedule, k);
        status = go_round(ring, &round);
    }
    return status;
}

jd_status jd__chunks_all_gather_among(struct jd_channel *channel,
                                      const struct jd_parties *parties,
                                      const void *in, void *out, size_t bytes)
{
    char *own = (char *)out + (size_t)parties->self * bytes;
    struct ring ring =
        make_ring(channel, parties, out, bytes * (size_t)parties->count);
    if (in != own && bytes)
        memcpy(own, in, bytes);
    return follow_schedule(&ring, JD_SCHEDULE_ALL_GATHER, 0);
}

jd_status jd__chunks_all_gather(struct jd_channel *channel, const void *in,
                                void *out, size_t bytes)
{
    struct jd_parties all = jd__channel_parties(channel);
    return jd__chunks_all_gather_among(channel, &all, in, out, bytes);
}

jd_status jd__chunks_broadcast(struct jd_channel *channel, void *data,
                               size_t bytes, int source)
{
    struct jd_parties all = jd__channel_parties(channel);
    struct ring ring = make_ring(channel, &all, data, bytes);
    if (bytes <= SHORT_BROADCAST)
        return follow_schedule(&ring, JD_SCHEDULE_BROADCAST, source);
    jd_status status = follow_schedule(&ring, JD_SCHEDULE_SCATTER, source);
    return status == JD_OK
               ? follow_schedule(&ring, JD_SCHEDULE_ALL_GATHER, source)
               : status;
}
