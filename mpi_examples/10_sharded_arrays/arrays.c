/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arrays.c - a table that no process holds all of, first cut by rows, then by
 * columns.
 *
 * Objective: let jd say who has what. The program names a layout twice, and
 * works on blocks that it finds instead of working out where they are.
 *
 * Steps:
 *   1. Join the job; arrange all devices along one axis.
 *   2. Make the table, cut by rows: each process fills in its own blocks.
 *   3. Cut it by columns instead: jd_array_reshard_donate() moves what has to
 *      move.
 *   4. Each device works out the norms of its columns, which it now has whole.
 *   5. Gather the norms on every process; check them, and that process 0 gets
 *      the table as it was made.
 */
#include <jd.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILED = 1, USAGE = 2, MOST = 8192 };

static const char usage[] =
    "usage: arrays [ROWS COLUMNS]\n"
    "Works out the norms of the columns of a table of ROWS x COLUMNS numbers\n"
    "(default 1200 x 10) that is spread over all devices by rows.\n";

/* Any number that can be worked out again, to check with. */
static double table_at(int64_t i, int64_t j)
{
    return sin(0.001 * (double)(i + 1) * (double)(j + 1));
}

static int is_first(void)
{
    return jd_process_index() == 0;
}

static double *allocate(int64_t count)
{
    double *memory = malloc((size_t)count * sizeof *memory);
    if (!memory)
        jd_abort(FAILED, "no memory for the result");
    return memory;
}

/* ---- the table ---------------------------------------------------------- */

/* Called for each block of this process's devices. */
static jd_status fill(const jd_range *index, void *block, void *arg)
{
    double *next = block;
    (void)arg;
    for (int64_t i = index[0].begin; i < index[0].end; i++)
        for (int64_t j = index[1].begin; j < index[1].end; j++)
            *next++ = table_at(i, j);
    return JD_OK;
}

static void show(const char *what, const jd_array *array)
{
    if (!is_first())
        return;
    printf("\n%s\n", what);
    JD_CHECK(jd_visualize_array_sharding(array, stdout));
}

static double reshard(jd_array **array, const jd_sharding *sharding)
{
    JD_CHECK(jd_sync_global_devices("ready"));
    double begin = jd_wtime();
    JD_CHECK(jd_array_reshard_donate(array, sharding));
    return jd_wtime() - begin;
}

/* By rows, then by columns: nobody has it whole at any time. Donated arrays
 * give their memory back. */
static jd_array *make_table(const jd_sharding *rows, const jd_sharding *columns,
                            const int64_t *shape)
{
    jd_array *table;
    JD_CHECK(
        jd_array_from_callback(&table, rows, JD_F64, 2, shape, fill, NULL));
    show("by rows, as it is made:", table);
    double first = reshard(&table, columns);
    double back = reshard(&table, rows);
    double again = reshard(&table, columns);
    show("by columns, as it is used:", table);
    if (is_first())
        printf("\n%.3f MB to columns %.2f ms, back %.2f ms, once more %.2f "
               "ms\n",
               8e-6 * (double)shape[0] * (double)shape[1], 1e3 * first,
               1e3 * back, 1e3 * again);
    return table;
}

/* ---- norms -------------------------------------------------------------- */

/* Of one device's columns. */
static void find_norms(const jd_array_shard *block, double *norms)
{
    const double *value = block->data;
    for (int64_t i = 0; i < block->shape[0]; i++)
        for (int64_t j = 0; j < block->shape[1]; j++, value++)
            norms[j] += *value * *value;
    for (int64_t j = 0; j < block->shape[1]; j++)
        norms[j] = sqrt(norms[j]);
}

/* One number for each column, cut as the table's columns are: block k of one
 * lies on the same device as block k of the other. */
