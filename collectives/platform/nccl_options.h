/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nccl_options.h - what a program has set of NCCL's ncclConfig_t for a mesh
 * (jd_mesh_set_nccl): kept by the mesh, compared by the members of its
 * communicators, given to NCCL by the platform of GPUs. NCCL is not needed
 * here.
 *
 *     struct jd_nccl_options options = { 0 };            nothing is set
 *     jd__nccl_options_set(&options, JD_NCCL_MAX_CTAS, 8);
 *     if (jd__nccl_options_has(&options, JD_NCCL_MAX_CTAS))
 *         config.maxCTAs = options.values[JD_NCCL_MAX_CTAS];
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_PLATFORM_NCCL_OPTIONS_H
#define COLLECTIVES_PLATFORM_NCCL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum jd_nccl_option {
    JD_NCCL_MIN_CTAS,
    JD_NCCL_MAX_CTAS,
    JD_NCCL_CTA_POLICY,
    JD_NCCL_TRAFFIC_CLASS,
    JD_NUM_NCCL_OPTIONS
};

/* All zeros: nothing is set. Two are equal where their bytes are. */
struct jd_nccl_options {
    uint32_t is_set;                     /* a bit for each */
    int32_t values[JD_NUM_NCCL_OPTIONS]; /* 0 where it is not */
};

/* What is known of an option. */
struct jd_nccl_option_row {
    const char *name; /* as ncclConfig_t calls it */
    int lowest, highest;
    const char *meaning; /* of what values it has, for sentences */
    int since;           /* the first NCCL that has it: 22600 */
};
const struct jd_nccl_option_row *jd__nccl_options_row(int option);

bool jd__nccl_options_has(const struct jd_nccl_options *options, int option);
void jd__nccl_options_set(struct jd_nccl_options *options, int option,
                          int value);

/* The first option that the two do not have alike; -1: they are equal. */
int jd__nccl_options_differ(const struct jd_nccl_options *a,
                            const struct jd_nccl_options *b);

/* Enough for all of them. */
enum { JD_NCCL_OPTIONS_BYTES = 128 };

/* " (maxCTAs 8, CTAPolicy 1)"; "" where nothing is set. */
void jd__nccl_options_print(const struct jd_nccl_options *options, char *text,
                            size_t size);

#endif
