/* SPDX-License-Identifier: BSD-3-Clause */
/* visualize_svg.c - a sharding as a picture for a page: boxes of devices. */
#include "arrays/array/array.h"
#include "arrays/array/visualize.h"
#include "arrays/sharding/picture.h"
#include "base/svg.h"

/* One of the picture's. */
struct sharding_table {
    const struct jd_picture *picture;
    int number;
};

static void choose_table(void *of, int number)
{
    struct sharding_table *table = of;
    table->number = number;
}

static void print_words(const void *of, FILE *out)
{
    const struct sharding_table *table = of;
    jd__picture_words_table(table->picture, table->number, out);
}

static int box_at(const struct sharding_table *table, int row, int column)
{
    return jd__picture_box(table->picture, table->number, row, column);
}

static void label_row(const void *of, int row, char *text, size_t size)
{
    const struct sharding_table *table = of;
    jd__picture_range(table->picture, table->picture->row, row, text, size);
}

static void label_column(const void *of, int column, char *text, size_t size)
{
    const struct sharding_table *table = of;
    jd__picture_range(table->picture, table->picture->column, column, text,
                      size);
}

static int count_lines(const void *of, int row, int column)
{
    const struct sharding_table *table = of;
    return jd__picture_lines(table->picture, box_at(table, row, column));
}

static void print_line(const void *of, int row, int column, int line,
                       char *text, size_t size)
{
    const struct sharding_table *table = of;
    jd__picture_line(table->picture, box_at(table, row, column), line, text,
                     size);
}

static int colour_box(const void *of, int row, int column)
{
    (void)of;
    return jd__picture_colour(row, column);
}

static void draw_tables(struct jd_svg *svg, int y,
                        const struct jd_picture *picture)
{
    struct sharding_table table = { picture, 0 };
    jd__svg_tables(
        svg, y,
        &(struct jd_svg_tables){ .count = picture->num_tables,
                                 .num_rows = picture->num_rows,
                                 .num_columns = picture->num_columns,
                                 .letters = jd__picture_width(picture),
                                 .of = &table,
                                 .choose = choose_table,
                                 .words = print_words,
                                 .row_label = label_row,
                                 .column_label = label_column,
                                 .lines = count_lines,
                                 .line = print_line,
                                 .colour = colour_box });
}

static jd_status draw_svg(const struct jd_drawing *drawing)
{
    struct jd_picture picture;
    struct jd_svg svg;
    struct jd_text words;
    jd_status status =
        jd__picture_make(drawing->operation, drawing->sharding, drawing->ndim,
                         drawing->shape, &picture);
    if (status != JD_OK)
        return status;
    status = jd__svg_begin(&svg, drawing->operation);
    if (status == JD_OK) {
        if (jd__text_begin(&words))
            jd__picture_words_summary(&picture, words.out);
        int y = jd__svg_end_lines(&svg, JD_SVG_MARGIN, &words);
        draw_tables(&svg, y, &picture);
        status =
            jd__svg_write(&svg, "a sharding", drawing->out, drawing->operation);
    }
    jd__picture_finish(&picture);
    return status;
}

jd_status jd_visualize_sharding_svg(const jd_sharding *sharding, int ndim,
                                    const int64_t *shape, FILE *out)
{
    const struct jd_drawing drawing = { "jd_visualize_sharding_svg", sharding,
                                        ndim, shape, out };
    jd_status status = jd__visualize_check(&drawing);
    return status == JD_OK ? draw_svg(&drawing) : status;
}

jd_status jd_visualize_array_sharding_svg(const jd_array *array, FILE *out)
{
    struct jd_drawing drawing;
    jd_status status = jd__visualize_array(
        array, "jd_visualize_array_sharding_svg", out, &drawing);
    return status == JD_OK ? draw_svg(&drawing) : status;
}
