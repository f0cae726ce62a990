/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * picture.h - what the picture of a sharding has to show: a table of boxes, or
 * several, and the devices in each.
 *
 *     struct jd_picture picture;
 *     status = jd__picture_make("jd_visualize_sharding", sharding, ndim, shape,
 *                               &picture);
 *     int box = jd__picture_box(&picture, table, row, column);
 *     jd__picture_line(&picture, box, 0, text, sizeof text);
 *     jd__picture_finish(&picture);
 *
 * A box is one index of the array: a block, or all of the empty ones at the
 * end of a dimension. Rows and columns are the two longest dimensions that are
 * cut; there is a table for each index along the other ones that are.
 */
#ifndef ARRAYS_SHARDING_PICTURE_H
#define ARRAYS_SHARDING_PICTURE_H

#include "arrays/sharding/sharding.h"

#include <stdio.h>

/* Blocks that a dimension is cut into: those with elements, in their order,
 * and one band for all that have none. */
struct jd_bands {
    int64_t length;
    int ways;
    int count;
};

/* A device in a box. */
struct jd_drawn;

struct jd_picture {
    const jd_sharding *sharding;
    int ndim;
    struct jd_bands bands[JD_MAX_NDIM];
    int row, column; /* dimensions; -1: there is none */
    int num_rows, num_columns, num_tables;
    struct jd_drawn *drawn; /* by box, process, ordinal */
};

jd_status jd__picture_make(const char *operation, const jd_sharding *sharding,
                           int ndim, const int64_t *shape,
                           struct jd_picture *ret_picture);
void jd__picture_finish(struct jd_picture *picture);

/* The number of a box. */
int jd__picture_box(const struct jd_picture *picture, int table, int row,
                    int column);

enum {
    JD_PICTURE_TEXT = 96, /* bytes of a line, or of a range */
    JD_PICTURE_LINES = 4, /* of a box */
};

/* The lines of a box: each some of its devices, "0:0-3", "1,5..13:0" (processes
 * and their devices), or "+ 60 more". */
int jd__picture_lines(const struct jd_picture *picture, int box);
void jd__picture_line(const struct jd_picture *picture, int box, int line,
                      char *text, size_t size);

/* How long the longest line of any box is. */
int jd__picture_width(const struct jd_picture *picture);

/* "[0,32)": what a band of the dimension has. "" for dimension -1. */
void jd__picture_range(const struct jd_picture *picture, int dimension,
                       int band, char *text, size_t size);

/* The band of a dimension that a table is for; 0 for the rows', the columns',
 * and one that is not cut. */
int jd__picture_table_band(const struct jd_picture *picture, int table,
                           int dimension);

/* The number of a box's colour: boxes side by side, or one above the other,
 * have different ones (base/colour.h). */
int jd__picture_colour(int row, int column);

/* ---- picture_words.c ------------------------------------------------ */

/* Two lines: the shape, the spec and the blocks; what boxes and edges tell. */
void jd__picture_words_summary(const struct jd_picture *picture, FILE *out);
/* "dimension 1 [0,4), dimension 3 [2,3)", above the table of these; nothing
 * where there is one table. */
void jd__picture_words_table(const struct jd_picture *picture, int table,
                             FILE *out);

#endif
