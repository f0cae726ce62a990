/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_watchdog.c - a deadline over calls that have none: no trace where it
 * is kept, a sentence and exit code 1 where it is not.
 */
#include "runtime/process/watchdog.h"
#include "tests/unit/helper.h"
#include "tests/unit/threads.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>

static const char *const step_names[] = { "first", "second" };

static const struct jd_phases two_steps = {
    .operation = "jd_test()",
    .thread_name = "jd-test:",
    .step_names = step_names,
    .num_steps = 2,
};

static const struct jd_phases one_step = {
    .operation = "jd_end()",
    .thread_name = "jd-test:",
    .step_names = step_names,
    .num_steps = 1,
};

static char job[64];

static void name_job(void)
{
    snprintf(job, sizeof job, "PMI_JOBID=jd-test-dog-%d", (int)getpid());
}

static struct jd_env *make_env(void)
{
    char text[128];
    snprintf(text, sizeof text, "%s\nPMI_RANK=1\n", job);
    return unit_env(text);
}

static const struct jd_cluster cluster = {
    .method = "pmi",
    .process_id = { true, 1, "PMI_RANK" },
    .num_processes = { true, 2, "PMI_SIZE" },
    .local_num_processes = { true, 2, "MPI_LOCALNRANKS" },
};

static struct jd_watchdog *start(const struct jd_phases *phases,
                                 const struct jd_env *env, double timeout,
                                 double notice)
{
    struct jd_watchdog_spec spec = {
        .phases = phases,
        .timeout = timeout,
        .notice = notice,
        .variable = "JD_TEST_TIMEOUT",
        .env = env,
    };
    struct jd_watchdog *dog;
    UNIT_OK(jd__watchdog_start(&spec, &dog));
    return dog;
}

/* ---- the thread --------------------------------------------------------- */

/* Copies a thread's file of /proc that is not the first thread's. */
static void read_other_thread(const char *name, char *text, size_t size)
{
    DIR *tasks = opendir("/proc/self/task");
    text[0] = '\0';
    for (struct dirent *d; (d = readdir(tasks));) {
        char path[330];
        if (d->d_name[0] == '.' || atoi(d->d_name) == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/%s", d->d_name, name);
        FILE *file = fopen(path, "r");
        text[fread(text, 1, size - 1, file)] = '\0';
        fclose(file);
    }
    closedir(tasks);
}

START_TEST(the_thread_comes_and_goes)
{
    struct jd_env *env = make_env();
    char name[32];
    for (int i = 0; i < 10; i++) {
        struct jd_watchdog *dog = start(&two_steps, env, 300, 20);
        ck_assert_int_ge(count_all_threads(), 2);
        read_other_thread("comm", name, sizeof name);
        ck_assert_str_eq(name, "jd-test:0\n");
        jd__watchdog_step(dog, 1);
        read_other_thread("comm", name, sizeof name);
        ck_assert_str_eq(name, "jd-test:1\n");
        jd__watchdog_stop(dog);
        wait_for_all_threads(1);
    }
    jd__watchdog_stop(NULL);
    jd__env_destroy(env);
}
END_TEST

static double cpu_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* There is a tenth of a second of which it takes less than half. */
START_TEST(the_thread_sleeps)
{
    struct jd_env *env = make_env();
    struct jd_watchdog *dog = start(&two_steps, env, 300, 20);
    double before, used = 1;
    while (used > 0.05) {
        before = cpu_seconds();
        poll(NULL, 0, 100);
        used = cpu_seconds() - before;
    }
    jd__watchdog_stop(dog);
    jd__env_destroy(env);
}
END_TEST

START_TEST(the_thread_takes_no_signal)
{
    struct jd_env *env = make_env();
    char text[4096];
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    struct jd_watchdog *dog = start(&two_steps, env, 300, 20);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int i = 1; i < NSIG; i++)
        ck_assert_int_eq(sigismember(&after, i), sigismember(&before, i));
    read_other_thread("status", text, sizeof text);
    const char *blocked = strstr(text, "SigBlk:");
    ck_assert_ptr_nonnull(blocked);
    unsigned long mask = strtoul(blocked + strlen("SigBlk:"), NULL, 16);
    ck_assert(mask & 1ul << (SIGTERM - 1));
    ck_assert(mask & 1ul << (SIGPIPE - 1));
    ck_assert(mask & 1ul << (SIGCHLD - 1));
    jd__watchdog_stop(dog);
    jd__env_destroy(env);
}
END_TEST

