/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_p2p.c - sends and receives between pairs of a group's members. */
#include "collectives/check/any_size.h"
#include "collectives/cpu/shm/shm_cma.h"
#include "collectives/cpu/shm/shm_p2p.h"
#include "collectives/cpu/shm/shm_private.h"
#include "collectives/platform/transfer_pair.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is in a box --------------------------------------------------- */

#define SEND_DESC 1024
#define SEND_DESC_DATA (SEND_DESC - 8 * sizeof(uint64_t))

/* Where the data are. */
enum way { IN_DESC, STRAIGHT, IN_RING };

/* Two by turns: a receiver may still read one while the next is written. */
struct send_desc {
    alignas(JD_CACHE_LINE) _Atomic uint64_t number;
    uint64_t count;
    uint32_t dtype;
    uint32_t way;
    uint64_t place, address;
    uint64_t early; /* bytes that are in the ring already */
    int64_t tag;
    uint64_t rest;
    char data[SEND_DESC_DATA];
};
static_assert(sizeof(struct send_desc) == SEND_DESC, "whole lines");

struct recv_desc {
    alignas(JD_CACHE_LINE) _Atomic uint64_t number;
    uint64_t count; /* of any size: the capacity */
    uint32_t dtype;
    int32_t tag;
    uint32_t is_any_size;
    uint64_t rest;
};

/* A member's for another; written by its owner alone. Counts of bytes never
 * begin anew. */
struct p2p_box {
    struct send_desc send_descs[2];
    struct recv_desc recv_descs[2];
    alignas(JD_CACHE_LINE) _Atomic uint64_t written; /* to the own ring */
    alignas(JD_CACHE_LINE) _Atomic uint64_t taken;   /* out of the other's */
    alignas(JD_CACHE_LINE) _Atomic uint64_t done;    /* the last that was read
                                                      * straight */
};

enum { MOST_RINGS = 1 << 20, SHORTEST_RING = 1 << 14, LONGEST_RING = 1 << 17 };

/* A power of two: what all rings of a member need stays small. */
static size_t ring_bytes(int group_size)
{
    size_t bytes = LONGEST_RING;
    while (bytes > SHORTEST_RING && bytes * (size_t)group_size > MOST_RINGS)
        bytes /= 2;
    return bytes;
}

size_t jd__shm_p2p_size(int group_size)
{
    size_t size = (size_t)group_size;
    return size * (sizeof(struct p2p_box) + ring_bytes(group_size));
}

static struct p2p_box *box_of(const struct jd_shm_group *group, int owner,
                              int other)
{
    struct p2p_box *boxes = (void *)(group->members[owner].control + 1);
    return &boxes[other];
}

static char *ring_of(const struct jd_shm_group *group, int owner, int other)
{
    char *rings = (char *)box_of(group, owner, group->size);
    return rings + (size_t)other * ring_bytes(group->size);
}

void jd__shm_p2p_revoke(struct jd_shm_group *group)
{
    for (int i = 0; i < group->size && group->size > 1; i++) {
        struct p2p_box *box = box_of(group, group->index, i);
        for (int j = 0; j < 2; j++) {
            atomic_store(&box->send_descs[j].number, JD_SHM_REVOKED);
            atomic_store(&box->recv_descs[j].number, JD_SHM_REVOKED);
        }
        atomic_store(&box->written, JD_SHM_REVOKED);
        atomic_store(&box->taken, JD_SHM_REVOKED);
        atomic_store(&box->done, JD_SHM_REVOKED);
    }
}

/* ---- this end ----------------------------------------------------------- */

enum phase { COMPARING, MOVING };

/* One direction between this member and another: one transfer at a time. */
struct rail {
    bool sends;
    int member;
    int transfer; /* its place in the list; -1: none any more */
    enum phase phase;
    size_t bytes;    /* to move; of any size: at most, until they are known */
    size_t moved;    /* bytes */
    uint64_t number; /* of the last transfer that was begun, ever */
    uint64_t ring;   /* bytes that went through the ring, ever */
};

