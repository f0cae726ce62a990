/* SPDX-License-Identifier: BSD-3-Clause */
/* samples.c - samples as text and as figures. */
#include "bench/engine/samples.h"
#include "bench/jd_bench.h"

#include <stdio.h>
#include <stdlib.h>

const char *bench_read_rounds(const char *text, int *ret_rounds)
{
    long long value;
    if (!bench_read_number(text, BENCH_MAX_ROUNDS, &value))
        return "from 1 to 1000";
    *ret_rounds = (int)value;
    return NULL;
}

const char *bench_read_sample(const char *text, double *ret_seconds)
{
    *ret_seconds = 1e-3 * strtod(text, NULL);
    return *ret_seconds > 0 ? NULL : "milliseconds above 0";
}

void bench_samples_print(const char *head, const double *seconds, int count)
{
    printf("%s %d", head, count);
    for (int i = 0; i < count; i++)
        printf(" %.9g", seconds[i]);
    printf("\n");
}

bool bench_samples_add(struct bench_samples *samples, const char *text)
{
    char *at;
    long count = strtol(text, &at, 10);
    if (count < 1 || count > BENCH_MAX_ROUNDS)
        return false;
    double *more =
        realloc(samples->seconds,
                ((size_t)samples->count + (size_t)count) * sizeof *more);
    if (!more)
        return false;
    samples->seconds = more;
    for (long i = 0; i < count; i++) {
        const char *begin = at;
        more[samples->count + i] = strtod(begin, &at);
        if (at == begin)
            return false;
    }
    samples->count += (int)count;
    return true;
}

void bench_samples_free(struct bench_samples *samples)
{
    free(samples->seconds);
    *samples = (struct bench_samples){ .count = 0 };
}

double bench_samples_median(const struct bench_samples *samples)
{
    return bench_median(samples->seconds, samples->count);
}

double bench_samples_percentile(const struct bench_samples *samples,
                                double part)
{
    bench_minimum(samples->seconds, samples->count);
    return samples->seconds[(int)(part * (samples->count - 1) + 0.5)];
}

const struct bench_unit bench_ns = { "ns", 1e9, 1 };
const struct bench_unit bench_us = { "us", 1e6, 2 };
const struct bench_unit bench_ms = { "ms", 1e3, 1 };
const struct bench_unit bench_s = { "s", 1, 4 };

static double figure(const struct bench_samples *samples,
                     const struct bench_unit *unit, double part)
{
    return unit->in_a_second * bench_samples_percentile(samples, part);
}

void bench_samples_print_columns(const struct bench_samples *samples,
                                 const struct bench_unit *unit)
{
    int decimals = unit->decimals;
    printf("  %9.*f %9.*f %9.*f", decimals, figure(samples, unit, 0), decimals,
           unit->in_a_second * bench_samples_median(samples), decimals,
           figure(samples, unit, 0.99));
}

void bench_samples_print_json(const struct bench_samples *samples,
                              const struct bench_unit *unit, const char *name)
{
    printf(", \"%s_%s\": %.4g, \"%s_min_%s\": %.4g, \"%s_p99_%s\": %.4g", name,
           unit->name, unit->in_a_second * bench_samples_median(samples), name,
           unit->name, figure(samples, unit, 0), name, unit->name,
           figure(samples, unit, 0.99));
}
