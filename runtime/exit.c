/* SPDX-License-Identifier: BSD-3-Clause */
/* exit.c - the ends of a process: normal, failed, too late. */
#include "runtime/exit.h"
#include "runtime/env.h"
#include "runtime/log.h"
#include "runtime/watchdog.h"
#include "runtime/world.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ABORT_SECONDS 5 /* MPI_Abort asks the launcher, which may be gone */

/* Of the process, because exit handlers are. */
static struct {
    pid_t pid; /* who installed the handler; 0: nobody */
    bool owns_mpi;
    double shutdown_timeout;
    double notice;
} exit_state;

static void flush_unless_held(FILE *file)
{
    if (ftrylockfile(file) != 0)
        return;
    fflush_unlocked(file);
    funlockfile(file);
}

void jd__exit_now(int code)
{
    flush_unless_held(stdout);
    flush_unless_held(stderr);
    _exit(code);
}

static void *end_after_deadline(void *code)
{
    sleep(ABORT_SECONDS);
    jd__exit_now(*(int *)code);
}

void jd__exit_job(int code)
{
    static int exit_code; /* outlives this frame: the guard reads it */
    pthread_t guard;
    exit_code = code;
    flush_unless_held(stdout);
    if (jd__mpi_is_up() &&
        pthread_create(&guard, NULL, end_after_deadline, &exit_code) == 0)
        MPI_Abort(MPI_COMM_WORLD, code);
    jd__exit_now(code);
}

/* What the launcher said, for the watchdog; NULL where that fails. */
static struct jd_cluster *detect_again(const struct jd_env *env)
{
    struct jd_settings *settings;
    struct jd_cluster *cluster = NULL;
    if (jd__settings_resolve(env, NULL, 0, &settings) != JD_OK)
        return NULL;
    if (jd__cluster_detect(env, settings, &cluster) != JD_OK) {
        jd__cluster_destroy(cluster);
        cluster = NULL;
    }
    jd__settings_destroy(settings);
    return cluster;
}

static void finalize_watched(const struct jd_env *env)
{
    static const char *const steps[] = { "MPI_Finalize" };
    static const struct jd_meeting meeting = {
        .operation = "MPI_Finalize at exit",
        .thread_name = "jd-end:",
        .step_names = steps,
        .num_steps = 1,
    };
    struct jd_watchdog_spec spec = {
        .meeting = &meeting,
        .timeout = exit_state.shutdown_timeout,
        .notice = exit_state.notice,
        .variable = "JD_SHUTDOWN_TIMEOUT",
        .env = env,
    };
    struct jd_cluster *cluster = detect_again(env);
    struct jd_watchdog *dog;
    if (jd__watchdog_start(&spec, &dog) == JD_OK) {
        jd__watchdog_set_cluster(dog, cluster);
        MPI_Finalize();
        jd__watchdog_stop(dog);
    }
    jd__cluster_destroy(cluster);
}

static void finalize_mpi(void)
{
    struct jd_env *env;
    if (jd__env_from_process(&env) != JD_OK)
        return;
    finalize_watched(env);
    jd__env_destroy(env);
}

static void at_exit(int code, void *unused)
{
    (void)unused;
    if (getpid() != exit_state.pid || code != 0)
        return;
    jd_shutdown();
    if (exit_state.owns_mpi && jd__mpi_is_up())
        finalize_mpi();
}

jd_status jd__exit_install(void)
{
    if (exit_state.pid == getpid())
        return JD_OK;
    if (on_exit(at_exit, NULL) != 0)
        return jd__fail_no_memory("jd_initialize", sizeof exit_state);
    exit_state.pid = getpid();
    return JD_OK;
}

void jd__exit_owns_mpi(double shutdown_timeout, double notice)
{
    exit_state.owns_mpi = true;
    exit_state.shutdown_timeout = shutdown_timeout;
    exit_state.notice = notice;
}

void jd_check_failed(jd_status status, const char *call, const char *file,
                     int line)
{
    jd__log(JD_LOG_ERROR, "%s:%d: %s: %s: %s", file, line, call,
            jd_status_name(status), jd_error_message());
    jd__exit_job(1);
}

void jd_abort(int code, const char *why)
{
    jd__log(JD_LOG_ERROR, "jd_abort: %s", why ? why : "no reason was given");
    jd__exit_job(code >= 1 && code <= 255 ? code : 1);
}
