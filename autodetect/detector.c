/* SPDX-License-Identifier: BSD-3-Clause */
/* detector.c - what detectors share: the minimum of variables, numbers that
 * name their variable, who started whom, and the coordinator's address. */
#include "autodetect/detector.h"
#include "base/parse.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- variables that are set or missing ---------------------------------- */

const char *jd__variables_first(const struct jd_env *env,
                                const struct jd_variables *variables)
{
    for (const char *const *name = variables->names; *name; name++)
        if (jd__env_get_nonempty(env, *name))
            return *name;
    return NULL;
}

__attribute__((format(printf, 3, 4))) static void
append_text(char *text, size_t size, const char *format, ...)
{
    size_t length = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + length, size - length, format, args);
    va_end(args);
}

/* "PMI_RANK (or PALS_RANKID, PMI_ID)" */
static void append_alternatives(char *text, size_t size,
                                const struct jd_variables *variables)
{
    const char *const *names = variables->names;
    append_text(text, size, "%s", names[0]);
    for (int i = 1; names[i]; i++)
        append_text(text, size, "%s%s", i == 1 ? " (or " : ", ", names[i]);
    append_text(text, size, "%s", names[1] ? ")" : "");
}

static const char *list_separator(size_t i, size_t count)
{
    return i == 0 ? "" : i + 1 < count ? ", " : " and ";
}

static size_t count_missing(const struct jd_env *env,
                            const struct jd_variables *minimum, size_t count)
{
    size_t missing = 0;
    for (size_t i = 0; i < count; i++)
        missing += !jd__variables_first(env, &minimum[i]);
    return missing;
}

static void describe_missing(const struct jd_env *env,
                             const struct jd_variables *minimum, size_t count,
                             char *reason, size_t size)
{
    size_t missing = count_missing(env, minimum, count), written = 0;
    reason[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (jd__variables_first(env, &minimum[i]))
            continue;
        append_text(reason, size, "%s", list_separator(written++, missing));
        append_alternatives(reason, size, &minimum[i]);
    }
    append_text(reason, size, missing > 1 ? " are not set" : " is not set");
}

static void describe_found(const struct jd_env *env,
                           const struct jd_variables *minimum, size_t count,
                           char *reason, size_t size)
{
    reason[0] = '\0';
    for (size_t i = 0; i < count; i++)
        append_text(reason, size, "%s%s", list_separator(i, count),
                    jd__variables_first(env, &minimum[i]));
    append_text(reason, size, count > 1 ? " are set" : " is set");
}

bool jd__detector_minimum(const struct jd_env *env,
                          const struct jd_variables *minimum, size_t count,
                          char *reason, size_t size)
{
    bool enough = count_missing(env, minimum, count) == 0;
    if (enough)
        describe_found(env, minimum, count, reason, size);
    else
        describe_missing(env, minimum, count, reason, size);
    return enough;
}

/* ---- who started whom --------------------------------------------------- */

static bool is_set_torchrun(const struct jd_env *env)
{
    return jd__env_get_nonempty(env, "TORCHELASTIC_RUN_ID");
}

static bool is_set_jsrun(const struct jd_env *env)
{
    return jd__env_get_nonempty(env, "JSM_NAMESPACE_RANK");
}

static bool is_set_openmpi(const struct jd_env *env)
{
    return jd__env_get_nonempty(env, "OMPI_COMM_WORLD_RANK");
}

/* Slurm's own mpi/cray_shasta and Flux's cray-pals set PALS_* as well. */
static bool is_set_pals(const struct jd_env *env)
{
    const char *job = jd__env_get(env, "SLURM_JOB_ID");
    const char *step = jd__env_get(env, "SLURM_STEP_ID");
    const char *application = jd__env_get(env, "PALS_APID");
    char slurms[128];
    if (!jd__env_get_nonempty(env, "PALS_RANKID") ||
        jd__env_get_nonempty(env, "FLUX_TASK_RANK"))
        return false;
    if (!job || !step || !application)
        return true;
    snprintf(slurms, sizeof slurms, "%s.%s", job, step);
    return strcmp(application, slurms) != 0;
}

/* Inside a Slurm job PMI_RANK and PMI_SIZE are srun's own where PMI_JOBID is
 * "JOB.STEP" too; else an mpiexec has set them, and SLURM_* is a copy that all
 * its processes share. */
