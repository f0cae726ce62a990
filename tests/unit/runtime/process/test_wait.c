/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_wait.c - the loop that waits for MPI. The program has its own
 * MPI_Testall and MPI_Request_get_status, whose requests complete when the test
 * says so, its own clock and its own sleep; no MPI is started, and nothing
 * waits for time.
 */
#include "runtime/mpi/message_count.h"
#include "runtime/process/wait.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/mpi/library.h"
#include "runtime/topology/topology.h"
#include "tests/unit/helper.h"

#include <stdio.h>

enum { MAX_PROCESSES = 12 };
#define MOMENT (1. / 128) /* between two looks at the clock */

static MPI_Request requests[MAX_PROCESSES];
static struct jd_wait_end far_ends[MAX_PROCESSES];
static bool has_come[MAX_PROCESSES]; /* the message of each request */
static int num_requests;
static long tests_until_done; /* -1: never */
static int lines_until_done;  /* on standard error; 0: never */
static int test_result;
static long num_tests;
static long num_sleeps, longest_sleep; /* nanoseconds */
static double now;

static double test_clock(void)
{
    return now += MOMENT;
}

int nanosleep(const struct timespec *length, struct timespec *left)
{
    (void)left;
    ck_assert_int_eq(length->tv_sec, 0);
    num_sleeps++;
    if (length->tv_nsec > longest_sleep)
        longest_sleep = length->tv_nsec;
    return 0;
}

/* One write each; the file is the test's. */
static int count_lines(void)
{
    char text[4096];
    ssize_t size = pread(STDERR_FILENO, text, sizeof text, 0);
    int lines = 0;
    for (ssize_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines;
}

int MPI_Testall(int count, MPI_Request array[], int *done,
                MPI_Status statuses[])
{
    (void)statuses;
    ck_assert_int_eq(count, num_requests);
    ck_assert_ptr_eq(array, requests);
    *done = ++num_tests == tests_until_done ||
            (lines_until_done && count_lines() >= lines_until_done);
    return test_result;
}

/* The requests are numbers, from 1. */
int MPI_Request_get_status(MPI_Request request, int *done, MPI_Status *status)
{
    (void)status;
    *done = has_come[(intptr_t)request - 1];
    return MPI_SUCCESS;
}

int MPI_Error_string(int code, char *text, int *length)
{
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "MPI's text of %d", code);
    return MPI_SUCCESS;
}

/* ---- a job of some processes -------------------------------------------- */

static struct jd_process_info processes[MAX_PROCESSES];
static struct jd_host hosts[] = { { .name = 1 }, { .name = 4 } };

static const struct jd_topology topology = {
    .num_hosts = 2,
    .hosts = hosts,
    .num_processes = MAX_PROCESSES,
    .processes = processes,
    .texts = "\0n1\0n2\0prog",
};

/* All on this host, and all are this process; tests change some. */
static void make_job(void)
{
    for (int i = 0; i < MAX_PROCESSES; i++)
        requests[i] = (MPI_Request)(intptr_t)(i + 1);
    for (int i = 0; i < MAX_PROCESSES; i++)
        processes[i] = (struct jd_process_info){
            .index = i,
            .pid = getpid(),
            .pid_namespace = 1,
            .program = 7,
        };
    memset(has_come, 0, sizeof has_come);
    tests_until_done = -1;
    lines_until_done = 0;
    num_tests = num_sleeps = longest_sleep = 0;
    test_result = MPI_SUCCESS;
    now = 10000;
}

/* A wait of process self for as many others as are listed; each process has
 * four members, and the last of them is at the other end. */
