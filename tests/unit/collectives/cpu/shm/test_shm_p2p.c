/* SPDX-License-Identifier: BSD-3-Clause */
/* test_shm_p2p.c - sends and receives between pairs of a group's members. */
#include "collectives/cpu/shm/shm_p2p.h"
#include "collectives/platform/transfer_pair.h"
#include "tests/unit/shm.h"

#include <sched.h>

enum { LONGEST = 300001, MOST = 12, ROOM = 4 << 20, GROUPS = UNIT_PART(60) };

static const size_t counts[] = { 0,    1,    24,      25,          960,    961,
                                 1000, 4096, 1 << 17, 1 << 17 | 1, LONGEST };
enum { NUM_COUNTS = sizeof counts / sizeof *counts };

/* What all members know of a group: who sends how much to whom. */
struct plan {
    int count;
    struct {
        int from, to;
        size_t bytes;
        const unsigned char *data;
    } items[MOST];
};

static unsigned char pattern[LONGEST + 4096];

static void make_pattern(void)
{
    unsigned seed = 7;
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (unsigned char)(rand_r(&seed) >> 8);
}

static struct plan draw_plan(int size, unsigned seed)
{
    struct plan plan = { .count = rand_r(&seed) % (MOST + 1) };
    for (int i = 0; i < plan.count; i++) {
        plan.items[i].from = rand_r(&seed) % size;
        plan.items[i].to = rand_r(&seed) % size;
        plan.items[i].bytes = counts[rand_r(&seed) % NUM_COUNTS];
        plan.items[i].data = pattern + rand_r(&seed) % 4096;
    }
    return plan;
}

static struct jd_transfer make_send(int to, const void *in, size_t count)
{
    return (struct jd_transfer){ .member = to,
                                 .sends = true,
                                 .call = { .activity = JD_ACTIVITY_SEND,
                                           .detail = " over axis \"x\"",
                                           .in = in,
                                           .count = count,
                                           .dtype = JD_U8 } };
}

static struct jd_transfer make_receive(int from, void *out, size_t count)
{
    return (struct jd_transfer){ .member = from,
                                 .call = { .activity = JD_ACTIVITY_RECV,
                                           .detail = " over axis \"x\"",
                                           .out = out,
                                           .count = count,
                                           .dtype = JD_U8 } };
}

static struct jd_transfer make_any_size(int from, void *out, size_t capacity,
                                        size_t *came)
{
    struct jd_transfer receive = make_receive(from, out, capacity);
    receive.call.activity = JD_ACTIVITY_RECV_ANY_SIZE;
    receive.came = came;
    return receive;
}

/* ---- groups of any order ------------------------------------------------ */

/* One member's part of a group: what it sends and, after that, receives. */
struct part {
    struct jd_transfer transfers[2 * MOST];
    int items[2 * MOST];
    int count;
    size_t came[MOST]; /* of each item */
};

static char *memory_of(struct crowd *crowd, int member, char *private,
                       unsigned *seed)
{
    return rand_r(seed) % 2 ? private : (char *)crowd_memory(crowd, member);
}

/* Swaps neighbours that are not of the same pair and direction. */
static void shuffle(struct part *part, unsigned *seed)
{
    for (int i = 0; i < 200 && part->count > 1; i++) {
        int a = rand_r(seed) % (part->count - 1), b = a + 1;
        struct jd_transfer t = part->transfers[a];
        int item = part->items[a];
        if (t.member == part->transfers[b].member &&
            t.sends == part->transfers[b].sends)
            continue;
        part->transfers[a] = part->transfers[b];
        part->items[a] = part->items[b];
        part->transfers[b] = t;
        part->items[b] = item;
    }
}

static void add(struct part *part, struct jd_transfer transfer, int item)
{
    part->items[part->count] = item;
    part->transfers[part->count++] = transfer;
}

