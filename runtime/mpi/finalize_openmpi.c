/* SPDX-License-Identifier: BSD-3-Clause */
/* finalize_openmpi.c - that Open MPI's MPI_Finalize does not crash. */
#include "runtime/mpi/finalize_openmpi.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Ends where the name has been found. */
static int find_component(struct dl_phdr_info *info, size_t size, void *name)
{
    (void)size;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "/mca_pmix_"))
        return 0;
    snprintf(name, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

/* Where Open MPI has it in itself there is none. */
void jd__finalize_prepare_open_mpi(void)
{
    char name[PATH_MAX];
    if (!dl_iterate_phdr(find_component, name))
        return;
    void *component = dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    if (component)
        dlclose(component);
}
