/* SPDX-License-Identifier: BSD-3-Clause */
/* report_tuning.c - what jd would set for MPI before MPI_Init, and why. */
#include "runtime/mpi/library.h"
#include "runtime/mpi/tuning.h"
#include "runtime/topology/host.h"
#include "tools/jd-info/jd_info.h"

#include <stdio.h>

void jd_info_print_tuning(const struct jd_env *env,
                          const struct jd_settings *settings,
                          const struct jd_cluster *cluster)
{
    struct jd_local_facts facts;
    struct jd_tuning plan;
    if (jd__host_discover(&facts) != JD_OK)
        return;
    struct jd_tune_interfaces interfaces;
    jd__tuning_interfaces(jd__options_text(settings, JD_OPTION_INTERFACE),
                          &interfaces);
    struct jd_tune_request request = {
        .env = env,
        .cluster = cluster,
        .cores_allowed = facts.host_cores_allowed,
        .enabled = jd__options_integer(settings, JD_OPTION_TUNE_MPI),
        .root = "",
        .library = jd__mpi_library_path(),
        .interfaces = &interfaces,
    };
    jd__tuning_plan(&request, &plan);
    if (!jd__mpi_library_flavour()->plan) {
        printf("\n%s: jd sets nothing for it before it starts\n",
               jd__mpi_library_name());
        return;
    }
    printf("\n%-29s %-6s why (set while %s starts)\n", "MPI setting", "value",
           jd__mpi_library_name());
    for (int i = 0; i < JD_TUNE_COUNT; i++)
        printf("%-29s %-6s %s\n", plan.settings[i].variable,
               plan.settings[i].value ? plan.settings[i].value : "-",
               plan.settings[i].why);
}