struct jd_shm_p2p {
    struct rail *rails; /* the sending ones, then the receiving ones */
    struct rail **open; /* those that the present call needs */
    int num_open;
};

struct jd_shm_p2p *jd__shm_p2p_create(int group_size)
{
    struct jd_shm_p2p *p2p = calloc(1, sizeof *p2p);
    size_t count = 2 * (size_t)group_size;
    if (!p2p)
        return NULL;
    p2p->rails = calloc(count, sizeof *p2p->rails);
    p2p->open = calloc(count, sizeof *p2p->open);
    if (!p2p->rails || !p2p->open) {
        jd__shm_p2p_destroy(p2p);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        p2p->rails[i] = (struct rail){ .sends = i < count / 2,
                                       .member = (int)(i % (count / 2)),
                                       .transfer = -1 };
    return p2p;
}

void jd__shm_p2p_destroy(struct jd_shm_p2p *p2p)
{
    if (!p2p)
        return;
    free(p2p->rails);
    free(p2p->open);
    free(p2p);
}

/* ---- one call ----------------------------------------------------------- */

/* What a step of a rail came to. FAILED: with the batch's failure. */
enum step { IDLE, MOVED, CLOSED, FAILED };

struct batch {
    struct jd_shm_group *group;
    struct jd_shm_p2p *p2p;
    const struct jd_transfer *transfers;
    int count;
    jd_status status;  /* the first pair that did not match */
    jd_status failure; /* what ends the call */
};

static enum step fail_revoked(struct batch *batch)
{
    batch->failure = jd__shm_fail_revoked(batch->group);
    return FAILED;
}

static const struct jd_collective *call_of(const struct batch *batch,
                                           const struct rail *rail)
{
    return &batch->transfers[rail->transfer].call;
}

static size_t bytes_of(const struct jd_collective *call)
{
    return call->count * jd_dtype_size(call->dtype);
}

static struct p2p_box *own_box(const struct batch *batch,
                               const struct rail *rail)
{
    return box_of(batch->group, batch->group->index, rail->member);
}

static struct p2p_box *other_box(const struct batch *batch,
                                 const struct rail *rail)
{
    return box_of(batch->group, rail->member, batch->group->index);
}

/* What the two ends compare. */
struct terms {
    uint64_t count;
    uint32_t dtype;
    int32_t tag;
    bool is_any_size; /* of a receive */
    uint64_t rest;
};

static struct terms terms_of(const struct jd_transfer *transfer)
{
    return (struct terms){ .count = transfer->call.count,
                           .dtype = (uint32_t)transfer->call.dtype,
                           .tag = transfer->tag,
                           .is_any_size = transfer->came,
                           .rest = transfer->call.rest };
}

static jd_status fail_unequal(const struct batch *batch,
                              const struct rail *rail, struct terms theirs)
{
    const struct jd_transfer *transfer = &batch->transfers[rail->transfer];
    const struct jd_shm_group *group = batch->group;
    const struct jd_transfer_pair pair = {
        .own = transfer,
        .process = group->processes[group->index],
        .other = group->processes[rail->member],
        .member = group->index,
        .count = theirs.count,
        .rest = theirs.rest,
        .dtype = theirs.dtype,
        .tag = theirs.tag,
    };
    return jd__transfer_fail_pair(&pair, jd__transfer_activity(transfer));
}

static struct jd_any_size_end end_of(const struct batch *batch, int member,
                                     struct terms terms)
{
    return (struct jd_any_size_end){ batch->group->processes[member], member,
                                     terms.count, terms.dtype, terms.tag };
}

static bool fits_any_size(struct batch *batch, const struct rail *rail,
                          struct terms theirs)
{
    const struct jd_transfer *transfer = &batch->transfers[rail->transfer];
    struct jd_any_size_end own =
        end_of(batch, batch->group->index, terms_of(transfer));
    struct jd_any_size_end other = end_of(batch, rail->member, theirs);
    const struct jd_any_size_end *sent = rail->sends ? &own : &other;
    const struct jd_any_size_end *wanted = rail->sends ? &other : &own;
    if (jd__any_size_fits(sent, wanted))
        return true;
    if (batch->status == JD_OK)
        batch->status = jd__any_size_fail(
            jd__signature_activity_name(jd__transfer_activity(transfer)),
            transfer->call.detail, sent, wanted);
    return false;
}

/* Remembers the first one's sentence. */
static bool is_agreed(struct batch *batch, const struct rail *rail,
                      struct terms theirs)
{
    struct terms own = terms_of(&batch->transfers[rail->transfer]);
    if (own.is_any_size || theirs.is_any_size)
        return fits_any_size(batch, rail, theirs);
    if (own.count == theirs.count && own.dtype == theirs.dtype &&
        own.tag == theirs.tag && own.rest == theirs.rest)
        return true;
    if (batch->status == JD_OK)
        batch->status = fail_unequal(batch, rail, theirs);
    return false;
}

/* ---- the ring ----------------------------------------------------------- */

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
    size_t part = ring_bytes(batch->group->size) / 4;
    if (room < part)
        part = (size_t)room;
    return left < part ? left : part;
}