static struct jd_wait wait_for(int self, const int *others, int count)
{
    num_requests = count;
    for (int i = 0; i < count; i++)
        far_ends[i] =
            (struct jd_wait_end){ others[i], 4 * others[i] + 3, false };
    return (struct jd_wait){
        .operation = "jd_psum",
        .timeout = 0.05,
        .notice = -1,
        .variable = "JD_COLLECTIVE_TIMEOUT",
        .topology = &topology,
        .processes = others,
        .self = self,
        .clock = test_clock,
    };
}

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define WAIT_FOR(self, ...)                                                    \
    wait_for(self, (const int[]){ __VA_ARGS__ },                               \
             COUNT(((const int[]){ __VA_ARGS__ })))

static jd_status run(const struct jd_wait *wait)
{
    return jd__wait_for_mpi(wait, requests, far_ends, num_requests, NULL);
}

/* It fails at its deadline with "BEGIN has waited N s for MIDDLE; END". */
static void expect_deadline(const struct jd_wait *wait, const char *begin,
                            const char *middle)
{
    char expected[512];
    double waited;
    int at = 0;
    ck_assert_int_eq(run(wait), JD_DEADLINE_EXCEEDED);
    const char *text = jd_error_message();
    ck_assert_int_eq(strncmp(text, begin, strlen(begin)), 0);
    text += strlen(begin);
    ck_assert_int_eq(sscanf(text, " has waited %lf s for %n", &waited, &at), 1);
    ck_assert_int_gt(at, 0);
    ck_assert(waited >= wait->timeout && waited < wait->timeout + 2 * MOMENT);
    snprintf(expected, sizeof expected,
             "%s; the deadline was %.3g s (JD_COLLECTIVE_TIMEOUT changes it)",
             middle, wait->timeout);
    ck_assert_str_eq(text + at, expected);
}

#define IT_RUNS                                                                \
    "; no message has come from it: it runs on this host, but has not made "   \
    "this call, or waits for one that has not"
#define THEY_RUN                                                               \
    "; no message has come from them: those on this host run, but have not "   \
    "made this call, or wait for one that has not"
#define OTHER_HOSTS "; other hosts cannot be seen from here"

/* ---- ends --------------------------------------------------------------- */

static const long lengths[] = { 1, 2, 64, 65, 1000 };

START_TEST(done_is_done)
{
    struct jd_wait wait = WAIT_FOR(0, 1);
    wait.timeout = -1;
    tests_until_done = lengths[_i];
    UNIT_OK(run(&wait));
    ck_assert_int_eq(num_tests, lengths[_i]);
}
END_TEST

/* What comes within a few milliseconds is never slept over; later most of the
 * time is, a fraction of a millisecond each, with tests between. */
START_TEST(a_long_wait_leaves_the_processor)
{
    struct jd_wait wait = WAIT_FOR(0, 1);
    wait.timeout = -1;
    tests_until_done = 3000;
    UNIT_OK(run(&wait));
    ck_assert_int_eq(num_sleeps, 0);
    num_tests = 0;
    tests_until_done = 100000;
    UNIT_OK(run(&wait));
    ck_assert_int_gt(num_sleeps, 5000);
    ck_assert_int_lt(num_sleeps, 10000);
    ck_assert_int_le(longest_sleep, 1000000);
}
END_TEST

START_TEST(mpi_may_fail)
{
    struct jd_wait wait = WAIT_FOR(0, 1);
    char sentence[300];
    test_result = MPI_ERR_OTHER;
    snprintf(sentence, sizeof sentence,
             "jd_psum: MPI_Testall failed in %s: MPI's text of %d",
             jd__mpi_library_name(), MPI_ERR_OTHER);
    UNIT_FAILS(run(&wait), JD_INTERNAL, sentence);
}
END_TEST

/* Requests are in any order; the sentence is not. */
START_TEST(a_deadline_names_the_missing)
{
    struct jd_wait wait = WAIT_FOR(1, 3, 0, 2);
    expect_deadline(&wait, "jd_psum: process 1", "processes 0,2-3" THEY_RUN);
    has_come[0] = has_come[2] = true;
    wait.detail = " over axis \"data\"";
    expect_deadline(&wait, "jd_psum over axis \"data\": process 1",
                    "process 0" IT_RUNS);
}
END_TEST

