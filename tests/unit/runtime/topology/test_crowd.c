/* SPDX-License-Identifier: BSD-3-Clause */
/* test_crowd.c - which processes share processors, in jobs made by hand. */
#include "runtime/topology/crowd.h"
#include "tests/unit/job.h"

static const struct jd_device_source cpu = { .platform = "cpu" };

const struct jd_device_source *const jd__device_sources[] = { &cpu, NULL };

/* Of the first so many processes. */
static bool is_crowded(struct jd_records *records, int count)
{
    static const int processes[] = { 0, 1, 2, 3, 4, 5 };
    struct jd_topology *topology;
    bool found;
    records->self = 0;
    UNIT_OK(jd__records_verify(records));
    UNIT_OK(jd__topology_build(records, NULL, &topology));
    jd__records_destroy(records);
    UNIT_OK(jd__crowd_find(topology, processes, count, "jd_psum", &found));
    jd__topology_destroy(topology);
    return found;
}

START_TEST(more_processes_than_threads_are_a_crowd)
{
    for (int count = 1; count <= 3; count++)
        ck_assert_int_eq(is_crowded(JOB_RECORDS({ .id = 0, .host_cores = 2 },
                                                { .id = 1, .host_cores = 2 },
                                                { .id = 2, .host_cores = 2 }),
                                    count),
                         count > 2);
}
END_TEST

/* Containers that have processors of their own, and such that share all. */
START_TEST(hosts_of_one_boot_are_one_machine)
{
    for (int threads = 2; threads <= 8; threads++)
        ck_assert_int_eq(
            is_crowded(
                JOB_RECORDS(
                    { .id = 0, .host_cores = 2, .host_threads = threads },
                    { .id = 1,
                      .host = "b",
                      .host_cores = 2,
                      .host_threads = threads },
                    { .id = 2 }, { .id = 3, .host = "b" }),
                4),
            threads < 4);
    ck_assert(is_crowded(JOB_RECORDS({ .id = 0, .host_cores = 1 },
                                     { .id = 1, .host = "b", .host_cores = 1 },
                                     { .id = 2 }),
                         3));
}
END_TEST

START_TEST(other_boots_are_other_machines)
{
    for (int same = 0; same < 2; same++)
        ck_assert_int_eq(
            is_crowded(JOB_RECORDS({ .id = 0, .host_cores = 1 },
                                   { .id = 1,
                                     .boot_id = "other",
                                     .host_cores = 1,
                                     .host_threads = 1 },
                                   { .id = 2,
                                     .host = "c",
                                     .boot_id = same ? "other" : "third",
                                     .host_cores = 1,
                                     .host_threads = 1 }),
                       3),
            same);
}
END_TEST

/* Of which nothing is known: each host may be a machine of its own, and have
 * any number of threads. */
START_TEST(what_is_not_known_is_no_crowd)
{
    ck_assert(!is_crowded(
        JOB_RECORDS(
            { .id = 0, .boot_id = "", .host_cores = 1, .host_threads = 1 },
            { .id = 1,
              .boot_id = "",
              .host = "b",
              .host_cores = 1,
              .host_threads = 1 }),
        2));
    ck_assert(
        is_crowded(JOB_RECORDS({ .id = 0, .boot_id = "", .host_cores = 1 },
                               { .id = 1, .boot_id = "", .host_cores = 1 }),
                   2));
    ck_assert(!is_crowded(JOB_RECORDS({ .id = 0, .host_cores = 1 }, { .id = 1 },
                                      { .id = 2, .host = "b" }),
                          3));
    ck_assert(!is_crowded(JOB_RECORDS({ .id = 0 }, { .id = 1 }), 2));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("crowd");
    TCase *cases = unit_case(suite, "crowd");
    tcase_add_test(cases, more_processes_than_threads_are_a_crowd);
    tcase_add_test(cases, hosts_of_one_boot_are_one_machine);
    tcase_add_test(cases, other_boots_are_other_machines);
    tcase_add_test(cases, what_is_not_known_is_no_crowd);
    return unit_main(suite);
}
