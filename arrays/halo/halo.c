/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * halo.c - halos of blocks: a list of boxes that go to neighbours and come from
 * them, in one call of the platform's transfers.
 *
 * A direction says of each dimension before (-1), same (0) or behind (1). Who
 * sends in a direction sends its own elements at that side; who receives has
 * them in the halo at the other. What is sent is nobody's halo and what comes
 * is nothing else, so that all directions go at once, corners too. A message's
 * tag is its direction's number: where both neighbours are one member, each
 * finds its halo.
 */
#include "arrays/array/array.h"
#include "base/progress.h"
#include "collectives/api/checks.h"
#include "collectives/platform/device_memory.h"
#include "collectives/platform/transfer_pair.h"
#include "jd_halo.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OPERATION "jd_halo_exchange"

/* One dimension. */
struct halo_side {
    const jd_halo_dim *asked;
    int ways, index;   /* members along it, and the own place */
    bool moves;        /* there is a neighbour at one side at least */
    int64_t low, high; /* what goes along with the other dimensions */
};

/* Something that goes or comes. */
struct halo_piece {
    jd_range index[JD_MAX_NDIM];
    size_t count;
    size_t place; /* in the memory where it is packed, in elements */
    bool is_flat; /* the block has it in one piece */
};

/* One call. */
struct halo {
    jd_shard *shard;
    struct jd_collective call;
    struct halo_side sides[JD_MAX_NDIM];
    int ndim;
    bool corners;
    char axes[512]; /* those of all dimensions */
    struct jd_axis_comm *axis_comm;
    struct halo_piece *pieces; /* of each transfer */
    struct jd_transfer *transfers;
    int count, capacity;
    size_t packed; /* elements */
};

/* ---- sentences ----------------------------------------------------------- */

/* 'dims[0] (axis "y")' */
struct dim_text {
    char text[160];
};

static struct dim_text name_dim(int d, const jd_halo_dim *dim)
{
    struct dim_text named;
    int length = snprintf(named.text, sizeof named.text, "dims[%d]", d);
    if (dim->axis)
        snprintf(named.text + length, sizeof named.text - (size_t)length,
                 " (axis \"%.120s\")", dim->axis);
    return named;
}

/* ---- what was asked ------------------------------------------------------ */

static jd_status check_dim(int d, const jd_halo_dim *dim)
{
    if (dim->size >= 0 && dim->before >= 0 && dim->after >= 0 &&
        dim->before <= dim->size && dim->after <= dim->size - dim->before)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   OPERATION ": %s has size %" PRId64 ", before %" PRId64
                             " and after %" PRId64
                             "; none is negative, and size counts both halos",
                   name_dim(d, dim).text, dim->size, dim->before, dim->after);
}

/* The next member alone is a neighbour. */
static jd_status check_width(int d, const struct halo_side *side)
{
    const jd_halo_dim *dim = side->asked;
    int64_t own = dim->size - dim->before - dim->after;
    if (!side->moves || (dim->before <= own && dim->after <= own))
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   OPERATION ": %s has size %" PRId64 ", before %" PRId64
                             " and after %" PRId64 ", which leaves %" PRId64
                             " of its own; a halo comes from the next member "
                             "alone and is at most as wide as what that owns: "
                             "give larger blocks to fewer members",
                   name_dim(d, dim).text, dim->size, dim->before, dim->after,
                   own);
}

static jd_status add_axis(struct halo *halo, const char *axis)
{
    size_t used = strlen(halo->axes), room = sizeof halo->axes - used;
    int length =
        snprintf(halo->axes + used, room, "%s%s", used ? "," : "", axis);
    if (length >= 0 && (size_t)length < room)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   OPERATION ": the names of the axes have more than %zu "
                             "characters together",
                   sizeof halo->axes - 1);
}

static jd_status read_axis(struct halo *halo, struct halo_side *side)
{
    struct jd_axis_comm *along;
    if (!side->asked->axis)
        return JD_OK;
    jd_status status =
        jd__axis_comm_of(halo->shard, side->asked->axis, OPERATION, &along);
    if (status != JD_OK)
        return status;
    side->ways = along->size;
    side->index = along->index;
    return add_axis(halo, side->asked->axis);
}

static bool has_neighbour(const struct halo_side *side, int step)
{
    int at = side->index + step;
    return side->asked->periodic || (at >= 0 && at < side->ways);
}

static jd_status read_dim(struct halo *halo, int d, const jd_halo_dim *dim)
{
    struct halo_side *side = &halo->sides[d];
    *side = (struct halo_side){ .asked = dim, .ways = 1 };
    jd_status status = check_dim(d, dim);
    if (status == JD_OK)
        status = read_axis(halo, side);
    if (status != JD_OK)
        return status;
    side->moves = side->ways > 1 || dim->periodic;
    side->low = halo->corners && !has_neighbour(side, -1) ? 0 : dim->before;
    side->high =
        dim->size - (halo->corners && !has_neighbour(side, 1) ? 0 : dim->after);
    return check_width(d, side);
}

