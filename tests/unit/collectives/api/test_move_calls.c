/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_move_calls.c - what the public calls that move data, by routes or from
 * one member to another, hand to a platform, and what they refuse.
 */
#include "tests/unit/collective_calls.h"

#include <limits.h>

/* ---- moving ------------------------------------------------------------- */

static jd_status route(const jd_route *routes, int count)
{
    return jd_ppermute(me, "model", in, out, 5, JD_F32, routes, count);
}

START_TEST(ppermute_knows_its_routes)
{
    UNIT_OK(route((jd_route[]){ { 0, 1 }, { 1, 2 }, { 2, 3 } }, 3));
    expect_call("permute", "jd_ppermute", 5);
    ck_assert_int_eq(fake.last.permute.to, 3);
    ck_assert_int_eq(fake.last.permute.from, 1);
    uint64_t digest = fake.last.permute.digest;
    UNIT_OK(route((jd_route[]){ { 2, 3 }, { 0, 1 }, { 1, 2 } }, 3));
    ck_assert_uint_eq(fake.last.permute.digest, digest);
    UNIT_OK(route((jd_route[]){ { 1, 0 }, { 2, 1 }, { 3, 2 } }, 3));
    ck_assert_uint_ne(fake.last.permute.digest, digest);
    ck_assert_int_eq(fake.last.permute.to, 1);
    ck_assert_int_eq(fake.last.permute.from, 3);
    UNIT_OK(route((jd_route[]){ { 1, 0 }, { 2, 1 } }, 2)); /* how it began */
    ck_assert_int_eq(fake.last.permute.to, 1);
    ck_assert_int_eq(fake.last.permute.from, -1);
    UNIT_OK(route((jd_route[]){ { 0, 1 } }, 1));
    ck_assert_int_eq(fake.last.permute.to, -1);
    ck_assert_int_eq(fake.last.permute.from, -1);
    UNIT_OK(route(NULL, 0));
    ck_assert_int_eq(fake.last.permute.to, -1);
    UNIT_OK(route((jd_route[]){ { 2, 2 } }, 1));
    ck_assert_int_eq(fake.last.permute.to, 2);
    ck_assert_int_eq(fake.last.permute.from, 2);
    UNIT_OK(jd_ppermute(me, "model", in, in, 5, JD_F32, NULL, 0));
}
END_TEST

START_TEST(ppermute_refuses)
{
    const jd_route right[] = { { 0, 1 }, { 2, 3 } };
    UNIT_OK(route(right, 2));
    REFUSED(route((jd_route[]){ { 0, 1 }, { 2, 4 } }, 2), JD_INVALID_ARGUMENT,
            "jd_ppermute: routes[1] is from 2 to 4, and the members are 0 to "
            "3");
    REFUSED(route((jd_route[]){ { -1, 1 } }, 1), JD_INVALID_ARGUMENT,
            "jd_ppermute: routes[0] is from -1 to 1, and the members are 0 to "
            "3");
    REFUSED(route((jd_route[]){ { 0, 1 }, { 2, 3 }, { 0, 2 } }, 3),
            JD_INVALID_ARGUMENT,
            "jd_ppermute: routes[0] and routes[2] are both from member 0; a "
            "member sends once and receives once");
    REFUSED(route((jd_route[]){ { 0, 1 }, { 2, 3 }, { 3, 3 } }, 3),
            JD_INVALID_ARGUMENT,
            "jd_ppermute: routes[1] and routes[2] are both to member 3; a "
            "member sends once and receives once");
    REFUSED(route(right, -1), JD_INVALID_ARGUMENT,
            "jd_ppermute: num_routes is -1; it is at least 0");
    REFUSED(route(NULL, 2), JD_INVALID_ARGUMENT,
            "jd_ppermute: routes is NULL and num_routes is 2");
    UNIT_OK(route(right, 2)); /* the wrong ones have left nothing */
    ck_assert_int_eq(fake.last.permute.to, 3);
    ck_assert_int_eq(fake.last.permute.from, -1);
}
END_TEST

