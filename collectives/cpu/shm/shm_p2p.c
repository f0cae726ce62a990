/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_p2p.c - sends and receives between pairs of a group's members. */
#include "collectives/cpu/shm/shm_cma.h"
#include "collectives/cpu/shm/shm_p2p.h"
#include "collectives/cpu/shm/shm_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is in a mailbox ----------------------------------------------- */

#define LETTER 1024
#define LETTER_DATA (LETTER - 7 * sizeof(uint64_t))

/* Where the data are. */
enum way { IN_LETTER, STRAIGHT, IN_RING };

/* Two by turns: a receiver may still read one while the next is written. */
struct letter {
    alignas(JD_CACHE_LINE) _Atomic uint64_t number;
    uint64_t count;
    uint32_t dtype;
    uint32_t way;
    uint64_t place, address;
    uint64_t early; /* bytes that are in the ring already */
    int64_t tag;
    char data[LETTER_DATA];
};
static_assert(sizeof(struct letter) == LETTER, "whole lines");

struct ask {
    alignas(JD_CACHE_LINE) _Atomic uint64_t number;
    uint64_t count;
    uint32_t dtype;
    int32_t tag;
};

/* A member's for another; written by its owner alone. Counts of bytes never
 * begin anew. */
struct mailbox {
    struct letter letters[2];
    struct ask asks[2];
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
    return size * (sizeof(struct mailbox) + ring_bytes(group_size));
}