static jd_status check_ndim(int ndim, const jd_halo_dim *dims)
{
    if (ndim < 1 || ndim > JD_MAX_NDIM)
        return jd_fail(JD_INVALID_ARGUMENT,
                       OPERATION ": ndim is %d; it is 1 to %d", ndim,
                       JD_MAX_NDIM);
    if (!dims)
        return jd_fail(JD_INVALID_ARGUMENT,
                       OPERATION ": dims is NULL and ndim is %d", ndim);
    return JD_OK;
}

/* The block's elements; a product that no memory has is as good as the
 * greatest. */
static size_t count_block(const struct halo *halo)
{
    size_t count = 1;
    for (int d = 0; d < halo->ndim; d++) {
        size_t size = (size_t)halo->sides[d].asked->size;
        if (size == 0)
            return 0;
        count = count > SIZE_MAX / size ? SIZE_MAX : count * size;
    }
    return count;
}

static jd_status read_dims(struct halo *halo, int ndim, const jd_halo_dim *dims)
{
    jd_status status = check_ndim(ndim, dims);
    for (int d = 0; d < ndim && status == JD_OK; d++)
        status = read_dim(halo, d, &dims[d]);
    if (status != JD_OK)
        return status;
    halo->ndim = ndim;
    halo->call.count = count_block(halo);
    if (!halo->axes[0])
        return jd_fail(JD_INVALID_ARGUMENT,
                       OPERATION ": none of the dimensions has an axis; a "
                                 "halo comes from the neighbours along one");
    status = jd__checks_call(halo->shard, halo->axes, &halo->call, 1,
                             &halo->axis_comm);
    return status == JD_OK
               ? jd__checks_buffers(&halo->call,
                                    &(struct jd_buffers){ 0, halo->call.count,
                                                          JD_NO_PLACE, "" })
               : status;
}

/* ---- directions ---------------------------------------------------------- */

struct direction {
    int number;
    int steps[JD_MAX_NDIM];
};

/* By its number in base 3; false where nothing goes that way for anybody. */
static bool read_direction(const struct halo *halo, int number,
                           struct direction *ret_direction)
{
    static const int steps[] = { 0, -1, 1 };
    int sides = 0, rest = number;
    ret_direction->number = number;
    for (int d = 0; d < halo->ndim; d++, rest /= 3) {
        int step = steps[rest % 3];
        if (step && !halo->sides[d].moves)
            return false;
        ret_direction->steps[d] = step;
        sides += step != 0;
    }
    return sides == 1 || (sides > 1 && halo->corners);
}

/* Whom one comes to that way (or, with sign -1, the other way); -1: nobody. */
static int find_neighbour(const struct halo *halo,
                          const struct direction *direction, int sign)
{
    int member = 0;
    for (int d = 0; d < halo->ndim; d++) {
        const struct halo_side *side = &halo->sides[d];
        int step = sign * direction->steps[d];
        if (step && !has_neighbour(side, step))
            return -1;
        member = member * side->ways +
                 (side->index + step + side->ways) % side->ways;
    }
    return member;
}

/* The own elements that go that way, or the halo that they come to. */
static jd_range range_of(const struct halo_side *side, int step, bool sends)
{
    const jd_halo_dim *dim = side->asked;
    int64_t end = dim->size - dim->after;
    if (step == 0)
        return (jd_range){ side->low, side->high };
    if (step > 0)
        return sends ? (jd_range){ end - dim->before, end }
                     : (jd_range){ 0, dim->before };
    return sends ? (jd_range){ dim->before, dim->before + dim->after }
                 : (jd_range){ end, dim->size };
}

/* ---- what two ends compare ------------------------------------------------
 * How long a piece is in each dimension: as many bits of that as there is room
 * for, behind ndim and corners.
 */

enum { NDIM_BITS = 4, HEAD_BITS = NDIM_BITS + 1 };

static int bits_of(int ndim)
{
    return (64 - HEAD_BITS) / ndim;
}

static uint64_t describe_piece(const struct halo *halo,
                               const struct halo_piece *piece)
{
    int bits = bits_of(halo->ndim);
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    uint64_t said = (uint64_t)halo->ndim | (uint64_t)halo->corners << NDIM_BITS;
    for (int d = 0; d < halo->ndim; d++) {
        uint64_t length = (uint64_t)jd__box_count(&piece->index[d], 1);
        said |= (length & mask) << (HEAD_BITS + d * bits);
    }
    return said;
}

