/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_collective_calls.c - what the public collectives hand to a platform,
 * and what they refuse, each with its sentence and without a call to the
 * platform. A mesh of eight devices, 2 x 4; the caller is device 6: data 1,
 * model 2.
 */
#include "jd_collectives.h"
#include "tests/unit/fake_platform.h"

#include <limits.h>

static const char *const names[] = { "data", "model" };
static jd_mesh *mesh;
static jd_shard *me;
static float in[64], out[64];

static void start(void)
{
    fake_start("8");
    mesh = fake_mesh(2, (int[]){ 2, 4 }, names);
    me = &mesh->shards[6];
}

static void finish(void)
{
    jd_mesh_destroy(mesh);
}

/* The call was this one, with the test's buffers. */
static void expect_call(const char *function, const char *name, size_t count)
{
    ck_assert_str_eq(fake.last.function, function);
    ck_assert_str_eq(jd__signature_activity_name(fake.last.call.activity),
                     name);
    ck_assert_uint_eq(fake.last.call.count, count);
    ck_assert_int_eq(fake.last.call.dtype, JD_F32);
    ck_assert_ptr_eq(fake.last.call.in, in);
    ck_assert_ptr_eq(fake.last.call.out, out);
    ck_assert_str_eq(fake.last.call.detail, " over axis \"model\"");
    ck_assert_int_eq(fake.last.comm->size, 4);
    ck_assert_int_eq(fake.last.comm->index, 2);
}

/* Fails with the sentence, and has not come to the platform. */
#define REFUSED(call, status, sentence)                                        \
    do {                                                                       \
        int calls_ = fake.calls, made_ = fake.made;                            \
        UNIT_FAILS(call, status, sentence);                                    \
        ck_assert_int_eq(fake.calls, calls_);                                  \
        ck_assert_int_eq(fake.made, made_);                                    \
    } while (0)

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
    tcase_add_test(calls, ragged_all_to_all_hands_its_lists_on);
    tcase_add_test(calls, what_ragged_lists_say_is_for_all_to_judge);
    tcase_add_test(calls, ragged_all_to_all_refuses);
    tcase_add_test(calls, preduce_exchanges_and_folds);
    tcase_add_test(calls, preduce_refuses);
    tcase_add_test(calls, ragged_all_gather_knows_its_places);
    tcase_add_test(calls, ragged_all_gather_refuses);
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
    tcase_add_test(calls, numbers_too_large_are_refused);
    tcase_add_test(calls, barrier_only_meets);
    tcase_add_test(calls, streams_are_the_platforms);
    tcase_add_test(calls, a_shard_may_have_no_stream);
    return unit_main(suite);
}
