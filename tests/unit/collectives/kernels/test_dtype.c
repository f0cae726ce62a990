/* SPDX-License-Identifier: BSD-3-Clause */
/* test_dtype.c - the element types have names, sizes and XLA's numbers. */
#include "jd_dtype.h"
#include "tests/unit/unit.h"

START_TEST(every_type_has_a_name_and_a_size)
{
#define CHECK_ROW(name, number, size)                                          \
    ck_assert_str_eq(jd_dtype_name(JD_##name), #name);                         \
    ck_assert_uint_eq(jd_dtype_size(JD_##name), size);                         \
    ck_assert_int_eq(JD_##name, number);
    JD_DTYPE_MAP(CHECK_ROW)
    JD_STORAGE_DTYPE_MAP(CHECK_ROW)
#undef CHECK_ROW
}
END_TEST

START_TEST(sizes_are_those_of_c_types)
{
    ck_assert_uint_eq(jd_dtype_size(JD_F64), sizeof(double));
    ck_assert_uint_eq(jd_dtype_size(JD_F32), sizeof(float));
    ck_assert_uint_eq(jd_dtype_size(JD_C128), 2 * sizeof(double));
    ck_assert_uint_eq(jd_dtype_size(JD_S64), 8);
    ck_assert_uint_eq(jd_dtype_size(JD_PRED), 1);
}
END_TEST

START_TEST(other_numbers_are_no_type)
{
    static const int others[] = { -1, 0, 13, 14, 17, 26, 34, 1 << 20 };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert_uint_eq(jd_dtype_size((jd_dtype)others[i]), 0);
        ck_assert_str_eq(jd_dtype_name((jd_dtype)others[i]), "not a jd_dtype");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dtype");
    TCase *tcase = unit_case(suite, "dtype");
    tcase_add_test(tcase, every_type_has_a_name_and_a_size);
    tcase_add_test(tcase, sizes_are_those_of_c_types);
    tcase_add_test(tcase, other_numbers_are_no_type);
    return unit_main(suite);
}
