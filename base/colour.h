/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * colour.h - the colours of pictures in text, and who gets them.
 *
 *     status = jd__colour_is_wanted(out, &has_colour);
 *     if (has_colour)
 *         jd__colour_begin(out, number);
 *     fputs(word, out);
 *     if (has_colour)
 *         jd__colour_end(out);
 */
#ifndef BASE_COLOUR_H
#define BASE_COLOUR_H

#include "base/status.h"

#include <stdbool.h>
#include <stdio.h>

/* How many there are; after the last comes the first. */
enum { JD_COLOURS = 12 };

/* Whether out is the terminal of a person, or CLICOLOR_FORCE asks for colours;
 * NO_COLOR asks for none. Fails without memory. */
jd_status jd__colour_is_wanted(FILE *out, bool *ret_is_wanted);

/* Dark letters on a light ground, by its number from 0; and plain ones again.
 */
void jd__colour_begin(FILE *out, int number);
void jd__colour_end(FILE *out);

#endif
