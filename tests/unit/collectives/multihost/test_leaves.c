/* SPDX-License-Identifier: BSD-3-Clause */
/* test_leaves.c - lists of leaves described and walked through. */
#include "collectives/multihost/leaves.h"
#include "tests/unit/unit.h"

#include <stdint.h>
#include <stdio.h>

static char bytes_a[7] = "abcdefg", bytes_b[24] = "0123456789ABCDEFGHIJKLM";
static char bytes_c[1] = "z";
static const int64_t seven[] = { 7 }, three[] = { 3 }, none[] = { 4, 0 };
static const jd_leaf list[] = {
    { bytes_a, JD_U8, 1, seven },
    { NULL, JD_F64, 2, none },
    { bytes_b, JD_F64, 1, three },
    { bytes_c, JD_S8, 0, NULL },
};

START_TEST(pieces_of_any_size_make_the_whole)
{
    size_t size = (size_t)_i;
    char packed[64] = "", back_a[7], back_b[24], back_c[1];
    const jd_leaf copy[] = { { back_a, JD_U8, 1, seven },
                             { NULL, JD_F64, 2, none },
                             { back_b, JD_F64, 1, three },
                             { back_c, JD_S8, 0, NULL } };
    struct jd_leaf_walk walk = { .leaves = list, .count = 4 };
    size_t total = 0;
    for (;;) {
        struct jd_leaf_walk begin = walk, measured = walk;
        size_t n = jd__leaves_walk_pack(&walk, packed + total, size);
        ck_assert_uint_le(n, size);
        ck_assert_uint_eq(jd__leaves_walk_pack(&measured, NULL, size), n);
        if (n == 0)
            break;
        begin.leaves = copy;
        jd__leaves_walk_unpack(&begin, packed + total, n, copy, 0);
        total += n;
    }
    ck_assert_uint_eq(total, 7 + 24 + 1);
    ck_assert_mem_eq(packed, bytes_a, 7);
    ck_assert_mem_eq(packed + 7, bytes_b, 24);
    ck_assert_mem_eq(back_a, bytes_a, 7);
    ck_assert_mem_eq(back_b, bytes_b, 24);
    ck_assert_int_eq(back_c[0], 'z');
}
END_TEST

START_TEST(no_element_is_cut)
{
    struct jd_leaf_walk walk = { .leaves = list, .count = 4 };
    char packed[16];
    ck_assert_uint_eq(jd__leaves_walk_pack(&walk, packed, 16), 15);
    ck_assert_uint_eq(walk.leaf, 2);
    ck_assert_uint_eq(walk.offset, 8);
}
END_TEST

START_TEST(leaves_are_described)
{
    char text[64];
    jd__leaves_print(list, 4, text, sizeof text);
    ck_assert_str_eq(text, "4 leaves: U8[7], F64[4,0], F64[3], S8[]");
    jd__leaves_print(list, 4, text, 27);
    ck_assert_str_eq(text, "4 leaves: U8[7], ...");
    jd__leaves_print(list, 0, text, sizeof text);
    ck_assert_str_eq(text, "0 leaves");
    jd__leaf_print_index(&(jd_leaf){ NULL, JD_S8, 3, (int64_t[]){ 2, 3, 4 } },
                         23, text, sizeof text);
    ck_assert_str_eq(text, "[1,2,3]");
    jd__leaf_print_index(&list[3], 0, text, sizeof text);
    ck_assert_str_eq(text, "[]");
}
END_TEST

START_TEST(digests_tell_lists_apart)
{
    jd_leaf other[4];
    memcpy(other, list, sizeof other);
    uint64_t digest = jd__leaves_digest(list, 4);
    other[0].data = NULL;
    ck_assert_uint_eq(jd__leaves_digest(other, 4), digest);
    ck_assert_uint_ne(jd__leaves_digest(list, 3), digest);
    other[0].dtype = JD_S8;
    ck_assert_uint_ne(jd__leaves_digest(other, 4), digest);
    other[0] = list[0];
    other[2].shape = (int64_t[]){ 4 };
    ck_assert_uint_ne(jd__leaves_digest(other, 4), digest);
}
END_TEST

START_TEST(sizes_are_added_up)
{
    struct jd_leaf_list checked = { list, 4, "test", "leaves" };
    size_t bytes = 0;
    UNIT_OK(jd__leaves_check(&checked, &bytes));
    ck_assert_uint_eq(bytes, 32);
    checked.count = 0;
    checked.leaves = NULL;
    UNIT_OK(jd__leaves_check(&checked, &bytes));
    ck_assert_uint_eq(bytes, 0);
}
END_TEST

START_TEST(a_leaf_that_is_read_may_be_of_const_data)
{
    static const double table[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
    const int64_t shape[] = { 2, 3 };
    const jd_leaf leaf = jd_leaf_in(table, JD_F64, 2, shape);
    ck_assert_ptr_eq(leaf.data, table);
    ck_assert_int_eq(leaf.dtype, JD_F64);
    ck_assert_int_eq(leaf.ndim, 2);
    ck_assert_ptr_eq(leaf.shape, shape);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("leaves");
    TCase *walk = unit_case(suite, "walk");
    tcase_add_loop_test(walk, pieces_of_any_size_make_the_whole, 8, 40);
    tcase_add_test(walk, no_element_is_cut);
    tcase_add_test(walk, a_leaf_that_is_read_may_be_of_const_data);
    TCase *texts = unit_case(suite, "texts");
    tcase_add_test(texts, leaves_are_described);
    tcase_add_test(texts, digests_tell_lists_apart);
    tcase_add_test(texts, sizes_are_added_up);
    return unit_main(suite);
}
