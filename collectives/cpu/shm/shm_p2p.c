/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_p2p.c - sends and receives between pairs of a group's members. */
#include "collectives/cpu/shm/shm_cma.h"
#include "collectives/cpu/shm/shm_p2p_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- the boxes ---------------------------------------------------------- */

size_t jd__shm_p2p_size(int group_size)
{
    size_t size = (size_t)group_size;
    return size * (sizeof(struct p2p_box) + jd__shm_p2p_ring_bytes(group_size));
}

void jd__shm_p2p_revoke(struct jd_shm_group *group)
{
    for (int i = 0; i < group->size && group->size > 1; i++) {
        struct p2p_box *box = box_of(group, group->index, i);
        for (int j = 0; j < JD_P2P_SENDS; j++)
            atomic_store(&box->send_descs[j].number, JD_SHM_REVOKED);
        for (int j = 0; j < 2; j++)
            atomic_store(&box->recv_descs[j].number, JD_SHM_REVOKED);
        atomic_store(&box->written, JD_SHM_REVOKED);
        atomic_store(&box->taken, JD_SHM_REVOKED);
        atomic_store(&box->done, JD_SHM_REVOKED);
        atomic_store(&box->complaint.number, JD_SHM_REVOKED);
    }
}

/* ---- this end ----------------------------------------------------------- */

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

static size_t bytes_of(const struct jd_collective *call)
{
    return call->count * jd_dtype_size(call->dtype);
}

/* ---- sending ------------------------------------------------------------ */

/* Longer ones are read where they are, once, for which their sender waits. */
#define LONGEST_LEFT ((size_t)8 << 10)

/* A send that is alone in its call is left to its receiver where its data find
 * room in a box: nothing else of the call would wait. */
static bool is_left(const struct batch *batch, const struct rail *rail)
{
    return batch->count == 1 && !batch->transfers[0].whole &&
           rail->bytes <= LONGEST_LEFT &&
           (rail->bytes <= JD_P2P_ROOM_DATA ||
            jd__shm_p2p_ring_fits(batch, rail));
}

static enum jd_p2p_way choose_way(const struct batch *batch,
                                  const struct rail *rail,
                                  struct send_desc *send_desc)
{
    const struct jd_collective *call = call_of(batch, rail);
    size_t bytes = rail->bytes;
    if (bytes <= JD_P2P_HEAD_DATA)
        return IN_HEAD;
    if (bytes <= JD_P2P_ROOM_DATA)
        return IN_ROOM;
    if (send_desc->is_left)
        return IN_RING;
    send_desc->place = jd__shm_place(batch->group, call->in, bytes);
    send_desc->address = 0;
    if (send_desc->place == JD_PLACE_PRIVATE &&
        jd__shm_cma_is_free(batch->group, bytes))
        send_desc->address = (uintptr_t)call->in;
    return send_desc->place == JD_PLACE_PRIVATE && !send_desc->address
               ? IN_RING
               : STRAIGHT;
}

/* What can be with the receiver before it asks. */
static enum step write_early(struct batch *batch, struct rail *rail,
                             struct send_desc *send_desc)
{
    const void *in = call_of(batch, rail)->in;
    enum step step = MOVED;
    if (send_desc->way == IN_HEAD)
        jd__shm_p2p_copy_head(send_desc->head, in, rail->bytes);
    if (send_desc->way == IN_ROOM)
        memcpy(room_of(own_box(batch, rail), rail)->data, in, rail->bytes);
    if (send_desc->way != IN_RING)
        return step;
    do
        step = jd__shm_p2p_ring_write(batch, rail);
    while (send_desc->is_left && step == MOVED);
    send_desc->early = rail->moved;
    return step;
}

/* The number's store is sequentially consistent, as a revocation's and a
 * receive's, so that of two members of which one gives up the other sees it, or
 * is waited for; what is left holds nobody up, and nothing is read after it. */
