/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * local_data.c - arrays of what each process has: in each dimension all of it,
 * or its share, which is its distinct blocks one behind the other.
 */
#include "arrays/array/array.h"
#include "base/status.h"
#include "collectives/multihost/leaves.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define OPERATION "jd_array_from_process_local_data"

/* The number, along dimension d, of the block at a place of the mesh. */
static int cut_number(const jd_sharding *sharding, int place, int d)
{
    int number = sharding->blocks[place];
    for (int later = sharding->num_cuts - 1; later > d; later--)
        number /= sharding->cuts[later].ways;
    return number % sharding->cuts[d].ways;
}

/* ---- working out a length of the whole -------------------------------------
 * Processes' sets of cut numbers are to be alike: as many in each, and each
 * two sets the same or disjoint. As every number is somewhere, there are then
 * as many sets as one's numbers go into all of them.
 */

/* A process and a number that it has; as one, they sort. */
static uint64_t make_holding(int process, int number)
{
    return (uint64_t)process << 32 | (uint32_t)number;
}

static int process_of(uint64_t holding)
{
    return (int)(holding >> 32);
}

static int number_of(uint64_t holding)
{
    return (int)(uint32_t)holding;
}

static int compare_holdings(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

/* Each process's numbers, rising, each once. */
static int list_holdings(const jd_sharding *sharding, int d, uint64_t *list)
{
    int count = 0;
    for (int i = 0; i < sharding->num_devices; i++)
        list[i] = make_holding(sharding->devices[i]->process_index,
                               cut_number(sharding, i, d));
    qsort(list, (size_t)sharding->num_devices, sizeof *list, compare_holdings);
    for (int i = 0; i < sharding->num_devices; i++)
        if (count == 0 || list[count - 1] != list[i])
            list[count++] = list[i];
    return count;
}

/* How many in front of the list are of the same process. */
static int length_of_set(const uint64_t *list, int count)
{
    int length = 0;
    while (length < count && process_of(list[length]) == process_of(list[0]))
        length++;
    return length;
}

static jd_status fail_unlike(int d, int process, int other)
{
    return jd_fail(JD_INVALID_ARGUMENT,
                   OPERATION ": global_shape is NULL, and dimension %d of it "
                             "cannot be worked out, as processes %d and %d "
                             "have unlike shares of it; give global_shape",
                   d, other, process);
}

/*
 * The length of the sets; checks that they are alike. Where two have a number
 * in common, the first process that has it is the same for all of theirs.
 * firsts: room for all numbers, zeroed; 1 + the first process with each.
 */
static jd_status check_sets(const uint64_t *list, int count, int d, int *firsts,
                            int *ret_length)
{
    int wanted = length_of_set(list, count), length;
    for (int i = 0; i < count; i += length) {
        int process = process_of(list[i]);
        length = length_of_set(list + i, count - i);
        if (length != wanted)
            return fail_unlike(d, process, process_of(list[0]));
        for (int k = i; k < i + length; k++) {
            int *first = &firsts[number_of(list[k])];
            int set = firsts[number_of(list[i])];
            *first = *first ? *first : process + 1;
            if (k > i && *first != set)
                return fail_unlike(d, process,
                                   (*first - 1 == process ? set : *first) - 1);
        }
    }
    *ret_length = wanted;
    return JD_OK;
}

/* How many of the blocks along dimension d each process has. */
static jd_status find_set_length(const jd_sharding *sharding, int d,
                                 int *ret_length)
{
    size_t devices = (size_t)sharding->num_devices;
    size_t ways = (size_t)sharding->cuts[d].ways;
    size_t bytes = devices * sizeof(uint64_t) + ways * sizeof(int);
    uint64_t *list = calloc(1, bytes);
    if (!list)
        return jd__fail_no_memory(OPERATION, bytes);
    int *firsts = (int *)(void *)(list + devices);
    int count = list_holdings(sharding, d, list);
    jd_status status = check_sets(list, count, d, firsts, ret_length);
    free(list);
    return status;
}

static jd_status infer_length(const jd_sharding *sharding, int d, int64_t local,
                              int64_t *ret_length)
{
    int length = 0, ways = d < sharding->num_cuts ? sharding->cuts[d].ways : 1;
    *ret_length = local;
    if (ways == 1)
        return JD_OK;
    jd_status status = find_set_length(sharding, d, &length);
    if (status != JD_OK || length == ways)
        return status;
    if (local % length != 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       OPERATION ": global_shape is NULL, and dimension %d of "
                                 "local has %" PRId64 " elements, which are "
                                 "not %d blocks of the same length; give "
                                 "global_shape",
                       d, local, length);
    if (local > INT64_MAX / ways)
        return jd_fail(JD_INVALID_ARGUMENT,
                       OPERATION ": dimension %d of local has %" PRId64
                                 " elements, and %d shares of that are more "
                                 "than an array has",
                       d, local, ways / length);
    *ret_length = local * (ways / length);
    return JD_OK;
}

static jd_status infer_shape(const jd_sharding *sharding, const jd_leaf *local,
                             int64_t *ret_shape)
{
    jd_status status = JD_OK;
    if (sharding->num_local == 0 && local->ndim > 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       OPERATION ": global_shape is NULL, and this process has "
                                 "no device in the sharding's mesh, so its "
                                 "local says nothing; give global_shape");
    for (int d = 0; d < local->ndim && status == JD_OK; d++)
        status = infer_length(sharding, d, local->shape[d], &ret_shape[d]);
    return status;
}

/* ---- where a block is in local ------------------------------------------ */

struct source {
    const jd_array *array;
    const jd_leaf *local;
    /* By cut number: where such a block begins in local; NULL where local is
     * as long as the array. */
    int64_t *begins[JD_MAX_NDIM];
};

static void free_source(struct source *source)
{
    for (int d = 0; d < JD_MAX_NDIM; d++)
        free(source->begins[d]);
}

/* First the lengths of the blocks that this process has, and 0 for others;
 * then what comes before each. */
static int64_t find_share(const jd_array *array, int d, int64_t *begins)
{
    const jd_sharding *sharding = array->sharding;
    int64_t share = 0;
    for (int i = 0; i < array->num_shards; i++)
        begins[cut_number(sharding, sharding->local[i], d)] =
            array->shards[i].shape[d];
    for (int n = 0; n < sharding->cuts[d].ways; n++) {
        int64_t length = begins[n];
        begins[n] = share;
        share += length;
    }
    return share;
}

static jd_status fail_length(const struct source *source, int d, int64_t share)
{
    int64_t whole = source->array->shape[d];
    char own[96] = "";
    if (share != whole)
        snprintf(own, sizeof own,
                 ", or %" PRId64 ", as this process's blocks together", share);
    return jd_fail(JD_INVALID_ARGUMENT,
                   OPERATION ": dimension %d of local has %" PRId64
                             " elements; it has %" PRId64
                             ", as the whole array%s",
                   d, source->local->shape[d], whole, own);
}

static jd_status place_dimension(struct source *source, int d)
{
    const jd_array *array = source->array;
    const jd_sharding *sharding = array->sharding;
    int64_t whole = array->shape[d], have = source->local->shape[d];
    if (have == whole)
        return JD_OK;
    if (d >= sharding->num_cuts)
        return fail_length(source, d, whole);
    size_t ways = (size_t)sharding->cuts[d].ways;
    source->begins[d] = calloc(ways, sizeof(int64_t));
    if (!source->begins[d])
        return jd__fail_no_memory(OPERATION, ways * sizeof(int64_t));
    int64_t share = find_share(array, d, source->begins[d]);
    return have == share ? JD_OK : fail_length(source, d, share);
}

/* Counted from where the array begins, local begins where its block is as far
 * in as in the array. */
static jd_status copy_block(const jd_array_shard *shard, void *arg)
{
    const struct source *source = arg;
    const jd_array *array = source->array;
    const jd_leaf *local = source->local;
    int place = array->sharding->local[shard - array->shards];
    jd_range origin[JD_MAX_NDIM];
    for (int d = 0; d < array->ndim; d++) {
        const int64_t *begins = source->begins[d];
        origin[d].begin = 0;
        if (begins)
            origin[d].begin = shard->index[d].begin -
                              begins[cut_number(array->sharding, place, d)];
        origin[d].end = origin[d].begin + local->shape[d];
    }
    return jd__box_copy(
        &(struct jd_box){ shard->data, shard->index, array->ndim,
                          array->element },
        &(struct jd_box){ local->data, origin, array->ndim, array->element },
        shard->index);
}

static jd_status fill_array(jd_array *array, const jd_leaf *local)
{
    struct source source = { array, local, { NULL } };
    jd_status status = JD_OK;
    for (int d = 0; d < array->ndim && status == JD_OK; d++)
        status = place_dimension(&source, d);
    if (status == JD_OK)
        status = jd__array_allocate(array, OPERATION);
    if (status == JD_OK)
        status = jd__array_fill(array, OPERATION, copy_block, &source);
    free_source(&source);
    return status;
}

/* ---- the call ------------------------------------------------------------ */

static jd_status check_arguments(jd_array **ret_array,
                                 const jd_sharding *sharding,
                                 const jd_leaf *local)
{
    struct jd_leaf_list list = { local, 1, OPERATION, "local" };
    size_t bytes;
    if (!ret_array || !local)
        return jd_fail(JD_INVALID_ARGUMENT, OPERATION ": %s is NULL",
                       ret_array ? "local" : "ret_array");
    jd_status status = jd__sharding_check_world(sharding, OPERATION);
    return status == JD_OK ? jd__leaves_check(&list, &bytes) : status;
}

jd_status jd_array_from_process_local_data(jd_array **ret_array,
                                           const jd_sharding *sharding,
                                           const jd_leaf *local,
                                           const int64_t *global_shape)
{
    int64_t inferred[JD_MAX_NDIM];
    jd_array *array;
    jd_status status = check_arguments(ret_array, sharding, local);
    if (status == JD_OK && !global_shape && local->ndim <= JD_MAX_NDIM) {
        status = infer_shape(sharding, local, inferred);
        global_shape = inferred;
    }
    if (status == JD_OK)
        status =
            jd__array_create_without_data(OPERATION, sharding, local->dtype,
                                          local->ndim, global_shape, &array);
    if (status != JD_OK)
        return status;
    status = fill_array(array, local);
    if (status == JD_OK)
        *ret_array = array;
    else
        jd_array_release(array);
    return status;
}
