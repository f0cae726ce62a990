/* SPDX-License-Identifier: BSD-3-Clause */
/* scale.h - the two parts of `jd-bench scale`: its flags (scale.c) and what it
 * prints (table.c). */
#ifndef BENCH_SCALE_SCALE_H
#define BENCH_SCALE_SCALE_H

#include "bench/scale/constants.h"

#include <stdbool.h>

enum { SCALE_MOST_SIZES = 16, SCALE_MOST_HOSTS = 65536, SCALE_MOST_HERE = 256 };

struct scale_options {
    struct scale_constants constants;
    int hosts[SCALE_MOST_SIZES], num_hosts;
    int per_host[SCALE_MOST_SIZES], num_per_host;
    bool json;
};

/* All rows and, but in JSON, the targets; an exit status. */
int scale_print(const struct scale_options *options);

#endif