START_TEST(ppermute_keep_says_so)
{
    const jd_route right[] = { { 0, 1 }, { 2, 3 } };
    UNIT_OK(jd_ppermute_keep(me, "model", in, out, 5, JD_F32, right, 2));
    expect_call("permute", "jd_ppermute_keep", 5);
    ck_assert(fake.last.permute.keeps);
    UNIT_OK(jd_ppermute(me, "model", in, out, 5, JD_F32, right, 2));
    expect_call("permute", "jd_ppermute", 5);
    ck_assert(!fake.last.permute.keeps);
    REFUSED(jd_ppermute_keep(me, "model", in, out, 5, JD_F32, NULL, 2),
            JD_INVALID_ARGUMENT,
            "jd_ppermute_keep: routes is NULL and num_routes is 2");
    REFUSED(jd_ppermute_keep(me, "model", in, out, 5, JD_F32,
                             (jd_route[]){ { 0, 4 } }, 1),
            JD_INVALID_ARGUMENT,
            "jd_ppermute_keep: routes[0] is from 0 to 4, and the members are 0 "
            "to 3");
    ck_assert_int_eq(jd_ppermute_keep(NULL, NULL, in, out, 5, JD_F32, right, 2),
                     JD_INVALID_ARGUMENT);
}
END_TEST

START_TEST(pshuffle_is_a_permutation)
{
    const int right[] = { 3, 0, 1, 2 };
    UNIT_OK(jd_pshuffle(me, "model", in, out, 5, JD_F32, right));
    expect_call("permute", "jd_pshuffle", 5);
    ck_assert_int_eq(fake.last.permute.to, 3);
    ck_assert_int_eq(fake.last.permute.from, 1);
    REFUSED(jd_pshuffle(me, "model", in, out, 5, JD_F32, NULL),
            JD_INVALID_ARGUMENT,
            "jd_pshuffle: permutation is NULL; it has a number for each of the "
            "4 members");
    REFUSED(jd_pshuffle(me, "model", in, out, 5, JD_F32, (int[]){ 0, 3, 2, 3 }),
            JD_INVALID_ARGUMENT,
            "jd_pshuffle: permutation[1] and permutation[3] are both 3; each "
            "member's in goes to one");
    REFUSED(jd_pshuffle(me, "model", in, out, 5, JD_F32, (int[]){ 0, 4, 2, 3 }),
            JD_INVALID_ARGUMENT,
            "jd_pshuffle: permutation[1] is 4; the members are 0 to 3");
    UNIT_OK(jd_pshuffle(me, "model", in, out, 5, JD_F32, right));
    ck_assert_int_eq(fake.last.permute.to, 3);
    UNIT_OK(
        jd_pshuffle(me, "model", in, out, 5, JD_F32, (int[]){ 0, 1, 2, 3 }));
    ck_assert_int_eq(fake.last.permute.to, 2);
}
END_TEST

static void expect_shift(int by, jd_edge edge, int to, int from)
{
    UNIT_OK(jd_shift(me, "model", by, in, out, 5, JD_F32, edge));
    expect_call("permute", "jd_shift", 5);
    ck_assert_int_eq(fake.last.permute.to, to);
    ck_assert_int_eq(fake.last.permute.from, from);
    ck_assert_int_eq(fake.last.permute.keeps, edge == JD_EDGE_KEEP);
}

