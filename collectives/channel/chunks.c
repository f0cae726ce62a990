/* SPDX-License-Identifier: BSD-3-Clause */
/* chunks.c - all-gather and broadcast of long buffers. */
#include "collectives/channel/chunks.h"
#include "base/numbers.h"

#include <string.h>

/* A share of n bytes: member's out of parts. */
struct share {
    size_t begin;
    size_t count;
};

static struct share share_of(size_t n, int parts, int member)
{
    size_t base = n / (size_t)parts, longer = n % (size_t)parts;
    size_t m = (size_t)member;
    return (struct share){
        .begin = m * base + jd__numbers_smaller(m, longer),
        .count = base + (m < longer ? 1 : 0),
    };
}

static jd_status all_gather_piece(struct jd_channel *channel, const char *in,
                                  char *out, size_t stride, size_t bytes)
{
    int size = jd__channel_size(channel), index = jd__channel_index(channel);
    jd_status status = JD_OK;
    for (int i = 1; i < size && status == JD_OK; i++) {
        int from = (index + i) % size;
        status = jd__channel_receive(channel, from, out + (size_t)from * stride,
                                     bytes);
        if (status == JD_OK)
            status =
                jd__channel_send(channel, (index + size - i) % size, in, bytes);
    }
    return status == JD_OK ? jd__channel_wait(channel) : status;
}

jd_status jd__chunks_all_gather(struct jd_channel *channel, const void *in,
                                void *out, size_t bytes)
{
    size_t piece = jd__channel_piece(channel);
    char *own = (char *)out + (size_t)jd__channel_index(channel) * bytes;
    jd_status status = JD_OK;
    for (size_t at = 0; at < bytes && status == JD_OK; at += piece)
        status =
            all_gather_piece(channel, (const char *)in + at, (char *)out + at,
                             bytes, jd__numbers_smaller(piece, bytes - at));
    if (status == JD_OK && in != own && bytes)
        memcpy(own, in, bytes);
    return status;
}

/* The source gives each other member one share; no share is its own. */
static jd_status scatter_piece(struct jd_channel *channel, char *data,
                               size_t bytes, int source)
{
    int size = jd__channel_size(channel), index = jd__channel_index(channel);
    jd_status status = JD_OK;
    for (int i = 1; i < size && status == JD_OK; i++) {
        int to = (source + i) % size;
        struct share share = share_of(bytes, size - 1, i - 1);
        if (index == source)
            status =
                jd__channel_send(channel, to, data + share.begin, share.count);
        else if (index == to)
            status = jd__channel_receive(channel, source, data + share.begin,
                                         share.count);
    }
    return status == JD_OK ? jd__channel_wait(channel) : status;
}

/* The others exchange their shares. */
static jd_status spread_piece(struct jd_channel *channel, char *data,
                              size_t bytes, int source)
{
    int size = jd__channel_size(channel), index = jd__channel_index(channel);
    int place = (index - source + size) % size - 1;
    struct share own = share_of(bytes, size - 1, place);
    jd_status status = JD_OK;
    for (int i = 1; i < size && status == JD_OK; i++) {
        int other = (source + i) % size;
        struct share share = share_of(bytes, size - 1, i - 1);
        if (other == index)
            continue;
        status = jd__channel_receive(channel, other, data + share.begin,
                                     share.count);
        if (status == JD_OK)
            status =
                jd__channel_send(channel, other, data + own.begin, own.count);
    }
    return status == JD_OK ? jd__channel_wait(channel) : status;
}

jd_status jd__chunks_broadcast(struct jd_channel *channel, void *data,
                               size_t bytes, int source)
{
    size_t piece = jd__channel_piece(channel);
    jd_status status = JD_OK;
    if (jd__channel_size(channel) == 1)
        return JD_OK;
    for (size_t at = 0; at < bytes && status == JD_OK; at += piece) {
        char *data_at = (char *)data + at;
        size_t length = jd__numbers_smaller(piece, bytes - at);
        status = scatter_piece(channel, data_at, length, source);
        if (status == JD_OK && jd__channel_index(channel) != source)
            status = spread_piece(channel, data_at, length, source);
    }
    return status;
}
