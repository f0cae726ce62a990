/* SPDX-License-Identifier: BSD-3-Clause */
/* numbers.h - what C has no operator for. */
#ifndef BASE_NUMBERS_H
#define BASE_NUMBERS_H

#include <stddef.h>

static inline size_t jd__numbers_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
