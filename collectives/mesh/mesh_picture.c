/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh_picture.c - what pictures of a mesh have to show. */
#include "collectives/mesh/mesh_picture.h"
#include "base/colour.h"
#include "base/text.h"

#include <stdlib.h>

enum { MAX_HOST = 24 }; /* characters of a host's name */

static int host_of(const struct jd_mesh *mesh, int position)
{
    int process = mesh->devices[position]->process_index;
    return mesh->runtime->topology->processes[process].host;
}

/* How many processes and hosts have a device in it, and a colour for each of
 * these hosts, in the order of places. */
static void find_owners(struct jd_mesh_picture *picture, bool *has_process)
{
    const struct jd_mesh *mesh = picture->mesh;
    for (int i = 0; i < mesh->runtime->topology->num_hosts; i++)
        picture->colours[i] = -1;
    for (int i = 0; i < mesh->size; i++) {
        bool *process = &has_process[mesh->devices[i]->process_index];
        int *colour = &picture->colours[host_of(mesh, i)];
        picture->num_processes += !*process;
        *process = true;
        if (*colour < 0)
            *colour = picture->num_hosts++;
    }
}

jd_status jd__mesh_picture_make(const char *operation,
                                const struct jd_mesh *mesh,
                                struct jd_mesh_picture *ret_picture)
{
    const struct jd_topology *topology = mesh->runtime->topology;
    size_t processes = (size_t)topology->num_processes;
    size_t hosts = (size_t)topology->num_hosts;
    bool *has_process = calloc(processes, sizeof *has_process);
    struct jd_mesh_picture picture = {
        .mesh = mesh,
        .rows = mesh->ndim > 1 ? mesh->shape[mesh->ndim - 2] : 1,
        .columns = mesh->shape[mesh->ndim - 1],
        .colours = calloc(hosts, sizeof *picture.colours),
    };
    picture.num_tables = mesh->size / (picture.rows * picture.columns);
    bool has_memory = has_process && picture.colours;
    if (has_memory)
        find_owners(&picture, has_process);
    free(has_process);
    if (has_memory)
        *ret_picture = picture;
    else
        free(picture.colours);
    return has_memory
               ? JD_OK
               : jd__fail_no_memory(operation, processes * sizeof *has_process +
                                                   hosts * sizeof(int));
}

void jd__mesh_picture_finish(struct jd_mesh_picture *picture)
{
    free(picture->colours);
}

jd_status jd__mesh_picture_check(const char *operation,
                                 const struct jd_mesh *mesh, const FILE *out)
{
    if (!mesh || !out)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: %s is NULL", operation,
                       mesh ? "out" : "mesh");
    return jd__mesh_check_world(mesh, operation);
}

int jd__mesh_picture_place(const struct jd_mesh_picture *picture, int position,
                           char *text, size_t size)
{
    const jd_device *device = picture->mesh->devices[position];
    if (picture->num_hosts == 1)
        return snprintf(text, size, "%d:%d", device->process_index,
                        device->local_ordinal);
    return snprintf(text, size, "%.*s %d:%d", MAX_HOST, device->host,
                    device->process_index, device->local_ordinal);
}

int jd__mesh_picture_width(const struct jd_mesh_picture *picture)
{
    char text[JD_MESH_PICTURE_TEXT];
    int most = 0;
    for (int i = 0; i < picture->mesh->size; i++) {
        int width = jd__mesh_picture_place(picture, i, text, sizeof text);
        most = width > most ? width : most;
    }
    return most;
}

int jd__mesh_picture_colour(const struct jd_mesh_picture *picture, int position)
{
    return picture->colours[host_of(picture->mesh, position)] % JD_COLOURS;
}

void jd__mesh_picture_summary(const struct jd_mesh_picture *picture, FILE *out)
{
    const struct jd_mesh *mesh = picture->mesh;
    fprintf(out, "mesh ");
    for (int i = 0; i < mesh->ndim; i++)
        fprintf(out, "%s\"%s\" %d", i ? " x " : "", mesh->axis_names[i],
                mesh->shape[i]);
    fprintf(out, ": %d %s device%s of %d process%s on %d host%s\n", mesh->size,
            mesh->devices[0]->platform, jd__text_s(mesh->size),
            picture->num_processes, jd__text_es(picture->num_processes),
            picture->num_hosts, jd__text_s(picture->num_hosts));
    fprintf(out, "at each place: %sprocess:device\n",
            picture->num_hosts > 1 ? "host " : "");
}

void jd__mesh_picture_table(const struct jd_mesh_picture *picture, int table,
                            FILE *out)
{
    const struct jd_mesh *mesh = picture->mesh;
    int position = table * picture->rows * picture->columns;
    for (int i = 0; i < mesh->ndim - 2; i++)
        fprintf(out, "%s%s %d", i ? ", " : "", mesh->axis_names[i],
                jd__mesh_coordinate(mesh, position, i));
    if (mesh->ndim > 2)
        fputc('\n', out);
}

void jd__mesh_picture_index(const struct jd_mesh_picture *picture, int axis,
                            int index, char *text, size_t size)
{
    snprintf(text, size, "%.64s %d", picture->mesh->axis_names[axis], index);
}
