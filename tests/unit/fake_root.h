/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_root.h - a folder that stands for "/", with the files of /proc, /sys
 * and others that a test makes up.
 *
 *     make_root();
 *     put("/proc/meminfo", "MemTotal: 4 kB\n");
 *     ... root ...
 *     remove_root();
 */
#ifndef TESTS_UNIT_FAKE_ROOT_H
#define TESTS_UNIT_FAKE_ROOT_H

#include <check.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/jd-test-root-XXXXXX";

static inline void make_root(void)
{
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static inline int remove_one(const char *path, const struct stat *facts,
                             int type, struct FTW *place)
{
    (void)facts, (void)type, (void)place;
    return remove(path);
}

static inline void remove_root(void)
{
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes a file below the root, and the folders above it. */
static inline void put(const char *path, const char *text)
{
    char full[PATH_MAX];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/'));) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash++ = '/';
    }
    FILE *file = fopen(full, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    fclose(file);
}

#endif
