/* SPDX-License-Identifier: BSD-3-Clause */
/* jd_run_serve.c - a PMIx server for the processes, of which those that call
 * MPI_Init themselves become one world. */
#include "autodetect/cluster.h"
#include "base/clock.h"
#include "base/options.h"
#include "runtime/coordination/auth/auth.h"
#include "runtime/mpi/library.h"
#include "runtime/wireup/environment.h"
#include "runtime/wireup/pmix_server.h"
#include "tools/jd-run/jd_run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READY_SECONDS 10 /* without it the processes start too */

enum { NAME_SIZE = 256 };

struct run_serve {
    int held, count;
    Jd__Environment **environments;
};

/* ---- the plan ----------------------------------------------------------- */

/* What is put into a list of hosts must not end it. */
static void find_host(char name[NAME_SIZE])
{
    if (gethostname(name, NAME_SIZE - 1) != 0 || !name[0])
        strcpy(name, "localhost");
    for (char *c = name; (c = strpbrk(c, ",;"));)
        *c = '-';
}

static uint64_t draw_number(void)
{
    uint64_t number;
    jd__auth_random((unsigned char *)&number, sizeof number);
    return number ? number : 1;
}

static void fill_plan(const struct jd_settings *settings, Jd__PlanHost **host,
                      Jd__Plan *plan)
{
    const char *tmpdir = jd__options_text(settings, JD_OPTION_TMPDIR);
    plan->count = (uint32_t)(*host)->n_processes;
    plan->hosts = host;
    plan->n_hosts = 1;
    plan->job = (char *)JD_RUN_JOB;
    plan->attempt = (uint32_t)getpid();
    plan->service = draw_number();
    plan->tmpdir = (char *)(tmpdir ? tmpdir : "");
    plan->heartbeat_timeout = -1;
    plan->timeout = READY_SECONDS;
    plan->program = (char *)"jd-run";
    plan->log_level = (char *)jd__options_text(settings, JD_OPTION_LOG);
    plan->is_held = true;
}

static jd_status start_plan(struct run_serve *serve, const Jd__Plan *plan,
                            const struct jd_settings *settings,
                            char *const *environment,
                            struct jd_bytes *ret_frames)
{
    char *path;
    jd_status status = jd__pmix_server_find(
        jd__options_text(settings, JD_OPTION_LIBEXEC), &path);
    if (status != JD_OK)
        return status;
    status = jd__pmix_server_start_held(path, plan, environment,
                                        jd__clock_now() + READY_SECONDS,
                                        &serve->held, ret_frames);
    free(path);
    return status;
}

static jd_status start(struct run_serve *serve,
                       const struct jd_settings *settings,
                       char *const *environment, struct jd_bytes *ret_frames)
{
    char name[NAME_SIZE] = "";
    Jd__PlanHost host = JD__PLAN_HOST__INIT, *hosts = &host;
    Jd__Plan plan = JD__PLAN__INIT;
    size_t count = (size_t)serve->count;
    uint32_t *processes = calloc(count, sizeof *processes);
    if (!processes)
        return jd__fail_no_memory("the processes", count * sizeof *processes);
    for (size_t i = 0; i < count; i++)
        processes[i] = (uint32_t)i;
    find_host(name);
    host.name = name;
    host.processes = processes;
    host.n_processes = count;
    fill_plan(settings, &hosts, &plan);
    jd_status status =
        start_plan(serve, &plan, settings, environment, ret_frames);
    free(processes);
    return status;
}

/* ---- what it hands out -------------------------------------------------- */

static bool is_allowed(const Jd__Environment *environment)
{
    for (size_t i = 0; i < environment->n_variables; i++) {
        char *equals = strchr(environment->variables[i], '=');
        if (!equals)
            return false;
        *equals = '\0'; /* it is ours */
        bool is_allowed =
            jd__environment_allows(environment->variables[i], equals + 1);
        *equals = '=';
        if (!is_allowed)
            return false;
    }
    return true;
}

static Jd__Environment *take_environment(struct jd_bytes *frames)
{
    size_t left = jd__bytes_size(frames);
    if (left < JD_WIRE_HEADER)
        return NULL;
    const uint8_t *at = frames->data + frames->begin;
    size_t size = jd__wire_get_u32(at);
    if (left - JD_WIRE_HEADER < size)
        return NULL;
    frames->begin += JD_WIRE_HEADER + size;
    return jd__environment__unpack(NULL, size, at + JD_WIRE_HEADER);
}

static jd_status take_environments(struct run_serve *serve,
                                   struct jd_bytes *frames)
{
    serve->environments =
        calloc((size_t)serve->count, sizeof *serve->environments);
    if (!serve->environments)
        return jd__fail_no_memory("the processes", (size_t)serve->count);
    for (int i = 0; i < serve->count; i++) {
        serve->environments[i] = take_environment(frames);
        if (!serve->environments[i] || !is_allowed(serve->environments[i]))
            return jd_fail(JD_INTERNAL,
                           "what jd-pmix-server hands out for process %d is "
                           "not what jd-run lets it set; install one version "
                           "of both",
                           i);
    }
    return JD_OK;
}

/* ---- the whole ---------------------------------------------------------- */

static jd_status start_and_take(struct run_serve *serve,
                                const struct jd_env *process,
                                char *const *environment)
{
    struct jd_settings *settings;
    struct jd_bytes frames = { .data = NULL };
    if (jd__mpi_library_flavour()->by != JD_SERVED_BY_PMIX)
        return JD_NOT_FOUND; /* its programs call jd_initialize() first */
    jd_status status = jd__options_resolve(process, NULL, 0, &settings);
    if (status != JD_OK)
        return JD_NOT_FOUND;   /* jd_initialize() will say what is wrong */
    status = jd__auth_start(); /* for the number that is drawn */
    if (status == JD_OK)
        status = start(serve, settings, environment, &frames);
    if (status == JD_OK)
        status = take_environments(serve, &frames);
    jd__wire_bytes_finish(&frames);
    jd__options_destroy(settings);
    return status;
}

jd_status run_serve_create(int count, char *const *environment,
                           struct run_serve **ret_serve)
{
    struct jd_env *process;
    struct run_serve *serve = calloc(1, sizeof *serve);
    if (!serve)
        return jd__fail_no_memory("the server", sizeof *serve);
    *serve = (struct run_serve){ .held = -1, .count = count };
    jd_status status = jd__env_from_process(&process);
    if (status == JD_OK) {
        status = start_and_take(serve, process, environment);
        jd__env_destroy(process);
    }
    if (status == JD_OK)
        *ret_serve = serve;
    else
        run_serve_destroy(serve);
    return status;
}

char **run_serve_variables(const struct run_serve *serve, int index,
                           size_t *ret_count)
{
    *ret_count = serve ? serve->environments[index]->n_variables : 0;
    return serve ? serve->environments[index]->variables : NULL;
}

void run_serve_end(struct run_serve *serve)
{
    if (serve && serve->held >= 0) {
        close(serve->held);
        serve->held = -1;
    }
}

void run_serve_destroy(struct run_serve *serve)
{
    if (!serve)
        return;
    run_serve_end(serve);
    for (int i = 0; serve->environments && i < serve->count; i++)
        if (serve->environments[i])
            jd__environment__free_unpacked(serve->environments[i], NULL);
    free(serve->environments);
    free(serve);
}
