/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * failure_exit.c - the end of a process whose job has failed.
 *
 * Up to three threads, made when it begins: "jd-ending" speaks, waits for what
 * is to be waited for, flushes and ends the process; "jd-guard" ends it where
 * that one is late, because nobody reads standard error or a disk is slow;
 * "jd-callback" runs the program's callback. They only share `ending`.
 */
#include "runtime/coordination/failure/failure_exit.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/process_exit.h"
#include "base/text.h"
#include "base/thread.h"
#include "runtime/coordination/net/loop.h"
#include "runtime/recorder/last_calls.h"
#include "runtime/recorder/recorder.h"
#include "runtime/recorder/trace_file.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every survivor ends this long after the failure, and so all at the same
 * time: see jd__process_exit_together. */
#define TOGETHER_SECONDS 0.4
#define LAST_WORDS_SECONDS 1.0 /* for a sentence and two flushes */
#define LAST_WORDS_SLICES 20
#define STAY_MICROSECONDS 20000
#define MAX_LAST_CALLS 3

static struct {
    pid_t pid;               /* of the process that is being ended */
    atomic_bool has_begun;   /* what jd__failure_exit_check looks at */
    atomic_bool is_going_on; /* the process will be ended */
    pthread_mutex_t lock;
    void (*_Atomic hook)(void);
    pthread_once_t once;
    pthread_cond_t changed;
    /* guarded by lock: */
    const struct jd_clock *clock; /* NULL: the machine's */
    bool is_leaving;
    double grace;
    double begin;
    jd_peer_failure_f callback;
    void *callback_arg;
    bool calls; /* the callback runs */
    bool stays; /* the store may still be used */
    /* written before the threads start, freed by jd__failure_exit_reset: */
    bool has_called; /* the callback runs or has run */
    struct jd_report report;
    char *text;
    int *processes;
    /* of the loop's thread: */
    struct event *stay_event;
    bool (*stay)(void *arg);
    void *stay_arg;
    /* of the callback's thread: */
    pthread_t callback_thread;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

static void init_condition(void)
{
    jd__clock_init_condition(&state.changed);
}

static void lock_state(void)
{
    pthread_once(&state.once, init_condition);
    pthread_mutex_lock(&state.lock);
}

static void unlock_state(void)
{
    pthread_mutex_unlock(&state.lock);
}

/* ---- the sentence ------------------------------------------------------- */

static const char *report_text(void)
{
    return state.text ? state.text
                      : "another process has failed (no memory for the "
                        "sentence that says which)";
}

static double report_age(void)
{
    return state.report.age + jd__clock_read(state.clock) - state.begin;
}

/* What those have called last that did it on this host; of more than some the
 * list is for nobody's eyes. */
static void print_last_calls(FILE *out)
{
    const struct jd_report *report = &state.report;
    for (size_t i = 0; i < report->num_processes && i < MAX_LAST_CALLS; i++) {
        char *call = jd__recorder_last_call(report->processes[i]);
        if (call)
            fprintf(out, "; process %d %s", report->processes[i], call);
        free(call);
    }
}

/* malloc'ed; NULL where there is nothing to say. */
static char *describe_last_calls(void)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (out)
        print_last_calls(out);
    return jd__text_end(&text);
}

static void say_failure(void)
{
    char others[64] = "";
    int silent = state.report.silent;
    if (!state.report.speak)
        return;
    if (silent > 0)
        snprintf(others, sizeof others, "; %d other process%s nothing", silent,
                 silent == 1 ? " says" : "es say");
    char *calls = describe_last_calls();
    jd__log(JD_LOG_ERROR, "%s%s; this process ends with exit code %d%s%s",
            report_text(), calls ? calls : "", JD_EXIT_PEER_FAILED,
            state.has_called ? " after its callback" : "", others);
    free(calls);
}

/* Once per job. What was said before stands, whatever becomes of this. */
static void say_last_calls(void)
{
    struct jd_last_calls calls;
    if (!state.report.tells_calls || !jd__log_enabled(JD_LOG_WARNING))
        return;
    jd__last_calls_look(&calls);
    for (int i = 0; i < calls.count; i++)
        jd__log(JD_LOG_WARNING, "%s", calls.lines[i]);
    jd__last_calls_free(&calls);
}

