/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_array.c - arrays of a process that has all devices: how they are made,
 * what their blocks hold, what is refused, references.
 */
#include "arrays/array/array.h"
#include "collectives/cpu/heap/heap.h"
#include "jd_collectives.h"
#include "jd_memory.h"
#include "tests/unit/sharding_mesh.h"

#include <limits.h>
#include <stdio.h>

#define SHAPE_5_4 2, ((int64_t[]){ 5, 4 })

/* The element at index i, j of a 5 x 4 array. */
static int32_t value_at(int64_t i, int64_t j)
{
    return (int32_t)(i * 100 + j);
}

static int32_t values[5][4];
static jd_leaf value_leaf = { values, JD_S32, 2, NULL };

static void start(void)
{
    static int64_t shape[] = { 5, 4 };
    start_mesh();
    value_leaf.shape = shape;
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 4; j++)
            values[i][j] = value_at(i, j);
}

/* Every block holds the elements of its index. */
static void expect_values(const jd_array *array)
{
    int count = -1;
    const jd_array_shard *shards = jd_array_shards(array, &count);
    ck_assert_int_eq(count, 6);
    for (int s = 0; s < count; s++) {
        const jd_array_shard *shard = &shards[s];
        const int32_t *data = shard->data;
        ck_assert_ptr_eq(shard->device, mesh->devices[s]);
        ck_assert_int_eq((data == NULL), (shard->count == 0));
        ck_assert_uint_eq(shard->count,
                          (size_t)(shard->shape[0] * shard->shape[1]));
        for (int64_t i = shard->index[0].begin; i < shard->index[0].end; i++)
            for (int64_t j = shard->index[1].begin; j < shard->index[1].end;
                 j++)
                ck_assert_int_eq(*data++, value_at(i, j));
    }
}

static size_t allocations(void)
{
    size_t bytes, count;
    jd__heap_usage(jd__heap_get("test"), &bytes, &count);
    return count;
}

static const char *const specs[] = { "data,model", "model,data",   "",
                                     "data+model", "-,model+data", "-,model",
                                     "data" };
enum { NUM_SPECS = sizeof specs / sizeof *specs };

/* ---- zeros and what an array is ------------------------------------------ */

START_TEST(zeros_have_a_type_a_shape_and_zeroed_blocks)
{
    jd_sharding *sharding = sharding_of("data,model");
    jd_array *array;
    UNIT_OK(jd_array_zeros(&array, sharding, JD_C128, SHAPE_5_4));
    ck_assert_int_eq(jd_array_dtype(array), JD_C128);
    ck_assert_int_eq(jd_array_ndim(array), 2);
    ck_assert_int_eq(jd_array_shape(array)[0], 5);
    ck_assert_int_eq(jd_array_shape(array)[1], 4);
    ck_assert_ptr_eq(jd_array_sharding(array), sharding);
    const jd_array_shard *shards = jd_array_shards(array, NULL);
    for (int s = 0; s < 6; s++)
        for (size_t i = 0; i < shards[s].count * 16; i++)
            ck_assert_int_eq(((char *)shards[s].data)[i], 0);
    ck_assert_uint_eq(shards[0].count, 6);
    ck_assert_uint_eq(shards[5].count, 0);
    ck_assert_ptr_null(shards[5].data);
    jd_sharding_release(sharding);
    ck_assert_str_eq(jd_sharding_spec(jd_array_sharding(array)), "data,model");
    jd_array_release(array);
}
END_TEST

