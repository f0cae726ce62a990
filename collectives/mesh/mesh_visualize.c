/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh_visualize.c - a mesh as a person reads it: tables of places. */
#include "base/excerpt.h"
#include "base/text.h"
#include "collectives/mesh/mesh.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERATION "jd_mesh_visualize"

/* What is longer is shown by its beginning and its end. */
enum {
    MAX_WIDTH = 100, /* characters of a line */
    MAX_ROWS = 16,
    MAX_TABLES = 8,
    MAX_HOST = 24, /* characters of a host's name */
};

struct picture_table {
    const struct jd_mesh *mesh;
    FILE *out;
    bool has_hosts; /* several: each place names its own */
    int head;       /* width of the first column */
    int cell;       /* of each other */
    struct jd_excerpt columns;
};

/* "n0 3:1": host, process, device of that process. */
static int print_place(const struct picture_table *table, int position,
                       char *text, size_t size)
{
    const jd_device *device = table->mesh->devices[position];
    if (!table->has_hosts)
        return snprintf(text, size, "%d:%d", device->process_index,
                        device->local_ordinal);
    return snprintf(text, size, "%.*s %d:%d", MAX_HOST, device->host,
                    device->process_index, device->local_ordinal);
}

static int digits_of(int number)
{
    return snprintf(NULL, 0, "%d", number);
}

static void measure_table(struct picture_table *table)
{
    const struct jd_mesh *mesh = table->mesh;
    int last = mesh->ndim - 1, rows = mesh->ndim > 1 ? last - 1 : last;
    char text[96];
    table->head =
        (int)strlen(mesh->axis_names[rows]) + 1 + digits_of(mesh->shape[rows]);
    if (rows == last)
        table->head = (int)strlen(mesh->axis_names[last]);
    table->cell = digits_of(mesh->shape[last]);
    if (rows != last)
        table->cell += (int)strlen(mesh->axis_names[last]) + 1;
    for (int i = 0; i < mesh->size; i++) {
        int width = print_place(table, i, text, sizeof text);
        table->cell = width > table->cell ? width : table->cell;
    }
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
    const struct jd_mesh *mesh = table->mesh;
    const char *name = mesh->axis_names[mesh->ndim - 1];
    bool is_line = mesh->ndim == 1;
    int pad = 0;
    fprintf(table->out, "%-*s", table->head, is_line ? name : "");
    for (int i = jd__excerpt_first(&table->columns); i < table->columns.count;
         i = jd__excerpt_next(&table->columns, i)) {
        char text[96] = "...";
        if (i >= 0)
            snprintf(text, sizeof text, "%.64s%s%d", is_line ? "" : name,
                     is_line ? "" : " ", i);
        print_cell(table, text, pad);
        pad = i < 0 ? 0 : table->cell - (int)strlen(text);
    }
    fputc('\n', table->out);
}

/* The places from `position` on, along the last axis. */
static void print_row(const struct picture_table *table, const char *head,
                      int position)
{
    int pad = 0;
    fprintf(table->out, "%-*s", table->head, head);
    for (int i = jd__excerpt_first(&table->columns); i < table->columns.count;
         i = jd__excerpt_next(&table->columns, i)) {
        char text[96] = "...";
        int width =
            i < 0 ? 3 : print_place(table, position + i, text, sizeof text);
        print_cell(table, text, pad);
        pad = i < 0 ? 0 : table->cell - width;
    }
    fputc('\n', table->out);
}

/* The last two axes, from `position` on. */
static void print_table(const struct picture_table *table, int position)
{
    const struct jd_mesh *mesh = table->mesh;
    print_header(table);
    if (mesh->ndim == 1) {
        print_row(table, "", position);
        return;
    }
    int axis = mesh->ndim - 2, columns = mesh->shape[mesh->ndim - 1];
    struct jd_excerpt rows = jd__excerpt(mesh->shape[axis], MAX_ROWS);
    for (int i = jd__excerpt_first(&rows); i < rows.count;
         i = jd__excerpt_next(&rows, i)) {
        char head[96] = "...";
        if (i < 0) {
            fprintf(table->out, "%s\n", head);
            continue;
        }
        snprintf(head, sizeof head, "%.64s %d", mesh->axis_names[axis], i);
        print_row(table, head, position + i * columns);
    }
}

