/* SPDX-License-Identifier: BSD-3-Clause */
/* targets.c - what must hold at the far end. */
#include "bench/scale/targets.h"
#include "bench/scale/compositions.h"
#include "bench/scale/start.h"

#define KIB 1024.0
#define MIB 1048576.0
#define PAIR_SECONDS                                                           \
    0.3e-6 /* of a message that is sent, and one that comes                    \
            */

static bool time_of(enum scale_op op, double bytes,
                    const struct scale_constants *c, double *seconds)
{
    const struct scale_call call = { op, SCALE_TARGET_HOSTS, 1, bytes };
    struct scale_result result;
    bool ok = scale_simulate_jd(&call, c, &result);
    *seconds = result.seconds;
    return ok;
}

bool scale_targets(const struct scale_constants *constants,
                   struct scale_target targets[SCALE_TARGETS])
{
    const struct scale_constants *c = constants;
    double shortest, longest, all, bandwidth = c->value[SCALE_BANDWIDTH];
    double others = SCALE_TARGET_HOSTS - 1, wire = others * KIB / bandwidth;
    double messages = others * PAIR_SECONDS;
    int hosts = (SCALE_TARGET_PROCESSES + SCALE_TARGET_PER_HOST - 1) /
                SCALE_TARGET_PER_HOST;
    struct scale_start start;
    if (!time_of(SCALE_PSUM, 8, c, &shortest) ||
        !time_of(SCALE_PSUM, 64 * MIB, c, &longest) ||
        !time_of(SCALE_ALL_TO_ALL, KIB, c, &all) ||
        !scale_simulate_start(hosts, SCALE_TARGET_PER_HOST, c, &start))
        return false;
    const struct scale_target found[SCALE_TARGETS] = {
        { "psum of 8 B", " us", 1e6 * shortest, 40 },
        { "psum of 64 MiB / (2 bytes / bandwidth)", "",
          longest / (2 * 64 * MIB / bandwidth), 1.3 },
        { "all_to_all of 1 KiB / the larger of wire and messages", "",
          all / (wire > messages ? wire : messages), 1.3 },
        { "start", " s", start.seconds, 60 },
        { "a host's table", " MiB", start.host_bytes / MIB, 64 },
        { "heartbeats", " cores", start.cores, 1 },
    };
    for (int i = 0; i < SCALE_TARGETS; i++)
        targets[i] = found[i];
    return true;
}
