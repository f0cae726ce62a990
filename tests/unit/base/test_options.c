/* SPDX-License-Identifier: BSD-3-Clause */
/* test_options.c - who wins, what is refused and with which words. */
#include "base/options.h"
#include "tests/unit/unit.h"

#include <stdint.h>
#include <stdio.h>

static jd_status resolve(const char *variables, const jd_options *options,
                         struct jd_settings **settings)
{
    struct jd_env *env = unit_env(variables);
    *settings = NULL;
    jd_status status = jd__options_resolve(
        env, options, options ? sizeof *options : 0, settings);
    jd__env_destroy(env);
    return status;
}

/* The variables alone are refused with this sentence. */
static void refuse(const char *variables, const char *sentence)
{
    struct jd_settings *settings;
    UNIT_FAILS(resolve(variables, NULL, &settings), JD_INVALID_ARGUMENT,
               sentence);
    ck_assert_ptr_null(settings);
}

static void refuse_options(const jd_options *options, const char *sentence)
{
    struct jd_settings *settings;
    UNIT_FAILS(resolve("", options, &settings), JD_INVALID_ARGUMENT, sentence);
    ck_assert_ptr_null(settings);
}

START_TEST(defaults)
{
    struct jd_settings *s;
    UNIT_OK(resolve("", NULL, &s));
    ck_assert_double_eq(
        jd__options_seconds(s, JD_OPTION_INITIALIZATION_TIMEOUT), 300);
    ck_assert_double_eq(jd__options_seconds(s, JD_OPTION_HEARTBEAT_TIMEOUT),
                        100);
    ck_assert_double_eq(jd__options_seconds(s, JD_OPTION_SHUTDOWN_TIMEOUT),
                        300);
    ck_assert_double_eq(jd__options_seconds(s, JD_OPTION_COLLECTIVE_TIMEOUT),
                        1800);
    ck_assert_str_eq(jd__options_find(s, JD_OPTION_LOG)->origin, "default");
    ck_assert_str_eq(jd__options_text(s, JD_OPTION_LOG), "warning");
    ck_assert_int_eq(jd__options_find(s, JD_OPTION_NUM_PROCESSES)->source,
                     JD_SOURCE_NONE);
    ck_assert_ptr_null(jd__options_text(s, JD_OPTION_NUM_PROCESSES));
    ck_assert(!jd__options_is_explicit(s, JD_OPTION_LOG));
    jd__options_destroy(s);
}
END_TEST

START_TEST(option_over_variable_over_jax_over_detected)
{
    jd_options options = { .num_processes = 2, .process_id = 0 };
    const char *variables = "JD_NUM_PROCESSES=4\nJAX_NUM_PROCESSES=8\n"
                            "JAX_COORDINATOR_ADDRESS=a:1\n";
    struct jd_settings *s;
    UNIT_OK(resolve(variables, NULL, &s));
    ck_assert_int_eq(jd__options_integer(s, JD_OPTION_NUM_PROCESSES), 4);
    ck_assert_str_eq(jd__options_find(s, JD_OPTION_NUM_PROCESSES)->origin,
                     "JD_NUM_PROCESSES");
    UNIT_OK(jd__options_set_detected(s, JD_OPTION_COORDINATOR_ADDRESS, "b:2",
                                     "SLURM"));
    ck_assert_str_eq(jd__options_text(s, JD_OPTION_COORDINATOR_ADDRESS), "a:1");
    UNIT_OK(jd__options_set_detected(s, JD_OPTION_PROCESS_ID, "3", "RANK"));
    ck_assert_int_eq(jd__options_integer(s, JD_OPTION_PROCESS_ID), 3);
    ck_assert(!jd__options_is_explicit(s, JD_OPTION_PROCESS_ID));
    jd__options_destroy(s);
    UNIT_OK(resolve(variables, &options, &s));
    ck_assert_int_eq(jd__options_integer(s, JD_OPTION_NUM_PROCESSES), 2);
    ck_assert_str_eq(jd__options_find(s, JD_OPTION_NUM_PROCESSES)->origin,
                     "option num_processes");
    ck_assert(jd__options_is_explicit(s, JD_OPTION_PROCESS_ID));
    jd__options_destroy(s);
}
END_TEST