/* ---- the deadline ------------------------------------------------------- */

/* A child whose watchdog expires, and all that it wrote. */
struct end {
    char text[4096];
    int status;
};

static void write_unflushed(void)
{
    printf("on stdout");
}

static void expire(const struct jd_phases *phases, double timeout,
                   double notice, const struct jd_cluster *known)
{
    struct jd_env *env = make_env();
    struct jd_watchdog *dog = start(phases, env, timeout, notice);
    if (known)
        jd__watchdog_set_cluster(dog, known);
    jd__watchdog_step(dog, phases->num_steps - 1);
    write_unflushed();
    for (;;)
        pause();
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

/* Ends it where so many notices have come; 0: it ends by itself. */
static struct end watch_child(const struct jd_phases *phases, double timeout,
                              double notice, const struct jd_cluster *known,
                              int notices)
{
    struct end end = { .status = -1 };
    int out[2];
    size_t length = 0;
    ck_assert_int_eq(pipe(out), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(out[1], STDERR_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(out[1]);
        expire(phases, timeout, notice, known);
    }
    close(out[1]);
    for (ssize_t n; (n = read(out[0], end.text + length,
                              sizeof end.text - 1 - length)) > 0;) {
        length += (size_t)n;
        if (notices && count_of(end.text, "\n") >= notices)
            kill(child, SIGKILL);
    }
    close(out[0]);
    ck_assert_int_eq(waitpid(child, &end.status, 0), child);
    return end;
}

static struct end expire_in_child(const struct jd_phases *phases,
                                  double timeout, double notice,
                                  const struct jd_cluster *known)
{
    return watch_child(phases, timeout, notice, known, 0);
}

static void expect_parts(const struct end *end, const char *const *parts)
{
    const char *at = end->text;
    for (int i = 0; parts[i]; i++) {
        at = strstr(at, parts[i]);
        ck_assert_msg(at != NULL, "no \"%s\" in its place in: %s", parts[i],
                      end->text);
        at += strlen(parts[i]);
    }
    ck_assert(WIFEXITED(end->status));
    ck_assert_int_eq(WEXITSTATUS(end->status), 1);
}

START_TEST(the_end_says_why)
{
    struct end end = expire_in_child(&two_steps, 0.4, -1, NULL);
    expect_parts(&end, (const char *[]){
                           " error jd_test() has waited ",
                           " s in second, its step 2 of 2; the other processes "
                           "cannot be seen from here; the deadline was 0.4 s "
                           "(JD_TEST_TIMEOUT changes it): this process ends "
                           "with exit code 1\n",
                           "on stdout", NULL });
    ck_assert_int_eq(count_of(end.text, "warning"), 0);
}
END_TEST

START_TEST(one_step_has_no_number)
{
    struct end end = expire_in_child(&one_step, 0.1, -1, NULL);
    expect_parts(&end,
                 (const char *[]){ " error jd_end() has waited ",
                                   " s; the other processes cannot be seen "
                                   "from here; the deadline was 0.1 s",
                                   NULL });
}
END_TEST

/* Where all are here, no network between hosts is to blame. */
START_TEST(a_step_that_waits_for_other_hosts_has_a_hint)
{
    static const char *const hints[] = { NULL, "try the other network" };
    struct jd_phases hinted = two_steps;
    struct jd_cluster apart = cluster;
    hinted.step_hints = hints;
    apart.num_processes.value = 4;
    struct end end = expire_in_child(&hinted, 0.1, -1, &apart);
    expect_parts(&end, (const char *[]){ "its step 2 of 2; ",
                                         "; try the other network; "
                                         "the deadline was 0.1 s",
                                         NULL });
    end = expire_in_child(&hinted, 0.1, -1, &cluster);
    ck_assert_int_eq(count_of(end.text, "network"), 0);
    end = expire_in_child(&hinted, 0.1, -1, NULL);
    ck_assert_int_eq(count_of(end.text, "network"), 1);
}
END_TEST

/* At 0.05, 0.1 and 0.2 s, or later where the host is busy. */
START_TEST(notices_come_at_doubling_intervals)
{
    struct end end = watch_child(&two_steps, 600, 0.05, NULL, 3);
    const char *line = end.text;
    for (double wanted = 0.05; wanted < 0.3; wanted *= 2) {
        double waited = 0;
        line = strstr(line, " warning jd_test() has waited ");
        ck_assert_msg(line != NULL, "%s", end.text);
        sscanf(line, " warning jd_test() has waited %lf", &waited);
        ck_assert_msg(waited >= wanted, "%s", end.text);
        line = strstr(line, "; it gives up after 600 s (JD_TEST_TIMEOUT)\n");
        ck_assert_msg(line != NULL, "%s", end.text);
    }
}
END_TEST

/* Process 0 waits too, so process 1 leaves the notices to it. */
START_TEST(only_the_lowest_gives_notice)
{
    pid_t zero = helper_start("jd-test:0", job, "PMI_RANK=0", NULL);
    struct end end = expire_in_child(&two_steps, 0.4, 0.1, &cluster);
    ck_assert_int_eq(count_of(end.text, "warning"), 0);
    expect_parts(
        &end, (const char *[]){ " error jd_test() has waited ",
                                "; process 0 waits in first; process 1 is not "
                                "there (never started, ended, or gave up); "
                                "the deadline was",
                                NULL });
    helper_end(zero);
}
END_TEST

/* Process 2 waits too, but process 1 is the lower one. */
START_TEST(the_lowest_gives_notice)
{
    pid_t two = helper_start("jd-test:0", job, "PMI_RANK=2", NULL);
    pid_t one = helper_start("jd-test:1", job, "PMI_RANK=1", NULL);
    struct end end = watch_child(&two_steps, 600, 0.02, &cluster, 1);
    ck_assert_msg(strstr(end.text, " warning jd_test() has waited "), "%s",
                  end.text);
    helper_end(one);
    helper_end(two);
}
END_TEST

/* ---- standing still ----------------------------------------------------- */

/* Waits for a byte, works for a moment, and is done. */
static void work_on(int in, int out)
{
    struct jd_env *env = make_env();
    struct jd_watchdog *dog = start(&one_step, env, 0.5, -1);
    char byte = 0;
    if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
        _exit(2);
    usleep(200000);
    jd__watchdog_stop(dog);
    _exit(0);
}

/* It was stopped beyond its deadline, and is no later than before. */
START_TEST(time_that_it_is_stopped_does_not_count)
{
    int to[2], from[2], status;
    char byte = 0;
    ck_assert(pipe(to) == 0 && pipe(from) == 0);
    pid_t child = fork();
    if (child == 0)
        work_on(to[0], from[1]);
    ck_assert_int_eq(read(from[0], &byte, 1), 1);
    kill(child, SIGSTOP);
    ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
    usleep(2000000);
    ck_assert_int_eq(write(to[1], &byte, 1), 1);
    kill(child, SIGCONT);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

int main(int argc, char **argv)
{
    if (helper_is_wanted(argc, argv))
        return helper_main(argv[2]);
    Suite *suite = suite_create("watchdog");
    TCase *thread = unit_case(suite, "thread");
    tcase_add_checked_fixture(thread, name_job, NULL);
    tcase_set_timeout(thread, 30);
    tcase_add_test(thread, the_thread_comes_and_goes);
    tcase_add_test(thread, the_thread_sleeps);
    tcase_add_test(thread, the_thread_takes_no_signal);
    TCase *deadline = unit_case(suite, "deadline");
    tcase_add_checked_fixture(deadline, name_job, NULL);
    tcase_set_timeout(deadline, 30);
    tcase_add_test(deadline, the_end_says_why);
    tcase_add_test(deadline, one_step_has_no_number);
    tcase_add_test(deadline, a_step_that_waits_for_other_hosts_has_a_hint);
    tcase_add_test(deadline, notices_come_at_doubling_intervals);
    tcase_add_test(deadline, only_the_lowest_gives_notice);
    tcase_add_test(deadline, the_lowest_gives_notice);
    TCase *still = unit_case(suite, "standing still");
    tcase_add_checked_fixture(still, name_job, NULL);
    tcase_set_timeout(still, 30);
    tcase_add_test(still, time_that_it_is_stopped_does_not_count);
    return unit_main(suite);
}