static enum step write_ring(struct batch *batch, struct rail *rail)
{
    const struct jd_collective *call = call_of(batch, rail);
    struct jd_shm_group *group = batch->group;
    size_t size = ring_bytes(group->size), left = rail->bytes - rail->moved;
    uint64_t taken = atomic_load_explicit(&other_box(batch, rail)->taken,
                                          memory_order_acquire);
    if (taken == JD_SHM_REVOKED)
        return fail_revoked(batch);
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

static void say_taken(const struct batch *batch, struct rail *rail,
                      size_t bytes)
{
    rail->ring += bytes;
    atomic_store_explicit(&own_box(batch, rail)->taken, rail->ring,
                          memory_order_release);
}

static enum step read_ring(struct batch *batch, struct rail *rail)
{
    const struct jd_collective *call = call_of(batch, rail);
    struct jd_shm_group *group = batch->group;
    size_t size = ring_bytes(group->size), left = rail->bytes - rail->moved;
    uint64_t written = atomic_load_explicit(&other_box(batch, rail)->written,
                                            memory_order_acquire);
    if (written == JD_SHM_REVOKED)
        return fail_revoked(batch);
    size_t part = ring_part(batch, left, written - rail->ring);
    if (part == 0)
        return IDLE;
    copy_ring(ring_of(group, rail->member, group->index), size, rail->ring,
              (char *)call->out + rail->moved, part, false);
    rail->moved += part;
    say_taken(batch, rail, part);
    return part == left ? CLOSED : MOVED;
}

/* ---- sending ------------------------------------------------------------ */

static enum way choose_way(const struct batch *batch, const struct rail *rail,
                           struct send_desc *send_desc)
{
    const struct jd_collective *call = call_of(batch, rail);
    size_t bytes = rail->bytes;
    if (bytes <= SEND_DESC_DATA)
        return IN_DESC;
    send_desc->place = jd__shm_place(batch->group, call->in, bytes);
    send_desc->address = 0;
    if (send_desc->place == JD_PLACE_PRIVATE &&
        jd__shm_cma_is_free(batch->group, bytes))
        send_desc->address = (uintptr_t)call->in;
    return send_desc->place == JD_PLACE_PRIVATE && !send_desc->address
               ? IN_RING
               : STRAIGHT;
}

/* The number's store is sequentially consistent, as a revocation's and a
 * receive's: shm.c says why. */
static enum step write_send_desc(struct batch *batch, struct rail *rail)
{
    const struct jd_collective *call = call_of(batch, rail);
    struct send_desc *send_desc =
        &own_box(batch, rail)->send_descs[rail->number % 2];
    enum step step = MOVED;
    send_desc->count = call->count;
    send_desc->dtype = (uint32_t)call->dtype;
    send_desc->tag = batch->transfers[rail->transfer].tag;
    send_desc->rest = call->rest;
    send_desc->way = choose_way(batch, rail, send_desc);
    if (send_desc->way == IN_DESC && call->count)
        memcpy(send_desc->data, call->in, rail->bytes);
    if (send_desc->way == IN_RING)
        step = write_ring(batch, rail);
    send_desc->early = rail->moved;
    atomic_store(&send_desc->number, rail->number);
    return step == FAILED ? FAILED : MOVED;
}

static enum step find_recv_desc(struct batch *batch, struct rail *rail)
{
    const struct recv_desc *recv_desc =
        &other_box(batch, rail)->recv_descs[rail->number % 2];
    uint64_t number = atomic_load(&recv_desc->number);
    if (number == JD_SHM_REVOKED)
        return fail_revoked(batch);
    if (number < rail->number)
        return IDLE;
    if (!is_agreed(batch, rail,
                   (struct terms){ recv_desc->count, recv_desc->dtype,
                                   recv_desc->tag, recv_desc->is_any_size,
                                   recv_desc->rest }))
        return CLOSED;
    const struct send_desc *send_desc =
        &own_box(batch, rail)->send_descs[rail->number % 2];
    rail->phase = MOVING;
    return send_desc->way == IN_DESC ||
                   (send_desc->way == IN_RING && rail->moved == rail->bytes)
               ? CLOSED
               : MOVED;
}

static enum step find_done(struct batch *batch, const struct rail *rail)
{
    uint64_t done = atomic_load_explicit(&other_box(batch, rail)->done,
                                         memory_order_acquire);
    if (done == JD_SHM_REVOKED)
        return fail_revoked(batch);
    return done >= rail->number ? CLOSED : IDLE;
}

static enum step send_on(struct batch *batch, struct rail *rail)
{
    if (rail->phase == COMPARING)
        return find_recv_desc(batch, rail);
    return own_box(batch, rail)->send_descs[rail->number % 2].way == STRAIGHT
               ? find_done(batch, rail)
               : write_ring(batch, rail);
}

/* ---- receiving ---------------------------------------------------------- */

static void write_recv_desc(const struct batch *batch, const struct rail *rail)
{
    const struct jd_collective *call = call_of(batch, rail);
    struct recv_desc *recv_desc =
        &own_box(batch, rail)->recv_descs[rail->number % 2];
    recv_desc->count = call->count;
    recv_desc->dtype = (uint32_t)call->dtype;
    recv_desc->tag = batch->transfers[rail->transfer].tag;
    recv_desc->rest = call->rest;
    recv_desc->is_any_size = batch->transfers[rail->transfer].came != NULL;
    atomic_store(&recv_desc->number, rail->number);
}

/* How much comes, where the receive did not say it. */
static void note_size(const struct batch *batch, struct rail *rail,
                      uint64_t count)
{
    const struct jd_transfer *transfer = &batch->transfers[rail->transfer];
    if (!transfer->came)
        return;
    *transfer->came = (size_t)count;
    rail->bytes = (size_t)count * jd_dtype_size(transfer->call.dtype);
}

static enum step find_send_desc(struct batch *batch, struct rail *rail)
{
    const struct send_desc *send_desc =
        &other_box(batch, rail)->send_descs[rail->number % 2];
    uint64_t number = atomic_load(&send_desc->number);
    if (number == JD_SHM_REVOKED)
        return fail_revoked(batch);
    if (number < rail->number)
        return IDLE;
    struct terms theirs = { .count = send_desc->count,
                            .dtype = send_desc->dtype,
                            .tag = (int32_t)send_desc->tag,
                            .rest = send_desc->rest };
    if (!is_agreed(batch, rail, theirs)) {
        say_taken(batch, rail, (size_t)send_desc->early);
        return CLOSED;
    }
    note_size(batch, rail, theirs.count);
    rail->phase = MOVING;
    if (send_desc->way != IN_DESC)
        return MOVED;
    if (rail->bytes)
        memcpy(call_of(batch, rail)->out, send_desc->data, rail->bytes);
    return CLOSED;
}

/* The part that is copied before the other rails get a turn. */
#define TURN ((size_t)1 << 20)

static enum step read_straight(struct batch *batch, struct rail *rail)
{
    const struct send_desc *send_desc =
        &other_box(batch, rail)->send_descs[rail->number % 2];
    const struct jd_collective *call = call_of(batch, rail);
    size_t bytes = rail->bytes, left = bytes - rail->moved;
    size_t part = left < TURN ? left : TURN;
    struct jd_shm_cma in =
        jd__shm_cma_of(batch->group, rail->member, send_desc->place,
                       send_desc->address, bytes);
    struct jd_strided to = { (char *)call->out + rail->moved, 1, part, part };
    batch->failure = jd__shm_cma_copy(batch->group, in, rail->moved, part, &to);
    if (batch->failure != JD_OK)
        return FAILED;
    rail->moved += part;
    if (part < left)
        return MOVED;
    atomic_store_explicit(&own_box(batch, rail)->done, rail->number,
                          memory_order_release);
    return CLOSED;
}

static enum step receive_on(struct batch *batch, struct rail *rail)
{
    if (rail->phase == COMPARING)
        return find_send_desc(batch, rail);
    return other_box(batch, rail)->send_descs[rail->number % 2].way == STRAIGHT
               ? read_straight(batch, rail)
               : read_ring(batch, rail);
}

/* ---- all rails ---------------------------------------------------------- */

static bool is_of(const struct batch *batch, int transfer,
                  const struct rail *rail)
{
    return batch->transfers[transfer].member == rail->member &&
           batch->transfers[transfer].sends == rail->sends;
}

/* Says what the rail's next transfer is; closes it where there is none. */
static enum step begin_next(struct batch *batch, struct rail *rail)
{
    do
        rail->transfer++;
    while (rail->transfer < batch->count &&
           !is_of(batch, rail->transfer, rail));
    if (rail->transfer == batch->count) {
        rail->transfer = -1;
        return CLOSED;
    }
    rail->number++;
    rail->bytes = bytes_of(call_of(batch, rail));
    rail->moved = 0;
    rail->phase = COMPARING;
    if (rail->sends)
        return write_send_desc(batch, rail);
    write_recv_desc(batch, rail);
    return MOVED;
}

static enum step advance_rail(struct batch *batch, struct rail *rail)
{
    enum step step =
        rail->sends ? send_on(batch, rail) : receive_on(batch, rail);
    return step == CLOSED ? begin_next(batch, rail) : step;
}

static enum jd_work work_on_rails(void *arg, jd_status *ret_status)
{
    struct batch *batch = arg;
    struct jd_shm_p2p *p2p = batch->p2p;
    enum jd_work result = JD_WORK_IDLE;
    for (int i = 0; i < p2p->num_open;) {
        enum step step = advance_rail(batch, p2p->open[i]);
        *ret_status = batch->failure;
        if (step == FAILED)
            return JD_WORK_FAILED;
        if (step != IDLE)
            result = JD_WORK_MOVED;
        if (step == CLOSED)
            p2p->open[i] = p2p->open[--p2p->num_open];
        else
            i++;
    }
    return p2p->num_open ? result : JD_WORK_DONE;
}

static int find_missing(void *arg, int *members)
{
    const struct batch *batch = arg;
    const struct rail *rails = batch->p2p->rails;
    int size = batch->group->size, count = 0;
    for (int i = 0; i < size; i++)
        if (rails[i].transfer >= 0 || rails[size + i].transfer >= 0)
            members[count++] = i;
    return count;
}

/* Whether a receiver that has found its description may still read what
 * that tells of. */
static bool holds_on(void *arg, int member)
{
    const struct batch *batch = arg;
    const struct rail *rail = &batch->p2p->rails[member];
    if (rail->transfer < 0)
        return false;
    const struct send_desc *send_desc =
        &own_box(batch, rail)->send_descs[rail->number % 2];
    const struct p2p_box *other = other_box(batch, rail);
    uint64_t asked = atomic_load(&other->recv_descs[rail->number % 2].number);
    return send_desc->way == STRAIGHT && asked >= rail->number &&
           atomic_load(&other->done) < rail->number;
}

static const struct jd_shm_work p2p_work = {
    .work = work_on_rails,
    .find_missing = find_missing,
    .holds_on = holds_on,
};

/* ---- to itself ---------------------------------------------------------- */

static int next_own(const struct batch *batch, int transfer, bool sends)
{
    struct rail own = { .sends = sends, .member = batch->group->index };
    do
        transfer++;
    while (transfer < batch->count && !is_of(batch, transfer, &own));
    return transfer;
}

static jd_status fail_alone(const struct batch *batch, int transfer)
{
    const struct jd_collective *call = &batch->transfers[transfer].call;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s%s: process %d (member %d) has a %s itself without its "
                   "%s in the same group; put both between jd_group_begin and "
                   "jd_group_end",
                   jd__signature_activity_name(call->activity),
                   call->detail ? call->detail : "",
                   batch->group->processes[batch->group->index],
                   batch->group->index, call->out ? "receive from" : "send to",
                   call->out ? "send" : "receive");
}

