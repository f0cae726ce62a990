/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_p2p_single.c - one short transfer that is alone in its call and over at
 * once: a send that finds room in its box, the receive of one that lies there.
 * Most are such, so that it goes without the rails of a batch. Whatever else
 * may be (no room, nothing there, a complaint, terms that do not match, the
 * other's end) is left to those: here nothing has been changed then.
 */
#include "collectives/cpu/shm/shm_p2p_private.h"

#include <string.h>

/* At what is to come, where each member has a processor. One that is on time
 * comes meanwhile. */
#define LOOKS 200

struct single {
    int looks;
    const struct jd_transfer *transfer;
    struct rail *rail;
    uint64_t number; /* the transfer's */
    struct p2p_box *own, *other;
    size_t bytes;
};

/* Whether the other has something to say that was not heard: what it was, or
 * that it has given up. */
static bool has_news(const struct single *single)
{
    uint64_t said = atomic_load_explicit(&single->other->complaint.number,
                                         memory_order_acquire);
    return said !=
           atomic_load_explicit(&single->own->heard, memory_order_relaxed);
}

static void *data_of(struct p2p_box *sender, uint64_t number, size_t bytes)
{
    return bytes <= JD_P2P_HEAD_DATA
               ? sender->send_descs[number % JD_P2P_SENDS].head
               : sender->send_rooms[number % JD_P2P_ROOMS].data;
}

static void copy_short(void *to, const void *from, size_t bytes)
{
    if (bytes <= JD_P2P_HEAD_DATA)
        jd__shm_p2p_copy_head(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

/* As the sender's rail last saw it: there may be more room by now. */
static bool send_single(const struct single *single)
{
    const struct jd_collective *call = &single->transfer->call;
    struct rail *rail = single->rail;
    if (rail->done + room_for(single->bytes) < single->number ||
        has_news(single))
        return false;
    struct send_desc *desc =
        &single->own->send_descs[single->number % JD_P2P_SENDS];
    desc->count = call->count;
    desc->dtype = (uint32_t)call->dtype;
    desc->way = single->bytes <= JD_P2P_HEAD_DATA ? IN_HEAD : IN_ROOM;
    desc->is_left = true;
    desc->tag = single->transfer->tag;
    desc->rest = call->rest;
    copy_short(data_of(single->own, single->number, single->bytes), call->in,
               single->bytes);
    rail->number = single->number;
    atomic_store_explicit(&desc->number, single->number, memory_order_release);
    return true;
}

static bool has_come(const struct single *single, const struct send_desc *desc)
{
    for (int i = 0; i < single->looks; i++)
        if (atomic_load_explicit(&desc->number, memory_order_acquire) ==
            single->number)
            return true;
    return false;
}

/* What the other had to say before it sent is there with what it sent. */
static bool receive_single(const struct single *single)
{
    const struct jd_collective *call = &single->transfer->call;
    const struct send_desc *desc =
        &single->other->send_descs[single->number % JD_P2P_SENDS];
    if (!has_come(single, desc) || !desc->is_left ||
        desc->count != call->count || desc->dtype != (uint32_t)call->dtype ||
        desc->tag != single->transfer->tag || desc->rest != call->rest ||
        has_news(single))
        return false;
    copy_short(call->out, data_of(single->other, single->number, single->bytes),
               single->bytes);
    single->rail->number = single->number;
    atomic_store_explicit(&single->own->done, single->number,
                          memory_order_release);
    return true;
}

bool jd__shm_p2p_single(const struct jd_shm_group *group,
                        const struct jd_transfer *transfer)
{
    int member = transfer->member, index = group->index;
    size_t bytes = transfer->call.count * jd_dtype_size(transfer->call.dtype);
    if (transfer->whole || transfer->came || bytes > JD_P2P_ROOM_DATA ||
        member == index)
        return false;
    struct rail *rail = rail_of(group, transfer);
    const struct single single = {
        .looks = group->spins ? LOOKS : 1,
        .transfer = transfer,
        .rail = rail,
        .number = rail->number + 1,
        .own = box_of(group, index, member),
        .other = box_of(group, member, index),
        .bytes = bytes,
    };
    return transfer->sends ? send_single(&single) : receive_single(&single);
}
