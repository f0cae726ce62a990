/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * svg.h - pictures in SVG: words, boxes and tables of boxes, on a sheet that is
 * as large as they are, and light or dark as the reader's page is.
 *
 *     struct jd_svg svg;
 *     status = jd__svg_begin(&svg, operation);
 *     jd__svg_words(&svg, JD_SVG_MARGIN, y, "two boxes");
 *     jd__svg_box(&svg, &(struct jd_svg_box){ x, y, 80, 24, colour });
 *     return jd__svg_write(&svg, "a title", out, operation);
 *
 * Lengths are pixels, y grows downwards; letters are all as wide. Threads: any,
 * each with a picture of its own.
 */
#ifndef BASE_SVG_H
#define BASE_SVG_H

#include "base/text.h"

enum {
    JD_SVG_MARGIN = 16,
    JD_SVG_LETTER = 8, /* of width */
    JD_SVG_LINE = 18,  /* from one line of words to the next */
    JD_SVG_PAD = 8,    /* between a box and its words */
    JD_SVG_GAP = 4,    /* between boxes */
};

/* A text as XML has it. Bytes that it cannot have become "?"; so do those of a
 * text that is not UTF-8. */
void jd__svg_escape(FILE *out, const char *text);
void jd__svg_escape_part(FILE *out, const char *text, size_t length);

struct jd_svg {
    struct jd_text body;
    int width, height; /* what is drawn needs */
};

jd_status jd__svg_begin(struct jd_svg *svg, const char *operation);
/* Writes it in one go and ends it. Fails as jd__text_write() does. */
jd_status jd__svg_write(struct jd_svg *svg, const char *title, FILE *out,
                        const char *operation);

/* How wide the words are. */
int jd__svg_width(const char *words);
/* One line, which begins at x and stands between y and y + JD_SVG_LINE. */
void jd__svg_words(struct jd_svg *svg, int x, int y, const char *words);
/* Lines, from the margin on; gives the y below them. */
int jd__svg_lines(struct jd_svg *svg, int y, const char *lines);
/* The same of a text, which it ends. */
int jd__svg_end_lines(struct jd_svg *svg, int y, struct jd_text *lines);

struct jd_svg_box {
    int x, y, width, height;
    int colour; /* by its number, as in base/colour.h; -1: an outline */
};
void jd__svg_box(struct jd_svg *svg, const struct jd_svg_box *box);

/* ---- svg_table.c ---------------------------------------------------- */

enum { JD_SVG_TEXT = 96 }; /* bytes of a label, or of a line in a box */

/*
 * Tables of boxes, one below the other, each with words above it. Of many the
 * middle ones are left out, as long rows and columns are cut in the middle.
 * Each function writes a text of at most size bytes, or gives a number.
 */
struct jd_svg_tables {
    int count;
    int num_rows, num_columns; /* of each */
    int letters; /* of a box's longest line, at most JD_SVG_TEXT */
    void *of;
    /* From then on the others are of that table. */
    void (*choose)(void *of, int number);
    void (*words)(const void *of, FILE *out); /* lines */
    void (*row_label)(const void *of, int row, char *text, size_t size);
    void (*column_label)(const void *of, int column, char *text, size_t size);
    int (*lines)(const void *of, int row, int column); /* 0: no box is there */
    void (*line)(const void *of, int row, int column, int line, char *text,
                 size_t size);
    int (*colour)(const void *of, int row, int column);
};

/* Draws them from y on, and gives the y below them. */
int jd__svg_tables(struct jd_svg *svg, int y,
                   const struct jd_svg_tables *tables);

#endif
