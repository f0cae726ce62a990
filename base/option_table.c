/* SPDX-License-Identifier: BSD-3-Clause */
/* option_table.c - the rows, and the JD_* variables that are none of them. */
#include "base/options.h"
#include "base/text.h"
#include "base/tie.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SECONDS 1e9 /* some thirty years */

static const struct jd_option_row rows[JD_OPTION_COUNT] = {
    [JD_OPTION_COORDINATOR_ADDRESS] = {
        .field = "coordinator_address",
        .variable = "JD_COORDINATOR_ADDRESS",
        .jax_variable = "JAX_COORDINATOR_ADDRESS",
        .type = JD_TYPE_ADDRESS,
        .unit = "host:port",
        .doc = "where process 0's coordination service listens",
    },
    [JD_OPTION_COORDINATOR_BIND_ADDRESS] = {
        .field = "coordinator_bind_address",
        .variable = "JD_COORDINATOR_BIND_ADDRESS",
        .jax_variable = "JAX_COORDINATOR_BIND_ADDRESS",
        .type = JD_TYPE_ADDRESS,
        .unit = "host:port",
        .doc = "what the service binds, if not all interfaces",
    },
    [JD_OPTION_NUM_PROCESSES] = {
        .field = "num_processes",
        .variable = "JD_NUM_PROCESSES",
        .jax_variable = "JAX_NUM_PROCESSES",
        .type = JD_TYPE_INTEGER,
        .min = 1,
        .max = INT_MAX,
        .unit = "processes",
        .doc = "how many processes the job has",
    },
    [JD_OPTION_PROCESS_ID] = {
        .field = "process_id",
        .variable = "JD_PROCESS_ID",
        .jax_variable = "JAX_PROCESS_ID",
        .type = JD_TYPE_INTEGER,
        .min = 0,
        .max = INT_MAX - 1,
        .unit = "index",
        .doc = "which of them this is, from 0",
    },
    [JD_OPTION_NUM_SLICES] = {
        .field = "num_slices",
        .variable = "JD_NUM_SLICES",
        .type = JD_TYPE_INTEGER,
        .min = 1,
        .max = INT_MAX,
        .unit = "slices",
        .doc = "how many slices (fast-network domains) the job has",
    },
    [JD_OPTION_SLICE_INDEX] = {
        .field = "slice_index",
        .variable = "JD_SLICE_INDEX",
        .type = JD_TYPE_INTEGER,
        .min = 0,
        .max = INT_MAX - 1,
        .unit = "index",
        .doc = "which slice this process is in, from 0; all say it, or none "
               "(then each host is one)",
    },
    [JD_OPTION_LOCAL_DEVICE_IDS] = {
        .field = "local_device_ids",
        .variable = "JD_LOCAL_DEVICE_IDS",
        .jax_variable = "JAX_LOCAL_DEVICE_IDS",
        .type = JD_TYPE_INTEGERS,
        .unit = "comma list",
        .doc = "the GPUs this process uses, by their numbers among those that "
               "it sees; no effect on cpu devices",
    },
    [JD_OPTION_CLUSTER_DETECTION_METHOD] = {
        .field = "cluster_detection_method",
        .variable = "JD_CLUSTER_DETECTION_METHOD",
        .type = JD_TYPE_TEXT,
        .unit = "names",
        .doc = "launchers to look for, in order (slurm,openmpi), all but some "
               "(^tpu), or deactivate",
    },
    [JD_OPTION_INITIALIZATION_TIMEOUT] = {
        .field = "initialization_timeout",
        .variable = "JD_INITIALIZATION_TIMEOUT",
        .type = JD_TYPE_SECONDS,
        .initial = "300",
        .max = MAX_SECONDS,
        .unit = "seconds",
        .doc = "how long jd_initialize() may take",
    },
    [JD_OPTION_HEARTBEAT_TIMEOUT] = {
        .field = "heartbeat_timeout",
        .variable = "JD_HEARTBEAT_TIMEOUT",
        .type = JD_TYPE_SECONDS,
        .initial = "100",
        .max = MAX_SECONDS,
        .can_be_off = true,
        .unit = "seconds",
        .doc = "silence after which a process counts as dead",
    },
    [JD_OPTION_SHUTDOWN_TIMEOUT] = {
        .field = "shutdown_timeout",
        .variable = "JD_SHUTDOWN_TIMEOUT",
        .type = JD_TYPE_SECONDS,
        .initial = "300",
        .max = MAX_SECONDS,
        .unit = "seconds",
        .doc = "how long the end of the job may wait for other processes",
    },
    [JD_OPTION_COLLECTIVE_TIMEOUT] = {
        .field = "collective_timeout",
        .variable = "JD_COLLECTIVE_TIMEOUT",
        .type = JD_TYPE_SECONDS,
        .initial = "1800",
        .max = MAX_SECONDS,
        .can_be_off = true,
        .unit = "seconds",
        .doc = "how long a collective may wait for its other members",
    },
    [JD_OPTION_BARRIER_TIMEOUT] = {
        .field = "",
        .variable = "JD_BARRIER_TIMEOUT",
        .type = JD_TYPE_SECONDS,
        .initial = "600",
        .max = MAX_SECONDS,
        .can_be_off = true,
        .unit = "seconds",
        .doc = "how long a barrier, a sync or a wait for a key may take, where the call does not say",
    },
    [JD_OPTION_WAIT_NOTICE] = {
        .field = "",
        .variable = "JD_WAIT_NOTICE",
        .type = JD_TYPE_SECONDS,
        .initial = "20",
        .max = MAX_SECONDS,
        .can_be_off = true,
        .unit = "seconds",
        .doc = "a wait longer than this says what it waits for",
    },
    [JD_OPTION_INTERFACE] = {
        .field = "",
        .variable = "JD_INTERFACE",
        .type = JD_TYPE_TEXT,
        .unit = "names",
        .doc = "interfaces or networks that the coordination service and MPI "
               "use (eth0,10.1.0.0/16), or all but some (^docker0)",
    },
    [JD_OPTION_SECRET] = {
        .field = "",
        .variable = "JD_SECRET",
        .type = JD_TYPE_TEXT,
        .is_secret = true,
        .unit = "text",
        .doc = "lets processes in where MPI does not carry a secret; "
               "JD_SECRET_FILE is safer",
    },
    [JD_OPTION_SECRET_FILE] = {
        .field = "",
        .variable = "JD_SECRET_FILE",
        .type = JD_TYPE_TEXT,
        .unit = "path",
        .doc = "a file with that secret, which only its owner may read",
    },
    [JD_OPTION_REQUIRE_SECRET] = {
        .field = "",
        .variable = "JD_REQUIRE_SECRET",
        .type = JD_TYPE_BOOLEAN,
        .initial = "0",
        .unit = "0 or 1",
        .doc = "a job without a secret and without munge does not start",
    },
    [JD_OPTION_MAX_MESSAGE] = {
        .field = "",
        .variable = "JD_MAX_MESSAGE",
        .type = JD_TYPE_BYTES,
        .initial = "64MiB",
        .min = 1 << 16,
        .max = 1ll << 31,
        .unit = "bytes",
        .doc = "the largest message between a process and the coordination "
               "service",
    },
    [JD_OPTION_MAX_STORE] = {
        .field = "",
        .variable = "JD_MAX_STORE",
        .type = JD_TYPE_BYTES,
        .initial = "256MiB",
        .min = 1 << 16,
        .max = 1ll << 40,
        .unit = "bytes",
        .doc = "how much one process may have in the coordination service's "
               "store; process 0's counts",
    },
    [JD_OPTION_FAILURE_REPORT] = {
        .field = "",
        .variable = "JD_FAILURE_REPORT",
        .type = JD_TYPE_CHOICE,
        .initial = "some",
        .choices = "some|all|one|none",
        .unit = "name",
        .doc = "which survivors print the failure of another process; some is "
               "16 at most",
    },
    [JD_OPTION_FAILURE_GRACE] = {
        .field = "",
        .variable = "JD_FAILURE_GRACE",
        .type = JD_TYPE_SECONDS,
        .initial = "30",
        .max = MAX_SECONDS,
        .unit = "seconds",
        .doc = "how long a program's jd_on_peer_failure() callback may take",
    },
    [JD_OPTION_PREEMPTION_SIGNAL] = {
        .field = "",
        .variable = "JD_PREEMPTION_SIGNAL",
        .type = JD_TYPE_TEXT,
        .initial = "TERM",
        .unit = "signal",
        .doc = "the signal that announces a preemption: TERM, USR1, ...",
    },
    [JD_OPTION_LIBEXEC] = {
        .field = "",
        .variable = "JD_LIBEXEC",
        .type = JD_TYPE_TEXT,
        .unit = "path",
        .doc = "where jd-pmix-server is, if not where jd was installed",
    },
    [JD_OPTION_TMPDIR] = {
        .field = "",
        .variable = "JD_TMPDIR",
        .type = JD_TYPE_TEXT,
        .unit = "path",
        .doc = "where jd-pmix-server makes its directory, if not in the first "
               "of /tmp, /dev/shm and /var/tmp that has room",
    },
    [JD_OPTION_PLATFORM] = {
        .field = "",
        .variable = "JD_PLATFORM",
        .type = JD_TYPE_CHOICE,
        .choices = "cpu|cuda",
        .unit = "name",
        .doc = "the devices that jd_devices() shows, if not cuda where every "
               "process has a GPU and cpu elsewhere; cpu looks for no GPU",
    },
    [JD_OPTION_PLATFORM_DIR] = {
        .field = "",
        .variable = "JD_PLATFORM_DIR",
        .type = JD_TYPE_TEXT,
        .unit = "path",
        .doc = "where platform_cuda.so is, if not where jd was installed",
    },
    [JD_OPTION_OVERSUBSCRIBE] = {
        .field = "",
        .variable = "JD_OVERSUBSCRIBE",
        .type = JD_TYPE_BOOLEAN,
        .initial = "0",
        .unit = "0 or 1",
        .doc = "let processes share a GPU where a host has fewer GPUs than "
               "processes",
    },
    [JD_OPTION_CHECK_CALLS] = {
        .field = "",
        .variable = "JD_CHECK_CALLS",
        .type = JD_TYPE_BOOLEAN,
        .initial = "0",
        .unit = "0 or 1",
        .doc = "each collective on GPUs first compares what the members call, "
               "on the host",
    },
    [JD_OPTION_NUM_CPU_DEVICES] = {
        .field = "",
        .variable = "JD_NUM_CPU_DEVICES",
        .type = JD_TYPE_INTEGER,
        .initial = "1",
        .min = 1,
        .max = 1 << 17,
        .unit = "devices",
        .doc = "how many cpu devices this process has",
    },
    [JD_OPTION_MPI_THREAD_LEVEL] = {
        .field = "",
        .variable = "JD_MPI_THREAD_LEVEL",
        .type = JD_TYPE_CHOICE,
        .initial = "auto",
        .choices = "auto|serialized|multiple",
        .unit = "name",
        .doc = "what jd asks MPI for; auto is serialized with one local "
               "device and multiple with several",
    },
    [JD_OPTION_SHARED_MEMORY] = {
        .field = "",
        .variable = "JD_SHARED_MEMORY",
        .type = JD_TYPE_BOOLEAN,
        .initial = "1",
        .unit = "0 or 1",
        .doc = "let the processes of a host map each other's memory; without "
               "it they reach each other by MPI alone",
    },
    [JD_OPTION_SUBGROUP_SIZE] = {
        .field = "",
        .variable = "JD_SUBGROUP_SIZE",
        .type = JD_TYPE_INTEGER,
        .initial = "0",
        .min = 0,
        .max = 1 << 17,
        .unit = "members",
        .doc = "how many members of a host meet with each other before their "
               "leaders do; 0 goes by the caches that they share where at "
               "least 16 have a core each, 1 lets all meet at once",
    },
    [JD_OPTION_DETERMINISTIC] = {
        .field = "",
        .variable = "JD_DETERMINISTIC",
        .type = JD_TYPE_BOOLEAN,
        .initial = "0",
        .unit = "0 or 1",
        .doc = "reduce in the order of the members on cpu, so that the bits "
               "of a sum do not depend on which of them share a host, nor on "
               "how many processors hosts have; slower between hosts",
    },
    [JD_OPTION_RESHARD_MEMORY] = {
        .field = "",
        .variable = "JD_RESHARD_MEMORY",
        .type = JD_TYPE_BYTES,
        .initial = "64MiB",
        .min = 1 << 12,
        .max = (double)(1ll << 46),
        .unit = "bytes",
        .doc = "what jd_array_reshard() may use of each device beside the "
               "two arrays",
    },
    [JD_OPTION_TUNE_MPI] = {
        .field = "",
        .variable = "JD_TUNE_MPI",
        .type = JD_TYPE_BOOLEAN,
        .initial = "1",
        .unit = "0 or 1",
        .doc = "let jd choose MPI's transport where the host has no RDMA "
               "device and nobody has chosen one",
    },
    [JD_OPTION_RECORDER] = {
        .field = "",
        .variable = "JD_RECORDER",
        .type = JD_TYPE_BOOLEAN,
        .initial = "1",
        .unit = "0 or 1",
        .doc = "keep the last 4096 calls of each process in memory, to say "
               "after a failure what each was doing",
    },
    [JD_OPTION_TRACE] = {
        .field = "",
        .variable = "JD_TRACE",
        .type = JD_TYPE_BOOLEAN,
        .initial = "0",
        .unit = "0 or 1",
        .doc = "record of each call when it began and ended, not only of "
               "those that had to wait",
    },
    [JD_OPTION_TRACE_DIR] = {
        .field = "",
        .variable = "JD_TRACE_DIR",
        .type = JD_TYPE_TEXT,
        .unit = "path",
        .doc = "a folder in which each process leaves its last calls when it "
               "ends, and those of dead ones; jd-trace reads them",
    },
    [JD_OPTION_CHECK_SITES] = {
        .field = "",
        .variable = "JD_CHECK_SITES",
        .type = JD_TYPE_BOOLEAN,
        .initial = "0",
        .unit = "0 or 1",
        .doc = "members also compare where in the program each collective is "
               "called; the same for all processes",
    },
    [JD_OPTION_LINES_TIMEOUT] = {
        .field = "",
        .variable = "JD_LINES_TIMEOUT",
        .type = JD_TYPE_SECONDS,
        .initial = "0.6",
        .max = MAX_SECONDS,
        .unit = "seconds",
        .doc = "how long a sentence may wait for the lines of the program that "
               "it names, which are read out of its file",
    },
    [JD_OPTION_STACK] = {
        .field = "",
        .variable = "JD_STACK",
        .type = JD_TYPE_BOOLEAN,
        .initial = "1",
        .unit = "0 or 1",
        .doc = "let jd-info --job --stack, and a collective that gives up "
               "its wait for this process, read its stack; with 0 nobody may "
               "ask for it",
    },
    [JD_OPTION_STACK_SIGNAL] = {
        .field = "",
        .variable = "JD_STACK_SIGNAL",
        .type = JD_TYPE_TEXT,
        .unit = "signal",
        .doc = "where no gdb or eu-stack may read it, take the stack of the "
               "thread that has called jd last by this signal, which the "
               "program does not use: USR2, RTMIN+3, ...",
    },
    [JD_OPTION_LOG] = {
        .field = "",
        .variable = "JD_LOG",
        .type = JD_TYPE_CHOICE,
        .initial = "warning",
        .choices = "error|warning|info|debug",
        .unit = "level",
        .doc = "the least important messages that are printed",
    },
};

