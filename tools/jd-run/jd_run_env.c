/* SPDX-License-Identifier: BSD-3-Clause */
/* jd_run_env.c - the environment of jd-run's processes: who they are, and
 * nothing of a launcher around jd-run, whose process jd-run itself is. */
#include "autodetect/cluster.h"
#include "base/tie.h"
#include "runtime/coordination/auth/auth.h"
#include "tools/jd-run/jd_run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * What says which process this is, or where its launcher serves MPI. What an
 * allocation is (SLURM_JOB_ID) and what the user has set (OMPI_MCA_btl) stays.
 * The first row that fits counts; * stands for the rest of a name, + keeps it.
 */
static const char *const outer[] = {
    /* jd-run says these */
    "JD_COORDINATOR_ADDRESS", "JD_COORDINATOR_BIND_ADDRESS", "JD_NUM_PROCESSES",
    "JD_PROCESS_ID", JD_TIE_VARIABLE, "JAX_COORDINATOR_*", "JAX_NUM_PROCESSES",
    "JAX_PROCESS_ID",
    /* mpirun of Open MPI */
    "OMPI_COMM_WORLD_*", "OMPI_WORLD_*", "OMPI_UNIVERSE_SIZE", "OMPI_COMMAND",
    "OMPI_ARGV", "OMPI_NUM_APP_CTX", "OMPI_APP_CTX_*", "OMPI_FIRST_RANKS",
    "OMPI_FILE_LOCATION", "OMPI_TOOL_NAME", "OMPI_MCA_orte_*", "OMPI_MCA_ess*",
    "OMPI_MCA_pmix*", "OMPI_MCA_initial_wdir", "OMPI_MCA_num_procs",
    "OMPI_MCA_mpi_oversubscribe", "OMPI_MCA_shmem_RUNTIME_QUERY_hint", "ORTE_*",
    "PRTE_*", "PRRTE_*", "+PMIX_MCA_*", "PMIX_*",
    /* the PMI family */
    "PMI_*", "PMI2_*", "PALS_*", "HYDI_*", "HYDRA_*", "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS", "MV2_COMM_WORLD_*", "JSM_*",
    /* a step of Slurm, a job of Flux */
    "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS",
    "SLURM_TASK_PID", "SLURM_STEP_*", "SLURM_STEPID", "SLURM_SRUN_*",
    "SLURM_LAUNCH_NODE_IPADDR", "SLURM_DISTRIBUTION", "SLURM_MPI_TYPE",
    "SLURM_PMI*", "FLUX_TASK_*", "FLUX_JOB_*",
    /* torchrun, pods */
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
    "GROUP_WORLD_SIZE", "ROLE_RANK", "ROLE_WORLD_SIZE", "ROLE_NAME",
    "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_*", "TPU_WORKER_*",
    "CLOUD_TPU_TASK_ID", "TPU_PROCESS_*", "MEGASCALE_*", "JOB_COMPLETION_INDEX",
    NULL
};

/* The same where it is a jd-run that serves MPI around; else the user's. */
static const char *const outer_of_jd_run[] = {
    "OMPI_MCA_btl_vader_backing_directory",
    "OMPI_MCA_btl_sm_backing_directory",
    "PMIX_MCA_psec",
    NULL,
};

enum {
    ID_TEXT = 32,
    TIE_TEXT = 64,
    ADDRESS_TEXT = 32,
    SECRET_TEXT = 2 * JD_AUTH_KEY + 16
};

struct run_env {
    char **entries; /* malloc'ed texts, and the last ones of below; NULL */
    size_t num_copied;
    char **told; /* to the last process that was asked for */
    char id[ID_TEXT];
    char count[ID_TEXT];
    char tie[TIE_TEXT];
    char address[sizeof "JD_COORDINATOR_ADDRESS=" + ADDRESS_TEXT];
    char secret[SECRET_TEXT];
};

static bool fits(const char *row, const char *name)
{
    size_t length = strlen(row);
    if (row[length - 1] == '*')
        return strncmp(row, name, length - 1) == 0;
    return strcmp(row, name) == 0;
}

static bool is_of_jd_run(const char *name)
{
    for (const char *const *row = outer_of_jd_run; *row; row++)
        if (strcmp(*row, name) == 0)
            return true;
    return false;
}

static bool is_outer(const char *name)
{
    for (const char *const *row = outer; *row; row++) {
        bool keeps = **row == '+';
        if (fits(*row + keeps, name))
            return !keeps;
    }
    return false;
}

/* ---- the address -------------------------------------------------------- */

static bool find_port(const struct sockaddr *wanted, socklen_t size,
                      struct sockaddr *ret_bound)
{
    int fd = socket(wanted->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && bind(fd, wanted, size) == 0 &&
              getsockname(fd, ret_bound, &size) == 0;
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return ok;
}

/*
 * A port that is free now. Process 0 binds it some milliseconds later, and
 * until then another program may be given it: the kernel hands out ports in
 * no order that comes back so soon, and where it happens process 0 says so.
 */
static jd_status choose_address(char *text, size_t size)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    if (find_port((struct sockaddr *)&v4, sizeof v4, (struct sockaddr *)&v4)) {
        snprintf(text, size, "127.0.0.1:%d", ntohs(v4.sin_port));
        return JD_OK;
    }
    int error = errno;
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
                               .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    if (find_port((struct sockaddr *)&v6, sizeof v6, (struct sockaddr *)&v6)) {
        snprintf(text, size, "[::1]:%d", ntohs(v6.sin6_port));
        return JD_OK;
    }
    return jd_fail(JD_UNAVAILABLE,
                   "the processes cannot meet: 127.0.0.1 gives no port (%s), "
                   "and neither does ::1 (%s); is the loopback interface up "
                   "(ip link set lo up)?",
                   strerror(error), strerror(errno));
}

