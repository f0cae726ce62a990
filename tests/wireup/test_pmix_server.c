/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_pmix_server.c - jd-pmix-server with real MPI programs: several hosts
 * are played on this machine, each with a server of its own.
 */
#include "runtime/wireup/server/liveness.h"
#include "tests/unit/unit.h"
#include "tests/wireup/hosts.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The job's number in Open MPI 4 and in 5, which file names bear. */
static const char *const numbers[2] = { "953d5b05", "ce380000" };

static struct job job;

static void expect_all(const char *word)
{
    for (size_t h = 0; h < job.num_hosts; h++)
        for (size_t i = 0; i < job.hosts[h].count; i++) {
            char line[64];
            int process = (int)job.hosts[h].processes[i];
            snprintf(line, sizeof line, "%s %d %d %zu\n", word, process,
                     job.count, job.hosts[h].count);
            job_expect_word(&job, process, line);
        }
}

/* ---- worlds ------------------------------------------------------------- */

static const struct {
    int count;
    const char *hosts;
} shapes[] = {
    { 1, "0" },
    { 4, "0,1,2,3" },
    { 4, "0,1;2,3" },
    { 4, "0;1,2,3" },
    { 4, "0,2;1,3" },
    { 5, "0,3,4;1;2" },
    { 8, "0,4;1,5;2,6;3,7" },
};
enum { NUM_SHAPES = sizeof shapes / sizeof *shapes };

START_TEST(a_world_of_any_shape_is_made)
{
    job_open(&job, shapes[UNIT_NTH(_i)].count, shapes[UNIT_NTH(_i)].hosts);
    job_start_servers(&job);
    job_start_members(&job, "plain");
    expect_all("ok");
    job_expect_exits(&job, 0);
    job_expect_nothing_left(&job);
    job_expect_no_error(&job);
    ck_assert_uint_eq(job_count_keys(&job, "env"), (size_t)job.count);
    ck_assert_uint_le(job_count_keys(&job, "fence"), job.num_hosts);
    ck_assert_uint_eq(job_count_keys(&job, "want"), 0); /* the fence had all */
    job_close(&job);
}
END_TEST

START_TEST(hosts_may_have_one_name)
{
    job_open(&job, 3, "0;1,2");
    strcpy(job.hosts[1].name, job.hosts[0].name);
    job_start_servers(&job);
    job_start_members(&job, "plain");
    expect_all("ok");
    job_expect_exits(&job, 0);
    job_close(&job);
}
END_TEST

static const char *const names[] = { "n",       "a.b-c.example.org", "007",
                                     "node-01", "10.0.0.1",          "x_y[2]",
                                     "fe80::1" };
enum { NUM_NAMES = sizeof names / sizeof *names };

START_TEST(hosts_may_have_any_name)
{
    job_open(&job, 3, "0;1,2");
    strcpy(job.hosts[0].name, names[UNIT_NTH(_i)]);
    job_start_servers(&job);
    job_start_members(&job, "plain");
    expect_all("ok");
    job_expect_exits(&job, 0);
    job_close(&job);
}
END_TEST

/* With a fence that carries no data: each address is asked for alone. (Without
 * any, MPI_Init of Open MPI 4.1.4 now and then ends: "PML add procs failed".)
 */
START_TEST(what_is_published_can_be_asked_for)
{
    job_open(&job, 4, "0,3;1,2");
    job.variables[0] = "OMPI_MCA_pmix_base_collect_data=0";
    job_start_servers(&job);
    job_start_members(&job, "plain");
    expect_all("ok");
    job_expect_exits(&job, 0);
    ck_assert_uint_ge(job_count_keys(&job, "want"), 1); /* it was asked */
    ck_assert_uint_le(job_count_keys(&job, "want"), 2); /* the two counts */
    ck_assert_uint_eq(job_count_keys(&job, "modex"), 0);
    job_close(&job);
}
END_TEST

/* A second job on the same machine at the same time. */
START_TEST(two_jobs_at_once)
{
    static struct job other;
    job_open(&job, 2, "0;1");
    job_open(&other, 2, "0,1");
    job_start_servers(&job);
    job_start_servers(&other);
    job_start_members(&job, "plain");
    job_start_members(&other, "wait");
    expect_all("ok");
    job_expect_exits(&job, 0);
    job_expect_word(&other, 0, "up 0 2 2\n");
    kill(other.members[0].pid, SIGKILL);
    kill(other.members[1].pid, SIGKILL);
    job_expect_exit(&other, 0, -SIGKILL);
    job_expect_exit(&other, 1, -SIGKILL);
    job_expect_nothing_left(&other);
    job_close(&job);
    job_close(&other);
}
END_TEST