START_TEST(an_empty_jax_variable_is_not_set)
{
    struct jd_settings *s;
    UNIT_OK(resolve("JAX_NUM_PROCESSES=\n", NULL, &s));
    ck_assert(!jd__options_is_explicit(s, JD_OPTION_NUM_PROCESSES));
    jd__options_destroy(s);
}
END_TEST

START_TEST(durations_have_units_zero_and_off)
{
    jd_options options = { .initialization_timeout = 0.25 };
    struct jd_settings *s;
    UNIT_OK(resolve("JD_HEARTBEAT_TIMEOUT=500ms\nJD_COLLECTIVE_TIMEOUT=-1\n"
                    "JD_SHUTDOWN_TIMEOUT=0\nJD_WAIT_NOTICE=5m\n",
                    &options, &s));
    ck_assert_double_eq(jd__options_seconds(s, JD_OPTION_HEARTBEAT_TIMEOUT),
                        0.5);
    ck_assert_double_lt(jd__options_seconds(s, JD_OPTION_COLLECTIVE_TIMEOUT),
                        0);
    ck_assert_double_eq(jd__options_seconds(s, JD_OPTION_SHUTDOWN_TIMEOUT),
                        300);
    ck_assert_double_eq(jd__options_seconds(s, JD_OPTION_WAIT_NOTICE), 300);
    ck_assert_double_eq(
        jd__options_seconds(s, JD_OPTION_INITIALIZATION_TIMEOUT), 0.25);
    jd__options_destroy(s);
}
END_TEST

START_TEST(the_service_has_variables)
{
    struct jd_settings *s;
    UNIT_OK(resolve("", NULL, &s));
    ck_assert_int_eq(jd__options_integer(s, JD_OPTION_MAX_MESSAGE), 64 << 20);
    ck_assert_double_eq(jd__options_seconds(s, JD_OPTION_BARRIER_TIMEOUT), 600);
    ck_assert_double_eq(jd__options_seconds(s, JD_OPTION_FAILURE_GRACE), 30);
    ck_assert_str_eq(jd__options_text(s, JD_OPTION_FAILURE_REPORT), "some");
    ck_assert_str_eq(jd__options_text(s, JD_OPTION_PREEMPTION_SIGNAL), "TERM");
    ck_assert_ptr_null(jd__options_text(s, JD_OPTION_INTERFACE));
    ck_assert_ptr_null(jd__options_text(s, JD_OPTION_SECRET));
    ck_assert_ptr_null(jd__options_text(s, JD_OPTION_SECRET_FILE));
    jd__options_destroy(s);
    UNIT_OK(resolve("JD_MAX_MESSAGE=2G\nJD_BARRIER_TIMEOUT=-1\n", NULL, &s));
    ck_assert_int_eq(jd__options_integer(s, JD_OPTION_MAX_MESSAGE), 1ll << 31);
    ck_assert_double_lt(jd__options_seconds(s, JD_OPTION_BARRIER_TIMEOUT), 0);
    jd__options_destroy(s);
    UNIT_OK(resolve("JD_MAX_MESSAGE=65536\n", NULL, &s));
    ck_assert_int_eq(jd__options_integer(s, JD_OPTION_MAX_MESSAGE), 65536);
    jd__options_destroy(s);
}
END_TEST

START_TEST(a_secret_is_not_shown)
{
    struct jd_settings *s;
    UNIT_OK(resolve("JD_SECRET=open sesame\n", NULL, &s));
    ck_assert_str_eq(jd__options_text(s, JD_OPTION_SECRET), "open sesame");
    ck_assert_str_eq(jd__options_shown(s, JD_OPTION_SECRET), "(hidden)");
    ck_assert_str_eq(jd__options_shown(s, JD_OPTION_LOG), "warning");
    ck_assert_ptr_null(jd__options_shown(s, JD_OPTION_SECRET_FILE));
    jd__options_destroy(s);
    UNIT_OK(resolve("", NULL, &s));
    ck_assert_ptr_null(jd__options_shown(s, JD_OPTION_SECRET));
    jd__options_destroy(s);
}
END_TEST

