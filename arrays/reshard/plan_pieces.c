/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_pieces.c - what each device of this process sends, receives, and
 * copies from others of this process.
 */
#include "arrays/array/array.h"
#include "arrays/reshard/plan_private.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* ---- grids ----------------------------------------------------------------
 * The blocks of one side that meet a block of the other are a box of blocks.
 */

/* Whether all pieces are elements that follow each other in the block: where
 * they are cut along one dimension, those before it have a single one. */
static bool has_gaps(const struct jd_plan_grid *grid,
                     const struct jd_plan_side *other, int ndim)
{
    int last = ndim - 1;
    while (last >= 0 && grid->span[last] == 1)
        last--;
    for (int d = 0; d < last; d++)
        if (grid->box[d].end - grid->box[d].begin > 1 && other->size[d] > 1)
            return true;
    return false;
}

/* The block of the side at those coordinates; nothing where it is empty. */
static void make_grid(const struct jd_planning *p,
                      const struct jd_plan_side *side, const int *at,
                      struct jd_plan_grid *ret_grid)
{
    const struct jd_plan_side *other = side == &p->from ? &p->to : &p->from;
    struct jd_plan_grid *grid = ret_grid;
    int ndim = p->spec->ndim;
    jd__plan_box(p, side, at, grid->box);
    grid->count = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        grid->steps[d] = grid->count;
        grid->count *= grid->box[d].end - grid->box[d].begin;
    }
    for (int d = 0; d < ndim && grid->count; d++) {
        int64_t size = other->size[d];
        grid->first[d] = (int)(grid->box[d].begin / size);
        grid->span[d] =
            (int)((grid->box[d].end - 1) / size) + 1 - grid->first[d];
    }
    bool always = p->spec->packs && side == &p->from;
    grid->is_packed = grid->count && (always || has_gaps(grid, other, ndim));
}

/* The block that a device has. */
static void meet_at(const struct jd_planning *p,
                    const struct jd_plan_side *side, int place,
                    struct jd_plan_grid *ret_grid)
{
    int at[JD_MAX_NDIM];
    jd__plan_coordinates(side, p->spec->ndim, side->sharding->blocks[place],
                         at);
    make_grid(p, side, at, ret_grid);
}

static int64_t count_pieces(const struct jd_plan_grid *grid, int ndim)
{
    int64_t count = grid->count ? 1 : 0;
    for (int d = 0; d < ndim && grid->count; d++)
        count *= grid->span[d];
    return count;
}

/* The other side's block at a place of the grid: its number before it. */
static int64_t number_in_grid(const struct jd_plan_grid *grid, int ndim,
                              const int *at)
{
    int64_t number = 0;
    for (int d = 0; d < ndim; d++)
        number = number * grid->span[d] + (at[d] - grid->first[d]);
    return number;
}

/* Steps on to the next of the grid's blocks; false after the last one. */
static bool step_on(const struct jd_plan_grid *grid, int ndim, int *at)
{
    for (int d = ndim - 1; d >= 0; d--) {
        if (++at[d] < grid->first[d] + grid->span[d])
            return true;
        at[d] = grid->first[d];
    }
    return false;
}

/* The piece that the other side's block at a place has of the grid's: packed
 * ones lie behind each other, row-major. */
static struct jd_spot find_spot(const struct jd_plan_grid *grid, int ndim,
                                const jd_range *index, const int *at)
{
    struct jd_spot spot = { .is_packed = grid->is_packed };
    int64_t before = 1;
    for (int d = 0; d < ndim; d++) {
        spot.at +=
            before * (index[d].begin - grid->box[d].begin) * grid->steps[d];
        if (spot.is_packed)
            before *= index[d].end - index[d].begin;
    }
    spot.number = number_in_grid(grid, ndim, at);
    return spot;
}

/* What the grid's block and the other side's at a place have in common. */
static void share_piece(const struct jd_planning *p,
                        const struct jd_plan_side *other,
                        const struct jd_plan_grid *grid, const int *at,
                        jd_range *index, struct jd_piece *ret_piece)
{
    int ndim = p->spec->ndim;
    jd_range box[JD_MAX_NDIM];
    jd__plan_box(p, other, at, box);
    jd__box_intersect(grid->box, box, ndim, index);
    ret_piece->index = index;
    ret_piece->count = jd__box_count(index, ndim);
    ret_piece->spot = find_spot(grid, ndim, index, at);
    ret_piece->source = -1;
}