static enum step write_send_desc(struct batch *batch, struct rail *rail)
{
    const struct jd_collective *call = call_of(batch, rail);
    struct send_desc *send_desc = own_send(batch, rail);
    send_desc->count = call->count;
    send_desc->dtype = (uint32_t)call->dtype;
    send_desc->tag = batch->transfers[rail->transfer].tag;
    send_desc->rest = call->rest;
    send_desc->is_left = is_left(batch, rail);
    send_desc->way = (uint16_t)choose_way(batch, rail, send_desc);
    if (write_early(batch, rail, send_desc) == REVOKED)
        return REVOKED;
    rail->phase = COMPARING;
    if (send_desc->is_left) {
        atomic_store_explicit(&send_desc->number, rail->number,
                              memory_order_release);
        return CLOSED;
    }
    atomic_store(&send_desc->number, rail->number);
    return MOVED;
}

/* Whether the receiver is done with the send that was there before. */
static enum step find_room(struct batch *batch, struct rail *rail)
{
    uint64_t most = room_for(rail->bytes);
    if (rail->done + most >= rail->number)
        return write_send_desc(batch, rail);
    rail->done = atomic_load_explicit(&other_box(batch, rail)->done,
                                      memory_order_acquire);
    if (rail->done == JD_SHM_REVOKED)
        return REVOKED;
    return rail->done + most >= rail->number ? write_send_desc(batch, rail)
                                             : IDLE;
}

static enum step find_recv_desc(struct batch *batch, struct rail *rail)
{
    const struct recv_desc *recv_desc =
        &other_box(batch, rail)->recv_descs[rail->number % 2];
    uint64_t number = atomic_load(&recv_desc->number);
    if (number == JD_SHM_REVOKED)
        return REVOKED;
    if (number < rail->number)
        return IDLE;
    if (!jd__shm_p2p_terms_agree(
            batch, rail,
            (struct terms){ recv_desc->count, recv_desc->dtype, recv_desc->tag,
                            recv_desc->is_any_size, recv_desc->rest }))
        return CLOSED;
    const struct send_desc *send_desc = own_send(batch, rail);
    rail->phase = MOVING;
    return send_desc->way == IN_HEAD || send_desc->way == IN_ROOM ||
                   (send_desc->way == IN_RING && rail->moved == rail->bytes)
               ? CLOSED
               : MOVED;
}

static enum step find_done(struct batch *batch, const struct rail *rail)
{
    uint64_t done = atomic_load_explicit(&other_box(batch, rail)->done,
                                         memory_order_acquire);
    if (done == JD_SHM_REVOKED)
        return REVOKED;
    return done >= rail->number ? CLOSED : IDLE;
}

static enum step send_on(struct batch *batch, struct rail *rail)
{
    if (rail->phase == COMPARING)
        return find_recv_desc(batch, rail);
    return own_send(batch, rail)->way == STRAIGHT
               ? find_done(batch, rail)
               : jd__shm_p2p_ring_write(batch, rail);
}

/* ---- receiving ---------------------------------------------------------- */

static enum step write_recv_desc(const struct batch *batch, struct rail *rail)
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
    rail->phase = COMPARING;
    return MOVED;
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
    const struct send_desc *send_desc = other_send(batch, rail);
    uint64_t number = atomic_load(&send_desc->number);
    if (number == JD_SHM_REVOKED)
        return REVOKED;
    if (number < rail->number)
        return IDLE;
    struct terms theirs = { .count = send_desc->count,
                            .dtype = send_desc->dtype,
                            .tag = (int32_t)send_desc->tag,
                            .rest = send_desc->rest };
    if (!jd__shm_p2p_terms_agree(batch, rail, theirs)) {
        if (send_desc->way == IN_RING)
            jd__shm_p2p_ring_take(batch, rail, (size_t)send_desc->early);
        if (send_desc->is_left)
            jd__shm_p2p_terms_complain(batch, rail, theirs);
        return CLOSED;
    }
    note_size(batch, rail, theirs.count);
    rail->phase = MOVING;
    if (send_desc->way != IN_HEAD && send_desc->way != IN_ROOM)
        return MOVED;
    void *out = call_of(batch, rail)->out;
    if (send_desc->way == IN_HEAD)
        jd__shm_p2p_copy_head(out, send_desc->head, rail->bytes);
    else
        memcpy(out, room_of(other_box(batch, rail), rail)->data, rail->bytes);
    return CLOSED;
}

