/* SPDX-License-Identifier: BSD-3-Clause */
/* exchange.c - what a plan says, done: each device of this process its part,
 * on a thread of its own where there are several. */
#include "arrays/array/block_cache.h"
#include "arrays/array/mesh_cache.h"
#include "arrays/array/share.h"
#include "arrays/reshard/exchange.h"
#include "base/status.h"
#include "collectives/mesh/shard.h"

#include <stdlib.h>
#include <string.h>

#define AXIS "all"

/* Less is copied faster than threads are started. */
#define LEAST_THREAD_BYTES ((size_t)1 << 20)

/* One device's part. */
struct jd_exchange_part {
    const struct jd_exchange *exchange;
    const struct jd_plan_device *device;
    const jd_array_shard *from, *to; /* NULL: none */
    void *pack, *unpack;             /* NULL: its blocks do */
    int64_t *lists;   /* of a ragged_all_to_all: four, with a number for each
                       * member */
    jd_status status; /* of a call that all members refuse alike */
    char *sentence;
};

/* ---- within this process ------------------------------------------------ */

static struct jd_box box_of(const struct jd_exchange_part *part,
                            const jd_array_shard *shard)
{
    return (struct jd_box){ shard->data, shard->index,
                            part->exchange->plan->ndim,
                            part->exchange->to->element };
}

/* On the stream where there is one. */
static jd_status copy_pieces(const struct jd_exchange_part *part,
                             struct jd_stream *stream)
{
    const struct jd_plan_device *device = part->device;
    jd_status status = JD_OK;
    if (part->exchange->keeps && device->keeps)
        return JD_OK;
    for (int i = 0; i < device->num_copies && status == JD_OK; i++) {
        const struct jd_piece *piece = &device->copies[i];
        struct jd_box from =
            box_of(part, &part->exchange->from->shards[piece->source]);
        struct jd_box to = box_of(part, part->to);
        status = jd__box_queue(&to, &from, piece->index, stream);
    }
    return status;
}

/* ---- whole blocks ------------------------------------------------------- */

static void *data_of(const jd_array_shard *shard)
{
    return shard ? shard->data : NULL;
}

/* Elements of dimensions [first, last) of a block. */
static size_t count_elements(const jd_array_shard *shard, int first, int last)
{
    size_t count = 1;
    for (int d = first; d < last; d++)
        count *= (size_t)shard->shape[d];
    return count;
}

/*
 * The dimensions before both are a call each. Then the block is a matrix that
 * is cut along its rows or its columns and put together along the others.
 */
static jd_status swap_dimensions(const struct jd_exchange_part *part,
                                 jd_shard *shard)
{
    const struct jd_plan *plan = part->exchange->plan;
    const jd_array_shard *from = part->from;
    bool by_rows = plan->split < plan->concat;
    int first = by_rows ? plan->split : plan->concat;
    int second = by_rows ? plan->concat : plan->split;
    size_t rows = count_elements(from, first, second);
    size_t columns = count_elements(from, second, plan->ndim);
    size_t step = rows * columns * part->exchange->to->element;
    const char *in = from->data;
    char *out = part->to->data;
    jd_status status = JD_OK;
    for (size_t i = count_elements(from, 0, first); i > 0 && status == JD_OK;
         i--) {
        status = jd_all_to_all_2d(shard, AXIS, in, out, rows, columns, !by_rows,
                                  by_rows, part->exchange->to->dtype);
        in += i > 1 ? step : 0;
        out += i > 1 ? step : 0;
    }
    return status;
}

static jd_status gather_part(const struct jd_exchange_part *part,
                             jd_shard *shard)
{
    const struct jd_plan *plan = part->exchange->plan;
    const jd_array_shard *from = part->from;
    size_t rows = count_elements(from, 0, plan->concat);
    size_t count = count_elements(from, plan->concat, plan->ndim);
    return jd_all_gather_2d(shard, AXIS, from->data, part->to->data, rows,
                            count, part->exchange->to->dtype);
}

