/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_ranges.h - many hosts' names in few letters, as Slurm writes them.
 *
 *     host_ranges_print(out, names, count);     "node[001-128,130],login"
 */
#ifndef TOOLS_JD_INFO_HOST_RANGES_H
#define TOOLS_JD_INFO_HOST_RANGES_H

#include <stdio.h>

/* Prints the names, sorted; the numbers that end the first parts of names
 * which are alike elsewhere ("n1.site", "n2.site") become ranges. Sorts the
 * pointers. A name that is there twice is printed twice. */
void host_ranges_print(FILE *out, const char **names, int count);

#endif
