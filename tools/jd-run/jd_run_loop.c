/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_run_loop.c - from the first process to the last: one loop over signals
 * and pipes, and the steps by which a job that has failed ends.
 *
 *     grace -> SIGTERM -> SIGKILL -> given up
 *
 * The steps are gone through for the other processes after a failure, and
 * again for what processes have left behind.
 */
#include "base/clock.h"
#include "base/text.h"
#include "runtime/coordination/net/listen.h"
#include "tools/jd-run/jd_run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SUSPECT_SECONDS 1.0 /* a peer of one that ended with 117 has failed */
#define LEFT_SECONDS 2.0    /* what is left behind may end by itself */
#define KILLED_SECONDS 0.5  /* the same after a second signal */
#define TERM_SECONDS 2.0
#define KILL_SECONDS 5.0
#define AGAIN_SECONDS 0.25 /* the same signal sooner is the same request */
#define WRITE_SECONDS 2.0  /* the last words of a job that was told to end */

struct process {
    pid_t pid;
    bool is_running;
    int status;
};

enum stage { STAGE_NONE, STAGE_GRACE, STAGE_TERM, STAGE_KILL, STAGE_GIVEN_UP };

struct run {
    const struct run_request *request;
    struct run_signals signals;
    struct rlimit files;
    struct run_env *env;
    struct run_serve *serve; /* NULL: nobody serves MPI */
    struct run_output *output;
    struct process *processes;
    struct pollfd *fds;
    int num_started, num_running;
    bool has_children; /* processes, or what they have left behind */
    int code;
    bool has_failed; /* code is that of the first failure */
    int suspect;     /* the first that ended with 117, or -1 */
    double suspect_until;
    enum stage stage;
    double deadline;  /* of the stage */
    bool is_clearing; /* the processes are gone; the stage is of the rest */
    double timeout_at;
    int passed_on; /* the SIGINT or SIGTERM that has come, or 0 */
    double passed_at;
    bool is_killing; /* it has come twice */
    double write_until;
};

/* ---- who is there ------------------------------------------------------- */

/* "process 3", "processes 0-2,5" */
static const char *name_running(const struct run *run)
{
    static char text[160];
    size_t used = (size_t)snprintf(text, sizeof text, "process%s ",
                                   jd__text_es(run->num_running));
    const char *comma = "";
    for (int i = 0; i < run->num_started && used < sizeof text - 40; i++) {
        if (!run->processes[i].is_running)
            continue;
        int last = i;
        while (last + 1 < run->num_started &&
               run->processes[last + 1].is_running)
            last++;
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 last > i ? "%s%d-%d" : "%s%d", comma, i, last);
        comma = ",";
        i = last;
    }
    return text;
}

static const char *name_left(void)
{
    static char text[160];
    struct run_left left[3];
    size_t count = run_left_list(left, 3), used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s (pid %d)",
                             i ? ", " : "", left[i].name, (int)left[i].pid);
    return text;
}

/* ---- signals to all ----------------------------------------------------- */

static void send_running(const struct run *run, int number)
{
    for (int i = 0; i < run->num_started; i++)
        if (run->processes[i].is_running)
            kill(run->processes[i].pid, number);
}

/* The processes are gone: all children are what they have left behind. */
static void send_left(const struct run *run, int number)
{
    enum { MOST = 4096 };
    struct run_left *left = calloc(MOST, sizeof *left);
    size_t count = left && !run->num_running ? run_left_list(left, MOST) : 0;
    for (size_t i = 0; i < count; i++)
        kill(left[i].pid, number);
    free(left);
}

/*
 * The processes first, and what is left behind after the last of them: a helper
 * that serves them and tidies up behind them is not to go before they do. What
 * is stopped takes SIGTERM when it goes on.
 */
static void end_children(const struct run *run, int number)
{
    void (*send)(const struct run *, int) =
        run->is_clearing ? send_left : send_running;
    send(run, number);
    if (number != SIGKILL)
        send(run, SIGCONT);
}

static void pass_on(const struct run *run, const struct signalfd_siginfo *info)
{
    /* The terminal has told the whole foreground group. */
    bool is_from_terminal = info->ssi_code == SI_KERNEL;
    for (int i = 0; i < run->num_started; i++) {
        const struct process *process = &run->processes[i];
        if (process->is_running &&
            !(is_from_terminal && getpgid(process->pid) == getpgrp()))
            kill(process->pid, (int)info->ssi_signo);
    }
}

