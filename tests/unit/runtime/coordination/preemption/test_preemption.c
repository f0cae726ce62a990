/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_preemption.c - the preemption signal: its names, its handler, a world
 * of one, and the callback.
 */
#include "base/clock.h"
#include "runtime/coordination/preemption/preemption_signal.h"
#include "tests/unit/preemption.h"

#include <errno.h>

static void start_alone(void)
{
    client.loop = NULL;
    UNIT_OK(jd__preemption_start(&client, "TERM", &set_clock));
}

/* ---- names -------------------------------------------------------------- */

static const struct {
    const char *text;
    int number;
} good_names[] = {
    { "TERM", SIGTERM },    { "SIGTERM", SIGTERM }, { "15", SIGTERM },
    { "USR1", SIGUSR1 },    { "SIGUSR2", SIGUSR2 }, { "usr1", SIGUSR1 },
    { "INT", SIGINT },      { "HUP", SIGHUP },      { "QUIT", SIGQUIT },
    { "SIGXCPU", SIGXCPU }, { "PWR", SIGPWR },      { "10", SIGUSR1 },
};

static const char *const bad_names[] = {
    "KILL", "9",     "STOP",  "SIGSTOP", "CHLD", "SEGV", "SIGSEGV",    "11",
    "CONT", "TSTP",  "PIPE",  "ALRM",    "",     "SIG",  "SIGSIGTERM", "0",
    "-15",  "15000", "TERM ", " TERM",   "1e1",  "015",  "TERMINATE",
};

START_TEST(names_are_read)
{
    int number = 0;
    UNIT_OK(jd__preemption_signal_parse(good_names[_i].text, &number));
    ck_assert_int_eq(number, good_names[_i].number);
    ck_assert_str_eq(jd__preemption_signal_name(SIGUSR1), "SIGUSR1");
}
END_TEST

START_TEST(other_names_are_refused)
{
    char text[300];
    int number = -1;
    snprintf(text, sizeof text,
             "JD_PREEMPTION_SIGNAL is \"%s\", but it must be one of TERM, INT, "
             "HUP, QUIT, USR1, USR2, XCPU and PWR, by name (TERM, SIGTERM) or "
             "by number (15); correct it or leave it out",
             bad_names[_i]);
    UNIT_FAILS(jd__preemption_signal_parse(bad_names[_i], &number),
               JD_INVALID_ARGUMENT, text);
    ck_assert_int_eq(number, -1);
    UNIT_FAILS(jd__preemption_start(&client, bad_names[_i], NULL),
               JD_INVALID_ARGUMENT, text);
}
END_TEST

/* ---- the handler -------------------------------------------------------- */

START_TEST(the_start_installs_nothing)
{
    start_alone();
    ck_assert(!is_installed(SIGTERM));
    UNIT_OK(jd_acknowledge_preemption());
    ck_assert(!is_installed(SIGTERM));
    expect_killed(send_signal);
    stop();
}
END_TEST

START_TEST(the_first_poll_installs)
{
    start_alone();
    ck_assert(!jd__preemption_poll(1));
    ck_assert(is_installed(SIGTERM));
    ck_assert(current_action(SIGTERM).sa_flags & SA_RESTART);
    stop();
}
END_TEST

static void ignore_call(void *arg)
{
    (void)arg;
}

START_TEST(a_callback_installs)
{
    start_alone();
    UNIT_OK(jd_on_preemption(NULL, NULL));
    ck_assert(!is_installed(SIGTERM));
    UNIT_OK(jd_on_preemption(ignore_call, NULL));
    ck_assert(is_installed(SIGTERM));
    stop();
}
END_TEST

START_TEST(another_signal_is_another)
{
    client.loop = NULL;
    UNIT_OK(jd__preemption_start(&client, "USR1", NULL));
    ck_assert(!jd__preemption_poll(1));
    ck_assert(is_installed(SIGUSR1));
    ck_assert(!is_installed(SIGTERM));
    kill(getpid(), SIGUSR1);
    ck_assert(jd__preemption_poll(2));
    stop();
}
END_TEST

static atomic_int calls;
static atomic_int sender;

static void count_call(int number)
{
    atomic_fetch_add(&calls, number == SIGTERM);
}

static void count_info(int number, siginfo_t *info, void *context)
{
    atomic_store(&sender, info->si_pid);
    atomic_fetch_add(&calls, number == SIGTERM && context);
    errno = ENOENT;
}

START_TEST(the_previous_handler_runs_too)
{
    signal(SIGTERM, count_call);
    start_alone();
    ck_assert(!jd__preemption_poll(1));
    send_signal();
    ck_assert_int_eq(atomic_load(&calls), 1);
    ck_assert(jd__preemption_poll(2));
    stop();
}
END_TEST

