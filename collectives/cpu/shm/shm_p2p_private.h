/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_p2p_private.h - what a pair's boxes and a call's transfers are, for the
 * files of shm_p2p.h.
 */
#ifndef COLLECTIVES_CPU_SHM_SHM_P2P_PRIVATE_H
#define COLLECTIVES_CPU_SHM_SHM_P2P_PRIVATE_H

#include "collectives/cpu/shm/shm_p2p.h"
#include "collectives/cpu/shm/shm_private.h"

#include <string.h>

/* ---- what is in a box --------------------------------------------------- */

/* What is very short is in a description, beside its number; what is short in
 * a room of its own. */
#define JD_P2P_HEAD_DATA (3 * sizeof(uint64_t))
#define JD_P2P_ROOM_DATA ((size_t)960)

/* So many sends lie there whose receives have not taken them, those that are
 * not very short: none is late because its neighbour is some calls behind. Very
 * short ones may be more: where processes take turns on a processor, one gets
 * as far in its turn. */
enum { JD_P2P_SENDS = 64, JD_P2P_ROOMS = 8 };

/* Where the data are. */
enum jd_p2p_way { IN_HEAD, IN_ROOM, STRAIGHT, IN_RING };

/* A send; a receiver may still read one while the next are written. */
struct send_desc {
    alignas(JD_CACHE_LINE) _Atomic uint64_t number;
    uint64_t count;
    uint32_t dtype;
    uint16_t way;
    uint16_t is_left; /* its sender does not wait for the receive */
    int64_t tag;
    uint64_t rest;
    union {
        char head[JD_P2P_HEAD_DATA];
        struct {
            uint64_t place, address; /* to be read straight */
            uint64_t early;          /* bytes that are in the ring already */
        };
    };
};
static_assert(sizeof(struct send_desc) == JD_CACHE_LINE, "a line");

/* A send's data, by its number. */
struct send_room {
    alignas(JD_CACHE_LINE) char data[JD_P2P_ROOM_DATA];
};

/* A receive: two by turns. */
struct recv_desc {
    alignas(JD_CACHE_LINE) _Atomic uint64_t number;
    uint64_t count; /* of any size: the capacity */
    uint32_t dtype;
    int32_t tag;
    uint32_t is_any_size;
    uint64_t rest;
};

/* What the two ends compare. */
struct terms {
    uint64_t count;
    uint32_t dtype;
    int32_t tag;
    bool is_any_size; /* of a receive */
    uint64_t rest;
};

/* A receiver's, of a send that was left and does not match. */
struct complaint {
    alignas(JD_CACHE_LINE) _Atomic uint64_t number; /* of the send; 0: none */
    struct terms sent, wanted;
};

/* A member's for another; written by its owner alone. Counts of bytes never
 * begin anew. */
struct p2p_box {
    struct send_desc send_descs[JD_P2P_SENDS];
    struct send_room send_rooms[JD_P2P_ROOMS];
    struct recv_desc recv_descs[2];
    alignas(JD_CACHE_LINE) _Atomic uint64_t written; /* to the own ring */
    alignas(JD_CACHE_LINE) _Atomic uint64_t taken;   /* out of the other's */
    alignas(JD_CACHE_LINE) _Atomic uint64_t done; /* the last receive that has
                                                   * all that it is to have */
    struct complaint complaint;
    alignas(JD_CACHE_LINE) _Atomic uint64_t heard; /* the other's last one that
                                                    * was told */
};

/* The owner's box for the other; behind the last one are its rings. */
static inline struct p2p_box *box_of(const struct jd_shm_group *group,
                                     int owner, int other)
{
    struct p2p_box *boxes = (void *)(group->members[owner].control + 1);
    return &boxes[other];
}

/* Of up to JD_P2P_HEAD_DATA bytes. A number is the most common by far, and not
 * worth a call. */
