/* SPDX-License-Identifier: BSD-3-Clause */
/* turns.c - the sides of a measurement by turns. */
#include "bench/engine/turns.h"
#include "base/clock.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

enum { MOST_CALLS = 20000 };

double bench_slowest(MPI_Comm comm, double seconds)
{
    double most = 0;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
    return most;
}

size_t bench_sum(MPI_Comm comm, size_t number)
{
    unsigned long long own = number, all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, comm);
    return all;
}

static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What queuing one call takes of the clock and of the thread. */
struct queuing {
    double seconds, thread;
};

/* Seconds of one call, over that many, of the slowest rank. */
static double sample(const struct bench_turns *turns, int side, int calls,
                     struct queuing *ret_queuing)
{
    if (turns->prepare)
        turns->prepare(turns->arg, side);
    MPI_Barrier(turns->comm);
    double begin = jd__clock_now(), thread = thread_seconds();
    for (int i = 0; i < calls; i++)
        turns->call(turns->arg, side);
    struct queuing queuing = { (jd__clock_now() - begin) / calls,
                               (thread_seconds() - thread) / calls };
    if (turns->finish)
        turns->finish(turns->arg, side);
    double seconds =
        bench_slowest(turns->comm, (jd__clock_now() - begin) / calls);
    if (turns->queued)
        *ret_queuing =
            (struct queuing){ bench_slowest(turns->comm, queuing.seconds),
                              bench_slowest(turns->comm, queuing.thread) };
    return seconds;
}

static void take_sample(const struct bench_turns *turns, int side, int calls,
                        double (*samples)[BENCH_MAX_ROUNDS], int round)
{
    struct queuing queuing;
    samples[side][round] = sample(turns, side, calls, &queuing);
    if (!turns->queued)
        return;
    turns->queued[side][round] = queuing.seconds;
    turns->thread[side][round] = queuing.thread;
}

/* As many calls as fill a sample; at least three have warmed up. */
static int calibrate(const struct bench_turns *turns, int side)
{
    struct queuing unused;
    sample(turns, side, 3, &unused);
    double calls = turns->sample_seconds / sample(turns, side, 3, &unused);
    return calls < 1 ? 1 : calls > MOST_CALLS ? MOST_CALLS : (int)calls;
}

void bench_turns_run(const struct bench_turns *turns, const bool *takes_part,
                     int num_sides, double (*samples)[BENCH_MAX_ROUNDS])
{
    int calls[BENCH_MAX_SIDES] = { 0 };
    for (int side = 0; side < num_sides; side++)
        if (takes_part[side])
            calls[side] = calibrate(turns, side);
    for (int i = 0; i < turns->rounds; i++)
        for (int side = 0; side < num_sides; side++)
            if (takes_part[side])
                take_sample(turns, side, calls[side], samples, i);
}

/* 0 or 1, or 0 where this MPI does not say. Open MPI 4 takes the level that
 * MPI_T is given for its own. */
static int yields_when_idle(void)
{
    int index, yield = 0, level, provided, count;
    MPI_T_cvar_handle handle;
    MPI_Query_thread(&level);
    MPI_T_init_thread(level, &provided);
    if (MPI_T_cvar_get_index("mpi_yield_when_idle", &index) == MPI_SUCCESS &&
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
        MPI_T_cvar_read(handle, &yield); /* a byte of it */
        MPI_T_cvar_handle_free(&handle);
    }
    MPI_T_finalize();
    return yield;
}

static const char *level_name(void)
{
    int level;
    MPI_Query_thread(&level);
    return level == MPI_THREAD_SINGLE       ? "SINGLE"
           : level == MPI_THREAD_FUNNELED   ? "FUNNELED"
           : level == MPI_THREAD_SERIALIZED ? "SERIALIZED"
                                            : "MULTIPLE";
}

void bench_print_conditions(MPI_Comm comm, const char *what)
{
    cpu_set_t cores;
    int rank, size, cores_allowed = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (sched_getaffinity(0, sizeof cores, &cores) == 0)
        cores_allowed = CPU_COUNT(&cores);
    int yield = yields_when_idle();
    if (rank == 0)
        printf("# %s: %d processes, thread level %s, %d cores allowed to each, "
               "mpi_yield_when_idle %d\n",
               what, size, level_name(), cores_allowed, yield);
}
