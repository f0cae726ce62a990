/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_topology.c - hosts, slices and devices out of records made by hand.
 * The program has its own list of platforms: gpu, the default, then cpu, and
 * one that nobody has.
 */
#include "tests/unit/job.h"

static const struct jd_device_source gpu = { .platform = "gpu" };
static const struct jd_device_source fpga = { .platform = "fpga" };
static const struct jd_device_source cpu = { .platform = "cpu" };

const struct jd_device_source *const jd__device_sources[] = { &gpu, &fpga, &cpu,
                                                              NULL };

static struct jd_topology *build_with(struct jd_records *records, int self,
                                      const char *platform)
{
    struct jd_topology *topology;
    records->self = self;
    UNIT_OK(jd__records_verify(records));
    UNIT_OK(jd__topology_build(records, platform, &topology));
    jd__records_destroy(records);
    jd__topology_list(topology);
    return topology;
}

/* The topology of these records, seen from this process. */
static struct jd_topology *build(struct jd_records *records, int self)
{
    return build_with(records, self, NULL);
}

/* ---- hosts and slices --------------------------------------------------- */

static void expect_process(const struct jd_topology *t, int index, int host,
                           int local_index, int slice)
{
    const struct jd_process_info *p = &t->processes[index];
    ck_assert_int_eq(p->index, index);
    ck_assert_int_eq(p->host, host);
    ck_assert_int_eq(p->local_index, local_index);
    ck_assert_int_eq(p->slice, slice);
}

START_TEST(hosts_are_grouped)
{
    struct jd_topology *t =
        build(JOB_RECORDS({ .id = 0 }, { .id = 1 }, { .id = 2, .host = "n2" },
                          { .id = 3, .host = "n2" }),
              0);
    ck_assert_int_eq(t->num_processes, 4);
    ck_assert_int_eq(t->num_hosts, 2);
    ck_assert_str_eq(jd__topology_host_name(t, 0), "n1");
    ck_assert_str_eq(jd__topology_text(t, t->hosts[0].boot_id), "boot");
    ck_assert_int_eq(t->hosts[0].num_processes, 2);
    ck_assert_str_eq(jd__topology_host_name(t, 1), "n2");
    ck_assert_int_eq(t->num_slices, 2);
    expect_process(t, 0, 0, 0, 0);
    expect_process(t, 1, 0, 1, 0);
    expect_process(t, 2, 1, 0, 1);
    expect_process(t, 3, 1, 1, 1);
    jd__topology_destroy(t);
}
END_TEST

START_TEST(hosts_may_be_interleaved)
{
    struct jd_topology *t =
        build(JOB_RECORDS({ .id = 0 }, { .id = 1, .host = "n2" }, { .id = 2 },
                          { .id = 3, .host = "n3" }, { .id = 4, .host = "n2" }),
              0);
    ck_assert_int_eq(t->num_hosts, 3);
    expect_process(t, 2, 0, 1, 0);
    expect_process(t, 3, 2, 0, 2);
    expect_process(t, 4, 1, 1, 1);
    jd__topology_destroy(t);
}
END_TEST

/* Two machines of one name, and one machine under two names. */
START_TEST(a_host_is_its_name_and_its_boot)
{
    struct jd_topology *t =
        build(JOB_RECORDS({ .id = 0 }, { .id = 1, .boot_id = "other" },
                          { .id = 2, .host = "pod" }, { .id = 3 }),
              0);
    ck_assert_int_eq(t->num_hosts, 3);
    expect_process(t, 1, 1, 0, 1);
    expect_process(t, 2, 2, 0, 2);
    expect_process(t, 3, 0, 1, 0);
    jd__topology_destroy(t);
}
END_TEST

START_TEST(slices_may_be_explicit)
{
    struct jd_topology *t =
        build(JOB_RECORDS({ .id = 0, .num_slices = 3, .slice_index = 2 },
                          { .id = 1, .num_slices = 3, .slice_index = 0 }),
              0);
    ck_assert_int_eq(t->num_slices, 3);
    ck_assert_int_eq(t->num_hosts, 1);
    expect_process(t, 0, 0, 0, 2);
    expect_process(t, 1, 0, 1, 0);
    ck_assert_int_eq(jd__topology_platform(t, "cpu")->devices[0]->slice_index,
                     2);
    jd__topology_destroy(t);
}
END_TEST

/* Each process may see another part of its host: the widest view counts. */
START_TEST(the_cores_of_a_host)
{
    struct jd_topology *t = build(JOB_RECORDS({ .id = 0, .host_cores = 2 },
                                              { .id = 1, .host_cores = 8 },
                                              { .id = 2, .host_cores = 4 }),
                                  0);
    ck_assert_int_eq(t->hosts[0].cores_allowed, 8);
    ck_assert_int_eq(t->processes[1].pid, 1001);
    ck_assert_str_eq(jd__topology_text(t, t->processes[1].program), "prog");
    jd__topology_destroy(t);
}
END_TEST

