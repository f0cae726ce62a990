/* SPDX-License-Identifier: BSD-3-Clause */
/* svg_own.h - the program's own ranges in a picture: a band above the calls of
 * each row, in which an inner range covers the outer one. */
#ifndef TOOLS_JD_TRACE_SVG_OWN_H
#define TOOLS_JD_TRACE_SVG_OWN_H

#include "tools/jd-trace/svg_picture.h"

/* The band's height and place in rows of that pitch, where there are any. */
void svg_own_choose_band(struct picture *picture);

void svg_own_write_style(FILE *out);
void svg_own_draw_band(struct picture *picture, int place, bool has_tips);

/* The class and the name of a legend's item; false: no more. */
bool svg_own_legend(const struct picture *picture, int i, char *ret_class,
                    const char **ret_words);

#endif