/* With its own, those of the dead of its host. */
static void leave_trace(void)
{
    const struct jd_report *report = &state.report;
    jd__trace_file_write("%s", report_text());
    jd__trace_file_write_dead(report->processes, report->num_processes,
                              report_text());
}

static void say_late(void)
{
    jd__log(JD_LOG_ERROR,
            "jd_on_peer_failure: the callback has not returned within %.3g s "
            "(JD_FAILURE_GRACE changes it); this process ends with exit code "
            "%d without it",
            state.grace, JD_EXIT_PEER_FAILED);
}

/* ---- the threads -------------------------------------------------------- */

static bool is_waiting(void)
{
    return state.calls || state.stays;
}

/* Waits, locked, until nothing is to be waited for or the grace is over. */
static void wait_for_others(void)
{
    int error = 0;
    while (is_waiting() && error == 0)
        error = jd__clock_wait(state.clock, &state.changed, &state.lock,
                               state.begin + state.grace);
}

static void sleep_until(double when)
{
    lock_state();
    while (jd__clock_wait(state.clock, &state.changed, &state.lock, when) == 0)
        continue;
    unlock_state();
}

static void *end_process(void *unused)
{
    (void)unused;
    say_failure();
    say_last_calls();
    jd__process_exit_flush();
    leave_trace();
    lock_state();
    wait_for_others();
    bool is_late = state.calls;
    unlock_state();
    if (is_late)
        say_late();
    sleep_until(state.begin - state.report.age + TOGETHER_SECONDS);
    jd__process_exit_now(JD_EXIT_PEER_FAILED);
}

/* In slices: a process that was stopped, or kept from running, speaks after
 * that, and a slow machine takes its time. */
static void await_last_words(void)
{
    for (int i = 0; i < LAST_WORDS_SLICES; i++)
        sleep_until(jd__clock_read(state.clock) +
                    LAST_WORDS_SECONDS / LAST_WORDS_SLICES);
}

/* Touches no stream. */
static void *guard_end(void *unused)
{
    (void)unused;
    lock_state();
    wait_for_others();
    unlock_state();
    await_last_words();
    _exit(JD_EXIT_PEER_FAILED);
}

static void *run_callback(void *unused)
{
    (void)unused;
    lock_state();
    jd_peer_failure_f callback = state.callback;
    void *arg = state.callback_arg;
    unlock_state();
    struct jd_peer_failure failure = {
        .processes = state.report.processes,
        .num_processes = state.report.num_processes,
        .text = report_text(),
        .age = report_age(),
    };
    callback(&failure, arg);
    lock_state();
    state.calls = false;
    pthread_cond_broadcast(&state.changed);
    unlock_state();
    return NULL;
}

static bool start_thread(pthread_t *thread, const char *name,
                         void *(*body)(void *))
{
    return jd__thread_start_detached(name, body, NULL, thread) == 0;
}

/* Locked. Without a thread there is no callback, and no guard. */
static void start_threads(void)
{
    pthread_t thread;
    state.calls = state.callback && start_thread(&state.callback_thread,
                                                 "jd-callback", run_callback);
    state.has_called = state.calls;
    start_thread(&thread, "jd-guard", guard_end);
    if (!start_thread(&thread, "jd-ending", end_process)) {
        state.calls = state.stays = false;
        unlock_state();
        end_process(NULL);
    }
}

/* ---- those who may still use the store ---------------------------------- */

static void ask_stay(evutil_socket_t fd, short what, void *unused)
{
    (void)fd, (void)what, (void)unused;
    if (state.stay(state.stay_arg))
        return;
    event_free(state.stay_event);
    state.stay_event = NULL;
    lock_state();
    state.stays = false;
    pthread_cond_broadcast(&state.changed);
    unlock_state();
}

/* Locked. False where there is nobody to stay for, or no memory to ask again.
 */
static bool start_to_stay(struct jd_loop *loop, bool (*stay)(void *arg),
                          void *arg)
{
    struct timeval interval = { 0, STAY_MICROSECONDS };
    if (!stay || !stay(arg))
        return false;
    state.stay = stay;
    state.stay_arg = arg;
    state.stay_event =
        event_new(jd__loop_base(loop), -1, EV_PERSIST, ask_stay, NULL);
    return state.stay_event && event_add(state.stay_event, &interval) == 0;
}