START_TEST(shift_is_a_permutation)
{
    expect_shift(1, JD_EDGE_WRAP, 3, 1);
    expect_shift(2, JD_EDGE_WRAP, 0, 0);
    expect_shift(-7, JD_EDGE_WRAP, 3, 1);
    expect_shift(INT_MIN, JD_EDGE_WRAP, 2, 2);
    expect_shift(INT_MAX, JD_EDGE_WRAP, 1, 3);
    expect_shift(0, JD_EDGE_ZERO, 2, 2);
    expect_shift(2, JD_EDGE_ZERO, -1, 0);
    expect_shift(-2, JD_EDGE_KEEP, 0, -1);
    expect_shift(INT_MIN, JD_EDGE_KEEP, -1, -1);
    expect_shift(INT_MAX, JD_EDGE_ZERO, -1, -1);
    UNIT_OK(jd_shift(me, "data,model", 3, in, in, 5, JD_F32, JD_EDGE_WRAP));
    ck_assert_int_eq(fake.last.permute.to, 1);
    UNIT_OK(jd_shift(me, "model", 1, NULL, NULL, 0, JD_F32, JD_EDGE_WRAP));
}
END_TEST

START_TEST(shift_refuses)
{
    REFUSED(jd_shift(me, "model", 1, in, out, 5, JD_F32, (jd_edge)3),
            JD_INVALID_ARGUMENT,
            "jd_shift: edge is 3; it is JD_EDGE_WRAP, JD_EDGE_ZERO or "
            "JD_EDGE_KEEP");
    REFUSED(jd_shift(me, "model", 1, NULL, out, 5, JD_F32, JD_EDGE_WRAP),
            JD_INVALID_ARGUMENT,
            "jd_shift: in is NULL and count is 5; only a count of 0 needs no "
            "buffer");
    REFUSED(jd_shift(me, "model", 1, in, in + 2, 5, JD_F32, JD_EDGE_WRAP),
            JD_INVALID_ARGUMENT,
            "jd_shift: in and out overlap: in begins 8 bytes before out's "
            "begin; give buffers that do not, or the same buffer twice");
    ck_assert_int_eq(jd_shift(NULL, NULL, 1, in, out, 5, JD_F32, JD_EDGE_WRAP),
                     JD_INVALID_ARGUMENT);
}
END_TEST