START_TEST(the_previous_handler_gets_its_arguments)
{
    struct sigaction action = { .sa_flags = SA_SIGINFO };
    action.sa_sigaction = count_info;
    sigaction(SIGTERM, &action, NULL);
    start_alone();
    ck_assert(!jd__preemption_poll(1));
    errno = EBADF;
    send_signal();
    ck_assert_int_eq(errno, EBADF);
    ck_assert_int_eq(atomic_load(&calls), 1);
    ck_assert_int_eq(atomic_load(&sender), getpid());
    stop();
}
END_TEST

START_TEST(without_a_world_it_is_passed_on)
{
    signal(SIGTERM, count_call);
    start_alone();
    ck_assert(!jd__preemption_poll(1));
    stop();
    send_signal();
    send_signal();
    ck_assert_int_eq(atomic_load(&calls), 2);
}
END_TEST

START_TEST(without_a_world_the_default_ends_it)
{
    start_alone();
    ck_assert(!jd__preemption_poll(1));
    stop();
    expect_killed(send_signal);
    start_alone(); /* nothing is polled in this one */
    expect_killed(send_signal);
    stop();
}
END_TEST

static void die_without_a_world(void)
{
    start_alone();
    jd__preemption_poll(1);
    stop();
    send_signal();
}

START_TEST(without_a_world_the_handler_restores_the_default)
{
    expect_killed(die_without_a_world);
    signal(SIGTERM, SIG_IGN);
    expect_exited(die_without_a_world);
}
END_TEST

START_TEST(an_ignored_signal_is_heard)
{
    signal(SIGTERM, SIG_IGN);
    start_alone();
    ck_assert(!jd__preemption_poll(1));
    send_signal();
    ck_assert(jd__preemption_poll(2));
    stop();
}
END_TEST

static void be_signalled_twice(void)
{
    start_alone();
    jd__preemption_poll(1);
    send_signal();
    jd__preemption_poll(2);
    for (double begin = jd__clock_now(); jd__clock_now() < begin + 1.1;)
        sched_yield();
    send_signal();
}

/* As timeout(1) does it. */
static void be_signalled_twice_at_once(void)
{
    start_alone();
    jd__preemption_poll(1);
    send_signal();
    send_signal();
    if (!jd__preemption_poll(2))
        _exit(1);
}

/* Where a second has passed between them, the second one is no copy. */
static void expect_copy(void (*function)(void))
{
    double begin = jd__clock_now();
    int status = run_in_child(function);
    bool is_slow = jd__clock_now() - begin >= 1;
    bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
    ck_assert_msg(status == 0 || (is_slow && is_killed), "status %d", status);
}

static void acknowledge_between(void)
{
    start_alone();
    jd__preemption_poll(1);
    for (int i = 2; i < 20; i++) {
        send_signal();
        if (!jd__preemption_poll(i) || jd_acknowledge_preemption() != JD_OK)
            _exit(1);
    }
}

START_TEST(a_second_signal_ends_the_process)
{
    expect_killed(be_signalled_twice);
    expect_copy(be_signalled_twice_at_once);
    expect_exited(acknowledge_between);
}
END_TEST

START_TEST(a_handler_on_top_stays)
{
    start_alone();
    ck_assert(!jd__preemption_poll(1));
    stop();
    signal(SIGTERM, count_call); /* may call what was there, and does not */
    start_alone();
    ck_assert(!jd__preemption_poll(1));
    ck_assert(!is_installed(SIGTERM));
    stop();
    signal(SIGTERM, SIG_DFL);
    start_alone();
    ck_assert(!jd__preemption_poll(1));
    ck_assert(is_installed(SIGTERM));
    send_signal();
    ck_assert(jd__preemption_poll(2));
    stop();
}
END_TEST

/* ---- a world of one ----------------------------------------------------- */

START_TEST(alone_the_next_poll_is_true)
{
    start_alone();
    for (int i = 0; i < 5; i++)
        ck_assert(!jd__preemption_poll(i));
    send_signal();
    ck_assert(jd__preemption_poll(5));
    ck_assert(jd__preemption_poll(6));
    ck_assert(jd__preemption_poll(5));
    ck_assert(!jd__preemption_poll(4));
    UNIT_OK(jd_acknowledge_preemption());
    ck_assert(!jd__preemption_poll(7));
    send_signal();
    ck_assert(jd__preemption_poll(8));
    stop();
    ck_assert_int_eq(told.preempted + told.steps + told.acknowledged, 0);
}
END_TEST