/* ---- devices ------------------------------------------------------------ */

static void expect_device(const struct jd_device_list *list, int index,
                          int process, int ordinal, const char *uuid)
{
    const jd_device *device = list->devices[index];
    ck_assert_int_eq(device->index, index);
    ck_assert_int_eq(device->id, (int64_t)process << 17 | ordinal);
    ck_assert_int_eq(device->process_index, process);
    ck_assert_int_eq(device->local_ordinal, ordinal);
    ck_assert_str_eq(device->platform, list->platform);
    ck_assert_str_eq(device->uuid, uuid);
}

/* Numbered per platform, by process, whatever order a process lists them in. */
START_TEST(devices_stand_by_platform_and_process)
{
    struct jd_topology *t =
        build(JOB_RECORDS({ .id = 1, .devices = "cgc", .host = "n2" },
                          { .id = 0, .devices = "ggc" }),
              1);
    ck_assert_int_eq(t->num_platforms, 2);
    ck_assert_str_eq(t->platforms[0].platform, "gpu");
    ck_assert_str_eq(t->platforms[1].platform, "cpu");
    const struct jd_device_list *g = jd__topology_platform(t, "gpu");
    const struct jd_device_list *c = jd__topology_platform(t, "cpu");
    ck_assert_int_eq(g->count, 3);
    expect_device(g, 0, 0, 0, "0-0");
    expect_device(g, 1, 0, 1, "0-1");
    expect_device(g, 2, 1, 0, "1-1");
    ck_assert_str_eq(g->devices[2]->host, "n2");
    ck_assert_int_eq(g->devices[2]->slice_index, 1);
    ck_assert_int_eq(c->count, 3);
    expect_device(c, 0, 0, 0, "0-2");
    expect_device(c, 1, 1, 0, "1-0");
    expect_device(c, 2, 1, 1, "1-2");
    ck_assert_int_eq(t->processes[1].num_devices, 3);
    jd__topology_destroy(t);
}
END_TEST

START_TEST(the_default_platform_stands_first)
{
    struct jd_topology *t =
        build_with(JOB_RECORDS({ .id = 0, .devices = "gc" }), 0, "cpu");
    ck_assert_int_eq(t->num_platforms, 2);
    ck_assert_str_eq(t->platforms[0].platform, "cpu");
    ck_assert_str_eq(t->platforms[1].platform, "gpu");
    ck_assert_int_eq(t->platforms[0].num_local, 1);
    jd__topology_destroy(t);
}
END_TEST

/* Those that a process only sees are nobody's here. */
START_TEST(unowned_devices_are_left_out)
{
    struct jd_records *records = JOB_RECORDS({ .id = 0, .devices = "ggc" });
    records->items[0]->num_devices = 1;
    records->items[0]->num_unowned = 2;
    struct jd_topology *t = build(records, 0);
    ck_assert_int_eq(t->num_platforms, 1);
    ck_assert_int_eq(t->num_devices, 1);
    ck_assert_int_eq(t->processes[0].num_devices, 1);
    jd__topology_destroy(t);
}
END_TEST

/* records->self is a rank before verify: process 1 is rank 0 here. */
START_TEST(local_devices_are_ones_own)
{
    struct jd_topology *t = build(JOB_RECORDS({ .id = 1, .devices = "cgc" },
                                              { .id = 0, .devices = "ggc" }),
                                  0);
    const struct jd_device_list *g = jd__topology_platform(t, "gpu");
    const struct jd_device_list *c = jd__topology_platform(t, "cpu");
    ck_assert_int_eq(g->num_local, 1);
    ck_assert_ptr_eq(g->local[0], g->devices[2]);
    ck_assert_int_eq(c->num_local, 2);
    ck_assert_ptr_eq(c->local[0], c->devices[1]);
    ck_assert_ptr_eq(c->local[1], c->devices[2]);
    jd__topology_destroy(t);
}
END_TEST

/* A platform that only others have is there, with no local device. */
START_TEST(a_platform_may_be_elsewhere)
{
    struct jd_topology *t =
        build(JOB_RECORDS({ .id = 0 }, { .id = 1, .devices = "g" }), 0);
    ck_assert_int_eq(jd__topology_platform(t, "gpu")->count, 1);
    ck_assert_int_eq(jd__topology_platform(t, "gpu")->num_local, 0);
    ck_assert_int_eq(jd__topology_platform(t, "cpu")->num_local, 1);
    ck_assert_ptr_null(jd__topology_platform(t, "fpga"));
    jd__topology_destroy(t);
}
END_TEST

