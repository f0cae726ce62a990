/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster.c - the end of a cluster object, and what a start needs of it. */
#include "autodetect/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void jd__cluster_destroy(struct jd_cluster *cluster)
{
    if (!cluster)
        return;
    for (size_t i = 0; i < cluster->trace_length; i++)
        free(cluster->trace[i].reason);
    free(cluster->trace);
    for (size_t i = 0; i < cluster->num_coordinator_candidates; i++)
        free(cluster->coordinator_candidates[i]);
    free(cluster->coordinator_candidates);
    free(cluster->coordinator_address.value);
    free(cluster);
}

/* "num_processes (JD_NUM_PROCESSES or JAX_NUM_PROCESSES)" */
static void append_option(char *text, size_t size, enum jd_option option)
{
    const struct jd_option_row *row = jd__option_row(option);
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s (%s or %s)",
             length ? " and " : "", row->field, row->variable,
             row->jax_variable);
}

jd_status jd__cluster_require(const struct jd_cluster *cluster)
{
    const struct jd_cluster_number *count = &cluster->num_processes;
    const struct jd_cluster_number *id = &cluster->process_id;
    char missing[256] = "";
    if (count->known && id->known)
        return JD_OK;
    if (!count->known)
        append_option(missing, sizeof missing, JD_OPTION_NUM_PROCESSES);
    if (!id->known)
        append_option(missing, sizeof missing, JD_OPTION_PROCESS_ID);
    const char *why = !count->known && count->source[0] ? count->source
                      : !id->known                      ? id->source
                                                        : "";
    return jd_fail(JD_FAILED_PRECONDITION,
                   "jd_initialize: the launcher (method %s) does not tell "
                   "%s%s%s; give it as an option or as that variable, in "
                   "every process (jd-info shows what each variable says)",
                   cluster->method, missing, why[0] ? ": " : "", why);
}