/* Several devices of one process. */
START_TEST(a_process_is_named_once)
{
    struct jd_wait wait = WAIT_FOR(0, 2, 1, 2, 1, 3);
    has_come[4] = true;
    expect_deadline(&wait, "jd_psum: process 0", "processes 1-2" THEY_RUN);
    has_come[1] = has_come[3] = true;
    expect_deadline(&wait, "jd_psum: process 0", "process 2" IT_RUNS);
}
END_TEST

/* ---- waits of other kinds ------------------------------------------------ */

static int find_two(void *arg, int *found)
{
    (*(int *)arg)++;
    found[0] = 2;
    found[1] = 1;
    return 2;
}

/* Nobody is asked who is missing before somebody wants to know. */
START_TEST(any_wait_has_a_deadline)
{
    struct jd_wait wait = WAIT_FOR(0, 1, 2, 3);
    struct jd_wait_state state = jd__wait_start(&wait);
    int asked = 0;
    wait.timeout = 1e9;
    UNIT_OK(jd__wait_look(&wait, &state, find_two, &asked, 3));
    ck_assert_int_eq(asked, 0);
    wait.timeout = 0;
    ck_assert_int_eq(jd__wait_look(&wait, &state, find_two, &asked, 3),
                     JD_DEADLINE_EXCEEDED);
    ck_assert_int_eq(asked, 1);
    ck_assert_ptr_nonnull(strstr(
        jd_error_message(), " s for processes 1-2" THEY_RUN "; the deadline "));
    ck_assert_int_eq(num_tests, 0);
    jd__failure_exit_note("process 1 has failed");
    UNIT_FAILS(jd__wait_look(&wait, &state, find_two, &asked, 3), JD_ABORTED,
               "jd_psum: process 1 has failed");
}
END_TEST

/* The same from the first look at the first of them that needs one. */
START_TEST(several_waits_count_from_the_first_look)
{
    struct jd_wait wait = WAIT_FOR(0, 1, 2, 3);
    double first_look = 0, began = now + MOMENT;
    int asked = 0;
    wait.timeout = 2000;
    wait.first_look = &first_look;
    struct jd_wait_state state = jd__wait_start(&wait);
    ck_assert(first_look == 0); /* one that does not look */
    state = jd__wait_start(&wait);
    UNIT_OK(jd__wait_look(&wait, &state, find_two, &asked, 3));
    ck_assert(first_look == began);
    now += 1500;
    state = jd__wait_start(&wait);
    UNIT_OK(jd__wait_look(&wait, &state, find_two, &asked, 3));
    ck_assert(first_look == began);
    now += 600;
    ck_assert_int_eq(jd__wait_look(&wait, &state, find_two, &asked, 3),
                     JD_DEADLINE_EXCEEDED);
}
END_TEST

/* Two waits, one after the other, have one deadline and one row of notices. */
START_TEST(several_waits_have_one_deadline)
{
    struct jd_wait wait = WAIT_FOR(0, 1, 2, 3);
    struct jd_wait_state state = jd__wait_start(&wait);
    int asked = 0;
    wait.timeout = 2000;
    wait.begin = now - 1000;
    state.next_notice = 300;
    UNIT_OK(jd__wait_look(&wait, &state, find_two, &asked, 3));
    ck_assert_int_eq(asked, 0);
    ck_assert(state.next_notice == 1200);
    wait.begin -= 1500;
    state = jd__wait_start(&wait);
    ck_assert_int_eq(jd__wait_look(&wait, &state, find_two, &asked, 3),
                     JD_DEADLINE_EXCEEDED);
    ck_assert_ptr_nonnull(
        strstr(jd_error_message(), "process 0 has waited 2.5e+03 s for "));
    ck_assert_ptr_nonnull(strstr(jd_error_message(), "; the deadline was "));
}
END_TEST

static void note_missing(void *arg, const int *found, int count)
{
    *(int *)arg += count == 2 && found[0] == 1 && found[1] == 2;
}