/* Ins lie in the one half of the memory, outs in the other. */
static void make_part(const struct plan *plan, int member, char *in, char *out,
                      struct part *part)
{
    part->count = 0;
    for (int i = 0; i < plan->count; i++) {
        size_t bytes = plan->items[i].bytes;
        if (plan->items[i].from == member) {
            memcpy(in, plan->items[i].data, bytes);
            add(part, make_send(plan->items[i].to, in, bytes), i);
            in += bytes;
        }
        if (plan->items[i].to == member) {
            memset(out, 0xa5, bytes);
            struct jd_transfer receive =
                make_receive(plan->items[i].from, out, bytes);
            if (i % 3 == 1) /* whose size is not known */
                receive =
                    make_any_size(plan->items[i].from, out,
                                  bytes + (i % 2 ? 70000 : 0), &part->came[i]);
            part->came[i] = i % 3 == 1 ? SIZE_MAX : bytes;
            add(part, receive, i);
            out += bytes;
        }
    }
}

static void check_part(const struct plan *plan, const struct part *part)
{
    for (int i = 0; i < part->count; i++) {
        const struct jd_transfer *transfer = &part->transfers[i];
        int item = part->items[i];
        if (transfer->sends)
            continue;
        ck_assert_uint_eq(part->came[item], plan->items[item].bytes);
        if (part->came[item])
            ck_assert(memcmp(transfer->call.out, plan->items[item].data,
                             part->came[item]) == 0);
    }
}

static void exchange(struct crowd *crowd, int member, void *arg)
{
    unsigned seed = (unsigned)member + 1;
    char *private = malloc(ROOM);
    struct part part;
    (void)arg;
    /* What is not one half is the other: each has room for all items. */
    ck_assert(MOST * LONGEST < ROOM);
    for (unsigned i = 0; i < GROUPS; i++) {
        struct plan plan = draw_plan(crowd->size, i);
        char *in = memory_of(crowd, member, private, &seed);
        char *other = in == private ? crowd_memory(crowd, member) : private;
        make_part(&plan, member, in, other, &part);
        shuffle(&part, &seed);
        if (rand_r(&seed) % 3 == 0)
            sched_yield();
        UNIT_OK(jd__shm_p2p_transfer(crowd->groups[member], part.transfers,
                                     part.count));
        memset(in, 0x5a, ROOM);
        check_part(&plan, &part);
    }
    free(private);
}

static const int sizes[] = { 1, 2, 3, 4, 6, 8 };
enum { NUM_SIZES = sizeof sizes / sizeof *sizes };

static void run_crowd(int size, crowd_body *body, void *arg)
{
    struct crowd crowd;
    make_pattern();
    crowd_start(&crowd, size);
    crowd_run(&crowd, body, arg);
    crowd_stop(&crowd);
}

START_TEST(groups_proceed_in_any_order)
{
    run_crowd(sizes[_i], exchange, NULL);
}
END_TEST

/* Each waits for both of its neighbours at a time; the long ones are sent
 * first. */
static void pass_round(struct crowd *crowd, int member, void *arg)
{
    int size = crowd->size, left = (member + size - 1) % size;
    char *in = malloc(LONGEST), *out = malloc(LONGEST), byte;
    (void)arg;
    for (int i = 0; i < 50; i++) {
        struct jd_transfer transfers[] = {
            make_send((member + 1) % size, in, LONGEST),
            make_send((member + 1) % size, in, 1),
            make_receive(left, out, LONGEST),
            make_receive(left, &byte, 1),
        };
        memcpy(in, pattern + member + i, LONGEST);
        UNIT_OK(jd__shm_p2p_transfer(crowd->groups[member], transfers, 4));
        memset(in, 0x5a, LONGEST);
        ck_assert(memcmp(out, pattern + left + i, LONGEST) == 0);
        ck_assert_int_eq((unsigned char)byte, pattern[left + i]);
    }
    free(in);
    free(out);
}

START_TEST(a_ring_of_sends_before_receives_does_not_lock)
{
    run_crowd(_i, pass_round, NULL);
}
END_TEST

/* Member 2 is in a meeting meanwhile. */
static void transfer_beside(struct crowd *crowd, int member, void *arg)
{
    struct jd_signature mine = { .activity = JD_ACTIVITY_BARRIER };
    struct jd_shm_group *group = crowd->groups[member];
    char out[2000] = "", in[2000] = "in";
    (void)arg;
    for (int i = 0; i < 300; i++) {
        struct jd_transfer send = make_send(1, in, sizeof in);
        struct jd_transfer receive = make_receive(0, out, sizeof out);
        if (member == 0)
            UNIT_OK(jd__shm_p2p_transfer(group, &send, 1));
        if (member == 1)
            UNIT_OK(jd__shm_p2p_transfer(group, &receive, 1));
        UNIT_OK(jd__shm_meet(group, &mine, NULL, 0));
    }
    if (member == 1)
        ck_assert_str_eq(out, "in");
}