/* ---- ends --------------------------------------------------------------- */

static void open_waiting(int count, const char *hosts, const char *mode)
{
    job_open(&job, count, hosts);
    job_start_servers(&job);
    job_start_members(&job, mode);
    expect_all("up");
}

START_TEST(a_server_outlives_its_starter_and_signals)
{
    pid_t pids[8];
    open_waiting(4, "0,1;2,3", "lazy");
    ck_assert_int_eq(job_find_processes(&job, "jd-pmix-server", pids, 8), 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_ne(getsid(pids[i]), getsid(0));
        kill(pids[i], SIGTERM);
        kill(pids[i], SIGINT);
        kill(pids[i], SIGHUP);
    }
    job_release(&job, 0);
    job_release(&job, 3);
    job_expect_exit(&job, 0, 0);
    job_expect_exit(&job, 3, 0);
    ck_assert_int_eq(job_find_processes(&job, "jd-pmix-server", pids, 8), 2);
    job_release(&job, 1);
    job_release(&job, 2);
    job_expect_exits(&job, 0);
    job_expect_nothing_left(&job);
    job_expect_no_error(&job);
    job_close(&job);
}
END_TEST

START_TEST(a_child_that_stays_is_no_process)
{
    open_waiting(2, "0,1", "fork");
    kill(job.members[0].pid, SIGKILL);
    kill(job.members[1].pid, SIGKILL);
    job_await_servers_end(&job); /* both inputs are open: the children live */
    job_expect_exits(&job, -SIGKILL);
    job_close(&job);
}
END_TEST

START_TEST(a_job_that_is_killed_leaves_nothing)
{
    open_waiting(4, "0,1;2,3", "wait");
    for (int i = 0; i < 4; i++)
        kill(job.members[i].pid, SIGKILL);
    job_expect_exits(&job, -SIGKILL);
    job_expect_nothing_left(&job);
    job_expect_no_error(&job);
    job_close(&job);
}
END_TEST

static bool shares_as(int process, int rank)
{
    bool does = false;
    for (int i = 0; i < 2; i++) {
        char end[32];
        snprintf(end, sizeof end, ".%s.%d\n", numbers[i], rank);
        does |= job_shares(&job, process, end);
    }
    return does;
}

static bool has_segment(int rank)
{
    bool has = false;
    for (int i = 0; i < 2; i++) {
        char end[32];
        snprintf(end, sizeof end, ".%s.%d", numbers[i], rank);
        has |= shm_has(end);
    }
    return has;
}

/* Open MPI was told another place for its shared memory, and has no time to
 * remove it. */
START_TEST(segments_in_another_place_go_too)
{
    job_open(&job, 2, "0,1");
    job.variables[0] = "OMPI_MCA_btl_vader_backing_directory=/dev/shm";
    job.variables[1] = "OMPI_MCA_btl_sm_backing_directory=/dev/shm";
    job_start_servers(&job);
    job_start_members(&job, "wait");
    expect_all("up");
    ck_assert(shares_as(0, 0));
    ck_assert(has_segment(1));
    for (int i = 0; i < 2; i++)
        kill(job.members[i].pid, SIGKILL);
    job_expect_exits(&job, -SIGKILL);
    job_expect_nothing_left(&job);
    ck_assert(!has_segment(0));
    ck_assert(!has_segment(1));
    job_close(&job);
}
END_TEST

START_TEST(memory_is_shared_in_its_directory)
{
    open_waiting(3, "0,1;2", "wait");
    ck_assert(job_shares(&job, 0, "/jd-wireup-"));
    ck_assert(shares_as(0, 1));
    for (int i = 0; i < 3; i++)
        kill(job.members[i].pid, SIGKILL);
    job_expect_exits(&job, -SIGKILL);
    job_close(&job);
}
END_TEST

START_TEST(the_service_goes)
{
    open_waiting(4, "0,1;2,3", "wait");
    job_stop_service(&job);
    job_expect_exits(&job, -SIGKILL);
    job_expect_nothing_left(&job);
    job_expect_error(&job, "jd-pmix-server on node-0: the job has ended, but 2 "
                           "of this host's processes were still there 4 s "
                           "later; they were killed");
    job_close(&job);
}
END_TEST

