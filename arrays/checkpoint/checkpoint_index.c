/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint_index.c - what an index holds, and its text. */
#include "arrays/checkpoint/checkpoint_index.h"

#include "arrays/checkpoint/crc32c.h"
#include "arrays/checkpoint/npy.h"
#include "arrays/sharding/sharding.h"
#include "base/status.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what it holds ------------------------------------------------------- */

jd_status jd__checkpoint_index_reserve(struct jd_index *index, size_t count)
{
    struct jd_saved_array *arrays =
        realloc(index->arrays, (count ? count : 1) * sizeof *arrays);
    if (!arrays)
        return jd__fail_no_memory("a checkpoint's index",
                                  count * sizeof *arrays);
    index->arrays = arrays;
    return JD_OK;
}

/* Neither the bytes nor a block's end may be past what an int64_t counts. */
static bool is_too_large(const struct jd_saved_array *array)
{
    int64_t bytes = (int64_t)jd_dtype_size(array->dtype);
    for (int axis = 0; axis < array->ndim; axis++) {
        int64_t n = array->shape[axis] > 1 ? array->shape[axis] : 1;
        if (__builtin_mul_overflow(bytes, n, &bytes))
            return true;
    }
    return bytes > INT64_MAX / 2;
}

static jd_status count_blocks(const struct jd_index *index,
                              struct jd_saved_array *array)
{
    int64_t blocks = 1;
    for (int axis = 0; axis < array->ndim; axis++)
        blocks = blocks > JD_CHECKPOINT_MAX_BLOCKS ? blocks
                                                   : blocks * array->cuts[axis];
    if (blocks > JD_CHECKPOINT_MAX_BLOCKS)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "array \"%s\" has more than %d blocks, the most that a "
                       "checkpoint takes",
                       array->name, JD_CHECKPOINT_MAX_BLOCKS);
    if (blocks > JD_CHECKPOINT_ALL_BLOCKS - index->num_blocks)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "the arrays up to \"%s\" have more than %d blocks, the "
                       "most that a checkpoint takes of all together",
                       array->name, JD_CHECKPOINT_ALL_BLOCKS);
    array->num_blocks = (int)blocks;
    return JD_OK;
}

static jd_status make_crcs(struct jd_saved_array *array)
{
    size_t places = (size_t)array->num_blocks + 1, crcs = 0;
    array->first_crcs = malloc(places * sizeof *array->first_crcs);
    if (!array->first_crcs)
        return jd__fail_no_memory("a checkpoint's index",
                                  places * sizeof *array->first_crcs);
    for (int block = 0; block < array->num_blocks; block++) {
        size_t bytes = jd__checkpoint_saved_block_bytes(array, block);
        array->first_crcs[block] = crcs;
        crcs += (bytes + JD_CHECKPOINT_CHUNK - 1) / JD_CHECKPOINT_CHUNK;
    }
    array->first_crcs[array->num_blocks] = crcs;
    array->crcs = calloc(crcs ? crcs : 1, sizeof *array->crcs);
    if (!array->crcs)
        return jd__fail_no_memory("a checkpoint's index",
                                  crcs * sizeof *array->crcs);
    return JD_OK;
}

static void free_array(struct jd_saved_array *array)
{
    free(array->name);
    free(array->first_crcs);
    free(array->crcs);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct jd_saved_array *)a)->name,
                  ((const struct jd_saved_array *)b)->name);
}

/* The index owns it now, or it is no more. */
static jd_status keep_array(struct jd_index *index,
                            struct jd_saved_array *array)
{
    struct jd_saved_array *kept = &index->arrays[index->count];
    *kept = *array;
    if (!tsearch(kept, &index->by_name, compare_names)) {
        free_array(array);
        return jd__fail_no_memory("a checkpoint's index", sizeof *array);
    }
    index->count++;
    index->num_blocks += array->num_blocks;
    return JD_OK;
}

