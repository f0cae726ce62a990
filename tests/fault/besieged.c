/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * besieged.c - a job that sums, uses the store and saves a checkpoint again
 * and again while strangers keep its service busy (stranger.c), for
 * test_strangers.sh. Process 0 says at the end what it has seen.
 *
 *     besieged DIR SECONDS
 */
#include "tests/mpi/expect.h"

#include <jd.h>

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 64 };

static jd_mesh *mesh;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int count_files(void)
{
    int count = -3; /* ".", ".." and the directory's own */
    DIR *files = opendir("/proc/self/fd");
    EXPECT(files != NULL, "/proc/self/fd cannot be opened");
    while (readdir(files))
        count++;
    closedir(files);
    return count;
}

/* ---- what the service's thread has used --------------------------------- */

static double read_seconds(const char *thread)
{
    char path[300], name[32] = "";
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", thread);
    FILE *stat = fopen(path, "re");
    if (!stat)
        return 0;
    int got = fscanf(stat,
                     "%*d (%31[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
                     "%*u %lu %lu",
                     name, &user, &system);
    fclose(stat);
    return got == 3 && strcmp(name, "jd-coordinate") == 0
               ? (double)(user + system) / (double)sysconf(_SC_CLK_TCK)
               : 0;
}

static double service_seconds(void)
{
    double seconds = 0;
    struct dirent *entry;
    DIR *threads = opendir("/proc/self/task");
    EXPECT(threads != NULL, "/proc/self/task cannot be opened");
    while ((entry = readdir(threads)))
        if (entry->d_name[0] != '.')
            seconds += read_seconds(entry->d_name);
    closedir(threads);
    return seconds;
}

/* ---- the work ----------------------------------------------------------- */

static jd_status fill(const jd_range *index, void *block, void *arg)
{
    for (int64_t row = index[0].begin; row < index[0].end; row++)
        ((double *)block)[row - index[0].begin] = (double)row + *(double *)arg;
    return JD_OK;
}

static void save(const char *dir, double step)
{
    static const char *const names[] = { "values" };
    int64_t shape[] = { ROWS };
    jd_sharding *sharding;
    jd_array *array;
    EXPECT_OK(jd_sharding_create(&sharding, mesh, "all"));
    EXPECT_OK(jd_array_from_callback(&array, sharding, JD_F64, 1, shape, fill,
                                     &step));
    EXPECT_OK(jd_array_save(dir, names, &array, 1));
    jd_array_release(array);
    jd_sharding_release(sharding);
}

/* Process 0 says whether there is another step. */
static bool go_on(double end)
{
    double more = jd_process_index() == 0 && now() < end, sum;
    EXPECT_OK(jd_psum(jd_mesh_shard(mesh), "all", &more, &sum, 1, JD_F64));
    return sum > 0;
}

static int work(const char *dir, double seconds)
{
    int64_t count;
    int steps = 0;
    for (double end = now() + seconds; go_on(end); steps++) {
        EXPECT_OK(jd_kv_increment("steps", 1, &count));
        save(dir, steps);
    }
    return steps;
}

int main(int argc, char **argv)
{
    struct rlimit limit;
    EXPECT(argc == 3, "usage: besieged DIR SECONDS");
    EXPECT_OK(jd_initialize());
    EXPECT_OK(jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "all" },
                             NULL));
    double begin = now(), used = service_seconds();
    int steps = work(argv[1], atof(argv[2]));
    getrlimit(RLIMIT_NOFILE, &limit);
    if (jd_process_index() == 0)
        printf("%d steps; the service took %.3f of a core; %d files of %ju\n",
               steps, (service_seconds() - used) / (now() - begin),
               count_files(), (uintmax_t)limit.rlim_cur);
    jd_mesh_destroy(mesh);
    EXPECT_OK(jd_shutdown());
    return 0;
}