/* What it hears can be told to others, who name them too. */
START_TEST(who_is_missing_is_passed_on)
{
    struct jd_wait wait = WAIT_FOR(0, 1, 2, 3);
    struct jd_wait_state state = jd__wait_start(&wait);
    int asked = 0, heard = 0, behind[] = { 4, 5, 7 };
    wait.on_missing = note_missing;
    wait.arg = &heard;
    wait.timeout = 1e9;
    UNIT_OK(jd__wait_look(&wait, &state, find_two, &asked, 3));
    ck_assert_int_eq(heard, 0);
    wait.timeout = 0;
    wait.behind = behind;
    wait.num_behind = 3;
    ck_assert_int_eq(jd__wait_look(&wait, &state, find_two, &asked, 3),
                     JD_DEADLINE_EXCEEDED);
    ck_assert_int_eq(heard, 1);
    ck_assert_ptr_nonnull(
        strstr(jd_error_message(), " s for processes 4-5,7" THEY_RUN));
}
END_TEST

/* Of a process's messages those that have come, once each; what is sent to it
 * and what comes from another do not count. */
START_TEST(what_has_come_is_counted)
{
    struct jd_wait wait = WAIT_FOR(0, 1, 1, 2, 1);
    UNIT_OK(jd__message_count_open(MAX_PROCESSES));
    jd__message_count_came(1);
    far_ends[0].receives = far_ends[2].receives = true;
    wait.timeout = 0.02;
    ck_assert_int_eq(run(&wait), JD_DEADLINE_EXCEEDED);
    ck_assert_uint_eq(jd__message_count_from(1), 1);
    tests_until_done = num_tests + 1;
    UNIT_OK(run(&wait));
    tests_until_done = num_tests + 1;
    UNIT_OK(run(&wait)); /* they are null by now */
    ck_assert_uint_eq(jd__message_count_from(1), 2);
    ck_assert_uint_eq(jd__message_count_from(2), 1);
    ck_assert_uint_eq(jd__message_count_to(1), 0);
}
END_TEST

/* All have come while the clock was looked at: that is no failure. */
START_TEST(who_comes_at_the_deadline_is_in_time)
{
    struct jd_wait wait = WAIT_FOR(0, 1, 2);
    wait.timeout = 0;
    wait.notice = 0;
    has_come[0] = has_come[1] = true;
    tests_until_done = 1000;
    UNIT_OK(run(&wait));
}
END_TEST

/* It does not come to its deadline. */
START_TEST(the_end_of_the_job_ends_it)
{
    struct jd_wait wait = WAIT_FOR(0, 1);
    wait.timeout = -1;
    jd__failure_exit_note("process 1 has failed");
    UNIT_FAILS(run(&wait), JD_ABORTED, "jd_psum: process 1 has failed");
    ck_assert_int_le(num_tests, 64);
    tests_until_done = 1; /* what is complete is complete */
    num_tests = 0;
    UNIT_OK(run(&wait));
}
END_TEST

START_TEST(a_wait_may_be_cancelled)
{
    struct jd_wait wait = WAIT_FOR(0, 1);
    atomic_bool is_cancelled = false;
    wait.detail = " over axis \"data\"";
    wait.is_cancelled = &is_cancelled;
    ck_assert_int_eq(run(&wait), JD_DEADLINE_EXCEEDED);
    atomic_store(&is_cancelled, true);
    wait.timeout = -1;
    UNIT_FAILS(run(&wait), JD_ABORTED,
               "jd_psum over axis \"data\": another device of this process has "
               "failed, and this one waits no longer");
}
END_TEST

/* ---- suspects ----------------------------------------------------------- */

