/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sharding.c - which device has which block: worked out once, when a sharding
 * is made, for arrays of any shape.
 */
#include "arrays/sharding/sharding.h"
#include "arrays/sharding/spec.h"
#include "runtime/process/runtime.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ------------------------------------------------------------- */

static jd_status copy_axes(struct jd_sharding *sharding,
                           const struct jd_mesh *mesh, const char *operation)
{
    sharding->num_axes = mesh->ndim;
    for (int i = 0; i < mesh->ndim; i++) {
        sharding->axis_sizes[i] = mesh->shape[i];
        sharding->axis_names[i] = strdup(mesh->axis_names[i]);
        if (!sharding->axis_names[i])
            return jd__fail_no_memory(operation, strlen(mesh->axis_names[i]));
    }
    sharding->spec = jd__spec_print(mesh, sharding->num_cuts, sharding->cuts);
    if (!sharding->spec)
        return jd__fail_no_memory(operation, 1);
    return JD_OK;
}

/* One block of memory for all that there is for each device. */
static jd_status allocate_devices(struct jd_sharding *sharding, int num_devices,
                                  const char *operation)
{
    size_t count = (size_t)num_devices;
    size_t bytes = count * (sizeof *sharding->devices + 4 * sizeof(int));
    sharding->devices = malloc(bytes);
    if (!sharding->devices)
        return jd__fail_no_memory(operation, bytes);
    sharding->num_devices = num_devices;
    sharding->blocks = (int *)(void *)(sharding->devices + count);
    sharding->replica_ids = sharding->blocks + count;
    sharding->by_device = sharding->replica_ids + count;
    sharding->local = sharding->by_device + count;
    return JD_OK;
}

static void set_devices(struct jd_sharding *sharding,
                        const struct jd_mesh *mesh)
{
    int own = jd_process_index();
    for (int i = 0; i < mesh->size; i++) {
        sharding->devices[i] = mesh->devices[i];
        if (mesh->devices[i]->process_index == own)
            sharding->local[sharding->num_local++] = i;
    }
}

/* How far apart the blocks of neighbours along each axis are; 0 for an axis
 * that cuts nothing. */
static void find_strides(struct jd_sharding *sharding, int *ret_strides)
{
    int stride = 1;
    memset(ret_strides, 0, JD_MAX_AXES * sizeof *ret_strides);
    for (int d = sharding->num_cuts - 1; d >= 0; d--) {
        const struct jd_axes *axes = &sharding->cuts[d].axes;
        for (int i = axes->count - 1; i >= 0; i--) {
            ret_strides[axes->axis[i]] = stride;
            stride *= sharding->axis_sizes[axes->axis[i]];
        }
    }
    sharding->ways = stride;
}

/* Walks through the places as an odometer does. */
static void set_blocks(struct jd_sharding *sharding)
{
    int strides[JD_MAX_AXES], at[JD_MAX_AXES] = { 0 }, block = 0;
    find_strides(sharding, strides);
    for (int place = 0; place < sharding->num_devices; place++) {
        sharding->blocks[place] = block;
        for (int i = sharding->num_axes - 1; i >= 0; i--) {
            block += strides[i];
            if (++at[i] < sharding->axis_sizes[i])
                break;
            block -= strides[i] * at[i];
            at[i] = 0;
        }
    }
}

static jd_status set_replicas(struct jd_sharding *sharding,
                              const char *operation)
{
    int *counts = calloc((size_t)sharding->ways, sizeof *counts);
    if (!counts)
        return jd__fail_no_memory(operation,
                                  (size_t)sharding->ways * sizeof *counts);
    for (int i = 0; i < sharding->num_devices; i++)
        sharding->replica_ids[i] = counts[sharding->blocks[i]]++;
    free(counts);
    return JD_OK;
}

struct device_owner {
    uintptr_t device;
    int place;
};

static int compare_owners(const void *one, const void *other)
{
    const struct device_owner *a = one, *b = other;
    return a->device < b->device ? -1 : a->device > b->device;
}

static jd_status set_order(struct jd_sharding *sharding, const char *operation)
{
    size_t count = (size_t)sharding->num_devices;
    struct device_owner *owners = malloc(count * sizeof *owners);
    bool is_sorted = true;
    if (!owners)
        return jd__fail_no_memory(operation, count * sizeof *owners);
    for (size_t i = 0; i < count; i++) {
        owners[i].device = (uintptr_t)sharding->devices[i];
        owners[i].place = (int)i;
        is_sorted &= i == 0 || owners[i - 1].device < owners[i].device;
    }
    if (!is_sorted)
        qsort(owners, count, sizeof *owners, compare_owners);
    for (size_t i = 0; i < count; i++)
        sharding->by_device[i] = owners[i].place;
    free(owners);
    return JD_OK;
}

static jd_status fill_sharding(struct jd_sharding *sharding,
                               const struct jd_mesh *mesh,
                               const char *operation)
{
    jd_status status = copy_axes(sharding, mesh, operation);
    if (status == JD_OK)
        status = allocate_devices(sharding, mesh->size, operation);
    if (status != JD_OK)
        return status;
    set_devices(sharding, mesh);
    set_blocks(sharding);
    status = set_replicas(sharding, operation);
    return status == JD_OK ? set_order(sharding, operation) : status;
}