static jd_array *make_norms(const jd_array *table, const jd_mesh *mesh)
{
    jd_sharding *cut;
    jd_array *norms;
    int count;
    JD_CHECK(jd_sharding_create(&cut, mesh, "data"));
    JD_CHECK(jd_array_zeros(&norms, cut, JD_F64, 1, jd_array_shape(table) + 1));
    const jd_array_shard *blocks = jd_array_shards(table, &count);
    const jd_array_shard *results = jd_array_shards(norms, NULL);
    for (int k = 0; k < count; k++)
        find_norms(&blocks[k], results[k].data);
    jd_sharding_release(cut);
    return norms;
}

/* ---- checks ------------------------------------------------------------- */

static int norms_are_right(const jd_array *norms, const int64_t *shape)
{
    double *all = allocate(shape[1]);
    jd_leaf out = { all, JD_F64, 1, &shape[1] };
    int right = 1;
    JD_CHECK(jd_process_allgather_array(norms, &out));
    for (int64_t j = 0; j < shape[1]; j++) {
        double sum = 0;
        for (int64_t i = 0; i < shape[0]; i++)
            sum += table_at(i, j) * table_at(i, j);
        right = right && fabs(all[j] - sqrt(sum)) <= 1e-12 * sqrt(sum);
    }
    if (is_first())
        printf("norms of columns 0 and %lld: %.6f and %.6f\n",
               (long long)shape[1] - 1, all[0], all[shape[1] - 1]);
    free(all);
    return right;
}

static int table_is_right(const jd_array *table, const int64_t *shape)
{
    double *all = is_first() ? allocate(shape[0] * shape[1]) : NULL;
    jd_leaf out = { all, JD_F64, 2, shape };
    int right = 1;
    JD_CHECK(jd_process_gather_array(table, is_first() ? &out : NULL, 0));
    for (int64_t i = 0; all && i < shape[0]; i++)
        for (int64_t j = 0; j < shape[1]; j++)
            right = right && all[i * shape[1] + j] == table_at(i, j);
    free(all);
    return right;
}

/* ---- the program -------------------------------------------------------- */

static void run(const int64_t *shape)
{
    jd_mesh *mesh;
    jd_sharding *rows, *columns;
    JD_CHECK(jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "data" },
                            NULL));
    if (is_first())
        JD_CHECK(jd_mesh_visualize(mesh, stdout));
    JD_CHECK(jd_sharding_create(&rows, mesh, "data,-"));
    JD_CHECK(jd_sharding_create(&columns, mesh, "-,data"));
    jd_array *table = make_table(rows, columns, shape);
    jd_array *norms = make_norms(table, mesh);
    int right = norms_are_right(norms, shape);
    right = table_is_right(table, shape) && right;
    if (is_first())
        printf("result: %s\n", right ? "right" : "WRONG");
    jd_array_release(norms);
    jd_array_release(table);
    jd_sharding_release(columns);
    jd_sharding_release(rows);
    jd_mesh_destroy(mesh);
    if (!right)
        jd_abort(FAILED, "the norms, or the table, are wrong");
}

/* Reads the whole of text as a number of 1..MOST; 0 where it is none. */
static int64_t parse_length(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    return end == text || *end || value < 1 || value > MOST ? 0 : value;
}

int main(int argc, char **argv)
{
    JD_CHECK(jd_initialize());

    int help = argc == 2 && strcmp(argv[1], "--help") == 0;
    int64_t shape[2] = { argc == 1 ? 1200 : 0, argc == 1 ? 10 : 0 };
    for (int i = 0; i < 2 && argc == 3; i++)
        shape[i] = parse_length(argv[i + 1]);
    int good = shape[0] && shape[1];
    if (good)
        run(shape);
    else if (is_first() && help)
        fputs(usage, stdout);
    else if (is_first())
        fprintf(stderr,
                "arrays: ROWS and COLUMNS must be whole numbers from 1 to "
                "%d\n%s",
                MOST, usage);
    JD_CHECK(jd_sync_global_devices("the end"));
    JD_CHECK(jd_shutdown());
    return good || help ? 0 : USAGE;
}