START_TEST(transfers_do_not_concern_the_others)
{
    run_crowd(3, transfer_beside, NULL);
}
END_TEST

/* ---- what does not match ------------------------------------------------ */

#define UNEQUAL(text)                                                          \
    " over axis \"x\": process 0 (member 0) sends " text                       \
    "; a send and its receive have the same count and type, and match in the " \
    "order of the calls"

static const struct mismatch {
    size_t sent, wanted;
    jd_dtype sent_type, wanted_type;
    const char *text[2];
} mismatches[] = {
    { 5,
      4,
      JD_U8,
      JD_U8,
      { "jd_send" UNEQUAL("5 x U8, where process 1 (member 1) receives 4 x U8"),
        "jd_recv" UNEQUAL(
            "5 x U8, where process 1 (member 1) receives 4 x U8") } },
    { 5,
      5,
      JD_U8,
      JD_S8,
      { "jd_send" UNEQUAL("5 x U8, where process 1 (member 1) receives 5 x S8"),
        "jd_recv" UNEQUAL(
            "5 x U8, where process 1 (member 1) receives 5 x S8") } },
    { LONGEST,
      70000,
      JD_U8,
      JD_F32,
      { "jd_send" UNEQUAL(
            "300001 x U8, where process 1 (member 1) receives 70000 x F32"),
        "jd_recv" UNEQUAL(
            "300001 x U8, where process 1 (member 1) receives 70000 x F32") } },
};
#define TAGGED                                                                 \
    " over axis \"x\": process 0 (member 0) sends 1 x U8 with tag 0, where "   \
    "process 1 (member 1) receives 1 x U8 with tag -1; a send and its "        \
    "receive "                                                                 \
    "have the same tag; between two members the transfers of a group match "   \
    "in "                                                                      \
    "the order of their tags, others in that of the calls"
enum { NUM_MISMATCHES = sizeof mismatches / sizeof *mismatches };

/* The second of three does not match. */
static void transfer_three(struct crowd *crowd, int member, void *arg)
{
    const struct mismatch *m = arg;
    char *buffer = calloc(1, LONGEST), first = 0, last = 0;
    struct jd_transfer transfers[] = {
        make_send(1, "a", 1),
        make_send(1, buffer, m->sent),
        make_send(1, "b", 1),
    };
    if (member == 1) {
        transfers[0] = make_receive(0, &first, 1);
        transfers[1] = make_receive(0, buffer, m->wanted);
        transfers[2] = make_receive(0, &last, 1);
    }
    transfers[1].call.dtype = member == 0 ? m->sent_type : m->wanted_type;
    for (int i = 0; i < 20; i++) {
        first = last = 0;
        if (member < 2)
            UNIT_FAILS(
                jd__shm_p2p_transfer(crowd->groups[member], transfers, 3),
                JD_INVALID_ARGUMENT, m->text[member]);
        if (member == 1) {
            ck_assert_int_eq(first, 'a');
            ck_assert_int_eq(last, 'b');
        }
    }
    pass_round(crowd, member, NULL);
    free(buffer);
}

START_TEST(both_hear_of_a_pair_that_does_not_match)
{
    run_crowd(2, transfer_three, (void *)(uintptr_t)&mismatches[_i]);
}
END_TEST

/* Of three that go together the tags of the second are unlike. */
static void transfer_tagged(struct crowd *crowd, int member, void *arg)
{
    char bytes[3] = "ab";
    struct jd_transfer transfers[3];
    (void)arg;
    for (int i = 0; i < 3; i++) {
        transfers[i] = member == 0 ? make_send(1, &bytes[i], 1)
                                   : make_receive(0, &bytes[i], 1);
        transfers[i].tag = i - 1 - (i == 1 && member == 1);
    }
    if (member < 2)
        UNIT_FAILS(jd__shm_p2p_transfer(crowd->groups[member], transfers, 3),
                   JD_INVALID_ARGUMENT,
                   member == 0 ? "jd_send" TAGGED : "jd_recv" TAGGED);
    pass_round(crowd, member, NULL);
}