/* ---- what a device gets ------------------------------------------------- */

static const jd_device *device_of(const struct jd_planning *p, int member)
{
    return p->members[member].device;
}

static bool is_own(const struct jd_planning *p, int member)
{
    return device_of(p, member)->process_index == p->spec->process;
}

/* The number of a place among this process's. */
static int shard_of(const jd_sharding *sharding, int place)
{
    for (int i = 0; i < sharding->num_local; i++)
        if (sharding->local[i] == place)
            return i;
    return -1;
}

/* How many get something of the block of from before the one at a place of to
 * does. */
static int64_t rank_of(const struct jd_planning *p, const int *block, int place)
{
    const jd_sharding *to = p->to.sharding;
    struct jd_plan_grid grid;
    int at[JD_MAX_NDIM], ndim = p->spec->ndim;
    if (p->from.replicas == 1)
        return 0;
    make_grid(p, &p->from, block, &grid);
    jd__plan_coordinates(&p->to, ndim, to->blocks[place], at);
    return number_in_grid(&grid, ndim, at) * p->to.replicas +
           to->replica_ids[place];
}

static jd_status make_room(const struct jd_planning *p, size_t pieces,
                           struct jd_piece **ret_pieces, jd_range **ret_ranges)
{
    size_t ranges = pieces * (size_t)p->spec->ndim + 1;
    *ret_pieces = malloc(pieces * sizeof **ret_pieces);
    *ret_ranges = malloc(ranges * sizeof **ret_ranges);
    if (*ret_pieces && *ret_ranges)
        return JD_OK;
    return jd__fail_no_memory(p->spec->operation,
                              pieces * sizeof **ret_pieces +
                                  ranges * sizeof **ret_ranges);
}

/* What a round takes, where it is packed: see jd__plan_place. */
static int64_t memory_of(const struct jd_planning *p,
                         const struct jd_plan_grid *grid, int64_t pieces)
{
    int rounds = p->plan->rounds;
    return grid->count / rounds + (rounds > 1 ? pieces : 0);
}

/* Receives are at the begin of their memory, copies at its end. */
static void add_received(struct jd_planning *p, struct jd_plan_device *device,
                         const struct jd_piece *piece, int source)
{
    if (!is_own(p, source)) {
        device->receives[device->num_receives] = *piece;
        device->receives[device->num_receives++].source = source;
        return;
    }
    device->num_copies++;
    *--device->copies = *piece;
    device->copies->source =
        shard_of(p->from.sharding, p->members[source].from);
}

static jd_status list_received(struct jd_planning *p,
                               struct jd_plan_device *device, int member)
{
    int place = p->members[member].to, ndim = p->spec->ndim;
    struct jd_plan_grid grid;
    struct jd_piece piece;
    int at[JD_MAX_NDIM];
    meet_at(p, &p->to, place, &grid);
    size_t most = (size_t)count_pieces(&grid, ndim);
    if (most == 0)
        return JD_OK;
    jd_status status =
        make_room(p, most, &device->receives, &device->received_ranges);
    if (status != JD_OK)
        return status;
    jd_range *index = device->received_ranges;
    device->copies = device->receives + most;
    memcpy(at, grid.first, sizeof at);
    do {
        int block = jd__plan_block(&p->from, ndim, at);
        int64_t rank = rank_of(p, at, place);
        share_piece(p, &p->from, &grid, at, index, &piece);
        add_received(p, device, &piece,
                     jd__plan_choose(p, block, member, rank));
        index += ndim;
    } while (step_on(&grid, ndim, at));
    device->unpacks = grid.is_packed && device->num_receives > 0;
    device->unpack_count = memory_of(p, &grid, (int64_t)most);
    return JD_OK;
}

/* Its new block is its old one, not only a part of it. */
static bool keeps_block(const struct jd_planning *p,
                        const struct jd_plan_device *device, int member)
{
    struct jd_plan_grid grid;
    if (device->num_copies != 1 || device->num_receives != 0 ||
        device->copies->source != device->from)
        return false;
    meet_at(p, &p->from, p->members[member].from, &grid);
    return grid.count == device->copies->count;
}

/* ---- what a device gives ------------------------------------------------ */

