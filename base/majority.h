/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * majority.h - which of many has more than half of a weight, without a count of
 * each (R. S. Boyer, J S. Moore, "MJRTY", 1981): one stands for all, gains what
 * is its own, loses what is others', and gives its place to the next when it
 * has nothing left.
 *
 *     if (jd__majority_loses(&lead, is the one that stands, seconds))
 *         ... this one stands from now on ...
 */
#ifndef BASE_MAJORITY_H
#define BASE_MAJORITY_H

#include <stdbool.h>

/* lead begins with 0. */
static inline bool jd__majority_loses(double *lead, bool is_own, double weight)
{
    if (is_own) {
        *lead += weight;
        return false;
    }
    bool loses = *lead <= weight;
    *lead = loses ? weight - *lead : *lead - weight;
    return loses;
}

#endif
