/* SPDX-License-Identifier: BSD-3-Clause */
/* nccl_options.c - what a program has set of NCCL's ncclConfig_t. */
#include "collectives/platform/nccl_options.h"

#include <limits.h>
#include <stdio.h>

static const struct jd_nccl_option_row rows[JD_NUM_NCCL_OPTIONS] = {
    [JD_NCCL_MIN_CTAS] = { "minCTAs", 1, INT_MAX, "at least 1", 21700 },
    [JD_NCCL_MAX_CTAS] = { "maxCTAs", 1, INT_MAX, "at least 1", 21700 },
    [JD_NCCL_CTA_POLICY] = { "CTAPolicy", 0, 2,
                             "0 (default), 1 (efficiency) or 2 (zero)", 22700 },
    [JD_NCCL_TRAFFIC_CLASS] = { "trafficClass", 0, INT_MAX, "at least 0",
                                22600 },
};

const struct jd_nccl_option_row *jd__nccl_options_row(int option)
{
    return &rows[option];
}

bool jd__nccl_options_has(const struct jd_nccl_options *options, int option)
{
    return options->is_set >> option & 1;
}

void jd__nccl_options_set(struct jd_nccl_options *options, int option,
                          int value)
{
    options->is_set |= 1U << option;
    options->values[option] = value;
}

int jd__nccl_options_differ(const struct jd_nccl_options *a,
                            const struct jd_nccl_options *b)
{
    for (int i = 0; i < JD_NUM_NCCL_OPTIONS; i++)
        if (jd__nccl_options_has(a, i) != jd__nccl_options_has(b, i) ||
            a->values[i] != b->values[i])
            return i;
    return -1;
}

void jd__nccl_options_print(const struct jd_nccl_options *options, char *text,
                            size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < JD_NUM_NCCL_OPTIONS && used < size; i++)
        if (jd__nccl_options_has(options, i))
            used += (size_t)snprintf(text + used, size - used, "%s%s %d",
                                     used ? ", " : " (", rows[i].name,
                                     options->values[i]);
    if (used && used < size)
        snprintf(text + used, size - used, ")");
}
