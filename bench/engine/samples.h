/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * samples.h - samples that a job took: as text from its process 0 to the
 * program that started it, and as figures there.
 *
 *     bench_samples_print("cell jd", seconds, rounds);          in the job
 *     bench_samples_add(&cell->samples, line + strlen("cell jd"));
 *     printf("%.2f", 1e6 * bench_samples_median(&cell->samples));
 */
#ifndef BENCH_ENGINE_SAMPLES_H
#define BENCH_ENGINE_SAMPLES_H

#include <stdbool.h>

enum { BENCH_MAX_ROUNDS = 1000 }; /* samples of one side in one job */

/* The value of --rounds. NULL, or what it must be. */
const char *bench_read_rounds(const char *text, int *ret_rounds);
/* The same of --sample, which is in milliseconds. */
const char *bench_read_sample(const char *text, double *ret_seconds);

struct bench_samples {
    double *seconds; /* malloc'ed */
    int count;
};

/* A line: the head, how many, and each. */
void bench_samples_print(const char *head, const double *seconds, int count);
/* Adds what stands behind the head; false where that is no such line. */
bool bench_samples_add(struct bench_samples *samples, const char *text);
void bench_samples_free(struct bench_samples *samples);

/* Figures of one sample or more, which are sorted by the call. part: 0 the
 * least, 0.99 the 99th percentile. */
double bench_samples_median(const struct bench_samples *samples);
double bench_samples_percentile(const struct bench_samples *samples,
                                double part);

/* What of a second a figure is in. */
struct bench_unit {
    const char *name;
    double in_a_second;
    int decimals;
};
extern const struct bench_unit bench_ns, bench_us, bench_ms, bench_s;

/* Minimum, median and 99th percentile: as three columns of a table; and as
 * members "NAME_us", "NAME_min_us" and "NAME_p99_us" of an object of JSON, with
 * a comma before each. */
void bench_samples_print_columns(const struct bench_samples *samples,
                                 const struct bench_unit *unit);
void bench_samples_print_json(const struct bench_samples *samples,
                              const struct bench_unit *unit, const char *name);

#endif
