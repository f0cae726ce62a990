/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shallow_jd.c - waves on a sea without shores, over a grid of devices.
 *
 * Objective: exchange the edges of blocks with jd_ppermute along the axes of a
 * two-dimensional mesh. shallow_mpi.c is the same program with MPI calls.
 *
 * Steps:
 *   1. Join the job; arrange all devices as rows x columns.
 *   2. Each device has a block of the sea in memory that its neighbours on the
 *      host can read (jd_device_alloc).
 *   3. In each step two rows and two columns of cells go to neighbours.
 *   4. jd_psum adds up water and energy.
 *   5. The picture's blocks come together: along "columns", then "rows".
 */
#include "water.h"

#include <jd.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILED = 1, USAGE = 2, REPORTS = 4, MAX_ALONG = 4096 };

/* One device's side of the work. */
struct worker {
    const struct task *task;
    jd_shard *me;
    struct block block;
    double exchanging; /* seconds */
};

/* ---- the exchange ------------------------------------------------------- */

/* Everybody's cells go one place back (or forth) along the axis, around. */
static void shift(struct worker *w, const char *axis, int by,
                  const double *give, double *take, size_t count)
{
    int n = jd_axis_size(w->me, axis);
    jd_route routes[MAX_ALONG];
    for (int i = 0; i < n; i++)
        routes[i] = (jd_route){ .from = i, .to = (i + by + n) % n };
    JD_CHECK(jd_ppermute(w->me, axis, give, take, count, JD_F64, routes, n));
}

static void shift_column(struct worker *w, double *field, size_t from,
                         size_t to, int by)
{
    struct block *b = &w->block;
    block_pack(b, field, from, b->give);
    shift(w, "columns", by, b->give, b->take, b->height);
    block_unpack(b, field, to, b->take);
}

static void shift_row(struct worker *w, double *field, size_t from, size_t to,
                      int by)
{
    struct block *b = &w->block;
    shift(w, "rows", by, block_row(b, field, from), block_row(b, field, to),
          b->width);
}

static void take_step(struct worker *w)
{
    struct block *b = &w->block;
    double begin = now();
    shift_column(w, b->h, 1, b->width + 1, -1);
    shift_row(w, b->h, 1, b->height + 1, -1);
    double middle = now();
    block_move_velocities(b);
    double later = now();
    shift_column(w, b->u, b->width, 0, 1);
    shift_row(w, b->v, b->height, 0, 1);
    double end = now();
    block_move_surface(b);
    w->exchanging += middle - begin + end - later;
}

/* ---- results ------------------------------------------------------------ */

static void report(struct worker *w, int step)
{
    double sums[2];
    block_sum(&w->block, sums);
    JD_CHECK(jd_psum(w->me, NULL, sums, sums, 2, JD_F64));
    if (jd_axis_index(w->me, NULL) == 0)
        print_sums(step, sums);
}

/* Lines of a row of blocks come side by side, then the rows below each other.
 */
static void save_picture(struct worker *w)
{
    const struct task *t = w->task;
    size_t mine = 3 * t->height * t->width, band = mine * t->columns;
    unsigned char *pixels = malloc(mine), *row = malloc(band);
    unsigned char *all = malloc(band * t->rows);
    if (!pixels || !row || !all)
        jd_abort(FAILED, "no memory for the picture");
    block_paint(&w->block, pixels);
    JD_CHECK(jd_all_gather_2d(w->me, "columns", pixels, row, t->height,
                              3 * t->width, JD_U8));
    JD_CHECK(jd_all_gather(w->me, "rows", row, all, band, JD_U8));
    if (jd_axis_index(w->me, NULL) == 0 &&
        write_picture(t->picture, all, t->size, t->size) != 0) {
        char why[4200];
        snprintf(why, sizeof why, "%s: %s", t->picture, strerror(errno));
        jd_abort(FAILED, why);
    }
    free(pixels);
    free(row);
    free(all);
}

/* ---- the program -------------------------------------------------------- */

static double *allocate(const jd_device *device, size_t count)
{
    void *memory = NULL;
    JD_CHECK(jd_device_alloc(device, count * sizeof(double), &memory));
    return memory;
}

static struct block make_block(const struct task *t, jd_shard *me)
{
    const jd_device *device = jd_shard_device(me);
    struct block block = {
        .height = t->height,
        .width = t->width,
        .row = (size_t)jd_axis_index(me, "rows"),
        .column = (size_t)jd_axis_index(me, "columns"),
        .h = allocate(device, block_cells(t)),
        .u = allocate(device, block_cells(t)),
        .v = allocate(device, block_cells(t)),
        .give = allocate(device, t->height),
        .take = allocate(device, t->height),
    };
    block_fill(t, &block);
    return block;
}

static void free_block(struct block *block)
{
    jd_device_free(block->h);
    jd_device_free(block->u);
    jd_device_free(block->v);
    jd_device_free(block->give);
    jd_device_free(block->take);
}

/* What every device does: a thread each where a process has several. */
static jd_status body(jd_shard *me, void *arg)
{
    struct worker w = { .task = arg, .me = me };
    const struct task *t = w.task;
    int every = t->steps > REPORTS ? t->steps / REPORTS : 1;
    w.block = make_block(t, me);
    report(&w, 0);
    double begin = now(), reporting = 0;
    for (int step = 1; step <= t->steps; step++) {
        take_step(&w);
        double before = now();
        if (step % every == 0)
            report(&w, step);
        reporting += now() - before;
    }
    if (jd_axis_index(me, NULL) == 0)
        print_speed(t, now() - begin - reporting, w.exchanging);
    if (t->picture)
        save_picture(&w);
    free_block(&w.block);
    return JD_OK;
}

static void run(struct task *t)
{
    jd_mesh *mesh;
    task_cut(t, jd_device_count());
    JD_CHECK(jd_mesh_create(&mesh, 2, (int[]){ (int)t->rows, (int)t->columns },
                            (const char *[]){ "rows", "columns" }, NULL));
    JD_CHECK(jd_shard_map(mesh, body, t));
    jd_mesh_destroy(mesh);
}

int main(int argc, char **argv)
{
    struct task task;
    char why[200] = "";

    JD_CHECK(jd_initialize());
    int parsed = task_parse(&task, argc, argv, why, sizeof why);
    if (parsed == 0)
        run(&task);
    else if (jd_process_index() == 0)
        fprintf(parsed > 0 ? stdout : stderr, "%s%s%s", why, *why ? "\n" : "",
                task_usage);
    JD_CHECK(jd_sync_global_devices("the end"));
    JD_CHECK(jd_shutdown());
    return parsed < 0 ? USAGE : 0;
}
