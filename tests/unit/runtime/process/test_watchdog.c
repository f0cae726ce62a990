/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_watchdog.c - a deadline over calls that have none: no trace where it
 * is kept, a sentence and exit code 1 where it is not.
 */
#include "runtime/process/watchdog.h"
#include "tests/unit/asked_clock.h"
#include "tests/unit/helper.h"
#include "tests/unit/threads.h"

#include <dirent.h>
#include <stdio.h>

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

enum { BEGIN = 10000 }; /* on the test's clock */

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

static struct jd_watchdog *start_on(const struct jd_clock *time,
                                    const struct jd_phases *phases,
                                    const struct jd_env *env, double timeout,
                                    double notice)
{
    struct jd_watchdog_spec spec = {
        .phases = phases,
        .timeout = timeout,
        .notice = notice,
        .variable = "JD_TEST_TIMEOUT",
        .env = env,
        .clock = time,
    };
    struct jd_watchdog *dog;
    UNIT_OK(jd__watchdog_start(&spec, &dog));
    return dog;
}

/* On the machine's clock. */
static struct jd_watchdog *start(const struct jd_phases *phases,
                                 const struct jd_env *env, double timeout,
                                 double notice)
{
    return start_on(NULL, phases, env, timeout, notice);
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

/* One that polls runs, also when it is looked at. */
START_TEST(the_thread_sleeps)
{
    struct jd_env *env = make_env();
    char text[4096] = "";
    struct jd_watchdog *dog = start(&two_steps, env, 300, 20);
    while (!strstr(text, "State:\tS"))
        read_other_thread("status", text, sizeof text);
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

/* On the test's clock the thread wakes when it wants to. */
static void expire(const struct jd_clock *time, const struct jd_phases *phases,
                   double timeout, double notice,
                   const struct jd_cluster *known)
{
    struct jd_env *env = make_env();
    asked_clock_start(BEGIN);
    struct jd_watchdog *dog = start_on(time, phases, env, timeout, notice);
    if (known)
        jd__watchdog_set_cluster(dog, known);
    jd__watchdog_step(dog, phases->num_steps - 1);
    write_unflushed();
    while (time)
        asked_clock_wake(asked_clock_next());
    for (;;)
        pause();
}

static struct end expire_on(const struct jd_clock *time,
                            const struct jd_phases *phases, double timeout,
                            double notice, const struct jd_cluster *known)
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
        expire(time, phases, timeout, notice, known);
    }
    close(out[1]);
    for (ssize_t n; (n = read(out[0], end.text + length,
                              sizeof end.text - 1 - length)) > 0;)
        length += (size_t)n;
    close(out[0]);
    ck_assert_int_eq(waitpid(child, &end.status, 0), child);
    return end;
}

static struct end expire_in_child(const struct jd_phases *phases,
                                  double timeout, double notice,
                                  const struct jd_cluster *known)
{
    return expire_on(&asked_clock, phases, timeout, notice, known);
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
    struct end end = expire_in_child(&two_steps, 300, -1, NULL);
    expect_parts(&end,
                 (const char *[]){
                     " error jd_test() has waited "
                     "300 s in second, its step 2 of 2; the other processes "
                     "cannot be seen from here; the deadline was 300 s "
                     "(JD_TEST_TIMEOUT changes it): this process ends "
                     "with exit code 1\n",
                     "on stdout", NULL });
    ck_assert_int_eq(unit_count_of(end.text, "warning"), 0);
}
END_TEST

START_TEST(one_step_has_no_number)
{
    struct end end = expire_in_child(&one_step, 300, -1, NULL);
    expect_parts(&end, (const char *[]){ " error jd_end() has waited 300 s; "
                                         "the other processes cannot be seen "
                                         "from here; the deadline was 300 s",
                                         NULL });
}
END_TEST

START_TEST(it_ends_by_the_clock_of_the_machine)
{
    struct end end = expire_on(NULL, &one_step, 0.01, -1, NULL);
    expect_parts(&end, (const char *[]){ " error jd_end() has waited ",
                                         "; the deadline was 0.01 s", NULL });
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
    struct end end = expire_in_child(&hinted, 300, -1, &apart);
    expect_parts(&end, (const char *[]){ "its step 2 of 2; ",
                                         "; try the other network; "
                                         "the deadline was 300 s",
                                         NULL });
    end = expire_in_child(&hinted, 300, -1, &cluster);
    ck_assert_int_eq(unit_count_of(end.text, "network"), 0);
    end = expire_in_child(&hinted, 300, -1, NULL);
    ck_assert_int_eq(unit_count_of(end.text, "network"), 1);
}
END_TEST

