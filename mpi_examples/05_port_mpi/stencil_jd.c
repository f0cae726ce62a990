/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stencil_jd.c - heat in a plate, with jd.
 *
 * Objective: the usual shape of an MPI code after its port, to be read beside
 * stencil_mpi.c, which prints the same.
 *
 * Steps:
 *   1. Start, learn index and count.
 *   2. Process 0 reads the command line and broadcasts what it says.
 *   3. Each step: exchange the outermost rows with the neighbours, advance,
 *      add up the change over all processes, stop where it is small.
 *   4. Add up the heat, gather the middle column on process 0, print.
 */
#include "grid.h"

#include <jd.h>
#include <jd_mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { UP, DOWN, EVERY = 100 };

/* Everybody gets what process 0 has read. */
static void share_problem(struct problem *problem)
{
    jd_leaf leaves[] = {
        { &problem->action, JD_S32, 0, NULL },
        { &problem->size, JD_S32, 0, NULL },
        { &problem->steps, JD_S32, 0, NULL },
        { &problem->tolerance, JD_F64, 0, NULL },
    };
    JD_CHECK(jd_broadcast_one_to_all(leaves, 4, 0));
}

/* Own outermost rows to the neighbours, theirs into the lines around. */
static void exchange_rows(struct grid *grid, int index, int count)
{
    int above = index > 0 ? index - 1 : MPI_PROC_NULL;
    int below = index < count - 1 ? index + 1 : MPI_PROC_NULL;
    int width = grid->size + 2, last = grid->rows;
    MPI_Comm comm = jd_mpi_comm();
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

static double add_up(jd_shard *me, double mine)
{
    double sum;
    JD_CHECK(jd_psum(me, "rows", &mine, &sum, 1, JD_F64));
    return sum;
}

/* Advances until the change is small; returns the steps that took. */
static int iterate(jd_shard *me, struct grid *grid,
                   const struct problem *problem)
{
    int index = jd_process_index(), count = jd_process_count();
    double change = INFINITY;
    int step = 0;
    while (step < problem->steps && change >= problem->tolerance) {
        exchange_rows(grid, index, count);
        change = sqrt(add_up(me, advance(grid)));
        step++;
        if (index == 0 && step % EVERY == 0)
            print_progress(step, change);
    }
    return step;
}

/* All processes' middle columns, on process 0. */
static void gather_middle(struct grid *grid, double *all)
{
    int count = jd_process_count();
    double *mine = malloc((size_t)grid->rows * sizeof *mine);
    int *rows = malloc((size_t)count * sizeof *rows);
    int *starts = malloc((size_t)count * sizeof *starts);
    if (!mine || !rows || !starts)
        jd_abort(EXIT_FAILURE, "no memory for the middle column");
    jd_leaf in = { &grid->rows, JD_S32, 0, NULL };
    jd_leaf out = { rows, JD_S32, 1, (int64_t[]){ count } };
    JD_CHECK(jd_process_allgather(&in, &out, 1, 0));
    for (int i = 0, start = 0; i < count; start += rows[i++])
        starts[i] = start;
    copy_middle(grid, mine);
    MPI_Gatherv(mine, grid->rows, MPI_DOUBLE, all, rows, starts, MPI_DOUBLE, 0,
                jd_mpi_comm());
    free(mine);
    free(rows);
    free(starts);
}

static void solve(jd_shard *me, const struct problem *problem)
{
    int index = jd_process_index(), count = jd_process_count();
    struct grid grid;
    double *middle = malloc((size_t)problem->size * sizeof *middle);
    if (!middle || make_grid(&grid, problem->size, index, count) != 0)
        jd_abort(EXIT_FAILURE, "no memory for the plate");
    int steps = iterate(me, &grid, problem);
    double heat = add_up(me, add_points(&grid));
    gather_middle(&grid, middle);
    if (index == 0)
        print_result(steps, heat / problem->size / problem->size, middle,
                     problem->size);
    free_grid(&grid);
    free(middle);
}

/* All devices of the job along one axis. */
static void solve_on_mesh(const struct problem *problem)
{
    jd_mesh *mesh;
    JD_CHECK(jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "rows" },
                            NULL));
    jd_shard *me = jd_mesh_shard(mesh);
    if (!me)
        jd_abort(EXIT_FAILURE, jd_error_message());
    solve(me, problem);
    jd_mesh_destroy(mesh);
}

int main(int argc, char **argv)
{
    JD_CHECK(jd_initialize());
    /* The MPI calls that stay are not checked here: let them end the job. */
    MPI_Comm_set_errhandler(jd_mpi_comm(), MPI_ERRORS_ARE_FATAL);

    struct problem problem = { 0 };
    if (jd_process_index() == 0)
        problem = read_problem(argc, argv, jd_process_count());
    share_problem(&problem);
    if (problem.action == ACTION_RUN)
        solve_on_mesh(&problem);

    /* A launcher may end the job as soon as one process has failed: nobody
     * leaves here before process 0, which has said why by then. */
    JD_CHECK(jd_shutdown());
    return problem.action == ACTION_FAIL ? EXIT_USAGE : 0;
}