static inline void jd__shm_p2p_copy_head(void *to, const void *from,
                                         size_t bytes)
{
    if (bytes == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else if (bytes)
        memcpy(to, from, bytes);
}

/* ---- this end ----------------------------------------------------------- */

enum phase { BEGINNING, COMPARING, MOVING };

/* One direction between this member and another: one transfer at a time. */
struct rail {
    bool sends;
    int member;
    int transfer; /* its place in the list; -1: none any more */
    enum phase phase;
    size_t bytes;    /* to move; of any size: at most, until they are known */
    size_t moved;    /* bytes */
    uint64_t number; /* of the last transfer that was begun, ever */
    uint64_t done;   /* of a sending one: the other's, when last looked at */
    uint64_t ring;   /* bytes that went through the ring, ever */
};

struct jd_shm_p2p {
    struct rail *rails; /* the sending ones, then the receiving ones */
    struct rail **open; /* those that the present call needs */
    int num_open;
};

/* What a step of a rail came to. REVOKED: the other has given up; FAILED: with
 * the batch's failure. */
enum step { IDLE, MOVED, CLOSED, REVOKED, FAILED };

struct batch {
    struct jd_shm_group *group;
    struct jd_shm_p2p *p2p;
    const struct jd_transfer *transfers;
    int count;
    jd_status status;  /* the first pair that did not match */
    jd_status failure; /* what ends the call */
};

/* The one that the transfer, which is not to itself, goes by. */
static inline struct rail *rail_of(const struct jd_shm_group *group,
                                   const struct jd_transfer *transfer)
{
    int member = transfer->member;
    return &group->p2p->rails[transfer->sends ? member : group->size + member];
}

/* How many sends of so many bytes, of those that are left, find room. */
static inline uint64_t room_for(size_t bytes)
{
    return bytes <= JD_P2P_HEAD_DATA ? JD_P2P_SENDS : JD_P2P_ROOMS;
}

static inline const struct jd_collective *call_of(const struct batch *batch,
                                                  const struct rail *rail)
{
    return &batch->transfers[rail->transfer].call;
}

static inline struct p2p_box *own_box(const struct batch *batch,
                                      const struct rail *rail)
{
    return box_of(batch->group, batch->group->index, rail->member);
}

static inline struct p2p_box *other_box(const struct batch *batch,
                                        const struct rail *rail)
{
    return box_of(batch->group, rail->member, batch->group->index);
}

static inline struct send_desc *own_send(const struct batch *batch,
                                         const struct rail *rail)
{
    return &own_box(batch, rail)->send_descs[rail->number % JD_P2P_SENDS];
}

static inline const struct send_desc *other_send(const struct batch *batch,
                                                 const struct rail *rail)
{
    return &other_box(batch, rail)->send_descs[rail->number % JD_P2P_SENDS];
}

/* Where the data of the owner's send with the rail's number are. */
static inline struct send_room *room_of(struct p2p_box *owner,
                                        const struct rail *rail)
{
    return &owner->send_rooms[rail->number % JD_P2P_ROOMS];
}

/* ---- shm_p2p_single.c: one that is over at once ------------------------- */

/* False: nothing was done, and it is as every other transfer. */
bool jd__shm_p2p_single(const struct jd_shm_group *group,
                        const struct jd_transfer *transfer);

/* ---- shm_p2p_terms.c: what the ends say of a transfer ------------------- */

struct terms jd__shm_p2p_terms_of(const struct jd_transfer *transfer);

/* Whether the two match; remembers the first sentence where not. */
bool jd__shm_p2p_terms_agree(struct batch *batch, const struct rail *rail,
                             struct terms theirs);

/* Tells the sender of a left send that it does not match. */
void jd__shm_p2p_terms_complain(const struct batch *batch,
                                const struct rail *rail, struct terms sent);

/* What the other has to say of the sends that were left to it; false where it
 * has given up. */
bool jd__shm_p2p_terms_hear(struct batch *batch, const struct rail *rail);

/* ---- shm_p2p_ring.c: bytes on their way --------------------------------- */

/* A ring's bytes: a power of two. */
size_t jd__shm_p2p_ring_bytes(int group_size);

/* Whether all that the rail has to send fits into its ring now. */
bool jd__shm_p2p_ring_fits(const struct batch *batch, const struct rail *rail);

/* A part each. CLOSED: the last. */
enum step jd__shm_p2p_ring_write(struct batch *batch, struct rail *rail);
enum step jd__shm_p2p_ring_read(struct batch *batch, struct rail *rail);

/* Bytes of the other's ring are not needed any more. */
void jd__shm_p2p_ring_take(const struct batch *batch, struct rail *rail,
                           size_t bytes);

#endif
