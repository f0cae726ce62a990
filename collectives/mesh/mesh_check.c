/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh_check.c - what jd_mesh_create() does not take, each with its reason. */
#include "collectives/mesh/mesh.h"
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CREATE "jd_mesh_create"

/* ---- names -------------------------------------------------------------- */

/* The commas, pluses and dashes are those of axis lists and sharding specs. */
static jd_status check_name(const char *const *names, int axis)
{
    const char *name = names[axis];
    if (!name || !*name)
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": axis_names[%d] is %s; give the axis a name",
                       axis, name ? "empty" : "NULL");
    if (strpbrk(name, ",+") || strcmp(name, "-") == 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": the axis name \"%s\" has a ',' or '+', or is "
                              "\"-\": these have a meaning where axes are "
                              "listed; use letters, digits and '_'",
                       name);
    for (int i = 0; i < axis; i++)
        if (strcmp(names[i], name) == 0)
            return jd_fail(JD_INVALID_ARGUMENT,
                           CREATE ": axis_names[%d] and axis_names[%d] are "
                                  "both \"%s\"; give each axis a name of its "
                                  "own",
                           i, axis, name);
    return JD_OK;
}

jd_status jd__mesh_check_names(int ndim, const char *const *axis_names)
{
    jd_status status = JD_OK;
    if (ndim < 1)
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": ndim is %d; a mesh has at least one axis",
                       ndim);
    if (ndim > JD_MAX_AXES)
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": ndim is %d; a mesh has at most %d axes", ndim,
                       JD_MAX_AXES);
    for (int i = 0; i < ndim && status == JD_OK; i++)
        status = check_name(axis_names, i);
    return status;
}

/* ---- sizes -------------------------------------------------------------- */

/* "\"data\" 2 x \"model\" -1", malloc'ed; "" where there is no memory. */
static char *print_sizes(const struct jd_mesh_sizes *sizes)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    for (int i = 0; out && i < sizes->ndim; i++)
        fprintf(out, "%s\"%s\" %d", i ? " x " : "", sizes->axis_names[i],
                sizes->shape[i]);
    char *text = jd__text_end(&written);
    return text ? text : calloc(1, 1);
}

/* The axis of the first -1 goes into *ret_open, or -1. */
static jd_status check_sizes(const struct jd_mesh_sizes *sizes, int *ret_open)
{
    int open = -1;
    for (int i = 0; i < sizes->ndim; i++) {
        const char *name = sizes->axis_names[i];
        if (sizes->shape[i] == -1 && sizes->available < 0)
            return jd_fail(JD_INVALID_ARGUMENT,
                           CREATE ": the size of axis \"%s\" is -1, and "
                                  "devices are given; say how many they are",
                           name);
        if (sizes->shape[i] == -1 && open >= 0)
            return jd_fail(JD_INVALID_ARGUMENT,
                           CREATE ": the sizes of axes \"%s\" and \"%s\" are "
                                  "both -1; only one can be what is left",
                           sizes->axis_names[open], name);
        if (sizes->shape[i] < 1 && sizes->shape[i] != -1)
            return jd_fail(JD_INVALID_ARGUMENT,
                           CREATE ": the size of axis \"%s\" is %d; a size is "
                                  "positive, or -1 for what is left of all "
                                  "devices",
                           name, sizes->shape[i]);
        if (sizes->shape[i] == -1)
            open = i;
    }
    *ret_open = open;
    return JD_OK;
}

/* The product of all sizes but -1; -1 where it is no int. */
static int product_of(const struct jd_mesh_sizes *sizes)
{
    int product = 1;
    for (int i = 0; i < sizes->ndim; i++) {
        if (sizes->shape[i] == -1)
            continue;
        if (sizes->shape[i] > INT_MAX / product)
            return -1;
        product *= sizes->shape[i];
    }
    return product;
}

static jd_status fail_product(const struct jd_mesh_sizes *sizes, int product,
                              int open)
{
    char *text = print_sizes(sizes);
    const char *shape = text ? text : "";
    const char *plural = jd__text_s(sizes->available);
    jd_status status;
    if (product < 0)
        status = jd_fail(JD_INVALID_ARGUMENT,
                         CREATE ": the mesh has more than %d places (%s); make "
                                "it smaller",
                         INT_MAX, shape);
    else if (open >= 0)
        status = jd_fail(JD_INVALID_ARGUMENT,
                         CREATE ": nothing whole is left for the size -1 of "
                                "axis \"%s\" (%s): the job has %d device%s, "
                                "which is no multiple of %d; change the other "
                                "sizes, or give the devices that are to be "
                                "used",
                         sizes->axis_names[open], shape, sizes->available,
                         plural, product);
    else
        status = jd_fail(JD_INVALID_ARGUMENT,
                         CREATE ": the mesh has %d place%s (%s), and the job "
                                "has %d device%s; make the product of the "
                                "sizes %d, make one of them -1, or give the "
                                "devices that are to be used",
                         product, jd__text_s(product), shape, sizes->available,
                         plural, sizes->available);
    free(text);
    return status;
}

jd_status jd__mesh_resolve_sizes(const struct jd_mesh_sizes *sizes,
                                 int *ret_shape, int *ret_size)
{
    int open = -1, available = sizes->available;
    jd_status status = check_sizes(sizes, &open);
    if (status != JD_OK)
        return status;
    int product = product_of(sizes);
    bool fits = product > 0;
    if (fits && available >= 0)
        fits = open < 0 ? product == available
                        : available > 0 && available % product == 0;
    if (!fits)
        return fail_product(sizes, product, open);
    memcpy(ret_shape, sizes->shape, (size_t)sizes->ndim * sizeof *ret_shape);
    if (open >= 0)
        ret_shape[open] = available / product;
    *ret_size = open >= 0 ? available : product;
    return JD_OK;
}

/* ---- devices ------------------------------------------------------------ */

/* The number of one of the topology's own structs, or -1. */
static ptrdiff_t device_number(const struct jd_topology *topology,
                               const jd_device *device)
{
    return jd__topology_has_device(topology, device)
               ? device - topology->devices
               : -1;
}

static jd_status check_device(const struct jd_topology *topology,
                              const jd_device *const *devices, int i, int *seen)
{
    ptrdiff_t number = device_number(topology, devices[i]);
    if (number < 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": devices[%d] is %s; take the pointers from "
                              "jd_devices() or jd_platform_devices()",
                       i, devices[i] ? "no device of this job" : "NULL");
    if (seen[number])
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": devices[%d] and devices[%d] are the same "
                              "device, %lld; a device is in a mesh once",
                       seen[number] - 1, i, (long long)devices[i]->id);
    if (strcmp(devices[i]->platform, devices[0]->platform) != 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": devices[0] is of platform %s and devices[%d] "
                              "of %s; a mesh is of one platform",
                       devices[0]->platform, i, devices[i]->platform);
    seen[number] = i + 1;
    return JD_OK;
}

jd_status jd__mesh_check_devices(const struct jd_topology *topology,
                                 const jd_device *const *devices, int count)
{
    size_t places = (size_t)topology->num_devices + 1;
    int *seen = calloc(places, sizeof *seen);
    jd_status status = JD_OK;
    if (!seen)
        return jd__fail_no_memory(CREATE, places * sizeof *seen);
    for (int i = 0; i < count && status == JD_OK; i++)
        status = check_device(topology, devices, i, seen);
    free(seen);
    return status;
}
