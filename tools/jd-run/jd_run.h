/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_run.h - what the files of jd-run share: the request, a process, and how
 * the loop asks each part for what it does.
 *
 *     run_signals_take(&signals);          blocked, and read from a descriptor
 *     run_output_create(count, tag)        the pipes' ends and both outputs
 *     run_serve_create(count, env, &serve) a PMIx server, for MPI_Init
 *     run_start(&start, &process)          fork, exec
 *     run_loop(&request)                   until nobody is left
 *
 * Threads: one. PR_SET_PDEATHSIG, which follows the thread that forked, is
 * right for that reason alone.
 */
#ifndef TOOLS_JD_RUN_JD_RUN_H
#define TOOLS_JD_RUN_JD_RUN_H

#include "base/env.h"
#include "base/status.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/types.h>

enum {
    RUN_EXIT_FAILURE = 1,
    RUN_EXIT_USAGE = 2,
    RUN_EXIT_PEER_FAILED = 117, /* of jd: another process has failed */
    RUN_EXIT_TIMEOUT = 124,     /* as timeout(1) */
    RUN_EXIT_NOT_EXECUTABLE = 126,
    RUN_EXIT_NOT_FOUND = 127, /* as the shell */
    RUN_EXIT_SIGNAL = 128,    /* and the signal's number */
};

struct run_request {
    int count;
    bool tag;
    double timeout; /* 0: none */
    double grace;   /* for the others, after the first failure */
    char **argv;    /* the program's */
};

/* Until nobody is left. Returns jd-run's exit status. */
int run_loop(const struct run_request *request);

/* ---- jd_run_env.c: what a process is told ------------------------------- */

struct run_env; /* the environment without an outer launcher's words */
struct run_serve;

/* A free port of loopback is in it, the pipe that ends with jd-run, whose read
 * end is tie, and a secret where nobody has given one.
 * Returns JD_OK; INTERNAL, UNAVAILABLE, RESOURCE_EXHAUSTED. */
jd_status run_env_create(int count, int tie, struct run_env **ret_env);
void run_env_destroy(struct run_env *env);
/* For a program that is no process of the job; as run_env_of. */
char **run_env_of_none(struct run_env *env);
/* For exec, with the server's variables where serve is not NULL; valid until
 * the next call. NULL where memory ends. */
char **run_env_of(struct run_env *env, const struct run_serve *serve,
                  int index);

/* ---- jd_run_serve.c: MPI for those who call MPI_Init themselves --------- */

/*
 * Starts jd-pmix-server for count processes of this host; its supervisor
 * becomes jd-run's child where that adopts. The server goes on until
 * run_serve_end(), or until jd-run ends, however that ends. Returns JD_OK;
 * NOT_FOUND where there is no such program; UNAVAILABLE, DEADLINE_EXCEEDED,
 * INTERNAL where it does not start, and why.
 */
jd_status run_serve_create(int count, char *const *environment,
                           struct run_serve **ret_serve);
/* NAME=VALUE of a process; none where serve is NULL. */
char **run_serve_variables(const struct run_serve *serve, int index,
                           size_t *ret_count);
/* The server ends and removes what is its own. Nothing where it was called
 * before, or serve is NULL. */
void run_serve_end(struct run_serve *serve);
void run_serve_destroy(struct run_serve *serve);

/* ---- jd_run_signals.c: what comes and what is passed on ----------------- */

struct run_signals {
    int fd;        /* a signalfd */
    sigset_t mask; /* as jd-run was started */
    struct sigaction child, pipe;
};

/* Returns JD_OK; INTERNAL. */
jd_status run_signals_take(struct run_signals *signals);
/* In a new child: as jd-run was started. */
void run_signals_restore(const struct run_signals *signals);
/* The next that has come; false where none has. */
bool run_signals_next(const struct run_signals *signals,
                      struct signalfd_siginfo *ret_info);
/* Stops jd-run as the terminal's suspend key does. Returns the seconds that
 * it was stopped. */
double run_signals_stop(void);
/* "SIGKILL" */
const char *run_signal_name(int number);

/* ---- jd_run_tie.c: what ends with jd-run -------------------------------- */

/*
 * A pipe that all processes inherit, and what they start: the read end, whose
 * other end is jd-run's alone and ends with it (base/tie.h). jd-run itself
 * is tied to one around it. Returns JD_OK; RESOURCE_EXHAUSTED.
 */
jd_status run_tie_create(int *ret_read_end);

/* ---- jd_run_start.c: one process ---------------------------------------- */

struct run_start {
    int index;
    char **argv, **env;
    int in, out, err;
    const struct run_signals *signals;
    const struct rlimit *files; /* RLIMIT_NOFILE as jd-run was started */
};

/*
 * Starts it, and knows that exec has succeeded. Returns 0; or jd-run's exit
 * status, with the sentence as the last failure's (jd_error_message).
 */
int run_start(const struct run_start *start, pid_t *ret_pid);

/* ---- jd_run_output.c: lines of many pipes to two outputs ---------------- */

struct run_output;

struct run_output *run_output_create(int count, bool tag);
void run_output_destroy(struct run_output *output);
/* Makes a process's pipes and returns the ends that it writes to. */
jd_status run_output_open(struct run_output *output, int index, int *ret_out,
                          int *ret_err);

/* How many entries of poll() it needs; writes them. */
size_t run_output_size(const struct run_output *output);
void run_output_poll(const struct run_output *output, struct pollfd *fds);
/* Reads, passes on and writes what can be without waiting. */
void run_output_serve(struct run_output *output, const struct pollfd *fds,
                      double now);
/* When a line that has no end is passed on nevertheless; HUGE_VAL: none. */
double run_output_deadline(const struct run_output *output, double now);

/* Passes on at once all that a process that has failed has written. */
void run_output_show_last(struct run_output *output, int index, double now);
/* A line of jd-run's own on standard error, behind what is already passed. */
__attribute__((format(printf, 2, 3))) void
run_output_say(struct run_output *output, const char *format, ...);
/* Nobody writes any more: takes what is in the pipes and closes them. */
void run_output_end(struct run_output *output, double now);
/* True where all that was taken is written. */
bool run_output_is_written(const struct run_output *output);
/* True where an output could not be written, a closed pipe aside. */
bool run_output_is_lost(const struct run_output *output);

/* ---- jd_run_left.c: what processes leave behind ------------------------- */

/* jd-run becomes the parent of what its processes leave behind. */
void run_left_adopt(void);

struct run_left {
    pid_t pid;
    char name[32];
};

/* jd-run's children that are no zombies; at most size. Returns how many. */
size_t run_left_list(struct run_left *list, size_t size);

#endif
