/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_located.c - pairs of values and indices, folded in every variant,
 * against the members' elements one after the other.
 */
#include "collectives/kernels/located.h"
#include "tests/unit/fold_reference.h"
#include "tests/unit/unit.h"

enum { MEMBERS = 4, COUNT = 700, ROOM = COUNT * 8 + 8 };

static unsigned char ins[MEMBERS][ROOM], out[ROOM];
static int64_t indices[MEMBERS][COUNT], out_index[COUNT];
static struct jd_located pairs[MEMBERS][COUNT];

static const unsigned char *element_of(jd_dtype dtype, int member, size_t i,
                                       size_t offset)
{
    return ins[member] + offset + i * jd_dtype_size(dtype);
}

/* The element as it comes out: the one NaN, a PRED of 0 or 1. */
static void plain_element(jd_dtype dtype, const unsigned char *from,
                          unsigned char to[8])
{
    struct element e = load(dtype, from);
    memset(to, 0, 8);
    if (dtype == JD_PRED)
        e.integer = e.integer != 0;
    store(dtype, e, to);
}

static void expect_element(jd_dtype dtype, enum jd_reduce op, size_t i,
                           size_t offset)
{
    size_t size = jd_dtype_size(dtype);
    struct element e = load(dtype, element_of(dtype, 0, i, offset));
    unsigned char wanted[8] = { 0 }, given[8];
    int64_t index = INT64_MAX;
    for (int k = 1; k < MEMBERS; k++)
        e = combine(dtype, op, e, load(dtype, element_of(dtype, k, i, offset)));
    store(dtype, e, wanted);
    for (int k = 0; k < MEMBERS; k++) {
        plain_element(dtype, element_of(dtype, k, i, offset), given);
        if (memcmp(given, wanted, 8) == 0 && indices[k][i] < index)
            index = indices[k][i];
    }
    ck_assert_msg(memcmp(out + offset + i * size, wanted, size) == 0,
                  "%s, op %d: element %zu", jd_dtype_name(dtype), (int)op, i);
    ck_assert_msg(out_index[i] == index,
                  "%s, op %d: element %zu is of %lld, not of %lld",
                  jd_dtype_name(dtype), (int)op, i, (long long)out_index[i],
                  (long long)index);
}

/* Indices of few values, and of the greatest and the least. */
static void draw_indices(int member)
{
    static const int64_t some[] = { 0, 1, -1, 7, INT64_MAX - 1, INT64_MIN };
    for (size_t i = 0; i < COUNT; i++)
        indices[member][i] = some[(wild_bits() >> 20) % 6];
}

static void fold_pairs(enum jd_fold_form form)
{
    const void *const from[] = { pairs[0], pairs[1], pairs[2], pairs[3] };
    void *to = pairs[0];
    jd__fold_find(JD_C128, JD_REDUCE_LOCATED, form)(&(struct jd_fold){
        .ins = from,
        .outs = &to,
        .num_ins = MEMBERS,
        .num_outs = 1,
        .count = COUNT,
    });
}

static void try_type(jd_dtype dtype, enum jd_reduce op, enum jd_fold_form form,
                     size_t offset)
{
    struct jd_locating locating = { .dtype = dtype,
                                    .is_least = op == JD_REDUCE_MIN };
    for (int k = 0; k < MEMBERS; k++) {
        fill_wild(ins[k] + offset, ROOM - 8, dtype);
        draw_indices(k);
        jd__located_pack(&locating, ins[k] + offset, indices[k], COUNT,
                         pairs[k]);
    }
    fold_pairs(form);
    jd__located_values(&locating, pairs[0], COUNT, out + offset);
    jd__located_indices(pairs[0], COUNT, out_index);
    for (size_t i = 0; i < COUNT; i++)
        expect_element(dtype, op, i, offset);
}

START_TEST(pairs_in_a_variant)
{
    if (!choose(variants[_i]))
        return;
    for (int form = 0; form < JD_FOLD_FORMS; form++)
        for (int d = 0; d < NUM_DTYPES; d++)
            for (int op = JD_REDUCE_MAX; op <= JD_REDUCE_MIN; op++)
                if (has_meaning(dtypes[d], (enum jd_reduce)op))
                    try_type(dtypes[d], (enum jd_reduce)op,
                             (enum jd_fold_form)form, (size_t)form % 3);
}
END_TEST

START_TEST(own_index_is_that_of_all)
{
    struct jd_locating locating = { .dtype = JD_S8, .own = 5 };
    memcpy(ins[0], (int8_t[]){ 3, -128 }, 2);
    jd__located_pack(&locating, ins[0], NULL, 2, pairs[0]);
    jd__located_values(&locating, pairs[0], 2, out);
    jd__located_indices(pairs[0], 2, out_index);
    ck_assert_int_eq((int8_t)out[0], 3);
    ck_assert_int_eq((int8_t)out[1], -128);
    ck_assert(out_index[0] == 5 && out_index[1] == 5);
}
END_TEST

START_TEST(other_types_have_no_such_fold)
{
    for (int d = 0; d < NUM_DTYPES; d++)
        for (int form = 0; form < JD_FOLD_FORMS; form++)
            ck_assert(!jd__fold_find(dtypes[d], JD_REDUCE_LOCATED,
                                     (enum jd_fold_form)form) ==
                      (dtypes[d] != JD_C128));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("located");
    TCase *plain = unit_case(suite, "plain");
    tcase_add_test(plain, own_index_is_that_of_all);
    tcase_add_test(plain, other_types_have_no_such_fold);
    TCase *pairs_case = unit_case(suite, "pairs");
    tcase_add_loop_test(pairs_case, pairs_in_a_variant, 0, NUM_VARIANTS);
    return unit_main(suite);
}
