/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_mismatches - each way in which the members of a collective can call
 * different things: all hear it at once, before data moves, in one sentence
 * that has both calls and the line of each, and the job goes on. The first row
 * is the mesh's first collective. A call that one process makes once more is
 * found at the next that differs. For processes with several devices too.
 */
#include "tests/fault/mismatch/rows.h"

enum { LONG = 300000 };

/* What a device's thread has. */
struct body {
    jd_shard *me;
    int members;
    double *in, *out;
    jd_route ring[64], back[64];
    int order[64], other_order[64];
    int64_t alike[64], unlike[64], other_unlike[64];
    int index;
    int64_t places[10];
};

static void keep_first(void *into, const void *from, size_t count,
                       void *context)
{
    (void)into, (void)from, (void)count, (void)context;
}

/* ---- the calls ----------------------------------------------------------- */

#define CALL(function, ...) function(b->me, "x", __VA_ARGS__)
#define ARGS(count, dtype) b->in, b->out, count, dtype
#define PSUM(count, dtype) CALL(jd_psum, ARGS(count, dtype))
#define PREDUCE(count, bytes)                                                  \
    CALL(jd_preduce, b->in, b->out, count, bytes, keep_first, NULL)
#define GATHER(counts)                                                         \
    CALL(jd_ragged_all_gather, b->in, (size_t)b->counts[b->index], b->out,     \
         b->counts, JD_F64)
#define PSUM_TEXT "jd_psum of 10 x F64"

/* clang-format off: a row is a line */
ROW(count, PSUM_TEXT, PSUM(10, JD_F64), "jd_psum of 11 x F64", PSUM(11, JD_F64))
ROW(long_count, "jd_psum of 2 x F64", PSUM(2, JD_F64),
    "jd_psum of 300000 x F64", PSUM(LONG, JD_F64))
ROW(no_count, PSUM_TEXT, PSUM(10, JD_F64), "jd_psum of 0 x F64",
    PSUM(0, JD_F64))
ROW(type, PSUM_TEXT, PSUM(10, JD_F64), "jd_psum of 10 x F32", PSUM(10, JD_F32))
ROW(type_of_that_width, PSUM_TEXT, PSUM(10, JD_F64), "jd_psum of 10 x S64",
    PSUM(10, JD_S64))
ROW(half_type, "jd_psum of 10 x F16", PSUM(10, JD_F16), "jd_psum of 10 x BF16",
    PSUM(10, JD_BF16))
ROW(sum_max, PSUM_TEXT, PSUM(10, JD_F64), "jd_pmax of 10 x F64",
    CALL(jd_pmax, ARGS(10, JD_F64)))
ROW(sum_min, PSUM_TEXT, PSUM(10, JD_F64), "jd_pmin of 10 x F64",
    CALL(jd_pmin, ARGS(10, JD_F64)))
ROW(sum_mean, PSUM_TEXT, PSUM(10, JD_F64), "jd_pmean of 10 x F64",
    CALL(jd_pmean, ARGS(10, JD_F64)))
ROW(sum_prod, PSUM_TEXT, PSUM(10, JD_F64), "jd_pprod of 10 x F64",
    CALL(jd_pprod, ARGS(10, JD_F64)))
ROW(sum_and, "jd_psum of 10 x U8", PSUM(10, JD_U8), "jd_pand of 10 x U8",
    CALL(jd_pand, ARGS(10, JD_U8)))
ROW(or_xor, "jd_por of 10 x S64", CALL(jd_por, ARGS(10, JD_S64)),
    "jd_pxor of 10 x S64", CALL(jd_pxor, ARGS(10, JD_S64)))
ROW(scan_op, "jd_scan of 10 x F64 by JD_OP_SUM, inclusive",
    CALL(jd_scan, ARGS(10, JD_F64), JD_OP_SUM, JD_SCAN_INCLUSIVE),
    "jd_scan of 10 x F64 by JD_OP_MAX, inclusive",
    CALL(jd_scan, ARGS(10, JD_F64), JD_OP_MAX, JD_SCAN_INCLUSIVE))
ROW(scan_kind, "jd_scan of 300000 x S32 by JD_OP_XOR, inclusive",
    CALL(jd_scan, ARGS(LONG, JD_S32), JD_OP_XOR, JD_SCAN_INCLUSIVE),
    "jd_scan of 300000 x S32 by JD_OP_XOR, exclusive",
    CALL(jd_scan, ARGS(LONG, JD_S32), JD_OP_XOR, JD_SCAN_EXCLUSIVE))
ROW(scan_count, "jd_scan of 10 x F16 by JD_OP_MIN, exclusive",
    CALL(jd_scan, ARGS(10, JD_F16), JD_OP_MIN, JD_SCAN_EXCLUSIVE),
    "jd_scan of 300000 x F16 by JD_OP_MIN, exclusive",
    CALL(jd_scan, ARGS(LONG, JD_F16), JD_OP_MIN, JD_SCAN_EXCLUSIVE))
