/* SPDX-License-Identifier: BSD-3-Clause */
/* test_reach.c - who forms a group with whom, from who sees whom. */
#include "collectives/cpu/reach.h"
#include "collectives/mesh/layout.h"
#include "tests/unit/unit.h"

enum { MOST = 12 };

static unsigned char rows[MOST * 2];
static int num_processes;

static void see(int process, int other)
{
    size_t bytes = jd__reach_bytes(num_processes);
    jd__reach_add(rows + (size_t)process * bytes, other);
}

/* All see all of the same letter. */
static void see_hosts(const char *hosts)
{
    num_processes = (int)strlen(hosts);
    memset(rows, 0, sizeof rows);
    for (int i = 0; i < num_processes; i++)
        for (int j = 0; j < num_processes; j++)
            if (hosts[i] == hosts[j])
                see(i, j);
}

static void blind(int process, int other)
{
    size_t bytes = jd__reach_bytes(num_processes);
    rows[(size_t)process * bytes + (size_t)other / 8] &=
        (unsigned char)~(1 << other % 8);
}

/* The groups as letters, the first one 'a'. */
static void expect_groups(const char *expected)
{
    int groups[MOST];
    char text[MOST + 1] = "";
    jd__reach_derive(rows, num_processes, groups);
    for (int i = 0; i < num_processes; i++)
        text[i] = (char)('a' + groups[i]);
    ck_assert_str_eq(text, expected);
}

START_TEST(hosts_are_groups)
{
    see_hosts("x");
    expect_groups("a");
    see_hosts("xxxx");
    expect_groups("aaaa");
    see_hosts("xyxyz");
    expect_groups("ababc");
    see_hosts("xxxxxxxxxyyx");
    expect_groups("aaaaaaaaabba");
}
END_TEST

/* Who does not see itself is a group all the same. */
START_TEST(the_blind_are_alone)
{
    see_hosts("xyz");
    memset(rows, 0, sizeof rows);
    expect_groups("abc");
}
END_TEST

START_TEST(sight_is_mutual_or_none)
{
    see_hosts("xxxx");
    blind(2, 0);
    expect_groups("aaba"); /* 2 does not see 0 */
    see_hosts("xxxx");
    blind(0, 2);
    expect_groups("aaba");
    see_hosts("xxxx");
    blind(1, 2);
    blind(3, 0);
    expect_groups("aabb"); /* 3 joins the first that has no quarrel with it */
}
END_TEST

START_TEST(a_group_may_have_more_in_common)
{
    int groups[] = { 0, 0, 1, 0, 1 };
    see_hosts("xxxxx");
    ck_assert(jd__reach_is_mutual(rows, num_processes, groups, 0));
    blind(1, 3);
    ck_assert(!jd__reach_is_mutual(rows, num_processes, groups, 0));
    ck_assert(jd__reach_is_mutual(rows, num_processes, groups, 1));
    see(1, 3);
    blind(4, 2);
    ck_assert(jd__reach_is_mutual(rows, num_processes, groups, 0));
    ck_assert(!jd__reach_is_mutual(rows, num_processes, groups, 1));
}
END_TEST

/* ---- layouts ------------------------------------------------------------ */

/* Each a process and a local ordinal. */
static const struct {
    int process, ordinal;
} places[] = { { 3, 1 }, { 0, 0 }, { 3, 0 }, { 5, 2 }, { 0, 4 }, { 3, 2 } };

enum { PLACES = sizeof places / sizeof *places };

static jd_device devices[PLACES];
static const jd_device *members[PLACES];

static struct jd_layout *layout_of(int index)
{
    static struct jd_runtime runtime = { .world = { .count = 6 } };
    struct jd_comm_spec spec = {
        .runtime = &runtime,
        .members = members,
        .size = PLACES,
        .index = index,
        .operation = "jd_psum",
    };
    struct jd_layout *layout;
    for (int i = 0; i < PLACES; i++) {
        devices[i].process_index = places[i].process;
        devices[i].local_ordinal = places[i].ordinal;
        members[i] = &devices[i];
    }
    UNIT_OK(jd__layout_create(&spec, &layout));
    return layout;
}

static void expect_numbers(const int *numbers, int count, const char *expected)
{
    char text[64] = "";
    for (int i = 0; i < count; i++)
        text[i] = (char)('0' + numbers[i]);
    ck_assert_str_eq(text, expected);
}

START_TEST(processes_come_in_the_order_of_their_members)
{
    struct jd_layout *layout = layout_of(2);
    ck_assert_int_eq(layout->size, PLACES);
    ck_assert_int_eq(layout->num_processes, 3);
    ck_assert_int_eq(layout->most, 3);
    expect_numbers(layout->processes, 3, "305");
    expect_numbers(layout->counts, 3, "321");
    expect_numbers(layout->lowest, 3, "002");
    expect_numbers(layout->owners, PLACES, "010210");
    expect_numbers(layout->numbers, PLACES, "001012");
    jd__layout_destroy(layout);
}
END_TEST

START_TEST(a_layout_knows_its_own)
{
    struct jd_layout *layout = layout_of(5);
    ck_assert_int_eq(layout->self, 0);
    expect_numbers(layout->devices, 3, "102");
    expect_numbers(layout->members, 3, "025");
    jd__layout_destroy(layout);
    layout = layout_of(1);
    ck_assert_int_eq(layout->self, 1);
    expect_numbers(layout->devices, 2, "04");
    expect_numbers(layout->members, 2, "14");
    jd__layout_destroy(layout);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("groups");
    TCase *groups = unit_case(suite, "groups");
    tcase_add_test(groups, hosts_are_groups);
    tcase_add_test(groups, the_blind_are_alone);
    tcase_add_test(groups, sight_is_mutual_or_none);
    tcase_add_test(groups, a_group_may_have_more_in_common);
    TCase *layouts = unit_case(suite, "layouts");
    tcase_add_test(layouts, processes_come_in_the_order_of_their_members);
    tcase_add_test(layouts, a_layout_knows_its_own);
    return unit_main(suite);
}