const struct jd_option_row *jd__option_table_row(enum jd_option option)
{
    return &rows[option];
}

/* ---- variables that nobody reads ---------------------------------------- */

/* Where the Python package finds this library: read before it is loaded. */
#define LIBRARY_VARIABLE "JD_LIBRARY"

static bool is_known(const char *name)
{
    if (strcmp(name, JD_TIE_VARIABLE) == 0 ||
        strcmp(name, LIBRARY_VARIABLE) == 0)
        return true; /* jd-run's word, and Python's: no options */
    for (int i = 0; i < JD_OPTION_COUNT; i++)
        if (strcmp(name, rows[i].variable) == 0)
            return true;
    return false;
}

/* Kubernetes gives each pod variables for each Service: a Service named jd
 * brings JD_SERVICE_HOST, JD_PORT=tcp://..., JD_PORT_80_TCP_ADDR, ... */
static bool is_service_variable(const struct jd_env_entry *entry)
{
    return strstr(entry->name, "_SERVICE_HOST") ||
           strstr(entry->name, "_SERVICE_PORT") ||
           strstr(entry->name, "_TCP") || strstr(entry->name, "_UDP") ||
           strncmp(entry->value, "tcp://", 6) == 0 ||
           strncmp(entry->value, "udp://", 6) == 0;
}

