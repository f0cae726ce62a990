/* SPDX-License-Identifier: BSD-3-Clause */
/* exit.c - the ends of a process: normal, failed, too late. */
#include "runtime/process/exit.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/forked.h"
#include "base/log.h"
#include "base/process_exit.h"
#include "base/progress.h"
#include "base/ranges.h"
#include "base/text.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/coordination/failure/failure_report.h"
#include "runtime/mpi/world.h"
#include "runtime/process/proc_peers.h"
#include "runtime/process/watchdog.h"
#include "runtime/recorder/site.h"
#include "runtime/recorder/trace_file.h"
#include "base/litter.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ABORT_SECONDS 5 /* MPI_Abort asks the launcher, which may be gone */

/* Of the process, because exit handlers are. */
static struct {
    pid_t pid;    /* who installed the handler; 0: nobody */
    bool has_run; /* it is installed twice: see jd__exit_owns_mpi() */
    jd_status (*shut_down)(void);
    bool owns_mpi;
    struct jd_cluster *cluster; /* of the start that owns MPI; or NULL */
    jd_status failed; /* what a shutdown returned that failed; else JD_OK */
    char *sentence;   /* of that; NULL where there was no memory */
    double shutdown_timeout;
    double notice;
} exit_state;

static void *end_after_deadline(void *code)
{
    sleep(ABORT_SECONDS);
    jd__process_exit_now(*(int *)code);
}

void jd__exit_job(int code)
{
    static int exit_code; /* outlives this frame: the guard reads it */
    pthread_t guard;
    exit_code = code;
    jd__process_exit_flush();
    if (!jd__forked_is_child && jd__mpi_is_up() &&
        pthread_create(&guard, NULL, end_after_deadline, &exit_code) == 0)
        MPI_Abort(MPI_COMM_WORLD, code);
    jd__process_exit_now(code);
}

static void finalize_watched(const struct jd_env *env)
{
    static const char *const steps[] = { "MPI_Finalize" };
    static const struct jd_phases phases = {
        .operation = "MPI_Finalize at exit",
        .thread_name = "jd-end:",
        .step_names = steps,
        .num_steps = 1,
    };
    struct jd_watchdog_spec spec = {
        .phases = &phases,
        .timeout = exit_state.shutdown_timeout,
        .notice = exit_state.notice,
        .variable = "JD_SHUTDOWN_TIMEOUT",
        .env = env,
    };
    struct jd_watchdog *dog;
    if (jd__watchdog_start(&spec, &dog) != JD_OK)
        return;
    jd__watchdog_set_cluster(dog, exit_state.cluster);
    MPI_Finalize();
    jd__watchdog_stop(dog);
}

static void finalize_mpi(void)
{
    struct jd_env *env;
    if (jd__env_from_process(&env) != JD_OK)
        return;
    finalize_watched(env);
    jd__env_destroy(env);
}

void jd__exit_by_failed_shutdown(void)
{
    if (!jd__failure_exit_is_callback()) /* which has been told, as has
                                            everybody */
        jd__log(JD_LOG_ERROR, "%s; this process ends with exit code %d",
                exit_state.sentence ? exit_state.sentence
                                    : "jd_shutdown failed",
                JD_EXIT_PEER_FAILED);
    jd__process_exit_together(JD_EXIT_PEER_FAILED);
}

/* After exit code 0. After a shutdown that failed, MPI_Finalize would wait for
 * those that are no more. */
static void end_in_order(void)
{
    if (exit_state.shut_down() != JD_OK)
        jd__exit_by_failed_shutdown();
    if (exit_state.owns_mpi && exit_state.failed == JD_OK && jd__mpi_is_up())
        finalize_mpi();
}

/* "return jd_shutdown();" is what programs end with. */
static void at_exit(int code, void *unused)
{
    (void)unused;
    if (getpid() != exit_state.pid || exit_state.has_run)
        return;
    exit_state.has_run = true;
    if (code == 0) {
        end_in_order();
    } else {
        jd__trace_file_write(JD_TRACE_EXIT_CODE "%d", code);
        if (code == (int)exit_state.failed)
            jd__exit_by_failed_shutdown();
        jd__failure_report_exit(code);
    }
    jd__litter_remove();
}