static jd_status permute_part(const struct jd_exchange_part *part,
                              jd_shard *shard)
{
    const struct jd_plan *plan = part->exchange->plan;
    return jd_ppermute(shard, AXIS, part->from->data, part->to->data,
                       part->to->count, part->exchange->to->dtype, plan->routes,
                       plan->num_routes);
}

/* ---- pieces ------------------------------------------------------------- */

/* One round of one device. */
struct exchange_round {
    const struct jd_exchange_part *part;
    struct jd_stream *stream; /* NULL: copies are done when they return */
    int number, rounds;
};

struct piece_place {
    int64_t begin, end; /* of the piece */
    int64_t at;         /* in the memory */
};

static struct piece_place find_place(const struct exchange_round *round,
                                     int64_t count, const struct jd_spot *spot)
{
    struct piece_place place;
    place.begin = jd__plan_share(count, round->number, round->rounds);
    place.end = jd__plan_share(count, round->number + 1, round->rounds);
    place.at = jd__plan_place(spot, place.begin, round->rounds);
    return place;
}

static jd_status pack_pieces(const struct exchange_round *round)
{
    const struct jd_exchange_part *part = round->part;
    jd_status status = JD_OK;
    if (!part->pack)
        return JD_OK;
    struct jd_box box = box_of(part, part->from);
    for (int i = 0; i < part->device->num_sent && status == JD_OK; i++) {
        const struct jd_piece *piece = &part->device->sent[i];
        struct piece_place place =
            find_place(round, piece->count, &piece->spot);
        char *to = (char *)part->pack + (size_t)place.at * box.element;
        status = jd__share_pack(to, &box, piece->index, place.begin, place.end,
                                round->stream);
    }
    return status;
}

static jd_status unpack_pieces(const struct exchange_round *round)
{
    const struct jd_exchange_part *part = round->part;
    jd_status status = JD_OK;
    if (!part->unpack)
        return JD_OK;
    struct jd_box box = box_of(part, part->to);
    for (int i = 0; i < part->device->num_receives && status == JD_OK; i++) {
        const struct jd_piece *piece = &part->device->receives[i];
        struct piece_place place =
            find_place(round, piece->count, &piece->spot);
        const char *from =
            (char *)part->unpack + (size_t)place.at * box.element;
        status = jd__share_unpack(&box, piece->index, place.begin, place.end,
                                  from, round->stream);
    }
    return status;
}

/* Who is not written to here has zeros, from the beginning. */
static void fill_lists(const struct exchange_round *round)
{
    const struct jd_exchange_part *part = round->part;
    const struct jd_plan_device *device = part->device;
    size_t members = (size_t)part->exchange->plan->num_members;
    int64_t *input_offsets = part->lists, *send_sizes = input_offsets + members;
    int64_t *output_offsets = send_sizes + members;
    int64_t *recv_sizes = output_offsets + members;
    for (int i = 0; i < device->num_sends; i++) {
        const struct jd_send *send = &device->sends[i];
        const struct jd_piece *piece = &device->sent[send->piece];
        struct piece_place in = find_place(round, piece->count, &piece->spot);
        struct piece_place out = find_place(round, piece->count, &send->spot);
        input_offsets[send->member] = in.at;
        send_sizes[send->member] = in.end - in.begin;
        output_offsets[send->member] = out.at;
    }
    for (int i = 0; i < device->num_receives; i++) {
        const struct jd_piece *piece = &device->receives[i];
        struct piece_place place =
            find_place(round, piece->count, &piece->spot);
        recv_sizes[piece->source] = place.end - place.begin;
    }
}

/* A block that is given on whole has no memory here, and gets nothing. */
static size_t rows_of(const void *packed, int64_t count,
                      const jd_array_shard *shard)
{
    return packed ? (size_t)count : data_of(shard) ? shard->count : 0;
}