START_TEST(bad_variables_have_a_sentence)
{
    refuse("JD_NUM_PROCESSES=two\n",
           "JD_NUM_PROCESSES is \"two\", but it must be an integer from 1 to "
           "2147483647; correct it or leave it out");
    refuse("JD_NUM_PROCESSES=\n",
           "JD_NUM_PROCESSES is \"\", but it must be an integer from 1 to "
           "2147483647; correct it or leave it out");
    refuse("JAX_PROCESS_ID=-1\n",
           "JAX_PROCESS_ID is \"-1\", but it must be an integer from 0 to "
           "2147483646; correct it or leave it out");
    refuse("JD_COORDINATOR_ADDRESS=host\n",
           "JD_COORDINATOR_ADDRESS is \"host\", but it must be host:port with "
           "a port from 1 to 65535, an IPv6 address in brackets ([::1]:1234); "
           "correct it or leave it out");
    refuse("JD_LOCAL_DEVICE_IDS=0,x\n",
           "JD_LOCAL_DEVICE_IDS is \"0,x\", but it must be a comma list of "
           "integers from 0 to 2147483647, 0,2,3; correct it or leave it out");
    refuse("JD_INITIALIZATION_TIMEOUT=-1\n",
           "JD_INITIALIZATION_TIMEOUT is \"-1\", but it must be a duration up "
           "to 1000000000 seconds, 30 or 500ms or 5m; 0 is the default, 300 "
           "seconds; correct it or leave it out");
    refuse("JD_COLLECTIVE_TIMEOUT=soon\n",
           "JD_COLLECTIVE_TIMEOUT is \"soon\", but it must be a duration up to "
           "1000000000 seconds, 30 or 500ms or 5m, negative for no limit; 0 is "
           "the default, 1800 seconds; correct it or leave it out");
    refuse("JD_TUNE_MPI=maybe\n", "JD_TUNE_MPI is \"maybe\", but it must be 0 "
                                  "or 1; correct it or leave it out");
    refuse("JD_LOG=warn\n",
           "JD_LOG is \"warn\", but it must be one of "
           "error|warning|info|debug; correct it or leave it out");
    refuse("JD_MAX_MESSAGE=65535\n",
           "JD_MAX_MESSAGE is \"65535\", but it must be a number of bytes "
           "from 64KiB to 2GiB, 65536 or 512KiB or 64M; correct it or leave it "
           "out");
    refuse("JD_MAX_MESSAGE=3GiB\n",
           "JD_MAX_MESSAGE is \"3GiB\", but it must be a number of bytes from "
           "64KiB to 2GiB, 65536 or 512KiB or 64M; correct it or leave it out");
    refuse("JD_FAILURE_GRACE=-1\n",
           "JD_FAILURE_GRACE is \"-1\", but it must be a duration up to "
           "1000000000 seconds, 30 or 500ms or 5m; 0 is the default, 30 "
           "seconds; correct it or leave it out");
    refuse("JD_SECRET=\n",
           "JD_SECRET is \"\", but it must be a text that is not empty; "
           "correct it or leave it out");
    refuse("JD_CLUSTER_DETECTION_METHOD=\n",
           "JD_CLUSTER_DETECTION_METHOD is \"\", but it must be a text that is "
           "not empty; correct it or leave it out");
    refuse("JD_NUM_CPU_DEVICES=131073\n",
           "JD_NUM_CPU_DEVICES is \"131073\", but it must be an integer from 1 "
           "to 131072; correct it or leave it out");
}
END_TEST

START_TEST(bad_options_have_a_sentence)
{
    refuse_options(&(jd_options){ .num_processes = -2 },
                   "option num_processes is \"-2\", but it must be an integer "
                   "from 1 to 2147483647; correct it or leave it out");
    refuse_options(&(jd_options){ .process_id = 3 },
                   "jd_initialize: option process_id is 3, but option "
                   "num_processes is not given; give both, or neither to have "
                   "them detected");
    refuse_options(&(jd_options){ .slice_index = 1 },
                   "jd_initialize: option slice_index is 1, but option "
                   "num_slices is not given; give both, or neither to have "
                   "them detected");
    refuse_options(&(jd_options){ .num_processes = 2, .process_id = -3 },
                   "option process_id is \"-3\", but it must be an integer "
                   "from 0 to 2147483646; correct it or leave it out");
    refuse_options(&(jd_options){ .num_local_device_ids = 2 },
                   "jd_initialize: option num_local_device_ids is 2, but "
                   "local_device_ids is NULL; give the array too");
    refuse_options(&(jd_options){ .coordinator_address = "" },
                   "option coordinator_address is \"\", but it must be "
                   "host:port with a port from 1 to 65535, an IPv6 address in "
                   "brackets ([::1]:1234); correct it or leave it out");
}
END_TEST