jd_status jd__exit_install(jd_status (*shut_down)(void))
{
    exit_state.shut_down = shut_down;
    if (exit_state.pid == getpid())
        return JD_OK;
    if (on_exit(at_exit, NULL) != 0)
        return jd__fail_no_memory("jd_initialize", sizeof exit_state);
    exit_state.pid = getpid();
    return JD_OK;
}

/* Handlers run in the reverse order. MPICH 5 takes leave of its launcher in one
 * of its own, after MPI_Finalize: so jd's comes after MPI_Init too. */
void jd__exit_owns_mpi(struct jd_cluster *cluster, double shutdown_timeout,
                       double notice)
{
    if (!exit_state.owns_mpi)
        on_exit(at_exit, NULL); /* where it cannot, the first one stays */
    exit_state.owns_mpi = true;
    exit_state.cluster = cluster;
    exit_state.shutdown_timeout = shutdown_timeout;
    exit_state.notice = notice;
}

void jd__exit_release(struct jd_cluster *cluster)
{
    if (cluster != exit_state.cluster)
        jd__cluster_destroy(cluster);
}

jd_status jd__exit_note(jd_status status)
{
    if (status != JD_OK && exit_state.failed == JD_OK) {
        exit_state.failed = status;
        exit_state.sentence = strdup(jd_error_message());
    }
    return status;
}

void jd__exit_forget(void)
{
    exit_state.failed = JD_OK;
    free(exit_state.sentence);
    exit_state.sentence = NULL;
}

/* ---- a failed check ----------------------------------------------------- */

/* The sentence, for all who have told the same. */
static void print_check(const char *text, const struct jd_report_answer *told)
{
    struct jd_text written = { .out = NULL };
    FILE *out = told->num_processes > 1 ? jd__text_begin(&written) : NULL;
    if (out) {
        jd__ranges_print_processes(out, told->processes,
                                   (int)told->num_processes);
        fputs(": ", out);
    }
    char *ranges = jd__text_end(&written);
    jd__log(JD_LOG_ERROR, "%s%s", ranges ? ranges : "", text);
    free(ranges);
}

JD_NORETURN static void end_after_check(jd_status status, const char *text)
{
    struct jd_report_answer told;
    jd__trace_file_write("%s", text);
    bool is_told = jd__failure_report_check(status, text, &told);
    if (told.prints)
        print_check(text, &told);
    if (is_told)
        jd__process_exit_together(1);
    if (exit_state.failed != JD_OK)
        jd__process_exit_together(JD_EXIT_PEER_FAILED);
    jd__exit_job(1);
}

/* "train.c:12: ", or that of the address which jd_call_site() has given. */
static int print_place(char **ret_text, const char *file, int line)
{
    if (file)
        return asprintf(ret_text, "%s:%d: ", file, line);
    struct jd_site_text site = jd__site_of(jd__progress_thread.given);
    return asprintf(ret_text, "%s%s", site.text, site.text[0] ? ": " : "");
}

void jd_check_failed(jd_status status, const char *call, const char *file,
                     int line)
{
    char *place, *text;
    if (print_place(&place, file, line) < 0)
        end_after_check(status, call);
    int length = asprintf(&text, "%s%s: %s: %s", place, call,
                          jd_status_name(status), jd_error_message());
    end_after_check(status, length < 0 ? call : text);
}

/* ---- jd_abort ----------------------------------------------------------- */

void jd_abort(int code, const char *why)
{
    const char *reason = why ? why : "no reason was given";
    int exit_code = code >= 1 && code <= 255 ? code : 1;
    jd__log(JD_LOG_ERROR, "jd_abort: %s", reason);
    jd__trace_file_write("called jd_abort(%d): %s", exit_code, reason);
    if (jd__failure_report_abort(exit_code, reason))
        jd__process_exit_now(exit_code);
    jd__exit_job(exit_code);
}
