/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flags.h - the command line of a measurement.
 *
 *     const struct bench_flags all = { "reshard", usage, flags, set };
 *     int status = bench_read_flags(&all, argc, argv, &options);
 *     if (status >= 0)
 *         return status;
 */
#ifndef BENCH_ENGINE_FLAGS_H
#define BENCH_ENGINE_FLAGS_H

#include <getopt.h>

struct bench_flags {
    const char *name; /* the measurement's */
    const char *usage;
    const struct option *flags; /* 'h' prints the usage */
    /* NULL, or what the value must be. */
    const char *(*set)(void *arg, int flag, char *value);
};

/* -1 where the program goes on, else its exit status; what is wrong is said. */
int bench_read_flags(const struct bench_flags *flags, int argc, char **argv,
                     void *arg);

#endif
