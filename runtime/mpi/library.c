/* SPDX-License-Identifier: BSD-3-Clause */
/* library.c - which MPI is it? */
#include "runtime/mpi/library.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t name_once = PTHREAD_ONCE_INIT;
static pthread_once_t path_once = PTHREAD_ONCE_INIT;
static char library_path[PATH_MAX];
static char library_name[MPI_MAX_LIBRARY_VERSION_STRING];

/* MPICH's has a tab, and others several blanks. */
static void join_words(char *text)
{
    char *end = text;
    for (const char *from = text; *from; from++)
        if (!isspace((unsigned char)*from))
            *end++ = *from;
        else if (end > text && end[-1] != ' ')
            *end++ = ' ';
    *end = '\0';
}

/* The first words of MPI's own text: up to a comma or the line's end. */
static void find_library_name(void)
{
    int length;
    if (MPI_Get_library_version(library_name, &length) != MPI_SUCCESS)
        snprintf(library_name, sizeof library_name, "MPI");
    library_name[strcspn(library_name, ",\n")] = '\0';
    join_words(library_name);
}

const char *jd__mpi_library_name(void)
{
    pthread_once(&name_once, find_library_name);
    return library_name;
}

/* Where MPI_Init was loaded from, links followed. */
static void find_library_path(void)
{
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)&MPI_Init, &info) || !info.dli_fname ||
        !realpath(info.dli_fname, library_path))
        library_path[0] = '\0';
}

const char *jd__mpi_library_path(void)
{
    pthread_once(&path_once, find_library_path);
    return library_path;
}

const struct jd_mpi_flavour *jd__mpi_library_flavour(void)
{
    return jd__flavour_of(jd__mpi_library_name());
}
