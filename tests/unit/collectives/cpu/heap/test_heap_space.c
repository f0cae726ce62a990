/* SPDX-License-Identifier: BSD-3-Clause */
/* test_heap_space.c - what limits memory, over a made-up root. */
#include "collectives/cpu/heap/heap_space.h"
#include "tests/unit/heap_use.h"
#include "tests/unit/fake_root.h"
#include "tests/unit/unit.h"

#include <inttypes.h>
#include <stdio.h>

#define KI ((uint64_t)1 << 10)
#define MI ((uint64_t)1 << 20)
#define GI ((uint64_t)1 << 30)

static jd_status check(uint64_t bytes, uint64_t taken)
{
    struct jd_space_request request = {
        .operation = "test",
        .root = root,
        .file = -1,
        .bytes = bytes,
        .taken = taken,
    };
    return jd__heap_space_check(&request, NULL);
}

/* All of what can be had is granted, and a byte more is this sentence, %s
 * standing for the root. */
static void expect_left(uint64_t left, const char *why)
{
    char format[1024], sentence[1024];
    snprintf(format, sizeof format,
             "test: %" PRIu64 " bytes of memory are needed and %" PRIu64
             " can be had: %s",
             left + 1, left, why);
    const char *at = strstr(format, "ROOT");
    snprintf(sentence, sizeof sentence, "%.*s%s%s", (int)(at - format), format,
             root, at + strlen("ROOT"));
    UNIT_OK(check(left, 0));
    UNIT_FAILS(check(left + 1, 0), JD_RESOURCE_EXHAUSTED, sentence);
}

/* 8 GiB, of which 4 GiB are available. */
static void put_host(void)
{
    put("/proc/meminfo", "MemTotal:        8388608 kB\n"
                         "MemFree:         1048576 kB\n"
                         "MemAvailable:    4194304 kB\n"
                         "CommitLimit:     2097152 kB\n"
                         "Committed_AS:    1048576 kB\n");
}

static void put_number(const char *path, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64 "\n", value);
    put(path, text);
}

/* ---- the host ----------------------------------------------------------- */

START_TEST(where_nothing_says_anything_all_is_granted)
{
    UNIT_OK(check(UINT64_MAX, 0));
}
END_TEST

START_TEST(available_memory_is_a_limit)
{
    put_host();
    /* A 64th of 8 GiB and 16 MiB are kept back. */
    expect_left(4 * GI - 144 * MI,
                "MemAvailable in ROOT/proc/meminfo is 4294967296, of which "
                "150994944 are kept back; allocate less, or free memory on "
                "this host");
}
END_TEST

START_TEST(what_is_taken_already_counts)
{
    put_host();
    UNIT_OK(check(8 * GI, 5 * GI));
    ck_assert_int_eq(check(8 * GI, 4 * GI), JD_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(jd_error_message(),
                                 "8589934592 bytes of memory are needed and "
                                 "8438939648 can be had"));
}
END_TEST

START_TEST(promises_count_where_the_kernel_keeps_them)
{
    put_host();
    put("/proc/sys/vm/overcommit_memory", "0\n");
    UNIT_OK(check(2 * GI, 0));
    put("/proc/sys/vm/overcommit_memory", "2\n");
    expect_left(GI, "vm.overcommit_memory is 2, and CommitLimit in "
                    "ROOT/proc/meminfo is 2147483648, of which 1073741824 are "
                    "promised; allocate less, or free memory on this host, or "
                    "raise vm.overcommit_ratio");
}
END_TEST

/* ---- NUMA nodes --------------------------------------------------------- */

#define NODE "/sys/devices/system/node/"

/* Four nodes of 2 GiB, the last without memory. */
static void put_nodes(const char *allowed)
{
    char text[128];
    put_host();
    snprintf(text, sizeof text, "Name:\ttest\nMems_allowed_list:\t%s\n",
             allowed);
    put("/proc/self/status", text);
    put(NODE "has_memory", "0-2\n");
    for (int i = 0; i < 3; i++) {
        char path[64], facts[512];
        snprintf(path, sizeof path, NODE "node%d/meminfo", i);
        snprintf(facts, sizeof facts,
                 "Node %d MemTotal:  2097152 kB\nNode %d MemFree:  524288 kB\n"
                 "Node %d Active(anon): 7 kB\nNode %d Active(file): 1024 kB\n"
                 "Node %d Inactive(file): 2048 kB\n",
                 i, i, i, i, i);
        put(path, facts);
    }
}