START_TEST(both_hear_of_tags_that_do_not_match)
{
    run_crowd(2, transfer_tagged, NULL);
}
END_TEST

#define TOO_MANY                                                               \
    " over axis \"x\": process 0 (member 0) sends 300001 x U8, and process 1 " \
    "(member 1) calls jd_recv_any_size with a capacity of 300000; give it a "  \
    "capacity of 300001 at least, or send less"

/* The second of three is one too many for its room. */
static void transfer_too_many(struct crowd *crowd, int member, void *arg)
{
    char *buffer = calloc(1, LONGEST), last = 0;
    size_t came[3];
    (void)arg;
    for (int i = 0; i < 20; i++) {
        size_t sent = i % 2 ? 1000 : 1;
        struct jd_transfer transfers[] = {
            make_send(1, pattern, sent),
            make_send(1, i % 3 ? buffer : crowd_memory(crowd, 0), LONGEST),
            make_send(1, "b", 1),
        };
        if (member == 1) {
            memset(came, 0xff, sizeof came);
            memset(buffer, 0x5a, LONGEST);
            transfers[0] = make_any_size(0, buffer, 1000, &came[0]);
            transfers[1] = make_any_size(0, buffer, LONGEST - 1, &came[1]);
            transfers[2] = make_any_size(0, &last, 1, &came[2]);
        }
        UNIT_FAILS(jd__shm_p2p_transfer(crowd->groups[member], transfers, 3),
                   JD_INVALID_ARGUMENT,
                   member == 0 ? "jd_send" TOO_MANY
                               : "jd_recv_any_size" TOO_MANY);
        if (member == 0)
            continue;
        ck_assert_uint_eq(came[0], sent);
        ck_assert_uint_eq(came[1], SIZE_MAX);
        ck_assert_uint_eq(came[2], 1);
        ck_assert(memcmp(buffer, pattern, sent) == 0);
        for (size_t k = sent; k < LONGEST; k++)
            ck_assert_int_eq(buffer[k], 0x5a);
    }
    pass_round(crowd, member, NULL);
    free(buffer);
}

START_TEST(both_hear_of_what_does_not_fit)
{
    run_crowd(2, transfer_too_many, NULL);
}
END_TEST

/* ---- sends that are left ------------------------------------------------ */

/* So many fit, and the next has to wait. */
enum { LEFT = 8, LEFT_HEADS = 64, LEFT_BYTES = 8 << 10 };

static void send_one(struct crowd *crowd, const void *in, size_t bytes)
{
    struct jd_transfer send = make_send(1, in, bytes);
    UNIT_OK(jd__shm_p2p_transfer(crowd->groups[0], &send, 1));
}

static void receive_one(struct crowd *crowd, void *out, size_t bytes)
{
    struct jd_transfer receive = make_receive(0, out, bytes);
    UNIT_OK(jd__shm_p2p_transfer(crowd->groups[1], &receive, 1));
}

/* By one thread: a send that waited would wait for ever. */
START_TEST(short_sends_return_before_their_receives)
{
    struct crowd crowd;
    static char out[LEFT_BYTES];
    size_t bytes[] = { 0, 1, 24, 25, 960, 961, LEFT_BYTES };
    crowd_start(&crowd, 3);
    for (int round = 0; round < 42; round++) {
        size_t n = bytes[round % 7];
        int most = n <= 24 ? LEFT_HEADS : LEFT;
        for (int i = 0; i < most; i++)
            send_one(&crowd, pattern + i + round, n);
        for (int i = 0; i < most; i++) {
            memset(out, 0, sizeof out);
            receive_one(&crowd, out, n);
            ck_assert(memcmp(out, pattern + i + round, n) == 0);
        }
    }
    crowd_stop(&crowd);
}
END_TEST

/* Of one more than there is room for, and of what is longer. */
static void send_too_much(struct crowd *crowd, int member, void *arg)
{
    size_t bytes = *(size_t *)arg;
    struct jd_transfer send = make_send(1, pattern, bytes);
    if (member != 0)
        return;
    int room = bytes == 1 ? LEFT_HEADS : bytes == 25 ? LEFT : 0;
    for (int i = 0; i < room; i++)
        send_one(crowd, pattern, bytes);
    ck_assert_int_eq(jd__shm_p2p_transfer(crowd->groups[0], &send, 1),
                     JD_DEADLINE_EXCEEDED);
    ck_assert_ptr_nonnull(strstr(jd_error_message(), " s for process 1"));
}

