/* SPDX-License-Identifier: BSD-3-Clause */
/* shallow_mpi.c - the program that shallow_jd.c was ported from. */
#include "water.h"

#include <mpi.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILED = 1, USAGE = 2, REPORTS = 4 };

/* One process's side of the work. */
struct worker {
    const struct task *task;
    MPI_Comm grid, row, column; /* all; those of this row, of this column */
    int rank;
    struct block block;
    double exchanging; /* seconds */
};

/* ---- the exchange ------------------------------------------------------- */

static void shift(struct worker *w, int dimension, int by, const double *give,
                  double *take, size_t count)
{
    int from, to;
    MPI_Cart_shift(w->grid, dimension, by, &from, &to);
    MPI_Sendrecv(give, (int)count, MPI_DOUBLE, to, 0, take, (int)count,
                 MPI_DOUBLE, from, 0, w->grid, MPI_STATUS_IGNORE);
}

static void shift_column(struct worker *w, double *field, size_t from,
                         size_t to, int by)
{
    struct block *b = &w->block;
    block_pack(b, field, from, b->give);
    shift(w, 1, by, b->give, b->take, b->height);
    block_unpack(b, field, to, b->take);
}

static void shift_row(struct worker *w, double *field, size_t from, size_t to,
                      int by)
{
    struct block *b = &w->block;
    shift(w, 0, by, block_row(b, field, from), block_row(b, field, to),
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
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, w->grid);
    if (w->rank == 0)
        print_sums(step, sums);
}

/* Each line of pixels of a row of blocks is the blocks' lines side by side. */
static void save_picture(struct worker *w)
{
    const struct task *t = w->task;
    size_t mine = 3 * t->height * t->width, band = mine * t->columns;
    unsigned char *pixels = malloc(mine), *row = malloc(band);
    unsigned char *all = malloc(band * t->rows);
    MPI_Datatype lines, place;
    if (!pixels || !row || !all)
        MPI_Abort(w->grid, FAILED);
    block_paint(&w->block, pixels);
    MPI_Type_vector((int)t->height, (int)(3 * t->width),
                    (int)(3 * t->width * t->columns), MPI_BYTE, &lines);
    MPI_Type_create_resized(lines, 0, (MPI_Aint)(3 * t->width), &place);
    MPI_Type_commit(&place);
    MPI_Gather(pixels, (int)mine, MPI_BYTE, row, 1, place, 0, w->row);
    if (w->block.column == 0)
        MPI_Gather(row, (int)band, MPI_BYTE, all, (int)band, MPI_BYTE, 0,
                   w->column);
    MPI_Type_free(&place);
    MPI_Type_free(&lines);
    if (w->rank == 0 && write_picture(t->picture, all, t->size, t->size) != 0) {
        fprintf(stderr, "%s: %s\n", t->picture, strerror(errno));
        MPI_Abort(w->grid, FAILED);
    }
    free(pixels);
    free(row);
    free(all);
}

/* ---- the program -------------------------------------------------------- */

static double *allocate(size_t count)
{
    double *memory = calloc(count, sizeof *memory);
    if (!memory)
        MPI_Abort(MPI_COMM_WORLD, FAILED);
    return memory;
}

static struct block make_block(const struct task *t, const int place[2])
{
    struct block block = {
        .height = t->height,
        .width = t->width,
        .row = (size_t)place[0],
        .column = (size_t)place[1],
        .h = allocate(block_cells(t)),
        .u = allocate(block_cells(t)),
        .v = allocate(block_cells(t)),
        .give = allocate(t->height),
        .take = allocate(t->height),
    };
    block_fill(t, &block);
    return block;
}

static void free_block(struct block *block)
{
    free(block->h);
    free(block->u);
    free(block->v);
    free(block->give);
    free(block->take);
}

static void make_grid(struct worker *w)
{
    int shape[2] = { (int)w->task->rows, (int)w->task->columns };
    int place[2];
    MPI_Cart_create(MPI_COMM_WORLD, 2, shape, (int[]){ 1, 1 }, 0, &w->grid);
    MPI_Comm_rank(w->grid, &w->rank);
    MPI_Cart_coords(w->grid, w->rank, 2, place);
    MPI_Cart_sub(w->grid, (int[]){ 0, 1 }, &w->row);
    MPI_Cart_sub(w->grid, (int[]){ 1, 0 }, &w->column);
    w->block = make_block(w->task, place);
}

static void free_grid(struct worker *w)
{
    free_block(&w->block);
    MPI_Comm_free(&w->row);
    MPI_Comm_free(&w->column);
    MPI_Comm_free(&w->grid);
}

static void work(const struct task *t)
{
    struct worker w = { .task = t };
    int every = t->steps > REPORTS ? t->steps / REPORTS : 1;
    make_grid(&w);
    report(&w, 0);
    double begin = now(), reporting = 0;
    for (int step = 1; step <= t->steps; step++) {
        take_step(&w);
        double before = now();
        if (step % every == 0)
            report(&w, step);
        reporting += now() - before;
    }
    if (w.rank == 0)
        print_speed(t, now() - begin - reporting, w.exchanging);
    if (t->picture)
        save_picture(&w);
    free_grid(&w);
}

int main(int argc, char **argv)
{
    struct task task;
    char why[200] = "";
    int rank, count;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    int parsed = task_parse(&task, argc, argv, why, sizeof why);
    task_cut(&task, count);
    if (parsed == 0)
        work(&task);
    else if (rank == 0)
        fprintf(parsed > 0 ? stdout : stderr, "%s%s%s", why, *why ? "\n" : "",
                task_usage);
    MPI_Finalize();
    return parsed < 0 ? USAGE : 0;
}
