/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_proc_peers.c - what can be seen of the other processes of a job. The
 * others are helpers of the test; the job is one that its environment, made
 * by hand, says.
 */
#include "base/proc.h"
#include "base/ranges.h"
#include "runtime/process/proc_peers.h"
#include "tests/unit/helper.h"

static const char *const step_names[] = { "detection", "MPI_Init_thread" };

static const struct jd_phases phases = {
    .operation = "jd_test()",
    .thread_name = "jd-test:",
    .step_names = step_names,
    .num_steps = 2,
};

/* The job's mark is this test's pid: tests may run beside each other. */
static char job[64];

static void name_job(void)
{
    snprintf(job, sizeof job, "PMI_JOBID=jd-test-peers-%d", (int)getpid());
}

static struct jd_cluster cluster_of(int local, int total)
{
    return (struct jd_cluster){
        .method = "pmi",
        .process_id = { true, 0, "PMI_RANK" },
        .num_processes = { total > 0, total, "PMI_SIZE" },
        .local_num_processes = { local > 0, local, "MPI_LOCALNRANKS" },
    };
}

static struct jd_env *own_env(const char *more)
{
    char text[256];
    snprintf(text, sizeof text, "%s\nPMI_RANK=0\n%s", job, more);
    return unit_env(text);
}

static pid_t start_peer(const char *thread_name, const char *rank)
{
    return helper_start(thread_name, job, rank, NULL);
}

/* What is printed; the caller frees it. */
static char *print(const struct jd_cluster *cluster, const char *more)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct jd_env *env = own_env(more);
    jd__proc_peers_print(out, &phases, env, cluster);
    jd__env_destroy(env);
    fclose(out);
    return text;
}

static void expect_print(int local, int total, const char *expected)
{
    struct jd_cluster cluster = cluster_of(local, total);
    char *text = print(&cluster, "");
    ck_assert_str_eq(text, expected);
    free(text);
}

static int lowest(const char *more)
{
    struct jd_cluster cluster = cluster_of(2, 2);
    struct jd_env *env = own_env(more);
    int index = jd__proc_peers_lowest(&phases, env, &cluster);
    jd__env_destroy(env);
    return index;
}

/* ---- numbers ------------------------------------------------------------ */

static const struct {
    int numbers[6];
    int count;
    const char *text;
} ranges[] = {
    { { 0 }, 0, "" },
    { { 7 }, 1, "7" },
    { { 0, 1 }, 2, "0-1" },
    { { 0, 2 }, 2, "0,2" },
    { { 0, 1, 2, 3, 4, 9 }, 6, "0-4,9" },
    { { 1, 3, 4, 5, 7, 8 }, 6, "1,3-5,7-8" },
};

START_TEST(numbers_become_ranges)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    jd__ranges_print(out, ranges[_i].numbers, ranges[_i].count);
    fclose(out);
    ck_assert_str_eq(text, ranges[_i].text);
    free(text);
}
END_TEST

/* ---- who is seen -------------------------------------------------------- */

#define UNSEEN "; the other processes cannot be seen from here"

START_TEST(nothing_to_go_by)
{
    struct jd_cluster cluster = cluster_of(2, 2);
    pid_t pid = start_peer("jd-test:1", "PMI_RANK=1");
    char *text = print(NULL, "");
    ck_assert_str_eq(text, UNSEEN);
    free(text);
    cluster.process_id.known = false;
    text = print(&cluster, "");
    ck_assert_str_eq(text, UNSEEN);
    free(text);
    cluster = cluster_of(2, 2);
    strcpy(cluster.process_id.source, "option process_id");
    text = print(&cluster, "");
    ck_assert_str_eq(text, UNSEEN);
    free(text);
    helper_end(pid);
    expect_print(2, 2, UNSEEN);
}
END_TEST

/* Of our job are those that agree in every mark that we have. */
START_TEST(other_jobs_are_not_ours)
{
    pid_t ours = start_peer("jd-test:1", "PMI_RANK=1");
    pid_t theirs =
        helper_start("jd-test:0", "PMI_JOBID=another", "PMI_RANK=0", NULL);
    pid_t unmarked = helper_start("jd-test:0", "PMI_RANK=0", NULL);
    ck_assert_int_eq(lowest(""), 1);
    ck_assert_int_eq(lowest("SLURM_JOB_ID=7\n"), -1);
    helper_end(ours);
    helper_end(theirs);
    helper_end(unmarked);
}
END_TEST