/* ---- the steps of an end ------------------------------------------------ */

static void set_stage(struct run *run, enum stage stage, double seconds,
                      double now)
{
    run->stage = stage;
    run->deadline = now + seconds;
}

static void begin_term(struct run *run, double now)
{
    const char *left = run->is_clearing ? name_left() : "";
    if (*left)
        run_output_say(run->output,
                       "left behind by processes that have ended, and ended "
                       "now: %s",
                       left);
    end_children(run, SIGTERM);
    set_stage(run, STAGE_TERM, TERM_SECONDS, now);
}

static void begin_kill(struct run *run, double now)
{
    if (!run->is_killing && run->num_running)
        run_output_say(run->output,
                       "%s still there %g s after SIGTERM, and killed",
                       name_running(run), TERM_SECONDS);
    end_children(run, SIGKILL);
    set_stage(run, STAGE_KILL, KILL_SECONDS, now);
}

static void give_up(struct run *run)
{
    run_output_say(run->output,
                   "still there %g s after SIGKILL, and left alone: %s; does "
                   "a file system not answer?",
                   KILL_SECONDS, name_left());
    run->code = run->code ? run->code : RUN_EXIT_FAILURE;
    run->num_running = 0;
    run->has_children = false;
    run->is_clearing = true;
    run->stage = STAGE_GIVEN_UP;
}

static void next_stage(struct run *run, double now)
{
    switch (run->stage) {
    case STAGE_GRACE:
        begin_term(run, now);
        break;
    case STAGE_TERM:
        begin_kill(run, now);
        break;
    case STAGE_KILL:
        give_up(run);
        break;
    case STAGE_NONE:
    case STAGE_GIVEN_UP:
        break;
    }
}

static void begin_clearing(struct run *run, double now)
{
    run->is_clearing = true;
    set_stage(run, STAGE_GRACE, run->is_killing ? KILLED_SECONDS : LEFT_SECONDS,
              now);
}

/* At a second signal, or at one that finds nobody any more. */
static void kill_now(struct run *run, int number, double now)
{
    run->is_killing = true;
    if (run->num_running)
        run_output_say(run->output, "%s killed at the second %s",
                       name_running(run), run_signal_name(number));
    if (!run->has_failed)
        run->code = RUN_EXIT_SIGNAL + number;
    run->has_failed = true;
    begin_kill(run, now);
}

/* ---- the first failure -------------------------------------------------- */

static int code_of(int status)
{
    return WIFSIGNALED(status) ? RUN_EXIT_SIGNAL + WTERMSIG(status)
                               : WEXITSTATUS(status);
}

static void say_how_it_ended(struct run *run, int index)
{
    const struct process *process = &run->processes[index];
    char text[96];
    if (!WIFSIGNALED(process->status))
        snprintf(text, sizeof text, "ended with exit code %d",
                 WEXITSTATUS(process->status));
    else
        snprintf(text, sizeof text, "was killed by %s%s%s",
                 run_signal_name(WTERMSIG(process->status)),
                 WCOREDUMP(process->status) ? " (core dumped)" : "",
                 WTERMSIG(process->status) == run->passed_on
                     ? ", which jd-run passed on"
                     : "");
    run_output_say(run->output, "process %d (pid %d) %s", index,
                   (int)process->pid, text);
}

static void declare(struct run *run, int index, double now)
{
    run->has_failed = true;
    run->code = code_of(run->processes[index].status);
    run_output_show_last(run->output, index, now);
    say_how_it_ended(run, index);
    if (run->num_running && run->stage == STAGE_NONE)
        set_stage(run, STAGE_GRACE, run->request->grace, now);
}

/*
 * 117 is a survivor's: it may be seen before the one who failed, who is
 * waited for, or even found when the others have been given their time.
 */
static void judge(struct run *run, int index, double now)
{
    int code = code_of(run->processes[index].status);
    bool is_survivor = code == RUN_EXIT_PEER_FAILED;
    if (code == 0 || run->stage > STAGE_GRACE)
        return;
    if (!is_survivor && (!run->has_failed || run->code == RUN_EXIT_PEER_FAILED))
        declare(run, index, now);
    else if (is_survivor && !run->has_failed && run->suspect < 0) {
        run->suspect = index;
        run->suspect_until = now + SUSPECT_SECONDS;
    }
}