static jd_status send_round(const struct exchange_round *round, jd_shard *shard)
{
    const struct jd_exchange_part *part = round->part;
    const struct jd_plan_device *device = part->device;
    int members = part->exchange->plan->num_members;
    size_t n = (size_t)members;
    const void *in = part->pack ? part->pack : data_of(part->from);
    void *out = part->unpack ? part->unpack : data_of(part->to);
    return jd_ragged_all_to_all(
        shard, AXIS, in, rows_of(part->pack, device->pack_count, part->from),
        out, rows_of(part->unpack, device->unpack_count, part->to), 1,
        part->lists, part->lists + n, part->lists + 2 * n, part->lists + 3 * n,
        members, part->exchange->to->dtype);
}

/* All of it is queued, in order, where the device has a stream. */
static jd_status exchange_pieces(const struct jd_exchange_part *part,
                                 jd_shard *shard)
{
    struct exchange_round round = { .part = part,
                                    .stream = shard->stream,
                                    .rounds = part->exchange->plan->rounds };
    jd_status status = copy_pieces(part, shard->stream);
    for (; round.number < round.rounds && status == JD_OK; round.number++) {
        status = pack_pieces(&round);
        fill_lists(&round);
        if (status == JD_OK)
            status = send_round(&round, shard);
        if (status == JD_OK)
            status = unpack_pieces(&round);
    }
    return status;
}

/* ---- each device's part ------------------------------------------------- */

static jd_status exchange_part(const struct jd_exchange_part *part,
                               jd_shard *shard)
{
    switch (part->exchange->plan->kind) {
    case JD_PLAN_SWAP:
        return swap_dimensions(part, shard);
    case JD_PLAN_GATHER:
        return gather_part(part, shard);
    case JD_PLAN_PERMUTE:
        return permute_part(part, shard);
    case JD_PLAN_EXCHANGE:
        return exchange_pieces(part, shard);
    default:
        return copy_pieces(part, shard->stream);
    }
}

/* Where all members refuse a call, they say so together and the mesh can go
 * on; a body that failed would end the job. */
static jd_status run_body(jd_shard *shard, void *arg)
{
    struct jd_exchange_part *part =
        (struct jd_exchange_part *)arg + (shard - shard->mesh->shards);
    jd_status status = exchange_part(part, shard);
    if (status == JD_OK)
        status = jd_shard_synchronize(shard);
    if (status != JD_INVALID_ARGUMENT && status != JD_RESOURCE_EXHAUSTED)
        return status;
    part->status = status;
    part->sentence = strdup(jd_error_message());
    return JD_OK;
}

/* The body is given parts[0], and finds its own by the shard's number. */
static jd_status run_on_mesh(const struct jd_exchange *exchange,
                             struct jd_exchange_part *parts)
{
    const struct jd_plan *plan = exchange->plan;
    jd_mesh *mesh;
    jd_status status =
        jd__mesh_cache_of_rows(exchange->operation, plan->members,
                               plan->num_members, plan->group_size, &mesh);
    if (status != JD_OK)
        return status;
    status = jd_shard_map(mesh, run_body, parts);
    if (status != JD_OK)
        return jd__fail_prefix(status, "%s: ", exchange->operation);
    for (int i = 0; i < plan->num_devices; i++)
        if (parts[i].status != JD_OK)
            return jd_fail(parts[i].status, "%s: %s", exchange->operation,
                           parts[i].sentence ? parts[i].sentence
                                             : "refused by all members");
    return JD_OK;
}

static jd_status run_here(const struct jd_plan *plan,
                          struct jd_exchange_part *parts)
{
    jd_status status = JD_OK;
    for (int i = 0; i < plan->num_devices && status == JD_OK; i++)
        status = copy_pieces(&parts[i], NULL);
    return status;
}

/* ---- memory ------------------------------------------------------------- */

static size_t bytes_of(const struct jd_exchange_part *part, int64_t count)
{
    return (size_t)count * part->exchange->to->element;
}