/* "pipe 1, data 0", where the table of the last two axes is. */
static void print_slice_name(const struct picture_table *table, int position)
{
    const struct jd_mesh *mesh = table->mesh;
    fputc('\n', table->out);
    for (int i = 0; i < mesh->ndim - 2; i++)
        fprintf(table->out, "%s%s %d", i ? ", " : "", mesh->axis_names[i],
                jd__mesh_coordinate(mesh, position, i));
    fputc('\n', table->out);
}

static void print_tables(const struct picture_table *table)
{
    const struct jd_mesh *mesh = table->mesh;
    int places = mesh->shape[mesh->ndim - 1] *
                 (mesh->ndim > 1 ? mesh->shape[mesh->ndim - 2] : 1);
    struct jd_excerpt tables = jd__excerpt(mesh->size / places, MAX_TABLES);
    for (int i = jd__excerpt_first(&tables); i < tables.count;
         i = jd__excerpt_next(&tables, i)) {
        if (i < 0) {
            fprintf(table->out, "\n...\n");
            continue;
        }
        if (mesh->ndim > 2)
            print_slice_name(table, i * places);
        print_table(table, i * places);
    }
}

/* How many processes and hosts have a device in it. */
static jd_status count_owners(const struct jd_mesh *mesh, int *ret_processes,
                              int *ret_hosts)
{
    const struct jd_topology *topology = mesh->runtime->topology;
    size_t processes = (size_t)topology->num_processes;
    size_t all = processes + (size_t)topology->num_hosts;
    bool *seen = calloc(all, sizeof *seen);
    if (!seen)
        return jd__fail_no_memory(OPERATION, all * sizeof *seen);
    *ret_processes = *ret_hosts = 0;
    for (int i = 0; i < mesh->size; i++) {
        int process = mesh->devices[i]->process_index;
        bool *host =
            &seen[processes + (size_t)topology->processes[process].host];
        *ret_processes += !seen[process];
        *ret_hosts += !*host;
        seen[process] = *host = true;
    }
    free(seen);
    return JD_OK;
}

static jd_status print_mesh(const struct jd_mesh *mesh, FILE *out)
{
    struct picture_table table = { .mesh = mesh, .out = out };
    int processes = 0, hosts = 0;
    jd_status status = count_owners(mesh, &processes, &hosts);
    if (status != JD_OK)
        return status;
    fprintf(out, "mesh ");
    for (int i = 0; i < mesh->ndim; i++)
        fprintf(out, "%s\"%s\" %d", i ? " x " : "", mesh->axis_names[i],
                mesh->shape[i]);
    fprintf(out, ": %d %s device%s of %d process%s on %d host%s\n", mesh->size,
            mesh->devices[0]->platform, jd__text_s(mesh->size), processes,
            jd__text_es(processes), hosts, jd__text_s(hosts));
    fprintf(out, "at each place: %sprocess:device\n%s",
            hosts > 1 ? "host " : "", mesh->ndim > 2 ? "" : "\n");
    table.has_hosts = hosts > 1;
    measure_table(&table);
    print_tables(&table);
    return JD_OK;
}

jd_status jd_mesh_visualize(const jd_mesh *mesh, FILE *out)
{
    if (!mesh || !out)
        return jd_fail(JD_INVALID_ARGUMENT, OPERATION ": %s is NULL",
                       mesh ? "out" : "mesh");
    jd_status status = jd__mesh_check_world(mesh, OPERATION);
    if (status != JD_OK)
        return status;
    clearerr(out);
    status = print_mesh(mesh, out);
    if (status != JD_OK)
        return status;
    if (fflush(out) == 0 && !ferror(out))
        return JD_OK;
    return jd_fail(JD_DATA_LOSS,
                   OPERATION ": the mesh could not be written: %s",
                   strerror(errno));
}
