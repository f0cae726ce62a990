/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * look.c - arrays of Fortran as C sees them: x(i, j) = 100 i + j, with i and j
 * from 1, is a[j - 1][i - 1].
 */
#include "jd.h"

#include <stddef.h>

int look_at(const jd_array *array, int64_t m, int64_t n);
int make_in_c(jd_array **ret_array, const jd_mesh *mesh, int64_t m, int64_t n);

int save_in_c(const char *dir, jd_array *array);
int restore_in_c(const char *dir, const jd_mesh *mesh, int64_t m, int64_t n);

static int32_t value_at(int64_t row, int64_t column)
{
    return (int32_t)(100 * (column + 1) + row + 1);
}

static int is_right(const jd_array_shard *shard)
{
    const int32_t *at = shard->data;
    for (int64_t r = shard->index[0].begin; r < shard->index[0].end; r++)
        for (int64_t c = shard->index[1].begin; c < shard->index[1].end; c++)
            if (*at++ != value_at(r, c))
                return 0;
    return 1;
}

/* 1 where it is x(m, n), in all blocks of this process. */
int look_at(const jd_array *array, int64_t m, int64_t n)
{
    int count,
        right = jd_array_ndim(array) == 2 && jd_array_dtype(array) == JD_S32 &&
                jd_array_shape(array)[0] == n && jd_array_shape(array)[1] == m;
    const jd_array_shard *shards = jd_array_shards(array, &count);
    for (int i = 0; right && i < count; i++)
        right = is_right(&shards[i]);
    return right;
}

static jd_status fill(const jd_range *index, void *block, void *arg)
{
    int32_t *at = block;
    (void)arg;
    for (int64_t r = index[0].begin; r < index[0].end; r++)
        for (int64_t c = index[1].begin; c < index[1].end; c++)
            *at++ = value_at(r, c);
    return JD_OK;
}

/* x(m, n), whose first dimension is cut along "data". */
int make_in_c(jd_array **ret_array, const jd_mesh *mesh, int64_t m, int64_t n)
{
    jd_sharding *sharding;
    jd_status status = jd_sharding_create(&sharding, mesh, "-,data");
    if (status != JD_OK)
        return (int)status;
    status = jd_array_from_callback(ret_array, sharding, JD_S32, 2,
                                    (int64_t[]){ n, m }, fill, NULL);
    jd_sharding_release(sharding);
    return (int)status;
}

/* Saves it under the name "c". */
int save_in_c(const char *dir, jd_array *array)
{
    const char *name = "c";
    return (int)jd_array_save(dir, &name, &array, 1);
}

/* 1 where the checkpoint has x(m, n). */
int restore_in_c(const char *dir, const jd_mesh *mesh, int64_t m, int64_t n)
{
    const char *name = "x";
    jd_sharding *sharding;
    jd_array *array;
    if (jd_sharding_create(&sharding, mesh, "data,-") != JD_OK ||
        jd_array_restore(dir, &name, &sharding, 1, &array) != JD_OK)
        return 0;
    int right = look_at(array, m, n);
    jd_array_release(array);
    jd_sharding_release(sharding);
    return right;
}
