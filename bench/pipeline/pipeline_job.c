/* SPDX-License-Identifier: BSD-3-Clause */
/* pipeline_job.c - what one process of `jd-bench pipeline` does. */
#include "bench/engine/line.h"
#include "bench/engine/sides.h"
#include "bench/pipeline/pipeline.h"
#include "jd_collectives.h"

#include <stdio.h>
#include <stdlib.h>

struct job {
    const struct pipeline_request *request;
    struct bench_line line;
    int64_t first, columns; /* of the whole, and how many are this one's */
    double *blocks[PIPELINE_SIDES]; /* rows x (1 + columns): the first of each
                                     * is the last of the process before */
    int sweeps[PIPELINE_SIDES];
};

/* ---- the two sides ------------------------------------------------------ */

static void send_number(struct job *job, int side, int to, const double *number)
{
    if (side == PIPELINE_JD)
        JD_CHECK(jd_send(job->line.me, NULL, to, number, 1, JD_F64));
    else
        MPI_Send(number, 1, MPI_DOUBLE, to, 0, job->line.comm);
}

static void receive_number(struct job *job, int side, int from, double *number)
{
    if (side == PIPELINE_JD)
        JD_CHECK(jd_recv(job->line.me, NULL, from, number, 1, JD_F64));
    else
        MPI_Recv(number, 1, MPI_DOUBLE, from, 0, job->line.comm,
                 MPI_STATUS_IGNORE);
}

/* ---- a sweep ------------------------------------------------------------ */

static double *row_of(const struct job *job, int side, int64_t row)
{
    return job->blocks[side] + row * (1 + job->columns);
}

/* Each element is its left and its upper neighbour's sum, less the one between
 * them. */
static void advance_row(const struct job *job, int side, int64_t row)
{
    double *here = row_of(job, side, row);
    const double *above = row_of(job, side, row - 1);
    for (int64_t i = job->first == 0 ? 2 : 1; i <= job->columns; i++)
        here[i] = here[i - 1] + above[i] - above[i - 1];
}

/* The last one's corner goes, with its sign changed, to the first one's: the
 * next sweep begins where this one has ended. */
static void close_sweep(struct job *job, int side)
{
    int last = job->line.size - 1;
    double corner = 0;
    if (job->line.rank == last)
        corner = -row_of(job, side, job->request->rows - 1)[job->columns];
    if (job->line.rank == last && last > 0)
        send_number(job, side, 0, &corner);
    if (job->line.rank == 0 && last > 0)
        receive_number(job, side, last, &corner);
    if (job->line.rank == 0)
        row_of(job, side, 0)[1] = corner;
}

static void sweep(void *arg, int side)
{
    struct job *job = arg;
    for (int64_t row = 1; row < job->request->rows; row++) {
        double *here = row_of(job, side, row);
        if (job->line.rank > 0)
            receive_number(job, side, job->line.rank - 1, here);
        advance_row(job, side, row);
        if (job->line.rank < job->line.size - 1)
            send_number(job, side, job->line.rank + 1, here + job->columns);
    }
    close_sweep(job, side);
    job->sweeps[side]++;
}

/* ---- a job -------------------------------------------------------------- */

/* The upper row and the left column are given: the sum of row and column. */
static void open_block(struct job *job, int side)
{
    int64_t rows = job->request->rows, columns = job->columns;
    job->blocks[side] =
        calloc((size_t)(rows * (1 + columns)), sizeof *job->blocks[side]);
    if (!job->blocks[side]) {
        fprintf(stderr,
                "jd-bench pipeline: no memory for %lld x %lld numbers\n",
                (long long)rows, (long long)columns);
        exit(EXIT_FAILURE);
    }
    for (int64_t i = 0; i <= columns; i++)
        row_of(job, side, 0)[i] = (double)(job->first + i - 1);
    for (int64_t row = 0; row < rows && job->first == 0; row++)
        row_of(job, side, row)[1] = (double)row;
}

/* Each process has a column at least. */
static void check_columns(const struct job *job)
{
    if (job->request->columns >= job->line.size)
        return;
    fprintf(stderr,
            "jd-bench pipeline: --shape %lldx%lld has fewer columns than the "
            "%d processes\n",
            (long long)job->request->rows, (long long)job->request->columns,
            job->line.size);
    exit(EXIT_FAILURE);
}

static void open_blocks(struct job *job)
{
    int64_t all = job->request->columns;
    check_columns(job);
    job->first = all * job->line.rank / job->line.size;
    job->columns = all * (job->line.rank + 1) / job->line.size - job->first;
    for (int side = 0; side < PIPELINE_SIDES; side++)
        open_block(job, side);
}

/* Each sweep adds what the first gives to the last one's corner. */
static size_t count_wrong(struct job *job, int side)
{
    const struct pipeline_request *r = job->request;
    sweep(job, side);
    double corner = row_of(job, side, r->rows - 1)[job->columns];
    double wanted =
        (double)job->sweeps[side] * (double)(r->rows + r->columns - 2);
    size_t wrong = job->line.rank == job->line.size - 1 && corner != wanted;
    return bench_sum(job->line.comm, wrong);
}

static void measure(struct job *job)
{
    static double samples[PIPELINE_SIDES][BENCH_MAX_ROUNDS];
    static const bool all[PIPELINE_SIDES] = { true, true };
    const struct bench_turns turns = { .comm = job->line.comm,
                                       .call = sweep,
                                       .arg = job,
                                       .sample_seconds =
                                           job->request->sample_seconds,
                                       .rounds = job->request->rounds };
    size_t wrong[PIPELINE_SIDES];
    bench_turns_run(&turns, all, PIPELINE_SIDES, samples);
    for (int side = 0; side < PIPELINE_SIDES; side++)
        wrong[side] = count_wrong(job, side);
    bench_sides_print(&turns, PIPELINE_SIDES, wrong, samples);
}

int pipeline_job(const struct pipeline_request *request)
{
    struct job job = { .request = request };
    bench_line_open(&job.line, "pipeline");
    bench_print_conditions(job.line.comm, "pipeline");
    open_blocks(&job);
    measure(&job);
    for (int side = 0; side < PIPELINE_SIDES; side++)
        free(job.blocks[side]);
    return bench_line_close(&job.line);
}