static void transfer_to_self(struct batch *batch)
{
    int sent = next_own(batch, -1, true), got = next_own(batch, -1, false);
    for (; sent < batch->count && got < batch->count;
         sent = next_own(batch, sent, true),
         got = next_own(batch, got, false)) {
        const struct jd_collective *from = &batch->transfers[sent].call;
        const struct jd_collective *to = &batch->transfers[got].call;
        struct rail rail = { .sends = true,
                             .member = batch->group->index,
                             .transfer = sent };
        if (!is_agreed(batch, &rail, terms_of(&batch->transfers[got])))
            continue;
        if (batch->transfers[got].came)
            *batch->transfers[got].came = from->count;
        if (from->count)
            memmove(to->out, from->in, bytes_of(from));
    }
    int left = sent < batch->count ? sent : got;
    if (left < batch->count && batch->status == JD_OK)
        batch->status = fail_alone(batch, left);
}

/* ---- the call ----------------------------------------------------------- */

/* Each rail that has a transfer begins its first one. */
static void open_rails(struct batch *batch)
{
    struct jd_shm_p2p *p2p = batch->p2p;
    p2p->num_open = 0;
    for (int i = 0; i < batch->count; i++) {
        int member = batch->transfers[i].member;
        bool sends = batch->transfers[i].sends;
        struct rail *rail =
            &p2p->rails[sends ? member : batch->group->size + member];
        if (member == batch->group->index || rail->transfer >= 0)
            continue;
        p2p->open[p2p->num_open++] = rail;
        rail->transfer = i - 1;
        begin_next(batch, rail);
    }
}

jd_status jd__shm_p2p_transfer(struct jd_shm_group *group,
                               const struct jd_transfer *transfers, int count)
{
    struct batch batch = { .group = group,
                           .p2p = group->p2p,
                           .transfers = transfers,
                           .count = count };
    if (atomic_load_explicit(&group->own->is_aborted, memory_order_relaxed))
        jd__shm_revoke(group);
    if (group->is_revoked)
        return jd__shm_fail_revoked(group);
    jd__shm_cma_try(group);
    transfer_to_self(&batch);
    open_rails(&batch);
    jd_status status = JD_OK;
    group->spec.wait.is_transfer = true;
    if (batch.p2p->num_open)
        status = jd__shm_await_work(group, &p2p_work, &batch);
    group->spec.wait.is_transfer = false;
    return status == JD_OK ? batch.status : status;
}
