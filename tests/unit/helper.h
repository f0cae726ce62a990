/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper.h - other processes of a job, for tests that look at them through
 * /proc: this same program, started with an environment of the test's making.
 *
 *     int main(int argc, char **argv)
 *     {
 *         if (helper_is_wanted(argc, argv))
 *             return helper_main(argv[2]);
 *         ...
 *     pid_t pid = helper_start("jd-test:0", "TEST_JOB=1", "RANK=0", NULL);
 *     ...
 *     helper_end(pid);
 *
 * helper_start returns when the helper's thread has its name, so that no test
 * has to wait. A helper ends with the test that started it.
 */
#ifndef TESTS_UNIT_HELPER_H
#define TESTS_UNIT_HELPER_H

#include "tests/unit/unit.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HELPER_MAX_VARIABLES = 8 };

static inline bool helper_is_wanted(int argc, char **argv)
{
    return argc == 3 && strcmp(argv[1], "helper") == 0;
}

static inline void *helper_name_itself(void *name)
{
    pthread_setname_np(pthread_self(), name);
    if (write(STDOUT_FILENO, "!", 1) != 1)
        _exit(2);
    for (;;)
        pause();
}

/* Runs until it is killed, with a thread of this name beside the first. */
static inline int helper_main(char *thread_name)
{
    pthread_t thread;
    prctl(PR_SET_NAME, "helper");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (pthread_create(&thread, NULL, helper_name_itself, thread_name) != 0)
        return 2;
    for (;;)
        pause();
}

static inline pid_t helper_spawn(const char *thread_name, char **variables,
                                 int ready)
{
    char *argv[] = { (char *)"helper", (char *)"helper", (char *)thread_name,
                     NULL };
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ready, STDOUT_FILENO);
    int error =
        posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, variables);
    posix_spawn_file_actions_destroy(&actions);
    ck_assert_int_eq(error, 0);
    return pid;
}

/* The variables, "NAME=value" each, end with NULL. */
static inline pid_t helper_start(const char *thread_name, ...)
{
    char *variables[HELPER_MAX_VARIABLES + 1] = { NULL };
    va_list args;
    int ready[2];
    char byte;
    va_start(args, thread_name);
    for (int i = 0; i < HELPER_MAX_VARIABLES; i++)
        if (!(variables[i] = va_arg(args, char *)))
            break;
    va_end(args);
    ck_assert_int_eq(pipe(ready), 0);
    pid_t pid = helper_spawn(thread_name, variables, ready[1]);
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

/* Stops it, and returns when it has stopped. */
static inline void helper_stop(pid_t pid)
{
    int status;
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
    ck_assert(WIFSTOPPED(status));
}

/* Ends it; it stays a zombie until helper_reap. */
static inline void helper_kill(pid_t pid)
{
    siginfo_t info;
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static inline void helper_reap(pid_t pid)
{
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static inline void helper_end(pid_t pid)
{
    helper_kill(pid);
    helper_reap(pid);
}

#endif
