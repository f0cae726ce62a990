/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_fold_element.c - the GPUs' folds of single elements give the cpu
 * platform's bits: every type and operation, over all pairs of 8 bits, random
 * bits, NaNs with payloads, infinities, subnormals and zeros with a sign. The
 * functions are run on the host; meson builds it with the compiler of C++ and
 * with nvcc.
 */
#include "collectives/kernels/fold.h"
#include "tests/unit/fold_on_host.h"
#include "tests/unit/fold_reference.h"
#include "tests/unit/unit.h"

enum { MAX_INS = 5, COUNT = 1 << 16, ROOM = COUNT * 16 };

static unsigned char ins[MAX_INS][ROOM], result[ROOM], wanted[ROOM];

static void expect_wanted(jd_dtype dtype, enum jd_reduce op, int num_ins)
{
    size_t size = jd_dtype_size(dtype), i = 0;
    while (i < COUNT * size && result[i] == wanted[i])
        i++;
    i -= i % size;
    ck_assert_msg(i == COUNT * size,
                  "%s, operation %d of %d: element %zu is %02x%02x..., not "
                  "%02x%02x...; the first two are %02x%02x..., %02x%02x...",
                  jd_dtype_name(dtype), (int)op, num_ins, i / size, result[i],
                  result[i + 1], wanted[i], wanted[i + 1], ins[0][i],
                  ins[0][i + 1], ins[1][i], ins[1][i + 1]);
}

/* One vector's fold is its copy, without arithmetic: no Fold is asked. */
static void compare(jd_dtype dtype, enum jd_reduce op, int num_ins)
{
    const void *from[MAX_INS];
    for (int k = 0; k < num_ins; k++)
        from[k] = ins[k];
    struct jd_fold fold = { .ins = from,
                            .outs = (void *[]){ wanted },
                            .num_ins = num_ins,
                            .num_outs = 1,
                            .count = COUNT,
                            .divisor = num_ins + num_ins / 3 };
    jd__fold_find(dtype, op, JD_FOLD_WHOLE)(&fold);
    fold.outs = (void *[]){ result };
    memset(result, 0xa5, sizeof result);
    ck_assert(fold_on_host(dtype, op, &fold));
    expect_wanted(dtype, op, num_ins);
}

/* The same keys, and the same codes of any keys. */
static void compare_keys(jd_dtype dtype, enum jd_reduce op,
                         enum jd_order_way way)
{
    struct jd_fold fold = { .ins = (const void *[]){ ins[0] },
                            .outs = (void *[]){ wanted },
                            .num_ins = 1,
                            .num_outs = 1,
                            .count = COUNT };
    jd_fold_function *function = jd__order_keys_find(dtype, op, way);
    if (function)
        function(&fold);
    fold.outs = (void *[]){ result };
    memset(result, 0xa5, sizeof result);
    ck_assert(keys_on_host(dtype, op, way, &fold) == (function != NULL));
    if (function)
        expect_wanted(dtype, op, 1);
}

START_TEST(keys_are_the_cpus)
{
    jd_dtype dtype = dtypes[_i];
    fill_wild(ins[0], ROOM, dtype);
    for (int op = 0; op < JD_REDUCE_COUNT; op++) {
        compare_keys(dtype, (enum jd_reduce)op, JD_ORDER_TO_KEYS);
        compare_keys(dtype, (enum jd_reduce)op, JD_ORDER_FROM_KEYS);
    }
}
END_TEST

static void compare_all(jd_dtype dtype, int num_ins)
{
    for (int op = 0; op < JD_REDUCE_COUNT; op++)
        if (has_meaning(dtype, (enum jd_reduce)op) &&
            (num_ins > 1 || op == JD_REDUCE_MEAN))
            compare(dtype, (enum jd_reduce)op, num_ins);
}

START_TEST(wild_values_of_every_type)
{
    jd_dtype dtype = dtypes[_i];
    for (int k = 0; k < MAX_INS; k++)
        fill_wild(ins[k], ROOM, dtype);
    for (int num_ins = 1; num_ins <= MAX_INS; num_ins++)
        compare_all(dtype, num_ins);
}
END_TEST

/* Of 16 bits the first vector has every number. */
START_TEST(all_numbers_of_the_small_types)
{
    jd_dtype dtype = dtypes[_i];
    size_t size = jd_dtype_size(dtype);
    fill_wild(ins[1], ROOM, dtype);
    for (unsigned i = 0; i < COUNT && size <= 2; i++) {
        memcpy(ins[0] + i * size, &i, size);
        if (size == 1)
            ins[1][i] = (unsigned char)(i >> 8);
    }
    if (size <= 2)
        compare_all(dtype, 2);
}
END_TEST

START_TEST(pairs_without_meaning_are_refused)
{
    struct jd_fold fold = { 0 };
    for (int op = 0; op < JD_REDUCE_COUNT; op++)
        if (!has_meaning(dtypes[_i], (enum jd_reduce)op))
            ck_assert(!fold_on_host(dtypes[_i], (enum jd_reduce)op, &fold));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fold_element");
    TCase *tcase = unit_case(suite, "fold_element");
    tcase_set_timeout(tcase, 100);
    tcase_add_loop_test(tcase, wild_values_of_every_type, 0, NUM_DTYPES);
    tcase_add_loop_test(tcase, keys_are_the_cpus, 0, NUM_DTYPES);
    tcase_add_loop_test(tcase, all_numbers_of_the_small_types, 0, NUM_DTYPES);
    tcase_add_loop_test(tcase, pairs_without_meaning_are_refused, 0,
                        NUM_DTYPES);
    return unit_main(suite);
}
