/* SPDX-License-Identifier: BSD-3-Clause */
/* straggle.c - steps until the file of the first argument is there, and 2
 * minutes at most. Each process sleeps 2 ms in each, and that of the second
 * argument 20 ms more; -1 is none, and with "turns" each is in its turn. */
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

static void work(const char *straggler)
{
    static int steps;
    int slow = strcmp(straggler, "turns") == 0 ? steps++ % jd_process_count()
                                               : atoi(straggler);
    const struct timespec own = { 0, 2000000 }, more = { 0, 20000000 };
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
    if (argc != 3)
        return 2;
    double deadline = now() + 120;
    jd_mesh *mesh;
    const char *axis = "data";
    int size = -1;
    JD_CHECK(jd_initialize());
    JD_CHECK(jd_mesh_create(&mesh, 1, &size, &axis, NULL));
    while (step(jd_mesh_shard(mesh), argv[1], deadline) == jd_process_count())
        work(argv[2]);
    jd_mesh_destroy(mesh);
    return (int)jd_shutdown();
}