START_TEST(too_many_devices)
{
    static const int ids[1] = { 0 };
    refuse_options(&(jd_options){ .local_device_ids = ids,
                                  .num_local_device_ids = (1 << 17) + 1 },
                   "jd_initialize: option num_local_device_ids is 131073, but "
                   "a process has at most 131072 devices");
}
END_TEST

START_TEST(each_member_has_its_option)
{
    static const jd_options options = {
        .coordinator_address = "a:1",
        .coordinator_bind_address = "b:2",
        .num_processes = 9,
        .process_id = 3,
        .num_slices = 8,
        .slice_index = 4,
        .cluster_detection_method = "slurm",
        .initialization_timeout = 11,
        .heartbeat_timeout = 12,
        .shutdown_timeout = 13,
        .collective_timeout = 14,
    };
    static const struct {
        enum jd_option option;
        const char *text;
    } values[] = {
        { JD_OPTION_COORDINATOR_ADDRESS, "a:1" },
        { JD_OPTION_COORDINATOR_BIND_ADDRESS, "b:2" },
        { JD_OPTION_NUM_PROCESSES, "9" },
        { JD_OPTION_PROCESS_ID, "3" },
        { JD_OPTION_NUM_SLICES, "8" },
        { JD_OPTION_SLICE_INDEX, "4" },
        { JD_OPTION_CLUSTER_DETECTION_METHOD, "slurm" },
        { JD_OPTION_INITIALIZATION_TIMEOUT, "11.000000000" },
        { JD_OPTION_HEARTBEAT_TIMEOUT, "12.000000000" },
        { JD_OPTION_SHUTDOWN_TIMEOUT, "13.000000000" },
        { JD_OPTION_COLLECTIVE_TIMEOUT, "14.000000000" },
    };
    struct jd_settings *s;
    UNIT_OK(resolve("", &options, &s));
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        ck_assert_str_eq(jd__options_text(s, values[i].option), values[i].text);
    jd__options_destroy(s);
}
END_TEST

START_TEST(minus_one_is_detected)
{
    jd_options options = { .num_processes = 2, .process_id = -1 };
    struct jd_settings *s;
    UNIT_OK(resolve("", &options, &s));
    ck_assert(jd__options_is_explicit(s, JD_OPTION_NUM_PROCESSES));
    ck_assert(!jd__options_is_explicit(s, JD_OPTION_PROCESS_ID));
    jd__options_destroy(s);
}
END_TEST

START_TEST(device_ids_are_copied)
{
    int ids[] = { 3, 0 };
    jd_options options = { .local_device_ids = ids, .num_local_device_ids = 2 };
    struct jd_settings *s;
    UNIT_OK(resolve("", &options, &s));
    ids[0] = 9;
    const struct jd_setting *setting =
        jd__options_find(s, JD_OPTION_LOCAL_DEVICE_IDS);
    ck_assert_uint_eq(setting->num_integers, 2);
    ck_assert_int_eq(setting->integers[0], 3);
    ck_assert_str_eq(setting->text, "3,0");
    jd__options_destroy(s);
    jd__options_destroy(NULL);
}
END_TEST

START_TEST(programs_of_other_versions)
{
    struct jd_env *env = unit_env("");
    struct jd_settings *s = NULL;
    jd_options options = { .num_processes = 2, .collective_timeout = 5 };
    unsigned char newer[sizeof options + 8] = { 0 };
    char sentence[256];
    /* An older program's jd_options ends before collective_timeout. */
    UNIT_OK(jd__options_resolve(env, &options,
                                offsetof(jd_options, collective_timeout), &s));
    ck_assert_int_eq(jd__options_integer(s, JD_OPTION_NUM_PROCESSES), 2);
    ck_assert_double_eq(jd__options_seconds(s, JD_OPTION_COLLECTIVE_TIMEOUT),
                        1800);
    jd__options_destroy(s);
    snprintf(sentence, sizeof sentence,
             "jd_initialize: the program's jd_options has %zu bytes, this "
             "library's %zu: the program was built for a newer jd than %s; run "
             "it with that library",
             sizeof newer, sizeof options, jd_version());
    UNIT_FAILS(jd__options_resolve(env, (void *)newer, sizeof newer, &s),
               JD_INVALID_ARGUMENT, sentence);
    jd__env_destroy(env);
}
END_TEST

