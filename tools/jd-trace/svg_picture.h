/* SPDX-License-Identifier: BSD-3-Clause */
/* svg_picture.h - the picture that svg.c draws, while it is drawn. */
#ifndef TOOLS_JD_TRACE_SVG_PICTURE_H
#define TOOLS_JD_TRACE_SVG_PICTURE_H

#include "base/svg.h"
#include "tools/jd-trace/jd_trace.h"
#include "tools/jd-trace/timeline.h"

enum {
    WIDTH = 1200,
    LEFT = 130,
    RIGHT = 30,
    TOP = 78,
    BOTTOM = 64,
    COLUMNS = WIDTH - LEFT - RIGHT,
    COLORS = 8,
    OWN_COLORS = 6,
    TITLE_LETTERS = 140,
    LABEL_HEIGHT = 12,
    TIP_ROWS = 64,   /* more rows have no words over boxes */
    TIP_WIDTH = 3,   /* nor have boxes that are narrower */
    WORD_WIDTH = 7,  /* of a letter in a box */
    WORD_HEIGHT = 14 /* of a row that has words in boxes */
};

/* What a column of a row shows. */
struct column_paint {
    float busy, wait; /* how much of it */
    uint8_t color;
};

struct picture {
    FILE *out;
    const struct analysis *analysis;
    struct timeline timeline;
    double pitch, gap; /* of rows */
    double band;       /* above a row's calls, of its own ranges; 0: none */
    uint32_t names[COLORS], own_names[OWN_COLORS];
    int num_names, num_own_names;
    struct column_paint columns[COLUMNS];
};

/* Columns from the left of the rows to a time. */
static inline double svg_picture_x(const struct picture *picture, double time)
{
    double length = picture->timeline.length;
    return length > 0 ? time / length * COLUMNS : 0;
}

/* Where a row's calls begin, and how high they are; its band is above them. */
static inline double svg_picture_row(const struct picture *picture, int place)
{
    return TOP + place * picture->pitch + picture->band;
}

static inline double svg_picture_height(const struct picture *picture)
{
    return picture->pitch - picture->gap - picture->band;
}

#endif
