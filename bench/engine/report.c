/* SPDX-License-Identifier: BSD-3-Clause */
/* report.c - a figure beside its target; lists of JSON. */
#include "bench/jd_bench.h"

#include <stdio.h>

static void report(const char *name, double value, const char *unit,
                   const char *bound, double target, bool is_met)
{
    printf("  target: %s: %.4g%s, wanted %s %g%s: %s\n", name, value, unit,
           bound, target, unit, is_met ? "met" : "missed");
    fflush(stdout);
}

void bench_report_most(const char *name, double value, const char *unit,
                       double most)
{
    report(name, value, unit, "at most", most, value <= most);
}

void bench_report_least(const char *name, double value, const char *unit,
                        double least)
{
    report(name, value, unit, "at least", least, value >= least);
}

void bench_json_begin_row(bool is_first)
{
    printf("%s\n  ", is_first ? "[" : ",");
}

void bench_json_end(void)
{
    printf("\n]\n");
}
