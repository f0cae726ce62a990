/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_process_mismatches - each way in which processes can mean different
 * things by a call on arrays, a checkpoint or a multihost utility: all hear it,
 * in one sentence that has both and the line of each, nothing is changed, and
 * the job goes on.
 */
#include "tests/fault/mismatch/rows.h"
#include "tests/mpi/test_folder.h"

#define FILE_NAME "test_process_mismatches.c"

enum { SIDE_LENGTH = 8 };

static const int64_t square[] = { SIDE_LENGTH, SIDE_LENGTH };
static const char *const w = "w", *const v = "v";
static const int64_t flat[] = { 2, SIDE_LENGTH *SIDE_LENGTH / 2 };

struct body {
    jd_mesh *mesh;
    jd_sharding *rows, *columns;
    jd_array *doubles, *flat_doubles, *floats, *made;
    double values[SIDE_LENGTH * SIDE_LENGTH], others[SIDE_LENGTH * SIDE_LENGTH];
    double gathered[16 * SIDE_LENGTH * SIDE_LENGTH];
    int64_t gathered_shape[3];
    char dir[256], other_dir[256];
};

/* ---- the calls ----------------------------------------------------------- */

#define LEAF(data, dtype, shape)                                               \
    &(jd_leaf)                                                                 \
    {                                                                          \
        data, dtype, 2, shape                                                  \
    }
#define PUT(dtype, shape, sharding)                                            \
    jd_device_put(&b->made, LEAF(b->values, dtype, shape), sharding)
#define RESHARD(array, sharding) jd_array_reshard(&b->made, array, sharding)
#define ONE(source)                                                            \
    jd_array_from_one(&b->made, b->rows, LEAF(b->values, JD_F64, square),      \
                      source)
#define GATHER(root)                                                           \
    jd_process_gather_array(b->doubles, LEAF(b->values, JD_F64, square), root)
#define GATHER_ALL                                                             \
    jd_process_allgather_array(b->doubles, LEAF(b->values, JD_F64, square))
#define ASSERT_REPLICAS                                                        \
    jd_array_assert_replicas_equal(b->doubles, NULL, NULL, 0)
#define SAVE(dir, name) jd_array_save(dir, &name, &b->doubles, 1)
#define RESTORE(dir) jd_array_restore(dir, &w, &b->rows, 1, &b->made)
#define BROADCAST(dtype, shape, source)                                        \
    jd_broadcast_one_to_all(LEAF(b->values, dtype, shape), 1, source)
#define ALLGATHER(shape)                                                       \
    jd_process_allgather(                                                      \
        LEAF(b->values, JD_F64, shape),                                        \
        &(jd_leaf){ b->gathered, JD_F64, 3, b->gathered_shape }, 1, 0)
#define ASSERT_EQUAL jd_assert_equal(LEAF(b->values, JD_F64, square), 1, NULL)

ROW(put_spec, "jd_device_put of F64[8,8] onto \"x\"",
    PUT(JD_F64, square, b->rows), "jd_device_put of F64[8,8] onto \"-,x\"",
    PUT(JD_F64, square, b->columns))
ROW(put_shape, "F64[8,8] onto \"x\"", PUT(JD_F64, square, b->rows),
    "F64[2,32] onto \"x\"", PUT(JD_F64, flat, b->rows))
ROW(put_type, "F64[8,8] onto \"x\"", PUT(JD_F64, square, b->rows),
    "S64[8,8] onto \"x\"", PUT(JD_S64, square, b->rows))
ROW(one_source, "jd_array_from_one of F64[8,8] from process 0 to \"x\"", ONE(0),
    "jd_array_from_one of F64[8,8] from process 1 to \"x\"", ONE(1))
ROW(one_put, "jd_array_from_one of F64[8,8] from process 0", ONE(0),
    "jd_device_put of F64[8,8] onto \"x\"", PUT(JD_F64, square, b->rows))
