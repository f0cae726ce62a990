/* SPDX-License-Identifier: BSD-3-Clause */
/* gather_ways.c - who takes part in a gather, which way the blocks go, and the
 * memory that they need on it. */
#include "arrays/array/mesh_cache.h"
#include "arrays/gather/gather.h"
#include "collectives/multihost/leaves.h"
#include "jd_memory.h"

#include <stdlib.h>

/* What chunks on the way take of a process's memory: what stays in the caches,
 * unless they get too short, and at most this. */
#define MOST_ON_THE_WAY ((size_t)64 << 20)
#define GOOD_ON_THE_WAY ((size_t)4 << 20)
#define GOOD_CHUNK ((size_t)64 << 10)

/* ---- who ---------------------------------------------------------------- */

static bool gets_all(const struct jd_gather *g)
{
    return g->root < 0 || g->root == g->index;
}

static int find_member(const struct jd_owners *owners, int process)
{
    for (int m = 0; m < owners->num_members; m++)
        if (owners->members[m].device->process_index == process)
            return m;
    return -1;
}

/* The devices that take part: one of each member, and a root's. */
static jd_status list_devices(struct jd_gather *g, int root_process,
                              const jd_device **devices)
{
    g->size = g->owners.num_members;
    g->root = -1;
    for (int m = 0; m < g->size; m++)
        devices[m] = g->owners.members[m].device;
    if (root_process < 0)
        return JD_OK;
    g->root = find_member(&g->owners, root_process);
    if (g->root >= 0)
        return JD_OK;
    g->root = g->size;
    devices[g->size] = jd__sharding_device_of(g->array->sharding, root_process);
    if (!devices[g->size++])
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: root is %d, and that process has no device of "
                       "platform %s, over which the array would come to it",
                       g->operation, root_process,
                       g->array->sharding->devices[0]->platform);
    return JD_OK;
}

static jd_status find_mesh(struct jd_gather *g, int root_process)
{
    jd_mesh *mesh;
    size_t bytes =
        (size_t)(g->owners.num_members + 1) * sizeof(const jd_device *);
    const jd_device **devices = malloc(bytes);
    if (!devices)
        return jd__fail_no_memory(g->operation, bytes);
    jd_status status = list_devices(g, root_process, devices);
    if (status == JD_OK)
        status = jd__mesh_cache_get(g->operation, devices, g->size, &mesh);
    free(devices);
    if (status != JD_OK)
        return status;
    g->me = jd_mesh_shard(mesh);
    g->index = jd_axis_index(g->me, NULL);
    return JD_OK;
}

/* ---- which way ---------------------------------------------------------- */

int jd__gather_first_cut(const jd_array *array)
{
    int d = 0;
    while (d < array->ndim && array->sharding->cuts[d].ways == 1)
        d++;
    return d;
}

/* Each block's elements follow each other in the whole: it is one long in all
 * dimensions before the last that is cut. */
static bool is_flat(const jd_array *array)
{
    const jd_sharding *s = array->sharding;
    for (int d = 0; d < s->num_cuts - 1; d++)
        if (array->shape[d] > s->cuts[d].ways)
            return false;
    return true;
}

size_t jd__gather_rows(const jd_array *array, int d)
{
    size_t rows = 1;
    for (int i = 0; i < d; i++)
        rows *= (size_t)array->shape[i];
    return rows;
}

static bool have_all(const struct jd_gather *g)
{
    for (int m = 0; m < g->owners.num_members; m++)
        if (g->owners.members[m].count != g->array->sharding->ways)
            return false;
    return true;
}

/* All blocks are as long, one dimension alone is cut, and every process has as
 * many of them, with as many others. */
static bool is_regular(const struct jd_gather *g)
{
    const jd_array *a = g->array;
    const jd_sharding *s = a->sharding;
    int cut = jd__gather_first_cut(a);
    if (cut == a->ndim || s->cuts[cut].ways != s->ways ||
        a->shape[cut] % s->ways != 0)
        return false;
    for (int m = 0; m < g->owners.num_members; m++)
        if (g->owners.members[m].count != g->owners.members[0].count)
            return false;
    for (int b = 0; b < s->ways; b++)
        if (g->owners.num_owners[b] != g->owners.num_owners[0])
            return false;
    return true;
}

/* The members' blocks follow each other, in the members' order. */
static bool is_in_order(const struct jd_owners *owners)
{
    int next = 0;
    for (int m = 0; m < owners->num_members; m++)
        for (int i = 0; i < owners->members[m].count; i++)
            if (owners->blocks[owners->members[m].first + i] != next++)
                return false;
    return true;
}

