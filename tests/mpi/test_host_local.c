/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_host_local - processes' parts made one array of all, and taken out of
 * it again. Each process is to have 4 devices, and a part of 4 x 8 numbers.
 */
#include "jd.h"

#include "expect.h"

#include <stdbool.h>
#include <stdint.h>

enum { ROWS = 4, COLUMNS = 8, EACH = ROWS * COLUMNS };

static int self, count;

static int32_t number(int process, int row, int column)
{
    return process * 1000 + row * COLUMNS + column;
}

static jd_mesh *make_mesh(int rows, int columns)
{
    jd_mesh *mesh;
    EXPECT_OK(jd_mesh_create(&mesh, 2, (int[]){ rows, columns },
                             (const char *[]){ "x", "y" }, NULL));
    return mesh;
}

/* The array of all; it must give each process its part back. */
static jd_array *join(const jd_mesh *mesh, const char *spec)
{
    int32_t part[EACH], back[EACH] = { 0 };
    int64_t shape[] = { ROWS, COLUMNS };
    jd_leaf local = { part, JD_S32, 2, shape };
    jd_leaf out = { back, JD_S32, 2, shape };
    jd_array *array;
    for (int i = 0; i < EACH; i++)
        part[i] = number(self, i / COLUMNS, i % COLUMNS);
    EXPECT_OK(jd_host_local_array_to_global_array(&array, &local, mesh, spec));
    EXPECT_OK(jd_global_array_to_host_local_array(array, mesh, spec, &out));
    EXPECT(memcmp(part, back, sizeof part) == 0, "spec %s", spec);
    return array;
}

/* How many times a dimension is longer in the whole. */
struct times {
    int rows;
    int columns;
};

static int32_t *gather(jd_array *array, struct times times)
{
    const int64_t *shape = jd_array_shape(array);
    EXPECT(shape[0] == ROWS * times.rows && shape[1] == COLUMNS * times.columns,
           "%lld x %lld", (long long)shape[0], (long long)shape[1]);
    int32_t *whole = calloc((size_t)(shape[0] * shape[1]), sizeof *whole);
    jd_leaf out = { whole, JD_S32, 2, shape };
    EXPECT_OK(jd_process_allgather_array(array, &out));
    jd_array_release(array);
    return whole;
}

/* Where processes' boxes follow each other, so do their parts. */
static void try_parts(const jd_mesh *mesh, const char *spec, struct times times)
{
    int32_t *whole = gather(join(mesh, spec), times);
    for (int i = 0; i < ROWS * times.rows; i++)
        for (int j = 0; j < COLUMNS * times.columns; j++) {
            int process = i / ROWS * times.columns + j / COLUMNS;
            int32_t wanted = number(process, i % ROWS, j % COLUMNS);
            int32_t got = whole[i * COLUMNS * times.columns + j];
            EXPECT(got == wanted, "%s: [%d,%d] is %d, not %d", spec, i, j, got,
                   wanted);
        }
    free(whole);
}

/* "y+x" on boxes of one x and four y: a part's four blocks of rows are those
 * of four y, between which lie the other processes'. */
static void try_interleaved(const jd_mesh *mesh)
{
    int32_t *whole = gather(join(mesh, "y+x"), (struct times){ count, 1 });
    for (int i = 0; i < ROWS * count; i++)
        for (int j = 0; j < COLUMNS; j++) {
            int32_t wanted = number(i % count, i / count, j);
            EXPECT(whole[i * COLUMNS + j] == wanted, "[%d,%d] is %d, not %d", i,
                   j, whole[i * COLUMNS + j], wanted);
        }
    free(whole);
}

/* What all have alike is not made longer. */
static void try_replicas(const jd_mesh *mesh)
{
    double values[6] = { 1, 2, 3, 4, 5, 6 }, back[6] = { 0 };
    jd_leaf local = { values, JD_F64, 1, (int64_t[]){ 6 } };
    jd_leaf out = { back, JD_F64, 1, (int64_t[]){ 6 } };
    jd_array *array;
    EXPECT_OK(jd_host_local_array_to_global_array(&array, &local, mesh, "-"));
    EXPECT(jd_array_shape(array)[0] == 6, "%lld",
           (long long)jd_array_shape(array)[0]);
    EXPECT_OK(jd_array_to_host(array, &out));
    EXPECT(memcmp(values, back, sizeof values) == 0, "%g", back[5]);
    jd_array_release(array);
}

static void try_mesh_of_rows(void)
{
    jd_mesh *mesh = make_mesh(count, 4);
    try_parts(mesh, "x,y", (struct times){ count, 1 });
    try_parts(mesh, "x", (struct times){ count, 1 });
    try_parts(mesh, "y,x", (struct times){ 1, count });
    try_parts(mesh, "x+y", (struct times){ count, 1 });
    try_parts(mesh, "-,x+y", (struct times){ 1, count });
    try_interleaved(mesh);
    try_replicas(mesh);
    /* Cut within a process: any length will do. */
    jd_array *array;
    jd_leaf local = { &(char[5]){ 0 }, JD_U8, 1, (int64_t[]){ 5 } };
    EXPECT_OK(jd_host_local_array_to_global_array(&array, &local, mesh, "y"));
    EXPECT(jd_array_shape(array)[0] == 5, "%lld",
           (long long)jd_array_shape(array)[0]);
    jd_array_release(array);
    jd_mesh_destroy(mesh);
}

/* Boxes of 2 x 2. */
static void try_mesh_of_squares(void)
{
    jd_mesh *mesh = make_mesh(2 * count, 2);
    try_parts(mesh, "x,y", (struct times){ count, 1 });
    try_parts(mesh, "y,x", (struct times){ 1, count });
    try_parts(mesh, "x+y", (struct times){ count, 1 });
    jd_mesh_destroy(mesh);
}

static void try_refusal(void)
{
    jd_mesh *mesh = make_mesh(2 * count, 2);
    jd_array *array = NULL;
    jd_leaf local = { &(char[5]){ 0 }, JD_U8, 1, (int64_t[]){ 5 } };
    expect_sentence(
        jd_host_local_array_to_global_array(&array, &local, mesh, "x"),
        JD_INVALID_ARGUMENT,
        "jd_host_local_array_to_global_array: dimension 0 of local is 5 long, "
        "and this process has 2 of the %d blocks that \"x\" cuts it into; make "
        "it a multiple of 2",
        2 * count);
    EXPECT(!array, "an array was written");
    jd_mesh_destroy(mesh);
}

int main(void)
{
    JD_CHECK(jd_initialize());
    self = jd_process_index();
    count = jd_process_count();
    EXPECT(jd_local_device_count() == 4, "set JD_NUM_CPU_DEVICES=4");
    try_mesh_of_rows();
    try_mesh_of_squares();
    if (count > 1)
        try_refusal();
    JD_CHECK(jd_shutdown());
    return 0;
}