ROW(loc_max, "jd_pmaxloc of 10 x F64",
    CALL(jd_pmaxloc, b->in, NULL, b->out, b->places, 10, JD_F64),
    "jd_pmax of 10 x F64", CALL(jd_pmax, ARGS(10, JD_F64)))
ROW(loc_type, "jd_pminloc of 10 x S32",
    CALL(jd_pminloc, b->in, NULL, b->out, b->places, 10, JD_S32),
    "jd_pminloc of 10 x F64",
    CALL(jd_pminloc, b->in, NULL, b->out, b->places, 10, JD_F64))
ROW(sum_gather, PSUM_TEXT, PSUM(10, JD_F64), "jd_all_gather of 10 x F64",
    CALL(jd_all_gather, ARGS(10, JD_F64)))
ROW(sum_scatter, PSUM_TEXT, PSUM(10, JD_F64), "jd_psum_scatter of 10 x F64",
    CALL(jd_psum_scatter, ARGS(10, JD_F64)))
ROW(sum_exchange, PSUM_TEXT, PSUM(10, JD_F64), "jd_all_to_all of 10 x F64",
    CALL(jd_all_to_all, ARGS(10, JD_F64)))
ROW(sum_broadcast, PSUM_TEXT, PSUM(10, JD_F64),
    "jd_pbroadcast of 10 x F64 from source 0",
    CALL(jd_pbroadcast, 0, ARGS(10, JD_F64)))
ROW(sum_barrier, PSUM_TEXT, PSUM(10, JD_F64), "jd_barrier",
    jd_barrier(b->me, "x"))
ROW(sum_permute, PSUM_TEXT, PSUM(10, JD_F64), "jd_ppermute of 10 x F64",
    CALL(jd_ppermute, ARGS(10, JD_F64), b->ring, b->members))
ROW(gather_count, "jd_all_gather of 3 x F64",
    CALL(jd_all_gather, ARGS(3, JD_F64)), "jd_all_gather of 4 x F64",
    CALL(jd_all_gather, ARGS(4, JD_F64)))
ROW(gather_rows, "jd_all_gather_2d of 2 rows of 3 x F64",
    CALL(jd_all_gather_2d, b->in, b->out, 2, 3, JD_F64),
    "jd_all_gather_2d of 3 rows of 2 x F64",
    CALL(jd_all_gather_2d, b->in, b->out, 3, 2, JD_F64))
ROW(scatter_rows, "jd_psum_scatter_2d of 2 rows of 3 x F64",
    CALL(jd_psum_scatter_2d, b->in, b->out, 2, 3, JD_F64),
    "jd_psum_scatter_2d of 3 rows of 3 x F64",
    CALL(jd_psum_scatter_2d, b->in, b->out, 3, 3, JD_F64))
ROW(source, "from source 0", CALL(jd_pbroadcast, 0, ARGS(10, JD_F64)),
    "from source 1", CALL(jd_pbroadcast, 1, ARGS(10, JD_F64)))
ROW(routes, "their routes differ",
    CALL(jd_ppermute, ARGS(10, JD_F64), b->ring, b->members),
    "jd_ppermute of 10 x F64",
    CALL(jd_ppermute, ARGS(10, JD_F64), b->back, b->members))
ROW(fewer_routes, "their routes differ",
    CALL(jd_ppermute, ARGS(10, JD_F64), b->ring, b->members),
    "jd_ppermute of 10 x F64",
    CALL(jd_ppermute, ARGS(10, JD_F64), b->ring, b->members - 1))
ROW(keep, "jd_ppermute of 10 x F64",
    CALL(jd_ppermute, ARGS(10, JD_F64), b->ring, b->members),
    "jd_ppermute_keep of 10 x F64",
    CALL(jd_ppermute_keep, ARGS(10, JD_F64), b->ring, b->members))
ROW(shift, "jd_shift of 10 x F64 by 1, JD_EDGE_WRAP",
    CALL(jd_shift, 1, ARGS(10, JD_F64), JD_EDGE_WRAP),
    "jd_shift of 10 x F64 by 2, JD_EDGE_WRAP",
    CALL(jd_shift, 2, ARGS(10, JD_F64), JD_EDGE_WRAP))
ROW(edge, "jd_shift of 10 x F64 by 1, JD_EDGE_WRAP",
    CALL(jd_shift, 1, ARGS(10, JD_F64), JD_EDGE_WRAP),
    "jd_shift of 10 x F64 by 1, JD_EDGE_KEEP",
    CALL(jd_shift, 1, ARGS(10, JD_F64), JD_EDGE_KEEP))
ROW(shuffle, "their routes differ",
    CALL(jd_pshuffle, ARGS(10, JD_F64), b->order), "jd_pshuffle of 10 x F64",
    CALL(jd_pshuffle, ARGS(10, JD_F64), b->other_order))
ROW(fold_count, "jd_preduce of 10 x 8 bytes", PREDUCE(10, 8),
    "jd_preduce of 9 x 8 bytes", PREDUCE(9, 8))
