/* SPDX-License-Identifier: BSD-3-Clause */
/* namespace.c - the job as libpmix wants it told. */
#include "runtime/wireup/server/namespace.h"
#include "base/text.h"
#include "runtime/wireup/environment.h"
#include "runtime/wireup/server/callbacks.h"
#include "runtime/wireup/server/hand_out.h"
#include "runtime/wireup/server/log.h"
#include "runtime/wireup/server/modex.h"

#include <pmix.h>
#include <pmix_server.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static jd_status check_pmix(pmix_status_t code, const char *call)
{
    if (code == PMIX_SUCCESS || code == PMIX_OPERATION_SUCCEEDED)
        return JD_OK;
    return jd_fail(JD_INTERNAL, "%s of libpmix failed: %s", call,
                   PMIx_Error_string(code));
}

/* ---- infos: libpmix copies what is put in ------------------------------- */

struct infos {
    pmix_info_t *items;
    size_t count;
};

static void add_info(struct infos *infos, const char *key, const void *value,
                     pmix_data_type_t type)
{
    PMIX_INFO_LOAD(&infos->items[infos->count], key, value, type);
    infos->count++;
}

static void add_number(struct infos *infos, const char *key, size_t number)
{
    uint32_t value = (uint32_t)number;
    add_info(infos, key, &value, PMIX_UINT32);
}

static void add_rank(struct infos *infos, const char *key, uint32_t process)
{
    pmix_rank_t rank = process;
    add_info(infos, key, &rank, PMIX_PROC_RANK);
}

/* ---- texts -------------------------------------------------------------- */

/* malloc'ed; NULL without memory. */
static char *list_processes(const Jd__PlanHost *host)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    for (size_t i = 0; i < host->n_processes; i++)
        fprintf(out, "%s%u", i ? "," : "", (unsigned)host->processes[i]);
    return jd__text_end(&text);
}

/* The hosts' names, and their processes, in the same order. */
static char *list_hosts(const Jd__Plan *plan, bool processes)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    for (size_t h = 0; h < plan->n_hosts; h++) {
        if (h)
            fputc(processes ? ';' : ',', out);
        if (processes) {
            char *list = list_processes(plan->hosts[h]);
            fputs(list ? list : "", out);
            free(list);
        } else {
            plan_print_host(out, plan, h);
        }
    }
    return jd__text_end(&text);
}

static char *host_name(const Jd__Plan *plan, size_t host)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    plan_print_host(out, plan, host);
    return jd__text_end(&text);
}

/* ---- registering -------------------------------------------------------- */

enum { JOB_INFOS = 16, RANK_INFOS = 7 };

/* One rank: an array of what is known of it. */
static void add_process(struct infos *job, const char *name, size_t host,
                        uint32_t process, size_t local)
{
    pmix_data_array_t *array;
    uint32_t node = (uint32_t)host;
    uint16_t local_rank = (uint16_t)local;
    PMIX_DATA_ARRAY_CREATE(array, RANK_INFOS, PMIX_INFO);
    struct infos infos = { array->array, 0 };
    add_rank(&infos, PMIX_RANK, process);
    add_number(&infos, PMIX_APPNUM, 0);
    add_info(&infos, PMIX_LOCAL_RANK, &local_rank, PMIX_UINT16);
    add_info(&infos, PMIX_NODE_RANK, &local_rank, PMIX_UINT16);
    add_rank(&infos, PMIX_GLOBAL_RANK, process);
    add_info(&infos, PMIX_HOSTNAME, name, PMIX_STRING);
    add_info(&infos, PMIX_NODEID, &node, PMIX_UINT32);
    add_info(job, PMIX_PROC_INFO_ARRAY, array, PMIX_DATA_ARRAY);
    PMIX_DATA_ARRAY_FREE(array);
}

static void add_processes(struct infos *infos, const Jd__Plan *plan)
{
    for (size_t h = 0; h < plan->n_hosts; h++) {
        char *name = host_name(plan, h);
        for (size_t i = 0; i < plan->hosts[h]->n_processes; i++)
            add_process(infos, name ? name : "", h,
                        plan->hosts[h]->processes[i], i);
        free(name);
    }
}