START_TEST(pbroadcast_reads_at_its_source)
{
    UNIT_OK(jd_pbroadcast(me, "model", 2, in, out, 5, JD_F32));
    expect_call("broadcast", "jd_pbroadcast", 5);
    ck_assert_int_eq(fake.last.source, 2);
    UNIT_OK(jd_pbroadcast(me, "model", 1, NULL, out, 5, JD_F32));
    UNIT_OK(jd_pbroadcast(me, "model", 1, out + 1, out, 5, JD_F32));
    REFUSED(jd_pbroadcast(me, "model", 2, NULL, out, 5, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_pbroadcast: in is NULL and count is 5; only a count of 0 needs "
            "no buffer");
    REFUSED(jd_pbroadcast(me, "model", 4, in, out, 5, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_pbroadcast: source is 4; the members are 0 to 3");
}
END_TEST

/* ---- sends and receives ------------------------------------------------- */

START_TEST(send_and_receive_are_transfers_of_one)
{
    UNIT_OK(jd_send(me, "model", 3, in, 5, JD_F32));
    ck_assert_str_eq(fake.last.function, "transfer");
    ck_assert_int_eq(fake.last.count, 1);
    const struct jd_transfer *transfer = &fake.last.transfers[0];
    ck_assert_int_eq(transfer->member, 3);
    ck_assert_int_eq(transfer->call.activity, JD_ACTIVITY_SEND);
    ck_assert_ptr_eq(transfer->call.in, in);
    ck_assert_uint_eq(transfer->call.count, 5);
    ck_assert_str_eq(transfer->call.detail, " over axis \"model\"");
    UNIT_OK(jd_recv(me, "model", 0, out, 5, JD_F32));
    ck_assert_int_eq(transfer->member, 0);
    ck_assert_int_eq(transfer->call.activity, JD_ACTIVITY_RECV);
    ck_assert_ptr_eq(transfer->call.out, out);
    REFUSED(jd_send(me, "model", 4, in, 5, JD_F32), JD_INVALID_ARGUMENT,
            "jd_send: to is 4; the members are 0 to 3");
    REFUSED(jd_recv(me, "model", -1, out, 5, JD_F32), JD_INVALID_ARGUMENT,
            "jd_recv: from is -1; the members are 0 to 3");
    REFUSED(jd_send(me, "model", 2, in, 5, JD_F32), JD_INVALID_ARGUMENT,
            "jd_send: member 2 is the caller itself; send and receive then go "
            "between jd_group_begin() and jd_group_end()");
    REFUSED(jd_recv(me, "model", 3, NULL, 5, JD_F32), JD_INVALID_ARGUMENT,
            "jd_recv: out is NULL and count is 5; only a count of 0 needs no "
            "buffer");
}
END_TEST

START_TEST(a_receive_of_any_size_says_where_its_count_goes)
{
    const struct jd_transfer *transfer = &fake.last.transfers[0];
    size_t came = 77, noted = 77;
    fake.comes = 4;
    UNIT_OK(jd_recv_any_size(me, "model", 0, out, 5, &came, JD_F32));
    ck_assert_uint_eq(came, 4);
    ck_assert_int_eq(transfer->call.activity, JD_ACTIVITY_RECV_ANY_SIZE);
    ck_assert_ptr_eq(transfer->call.out, out);
    ck_assert_uint_eq(transfer->call.count, 5);
    ck_assert_int_eq(transfer->member, 0);
    UNIT_OK(jd_group_begin(me));
    UNIT_OK(jd_recv_any_size(me, "model", 3, out, 5, &noted, JD_F32));
    ck_assert_uint_eq(noted, 77);
    UNIT_OK(jd_group_end(me));
    ck_assert_uint_eq(noted, 4);
    REFUSED(jd_recv_any_size(me, "model", 0, out, 5, NULL, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_recv_any_size: ret_count is NULL; it is where the number of "
            "elements that came is written");
    REFUSED(jd_recv_any_size(me, "model", 0, NULL, 5, &came, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_recv_any_size: out is NULL and capacity is 5; only a capacity "
            "of 0 needs no buffer");
    REFUSED(jd_recv_any_size(me, "model", 0, out, SIZE_MAX / 2, &came, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_recv_any_size: capacity is 9223372036854775807; 4 members' F32 "
            "of that number do not fit into an address space (was it "
            "negative?)");
}
END_TEST

START_TEST(group_goes_together)
{
    UNIT_OK(jd_group_begin(me));
    for (int i = 0; i < 4; i++) {
        UNIT_OK(jd_send(me, "model", i, in, 8, JD_F32));
        UNIT_OK(jd_recv(me, "model", i, out + 8 * i, 8, JD_F32));
    }
    for (int i = 0; i < 10; i++) /* more than there is room for at first */
        UNIT_OK(jd_send(me, "model", 3, in, 1, JD_F32));
    UNIT_OK(jd_send(me, "model", 3, NULL, 0, JD_F32));
    ck_assert_int_eq(fake.calls, 0);
    UNIT_OK(jd_group_end(me));
    ck_assert_int_eq(fake.calls, 1);
    ck_assert_int_eq(fake.last.count, 19);
    ck_assert_int_eq(fake.last.transfers[5].member, 2);
    ck_assert_ptr_eq(fake.last.transfers[5].call.out, out + 16);
    UNIT_OK(jd_group_begin(me)); /* nothing of it is left */
    UNIT_OK(jd_send(me, "data", 0, in, 1, JD_F32));
    UNIT_OK(jd_group_end(me));
    ck_assert_int_eq(fake.last.count, 1);
    UNIT_OK(jd_group_begin(me));
    UNIT_OK(jd_group_end(me));
    ck_assert_int_eq(fake.calls, 2);
}
END_TEST

START_TEST(a_group_is_in_the_order_of_its_tags)
{
    static const int32_t tags[] = { 3, 0, INT32_MIN, 3, INT32_MAX, 0 };
    static const int wanted[] = { 2, 1, 5, 0, 3, 4 };
    UNIT_OK(jd_group_begin(me));
    for (int i = 0; i < 6; i++)
        UNIT_OK(jd_send_tagged(me, "model", 3, tags[i], in + i, 1, JD_F32));
    REFUSED(jd_recv_tagged(me, "model", 3, 9, in + 3, 1, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_recv: the buffer overlaps that of the group's transfer 3 "
            "(jd_send); what comes in has memory of its own");
    UNIT_OK(jd_group_end(me));
    ck_assert_int_eq(fake.last.count, 6);
    for (int i = 0; i < 6; i++) {
        ck_assert_ptr_eq(fake.last.transfers[i].call.in, in + wanted[i]);
        ck_assert_int_eq(fake.last.transfers[i].tag, tags[wanted[i]]);
    }
    UNIT_OK(jd_recv_tagged(me, "model", 3, -7, out, 1, JD_F32));
    ck_assert_int_eq(fake.last.transfers[0].tag, -7);
    UNIT_OK(jd_recv(me, "model", 3, out, 1, JD_F32));
    ck_assert_int_eq(fake.last.transfers[0].tag, 0);
    ck_assert_int_eq(jd_send_tagged(NULL, NULL, 0, 1, in, 1, JD_F32),
                     JD_INVALID_ARGUMENT);
    ck_assert_int_eq(jd_recv_tagged(NULL, NULL, 0, 1, out, 1, JD_F32),
                     JD_INVALID_ARGUMENT);
}
END_TEST

static void expect_half(int i, bool sends, int member, size_t count)
{
    const struct jd_transfer *half = &fake.last.transfers[i];
    ck_assert_int_eq(half->sends, sends);
    ck_assert_int_eq(half->member, member);
    ck_assert_uint_eq(half->call.count, count);
    ck_assert_int_eq(half->call.activity,
                     sends ? JD_ACTIVITY_SEND : JD_ACTIVITY_RECV);
    ck_assert_int_eq(half->whole, JD_ACTIVITY_SENDRECV);
    ck_assert_ptr_eq(half->call.in, sends ? in : NULL);
    ck_assert_ptr_eq(half->call.out, sends ? NULL : out);
}

START_TEST(sendrecv_is_two_transfers)
{
    UNIT_OK(jd_sendrecv(me, "model", 3, in, 5, 0, out, 7, JD_F32));
    ck_assert_str_eq(fake.last.function, "transfer");
    ck_assert_int_eq(fake.last.count, 2);
    expect_half(0, true, 3, 5);
    expect_half(1, false, 0, 7);
    UNIT_OK(jd_sendrecv(me, "model", 2, in, 5, 2, out, 5, JD_F32));
    expect_half(0, true, 2, 5);
    UNIT_OK(jd_sendrecv(me, "model", -1, NULL, 5, 0, out, 7, JD_F32));
    ck_assert_int_eq(fake.last.count, 1);
    expect_half(0, false, 0, 7);
    UNIT_OK(jd_sendrecv(me, "model", 1, in, 5, -1, in, 7, JD_F32));
    ck_assert_int_eq(fake.last.count, 1);
    expect_half(0, true, 1, 5);
    int calls = fake.calls;
    UNIT_OK(jd_sendrecv(me, "data", -1, NULL, 5, -1, NULL, 7, JD_F32));
    ck_assert_int_eq(fake.calls, calls);
    ck_assert_int_eq(fake.made,
                     2); /* the axis's members have met all the same */
}
END_TEST

START_TEST(sendrecv_refuses)
{
    UNIT_OK(jd_sendrecv(me, "model", 3, in, 5, 0, out, 7, JD_F32));
    REFUSED(jd_sendrecv(me, "model", 4, in, 5, 0, out, 7, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_sendrecv: to is 4; the members are 0 to 3, and -1 is nobody");
    REFUSED(jd_sendrecv(me, "model", 3, in, 5, -2, out, 7, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_sendrecv: from is -2; the members are 0 to 3, and -1 is "
            "nobody");
    REFUSED(jd_sendrecv(me, "model", 3, NULL, 5, 0, out, 7, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_sendrecv: in is NULL and count is 5; only a count of 0 needs "
            "no buffer");
    REFUSED(jd_sendrecv(me, "model", 3, in, 5, 0, NULL, 7, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_sendrecv: out is NULL and count is 7; only a count of 0 needs "
            "no buffer");
    REFUSED(jd_sendrecv(me, "model", 3, in, 5, 0, in + 4, 7, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_sendrecv: in and out overlap: in begins 16 bytes before out's "
            "begin; give buffers that do not");
    UNIT_OK(jd_group_begin(me));
    REFUSED(jd_sendrecv(me, "model", 3, in, 5, 0, out, 7, JD_F32),
            JD_FAILED_PRECONDITION,
            "jd_sendrecv: the shard is between jd_group_begin() and "
            "jd_group_end(), where only jd_send() and jd_recv() are; call "
            "jd_group_end() first");
    UNIT_OK(jd_group_end(me));
    ck_assert_int_eq(jd_sendrecv(NULL, NULL, 3, in, 5, 0, out, 7, JD_F32),
                     JD_INVALID_ARGUMENT);
}
END_TEST

START_TEST(group_refuses)
{
    REFUSED(jd_group_end(me), JD_FAILED_PRECONDITION,
            "jd_group_end: the shard has no group open; jd_group_begin() comes "
            "first");
    UNIT_OK(jd_group_begin(me));
    REFUSED(jd_group_begin(me), JD_FAILED_PRECONDITION,
            "jd_group_begin: the shard has a group open already; groups are "
            "not inside each other, jd_group_end() comes first");
    REFUSED(jd_psum(me, "model", in, out, 1, JD_F32), JD_FAILED_PRECONDITION,
            "jd_psum: the shard is between jd_group_begin() and "
            "jd_group_end(), where only jd_send() and jd_recv() are; call "
            "jd_group_end() first");
    UNIT_OK(jd_recv(me, "model", 0, out, 8, JD_F32));
    REFUSED(jd_recv(me, "model", 1, out + 7, 8, JD_F32), JD_INVALID_ARGUMENT,
            "jd_recv: the buffer overlaps that of the group's transfer 0 "
            "(jd_recv); what comes in has memory of its own");
    REFUSED(jd_send(me, "model", 1, out + 7, 1, JD_F32), JD_INVALID_ARGUMENT,
            "jd_send: the buffer overlaps that of the group's transfer 0 "
            "(jd_recv); what comes in has memory of its own");
    UNIT_OK(jd_recv(me, "model", 1, out + 8, 8, JD_F32));
    REFUSED(jd_send(me, "data", 0, in, 1, JD_F32), JD_INVALID_ARGUMENT,
            "jd_send: the axes are \"data\", and those of the group's first "
            "transfer \"model\"; a group is along one list of axes (NULL "
            "reaches every device of the mesh)");
    UNIT_OK(jd_group_end(me));
    ck_assert_int_eq(fake.last.count, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("move_calls");
    TCase *calls = unit_case(suite, "calls");
    tcase_add_checked_fixture(calls, start, finish);
    tcase_add_test(calls, ppermute_knows_its_routes);
    tcase_add_test(calls, ppermute_refuses);
    tcase_add_test(calls, ppermute_keep_says_so);
    tcase_add_test(calls, pshuffle_is_a_permutation);
    tcase_add_test(calls, shift_is_a_permutation);
    tcase_add_test(calls, shift_refuses);
    tcase_add_test(calls, pbroadcast_reads_at_its_source);
    tcase_add_test(calls, send_and_receive_are_transfers_of_one);
    tcase_add_test(calls, a_receive_of_any_size_says_where_its_count_goes);
    tcase_add_test(calls, group_goes_together);
    tcase_add_test(calls, a_group_is_in_the_order_of_its_tags);
    tcase_add_test(calls, sendrecv_is_two_transfers);
    tcase_add_test(calls, sendrecv_refuses);
    tcase_add_test(calls, group_refuses);
    return unit_main(suite);
}
