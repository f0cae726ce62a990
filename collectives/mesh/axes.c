/* SPDX-License-Identifier: BSD-3-Clause */
/* axes.c - strings that name a mesh's axes, and positions along them. */
#include "collectives/mesh/mesh.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find_axis(const struct jd_mesh *mesh, const char *name,
                     size_t length)
{
    for (int i = 0; i < mesh->ndim; i++)
        if (strlen(mesh->axis_names[i]) == length &&
            memcmp(mesh->axis_names[i], name, length) == 0)
            return i;
    return -1;
}

static bool contains_axis(const struct jd_axes *axes, int axis)
{
    for (int i = 0; i < axes->count; i++)
        if (axes->axis[i] == axis)
            return true;
    return false;
}

static jd_status all_axes(const struct jd_mesh *mesh, struct jd_axes *ret_axes)
{
    ret_axes->count = mesh->ndim;
    for (int i = 0; i < mesh->ndim; i++)
        ret_axes->axis[i] = i;
    return JD_OK;
}

jd_status jd__axes_parse(const struct jd_mesh *mesh, const char *text,
                         const char *operation, struct jd_axes *ret_axes)
{
    struct jd_axes axes = { .count = 0 };
    if (!text)
        return all_axes(mesh, ret_axes);
    for (const char *name = text;; name++) {
        size_t length = strcspn(name, ",+");
        int axis = find_axis(mesh, name, length);
        if (axis < 0)
            return jd_fail(JD_INVALID_ARGUMENT,
                           "%s: the mesh has no axis \"%.*s\" (of \"%s\"); its "
                           "axes are %s, and NULL stands for all of them",
                           operation, (int)length, name, text, mesh->axes);
        if (contains_axis(&axes, axis))
            return jd_fail(JD_INVALID_ARGUMENT,
                           "%s: the axis \"%.*s\" is there twice in \"%s\"; "
                           "name each axis once",
                           operation, (int)length, name, text);
        axes.axis[axes.count++] = axis;
        name += length;
        if (*name == '\0')
            break;
    }
    *ret_axes = axes;
    return JD_OK;
}

bool jd__axes_equal(const struct jd_axes *a, const struct jd_axes *b)
{
    return a->count == b->count &&
           memcmp(a->axis, b->axis, (size_t)a->count * sizeof *a->axis) == 0;
}

char *jd__axes_print(const struct jd_mesh *mesh, const struct jd_axes *axes)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    for (int i = 0; i < axes->count; i++)
        fprintf(out, "%s\"%s\"", i ? ", " : "",
                mesh->axis_names[axes->axis[i]]);
    return jd__text_end(&text);
}

/* How far apart neighbours along an axis are. */
static int stride_of(const struct jd_mesh *mesh, int axis)
{
    int stride = 1;
    for (int i = mesh->ndim - 1; i > axis; i--)
        stride *= mesh->shape[i];
    return stride;
}

int jd__mesh_coordinate(const struct jd_mesh *mesh, int position, int axis)
{
    return position / stride_of(mesh, axis) % mesh->shape[axis];
}

int jd__axes_index(const struct jd_mesh *mesh, const struct jd_axes *axes,
                   int position)
{
    int index = 0;
    for (int i = 0; i < axes->count; i++)
        index = index * mesh->shape[axes->axis[i]] +
                jd__mesh_coordinate(mesh, position, axes->axis[i]);
    return index;
}

int jd__axes_size(const struct jd_mesh *mesh, const struct jd_axes *axes)
{
    int size = 1;
    for (int i = 0; i < axes->count; i++)
        size *= mesh->shape[axes->axis[i]];
    return size;
}

int jd__axes_position(const struct jd_mesh *mesh, const struct jd_axes *axes,
                      int position, int index)
{
    for (int i = axes->count - 1; i >= 0; i--) {
        int axis = axes->axis[i], size = mesh->shape[axis];
        int from = jd__mesh_coordinate(mesh, position, axis);
        position += (index % size - from) * stride_of(mesh, axis);
        index /= size;
    }
    return position;
}
