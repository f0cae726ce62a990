/* SPDX-License-Identifier: BSD-3-Clause */
/* litter.c - what a container's first process removes at its end. */
#include "base/litter.h"

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BEGINNING "/jd-wireup-"

enum { MOST = 2, DEPTH = 16 };

static char noted[MOST][128];
static int num_noted;

/* The path as far as the server's folder; false where there is none in it. */
static bool cut_folder(const char *path, char folder[128])
{
    const char *name = strstr(path, BEGINNING);
    if (!name)
        return false;
    size_t length =
        (size_t)(name - path) + 1 + strcspn(name + 1, "/"); /* its end */
    return snprintf(folder, 128, "%.*s", (int)length, path) < 128;
}

void jd__litter_note(const char *path)
{
    char folder[128];
    struct stat is;
    if (getpid() != 1 || num_noted == MOST || !cut_folder(path, folder) ||
        lstat(folder, &is) != 0 || !S_ISDIR(is.st_mode) ||
        is.st_uid != geteuid())
        return;
    strcpy(noted[num_noted++], folder);
}

static int remove_one(const char *path, const struct stat *facts, int kind,
                      struct FTW *place)
{
    (void)facts, (void)kind, (void)place;
    remove(path);
    return 0;
}

void jd__litter_remove(void)
{
    if (getpid() != 1)
        return;
    while (num_noted > 0)
        nftw(noted[--num_noted], remove_one, DEPTH, FTW_DEPTH | FTW_PHYS);
}