static int find(const struct run *run, pid_t pid)
{
    for (int i = 0; i < run->num_started; i++)
        if (run->processes[i].pid == pid && run->processes[i].is_running)
            return i;
    return -1;
}

/* Of those that ended since the last look, who is not 117 comes first. */
static void reap(struct run *run, double now)
{
    int first = -1, status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        int index = find(run, pid);
        if (index < 0)
            continue;
        run->processes[index].is_running = false;
        run->processes[index].status = status;
        run->num_running--;
        bool is_better = first < 0 || code_of(run->processes[first].status) ==
                                          RUN_EXIT_PEER_FAILED;
        if (code_of(status) && is_better)
            first = index;
    }
    run->has_children = pid == 0;
    if (first >= 0)
        judge(run, first, now);
    if (run->stage == STAGE_KILL && run->is_clearing)
        send_left(run, SIGKILL);
}

/* ---- what may happen in a round ----------------------------------------- */

/* The first asks the processes to end; the second, which is not the echo of
 * one that was sent to the whole group too, ends them. */
static bool take_end(struct run *run, int number, double now)
{
    if (run->passed_on && now < run->passed_at + AGAIN_SECONDS)
        return number != run->passed_on;
    if (run->passed_on || !run->has_children) {
        kill_now(run, number, now);
        run->write_until = now;
        return false;
    }
    run->passed_on = number;
    run->passed_at = now;
    return true;
}

static void suspend(struct run *run)
{
    double seconds = run_signals_stop();
    run->deadline += seconds;
    run->timeout_at += seconds;
}

static void take_signal(struct run *run, const struct signalfd_siginfo *info,
                        double now)
{
    int number = (int)info->ssi_signo;
    if (number == SIGCHLD)
        return;
    if ((number == SIGINT || number == SIGTERM) && !take_end(run, number, now))
        return;
    pass_on(run, info);
    if (number == SIGTSTP)
        suspend(run);
}

static void take_signals(struct run *run, double now)
{
    struct signalfd_siginfo info;
    reap(run, now);
    while (run_signals_next(&run->signals, &info))
        take_signal(run, &info, now);
    reap(run, now);
}

static void time_out(struct run *run, double now)
{
    run_output_say(run->output,
                   "%s still running after %g s (--timeout), and ended now",
                   name_running(run), run->request->timeout);
    if (!run->has_failed)
        run->code = RUN_EXIT_TIMEOUT;
    run->has_failed = true;
    run->timeout_at = HUGE_VAL;
    if (run->stage < STAGE_TERM)
        begin_term(run, now);
}

static void take_deadlines(struct run *run, double now)
{
    if (run->suspect >= 0 && !run->has_failed &&
        (now >= run->suspect_until || !run->num_running))
        declare(run, run->suspect, now);
    if (now >= run->timeout_at && run->num_running)
        time_out(run, now);
    if (!run->num_running)
        run_serve_end(run->serve);
    if (!run->num_running && run->has_children && !run->is_clearing)
        begin_clearing(run, now);
    if (run->stage != STAGE_NONE && run->has_children && now >= run->deadline)
        next_stage(run, now);
    if (run->has_children)
        return;
    run_output_end(run->output, now);
    if (run->passed_on || run->stage >= STAGE_TERM)
        run->write_until = fmin(run->write_until, now + WRITE_SECONDS);
}

static bool is_over(const struct run *run, double now)
{
    return !run->has_children &&
           (run_output_is_written(run->output) || now >= run->write_until);
}

static double next_deadline(const struct run *run, double now)
{
    double at = run_output_deadline(run->output, now);
    if (!run->has_children)
        return fmin(at, run->write_until);
    if (run->stage != STAGE_NONE)
        at = fmin(at, run->deadline);
    if (run->suspect >= 0 && !run->has_failed)
        at = fmin(at, run->suspect_until);
    return run->num_running ? fmin(at, run->timeout_at) : at;
}

static int milliseconds_until(double at, double now)
{
    const double longest = 60; /* the loop's own look, once a minute */
    double seconds = fmin(fmax(at - now, 0), longest);
    return (int)ceil(1000 * seconds);
}