static void add_job(struct infos *infos, const struct serving *serving)
{
    const Jd__Plan *plan = serving->plan;
    const Jd__PlanHost *own = serving->own;
    char *peers = list_processes(own);
    add_info(infos, PMIX_JOBID, serving->nspace, PMIX_STRING);
    add_number(infos, PMIX_UNIV_SIZE, plan->count);
    add_number(infos, PMIX_JOB_SIZE, plan->count);
    add_number(infos, PMIX_MAX_PROCS, plan->count);
    add_number(infos, PMIX_NUM_NODES, plan->n_hosts);
    add_number(infos, PMIX_NODE_SIZE, own->n_processes);
    add_number(infos, PMIX_LOCAL_SIZE, own->n_processes);
    add_rank(infos, PMIX_LOCALLDR, own->processes[0]);
    add_info(infos, PMIX_LOCAL_PEERS, peers ? peers : "", PMIX_STRING);
    add_info(infos, PMIX_TMPDIR, serving->directory->jobs, PMIX_STRING);
    add_info(infos, PMIX_NSDIR, serving->directory->jobs, PMIX_STRING);
    free(peers);
}

/* The maps may be bytes rather than a text: libpmix knows their length. */
static jd_status add_maps(struct infos *infos, const Jd__Plan *plan)
{
    char *nodes = list_hosts(plan, false), *ranks = list_hosts(plan, true);
    char *regex = NULL, *ppn = NULL;
    jd_status status = nodes && ranks
                           ? check_pmix(PMIx_generate_regex(nodes, &regex),
                                        "PMIx_generate_regex")
                           : jd__fail_no_memory("the job's hosts", 0);
    if (status == JD_OK)
        status =
            check_pmix(PMIx_generate_ppn(ranks, &ppn), "PMIx_generate_ppn");
    if (status == JD_OK) {
        add_info(infos, PMIX_NODE_MAP, regex, PMIX_REGEX);
        add_info(infos, PMIX_PROC_MAP, ppn, PMIX_REGEX);
    }
    free(nodes);
    free(ranks);
    free(regex);
    free(ppn);
    return status;
}

static jd_status register_job(const struct serving *serving)
{
    pmix_nspace_t nspace;
    struct infos infos = { NULL, 0 };
    size_t room = JOB_INFOS + (size_t)serving->plan->count;
    PMIX_LOAD_NSPACE(nspace, serving->nspace);
    PMIX_INFO_CREATE(infos.items, room);
    if (!infos.items)
        return jd__fail_no_memory("the job", room * sizeof *infos.items);
    add_job(&infos, serving);
    jd_status status = add_maps(&infos, serving->plan);
    if (status == JD_OK) {
        add_processes(&infos, serving->plan);
        status = check_pmix(
            PMIx_server_register_nspace(nspace, (int)serving->own->n_processes,
                                        infos.items, infos.count, NULL, NULL),
            "PMIx_server_register_nspace");
    }
    PMIX_INFO_FREE(infos.items, room);
    return status;
}

static jd_status register_clients(const struct serving *serving)
{
    jd_status status = JD_OK;
    for (size_t i = 0; status == JD_OK && i < serving->own->n_processes; i++) {
        pmix_proc_t proc;
        PMIX_LOAD_PROCID(&proc, serving->nspace, serving->own->processes[i]);
        status = check_pmix(PMIx_server_register_client(
                                &proc, geteuid(), getegid(), NULL, NULL, NULL),
                            "PMIx_server_register_client");
    }
    return status;
}

static jd_status start_pmix(const struct serving *serving)
{
    enum { COUNT = 3 };
    pmix_info_t *items;
    const Jd__Plan *plan = serving->plan;
    char *name = host_name(plan, plan->host);
    PMIX_INFO_CREATE(items, COUNT);
    struct infos infos = { items, 0 };
    add_info(&infos, PMIX_SERVER_TMPDIR, serving->directory->path, PMIX_STRING);
    add_info(&infos, PMIX_SYSTEM_TMPDIR, serving->directory->path, PMIX_STRING);
    add_info(&infos, PMIX_HOSTNAME, name ? name : "", PMIX_STRING);
    free(name);
    jd_status status = check_pmix(
        PMIx_server_init(callbacks_module(serving), items, infos.count),
        "PMIx_server_init");
    PMIX_INFO_FREE(items, COUNT);
    return status;
}

