/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_wait.c - the loop that waits for MPI. The program has its own
 * MPI_Testall, which completes when the test says so; no MPI is started.
 */
#include "runtime/wait.h"
#include "runtime/mpi_service.h"
#include "runtime/topology.h"
#include "tests/unit/helper.h"

#include <stdio.h>

static long tests_until_done; /* -1: never */
static int test_result;
static long num_tests;

int MPI_Testall(int count, MPI_Request requests[], int *done,
                MPI_Status statuses[])
{
    (void)requests, (void)statuses;
    ck_assert_int_eq(count, 2);
    *done = ++num_tests == tests_until_done;
    return test_result;
}

int MPI_Error_string(int code, char *text, int *length)
{
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "MPI's text of %d", code);
    return MPI_SUCCESS;
}

/* ---- a job of some processes ------------------------------------------ */

enum { MAX_PROCESSES = 12 };

static struct jd_process_info processes[MAX_PROCESSES];
static struct jd_host hosts[] = { { .name = "n1" }, { .name = "n2" } };

static const struct jd_topology topology = {
    .num_hosts = 2,
    .hosts = hosts,
    .num_processes = MAX_PROCESSES,
    .processes = processes,
};

/* All on this host, and all are this process; tests change some. */
static void make_job(void)
{
    for (int i = 0; i < MAX_PROCESSES; i++)
        processes[i] = (struct jd_process_info){
            .index = i,
            .pid = getpid(),
            .pid_namespace = 1,
            .program = "prog",
        };
    tests_until_done = -1;
    num_tests = 0;
    test_result = MPI_SUCCESS;
}

static struct jd_wait wait_of(int count, int self)
{
    return (struct jd_wait){
        .operation = "jd_psum",
        .timeout = 0.05,
        .notice = -1,
        .variable = "JD_COLLECTIVE_TIMEOUT",
        .topology = &topology,
        .num_processes = count,
        .self = self,
    };
}

static jd_status run(const struct jd_wait *wait)
{
    MPI_Request requests[2];
    return jd__wait_for_mpi(wait, requests, 2);
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
    ck_assert(waited >= wait->timeout);
    snprintf(expected, sizeof expected,
             "%s; the deadline was %.3g s (JD_COLLECTIVE_TIMEOUT changes it)",
             middle, wait->timeout);
    ck_assert_str_eq(text + at, expected);
}

#define ALL_RUN                                                                \
    "; those on this host are running, so one of them has not made this call"

/* ---- ends ------------------------------------------------------------- */

static const long lengths[] = { 1, 2, 64, 65, 1000 };

START_TEST(done_is_done)
{
    struct jd_wait wait = wait_of(2, 0);
    wait.timeout = -1;
    tests_until_done = lengths[_i];
    UNIT_OK(run(&wait));
    ck_assert_int_eq(num_tests, lengths[_i]);
}
END_TEST

START_TEST(mpi_may_fail)
{
    struct jd_wait wait = wait_of(2, 0);
    char sentence[300];
    test_result = MPI_ERR_OTHER;
    snprintf(sentence, sizeof sentence,
             "jd_psum: MPI_Testall failed in %s: MPI's text of %d",
             jd__mpi_library_name(), MPI_ERR_OTHER);
    UNIT_FAILS(run(&wait), JD_INTERNAL, sentence);
}
END_TEST

START_TEST(a_deadline_names_the_members)
{
    struct jd_wait wait = wait_of(4, 1);
    expect_deadline(&wait, "jd_psum: process 1", "processes 0,2-3" ALL_RUN);
    wait.num_processes = 2;
    wait.detail = " over axis \"data\"";
    expect_deadline(&wait, "jd_psum over axis \"data\": process 1",
                    "process 0" ALL_RUN);
}
END_TEST

START_TEST(members_may_be_chosen)
{
    struct jd_wait wait = wait_of(3, 5);
    wait.processes = (const int[]){ 3, 5, 9 };
    expect_deadline(&wait, "jd_psum: process 5", "processes 3,9" ALL_RUN);
}
END_TEST

START_TEST(without_a_topology_nobody_is_seen)
{
    struct jd_wait wait = wait_of(3, 0);
    wait.topology = NULL;
    expect_deadline(&wait, "jd_psum: process 0", "processes 1-2");
}
END_TEST

/* ---- suspects --------------------------------------------------------- */

START_TEST(a_stopped_member_is_a_suspect)
{
    struct jd_wait wait = wait_of(3, 0);
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
}
END_TEST