/* Where the piece that two blocks have in common is in the new one. */
static struct jd_spot find_their_spot(const struct jd_planning *p,
                                      const int *from, const int *to,
                                      const jd_range *index)
{
    struct jd_plan_grid grid;
    make_grid(p, &p->to, to, &grid);
    return find_spot(&grid, p->spec->ndim, index, from);
}

/* Sends the piece to those of other processes that have the new block and take
 * it from this member. */
static void add_sent(struct jd_planning *p, struct jd_plan_device *device,
                     int member, int block, const struct jd_send *send)
{
    const struct jd_plan_side *to = &p->to;
    const struct jd_piece *piece = &device->sent[device->num_sent];
    int from_block = p->from.sharding->blocks[p->members[member].from];
    const int *owners = to->owners + (size_t)block * (size_t)to->replicas;
    int first = device->num_sends;
    for (int i = 0; i < to->replicas; i++) {
        int64_t rank = piece->spot.number * to->replicas +
                       to->sharding->replica_ids[p->members[owners[i]].to];
        if (is_own(p, owners[i]) ||
            jd__plan_choose(p, from_block, owners[i], rank) != member)
            continue;
        device->sends[device->num_sends] = *send;
        device->sends[device->num_sends++].member = owners[i];
    }
    device->num_sent += device->num_sends > first;
}

static jd_status list_sent(struct jd_planning *p, struct jd_plan_device *device,
                           int member)
{
    int place = p->members[member].from, ndim = p->spec->ndim;
    struct jd_plan_grid grid;
    int at[JD_MAX_NDIM], own[JD_MAX_NDIM];
    jd__plan_coordinates(&p->from, ndim, p->from.sharding->blocks[place], own);
    make_grid(p, &p->from, own, &grid);
    size_t most = (size_t)count_pieces(&grid, ndim);
    if (most == 0)
        return JD_OK;
    size_t sends = most * (size_t)p->to.replicas;
    jd_status status = make_room(p, most, &device->sent, &device->sent_ranges);
    device->sends = malloc(sends * sizeof *device->sends);
    if (status == JD_OK && !device->sends)
        status = jd__fail_no_memory(p->spec->operation,
                                    sends * sizeof *device->sends);
    if (status != JD_OK)
        return status;
    jd_range *index = device->sent_ranges;
    memcpy(at, grid.first, sizeof at);
    do {
        struct jd_piece *piece = &device->sent[device->num_sent];
        share_piece(p, &p->to, &grid, at, index, piece);
        index += ndim;
        struct jd_send send = { .piece = device->num_sent,
                                .spot =
                                    find_their_spot(p, own, at, piece->index) };
        add_sent(p, device, member, jd__plan_block(&p->to, ndim, at), &send);
    } while (step_on(&grid, ndim, at));
    device->packs = grid.is_packed && device->num_sent > 0;
    device->pack_count = memory_of(p, &grid, (int64_t)most);
    return JD_OK;
}

/* ---- the devices of this process ---------------------------------------- */

static jd_status list_device(struct jd_planning *p,
                             struct jd_plan_device *device, int place)
{
    int member = p->order[place];
    const struct jd_plan_member *m = &p->members[member];
    enum jd_plan_kind kind = p->plan->kind;
    jd_status status = JD_OK;
    device->member = place;
    device->from = m->from < 0 ? -1 : shard_of(p->from.sharding, m->from);
    device->to = m->to < 0 ? -1 : shard_of(p->to.sharding, m->to);
    if (kind != JD_PLAN_LOCAL && kind != JD_PLAN_EXCHANGE)
        return JD_OK;
    if (m->to >= 0)
        status = list_received(p, device, member);
    device->keeps = status == JD_OK && keeps_block(p, device, member);
    if (status == JD_OK && m->from >= 0 && kind == JD_PLAN_EXCHANGE)
        status = list_sent(p, device, member);
    return status;
}

jd_status jd__plan_list_pieces(struct jd_planning *p)
{
    struct jd_plan *plan = p->plan;
    int count = 0;
    for (int i = 0; i < p->num_members; i++)
        count += is_own(p, i);
    plan->devices = calloc((size_t)count + 1, sizeof *plan->devices);
    if (!plan->devices)
        return jd__fail_no_memory(p->spec->operation,
                                  (size_t)count * sizeof *plan->devices);
    jd_status status = JD_OK;
    for (int i = 0; i < p->num_members && status == JD_OK; i++)
        if (is_own(p, p->order[i]))
            status = list_device(p, &plan->devices[plan->num_devices++], i);
    return status;
}
