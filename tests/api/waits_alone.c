/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waits_alone.c - a program of jd that is in the middle of its job until
 * somebody ends it, for tests of launchers that are gone.
 * usage: waits_alone PATH: makes the file PATH.INDEX after jd_initialize()
 */
#include "jd.h"

#include <stdio.h>
#include <unistd.h>

enum { SECONDS = 120, FREE = 99 };

int main(int argc, char **argv)
{
    char path[4096];
    if (argc != 2 || jd_initialize() != JD_OK) {
        fprintf(stderr, "%s\n", jd_error_message());
        return 1;
    }
    snprintf(path, sizeof path, "%s.%d", argv[1], jd_process_index());
    FILE *mark = fopen(path, "w");
    if (!mark || fclose(mark) != 0)
        return 1;
    sleep(SECONDS);
    _exit(FREE);
}
