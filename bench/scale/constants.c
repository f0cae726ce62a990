/* SPDX-License-Identifier: BSD-3-Clause */
/* constants.c - what the model reckons with, and where that is from. */
#include "bench/scale/constants.h"
#include "base/clock.h"
#include "bench/jd_bench.h"
#include "collectives/kernels/fold.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VECTOR = 4 << 20, REPEATS = 31, MOST_COUNT = 1000 };

static const char assumed[] = "assumed", readme[] = "bench/README.md";
static const char library[] = "the library's";

const struct scale_constant_row scale_constant_rows[SCALE_CONSTANTS] = {
    [SCALE_LATENCY] = { "latency", "us", 1e-6, 2,
                        "between two hosts, beside the overhead", assumed },
    [SCALE_BANDWIDTH] = { "bandwidth", "GB/s", 1e9, 12, "of a host, each way",
                          assumed },
    [SCALE_OVERHEAD] = { "overhead", "us", 1e-6, 0.15,
                         "of a message, for the sender and for the receiver",
                         assumed },
    [SCALE_FOLD] = { "fold", "GB/s", 1e9, 0,
                     "one core adds a vector of F32 to another", "measured" },
    [SCALE_COPY] = { "copy", "GB/s", 1e9, 0, "one core copies", "measured" },
    [SCALE_MEMORY] = { "memory", "GB/s", 1e9, 200,
                       "all cores of a host read and write", assumed },
    [SCALE_LINE] = { "line", "us", 1e-6, 0.1,
                     "a cache line from one core to another", readme },
    [SCALE_CONNECT] = { "connect", "us", 1e-6, 100,
                        "a connection to another host", assumed },
    [SCALE_REGISTER] = { "register", "us", 1e-6, 33,
                         "of the service, a registration", readme },
    [SCALE_LEAVE] = { "leave", "us", 1e-6, 35,
                      "a barrier and the leave, of each agent", readme },
    [SCALE_HEARTBEAT] = { "heartbeat", "us", 1e-6, 21, "a heartbeat", readme },
    [SCALE_PERIOD] = { "period", "s", 1, 10,
                       "from one heartbeat of an agent to the next", readme },
    [SCALE_AGENT] = { "agent", "KiB", 1024, 2.3,
                      "memory of the service, of each agent", readme },
    [SCALE_KEY] = { "key", "us", 1e-6, 0.14,
                    "a key and its value, of many that are asked for at once",
                    readme },
    [SCALE_SEAL] = { "seal", "GB/s", 1e9, 3.4,
                     "the service seals what it sends", readme },
    [SCALE_PIECE] = { "piece", "KiB", 1024, 992,
                      "of a long vector at a time, by a member", library },
    [SCALE_LAG] = { "lag", "", 1, 2, "pieces under way beside one that begins",
                    library },
    [SCALE_WINDOW] = { "window", "", 1, 8,
                       "messages under way of an all_to_all", library },
};

struct scale_constants scale_constants_default(void)
{
    struct scale_constants constants;
    for (int i = 0; i < SCALE_CONSTANTS; i++) {
        const struct scale_constant_row *row = &scale_constant_rows[i];
        constants.value[i] = row->standard * row->unit_value;
        constants.source[i] = row->source;
    }
    return constants;
}

int scale_constants_count(const struct scale_constants *constants,
                          enum scale_constant which)
{
    double value = constants->value[which];
    return value < 1 ? 1 : value > MOST_COUNT ? MOST_COUNT : (int)value;
}

bool scale_constants_read(struct scale_constants *constants,
                          enum scale_constant which, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value <= 0)
        return false;
    constants->value[which] = value * scale_constant_rows[which].unit_value;
    constants->source[which] = "given";
    return true;
}

/* ---- on the spot ----------------------------------------------------------
 */

static void add(jd_fold_function *fold, float *into, const float *vector)
{
    const void *ins[] = { into, vector };
    void *outs[] = { into };
    fold(&(struct jd_fold){ .ins = ins,
                            .num_ins = 2,
                            .outs = outs,
                            .num_outs = 1,
                            .count = VECTOR / sizeof *into });
}

/* Bytes of a vector per second: the median of many. */
static double measure(float *into, const float *vector, bool folds)
{
    double seconds[REPEATS];
    jd_fold_function *fold =
        jd__fold_find(JD_F32, JD_REDUCE_SUM, JD_FOLD_WHOLE);
    for (int i = 0; i < REPEATS; i++) {
        double begin = jd__clock_now();
        if (folds)
            add(fold, into, vector);
        else
            memcpy(into, vector, VECTOR);
        seconds[i] = jd__clock_now() - begin;
    }
    return VECTOR / bench_median(seconds, REPEATS);
}

void scale_constants_measure(struct scale_constants *constants)
{
    static float into[VECTOR / sizeof(float)], vector[VECTOR / sizeof(float)];
    memset(into, 1, VECTOR);
    memset(vector, 1, VECTOR);
    for (int i = 0; i < 2; i++) {
        double *rate = &constants->value[i ? SCALE_COPY : SCALE_FOLD];
        if (*rate <= 0)
            *rate = measure(into, vector, i == 0);
    }
}

/* ---- printed --------------------------------------------------------------
 */

void scale_constants_print(const struct scale_constants *constants)
{
    for (int i = 0; i < SCALE_CONSTANTS; i++) {
        const struct scale_constant_row *row = &scale_constant_rows[i];
        printf("#   %-9s %8.4g %-5s %s (%s)\n", row->name,
               constants->value[i] / row->unit_value, row->unit, row->what,
               constants->source[i]);
    }
}

void scale_constants_print_json(const struct scale_constants *constants)
{
    for (int i = 0; i < SCALE_CONSTANTS; i++) {
        const struct scale_constant_row *row = &scale_constant_rows[i];
        bench_json_begin_row(i == 0);
        printf("{\"constant\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", "
               "\"source\": \"%s\"}",
               row->name, constants->value[i] / row->unit_value, row->unit,
               constants->source[i]);
    }
}
