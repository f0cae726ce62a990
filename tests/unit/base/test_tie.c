/* SPDX-License-Identifier: BSD-3-Clause */
/* test_tie.c - a process ends when the other end of jd-run's pipe does. */
#include "base/tie.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FREE = 7, DEADLINE_MS = 60000 };

static bool tie_to(const char *text)
{
    struct jd_env *env;
    char line[128];
    int length = snprintf(line, sizeof line, "%s\n", text);
    ck_assert_int_eq(jd__env_from_text(line, (size_t)length, "test", &env),
                     JD_OK);
    bool ok = jd__tie_to_jd_run(env);
    jd__env_destroy(env);
    return ok;
}

static void print_variable(char *text, size_t size, int fd, unsigned long add)
{
    struct stat is;
    ck_assert_int_eq(fstat(fd, &is), 0);
    snprintf(text, size, JD_TIE_VARIABLE "=%d:%lu", fd,
             (unsigned long)is.st_ino + add);
}

/* In a child: ties it, says whether it is by a byte, and waits. */
static void live(const int pipe_ends[2], const char *variable, int ready)
{
    close(pipe_ends[1]);
    char is_tied = tie_to(variable) ? 't' : 'f';
    if (is_tied == 't' && !(fcntl(pipe_ends[0], F_GETFD) & FD_CLOEXEC))
        is_tied = 'l'; /* its own children would get it */
    if (write(ready, &is_tied, 1) == 1)
        sleep(DEADLINE_MS / 1000);
    _exit(FREE);
}

/* Returns the child; *ret_answer is what it has said, 0 where it has died. */
static pid_t start(const int pipe_ends[2], const char *variable,
                   char *ret_answer)
{
    int ready[2];
    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        live(pipe_ends, variable, ready[1]);
    close(ready[1]);
    if (read(ready[0], ret_answer, 1) != 1)
        *ret_answer = 0;
    close(ready[0]);
    return pid;
}

static void expect_killed(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGKILL);
}

START_TEST(all_end_with_the_write_end)
{
    enum { COUNT = 3 };
    int ends[2];
    char variable[64], answers[COUNT];
    pid_t pids[COUNT];
    ck_assert_int_eq(pipe(ends), 0);
    print_variable(variable, sizeof variable, ends[0], 0);
    for (int i = 0; i < COUNT; i++)
        pids[i] = start(ends, variable, &answers[i]);
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(answers[i], 't');
        ck_assert_int_eq(waitpid(pids[i], NULL, WNOHANG), 0);
    }
    close(ends[1]);
    for (int i = 0; i < COUNT; i++)
        expect_killed(pids[i]);
    close(ends[0]);
}
END_TEST

START_TEST(what_ended_before_is_seen)
{
    int ends[2];
    char variable[64], answer;
    ck_assert_int_eq(pipe(ends), 0);
    print_variable(variable, sizeof variable, ends[0], 0);
    int write_end = ends[1];
    ends[1] = -1; /* the child has none to close */
    close(write_end);
    pid_t pid = start(ends, variable, &answer);
    ck_assert_int_eq(answer, 0);
    expect_killed(pid);
    close(ends[0]);
}
END_TEST

START_TEST(what_is_not_the_pipe_is_left_alone)
{
    int ends[2];
    char variable[64];
    ck_assert_int_eq(pipe(ends), 0);
    print_variable(variable, sizeof variable, ends[0], 1);
    ck_assert(!tie_to(variable));
    ck_assert_int_eq(fcntl(ends[0], F_GETFL) & O_ASYNC, 0);
    ck_assert_int_eq(fcntl(ends[0], F_GETFD), 0);
    static const char *const bad[] = {
        "OTHER=1",
        JD_TIE_VARIABLE "=",
        JD_TIE_VARIABLE "=x",
        JD_TIE_VARIABLE "=10",
        JD_TIE_VARIABLE "=-1:7",
        JD_TIE_VARIABLE "=0:7",
        JD_TIE_VARIABLE "=987654:7",
        JD_TIE_VARIABLE "=99999999999999999999:7",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!tie_to(bad[i]), "%s", bad[i]);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tie");
    TCase *ties = unit_case(suite, "ties");
    tcase_add_test(ties, all_end_with_the_write_end);
    tcase_add_test(ties, what_ended_before_is_seen);
    tcase_add_test(ties, what_is_not_the_pipe_is_left_alone);
    return unit_main(suite);
}