/* ---- the beginning ------------------------------------------------------ */

/* Locked. What cannot be copied is left out. */
static void keep_report(const struct jd_report *report)
{
    size_t bytes = report->num_processes * sizeof *report->processes;
    state.report = *report;
    state.begin = jd__clock_read(state.clock);
    state.text = strdup(report->text);
    state.processes = bytes ? malloc(bytes) : NULL;
    if (state.processes)
        memcpy(state.processes, report->processes, bytes);
    else
        state.report.num_processes = 0;
    state.report.processes = state.processes;
    state.report.text = state.text;
}

static void call_hook(void)
{
    void (*hook)(void) = atomic_load(&state.hook);
    if (hook)
        hook();
}

/* Locked. False where it has begun already: the first report stands. */
static bool take_report(const struct jd_report *report)
{
    if (atomic_load(&state.has_begun))
        return false;
    keep_report(report);
    atomic_store_explicit(&state.has_begun, true, memory_order_release);
    pthread_cond_broadcast(&state.changed);
    call_hook();
    return true;
}

void jd__failure_exit_begin(struct jd_loop *loop,
                            const struct jd_report *report,
                            bool (*stay)(void *arg), void *arg)
{
    lock_state();
    if (take_report(report) && !state.is_leaving) {
        state.pid = getpid();
        atomic_store(&state.is_going_on, true);
        state.stays = start_to_stay(loop, stay, arg);
        start_threads();
    }
    unlock_state();
}

void jd__failure_exit_note(const char *text)
{
    lock_state();
    take_report(&(struct jd_report){ .text = text });
    unlock_state();
}

/* ---- looking ------------------------------------------------------------ */

bool jd__failure_exit_has_begun(void)
{
    return atomic_load_explicit(&state.has_begun, memory_order_relaxed);
}

static jd_status fail_ended(const char *operation)
{
    lock_state();
    jd_fail(JD_ABORTED, "%s: %s", operation, report_text());
    unlock_state();
    return JD_ABORTED;
}

jd_status jd__failure_exit_check(const char *operation)
{
    return jd__failure_exit_has_begun() ? fail_ended(operation) : JD_OK;
}

bool jd__failure_exit_is_callback(void)
{
    lock_state();
    bool is_callback =
        state.calls && pthread_equal(state.callback_thread, pthread_self());
    unlock_state();
    return is_callback;
}

/* A forked child is nobody's to end. */
void jd__failure_exit_await(void)
{
    if (!atomic_load(&state.is_going_on) || state.pid != getpid() ||
        jd__failure_exit_is_callback())
        return;
    for (;;)
        pause();
}

void jd__failure_exit_await_notification(double seconds)
{
    int error = 0;
    lock_state();
    double until = jd__clock_read(state.clock) + seconds;
    while (!atomic_load(&state.has_begun) && error == 0)
        error = jd__clock_wait(state.clock, &state.changed, &state.lock, until);
    unlock_state();
    jd__failure_exit_await();
}

/* ---- settings ----------------------------------------------------------- */

void jd__failure_exit_configure(double grace)
{
    lock_state();
    state.grace = grace;
    unlock_state();
}

void jd__failure_exit_set_clock(const struct jd_clock *clock)
{
    lock_state();
    state.clock = clock;
    unlock_state();
}

void jd__failure_exit_set_leaving(bool is_leaving)
{
    lock_state();
    state.is_leaving = is_leaving;
    unlock_state();
}

void jd__failure_exit_set_callback(jd_peer_failure_f callback, void *arg)
{
    lock_state();
    state.callback = callback;
    state.callback_arg = arg;
    unlock_state();
}

void jd__failure_exit_set_hook(void (*hook)(void))
{
    atomic_store(&state.hook, hook);
}

void jd__failure_exit_reset(void)
{
    lock_state();
    if (!atomic_load(&state.is_going_on)) {
        free(state.text);
        free(state.processes);
        state.text = NULL;
        state.processes = NULL;
        state.callback = NULL;
        atomic_store(&state.has_begun, false);
    }
    unlock_state();
}
