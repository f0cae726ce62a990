/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_strided_place.c - the words of a box are where its rows are, whatever
 * its loops, and as wide as they can be. meson builds it with the compiler of
 * C++ and with nvcc.
 */
#include "tests/unit/draw_nest.h"
#include "tests/unit/strided_on_host.h"
#include "tests/unit/unit.h"

enum { ROOM = DRAWN_NEST_ROOM, ROUNDS = 3000 };

static _Alignas(16) unsigned char from[ROOM], to[ROOM], wanted[ROOM];

/* Row by row, into wanted. */
static void copy_rows(struct jd_nest nest)
{
    size_t at[JD_NEST_LOOPS] = { 0 };
    do
        for (size_t i = 0; i < nest.rows.count; i++)
            memcpy(wanted + ((unsigned char *)nest.rows.to - to) +
                       i * nest.rows.to_pitch,
                   (const char *)nest.rows.from + i * nest.rows.from_pitch,
                   nest.rows.row);
    while (jd__nest_next(&nest, at));
}

static const size_t units[] = { 1, 2, 4, 8, 16, 32 };

START_TEST(every_box_is_copied)
{
    unsigned seed = (unsigned)_i + 1;
    size_t unit = units[_i];
    for (size_t i = 0; i < ROOM; i++)
        from[i] = (unsigned char)(i * 37 + i / 251);
    for (int round = 0; round < ROUNDS; round++) {
        struct jd_nest nest = draw_nest(&seed, unit, to, from);
        memset(to, 0xa5, ROOM);
        memset(wanted, 0xa5, ROOM);
        copy_rows(nest);
        unsigned word = strided_on_host(&nest, round % 2 ? 32 : 64);
        ck_assert_uint_ge(word, unit < 16 ? unit : 16);
        ck_assert(memcmp(to, wanted, ROOM) == 0);
    }
}
END_TEST

/* One thing that is not aligned makes all words narrow. */
START_TEST(words_are_as_wide_as_can_be)
{
    struct jd_nest nest = {
        .rows = { to, from, 64, 96, 32, 2 },
        .num_loops = 1,
        .loops = { { 2, 1024, 2048 } },
    };
    ck_assert_uint_eq(strided_on_host(&nest, 32), 16);
    nest.loops[0].from_step += 8;
    ck_assert_uint_eq(strided_on_host(&nest, 32), 8);
    nest.rows.row -= 4;
    ck_assert_uint_eq(strided_on_host(&nest, 32), 4);
    nest.rows.to_pitch += 2;
    ck_assert_uint_eq(strided_on_host(&nest, 32), 2);
    nest.rows.from = from + 1;
    ck_assert_uint_eq(strided_on_host(&nest, 32), 1);
    nest.rows.row = 0;
    ck_assert_uint_eq(strided_on_host(&nest, 32), 1);
}
END_TEST

/* What is there once has no step that counts. */
START_TEST(loops_of_one_are_none)
{
    struct jd_nest nest = {
        .rows = { to, from, 3, 5, 32, 1 },
        .num_loops = 2,
        .loops = { { 1, 7, 9 }, { 3, 64, 32 } },
    };
    ck_assert_uint_eq(strided_on_host(&nest, 64), 16);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("strided_place");
    TCase *tcase = unit_case(suite, "strided_place");
    tcase_set_timeout(tcase, 100);
    tcase_add_loop_test(tcase, every_box_is_copied, 0, 6);
    tcase_add_test(tcase, words_are_as_wide_as_can_be);
    tcase_add_test(tcase, loops_of_one_are_none);
    return unit_main(suite);
}