static uint64_t length_of(uint64_t said, int d)
{
    int bits = bits_of((int)(said & ((1 << NDIM_BITS) - 1)));
    return said >> (HEAD_BITS + d * bits) & ((UINT64_C(1) << bits) - 1);
}

/* The dimension's number in base 3 is its step: see read_direction(). */
static const char *name_length(int32_t direction, int d)
{
    static const char *const names[] = { "elements along the faces", "after",
                                         "before" };
    while (d-- > 0)
        direction /= 3;
    return names[direction % 3];
}

/* What differs in calls of as many dimensions. */
static void explain_lengths(const struct jd_transfer_pair *pair, char *text,
                            size_t size)
{
    const struct halo *halo = pair->own->context;
    uint64_t own = pair->own->call.rest, theirs = pair->rest;
    int d = 0;
    while (d < halo->ndim - 1 && length_of(own, d) == length_of(theirs, d))
        d++;
    snprintf(text, size,
             "%s has %" PRIu64 " %s on process %d, and %" PRIu64
             " on process %d; all members along the axes have the same halos, "
             "and the same sizes but for a dimension's own axis",
             name_dim(d, halo->sides[d].asked).text, length_of(own, d),
             name_length(pair->own->tag, d), pair->process,
             length_of(theirs, d), pair->other);
}

static void explain_piece(const struct jd_transfer_pair *pair, char *text,
                          size_t size)
{
    static const uint64_t ndim = (1 << NDIM_BITS) - 1, corners = 1 << NDIM_BITS;
    uint64_t own = pair->own->call.rest, theirs = pair->rest;
    if (!theirs)
        snprintf(text, size, "process %d calls no " OPERATION "() there",
                 pair->other);
    else if ((own & ndim) != (theirs & ndim))
        snprintf(text, size,
                 "ndim is %d on process %d, and %d on process %d; all members "
                 "along the axes have the same",
                 (int)(own & ndim), pair->process, (int)(theirs & ndim),
                 pair->other);
    else if ((own & corners) != (theirs & corners))
        snprintf(text, size,
                 "corners is %d on process %d, and %d on process %d; all "
                 "members along the axes have the same",
                 (own & corners) != 0, pair->process, (theirs & corners) != 0,
                 pair->other);
    else
        explain_lengths(pair, text, size);
}

/* ---- pieces -------------------------------------------------------------- */

static bool is_flat(const struct halo *halo, const jd_range *index)
{
    bool is_part = false;
    for (int d = halo->ndim - 1; d >= 0; d--) {
        int64_t length = index[d].end - index[d].begin;
        if (is_part && length != 1)
            return false;
        is_part = is_part || length != halo->sides[d].asked->size;
    }
    return true;
}

static jd_status grow_lists(struct halo *halo)
{
    int capacity = halo->capacity ? 2 * halo->capacity : 16;
    size_t n = (size_t)capacity;
    void *pieces = realloc(halo->pieces, n * sizeof *halo->pieces);
    if (pieces)
        halo->pieces = pieces;
    void *transfers = realloc(halo->transfers, n * sizeof *halo->transfers);
    if (transfers)
        halo->transfers = transfers;
    if (!pieces || !transfers)
        return jd__fail_no_memory(OPERATION, n * sizeof *halo->pieces);
    halo->capacity = capacity;
    return JD_OK;
}

static jd_status add_piece(struct halo *halo, const struct direction *direction,
                           bool sends)
{
    int member = find_neighbour(halo, direction, sends ? 1 : -1);
    struct halo_piece piece;
    if (member < 0)
        return JD_OK;
    for (int d = 0; d < halo->ndim; d++)
        piece.index[d] = range_of(&halo->sides[d], direction->steps[d], sends);
    piece.count = (size_t)jd__box_count(piece.index, halo->ndim);
    jd_status status = halo->count == halo->capacity ? grow_lists(halo) : JD_OK;
    if (status != JD_OK || piece.count == 0)
        return status;
    piece.is_flat = is_flat(halo, piece.index);
    piece.place = halo->packed;
    halo->packed += piece.is_flat ? 0 : piece.count;
    halo->transfers[halo->count] = (struct jd_transfer){
        .member = member,
        .sends = sends,
        .tag = direction->number,
        .number = halo->count,
        .whole = halo->call.activity,
        .call = halo->call,
        .explain = explain_piece,
        .context = halo,
    };
    struct jd_collective *call = &halo->transfers[halo->count].call;
    call->count = piece.count;
    call->rest = describe_piece(halo, &piece);
    call->activity = sends ? JD_ACTIVITY_SEND : JD_ACTIVITY_RECV;
    halo->pieces[halo->count++] = piece;
    return JD_OK;
}