static void serve(struct run *run)
{
    double now = jd__clock_now();
    take_deadlines(run, now);
    while (!is_over(run, now)) {
        run->fds[0] =
            (struct pollfd){ .fd = run->signals.fd, .events = POLLIN };
        run_output_poll(run->output, run->fds + 1);
        poll(run->fds, 1 + run_output_size(run->output),
             milliseconds_until(next_deadline(run, now), now));
        now = jd__clock_now();
        take_signals(run, now);
        run_output_serve(run->output, run->fds + 1, now);
        take_deadlines(run, now);
    }
}

/* ---- the beginning ------------------------------------------------------ */

/* Programs that let jd_initialize() start MPI need nobody here, nor those of
 * no MPI, nor one process. */
static void serve_mpi(struct run *run)
{
    if (run->request->count < 2)
        return;
    jd_status status = run_serve_create(run->request->count,
                                        run_env_of_none(run->env), &run->serve);
    if (status != JD_OK && status != JD_NOT_FOUND)
        run_output_say(run->output,
                       "MPI is served from jd_initialize() on, and not to a "
                       "program that calls MPI_Init before: %s",
                       jd_error_message());
}

static int start_one(struct run *run, int index, int nothing)
{
    struct run_start start = {
        .index = index,
        .argv = run->request->argv,
        .env = run_env_of(run->env, run->serve, index),
        .in = index ? nothing : STDIN_FILENO,
        .signals = &run->signals,
        .files = &run->files,
    };
    if (!start.env) {
        jd__fail_no_memory("the environment", 0);
        return RUN_EXIT_FAILURE;
    }
    if (run_output_open(run->output, index, &start.out, &start.err) != JD_OK)
        return RUN_EXIT_FAILURE;
    int code = run_start(&start, &run->processes[index].pid);
    close(start.out);
    close(start.err);
    if (code)
        return code;
    run->processes[index].is_running = true;
    run->num_started++;
    run->num_running++;
    return 0;
}

/* One that cannot be started is the first failure. */
static void start_all(struct run *run)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), code = 0;
    for (int i = 0; !code && i < run->request->count; i++)
        code = start_one(run, i, nothing);
    if (nothing >= 0)
        close(nothing);
    double now = jd__clock_now();
    run->has_children = run->num_running > 0 || run->serve;
    if (run->request->timeout > 0)
        run->timeout_at = now + run->request->timeout;
    if (!code)
        return;
    run->has_failed = true;
    run->code = code;
    run_output_say(run->output, "%s", jd_error_message());
    set_stage(run, STAGE_GRACE, 0, now);
}

static jd_status prepare(struct run *run)
{
    int count = run->request->count, tie;
    run->processes = calloc((size_t)count, sizeof *run->processes);
    run->output = run_output_create(count, run->request->tag);
    if (!run->processes || !run->output)
        return jd__fail_no_memory("starting the processes", (size_t)count);
    run->fds = calloc(1 + run_output_size(run->output), sizeof *run->fds);
    if (!run->fds)
        return jd__fail_no_memory("starting the processes", (size_t)count);
    getrlimit(RLIMIT_NOFILE, &run->files);
    enum { OWN_FILES = 16 };
    jd_status status = jd__file_limit_allow(2 * (size_t)count + OWN_FILES,
                                            "the pipes of so many processes");
    if (status == JD_OK)
        status = run_tie_create(&tie);
    if (status == JD_OK)
        status = run_env_create(count, tie, &run->env);
    if (status == JD_OK)
        status = run_signals_take(&run->signals);
    return status;
}

static void release(struct run *run)
{
    run_serve_destroy(run->serve);
    run_env_destroy(run->env);
    run_output_destroy(run->output);
    free(run->processes);
    free(run->fds);
}

int run_loop(const struct run_request *request)
{
    struct run run = { .request = request,
                       .suspect = -1,
                       .timeout_at = HUGE_VAL,
                       .write_until = HUGE_VAL };
    int code = RUN_EXIT_FAILURE;
    if (prepare(&run) != JD_OK) {
        fprintf(stderr, "jd-run: %s\n", jd_error_message());
    } else {
        run_left_adopt();
        serve_mpi(&run);
        start_all(&run);
        serve(&run);
        code = run.code || !run_output_is_lost(run.output) ? run.code
                                                           : RUN_EXIT_FAILURE;
    }
    release(&run);
    return code;
}
