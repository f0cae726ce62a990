/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stencil_mpi.c - heat in a plate, with MPI alone.
 *
 * Objective: the usual shape of an MPI code, to be read beside stencil_jd.c,
 * which prints the same.
 *
 * Steps:
 *   1. Start, learn index and count.
 *   2. Process 0 reads the command line and broadcasts what it says.
 *   3. Each step: exchange the outermost rows with the neighbours, advance,
 *      add up the change over all processes, stop where it is small.
 *   4. Add up the heat, gather the middle column on process 0, print.
 */
#include "grid.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { UP, DOWN, EVERY = 100 };

/* Everybody gets what process 0 has read. */
static void share_problem(struct problem *problem)
{
    MPI_Bcast(&problem->action, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&problem->size, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&problem->steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&problem->tolerance, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* Own outermost rows to the neighbours, theirs into the lines around. */
static void exchange_rows(struct grid *grid, int index, int count)
{
    int above = index > 0 ? index - 1 : MPI_PROC_NULL;
    int below = index < count - 1 ? index + 1 : MPI_PROC_NULL;
    int width = grid->size + 2, last = grid->rows;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request requests[4];
    MPI_Irecv(line(grid, 0), width, MPI_DOUBLE, above, DOWN, comm,
              &requests[0]);
    MPI_Irecv(line(grid, last + 1), width, MPI_DOUBLE, below, UP, comm,
              &requests[1]);
    MPI_Isend(line(grid, 1), width, MPI_DOUBLE, above, UP, comm, &requests[2]);
    MPI_Isend(line(grid, last), width, MPI_DOUBLE, below, DOWN, comm,
              &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static double add_up(double mine)
{
    double sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* Advances until the change is small; returns the steps that took. */
static int iterate(struct grid *grid, const struct problem *problem, int index,
                   int count)
{
    double change = INFINITY;
    int step = 0;
    while (step < problem->steps && change >= problem->tolerance) {
        exchange_rows(grid, index, count);
        change = sqrt(add_up(advance(grid)));
        step++;
        if (index == 0 && step % EVERY == 0)
            print_progress(step, change);
    }
    return step;
}

/* All processes' middle columns, on process 0. */
static void gather_middle(struct grid *grid, double *all, int count)
{
    double *mine = malloc((size_t)grid->rows * sizeof *mine);
    int *rows = malloc((size_t)count * sizeof *rows);
    int *starts = malloc((size_t)count * sizeof *starts);
    if (!mine || !rows || !starts)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    MPI_Allgather(&grid->rows, 1, MPI_INT, rows, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0, start = 0; i < count; start += rows[i++])
        starts[i] = start;
    copy_middle(grid, mine);
    MPI_Gatherv(mine, grid->rows, MPI_DOUBLE, all, rows, starts, MPI_DOUBLE, 0,
                MPI_COMM_WORLD);
    free(mine);
    free(rows);
    free(starts);
}

static void solve(const struct problem *problem, int index, int count)
{
    struct grid grid;
    double *middle = malloc((size_t)problem->size * sizeof *middle);
    if (!middle || make_grid(&grid, problem->size, index, count) != 0)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    int steps = iterate(&grid, problem, index, count);
    double heat = add_up(add_points(&grid));
    gather_middle(&grid, middle, count);
    if (index == 0)
        print_result(steps, heat / problem->size / problem->size, middle,
                     problem->size);
    free_grid(&grid);
    free(middle);
}

int main(int argc, char **argv)
{
    int index, count;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &index);
    MPI_Comm_size(MPI_COMM_WORLD, &count);

    struct problem problem = { 0 };
    if (index == 0)
        problem = read_problem(argc, argv, count);
    share_problem(&problem);
    if (problem.action == ACTION_RUN)
        solve(&problem, index, count);

    MPI_Finalize();
    return problem.action == ACTION_FAIL ? EXIT_USAGE : 0;
}