START_TEST(scalars_and_eight_dimensions)
{
    static const int64_t shape[] = { 1, 2, 1, 3, 1, 2, 1, 1 };
    jd_sharding *none = sharding_of(""), *deep = sharding_of("-,data,-,model");
    jd_array *scalar, *array;
    UNIT_OK(jd_array_zeros(&scalar, none, JD_PRED, 0, NULL));
    ck_assert_uint_eq(jd_array_shards(scalar, NULL)[5].count, 1);
    ck_assert_int_eq(jd_array_shards(scalar, NULL)[5].replica_id, 5);
    UNIT_OK(jd_array_zeros(&array, deep, JD_F64, 8, shape));
    const jd_array_shard *shard = &jd_array_shards(array, NULL)[4];
    ck_assert_int_eq(shard->index[1].begin, 1);
    ck_assert_int_eq(shard->index[3].begin, 1);
    ck_assert_int_eq(shard->index[5].end, 2);
    ck_assert_uint_eq(shard->count, 2);
    jd_array_release(scalar);
    jd_array_release(array);
    jd_sharding_release(none);
    jd_sharding_release(deep);
}
END_TEST

START_TEST(the_last_reference_frees)
{
    jd_sharding *sharding = sharding_of("data,model");
    jd_array *array;
    size_t before = allocations();
    UNIT_OK(jd_array_zeros(&array, sharding, JD_F32, SHAPE_5_4));
    ck_assert_uint_eq(allocations(), before + 4);
    ck_assert_ptr_eq(jd_array_retain(array), array);
    jd_array_release(array);
    ck_assert_uint_eq(allocations(), before + 4);
    jd_array_release(array);
    ck_assert_uint_eq(allocations(), before);
    jd_array_release(NULL);
    ck_assert_ptr_null(jd_array_retain(NULL));
    jd_sharding_release(sharding);
}
END_TEST

START_TEST(a_null_is_nothing)
{
    int count = 7;
    ck_assert_int_eq((int)jd_array_dtype(NULL), 0);
    ck_assert_int_eq(jd_array_ndim(NULL), -1);
    ck_assert_ptr_null(jd_array_shape(NULL));
    ck_assert_ptr_null(jd_array_sharding(NULL));
    ck_assert_ptr_null(jd_array_shards(NULL, &count));
    ck_assert_int_eq(count, 0);
    ck_assert_str_eq(jd_error_message(), "jd_array_shards: array is NULL");
}
END_TEST

#define DONATED                                                                \
    "the array was donated: jd_array_reshard_donate() has given its blocks "   \
    "to another; use that one"

START_TEST(a_donated_array_has_no_blocks)
{
    jd_sharding *sharding = sharding_of("data,model");
    jd_array *array;
    int count = 7;
    UNIT_OK(jd_array_zeros(&array, sharding, JD_S32, SHAPE_5_4));
    array->is_donated = true;
    ck_assert_ptr_null(jd_array_shards(array, &count));
    ck_assert_int_eq(count, 0);
    UNIT_FAILS(jd_array_to_host(array, &value_leaf), JD_FAILED_PRECONDITION,
               "jd_array_to_host: " DONATED);
    ck_assert_int_eq(jd_array_ndim(array), 2);
    jd_array_release(array);
    jd_sharding_release(sharding);
}
END_TEST

START_TEST(bad_arguments_of_zeros)
{
    jd_sharding *sharding = sharding_of("data,model");
    jd_array *array = (jd_array *)&array, *before = array;
    UNIT_FAILS(jd_array_zeros(NULL, sharding, JD_F32, SHAPE_5_4),
               JD_INVALID_ARGUMENT, "jd_array_zeros: ret_array is NULL");
    UNIT_FAILS(jd_array_zeros(&array, NULL, JD_F32, SHAPE_5_4),
               JD_INVALID_ARGUMENT, "jd_array_zeros: sharding is NULL");
    UNIT_FAILS(jd_array_zeros(&array, sharding, (jd_dtype)99, SHAPE_5_4),
               JD_INVALID_ARGUMENT,
               "jd_array_zeros: dtype is 99, which is no jd_dtype");
    UNIT_FAILS(jd_array_zeros(&array, sharding, JD_F32, 2, NULL),
               JD_INVALID_ARGUMENT, "jd_array_zeros: shape is NULL");
    UNIT_FAILS(jd_array_zeros(&array, sharding, JD_F32, SHAPE(3, -1)),
               JD_INVALID_ARGUMENT,
               "jd_array_zeros: dimension 1 of the shape [3,-1] is negative; "
               "lengths are 0 or more");
    UNIT_FAILS(
        jd_array_zeros(&array, sharding, JD_F64, SHAPE(2, INT64_MAX / 2)),
        JD_RESOURCE_EXHAUSTED,
        "jd_array_zeros: a block has 1537228672809129301 elements of "
        "F64, more bytes than an address space has room for; cut the "
        "array more ways");
    ck_assert_ptr_eq(array, before);
    jd_sharding_release(sharding);
}
END_TEST

