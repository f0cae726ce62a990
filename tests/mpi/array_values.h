/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * array_values.h - what tests of arrays have: values whose elements tell their
 * place, blocks cut out of them, and shardings of all devices.
 *
 *     struct value v = make_value(JD_F32, 2, (int64_t[]){ 4, 6 });
 *     jd_leaf leaf = leaf_of(&v);
 *     jd_sharding *sharding = row("-,y");
 *     EXPECT_OK(jd_device_put(&array, &leaf, sharding));
 *     expect_value(array, &v);
 */
#ifndef TESTS_MPI_ARRAY_VALUES_H
#define TESTS_MPI_ARRAY_VALUES_H

#include "jd.h"

#include "expect.h"

#include <stdbool.h>
#include <stdint.h>

enum { MOST_DEVICES = 64 };

static int count, self, devices;

static inline void look_around(void)
{
    count = jd_process_count();
    self = jd_process_index();
    devices = jd_device_count();
}

struct value {
    jd_dtype dtype;
    size_t element;
    int ndim;
    int64_t shape[JD_MAX_NDIM];
    size_t bytes;
    char *data;
};

static inline size_t elements_of(int ndim, const int64_t *shape)
{
    size_t elements = 1;
    for (int d = 0; d < ndim; d++)
        elements *= (size_t)shape[d];
    return elements;
}

/* Byte k of element n. */
static inline char byte_of(size_t n, size_t k)
{
    return (char)(n * 37 + n / 249 + k * 11);
}

static inline struct value make_value(jd_dtype dtype, int ndim,
                                      const int64_t *shape)
{
    struct value v = { .dtype = dtype, .ndim = ndim };
    v.element = jd_dtype_size(dtype);
    for (int d = 0; d < ndim; d++)
        v.shape[d] = shape[d];
    v.bytes = elements_of(ndim, shape) * v.element;
    v.data = malloc(v.bytes + 1);
    for (size_t i = 0; i < v.bytes; i++)
        v.data[i] = byte_of(i / v.element, i % v.element);
    return v;
}

static inline jd_leaf leaf_of(const struct value *v)
{
    return (jd_leaf){ v->data, v->dtype, v->ndim, v->shape };
}

static inline bool step_on(const jd_range *index, int ndim, int64_t *at)
{
    for (int d = ndim - 1; d >= 0; d--) {
        if (++at[d] < index[d].end)
            return true;
        at[d] = index[d].begin;
    }
    return false;
}

/* The elements of an index of the value, one behind the other. */
static inline void cut(const struct value *v, const jd_range *index, char *out)
{
    int64_t at[JD_MAX_NDIM] = { 0 };
    for (int d = 0; d < v->ndim; d++) {
        at[d] = index[d].begin;
        if (index[d].begin == index[d].end)
            return;
    }
    do {
        size_t n = 0;
        for (int d = 0; d < v->ndim; d++)
            n = n * (size_t)v->shape[d] + (size_t)at[d];
        memcpy(out, v->data + n * v->element, v->element);
        out += v->element;
    } while (step_on(index, v->ndim, at));
}

static inline void expect_value(const jd_array *array, const struct value *v)
{
    int num_shards;
    const jd_array_shard *shards = jd_array_shards(array, &num_shards);
    char *wanted = malloc(v->bytes + 1);
    EXPECT(jd_array_ndim(array) == v->ndim, "%d", jd_array_ndim(array));
    for (int i = 0; i < num_shards; i++) {
        const jd_array_shard *shard = &shards[i];
        size_t bytes = elements_of(v->ndim, shard->shape) * v->element;
        EXPECT(shard->device->process_index == self, "%d", i);
        EXPECT(shard->count * v->element == bytes, "%zu", shard->count);
        cut(v, shard->index, wanted);
        EXPECT(bytes == 0 || memcmp(shard->data, wanted, bytes) == 0,
               "block %d of %s over %s", i,
               jd_sharding_spec(jd_array_sharding(array)),
               jd_dtype_name(v->dtype));
    }
    free(wanted);
}

static inline jd_mesh *make_mesh(int rows, const jd_device *const *list,
                                 int size)
{
    jd_mesh *mesh;
    EXPECT_OK(jd_mesh_create(&mesh, 2, (int[]){ rows, size / rows },
                             (const char *[]){ "x", "y" }, list));
    return mesh;
}

static inline jd_sharding *make_sharding(const jd_mesh *mesh, const char *spec)
{
    jd_sharding *sharding;
    EXPECT_OK(jd_sharding_create(&sharding, mesh, spec));
    return sharding;
}

/* All devices in a row. */
static inline jd_sharding *row(const char *spec)
{
    jd_mesh *mesh = make_mesh(1, jd_devices(NULL), devices);
    jd_sharding *sharding = make_sharding(mesh, spec);
    jd_mesh_destroy(mesh);
    return sharding;
}

#endif