/* One process dies: the service tells the servers of all hosts, which end what
 * does not end itself. */
START_TEST(a_process_dies)
{
    open_waiting(4, "0,1;2,3", "wait");
    kill(job.members[3].pid, SIGKILL);
    job_expect_exit(&job, 3, -SIGKILL);
    job_lose_agent(&job, 3);
    for (int i = 0; i < 3; i++)
        job_expect_exit(&job, i, -SIGKILL);
    job_expect_nothing_left(&job);
    job_expect_error(&job, "jd-pmix-server on node-0: the job has ended, but 2 "
                           "of this host's processes");
    job_expect_error(&job, "jd-pmix-server on node-1: the job has ended, but 1 "
                           "of this host's processes");
    job_close(&job);
}
END_TEST

/* Those that have finalised MPI may take their time. */
START_TEST(the_service_goes_when_all_is_done)
{
    open_waiting(2, "0;1", "lazy");
    job_stop_service(&job);
    sleep(LIVENESS_GRACE_SECONDS + 1);
    job_release(&job, 0);
    job_release(&job, 1);
    job_expect_exits(&job, 0);
    job_expect_nothing_left(&job);
    job_expect_no_error(&job);
    job_close(&job);
}
END_TEST

START_TEST(an_abort_ends_the_host)
{
    open_waiting(3, "0,1,2", "abort");
    job_release(&job, 2);
    job_expect_exit(&job, 2, 7);
    job_expect_exits(&job, -SIGKILL);
    job_expect_nothing_left(&job);
    job_expect_error(&job, "jd-pmix-server on node-0: process 2 (pid ");
    job_expect_error(&job, ") called PMIx_Abort with code 7");
    job_close(&job);
}
END_TEST

/* The one that comes has the whole of the time for it. */
START_TEST(a_process_never_connects)
{
    job_open(&job, 3, "0,1,2");
    job.timeout = 8;
    job_start_servers(&job);
    job_start_member(&job, 1, "hold");
    job_expect_word(&job, 1, "up 1 0 0\n");
    job_expect_exit(&job, 1, -SIGKILL);
    job_expect_nothing_left(&job);
    job_expect_error(&job, "jd-pmix-server on node-0: processes 0,2 of this "
                           "host did not connect to the server in 8 s; it "
                           "ends, and the host's other processes with it");
    job_close(&job);
}
END_TEST

/* By libpmix of version 4, or by the supervisor. */
static void expect_ends(void)
{
    for (int i = 0; i < job.count; i++) {
        int code = job_await_exit(&job, i);
        ck_assert_msg(code == 195 || code == -SIGKILL, "%d", code);
    }
}

/* The supervisor cleans up, and the processes cannot go on. */
START_TEST(the_server_is_killed)
{
    pid_t pids[8];
    open_waiting(2, "0,1", "wait");
    ck_assert_int_eq(job_find_processes(&job, "jd-pmix-server", pids, 8), 1);
    job_await_supervisor(&job, 2);
    kill(pids[0], SIGKILL);
    expect_ends();
    job_expect_nothing_left(&job);
    job_expect_error(&job, ") was killed by signal 9 (Killed); the host's 2 "
                           "processes cannot go on without it, and are ended");
    job_close(&job);
}
END_TEST

/* One that is not in MPI yet does not notice. */
START_TEST(the_server_is_killed_early)
{
    pid_t pids[8];
    job_open(&job, 2, "0,1");
    job_start_servers(&job);
    job_start_member(&job, 0, "hold");
    job_expect_word(&job, 0, "up 0 0 0\n");
    ck_assert_int_eq(job_find_processes(&job, "jd-pmix-server", pids, 8), 1);
    job_await_supervisor(&job, 1);
    kill(pids[0], SIGKILL);
    job_expect_exit(&job, 0, -SIGKILL);
    job_expect_nothing_left(&job);
    job_close(&job);
}
END_TEST

/* ---- what cannot begin -------------------------------------------------- */

