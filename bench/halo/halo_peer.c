/* SPDX-License-Identifier: BSD-3-Clause */
/* halo_peer.c - what a user writes with MPI for the halos of a block. */
#include "bench/halo/halo.h"

#include <stdlib.h>

enum { MOST = 2 * JD_MAX_NDIM };

struct halo_peer {
    MPI_Comm comm;
    int faces;
    int counts[MOST];
    MPI_Aint places[MOST];
    MPI_Datatype sent[MOST], received[MOST]; /* of each face */
};

/* Of dimension d the part of the halo's width from start on, of others what is
 * the member's own. */
static MPI_Datatype make_face(const struct halo_request *r,
                              MPI_Datatype element, int d, int64_t start)
{
    int sizes[JD_MAX_NDIM], parts[JD_MAX_NDIM], starts[JD_MAX_NDIM];
    MPI_Datatype face;
    for (int i = 0; i < r->ndim; i++) {
        sizes[i] = (int)(r->own[i] + 2 * r->width);
        parts[i] = (int)(i == d ? r->width : r->own[i]);
        starts[i] = (int)(i == d ? start : r->width);
    }
    MPI_Type_create_subarray(r->ndim, sizes, parts, starts, MPI_ORDER_C,
                             element, &face);
    MPI_Type_commit(&face);
    return face;
}

/* MPI's order: of each dimension the neighbour before, then that behind. */
static void make_faces(struct halo_peer *peer, const struct halo_request *r)
{
    MPI_Datatype element;
    MPI_Type_contiguous((int)jd_dtype_size(r->dtype), MPI_BYTE, &element);
    for (int d = 0; d < r->ndim; d++) {
        int64_t end = r->own[d] + r->width;
        peer->sent[2 * d] = make_face(r, element, d, r->width);
        peer->sent[2 * d + 1] = make_face(r, element, d, end - r->width);
        peer->received[2 * d] = make_face(r, element, d, 0);
        peer->received[2 * d + 1] = make_face(r, element, d, end);
    }
    MPI_Type_free(&element);
}

struct halo_peer *halo_peer_create(const struct halo_request *r, MPI_Comm comm,
                                   struct halo_place *ret_place)
{
    struct halo_peer *peer = calloc(1, sizeof *peer);
    int periods[JD_MAX_NDIM], size, rank;
    if (!peer)
        abort();
    MPI_Comm_size(comm, &size);
    *ret_place = (struct halo_place){ .counts = { 0 } };
    MPI_Dims_create(size, r->ndim, ret_place->counts);
    for (int d = 0; d < r->ndim; d++)
        periods[d] = r->is_periodic;
    MPI_Cart_create(comm, r->ndim, ret_place->counts, periods, 0, &peer->comm);
    MPI_Comm_rank(peer->comm, &rank);
    MPI_Cart_coords(peer->comm, rank, r->ndim, ret_place->coords);
    peer->faces = 2 * r->ndim;
    for (int i = 0; i < peer->faces; i++)
        peer->counts[i] = 1;
    make_faces(peer, r);
    return peer;
}

void halo_peer_call(struct halo_peer *peer, void *block)
{
    MPI_Neighbor_alltoallw(block, peer->counts, peer->places, peer->sent, block,
                           peer->counts, peer->places, peer->received,
                           peer->comm);
}

void halo_peer_destroy(struct halo_peer *peer)
{
    for (int i = 0; i < peer->faces; i++) {
        MPI_Type_free(&peer->sent[i]);
        MPI_Type_free(&peer->received[i]);
    }
    MPI_Comm_free(&peer->comm);
    free(peer);
}
