/* SPDX-License-Identifier: BSD-3-Clause */
/* visualize.c - a sharding as a person sees it: boxes of devices. */
#include "arrays/array/array.h"
#include "arrays/array/visualize.h"
#include "arrays/sharding/picture.h"
#include "base/colour.h"
#include "base/excerpt.h"
#include "base/text.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>

/* What is longer is shown by its beginning and its end. */
enum {
    MAX_WIDTH = 100, /* characters of a line */
    MAX_ROWS = 16,
    MAX_TABLES = 8,
};

/* ---- what the terminal can show ----------------------------------------- */

/* The lines above, between and below rows of boxes. */
enum rule { ABOVE, BETWEEN, BELOW };

struct strokes {
    const char *across, *down;
    const char *left[3], *joint[3], *right[3]; /* by rule */
};

static const struct strokes ascii = { .across = "-",
                                      .down = "|",
                                      .left = { "+", "+", "+" },
                                      .joint = { "+", "+", "+" },
                                      .right = { "+", "+", "+" } };

static const struct strokes utf8 = { .across = "\u2500",
                                     .down = "\u2502",
                                     .left = { "\u250c", "\u251c", "\u2514" },
                                     .joint = { "\u252c", "\u253c", "\u2534" },
                                     .right = { "\u2510", "\u2524",
                                                "\u2518" } };

/* ---- drawing ------------------------------------------------------------ */

struct canvas {
    const struct jd_picture *picture;
    FILE *out;
    const struct strokes *strokes;
    bool has_colour;
    int head; /* width of the ranges on the left */
    int cell; /* of a box, inside */
    struct jd_excerpt rows, columns;
};

/* Of "..." */
enum { GAP = 3 };

static int width_of(const struct canvas *canvas, int column)
{
    return column < 0 ? GAP : canvas->cell;
}

static void print_rule(const struct canvas *canvas, enum rule rule)
{
    const struct strokes *strokes = canvas->strokes;
    const char *corner = strokes->left[rule];
    fprintf(canvas->out, "%*s", canvas->head, "");
    for (int i = jd__excerpt_first(&canvas->columns); i < canvas->columns.count;
         i = jd__excerpt_next(&canvas->columns, i)) {
        fputs(corner, canvas->out);
        for (int n = width_of(canvas, i) + 2; n > 0; n--)
            fputs(strokes->across, canvas->out);
        corner = strokes->joint[rule];
    }
    fprintf(canvas->out, "%s\n", strokes->right[rule]);
}

/* A line ends with its last word. */
static void print_columns(const struct canvas *canvas)
{
    int pad = canvas->head + 2;
    for (int i = jd__excerpt_first(&canvas->columns); i < canvas->columns.count;
         i = jd__excerpt_next(&canvas->columns, i)) {
        char text[JD_PICTURE_TEXT] = "...";
        if (i >= 0)
            jd__picture_range(canvas->picture, canvas->picture->column, i, text,
                              sizeof text);
        fprintf(canvas->out, "%*s%s", pad, "", text);
        pad = width_of(canvas, i) - (int)strlen(text) + 3;
    }
    fputc('\n', canvas->out);
}

struct picture_place {
    int table, row, column; /* row or column -1: "..." */
};

static void print_cell(const struct canvas *canvas,
                       const struct picture_place *at, int line)
{
    char text[JD_PICTURE_TEXT] = "";
    bool is_gap = at->row < 0 || at->column < 0;
    if (is_gap && line == 0)
        strcpy(text, "...");
    if (!is_gap)
        jd__picture_line(
            canvas->picture,
            jd__picture_box(canvas->picture, at->table, at->row, at->column),
            line, text, sizeof text);
    bool is_coloured = canvas->has_colour && !is_gap;
    fputs(canvas->strokes->down, canvas->out);
    if (is_coloured)
        jd__colour_begin(canvas->out, jd__picture_colour(at->row, at->column));
    fprintf(canvas->out, " %-*s ", width_of(canvas, at->column), text);
    if (is_coloured)
        jd__colour_end(canvas->out);
}

static int lines_of(const struct canvas *canvas, int table, int row)
{
    int most = 1;
    for (int i = jd__excerpt_first(&canvas->columns);
         row >= 0 && i < canvas->columns.count;
         i = jd__excerpt_next(&canvas->columns, i)) {
        int lines = i < 0 ? 1
                          : jd__picture_lines(canvas->picture,
                                              jd__picture_box(canvas->picture,
                                                              table, row, i));
        most = lines > most ? lines : most;
    }
    return most;
}

static void print_row(const struct canvas *canvas, int table, int row)
{
    int lines = lines_of(canvas, table, row);
    char text[JD_PICTURE_TEXT] = "...";
    if (row >= 0)
        jd__picture_range(canvas->picture, canvas->picture->row, row, text,
                          sizeof text);
    for (int line = 0; line < lines; line++) {
        fprintf(canvas->out, "%-*s", canvas->head, line ? "" : text);
        for (int i = jd__excerpt_first(&canvas->columns);
             i < canvas->columns.count;
             i = jd__excerpt_next(&canvas->columns, i))
            print_cell(canvas, &(struct picture_place){ table, row, i }, line);
        fprintf(canvas->out, "%s\n", canvas->strokes->down);
    }
}