START_TEST(a_platform_that_nobody_has_is_not_there)
{
    struct jd_topology *t = build(JOB_RECORDS({ .id = 0 }, { .id = 1 }), 0);
    ck_assert_int_eq(t->num_platforms, 1);
    ck_assert_str_eq(t->platforms[0].platform, "cpu");
    ck_assert_ptr_null(jd__topology_platform(t, "gpu"));
    jd__topology_destroy(t);
    jd__topology_destroy(NULL);
}
END_TEST

/* ---- what is uneven ----------------------------------------------------- */

static void expect_uneven(struct jd_records *records, const char *expected)
{
    char text[512];
    struct jd_topology *t = build(records, 0);
    jd__topology_describe_uneven(t, text, sizeof text);
    ck_assert_str_eq(text, expected);
    char *small = malloc(8); /* cut, and not written past its end */
    jd__topology_describe_uneven(t, small, 8);
    ck_assert_uint_le(strlen(small), 7);
    ck_assert_int_eq(strncmp(small, expected, 7), 0);
    free(small);
    jd__topology_destroy(t);
}

START_TEST(even_is_silent)
{
    expect_uneven(JOB_RECORDS({ .id = 0 }), "");
    expect_uneven(JOB_RECORDS({ .id = 0, .devices = "ggc" },
                              { .id = 1, .devices = "cgg", .host = "n2" }),
                  "");
}
END_TEST

#define THREE_AND_TWO                                                          \
    "process 0 has 3 devices and process 2 has 2: meshes over all devices "    \
    "work, but the work per process is uneven"

START_TEST(numbers_may_differ)
{
    expect_uneven(JOB_RECORDS({ .id = 0, .devices = "ccc" },
                              { .id = 1, .devices = "ccc" },
                              { .id = 2, .devices = "cc" }, { .id = 3 }),
                  THREE_AND_TWO);
}
END_TEST

#define GPU_KINDS                                                              \
    "process 0 on n1 has \"A100\" and process 1 on n2 has \"H100\": the "      \
    "slowest device sets the pace of a collective"

START_TEST(kinds_may_differ)
{
    expect_uneven(
        JOB_RECORDS({ .id = 0, .devices = "g", .kind = "A100" },
                    { .id = 1, .devices = "g", .kind = "H100", .host = "n2" }),
        GPU_KINDS);
}
END_TEST

/* A cpu is no other kind of gpu. */
START_TEST(kinds_are_those_of_one_platform)
{
    expect_uneven(JOB_RECORDS({ .id = 0, .devices = "g", .kind = "A100" },
                              { .id = 1, .devices = "c", .kind = "Xeon" }),
                  "");
}
END_TEST

START_TEST(all_that_is_uneven_is_said)
{
    expect_uneven(JOB_RECORDS({ .id = 0, .devices = "ggc", .kind = "A100" },
                              { .id = 1, .devices = "ggc", .kind = "A100" },
                              { .id = 2, .devices = "gc", .kind = "H100" }),
                  THREE_AND_TWO
                  "; process 0 on n1 has \"A100\" and process 2 on n1 has "
                  "\"H100\": the slowest device sets the pace of a collective; "
                  "process 0 on n1 has \"A100\" and process 2 on n1 has "
                  "\"H100\": the slowest device sets the pace of a collective");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("topology");
    TCase *hosts = unit_case(suite, "hosts");
    tcase_add_test(hosts, hosts_are_grouped);
    tcase_add_test(hosts, hosts_may_be_interleaved);
    tcase_add_test(hosts, a_host_is_its_name_and_its_boot);
    tcase_add_test(hosts, slices_may_be_explicit);
    tcase_add_test(hosts, the_cores_of_a_host);
    TCase *devices = unit_case(suite, "devices");
    tcase_add_test(devices, devices_stand_by_platform_and_process);
    tcase_add_test(devices, the_default_platform_stands_first);
    tcase_add_test(devices, unowned_devices_are_left_out);
    tcase_add_test(devices, local_devices_are_ones_own);
    tcase_add_test(devices, a_platform_may_be_elsewhere);
    tcase_add_test(devices, a_platform_that_nobody_has_is_not_there);
    TCase *uneven = unit_case(suite, "uneven");
    tcase_add_test(uneven, even_is_silent);
    tcase_add_test(uneven, numbers_may_differ);
    tcase_add_test(uneven, kinds_may_differ);
    tcase_add_test(uneven, kinds_are_those_of_one_platform);
    tcase_add_test(uneven, all_that_is_uneven_is_said);
    return unit_main(suite);
}
