/* SPDX-License-Identifier: BSD-3-Clause */
/* bulk.c - all-gather, broadcast and reduction of long buffers. */
#include "collectives/bulk.h"

#include <string.h>

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

struct jd_share jd__share(size_t n, int parts, int member)
{
    size_t base = n / (size_t)parts, longer = n % (size_t)parts;
    size_t m = (size_t)member;
    return (struct jd_share){
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
        struct jd_share share = jd__share(bytes, size - 1, i - 1);
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
    struct jd_share own = jd__share(bytes, size - 1, place);
    jd_status status = JD_OK;
    for (int i = 1; i < size && status == JD_OK; i++) {
        int other = (source + i) % size;
        struct jd_share share = jd__share(bytes, size - 1, i - 1);
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

/* Elements that are reduced at once. */
static size_t piece_elements(const struct jd_group *group,
                             const struct jd_reduction *reduction)
{
    size_t fit = jd__group_piece(group) / reduction->element;
    return smaller(reduction->count, fit ? fit : 1);
}

/* A slot for every member's contribution to the longest share. */
size_t jd__bulk_reduce_scratch(const struct jd_group *group,
                               const struct jd_reduction *reduction)
{
    int size = jd__group_size(group);
    size_t n = piece_elements(group, reduction);
    return (size_t)size * jd__share(n, size, 0).count * reduction->element;
}

/* Brings everybody's contribution to our share into the slots, ours too. */
static jd_status collect_share(struct jd_group *group,
                               const struct jd_reduction *r, char *slots,
                               size_t slot)
{
    int size = jd__group_size(group), index = jd__group_index(group);
    struct jd_share own = jd__share(r->count, size, index);
    jd_status status = JD_OK;
    for (int i = 1; i < size && status == JD_OK; i++) {
        int from = (index + i) % size, to = (index + size - i) % size;
        struct jd_share share = jd__share(r->count, size, to);
        status = jd__group_receive(group, from, slots + (size_t)from * slot,
                                   own.count * r->element);
        if (status == JD_OK)
            status = jd__group_send(
                group, to, (const char *)r->in + share.begin * r->element,
                share.count * r->element);
    }
    memcpy(slots + (size_t)index * slot,
           (const char *)r->in + own.begin * r->element,
           own.count * r->element);
    return status == JD_OK ? jd__group_wait(group) : status;
}

/* Gives everybody our reduced share, and gets theirs. */
static jd_status spread_share(struct jd_group *group,
                              const struct jd_reduction *r, const char *reduced)
{
    int size = jd__group_size(group), index = jd__group_index(group);
    struct jd_share own = jd__share(r->count, size, index);
    char *out = r->out;
    jd_status status = JD_OK;
    for (int i = 1; i < size && status == JD_OK; i++) {
        int from = (index + i) % size, to = (index + size - i) % size;
        struct jd_share share = jd__share(r->count, size, from);
        status = jd__group_receive(group, from, out + share.begin * r->element,
                                   share.count * r->element);
        if (status == JD_OK)
            status = jd__group_send(group, to, reduced, own.count * r->element);
    }
    memcpy(out + own.begin * r->element, reduced, own.count * r->element);
    return status == JD_OK ? jd__group_wait(group) : status;
}

static jd_status reduce_piece(struct jd_group *group,
                              const struct jd_reduction *r, char *slots)
{
    int size = jd__group_size(group);
    size_t slot = jd__share(r->count, size, 0).count * r->element;
    struct jd_share own = jd__share(r->count, size, jd__group_index(group));
    jd_status status = collect_share(group, r, slots, slot);
    if (status != JD_OK)
        return status;
    for (int i = 1; i < size; i++)
        r->kernel(slots, slots + (size_t)i * slot, own.count);
    return spread_share(group, r, slots);
}

jd_status jd__bulk_reduce(struct jd_group *group,
                          const struct jd_reduction *reduction, void *scratch)
{
    size_t step = piece_elements(group, reduction);
    jd_status status = JD_OK;
    for (size_t at = 0; at < reduction->count && status == JD_OK; at += step) {
        struct jd_reduction piece = *reduction;
        piece.in = (const char *)reduction->in + at * reduction->element;
        piece.out = (char *)reduction->out + at * reduction->element;
        piece.count = smaller(step, reduction->count - at);
        status = reduce_piece(group, &piece, scratch);
    }
    return status;
}
