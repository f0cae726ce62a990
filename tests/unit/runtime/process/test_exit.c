/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_exit.c - how a process ends: its exit code, its last line, and what
 * it had printed before. MPI is not started.
 */
#include "base/process_exit.h"
#include "jd_process.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

struct end {
    int status;
    char text[1024]; /* of both streams */
};

/* Runs the body in a child that has printed "before" without a newline. */
static struct end end_of(void (*body)(int), int argument)
{
    struct end end = { .status = -1 };
    size_t length = 0;
    int out[2];
    ck_assert_int_eq(pipe(out), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(out[1], STDOUT_FILENO);
        dup2(out[1], STDERR_FILENO);
        close(out[1]);
        printf("before");
        body(argument);
        _exit(99);
    }
    close(out[1]);
    for (ssize_t n; (n = read(out[0], end.text + length,
                              sizeof end.text - 1 - length)) > 0;)
        length += (size_t)n;
    close(out[0]);
    ck_assert_int_eq(waitpid(child, &end.status, 0), child);
    ck_assert(WIFEXITED(end.status));
    return end;
}

static void expect_end(const struct end *end, int code, const char *text)
{
    ck_assert_int_eq(WEXITSTATUS(end->status), code);
    ck_assert_msg(strstr(end->text, text) != NULL, "no \"%s\" in: %s", text,
                  end->text);
    ck_assert_msg(strstr(end->text, "before") != NULL, "not flushed: %s",
                  end->text);
}

/* ---- jd_abort ----------------------------------------------------------- */

static void abort_with(int code)
{
    jd_abort(code, "the disk is full");
}

static const int codes[][2] = { { 1, 1 },   { 7, 7 },  { 255, 255 }, { 0, 1 },
                                { 256, 1 }, { -1, 1 }, { 512, 1 } };

START_TEST(an_abort_has_a_code_and_a_reason)
{
    struct end end = end_of(abort_with, codes[_i][0]);
    expect_end(&end, codes[_i][1], " error jd_abort: the disk is full\n");
}
END_TEST

static void abort_without(int code)
{
    jd_abort(code, NULL);
}

START_TEST(an_abort_may_have_no_reason)
{
    struct end end = end_of(abort_without, 3);
    expect_end(&end, 3, " error jd_abort: no reason was given\n");
}
END_TEST

/* ---- JD_CHECK ----------------------------------------------------------- */

static void check_status(int status)
{
    JD_CHECK(status ? jd_fail((jd_status)status, "the whole sentence") : JD_OK);
}

START_TEST(a_failed_check_prints_its_sentence)
{
    struct end end = end_of(check_status, JD_NOT_FOUND);
    expect_end(&end, 1, "test_exit.c:");
    expect_end(&end, 1, ": NOT_FOUND: the whole sentence\n");
    end = end_of(check_status, JD_OK);
    ck_assert_int_eq(WEXITSTATUS(end.status), 99);
    ck_assert_str_eq(end.text, "");
}
END_TEST

/* ---- the end at once ---------------------------------------------------- */

static void *hold_stdout(void *barrier)
{
    flockfile(stdout);
    pthread_barrier_wait(barrier);
    pause();
    return NULL;
}

/* Another thread is inside printf: its text is lost, the end is not. */
static void end_while_held(int code)
{
    pthread_barrier_t barrier;
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, hold_stdout, &barrier);
    pthread_barrier_wait(&barrier);
    jd__process_exit_now(code);
}

START_TEST(a_held_stream_does_not_keep_the_process)
{
    struct end end = end_of(end_while_held, 5);
    ck_assert_int_eq(WEXITSTATUS(end.status), 5);
    ck_assert_str_eq(end.text, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exit");
    TCase *ends = unit_case(suite, "ends");
    tcase_add_loop_test(ends, an_abort_has_a_code_and_a_reason, 0,
                        (int)(sizeof codes / sizeof *codes));
    tcase_add_test(ends, an_abort_may_have_no_reason);
    tcase_add_test(ends, a_failed_check_prints_its_sentence);
    tcase_add_test(ends, a_held_stream_does_not_keep_the_process);
    return unit_main(suite);
}