/* Those of up to 24 bytes, those of more, and what is never left. */
static size_t too_much[] = { 1, 25, LEFT_BYTES + 1 };

START_TEST(a_send_that_finds_no_room_waits)
{
    struct crowd crowd;
    crowd_start_with(&crowd, 2, (double[]){ 0.2, 60 });
    crowd_run(&crowd, send_too_much, &too_much[_i]);
    crowd_stop(&crowd);
}
END_TEST

/* A half of a jd_sendrecv() or of a halo, short as it is. */
static void send_half(struct crowd *crowd, int member, void *arg)
{
    struct jd_transfer half = make_send(1, arg, 1);
    half.whole = JD_ACTIVITY_SENDRECV;
    if (member == 0)
        ck_assert_int_eq(jd__shm_p2p_transfer(crowd->groups[0], &half, 1),
                         JD_DEADLINE_EXCEEDED);
}

START_TEST(a_part_of_another_call_waits_for_its_receive)
{
    struct crowd crowd;
    crowd_start_with(&crowd, 2, (double[]){ 0.2, 60 });
    crowd_run(&crowd, send_half, pattern);
    crowd_stop(&crowd);
}
END_TEST

START_TEST(a_receive_of_any_size_hears_the_size_of_what_lies_there)
{
    struct crowd crowd;
    char out[4];
    crowd_start(&crowd, 2);
    for (size_t bytes = 0; bytes <= sizeof out; bytes++) {
        size_t came = 99;
        struct jd_transfer any = make_any_size(0, out, sizeof out, &came);
        send_one(&crowd, pattern, bytes);
        UNIT_OK(jd__shm_p2p_transfer(crowd.groups[1], &any, 1));
        ck_assert_uint_eq(came, bytes);
    }
    crowd_stop(&crowd);
}
END_TEST

static void expect_misfit(jd_status status, const char *text)
{
    ck_assert_int_eq(status, JD_INVALID_ARGUMENT);
    ck_assert_msg(strstr(jd_error_message(), text), "%s", jd_error_message());
}

#define EARLIER                                                                \
    "; this is of an earlier jd_send, which returned before its receive was "  \
    "there, as short ones do"

/* The receiver says so at once, the sender in its next call with it, once. */
static void mismatch_left(struct crowd *crowd, size_t sent, size_t wanted)
{
    char byte = 0;
    static char out[LEFT_BYTES];
    struct jd_transfer receive = make_receive(0, out, wanted);
    struct jd_transfer send = make_send(1, "b", 1);
    send_one(crowd, pattern, sent);
    send_one(crowd, "a", 1);
    expect_misfit(jd__shm_p2p_transfer(crowd->groups[1], &receive, 1),
                  "jd_recv over axis");
    receive_one(crowd, &byte, 1);
    ck_assert_int_eq(byte, 'a');
    expect_misfit(jd__shm_p2p_transfer(crowd->groups[0], &send, 1), EARLIER);
    receive_one(crowd, &byte, 1);
    ck_assert_int_eq(byte, 'b');
    send_one(crowd, "c", 1);
    receive_one(crowd, &byte, 1);
    ck_assert_int_eq(byte, 'c');
}

START_TEST(a_sender_hears_later_of_a_send_that_it_left)
{
    struct crowd crowd;
    crowd_start(&crowd, 2);
    for (int i = 0; i < 30; i++)
        mismatch_left(&crowd, i % 2 ? LEFT_BYTES : 5, i % 3 ? 4 : 6);
    crowd_stop(&crowd);
}
END_TEST

static void explain_rest(const struct jd_transfer_pair *pair, char *text,
                         size_t size)
{
    snprintf(text, size, "rest %d", (int)pair->rest);
}

/* Of four bytes, with another count, type, tag or rest. */
static struct jd_transfer misfit(int which, void *out)
{
    struct jd_transfer receive = make_receive(0, out, which == 0 ? 3 : 4);
    if (which == 1)
        receive.call.dtype = JD_S8;
    if (which == 2)
        receive.tag = 7;
    if (which == 3)
        receive.call.rest = 7;
    receive.explain = explain_rest;
    return receive;
}

