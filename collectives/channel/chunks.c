/* SPDX-License-Identifier: BSD-3-Clause */
/* chunks.c - all-gather and broadcast of long buffers. */
#include "collectives/channel/chunks.h"

#include <string.h>

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

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
        .begin = m * base + smaller(m, longer),
        .count = base + (m < longer ? 1 : 0),
    };
}

static jd_status all_gather_piece(struct jd_group *group, const char *in,
                                  char *out, size_t stride, size_t bytes)
{
    int size = jd__group_size(group), index = jd__group_index(group);
    jd_status status = JD_OK;
    for (int i = 1; i < size && status == JD_OK; i++) {
        int from = (index + i) % size;
        status =
            jd__group_receive(group, from, out + (size_t)from * stride, bytes);
        if (status == JD_OK)
            status =
                jd__group_send(group, (index + size - i) % size, in, bytes);
    }
    return status == JD_OK ? jd__group_wait(group) : status;
}

jd_status jd__bulk_all_gather(struct jd_group *group, const void *in, void *out,
                              size_t bytes)
{
    size_t piece = jd__group_piece(group);
    char *own = (char *)out + (size_t)jd__group_index(group) * bytes;
    jd_status status = JD_OK;
    for (size_t at = 0; at < bytes && status == JD_OK; at += piece)
        status =
            all_gather_piece(group, (const char *)in + at, (char *)out + at,
                             bytes, smaller(piece, bytes - at));
    if (status == JD_OK && in != own && bytes)
        memcpy(own, in, bytes);
    return status;
}

/* The source gives each other member one share; no share is its own. */
static jd_status scatter_piece(struct jd_group *group, char *data, size_t bytes,
                               int source)
{
    int size = jd__group_size(group), index = jd__group_index(group);
    jd_status status = JD_OK;
    for (int i = 1; i < size && status == JD_OK; i++) {
        int to = (source + i) % size;
        struct share share = share_of(bytes, size - 1, i - 1);
        if (index == source)
            status = jd__group_send(group, to, data + share.begin, share.count);
        else if (index == to)
            status = jd__group_receive(group, source, data + share.begin,
                                       share.count);
    }
    return status == JD_OK ? jd__group_wait(group) : status;
}

/* The others exchange their shares. */
static jd_status spread_piece(struct jd_group *group, char *data, size_t bytes,
                              int source)
{
    int size = jd__group_size(group), index = jd__group_index(group);
    int place = (index - source + size) % size - 1;
    struct share own = share_of(bytes, size - 1, place);
    jd_status status = JD_OK;
    for (int i = 1; i < size && status == JD_OK; i++) {
        int other = (source + i) % size;
        struct share share = share_of(bytes, size - 1, i - 1);
        if (other == index)
            continue;
        status =
            jd__group_receive(group, other, data + share.begin, share.count);
        if (status == JD_OK)
            status = jd__group_send(group, other, data + own.begin, own.count);
    }
    return status == JD_OK ? jd__group_wait(group) : status;
}

jd_status jd__bulk_broadcast(struct jd_group *group, void *data, size_t bytes,
                             int source)
{
    size_t piece = jd__group_piece(group);
    jd_status status = JD_OK;
    if (jd__group_size(group) == 1)
        return JD_OK;
    for (size_t at = 0; at < bytes && status == JD_OK; at += piece) {
        char *data_at = (char *)data + at;
        size_t length = smaller(piece, bytes - at);
        status = scatter_piece(group, data_at, length, source);
        if (status == JD_OK && jd__group_index(group) != source)
            status = spread_piece(group, data_at, length, source);
    }
    return status;
}