static void print_table(const struct canvas *canvas, int table)
{
    enum rule rule = ABOVE;
    if (canvas->picture->column >= 0)
        print_columns(canvas);
    for (int i = jd__excerpt_first(&canvas->rows); i < canvas->rows.count;
         i = jd__excerpt_next(&canvas->rows, i)) {
        print_rule(canvas, rule);
        print_row(canvas, table, i);
        rule = BETWEEN;
    }
    print_rule(canvas, BELOW);
}

static void print_tables(const struct canvas *canvas)
{
    struct jd_excerpt tables =
        jd__excerpt(canvas->picture->num_tables, MAX_TABLES);
    for (int i = jd__excerpt_first(&tables); i < tables.count;
         i = jd__excerpt_next(&tables, i)) {
        fputc('\n', canvas->out);
        if (i < 0) {
            fputs("...\n", canvas->out);
            continue;
        }
        jd__picture_words_table(canvas->picture, i, canvas->out);
        print_table(canvas, i);
    }
}

/* ---- the whole ---------------------------------------------------------- */

/* No range is longer than the last one. */
static int range_width(const struct jd_picture *picture, int dimension,
                       int count)
{
    char text[JD_PICTURE_TEXT];
    jd__picture_range(picture, dimension, count - 1, text, sizeof text);
    return (int)strlen(text);
}

static void measure_canvas(struct canvas *canvas)
{
    const struct jd_picture *picture = canvas->picture;
    int width = range_width(picture, picture->column, picture->num_columns);
    canvas->head = range_width(picture, picture->row, picture->num_rows);
    canvas->head += canvas->head > 0;
    canvas->cell = jd__picture_width(picture);
    canvas->cell = width > canvas->cell ? width : canvas->cell;
    int fits = (MAX_WIDTH - canvas->head - 1) / (canvas->cell + 3);
    canvas->columns =
        jd__excerpt(picture->num_columns, fits < GAP ? GAP : fits);
    canvas->rows = jd__excerpt(picture->num_rows, MAX_ROWS);
}

static jd_status draw_into(const struct jd_drawing *drawing, FILE *buffer)
{
    struct jd_picture picture;
    bool has_colour;
    jd_status status = jd__colour_is_wanted(drawing->out, &has_colour);
    if (status == JD_OK)
        status = jd__picture_make(drawing->operation, drawing->sharding,
                                  drawing->ndim, drawing->shape, &picture);
    if (status != JD_OK)
        return status;
    bool is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    struct canvas canvas = { .picture = &picture,
                             .out = buffer,
                             .strokes = is_utf8 ? &utf8 : &ascii,
                             .has_colour = has_colour };
    measure_canvas(&canvas);
    jd__picture_words_summary(&picture, buffer);
    print_tables(&canvas);
    jd__picture_finish(&picture);
    return JD_OK;
}

static jd_status draw_picture(const struct jd_drawing *drawing)
{
    struct jd_text picture;
    FILE *out = jd__text_begin(&picture);
    if (!out)
        return jd__fail_no_memory(drawing->operation, BUFSIZ);
    jd_status status = draw_into(drawing, out);
    if (status == JD_OK)
        return jd__text_write(&picture, drawing->out, drawing->operation,
                              "picture");
    free(jd__text_end(&picture));
    return status;
}

jd_status jd__visualize_check(const struct jd_drawing *drawing)
{
    const char *operation = drawing->operation;
    jd_status status = jd__sharding_check_world(drawing->sharding, operation);
    if (status == JD_OK)
        status = jd__sharding_check_shape(drawing->sharding, operation,
                                          drawing->ndim, drawing->shape);
    if (status == JD_OK && !drawing->out)
        status = jd_fail(JD_INVALID_ARGUMENT, "%s: out is NULL", operation);
    return status;
}

jd_status jd__visualize_array(const jd_array *array, const char *operation,
                              FILE *out, struct jd_drawing *ret_drawing)
{
    jd_status status = jd__array_check(array, operation);
    if (status == JD_OK && !out)
        status = jd_fail(JD_INVALID_ARGUMENT, "%s: out is NULL", operation);
    if (status != JD_OK)
        return status;
    *ret_drawing = (struct jd_drawing){ operation, array->sharding, array->ndim,
                                        array->shape, out };
    return JD_OK;
}

jd_status jd_visualize_sharding(const jd_sharding *sharding, int ndim,
                                const int64_t *shape, FILE *out)
{
    const struct jd_drawing drawing = { "jd_visualize_sharding", sharding, ndim,
                                        shape, out };
    jd_status status = jd__visualize_check(&drawing);
    return status == JD_OK ? draw_picture(&drawing) : status;
}

jd_status jd_visualize_array_sharding(const jd_array *array, FILE *out)
{
    struct jd_drawing drawing;
    jd_status status = jd__visualize_array(array, "jd_visualize_array_sharding",
                                           out, &drawing);
    return status == JD_OK ? draw_picture(&drawing) : status;
}
