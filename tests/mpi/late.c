/* SPDX-License-Identifier: BSD-3-Clause */
/* late.c - all processes but 1 wait at a sync point; 1 comes when the file of
 * its argument is there. */
#include <jd.h>

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static const struct timespec pause = { 0, 20000000 };
    int grace = 3000; /* a minute */
    JD_CHECK(jd_initialize());
    while (argc > 1 && jd_process_index() == 1 && access(argv[1], F_OK) != 0) {
        if (grace-- == 0)
            jd_abort(3, "the file never came");
        nanosleep(&pause, NULL);
    }
    JD_CHECK(jd_sync_global_devices("met"));
    return (int)jd_shutdown();
}
