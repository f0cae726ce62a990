/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_collective_calls.c - what the public collectives hand to a platform,
 * and what they refuse, each with its sentence and without a call to the
 * platform. Those that move data alone: test_move_calls.c.
 */
#include "tests/unit/collective_calls.h"

#include <limits.h>

/* ---- reductions --------------------------------------------------------- */

START_TEST(reductions_reduce)
{
    UNIT_OK(jd_psum(me, "model", in, out, 3, JD_F32));
    expect_call("all_reduce", "jd_psum", 3);
    ck_assert_int_eq(fake.last.op, JD_REDUCE_SUM);
    UNIT_OK(jd_pmean(me, "model", in, out, 4, JD_F32));
    expect_call("all_reduce", "jd_pmean", 4);
    ck_assert_int_eq(fake.last.op, JD_REDUCE_MEAN);
    UNIT_OK(jd_pmax(me, "model", in, out, 5, JD_F32));
    expect_call("all_reduce", "jd_pmax", 5);
    ck_assert_int_eq(fake.last.op, JD_REDUCE_MAX);
    UNIT_OK(jd_pmin(me, "model", in, out, 6, JD_F32));
    expect_call("all_reduce", "jd_pmin", 6);
    ck_assert_int_eq(fake.last.op, JD_REDUCE_MIN);
    UNIT_OK(jd_pprod(me, "model", in, out, 7, JD_F32));
    expect_call("all_reduce", "jd_pprod", 7);
    ck_assert_int_eq(fake.last.op, JD_REDUCE_PROD);
    UNIT_OK(jd_pand(me, "model", in, out, 7, JD_F32));
    expect_call("all_reduce", "jd_pand", 7);
    ck_assert_int_eq(fake.last.op, JD_REDUCE_AND);
    UNIT_OK(jd_por(me, "model", in, out, 7, JD_F32));
    expect_call("all_reduce", "jd_por", 7);
    ck_assert_int_eq(fake.last.op, JD_REDUCE_OR);
    UNIT_OK(jd_pxor(me, "model", in, out, 7, JD_F32));
    expect_call("all_reduce", "jd_pxor", 7);
    ck_assert_int_eq(fake.last.op, JD_REDUCE_XOR);
    UNIT_OK(jd_psum(me, "model", in, in, 7, JD_F32));
    UNIT_OK(jd_psum(me, "model", in, in + 7, 7, JD_F32));
    UNIT_OK(jd_psum(me, "model", NULL, NULL, 0, JD_F32));
    ck_assert_int_eq(fake.calls, 11);
}
END_TEST

/* The fake leaves each member what it had. */
START_TEST(extremes_travel_as_pairs)
{
    float x[70] = { 3, -0.0f, 5 }, y[70];
    int64_t given[70] = { 40, 41, 42 }, found[70];
    UNIT_OK(jd_pmaxloc(me, "model", x, NULL, y, found, 3, JD_F32));
    ck_assert_str_eq(fake.last.function, "all_reduce");
    ck_assert_int_eq(fake.last.call.activity, JD_ACTIVITY_PMAXLOC);
    ck_assert_int_eq(fake.last.call.dtype, JD_C128);
    ck_assert_int_eq(jd__collective_dtype(&fake.last.call), JD_F32);
    ck_assert_uint_eq(fake.last.call.count, 3);
    ck_assert_ptr_eq(fake.last.call.in, fake.last.call.out);
    ck_assert_int_eq(fake.last.op, JD_REDUCE_LOCATED);
    ck_assert_mem_eq(x, y, 3 * sizeof *x);
    ck_assert(found[0] == 2 && found[1] == 2 && found[2] == 2);
    UNIT_OK(jd_pminloc(me, "model", x, given, y, found, 70, JD_F32));
    ck_assert_int_eq(fake.last.call.activity, JD_ACTIVITY_PMINLOC);
    ck_assert_mem_eq(x, y, sizeof x);
    ck_assert_mem_eq(given, found, sizeof given);
    UNIT_OK(jd_pminloc(me, "model", x, given, x, given, 70, JD_F32));
    ck_assert_mem_eq(x, y, sizeof x);
    UNIT_OK(jd_pmaxloc(me, "model", NULL, NULL, NULL, NULL, 0, JD_F32));
}
END_TEST