static struct mailbox *box_of(const struct jd_shm_group *group, int owner,
                              int other)
{
    struct mailbox *boxes = (void *)(group->members[owner].control + 1);
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
        struct mailbox *box = box_of(group, group->index, i);
        for (int j = 0; j < 2; j++) {
            atomic_store(&box->letters[j].number, JD_SHM_REVOKED);
            atomic_store(&box->asks[j].number, JD_SHM_REVOKED);
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
    struct jd_shm_p2p *mail = calloc(1, sizeof *mail);
    size_t count = 2 * (size_t)group_size;
    if (!mail)
        return NULL;
    mail->rails = calloc(count, sizeof *mail->rails);
    mail->open = calloc(count, sizeof *mail->open);
    if (!mail->rails || !mail->open) {
        jd__shm_p2p_destroy(mail);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        mail->rails[i] = (struct rail){ .sends = i < count / 2,
                                        .member = (int)(i % (count / 2)),
                                        .transfer = -1 };
    return mail;
}

void jd__shm_p2p_destroy(struct jd_shm_p2p *mail)
{
    if (!mail)
        return;
    free(mail->rails);
    free(mail->open);
    free(mail);
}

/* ---- one call ----------------------------------------------------------- */

/* What a step of a rail came to. FAILED: with the post's failure. */
enum step { IDLE, MOVED, CLOSED, FAILED };

struct post {
    struct jd_shm_group *group;
    struct jd_shm_p2p *mail;
    const struct jd_transfer *transfers;
    int count;
    jd_status status;  /* the first pair that did not match */
    jd_status failure; /* what ends the call */
};

static enum step fail_revoked(struct post *post)
{
    post->failure = jd__shm_fail_revoked(post->group);
    return FAILED;
}

static const struct jd_collective *call_of(const struct post *post,
                                           const struct rail *rail)
{
    return &post->transfers[rail->transfer].call;
}

static size_t bytes_of(const struct jd_collective *call)
{
    return call->count * jd_dtype_size(call->dtype);
}

static bool is_send(const struct jd_transfer *transfer)
{
    return transfer->call.activity == JD_ACTIVITY_SEND;
}

static struct mailbox *own_box(const struct post *post, const struct rail *rail)
{
    return box_of(post->group, post->group->index, rail->member);
}

static struct mailbox *other_box(const struct post *post,
                                 const struct rail *rail)
{
    return box_of(post->group, rail->member, post->group->index);
}

/* What the two ends compare. */
struct terms {
    uint64_t count;
    uint32_t dtype;
    int32_t tag;
};

static struct terms terms_of(const struct jd_transfer *transfer)
{
    return (struct terms){ .count = transfer->call.count,
                           .dtype = (uint32_t)transfer->call.dtype,
                           .tag = transfer->tag };
}

static jd_status fail_unequal(const struct post *post, const struct rail *rail,
                              struct terms theirs)
{
    const struct jd_collective *call = call_of(post, rail);
    const struct jd_shm_group *group = post->group;
    struct terms own = terms_of(&post->transfers[rail->transfer]);
    int sender = rail->sends ? group->index : rail->member;
    int receiver = rail->sends ? rail->member : group->index;
    struct terms sent = rail->sends ? own : theirs;
    struct terms wanted = rail->sends ? theirs : own;
    return jd_fail(
        JD_INVALID_ARGUMENT,
        "%s%s: process %d (member %d) sends %" PRIu64
        " x %s%s, where process %d (member %d) receives %" PRIu64 " x %s%s; %s",
        jd__signature_activity_name(call->activity),
        call->detail ? call->detail : "", group->processes[sender], sender,
        sent.count, jd_dtype_name((jd_dtype)sent.dtype),
        jd__tag_text(sent.tag, wanted.tag).text, group->processes[receiver],
        receiver, wanted.count, jd_dtype_name((jd_dtype)wanted.dtype),
        jd__tag_text(wanted.tag, sent.tag).text,
        jd__transfer_rule(sent.tag, wanted.tag));
}

/* Remembers the first one's sentence. */
static bool is_equal(struct post *post, const struct rail *rail,
                     struct terms theirs)
{
    struct terms own = terms_of(&post->transfers[rail->transfer]);
    if (own.count == theirs.count && own.dtype == theirs.dtype &&
        own.tag == theirs.tag)
        return true;
    if (post->status == JD_OK)
        post->status = fail_unequal(post, rail, theirs);
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
static size_t ring_part(const struct post *post, size_t left, uint64_t room)
{
    size_t part = ring_bytes(post->group->size) / 4;
    if (room < part)
        part = (size_t)room;
    return left < part ? left : part;
}

static enum step write_ring(struct post *post, struct rail *rail)
{
    const struct jd_collective *call = call_of(post, rail);
    struct jd_shm_group *group = post->group;
    size_t size = ring_bytes(group->size), left = bytes_of(call) - rail->moved;
    uint64_t taken = atomic_load_explicit(&other_box(post, rail)->taken,
                                          memory_order_acquire);
    if (taken == JD_SHM_REVOKED)
        return fail_revoked(post);
    size_t part = ring_part(post, left, size - (rail->ring - taken));
    if (part == 0)
        return IDLE;
    copy_ring(ring_of(group, group->index, rail->member), size, rail->ring,
              (char *)(uintptr_t)call->in + rail->moved, part, true);
    rail->ring += part;
    rail->moved += part;
    atomic_store_explicit(&own_box(post, rail)->written, rail->ring,
                          memory_order_release);
    return part == left ? CLOSED : MOVED;
}

static void say_taken(const struct post *post, struct rail *rail, size_t bytes)
{
    rail->ring += bytes;
    atomic_store_explicit(&own_box(post, rail)->taken, rail->ring,
                          memory_order_release);
}

static enum step read_ring(struct post *post, struct rail *rail)
{
    const struct jd_collective *call = call_of(post, rail);
    struct jd_shm_group *group = post->group;
    size_t size = ring_bytes(group->size), left = bytes_of(call) - rail->moved;
    uint64_t written = atomic_load_explicit(&other_box(post, rail)->written,
                                            memory_order_acquire);
    if (written == JD_SHM_REVOKED)
        return fail_revoked(post);
    size_t part = ring_part(post, left, written - rail->ring);
    if (part == 0)
        return IDLE;
    copy_ring(ring_of(group, rail->member, group->index), size, rail->ring,
              (char *)call->out + rail->moved, part, false);
    rail->moved += part;
    say_taken(post, rail, part);
    return part == left ? CLOSED : MOVED;
}

/* ---- sending ------------------------------------------------------------ */

static enum way choose_way(const struct post *post, const struct rail *rail,
                           struct letter *letter)
{
    const struct jd_collective *call = call_of(post, rail);
    size_t bytes = bytes_of(call);
    if (bytes <= LETTER_DATA)
        return IN_LETTER;
    letter->place = jd__shm_place(post->group, call->in, bytes);
    letter->address = 0;
    if (letter->place == JD_PLACE_PRIVATE &&
        jd__shm_cma_is_free(post->group, bytes))
        letter->address = (uintptr_t)call->in;
    return letter->place == JD_PLACE_PRIVATE && !letter->address ? IN_RING
                                                                 : STRAIGHT;
}

/* The number's store is sequentially consistent, as a revocation's and an
 * ask's: shm.c says why. */
static enum step post_letter(struct post *post, struct rail *rail)
{
    const struct jd_collective *call = call_of(post, rail);
    struct letter *letter = &own_box(post, rail)->letters[rail->number % 2];
    enum step step = MOVED;
    letter->count = call->count;
    letter->dtype = (uint32_t)call->dtype;
    letter->tag = post->transfers[rail->transfer].tag;
    letter->way = choose_way(post, rail, letter);
    if (letter->way == IN_LETTER && call->count)
        memcpy(letter->data, call->in, bytes_of(call));
    if (letter->way == IN_RING)
        step = write_ring(post, rail);
    letter->early = rail->moved;
    atomic_store(&letter->number, rail->number);
    return step == FAILED ? FAILED : MOVED;
}

static enum step find_ask(struct post *post, struct rail *rail)
{
    const struct ask *ask = &other_box(post, rail)->asks[rail->number % 2];
    uint64_t number = atomic_load(&ask->number);
    if (number == JD_SHM_REVOKED)
        return fail_revoked(post);
    if (number < rail->number)
        return IDLE;
    if (!is_equal(post, rail,
                  (struct terms){ ask->count, ask->dtype, ask->tag }))
        return CLOSED;
    const struct letter *letter =
        &own_box(post, rail)->letters[rail->number % 2];
    rail->phase = MOVING;
    return letter->way == IN_LETTER ||
                   (letter->way == IN_RING &&
                    rail->moved == bytes_of(call_of(post, rail)))
               ? CLOSED
               : MOVED;
}

static enum step find_done(struct post *post, const struct rail *rail)
{
    uint64_t done = atomic_load_explicit(&other_box(post, rail)->done,
                                         memory_order_acquire);
    if (done == JD_SHM_REVOKED)
        return fail_revoked(post);
    return done >= rail->number ? CLOSED : IDLE;
}

static enum step send_on(struct post *post, struct rail *rail)
{
    if (rail->phase == COMPARING)
        return find_ask(post, rail);
    return own_box(post, rail)->letters[rail->number % 2].way == STRAIGHT
               ? find_done(post, rail)
               : write_ring(post, rail);
}

/* ---- receiving ---------------------------------------------------------- */

static void post_ask(const struct post *post, const struct rail *rail)
{
    const struct jd_collective *call = call_of(post, rail);
    struct ask *ask = &own_box(post, rail)->asks[rail->number % 2];
    ask->count = call->count;
    ask->dtype = (uint32_t)call->dtype;
    ask->tag = post->transfers[rail->transfer].tag;
    atomic_store(&ask->number, rail->number);
}

static enum step find_letter(struct post *post, struct rail *rail)
{
    const struct letter *letter =
        &other_box(post, rail)->letters[rail->number % 2];
    uint64_t number = atomic_load(&letter->number);
    if (number == JD_SHM_REVOKED)
        return fail_revoked(post);
    if (number < rail->number)
        return IDLE;
    const struct jd_collective *call = call_of(post, rail);
    if (!is_equal(post, rail,
                  (struct terms){ letter->count, letter->dtype,
                                  (int32_t)letter->tag })) {
        say_taken(post, rail, (size_t)letter->early);
        return CLOSED;
    }
    rail->phase = MOVING;
    if (letter->way != IN_LETTER)
        return MOVED;
    if (call->count)
        memcpy(call->out, letter->data, bytes_of(call));
    return CLOSED;
}

/* The part that is copied before the other rails get a turn. */
#define TURN ((size_t)1 << 20)

static enum step read_straight(struct post *post, struct rail *rail)
{
    const struct letter *letter =
        &other_box(post, rail)->letters[rail->number % 2];
    const struct jd_collective *call = call_of(post, rail);
    size_t bytes = bytes_of(call), left = bytes - rail->moved;
    size_t part = left < TURN ? left : TURN;
    struct jd_shm_cma in = jd__shm_cma_of(
        post->group, rail->member, letter->place, letter->address, bytes);
    struct jd_strided to = { (char *)call->out + rail->moved, 1, part, part };
    post->failure = jd__shm_cma_copy(post->group, in, rail->moved, part, &to);
    if (post->failure != JD_OK)
        return FAILED;
    rail->moved += part;
    if (part < left)
        return MOVED;
    atomic_store_explicit(&own_box(post, rail)->done, rail->number,
                          memory_order_release);
    return CLOSED;
}

static enum step receive_on(struct post *post, struct rail *rail)
{
    if (rail->phase == COMPARING)
        return find_letter(post, rail);
    return other_box(post, rail)->letters[rail->number % 2].way == STRAIGHT
               ? read_straight(post, rail)
               : read_ring(post, rail);
}

/* ---- all rails ---------------------------------------------------------- */

static bool is_of(const struct post *post, int transfer,
                  const struct rail *rail)
{
    return post->transfers[transfer].member == rail->member &&
           is_send(&post->transfers[transfer]) == rail->sends;
}

/* Says what the rail's next transfer is; closes it where there is none. */
static enum step begin_next(struct post *post, struct rail *rail)
{
    do
        rail->transfer++;
    while (rail->transfer < post->count && !is_of(post, rail->transfer, rail));
    if (rail->transfer == post->count) {
        rail->transfer = -1;
        return CLOSED;
    }
    rail->number++;
    rail->moved = 0;
    rail->phase = COMPARING;
    if (rail->sends)
        return post_letter(post, rail);
    post_ask(post, rail);
    return MOVED;
}

static enum step advance(struct post *post, struct rail *rail)
{
    enum step step = rail->sends ? send_on(post, rail) : receive_on(post, rail);
    return step == CLOSED ? begin_next(post, rail) : step;
}

static enum jd_work work(void *arg, jd_status *ret_status)
{
    struct post *post = arg;
    struct jd_shm_p2p *mail = post->mail;
    enum jd_work result = JD_WORK_IDLE;
    for (int i = 0; i < mail->num_open;) {
        enum step step = advance(post, mail->open[i]);
        *ret_status = post->failure;
        if (step == FAILED)
            return JD_WORK_FAILED;
        if (step != IDLE)
            result = JD_WORK_MOVED;
        if (step == CLOSED)
            mail->open[i] = mail->open[--mail->num_open];
        else
            i++;
    }
    return mail->num_open ? result : JD_WORK_DONE;
}

static int find_missing(void *arg, int *members)
{
    const struct post *post = arg;
    const struct rail *rails = post->mail->rails;
    int size = post->group->size, count = 0;
    for (int i = 0; i < size; i++)
        if (rails[i].transfer >= 0 || rails[size + i].transfer >= 0)
            members[count++] = i;
    return count;
}

/* Whether a receiver that has found its letter may still read what the letter
 * tells of. */
static bool holds_on(void *arg, int member)
{
    const struct post *post = arg;
    const struct rail *rail = &post->mail->rails[member];
    if (rail->transfer < 0)
        return false;
    const struct letter *letter =
        &own_box(post, rail)->letters[rail->number % 2];
    const struct mailbox *other = other_box(post, rail);
    uint64_t asked = atomic_load(&other->asks[rail->number % 2].number);
    return letter->way == STRAIGHT && asked >= rail->number &&
           atomic_load(&other->done) < rail->number;
}

static const struct jd_shm_work mail_work = {
    .work = work,
    .find_missing = find_missing,
    .holds_on = holds_on,
};

/* ---- to itself ---------------------------------------------------------- */

static int next_own(const struct post *post, int transfer, bool sends)
{
    struct rail own = { .sends = sends, .member = post->group->index };
    do
        transfer++;
    while (transfer < post->count && !is_of(post, transfer, &own));
    return transfer;
}

static jd_status fail_alone(const struct post *post, int transfer)
{
    const struct jd_collective *call = &post->transfers[transfer].call;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s%s: process %d (member %d) has a %s itself without its "
                   "%s in the same group; put both between jd_group_begin and "
                   "jd_group_end",
                   jd__signature_activity_name(call->activity),
                   call->detail ? call->detail : "",
                   post->group->processes[post->group->index],
                   post->group->index, call->out ? "receive from" : "send to",
                   call->out ? "send" : "receive");
}

static void transfer_to_self(struct post *post)
{
    int sent = next_own(post, -1, true), got = next_own(post, -1, false);
    for (; sent < post->count && got < post->count;
         sent = next_own(post, sent, true), got = next_own(post, got, false)) {
        const struct jd_collective *from = &post->transfers[sent].call;
        const struct jd_collective *to = &post->transfers[got].call;
        struct rail rail = { .sends = true,
                             .member = post->group->index,
                             .transfer = sent };
        if (is_equal(post, &rail, terms_of(&post->transfers[got])) && to->count)
            memmove(to->out, from->in, bytes_of(to));
    }
    int left = sent < post->count ? sent : got;
    if (left < post->count && post->status == JD_OK)
        post->status = fail_alone(post, left);
}

/* ---- the call ----------------------------------------------------------- */

/* Each rail that has a transfer begins its first one. */
static void open_lanes(struct post *post)
{
    struct jd_shm_p2p *mail = post->mail;
    mail->num_open = 0;
    for (int i = 0; i < post->count; i++) {
        int member = post->transfers[i].member;
        bool sends = is_send(&post->transfers[i]);
        struct rail *rail =
            &mail->rails[sends ? member : post->group->size + member];
        if (member == post->group->index || rail->transfer >= 0)
            continue;
        mail->open[mail->num_open++] = rail;
        rail->transfer = i - 1;
        begin_next(post, rail);
    }
}

jd_status jd__shm_p2p_transfer(struct jd_shm_group *group,
                               const struct jd_transfer *transfers, int count)
{
    struct post post = { .group = group,
                         .mail = group->mail,
                         .transfers = transfers,
                         .count = count };
    if (atomic_load_explicit(&group->own->is_aborted, memory_order_relaxed))
        jd__shm_revoke(group);
    if (group->is_revoked)
        return jd__shm_fail_revoked(group);
    jd__shm_cma_try(group);
    transfer_to_self(&post);
    open_lanes(&post);
    jd_status status = JD_OK;
    group->spec.wait.is_transfer = true;
    if (post.mail->num_open)
        status = jd__shm_await_work(group, &mail_work, &post);
    group->spec.wait.is_transfer = false;
    return status == JD_OK ? post.status : status;
}
