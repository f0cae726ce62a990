/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.h - one table of everything that can be set, and the values in
 * force with the place that each came from.
 *
 *     struct jd_settings *settings;
 *     jd__options_resolve(env, options, sizeof *options, &settings);
 *     double s = jd__options_seconds(settings, JD_OPTION_SHUTDOWN_TIMEOUT);
 *     jd__options_destroy(settings);
 *
 * Option (member of jd_options) > JD_* variable > JAX_* variable > detected >
 * default. The table of doc/options.md and jd-info --options are printed from the rows.
 * Threads: resolve and set on one thread; reading on any afterwards.
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "base/env.h"
#include "base/status.h"
#include "jd_process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum jd_option {
    JD_OPTION_COORDINATOR_ADDRESS,
    JD_OPTION_COORDINATOR_BIND_ADDRESS,
    JD_OPTION_NUM_PROCESSES,
    JD_OPTION_PROCESS_ID,
    JD_OPTION_NUM_SLICES,
    JD_OPTION_SLICE_INDEX,
    JD_OPTION_LOCAL_DEVICE_IDS,
    JD_OPTION_CLUSTER_DETECTION_METHOD,
    JD_OPTION_INITIALIZATION_TIMEOUT,
    JD_OPTION_HEARTBEAT_TIMEOUT,
    JD_OPTION_SHUTDOWN_TIMEOUT,
    JD_OPTION_COLLECTIVE_TIMEOUT,
    JD_OPTION_BARRIER_TIMEOUT,
    JD_OPTION_WAIT_NOTICE,
    JD_OPTION_INTERFACE,
    JD_OPTION_SECRET,
    JD_OPTION_SECRET_FILE,
    JD_OPTION_REQUIRE_SECRET,
    JD_OPTION_MAX_MESSAGE,
    JD_OPTION_MAX_STORE,
    JD_OPTION_FAILURE_REPORT,
    JD_OPTION_FAILURE_GRACE,
    JD_OPTION_PREEMPTION_SIGNAL,
    JD_OPTION_LIBEXEC,
    JD_OPTION_TMPDIR,
    JD_OPTION_PLATFORM,
    JD_OPTION_PLATFORM_DIR,
    JD_OPTION_OVERSUBSCRIBE,
    JD_OPTION_CHECK_CALLS,
    JD_OPTION_NUM_CPU_DEVICES,
    JD_OPTION_MPI_THREAD_LEVEL,
    JD_OPTION_SHARED_MEMORY,
    JD_OPTION_SUBGROUP_SIZE,
    JD_OPTION_DETERMINISTIC,
    JD_OPTION_RESHARD_MEMORY,
    JD_OPTION_TUNE_MPI,
    JD_OPTION_RECORDER,
    JD_OPTION_TRACE,
    JD_OPTION_TRACE_DIR,
    JD_OPTION_CHECK_SITES,
    JD_OPTION_LINES_TIMEOUT,
    JD_OPTION_STACK,
    JD_OPTION_STACK_SIGNAL,
    JD_OPTION_LOG,
    JD_OPTION_COUNT
};

enum jd_option_type {
    JD_TYPE_TEXT,
    JD_TYPE_ADDRESS,
    JD_TYPE_INTEGER,
    JD_TYPE_INTEGERS,
    JD_TYPE_SECONDS,
    JD_TYPE_BYTES, /* jd__options_integer reads it */
    JD_TYPE_BOOLEAN,
    JD_TYPE_CHOICE,
};

struct jd_option_row {
    const char *field;        /* member of jd_options; "" for variables only */
    const char *variable;     /* "JD_..." */
    const char *jax_variable; /* the fallback, or NULL */
    enum jd_option_type type;
    const char *initial; /* default as text; NULL: nothing, or detected */
    double min, max;     /* of integers, seconds and bytes */
    bool can_be_off;     /* seconds: a negative value switches it off */
    bool is_secret;      /* its value is never shown */
    const char *choices; /* of JD_TYPE_CHOICE: "a|b|c" */
    const char *unit;
    const char *doc; /* one line */
};

enum jd_source {
    JD_SOURCE_NONE, /* no value: nobody said */
    JD_SOURCE_DEFAULT,
    JD_SOURCE_DETECTED,
    JD_SOURCE_JAX_VARIABLE,
    JD_SOURCE_VARIABLE,
    JD_SOURCE_FIELD,
};

struct jd_setting {
    enum jd_source source;
    char *origin; /* "default", "SLURM_NTASKS (slurm)", "JD_LOG", ... */
    char *text;   /* the value as text; NULL where source is NONE */
    long long integer;
    double seconds; /* negative: switched off */
    int *integers;
    size_t num_integers;
};

struct jd_settings;

/* The table's row. */
const struct jd_option_row *jd__option_table_row(enum jd_option option);

/*
 * Reads options (NULL: none; size is the caller's sizeof) and variables.
 * Detected values are added later by jd__options_set_detected.
 * Returns JD_OK; INVALID_ARGUMENT naming the option or variable, its value
 * and what is allowed; RESOURCE_EXHAUSTED.
 */
jd_status jd__options_resolve(const struct jd_env *env,
                              const jd_options *options, size_t size,
                              struct jd_settings **ret_settings);
void jd__options_destroy(struct jd_settings *settings);

/*
 * Gives a value that detection found and the name it came from ("SLURM_NTASKS
 * (slurm)"). Ignored where the program or a variable has said it.
 * Returns as jd__options_resolve.
 */
jd_status jd__options_set_detected(struct jd_settings *settings,
                                   enum jd_option option, const char *text,
                                   const char *origin);

const struct jd_setting *jd__options_find(const struct jd_settings *settings,
                                          enum jd_option option);
/* True where the program or a variable said it. */
bool jd__options_is_explicit(const struct jd_settings *settings,
                             enum jd_option option);
long long jd__options_integer(const struct jd_settings *settings,
                              enum jd_option option);
double jd__options_seconds(const struct jd_settings *settings,
                           enum jd_option option);
const char *jd__options_text(const struct jd_settings *settings,
                             enum jd_option option);
/* The text for people to read: "(hidden)" of a secret that is set. */
const char *jd__options_shown(const struct jd_settings *settings,
                              enum jd_option option);

/*
 * The next JD_* variable of env at or after *position that is no row of the
 * table, and the row whose name is nearest (never NULL). Kubernetes' own
 * variables of a Service named jd do not count. Advances *position; false at
 * the end.
 */
bool jd__option_table_next_unknown(const struct jd_env *env, size_t *position,
                                   const char **ret_name,
                                   const char **ret_nearest);

/* Writes "; the variable JD_X is no option of jd, and is not read: did you mean
 * JD_Y?" for each of them; env may be NULL. */
void jd__option_table_print_unknown(FILE *out, const struct jd_env *env);

/* Adds that to the calling thread's sentence, a failure's with this status. */
void jd__option_table_add_unknown(const struct jd_env *env, jd_status status);

#endif