START_TEST(extremes_refuse)
{
    int64_t given[8] = { 0 }, found[8];
    REFUSED(jd_pmaxloc(me, "model", in, NULL, out, NULL, 4, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_pmaxloc: out_index is NULL and count is 4; only a count of 0 "
            "needs no buffer");
    REFUSED(jd_pminloc(me, "model", in, NULL, NULL, found, 4, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_pminloc: out is NULL and count is 4; only a count of 0 needs "
            "no buffer");
    REFUSED(jd_pmaxloc(me, "model", in, given, out, given + 3, 4, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_pmaxloc: in_index and out_index overlap; give buffers that do "
            "not, or the same buffer twice");
    REFUSED(jd_pmaxloc(me, "model", in, NULL, found, found, 4, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_pmaxloc: out and out_index overlap; give buffers that do not");
    REFUSED(jd_pmaxloc(me, "model", found, NULL, out, found, 4, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_pmaxloc: in and out_index overlap; give buffers that do not");
    REFUSED(jd_pmaxloc(me, "model", in, given, given, found, 4, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_pmaxloc: in_index and out overlap; give buffers that do not");
    REFUSED(jd_pmaxloc(me, "model", in, NULL, in + 2, found, 4, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_pmaxloc: in and out overlap: in begins 8 bytes before out's "
            "begin; give buffers that do not, or the same buffer twice");
    fake.fails = JD_ABORTED;
    found[0] = 77;
    ck_assert_int_eq(jd_pmaxloc(me, "model", in, NULL, out, found, 1, JD_F32),
                     JD_ABORTED);
    fake.fails = JD_OK;
    ck_assert_int_eq(found[0], 77);
}
END_TEST

/* What is short is gathered, what is long begins with a meeting; the fake then
 * leaves what is received as it was: no number that is looked at. */
START_TEST(scans_gather_or_hand_on)
{
    static float x[9000], y[9000];
    UNIT_OK(
        jd_scan(me, "model", in, out, 3, JD_F32, JD_OP_MAX, JD_SCAN_EXCLUSIVE));
    ck_assert_str_eq(fake.last.function, "all_gather");
    ck_assert_int_eq(fake.last.call.activity, JD_ACTIVITY_SCAN);
    ck_assert_uint_eq(fake.last.call.rest,
                      jd__signature_scan(JD_OP_MAX, JD_SCAN_EXCLUSIVE));
    int calls = fake.calls;
    UNIT_OK(
        jd_scan(me, "model", x, y, 9000, JD_F32, JD_OP_SUM, JD_SCAN_INCLUSIVE));
    ck_assert_int_eq(fake.calls - calls, 3); /* the meeting, two rounds */
    ck_assert_str_eq(fake.last.function, "transfer");
    ck_assert_int_eq(fake.last.transfers[0].whole, JD_ACTIVITY_SCAN);
    ck_assert_int_eq(fake.last.count, 1); /* from 0; to 4 there is none */
    ck_assert_int_eq(fake.last.transfers[0].member, 0);
    UNIT_OK(jd_scan(me, "model", NULL, NULL, 0, JD_F32, JD_OP_SUM,
                    JD_SCAN_INCLUSIVE));
}
END_TEST

START_TEST(scans_refuse)
{
    REFUSED(
        jd_scan(me, "model", in, out, 1, JD_F32, (jd_op)7, JD_SCAN_INCLUSIVE),
        JD_INVALID_ARGUMENT,
        "jd_scan: op is 7, which is no jd_op; it is JD_OP_SUM, "
        "JD_OP_PROD, JD_OP_MAX, JD_OP_MIN, JD_OP_AND, JD_OP_OR or "
        "JD_OP_XOR");
    REFUSED(jd_scan(me, "model", in, out, 1, JD_F32, JD_OP_OR, (jd_scan_kind)2),
            JD_INVALID_ARGUMENT,
            "jd_scan: kind is 2; it is JD_SCAN_INCLUSIVE or "
            "JD_SCAN_EXCLUSIVE");
    REFUSED(
        jd_scan(me, "model", in, out, 1, JD_PRED, JD_OP_SUM, JD_SCAN_INCLUSIVE),
        JD_UNIMPLEMENTED, "jd_scan: no such reduction");
    REFUSED(jd_scan(me, "model", in, in + 1, 3, JD_F32, JD_OP_SUM,
                    JD_SCAN_INCLUSIVE),
            JD_INVALID_ARGUMENT,
            "jd_scan: in and out overlap: in begins 4 bytes before out's "
            "begin; give buffers that do not, or the same buffer twice");
}
END_TEST

START_TEST(type_without_a_reduction_is_refused)
{
    REFUSED(jd_psum(me, "model", in, out, 1, JD_PRED), JD_UNIMPLEMENTED,
            "jd_psum: no such reduction");
    REFUSED(jd_psum_scatter(me, "model", in, out, 1, JD_PRED), JD_UNIMPLEMENTED,
            "jd_psum_scatter: no such reduction");
    UNIT_OK(jd_pmax(me, "model", in, out, 1, JD_PRED));
}
END_TEST

START_TEST(psum_scatter_gives_a_block)
{
    UNIT_OK(jd_psum_scatter(me, "model", in, out, 5, JD_F32));
    expect_call("reduce_scatter", "jd_psum_scatter", 5);
    ck_assert_int_eq(fake.last.op, JD_REDUCE_SUM);
    ck_assert_uint_eq(fake.last.rows, 1);
    UNIT_OK(jd_psum_scatter(me, "model", in, in + 2 * 5, 5, JD_F32));
    REFUSED(jd_psum_scatter(me, "model", in, in, 5, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_psum_scatter: in and out overlap: in begins 0 bytes after "
            "out's begin; give buffers that do not, or out == in + index * "
            "count");
    REFUSED(jd_psum_scatter(me, "model", in, in + 19, 5, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_psum_scatter: in and out overlap: in begins 76 bytes before "
            "out's begin; give buffers that do not, or out == in + index * "
            "count");
    UNIT_OK(jd_psum_scatter(me, "model", in, in + 20, 5, JD_F32));
    UNIT_OK(jd_psum_scatter_2d(me, "model", in, out, 3, 5, JD_F32));
    expect_call("reduce_scatter", "jd_psum_scatter_2d", 5);
    ck_assert_uint_eq(fake.last.rows, 3);
    REFUSED(jd_psum_scatter_2d(me, "model", in, in + 10, 2, 5, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_psum_scatter_2d: in and out overlap: in begins 40 bytes before "
            "out's begin; give buffers that do not");
    UNIT_OK(jd_psum_scatter_2d(me, "model", NULL, NULL, 0, 5, JD_F32));
}
END_TEST

/* ---- gathering and exchanging ------------------------------------------- */

START_TEST(all_gather_gathers)
{
    UNIT_OK(jd_all_gather(me, "model", in, out, 5, JD_F32));
    expect_call("all_gather", "jd_all_gather", 5);
    ck_assert_uint_eq(fake.last.rows, 1);
    UNIT_OK(jd_all_gather(me, "model", out + 2 * 5, out, 5, JD_F32));
    REFUSED(jd_all_gather(me, "model", out, out, 5, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_all_gather: in and out overlap: in begins 0 bytes after out's "
            "begin; give buffers that do not, or in == out + index * count");
    UNIT_OK(jd_all_gather_2d(me, "model", in, out, 3, 5, JD_F32));
    expect_call("all_gather", "jd_all_gather_2d", 5);
    ck_assert_uint_eq(fake.last.rows, 3);
    REFUSED(jd_all_gather_2d(me, "model", out + 20, out, 2, 5, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_all_gather_2d: in and out overlap: in begins 80 bytes after "
            "out's begin; give buffers that do not");
}
END_TEST

static void expect_pieces(size_t rows, size_t width, size_t in_step,
                          size_t in_pitch, size_t out_step, size_t out_pitch)
{
    const struct jd_pieces *pieces = &fake.last.pieces;
    ck_assert_uint_eq(pieces->rows, rows);
    ck_assert_uint_eq(pieces->width, width);
    ck_assert_uint_eq(pieces->in_step, in_step);
    ck_assert_uint_eq(pieces->in_pitch, in_pitch);
    ck_assert_uint_eq(pieces->out_step, out_step);
    ck_assert_uint_eq(pieces->out_pitch, out_pitch);
}

START_TEST(all_to_all_cuts_and_joins)
{
    UNIT_OK(jd_all_to_all(me, "model", in, out, 5, JD_F32));
    expect_call("all_to_all", "jd_all_to_all", 5);
    expect_pieces(1, 5, 5, 5, 5, 5);
    UNIT_OK(jd_all_to_all(me, "model", in, in, 5, JD_F32));
    /* A matrix of 4 x 8 in four parts. */
    UNIT_OK(jd_all_to_all_2d(me, "model", in, out, 4, 8, 0, 0, JD_F32));
    expect_call("all_to_all", "jd_all_to_all_2d", 8);
    expect_pieces(1, 8, 8, 8, 8, 8);
    UNIT_OK(jd_all_to_all_2d(me, "model", in, out, 8, 3, 0, 1, JD_F32));
    expect_call("all_to_all", "jd_all_to_all_2d", 6);
    expect_pieces(2, 3, 6, 3, 3, 12);
    UNIT_OK(jd_all_to_all_2d(me, "model", in, out, 3, 8, 1, 0, JD_F32));
    expect_pieces(3, 2, 2, 8, 6, 2);
    UNIT_OK(jd_all_to_all_2d(me, "model", in, out, 3, 8, 1, 1, JD_F32));
    expect_pieces(3, 2, 2, 8, 2, 8);
    UNIT_OK(jd_all_to_all_2d(me, "model", in, in, 3, 8, 1, 1, JD_F32));
}
END_TEST

START_TEST(all_to_all_2d_refuses)
{
    REFUSED(jd_all_to_all_2d(me, "model", in, out, 4, 8, 2, 0, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_all_to_all_2d: split_axis is 2; it is 0 (rows) or 1 "
            "(columns)");
    REFUSED(jd_all_to_all_2d(me, "model", in, out, 4, 8, 0, -1, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_all_to_all_2d: concat_axis is -1; it is 0 (rows) or 1 "
            "(columns)");
    REFUSED(jd_all_to_all_2d(me, "model", in, out, 6, 8, 0, 1, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_all_to_all_2d over axis \"model\": rows is 6, which does not "
            "divide by the 4 members; split_axis 0 is cut into equal parts");
    REFUSED(jd_all_to_all_2d(me, "model", in, out, 4, 7, 1, 1, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_all_to_all_2d over axis \"model\": columns is 7, which does "
            "not divide by the 4 members; split_axis 1 is cut into equal "
            "parts");
    REFUSED(jd_all_to_all_2d(me, "model", in, in, 4, 8, 0, 1, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_all_to_all_2d: in and out overlap: in begins 0 bytes after "
            "out's begin; give buffers that do not");
}
END_TEST

static float cube[384], turned[384];

static jd_status cut_cube(const void *from, int split_axis, int concat_axis)
{
    return jd_all_to_all_nd(me, "model", from, turned, 3,
                            (int64_t[]){ 4, 8, 12 }, split_axis, concat_axis,
                            JD_F32);
}

static void expect_cube(size_t count)
{
    ck_assert_int_eq(fake.last.call.activity, JD_ACTIVITY_ALL_TO_ALL_ND);
    ck_assert_uint_eq(fake.last.call.count, count);
}

/* Of 4 x 8 x 12: what stays together is one dimension of a matrix. */
START_TEST(all_to_all_nd_is_of_matrices)
{
    static const size_t wanted[3][3][6] = {
        { { 1, 96, 96, 384, 96, 384 },
          { 1, 96, 96, 96, 96, 384 },
          { 8, 12, 96, 12, 12, 48 } },
        { { 4, 24, 24, 96, 96, 24 },
          { 4, 24, 24, 96, 24, 96 },
          { 2, 12, 24, 12, 12, 48 } },
        { { 32, 3, 3, 12, 96, 3 },
          { 8, 3, 3, 12, 24, 3 },
          { 32, 3, 3, 12, 3, 12 } },
    };
    for (int split = 0; split < 3; split++)
        for (int concat = 0; concat < 3; concat++) {
            const size_t *w = wanted[split][concat];
            bool is_by_planes = split && concat && split != concat;
            UNIT_OK(cut_cube(cube, split, concat));
            expect_cube(is_by_planes ? 24 : 96);
            expect_pieces(w[0], w[1], w[2], w[3], w[4], w[5]);
        }
    UNIT_OK(cut_cube(turned, 1, 1));
}
END_TEST

/* Those before, between and behind the axes are one each. */
START_TEST(all_to_all_nd_folds)
{
    const int64_t shape[] = { 2, 1, 4, 2, 8, 3 };
    UNIT_OK(
        jd_all_to_all_nd(me, "model", cube, turned, 6, shape, 4, 2, JD_F32));
    expect_cube(48);
    expect_pieces(8, 6, 6, 24, 48, 6);
    UNIT_OK(jd_all_to_all_nd(me, "model", cube, cube, 1, (int64_t[]){ 384 }, 0,
                             0, JD_F32));
    expect_cube(96);
    expect_pieces(1, 96, 96, 384, 96, 384);
}
END_TEST

START_TEST(all_to_all_nd_refuses)
{
    REFUSED(cut_cube(cube, 3, 0), JD_INVALID_ARGUMENT,
            "jd_all_to_all_nd: split_axis is 3; of 3 dimensions it is 0 to 2");
    REFUSED(cut_cube(cube, 0, -1), JD_INVALID_ARGUMENT,
            "jd_all_to_all_nd: concat_axis is -1; of 3 dimensions it is 0 to "
            "2");
    REFUSED(cut_cube(turned, 1, 2), JD_INVALID_ARGUMENT,
            "jd_all_to_all_nd: in and out overlap: in begins 0 bytes after "
            "out's begin; give buffers that do not");
    REFUSED(jd_all_to_all_nd(me, "model", cube, turned, 3,
                             (int64_t[]){ 8, 6, 8 }, 1, 2, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_all_to_all_nd over axis \"model\": shape[1] is 6, which does "
            "not divide by the 4 members; split_axis 1 is cut into equal "
            "parts");
    REFUSED(jd_all_to_all_nd(me, "model", in, out, 3, NULL, 1, 2, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_all_to_all_nd: shape is NULL; it has ndim numbers, here 3");
    REFUSED(jd_all_to_all_nd(me, "model", in, out, 65, NULL, 1, 2, JD_F32),
            JD_INVALID_ARGUMENT, "jd_all_to_all_nd: ndim is 65; it is 1 to 64");
    REFUSED(jd_all_to_all_nd(me, "model", in, out, 2, (int64_t[]){ 4, -8 }, 0,
                             1, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_all_to_all_nd: shape[1] is -8; a length is 0 or more");
    REFUSED(jd_all_to_all_nd(me, "model", in, out, 3,
                             (int64_t[]){ INT64_MAX, INT64_MAX, 4 }, 0, 1,
                             JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_all_to_all_nd: the lengths of shape make more elements than "
            "an address space has");
    UNIT_OK(jd_all_to_all_nd(me, "model", NULL, NULL, 3, (int64_t[]){ 0, 4, 8 },
                             1, 2, JD_F32));
    expect_cube(0);
}
END_TEST

/* Two entries for each of the four members. */
static int64_t offsets[8], sizes[8], targets[8], comes[8];

static jd_status ragged(int entries)
{
    return jd_ragged_all_to_all(me, "model", in, 10, out, 6, 3, offsets, sizes,
                                targets, comes, entries, JD_F32);
}

START_TEST(ragged_all_to_all_hands_its_lists_on)
{
    offsets[3] = 8;
    sizes[3] = 2;
    UNIT_OK(ragged(8));
    expect_call("ragged_all_to_all", "jd_ragged_all_to_all", 3);
    ck_assert_int_eq(fake.last.ragged.per_member, 2);
    ck_assert_uint_eq(fake.last.ragged.in_rows, 10);
    ck_assert_uint_eq(fake.last.ragged.out_rows, 6);
    ck_assert_ptr_eq(fake.last.ragged.input_offsets, offsets);
    ck_assert_ptr_eq(fake.last.ragged.send_sizes, sizes);
    ck_assert_ptr_eq(fake.last.ragged.output_offsets, targets);
    ck_assert_ptr_eq(fake.last.ragged.recv_sizes, comes);
    UNIT_OK(jd_ragged_all_to_all(me, "model", NULL, 0, NULL, 0, 3, NULL, NULL,
                                 NULL, NULL, 0, JD_F32));
}
END_TEST

/* They come from data: the platform meets first, and tells all of them. */
START_TEST(what_ragged_lists_say_is_for_all_to_judge)
{
    offsets[2] = sizes[2] = INT64_MAX;
    sizes[3] = -1;
    comes[7] = 7;
    UNIT_OK(ragged(8));
    expect_call("ragged_all_to_all", "jd_ragged_all_to_all", 3);
    offsets[2] = sizes[2] = sizes[3] = comes[7] = 0;
}
END_TEST

START_TEST(ragged_all_to_all_refuses)
{
    REFUSED(ragged(7), JD_INVALID_ARGUMENT,
            "jd_ragged_all_to_all over axis \"model\": entries is 7; each of "
            "the 4 members has as many, so it is a multiple of their number");
    REFUSED(ragged(-4), JD_INVALID_ARGUMENT,
            "jd_ragged_all_to_all over axis \"model\": entries is -4; each of "
            "the 4 members has as many, so it is a multiple of their number");
    REFUSED(jd_ragged_all_to_all(me, "model", in, 10, out, 6, 3, offsets, sizes,
                                 NULL, comes, 4, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_ragged_all_to_all: output_offsets is NULL and entries is 4");
    REFUSED(jd_ragged_all_to_all(me, "model", in, 10, in, 6, 3, offsets, sizes,
                                 targets, comes, 8, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_ragged_all_to_all: in and out overlap: in begins 0 bytes after "
            "out's begin; give buffers that do not");
}
END_TEST

static void keep_first(void *into, const void *from, size_t count,
                       void *context)
{
    (void)into, (void)from, (void)count;
    ++*(int *)context;
}

/* This shard is member 2 of four along "model". */
START_TEST(preduce_exchanges_and_folds)
{
    int calls = 0;
    UNIT_OK(jd_preduce(me, "model", in, out, 3, 8, keep_first, &calls));
    ck_assert_str_eq(fake.last.function, "all_to_all");
    ck_assert_uint_eq(fake.last.call.count, 24);
    ck_assert_uint_eq(fake.last.pieces.in_step, 0);
    ck_assert_int_eq(calls, 3);
    UNIT_OK(jd_preduce(me, "model", in, in, 3, 8, keep_first, &calls));
    UNIT_OK(jd_preduce(me, "model", NULL, NULL, 0, 8, keep_first, &calls));
    ck_assert_uint_eq(fake.last.call.count, 0);
    ck_assert_int_eq(calls, 6);
}
END_TEST

START_TEST(preduce_refuses)
{
    REFUSED(jd_preduce(me, "model", in, out, 3, 8, NULL, NULL),
            JD_INVALID_ARGUMENT,
            "jd_preduce: function is NULL; it joins two members' elements");
    REFUSED(jd_preduce(me, "model", in, out, 3, 0, keep_first, NULL),
            JD_INVALID_ARGUMENT,
            "jd_preduce: element_bytes is 0; an element has 1 to 65535 bytes");
    REFUSED(jd_preduce(me, "model", in, out, 3, 65536, keep_first, NULL),
            JD_INVALID_ARGUMENT,
            "jd_preduce: element_bytes is 65536; an element has 1 to 65535 "
            "bytes");
    REFUSED(jd_preduce(me, "model", in, out, SIZE_MAX, 8, keep_first, NULL),
            JD_INVALID_ARGUMENT,
            "jd_preduce: count is 18446744073709551615; that many elements of "
            "8 bytes do not fit into an address space (was it negative?)");
    REFUSED(jd_preduce(me, "model", NULL, out, 3, 8, keep_first, NULL),
            JD_INVALID_ARGUMENT,
            "jd_preduce: in is NULL and count is 24; only a count of 0 needs "
            "no buffer");
    REFUSED(jd_preduce(me, "model", in, in + 1, 3, 8, keep_first, NULL),
            JD_INVALID_ARGUMENT,
            "jd_preduce: in and out overlap: in begins 4 bytes before out's "
            "begin; give buffers that do not, or the same buffer twice");
}
END_TEST

static jd_status gather_parts(const void *from, size_t count, void *to,
                              const int64_t *counts)
{
    return jd_ragged_all_gather(me, "model", from, count, to, counts, JD_F32);
}

/* This shard is member 2 of four along "model". */
START_TEST(ragged_all_gather_knows_its_places)
{
    const int64_t counts[] = { 4, 0, 3, 5 };
    UNIT_OK(gather_parts(in, 3, out, counts));
    expect_call("ragged_all_to_all", "jd_ragged_all_gather", 1);
    ck_assert_int_eq(fake.last.ragged.per_member, 1);
    ck_assert_uint_eq(fake.last.ragged.in_rows, 3);
    ck_assert_uint_eq(fake.last.ragged.out_rows, 12);
    ck_assert_ptr_eq(fake.last.call.counts, counts);
    uint64_t rest = fake.last.ragged.rest;
    UNIT_OK(gather_parts(out + 4, 3, out, counts));
    ck_assert_uint_eq(fake.last.ragged.rest, rest);
    UNIT_OK(gather_parts(in, 3, out, (int64_t[]){ 4, 1, 3, 4 }));
    ck_assert_uint_ne(fake.last.ragged.rest, rest);
    UNIT_OK(gather_parts(NULL, 0, out, (int64_t[]){ 4, 1, 0, 4 }));
    UNIT_OK(gather_parts(NULL, 0, NULL, (int64_t[]){ 0, 0, 0, 0 }));
    ck_assert_str_eq(fake.last.function, "all_gather");
    UNIT_OK(gather_parts(in, 3, out, (int64_t[]){ 3, 3, 3, 3 }));
    expect_call("all_gather", "jd_ragged_all_gather", 3);
}
END_TEST

#define RAGGED_GATHER "jd_ragged_all_gather over axis \"model\": "

START_TEST(ragged_all_gather_refuses)
{
    const int64_t counts[] = { 4, 0, 3, 5 };
    REFUSED(gather_parts(in, 3, out, NULL), JD_INVALID_ARGUMENT,
            RAGGED_GATHER "counts is NULL; it has a number for each of the 4 "
                          "members");
    REFUSED(gather_parts(in, 4, out, counts), JD_INVALID_ARGUMENT,
            RAGGED_GATHER "count is 4 and counts[2], which is this member's, "
                          "is 3; they are the same");
    REFUSED(gather_parts(in, 3, out, (int64_t[]){ 4, -1, 3, 5 }),
            JD_INVALID_ARGUMENT,
            RAGGED_GATHER "counts[1] is -1; a member gives 0 elements or more");
    REFUSED(gather_parts(in, 3, out, (int64_t[]){ 4, 0, 3, INT64_MAX / 4 }),
            JD_INVALID_ARGUMENT,
            RAGGED_GATHER "counts[3] is 2305843009213693951; F32 of all "
                          "members' number do not fit into an address space");
    REFUSED(gather_parts(NULL, 3, out, counts), JD_INVALID_ARGUMENT,
            "jd_ragged_all_gather: in is NULL and count is 3; only a count of "
            "0 needs no buffer");
    REFUSED(gather_parts(in, 3, NULL, counts), JD_INVALID_ARGUMENT,
            "jd_ragged_all_gather: out is NULL and count is 3; only a count of "
            "0 needs no buffer");
    REFUSED(gather_parts(out + 3, 3, out, counts), JD_INVALID_ARGUMENT,
            "jd_ragged_all_gather: in and out overlap: in begins 12 bytes "
            "after out's begin; give buffers that do not, or in == out + the "
            "counts of the members before");
}
END_TEST

/* ---- what all refuse ---------------------------------------------------- */

START_TEST(numbers_too_large_are_refused)
{
    REFUSED(jd_psum(me, "model", in, out, (size_t)-1, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_psum: count is 18446744073709551615; 4 members' F32 of that "
            "number do not fit into an address space (was it negative?)");
    REFUSED(jd_all_gather(me, "model", in, out, PTRDIFF_MAX / 16 + 1, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_all_gather: count is 576460752303423488; 4 members' F32 of "
            "that number do not fit into an address space (was it negative?)");
    REFUSED(jd_all_gather_2d(me, "model", in, out, (size_t)-1, 2, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_all_gather_2d: count is 2 and rows is 18446744073709551615; 4 "
            "members' F32 of that number do not fit into an address space (was "
            "one negative?)");
    REFUSED(jd_psum_scatter_2d(me, "model", in, out, 2, (size_t)-1, JD_F32),
            JD_INVALID_ARGUMENT,
            "jd_psum_scatter_2d: count is 18446744073709551615 and rows is 2; "
            "4 members' F32 of that number do not fit into an address space "
            "(was one negative?)");
    REFUSED(jd_psum(me, "model", in, out, 1, (jd_dtype)14), JD_INVALID_ARGUMENT,
            "jd_psum: dtype is 14, which is no jd_dtype");
}
END_TEST

START_TEST(barrier_only_meets)
{
    UNIT_OK(jd_barrier(me, "data,model"));
    ck_assert_str_eq(fake.last.function, "barrier");
    ck_assert_uint_eq(fake.last.call.count, 0);
    ck_assert_int_eq(fake.last.comm->size, 8);
    UNIT_OK(jd_shard_synchronize(me));
    REFUSED(jd_barrier(me, "datum"), JD_INVALID_ARGUMENT,
            "jd_barrier: the mesh has no axis \"datum\" (of \"datum\"); its "
            "axes are \"data\", \"model\", and NULL stands for all of them");
    ck_assert_int_eq(jd_shard_synchronize(NULL), JD_INVALID_ARGUMENT);
    ck_assert_int_eq(jd_barrier(NULL, NULL), JD_INVALID_ARGUMENT);
    ck_assert_int_eq(jd_group_begin(NULL), JD_INVALID_ARGUMENT);
    ck_assert_int_eq(jd_group_end(NULL), JD_INVALID_ARGUMENT);
    ck_assert_int_eq(jd_send(NULL, NULL, 0, in, 1, JD_F32),
                     JD_INVALID_ARGUMENT);
}
END_TEST

static const char *last_use;

static void *native_stream(const struct jd_stream *stream)
{
    return (void *)(uintptr_t)stream;
}

static jd_status use_stream(struct jd_stream *stream, void *native)
{
    last_use = stream == (void *)in && native == out ? "as given" : "otherwise";
    return JD_OK;
}

static jd_status synchronize_stream(struct jd_stream *stream,
                                    const char *operation)
{
    ck_assert_ptr_eq(stream, (void *)in);
    return jd_fail(JD_ABORTED, "%s: made up", operation);
}

START_TEST(streams_are_the_platforms)
{
    static const struct jd_stream_table table = {
        .native = native_stream,
        .use = use_stream,
        .synchronize = synchronize_stream,
    };
    const struct jd_platform *before = mesh->platform;
    static struct jd_platform with; /* the communicator keeps it */
    with = *before;
    with.streams = &table;
    mesh->platform = &with;
    me->stream = (void *)in;
    ck_assert_ptr_eq(jd_shard_stream(me), in);
    UNIT_OK(jd_shard_use_stream(me, out));
    ck_assert_str_eq(last_use, "as given");
    REFUSED(jd_shard_synchronize(me), JD_ABORTED,
            "jd_shard_synchronize: made up");
    UNIT_OK(jd_psum(me, "data", in, out, 1, JD_F32));
    ck_assert_ptr_eq(fake.last.call.stream, in);
    mesh->platform = before;
}
END_TEST

START_TEST(a_shard_may_have_no_stream)
{
    const struct jd_platform *before = mesh->platform;
    struct jd_platform with = *before;
    with.source = &(struct jd_device_source){ .platform = "cpu" };
    mesh->platform = &with;
    ck_assert_ptr_null(jd_shard_stream(me));
    ck_assert_str_eq(jd_error_message(),
                     "jd_shard_stream: the shard's device is of platform "
                     "\"cpu\", whose calls return when they are done: there "
                     "is no stream");
    REFUSED(jd_shard_use_stream(me, out), JD_UNIMPLEMENTED,
            "jd_shard_use_stream: the shard's device is of platform \"cpu\", "
            "whose calls return when they are done: it has no stream to "
            "replace");
    ck_assert_ptr_null(jd_shard_stream(NULL));
    ck_assert_int_eq(jd_shard_use_stream(NULL, NULL), JD_INVALID_ARGUMENT);
    mesh->platform = before;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("collective_calls");
    TCase *calls = unit_case(suite, "calls");
    tcase_add_checked_fixture(calls, start, finish);
    tcase_add_test(calls, reductions_reduce);
    tcase_add_test(calls, extremes_travel_as_pairs);
    tcase_add_test(calls, extremes_refuse);
    tcase_add_test(calls, scans_gather_or_hand_on);
    tcase_add_test(calls, scans_refuse);
    tcase_add_test(calls, type_without_a_reduction_is_refused);
    tcase_add_test(calls, psum_scatter_gives_a_block);
    tcase_add_test(calls, all_gather_gathers);
    tcase_add_test(calls, all_to_all_cuts_and_joins);
    tcase_add_test(calls, all_to_all_2d_refuses);
    tcase_add_test(calls, all_to_all_nd_is_of_matrices);
    tcase_add_test(calls, all_to_all_nd_folds);
    tcase_add_test(calls, all_to_all_nd_refuses);
    tcase_add_test(calls, ragged_all_to_all_hands_its_lists_on);
    tcase_add_test(calls, what_ragged_lists_say_is_for_all_to_judge);
    tcase_add_test(calls, ragged_all_to_all_refuses);
    tcase_add_test(calls, preduce_exchanges_and_folds);
    tcase_add_test(calls, preduce_refuses);
    tcase_add_test(calls, ragged_all_gather_knows_its_places);
    tcase_add_test(calls, ragged_all_gather_refuses);
    tcase_add_test(calls, numbers_too_large_are_refused);
    tcase_add_test(calls, barrier_only_meets);
    tcase_add_test(calls, streams_are_the_platforms);
    tcase_add_test(calls, a_shard_may_have_no_stream);
    return unit_main(suite);
}