static jd_status take_cached(const struct jd_exchange_part *part, int64_t count,
                             void **ret_memory)
{
    const struct jd_plan *plan = part->exchange->plan;
    struct jd_block_cache_request request = {
        .world = part->exchange->to->sharding->world,
        .limit = part->exchange->cache_limit,
        .device = plan->members[part->device->member],
        .bytes = bytes_of(part, count),
    };
    jd_status status = jd__block_cache_take(&request, ret_memory);
    return status == JD_OK
               ? JD_OK
               : jd__fail_prefix(status, "%s: ", part->exchange->operation);
}

static jd_status take_memory(struct jd_exchange_part *part)
{
    const struct jd_plan *plan = part->exchange->plan;
    size_t members = (size_t)plan->num_members;
    jd_status status = JD_OK;
    if (plan->kind != JD_PLAN_EXCHANGE)
        return JD_OK;
    part->lists = calloc(4 * members, sizeof *part->lists);
    if (!part->lists)
        return jd__fail_no_memory(part->exchange->operation,
                                  4 * members * sizeof *part->lists);
    if (part->device->packs)
        status = take_cached(part, part->device->pack_count, &part->pack);
    if (status == JD_OK && part->device->unpacks)
        status = take_cached(part, part->device->unpack_count, &part->unpack);
    return status;
}

static void give_memory(struct jd_exchange_part *part)
{
    uint64_t world = part->exchange->to->sharding->world;
    const jd_device *device =
        part->exchange->plan->members[part->device->member];
    jd__block_cache_give(world, device,
                         bytes_of(part, part->device->pack_count), part->pack);
    jd__block_cache_give(world, device,
                         bytes_of(part, part->device->unpack_count),
                         part->unpack);
}

static jd_status prepare_parts(const struct jd_exchange *exchange,
                               struct jd_exchange_part *parts)
{
    const struct jd_plan *plan = exchange->plan;
    jd_status status = JD_OK;
    for (int i = 0; i < plan->num_devices && status == JD_OK; i++) {
        struct jd_exchange_part *part = &parts[i];
        const struct jd_plan_device *device = &plan->devices[i];
        part->exchange = exchange;
        part->device = device;
        if (device->from >= 0)
            part->from = &exchange->from->shards[device->from];
        if (device->to >= 0)
            part->to = &exchange->to->shards[device->to];
        status = take_memory(part);
    }
    return status;
}

void jd__exchange_close(const struct jd_exchange *exchange,
                        struct jd_exchange_part *parts)
{
    for (int i = 0; parts && i < exchange->plan->num_devices; i++) {
        if (parts[i].exchange)
            give_memory(&parts[i]);
        free(parts[i].lists);
        free(parts[i].sentence);
    }
    free(parts);
}

static bool needs_threads(const struct jd_exchange *exchange)
{
    size_t bytes = 0;
    for (int i = 0; i < exchange->to->num_shards; i++)
        bytes += exchange->to->shards[i].count * exchange->to->element;
    return exchange->plan->num_devices > 1 && bytes >= LEAST_THREAD_BYTES;
}

/* With no device here there is nothing to do. */
jd_status jd__exchange_open(const struct jd_exchange *exchange,
                            struct jd_exchange_part **ret_parts)
{
    size_t count = (size_t)exchange->plan->num_devices;
    struct jd_exchange_part *parts = calloc(count + 1, sizeof *parts);
    if (!parts)
        return jd__fail_no_memory(exchange->operation, count * sizeof *parts);
    jd_status status = prepare_parts(exchange, parts);
    if (status == JD_OK)
        *ret_parts = parts;
    else
        jd__exchange_close(exchange, parts);
    return status;
}

jd_status jd__exchange_run(const struct jd_exchange *exchange,
                           struct jd_exchange_part *parts)
{
    const struct jd_plan *plan = exchange->plan;
    if (plan->num_devices == 0)
        return JD_OK;
    return plan->kind == JD_PLAN_LOCAL && !needs_threads(exchange)
               ? run_here(plan, parts)
               : run_on_mesh(exchange, parts);
}