START_TEST(a_rank_alone_is_no_mark)
{
    struct jd_cluster cluster = cluster_of(2, 2);
    struct jd_env *env = unit_env("PMI_RANK=0\n");
    pid_t pid = helper_start("jd-test:1", "PMI_RANK=1", NULL);
    ck_assert_int_eq(jd__proc_peers_lowest(&phases, env, &cluster), -1);
    helper_end(pid);
    jd__env_destroy(env);
}
END_TEST

/* As a process whose launcher, this test, has started the others too. */
static int lowest_as_child(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct jd_cluster cluster = cluster_of(2, 2);
        struct jd_env *env = unit_env("PMI_RANK=0\n");
        _exit(10 + jd__proc_peers_lowest(&phases, env, &cluster));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status) - 10;
}

/* Hydra gives no name of the job. */
START_TEST(those_of_one_launcher_are_a_job)
{
    pid_t peer = helper_start("jd-test:1", "PMI_RANK=1", NULL);
    ck_assert_int_eq(jd__proc_parent(peer), getpid());
    ck_assert_int_eq(lowest_as_child(), 1);
    helper_end(peer);
    ck_assert_int_eq(lowest_as_child(), -1);
}
END_TEST

START_TEST(the_lowest_that_has_come)
{
    pid_t two = start_peer("jd-test:1", "PMI_RANK=2");
    pid_t one = start_peer("jd-test:0", "PMI_RANK=1");
    pid_t zero = start_peer("other", "PMI_RANK=0");
    ck_assert_int_eq(lowest(""), 1);
    helper_end(one);
    ck_assert_int_eq(lowest(""), 2);
    helper_end(two);
    ck_assert_int_eq(lowest(""), -1);
    helper_end(zero);
}
END_TEST

/* A wrapper and its program carry the same index: the one that has come
 * counts, whichever started first. */
START_TEST(a_wrapper_does_not_hide_its_program)
{
    pid_t wrapper = start_peer("other", "PMI_RANK=1");
    pid_t program = start_peer("jd-test:1", "PMI_RANK=1");
    pid_t second = start_peer("other", "PMI_RANK=1");
    expect_print(2, 2,
                 "; process 1 waits in MPI_Init_thread; process 0 is not "
                 "there (never started, ended, or gave up)");
    helper_end(wrapper);
    helper_end(program);
    helper_end(second);
}
END_TEST

/* Of two that have not come, the one that started later: /proc lists by pid. */
START_TEST(the_younger_of_two_is_named)
{
    pid_t wrapper = start_peer("other", "PMI_RANK=0");
    pid_t program = start_peer("other", "PMI_RANK=0");
    char expected[128];
    snprintf(expected, sizeof expected,
             "; process 0 (helper, pid %d) is running but is not in jd_test()",
             (int)(program > wrapper ? program : wrapper));
    expect_print(1, 1, expected);
    helper_end(wrapper);
    helper_end(program);
}
END_TEST

START_TEST(looking_leaves_no_file_open)
{
    pid_t pid = start_peer("jd-test:0", "PMI_RANK=0");
    int lowest_fd = dup(STDERR_FILENO);
    close(lowest_fd);
    expect_print(1, 1, "; process 0 waits in detection");
    ck_assert_int_eq(dup(STDERR_FILENO), lowest_fd);
    close(lowest_fd);
    helper_end(pid);
}
END_TEST

/* ---- what is said ------------------------------------------------------- */

START_TEST(those_that_wait_are_told_by_step)
{
    pid_t pids[] = {
        start_peer("jd-test:1", "PMI_RANK=4"),
        start_peer("jd-test:1", "PMI_RANK=1"),
        start_peer("jd-test:0", "PMI_RANK=3"),
        start_peer("jd-test:1", "PMI_RANK=0"),
        start_peer("jd-test:1", "PMI_RANK=2"),
    };
    expect_print(5, 5,
                 "; process 3 waits in detection; processes 0-2,4 wait in "
                 "MPI_Init_thread");
    for (int i = 0; i < 5; i++)
        helper_end(pids[i]);
}
END_TEST

