/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranges.h - lists of numbers as people write them.
 *
 *     qsort(numbers, count, sizeof *numbers, jd__ranges_compare);
 *     jd__ranges_print(out, numbers, count);      "0-6,9"
 */
#ifndef BASE_RANGES_H
#define BASE_RANGES_H

#include <stdio.h>

/* For qsort() and bsearch(), of ints. */
static inline int jd__ranges_compare(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* Sorts them and leaves each there once; returns how many are left. */
int jd__ranges_sort(int *numbers, int count);

/* Prints sorted numbers as ranges. */
void jd__ranges_print(FILE *out, const int *numbers, int count);

/* The same, named: "process 3", "processes 0-2,5". */
void jd__ranges_print_processes(FILE *out, const int *numbers, int count);

#endif