ROW(reshard_spec, "jd_array_reshard of F64[8,8] from \"x\" to \"-,x\"",
    RESHARD(b->doubles, b->columns),
    "jd_array_reshard of F64[8,8] from \"x\" to \"x\"",
    RESHARD(b->doubles, b->rows))
ROW(reshard_shape, "jd_array_reshard of F64[8,8] from",
    RESHARD(b->doubles, b->columns), "jd_array_reshard of F64[2,32] from",
    RESHARD(b->flat_doubles, b->columns))
ROW(reshard_type, "jd_array_reshard of F64[8,8] from",
    RESHARD(b->doubles, b->columns), "jd_array_reshard of F32[8,8] from",
    RESHARD(b->floats, b->columns))
ROW(gather_root, " to process 0", GATHER(0), " to process 1", GATHER(1))
ROW(gather_all, "jd_process_gather_array of F64[8,8]", GATHER(0),
    "jd_process_allgather_array of F64[8,8]", GATHER_ALL)
ROW(gather_reshard, "jd_process_allgather_array of F64[8,8]", GATHER_ALL,
    "jd_array_reshard of F64[8,8]", RESHARD(b->doubles, b->columns))
ROW(replicas_reshard, "jd_array_assert_replicas_equal of F64[8,8]",
    ASSERT_REPLICAS, "jd_array_reshard of F64[8,8]",
    RESHARD(b->doubles, b->columns))
ROW(save_dir, "jd_array_save of dir /tmp/", SAVE(b->dir, w),
    "/other, process 0 calls", SAVE(b->other_dir, w))
ROW(save_name, "jd_array_save of \"w\" of F64[8,8] as \"x\"", SAVE(b->dir, w),
    "jd_array_save of \"v\" of F64[8,8] as \"x\"", SAVE(b->dir, v))
ROW(save_restore, "jd_array_save of \"w\" of F64[8,8] as \"x\"",
    SAVE(b->dir, w), "jd_array_restore of \"w\" as \"x\"", RESTORE(b->dir))
ROW(broadcast_type,
    "jd_broadcast_one_to_all from process 0 of 1 leaf: F64[8,8]",
    BROADCAST(JD_F64, square, 0),
    "jd_broadcast_one_to_all from process 0 of 1 leaf: S64[8,8]",
    BROADCAST(JD_S64, square, 0))
ROW(broadcast_shape, "1 leaf: F64[8,8]", BROADCAST(JD_F64, square, 0),
    "1 leaf: F64[2,32]", BROADCAST(JD_F64, flat, 0))
ROW(broadcast_source, "from process 0 of 1 leaf", BROADCAST(JD_F64, square, 0),
    "from process 1 of 1 leaf", BROADCAST(JD_F64, square, 1))
ROW(broadcast_gather,
    "jd_broadcast_one_to_all from process 0 of 1 leaf: F64[8,8]",
    BROADCAST(JD_F64, square, 0), "jd_process_allgather of 1 leaf: F64[8,8]",
    ALLGATHER(square))
ROW(allgather_broadcast, "jd_process_allgather of 1 leaf: F64[8,8]",
    ALLGATHER(square),
    "jd_broadcast_one_to_all from process 0 of 1 leaf: F64[2,32]",
    BROADCAST(JD_F64, flat, 0))
ROW(equal_broadcast, "jd_assert_equal of 1 leaf: F64[8,8]", ASSERT_EQUAL,
    "jd_broadcast_one_to_all from process 0 of 1 leaf: F64[8,8]",
    BROADCAST(JD_F64, square, 0))
ROW(put_value, "processes 0 and 1 give different values",
    PUT(JD_F64, square, b->rows), "jd_assert_equal() finds the element",
    jd_device_put(&b->made, LEAF(b->others, JD_F64, square), b->rows))