START_TEST(too_little_memory_leaves_nothing)
{
    jd_sharding *sharding = sharding_of("data,model");
    jd_array *array = NULL;
    size_t before = allocations();
    jd_status status = jd_array_zeros(
        &array, sharding, JD_F32, SHAPE(INT64_C(1) << 20, INT64_C(1) << 30));
    ck_assert_int_eq(status, JD_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(
        strstr(jd_error_message(), "jd_array_zeros: jd_device_alloc: "));
    ck_assert_ptr_null(array);
    ck_assert_uint_eq(allocations(), before);
    jd_sharding_release(sharding);
}
END_TEST

/* ---- a callback ---------------------------------------------------------- */

struct calls {
    int count;
    int fail_at; /* which call; 0: none */
};

static jd_status write_block(const jd_range *index, void *block, void *arg)
{
    struct calls *calls = arg;
    int32_t *data = block;
    if (++calls->count == calls->fail_at)
        return jd_fail(JD_DATA_LOSS, "the file has no row %d",
                       (int)index[0].begin);
    ck_assert_int_eq(*data, 0);
    for (int64_t i = index[0].begin; i < index[0].end; i++)
        for (int64_t j = index[1].begin; j < index[1].end; j++)
            *data++ = value_at(i, j);
    return JD_OK;
}

START_TEST(a_callback_writes_each_distinct_block_once)
{
    static const int wanted[NUM_SPECS] = { 4, 6, 1, 5, 4, 2, 2 };
    for (int i = 0; i < NUM_SPECS; i++) {
        jd_sharding *sharding = sharding_of(specs[i]);
        struct calls calls = { 0, 0 };
        jd_array *array;
        UNIT_OK(jd_array_from_callback(&array, sharding, JD_S32, SHAPE_5_4,
                                       write_block, &calls));
        ck_assert_msg(calls.count == wanted[i], "%s: %d", specs[i],
                      calls.count);
        expect_values(array);
        jd_array_release(array);
        jd_sharding_release(sharding);
    }
}
END_TEST

/* Of any array of S32; the element at an index is value_at() of its first two.
 */
static jd_status write_told(const jd_block *block, void *arg)
{
    struct calls *calls = arg;
    int32_t *data = block->data;
    size_t count = 1;
    if (++calls->count == calls->fail_at)
        return jd_fail_with(JD_DATA_LOSS, "no row %d",
                            (int)block->index[0].begin);
    ck_assert_int_eq(block->dtype, JD_S32);
    ck_assert_int_eq(block->ndim, 2);
    for (int d = 0; d < block->ndim; d++) {
        ck_assert_int_eq(block->array_shape[d], 5 - d);
        ck_assert_int_eq(block->shape[d],
                         block->index[d].end - block->index[d].begin);
        count *= (size_t)block->shape[d];
    }
    ck_assert_uint_eq(block->count, count);
    for (size_t i = 0; i < count; i++)
        data[i] =
            value_at(block->index[0].begin + (int64_t)i / block->shape[1],
                     block->index[1].begin + (int64_t)i % block->shape[1]);
    return JD_OK;
}

START_TEST(a_callback_is_told_its_block)
{
    for (int i = 0; i < NUM_SPECS; i++) {
        jd_sharding *sharding = sharding_of(specs[i]);
        struct calls calls = { 0, 0 };
        jd_array *array;
        UNIT_OK(jd_array_from_blocks(&array, sharding, JD_S32, SHAPE_5_4,
                                     write_told, &calls));
        ck_assert_int_gt(calls.count, 0);
        expect_values(array);
        jd_array_release(array);
        jd_sharding_release(sharding);
    }
    jd_sharding *sharding = sharding_of("data,model");
    jd_array *array = NULL;
    UNIT_FAILS(jd_array_from_blocks(&array, sharding, JD_S32, SHAPE_5_4,
                                    write_told, &(struct calls){ 0, 3 }),
               JD_DATA_LOSS,
               "jd_array_from_blocks: fill of the block at [3:5,0:2] failed: "
               "DATA_LOSS: no row 3");
    UNIT_FAILS(
        jd_array_from_blocks(&array, sharding, JD_S32, SHAPE_5_4, NULL, NULL),
        JD_INVALID_ARGUMENT, "jd_array_from_blocks: fill is NULL");
    ck_assert_ptr_null(array);
    jd_sharding_release(sharding);
}
END_TEST

START_TEST(a_callback_that_fails_ends_it)
{
    jd_sharding *sharding = sharding_of("data,model");
    struct calls calls = { 0, 3 };
    jd_array *array = NULL;
    size_t before = allocations();
    UNIT_FAILS(jd_array_from_callback(&array, sharding, JD_S32, SHAPE_5_4,
                                      write_block, &calls),
               JD_DATA_LOSS,
               "jd_array_from_callback: fill of the block at [3:5,0:2] failed: "
               "DATA_LOSS: the file has no row 3");
    ck_assert_int_eq(calls.count, 3);
    ck_assert_ptr_null(array);
    ck_assert_uint_eq(allocations(), before);
    UNIT_FAILS(
        jd_array_from_callback(&array, sharding, JD_S32, SHAPE_5_4, NULL, NULL),
        JD_INVALID_ARGUMENT, "jd_array_from_callback: fill is NULL");
    jd_sharding_release(sharding);
}
END_TEST

static jd_status fail_in_silence(const jd_range *index, void *block, void *arg)
{
    (void)index;
    (void)block;
    return *(int *)arg ? jd_psum(NULL, NULL, NULL, NULL, 0, JD_F32)
                       : JD_DATA_LOSS;
}

/* The sentence is of fill(), and not of what failed before it. */
START_TEST(a_callback_does_not_fail_with_anothers_sentence)
{
    jd_sharding *sharding = sharding_of("-");
    jd_array *array = NULL;
    int calls_jd = 0;
    ck_assert_int_ne(jd_barrier(NULL, NULL), JD_OK);
    UNIT_FAILS(jd_array_from_callback(&array, sharding, JD_S32, SHAPE_5_4,
                                      fail_in_silence, &calls_jd),
               JD_DATA_LOSS,
               "jd_array_from_callback: fill of the block at [0:5,0:4] failed: "
               "DATA_LOSS: it gave no sentence; jd_fail_with() gives one");
    calls_jd = 1;
    ck_assert_int_eq(jd_array_from_callback(&array, sharding, JD_S32, SHAPE_5_4,
                                            fail_in_silence, &calls_jd),
                     JD_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(
        strstr(jd_error_message(), "INVALID_ARGUMENT: jd_psum: shard is NULL"));
    jd_sharding_release(sharding);
}
END_TEST

/* ---- a process's data ---------------------------------------------------- */

START_TEST(local_data_of_one_process_are_all)
{
    for (int i = 0; i < NUM_SPECS; i++)
        for (int is_said = 0; is_said < 2; is_said++) {
            jd_sharding *sharding = sharding_of(specs[i]);
            jd_array *array;
            UNIT_OK(jd_array_from_process_local_data(
                &array, sharding, &value_leaf,
                is_said ? value_leaf.shape : NULL));
            expect_values(array);
            jd_array_release(array);
            jd_sharding_release(sharding);
        }
}
END_TEST

START_TEST(bad_arguments_of_local_data)
{
    jd_sharding *sharding = sharding_of("data");
    jd_array *array = NULL;
    jd_leaf odd = value_leaf;
    UNIT_FAILS(
        jd_array_from_process_local_data(NULL, sharding, &value_leaf, NULL),
        JD_INVALID_ARGUMENT,
        "jd_array_from_process_local_data: ret_array is NULL");
    UNIT_FAILS(jd_array_from_process_local_data(&array, sharding, NULL, NULL),
               JD_INVALID_ARGUMENT,
               "jd_array_from_process_local_data: local is NULL");
    UNIT_FAILS(jd_array_from_process_local_data(&array, sharding, &value_leaf,
                                                (int64_t[]){ 6, 4 }),
               JD_INVALID_ARGUMENT,
               "jd_array_from_process_local_data: dimension 0 of local has 5 "
               "elements; it has 6, as the whole array");
    UNIT_FAILS(jd_array_from_process_local_data(&array, sharding, &value_leaf,
                                                (int64_t[]){ 5, 3 }),
               JD_INVALID_ARGUMENT,
               "jd_array_from_process_local_data: dimension 1 of local has 4 "
               "elements; it has 3, as the whole array");
    odd.ndim = 9;
    odd.shape = (int64_t[]){ 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    UNIT_FAILS(jd_array_from_process_local_data(&array, sharding, &odd, NULL),
               JD_INVALID_ARGUMENT,
               "jd_array_from_process_local_data: ndim is 9; an array has 0 "
               "to 8 dimensions");
    odd.ndim = 2;
    odd.data = NULL;
    UNIT_FAILS(jd_array_from_process_local_data(&array, sharding, &odd, NULL),
               JD_INVALID_ARGUMENT,
               "jd_array_from_process_local_data: local[0].data is NULL; only "
               "a leaf without elements needs no data");
    ck_assert_ptr_null(array);
    jd_sharding_release(sharding);
}
END_TEST

/* A sharding of one dimension over devices of these processes, of which only
 * those of process 0 are real. */
static jd_sharding *invent(const int *processes, int count)
{
    static jd_device devices[6];
    static const jd_device *list[6];
    struct jd_mesh invented = *mesh;
    jd_sharding *sharding;
    for (int i = 0; i < count; i++) {
        devices[i] = *mesh->devices[i];
        devices[i].process_index = processes[i];
        list[i] = processes[i] ? &devices[i] : mesh->devices[i];
    }
    invented.shape[0] = 1;
    invented.shape[1] = count;
    invented.size = count;
    invented.devices = list;
    UNIT_OK(jd_sharding_create(&sharding, &invented, "model"));
    return sharding;
}

static jd_status infer(const int *processes, int count, int64_t local,
                       int64_t *ret_length)
{
    static char data[64];
    jd_leaf leaf = { data, JD_U8, 1, &local };
    jd_sharding *sharding = invent(processes, count);
    jd_array *array;
    jd_status status =
        jd_array_from_process_local_data(&array, sharding, &leaf, NULL);
    jd_sharding_release(sharding);
    if (status != JD_OK)
        return status;
    *ret_length = jd_array_shape(array)[0];
    jd_array_release(array);
    return JD_OK;
}

#define INFER(local, ret, ...)                                                 \
    infer((int[]){ __VA_ARGS__ },                                              \
          (int)(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), local, ret)

START_TEST(the_whole_is_worked_out_of_equal_shares)
{
    int64_t length = 0;
    UNIT_OK(INFER(4, &length, 0, 0, 1, 1, 2, 2));
    ck_assert_int_eq(length, 12);
    UNIT_OK(INFER(4, &length, 2, 0, 1, 2, 1, 0));
    ck_assert_int_eq(length, 12);
    UNIT_OK(INFER(7, &length, 0, 0, 0));
    ck_assert_int_eq(length, 7);
    UNIT_OK(INFER(0, &length, 0, 1, 2));
    ck_assert_int_eq(length, 0);
}
END_TEST

START_TEST(unlike_shares_ask_for_the_shape)
{
    int64_t length;
    UNIT_FAILS(INFER(4, &length, 0, 0, 1, 2, 2, 2), JD_INVALID_ARGUMENT,
               "jd_array_from_process_local_data: global_shape is NULL, and "
               "dimension 0 of it cannot be worked out, as processes 0 and 1 "
               "have unlike shares of it; give global_shape");
    UNIT_FAILS(INFER(3, &length, 0, 1, 1, 0), JD_INVALID_ARGUMENT,
               "jd_array_from_process_local_data: global_shape is NULL, and "
               "dimension 0 of local has 3 elements, which are not 2 blocks "
               "of the same length; give global_shape");
    UNIT_FAILS(INFER(3, &length, 1, 2, 3), JD_INVALID_ARGUMENT,
               "jd_array_from_process_local_data: global_shape is NULL, and "
               "this process has no device in the sharding's mesh, so its "
               "local says nothing; give global_shape");
}
END_TEST

/* ---- blocks that are there ----------------------------------------------- */

/* Buffers of a 5 x 4 array that is cut "data,model". */
static void take_buffers(void **buffers)
{
    static const size_t counts[] = { 6, 6, 0, 4, 4, 0 };
    for (int i = 0; i < 6; i++)
        UNIT_OK(jd_device_alloc(mesh->devices[i], counts[i] * 4, &buffers[i]));
}

static void give_buffers(void **buffers)
{
    for (int i = 0; i < 6; i++)
        UNIT_OK(jd_device_free(buffers[i]));
}

START_TEST(buffers_become_the_array_s)
{
    jd_sharding *sharding = sharding_of("data,model");
    jd_array *array;
    void *buffers[6];
    size_t before = allocations();
    take_buffers(buffers);
    UNIT_OK(
        jd_array_from_shards(&array, sharding, JD_S32, SHAPE_5_4, buffers, 6));
    for (int i = 0; i < 6; i++)
        ck_assert_ptr_eq(jd_array_shards(array, NULL)[i].data, buffers[i]);
    char text[160];
    snprintf(text, sizeof text,
             "jd_device_free: %p belongs to an array, which gives it back "
             "itself; jd_array_release() ends the array",
             buffers[1]);
    UNIT_FAILS(jd_device_free(buffers[1]), JD_INVALID_ARGUMENT, text);
    jd_array *other = NULL;
    UNIT_FAILS(
        jd_array_from_shards(&other, sharding, JD_S32, SHAPE_5_4, buffers, 6),
        JD_INVALID_ARGUMENT,
        "jd_array_from_shards: buffers[0] belongs to an array already; copy it "
        "into memory of its own (jd_device_copy)");
    jd_array_release(array);
    ck_assert_uint_eq(allocations(), before);
    UNIT_OK(jd_array_zeros(&array, sharding, JD_S32, SHAPE_5_4));
    ck_assert_int_eq(jd_device_free(jd_array_shards(array, NULL)[0].data),
                     JD_INVALID_ARGUMENT);
    jd_array_release(array);
    ck_assert_uint_eq(allocations(), before);
    jd_sharding_release(sharding);
}
END_TEST

#define REFUSES(sentence)                                                      \
    UNIT_FAILS(                                                                \
        jd_array_from_shards(&array, sharding, JD_S32, SHAPE_5_4, buffers, 6), \
        JD_INVALID_ARGUMENT, "jd_array_from_shards: " sentence)

START_TEST(bad_buffers_stay_the_caller_s)
{
    jd_sharding *sharding = sharding_of("data,model");
    jd_array *array = NULL;
    void *buffers[6], *kept, *small;
    int here;
    take_buffers(buffers);
    size_t before = allocations();
    kept = buffers[4];
    buffers[4] = NULL;
    REFUSES("buffers[4] is NULL, and the block there has 4 elements");
    buffers[4] = &here;
    REFUSES("buffers[4] is not memory that jd_device_alloc() gave; the array "
            "gives it to jd_device_free() at its end");
    buffers[4] = buffers[1];
    REFUSES("buffers[1] and buffers[4] are the same; each device has its own");
    UNIT_OK(jd_device_alloc(mesh->devices[0], 8, &small));
    buffers[4] = small;
    REFUSES("buffers[4] has 8 bytes, and the block there 16 (4 elements of "
            "S32)");
    UNIT_OK(jd_device_free(small));
    buffers[4] = kept;
    buffers[5] = &here;
    REFUSES("buffers[5] is not NULL, and the block there is empty; give it a "
            "NULL");
    buffers[5] = NULL;
    UNIT_FAILS(
        jd_array_from_shards(&array, sharding, JD_S32, SHAPE_5_4, buffers, 5),
        JD_INVALID_ARGUMENT,
        "jd_array_from_shards: num_buffers is 5, and this process has 6 "
        "devices in the sharding's mesh; give one for each");
    UNIT_FAILS(
        jd_array_from_shards(&array, sharding, JD_S32, SHAPE_5_4, NULL, 6),
        JD_INVALID_ARGUMENT, "jd_array_from_shards: buffers is NULL");
    ck_assert_ptr_null(array);
    ck_assert_uint_eq(allocations(), before);
    give_buffers(buffers);
    jd_sharding_release(sharding);
}
END_TEST

/* ---- there and back ------------------------------------------------------ */

START_TEST(a_value_goes_to_devices_and_comes_back)
{
    for (int i = 0; i < NUM_SPECS; i++) {
        jd_sharding *sharding = sharding_of(specs[i]);
        int32_t back[5][4] = { { 0 } };
        jd_leaf out = { back, JD_S32, 2, value_leaf.shape };
        jd_array *array;
        UNIT_OK(jd_device_put(&array, &value_leaf, sharding));
        expect_values(array);
        UNIT_OK(jd_array_to_host(array, &out));
        ck_assert_mem_eq(back, values, sizeof values);
        jd_array_release(array);
        jd_sharding_release(sharding);
    }
}
END_TEST

START_TEST(scalars_and_nothing_go_too)
{
    jd_sharding *none = sharding_of(""), *rows = sharding_of("data");
    double value = 2.5, back = 0;
    jd_leaf scalar = { &value, JD_F64, 0, NULL };
    jd_leaf nothing = { NULL, JD_F64, 2, (int64_t[]){ 3, 0 } };
    jd_array *array;
    UNIT_OK(jd_device_put(&array, &scalar, none));
    UNIT_OK(jd_array_to_host(array, &(jd_leaf){ &back, JD_F64, 0, NULL }));
    ck_assert(back == 2.5);
    jd_array_release(array);
    UNIT_OK(jd_device_put(&array, &nothing, rows));
    UNIT_OK(jd_array_to_host(array, &nothing));
    jd_array_release(array);
    UNIT_OK(jd_array_from_process_local_data(&array, rows, &nothing, NULL));
    jd_array_release(array);
    jd_sharding_release(none);
    jd_sharding_release(rows);
}
END_TEST

START_TEST(bad_arguments_of_device_put)
{
    jd_sharding *sharding = sharding_of("data"), *even;
    jd_array *array = NULL;
    jd_leaf odd = value_leaf;
    UNIT_OK(jd_sharding_create_even(&even, mesh, "data"));
    UNIT_FAILS(jd_device_put(NULL, &value_leaf, sharding), JD_INVALID_ARGUMENT,
               "jd_device_put: ret_array is NULL");
    UNIT_FAILS(jd_device_put(&array, NULL, sharding), JD_INVALID_ARGUMENT,
               "jd_device_put: value is NULL");
    UNIT_FAILS(jd_device_put(&array, &value_leaf, NULL), JD_INVALID_ARGUMENT,
               "jd_device_put: sharding is NULL");
    odd.shape = (int64_t[]){ 5, -4 };
    UNIT_FAILS(jd_device_put(&array, &odd, sharding), JD_INVALID_ARGUMENT,
               "jd_device_put: value[0].shape[1] is -4; it is at least 0");
    ck_assert_int_eq(jd_device_put(&array, &value_leaf, even),
                     JD_INVALID_ARGUMENT);
    ck_assert_ptr_null(array);
    jd_sharding_release(sharding);
    jd_sharding_release(even);
}
END_TEST

START_TEST(bad_arguments_of_to_host)
{
    jd_sharding *sharding = sharding_of("data");
    jd_array *array;
    jd_leaf odd = value_leaf;
    UNIT_OK(jd_device_put(&array, &value_leaf, sharding));
    UNIT_FAILS(jd_array_to_host(NULL, &odd), JD_INVALID_ARGUMENT,
               "jd_array_to_host: array is NULL");
    UNIT_FAILS(jd_array_to_host(array, NULL), JD_INVALID_ARGUMENT,
               "jd_array_to_host: out is NULL");
    odd.dtype = JD_U32;
    UNIT_FAILS(jd_array_to_host(array, &odd), JD_INVALID_ARGUMENT,
               "jd_array_to_host: out is U32[5,4], and the array S32[5,4]");
    odd.dtype = JD_S32;
    odd.shape = (int64_t[]){ 4, 5 };
    UNIT_FAILS(jd_array_to_host(array, &odd), JD_INVALID_ARGUMENT,
               "jd_array_to_host: out is S32[4,5], and the array S32[5,4]");
    odd.ndim = 0;
    UNIT_FAILS(jd_array_to_host(array, &odd), JD_INVALID_ARGUMENT,
               "jd_array_to_host: out is S32[], and the array S32[5,4]");
    jd_array_release(array);
    jd_sharding_release(sharding);
}
END_TEST

START_TEST(nothing_outlives_the_world_but_its_memory)
{
    jd_sharding *sharding = sharding_of("data");
    jd_array *array;
    UNIT_OK(jd_device_put(&array, &value_leaf, sharding));
    UNIT_OK(jd_shutdown());
    ck_assert_int_eq(jd_array_to_host(array, &value_leaf),
                     JD_FAILED_PRECONDITION);
    ck_assert_ptr_null(jd_array_shards(array, NULL));
    ck_assert_int_eq(jd_array_ndim(array), 2);
    jd_array_release(array);
    jd_sharding_release(sharding);
}
END_TEST

static TCase *add_case(Suite *suite, const char *name)
{
    TCase *tcase = unit_case(suite, name);
    tcase_add_checked_fixture(tcase, start, end_mesh);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("array");
    TCase *tcase = add_case(suite, "what it is");
    tcase_add_test(tcase, zeros_have_a_type_a_shape_and_zeroed_blocks);
    tcase_add_test(tcase, scalars_and_eight_dimensions);
    tcase_add_test(tcase, the_last_reference_frees);
    tcase_add_test(tcase, a_null_is_nothing);
    tcase_add_test(tcase, a_donated_array_has_no_blocks);
    tcase_add_test(tcase, bad_arguments_of_zeros);
    tcase_add_test(tcase, too_little_memory_leaves_nothing);
    tcase_add_test(tcase, nothing_outlives_the_world_but_its_memory);
    tcase = add_case(suite, "callback");
    tcase_add_test(tcase, a_callback_writes_each_distinct_block_once);
    tcase_add_test(tcase, a_callback_is_told_its_block);
    tcase_add_test(tcase, a_callback_that_fails_ends_it);
    tcase_add_test(tcase, a_callback_does_not_fail_with_anothers_sentence);
    tcase = add_case(suite, "local data");
    tcase_add_test(tcase, local_data_of_one_process_are_all);
    tcase_add_test(tcase, bad_arguments_of_local_data);
    tcase_add_test(tcase, the_whole_is_worked_out_of_equal_shares);
    tcase_add_test(tcase, unlike_shares_ask_for_the_shape);
    tcase = add_case(suite, "shards");
    tcase_add_test(tcase, buffers_become_the_array_s);
    tcase_add_test(tcase, bad_buffers_stay_the_caller_s);
    tcase = add_case(suite, "there and back");
    tcase_add_test(tcase, a_value_goes_to_devices_and_comes_back);
    tcase_add_test(tcase, scalars_and_nothing_go_too);
    tcase_add_test(tcase, bad_arguments_of_device_put);
    tcase_add_test(tcase, bad_arguments_of_to_host);
    return unit_main(suite);
}
