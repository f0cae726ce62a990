/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * failure_end.h - a child that ends because its job has failed, on a clock that
 * it sets itself, and what it wrote.
 *
 *     static void body(void)
 *     {
 *         fail_job(&report);
 *         end_together();
 *     }
 *     struct end end = end_of(body);
 *     expect_reported_end(&end);
 */
#ifndef TESTS_UNIT_FAILURE_END_H
#define TESTS_UNIT_FAILURE_END_H

#include "base/log.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/coordination/net/loop.h"
#include "tests/unit/set_clock.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SENTENCE                                                               \
    "process 3 (train, pid 99 on h0) has failed: it was switched off"
#define TAIL "; this process ends with exit code 117"

static const int culprits[] = { 3, 5 };

static const struct jd_report report = {
    .processes = culprits,
    .num_processes = 2,
    .text = SENTENCE,
    .age = 0.25,
    .speak = true,
};

/* Seconds on the test's clock: the callback's, and when all survivors end, 0.4
 * s after the failure. */
#define GRACE 10
#define GRACE_IS_OVER (SET_CLOCK_BEGIN + GRACE)
#define TOGETHER (SET_CLOCK_BEGIN - 0.25 + 0.4)

/* Last words may take a second of twenty parts. */
#define LAST_WORDS_PART 0.05

/* ---- a process that ends ------------------------------------------------ */

struct end {
    int code; /* -1: none */
    char text[4096];
};

static inline void read_all(int fd, char *text, size_t size)
{
    size_t length = 0;
    for (ssize_t n; (n = read(fd, text + length, size - 1 - length)) > 0;)
        length += (size_t)n;
    text[length] = '\0';
    close(fd);
}

/* Runs the body in a child that has printed "before" without a newline. */
static inline struct end end_of(void (*body)(void))
{
    struct end end = { .code = -1 };
    int out[2], status;
    ck_assert_int_eq(pipe(out), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], STDOUT_FILENO);
        dup2(out[1], STDERR_FILENO);
        close(out[0]);
        close(out[1]);
        jd__log_set_identity(0, 4);
        jd__failure_exit_configure(GRACE);
        jd__failure_exit_set_clock(&set_clock);
        printf("before\n");
        body();
        _exit(99);
    }
    close(out[1]);
    read_all(out[0], end.text, sizeof end.text);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFEXITED(status))
        end.code = WEXITSTATUS(status);
    return end;
}

static inline int count_of(const struct end *end, const char *part)
{
    int count = 0;
    for (const char *at = end->text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

#define EXPECT_TEXT(end, part)                                                 \
    ck_assert_msg(count_of(end, part) == 1, "not once \"%s\" in: %s", part,    \
                  (end)->text)

static inline void expect_reported_end(const struct end *end)
{
    ck_assert_int_eq(end->code, JD_EXIT_PEER_FAILED);
    EXPECT_TEXT(end, "before\n");
    EXPECT_TEXT(end, " error " SENTENCE TAIL);
}

/* ---- in the child ------------------------------------------------------- */

static struct jd_loop *loop;

static inline void start_loop(void)
{
    if (jd__loop_create("jd-test", &loop) != JD_OK ||
        jd__loop_start(loop) != JD_OK)
        _exit(98);
}

static inline void begin_with(void *model)
{
    jd__failure_exit_begin(loop, model, NULL, NULL);
}

/* On the loop's thread, and returns when it has been done. */
static inline void fail_job(const struct jd_report *model)
{
    if (!loop)
        start_loop();
    jd__loop_run(loop, begin_with, (void *)model);
}

static inline void wait_for_ever(void)
{
    for (;;)
        pause();
}

/* It has spoken, and ends with the others. */
static inline void end_together(void)
{
    set_clock_await(TOGETHER);
    set_clock_to(TOGETHER);
    wait_for_ever();
}

#endif
