/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint_job.c - what one process of `jd-bench checkpoint` does. */
#include "base/clock.h"
#include "bench/engine/blocks.h"
#include "bench/checkpoint/checkpoint.h"
#include "bench/checkpoint/files.h"
#include "bench/engine/turns.h"
#include "jd_checkpoint.h"
#include "jd_mpi.h"
#include "jd_process.h"

#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { ROW = 1024, AT_ONCE = 256 }; /* 1 MiB */

struct job {
    const struct checkpoint_request *request;
    MPI_Comm comm;
    int rank;
    char saved[PATH_MAX], written[PATH_MAX]; /* jd's directory, dd's file */
    struct bench_whole whole;
    jd_mesh *mesh;
    jd_sharding *sharding;
    jd_array *array, *restored;
    int source;      /* process 0's: a file in memory, the same values for dd */
    double resident; /* the most that was in memory before a reading */
};

/* Zeros would not do: disks may store them without writing. */
static int make_source(struct bench_whole *whole)
{
    static float block[AT_ONCE][ROW];
    int file = memfd_create("jd-bench", MFD_CLOEXEC);
    for (int64_t i = 0; i < whole->shape[0]; i += AT_ONCE) {
        jd_range index[] = { { i, i + AT_ONCE }, { 0, ROW } };
        bench_block_fill(index, block, whole);
        if (file < 0 || write(file, block, sizeof block) != sizeof block)
            jd_abort(1, "no memory for what dd is to copy");
    }
    return file;
}

static void open_job(struct job *job)
{
    const struct checkpoint_request *r = job->request;
    job->whole = (struct bench_whole){
        JD_F32, 2, { (int64_t)(r->bytes / (ROW * sizeof(float))), ROW }
    };
    snprintf(job->saved, sizeof job->saved, "%s/jd", r->dir);
    snprintf(job->written, sizeof job->written, "%s/dd", r->dir);
    JD_CHECK(jd_initialize());
    job->comm = jd_mpi_comm();
    MPI_Comm_rank(job->comm, &job->rank);
    JD_CHECK(jd_mesh_create(&job->mesh, 1, (int[]){ -1 },
                            (const char *[]){ "x" }, NULL));
    JD_CHECK(jd_sharding_create(&job->sharding, job->mesh, "x"));
    JD_CHECK(jd_array_from_callback(
        &job->array, job->sharding, job->whole.dtype, job->whole.ndim,
        job->whole.shape, bench_block_fill, &job->whole));
    job->source = job->rank == 0 ? make_source(&job->whole) : -1;
}

/* A barrier that leaves the cores to whom it waits for: MPI's spins. */
static void wait_quietly(struct job *job)
{
    MPI_Request request;
    int is_done = 0;
    MPI_Ibarrier(job->comm, &request);
    while (!is_done) {
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
    }
}

/* ---- the steps ---------------------------------------------------------- */

static void save(struct job *job)
{
    JD_CHECK(jd_array_save(job->saved, (const char *[]){ "x" },
                           (jd_array *const[]){ job->array }, 1));
}

static void restore(struct job *job)
{
    JD_CHECK(jd_array_restore(job->saved, (const char *[]){ "x" },
                              (jd_sharding *const[]){ job->sharding }, 1,
                              &job->restored));
}

static void fail_dd(void)
{
    fputs("jd-bench: dd failed; its own message is above\n", stderr);
    jd_abort(1, "dd failed");
}

/* By process 0, while the others sleep. */
static double time_dd(struct job *job, enum checkpoint_step step)
{
    double seconds = 0;
    if (job->rank == 0)
        seconds = step == CHECKPOINT_DD_WRITE
                      ? bench_dd_write(job->written, job->source)
                      : bench_dd_read(job->written);
    if (seconds < 0)
        fail_dd();
    wait_quietly(job);
    return bench_slowest(job->comm, seconds);
}

static double time_jd(struct job *job, void (*call)(struct job *job))
{
    MPI_Barrier(job->comm);
    double begin = jd__clock_now();
    call(job);
    return bench_slowest(job->comm, jd__clock_now() - begin);
}

/* Nothing that was written before is left to be written. */
static void clear(struct job *job, const char *path)
{
    if (job->rank == 0) {
        bench_remove(path);
        bench_settle(job->request->dir);
    }
    wait_quietly(job);
}

/* On every host. While one process takes a page out, another one of that host
 * sees it still: so it is looked at after all are done. */
static void drop(struct job *job, const char *path)
{
    bench_drop(path);
    MPI_Barrier(job->comm);
    double resident = bench_slowest(job->comm, bench_drop(path));
    if (resident > job->resident)
        job->resident = resident;
}

static void check(const struct job *job)
{
    size_t wrong = 0;
    int count;
    const jd_array_shard *shards = jd_array_shards(job->restored, &count);
    for (int i = 0; i < count; i++)
        wrong +=
            bench_block_wrong(&job->whole, shards[i].index, shards[i].data);
    if (bench_sum(job->comm, wrong) > 0)
        jd_abort(1, "what was restored is not what was saved");
}

static void run_round(struct job *job, int round,
                      double (*samples)[BENCH_MAX_ROUNDS])
{
    clear(job, job->saved);
    samples[CHECKPOINT_SAVE][round] = time_jd(job, save);
    clear(job, job->written);
    samples[CHECKPOINT_DD_WRITE][round] = time_dd(job, CHECKPOINT_DD_WRITE);
    drop(job, job->saved);
    samples[CHECKPOINT_RESTORE][round] = time_jd(job, restore);
    if (round == 0)
        check(job);
    jd_array_release(job->restored);
    drop(job, job->written);
    samples[CHECKPOINT_DD_READ][round] = time_dd(job, CHECKPOINT_DD_READ);
}

int checkpoint_job(const struct checkpoint_request *request)
{
    static double samples[CHECKPOINT_STEPS][BENCH_MAX_ROUNDS];
    struct job job = { .request = request };
    open_job(&job);
    bench_print_conditions(job.comm, "checkpoint");
    for (int i = 0; i < request->rounds; i++)
        run_round(&job, i, samples);
    for (int step = 0; step < CHECKPOINT_STEPS && job.rank == 0; step++) {
        char head[96];
        int size;
        MPI_Comm_size(job.comm, &size);
        snprintf(head, sizeof head, "cell %d %d %.6f", step, size,
                 job.resident);
        bench_samples_print(head, samples[step], request->rounds);
    }
    fflush(stdout);
    if (job.source >= 0)
        close(job.source);
    jd_array_release(job.array);
    jd_sharding_release(job.sharding);
    jd_mesh_destroy(job.mesh);
    return (int)jd_shutdown();
}
