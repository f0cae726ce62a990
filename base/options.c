/* SPDX-License-Identifier: BSD-3-Clause */
/* options.c - how an option gets its value: text is checked and put in force
 * if nothing stronger has spoken. */
#include "base/options.h"
#include "base/parse.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct jd_settings {
    struct jd_setting values[JD_OPTION_COUNT];
};

static const char hidden[] = "(hidden)";

/* ---- what is allowed, and saying so ------------------------------------- */

/* "64KiB": in the largest unit that leaves a whole number. */
static void describe_bytes(double bytes, char *text, size_t size)
{
    static const char *const units[] = { "", "KiB", "MiB", "GiB" };
    long long count = (long long)bytes;
    int unit = 0;
    for (; unit < 3 && count % 1024 == 0; unit++)
        count /= 1024;
    snprintf(text, size, "%lld%s", count, units[unit]);
}

static void describe_allowed(const struct jd_option_row *row, char *text,
                             size_t size)
{
    char least[32], most[32];
    switch (row->type) {
    case JD_TYPE_TEXT:
        snprintf(text, size, "a text that is not empty");
        break;
    case JD_TYPE_ADDRESS:
        snprintf(text, size,
                 "host:port with a port from 1 to 65535, an IPv6 address in "
                 "brackets ([::1]:1234)");
        break;
    case JD_TYPE_INTEGER:
        snprintf(text, size, "an integer from %.0f to %.0f", row->min,
                 row->max);
        break;
    case JD_TYPE_INTEGERS:
        snprintf(text, size, "a comma list of integers from 0 to %d, 0,2,3",
                 INT_MAX);
        break;
    case JD_TYPE_SECONDS:
        snprintf(text, size,
                 "a duration up to %.0f seconds, 30 or 500ms or 5m%s; 0 is "
                 "the default, %s seconds",
                 row->max, row->can_be_off ? ", negative for no limit" : "",
                 row->initial);
        break;
    case JD_TYPE_BYTES:
        describe_bytes(row->min, least, sizeof least);
        describe_bytes(row->max, most, sizeof most);
        snprintf(text, size,
                 "a number of bytes from %s to %s, 65536 or 512KiB or 64M",
                 least, most);
        break;
    case JD_TYPE_BOOLEAN:
        snprintf(text, size, "0 or 1");
        break;
    case JD_TYPE_CHOICE:
        snprintf(text, size, "one of %s", row->choices);
        break;
    }
}

static jd_status fail_value(const struct jd_option_row *row, const char *text,
                            const char *origin)
{
    char allowed[256];
    describe_allowed(row, allowed, sizeof allowed);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s is \"%s\", but it must be %s; correct it or leave it "
                   "out",
                   origin, row->is_secret && text[0] ? hidden : text, allowed);
}

/* ---- from text to value ------------------------------------------------- */

static bool is_choice(const char *choices, const char *text)
{
    size_t length = strlen(text);
    for (const char *at = choices; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (length && strncmp(at, text, length) == 0 &&
            (at[length] == '|' || !at[length]))
            return true;
    }
    return false;
}

/* 0 is the default, negative switches off. */
static bool parse_duration(const struct jd_option_row *row, const char *text,
                           double *ret_seconds)
{
    if (!jd__parse_seconds(text, ret_seconds) || *ret_seconds > row->max)
        return false;
    if (*ret_seconds == 0)
        return jd__parse_seconds(row->initial, ret_seconds);
    return *ret_seconds > 0 || row->can_be_off;
}

static bool is_within(const struct jd_option_row *row,
                      const struct jd_setting *value)
{
    return (double)value->integer >= row->min &&
           (double)value->integer <= row->max;
}

static bool parse_value(const struct jd_option_row *row, const char *text,
                        struct jd_setting *value)
{
    bool truth;
    switch (row->type) {
    case JD_TYPE_TEXT:
        return text[0] != '\0';
    case JD_TYPE_ADDRESS:
        return jd__parse_address(text, NULL, NULL);
    case JD_TYPE_INTEGER:
        return jd__parse_integer(text, &value->integer) &&
               is_within(row, value);
    case JD_TYPE_INTEGERS:
        return jd__parse_integers(text, &value->integers, &value->num_integers);
    case JD_TYPE_SECONDS:
        return parse_duration(row, text, &value->seconds);
    case JD_TYPE_BYTES:
        return jd__parse_bytes(text, &value->integer) && is_within(row, value);
    case JD_TYPE_BOOLEAN:
        if (!jd__parse_boolean(text, &truth))
            return false;
        value->integer = truth;
        return true;
    case JD_TYPE_CHOICE:
        return is_choice(row->choices, text);
    }
    return false;
}

