/* SPDX-License-Identifier: BSD-3-Clause */
/* transfers.c - sends and receives, one by one and in groups. */
#include "operations.h"

#include <string.h>

/* ---- one by one --------------------------------------------------------- */

/* The members in pairs, in a random order; an odd one is alone: -1. */
static int draw_partner(const struct attempt *a, bool *is_first)
{
    int order[MAX_MEMBERS], place = 0;
    draw_order(a, order);
    while (order[place] != a->span->index)
        place++;
    *is_first = place % 2 == 0;
    place ^= 1;
    return place < a->span->size ? order[place] : -1;
}

static void plan_pairs(struct attempt *a)
{
    bool is_first;
    int partner = draw_partner(a, &is_first);
    a->in_count = partner < 0 ? 0 : a->count;
    a->out_count = a->count;
    a->place = NO_PLACE;
}

/* There and back. */
static jd_status run_pairs(const struct attempt *a)
{
    jd_status status = JD_OK;
    bool is_first;
    int partner = draw_partner(a, &is_first);
    for (int turn = 0; partner >= 0 && status == JD_OK && turn < 2; turn++)
        if (is_first == (turn == 0))
            status = jd_send(a->span->shard, a->axes, partner, a->in, a->count,
                             a->dtype);
        else
            status = jd_recv(a->span->shard, a->axes, partner, a->out, a->count,
                             a->dtype);
    return status;
}

static void expect_pairs(const struct attempt *a, char *wanted)
{
    bool is_first;
    int partner = draw_partner(a, &is_first);
    if (partner >= 0)
        expect_given(a, partner, 0, a->count, wanted);
}

const struct operation operation_send_recv = {
    .name = "send_recv",
    .call = "jd_send",
    .is_transfer = true,
    .plan = plan_pairs,
    .run = run_pairs,
    .expect = expect_pairs,
};

/* ---- both at once ------------------------------------------------------- */

/* Along a ring in a random order, which is open at a quarter of its links; each
 * link has a length of its own. */
struct links {
    int to, from; /* -1: nobody */
    size_t sent, received;
};

static size_t link_length(const struct attempt *a, int place)
{
    uint64_t size = (uint64_t)a->span->size;
    return draw(a, 600 + ((uint64_t)place + size) % size, 2) ? a->count
                                                             : a->count / 2;
}

static bool is_open(const struct attempt *a, int place)
{
    uint64_t size = (uint64_t)a->span->size;
    return draw(a, 700 + ((uint64_t)place + size) % size, 4) == 0;
}

static struct links draw_links(const struct attempt *a)
{
    int order[MAX_MEMBERS], size = a->span->size, place = 0;
    draw_order(a, order);
    while (order[place] != a->span->index)
        place++;
    return (struct links){
        .to = is_open(a, place) ? -1 : order[(place + 1) % size],
        .from = is_open(a, place - 1) ? -1 : order[(place + size - 1) % size],
        .sent = link_length(a, place),
        .received = link_length(a, place - 1),
    };
}

static void plan_links(struct attempt *a)
{
    a->in_count = a->out_count = a->count;
    a->place = NO_PLACE;
}

static jd_status run_links(const struct attempt *a)
{
    struct links links = draw_links(a);
    return jd_sendrecv(a->span->shard, a->axes, links.to, a->in, links.sent,
                       links.from, a->out, links.received, a->dtype);
}

static void expect_links(const struct attempt *a, char *wanted)
{
    struct links links = draw_links(a);
    if (links.from >= 0)
        expect_given(a, links.from, 0, links.received, wanted);
}

const struct operation operation_sendrecv = {
    .name = "sendrecv",
    .call = "jd_sendrecv",
    .is_transfer = true,
    .plan = plan_links,
    .run = run_links,
    .expect = expect_links,
};

/* ---- groups ------------------------------------------------------------- */

/* Up to two messages from each to each, itself too; both fit into a block of
 * count elements, which in and out have for each member. */
#define MOST_MESSAGES 2

static size_t message_length(const struct attempt *a, int from, int to, int q)
{
    uint64_t which = ((uint64_t)from << 16 | (uint64_t)to << 8 | (uint64_t)q);
    size_t half = (a->count + (q == 0)) / MOST_MESSAGES;
    return draw(a, which + 300, 3) == 0 ? half / 2 : half;
}

/* 0 to 2, the same for both ends; there are messages without elements too. */
static int message_count(const struct attempt *a, int from, int to)
{
    uint64_t which = (uint64_t)from << 16 | (uint64_t)to << 8;
    return (int)draw(a, which + 400, MOST_MESSAGES + 1);
}

static size_t message_place(const struct attempt *a, int member, int q)
{
    return (size_t)member * a->count +
           (q == 0 ? 0 : (a->count + 1) / MOST_MESSAGES);
}

static void plan_group(struct attempt *a)
{
    a->in_count = a->out_count = (size_t)a->span->size * a->count;
    a->place = NO_PLACE;
}

