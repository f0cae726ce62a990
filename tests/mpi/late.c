/* SPDX-License-Identifier: BSD-3-Clause */
/* late.c - all processes but 1 wait at a sync point; 1 comes when the file of
 * its argument is there. */
#include <jd.h>

#include <stdlib.h>
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

int main(int argc, char **argv)
{
    JD_CHECK(jd_initialize());
    if (argc > 1 && jd_process_index() == 1)
        wait_for_file(argv[1]);
    JD_CHECK(jd_sync_global_devices("met"));
    return (int)jd_shutdown();
}