static jd_status make_sharding(const struct jd_spec *spec, bool is_even,
                               jd_sharding **ret_sharding)
{
    struct jd_sharding *sharding = calloc(1, sizeof *sharding);
    if (!sharding)
        return jd__fail_no_memory(spec->operation, sizeof *sharding);
    atomic_init(&sharding->references, 1);
    sharding->world = spec->mesh->world;
    sharding->num_entries = jd__spec_count(spec->text);
    sharding->written = strdup(spec->text);
    sharding->is_even = is_even;
    jd_status status =
        jd__spec_parse(spec, &sharding->num_cuts, sharding->cuts);
    if (status == JD_OK && !sharding->written)
        status = jd__fail_no_memory(spec->operation, strlen(spec->text) + 1);
    if (status == JD_OK)
        status = fill_sharding(sharding, spec->mesh, spec->operation);
    if (status == JD_OK)
        *ret_sharding = sharding;
    else
        jd_sharding_release(sharding);
    return status;
}

static jd_status check_and_make(const struct jd_spec *spec, bool is_even,
                                jd_sharding **ret_sharding)
{
    const char *null = !ret_sharding ? "ret_sharding"
                       : !spec->mesh ? "mesh"
                       : !spec->text ? "spec"
                                     : NULL;
    if (null)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: %s is NULL", spec->operation,
                       null);
    jd_status status = jd__mesh_check_world(spec->mesh, spec->operation);
    return status == JD_OK ? make_sharding(spec, is_even, ret_sharding)
                           : status;
}

jd_status jd_sharding_create(jd_sharding **ret_sharding, const jd_mesh *mesh,
                             const char *spec)
{
    struct jd_spec made = { "jd_sharding_create", mesh, spec };
    return check_and_make(&made, false, ret_sharding);
}

jd_status jd_sharding_create_even(jd_sharding **ret_sharding,
                                  const jd_mesh *mesh, const char *spec)
{
    struct jd_spec made = { "jd_sharding_create_even", mesh, spec };
    return check_and_make(&made, true, ret_sharding);
}

jd_status jd_sharding_mesh(jd_mesh **ret_mesh, const jd_sharding *sharding)
{
    static const char operation[] = "jd_sharding_mesh";
    if (!ret_mesh)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: ret_mesh is NULL", operation);
    jd_status status = jd__sharding_check_world(sharding, operation);
    if (status != JD_OK)
        return status;
    return jd_mesh_create(ret_mesh, sharding->num_axes, sharding->axis_sizes,
                          (const char *const *)sharding->axis_names,
                          sharding->devices);
}

jd_sharding *jd__sharding_retain(const jd_sharding *sharding)
{
    jd_sharding *retained = (jd_sharding *)sharding;
    atomic_fetch_add_explicit(&retained->references, 1, memory_order_relaxed);
    return retained;
}

void jd_sharding_release(jd_sharding *sharding)
{
    if (!sharding || atomic_fetch_sub_explicit(&sharding->references, 1,
                                               memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < sharding->num_axes; i++)
        free(sharding->axis_names[i]);
    free(sharding->spec);
    free(sharding->written);
    free(sharding->devices);
    free(sharding);
}

/* ---- looking ------------------------------------------------------------ */

const char *jd_sharding_spec(const jd_sharding *sharding)
{
    return sharding ? sharding->spec : NULL;
}

int jd_sharding_is_fully_replicated(const jd_sharding *sharding)
{
    return sharding && sharding->ways == 1;
}

int jd_sharding_is_fully_addressable(const jd_sharding *sharding)
{
    return sharding && sharding->num_local == sharding->num_devices;
}

/* Cuts beyond num_cuts are one way, too. */
static bool has_same_ways(const jd_sharding *a, const jd_sharding *b)
{
    for (int d = 0; d < JD_MAX_NDIM; d++)
        if (a->cuts[d].ways != b->cuts[d].ways)
            return false;
    return true;
}

/* Where the ways are the same, the numbers of blocks are too. */
int jd_sharding_is_equivalent(const jd_sharding *a, const jd_sharding *b,
                              int ndim)
{
    if (!a || !b || a->num_cuts > ndim || b->num_cuts > ndim)
        return 0;
    if (a == b)
        return 1;
    if (a->world != b->world || a->num_devices != b->num_devices ||
        !has_same_ways(a, b))
        return 0;
    for (int i = 0; i < a->num_devices; i++) {
        int place = a->by_device[i], other = b->by_device[i];
        if (a->devices[place] != b->devices[other] ||
            a->blocks[place] != b->blocks[other])
            return 0;
    }
    return 1;
}

int jd__sharding_place(const jd_sharding *sharding, const jd_device *device)
{
    int low = 0, high = sharding->num_devices;
    while (low < high) {
        int middle = low + (high - low) / 2;
        int place = sharding->by_device[middle];
        if (sharding->devices[place] == device)
            return place;
        if ((uintptr_t)sharding->devices[place] < (uintptr_t)device)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static const jd_device *find_device_of(const jd_device *const *devices,
                                       int count, int process)
{
    for (int i = 0; i < count; i++)
        if (devices[i]->process_index == process)
            return devices[i];
    return NULL;
}

const jd_device *jd__sharding_device_of(const jd_sharding *sharding,
                                        int process)
{
    int count;
    const jd_device *const *all,
        *found =
            find_device_of(sharding->devices, sharding->num_devices, process);
    if (found)
        return found;
    all = jd_platform_devices(sharding->devices[0]->platform, &count);
    return find_device_of(all, count, process);
}

jd_status jd__sharding_check_world(const jd_sharding *sharding,
                                   const char *operation)
{
    if (!sharding)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: sharding is NULL", operation);
    return jd__runtime_check_world(sharding->world, operation, "the sharding");
}
