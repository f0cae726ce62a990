/* SPDX-License-Identifier: BSD-3-Clause */
/* test_tags.c - ranges of tags: none overlap, all come back. */
#include "collectives/channel/tags.h"
#include "tests/unit/unit.h"

#include <stdint.h>

static struct jd_tags tags = JD_TAGS;

static int take(struct jd_tag_range space, int count)
{
    int first = -1;
    UNIT_OK(jd__tags_take(&tags, space, count, "jd_psum", &first));
    return first;
}

START_TEST(ranges_follow_each_other)
{
    struct jd_tag_range space = { 16, 100 };
    ck_assert_int_eq(take(space, 10), 16);
    ck_assert_int_eq(take(space, 20), 26);
    jd__tags_give(&tags, 16);
    ck_assert_int_eq(take(space, 10), 46); /* and not the one given back */
    ck_assert_int_eq(take(space, 60), 56);
    ck_assert_int_eq(take(space, 4), 16); /* the end is reached */
    ck_assert_int_eq(take(space, 6), 20);
    ck_assert_int_eq(jd__tags_lent(&tags), 5);
}
END_TEST

START_TEST(a_row_that_is_not_left_is_a_sentence)
{
    struct jd_tag_range space = { 16, 30 };
    int first = 4711;
    take(space, 10);
    take(space, 10);
    take(space, 10);
    jd__tags_give(&tags, 16);
    jd__tags_give(&tags, 36);
    UNIT_FAILS(jd__tags_take(&tags, space, 11, "jd_psum", &first),
               JD_RESOURCE_EXHAUSTED,
               "jd_psum: no 11 tags in a row are left of the 30 that this MPI "
               "has for the messages of meshes (1 ranges are in use); destroy "
               "meshes that are not used any more (jd_mesh_destroy)");
    ck_assert_int_eq(first, 4711);
    ck_assert_int_eq(take(space, 10), 16);
    ck_assert_int_eq(take(space, 10), 36);
}
END_TEST

/* A world with more devices in a process has its space further behind. */
START_TEST(the_space_may_change)
{
    ck_assert_int_eq(take((struct jd_tag_range){ 16, 100 }, 10), 16);
    ck_assert_int_eq(take((struct jd_tag_range){ 20, 100 }, 10), 26);
    ck_assert_int_eq(take((struct jd_tag_range){ 60, 100 }, 10), 60);
    ck_assert_int_eq(take((struct jd_tag_range){ 16, 54 }, 10), 36);
}
END_TEST

/* The largest space that MPI can have. */
START_TEST(numbers_do_not_overflow)
{
    struct jd_tag_range space = { 16, INT32_MAX - 16 };
    int first;
    ck_assert_int_eq(take(space, INT32_MAX - 20), 16);
    ck_assert_int_eq(take(space, 4), INT32_MAX - 4);
    ck_assert_int_eq(jd__tags_take(&tags, space, 1, "jd_psum", &first),
                     JD_RESOURCE_EXHAUSTED);
    jd__tags_give(&tags, 16);
    ck_assert_int_eq(take(space, 1), 16);
}
END_TEST

/* Many ranges of many lengths, taken and given back at random. */
START_TEST(none_overlap)
{
    enum { SPACE = 500, SLOTS = 40 };
    static int owner[SPACE];
    int firsts[SLOTS], counts[SLOTS] = { 0 };
    uint32_t random = 12345;
    for (int step = 0; step < 20000; step++) {
        random = random * 1664525 + 1013904223;
        int slot = (int)(random >> 16) % SLOTS, count = (int)(random >> 8) % 15;
        if (counts[slot]) {
            for (int i = 0; i < counts[slot]; i++)
                owner[firsts[slot] + i] = 0;
            jd__tags_give(&tags, firsts[slot]);
            counts[slot] = 0;
        } else if (jd__tags_take(&tags, (struct jd_tag_range){ 0, SPACE },
                                 ++count, "test", &firsts[slot]) == JD_OK) {
            counts[slot] = count;
            for (int i = 0; i < count; i++) {
                ck_assert_int_eq(owner[firsts[slot] + i], 0);
                owner[firsts[slot] + i] = slot + 1;
            }
        }
    }
    for (int slot = 0; slot < SLOTS; slot++)
        if (counts[slot])
            jd__tags_give(&tags, firsts[slot]);
    ck_assert_int_eq(jd__tags_lent(&tags), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tags");
    TCase *ranges = unit_case(suite, "ranges");
    tcase_add_test(ranges, ranges_follow_each_other);
    tcase_add_test(ranges, a_row_that_is_not_left_is_a_sentence);
    tcase_add_test(ranges, the_space_may_change);
    tcase_add_test(ranges, numbers_do_not_overflow);
    tcase_add_test(ranges, none_overlap);
    return unit_main(suite);
}
