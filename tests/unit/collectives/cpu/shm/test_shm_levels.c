/* SPDX-License-Identifier: BSD-3-Clause */
/* test_shm_levels.c - which members of a group meet first, on hosts that are
 * made up. */
#include "collectives/cpu/shm/shm_levels.h"
#include "tests/unit/unit.h"

enum { MOST = 256 };

static struct jd_shm_locality where[MOST];
static int subgroups[MOST];

/* Members by turns in the caches, which are spread evenly over the nodes. */
static void place(int size, int nodes, int caches)
{
    for (int i = 0; i < size; i++) {
        int cache = i % caches;
        where[i] = (struct jd_shm_locality){ cache * nodes / caches, cache, i };
    }
}

static int count_in(int size, int subgroup)
{
    int count = 0;
    for (int i = 0; i < size; i++)
        count += subgroups[i] == subgroup;
    return count;
}

static int largest(int size, int count)
{
    int most = 0;
    for (int i = 0; i < count; i++)
        most = count_in(size, i) > most ? count_in(size, i) : most;
    return most;
}

START_TEST(a_small_group_meets_at_once)
{
    place(15, 2, 4);
    ck_assert_int_eq(jd__shm_levels_plan(where, 15, subgroups), 1);
    for (int i = 0; i < 15; i++)
        ck_assert_int_eq(subgroups[i], 0);
}
END_TEST

/* Two sockets of four caches, eight cores each. */
START_TEST(members_of_a_cache_meet_first)
{
    place(64, 2, 8);
    ck_assert_int_eq(jd__shm_levels_plan(where, 64, subgroups), 8);
    for (int i = 0; i < 64; i++) {
        ck_assert_int_eq(subgroups[i], i % 8);
        ck_assert_int_eq(count_in(64, i % 8), 8);
    }
}
END_TEST

START_TEST(a_cache_of_many_is_cut_evenly)
{
    place(64, 1, 1);
    ck_assert_int_eq(jd__shm_levels_plan(where, 64, subgroups), 8);
    for (int i = 0; i < 64; i++)
        ck_assert_int_eq(subgroups[i], i / 8);
    place(50, 2, 2);
    ck_assert_int_eq(jd__shm_levels_plan(where, 50, subgroups), 8);
    for (int i = 0; i < 8; i++)
        ck_assert(count_in(50, i) == 6 || count_in(50, i) == 7);
}
END_TEST

/* Caches of two cores, three of which come together; the eighth goes with its
 * neighbours, as there is nobody else on its node. */
START_TEST(small_caches_join_others_of_their_node)
{
    place(16, 1, 8);
    ck_assert_int_eq(jd__shm_levels_plan(where, 16, subgroups), 4);
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(subgroups[i], i % 8 / 2);
    place(32, 2, 16);
    ck_assert_int_eq(jd__shm_levels_plan(where, 32, subgroups), 8);
    for (int i = 0; i < 32; i++)
        ck_assert_int_eq(subgroups[i], i % 16 / 2);
}
END_TEST

/* Five in each of three caches, and two in a fourth. */
START_TEST(what_is_left_of_a_node_is_not_alone)
{
    for (int i = 0; i < 17; i++)
        where[i] = (struct jd_shm_locality){ 0, i / 5, i };
    ck_assert_int_eq(jd__shm_levels_plan(where, 17, subgroups), 4);
    for (int i = 0; i < 4; i++)
        ck_assert_int_ge(count_in(17, i), 3);
}
END_TEST

/* Members that are bound to nothing, or are threads of one process. */
START_TEST(members_of_unknown_place_are_cut)
{
    for (int i = 0; i < 16; i++)
        where[i] = (struct jd_shm_locality){ -1, -1, i };
    ck_assert_int_eq(jd__shm_levels_plan(where, 16, subgroups), 4);
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(subgroups[i], i / 4);
}
END_TEST

START_TEST(who_is_too_scattered_meets_at_once)
{
    place(20, 20, 20);
    ck_assert_int_eq(jd__shm_levels_plan(where, 20, subgroups), 1);
    ck_assert_int_eq(subgroups[19], 0);
}
END_TEST

/* Any host: all are in one, none is empty, none long, none over two nodes. */
START_TEST(every_plan_is_a_partition)
{
    unsigned seed = (unsigned)_i;
    int size = 16 + rand_r(&seed) % (MOST - 16);
    int nodes = 1 + rand_r(&seed) % 4, each = 1 + rand_r(&seed) % 8;
    int nodes_of[MOST];
    for (int i = 0; i < size; i++) {
        int node = rand_r(&seed) % nodes;
        nodes_of[i] = node;
        where[i] =
            (struct jd_shm_locality){ node, node * each + rand_r(&seed) % each,
                                      i };
    }
    int count = jd__shm_levels_plan(where, size, subgroups);
    int total = 0, longest = 1;
    while (longest * longest < size)
        longest++;
    for (int i = 0; i < count; i++) {
        ck_assert_int_gt(count_in(size, i), 0);
        total += count_in(size, i);
    }
    ck_assert_int_eq(total, size);
    if (count > 1)
        ck_assert_int_le(largest(size, count), longest);
    for (int i = 0; i < size && count > 1; i++)
        for (int j = 0; j < i; j++)
            if (subgroups[i] == subgroups[j])
                ck_assert_int_eq(nodes_of[i], nodes_of[j]);
}
END_TEST

START_TEST(a_cut_is_in_runs)
{
    ck_assert_int_eq(jd__shm_levels_cut(7, 3, subgroups), 3);
    for (int i = 0; i < 7; i++)
        ck_assert_int_eq(subgroups[i], i / 3);
    ck_assert_int_eq(jd__shm_levels_cut(6, 6, subgroups), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shm_levels");
    TCase *plans = unit_case(suite, "plans");
    tcase_add_test(plans, a_small_group_meets_at_once);
    tcase_add_test(plans, members_of_a_cache_meet_first);
    tcase_add_test(plans, a_cache_of_many_is_cut_evenly);
    tcase_add_test(plans, small_caches_join_others_of_their_node);
    tcase_add_test(plans, what_is_left_of_a_node_is_not_alone);
    tcase_add_test(plans, members_of_unknown_place_are_cut);
    tcase_add_test(plans, who_is_too_scattered_meets_at_once);
    tcase_add_loop_test(plans, every_plan_is_a_partition, 0, 200);
    tcase_add_test(plans, a_cut_is_in_runs);
    return unit_main(suite);
}