START_TEST(alone_steps_may_leave_gaps)
{
    start_alone();
    ck_assert(!jd__preemption_poll(100));
    send_signal();
    ck_assert(jd__preemption_poll(200));
    UNIT_OK(jd_acknowledge_preemption());
    ck_assert(!jd__preemption_poll(INT64_MAX));
    send_signal();
    ck_assert(jd__preemption_poll(INT64_MAX));
    stop();
}
END_TEST

START_TEST(alone_each_world_begins_anew)
{
    start_alone();
    ck_assert(!jd__preemption_poll(100));
    send_signal();
    stop();
    start_alone();
    for (int i = 0; i < 5; i++)
        ck_assert(!jd_reached_preemption_sync_point(i));
    send_signal();
    ck_assert(jd_reached_preemption_sync_point(5));
    stop();
}
END_TEST

START_TEST(without_a_runtime_polls_are_false)
{
    char text[500];
    int old;
    FILE *file = catch_stderr(&old);
    ck_assert(!jd_reached_preemption_sync_point(1));
    ck_assert(!jd_reached_preemption_sync_point(2));
    release_stderr(file, old, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(
        text, " warning jd_reached_preemption_sync_point: no runtime\n"));
    ck_assert_ptr_eq(strchr(text, '\n'), strrchr(text, '\n')); /* once */
    ck_assert(!is_installed(SIGTERM));
    UNIT_FAILS(jd_on_preemption(ignore_call, NULL), JD_FAILED_PRECONDITION,
               "jd_on_preemption: no runtime");
    UNIT_FAILS(jd_acknowledge_preemption(), JD_FAILED_PRECONDITION,
               "jd_acknowledge_preemption: no runtime");
    jd__preemption_stop();
}
END_TEST

/* ---- the callback ------------------------------------------------------- */

static void visit_long(void *arg)
{
    struct visit *v = arg;
    sem_post(&v->called);
    while (sem_wait(&v->go_on) != 0)
        ;
    atomic_fetch_add(&v->count, 1);
}

START_TEST(alone_the_callback_runs_on_a_thread_of_its_own)
{
    struct visit v;
    visit_init(&v);
    start_alone();
    UNIT_OK(jd_on_preemption(visit, &v));
    send_signal();
    wait_for(&v.called);
    ck_assert(!pthread_equal(v.thread, pthread_self()));
    ck_assert(!sigismember(&v.mask, SIGTERM));
    ck_assert(jd__preemption_poll(1));
    UNIT_OK(jd_acknowledge_preemption());
    send_signal();
    wait_for(&v.called);
    stop();
    ck_assert_int_eq(atomic_load(&v.count), 2);
}
END_TEST

START_TEST(a_callback_that_comes_late_runs)
{
    struct visit v;
    visit_init(&v);
    start_alone();
    ck_assert(!jd__preemption_poll(1));
    send_signal();
    UNIT_OK(jd_on_preemption(visit, &v));
    wait_for(&v.called);
    UNIT_OK(jd_on_preemption(NULL, NULL));
    UNIT_OK(jd_on_preemption(visit, &v)); /* but once in each round */
    stop();
    ck_assert_int_eq(atomic_load(&v.count), 1);
}
END_TEST

/* The thread is there, and has slept over the signal. */
START_TEST(a_callback_that_comes_back_runs)
{
    struct visit v;
    visit_init(&v);
    start_alone();
    for (int i = 1; i <= 100; i++) {
        UNIT_OK(jd_on_preemption(visit, &v));
        UNIT_OK(jd_on_preemption(NULL, NULL));
        send_signal();
        sched_yield();
        UNIT_OK(jd_on_preemption(visit, &v));
        wait_for(&v.called);
        ck_assert_int_eq(atomic_load(&v.count), i);
        UNIT_OK(jd_acknowledge_preemption());
    }
    stop();
}
END_TEST

START_TEST(a_callback_that_is_taken_back_does_not_run)
{
    struct visit v;
    visit_init(&v);
    start_alone();
    for (int i = 0; i < 200; i++) {
        UNIT_OK(jd_on_preemption(visit, &v));
        UNIT_OK(jd_on_preemption(NULL, NULL));
        send_signal();
        UNIT_OK(jd_acknowledge_preemption());
        UNIT_OK(jd_on_preemption(visit, &v)); /* that round is over */
        sched_yield();
    }
    stop();
    ck_assert_int_eq(atomic_load(&v.count), 0);
}
END_TEST

static void *stop_thread(void *arg)
{
    stop();
    return arg;
}

static void visit_and_acknowledge(void *arg)
{
    visit_long(arg);
    jd_acknowledge_preemption();
}

