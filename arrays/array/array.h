/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * array.h - what an array is, for the files of this room.
 *
 *     jd_array *array;
 *     status = jd__array_create("jd_array_zeros", sharding, dtype, ndim, shape,
 *                               &array);
 *     ... writes array->shards[i].data ...
 *
 * Threads: references are counted atomically; the rest is written before the
 * array is handed out, and by a donation.
 */
#ifndef ARRAYS_ARRAY_ARRAY_H
#define ARRAYS_ARRAY_ARRAY_H

#include "arrays/sharding/sharding.h"

struct jd_array {
    atomic_int references;
    jd_sharding *sharding; /* a reference */
    jd_dtype dtype;
    size_t element; /* bytes */
    int ndim;
    int64_t shape[JD_MAX_NDIM];
    bool is_donated;
    bool is_cached;         /* its blocks go to jd__block_cache_give() */
    int num_shards;         /* the sharding's num_local */
    jd_array_shard *shards; /* data are jd_device_alloc's */
};

/* INVALID_ARGUMENT or FAILED_PRECONDITION naming the operation, where it is
 * NULL, of a world that has ended, or was donated. */
jd_status jd__array_check(const jd_array *array, const char *operation);

/* INVALID_ARGUMENT naming the operation where out, which is to hold the whole
 * array, is NULL, no leaf, or has another type or shape. */
jd_status jd__array_check_out(const jd_array *array, const char *operation,
                              const jd_leaf *out);

/*
 * An array with zeroed blocks, of this process's devices; or, without_data,
 * with NULLs that the caller fills in with jd_device_alloc()'s memory.
 * Checks the type, the shape and the sharding.
 */
jd_status jd__array_create(const char *operation, const jd_sharding *sharding,
                           jd_dtype dtype, int ndim, const int64_t *shape,
                           jd_array **ret_array);
jd_status jd__array_create_without_data(const char *operation,
                                        const jd_sharding *sharding,
                                        jd_dtype dtype, int ndim,
                                        const int64_t *shape,
                                        jd_array **ret_array);

/* Gives an array without data its zeroed blocks. RESOURCE_EXHAUSTED: the
 * caller releases the array. */
jd_status jd__array_allocate(jd_array *array, const char *operation);

/* Lets fill write each distinct block that has elements, once, and copies it
 * to its replicas of this process. A failing fill ends it. */
jd_status jd__array_fill(const jd_array *array, const char *operation,
                         jd_status (*fill)(const jd_array_shard *shard,
                                           void *arg),
                         void *arg);

/* For each of the sharding's local devices, the first of them that has the
 * same block: numbers as in local. malloc'ed. */
jd_status jd__sources_firsts(const jd_sharding *sharding, const char *operation,
                             int **ret_firsts);

/*
 * A box of a row-major array in memory: where its elements begin.
 * origin: the ranges that the memory holds; box: those wanted, inside.
 */
struct jd_box {
    char *data;             /* of the memory's first element */
    const jd_range *origin; /* what the memory holds */
    int ndim;
    size_t element;
};

/* Copies the elements of index from one to the other, both of which hold
 * them; rows that are whole in both in one go. Each is host memory or memory of
 * a local device. Returns: JD_OK, at once where the host can touch both; the
 * failures of jd_device_copy(). */
jd_status jd__box_copy(const struct jd_box *to, const struct jd_box *from,
                       const jd_range *index);

/* The same, which may only be queued on a device's stream: what is queued there
 * comes before it, and it before what comes after. Where the host can touch
 * both sides, or stream is NULL, it is done at the return. */
jd_status jd__box_queue(const struct jd_box *to, const struct jd_box *from,
                        const jd_range *index, struct jd_stream *stream);

/* "[0:250,0:64]", cut where it does not fit. */
void jd__box_print(const jd_range *index, int ndim, char *text, size_t size);

/* What two boxes share; false, and nothing written, where that is nothing. */
bool jd__box_intersect(const jd_range *a, const jd_range *b, int ndim,
                       jd_range *ret_index);

#endif