static bool is_pmi_inside_slurm(const struct jd_env *env)
{
    const char *job = jd__env_get_nonempty(env, "SLURM_JOB_ID");
    const char *pmi_job = jd__env_get(env, "PMI_JOBID");
    if (!job || !jd__env_get_nonempty(env, "PMI_RANK") ||
        !jd__env_get_nonempty(env, "PMI_SIZE") ||
        jd__env_get_nonempty(env, "FLUX_TASK_RANK") ||
        jd__env_get_nonempty(env, "PALS_RANKID"))
        return false;
    size_t length = strlen(job);
    return !pmi_job || strncmp(pmi_job, job, length) != 0 ||
           pmi_job[length] != '.';
}

/* What srun --mpi=pmi2 and flux never set. HYDRA_* and I_MPI_* are no sign:
 * Slurm 24.11 and module files set some of them. */
static bool is_set_mpiexec(const struct jd_env *env)
{
    static const struct jd_variables signs = {
        { "HYDI_CONTROL_FD", "MPI_LOCALRANKID", "PMI_PORT",
          "MV2_COMM_WORLD_RANK" },
    };
    return jd__variables_first(env, &signs) || is_pmi_inside_slurm(env) ||
           is_set_pals(env);
}

/*
 * Launchers that run inside the allocation, step or task of another one, the
 * innermost first. Each sets its sign for every process that it starts, so
 * all processes decide alike.
 */
static const struct inner_launcher {
    const struct jd_detector *detector;
    bool (*is_set)(const struct jd_env *env);
    const char *text;
} inner_launchers[] = {
    { &jd__detector_torchrun, is_set_torchrun, "torchrun" },
    { &jd__detector_jsrun, is_set_jsrun, "jsrun" },
    { &jd__detector_openmpi, is_set_openmpi, "mpirun" },
    { &jd__detector_pmi, is_set_mpiexec, "an MPI launcher (pmi)" },
};

bool jd__detector_is_outer(const struct jd_env *env,
                           const struct jd_detector *self, char *reason,
                           size_t size)
{
    size_t count = sizeof inner_launchers / sizeof *inner_launchers;
    for (size_t i = 0; i < count; i++) {
        const struct inner_launcher *inner = &inner_launchers[i];
        char found[JD_DETECTOR_REASON_SIZE];
        if (inner->detector == self)
            return false;
        if (!inner->is_set(env) ||
            !inner->detector->present(env, found, sizeof found))
            continue;
        snprintf(reason, size, "%s started this process: %s", inner->text,
                 found);
        return true;
    }
    return false;
}

/* ---- numbers ------------------------------------------------------------ */

jd_status jd__detector_number(const struct jd_env *env,
                              const struct jd_cluster *cluster,
                              const struct jd_variables *variables,
                              long long min, struct jd_cluster_number *number)
{
    const char *name = jd__variables_first(env, variables);
    long long value;
    if (!name)
        return JD_OK;
    const char *text = jd__env_get(env, name);
    if (!jd__parse_integer(text, &value) || value < min || value > INT_MAX)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s is \"%s\", but it must be an integer from %lld to "
                       "%d; correct it, or leave the launcher out with "
                       "JD_CLUSTER_DETECTION_METHOD=^%s",
                       name, text, min, INT_MAX, cluster->method);
    number->known = true;
    number->value = value;
    snprintf(number->source, sizeof number->source, "%s", name);
    return JD_OK;
}

jd_status jd__detector_ranks(const struct jd_env *env,
                             const struct jd_detector_ranks *ranks,
                             struct jd_cluster *cluster)
{
    const struct {
        const struct jd_variables *variables;
        struct jd_cluster_number *number;
        long long min;
    } rows[] = {
        { &ranks->size, &cluster->num_processes, 1 },
        { &ranks->rank, &cluster->process_id, 0 },
        { &ranks->local_size, &cluster->local_num_processes, 1 },
        { &ranks->local_rank, &cluster->local_process_id, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        jd_status status = jd__detector_number(env, cluster, rows[i].variables,
                                               rows[i].min, rows[i].number);
        if (status != JD_OK)
            return status;
    }
    return JD_OK;
}

/* ---- the coordinator's address ------------------------------------------ */

static bool is_any_of(const char *host, size_t length, const char *const *names)
{
    for (; *names; names++)
        if (strlen(*names) == length && strncasecmp(host, *names, length) == 0)
            return true;
    return false;
}

bool jd__host_is_loopback(const char *host, size_t length)
{
    static const char *const names[] = {
        "localhost",
        "localhost.localdomain",
        "ip6-localhost",
        "0.0.0.0",
        "::1",
        "::",
        "[::1]",
        "[::]",
        NULL,
    };
    return is_any_of(host, length, names) ||
           (length > 4 && strncmp(host, "127.", 4) == 0 &&
            strspn(host, "0123456789.") >= length);
}

void jd__detector_no_coordinator(struct jd_cluster *cluster, const char *why,
                                 ...)
{
    struct jd_cluster_text *address = &cluster->coordinator_address;
    va_list args;
    va_start(args, why);
    vsnprintf(address->source, sizeof address->source, why, args);
    va_end(args);
}

jd_status jd__detector_port(const struct jd_env *env, const char *variable,
                            int *ret_port)
{
    const char *text = jd__env_get(env, variable);
    long long value;
    if (!jd__parse_integer(text, &value) || value < 1 || value > 65535)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s is \"%s\", but it must be a port from 1 to 65535; "
                       "correct it or leave it out",
                       variable, text);
    *ret_port = (int)value;
    return JD_OK;
}

