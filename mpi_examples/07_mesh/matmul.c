/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * matmul.c - the product of two matrices that no device holds all of.
 *
 * Objective: lay devices out as a grid, and let collectives run along its rows
 * and along its columns.
 *
 * Steps:
 *   1. Join the job; arrange all devices as rows x columns.
 *   2. Each device (r, c) has one block of A and one of B.
 *   3. Devices of a row put their blocks of A side by side: jd_all_gather_2d
 *      along "columns". Those of a column put theirs of B one below the other:
 *      jd_all_gather along "rows".
 *   4. Each multiplies: its block of C needs nothing else.
 *   5. Check C x ones = A x (B x ones), with sums along the axes.
 */
#include <jd.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILED = 1, USAGE = 2, MAX_SIZE = 8192 };

static const char usage[] =
    "usage: matmul [SIZE]\n"
    "Multiplies two matrices of SIZE x SIZE numbers (default 512) that are\n"
    "spread over a grid of all devices. SIZE is rounded up so that blocks are\n"
    "equal.\n";

/* What all devices know of the task. */
struct task {
    size_t rows, columns; /* of the grid */
    size_t height, width; /* of a block of C */
    size_t size;
};

/* One device's matrices, row by row. */
struct blocks {
    double *a;        /* height x size / columns */
    double *a_row;    /* height x size: all of the row's */
    double *b;        /* size / rows x width */
    double *b_column; /* size x width: all of the column's */
    double *c;        /* height x width */
};

/* ---- numbers ------------------------------------------------------------ */

/* Small whole numbers: every sum below is exact. */
static double a_at(size_t i, size_t k)
{
    return (double)((i * 7 + k * 3) % 11) - 5;
}

static double b_at(size_t k, size_t j)
{
    return (double)((k * 5 + j * 2) % 13) - 6;
}

static void fill(const struct task *t, size_t r, size_t c, struct blocks *m)
{
    size_t a_width = t->size / t->columns, b_height = t->size / t->rows;
    for (size_t i = 0; i < t->height; i++)
        for (size_t k = 0; k < a_width; k++)
            m->a[i * a_width + k] = a_at(r * t->height + i, c * a_width + k);
    for (size_t k = 0; k < b_height; k++)
        for (size_t j = 0; j < t->width; j++)
            m->b[k * t->width + j] = b_at(r * b_height + k, c * t->width + j);
}

/* ---- the product -------------------------------------------------------- */

static void gather(const struct task *t, jd_shard *me, struct blocks *m)
{
    size_t a_width = t->size / t->columns, b_height = t->size / t->rows;
    JD_CHECK(jd_all_gather_2d(me, "columns", m->a, m->a_row, t->height, a_width,
                              JD_F64));
    JD_CHECK(jd_all_gather(me, "rows", m->b, m->b_column, b_height * t->width,
                           JD_F64));
}

/* The order of the loops goes through all three matrices row by row. */
static void multiply(const struct task *t, struct blocks *m)
{
    memset(m->c, 0, t->height * t->width * sizeof *m->c);
    for (size_t i = 0; i < t->height; i++)
        for (size_t k = 0; k < t->size; k++) {
            double factor = m->a_row[i * t->size + k];
            const double *restrict b = m->b_column + k * t->width;
            double *restrict c = m->c + i * t->width;
            for (size_t j = 0; j < t->width; j++)
                c[j] += factor * b[j];
        }
}

/* ---- the check ---------------------------------------------------------- */

/* Sums of C's rows: each device adds its part, the row's devices the rest.
 * They must be those of A x (B x ones), which one device can work out. */
static int is_right(const struct task *t, jd_shard *me, const struct blocks *m)
{
    size_t first = (size_t)jd_axis_index(me, "rows") * t->height;
    double *sums = calloc(t->height, sizeof *sums);
    double *b_sums = calloc(t->size, sizeof *b_sums);
    if (!sums || !b_sums)
        jd_abort(FAILED, "no memory for the check");
    for (size_t i = 0; i < t->height; i++)
        for (size_t j = 0; j < t->width; j++)
            sums[i] += m->c[i * t->width + j];
    JD_CHECK(jd_psum(me, "columns", sums, sums, t->height, JD_F64));
    for (size_t k = 0; k < t->size; k++)
        for (size_t j = 0; j < t->size; j++)
            b_sums[k] += b_at(k, j);
    unsigned char right = 1;
    for (size_t i = 0; i < t->height; i++) {
        double expected = 0;
        for (size_t k = 0; k < t->size; k++)
            expected += a_at(first + i, k) * b_sums[k];
        right = right && fabs(sums[i] - expected) < 0.5;
    }
    free(sums);
    free(b_sums);
    /* "All" of truth values is their minimum. */
    JD_CHECK(jd_pmin(me, NULL, &right, &right, 1, JD_PRED));
    return right;
}

