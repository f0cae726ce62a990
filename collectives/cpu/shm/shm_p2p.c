/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_p2p.c - sends and receives between pairs of a team's members. */
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
static size_t ring_bytes(int team_size)
{
    size_t bytes = LONGEST_RING;
    while (bytes > SHORTEST_RING && bytes * (size_t)team_size > MOST_RINGS)
        bytes /= 2;
    return bytes;
}

size_t jd__mail_size(int team_size)
{
    size_t size = (size_t)team_size;
    return size * (sizeof(struct mailbox) + ring_bytes(team_size));
}

static struct mailbox *box_of(const struct jd_team *team, int owner, int other)
{
    struct mailbox *boxes = (void *)(team->members[owner].control + 1);
    return &boxes[other];
}

static char *ring_of(const struct jd_team *team, int owner, int other)
{
    char *rings = (char *)box_of(team, owner, team->size);
    return rings + (size_t)other * ring_bytes(team->size);
}

void jd__mail_revoke(struct jd_team *team)
{
    for (int i = 0; i < team->size; i++) {
        struct mailbox *box = box_of(team, team->index, i);
        for (int j = 0; j < 2; j++) {
            atomic_store(&box->letters[j].number, JD_TEAM_REVOKED);
            atomic_store(&box->asks[j].number, JD_TEAM_REVOKED);
        }
        atomic_store(&box->written, JD_TEAM_REVOKED);
        atomic_store(&box->taken, JD_TEAM_REVOKED);
        atomic_store(&box->done, JD_TEAM_REVOKED);
    }
}

/* ---- this end ----------------------------------------------------------- */

enum phase { COMPARING, MOVING };

/* One direction between this member and another: one transfer at a time. */
struct lane {
    bool sends;
    int member;
    int transfer; /* its place in the list; -1: none any more */
    enum phase phase;
    size_t moved;    /* bytes */
    uint64_t number; /* of the last transfer that was begun, ever */
    uint64_t ring;   /* bytes that went through the ring, ever */
};

struct jd_mail {
    struct lane *lanes; /* the sending ones, then the receiving ones */
    struct lane **open; /* those that the present call needs */
    int num_open;
};

