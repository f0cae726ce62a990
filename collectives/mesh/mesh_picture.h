/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mesh_picture.h - what pictures of a mesh have to show: tables of its last two
 * axes, one for each index along those before, and who is at each place.
 *
 *     struct jd_mesh_picture picture;
 *     status = jd__mesh_picture_make("jd_mesh_visualize", mesh, &picture);
 *     jd__mesh_picture_place(&picture, position, text, sizeof text);
 *     jd__mesh_picture_finish(&picture);
 */
#ifndef COLLECTIVES_MESH_MESH_PICTURE_H
#define COLLECTIVES_MESH_MESH_PICTURE_H

#include "collectives/mesh/mesh.h"

#include <stdio.h>

enum { JD_MESH_PICTURE_TEXT = 96 }; /* bytes of a place, or of a head */

struct jd_mesh_picture {
    const struct jd_mesh *mesh;
    int num_processes, num_hosts;
    int rows, columns; /* of a table */
    int num_tables;
    int *colours; /* by host of the job: its number among the mesh's; -1 */
};

jd_status jd__mesh_picture_make(const char *operation,
                                const struct jd_mesh *mesh,
                                struct jd_mesh_picture *ret_picture);
void jd__mesh_picture_finish(struct jd_mesh_picture *picture);

/* What both calls refuse. */
jd_status jd__mesh_picture_check(const char *operation,
                                 const struct jd_mesh *mesh, const FILE *out);

/* "n0 3:1": the host where there are several, process, device of that process.
 * Gives its length. */
int jd__mesh_picture_place(const struct jd_mesh_picture *picture, int position,
                           char *text, size_t size);
/* How long the longest place is. */
int jd__mesh_picture_width(const struct jd_mesh_picture *picture);
/* The number of its host's colour (base/colour.h). */
int jd__mesh_picture_colour(const struct jd_mesh_picture *picture,
                            int position);

/* Two lines: axes and devices; what places tell. */
void jd__mesh_picture_summary(const struct jd_mesh_picture *picture, FILE *out);
/* "pipe 1, data 0", above the table of these; nothing where there is one. */
void jd__mesh_picture_table(const struct jd_mesh_picture *picture, int table,
                            FILE *out);
/* "data 3": an index along an axis. */
void jd__mesh_picture_index(const struct jd_mesh_picture *picture, int axis,
                            int index, char *text, size_t size);

#endif