static jd_status open_namespace(const struct serving *serving)
{
    jd_status status = start_pmix(serving);
    if (status == JD_OK)
        status = register_job(serving);
    if (status == JD_OK)
        status = register_clients(serving);
    return status;
}

/* ---- handing out -------------------------------------------------------- */

enum { OWN_VARIABLES = 5, VARIABLE_SIZE = 160 };

/* What Open MPI needs besides libpmix's own: munge may run on one host and not
 * on another; 4.1 believes that it was started alone where no launcher that it
 * knows is seen (the port is of no use otherwise); and 4.1 and 5 have names of
 * their own for the place of shared memory, and cannot use it where two
 * processes have one pid: each takes the other's segment for its own. Returns
 * how many they are. */
static size_t fill_own(const struct serving *serving,
                       char own[OWN_VARIABLES][VARIABLE_SIZE])
{
    const char *shared = serving->directory->shared;
    snprintf(own[0], VARIABLE_SIZE, "PMIX_MCA_psec=native");
    snprintf(own[1], VARIABLE_SIZE, "JSM_JSRUN_PORT=1");
    snprintf(own[2], VARIABLE_SIZE, "OMPI_MCA_btl_vader_backing_directory=%s",
             shared);
    snprintf(own[3], VARIABLE_SIZE, "OMPI_MCA_btl_sm_backing_directory=%s",
             shared);
    snprintf(own[4], VARIABLE_SIZE, "OMPI_MCA_btl=^vader,sm");
    return serving->plan->has_equal_pids ? OWN_VARIABLES : OWN_VARIABLES - 1;
}

/* A libpmix that is newer than this list may do without what it does not
 * know; the processes would refuse it. */
static bool may_be_handed(char *variable)
{
    char *equals = strchr(variable, '=');
    if (!equals)
        return false;
    *equals = '\0';
    bool is_allowed = jd__environment_allows(variable, equals + 1);
    if (!is_allowed)
        log_say(JD_LOG_DEBUG, "libpmix's %s is not handed out", variable);
    *equals = '=';
    return is_allowed;
}

static jd_status hand_out_to(struct serving *serving, uint32_t process,
                             char **from_pmix)
{
    char own[OWN_VARIABLES][VARIABLE_SIZE];
    size_t most = 0, count = 0;
    while (from_pmix && from_pmix[most])
        most++;
    char **all = malloc((most + OWN_VARIABLES) * sizeof *all);
    if (!all)
        return jd__fail_no_memory("what a process is handed out", most);
    size_t num_own = fill_own(serving, own);
    for (size_t i = 0; i < most; i++)
        if (may_be_handed(from_pmix[i]))
            all[count++] = from_pmix[i];
    for (size_t i = 0; i < num_own; i++)
        all[count + i] = own[i];
    jd_status status = hand_out(serving, process, all, count + num_own);
    free(all);
    return status;
}

static jd_status prepare_process(struct serving *serving, uint32_t process)
{
    char **from_pmix = NULL;
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, serving->nspace, process);
    jd_status status = check_pmix(PMIx_server_setup_fork(&proc, &from_pmix),
                                  "PMIx_server_setup_fork");
    if (status == JD_OK)
        status = hand_out_to(serving, process, from_pmix);
    for (size_t i = 0; from_pmix && from_pmix[i]; i++)
        free(from_pmix[i]);
    free(from_pmix);
    return status;
}

static jd_status hand_out_all(struct serving *serving)
{
    jd_status status = JD_OK;
    for (size_t i = 0; status == JD_OK && i < serving->own->n_processes; i++)
        status = prepare_process(serving, serving->own->processes[i]);
    return status;
}

jd_status namespace_serve(struct serving *serving)
{
    jd_status status = open_namespace(serving);
    if (status == JD_OK)
        status = modex_start(serving);
    return status == JD_OK ? hand_out_all(serving) : status;
}
