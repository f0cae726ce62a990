/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world MODE [BYTES REPETITIONS] - what the scripts of this folder start and
 * time. Process 0 prints one line.
 *
 *   mpi        MPI_Init_thread, a barrier of all: "seconds SINCE_BENCH_BEGIN"
 *   jd         jd_initialize, a barrier of all: the same
 *   allreduce  jd_initialize, then MPI_Allreduce of floats on jd_mpi_comm():
 *              "microseconds MEDIAN vader", the last word being the transport
 *              whose memory is mapped ("none": MPI talks through sockets)
 *
 * BENCH_BEGIN is the time at which the launcher was started, in seconds of the
 * epoch.
 */
#include <jd.h>
#include <jd_mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* ---- start -------------------------------------------------------------- */

static void print_start(MPI_Comm comm)
{
    const char *begin = getenv("BENCH_BEGIN");
    int rank;
    MPI_Barrier(comm);
    MPI_Comm_rank(comm, &rank);
    if (rank == 0)
        printf("seconds %.6f\n",
               now(CLOCK_REALTIME) - strtod(begin ? begin : "0", NULL));
}

static int start_mpi(void)
{
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    print_start(MPI_COMM_WORLD);
    return MPI_Finalize();
}

static int start_jd(void)
{
    JD_CHECK(jd_initialize());
    print_start(jd_mpi_comm());
    return jd_shutdown();
}

/* ---- allreduce ---------------------------------------------------------- */

/* What the names of Open MPI's shared memory begin with. */
static const char *find_transport(void)
{
    static const char *const names[] = { "vader", "sm" };
    char line[4096], segment[32];
    FILE *maps = fopen("/proc/self/maps", "re");
    const char *found = NULL;
    while (maps && !found && fgets(line, sizeof line, maps))
        for (int i = 0; i < 2 && !found; i++) {
            snprintf(segment, sizeof segment, "/%s_segment.", names[i]);
            found = strstr(line, segment) ? names[i] : NULL;
        }
    if (maps)
        fclose(maps);
    return found ? found : "none";
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void time_allreduce(float *in, float *out, int count, double *times,
                           int repetitions)
{
    enum { WARM_UP = 20 };
    for (int i = -WARM_UP; i < repetitions; i++) {
        MPI_Barrier(jd_mpi_comm());
        double begin = now(CLOCK_MONOTONIC);
        MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, jd_mpi_comm());
        if (i >= 0)
            times[i] = now(CLOCK_MONOTONIC) - begin;
    }
}

static int allreduce(long bytes, int repetitions)
{
    size_t count = (size_t)bytes / sizeof(float);
    float *in = calloc(count, sizeof *in), *out = calloc(count, sizeof *out);
    double *times = calloc((size_t)repetitions, sizeof *times);
    if (!in || !out || !times)
        return 1;
    JD_CHECK(jd_initialize());
    time_allreduce(in, out, (int)count, times, repetitions);
    qsort(times, (size_t)repetitions, sizeof *times, compare);
    if (jd_process_index() == 0)
        printf("microseconds %.2f %s\n", 1e6 * times[repetitions / 2],
               find_transport());
    free(in);
    free(out);
    free(times);
    return jd_shutdown();
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "mpi") == 0)
        return start_mpi();
    if (argc == 2 && strcmp(argv[1], "jd") == 0)
        return start_jd();
    if (argc == 4 && strcmp(argv[1], "allreduce") == 0 && atol(argv[2]) > 0 &&
        atoi(argv[3]) > 0)
        return allreduce(atol(argv[2]), atoi(argv[3]));
    fputs("usage: world mpi | jd | allreduce BYTES REPETITIONS\n", stderr);
    return 2;
}
