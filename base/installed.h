/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * installed.h - files that are installed with jd, found from where jd's code
 * is: the library, or the program that has it inside, wherever its prefix was
 * moved to and however it was started. A program with jd inside that is not
 * beside them has the folder that jd was configured for.
 *
 *     struct jd_installed file = { .name = "jd-pmix-server",
 *                                  .folder = JD_LIBEXECDIR "/jd",
 *                                  .build_folder = "runtime/wireup/server" };
 *     path = jd__installed_find(&file);        malloc'ed; NULL: it is nowhere
 */
#ifndef BASE_INSTALLED_H
#define BASE_INSTALLED_H

#include <limits.h>
#include <stdbool.h>

struct jd_installed {
    const char *name;
    const char *folder;       /* from the prefix, or absolute */
    const char *build_folder; /* where it is before it is installed */
    int mode;                 /* as for access() */
};

/* Owns: the caller, who frees it. */
char *jd__installed_find(const struct jd_installed *file);

/* The file in that folder; NULL where it is not there, or not for mode. */
char *jd__installed_try(const struct jd_installed *file, const char *folder);

/*
 * The folder that the code at an address was loaded from, without symbolic
 * links. False where the system does not tell.
 */
bool jd__installed_folder_of_code(const void *code, char ret_folder[PATH_MAX]);

#endif