START_TEST(notices_come_at_doubling_intervals)
{
    struct end end = expire_in_child(&one_step, 600, 20, NULL);
    const char *line = end.text;
    for (int waited = 20; waited < 600; waited *= 2) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, " warning jd_end() has waited %d s; ",
                 waited);
        line = strstr(line, wanted);
        ck_assert_msg(line != NULL, "no \"%s\" in: %s", wanted, end.text);
        line = strstr(line, "; it gives up after 600 s (JD_TEST_TIMEOUT)\n");
        ck_assert_msg(line != NULL, "%s", end.text);
    }
    ck_assert_int_eq(unit_count_of(end.text, "warning"), 5);
}
END_TEST

/* Process 0 waits too, so process 1 leaves the notices to it. */
START_TEST(only_the_lowest_gives_notice)
{
    pid_t zero = helper_start("jd-test:0", job, "PMI_RANK=0", NULL);
    struct end end = expire_in_child(&two_steps, 300, 20, &cluster);
    ck_assert_int_eq(unit_count_of(end.text, "warning"), 0);
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
    struct end end = expire_in_child(&two_steps, 300, 200, &cluster);
    expect_parts(&end,
                 (const char *[]){ " warning jd_test() has waited 200 s",
                                   " error jd_test() has waited 300 s", NULL });
    helper_end(one);
    helper_end(two);
}
END_TEST

/* ---- the moments -------------------------------------------------------- */

/* Time since the beginning. */
static void wake_after(double seconds)
{
    asked_clock_wake(BEGIN + seconds);
}

static void expect_next(double seconds)
{
    ck_assert_double_eq(asked_clock_next(), BEGIN + seconds);
}

static void stop_asleep(struct jd_watchdog *dog, struct jd_env *env)
{
    asked_clock_leave();
    jd__watchdog_stop(dog);
    jd__env_destroy(env);
}

/* For a notice, for a look at the others, and for the end. */
START_TEST(it_sleeps_until_there_is_something_to_do)
{
    struct jd_env *env = make_env();
    asked_clock_start(BEGIN);
    struct jd_watchdog *dog = start_on(&asked_clock, &one_step, env, 300, 200);
    expect_next(200);
    wake_after(199); /* too early: by chance, or for another step */
    expect_next(200);
    wake_after(200);
    expect_next(299);
    wake_after(299);
    expect_next(300);
    stop_asleep(dog, env);
}
END_TEST

/* It was stopped beyond its deadline, and is no later than before; the others
 * have a moment to say why. */
START_TEST(time_that_it_is_stopped_does_not_count)
{
    struct jd_env *env = make_env();
    asked_clock_start(BEGIN);
    struct jd_watchdog *dog = start_on(&asked_clock, &one_step, env, 300, -1);
    expect_next(299);
    wake_after(299 + 3600);
    expect_next(299 + 3600 + 1);
    wake_after(299 + 3600 + 1);
    expect_next(300 + 3600 + 1);
    wake_after(300 + 3600 + 1 + 50);
    expect_next(300 + 3600 + 1 + 50 + 1);
    stop_asleep(dog, env);
}
END_TEST

/* Who is a little late was not stopped. */
START_TEST(a_little_late_is_late)
{
    struct jd_env *env = make_env();
    asked_clock_start(BEGIN);
    struct jd_watchdog *dog = start_on(&asked_clock, &one_step, env, 300, -1);
    expect_next(299);
    wake_after(299.75);
    expect_next(300);
    stop_asleep(dog, env);
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
    tcase_add_test(deadline, it_ends_by_the_clock_of_the_machine);
    tcase_add_test(deadline, a_step_that_waits_for_other_hosts_has_a_hint);
    tcase_add_test(deadline, notices_come_at_doubling_intervals);
    tcase_add_test(deadline, only_the_lowest_gives_notice);
    tcase_add_test(deadline, the_lowest_gives_notice);
    TCase *moments = unit_case(suite, "moments");
    tcase_add_checked_fixture(moments, name_job, NULL);
    tcase_set_timeout(moments, 30);
    tcase_add_test(moments, it_sleeps_until_there_is_something_to_do);
    tcase_add_test(moments, time_that_it_is_stopped_does_not_count);
    tcase_add_test(moments, a_little_late_is_late);
    return unit_main(suite);
}