/* What each gives follows on in the whole. */
static bool has_one_part_each(const struct jd_gather *g)
{
    for (int m = 0; m < g->owners.num_members; m++)
        if (g->owners.members[m].count != 1)
            return false;
    return is_flat(g->array);
}

static enum jd_gather_way choose_way_to_all(const struct jd_gather *g)
{
    const jd_sharding *s = g->array->sharding;
    const struct jd_owners *h = &g->owners;
    if (have_all(g))
        return JD_GATHER_NONE;
    if (!is_regular(g))
        return has_one_part_each(g) ? JD_GATHER_RAGGED : JD_GATHER_CHUNKS;
    size_t num_owners = (size_t)h->num_owners[0];
    size_t elements = jd__leaf_elements(g->out);
    bool is_whole =
        jd__gather_rows(g->array, jd__gather_first_cut(g->array)) == 1;
    bool divides = is_whole && elements / (size_t)s->ways % num_owners == 0;
    if (h->members[0].count == 1 && (num_owners == 1 || divides))
        return JD_GATHER_AT_ONCE;
    if (is_whole && num_owners == 1 && is_in_order(h))
        return JD_GATHER_JOINED;
    return JD_GATHER_CHUNKS;
}

static enum jd_gather_way choose_way_to_root(const struct jd_gather *g)
{
    if (g->load == 0)
        return JD_GATHER_NONE;
    if (!is_flat(g->array))
        return JD_GATHER_CHUNKS;
    return has_one_part_each(g) ? JD_GATHER_RAGGED : JD_GATHER_RANGES;
}

static size_t choose_chunk(const struct jd_gather *g)
{
    size_t members = (size_t)g->size;
    size_t bytes = GOOD_ON_THE_WAY / members;
    if (bytes < GOOD_CHUNK)
        bytes = GOOD_CHUNK;
    if (bytes > MOST_ON_THE_WAY / members)
        bytes = MOST_ON_THE_WAY / members;
    size_t chunk = bytes / g->array->element;
    chunk = chunk < g->load ? chunk : g->load;
    return chunk ? chunk : 1;
}

/* Memory for what is on the way. One who gives of one block alone gives it
 * from where it is. */
static jd_status allocate_chunks(struct jd_gather *g)
{
    size_t cursors = (size_t)g->size * sizeof *g->cursors, places = 0;
    g->chunk = choose_chunk(g);
    g->cursors = calloc(1, cursors);
    if (!g->cursors)
        return jd__fail_no_memory(g->operation, cursors);
    if (gets_all(g))
        places = (size_t)g->size;
    else if (g->owners.members[g->owners.own].count > 1)
        places = 1;
    void *memory;
    jd_status status = jd_device_alloc(
        jd_shard_device(g->me), places * g->chunk * g->array->element, &memory);
    if (status != JD_OK)
        return jd__fail_prefix(status, "%s: ", g->operation);
    g->chunks = memory;
    return JD_OK;
}

static jd_status allocate_lists(struct jd_gather *g)
{
    size_t size = (size_t)g->size, bytes = 4 * size * sizeof(int64_t);
    int64_t *lists = calloc(1, bytes);
    if (!lists)
        return jd__fail_no_memory(g->operation, bytes);
    g->lists = (struct jd_gather_lists){ lists, lists + size, lists + 2 * size,
                                         lists + 3 * size };
    return JD_OK;
}

static void find_load(struct jd_gather *g)
{
    for (int m = 0; m < g->owners.num_members; m++) {
        size_t load = jd__owners_load(&g->owners, g->array, m);
        g->load = g->load > load ? g->load : load;
    }
}

jd_status jd__gather_prepare(struct jd_gather *g, int root_process)
{
    jd_status status =
        jd__owners_find(g->operation, g->array->sharding, &g->owners);
    if (status == JD_OK)
        status = find_mesh(g, root_process);
    if (status != JD_OK)
        return status;
    if (g->root >= 0 && g->root < g->owners.num_members)
        jd__owners_excuse(&g->owners, g->root);
    find_load(g);
    g->way = g->root < 0 ? choose_way_to_all(g) : choose_way_to_root(g);
    if (g->way == JD_GATHER_RAGGED || g->way == JD_GATHER_CHUNKS)
        status = allocate_lists(g);
    return status == JD_OK && g->way == JD_GATHER_CHUNKS ? allocate_chunks(g)
                                                         : status;
}

void jd__gather_finish(struct jd_gather *g)
{
    jd__owners_finish(&g->owners);
    jd_device_free(g->chunks);
    free(g->cursors);
    free(g->lists.from);
}
