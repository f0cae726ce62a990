/* SPDX-License-Identifier: BSD-3-Clause */
/* jd_bench.h - the measurements of jd-bench; each has a file of its own. */
#ifndef BENCH_JD_BENCH_H
#define BENCH_JD_BENCH_H

#include "jd_dtype.h"

#include <stdbool.h>
#include <stdint.h>

/* One measurement: `jd-bench NAME [options]`. */
struct bench {
    const char *name;
    const char *doc;                   /* one line */
    int (*run)(int argc, char **argv); /* argv[0] is NAME; an exit status */
};

extern const struct bench bench_checkpoint;
extern const struct bench bench_collectives;
extern const struct bench bench_halo;
extern const struct bench bench_init;
extern const struct bench bench_overlap;
extern const struct bench bench_pipeline;
extern const struct bench bench_recorder;
extern const struct bench bench_reshard;
extern const struct bench bench_scale;

/* The path of this program, to start it again under mpirun. */
const char *bench_program(void);

/* The middle and the least of n values, which are sorted by the call; and the
 * greatest. */
double bench_median(double *values, int n);
double bench_minimum(double *values, int n);
double bench_maximum(const double *values, int n);

/* The values of flags: a number from 1 to most; a comma list of them, as many
 * as there is room for; a type by its name, in any case, 0 where there is
 * none. */
bool bench_read_number(const char *text, long long most, long long *ret_value);
bool bench_read_counts(const char *text, int most, int room, int *values,
                       int *ret_count);
jd_dtype bench_read_type(const char *name);
/* "4096x4096", up to JD_MAX_NDIM lengths. NULL, or what it must be. */
const char *bench_read_shape(const char *text, int *ret_ndim, int64_t *shape);

/* "  target NAME: 1.23 UNIT, wanted at most 1.3: met". */
void bench_report_most(const char *name, double value, const char *unit,
                       double most);
void bench_report_least(const char *name, double value, const char *unit,
                        double least);

/* A list of JSON: what stands before each row, and after all. */
void bench_json_begin_row(bool is_first);
void bench_json_end(void);

/* Prints the CPU's model, its number of cores and MPI's name: what every
 * figure needs beside it. */
void bench_print_machine(void);

#endif
