/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh_visualize.c - a mesh as a person reads it: tables of places. */
#include "base/colour.h"
#include "base/excerpt.h"
#include "base/text.h"
#include "collectives/mesh/mesh_picture.h"

#include <stdlib.h>
#include <string.h>

#define OPERATION "jd_mesh_visualize"

/* What is longer is shown by its beginning and its end. */
enum {
    MAX_WIDTH = 100, /* characters of a line */
    MAX_ROWS = 16,
    MAX_TABLES = 8,
};

struct picture_table {
    const struct jd_mesh_picture *picture;
    FILE *out;
    bool has_colour;
    int head; /* width of the first column */
    int cell; /* of each other */
    struct jd_excerpt columns;
};

static int digits_of(int number)
{
    return snprintf(NULL, 0, "%d", number);
}

static void measure_table(struct picture_table *table)
{
    const struct jd_mesh *mesh = table->picture->mesh;
    int last = mesh->ndim - 1, rows = mesh->ndim > 1 ? last - 1 : last;
    table->head =
        (int)strlen(mesh->axis_names[rows]) + 1 + digits_of(mesh->shape[rows]);
    if (rows == last)
        table->head = (int)strlen(mesh->axis_names[last]);
    table->cell = digits_of(mesh->shape[last]);
    if (rows != last)
        table->cell += (int)strlen(mesh->axis_names[last]) + 1;
    int width = jd__mesh_picture_width(table->picture);
    table->cell = width > table->cell ? width : table->cell;
    int fits = (MAX_WIDTH - table->head) / (table->cell + 2);
    table->columns = jd__excerpt(mesh->shape[last], fits < 3 ? 3 : fits);
}

/* A line ends with its last word. */
static void print_cell(const struct picture_table *table, const char *text,
                       int pad)
{
    fprintf(table->out, "%*s  %s", pad, "", text);
}

static void print_header(const struct picture_table *table)
{
    const struct jd_mesh *mesh = table->picture->mesh;
    const char *name = mesh->axis_names[mesh->ndim - 1];
    bool is_line = mesh->ndim == 1;
    int pad = 0;
    fprintf(table->out, "%-*s", table->head, is_line ? name : "");
    for (int i = jd__excerpt_first(&table->columns); i < table->columns.count;
         i = jd__excerpt_next(&table->columns, i)) {
        char text[JD_MESH_PICTURE_TEXT] = "...";
        if (i >= 0)
            snprintf(text, sizeof text, "%.64s%s%d", is_line ? "" : name,
                     is_line ? "" : " ", i);
        print_cell(table, text, pad);
        pad = i < 0 ? 0 : table->cell - (int)strlen(text);
    }
    fputc('\n', table->out);
}

/* Gives how many characters stand there. */
static int print_place(const struct picture_table *table, int position, int pad)
{
    char text[JD_MESH_PICTURE_TEXT];
    int width =
        jd__mesh_picture_place(table->picture, position, text, sizeof text);
    fprintf(table->out, "%*s  ", pad, "");
    if (table->has_colour)
        jd__colour_begin(table->out,
                         jd__mesh_picture_colour(table->picture, position));
    fputs(text, table->out);
    if (table->has_colour)
        jd__colour_end(table->out);
    return width;
}

/* The places from `position` on, along the last axis. */
static void print_row(const struct picture_table *table, const char *head,
                      int position)
{
    int pad = 0;
    fprintf(table->out, "%-*s", table->head, head);
    for (int i = jd__excerpt_first(&table->columns); i < table->columns.count;
         i = jd__excerpt_next(&table->columns, i)) {
        if (i >= 0) {
            pad = table->cell - print_place(table, position + i, pad);
        } else {
            print_cell(table, "...", pad);
            pad = 0;
        }
    }
    fputc('\n', table->out);
}

/* The last two axes, from `position` on. */
static void print_table(const struct picture_table *table, int position)
{
    const struct jd_mesh *mesh = table->picture->mesh;
    print_header(table);
    if (mesh->ndim == 1) {
        print_row(table, "", position);
        return;
    }
    int axis = mesh->ndim - 2, columns = mesh->shape[mesh->ndim - 1];
    struct jd_excerpt rows = jd__excerpt(mesh->shape[axis], MAX_ROWS);
    for (int i = jd__excerpt_first(&rows); i < rows.count;
         i = jd__excerpt_next(&rows, i)) {
        char head[JD_MESH_PICTURE_TEXT] = "...";
        if (i < 0) {
            fprintf(table->out, "%s\n", head);
            continue;
        }
        jd__mesh_picture_index(table->picture, axis, i, head, sizeof head);
        print_row(table, head, position + i * columns);
    }
}

static void print_tables(const struct picture_table *table)
{
    const struct jd_mesh_picture *picture = table->picture;
    struct jd_excerpt tables = jd__excerpt(picture->num_tables, MAX_TABLES);
    for (int i = jd__excerpt_first(&tables); i < tables.count;
         i = jd__excerpt_next(&tables, i)) {
        fputc('\n', table->out);
        if (i < 0) {
            fputs("...\n", table->out);
            continue;
        }
        jd__mesh_picture_table(picture, i, table->out);
        print_table(table, i * picture->rows * picture->columns);
    }
}

static jd_status print_mesh(const struct jd_mesh_picture *picture, FILE *out)
{
    struct picture_table table = { .picture = picture };
    struct jd_text text;
    jd_status status = jd__colour_is_wanted(out, &table.has_colour);
    if (status != JD_OK)
        return status;
    table.out = jd__text_begin(&text);
    if (!table.out)
        return jd__fail_no_memory(OPERATION, BUFSIZ);
    jd__mesh_picture_summary(picture, table.out);
    measure_table(&table);
    print_tables(&table);
    return jd__text_write(&text, out, OPERATION, "mesh");
}

jd_status jd_mesh_visualize(const jd_mesh *mesh, FILE *out)
{
    struct jd_mesh_picture picture;
    jd_status status = jd__mesh_picture_check(OPERATION, mesh, out);
    if (status == JD_OK)
        status = jd__mesh_picture_make(OPERATION, mesh, &picture);
    if (status != JD_OK)
        return status;
    status = print_mesh(&picture, out);
    jd__mesh_picture_finish(&picture);
    return status;
}