START_TEST(garbage_is_refused)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *part;
    } all[] = {
        { "", 0, "ends after 0 of 4 bytes" },
        { "hello, server", 13, "is none: it would have 1819043176 bytes" },
        { "\4\0\0\0abcd", 8, "is none: it cannot be unpacked" },
        { "\x10\0\0\0abcd", 8, "ends after 4 of 16 bytes" },
        { "\0\0\0\0", 4, "is none: it would have 0 bytes" },
    };
    char answer[1024];
    int code;
    job_open(&job, 1, "0");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        job_run_server(&job, all[i].bytes, all[i].size, answer, sizeof answer,
                       &code);
        ck_assert_msg(strstr(answer, all[i].part) != NULL, "no \"%s\" in: %s",
                      all[i].part, answer);
        ck_assert_int_eq(code, 1);
    }
    job_close(&job);
}
END_TEST

static void expect_refusal(const char *part)
{
    uint8_t frame[2048];
    char answer[1024];
    int code;
    size_t size = job_plan_frame(&job, 0, frame, sizeof frame);
    job_run_server(&job, frame, size, answer, sizeof answer, &code);
    ck_assert_msg(strstr(answer, part) != NULL, "no \"%s\" in: %s", part,
                  answer);
    ck_assert_int_eq(code, 1);
}

START_TEST(a_plan_that_contradicts_itself_is_refused)
{
    job_open(&job, 4, "0,1;2,3");
    job.hosts[1].processes[0] = 1;
    expect_refusal("a process is there twice, or is none of the job's");
    job.hosts[1].processes[0] = 3;
    expect_refusal("a host's processes are not sorted");
    job.hosts[1].processes[0] = 2;
    job.count = 5;
    expect_refusal("not every process has a host");
    job.count = 4;
    job.timeout = 0;
    expect_refusal("its timeouts are none");
    job.is_held = true;
    expect_refusal("jd-run's processes are on one host");
    job_close(&job);
}
END_TEST

START_TEST(a_directory_that_cannot_be_is_named)
{
    char tmpdir[sizeof job.tmpdir];
    job_open(&job, 1, "0");
    strcpy(tmpdir, job.tmpdir);
    strcpy(job.tmpdir, "/proc/nowhere");
    expect_refusal("a directory with room for 9 MiB cannot be made in "
                   "/proc/nowhere: No such file or directory; JD_TMPDIR names "
                   "another place, which must be this host's own");
    strcpy(job.tmpdir, tmpdir);
    job_close(&job);
}
END_TEST

START_TEST(a_service_that_is_not_there_is_named)
{
    job_open(&job, 1, "0");
    job.timeout = 0.5;
    job_stop_service(&job);
    expect_refusal("this program has not reached the coordination service in ");
    job_close(&job);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pmix_server");
    TCase *tcase = unit_case(suite, "worlds");
    tcase_set_timeout(tcase, 400);
    tcase_add_loop_test(tcase, a_world_of_any_shape_is_made, 0,
                        UNIT_PART(NUM_SHAPES));
    tcase_add_test(tcase, hosts_may_have_one_name);
    tcase_add_loop_test(tcase, hosts_may_have_any_name, 0,
                        UNIT_PART(NUM_NAMES));
    tcase_add_test(tcase, what_is_published_can_be_asked_for);
    tcase_add_test(tcase, two_jobs_at_once);
    tcase = unit_case(suite, "ends");
    tcase_set_timeout(tcase, 400);
    tcase_add_test(tcase, a_server_outlives_its_starter_and_signals);
    tcase_add_test(tcase, a_child_that_stays_is_no_process);
    tcase_add_test(tcase, a_job_that_is_killed_leaves_nothing);
    tcase_add_test(tcase, memory_is_shared_in_its_directory);
    tcase_add_test(tcase, segments_in_another_place_go_too);
    tcase_add_test(tcase, a_process_dies);
    tcase_add_test(tcase, the_service_goes);
    tcase_add_test(tcase, the_service_goes_when_all_is_done);
    tcase_add_test(tcase, an_abort_ends_the_host);
    tcase_add_test(tcase, a_process_never_connects);
    tcase_add_test(tcase, the_server_is_killed);
    tcase_add_test(tcase, the_server_is_killed_early);
    tcase = unit_case(suite, "refusals");
    tcase_set_timeout(tcase, 400);
    tcase_add_test(tcase, garbage_is_refused);
    tcase_add_test(tcase, a_plan_that_contradicts_itself_is_refused);
    tcase_add_test(tcase, a_directory_that_cannot_be_is_named);
    tcase_add_test(tcase, a_service_that_is_not_there_is_named);
    return unit_main(suite);
}
