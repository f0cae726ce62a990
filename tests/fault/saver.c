/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * saver.c - saves and restores a checkpoint whose values say when they were
 * saved, for test_checkpoint.sh.
 *
 *     saver save DIR N [ROWS]  saves the values of generation N
 *     saver check DIR          restores them: "generation N", or fails where
 *                              they are not all of one
 *     saver fail DIR N         tries to save N; where that fails, it fails
 *                              alike on all, DIR is whole, and saving works
 *                              the next time. Exit code 3: it did not fail
 *     saver damaged DIR        restoring fails; its sentence goes to stdout
 *     saver full DIR ROWS      saving so much fails, for want of room; what
 *                              there was stays, and as much can be saved
 */
#include "tests/mpi/expect.h"

#include <jd.h>

#include <inttypes.h>

enum { COLUMNS = 100, ROWS = 7, NO_FAILURE = 3 };

static const char *const names[] = { "generation", "matrix" };
static jd_mesh *mesh;

static double value_of(int64_t generation, int64_t row, int64_t column)
{
    return (double)generation * 1e6 + (double)(row * COLUMNS + column);
}

static jd_status fill_number(const jd_range *index, void *block, void *arg)
{
    (void)index;
    memcpy(block, arg, sizeof(int64_t));
    return JD_OK;
}

static jd_status fill_matrix(const jd_range *index, void *block, void *arg)
{
    double *values = block;
    for (int64_t row = index[0].begin; row < index[0].end; row++)
        for (int64_t column = 0; column < COLUMNS; column++)
            *values++ = value_of(*(int64_t *)arg, row, column);
    return JD_OK;
}

static void make_shardings(jd_sharding *shardings[2])
{
    EXPECT_OK(jd_sharding_create(&shardings[0], mesh, ""));
    EXPECT_OK(jd_sharding_create(&shardings[1], mesh, "all"));
}

static void release(jd_sharding *shardings[2], jd_array *arrays[2])
{
    for (int i = 0; i < 2; i++) {
        jd_sharding_release(shardings[i]);
        jd_array_release(arrays[i]);
    }
}

static jd_status save(const char *dir, int64_t generation, int64_t rows)
{
    jd_sharding *shardings[2];
    jd_array *arrays[2];
    int64_t shape[] = { rows, COLUMNS };
    make_shardings(shardings);
    EXPECT_OK(jd_array_from_callback(&arrays[0], shardings[0], JD_S64, 0, NULL,
                                     fill_number, &generation));
    EXPECT_OK(jd_array_from_callback(&arrays[1], shardings[1], JD_F64, 2, shape,
                                     fill_matrix, &generation));
    jd_status status = jd_array_save(dir, names, arrays, 2);
    release(shardings, arrays);
    return status;
}

/* ---- looking at what is there ------------------------------------------- */

static void expect_matrix(const jd_array *matrix, int64_t generation)
{
    int count;
    const jd_array_shard *shards = jd_array_shards(matrix, &count);
    for (int i = 0; i < count; i++) {
        const double *values = shards[i].data;
        for (int64_t row = shards[i].index[0].begin;
             row < shards[i].index[0].end; row++)
            for (int64_t column = 0; column < COLUMNS; column++, values++)
                EXPECT(*values == value_of(generation, row, column),
                       "%g in row %" PRId64 " of generation %" PRId64, *values,
                       row, generation);
    }
}

static jd_status restore(const char *dir, int64_t *ret_generation)
{
    jd_sharding *shardings[2];
    jd_array *arrays[2] = { NULL, NULL };
    make_shardings(shardings);
    jd_status status = jd_array_restore(dir, names, shardings, 2, arrays);
    if (status == JD_OK) {
        int count;
        memcpy(ret_generation, jd_array_shards(arrays[0], &count)->data,
               sizeof *ret_generation);
        expect_matrix(arrays[1], *ret_generation);
    }
    release(shardings, arrays);
    return status;
}

static int64_t check(const char *dir)
{
    int64_t generation = -1;
    EXPECT_OK(restore(dir, &generation));
    if (jd_process_index() == 0) {
        printf("generation %" PRId64 "\n", generation);
        fflush(stdout);
    }
    return generation;
}

/* ---- failures ----------------------------------------------------------- */

/* All processes have the same status and sentence. */
static void expect_alike(jd_status status)
{
    char sentence[4096] = "";
    int32_t number = (int32_t)status;
    snprintf(sentence, sizeof sentence, "%s", jd_error_message());
    jd_leaf leaves[] = {
        { &number, JD_S32, 0, NULL },
        { sentence, JD_U8, 1, (int64_t[]){ sizeof sentence } },
    };
    EXPECT_OK(jd_assert_equal(leaves, 2, "the failure"));
    if (jd_process_index() == 0)
        printf("%s: %s\n", jd_status_name(status), sentence);
}

static int fail(const char *dir, int64_t generation)
{
    jd_status status = save(dir, generation, ROWS);
    if (status == JD_OK)
        return NO_FAILURE;
    expect_alike(status);
    int64_t found = check(dir);
    EXPECT(found == generation || found == generation - 1,
           "generation %" PRId64, found);
    EXPECT_OK(save(dir, generation + 1, ROWS));
    EXPECT(check(dir) == generation + 1, "after the next save");
    return 0;
}

static int fill_disk(const char *dir, int64_t rows)
{
    EXPECT_OK(save(dir, 1, ROWS));
    jd_status status = save(dir, 2, rows);
    expect_alike(status);
    EXPECT(status == JD_RESOURCE_EXHAUSTED, "%s", jd_status_name(status));
    EXPECT(check(dir) == 1, "after the failure");
    EXPECT_OK(save(dir, 3, ROWS));
    EXPECT(check(dir) == 3, "after the next save");
    return 0;
}

static int damaged(const char *dir)
{
    int64_t generation;
    jd_status status = restore(dir, &generation);
    expect_alike(status);
    return status == JD_DATA_LOSS ? 0 : 1;
}

/* ---- the program -------------------------------------------------------- */

static int run(int argc, char **argv)
{
    const char *what = argv[1], *dir = argv[2];
    int64_t number = argc > 3 ? atoll(argv[3]) : 0;
    int64_t rows = argc > 4 ? atoll(argv[4]) : ROWS;
    if (strcmp(what, "fail") == 0)
        return fail(dir, number);
    if (strcmp(what, "damaged") == 0)
        return damaged(dir);
    if (strcmp(what, "full") == 0)
        return fill_disk(dir, number);
    if (strcmp(what, "check") == 0)
        check(dir);
    else
        EXPECT_OK(save(dir, number, rows));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: saver save|check|fail|damaged|full DIR [N]\n");
        return 2;
    }
    EXPECT_OK(jd_initialize());
    EXPECT_OK(jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "all" },
                             NULL));
    int code = run(argc, argv);
    jd_mesh_destroy(mesh);
    EXPECT_OK(jd_shutdown());
    return code;
}
