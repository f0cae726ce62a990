/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ways [--cycle] [--malloc] - psum of F32 in each of the ways that
 * collectives/cpu/shm/shm_reduce.h lists, with MPI_Allreduce and with what it
 * takes all processes to copy in to out beside them, by turns in the same
 * processes: what the lengths in jd__reduce_limits were chosen by.
 *
 *     mpirun -n 2 build/bench/ways --cycle
 *
 * Prints microseconds, least / median of a round's slowest process, and the
 * way with the least median. --cycle: the input is written and the output read
 * each time. --malloc: private buffers.
 */
#include "base/clock.h"
#include "collectives/cpu/shm/shm_reduce.h"
#include "jd_collectives.h"
#include "jd_memory.h"
#include "jd_mpi.h"
#include "jd_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 31, SHORTEST = 4 << 10, LONGEST = 32 << 20 };
#define NEVER ((size_t)1 << 40)

/* What is compared: with each the lengths at which the ways change. */
static const struct way {
    const char *name;
    bool for_malloc;
    struct jd_reduce_limits limits;
} ways[] = {
    { "jd",
      true,
      { 4032, 8 << 10, 0, 20 << 20, 64 << 10, 512 << 10, 256 << 10 } },
    { "short", false, { 0, NEVER, NEVER, NEVER, 64 << 10, NEVER, 1 } },
    { "zero copy", false, { 0, 0, 0, NEVER, 64 << 10, NEVER, 1 } },
    { "streamed", false, { 0, 0, 0, 0, 64 << 10, NEVER, 1 } },
    { "bounce", true, { 0, 0, NEVER, NEVER, 64 << 10, NEVER, 1 } },
    { "sight", true, { 0, 0, NEVER, NEVER, 64 << 10, 0, 256 << 10 } },
    { "MPI", true, { 0 } },
    { "memcpy", true, { 0 } },
};
enum { WAYS = sizeof ways / sizeof *ways, COPY = WAYS - 1, MPI = COPY - 1 };

struct job {
    bool cycles, is_malloced;
    jd_mesh *mesh;
    jd_shard *me;
    MPI_Comm comm;
    float *in, *out;
    volatile float sink; /* so that outputs are read */
    double samples[WAYS][ROUNDS];
};

static void write_input(float *in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        in[i] = (float)i;
}

/* Eight sums, so that the processor does not wait for one. */
static float read_output(const float *out, size_t count)
{
    float sums[8] = { 0 }, sum = 0;
    for (size_t i = 0; i + 8 <= count; i += 8)
        for (size_t k = 0; k < 8; k++)
            sums[k] += out[i + k];
    for (int k = 0; k < 8; k++)
        sum += sums[k];
    return sum;
}

static void call(struct job *job, int way, size_t count)
{
    if (way == COPY)
        memcpy(job->out, job->in, count * sizeof *job->in);
    else if (way == MPI)
        MPI_Allreduce(job->in, job->out, (int)count, MPI_FLOAT, MPI_SUM,
                      job->comm);
    else
        JD_CHECK(jd_psum(job->me, NULL, job->in, job->out, count, JD_F32));
}

/* Seconds of one call, of the slowest process. */
static double take_sample(struct job *job, int way, size_t count)
{
    int calls = 2000 / (int)(count / 1000 + 1) + 3;
    double slowest;
    if (way < MPI)
        jd__reduce_limits = ways[way].limits;
    write_input(job->in, count);
    call(job, way, count);
    MPI_Barrier(job->comm);
    double begin = jd__clock_now();
    for (int i = 0; i < calls; i++) {
        if (job->cycles)
            write_input(job->in, count);
        call(job, way, count);
        if (job->cycles)
            job->sink = read_output(job->out, count);
    }
    double own = (jd__clock_now() - begin) / calls;
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, job->comm);
    return slowest;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_row(struct job *job, size_t bytes)
{
    int best = -1;
    printf("%10zu", bytes);
    for (int i = 0; i < WAYS; i++) {
        double *samples = job->samples[i];
        if (job->is_malloced && !ways[i].for_malloc)
            continue;
        qsort(samples, ROUNDS, sizeof *samples, compare);
        if (i &&
            (best < 0 || samples[ROUNDS / 2] < job->samples[best][ROUNDS / 2]))
            best = i;
        printf(" %9.2f /%9.2f", 1e6 * samples[0], 1e6 * samples[ROUNDS / 2]);
    }
    printf("  %s\n", ways[best].name);
    fflush(stdout);
}

static void measure(struct job *job, size_t bytes)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < WAYS; i++)
            if (!job->is_malloced || ways[i].for_malloc)
                job->samples[i][round] =
                    take_sample(job, i, bytes / sizeof(float));
    if (jd_process_index() == 0)
        print_row(job, bytes);
}

static float *allocate(const struct job *job)
{
    void *memory = NULL;
    if (!job->is_malloced)
        JD_CHECK(jd_device_alloc(jd_local_devices(NULL)[0], LONGEST, &memory));
    else if (posix_memalign(&memory, 4096, LONGEST) == 0)
        memset(memory, 0, LONGEST);
    if (!memory)
        jd_abort(1, "ways: no memory");
    return memory;
}

static void print_heading(const struct job *job)
{
    printf("%10s", "bytes");
    for (int i = 0; i < WAYS; i++)
        if (!job->is_malloced || ways[i].for_malloc)
            printf(" %20s", ways[i].name);
    printf("  best of the ways\n");
}

int main(int argc, char **argv)
{
    static struct job job;
    for (int i = 1; i < argc; i++) {
        job.cycles |= strcmp(argv[i], "--cycle") == 0;
        job.is_malloced |= strcmp(argv[i], "--malloc") == 0;
    }
    JD_CHECK(jd_initialize());
    JD_CHECK(jd_mesh_create(&job.mesh, 1, (int[]){ -1 },
                            (const char *[]){ "x" }, NULL));
    job.me = jd_mesh_shard(job.mesh);
    job.comm = jd_mpi_comm();
    job.in = allocate(&job);
    job.out = allocate(&job);
    if (jd_process_index() == 0)
        print_heading(&job);
    for (size_t bytes = SHORTEST; bytes <= LONGEST; bytes *= 2)
        measure(&job, bytes);
    jd_mesh_destroy(job.mesh);
    return jd_shutdown();
}
