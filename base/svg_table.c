/* SPDX-License-Identifier: BSD-3-Clause */
/* svg_table.c - tables of boxes. */
#include "base/excerpt.h"
#include "base/svg.h"

enum {
    MAX_TABLES = 8,
    MAX_WIDTH = 1200, /* of a table */
    MAX_ROWS = 16,
    LEAST_COLUMNS = 3, /* the first, "...", the last */
    LABEL_GAP = 8,     /* between a row's label and its first box */
    INSIDE = 4,        /* above and below the lines in a box */
};

/* A table with what was measured of it. */
struct frame {
    const struct jd_svg_tables *table;
    struct jd_excerpt rows, columns;
    int left, cell; /* where boxes begin; how wide one is */
    int gap;        /* how wide "..." is */
};

static int widest_of(int a, int b)
{
    return a > b ? a : b;
}

/* No label is longer than the last one, but for the names of things. */
static int label_width(const struct jd_svg_tables *table, bool is_row)
{
    int count = is_row ? table->num_rows : table->num_columns, width = 0;
    struct jd_excerpt shown = jd__excerpt(count, MAX_ROWS);
    for (int i = jd__excerpt_first(&shown); i < shown.count;
         i = jd__excerpt_next(&shown, i)) {
        char text[JD_SVG_TEXT] = "...";
        if (i >= 0)
            (is_row ? table->row_label
                    : table->column_label)(table->of, i, text, sizeof text);
        width = widest_of(width, jd__svg_width(text));
    }
    return width;
}

static struct frame measure_frame(const struct jd_svg_tables *table)
{
    struct frame frame = { .table = table };
    int label = label_width(table, true);
    frame.gap = 3 * JD_SVG_LETTER + 2 * JD_SVG_PAD;
    frame.left = JD_SVG_MARGIN + label + (label ? LABEL_GAP : 0);
    frame.cell = 2 * JD_SVG_PAD + widest_of(table->letters * JD_SVG_LETTER,
                                            label_width(table, false));
    int fits = (MAX_WIDTH - frame.left) / (frame.cell + JD_SVG_GAP);
    frame.rows = jd__excerpt(table->num_rows, MAX_ROWS);
    frame.columns =
        jd__excerpt(table->num_columns, widest_of(fits, LEAST_COLUMNS));
    return frame;
}

static int width_of(const struct frame *frame, int column)
{
    return (column < 0 ? frame->gap : frame->cell) + JD_SVG_GAP;
}

static int draw_columns(struct jd_svg *svg, int y, const struct frame *frame)
{
    bool has_any = false;
    int x = frame->left;
    for (int i = jd__excerpt_first(&frame->columns); i < frame->columns.count;
         i = jd__excerpt_next(&frame->columns, i)) {
        char text[JD_SVG_TEXT] = "...";
        if (i >= 0)
            frame->table->column_label(frame->table->of, i, text, sizeof text);
        if (*text)
            jd__svg_words(svg, x + JD_SVG_PAD, y, text);
        has_any = has_any || *text;
        x += width_of(frame, i);
    }
    return has_any ? y + JD_SVG_LINE : y;
}

static int lines_of(const struct frame *frame, int row)
{
    const struct jd_svg_tables *table = frame->table;
    int most = 1;
    for (int i = jd__excerpt_first(&frame->columns);
         row >= 0 && i < frame->columns.count;
         i = jd__excerpt_next(&frame->columns, i))
        if (i >= 0)
            most = widest_of(most, table->lines(table->of, row, i));
    return most;
}

static void draw_box(struct jd_svg *svg, const struct jd_svg_box *box,
                     const struct jd_svg_tables *table, int row, int column)
{
    int lines = table->lines(table->of, row, column);
    if (lines == 0) /* nothing is there */
        return;
    jd__svg_box(svg, box);
    for (int line = 0; line < lines; line++) {
        char text[JD_SVG_TEXT] = "";
        table->line(table->of, row, column, line, text, sizeof text);
        jd__svg_words(svg, box->x + JD_SVG_PAD,
                      box->y + INSIDE + line * JD_SVG_LINE, text);
    }
}

static int draw_row(struct jd_svg *svg, int y, const struct frame *frame,
                    int row)
{
    const struct jd_svg_tables *table = frame->table;
    int height = lines_of(frame, row) * JD_SVG_LINE + 2 * INSIDE;
    char text[JD_SVG_TEXT] = "...";
    int x = frame->left;
    if (row >= 0)
        table->row_label(table->of, row, text, sizeof text);
    if (*text)
        jd__svg_words(svg, JD_SVG_MARGIN, y + INSIDE, text);
    for (int i = jd__excerpt_first(&frame->columns); i < frame->columns.count;
         i = jd__excerpt_next(&frame->columns, i)) {
        struct jd_svg_box box = { x, y, frame->cell, height, 0 };
        if (row >= 0 && i >= 0) {
            box.colour = table->colour(table->of, row, i);
            draw_box(svg, &box, table, row, i);
        } else {
            jd__svg_words(svg, x + JD_SVG_PAD, y + INSIDE, "...");
        }
        x += width_of(frame, i);
    }
    return y + height + JD_SVG_GAP;
}

static int draw_table(struct jd_svg *svg, int y,
                      const struct jd_svg_tables *table)
{
    struct frame frame = measure_frame(table);
    struct jd_text words;
    if (jd__text_begin(&words))
        table->words(table->of, words.out);
    y = jd__svg_end_lines(svg, y, &words);
    y = draw_columns(svg, y, &frame);
    for (int i = jd__excerpt_first(&frame.rows); i < frame.rows.count;
         i = jd__excerpt_next(&frame.rows, i))
        y = draw_row(svg, y, &frame, i);
    return y;
}

int jd__svg_tables(struct jd_svg *svg, int y,
                   const struct jd_svg_tables *tables)
{
    struct jd_excerpt shown = jd__excerpt(tables->count, MAX_TABLES);
    for (int i = jd__excerpt_first(&shown); i < shown.count;
         i = jd__excerpt_next(&shown, i)) {
        y += JD_SVG_LINE / 2;
        if (i < 0) {
            y = jd__svg_lines(svg, y, "...");
            continue;
        }
        tables->choose(tables->of, i);
        y = draw_table(svg, y, tables);
    }
    return y;
}