/* ---- the program -------------------------------------------------------- */

static double *allocate(const jd_device *device, size_t count)
{
    void *memory = NULL;
    JD_CHECK(jd_device_alloc(device, count * sizeof(double), &memory));
    return memory;
}

/* From jd_device_alloc(): the devices of a host read each other's blocks in
 * place. */
static struct blocks allocate_blocks(const struct task *t, jd_shard *me)
{
    const jd_device *device = jd_shard_device(me);
    return (struct blocks){
        .a = allocate(device, t->height * t->size / t->columns),
        .a_row = allocate(device, t->height * t->size),
        .b = allocate(device, t->size / t->rows * t->width),
        .b_column = allocate(device, t->size * t->width),
        .c = allocate(device, t->height * t->width),
    };
}

static void free_blocks(struct blocks *m)
{
    jd_device_free(m->a);
    jd_device_free(m->a_row);
    jd_device_free(m->b);
    jd_device_free(m->b_column);
    jd_device_free(m->c);
}

static void report(const struct task *t, double gathered, double multiplied,
                   int right)
{
    double work = 2.0 * (double)t->height * (double)t->width * (double)t->size;
    printf("%zu x %zu devices, %zu x %zu numbers, blocks of %zu x %zu\n",
           t->rows, t->columns, t->size, t->size, t->height, t->width);
    printf("gathering %.2f ms, multiplying %.2f ms (%.2f Gflop/s per device)\n",
           1e3 * gathered, 1e3 * multiplied, 1e-9 * work / multiplied);
    printf("result: %s\n", right ? "right" : "WRONG");
}

/* What every device does: one thread each where a process has several. */
static jd_status body(jd_shard *me, void *arg)
{
    struct task *t = arg;
    struct blocks m = allocate_blocks(t, me);
    fill(t, (size_t)jd_axis_index(me, "rows"),
         (size_t)jd_axis_index(me, "columns"), &m);
    JD_CHECK(jd_barrier(me, NULL));
    double begin = jd_wtime();
    gather(t, me, &m);
    double gathered = jd_wtime();
    multiply(t, &m);
    double multiplied = jd_wtime();
    int right = is_right(t, me, &m);
    if (jd_axis_index(me, NULL) == 0)
        report(t, gathered - begin, multiplied - gathered, right);
    free_blocks(&m);
    if (!right)
        jd_abort(FAILED, "the product is wrong");
    return JD_OK;
}

/* The most square grid: the larger factor is the number of columns, so that
 * rows stay inside a host where they fit. */
static int rows_for(int devices)
{
    int rows = 1;
    for (int r = 1; r * r <= devices; r++)
        if (devices % r == 0)
            rows = r;
    return rows;
}

static void run(size_t size)
{
    int devices = jd_device_count(), rows = rows_for(devices);
    size_t unit = (size_t)devices; /* a multiple of rows and of columns */
    struct task t = { .rows = (size_t)rows, .columns = unit / (size_t)rows };
    t.size = (size + unit - 1) / unit * unit;
    t.height = t.size / t.rows;
    t.width = t.size / t.columns;
    jd_mesh *mesh;
    JD_CHECK(jd_mesh_create(&mesh, 2, (int[]){ rows, -1 },
                            (const char *[]){ "rows", "columns" }, NULL));
    if (jd_process_index() == 0)
        JD_CHECK(jd_mesh_visualize(mesh, stdout));
    fflush(stdout);
    JD_CHECK(jd_shard_map(mesh, body, &t));
    jd_mesh_destroy(mesh);
}

/* Reads the whole of text as a number of 1..MAX_SIZE; 0 where it is none. */
static size_t parse_size(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    return end == text || *end || value < 1 || value > MAX_SIZE ? 0
                                                                : (size_t)value;
}

int main(int argc, char **argv)
{
    JD_CHECK(jd_initialize());

    int help = argc == 2 && strcmp(argv[1], "--help") == 0;
    size_t size = argc == 1            ? 512
                  : argc == 2 && !help ? parse_size(argv[1])
                                       : 0;
    if (size)
        run(size);
    else if (jd_process_index() == 0 && help)
        fputs(usage, stdout);
    else if (jd_process_index() == 0)
        fprintf(stderr, "matmul: SIZE must be a whole number from 1 to %d\n%s",
                MAX_SIZE, usage);
    JD_CHECK(jd_sync_global_devices("the end"));
    JD_CHECK(jd_shutdown());
    return size || help ? 0 : USAGE;
}
