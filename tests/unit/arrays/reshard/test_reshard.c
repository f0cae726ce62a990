/* SPDX-License-Identifier: BSD-3-Clause */
/* test_reshard.c - resharding in a world of one process with several devices:
 * what is refused, what is donated, and what is kept for the next call. */
#include "arrays/array/array.h"
#include "arrays/array/block_cache.h"
#include "arrays/array/share.h"
#include "arrays/reshard/plan_cache.h"
#include "jd.h"
#include "tests/unit/unit.h"

enum { DEVICES = 4 };

static jd_mesh *mesh;

static void start(void)
{
    setenv("JD_NUM_CPU_DEVICES", "4", 1);
    setenv("JD_RESHARD_MEMORY", "64KiB", 1);
    UNIT_OK(jd_mesh_create(&mesh, 1, (int[]){ DEVICES },
                           (const char *[]){ "x" }, NULL));
}

static void stop(void)
{
    jd_mesh_destroy(mesh);
}

static jd_sharding *cut(const char *spec)
{
    jd_sharding *sharding;
    UNIT_OK(jd_sharding_create(&sharding, mesh, spec));
    return sharding;
}

/* Rows of 4-byte numbers, each its own place. */
static jd_status number(const jd_range *index, void *block, void *arg)
{
    int32_t *to = block;
    int64_t columns = *(int64_t *)arg;
    for (int64_t i = index[0].begin; i < index[0].end; i++)
        for (int64_t j = index[1].begin; j < index[1].end; j++)
            *to++ = (int32_t)(i * columns + j);
    return JD_OK;
}

static jd_array *make(const char *spec, int64_t rows, int64_t columns)
{
    jd_array *array;
    jd_sharding *sharding = cut(spec);
    UNIT_OK(jd_array_from_callback(&array, sharding, JD_S32, 2,
                                   (int64_t[]){ rows, columns }, number,
                                   &columns));
    jd_sharding_release(sharding);
    return array;
}

static void expect_numbers(const jd_array *array)
{
    int count;
    const jd_array_shard *shards = jd_array_shards(array, &count);
    int64_t columns = jd_array_shape(array)[1];
    ck_assert_int_eq(count, DEVICES);
    for (int i = 0; i < count; i++) {
        const int32_t *data = shards[i].data;
        const jd_range *index = shards[i].index;
        for (int64_t r = index[0].begin; r < index[0].end; r++)
            for (int64_t c = index[1].begin; c < index[1].end; c++)
                if (*data++ != r * columns + c)
                    ck_abort_msg("row %d, column %d", (int)r, (int)c);
    }
}

/* ---- what is refused ---------------------------------------------------- */

#define RESHARD "jd_array_reshard"

START_TEST(bad_arguments_are_named)
{
    jd_array *array = make("x", 8, 8), *none = NULL, *out = NULL;
    jd_sharding *sharding = cut("-,x"), *many = cut("-,-,x");
    UNIT_FAILS(jd_array_reshard(NULL, array, sharding), JD_INVALID_ARGUMENT,
               RESHARD ": ret_array is NULL");
    UNIT_FAILS(jd_array_reshard(&out, NULL, sharding), JD_INVALID_ARGUMENT,
               RESHARD ": array is NULL");
    UNIT_FAILS(jd_array_reshard(&out, array, NULL), JD_INVALID_ARGUMENT,
               RESHARD ": sharding is NULL");
    UNIT_FAILS(jd_array_reshard(&out, array, many), JD_INVALID_ARGUMENT,
               RESHARD ": the spec \"-,-,x\" has 3 entries, and the shape "
                       "[8,8] has 2 dimensions; leave out the last entries, "
                       "or use a sharding of its own for such arrays");
    UNIT_FAILS(jd_array_reshard_donate(NULL, sharding), JD_INVALID_ARGUMENT,
               RESHARD "_donate: array is NULL");
    UNIT_FAILS(jd_array_reshard_donate(&none, sharding), JD_INVALID_ARGUMENT,
               RESHARD "_donate: array is NULL");
    ck_assert_ptr_null(out);
    expect_numbers(array);
    jd_sharding_release(sharding);
    jd_sharding_release(many);
    jd_array_release(array);
}
END_TEST

