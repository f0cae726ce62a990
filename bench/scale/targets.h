/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * targets.h - what must hold at the far end, as the model has it.
 *
 *     struct scale_target targets[SCALE_TARGETS];
 *     if (scale_targets(&constants, targets))
 *         ... each target's value is at most its most
 */
#ifndef BENCH_SCALE_TARGETS_H
#define BENCH_SCALE_TARGETS_H

#include "bench/scale/constants.h"

enum {
    SCALE_TARGETS = 6,
    SCALE_TARGET_HOSTS = 10240,
    SCALE_TARGET_PROCESSES = 100000,
    SCALE_TARGET_PER_HOST = 128,
};

struct scale_target {
    const char *name, *unit;
    double value, most;
};

/* False where there is no memory. */
bool scale_targets(const struct scale_constants *constants,
                   struct scale_target targets[SCALE_TARGETS]);

#endif