START_TEST(nodes_to_which_a_process_is_held_are_a_limit)
{
    put_nodes("0-3");
    UNIT_OK(check(4 * GI - 144 * MI, 0)); /* the host's */
    put_nodes("0,2-3");
    UNIT_OK(check(2 * (512 + 3) * MI - 80 * MI, 0));
    UNIT_FAILS(check(2 * (512 + 3) * MI - 80 * MI + 1, 0),
               JD_RESOURCE_EXHAUSTED,
               "test: 996147201 bytes of memory are needed and 996147200 can "
               "be had: the NUMA nodes that this process is held to "
               "(Mems_allowed_list in /proc/self/status, numactl --show) have "
               "1080033280, of which 83886080 are kept back; allocate less, "
               "or let it use more of them");
}
END_TEST

/* ---- control groups ----------------------------------------------------- */

#define JOB "/sys/fs/cgroup/system.slice/job_7"

/* Version 2, the process in /system.slice/job_7/step_0. */
static void put_version_2(void)
{
    put_host();
    put("/proc/self/cgroup", "0::/system.slice/job_7/step_0\n");
    put("/proc/self/mountinfo",
        "23 1 0:21 / /proc rw,relatime - proc proc rw\n"
        "32 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
    put(JOB "/step_0/memory.max", "max\n");
    put(JOB "/step_0/memory.high", "max\n");
    put(JOB "/step_0/memory.stat", "anon 7\ninactive_file 0\n");
    put_number(JOB "/step_0/memory.current", 100 * MI);
    put(JOB "/memory.max", "max\n");
    put_number(JOB "/memory.current", 256 * MI);
    put(JOB "/memory.stat", "anon 134217728\nfile 134217728\n"
                            "inactive_file 67108864\nactive_file 33554432\n");
}

START_TEST(a_group_above_limits)
{
    put_version_2();
    UNIT_OK(check(4 * GI - 144 * MI, 0)); /* the host's, so far */
    put_number(JOB "/memory.max", GI);
    /* In use are 256 MiB without the file cache of 64 and 32. */
    expect_left(GI - 160 * MI - 32 * MI,
                "ROOT" JOB "/memory.max allows 1073741824, of which 167772160 "
                "are in use and 33554432 are kept back; allocate less, or ask "
                "for more memory for this job (Slurm: --mem)");
}
END_TEST

START_TEST(the_tightest_group_is_named)
{
    put_version_2();
    put_number(JOB "/memory.max", GI);
    put_number(JOB "/step_0/memory.max", 512 * MI);
    expect_left(512 * MI - 100 * MI - 24 * MI,
                "ROOT" JOB "/step_0/memory.max allows 536870912, of which "
                "104857600 are in use and 25165824 are kept back; allocate "
                "less, or ask for more memory for this job (Slurm: --mem)");
    put_number(JOB "/step_0/memory.high", 256 * MI);
    ck_assert_int_eq(check(MI * 137, 0), JD_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(
        strstr(jd_error_message(), JOB "/step_0/memory.high allows 268435456"));
}
END_TEST

START_TEST(a_full_group_leaves_nothing)
{
    put_version_2();
    put_number(JOB "/memory.max", 64 * MI);
    expect_left(0, "ROOT" JOB "/memory.max allows 67108864, of which "
                   "167772160 are in use and 17825792 are kept back; allocate "
                   "less, or ask for more memory for this job (Slurm: --mem)");
}
END_TEST

/* A container's group is mounted where the hierarchy begins for it. */
START_TEST(a_container_sees_its_own_group)
{
    put_host();
    put("/proc/self/cgroup", "0::/\n");
    put("/proc/self/mountinfo",
        "32 23 0:28 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    put_number("/sys/fs/cgroup/memory.max", GI);
    put_number("/sys/fs/cgroup/memory.current", 0);
    expect_left(GI - 32 * MI,
                "ROOT/sys/fs/cgroup/memory.max allows 1073741824, of which 0 "
                "are in use and 33554432 are kept back; allocate less, or ask "
                "for more memory for this job (Slurm: --mem)");
}
END_TEST

/* Version 1, whose controllers have a hierarchy each. */
static void put_version_1(const char *mounted, const char *group)
{
    char text[512];
    put_host();
    snprintf(text, sizeof text, "5:cpu,cpuacct:/\n4:hugetlb,memory:%s\n0::/\n",
             group);
    put("/proc/self/cgroup", text);
    snprintf(text, sizeof text,
             "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup "
             "rw,cpu,cpuacct\n"
             "35 31 0:32 %s /sys/fs/cgroup/memory rw - cgroup cgroup "
             "rw,hugetlb,memory\n"
             "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
             mounted);
    put("/proc/self/mountinfo", text);
}

static void put_group_1(const char *folder, uint64_t limit)
{
    char path[256];
    snprintf(path, sizeof path, "%s/memory.limit_in_bytes", folder);
    put_number(path, limit);
    snprintf(path, sizeof path, "%s/memory.usage_in_bytes", folder);
    put_number(path, 100 * MI);
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    put(path, "inactive_file 0\ntotal_inactive_file 10485760\n"
              "total_active_file 1048576\n");
}

START_TEST(version_1_limits_too)
{
    put_version_1("/", "/slurm/job_7");
    put_group_1("/sys/fs/cgroup/memory/slurm/job_7", 9223372036854771712u);
    UNIT_OK(check(4 * GI - 144 * MI, 0));
    put_group_1("/sys/fs/cgroup/memory/slurm", GI);
    expect_left(GI - 89 * MI - 32 * MI,
                "ROOT/sys/fs/cgroup/memory/slurm/memory.limit_in_bytes allows "
                "1073741824, of which 93323264 are in use and 33554432 are "
                "kept back; allocate less, or ask for more memory for this "
                "job (Slurm: --mem)");
}
END_TEST

/* Only a part of the hierarchy is mounted. */
START_TEST(a_mounted_part_is_found)
{
    put_version_1("/docker/abc", "/docker/abc/inner");
    put_group_1("/sys/fs/cgroup/memory/inner", GI);
    UNIT_OK(check(GI - 89 * MI - 32 * MI, 0));
    ck_assert_int_eq(check(GI - 89 * MI - 32 * MI + 1, 0),
                     JD_RESOURCE_EXHAUSTED);
}
END_TEST

START_TEST(a_group_elsewhere_is_the_mounted_one)
{
    put_version_1("/docker/abc", "/docker/abcdef");
    put_group_1("/sys/fs/cgroup/memory", GI);
    ck_assert_int_eq(check(GI - 89 * MI - 32 * MI + 1, 0),
                     JD_RESOURCE_EXHAUSTED);
    UNIT_OK(check(GI - 89 * MI - 32 * MI, 0));
}
END_TEST

/* ---- in a heap ---------------------------------------------------------- */

static jd_status alloc(struct jd_heap *heap, size_t bytes, void **ret_memory)
{
    return jd__heap_alloc(heap,
                          &(struct jd_heap_request){ .operation = "test",
                                                     .bytes = bytes,
                                                     .numa_node = -1 },
                          ret_memory);
}

START_TEST(too_little_takes_nothing)
{
    struct jd_heap_spec spec = { .root = root, .size = 256 * MI };
    struct jd_heap *heap;
    void *memory = NULL;
    size_t bytes, count;
    put_version_2();
    put_number(JOB "/memory.max", 64 * MI + 160 * MI + 32 * MI);
    UNIT_OK(jd__heap_create(&spec, "test", &heap));
    uint64_t before = file_bytes(heap);
    ck_assert_int_eq(alloc(heap, 80 * MI, &memory), JD_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(jd_error_message(),
                                 "test: 83886080 bytes of memory are needed "
                                 "and 79691776 can be had: "));
    ck_assert_ptr_null(memory);
    ck_assert_uint_eq(file_bytes(heap), before);
    UNIT_OK(alloc(heap, 76 * MI, &memory));
    ck_assert_int_eq(alloc(heap, 76 * MI + 1, &memory), JD_RESOURCE_EXHAUSTED);
    ck_assert(jd__heap_free(heap, memory));
    ck_assert_uint_eq(file_bytes(heap), before);
    jd__heap_usage(heap, &bytes, &count);
    ck_assert_uint_eq(bytes + count, 0);
    jd__heap_destroy(heap);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena space");
    TCase *tcase = unit_case(suite, "host");
    tcase_add_checked_fixture(tcase, make_root, remove_root);
    tcase_add_test(tcase, where_nothing_says_anything_all_is_granted);
    tcase_add_test(tcase, available_memory_is_a_limit);
    tcase_add_test(tcase, what_is_taken_already_counts);
    tcase_add_test(tcase, promises_count_where_the_kernel_keeps_them);
    tcase_add_test(tcase, nodes_to_which_a_process_is_held_are_a_limit);
    tcase = unit_case(suite, "control groups");
    tcase_add_checked_fixture(tcase, make_root, remove_root);
    tcase_add_test(tcase, a_group_above_limits);
    tcase_add_test(tcase, the_tightest_group_is_named);
    tcase_add_test(tcase, a_full_group_leaves_nothing);
    tcase_add_test(tcase, a_container_sees_its_own_group);
    tcase_add_test(tcase, version_1_limits_too);
    tcase_add_test(tcase, a_mounted_part_is_found);
    tcase_add_test(tcase, a_group_elsewhere_is_the_mounted_one);
    tcase = unit_case(suite, "arena");
    tcase_add_checked_fixture(tcase, make_root, remove_root);
    tcase_add_test(tcase, too_little_takes_nothing);
    return unit_main(suite);
}