START_TEST(an_even_sharding_refuses)
{
    jd_array *array = make("x", 8, 7), *out = NULL;
    jd_sharding *even;
    UNIT_OK(jd_sharding_create_even(&even, mesh, "-,x"));
    ck_assert_int_eq(jd_array_reshard(&out, array, even), JD_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(
        strstr(jd_error_message(), RESHARD ": dimension 1 of the shape [8,7]"));
    ck_assert_int_eq(jd_array_reshard_donate(&array, even),
                     JD_INVALID_ARGUMENT);
    expect_numbers(array);
    jd_sharding_release(even);
    jd_array_release(array);
}
END_TEST

START_TEST(another_world_is_refused)
{
    jd_array *array = make("x", 8, 8), *out = NULL;
    jd_sharding *sharding = cut("-,x");
    UNIT_OK(jd_shutdown());
    ck_assert_int_eq(jd_array_reshard(&out, array, sharding),
                     JD_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(jd_error_message(), RESHARD ": "));
    jd_sharding_release(sharding);
    jd_array_release(array);
}
END_TEST

/* ---- donation ----------------------------------------------------------- */

START_TEST(what_stays_is_not_copied)
{
    jd_array *array = make("x", 8, 8), *other = jd_array_retain(array), *out;
    jd_sharding *rows = cut("x,-"), *columns = cut("-,x");
    const void *data[DEVICES];
    for (int i = 0; i < DEVICES; i++)
        data[i] = jd_array_shards(array, NULL)[i].data;
    UNIT_OK(jd_array_reshard_donate(&array, rows));
    ck_assert_ptr_ne(array, other);
    for (int i = 0; i < DEVICES; i++)
        ck_assert_ptr_eq(jd_array_shards(array, NULL)[i].data, data[i]);
    expect_numbers(array);
    ck_assert_ptr_null(jd_array_shards(other, NULL));
    UNIT_FAILS(jd_array_reshard(&out, other, columns), JD_FAILED_PRECONDITION,
               RESHARD ": the array was donated: jd_array_reshard_donate() "
                       "has given its blocks to another; use that one");
    jd_array_release(other);
    UNIT_OK(jd_array_reshard_donate(&array, columns));
    expect_numbers(array);
    jd_sharding_release(rows);
    jd_sharding_release(columns);
    jd_array_release(array);
}
END_TEST

START_TEST(without_it_both_are_whole)
{
    jd_array *array = make("x", 9, 5), *out;
    jd_sharding *rows = cut("x");
    UNIT_OK(jd_array_reshard(&out, array, rows));
    for (int i = 0; i < DEVICES - 1; i++)
        ck_assert_ptr_ne(jd_array_shards(array, NULL)[i].data,
                         jd_array_shards(out, NULL)[i].data);
    jd_array_release(array);
    expect_numbers(out);
    jd_sharding_release(rows);
    jd_array_release(out);
}
END_TEST

/* ---- what is kept ------------------------------------------------------- */

static void reshard_once(int64_t rows, int64_t columns)
{
    jd_array *array = make("x", rows, columns);
    jd_sharding *sharding = cut("-,x");
    UNIT_OK(jd_array_reshard_donate(&array, sharding));
    expect_numbers(array);
    jd_sharding_release(sharding);
    jd_array_release(array);
}

START_TEST(the_last_plans_are_kept)
{
    reshard_once(8, 8);
    int before = jd__plan_cache_count();
    reshard_once(8, 8); /* other shardings, alike */
    ck_assert_int_eq(jd__plan_cache_count(), before);
    for (int i = 0; i < 2 * JD_CACHED_PLANS; i++)
        reshard_once(4 + i, 8);
    ck_assert_int_eq(jd__plan_cache_count(), JD_CACHED_PLANS);
}
END_TEST

START_TEST(a_plan_outlives_the_cache)
{
    jd_sharding *rows = cut("x"), *columns = cut("-,x");
    struct jd_plan_spec spec = { .operation = "test",
                                 .from = rows,
                                 .to = columns,
                                 .ndim = 2,
                                 .shape = (int64_t[]){ 8, 8 },
                                 .element = 4,
                                 .memory = 1 << 20 };
    struct jd_cached_plan *first, *second;
    UNIT_OK(jd__plan_cache_get(&spec, &first));
    UNIT_OK(jd__plan_cache_get(&spec, &second));
    ck_assert_ptr_eq(first, second);
    jd__plan_cache_put(second);
    jd_sharding_release(rows);
    jd_sharding_release(columns);
    for (int i = 0; i < 2 * JD_CACHED_PLANS; i++)
        reshard_once(4 + i, 8);
    ck_assert_int_eq(first->plan->num_devices, DEVICES);
    jd__plan_cache_put(first);
}
END_TEST

/* Half of the 64 KiB for each device. */
START_TEST(no_more_memory_is_kept_than_allowed)
{
    reshard_once(8, 8);
    ck_assert_uint_eq(jd__block_cache_bytes() % (8 * 8), 0);
    ck_assert_uint_gt(jd__block_cache_bytes(), 0);
    for (int i = 1; i < 32; i++)
        reshard_once(32, 16 * i);
    ck_assert_uint_gt(jd__block_cache_bytes(), DEVICES * (8 << 10));
    ck_assert_uint_le(jd__block_cache_bytes(), DEVICES * (32 << 10));
    size_t before = jd__block_cache_bytes();
    reshard_once(512, 256); /* longer than what may be kept */
    ck_assert_uint_eq(jd__block_cache_bytes(), before);
}
END_TEST

START_TEST(cached_memory_is_found_again)
{
    const jd_device *device = jd_local_devices(NULL)[0];
    struct jd_block_cache_request request = { mesh->world, 1 << 16, device,
                                              4096 };
    void *memory, *again, *other;
    UNIT_OK(jd__block_cache_take(&request, &memory));
    jd__block_cache_give(request.world, device, 4096, memory);
    request.device = jd_local_devices(NULL)[1];
    UNIT_OK(jd__block_cache_take(&request, &other));
    ck_assert_ptr_ne(other, memory);
    request.device = device;
    request.bytes = 4000;
    UNIT_OK(jd__block_cache_take(&request, &again));
    ck_assert_ptr_eq(again, memory);
    jd__block_cache_give(request.world, device, 4000, again);
    request.world++; /* what was kept goes */
    UNIT_OK(jd__block_cache_take(&request, &again));
    ck_assert_uint_eq(jd__block_cache_bytes(), 0);
    jd__block_cache_give(request.world - 1, device, 4000, again);
    ck_assert_uint_eq(jd__block_cache_bytes(), 0);
    jd_device_free(other);
}
END_TEST

/* ---- parts of boxes ----------------------------------------------------- */

/* Every part of a box: the elements from begin to end, in order. */
START_TEST(any_part_of_a_box_is_packed)
{
    const jd_range origin[] = { { 1, 5 }, { 0, 3 }, { 2, 7 } };
    const jd_range index[] = { { 2, 5 }, { 0, 2 }, { 3, 6 } };
    int16_t block[4 * 3 * 5], whole[18], part[18], copy[4 * 3 * 5];
    struct jd_box box = { (char *)block, origin, 3, sizeof *block };
    struct jd_box other = { (char *)copy, origin, 3, sizeof *copy };
    for (int i = 0; i < 60; i++)
        block[i] = (int16_t)i;
    jd__share_pack(whole, &box, index, 0, 18, NULL);
    for (int begin = 0; begin <= 18; begin++)
        for (int end = begin; end <= 18; end++) {
            size_t bytes = (size_t)(end - begin) * sizeof *part;
            memset(copy, 0, sizeof copy);
            jd__share_pack(part, &box, index, begin, end, NULL);
            ck_assert_mem_eq(part, whole + begin, bytes);
            jd__share_unpack(&other, index, 0, begin, whole, NULL);
            jd__share_unpack(&other, index, begin, end, part, NULL);
            jd__share_unpack(&other, index, end, 18, whole + end, NULL);
            jd__share_pack(part, &other, index, 0, 18, NULL);
            ck_assert_mem_eq(part, whole, sizeof whole);
        }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("reshard");
    TCase *tcase = unit_case(suite, "refused");
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, bad_arguments_are_named);
    tcase_add_test(tcase, an_even_sharding_refuses);
    tcase_add_test(tcase, another_world_is_refused);
    tcase = unit_case(suite, "donated");
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, what_stays_is_not_copied);
    tcase_add_test(tcase, without_it_both_are_whole);
    tcase = unit_case(suite, "kept");
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, the_last_plans_are_kept);
    tcase_add_test(tcase, a_plan_outlives_the_cache);
    tcase_add_test(tcase, no_more_memory_is_kept_than_allowed);
    tcase_add_test(tcase, cached_memory_is_found_again);
    tcase = unit_case(suite, "parts");
    tcase_add_test(tcase, any_part_of_a_box_is_packed);
    return suite;
}

int main(void)
{
    return unit_main(make_suite());
}
