/* SPDX-License-Identifier: BSD-3-Clause */
/* wireup.c - the processes' side of an MPI world without an MPI launcher. */
#include "runtime/wireup/wireup.h"
#include "base/clock.h"
#include "base/env.h"
#include "runtime/coordination/client/call.h"
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/session/session_private.h"
#include "runtime/mpi/library.h"
#include "runtime/wireup/environment.h"
#include "base/litter.h"
#include "runtime/wireup/pmix_server.h"
#include "runtime/wireup/server_socket.h"
#include "runtime/wireup/watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENV_KEY "\0jd/wireup/env/" /* and the process's index */

/* ---- can it be done? ---------------------------------------------------- */

static jd_status find_server(const struct jd_settings *settings,
                             char **ret_path)
{
    return jd__pmix_server_find(jd__options_text(settings, JD_OPTION_LIBEXEC),
                                ret_path);
}

static jd_status check_tmpdir(const struct jd_settings *settings)
{
    const char *tmpdir = jd__options_text(settings, JD_OPTION_TMPDIR);
    if (!tmpdir || tmpdir[0] == '/')
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "JD_TMPDIR is \"%s\", but it must be an absolute path; "
                   "correct it or leave it out",
                   tmpdir);
}

jd_status jd__wireup_check(const struct jd_settings *settings,
                           const struct jd_cluster *cluster)
{
    char *path;
    const struct jd_mpi_flavour *flavour = jd__mpi_library_flavour();
    if (!flavour->is_joined)
        return jd_fail(JD_UNIMPLEMENTED,
                       "jd joins processes of Open MPI, MPICH, Intel MPI and "
                       "MVAPICH only, and this is %s",
                       jd__mpi_library_name());
    if (!cluster->process_id.known || !cluster->num_processes.known)
        return jd_fail(JD_UNIMPLEMENTED,
                       "jd can join them itself where it knows how many there "
                       "are (JD_NUM_PROCESSES) and which is which "
                       "(JD_PROCESS_ID)");
    if (jd__cluster_require_address(cluster, flavour->by) != JD_OK)
        return jd_fail(JD_NOT_FOUND,
                       "it does not know where process 0 is: "
                       "JD_COORDINATOR_ADDRESS, HOST:PORT, would tell");
    jd_status status = find_server(settings, &path);
    if (status == JD_OK)
        free(path);
    return status == JD_OK ? check_tmpdir(settings) : status;
}

/* ---- the plan ----------------------------------------------------------- */

/* The hosts of the job in the order of their lowest processes. */
struct hosts {
    Jd__PlanHost *items;
    Jd__PlanHost **pointers;
    uint32_t *processes; /* those of all hosts, one host after the other */
    int *places;         /* by the service's number: 1 + the place in items */
    int count;
    int own;
};

static void free_hosts(struct hosts *hosts)
{
    free(hosts->items);
    free(hosts->pointers);
    free(hosts->processes);
    free(hosts->places);
}

static jd_status allocate_hosts(struct hosts *hosts, size_t count)
{
    *hosts = (struct hosts){ calloc(count, sizeof *hosts->items),
                             calloc(count, sizeof *hosts->pointers),
                             calloc(count, sizeof *hosts->processes),
                             calloc(count, sizeof *hosts->places),
                             0,
                             0 };
    if (hosts->items && hosts->pointers && hosts->processes && hosts->places)
        return JD_OK;
    free_hosts(hosts);
    return jd__fail_no_memory("jd_initialize", count * sizeof *hosts->items);
}

static int *place_of(const struct jd_wireup_spec *spec, struct hosts *hosts,
                     int process)
{
    struct jd_client *client = jd__session_client(spec->session);
    return &hosts->places[jd__client_host_of(client, process)];
}

/* In the order of their first processes, with the number of all. */
static void find_hosts(const struct jd_wireup_spec *spec, Jd__Row **rows,
                       struct hosts *hosts)
{
    for (int i = 0; i < spec->count; i++) {
        int *place = place_of(spec, hosts, i);
        if (*place == 0) {
            Jd__PlanHost *host = &hosts->items[hosts->count];
            jd__plan_host__init(host);
            host->name = rows[i]->host;
            hosts->pointers[hosts->count++] = host;
            *place = hosts->count;
        }
        hosts->items[*place - 1].n_processes++;
    }
}

/* rows are the service's, in the order of processes. */
static void fill_hosts(const struct jd_wireup_spec *spec, Jd__Row **rows,
                       struct hosts *hosts)
{
    uint32_t *next = hosts->processes;
    find_hosts(spec, rows, hosts);
    for (int i = 0; i < hosts->count; i++) {
        hosts->items[i].processes = next;
        next += hosts->items[i].n_processes;
        hosts->items[i].n_processes = 0;
    }
    for (int i = 0; i < spec->count; i++) {
        Jd__PlanHost *host = &hosts->items[*place_of(spec, hosts, i) - 1];
        host->processes[host->n_processes++] = (uint32_t)i;
    }
    hosts->own = *place_of(spec, hosts, spec->index) - 1;
}