/* Who has left its send does not look at what is expected. */
static enum step begin_receive(struct batch *batch, struct rail *rail)
{
    const struct send_desc *send_desc = other_send(batch, rail);
    if (atomic_load_explicit(&send_desc->number, memory_order_acquire) !=
            rail->number ||
        !send_desc->is_left)
        return write_recv_desc(batch, rail);
    rail->phase = COMPARING;
    return find_send_desc(batch, rail);
}

/* The part that is copied before the other rails get a turn. */
#define TURN ((size_t)1 << 20)

static enum step read_straight(struct batch *batch, struct rail *rail)
{
    const struct send_desc *send_desc = other_send(batch, rail);
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
    return part < left ? MOVED : CLOSED;
}

static enum step receive_on(struct batch *batch, struct rail *rail)
{
    if (rail->phase == COMPARING)
        return find_send_desc(batch, rail);
    return other_send(batch, rail)->way == STRAIGHT
               ? read_straight(batch, rail)
               : jd__shm_p2p_ring_read(batch, rail);
}

/* ---- all rails ---------------------------------------------------------- */

static bool is_of(const struct batch *batch, int transfer,
                  const struct rail *rail)
{
    return batch->transfers[transfer].member == rail->member &&
           batch->transfers[transfer].sends == rail->sends;
}

/* Whether the rail has another transfer, which is begun next. */
static bool find_next(const struct batch *batch, struct rail *rail)
{
    do
        rail->transfer++;
    while (rail->transfer < batch->count &&
           !is_of(batch, rail->transfer, rail));
    if (rail->transfer == batch->count) {
        rail->transfer = -1;
        return false;
    }
    rail->number++;
    rail->bytes = bytes_of(call_of(batch, rail));
    rail->moved = 0;
    rail->phase = BEGINNING;
    return true;
}

static enum step begin_transfer(struct batch *batch, struct rail *rail)
{
    if (!jd__shm_p2p_terms_hear(batch, rail))
        return REVOKED;
    return rail->sends ? find_room(batch, rail) : begin_receive(batch, rail);
}

/* Nothing of the transfer is needed any more; the next one is to begin. What
 * the other had to say before it sent is heard with what it sent. */
static enum step close_transfer(struct batch *batch, struct rail *rail)
{
    if (!rail->sends) {
        atomic_store_explicit(&own_box(batch, rail)->done, rail->number,
                              memory_order_release);
        jd__shm_p2p_terms_hear(batch, rail);
    }
    return find_next(batch, rail) ? MOVED : CLOSED;
}

static enum step advance_rail(struct batch *batch, struct rail *rail)
{
    enum step step = rail->phase == BEGINNING ? begin_transfer(batch, rail)
                     : rail->sends            ? send_on(batch, rail)
                                              : receive_on(batch, rail);
    if (step == CLOSED)
        step = close_transfer(batch, rail);
    if (step != REVOKED)
        return step;
    batch->failure = jd__shm_fail_revoked(batch->group);
    return FAILED;
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
    const struct send_desc *send_desc = own_send(batch, rail);
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
        if (!jd__shm_p2p_terms_agree(
                batch, &rail, jd__shm_p2p_terms_of(&batch->transfers[got])))
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

/* At a transfer of its own. */
static void open_rail(struct batch *batch, struct rail *rail, int transfer)
{
    batch->p2p->open[batch->p2p->num_open++] = rail;
    rail->transfer = transfer - 1;
    find_next(batch, rail);
}

/* Each rail that has a transfer, at its first one. */
static void open_rails(struct batch *batch)
{
    for (int i = 0; i < batch->count; i++) {
        struct rail *rail = rail_of(batch->group, &batch->transfers[i]);
        if (batch->transfers[i].member != batch->group->index &&
            rail->transfer < 0)
            open_rail(batch, rail, i);
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
    if (count == 1 && jd__shm_p2p_single(group, transfers))
        return JD_OK;
    group->p2p->num_open = 0;
    transfer_to_self(&batch);
    open_rails(&batch);
    jd_status status = JD_OK;
    group->spec.wait.is_transfer = true;
    if (batch.p2p->num_open)
        status = jd__shm_await_work(group, &p2p_work, &batch);
    group->spec.wait.is_transfer = false;
    return status == JD_OK ? batch.status : status;
}