static void finish_setting(struct jd_setting *value)
{
    free(value->origin);
    free(value->text);
    free(value->integers);
    *value = (struct jd_setting){ .source = JD_SOURCE_NONE };
}

/* Replaces the option's value where source is not weaker than what is there. */
static jd_status set_option(struct jd_settings *settings, enum jd_option option,
                            enum jd_source source, const char *text,
                            const char *origin)
{
    const struct jd_option_row *row = jd__option_table_row(option);
    if (settings->values[option].source > source)
        return JD_OK;
    struct jd_setting value = { .source = source };
    if (!parse_value(row, text, &value))
        return fail_value(row, text, origin);
    value.text = strdup(text);
    value.origin = strdup(origin);
    if (!value.text || !value.origin) {
        finish_setting(&value);
        return jd__fail_no_memory("reading the options", strlen(text));
    }
    finish_setting(&settings->values[option]);
    settings->values[option] = value;
    return JD_OK;
}

/* ---- defaults and variables --------------------------------------------- */

static jd_status set_default(struct jd_settings *settings,
                             enum jd_option option)
{
    const char *initial = jd__option_table_row(option)->initial;
    return initial ? set_option(settings, option, JD_SOURCE_DEFAULT, initial,
                                "default")
                   : JD_OK;
}

/* An empty JD_* variable is an error; an empty JAX_* one counts as unset,
 * as it does for JAX. */
static jd_status set_from_variables(struct jd_settings *settings,
                                    enum jd_option option,
                                    const struct jd_env *env)
{
    const struct jd_option_row *row = jd__option_table_row(option);
    const char *text = jd__env_get(env, row->variable);
    if (text)
        return set_option(settings, option, JD_SOURCE_VARIABLE, text,
                          row->variable);
    text =
        row->jax_variable ? jd__env_get_nonempty(env, row->jax_variable) : NULL;
    return text ? set_option(settings, option, JD_SOURCE_JAX_VARIABLE, text,
                             row->jax_variable)
                : JD_OK;
}

/* ---- members of jd_options ---------------------------------------------- */

static jd_status set_field(struct jd_settings *settings, enum jd_option option,
                           const char *text)
{
    char origin[80];
    snprintf(origin, sizeof origin, "option %s",
             jd__option_table_row(option)->field);
    return set_option(settings, option, JD_SOURCE_FIELD, text, origin);
}

static jd_status set_text_field(struct jd_settings *settings,
                                enum jd_option option, const char *text)
{
    return text ? set_field(settings, option, text) : JD_OK;
}

static jd_status set_integer_field(struct jd_settings *settings,
                                   enum jd_option option, int value)
{
    char text[32];
    snprintf(text, sizeof text, "%d", value);
    return set_field(settings, option, text);
}

static jd_status set_seconds_field(struct jd_settings *settings,
                                   enum jd_option option, double value)
{
    char text[352]; /* DBL_MAX has 309 digits before its point */
    if (value == 0)
        return JD_OK;
    snprintf(text, sizeof text, "%.9f", value);
    return set_field(settings, option, text);
}

/* num > 0 makes id explicit, except -1; an id alone is an error. */
static jd_status set_pair(struct jd_settings *settings, enum jd_option num,
                          int num_value, enum jd_option id, int id_value)
{
    if (num_value == 0 && id_value > 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_initialize: option %s is %d, but option %s is not "
                       "given; give both, or neither to have them detected",
                       jd__option_table_row(id)->field, id_value,
                       jd__option_table_row(num)->field);
    if (num_value == 0 && id_value < -1)
        return set_integer_field(settings, id, id_value);
    if (num_value == 0)
        return JD_OK;
    jd_status status = set_integer_field(settings, num, num_value);
    if (status != JD_OK || id_value == -1)
        return status;
    return set_integer_field(settings, id, id_value);
}

static jd_status set_device_ids(struct jd_settings *settings,
                                const jd_options *options)
{
    size_t n = options->num_local_device_ids;
    if (!n)
        return JD_OK;
    if (!options->local_device_ids || n > 1 << 17)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_initialize: option num_local_device_ids is %zu, "
                       "but %s",
                       n,
                       options->local_device_ids
                           ? "a process has at most 131072 devices"
                           : "local_device_ids is NULL; give the array too");
    char *text = malloc(12 * n);
    if (!text)
        return jd__fail_no_memory("jd_initialize", 12 * n);
    size_t length = 0;
    for (size_t i = 0; i < n; i++)
        length += (size_t)sprintf(text + length, "%s%d", i ? "," : "",
                                  options->local_device_ids[i]);
    jd_status status = set_field(settings, JD_OPTION_LOCAL_DEVICE_IDS, text);
    free(text);
    return status;
}