START_TEST(the_table_is_complete)
{
    for (int i = 0; i < JD_OPTION_COUNT; i++) {
        const struct jd_option_row *row = jd__option_table_row(i);
        ck_assert_ptr_nonnull(row->variable);
        ck_assert_int_eq(strncmp(row->variable, "JD_", 3), 0);
        ck_assert_ptr_nonnull(row->field);
        ck_assert_ptr_nonnull(row->unit);
        ck_assert_ptr_nonnull(row->doc);
        ck_assert_ptr_null(strchr(row->doc, '\n'));
        ck_assert((row->type == JD_TYPE_CHOICE) == (row->choices != NULL));
    }
}
END_TEST

static void expect_unknown(const char *variables, const char *name,
                           const char *nearest)
{
    struct jd_env *env = unit_env(variables);
    const char *found = NULL, *near = NULL;
    size_t at = 0;
    bool any = jd__option_table_next_unknown(env, &at, &found, &near);
    ck_assert_int_eq(any, name != NULL);
    if (name) {
        ck_assert_str_eq(found, name);
        ck_assert_str_eq(near, nearest);
        ck_assert(!jd__option_table_next_unknown(env, &at, &found, &near));
    }
    jd__env_destroy(env);
}

START_TEST(unknown_variables_have_a_nearest_name)
{
    expect_unknown("JD_NUM_PROCESES=4\nJD_LOG=info\nHOME=/\n",
                   "JD_NUM_PROCESES", "JD_NUM_PROCESSES");
    expect_unknown("JD_COORDINATOR_ADRESS=a:1\n", "JD_COORDINATOR_ADRESS",
                   "JD_COORDINATOR_ADDRESS");
    expect_unknown("JDX=1\nJD_LOG=info\n", NULL, NULL);
    expect_unknown("", NULL, NULL);
}
END_TEST

START_TEST(a_service_named_jd_is_not_ours)
{
    expect_unknown("JD_SERVICE_HOST=10.96.7.7\nJD_SERVICE_PORT=80\n"
                   "JD_SERVICE_PORT_HTTP=80\nJD_PORT=tcp://10.96.7.7:80\n"
                   "JD_PORT_80_TCP=tcp://10.96.7.7:80\n"
                   "JD_PORT_80_TCP_PROTO=tcp\nJD_PORT_80_TCP_PORT=80\n"
                   "JD_PORT_80_TCP_ADDR=10.96.7.7\n"
                   "JD_PORT_53_UDP_PORT=53\n",
                   NULL, NULL);
    expect_unknown("JD_PORT=80\n", "JD_PORT", "JD_LOG");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options");
    TCase *values = unit_case(suite, "values");
    tcase_add_test(values, defaults);
    tcase_add_test(values, option_over_variable_over_jax_over_detected);
    tcase_add_test(values, an_empty_jax_variable_is_not_set);
    tcase_add_test(values, durations_have_units_zero_and_off);
    tcase_add_test(values, the_service_has_variables);
    tcase_add_test(values, a_secret_is_not_shown);
    tcase_add_test(values, too_many_devices);
    tcase_add_test(values, each_member_has_its_option);
    tcase_add_test(values, minus_one_is_detected);
    tcase_add_test(values, device_ids_are_copied);
    tcase_add_test(values, programs_of_other_versions);
    TCase *refused = unit_case(suite, "refused");
    tcase_add_test(refused, bad_variables_have_a_sentence);
    tcase_add_test(refused, bad_options_have_a_sentence);
    TCase *table = unit_case(suite, "table");
    tcase_add_test(table, the_table_is_complete);
    tcase_add_test(table, unknown_variables_have_a_nearest_name);
    tcase_add_test(table, a_service_named_jd_is_not_ours);
    return unit_main(suite);
}
