/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranges.h - lists of numbers as people write them.
 *
 *     jd__ranges_print(out, numbers, count);      "0-6,9"
 */
#ifndef BASE_RANGES_H
#define BASE_RANGES_H

#include <stdio.h>

/* Prints sorted numbers as ranges. */
void jd__ranges_print(FILE *out, const int *numbers, int count);

#endif