static jd_status set_texts(struct jd_settings *settings, const jd_options *o)
{
    jd_status status = set_text_field(settings, JD_OPTION_COORDINATOR_ADDRESS,
                                      o->coordinator_address);
    if (status == JD_OK)
        status = set_text_field(settings, JD_OPTION_COORDINATOR_BIND_ADDRESS,
                                o->coordinator_bind_address);
    if (status == JD_OK)
        status = set_text_field(settings, JD_OPTION_CLUSTER_DETECTION_METHOD,
                                o->cluster_detection_method);
    return status;
}

static jd_status set_durations(struct jd_settings *settings,
                               const jd_options *o)
{
    const struct {
        enum jd_option option;
        double value;
    } durations[] = {
        { JD_OPTION_INITIALIZATION_TIMEOUT, o->initialization_timeout },
        { JD_OPTION_HEARTBEAT_TIMEOUT, o->heartbeat_timeout },
        { JD_OPTION_SHUTDOWN_TIMEOUT, o->shutdown_timeout },
        { JD_OPTION_COLLECTIVE_TIMEOUT, o->collective_timeout },
    };
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
        jd_status status = set_seconds_field(settings, durations[i].option,
                                             durations[i].value);
        if (status != JD_OK)
            return status;
    }
    return JD_OK;
}

static jd_status set_from_fields(struct jd_settings *settings,
                                 const jd_options *o)
{
    jd_status status = set_texts(settings, o);
    if (status == JD_OK)
        status = set_pair(settings, JD_OPTION_NUM_PROCESSES, o->num_processes,
                          JD_OPTION_PROCESS_ID, o->process_id);
    if (status == JD_OK)
        status = set_pair(settings, JD_OPTION_NUM_SLICES, o->num_slices,
                          JD_OPTION_SLICE_INDEX, o->slice_index);
    if (status == JD_OK)
        status = set_device_ids(settings, o);
    if (status == JD_OK)
        status = set_durations(settings, o);
    return status;
}

/* ---- the module's face -------------------------------------------------- */

static jd_status resolve_options(struct jd_settings *settings,
                                 const struct jd_env *env,
                                 const jd_options *options)
{
    for (int i = 0; i < JD_OPTION_COUNT; i++) {
        jd_status status = set_default(settings, i);
        if (status == JD_OK)
            status = set_from_variables(settings, i, env);
        if (status != JD_OK)
            return status;
    }
    return set_from_fields(settings, options);
}

jd_status jd__options_resolve(const struct jd_env *env,
                              const jd_options *options, size_t size,
                              struct jd_settings **ret_settings)
{
    jd_options known = { .reserved_ = 0 };
    if (size > sizeof known)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_initialize: the program's jd_options has %zu bytes, "
                       "this library's %zu: the program was built for a newer "
                       "jd than %s; run it with that library",
                       size, sizeof known, jd_version());
    if (options)
        memcpy(&known, options, size);
    struct jd_settings *settings = calloc(1, sizeof *settings);
    if (!settings)
        return jd__fail_no_memory("jd_initialize", sizeof *settings);
    jd_status status = resolve_options(settings, env, &known);
    if (status != JD_OK) {
        jd__options_destroy(settings);
        return status;
    }
    *ret_settings = settings;
    return JD_OK;
}

void jd__options_destroy(struct jd_settings *settings)
{
    if (!settings)
        return;
    for (int i = 0; i < JD_OPTION_COUNT; i++)
        finish_setting(&settings->values[i]);
    free(settings);
}

jd_status jd__options_set_detected(struct jd_settings *settings,
                                   enum jd_option option, const char *text,
                                   const char *origin)
{
    return set_option(settings, option, JD_SOURCE_DETECTED, text, origin);
}

const struct jd_setting *jd__options_find(const struct jd_settings *settings,
                                          enum jd_option option)
{
    return &settings->values[option];
}

bool jd__options_is_explicit(const struct jd_settings *settings,
                             enum jd_option option)
{
    return settings->values[option].source > JD_SOURCE_DETECTED;
}

long long jd__options_integer(const struct jd_settings *settings,
                              enum jd_option option)
{
    return settings->values[option].integer;
}

double jd__options_seconds(const struct jd_settings *settings,
                           enum jd_option option)
{
    return settings->values[option].seconds;
}

const char *jd__options_text(const struct jd_settings *settings,
                             enum jd_option option)
{
    return settings->values[option].text;
}

const char *jd__options_shown(const struct jd_settings *settings,
                              enum jd_option option)
{
    const char *text = jd__options_text(settings, option);
    return text && jd__option_table_row(option)->is_secret ? hidden : text;
}