START_TEST(a_stopped_one_is_a_suspect)
{
    struct jd_wait wait = WAIT_FOR(0, 1, 2);
    char middle[300];
    pid_t pid = helper_start("other", NULL);
    helper_stop(pid);
    processes[1].pid = pid;
    snprintf(middle, sizeof middle,
             "processes 1-2; process 1 (prog, pid %d on n1) is stopped (kill "
             "-CONT %d)",
             (int)pid, (int)pid);
    expect_deadline(&wait, "jd_psum: process 0", middle);
    helper_end(pid);
    snprintf(middle, sizeof middle,
             "processes 1-2; process 1 (prog, pid %d on n1) has ended",
             (int)pid);
    expect_deadline(&wait, "jd_psum: process 0", middle);
    has_come[0] = true;
    expect_deadline(&wait, "jd_psum: process 0", "process 2" IT_RUNS);
}
END_TEST

/* Other hosts, other pid namespaces and unknown ones: pids mean nothing. */
START_TEST(who_cannot_be_seen_is_no_suspect)
{
    struct jd_wait wait = WAIT_FOR(0, 1, 2, 3);
    pid_t pid = helper_start("other", NULL);
    helper_end(pid);
    for (int i = 1; i < 4; i++)
        processes[i].pid = pid;
    processes[1].host = 1;
    processes[2].pid_namespace = 2;
    processes[3].pid_namespace = processes[0].pid_namespace = 0;
    expect_deadline(&wait, "jd_psum: process 0", "processes 1-3" OTHER_HOSTS);
    processes[3] = processes[0] = processes[4];
    expect_deadline(&wait, "jd_psum: process 0",
                    "processes 1-3" THEY_RUN OTHER_HOSTS);
}
END_TEST

/* Its deadline is far away, and no service says that it is dead. */
START_TEST(who_has_ended_is_not_waited_for)
{
    struct jd_wait wait = WAIT_FOR(0, 1, 2);
    char end[200];
    pid_t pid = helper_start("other", NULL);
    helper_end(pid);
    processes[1].pid = pid;
    has_come[1] = true;
    wait.timeout = 1000;
    snprintf(end, sizeof end,
             " s for process 1; process 1 (prog, pid %d on n1) has ended, and "
             "cannot come; the job should end",
             (int)pid);
    ck_assert_int_eq(run(&wait), JD_ABORTED);
    ck_assert_ptr_nonnull(strstr(jd_error_message(), end));
}
END_TEST

/* Of several one may come yet, and of another host nobody knows here. */
START_TEST(who_may_come_is_waited_for)
{
    struct jd_wait wait = WAIT_FOR(0, 1, 2);
    pid_t pid = helper_start("other", NULL);
    helper_end(pid);
    processes[1].pid = pid;
    wait.timeout = 2.5; /* beyond the second time that it is looked at */
    ck_assert_int_eq(run(&wait), JD_DEADLINE_EXCEEDED);
    processes[2].pid = pid;
    processes[2].host = 1;
    ck_assert_int_eq(run(&wait), JD_DEADLINE_EXCEEDED);
}
END_TEST

