/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_own_record.c - what a process says of itself. The program has platforms
 * of its own: gpu, whose devices and failures the tests choose, then cpu.
 */
#include "runtime/topology/own_record.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static int num_gpus, num_asked;
static const char *why_none = "no driver";
static jd_status gpu_status;

static jd_status find_gpus(const struct jd_settings *settings,
                           const struct jd_host_facts *host,
                           struct jd_found_devices *found)
{
    (void)settings, (void)host;
    num_asked++;
    if (gpu_status != JD_OK)
        return jd_fail(gpu_status, "the driver has failed");
    found->items = calloc((size_t)num_gpus + 1, sizeof *found->items);
    found->count = num_gpus;
    snprintf(found->why_none, sizeof found->why_none, "%s", why_none);
    found->is_fault = num_gpus == 0;
    for (int i = 0; i < num_gpus; i++) {
        found->items[i].native = i;
        snprintf(found->items[i].uuid, sizeof found->items[i].uuid, "GPU-%d",
                 i);
    }
    return JD_OK;
}

static jd_status find_cpus(const struct jd_settings *settings,
                           const struct jd_host_facts *host,
                           struct jd_found_devices *found)
{
    found->count =
        (int)jd__options_integer(settings, JD_OPTION_NUM_CPU_DEVICES);
    found->items = calloc((size_t)found->count, sizeof *found->items);
    for (int i = 0; i < found->count; i++)
        snprintf(found->items[i].kind, sizeof found->items[i].kind, "%s",
                 host->cpu_model);
    return JD_OK;
}

static const struct jd_device_source gpu = { .platform = "cuda",
                                             .enumerate = find_gpus };
static const struct jd_device_source cpu = { .platform = "cpu",
                                             .enumerate = find_cpus };
const struct jd_device_source *const jd__device_sources[] = { &gpu, &cpu,
                                                              NULL };

static jd_status create(const char *variables, struct jd_record **ret_record)
{
    static const struct jd_local_facts facts = { .host = "n1",
                                                 .cpu_model = "Xeon" };
    struct jd_settings *settings;
    struct jd_env *env = unit_env(variables);
    UNIT_OK(jd__options_resolve(env, NULL, 0, &settings));
    jd__env_destroy(env);
    num_asked = 0;
    jd_status status = jd__own_record_create(settings, &facts, ret_record);
    jd__options_destroy(settings);
    return status;
}

START_TEST(it_has_the_devices_of_all_platforms)
{
    struct jd_record *r;
    num_gpus = 2;
    UNIT_OK(create("JD_NUM_CPU_DEVICES=3\n", &r));
    ck_assert_int_eq(r->num_devices, 5);
    ck_assert_int_eq(r->num_unowned, 0);
    ck_assert_str_eq(r->devices[1].platform, "cuda");
    ck_assert_str_eq(r->devices[1].device.uuid, "GPU-1");
    ck_assert_int_eq(r->devices[1].device.native, 1);
    ck_assert_str_eq(r->devices[4].platform, "cpu");
    ck_assert_str_eq(r->devices[4].device.kind, "Xeon");
    ck_assert_str_eq(r->facts.host, "n1");
    ck_assert_str_eq(r->version, jd_version());
    ck_assert_str_eq(r->wanted_platform, "");
    ck_assert_str_eq(r->absent, "");
    ck_assert(!r->absent_is_fault);
    ck_assert_int_eq(r->shares_devices, 0);
    ck_assert_int_eq(r->num_device_ids, 0);
    ck_assert_uint_eq(r->bytes, sizeof *r + 5 * sizeof *r->devices);
    free(r);
}
END_TEST

START_TEST(it_says_why_there_are_none)
{
    struct jd_record *r;
    num_gpus = 0;
    UNIT_OK(create("JD_OVERSUBSCRIBE=1\n", &r));
    ck_assert_int_eq(r->num_devices, 1);
    ck_assert_str_eq(r->absent, "cuda");
    ck_assert_str_eq(r->why_absent, "no driver");
    ck_assert(r->absent_is_fault);
    ck_assert_int_eq(r->shares_devices, 1);
    free(r);
}
END_TEST

