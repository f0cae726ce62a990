/* SPDX-License-Identifier: BSD-3-Clause */
/* overlap_job.c - what one process of `jd-bench overlap` does. */
#include "bench/engine/line.h"
#include "bench/engine/sides.h"
#include "bench/overlap/overlap.h"
#include "jd_collectives.h"
#include "jd_overlap.h"

#include <stdio.h>
#include <stdlib.h>

/* Work goes over so many numbers, again and again; and as often to see how long
 * it takes. */
enum { WORK_NUMBERS = 1024, TRIAL_TURNS = 200, TRIALS = 50 };

struct job {
    const struct overlap_request *request;
    struct bench_line line;
    float *in, *out;
    float numbers[WORK_NUMBERS];
    long turns; /* of the work over its numbers */
};

/* ---- work --------------------------------------------------------------- */

static void work_for(struct job *job, long turns)
{
    for (long turn = 0; turn < turns; turn++)
        for (int i = 0; i < WORK_NUMBERS; i++)
            job->numbers[i] = 0.75f * job->numbers[i] + 0.5f;
}

/* ---- calls -------------------------------------------------------------- */

static int next_of(const struct job *job)
{
    return (job->line.rank + 1) % job->line.size;
}

static int previous_of(const struct job *job)
{
    return (job->line.rank + job->line.size - 1) % job->line.size;
}

/* The group of a ring's sends and receives, not yet ended. */
static void open_group(struct job *job)
{
    size_t count = job->request->count;
    JD_CHECK(jd_group_begin(job->line.me));
    JD_CHECK(
        jd_recv(job->line.me, "x", previous_of(job), job->out, count, JD_F32));
    JD_CHECK(jd_send(job->line.me, "x", next_of(job), job->in, count, JD_F32));
}

static void call_jd(struct job *job)
{
    if (job->request->op == OVERLAP_PSUM) {
        JD_CHECK(jd_psum(job->line.me, "x", job->in, job->out,
                         job->request->count, JD_F32));
        return;
    }
    open_group(job);
    JD_CHECK(jd_group_end(job->line.me));
}

static void start_jd(struct job *job, jd_request **ret_request)
{
    if (job->request->op == OVERLAP_PSUM) {
        JD_CHECK(jd_psum_start(job->line.me, "x", job->in, job->out,
                               job->request->count, JD_F32, ret_request));
        return;
    }
    open_group(job);
    JD_CHECK(jd_group_start(job->line.me, ret_request));
}

/* How many there are. */
static int start_mpi(struct job *job, MPI_Request requests[2])
{
    int count = (int)job->request->count;
    if (job->request->op == OVERLAP_PSUM) {
        MPI_Iallreduce(job->in, job->out, count, MPI_FLOAT, MPI_SUM,
                       job->line.comm, &requests[0]);
        return 1;
    }
    MPI_Irecv(job->out, count, MPI_FLOAT, previous_of(job), 0, job->line.comm,
              &requests[0]);
    MPI_Isend(job->in, count, MPI_FLOAT, next_of(job), 0, job->line.comm,
              &requests[1]);
    return 2;
}

static void call_mpi(struct job *job)
{
    int count = (int)job->request->count;
    if (job->request->op == OVERLAP_PSUM)
        MPI_Allreduce(job->in, job->out, count, MPI_FLOAT, MPI_SUM,
                      job->line.comm);
    else
        MPI_Sendrecv(job->in, count, MPI_FLOAT, next_of(job), 0, job->out,
                     count, MPI_FLOAT, previous_of(job), 0, job->line.comm,
                     MPI_STATUS_IGNORE);
}

/* ---- sides -------------------------------------------------------------- */

static void overlap_jd(struct job *job)
{
    jd_request *request;
    start_jd(job, &request);
    work_for(job, job->turns);
    JD_CHECK(jd_wait(&request));
}

