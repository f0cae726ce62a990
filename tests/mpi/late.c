/* SPDX-License-Identifier: BSD-3-Clause */
/* late.c - all processes but 1 wait at a sync point, or with a second argument
 * "psum" in that, with "barrier" at one, with "plan" at one for 2 s of their
 * own; 1 comes when the file of the first is there. */
#include <jd.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* By its name a stack shows where 1 is. */
static __attribute__((noinline)) void wait_for_file(const char *file)
{
    static const struct timespec pause = { 0, 20000000 };
    int grace = 3000; /* a minute */
    while (access(file, F_OK) != 0) {
        if (grace-- == 0)
            jd_abort(3, "the file never came");
        nanosleep(&pause, NULL);
    }
}

static jd_status add_up(jd_shard *shard, void *arg)
{
    const char *file = arg;
    double one = 1, sum;
    if (file && jd_process_index() == 1)
        wait_for_file(file);
    return jd_psum(shard, "p", &one, &sum, 1, JD_F64);
}

static void meet_in_psum(char *file)
{
    jd_mesh *mesh;
    JD_CHECK(jd_mesh_create(&mesh, 1, (int[]){ jd_process_count() },
                            (const char *[]){ "p" }, NULL));
    JD_CHECK(jd_shard_map(mesh, add_up, NULL)); /* what is made at first */
    JD_CHECK(jd_shard_map(mesh, add_up, file));
    jd_mesh_destroy(mesh);
}

int main(int argc, char **argv)
{
    bool sums = argc > 2 && strcmp(argv[2], "psum") == 0;
    bool waits = argc > 2 && !sums && argv[2][0];
    JD_CHECK(jd_initialize());
    if (sums)
        meet_in_psum(argv[1]);
    else if (argc > 1 && jd_process_index() == 1)
        wait_for_file(argv[1]);
    if (waits)
        JD_CHECK(jd_wait_at_barrier("met", argv[2][0] == 'p' ? 2 : 0, NULL, 0));
    else
        JD_CHECK(jd_sync_global_devices("met"));
    return (int)jd_shutdown();
}