START_TEST(a_crowd_is_cut)
{
    struct jd_wait wait = WAIT_FOR(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    pid_t pid = helper_start("other", NULL);
    helper_end(pid);
    for (int i = 1; i < MAX_PROCESSES; i++)
        processes[i].pid = pid;
    ck_assert_int_eq(run(&wait), JD_DEADLINE_EXCEEDED);
    ck_assert_ptr_nonnull(strstr(jd_error_message(), "; process 8 (prog"));
    ck_assert_ptr_null(strstr(jd_error_message(), "; process 9 (prog"));
    ck_assert_ptr_nonnull(
        strstr(jd_error_message(), "; and 3 more like these; the deadline"));
}
END_TEST

/* ---- notices ------------------------------------------------------------ */

/* Runs to its end with standard error in text. */
static void run_captured(const struct jd_wait *wait, char *text, size_t size)
{
    FILE *captured = tmpfile();
    ck_assert_ptr_nonnull(captured);
    ck_assert_int_ge(dup2(fileno(captured), STDERR_FILENO), 0);
    run(wait);
    rewind(captured);
    text[fread(text, 1, size - 1, captured)] = '\0';
    fclose(captured);
}

/* At 0.02, 0.04 and 0.08 s. */
START_TEST(notices_come_at_doubling_intervals)
{
    static const char about[] =
        " s for process 1" IT_RUNS "; it gives up after 600 s "
        "(JD_COLLECTIVE_TIMEOUT)\n";
    struct jd_wait wait = WAIT_FOR(0, 1);
    char text[4096];
    const char *line = text;
    wait.notice = 0.02;
    wait.timeout = 600;
    lines_until_done = 3;
    run_captured(&wait, text, sizeof text);
    for (double wanted = 0.02; wanted < 0.1; wanted *= 2) {
        double waited = 0;
        line = strstr(line, " warning jd_psum: process 0 has waited ");
        ck_assert_msg(line != NULL, "%s", text);
        sscanf(line, " warning jd_psum: process 0 has waited %lf", &waited);
        ck_assert_msg(waited >= wanted && waited < wanted + 2 * MOMENT, "%s",
                      text);
        line = strstr(line, " s for process 1");
        ck_assert_ptr_nonnull(line);
        ck_assert_int_eq(strncmp(line, about, strlen(about)), 0);
    }
}
END_TEST

START_TEST(a_wait_may_have_no_deadline)
{
    struct jd_wait wait = WAIT_FOR(0, 1);
    char text[4096];
    wait.notice = 0.001;
    wait.timeout = -1;
    lines_until_done = 1;
    run_captured(&wait, text, sizeof text);
    ck_assert_ptr_nonnull(
        strstr(text, IT_RUNS "; it has no deadline (JD_COLLECTIVE_TIMEOUT sets "
                             "one)\n"));
}
END_TEST

START_TEST(members_are_named_too)
{
    struct jd_wait wait = WAIT_FOR(0, 1, 1, 2);
    int behind = 1;
    far_ends[1].member = 5;
    wait.names_members = true;
    wait.member = 2;
    has_come[1] = has_come[2] = true;
    expect_deadline(&wait, "jd_psum: process 0 (member 2)",
                    "process 1" IT_RUNS "; member 7 has not come");
    has_come[1] = has_come[2] = false;
    expect_deadline(&wait, "jd_psum: process 0 (member 2)",
                    "processes 1-2" THEY_RUN "; members 5,7,11 have not come");
    wait.names_members = false; /* each process has one */
    expect_deadline(&wait, "jd_psum: process 0", "processes 1-2" THEY_RUN);
    wait.names_members = true;
    wait.behind = &behind;
    wait.num_behind = 1;
    expect_deadline(&wait, "jd_psum: process 0", "process 1" IT_RUNS);
}
END_TEST

static int num_late;

/* No more than the wait may have. */
static int find_late(void *arg, struct jd_wait_end *members)
{
    ck_assert_ptr_nonnull(arg);
    for (int i = 0; i < num_late; i++)
        members[i] = (struct jd_wait_end){ 1, 7 - 4 * i, false };
    return num_late;
}

START_TEST(members_of_other_waits_are_named_too)
{
    struct jd_wait wait = WAIT_FOR(0, 1, 2, 3);
    struct jd_wait_state state = jd__wait_start(&wait);
    int asked = 0;
    wait.timeout = 0;
    wait.find_members = find_late;
    wait.member = 2;
    num_late = 2;
    ck_assert_int_eq(jd__wait_look(&wait, &state, find_two, &asked, 3),
                     JD_DEADLINE_EXCEEDED);
    ck_assert_ptr_nonnull(strstr(jd_error_message(), "process 0 (member 2) "));
    ck_assert_ptr_nonnull(strstr(jd_error_message(),
                                 " s for processes 1-2" THEY_RUN
                                 "; members 3,7 have not come"));
    num_late = 0; /* each process has one */
    state = jd__wait_start(&wait);
    ck_assert_int_eq(jd__wait_look(&wait, &state, find_two, &asked, 3),
                     JD_DEADLINE_EXCEEDED);
    ck_assert_ptr_null(strstr(jd_error_message(), "member"));
}
END_TEST

/* Until it has spoken; a wait that does not has no end. */
static void expect_notice(const struct jd_wait *model)
{
    struct jd_wait wait = *model;
    char text[4096];
    wait.notice = 0.001;
    wait.timeout = -1;
    lines_until_done = 1;
    run_captured(&wait, text, sizeof text);
    lines_until_done = 0;
    ck_assert_ptr_nonnull(strstr(text, " warning jd_psum: process 2 "));
}

static void expect_silence(const struct jd_wait *model)
{
    struct jd_wait wait = *model;
    char text[4096];
    wait.notice = 0.001;
    run_captured(&wait, text, sizeof text);
    ck_assert_str_eq(text, "");
}

/* Of those on a host that have come and run, the lowest speaks. */
START_TEST(the_lowest_that_waits_speaks)
{
    struct jd_wait wait = WAIT_FOR(2, 0, 1, 3);
    expect_notice(&wait); /* nobody else has come */
    has_come[1] = true;
    expect_silence(&wait); /* process 1 speaks */
    processes[1].host = 1;
    expect_notice(&wait); /* and here process 2 too */
    processes[1].host = 0;
    pid_t pid = helper_start("other", NULL);
    processes[1].pid = pid;
    expect_silence(&wait);
    helper_stop(pid);
    expect_notice(&wait);
    helper_end(pid);
    expect_notice(&wait);
    has_come[1] = false;
    has_come[2] = true;
    expect_notice(&wait); /* process 3 does not */
}
END_TEST

int main(int argc, char **argv)
{
    if (helper_is_wanted(argc, argv))
        return helper_main(argv[2]);
    Suite *suite = suite_create("wait");
    TCase *ends = unit_case(suite, "ends");
    tcase_add_checked_fixture(ends, make_job, NULL);
    tcase_set_timeout(ends, 30);
    tcase_add_loop_test(ends, done_is_done, 0, COUNT(lengths));
    tcase_add_test(ends, a_long_wait_leaves_the_processor);
    tcase_add_test(ends, mpi_may_fail);
    tcase_add_test(ends, a_deadline_names_the_missing);
    tcase_add_test(ends, a_process_is_named_once);
    tcase_add_test(ends, any_wait_has_a_deadline);
    tcase_add_test(ends, several_waits_have_one_deadline);
    tcase_add_test(ends, several_waits_count_from_the_first_look);
    tcase_add_test(ends, who_is_missing_is_passed_on);
    tcase_add_test(ends, what_has_come_is_counted);
    tcase_add_test(ends, who_comes_at_the_deadline_is_in_time);
    tcase_add_test(ends, the_end_of_the_job_ends_it);
    tcase_add_test(ends, a_wait_may_be_cancelled);
    TCase *suspects = unit_case(suite, "suspects");
    tcase_add_checked_fixture(suspects, make_job, NULL);
    tcase_set_timeout(suspects, 30);
    tcase_add_test(suspects, a_stopped_one_is_a_suspect);
    tcase_add_test(suspects, who_cannot_be_seen_is_no_suspect);
    tcase_add_test(suspects, who_has_ended_is_not_waited_for);
    tcase_add_test(suspects, who_may_come_is_waited_for);
    tcase_add_test(suspects, a_crowd_is_cut);
    TCase *notices = unit_case(suite, "notices");
    tcase_add_checked_fixture(notices, make_job, NULL);
    tcase_set_timeout(notices, 30);
    tcase_add_test(notices, notices_come_at_doubling_intervals);
    tcase_add_test(notices, a_wait_may_have_no_deadline);
    tcase_add_test(notices, the_lowest_that_waits_speaks);
    tcase_add_test(notices, members_are_named_too);
    tcase_add_test(notices, members_of_other_waits_are_named_too);
    return unit_main(suite);
}