/* Containers that share their host's name and memory count pids for
 * themselves. */
static bool has_equal_pids(const Jd__PlanHost *host, Jd__Row **rows)
{
    for (size_t i = 0; i < host->n_processes; i++)
        for (size_t k = 0; k < i; k++)
            if (rows[host->processes[i]]->pid == rows[host->processes[k]]->pid)
                return true;
    return false;
}

/* The service's addresses as texts. */
struct addresses {
    char texts[JD_MAX_ENDPOINTS][JD_ENDPOINT_TEXT];
    char *pointers[JD_MAX_ENDPOINTS];
};

static void fill_addresses(const struct jd_job_key *key, Jd__Plan *plan,
                           struct addresses *addresses)
{
    for (int i = 0; i < key->endpoints.count; i++) {
        jd__addresses_format(&key->endpoints.items[i], addresses->texts[i]);
        addresses->pointers[i] = addresses->texts[i];
    }
    plan->addresses = addresses->pointers;
    plan->n_addresses = (size_t)key->endpoints.count;
}

static void fill_plan(const struct jd_wireup_spec *spec,
                      const struct hosts *hosts, Jd__Plan *plan)
{
    const struct jd_job_key *key =
        jd__client_key(jd__session_client(spec->session));
    const struct jd_settings *settings = spec->settings;
    const char *tmpdir = jd__options_text(settings, JD_OPTION_TMPDIR);
    plan->auth_way = (int32_t)key->auth.way;
    plan->auth_key = jd__wire_bytes(key->auth.key, sizeof key->auth.key);
    plan->job = (char *)key->job;
    plan->attempt = key->attempt;
    plan->count = (uint32_t)spec->count;
    plan->process = (uint32_t)spec->index;
    plan->hosts = hosts->pointers;
    plan->n_hosts = (size_t)hosts->count;
    plan->host = (uint32_t)hosts->own;
    plan->tmpdir = (char *)(tmpdir ? tmpdir : "");
    plan->heartbeat_timeout =
        jd__options_seconds(settings, JD_OPTION_HEARTBEAT_TIMEOUT);
    plan->timeout = fmax(1, spec->deadline - jd__clock_now());
    plan->program = (char *)spec->facts->program;
    plan->asks_by_pmi = jd__mpi_library_flavour()->by == JD_SERVED_BY_PMI;
    plan->service = jd__client_incarnation(jd__session_client(spec->session));
    plan->log_level = (char *)jd__options_text(settings, JD_OPTION_LOG);
}

/* ---- the server --------------------------------------------------------- */

static jd_status start_with(const struct jd_wireup_spec *spec, Jd__Row **rows)
{
    Jd__Plan plan = JD__PLAN__INIT;
    struct addresses addresses;
    struct hosts hosts;
    char *path;
    jd_status status = allocate_hosts(&hosts, (size_t)spec->count);
    if (status != JD_OK)
        return status;
    fill_hosts(spec, rows, &hosts);
    fill_plan(spec, &hosts, &plan);
    plan.has_equal_pids = has_equal_pids(hosts.pointers[hosts.own], rows);
    fill_addresses(jd__client_key(jd__session_client(spec->session)), &plan,
                   &addresses);
    status = find_server(spec->settings, &path);
    if (status == JD_OK) {
        status =
            jd__pmix_server_start(path, &plan, spec->cluster, spec->deadline);
        free(path);
    }
    free_hosts(&hosts);
    return status;
}

/* The names of all hosts come from the service's table. */
static jd_status start_server(const struct jd_wireup_spec *spec)
{
    Jd__Inquiry body = JD__INQUIRY__INIT;
    struct jd_call call = { .operation = "jd_initialize",
                            .detail = ": the table of processes" };
    jd__call_init(&call, JD__MESSAGE__BODY_INQUIRY, &body);
    jd_status status =
        jd__client_call(jd__session_client(spec->session), &call);
    if (status != JD_OK)
        return status;
    status = call.reply->n_rows == (size_t)spec->count
                 ? start_with(spec, call.reply->rows)
                 : jd_fail(JD_INTERNAL, "the table has %zu rows, not %d",
                           call.reply->n_rows, spec->count);
    jd__call_finish(&call);
    return status == JD_OK
               ? JD_OK
               : jd__fail_prefix(status,
                                 "jd_initialize: MPI's server for host %s: ",
                                 spec->facts->host);
}

/* ---- what it hands out -------------------------------------------------- */

/* Kept until the process ends: its end is how the server sees ours. */
static jd_status hold_liveness(const struct jd_wireup_spec *spec,
                               const char *path)
{
    static int liveness = -1; /* of the last start; MPI starts once */
    jd_status status =
        jd__server_socket_connect(path, (uint32_t)spec->index, &liveness);
    return status == JD_OK
               ? jd__watch_start(spec->session, liveness, spec->facts->host)
               : status;
}

