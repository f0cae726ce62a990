/* SPDX-License-Identifier: BSD-3-Clause */
/* installed.c - finds files that are installed with jd. */
#include "base/installed.h"
#include "base/prefix.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- where the code is -------------------------------------------------- */

/* A line of /proc/self/maps: its path where the code lies between its
 * addresses. */
static const char *path_of_line(char *line, uintptr_t code)
{
    uintptr_t begin, end;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2 ||
        code < begin || code >= end)
        return NULL;
    line[strcspn(line, "\n")] = '\0';
    return strchr(line, '/');
}

static bool read_maps(const void *code, char ret_path[PATH_MAX])
{
    enum { BEFORE_PATH = 128 };
    char line[BEFORE_PATH + PATH_MAX];
    const char *path = NULL;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return false;
    while (!path && fgets(line, sizeof line, maps))
        path = path_of_line(line, (uintptr_t)code);
    fclose(maps);
    return path && realpath(path, ret_path);
}

/*
 * The kernel knows the path, whatever the process's folder is now. The loader
 * has the program's name as its caller wrote it, which without a slash says
 * nothing, and a library's as LD_LIBRARY_PATH had it.
 */
bool jd__installed_folder_of_code(const void *code, char ret_folder[PATH_MAX])
{
    Dl_info info;
    if (!read_maps(code, ret_folder) &&
        (!dladdr(code, &info) || !info.dli_fname ||
         !strchr(info.dli_fname, '/') || !realpath(info.dli_fname, ret_folder)))
        return false;
    char *slash = strrchr(ret_folder, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

/* ---- files -------------------------------------------------------------- */

static char *try_path(const struct jd_installed *file, const char *from,
                      const char *up, const char *folder)
{
    char *path;
    if (asprintf(&path, "%s%s%s/%s", from, up, folder, file->name) < 0)
        return NULL;
    if (access(path, file->mode) == 0)
        return path;
    free(path);
    return NULL;
}

char *jd__installed_try(const struct jd_installed *file, const char *folder)
{
    return try_path(file, folder, "", "");
}

/* From lib, bin, or lib/x86_64-linux-gnu; and in the folder where jd is built,
 * from the library and from programs there. */
static char *find_beside(const struct jd_installed *file, const char *own)
{
    static const char *const ups[] = { "/", "/../", "/../../" };
    char *path = NULL;
    for (size_t i = 0; !path && i < sizeof ups / sizeof *ups; i++) {
        if (i > 0 && *file->folder != '/')
            path = try_path(file, own, ups[i], file->folder);
        if (!path)
            path = try_path(file, own, ups[i], file->build_folder);
    }
    return path;
}

static char *find_configured(const struct jd_installed *file)
{
    return *file->folder == '/' ? try_path(file, file->folder, "", "")
                                : try_path(file, JD_PREFIX, "/", file->folder);
}

char *jd__installed_find(const struct jd_installed *file)
{
    char own[PATH_MAX];
    char *path = NULL;
    if (jd__installed_folder_of_code(
            (const void *)(uintptr_t)&jd__installed_find, own))
        path = find_beside(file, own);
    return path ? path : find_configured(file);
}