jd_status jd__checkpoint_index_add(struct jd_index *index, const char *name,
                                   jd_dtype dtype, int ndim,
                                   const int64_t *shape, const int *cuts)
{
    struct jd_saved_array array = { .dtype = dtype, .ndim = ndim };
    for (int axis = 0; axis < ndim; axis++) {
        array.shape[axis] = shape[axis];
        array.cuts[axis] = cuts[axis];
    }
    array.name = strdup(name);
    jd_status status = JD_OK;
    if (!array.name)
        status = jd__fail_no_memory("a checkpoint's index", strlen(name));
    else if (is_too_large(&array))
        status = jd_fail(JD_INVALID_ARGUMENT,
                         "array \"%s\" has more bytes than a checkpoint can "
                         "count",
                         name);
    if (status == JD_OK)
        status = count_blocks(index, &array);
    if (status == JD_OK)
        status = make_crcs(&array);
    if (status != JD_OK) {
        free_array(&array);
        return status;
    }
    return keep_array(index, &array);
}

static void free_nothing(void *array)
{
    (void)array;
}

void jd__checkpoint_index_finish(struct jd_index *index)
{
    tdestroy(index->by_name, free_nothing);
    for (size_t i = 0; i < index->count; i++)
        free_array(&index->arrays[i]);
    free(index->arrays);
    *index = (struct jd_index){ 0 };
}

const struct jd_saved_array *
jd__checkpoint_index_find(const struct jd_index *index, const char *name)
{
    const struct jd_saved_array wanted = { .name = (char *)name };
    const struct jd_saved_array *const *found =
        tfind(&wanted, &index->by_name, compare_names);
    return found ? *found : NULL;
}

const char *jd__checkpoint_name_fault(const char *name)
{
    if (!name)
        return "is NULL";
    if (!*name)
        return "is empty";
    if (strlen(name) > JD_CHECKPOINT_MAX_NAME)
        return "has more than 200 bytes";
    for (const char *c = name; *c; c++)
        if (*c == '/' || (unsigned char)*c < ' ' || *c == 127)
            return "has a '/' or a control character, and names a file";
    return NULL;
}

/* ---- blocks -------------------------------------------------------------- */

void jd__checkpoint_saved_block(const struct jd_saved_array *array, int block,
                                jd_range *ret_index)
{
    for (int axis = array->ndim - 1; axis >= 0; axis--) {
        int64_t n = array->shape[axis], ways = array->cuts[axis];
        int64_t length = n / ways + (n % ways != 0);
        int64_t begin = block % ways * length;
        block /= (int)ways;
        begin = begin < n ? begin : n;
        ret_index[axis].begin = begin;
        ret_index[axis].end = n - begin < length ? n : begin + length;
    }
}

size_t jd__checkpoint_saved_block_bytes(const struct jd_saved_array *array,
                                        int block)
{
    jd_range index[JD_MAX_NDIM];
    jd__checkpoint_saved_block(array, block, index);
    return (size_t)jd__box_count(index, array->ndim) *
           jd_dtype_size(array->dtype);
}

void jd__checkpoint_saved_block_file(const struct jd_saved_array *array,
                                     int block,
                                     char file[JD_CHECKPOINT_MAX_FILE])
{
    snprintf(file, JD_CHECKPOINT_MAX_FILE, "%.*s.%d.npy",
             JD_CHECKPOINT_MAX_NAME, array->name, block);
}

size_t jd__checkpoint_saved_block_header(const struct jd_saved_array *array,
                                         int block, char *header)
{
    jd_range index[JD_MAX_NDIM];
    int64_t shape[JD_MAX_NDIM];
    jd__checkpoint_saved_block(array, block, index);
    for (int axis = 0; axis < array->ndim; axis++)
        shape[axis] = index[axis].end - index[axis].begin;
    return jd__npy_header(array->dtype, array->ndim, shape, header);
}

uint32_t jd__checkpoint_saved_block_crc(const struct jd_saved_array *array,
                                        int block)
{
    size_t bytes = jd__checkpoint_saved_block_bytes(array, block);
    size_t first = array->first_crcs[block];
    uint32_t crc = 0;
    for (size_t at = first; at < array->first_crcs[block + 1]; at++) {
        size_t rest = bytes - (at - first) * JD_CHECKPOINT_CHUNK;
        crc = jd__crc32c_join(crc, array->crcs[at],
                              rest < JD_CHECKPOINT_CHUNK ? rest
                                                         : JD_CHECKPOINT_CHUNK);
    }
    return crc;
}