START_TEST(those_that_are_late_are_told_one_by_one)
{
    pid_t zero = start_peer("jd-test:1", "PMI_RANK=0");
    pid_t one = start_peer("other", "PMI_RANK=1");
    pid_t two = start_peer("jd-test:1", "PMI_RANK=2");
    char expected[300];
    helper_stop(two);
    snprintf(expected, sizeof expected,
             "; process 0 waits in MPI_Init_thread; process 1 (helper, pid %d) "
             "is running but is not in jd_test(); process 2 (helper, pid %d) "
             "is stopped (kill -CONT %d); processes 3-4 are not there (never "
             "started, ended, or gave up)",
             (int)one, (int)two, (int)two);
    expect_print(5, 5, expected);
    helper_end(zero);
    helper_end(one);
    helper_end(two);
}
END_TEST

enum { CROWD = 18 };

START_TEST(a_crowd_is_cut)
{
    pid_t pids[CROWD];
    for (int i = 0; i < CROWD; i++) {
        char rank[32];
        snprintf(rank, sizeof rank, "PMI_RANK=%d", i);
        pids[i] = start_peer("other", rank);
    }
    struct jd_cluster cluster = cluster_of(CROWD, CROWD);
    char *text = print(&cluster, "");
    ck_assert_ptr_nonnull(strstr(text, "; process 15 (helper, pid "));
    ck_assert_ptr_null(strstr(text, "; process 16 "));
    const char *end = strrchr(text, ';');
    ck_assert_str_eq(end, "; and 2 more like these");
    free(text);
    for (int i = 0; i < CROWD; i++)
        helper_end(pids[i]);
}
END_TEST

static const struct {
    int local, total; /* 0: not known */
    const char *text;
} absences[] = {
    { 2, 2, "; process 0 is not there (never started, ended, or gave up)" },
    { 3, 3,
      "; processes 0,2 are not there (never started, ended, or gave up)" },
    { 3, 8,
      "; 2 more of this host are not there (never started, ended, or gave up); "
      "the processes "
      "of other hosts cannot be seen from here" },
    { 1, 8, "; the processes of other hosts cannot be seen from here" },
    { 0, 8, "; the processes of other hosts cannot be seen from here" },
    { 0, 0, "" },
};

START_TEST(those_that_are_absent)
{
    char expected[300];
    pid_t pid = start_peer("jd-test:0", "PMI_RANK=1");
    snprintf(expected, sizeof expected, "; process 1 waits in detection%s",
             absences[_i].text);
    expect_print(absences[_i].local, absences[_i].total, expected);
    helper_end(pid);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

int main(int argc, char **argv)
{
    if (helper_is_wanted(argc, argv))
        return helper_main(argv[2]);
    Suite *suite = suite_create("peers");
    TCase *ranged = unit_case(suite, "numbers");
    tcase_add_checked_fixture(ranged, name_job, NULL);
    tcase_set_timeout(ranged, 30);
    tcase_add_loop_test(ranged, numbers_become_ranges, 0, COUNT(ranges));
    TCase *seen = unit_case(suite, "seen");
    tcase_add_checked_fixture(seen, name_job, NULL);
    tcase_set_timeout(seen, 30);
    tcase_add_test(seen, nothing_to_go_by);
    tcase_add_test(seen, other_jobs_are_not_ours);
    tcase_add_test(seen, a_rank_alone_is_no_mark);
    tcase_add_test(seen, those_of_one_launcher_are_a_job);
    tcase_add_test(seen, the_lowest_that_has_come);
    tcase_add_test(seen, a_wrapper_does_not_hide_its_program);
    tcase_add_test(seen, the_younger_of_two_is_named);
    tcase_add_test(seen, looking_leaves_no_file_open);
    TCase *said = unit_case(suite, "said");
    tcase_add_checked_fixture(said, name_job, NULL);
    tcase_set_timeout(said, 30);
    tcase_add_test(said, those_that_wait_are_told_by_step);
    tcase_add_test(said, those_that_are_late_are_told_one_by_one);
    tcase_add_test(said, a_crowd_is_cut);
    tcase_add_loop_test(said, those_that_are_absent, 0, COUNT(absences));
    return unit_main(suite);
}
