/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh_cache.c - meshes of this room's own, kept as long as the world. */
#include "arrays/array/mesh_cache.h"
#include "collectives/mesh/mesh.h"
#include "runtime/process/runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct kept {
    struct kept *next;
    jd_mesh *mesh;
};

static struct {
    pthread_mutex_t lock;
    uint64_t world; /* that they are all of */
    struct kept *first;
} meshes = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Those of a world that has ended: nobody is met. */
static void forget_meshes(void)
{
    while (meshes.first) {
        struct kept *kept = meshes.first;
        meshes.first = kept->next;
        jd_mesh_destroy(kept->mesh);
        free(kept);
    }
}

/* One axis, or two of which the second has `row` devices. */
static struct kept *find_mesh(const jd_device *const *devices, int count,
                              int row)
{
    size_t bytes = (size_t)count * sizeof *devices;
    struct kept *kept = meshes.first;
    while (kept && (kept->mesh->size != count ||
                    kept->mesh->shape[kept->mesh->ndim - 1] != row ||
                    memcmp(kept->mesh->devices, devices, bytes) != 0))
        kept = kept->next;
    return kept;
}

static jd_status make_mesh(const char *operation,
                           const jd_device *const *devices, int count, int row,
                           struct kept **ret_kept)
{
    static const char *const names[] = { "rows", "all" };
    const int shape[] = { count / row, row };
    int first = row == count; /* of the two axes */
    struct kept *kept = malloc(sizeof *kept);
    if (!kept)
        return jd__fail_no_memory(operation, sizeof *kept);
    jd_status status = jd_mesh_create(&kept->mesh, 2 - first, shape + first,
                                      names + first, devices);
    if (status != JD_OK) {
        free(kept);
        return jd__fail_prefix(status, "%s: ", operation);
    }
    kept->next = meshes.first;
    meshes.first = kept;
    *ret_kept = kept;
    return JD_OK;
}

jd_status jd__mesh_cache_of_rows(const char *operation,
                                 const jd_device *const *devices, int count,
                                 int row, jd_mesh **ret_mesh)
{
    const struct jd_runtime *runtime;
    jd_status status = jd__runtime_get(&runtime, operation);
    if (status != JD_OK)
        return status;
    pthread_mutex_lock(&meshes.lock);
    if (meshes.world != runtime->number)
        forget_meshes();
    meshes.world = runtime->number;
    struct kept *kept = find_mesh(devices, count, row);
    if (!kept)
        status = make_mesh(operation, devices, count, row, &kept);
    pthread_mutex_unlock(&meshes.lock);
    if (status == JD_OK)
        *ret_mesh = kept->mesh;
    return status;
}

jd_status jd__mesh_cache_get(const char *operation,
                             const jd_device *const *devices, int count,
                             jd_mesh **ret_mesh)
{
    return jd__mesh_cache_of_rows(operation, devices, count, count, ret_mesh);
}