static void overlap_mpi(struct job *job)
{
    MPI_Request requests[2];
    int count = start_mpi(job, requests);
    work_for(job, job->turns);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void call(void *arg, int side)
{
    struct job *job = arg;
    if (side == OVERLAP_JD_START) {
        overlap_jd(job);
        return;
    }
    if (side == OVERLAP_MPI_START) {
        overlap_mpi(job);
        return;
    }
    if (side == OVERLAP_JD)
        call_jd(job);
    else if (side == OVERLAP_MPI)
        call_mpi(job);
    work_for(job, job->turns);
}

/* ---- the job ------------------------------------------------------------ */

static void open_job(struct job *job)
{
    size_t count = job->request->count;
    bench_line_open(&job->line, "overlap");
    job->in = malloc(count * sizeof *job->in);
    job->out = malloc(count * sizeof *job->out);
    if (!job->in || !job->out) {
        fprintf(stderr, "jd-bench overlap: no memory for %zu elements\n",
                count);
        exit(EXIT_FAILURE);
    }
}

/* Small whole numbers: a sum has no rounding. */
static float element_of(int rank, size_t i)
{
    return (float)(rank % 64 + 1 + (int)(i % 13));
}

static float expected(const struct job *job, size_t i)
{
    float sum = 0;
    if (job->request->op == OVERLAP_RING)
        return element_of(previous_of(job), i);
    for (int rank = 0; rank < job->line.size; rank++)
        sum += element_of(rank, i);
    return sum;
}

static size_t count_wrong(struct job *job, int side)
{
    size_t wrong = 0;
    for (size_t i = 0; i < job->request->count; i++)
        job->out[i] = -1;
    call(job, side);
    for (size_t i = 0; i < job->request->count && side != OVERLAP_WORK; i++)
        wrong += job->out[i] != expected(job, i);
    return bench_sum(job->line.comm, wrong);
}

/* The least of some times, as others may work here too. */
static double least_seconds(struct job *job, void (*run)(struct job *job))
{
    double least = 0;
    for (int i = 0; i < TRIALS; i++) {
        MPI_Barrier(job->line.comm);
        double begin = MPI_Wtime();
        run(job);
        double seconds = MPI_Wtime() - begin;
        least = i == 0 || seconds < least ? seconds : least;
    }
    return least;
}

static void try_work(struct job *job)
{
    work_for(job, TRIAL_TURNS);
}

/* So that the work takes as long as was asked for, on all ranks. */
static void measure_work(struct job *job)
{
    double call_seconds = least_seconds(job, call_jd);
    double turn_seconds = least_seconds(job, try_work) / TRIAL_TURNS;
    job->turns = (long)(job->request->work * call_seconds / turn_seconds) + 1;
    MPI_Bcast(&job->turns, 1, MPI_LONG, 0, job->line.comm);
}

static void measure(struct job *job)
{
    _Static_assert((int)OVERLAP_SIDES <= BENCH_MAX_SIDES, "turns.h");
    static double samples[OVERLAP_SIDES][BENCH_MAX_ROUNDS];
    static const bool all[OVERLAP_SIDES] = { true, true, true, true, true };
    const struct overlap_request *r = job->request;
    const struct bench_turns turns = { .comm = job->line.comm,
                                       .call = call,
                                       .arg = job,
                                       .sample_seconds = r->sample_seconds,
                                       .rounds = r->rounds };
    size_t wrong[OVERLAP_SIDES];
    for (int side = 0; side < OVERLAP_SIDES; side++)
        wrong[side] = count_wrong(job, side);
    bench_turns_run(&turns, all, OVERLAP_SIDES, samples);
    bench_sides_print(&turns, OVERLAP_SIDES, wrong, samples);
}

int overlap_job(const struct overlap_request *request)
{
    static struct job job;
    job.request = request;
    open_job(&job);
    bench_print_conditions(job.line.comm, "overlap");
    for (size_t i = 0; i < request->count; i++)
        job.in[i] = element_of(job.line.rank, i);
    measure_work(&job);
    measure(&job);
    free(job.in);
    free(job.out);
    return bench_line_close(&job.line);
}
