/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * storage.h - the types of JD_STORAGE_DTYPE_MAP, which are stored, moved and
 * converted, and not reduced: their codes as numbers. Each is a byte; those of
 * four bits are its low ones.
 */
#ifndef COLLECTIVES_KERNELS_STORAGE_H
#define COLLECTIVES_KERNELS_STORAGE_H

#include "jd_dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool jd__storage_is(jd_dtype dtype);

/* S4 and U4. */
bool jd__storage_is_integer(jd_dtype dtype);

/* The number that a code stands for, exactly. */
double jd__storage_read(jd_dtype dtype, uint8_t code);

/* The code of the nearest number, as jd_convert() says it. x is exact, or on
 * the same side of each middle between two numbers as what is meant. */
uint8_t jd__storage_write(jd_dtype dtype, double x);

/* convert_storage.c: jd_convert() where one of the two types, or both, is kept.
 */
void jd__convert_storage(const void *in, jd_dtype from, void *out, jd_dtype to,
                         size_t count);

#endif
