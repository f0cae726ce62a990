/* SPDX-License-Identifier: BSD-3-Clause */
/* straggle.c - steps until the file of the first argument is there, and 3
 * minutes at most. Each process sleeps 2 ms in each, and that of the second
 * argument 20 ms more; -1 is none, and with "turns" each is in its turn. The
 * third and the fourth argument are other milliseconds. */
#include <jd.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void work(const char *straggler, int own_ms, int more_ms)
{
    static int steps;
    int slow = strcmp(straggler, "turns") == 0 ? steps++ % jd_process_count()
                                               : atoi(straggler);
    const struct timespec own = { 0, 1000000 * own_ms };
    const struct timespec more = { 0, 1000000 * more_ms };
    nanosleep(&own, NULL);
    if (jd_process_index() == slow)
        nanosleep(&more, NULL);
}

/* All leave at the same step. */
static double step(jd_shard *me, const char *file, double deadline)
{
    double goes = access(file, F_OK) != 0 && now() < deadline, sum = 0;
    JD_CHECK(jd_psum(me, NULL, &goes, &sum, 1, JD_F64));
    return sum;
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 5)
        return 2;
    int own_ms = argc == 5 ? atoi(argv[3]) : 2;
    int more_ms = argc == 5 ? atoi(argv[4]) : 20;
    double deadline = now() + 180;
    jd_mesh *mesh;
    const char *axis = "data";
    int size = -1;
    JD_CHECK(jd_initialize());
    JD_CHECK(jd_mesh_create(&mesh, 1, &size, &axis, NULL));
    while (step(jd_mesh_shard(mesh), argv[1], deadline) == jd_process_count())
        work(argv[2], own_ms, more_ms);
    jd_mesh_destroy(mesh);
    return (int)jd_shutdown();
}
