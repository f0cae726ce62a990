/* SPDX-License-Identifier: BSD-3-Clause */
/* test_log.c - one line format, one write per line, levels. */
#include "base/log.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

static FILE *captured;

/* Each test runs in a process of its own, so standard error stays there. */
static void capture(void)
{
    captured = tmpfile();
    ck_assert_ptr_nonnull(captured);
    ck_assert_int_ge(dup2(fileno(captured), STDERR_FILENO), 0);
}

/* The next captured line without its newline, or NULL; the caller frees it. */
static char *next_line(void)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length = getline(&line, &size, captured);
    if (length <= 0) {
        free(line);
        return NULL;
    }
    line[length - 1] = '\0';
    return line;
}

static void expect_line(const char *index_and_count, const char *rest)
{
    char host[65] = "", expected[256];
    char *line = next_line();
    ck_assert_ptr_nonnull(line);
    gethostname(host, sizeof host - 1);
    snprintf(expected, sizeof expected, "jd %s %s:%d %s", index_and_count, host,
             (int)getpid(), rest);
    ck_assert_str_eq(line, expected);
    free(line);
}

START_TEST(a_line_says_who_speaks)
{
    capture();
    jd__log(JD_LOG_WARNING, "text %d", 1);
    jd__log_set_identity(3, 8);
    jd__log(JD_LOG_ERROR, "text %d", 2);
    rewind(captured);
    expect_line("-/-", "warning text 1");
    expect_line("3/8", "error text 2");
}
END_TEST

START_TEST(levels_are_kept)
{
    capture();
    jd__log(JD_LOG_INFO, "not by default");
    jd__log_set_level("debug");
    ck_assert(jd__log_enabled(JD_LOG_DEBUG));
    jd__log(JD_LOG_DEBUG, "detail");
    jd__log_set_level("error");
    ck_assert(!jd__log_enabled(JD_LOG_WARNING));
    jd__log(JD_LOG_WARNING, "not now");
    jd__log_set_level("no level");
    ck_assert(jd__log_enabled(JD_LOG_ERROR));
    ck_assert(!jd__log_enabled(JD_LOG_WARNING));
    rewind(captured);
    expect_line("-/-", "debug detail");
    ck_assert_ptr_null(next_line());
}
END_TEST

START_TEST(a_long_line_stays_whole)
{
    size_t length = 50000;
    char *text = malloc(length + 1);
    memset(text, 'y', length);
    text[length] = '\0';
    capture();
    jd__log(JD_LOG_ERROR, "%s", text);
    rewind(captured);
    char *line = next_line();
    ck_assert_str_eq(strchr(line, 'y'), text);
    free(line);
    free(text);
}
END_TEST

static void *log_many(void *name)
{
    for (int i = 0; i < 200; i++)
        jd__log(JD_LOG_ERROR, "%s%s%s", (char *)name, (char *)name,
                (char *)name);
    return NULL;
}

START_TEST(lines_of_two_threads_do_not_mix)
{
    char names[2][401] = { "", "" };
    pthread_t threads[2];
    capture();
    for (int i = 0; i < 2; i++) {
        memset(names[i], 'a' + i, 400);
        pthread_create(&threads[i], NULL, log_many, names[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    rewind(captured);
    for (int i = 0; i < 400; i++) {
        char *line = next_line();
        ck_assert_ptr_nonnull(line);
        const char *text = strrchr(line, ' ') + 1;
        ck_assert_uint_eq(strlen(text), 1200);
        ck_assert_uint_eq(strspn(text, (char[]){ text[0], '\0' }), 1200);
        free(line);
    }
}
END_TEST

/* ---- a pipe that is full, and signals ----------------------------------- */

enum { LONG_LINE = 300000 }; /* several times what a pipe holds */

static void ignore_signal(int number)
{
    (void)number;
}

static void *log_long(void *text)
{
    jd__log(JD_LOG_ERROR, "%s", (char *)text);
    close(STDERR_FILENO);
    return NULL;
}

/* Waits until the pipe holds all that it can. */
static void wait_until_full(int reader)
{
    int capacity = fcntl(reader, F_GETPIPE_SZ), filled = 0;
    while (filled < capacity) {
        ck_assert_int_eq(ioctl(reader, FIONREAD, &filled), 0);
        sched_yield();
    }
}

static size_t drain(int reader, char *text, size_t size)
{
    size_t length = 0;
    for (ssize_t n; (n = read(reader, text + length, size - length)) > 0;)
        length += (size_t)n;
    return length;
}

/* A write that a signal cuts short goes on where it stopped. */
START_TEST(a_signal_does_not_cut_a_line)
{
    char *text = malloc(LONG_LINE + 1), *got = malloc(2 * LONG_LINE);
    struct sigaction action = { .sa_handler = ignore_signal };
    pthread_t writer;
    int ends[2];
    memset(text, 'y', LONG_LINE);
    text[LONG_LINE] = '\0';
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_ge(dup2(ends[1], STDERR_FILENO), 0);
    close(ends[1]);
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    pthread_create(&writer, NULL, log_long, text);
    wait_until_full(ends[0]);
    for (int i = 0; i < 200; i++) {
        pthread_kill(writer, SIGUSR1);
        sched_yield();
    }
    size_t length = drain(ends[0], got, 2 * LONG_LINE);
    pthread_join(writer, NULL);
    ck_assert_uint_gt(length, LONG_LINE);
    ck_assert_int_eq(got[length - 1], '\n');
    ck_assert_int_eq(memcmp(got + length - 1 - LONG_LINE, text, LONG_LINE), 0);
    free(text);
    free(got);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *lines = unit_case(suite, "lines");
    tcase_add_test(lines, a_line_says_who_speaks);
    tcase_add_test(lines, levels_are_kept);
    tcase_add_test(lines, a_long_line_stays_whole);
    tcase_add_test(lines, lines_of_two_threads_do_not_mix);
    tcase_add_test(lines, a_signal_does_not_cut_a_line);
    return unit_main(suite);
}
