/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh_svg.c - a mesh as a picture for a page: tables of boxes. */
#include "base/svg.h"
#include "collectives/mesh/mesh_picture.h"

#include <stdlib.h>

#define OPERATION "jd_mesh_visualize_svg"

/* One of the picture's. */
struct mesh_table {
    const struct jd_mesh_picture *picture;
    int number;
};

static void choose_table(void *of, int number)
{
    struct mesh_table *table = of;
    table->number = number;
}

static void print_words(const void *of, FILE *out)
{
    const struct mesh_table *table = of;
    jd__mesh_picture_table(table->picture, table->number, out);
}

static int position_of(const struct mesh_table *table, int row, int column)
{
    const struct jd_mesh_picture *picture = table->picture;
    return (table->number * picture->rows + row) * picture->columns + column;
}

static void label_row(const void *of, int row, char *text, size_t size)
{
    const struct mesh_table *table = of;
    int axis = table->picture->mesh->ndim - 2;
    *text = '\0';
    if (axis >= 0)
        jd__mesh_picture_index(table->picture, axis, row, text, size);
}

static void label_column(const void *of, int column, char *text, size_t size)
{
    const struct mesh_table *table = of;
    int axis = table->picture->mesh->ndim - 1;
    jd__mesh_picture_index(table->picture, axis, column, text, size);
}

static int count_lines(const void *of, int row, int column)
{
    (void)of, (void)row, (void)column;
    return 1;
}

static void print_line(const void *of, int row, int column, int line,
                       char *text, size_t size)
{
    const struct mesh_table *table = of;
    (void)line;
    jd__mesh_picture_place(table->picture, position_of(table, row, column),
                           text, size);
}

static int colour_box(const void *of, int row, int column)
{
    const struct mesh_table *table = of;
    return jd__mesh_picture_colour(table->picture,
                                   position_of(table, row, column));
}

static void draw_tables(struct jd_svg *svg, int y,
                        const struct jd_mesh_picture *picture)
{
    struct mesh_table table = { picture, 0 };
    jd__svg_tables(
        svg, y,
        &(struct jd_svg_tables){ .count = picture->num_tables,
                                 .num_rows = picture->rows,
                                 .num_columns = picture->columns,
                                 .letters = jd__mesh_picture_width(picture),
                                 .of = &table,
                                 .choose = choose_table,
                                 .words = print_words,
                                 .row_label = label_row,
                                 .column_label = label_column,
                                 .lines = count_lines,
                                 .line = print_line,
                                 .colour = colour_box });
}

static jd_status draw_mesh(const struct jd_mesh_picture *picture, FILE *out)
{
    struct jd_svg svg;
    struct jd_text words;
    jd_status status = jd__svg_begin(&svg, OPERATION);
    if (status != JD_OK)
        return status;
    if (jd__text_begin(&words))
        jd__mesh_picture_summary(picture, words.out);
    int y = jd__svg_end_lines(&svg, JD_SVG_MARGIN, &words);
    draw_tables(&svg, y, picture);
    return jd__svg_write(&svg, "a mesh", out, OPERATION);
}

jd_status jd_mesh_visualize_svg(const jd_mesh *mesh, FILE *out)
{
    struct jd_mesh_picture picture;
    jd_status status = jd__mesh_picture_check(OPERATION, mesh, out);
    if (status == JD_OK)
        status = jd__mesh_picture_make(OPERATION, mesh, &picture);
    if (status != JD_OK)
        return status;
    status = draw_mesh(&picture, out);
    jd__mesh_picture_finish(&picture);
    return status;
}