static jd_status list_pieces(struct halo *halo)
{
    struct direction direction;
    jd_status status = JD_OK;
    int directions = 1;
    for (int d = 0; d < halo->ndim; d++)
        directions *= 3;
    for (int i = 1; i < directions && status == JD_OK; i++) {
        if (!read_direction(halo, i, &direction))
            continue;
        status = add_piece(halo, &direction, true);
        if (status == JD_OK)
            status = add_piece(halo, &direction, false);
    }
    return status;
}

/* ---- memory -------------------------------------------------------------- */

/* The shard's, which grows. */
static jd_status take_memory(const struct halo *halo)
{
    struct jd_shard *shard = halo->shard;
    size_t bytes = halo->packed * jd_dtype_size(halo->call.dtype);
    void *larger;
    if (bytes <= shard->halo_bytes)
        return JD_OK;
    jd_status status = jd_device_alloc(jd_shard_device(shard), bytes, &larger);
    if (status != JD_OK)
        return jd__fail_prefix(status, OPERATION ": ");
    jd_device_free(shard->halo_memory);
    shard->halo_memory = larger;
    shard->halo_bytes = bytes;
    return JD_OK;
}

static char *data_of(const struct halo *halo, int i)
{
    const struct halo_piece *piece = &halo->pieces[i];
    size_t element = jd_dtype_size(halo->call.dtype), at = 0;
    if (!piece->is_flat)
        return (char *)halo->shard->halo_memory + piece->place * element;
    for (int d = 0; d < halo->ndim; d++)
        at = at * (size_t)halo->sides[d].asked->size +
             (size_t)piece->index[d].begin;
    return (char *)halo->call.out + at * element;
}

static void set_data(const struct halo *halo)
{
    for (int i = 0; i < halo->count; i++) {
        struct jd_transfer *transfer = &halo->transfers[i];
        char *data = data_of(halo, i);
        transfer->call.in = transfer->sends ? data : NULL;
        transfer->call.out = transfer->sends ? NULL : data;
    }
}

/* Packs what is sent, or unpacks what has come; on the shard's stream where it
 * has one. */
static jd_status copy_pieces(const struct halo *halo, bool sends)
{
    size_t element = jd_dtype_size(halo->call.dtype);
    jd_range all[JD_MAX_NDIM];
    jd_status status = JD_OK;
    for (int d = 0; d < halo->ndim; d++)
        all[d] = (jd_range){ 0, halo->sides[d].asked->size };
    const struct jd_box block = { halo->call.out, all, halo->ndim, element };
    for (int i = 0; i < halo->count && status == JD_OK; i++) {
        const struct halo_piece *piece = &halo->pieces[i];
        if (piece->is_flat || halo->transfers[i].sends != sends)
            continue;
        const struct jd_box packed = { data_of(halo, i), piece->index,
                                       halo->ndim, element };
        status =
            jd__box_queue(sends ? &packed : &block, sends ? &block : &packed,
                          piece->index, halo->shard->stream);
    }
    return status;
}

/* ---- moving -------------------------------------------------------------- */

static jd_status transfer_pieces(const struct halo *halo)
{
    const struct jd_platform *platform = halo->shard->mesh->platform;
    jd_status status = jd__axis_comm_enter(halo->axis_comm, &halo->call,
                                           (uint64_t)halo->count);
    if (status != JD_OK)
        return status;
    if (halo->count)
        status = platform->transfer(jd__axis_comm_handle(halo->axis_comm),
                                    halo->transfers, halo->count);
    return jd__axis_comm_leave(halo->axis_comm, halo->call.activity, status);
}

static jd_status exchange_halos(const struct halo *halo)
{
    jd_status status = copy_pieces(halo, true);
    if (status == JD_OK)
        status = transfer_pieces(halo);
    if (status == JD_OK)
        status = copy_pieces(halo, false);
    return status == JD_OK ? jd__platform_await(halo->shard->mesh->platform,
                                                halo->shard->stream, OPERATION)
                           : status;
}

jd_status jd_halo_exchange(jd_shard *shard, void *block, jd_dtype dtype,
                           int ndim, const jd_halo_dim *dims, int corners)
{
    JD_NOTE_CALLER();
    struct halo halo = { .shard = shard,
                         .call = { .activity = JD_ACTIVITY_HALO_EXCHANGE,
                                   .out = block,
                                   .dtype = dtype },
                         .corners = corners != 0 };
    if (!shard)
        return jd__shard_fail_null(OPERATION);
    jd_status status = jd__mesh_check_world(shard->mesh, OPERATION);
    if (status == JD_OK)
        status = read_dims(&halo, ndim, dims);
    if (status == JD_OK)
        status = list_pieces(&halo);
    if (status == JD_OK)
        status = take_memory(&halo);
    if (status == JD_OK) {
        set_data(&halo);
        status = exchange_halos(&halo);
    }
    free(halo.pieces);
    free(halo.transfers);
    return status;
}