START_TEST(the_stop_waits_for_a_callback)
{
    struct visit v;
    pthread_t stopper;
    char text[1000];
    int old;
    visit_init(&v);
    start_alone();
    UNIT_OK(jd_on_preemption(visit_and_acknowledge, &v));
    send_signal();
    wait_for(&v.called);
    FILE *file = catch_stderr(&old);
    pthread_create(&stopper, NULL, stop_thread, NULL);
    for (int i = 0; i < 50; i++) /* so that it most likely waits */
        sched_yield();
    sem_post(&v.go_on);
    pthread_join(stopper, NULL);
    release_stderr(file, old, text, sizeof text);
    ck_assert_str_eq(text, ""); /* the callback is not locked out meanwhile */
    ck_assert_int_eq(atomic_load(&v.count), 1);
}
END_TEST

static void stop_inside(void *arg)
{
    struct visit *v = arg;
    stop();
    sem_post(&v->called);
}

START_TEST(a_callback_may_end_jd)
{
    struct visit v;
    visit_init(&v);
    start_alone();
    UNIT_OK(jd_on_preemption(stop_inside, &v));
    send_signal();
    wait_for(&v.called);
    start_alone();
    UNIT_OK(jd_on_preemption(visit, &v));
    send_signal();
    wait_for(&v.called);
    stop();
    ck_assert_int_eq(atomic_load(&v.count), 1);
}
END_TEST

START_TEST(a_callback_that_hangs_is_left_to_itself)
{
    static struct visit v; /* outlives this function */
    char text[1000];
    int old;
    visit_init(&v);
    start_alone();
    UNIT_OK(jd_on_preemption(visit_long, &v));
    send_signal();
    wait_for(&v.called);
    FILE *file = catch_stderr(&old);
    pthread_t passing = set_clock_pass(&longest_wait);
    stop();
    pthread_join(passing, NULL);
    release_stderr(file, old, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(
        text, " warning the callback of jd_on_preemption has not returned "
              "within 30 s after the end of jd began; it is left to itself\n"));
    ck_assert_int_eq(count_threads(), 1);
    sem_post(&v.go_on);
    await_no_thread();
}
END_TEST

/* ---- the suite ---------------------------------------------------------- */

static void add_handler(Suite *suite)
{
    TCase *handler = unit_case(suite, "handler");
    tcase_add_checked_fixture(handler, take_default, NULL);
    tcase_add_test(handler, the_start_installs_nothing);
    tcase_add_test(handler, the_first_poll_installs);
    tcase_add_test(handler, a_callback_installs);
    tcase_add_test(handler, another_signal_is_another);
    tcase_add_test(handler, the_previous_handler_runs_too);
    tcase_add_test(handler, the_previous_handler_gets_its_arguments);
    tcase_add_test(handler, without_a_world_it_is_passed_on);
    tcase_add_test(handler, without_a_world_the_default_ends_it);
    tcase_add_test(handler, without_a_world_the_handler_restores_the_default);
    tcase_add_test(handler, an_ignored_signal_is_heard);
    tcase_add_test(handler, a_second_signal_ends_the_process);
    tcase_add_test(handler, a_handler_on_top_stays);
}

static void add_alone(Suite *suite)
{
    TCase *alone = unit_case(suite, "alone");
    tcase_add_checked_fixture(alone, take_default, NULL);
    tcase_set_timeout(alone, 30);
    tcase_add_test(alone, alone_the_next_poll_is_true);
    tcase_add_test(alone, alone_steps_may_leave_gaps);
    tcase_add_test(alone, alone_each_world_begins_anew);
    tcase_add_test(alone, without_a_runtime_polls_are_false);
    tcase_add_test(alone, alone_the_callback_runs_on_a_thread_of_its_own);
    tcase_add_test(alone, a_callback_that_comes_late_runs);
    tcase_add_test(alone, a_callback_that_comes_back_runs);
    tcase_add_test(alone, a_callback_that_is_taken_back_does_not_run);
    tcase_add_test(alone, the_stop_waits_for_a_callback);
    tcase_add_test(alone, a_callback_may_end_jd);
    tcase_add_test(alone, a_callback_that_hangs_is_left_to_itself);
}

int main(void)
{
    Suite *suite = suite_create("preemption");
    TCase *names = unit_case(suite, "names");
    tcase_add_loop_test(names, names_are_read, 0,
                        sizeof good_names / sizeof *good_names);
    tcase_add_loop_test(names, other_names_are_refused, 0,
                        sizeof bad_names / sizeof *bad_names);
    add_handler(suite);
    add_alone(suite);
    return unit_main(suite);
}
