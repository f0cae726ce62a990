/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_p2p_ring.c - the bytes of sends that the receiver cannot read where they
 * are, or that are left to it. */
#include "collectives/cpu/shm/shm_p2p_private.h"

#include <string.h>

enum { MOST_RINGS = 1 << 20, SHORTEST_RING = 1 << 14, LONGEST_RING = 1 << 17 };

/* What all rings of a member need stays small. */
size_t jd__shm_p2p_ring_bytes(int group_size)
{
    size_t bytes = LONGEST_RING;
    while (bytes > SHORTEST_RING && bytes * (size_t)group_size > MOST_RINGS)
        bytes /= 2;
    return bytes;
}

static char *ring_of(const struct jd_shm_group *group, int owner, int other)
{
    char *rings = (char *)box_of(group, owner, group->size);
    return rings + (size_t)other * jd__shm_p2p_ring_bytes(group->size);
}

/* Copies between plain memory and the ring's place at. */
static void copy_ring(char *ring, size_t ring_size, uint64_t at, char *data,
                      size_t bytes, bool writes)
{
    size_t offset = (size_t)(at & (ring_size - 1));
    size_t first = ring_size - offset < bytes ? ring_size - offset : bytes;
    if (writes) {
        memcpy(ring + offset, data, first);
        memcpy(ring, data + first, bytes - first);
    } else {
        memcpy(data, ring + offset, first);
        memcpy(data + first, ring, bytes - first);
    }
}

/* At most a quarter at a time, so that both sides are at work. */
static size_t ring_part(const struct batch *batch, size_t left, uint64_t room)
{
    size_t part = jd__shm_p2p_ring_bytes(batch->group->size) / 4;
    if (room < part)
        part = (size_t)room;
    return left < part ? left : part;
}

static uint64_t taken_of(const struct batch *batch, const struct rail *rail)
{
    return atomic_load_explicit(&other_box(batch, rail)->taken,
                                memory_order_acquire);
}

bool jd__shm_p2p_ring_fits(const struct batch *batch, const struct rail *rail)
{
    uint64_t taken = taken_of(batch, rail);
    return taken != JD_SHM_REVOKED &&
           rail->ring - taken + rail->bytes <=
               jd__shm_p2p_ring_bytes(batch->group->size);
}

enum step jd__shm_p2p_ring_write(struct batch *batch, struct rail *rail)
{
    const struct jd_collective *call = call_of(batch, rail);
    struct jd_shm_group *group = batch->group;
    size_t size = jd__shm_p2p_ring_bytes(group->size);
    size_t left = rail->bytes - rail->moved;
    uint64_t taken = taken_of(batch, rail);
    if (taken == JD_SHM_REVOKED)
        return REVOKED;
    size_t part = ring_part(batch, left, size - (rail->ring - taken));
    if (part == 0)
        return IDLE;
    copy_ring(ring_of(group, group->index, rail->member), size, rail->ring,
              (char *)(uintptr_t)call->in + rail->moved, part, true);
    rail->ring += part;
    rail->moved += part;
    atomic_store_explicit(&own_box(batch, rail)->written, rail->ring,
                          memory_order_release);
    return part == left ? CLOSED : MOVED;
}

void jd__shm_p2p_ring_take(const struct batch *batch, struct rail *rail,
                           size_t bytes)
{
    rail->ring += bytes;
    atomic_store_explicit(&own_box(batch, rail)->taken, rail->ring,
                          memory_order_release);
}

enum step jd__shm_p2p_ring_read(struct batch *batch, struct rail *rail)
{
    const struct jd_collective *call = call_of(batch, rail);
    struct jd_shm_group *group = batch->group;
    size_t size = jd__shm_p2p_ring_bytes(group->size);
    size_t left = rail->bytes - rail->moved;
    uint64_t written = atomic_load_explicit(&other_box(batch, rail)->written,
                                            memory_order_acquire);
    if (written == JD_SHM_REVOKED)
        return REVOKED;
    size_t part = ring_part(batch, left, written - rail->ring);
    if (part == 0)
        return IDLE;
    copy_ring(ring_of(group, rail->member, group->index), size, rail->ring,
              (char *)call->out + rail->moved, part, false);
    rail->moved += part;
    jd__shm_p2p_ring_take(batch, rail, part);
    return part == left ? CLOSED : MOVED;
}