START_TEST(each_term_of_a_left_send_is_compared)
{
    struct crowd crowd;
    char out[] = "none";
    crowd_start(&crowd, 2);
    struct jd_transfer send = make_send(1, "sent", 4);
    struct jd_transfer receive = misfit(_i, out);
    send.explain = explain_rest;
    UNIT_OK(jd__shm_p2p_transfer(crowd.groups[0], &send, 1));
    expect_misfit(jd__shm_p2p_transfer(crowd.groups[1], &receive, 1),
                  _i == 3 ? "rest 0" : "where process 1 (member 1) receives");
    ck_assert_str_eq(out, "none");
    crowd_stop(&crowd);
}
END_TEST

START_TEST(it_hears_it_where_it_receives_too)
{
    struct crowd crowd;
    char byte = 0;
    crowd_start(&crowd, 2);
    struct jd_transfer any = make_any_size(0, &byte, 1, &(size_t){ 0 });
    struct jd_transfer send = make_send(0, "b", 1);
    struct jd_transfer receive = make_receive(1, &byte, 1);
    send_one(&crowd, "five", 5);
    expect_misfit(jd__shm_p2p_transfer(crowd.groups[1], &any, 1),
                  "capacity of 1;");
    UNIT_OK(jd__shm_p2p_transfer(crowd.groups[1], &send, 1));
    UNIT_FAILS(
        jd__shm_p2p_transfer(crowd.groups[0], &receive, 1), JD_INVALID_ARGUMENT,
        "jd_send over axis \"x\": process 0 (member 0) sends 5 x U8, and "
        "process 1 (member 1) calls jd_recv_any_size with a capacity of "
        "1; give it a capacity of 5 at least, or send less" EARLIER);
    ck_assert_int_eq(byte, 'b');
    crowd_stop(&crowd);
}
END_TEST

/* What lies there is not read any more: the members are out of step. */
START_TEST(who_gave_up_has_left_nothing)
{
    struct crowd crowd;
    char byte = 0;
    crowd_start(&crowd, 2);
    struct jd_transfer receive = make_receive(0, &byte, 1);
    struct jd_transfer send = make_send(0, "b", 1);
    send_one(&crowd, "a", 1);
    jd__shm_abort(crowd.groups[0]);
    ck_assert_int_eq(jd__shm_p2p_transfer(crowd.groups[0], &send, 1),
                     JD_ABORTED);
    ck_assert_int_eq(jd__shm_p2p_transfer(crowd.groups[1], &receive, 1),
                     JD_ABORTED);
    ck_assert_int_eq(jd__shm_p2p_transfer(crowd.groups[1], &send, 1),
                     JD_ABORTED);
    crowd_stop(&crowd);
}
END_TEST

/* ---- to itself ---------------------------------------------------------- */

START_TEST(a_member_sends_to_itself)
{
    struct crowd crowd;
    char one = 0, two = 0;
    crowd_start(&crowd, 2);
    struct jd_transfer transfers[] = {
        make_receive(0, &one, 1),
        make_send(0, "1", 1),
        make_send(0, "2", 1),
        make_receive(0, &two, 1),
    };
    UNIT_OK(jd__shm_p2p_transfer(crowd.groups[0], transfers, 4));
    ck_assert_int_eq(one, '1');
    ck_assert_int_eq(two, '2');
    crowd_stop(&crowd);
}
END_TEST

START_TEST(it_cannot_wait_for_itself)
{
    struct crowd crowd;
    char one = 0;
    crowd_start(&crowd, 2);
    struct jd_transfer send = make_send(0, "1", 1);
    struct jd_transfer receive = make_receive(0, &one, 1);
    UNIT_FAILS(jd__shm_p2p_transfer(crowd.groups[0], &send, 1),
               JD_INVALID_ARGUMENT,
               "jd_send over axis \"x\": process 0 (member 0) has a send to "
               "itself without its receive in the same group; put both between "
               "jd_group_begin and jd_group_end");
    UNIT_FAILS(jd__shm_p2p_transfer(crowd.groups[0], &receive, 1),
               JD_INVALID_ARGUMENT,
               "jd_recv over axis \"x\": process 0 (member 0) has a receive "
               "from itself without its send in the same group; put both "
               "between jd_group_begin and jd_group_end");
    crowd_stop(&crowd);
}
END_TEST