/* Nothing of CUDA is touched. */
START_TEST(cpu_alone_asks_nobody_else)
{
    struct jd_record *r;
    num_gpus = 2;
    UNIT_OK(create("JD_PLATFORM=cpu\n", &r));
    ck_assert_int_eq(num_asked, 0);
    ck_assert_int_eq(r->num_devices, 1);
    ck_assert_str_eq(r->wanted_platform, "cpu");
    ck_assert_str_eq(r->absent, "cuda");
    ck_assert_str_eq(r->why_absent, "JD_PLATFORM is cpu");
    free(r);
    UNIT_OK(create("JD_PLATFORM=cuda\n", &r));
    ck_assert_int_eq(r->num_devices, 3);
    ck_assert_str_eq(r->wanted_platform, "cuda");
    free(r);
}
END_TEST

/* The records of all stand one behind the other. */
START_TEST(the_ids_stand_behind_the_devices)
{
    struct jd_record *r;
    num_gpus = 2;
    UNIT_OK(create("JAX_LOCAL_DEVICE_IDS=7,0,1\n", &r));
    ck_assert_int_eq(r->num_device_ids, 3);
    ck_assert_str_eq(r->device_ids_source, "JAX_LOCAL_DEVICE_IDS");
    const int32_t *ids = jd__record_device_ids(r);
    ck_assert_ptr_eq(ids, &r->devices[3]);
    ck_assert_int_eq(ids[0], 7);
    ck_assert_int_eq(ids[1], 0);
    ck_assert_int_eq(ids[2], 1);
    ck_assert_uint_eq(r->bytes, sizeof *r + 3 * sizeof *r->devices + 16);
    ck_assert_uint_eq(r->bytes % _Alignof(struct jd_record), 0);
    free(r);
}
END_TEST

START_TEST(a_platform_may_fail)
{
    struct jd_record *r = NULL;
    gpu_status = JD_INTERNAL;
    UNIT_FAILS(create("", &r), JD_INTERNAL, "the driver has failed");
    ck_assert_ptr_null(r);
}
END_TEST

/* What MPI's thread level is chosen by. */
START_TEST(the_most_devices_of_one_platform)
{
    static const struct {
        int num_gpus;
        const char *variables;
        int most;
    } cases[] = {
        { 0, "", 1 },
        { 1, "", 1 },
        { 4, "", 4 },
        { 4, "JD_NUM_CPU_DEVICES=6\n", 6 },
        { 4, "JD_LOCAL_DEVICE_IDS=2\n", 1 },
        { 4, "JD_LOCAL_DEVICE_IDS=2,3\n", 2 },
        { 1, "JD_LOCAL_DEVICE_IDS=2,3\n", 1 },
        { 4, "JD_NUM_CPU_DEVICES=3\nJD_LOCAL_DEVICE_IDS=0\n", 3 },
        { 4, "JD_PLATFORM=cpu\n", 1 },
    };
    struct jd_record *r;
    num_gpus = cases[_i].num_gpus;
    UNIT_OK(create(cases[_i].variables, &r));
    ck_assert_int_eq(jd__own_record_most_devices(r), cases[_i].most);
    free(r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("own_record");
    TCase *record = unit_case(suite, "record");
    tcase_add_test(record, it_has_the_devices_of_all_platforms);
    tcase_add_test(record, it_says_why_there_are_none);
    tcase_add_test(record, cpu_alone_asks_nobody_else);
    tcase_add_test(record, the_ids_stand_behind_the_devices);
    tcase_add_test(record, a_platform_may_fail);
    tcase_add_loop_test(record, the_most_devices_of_one_platform, 0, 9);
    return unit_main(suite);
}
