/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reshard_peers.c - what a user writes without jd: an all-to-all with
 * packing, or an all-gather of the whole and a slice of it.
 */
#include "arrays/array/array.h"
#include "bench/reshard/reshard.h"
#include "jd_device.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reshard_peer {
    const struct reshard_request *request;
    enum reshard_side side;
    MPI_Comm comm;
    int rank, size;
    size_t element;
    MPI_Datatype type; /* of an element */
    struct reshard_blocks in, out;
    int *send_counts, *send_offsets; /* by rank, in elements */
    int *counts, *offsets;
    char *packed;
    bool is_to_columns; /* all-to-all */
    /* All-gather. */
    bool is_direct; /* what is gathered is the whole, in order */
    char *whole;
    int num_pieces;
    struct piece *pieces; /* in the order of what is gathered */
};

/* A block that somebody gives. */
struct piece {
    const jd_device *device;
    jd_range index[JD_MAX_NDIM];
    size_t begin, count; /* in what is gathered */
};

/* Zeroed, in whole pages. */
static void *allocate(size_t bytes)
{
    enum { PAGE = 4096 };
    size_t whole = (bytes / PAGE + 1) * PAGE;
    void *memory = aligned_alloc(PAGE, whole);
    if (!memory) {
        fprintf(stderr, "jd-bench: no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
        abort();
    }
    return memset(memory, 0, whole);
}

/* ---- blocks ------------------------------------------------------------- */

void reshard_blocks_create(struct reshard_blocks *blocks, const jd_array *alike)
{
    size_t element = jd_dtype_size(jd_array_dtype(alike));
    const jd_array_shard *shards = jd_array_shards(alike, &blocks->count);
    blocks->shards = allocate((size_t)blocks->count * sizeof *shards);
    for (int i = 0; i < blocks->count; i++)
        blocks->shards[i] = shards[i];
    blocks->data = allocate((size_t)blocks->count * sizeof *blocks->data);
    for (int i = 0; i < blocks->count; i++)
        blocks->data[i] = allocate(blocks->shards[i].count * element);
}

void reshard_blocks_free(struct reshard_blocks *blocks)
{
    for (int i = 0; blocks->data && i < blocks->count; i++)
        free(blocks->data[i]);
    free(blocks->data);
    free(blocks->shards);
}

static MPI_Datatype type_of(size_t element)
{
    return element == 1   ? MPI_UINT8_T
           : element == 2 ? MPI_UINT16_T
           : element == 4 ? MPI_UINT32_T
           : element == 8 ? MPI_UINT64_T
                          : MPI_C_DOUBLE_COMPLEX;
}

static struct reshard_peer *create(const struct reshard_request *request,
                                   enum reshard_side side, MPI_Comm comm,
                                   const jd_array *from, const jd_array *to)
{
    struct reshard_peer *peer = allocate(sizeof *peer);
    int *ints;
    peer->request = request;
    peer->side = side;
    peer->comm = comm;
    peer->element = jd_dtype_size(request->whole.dtype);
    peer->type = type_of(peer->element);
    MPI_Comm_rank(comm, &peer->rank);
    MPI_Comm_size(comm, &peer->size);
    reshard_blocks_create(&peer->in, from);
    reshard_blocks_create(&peer->out, to);
    ints = allocate(4 * (size_t)peer->size * sizeof *ints);
    peer->send_counts = ints;
    peer->send_offsets = ints + peer->size;
    peer->counts = ints + 2 * peer->size;
    peer->offsets = ints + 3 * peer->size;
    return peer;
}

/* ---- the all-to-all ----------------------------------------------------- */

/* Where block i of ceil(n / ways) begins. */
static int64_t begin_of(int64_t n, int ways, int i)
{
    int64_t begin = (n + ways - 1) / ways * i;
    return begin < n ? begin : n;
}

static int64_t length_of(int64_t n, int ways, int i)
{
    return begin_of(n, ways, i + 1) - begin_of(n, ways, i);
}

static bool is_known(const struct reshard_peer *peer, const jd_array *from,
                     const jd_array *to)
{
    const struct reshard_request *r = peer->request;
    const char *a = jd_sharding_spec(jd_array_sharding(from));
    const char *b = jd_sharding_spec(jd_array_sharding(to));
    const char *axis = r->mesh.names[0];
    char columns[RESHARD_NAME + 2];
    snprintf(columns, sizeof columns, "-,%s", axis);
    return r->whole.ndim == 2 && r->mesh.num_axes == 1 &&
           jd_device_count() == peer->size && peer->in.count == 1 &&
           ((strcmp(a, axis) == 0 && strcmp(b, columns) == 0) ||
            (strcmp(b, axis) == 0 && strcmp(a, columns) == 0));
}

/* What goes to and comes from each rank: the elements of the rows of one that
 * are in the columns of the other. */
static void count_exchange(struct reshard_peer *peer)
{
    const int64_t *shape = peer->request->whole.shape;
    int ways = peer->size, me = peer->rank;
    int sent = 0, received = 0;
    for (int i = 0; i < ways; i++) {
        int64_t my_rows =
            length_of(shape[0], ways, me) * length_of(shape[1], ways, i);
        int64_t my_columns =
            length_of(shape[1], ways, me) * length_of(shape[0], ways, i);
        peer->send_counts[i] =
            (int)(peer->is_to_columns ? my_rows : my_columns);
        peer->counts[i] = (int)(peer->is_to_columns ? my_columns : my_rows);
        peer->send_offsets[i] = sent;
        peer->offsets[i] = received;
        sent += peer->send_counts[i];
        received += peer->counts[i];
    }
}

/* Between a block of rows and pieces of columns that follow each other. */
static void pack(const struct reshard_peer *peer, char *rows, bool unpacks)
{
    const int64_t *shape = peer->request->whole.shape;
    size_t width = (size_t)shape[1] * peer->element;
    int64_t height = length_of(shape[0], peer->size, peer->rank);
    char *at = peer->packed;
    for (int i = 0; i < peer->size; i++) {
        size_t part =
            (size_t)length_of(shape[1], peer->size, i) * peer->element;
        char *row =
            rows + (size_t)begin_of(shape[1], peer->size, i) * peer->element;
        for (int64_t j = 0; j < height; j++, row += width, at += part)
            memcpy(unpacks ? row : at, unpacks ? at : row, part);
    }
}

/* Of rows, the pieces are strided; of columns, they are in place already. */
static void call_alltoallv(struct reshard_peer *peer)
{
    bool to_columns = peer->is_to_columns;
    char *in = peer->in.data[0], *out = peer->out.data[0];
    if (to_columns)
        pack(peer, in, false);
    MPI_Alltoallv(to_columns ? peer->packed : in, peer->send_counts,
                  peer->send_offsets, peer->type,
                  to_columns ? out : peer->packed, peer->counts, peer->offsets,
                  peer->type, peer->comm);
    if (!to_columns)
        pack(peer, out, true);
}

static bool prepare_alltoallv(struct reshard_peer *peer, const jd_array *from,
                              const jd_array *to)
{
    if (!is_known(peer, from, to))
        return false;
    const jd_array *rows;
    peer->is_to_columns = jd_sharding_spec(jd_array_sharding(from))[0] != '-';
    rows = peer->is_to_columns ? from : to;
    count_exchange(peer);
    peer->packed =
        allocate(jd_array_shards(rows, NULL)[0].count * peer->element);
    return true;
}

/* ---- the all-gather ----------------------------------------------------- */

static bool is_first_replica(const struct reshard_peer *peer,
                             const jd_sharding *from, const jd_device *device,
                             struct piece *piece)
{
    const struct bench_whole *whole = &peer->request->whole;
    int replica;
    JD_CHECK(jd_sharding_index(from, whole->ndim, whole->shape, device,
                               piece->index, &replica));
    piece->device = device;
    piece->count = (size_t)jd__box_count(piece->index, whole->ndim);
    return replica == 0;
}

/* The first replica of each block, by the process that has it. */
static void list_pieces(struct reshard_peer *peer, const jd_sharding *from)
{
    int num_devices;
    const jd_device *const *devices = jd_devices(&num_devices);
    size_t at = 0;
    peer->pieces = allocate((size_t)num_devices * sizeof *peer->pieces);
    for (int i = 0; i < num_devices; i++) {
        struct piece *piece = &peer->pieces[peer->num_pieces];
        if (!is_first_replica(peer, from, devices[i], piece))
            continue;
        piece->begin = at;
        at += piece->count;
        peer->counts[piece->device->process_index] += (int)piece->count;
        peer->num_pieces++;
    }
    for (int i = 1; i < peer->size; i++)
        peer->offsets[i] = peer->offsets[i - 1] + peer->counts[i - 1];
}

/* Whether all pieces are whole rows, one after the other. */
static bool is_in_order(const struct reshard_peer *peer)
{
    const struct bench_whole *whole = &peer->request->whole;
    for (int i = 0; i < peer->num_pieces; i++) {
        const struct piece *piece = &peer->pieces[i];
        size_t row = 1;
        for (int d = 1; d < whole->ndim; d++) {
            row *= (size_t)whole->shape[d];
            if (piece->index[d].end - piece->index[d].begin != whole->shape[d])
                return false;
        }
        if (whole->ndim > 0 && piece->count &&
            (size_t)piece->index[0].begin * row != piece->begin)
            return false;
    }
    return true;
}

static void prepare_allgather(struct reshard_peer *peer, const jd_array *from)
{
    size_t bytes = bench_whole_bytes(&peer->request->whole);
    list_pieces(peer, jd_array_sharding(from));
    peer->is_direct = is_in_order(peer);
    peer->whole = allocate(bytes);
    peer->packed = peer->is_direct ? peer->whole : allocate(bytes);
}

/* What this process gives: its block where it is one, else all behind each
 * other in what is gathered. */
static const void *own_pieces(struct reshard_peer *peer)
{
    if (peer->in.count == 1)
        return peer->in.data[0];
    for (int i = 0; i < peer->num_pieces; i++) {
        const struct piece *piece = &peer->pieces[i];
        for (int j = 0; j < peer->in.count; j++)
            if (peer->in.shards[j].device == piece->device)
                memcpy(peer->packed + piece->begin * peer->element,
                       peer->in.data[j], piece->count * peer->element);
    }
    return MPI_IN_PLACE;
}

static void copy(const struct reshard_peer *peer, char *to,
                 const jd_range *to_index, char *from,
                 const jd_range *from_index, const jd_range *index)
{
    int ndim = peer->request->whole.ndim;
    jd__box_copy(&(struct jd_box){ to, to_index, ndim, peer->element },
                 &(struct jd_box){ from, from_index, ndim, peer->element },
                 index);
}

static void call_allgather(struct reshard_peer *peer)
{
    const struct bench_whole *whole = &peer->request->whole;
    jd_range all[JD_MAX_NDIM];
    for (int d = 0; d < whole->ndim; d++)
        all[d] = (jd_range){ 0, whole->shape[d] };
    MPI_Allgatherv(own_pieces(peer), peer->counts[peer->rank], peer->type,
                   peer->packed, peer->counts, peer->offsets, peer->type,
                   peer->comm);
    for (int i = 0; i < peer->num_pieces && !peer->is_direct; i++) {
        const struct piece *piece = &peer->pieces[i];
        copy(peer, peer->whole, all,
             peer->packed + piece->begin * peer->element, piece->index,
             piece->index);
    }
    for (int i = 0; i < peer->out.count; i++) {
        const jd_range *index = peer->out.shards[i].index;
        copy(peer, peer->out.data[i], index, peer->whole, all, index);
    }
}

/* ---- both --------------------------------------------------------------- */

struct reshard_peer *reshard_peer_create(const struct reshard_request *request,
                                         enum reshard_side side, MPI_Comm comm,
                                         const jd_array *from,
                                         const jd_array *to)
{
    struct reshard_peer *peer = create(request, side, comm, from, to);
    if (side == RESHARD_ALLGATHER) {
        prepare_allgather(peer, from);
        return peer;
    }
    if (prepare_alltoallv(peer, from, to))
        return peer;
    reshard_peer_destroy(peer);
    return NULL;
}

void reshard_peer_call(struct reshard_peer *peer)
{
    if (peer->side == RESHARD_ALLTOALLV)
        call_alltoallv(peer);
    else
        call_allgather(peer);
}

struct reshard_blocks *reshard_peer_in(struct reshard_peer *peer)
{
    return &peer->in;
}

struct reshard_blocks *reshard_peer_out(struct reshard_peer *peer)
{
    return &peer->out;
}

void reshard_peer_destroy(struct reshard_peer *peer)
{
    if (!peer)
        return;
    reshard_blocks_free(&peer->in);
    reshard_blocks_free(&peer->out);
    if (peer->packed != peer->whole)
        free(peer->packed);
    free(peer->whole);
    free(peer->pieces);
    free(peer->send_counts);
    free(peer);
}
