/* SPDX-License-Identifier: BSD-3-Clause */
/* test_host.c - facts of this host, and of one that hwloc plays. */
#include "runtime/topology/host.h"
#include "tests/unit/unit.h"

#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int count_own_threads(void)
{
    cpu_set_t set;
    ck_assert_int_eq(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

START_TEST(the_process_is_this_one)
{
    struct jd_local_facts facts;
    struct stat namespace;
    char host[72] = "";
    UNIT_OK(jd__host_discover(&facts));
    gethostname(host, sizeof host - 1);
    ck_assert_str_eq(facts.host, host);
    ck_assert_int_eq(facts.pid, getpid());
    ck_assert_str_eq(facts.program, "test_host");
    ck_assert_int_eq(stat("/proc/self/ns/pid", &namespace), 0);
    ck_assert_uint_eq(facts.pid_namespace, namespace.st_ino);
    if (access("/proc/sys/kernel/random/boot_id", R_OK) == 0)
        ck_assert_uint_eq(strlen(facts.boot_id), 36);
    else
        ck_assert_str_eq(facts.boot_id, "");
}
END_TEST

START_TEST(the_host_is_plausible)
{
    struct jd_local_facts facts;
    UNIT_OK(jd__host_discover(&facts));
    ck_assert_int_ge(facts.num_numa_nodes, 1);
    ck_assert_int_ge(facts.num_cores, 1);
    ck_assert_int_ge(facts.num_threads, facts.num_cores);
    ck_assert_int_ge(facts.num_threads, facts.host_cores_allowed);
    ck_assert_int_ge(facts.host_cores_allowed, facts.cores_allowed);
    ck_assert_int_eq(facts.cores_allowed, count_own_threads());
    ck_assert_int_lt(facts.numa_node, facts.num_numa_nodes);
    ck_assert_uint_gt(facts.memory_bytes, 1 << 20);
    ck_assert_str_ne(facts.cpu_model, "");
}
END_TEST

/* A process bound to one thread has that one; its host keeps the others. */
START_TEST(a_bound_process_has_its_own_cores)
{
    struct jd_local_facts before, after;
    cpu_set_t set, one;
    char expected[16];
    int last = 0;
    UNIT_OK(jd__host_discover(&before));
    ck_assert_int_eq(sched_getaffinity(0, sizeof set, &set), 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        last = CPU_ISSET(i, &set) ? i : last;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    UNIT_OK(jd__host_discover(&after));
    snprintf(expected, sizeof expected, "%d", last);
    ck_assert_str_eq(after.cores, expected);
    ck_assert_int_eq(after.cores_allowed, 1);
    ck_assert_int_ge(after.numa_node, 0);
    ck_assert_int_eq(after.host_cores_allowed, before.host_cores_allowed);
    ck_assert_int_eq(after.num_threads, before.num_threads);
}
END_TEST

/* Where hwloc plays another machine, binding means nothing: all is allowed. */
static struct jd_local_facts discover_synthetic(const char *description)
{
    struct jd_local_facts facts;
    UNIT_OK(jd__env_export("HWLOC_SYNTHETIC", description));
    UNIT_OK(jd__host_discover(&facts));
    return facts;
}

START_TEST(packages_nodes_and_caches_are_counted)
{
    struct jd_local_facts facts = discover_synthetic(
        "pack:2 [numa] l3:1(size=33554432) l2:4(size=1572864) "
        "l1d:1(size=49152) core:1 pu:2");
    ck_assert_int_eq(facts.num_packages, 2);
    ck_assert_int_eq(facts.num_numa_nodes, 2);
    ck_assert_int_eq(facts.num_cores, 8);
    ck_assert_int_eq(facts.num_threads, 16);
    ck_assert_int_eq(facts.cores_allowed, 16);
    ck_assert_int_eq(facts.host_cores_allowed, 16);
    ck_assert_str_eq(facts.cores, "0-15");
    ck_assert_str_eq(facts.caches, "L1d 48 KiB, L2 1536 KiB, L3 32 MiB");
    ck_assert_int_eq(facts.numa_node, -1);
    ck_assert_str_eq(facts.cpu_model, "unknown");
}
END_TEST

START_TEST(one_node_and_no_cache)
{
    struct jd_local_facts facts = discover_synthetic("numa:1 core:3 pu:1");
    ck_assert_int_eq(facts.num_packages, 0);
    ck_assert_int_eq(facts.num_numa_nodes, 1);
    ck_assert_int_eq(facts.numa_node, 0);
    ck_assert_int_eq(facts.num_cores, 3);
    ck_assert_str_eq(facts.caches, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host");
    TCase *here = unit_case(suite, "here");
    tcase_add_test(here, the_process_is_this_one);
    tcase_add_test(here, the_host_is_plausible);
    tcase_add_test(here, a_bound_process_has_its_own_cores);
    TCase *played = unit_case(suite, "played");
    tcase_add_test(played, packages_nodes_and_caches_are_counted);
    tcase_add_test(played, one_node_and_no_cache);
    return unit_main(suite);
}