/* Levenshtein's distance, one row at a time; longer names are cut. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    size_t n = strlen(b), costs[LONGEST + 1];
    n = n > LONGEST ? LONGEST : n;
    for (size_t j = 0; j <= n; j++)
        costs[j] = j;
    for (size_t i = 1; *a; a++, i++) {
        size_t diagonal = costs[0];
        costs[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = diagonal + (*a != b[j - 1]);
            size_t step =
                (costs[j] < costs[j - 1] ? costs[j] : costs[j - 1]) + 1;
            diagonal = costs[j];
            costs[j] = change < step ? change : step;
        }
    }
    return costs[n];
}

static const char *nearest_variable(const char *name)
{
    const char *best = rows[0].variable;
    for (int i = 1; i < JD_OPTION_COUNT; i++)
        if (edit_distance(name, rows[i].variable) < edit_distance(name, best))
            best = rows[i].variable;
    return best;
}

bool jd__option_table_next_unknown(const struct jd_env *env, size_t *position,
                                   const char **ret_name,
                                   const char **ret_nearest)
{
    while (*position < jd__env_count(env)) {
        const struct jd_env_entry *entry = jd__env_at(env, (*position)++);
        if (strncmp(entry->name, "JD_", 3) != 0 || is_known(entry->name) ||
            is_service_variable(entry))
            continue;
        *ret_name = entry->name;
        *ret_nearest = nearest_variable(entry->name);
        return true;
    }
    return false;
}

void jd__option_table_print_unknown(FILE *out, const struct jd_env *env)
{
    const char *name, *nearest;
    for (size_t at = 0;
         env && jd__option_table_next_unknown(env, &at, &name, &nearest);)
        fprintf(out,
                "; the variable %s is no option of jd, and is not read: did "
                "you mean %s?",
                name, nearest);
}

void jd__option_table_add_unknown(const struct jd_env *env, jd_status status)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    if (out)
        jd__option_table_print_unknown(out, env);
    char *text = jd__text_end(&written);
    if (text && *text)
        jd_fail(status, "%s%s", jd_error_message(), text);
    free(text);
}
