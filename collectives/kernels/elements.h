/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * elements.h - single elements of any type: are two equal, and what does one
 * look like to a person. Not for speed; elements need no alignment.
 * Threads: any.
 */
#ifndef COLLECTIVES_KERNELS_ELEMENTS_H
#define COLLECTIVES_KERNELS_ELEMENTS_H

#include "jd_dtype.h"

#include <stdbool.h>
#include <stddef.h>

/* Equal as values: -0.0 and +0.0 are, and so are two NaNs. */
bool jd__element_equal(jd_dtype dtype, const void *a, const void *b);

/* Whether the type has NaNs; and a part of the element is one. */
bool jd__element_can_be_nan(jd_dtype dtype);
bool jd__element_has_nan(jd_dtype dtype, const void *element);

/* |a - b| <= absolute + relative * |b|, where both are floating or complex and
 * finite, or they are equal. */
bool jd__element_close(jd_dtype dtype, const void *a, const void *b,
                       double absolute, double relative);

/* Writes the value with all its digits: "-3", "0.1", "1-2i", "nan", "true". */
void jd__element_print(jd_dtype dtype, const void *element, char *text,
                       size_t size);

/* Writes its bits: "0x7fc00000"; of a complex one both parts', with a comma. */
void jd__element_print_bits(jd_dtype dtype, const void *element, char *text,
                            size_t size);

/* Writes both; where their values look alike and they are not, their bits. */
void jd__element_print_apart(jd_dtype dtype, const void *a, char *a_text,
                             const void *b, char *b_text, size_t size);

#endif