struct jd_mail *jd__mail_create(int team_size)
{
    struct jd_mail *mail = calloc(1, sizeof *mail);
    size_t count = 2 * (size_t)team_size;
    if (!mail)
        return NULL;
    mail->lanes = calloc(count, sizeof *mail->lanes);
    mail->open = calloc(count, sizeof *mail->open);
    if (!mail->lanes || !mail->open) {
        jd__mail_destroy(mail);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        mail->lanes[i] = (struct lane){ .sends = i < count / 2,
                                        .member = (int)(i % (count / 2)),
                                        .transfer = -1 };
    return mail;
}

void jd__mail_destroy(struct jd_mail *mail)
{
    if (!mail)
        return;
    free(mail->lanes);
    free(mail->open);
    free(mail);
}

/* ---- one call ----------------------------------------------------------- */

/* What a step of a lane came to. FAILED: with the post's failure. */
enum step { IDLE, MOVED, CLOSED, FAILED };

struct post {
    struct jd_team *team;
    struct jd_mail *mail;
    const struct jd_transfer *transfers;
    int count;
    jd_status status;  /* the first pair that did not match */
    jd_status failure; /* what ends the call */
};

static enum step fail_revoked(struct post *post)
{
    post->failure = jd__team_fail_revoked(post->team);
    return FAILED;
}

static const struct jd_collective *call_of(const struct post *post,
                                           const struct lane *lane)
{
    return &post->transfers[lane->transfer].call;
}

static size_t bytes_of(const struct jd_collective *call)
{
    return call->count * jd_dtype_size(call->dtype);
}

static bool is_send(const struct jd_transfer *transfer)
{
    return transfer->call.activity == JD_ACTIVITY_SEND;
}

static struct mailbox *own_box(const struct post *post, const struct lane *lane)
{
    return box_of(post->team, post->team->index, lane->member);
}

static struct mailbox *other_box(const struct post *post,
                                 const struct lane *lane)
{
    return box_of(post->team, lane->member, post->team->index);
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

static jd_status fail_unequal(const struct post *post, const struct lane *lane,
                              struct terms theirs)
{
    const struct jd_collective *call = call_of(post, lane);
    const struct jd_team *team = post->team;
    struct terms own = terms_of(&post->transfers[lane->transfer]);
    int sender = lane->sends ? team->index : lane->member;
    int receiver = lane->sends ? lane->member : team->index;
    struct terms sent = lane->sends ? own : theirs;
    struct terms wanted = lane->sends ? theirs : own;
    return jd_fail(
        JD_INVALID_ARGUMENT,
        "%s%s: process %d (member %d) sends %" PRIu64
        " x %s%s, where process %d (member %d) receives %" PRIu64 " x %s%s; %s",
        jd__activity_name(call->activity), call->detail ? call->detail : "",
        team->processes[sender], sender, sent.count,
        jd_dtype_name((jd_dtype)sent.dtype),
        jd__tag_text(sent.tag, wanted.tag).text, team->processes[receiver],
        receiver, wanted.count, jd_dtype_name((jd_dtype)wanted.dtype),
        jd__tag_text(wanted.tag, sent.tag).text,
        jd__transfer_rule(sent.tag, wanted.tag));
}

/* Remembers the first one's sentence. */
static bool is_equal(struct post *post, const struct lane *lane,
                     struct terms theirs)
{
    struct terms own = terms_of(&post->transfers[lane->transfer]);
    if (own.count == theirs.count && own.dtype == theirs.dtype &&
        own.tag == theirs.tag)
        return true;
    if (post->status == JD_OK)
        post->status = fail_unequal(post, lane, theirs);
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
    size_t part = ring_bytes(post->team->size) / 4;
    if (room < part)
        part = (size_t)room;
    return left < part ? left : part;
}

static enum step write_ring(struct post *post, struct lane *lane)
{
    const struct jd_collective *call = call_of(post, lane);
    struct jd_team *team = post->team;
    size_t size = ring_bytes(team->size), left = bytes_of(call) - lane->moved;
    uint64_t taken = atomic_load_explicit(&other_box(post, lane)->taken,
                                          memory_order_acquire);
    if (taken == JD_TEAM_REVOKED)
        return fail_revoked(post);
    size_t part = ring_part(post, left, size - (lane->ring - taken));
    if (part == 0)
        return IDLE;
    copy_ring(ring_of(team, team->index, lane->member), size, lane->ring,
              (char *)(uintptr_t)call->in + lane->moved, part, true);
    lane->ring += part;
    lane->moved += part;
    atomic_store_explicit(&own_box(post, lane)->written, lane->ring,
                          memory_order_release);
    return part == left ? CLOSED : MOVED;
}

static void say_taken(const struct post *post, struct lane *lane, size_t bytes)
{
    lane->ring += bytes;
    atomic_store_explicit(&own_box(post, lane)->taken, lane->ring,
                          memory_order_release);
}

static enum step read_ring(struct post *post, struct lane *lane)
{
    const struct jd_collective *call = call_of(post, lane);
    struct jd_team *team = post->team;
    size_t size = ring_bytes(team->size), left = bytes_of(call) - lane->moved;
    uint64_t written = atomic_load_explicit(&other_box(post, lane)->written,
                                            memory_order_acquire);
    if (written == JD_TEAM_REVOKED)
        return fail_revoked(post);
    size_t part = ring_part(post, left, written - lane->ring);
    if (part == 0)
        return IDLE;
    copy_ring(ring_of(team, lane->member, team->index), size, lane->ring,
              (char *)call->out + lane->moved, part, false);
    lane->moved += part;
    say_taken(post, lane, part);
    return part == left ? CLOSED : MOVED;
}

/* ---- sending ------------------------------------------------------------ */

static enum way choose_way(const struct post *post, const struct lane *lane,
                           struct letter *letter)
{
    const struct jd_collective *call = call_of(post, lane);
    size_t bytes = bytes_of(call);
    if (bytes <= LETTER_DATA)
        return IN_LETTER;
    letter->place = jd__team_place(post->team, call->in, bytes);
    letter->address = 0;
    if (letter->place == JD_PLACE_PRIVATE &&
        jd__sight_is_free(post->team, bytes))
        letter->address = (uintptr_t)call->in;
    return letter->place == JD_PLACE_PRIVATE && !letter->address ? IN_RING
                                                                 : STRAIGHT;
}

/* The number's store is sequentially consistent, as a revocation's and an
 * ask's: shm.c says why. */
static enum step post_letter(struct post *post, struct lane *lane)
{
    const struct jd_collective *call = call_of(post, lane);
    struct letter *letter = &own_box(post, lane)->letters[lane->number % 2];
    enum step step = MOVED;
    letter->count = call->count;
    letter->dtype = (uint32_t)call->dtype;
    letter->tag = post->transfers[lane->transfer].tag;
    letter->way = choose_way(post, lane, letter);
    if (letter->way == IN_LETTER && call->count)
        memcpy(letter->data, call->in, bytes_of(call));
    if (letter->way == IN_RING)
        step = write_ring(post, lane);
    letter->early = lane->moved;
    atomic_store(&letter->number, lane->number);
    return step == FAILED ? FAILED : MOVED;
}

static enum step find_ask(struct post *post, struct lane *lane)
{
    const struct ask *ask = &other_box(post, lane)->asks[lane->number % 2];
    uint64_t number = atomic_load(&ask->number);
    if (number == JD_TEAM_REVOKED)
        return fail_revoked(post);
    if (number < lane->number)
        return IDLE;
    if (!is_equal(post, lane,
                  (struct terms){ ask->count, ask->dtype, ask->tag }))
        return CLOSED;
    const struct letter *letter =
        &own_box(post, lane)->letters[lane->number % 2];
    lane->phase = MOVING;
    return letter->way == IN_LETTER ||
                   (letter->way == IN_RING &&
                    lane->moved == bytes_of(call_of(post, lane)))
               ? CLOSED
               : MOVED;
}

static enum step find_done(struct post *post, const struct lane *lane)
{
    uint64_t done = atomic_load_explicit(&other_box(post, lane)->done,
                                         memory_order_acquire);
    if (done == JD_TEAM_REVOKED)
        return fail_revoked(post);
    return done >= lane->number ? CLOSED : IDLE;
}

static enum step send_on(struct post *post, struct lane *lane)
{
    if (lane->phase == COMPARING)
        return find_ask(post, lane);
    return own_box(post, lane)->letters[lane->number % 2].way == STRAIGHT
               ? find_done(post, lane)
               : write_ring(post, lane);
}

/* ---- receiving ---------------------------------------------------------- */

static void post_ask(const struct post *post, const struct lane *lane)
{
    const struct jd_collective *call = call_of(post, lane);
    struct ask *ask = &own_box(post, lane)->asks[lane->number % 2];
    ask->count = call->count;
    ask->dtype = (uint32_t)call->dtype;
    ask->tag = post->transfers[lane->transfer].tag;
    atomic_store(&ask->number, lane->number);
}

static enum step find_letter(struct post *post, struct lane *lane)
{
    const struct letter *letter =
        &other_box(post, lane)->letters[lane->number % 2];
    uint64_t number = atomic_load(&letter->number);
    if (number == JD_TEAM_REVOKED)
        return fail_revoked(post);
    if (number < lane->number)
        return IDLE;
    const struct jd_collective *call = call_of(post, lane);
    if (!is_equal(post, lane,
                  (struct terms){ letter->count, letter->dtype,
                                  (int32_t)letter->tag })) {
        say_taken(post, lane, (size_t)letter->early);
        return CLOSED;
    }
    lane->phase = MOVING;
    if (letter->way != IN_LETTER)
        return MOVED;
    if (call->count)
        memcpy(call->out, letter->data, bytes_of(call));
    return CLOSED;
}

/* The part that is copied before the other lanes get a turn. */
#define TURN ((size_t)1 << 20)

static enum step read_straight(struct post *post, struct lane *lane)
{
    const struct letter *letter =
        &other_box(post, lane)->letters[lane->number % 2];
    const struct jd_collective *call = call_of(post, lane);
    size_t bytes = bytes_of(call), left = bytes - lane->moved;
    size_t part = left < TURN ? left : TURN;
    struct jd_sight in = jd__sight_of(post->team, lane->member, letter->place,
                                      letter->address, bytes);
    struct jd_block to = { (char *)call->out + lane->moved, 1, part, part };
    post->failure = jd__sight_copy(post->team, in, lane->moved, part, &to);
    if (post->failure != JD_OK)
        return FAILED;
    lane->moved += part;
    if (part < left)
        return MOVED;
    atomic_store_explicit(&own_box(post, lane)->done, lane->number,
                          memory_order_release);
    return CLOSED;
}

static enum step receive_on(struct post *post, struct lane *lane)
{
    if (lane->phase == COMPARING)
        return find_letter(post, lane);
    return other_box(post, lane)->letters[lane->number % 2].way == STRAIGHT
               ? read_straight(post, lane)
               : read_ring(post, lane);
}

/* ---- all lanes ---------------------------------------------------------- */

static bool is_of(const struct post *post, int transfer,
                  const struct lane *lane)
{
    return post->transfers[transfer].member == lane->member &&
           is_send(&post->transfers[transfer]) == lane->sends;
}

/* Says what the lane's next transfer is; closes it where there is none. */
static enum step begin_next(struct post *post, struct lane *lane)
{
    do
        lane->transfer++;
    while (lane->transfer < post->count && !is_of(post, lane->transfer, lane));
    if (lane->transfer == post->count) {
        lane->transfer = -1;
        return CLOSED;
    }
    lane->number++;
    lane->moved = 0;
    lane->phase = COMPARING;
    if (lane->sends)
        return post_letter(post, lane);
    post_ask(post, lane);
    return MOVED;
}

static enum step advance(struct post *post, struct lane *lane)
{
    enum step step = lane->sends ? send_on(post, lane) : receive_on(post, lane);
    return step == CLOSED ? begin_next(post, lane) : step;
}

static enum jd_work work(void *arg, jd_status *ret_status)
{
    struct post *post = arg;
    struct jd_mail *mail = post->mail;
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
    const struct lane *lanes = post->mail->lanes;
    int size = post->team->size, count = 0;
    for (int i = 0; i < size; i++)
        if (lanes[i].transfer >= 0 || lanes[size + i].transfer >= 0)
            members[count++] = i;
    return count;
}

/* Whether a receiver that has found its letter may still read what the letter
 * tells of. */
static bool holds_on(void *arg, int member)
{
    const struct post *post = arg;
    const struct lane *lane = &post->mail->lanes[member];
    if (lane->transfer < 0)
        return false;
    const struct letter *letter =
        &own_box(post, lane)->letters[lane->number % 2];
    const struct mailbox *other = other_box(post, lane);
    uint64_t asked = atomic_load(&other->asks[lane->number % 2].number);
    return letter->way == STRAIGHT && asked >= lane->number &&
           atomic_load(&other->done) < lane->number;
}

static const struct jd_team_work mail_work = {
    .work = work,
    .find_missing = find_missing,
    .holds_on = holds_on,
};

/* ---- to itself ---------------------------------------------------------- */

static int next_own(const struct post *post, int transfer, bool sends)
{
    struct lane own = { .sends = sends, .member = post->team->index };
    do
        transfer++;
    while (transfer < post->count && !is_of(post, transfer, &own));
    return transfer;
}

static jd_status fail_alone(const struct post *post, int transfer)
{
    const struct jd_collective *call = &post->transfers[transfer].call;
    return jd_fail(
        JD_INVALID_ARGUMENT,
        "%s%s: process %d (member %d) has a %s itself without its "
        "%s in the same group; put both between jd_group_begin and "
        "jd_group_end",
        jd__activity_name(call->activity), call->detail ? call->detail : "",
        post->team->processes[post->team->index], post->team->index,
        call->out ? "receive from" : "send to", call->out ? "send" : "receive");
}

static void transfer_to_self(struct post *post)
{
    int sent = next_own(post, -1, true), got = next_own(post, -1, false);
    for (; sent < post->count && got < post->count;
         sent = next_own(post, sent, true), got = next_own(post, got, false)) {
        const struct jd_collective *from = &post->transfers[sent].call;
        const struct jd_collective *to = &post->transfers[got].call;
        struct lane lane = { .sends = true,
                             .member = post->team->index,
                             .transfer = sent };
        if (is_equal(post, &lane, terms_of(&post->transfers[got])) && to->count)
            memmove(to->out, from->in, bytes_of(to));
    }
    int left = sent < post->count ? sent : got;
    if (left < post->count && post->status == JD_OK)
        post->status = fail_alone(post, left);
}

/* ---- the call ----------------------------------------------------------- */

/* Each lane that has a transfer begins its first one. */
static void open_lanes(struct post *post)
{
    struct jd_mail *mail = post->mail;
    mail->num_open = 0;
    for (int i = 0; i < post->count; i++) {
        int member = post->transfers[i].member;
        bool sends = is_send(&post->transfers[i]);
        struct lane *lane =
            &mail->lanes[sends ? member : post->team->size + member];
        if (member == post->team->index || lane->transfer >= 0)
            continue;
        mail->open[mail->num_open++] = lane;
        lane->transfer = i - 1;
        begin_next(post, lane);
    }
}

jd_status jd__mail_transfer(struct jd_team *team,
                            const struct jd_transfer *transfers, int count)
{
    struct post post = {
        .team = team, .mail = team->mail, .transfers = transfers, .count = count
    };
    if (atomic_load_explicit(&team->own->is_aborted, memory_order_relaxed))
        jd__team_revoke(team);
    if (team->is_revoked)
        return jd__team_fail_revoked(team);
    jd__sight_try(team);
    transfer_to_self(&post);
    open_lanes(&post);
    jd_status status = JD_OK;
    if (post.mail->num_open)
        status = jd__team_await_work(team, &mail_work, &post);
    return status == JD_OK ? post.status : status;
}