/* ---- the whole ---------------------------------------------------------- */

static jd_status make_secret(struct run_env *env)
{
    jd_status status = jd__auth_start();
    if (status != JD_OK)
        return status;
    unsigned char bytes[JD_AUTH_KEY];
    jd__auth_random(bytes, sizeof bytes);
    size_t used = (size_t)sprintf(env->secret, "JD_SECRET=");
    for (size_t i = 0; i < sizeof bytes; i++)
        used += (size_t)sprintf(env->secret + used, "%02x", bytes[i]);
    return JD_OK;
}

static bool copy_entries(struct run_env *env, const struct jd_env *process)
{
    enum { OWN = 6 }; /* below, and the NULL */
    bool is_nested = jd__cluster_is_of_jd_run(process);
    env->entries = calloc(jd__env_count(process) + OWN, sizeof *env->entries);
    for (size_t i = 0; env->entries && i < jd__env_count(process); i++) {
        const struct jd_env_entry *entry = jd__env_at(process, i);
        if (is_outer(entry->name) || (is_nested && is_of_jd_run(entry->name)))
            continue;
        size_t size = strlen(entry->name) + strlen(entry->value) + 2;
        char *text = malloc(size);
        if (!text)
            return false;
        snprintf(text, size, "%s=%s", entry->name, entry->value);
        env->entries[env->num_copied++] = text;
    }
    return env->entries != NULL;
}

/* A secret that the user has given stays: jd-info --job needs to know it. */
static jd_status add_own(struct run_env *env, const struct jd_env *process,
                         int count, int tie)
{
    struct stat pipe;
    char address[ADDRESS_TEXT];
    jd_status status = choose_address(address, sizeof address);
    if (status != JD_OK)
        return status;
    if (fstat(tie, &pipe) != 0)
        return jd_fail(JD_INTERNAL, "the processes' pipe: %s", strerror(errno));
    snprintf(env->tie, sizeof env->tie, JD_TIE_VARIABLE "=%d:%llu", tie,
             (unsigned long long)pipe.st_ino);
    snprintf(env->address, sizeof env->address, "JD_COORDINATOR_ADDRESS=%s",
             address);
    snprintf(env->count, sizeof env->count, "JD_NUM_PROCESSES=%d", count);
    char **next = env->entries + env->num_copied;
    *next++ = env->address;
    *next++ = env->count;
    *next++ = env->tie;
    *next++ = env->id;
    if (jd__env_get_nonempty(process, "JD_SECRET") ||
        jd__env_get_nonempty(process, "JD_SECRET_FILE"))
        return JD_OK;
    *next = env->secret;
    return make_secret(env);
}

static jd_status fill(struct run_env *env, const struct jd_env *process,
                      int count, int tie)
{
    if (!copy_entries(env, process))
        return jd__fail_no_memory("copying the environment",
                                  jd__env_count(process));
    return add_own(env, process, count, tie);
}

jd_status run_env_create(int count, int tie, struct run_env **ret_env)
{
    struct jd_env *process;
    jd_status status = jd__env_from_process(&process);
    if (status != JD_OK)
        return status;
    struct run_env *env = calloc(1, sizeof *env);
    status = env ? fill(env, process, count, tie)
                 : jd__fail_no_memory("copying the environment", sizeof *env);
    jd__env_destroy(process);
    if (status != JD_OK)
        run_env_destroy(env);
    else
        *ret_env = env;
    return status;
}

void run_env_destroy(struct run_env *env)
{
    if (!env)
        return;
    for (size_t i = 0; i < env->num_copied; i++)
        free(env->entries[i]);
    free(env->entries);
    free(env->told);
    explicit_bzero(env->secret, sizeof env->secret);
    free(env);
}

char **run_env_of_none(struct run_env *env)
{
    free(env->told);
    env->told = calloc(env->num_copied + 1, sizeof *env->told);
    if (env->told)
        memcpy(env->told, env->entries, env->num_copied * sizeof *env->told);
    return env->told;
}

/* "A=b" and "A=c". */
static bool is_same_variable(const char *one, const char *other)
{
    size_t length = strcspn(one, "=") + 1;
    return strncmp(one, other, length) == 0;
}

static bool is_among(const char *entry, char *const *variables, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_same_variable(entry, variables[i]))
            return true;
    return false;
}

char **run_env_of(struct run_env *env, const struct run_serve *serve, int index)
{
    size_t num_served, count = 0, used = 0;
    char **served = run_serve_variables(serve, index, &num_served);
    while (env->entries[count])
        count++;
    free(env->told);
    env->told = calloc(count + num_served + 1, sizeof *env->told);
    if (!env->told)
        return NULL;
    snprintf(env->id, sizeof env->id, "JD_PROCESS_ID=%d", index);
    for (size_t i = 0; i < count; i++)
        if (!is_among(env->entries[i], served, num_served))
            env->told[used++] = env->entries[i];
    if (num_served)
        memcpy(env->told + used, served, num_served * sizeof *served);
    return env->told;
}