ROW(fold_bytes, "jd_preduce of 4 x 6 bytes", PREDUCE(4, 6),
    "jd_preduce of 6 x 4 bytes", PREDUCE(6, 4))
ROW(fold_long, "jd_preduce of 300000 x 8 bytes", PREDUCE(LONG, 8),
    "jd_preduce of 299999 x 8 bytes", PREDUCE(LONG - 1, 8))
ROW(parts, "their counts differ: process 1", GATHER(unlike),
    "jd_ragged_all_gather of F64", GATHER(other_unlike))
ROW(like_parts, "their counts differ: process 1", GATHER(alike),
    "jd_ragged_all_gather of F64", GATHER(unlike))
ROW(parts_type, "jd_ragged_all_gather of F64", GATHER(unlike),
    "jd_ragged_all_gather of S64",
    CALL(jd_ragged_all_gather, b->in, (size_t)b->unlike[b->index], b->out,
         b->unlike, JD_S64))
ROW(sum_parts, PSUM_TEXT, PSUM(10, JD_F64), "jd_ragged_all_gather of F64",
    GATHER(unlike))
ROW(once_more, PSUM_TEXT, PSUM(10, JD_F64), "jd_all_gather of 3 x F64",
    CALL(jd_all_gather, ARGS(3, JD_F64)))
/* clang-format on */

static const struct row rows[] = {
    ENTRY(sum_max),      ENTRY(count),         ENTRY(long_count),
    ENTRY(no_count),     ENTRY(type),          ENTRY(type_of_that_width),
    ENTRY(half_type),    ENTRY(sum_min),       ENTRY(sum_mean),
    ENTRY(sum_prod),     ENTRY(sum_gather),    ENTRY(sum_scatter),
    ENTRY(sum_exchange), ENTRY(sum_broadcast), ENTRY(sum_barrier),
    ENTRY(sum_permute),  ENTRY(gather_count),  ENTRY(gather_rows),
    ENTRY(scatter_rows), ENTRY(source),        ENTRY(routes),
    ENTRY(fewer_routes), ENTRY(keep),          ENTRY(shift),
    ENTRY(edge),         ENTRY(shuffle),       ENTRY(sum_and),
    ENTRY(or_xor),       ENTRY(parts),         ENTRY(like_parts),
    ENTRY(parts_type),   ENTRY(sum_parts),     ENTRY(loc_max),
    ENTRY(loc_type),     ENTRY(fold_count),    ENTRY(fold_bytes),
    ENTRY(fold_long),    ENTRY(scan_op),       ENTRY(scan_kind),
    ENTRY(scan_count),
};
enum { NUM_ROWS = sizeof rows / sizeof *rows };

static const struct row extra = ENTRY(once_more);

/* ---- what all hear ------------------------------------------------------- */

/* And the job goes on. */
static void expect_told(struct body *b, const struct row *row, jd_status status)
{
    expect_row(row, "test_mismatches.c", status);
    b->in[0] = 1;
    EXPECT_OK(jd_psum(b->me, "x", b->in, b->out, 1, JD_F64));
    EXPECT(b->out[0] == b->members, "%s: then the sum is %g", row->name,
           b->out[0]);
}

/* All sum, then gather; process 1 sums once more before it gathers. Its first
 * sum meets the others' only one, and its second their next call. */
static void expect_extra(struct body *b, bool is_odd)
{
    b->in[0] = 1;
    EXPECT_OK(extra.all(b));
    EXPECT(b->out[0] == b->members, "before the extra call the sum is %g",
           b->out[0]);
    expect_told(b, &extra, is_odd ? extra.all(b) : extra.odd(b));
}

static void fill_lists(struct body *b)
{
    for (int i = 0; i < b->members; i++) {
        int next = (i + 1) % b->members;
        b->ring[i] = (jd_route){ i, next };
        b->back[i] = (jd_route){ next, i };
        b->order[i] = next;
        b->other_order[next] = i;
        b->alike[i] = 3;
        b->unlike[i] = 3 + i % 3;
        b->other_unlike[i] = i == b->members - 1 ? 9 : b->unlike[i];
    }
}

static jd_status try_rows(jd_shard *me, void *unused)
{
    struct body b = { .me = me,
                      .members = jd_axis_size(me, "x"),
                      .index = jd_axis_index(me, "x") };
    bool is_odd = jd_process_index() == ODD_PROCESS;
    (void)unused;
    b.in = calloc(LONG, sizeof *b.in);
    b.out = calloc(LONG, sizeof *b.out);
    fill_lists(&b);
    for (int i = 0; i < NUM_ROWS; i++)
        expect_told(&b, &rows[i], is_odd ? rows[i].odd(&b) : rows[i].all(&b));
    expect_extra(&b, is_odd);
    free(b.in);
    free(b.out);
    return JD_OK;
}

int main(void)
{
    jd_mesh *mesh;
    JD_CHECK(jd_initialize());
    EXPECT_OK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "x" }, NULL));
    EXPECT_OK(jd_shard_map(mesh, try_rows, NULL));
    jd_mesh_destroy(mesh);
    return jd_shutdown();
}
