/* SPDX-License-Identifier: BSD-3-Clause */
/* tuning.c - the plan, in the process's environment, and out of it again. */
#include "runtime/mpi/tuning.h"
#include "runtime/mpi/library.h"

#include <string.h>

void jd__tuning_plan(const struct jd_tune_request *request,
                     struct jd_tuning *ret_plan)
{
    const struct jd_mpi_flavour *flavour = jd__mpi_library_flavour();
    memset(ret_plan, 0, sizeof *ret_plan);
    if (flavour->plan)
        flavour->plan(request, ret_plan);
}

jd_status jd__tuning_apply(const struct jd_tuning *plan)
{
    jd_status status = JD_OK;
    for (int i = 0; i < JD_TUNE_COUNT && status == JD_OK; i++)
        if (plan->settings[i].value)
            status = jd__env_export(plan->settings[i].variable,
                                    plan->settings[i].value);
    return status;
}

jd_status jd__tuning_restore(const struct jd_tuning *plan)
{
    jd_status status = JD_OK;
    for (int i = 0; i < JD_TUNE_COUNT && status == JD_OK; i++)
        if (plan->settings[i].value)
            status = jd__env_export(plan->settings[i].variable, NULL);
    return status;
}