/* Other hosts, other pid namespaces and unknown ones: pids mean nothing. */
START_TEST(who_cannot_be_seen_is_no_suspect)
{
    struct jd_wait wait = wait_of(4, 0);
    pid_t pid = helper_start("other", NULL);
    helper_end(pid);
    for (int i = 1; i < 4; i++)
        processes[i].pid = pid;
    processes[1].host = 1;
    processes[2].pid_namespace = 2;
    processes[3].pid_namespace = 0;
    expect_deadline(&wait, "jd_psum: process 0",
                    "processes 1-3" ALL_RUN ", or one of another host");
}
END_TEST

START_TEST(a_crowd_is_cut)
{
    struct jd_wait wait = wait_of(MAX_PROCESSES, 0);
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

/* ---- notices ---------------------------------------------------------- */

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

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

START_TEST(notices_come_at_doubling_intervals)
{
    struct jd_wait wait = wait_of(2, 0);
    char text[4096];
    wait.notice = 0.1;
    wait.timeout = 0.7;
    run_captured(&wait, text, sizeof text);
    ck_assert_int_eq(count_of(text, " warning jd_psum: process 0 has waited "),
                     3);
    ck_assert_int_eq(count_of(text, " s for process 1" ALL_RUN
                                    "; it gives up after 0.7 s "
                                    "(JD_COLLECTIVE_TIMEOUT)\n"),
                     3);
}
END_TEST

START_TEST(a_wait_may_have_no_deadline)
{
    struct jd_wait wait = wait_of(2, 0);
    char text[4096];
    wait.notice = 0.001;
    wait.timeout = -1;
    tests_until_done = 200000;
    run_captured(&wait, text, sizeof text);
    ck_assert_int_ge(count_of(text, ALL_RUN "; it has no deadline "
                                            "(JD_COLLECTIVE_TIMEOUT sets "
                                            "one)\n"),
                     1);
}
END_TEST

/* The lowest running member of a host speaks, and no other. */
static int notices_of(const struct jd_wait *model)
{
    struct jd_wait wait = *model;
    char text[4096];
    wait.notice = 0.001;
    run_captured(&wait, text, sizeof text);
    return count_of(text, " warning ");
}

START_TEST(the_lowest_of_a_host_speaks)
{
    struct jd_wait wait = wait_of(4, 2);
    ck_assert_int_eq(notices_of(&wait), 0);
    processes[0].host = 1;
    ck_assert_int_eq(notices_of(&wait), 0);
    pid_t pid = helper_start("other", NULL);
    processes[1].pid = pid;
    ck_assert_int_eq(notices_of(&wait), 0);
    helper_stop(pid);
    ck_assert_int_ge(notices_of(&wait), 1);
    helper_end(pid);
    ck_assert_int_ge(notices_of(&wait), 1);
    wait.topology = NULL;
    processes[1].pid = getpid();
    ck_assert_int_ge(notices_of(&wait), 1);
}
END_TEST

START_TEST(only_members_can_speak)
{
    struct jd_wait wait = wait_of(2, 2);
    wait.processes = (const int[]){ 2, 3 };
    ck_assert_int_ge(notices_of(&wait), 1);
    wait.processes = (const int[]){ 1, 2 };
    ck_assert_int_eq(notices_of(&wait), 0);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

int main(int argc, char **argv)
{
    if (helper_is_wanted(argc, argv))
        return helper_main(argv[2]);
    Suite *suite = suite_create("wait");
    TCase *ends = unit_case(suite, "ends");
    tcase_add_checked_fixture(ends, make_job, NULL);
    tcase_add_loop_test(ends, done_is_done, 0, COUNT(lengths));
    tcase_add_test(ends, mpi_may_fail);
    tcase_add_test(ends, a_deadline_names_the_members);
    tcase_add_test(ends, members_may_be_chosen);
    tcase_add_test(ends, without_a_topology_nobody_is_seen);
    TCase *suspects = unit_case(suite, "suspects");
    tcase_add_checked_fixture(suspects, make_job, NULL);
    tcase_add_test(suspects, a_stopped_member_is_a_suspect);
    tcase_add_test(suspects, who_cannot_be_seen_is_no_suspect);
    tcase_add_test(suspects, a_crowd_is_cut);
    TCase *notices = unit_case(suite, "notices");
    tcase_add_checked_fixture(notices, make_job, NULL);
    tcase_add_test(notices, notices_come_at_doubling_intervals);
    tcase_add_test(notices, a_wait_may_have_no_deadline);
    tcase_add_test(notices, the_lowest_of_a_host_speaks);
    tcase_add_test(notices, only_members_can_speak);
    return unit_main(suite);
}
