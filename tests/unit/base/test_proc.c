/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_proc.c - the state of a process, as a sentence says it: running,
 * stopped, held by a debugger or by a tool of its own, ended.
 */
#include "base/proc.h"
#include "tests/unit/helper.h"

#include <sys/ptrace.h>

static pid_t start_one(void)
{
    return helper_start("other", NULL);
}

static void expect_state(pid_t pid, const char *expected)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    jd__proc_print_state(out, pid);
    fclose(out);
    ck_assert_str_eq(text, expected);
    free(text);
}

START_TEST(a_process_runs_stops_and_ends)
{
    char stopped[64];
    ck_assert_int_eq(jd__proc_state(getpid()), 'R');
    expect_state(getpid(), "is running");
    pid_t pid = start_one();
    char state = jd__proc_state(pid);
    ck_assert(state && strchr("RSD", state));
    helper_stop(pid);
    ck_assert_int_eq(jd__proc_state(pid), 'T');
    snprintf(stopped, sizeof stopped, "is stopped (kill -CONT %d)", (int)pid);
    expect_state(pid, stopped);
    helper_kill(pid);
    ck_assert_int_eq(jd__proc_state(pid), 'Z');
    expect_state(pid, "has ended and is not yet reaped");
    helper_reap(pid);
    ck_assert_int_eq(jd__proc_state(pid), 0);
    expect_state(pid, "has ended");
}
END_TEST

/* The name of a program may look like the end of its name. */
START_TEST(a_name_may_hold_anything)
{
    prctl(PR_SET_NAME, "a) Z (b");
    ck_assert_int_eq(jd__proc_state(getpid()), 'R');
}
END_TEST

/* ---- held, not stopped -------------------------------------------------- */

static void hold(pid_t pid)
{
    int status;
    ck_assert_int_eq(ptrace(PTRACE_ATTACH, pid, NULL, NULL), 0);
    ck_assert_int_eq(waitpid(pid, &status, __WALL), pid);
    ck_assert(WIFSTOPPED(status));
}

START_TEST(a_debugger_is_named)
{
    char held[64];
    pid_t pid = start_one();
    prctl(PR_SET_NAME, "bugger");
    hold(pid);
    ck_assert_int_eq(jd__proc_state(pid), 't');
    snprintf(held, sizeof held, "is held by bugger (pid %d)", (int)getpid());
    expect_state(pid, held);
    ck_assert_int_eq(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
    helper_end(pid);
}
END_TEST

/* In the tool, which a process has started by way of another: holds it, says
 * so by a byte, and waits for its own end. */
static void hold_for(pid_t pid, int ready)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    hold(pid);
    if (write(ready, "!", 1) != 1)
        _exit(2);
    for (;;)
        pause();
}

/* In a process whose tool holds it. */
static void be_held(int ready)
{
    pid_t self = getpid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fork() == 0)
            hold_for(self, ready);
    }
    for (;;)
        pause();
}

START_TEST(a_tool_of_its_own_does_not_stop_it)
{
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0)
        be_held(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(jd__proc_state(pid), 'S');
    expect_state(pid, "is running");
    helper_end(pid);
}
END_TEST

int main(int argc, char **argv)
{
    if (helper_is_wanted(argc, argv))
        return helper_main(argv[2]);
    Suite *suite = suite_create("proc");
    TCase *states = unit_case(suite, "states");
    tcase_set_timeout(states, 30);
    tcase_add_test(states, a_process_runs_stops_and_ends);
    tcase_add_test(states, a_name_may_hold_anything);
    tcase_add_test(states, a_debugger_is_named);
    tcase_add_test(states, a_tool_of_its_own_does_not_stop_it);
    return unit_main(suite);
}