/* JAX_COORDINATOR_PORT, where it is set, speaks for the port. */
static jd_status choose_port(const struct jd_env *env, int *port,
                             const char **ret_port_source)
{
    const char *variable = "JAX_COORDINATOR_PORT";
    if (!jd__env_get_nonempty(env, variable))
        return JD_OK;
    *ret_port_source = variable;
    return jd__detector_port(env, variable, port);
}

static char *join_address(const char *host, size_t length, int port)
{
    bool bare_ipv6 = host[0] != '[' && memchr(host, ':', length);
    char *text = malloc(length + 16);
    if (text)
        snprintf(text, length + 16, "%s%.*s%s:%d", bare_ipv6 ? "[" : "",
                 (int)length, host, bare_ipv6 ? "]" : "", port);
    return text;
}

/* A host that other processes could not reach, or a port that nobody told. */
static bool is_unusable(struct jd_cluster *cluster,
                        const struct jd_detector_address *address, int port)
{
    if (!address->one_host &&
        jd__host_is_loopback(address->host, address->host_length)) {
        jd__detector_no_coordinator(
            cluster, "%s says %.*s, which is another host for others",
            address->host_source,
            (int)(address->host_length > 60 ? 60 : address->host_length),
            address->host);
        return true;
    }
    if (!port)
        jd__detector_no_coordinator(cluster, "%s tells the host, but no port",
                                    address->host_source);
    return !port;
}

/* Variables may hold anything; an address is what jd__parse_address takes. */
static jd_status check_address(const char *value, const char *source)
{
    if (jd__parse_address(value, NULL, NULL))
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s give \"%s\", which is no host:port; correct them, or "
                   "set JD_COORDINATOR_ADDRESS",
                   source, value);
}

jd_status jd__detector_coordinator(const struct jd_env *env,
                                   struct jd_cluster *cluster,
                                   const struct jd_detector_address *address)
{
    struct jd_cluster_text *coordinator = &cluster->coordinator_address;
    const char *port_source = address->port_source;
    int port = address->port;
    jd_status status = choose_port(env, &port, &port_source);
    if (status != JD_OK || is_unusable(cluster, address, port))
        return status;
    coordinator->value =
        join_address(address->host, address->host_length, port);
    if (!coordinator->value)
        return jd__fail_no_memory("detecting the launcher",
                                  address->host_length);
    snprintf(coordinator->source, sizeof coordinator->source, "%s, %s",
             address->host_source, port_source);
    return check_address(coordinator->value, coordinator->source);
}

static jd_status add_candidate(struct jd_cluster *cluster, const char *host,
                               int port, const char *source)
{
    size_t length = strlen(host);
    char *address = join_address(host, length, port);
    if (!address)
        return jd__fail_no_memory("detecting the launcher", length);
    cluster->coordinator_candidates[cluster->num_coordinator_candidates++] =
        address;
    return check_address(address, source);
}

jd_status
jd__detector_candidates(const struct jd_env *env, struct jd_cluster *cluster,
                        const struct jd_detector_candidates *candidates)
{
    size_t bytes = candidates->count * sizeof *cluster->coordinator_candidates;
    const char *source = candidates->source;
    int port = candidates->port;
    jd_status status = choose_port(env, &port, &source);
    if (status != JD_OK)
        return status;
    cluster->coordinator_candidates = malloc(bytes);
    if (!cluster->coordinator_candidates)
        return jd__fail_no_memory("detecting the launcher", bytes);
    for (size_t i = 0; status == JD_OK && i < candidates->count; i++)
        if (i != candidates->without)
            status = add_candidate(cluster, candidates->hosts[i], port, source);
    jd__detector_no_coordinator(cluster, "%s", candidates->why);
    return status;
}