/* MPI's own from here on. */
static jd_status give_pmi(const struct jd_wireup_spec *spec, const char *path)
{
    int fd;
    char number[16];
    if (!path[0])
        return JD_OK;
    jd_status status =
        jd__server_socket_connect(path, (uint32_t)spec->index, &fd);
    if (status != JD_OK)
        return status;
    snprintf(number, sizeof number, "%d", fd);
    return jd__env_export("PMI_FD", number);
}

static jd_status fail_variable(const char *name, const char *value)
{
    return jd_fail(
        JD_PERMISSION_DENIED,
        "jd_initialize: what was handed out for this host would set %.80s to "
        "\"%.120s\" before MPI_Init, which no server of jd does: another "
        "program answers for the coordination service, or the hosts have "
        "different versions of jd; set JD_SECRET_FILE, the same for all "
        "processes, and install one version everywhere",
        name, value);
}

/* All are looked at before the first is set. */
static jd_status check_environment(const Jd__Environment *environment)
{
    for (size_t i = 0; i < environment->n_variables; i++) {
        char *equals = strchr(environment->variables[i], '=');
        if (!equals)
            return fail_variable(environment->variables[i], "");
        *equals = '\0'; /* it is ours */
        if (!jd__environment_allows(environment->variables[i], equals + 1))
            return fail_variable(environment->variables[i], equals + 1);
        *equals = '=';
    }
    return JD_OK;
}

static bool is_first_of_host(const struct jd_wireup_spec *spec)
{
    struct jd_client *client = jd__session_client(spec->session);
    int own = jd__client_host_of(client, spec->index);
    for (int i = 0; i < spec->index; i++)
        if (jd__client_host_of(client, i) == own)
            return false;
    return true;
}

static void note_litter(const struct jd_wireup_spec *spec,
                        const Jd__Environment *environment)
{
    static const char shared[] = "OMPI_MCA_btl_vader_backing_directory=";
    if (!is_first_of_host(spec))
        return;
    jd__litter_note(environment->liveness_path);
    for (size_t i = 0; i < environment->n_variables; i++)
        if (strncmp(environment->variables[i], shared, sizeof shared - 1) == 0)
            jd__litter_note(environment->variables[i] + sizeof shared - 1);
}

static jd_status set_environment(const Jd__Environment *environment)
{
    jd_status status = JD_OK;
    for (size_t i = 0; status == JD_OK && i < environment->n_variables; i++) {
        char *equals = strchr(environment->variables[i], '=');
        *equals = '\0';
        status = jd__env_export(environment->variables[i], equals + 1);
    }
    return status;
}

static jd_status take_environment(const struct jd_wireup_spec *spec,
                                  ProtobufCBinaryData value)
{
    Jd__Environment *environment =
        jd__environment__unpack(NULL, value.len, value.data);
    if (!environment)
        return jd_fail(JD_INTERNAL, "jd_initialize: what MPI's server of this "
                                    "host handed out cannot be read");
    jd_status status = check_environment(environment);
    if (status == JD_OK)
        status = hold_liveness(spec, environment->liveness_path);
    if (status == JD_OK) {
        note_litter(spec, environment);
        status = set_environment(environment);
    }
    if (status == JD_OK)
        status = give_pmi(spec, environment->pmi_path);
    jd__environment__free_unpacked(environment, NULL);
    return status;
}

/* Internal keys begin with a NUL, which no key of a program does. */
static jd_status await_environment(const struct jd_wireup_spec *spec)
{
    char name[64];
    size_t prefix = sizeof ENV_KEY - 1;
    memcpy(name, ENV_KEY, prefix);
    int digits =
        snprintf(name + prefix, sizeof name - prefix, "%d", spec->index);
    ProtobufCBinaryData key = jd__wire_bytes(name, prefix + (size_t)digits);
    Jd__Get body = JD__GET__INIT;
    struct jd_call call = {
        .operation = "jd_initialize",
        .detail = ": what MPI's server of this host hands out",
        .timeout = fmax(0.1, spec->deadline - jd__clock_now()),
        .variable = "JD_INITIALIZATION_TIMEOUT",
    };
    body.keys = &key;
    body.n_keys = 1;
    jd__call_init(&call, JD__MESSAGE__BODY_GET, &body);
    jd_status status =
        jd__client_call(jd__session_client(spec->session), &call);
    if (status == JD_OK)
        status = call.reply->n_entries == 1
                     ? take_environment(spec, call.reply->entries[0]->value)
                     : jd_fail(JD_INTERNAL,
                               "jd_initialize: nothing came for MPI_Init");
    jd__call_finish(&call);
    return status;
}

void jd__wireup_leave(void)
{
    jd__watch_stop();
}

jd_status jd__wireup_enter(const struct jd_wireup_spec *spec)
{
    jd_status status = JD_OK;
    if (is_first_of_host(spec))
        status = start_server(spec);
    return status == JD_OK ? await_environment(spec) : status;
}