static jd_status note(const struct attempt *a, int other, int q, bool sends)
{
    int own = a->span->index;
    size_t place = message_place(a, other, q) * a->size;
    char *out = a->out;
    const char *in = a->in;
    if (sends)
        return jd_send(a->span->shard, a->axes, other, in ? in + place : NULL,
                       message_length(a, own, other, q), a->dtype);
    return jd_recv(a->span->shard, a->axes, other, out ? out + place : NULL,
                   message_length(a, other, own, q), a->dtype);
}

/* The same with a tag, the least and the greatest among them. Those who send
 * and those who receive begin with unlike ones. */
static jd_status note_tagged(const struct attempt *a, int other, int q,
                             bool sends)
{
    static const int32_t tags[MOST_MESSAGES] = { INT32_MAX, INT32_MIN };
    int own = a->span->index, from = sends ? own : other;
    int messages = message_count(a, from, sends ? other : own);
    if (sends == (draw(a, 500 + (uint64_t)own, 2) == 0))
        q = messages - 1 - q;
    size_t place = message_place(a, other, q) * a->size;
    char *out = a->out;
    const char *in = a->in;
    if (sends)
        return jd_send_tagged(a->span->shard, a->axes, other, tags[q],
                              in ? in + place : NULL,
                              message_length(a, own, other, q), a->dtype);
    return jd_recv_tagged(a->span->shard, a->axes, other, tags[q],
                          out ? out + place : NULL,
                          message_length(a, other, own, q), a->dtype);
}

/* What comes of each, where the receive is one of any size. */
static _Thread_local size_t came[MAX_MEMBERS][MOST_MESSAGES];

/* The same to receives that do not know it, and to some that do. */
static jd_status note_any_size(const struct attempt *a, int other, int q,
                               bool sends)
{
    size_t place = message_place(a, other, q) * a->size;
    size_t room = (a->count + (q == 0)) / MOST_MESSAGES;
    char *out = a->out;
    if (sends || (other + q) % 3 == 0) {
        came[other][q] = message_length(a, other, a->span->index, q);
        return note(a, other, q, sends);
    }
    came[other][q] = SIZE_MAX;
    return jd_recv_any_size(a->span->shard, a->axes, other,
                            out ? out + place : NULL, room, &came[other][q],
                            a->dtype);
}

/* Members note their messages in unlike orders; between two of them the order
 * is that of the messages, unless they have tags. */
static jd_status run_notes(const struct attempt *a,
                           jd_status (*note_one)(const struct attempt *a,
                                                 int other, int q, bool sends))
{
    int n = a->span->size, own = a->span->index;
    jd_status status = jd_group_begin(a->span->shard);
    for (int turn = 0; status == JD_OK && turn < 2 * n; turn++) {
        int other = (turn / 2 + own * 3) % n;
        bool sends = (turn + own) % 2 == 0;
        int messages =
            sends ? message_count(a, own, other) : message_count(a, other, own);
        for (int q = 0; status == JD_OK && q < messages; q++)
            status = note_one(a, other, q, sends);
    }
    return status == JD_OK ? jd_group_end(a->span->shard) : status;
}

static jd_status run_group(const struct attempt *a)
{
    return run_notes(a, note);
}

static jd_status run_group_any_size(const struct attempt *a)
{
    int own = a->span->index;
    jd_status status = run_notes(a, note_any_size);
    for (int i = 0; status == JD_OK && i < a->span->size; i++)
        for (int q = 0; status == JD_OK && q < message_count(a, i, own); q++)
            if (came[i][q] != message_length(a, i, own, q))
                status = jd_fail_with(JD_DATA_LOSS,
                                      "of message %d of member %d %zu elements "
                                      "came, and not %zu",
                                      q, i, came[i][q],
                                      message_length(a, i, own, q));
    return status;
}

static jd_status run_group_tagged(const struct attempt *a)
{
    return run_notes(a, note_tagged);
}

static void expect_group(const struct attempt *a, char *wanted)
{
    int own = a->span->index;
    for (int i = 0; i < a->span->size; i++)
        for (int q = 0; q < message_count(a, i, own); q++)
            expect_given(a, i, message_place(a, own, q),
                         message_length(a, i, own, q),
                         wanted + message_place(a, i, q) * a->size);
}

const struct operation operation_group = {
    .name = "group",
    .call = "jd_group_end",
    .is_transfer = true,
    .plan = plan_group,
    .run = run_group,
    .expect = expect_group,
};

const struct operation operation_group_any_size = {
    .name = "group_any_size",
    .call = "jd_group_end",
    .is_of_cpu = true,
    .is_transfer = true,
    .plan = plan_group,
    .run = run_group_any_size,
    .expect = expect_group,
};

const struct operation operation_group_tagged = {
    .name = "group_tagged",
    .call = "jd_group_end",
    .is_transfer = true,
    .plan = plan_group,
    .run = run_group_tagged,
    .expect = expect_group,
};