/* ---- giving up ---------------------------------------------------------- */

/* Member 1 is busy, and comes when the other has given up. */
static void come_late(struct crowd *crowd, int member, void *arg)
{
    struct jd_shm_group *group = crowd->groups[member];
    atomic_int *gone = arg;
    static char in[1 << 20], out[1 << 20];
    char *data = member == 0 ? crowd_memory(crowd, 0) : out;
    struct jd_transfer transfers[] = { make_send(1, data, sizeof in),
                                       make_receive(0, data, sizeof in) };
    if (member == 0) {
        ck_assert_int_eq(jd__shm_p2p_transfer(group, transfers, 1),
                         JD_DEADLINE_EXCEEDED);
        ck_assert_ptr_nonnull(strstr(jd_error_message(), " s for process 1"));
        ck_assert_ptr_null(strstr(jd_error_message(), "let go"));
        atomic_store(gone, 1);
        return;
    }
    while (!atomic_load(gone))
        sched_yield();
    ck_assert_int_eq(jd__shm_p2p_transfer(group, &transfers[1], 1), JD_ABORTED);
    ck_assert_int_eq(jd__shm_p2p_transfer(group, &transfers[1], 1), JD_ABORTED);
}

START_TEST(a_late_receiver_hears_that_its_sender_gave_up)
{
    struct crowd crowd;
    atomic_int gone = 0;
    crowd_start_with(&crowd, 2, (double[]){ 0.2, 60 });
    crowd_run(&crowd, come_late, &gone);
    crowd_stop(&crowd);
}
END_TEST

/* Members 0 and 1 wait for each other's other half; 2 gives up. */
static void wait_for_none(struct crowd *crowd, int member, void *arg)
{
    char byte;
    struct jd_transfer receive = make_receive((member + 1) % 3, &byte, 1);
    (void)arg;
    ck_assert_int_eq(jd__shm_p2p_transfer(crowd->groups[member], &receive, 1),
                     member == 2 ? JD_DEADLINE_EXCEEDED : JD_ABORTED);
}

START_TEST(one_that_gives_up_ends_the_others_waits)
{
    struct crowd crowd;
    crowd_start_with(&crowd, 3, (double[]){ 60, 60, 0.2 });
    crowd_run(&crowd, wait_for_none, NULL);
    crowd_stop(&crowd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mail");
    TCase *groups = unit_case(suite, "groups");
    tcase_set_timeout(groups, 60);
    tcase_add_loop_test(groups, groups_proceed_in_any_order, 0, NUM_SIZES);
    tcase_add_loop_test(groups, a_ring_of_sends_before_receives_does_not_lock,
                        2, 5);
    tcase_add_test(groups, transfers_do_not_concern_the_others);
    TCase *pairs = unit_case(suite, "pairs");
    tcase_set_timeout(pairs, 60);
    tcase_add_loop_test(pairs, both_hear_of_a_pair_that_does_not_match, 0,
                        NUM_MISMATCHES);
    tcase_add_test(pairs, both_hear_of_tags_that_do_not_match);
    tcase_add_test(pairs, both_hear_of_what_does_not_fit);
    tcase_add_test(pairs, a_member_sends_to_itself);
    tcase_add_test(pairs, it_cannot_wait_for_itself);
    TCase *left = unit_case(suite, "left");
    tcase_add_test(left, short_sends_return_before_their_receives);
    tcase_add_loop_test(left, a_send_that_finds_no_room_waits, 0, 3);
    tcase_add_test(left, a_part_of_another_call_waits_for_its_receive);
    tcase_add_test(left,
                   a_receive_of_any_size_hears_the_size_of_what_lies_there);
    tcase_add_test(left, a_sender_hears_later_of_a_send_that_it_left);
    tcase_add_loop_test(left, each_term_of_a_left_send_is_compared, 0, 4);
    tcase_add_test(left, it_hears_it_where_it_receives_too);
    tcase_add_test(left, who_gave_up_has_left_nothing);
    TCase *ends = unit_case(suite, "giving up");
    tcase_set_timeout(ends, 60);
    tcase_add_test(ends, a_late_receiver_hears_that_its_sender_gave_up);
    tcase_add_test(ends, one_that_gives_up_ends_the_others_waits);
    return unit_main(suite);
}