static const struct row rows[] = {
    ENTRY(put_spec),         ENTRY(put_shape),
    ENTRY(put_type),         ENTRY(one_source),
    ENTRY(one_put),          ENTRY(reshard_spec),
    ENTRY(reshard_shape),    ENTRY(reshard_type),
    ENTRY(gather_root),      ENTRY(gather_all),
    ENTRY(gather_reshard),   ENTRY(replicas_reshard),
    ENTRY(save_dir),         ENTRY(save_name),
    ENTRY(save_restore),     ENTRY(broadcast_type),
    ENTRY(broadcast_shape),  ENTRY(broadcast_source),
    ENTRY(broadcast_gather), ENTRY(allgather_broadcast),
    ENTRY(equal_broadcast),
};
enum { NUM_ROWS = sizeof rows / sizeof *rows };

static const struct row values_row = ENTRY(put_value);

/* ---- before and behind -------------------------------------------------- */

static void make_body(struct body *b)
{
    EXPECT_OK(jd_mesh_create(&b->mesh, 1, (int[]){ -1 },
                             (const char *[]){ "x" }, NULL));
    EXPECT_OK(jd_sharding_create(&b->rows, b->mesh, "x"));
    EXPECT_OK(jd_sharding_create(&b->columns, b->mesh, "-,x"));
    EXPECT_OK(jd_array_zeros(&b->doubles, b->rows, JD_F64, 2, square));
    EXPECT_OK(jd_array_zeros(&b->flat_doubles, b->rows, JD_F64, 2, flat));
    EXPECT_OK(jd_array_zeros(&b->floats, b->rows, JD_F32, 2, square));
    b->others[5] = 1;
    b->gathered_shape[0] = jd_process_count();
    b->gathered_shape[1] = b->gathered_shape[2] = SIDE_LENGTH;
    make_folder("mismatch");
    snprintf(b->dir, sizeof b->dir, "%s/w", folder);
    snprintf(b->other_dir, sizeof b->other_dir, "%s/other", folder);
}

static void free_body(struct body *b)
{
    remove_folder();
    jd_array_release(b->doubles);
    jd_array_release(b->flat_doubles);
    jd_array_release(b->floats);
    jd_sharding_release(b->rows);
    jd_sharding_release(b->columns);
    jd_mesh_destroy(b->mesh);
}

/* Nothing was begun. */
static void expect_works(struct body *b)
{
    EXPECT_OK(jd_array_reshard(&b->made, b->doubles, b->columns));
    jd_array_release(b->made);
}

/* Values that differ are found by digests, and each knows its own place. */
static void expect_values(struct body *b, bool is_odd)
{
    const struct row *row = &values_row;
    jd_status status = is_odd ? row->odd(b) : row->all(b);
    EXPECT(status == JD_INVALID_ARGUMENT, "%s", jd_error_message());
    expect_in_message(row, row->texts[0]);
    expect_in_message(row, row->texts[1]);
    expect_site(row, FILE_NAME, is_odd ? "odd" : "all");
    expect_works(b);
}

/* Process 0 is the one that restores, of a checkpoint that is not there: it has
 * failed before all meet. */
static void expect_first_odd(struct body *b)
{
    jd_status status =
        jd_process_index() ? save_restore_all(b) : save_restore_odd(b);
    EXPECT_STATUS(status, JD_INVALID_ARGUMENT,
                  "process 1 calls jd_array_save of ");
    EXPECT_STATUS(status, JD_INVALID_ARGUMENT,
                  ", process 0 calls jd_array_restore of ");
}

int main(void)
{
    static struct body b;
    JD_CHECK(jd_initialize());
    bool is_odd = jd_process_index() == ODD_PROCESS;
    make_body(&b);
    for (int i = 0; i < NUM_ROWS; i++) {
        expect_row(&rows[i], FILE_NAME,
                   is_odd ? rows[i].odd(&b) : rows[i].all(&b));
        expect_works(&b);
    }
    expect_values(&b, is_odd);
    expect_first_odd(&b);
    free_body(&b);
    return jd_shutdown();
}
