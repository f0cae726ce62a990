/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_preemption_rounds.c - a process's part in the rounds of a world of
 * several, which the test, as the service, begins and decides.
 */
#include "tests/unit/preemption.h"

#include <dirent.h>
#include <sched.h>
#include <sys/syscall.h>

/* ---- the world ---------------------------------------------------------- */

static void start_several(void)
{
    UNIT_OK(jd__loop_create("jd-test", &client.loop));
    UNIT_OK(jd__loop_start(client.loop));
    UNIT_OK(jd__preemption_start(&client, "TERM", &set_clock));
}

/* Until the count has come so far; Check's timeout ends it. */
static int await_at_least(const int *count, int wanted)
{
    pthread_mutex_lock(&told.lock);
    while (*count < wanted)
        pthread_cond_wait(&told.changed, &told.lock);
    int reached = *count;
    pthread_mutex_unlock(&told.lock);
    return reached;
}

static void await(const int *count, int wanted)
{
    ck_assert_int_eq(await_at_least(count, wanted), wanted);
}

static void set_offline(bool is_offline)
{
    pthread_mutex_lock(&told.lock);
    told.is_offline = is_offline;
    pthread_mutex_unlock(&told.lock);
}

static void run_notice(void *arg)
{
    jd__preemption_on_notice(arg);
}

static void run_decision(void *arg)
{
    jd__preemption_on_decision(arg);
}

static void give_notice(uint64_t round)
{
    Jd__Preemption notice = JD__PREEMPTION__INIT;
    notice.round = round;
    notice.process = 3;
    jd__loop_run(client.loop, run_notice, &notice);
}

static void decide(uint64_t round, int64_t step)
{
    Jd__Decision decision = JD__DECISION__INIT;
    decision.round = round;
    decision.step = step;
    jd__loop_run(client.loop, run_decision, &decision);
}

static void flush_loop(void)
{
    jd__loop_catch_up(client.loop);
}

/* ---- several: the signal ------------------------------------------------ */

START_TEST(the_signal_is_announced)
{
    start_several();
    ck_assert(!jd__preemption_poll(1));
    send_signal();
    await(&told.preempted, 1);
    ck_assert(!jd__preemption_poll(2)); /* nobody has said anything yet */
    stop();
    ck_assert_int_eq(told.preempted, 1);
}
END_TEST

START_TEST(the_signal_waits_for_a_connection)
{
    start_several();
    ck_assert(!jd__preemption_poll(1));
    set_offline(true);
    send_signal();
    await_at_least(&told.refused, 1); /* it is tried every 0.1 s */
    set_offline(false);
    await(&told.preempted, 1);
    stop();
    ck_assert_int_eq(told.preempted, 1);
}
END_TEST

START_TEST(after_a_failure_it_is_no_preemption)
{
    start_several();
    ck_assert(!jd__preemption_poll(1));
    atomic_store(&has_failed, true);
    send_signal();
    flush_loop();
    atomic_store(&has_failed, false);
    flush_loop();
    stop();
    ck_assert_int_eq(told.preempted, 0);
}
END_TEST

/* Calls the handler itself: ThreadSanitizer delivers no signal to a forked
 * child of several threads. */
static void be_signalled_in_child(void)
{
    siginfo_t info = { .si_signo = SIGTERM };
    current_action(SIGTERM).sa_sigaction(SIGTERM, &info, NULL);
}

START_TEST(a_forked_child_is_not_the_job)
{
    start_several();
    ck_assert(!jd__preemption_poll(1));
    expect_killed(be_signalled_in_child);
    flush_loop();
    stop();
    ck_assert_int_eq(told.preempted, 0);
}
END_TEST

static void use_in_child(void)
{
    if (jd__preemption_poll(2))
        _exit(1);
    jd__preemption_stop();
}

/* Nor does it wait for threads that it has not. */
START_TEST(a_forked_child_can_poll_and_stop)
{
    struct visit v;
    char text[500];
    int old;
    visit_init(&v);
    start_several();
    FILE *file = catch_stderr(&old);
    expect_exited(use_in_child); /* would make events */
    UNIT_OK(jd_on_preemption(visit, &v));
    expect_exited(use_in_child); /* would end the callback's thread */
    give_notice(1);
    expect_exited(use_in_child); /* would wait for the decision */
    release_stderr(file, old, text, sizeof text);
    ck_assert_str_eq(text, "");
    stop();
}
END_TEST

static sem_t is_held, hold;

static void hold_loop(void *arg)
{
    (void)arg;
    sem_post(&is_held);
    wait_for(&hold);
}

static void *let_go(void *arg)
{
    for (int i = 0; i < 100; i++)
        sched_yield();
    sem_post(&hold);
    return arg;
}

/* The loop has no time for it before the end. */
START_TEST(a_signal_of_the_last_world_is_not_announced)
{
    pthread_t thread;
    sem_init(&is_held, 0, 0);
    sem_init(&hold, 0, 0);
    start_several();
    ck_assert(!jd__preemption_poll(1));
    set_offline(true);
    jd__loop_call(client.loop, hold_loop, NULL);
    wait_for(&is_held);
    send_signal();
    pthread_create(&thread, NULL, let_go, NULL);
    stop();
    pthread_join(thread, NULL);
    set_offline(false);
    start_several();
    ck_assert(!jd__preemption_poll(1));
    flush_loop();
    ck_assert_int_eq(told.preempted, 0);
    send_signal(); /* but its own is */
    await(&told.preempted, 1);
    stop();
}
END_TEST

/* ---- several: rounds ---------------------------------------------------- */

START_TEST(a_round_from_notice_to_acknowledgement)
{
    start_several();
    ck_assert(!jd__preemption_poll(10));
    give_notice(1);
    ck_assert_int_eq(told.steps, 1);
    ck_assert_int_eq(told.round, 1);
    ck_assert_int_eq(told.step, 10);
    decide(1, 13);
    ck_assert(!jd__preemption_poll(11));
    ck_assert(!jd__preemption_poll(12));
    ck_assert(jd__preemption_poll(13));
    ck_assert(jd__preemption_poll(14));
    ck_assert_int_eq(told.acknowledged, 0);
    UNIT_OK(jd_acknowledge_preemption());
    ck_assert_int_eq(told.acknowledged, 1);
    ck_assert_int_eq(told.round, 1);
    ck_assert(!jd__preemption_poll(15));
    stop();
}
END_TEST

START_TEST(it_can_be_armed_again)
{
    start_several();
    for (int64_t round = 1, step = 0; round < 10; round++) {
        ck_assert(!jd__preemption_poll(++step));
        send_signal();
        await(&told.preempted, (int)round);
        give_notice((uint64_t)round);
        ck_assert_int_eq(told.step, step);
        decide((uint64_t)round, step + 1);
        ck_assert(jd__preemption_poll(++step));
        UNIT_OK(jd_acknowledge_preemption());
        ck_assert_int_eq(told.acknowledged, round);
    }
    UNIT_OK(jd_acknowledge_preemption()); /* of nothing: nothing is said */
    ck_assert_int_eq(told.acknowledged, 9);
    stop();
}
END_TEST

/* Launchers reach hosts at different times: the round may be over. */
START_TEST(a_late_signal_of_the_same_preemption_is_none)
{
    start_several();
    ck_assert(!jd__preemption_poll(1));
    give_notice(1);
    decide(1, 2);
    ck_assert(jd__preemption_poll(2));
    UNIT_OK(jd_acknowledge_preemption());
    send_signal();
    flush_loop();
    ck_assert_int_eq(told.preempted, 0);
    ck_assert(!jd__preemption_poll(3));
    send_signal(); /* but the next is another */
    await(&told.preempted, 1);
    stop();
}
END_TEST

START_TEST(a_late_signal_after_the_end_does_no_harm)
{
    start_several();
    ck_assert(!jd__preemption_poll(1));
    give_notice(1);
    decide(1, 2);
    ck_assert(jd__preemption_poll(2));
    stop();
    send_signal();
}
END_TEST

START_TEST(a_process_that_has_not_polled)
{
    start_several();
    ck_assert(!jd__preemption_poll(100)); /* in another world */
    stop();
    start_several();
    give_notice(1);
    ck_assert_int_eq(told.step, -1);
    decide(1, 0);
    ck_assert(jd__preemption_poll(0));
    ck_assert(is_installed(SIGTERM));
    stop();
}
END_TEST

START_TEST(a_step_that_is_passed_counts)
{
    start_several();
    ck_assert(!jd__preemption_poll(10));
    give_notice(1);
    decide(1, 11);
    ck_assert(jd__preemption_poll(1000));
    stop();
}
END_TEST

START_TEST(a_notice_that_comes_again_is_answered_alike)
{
    start_several();
    ck_assert(!jd__preemption_poll(10));
    give_notice(1);
    give_notice(1);
    ck_assert_int_eq(told.steps, 2);
    ck_assert_int_eq(told.step, 10);
    decide(1, 11);
    give_notice(1);
    ck_assert(jd__preemption_poll(11));
    UNIT_OK(jd_acknowledge_preemption());
    give_notice(1);
    ck_assert(!jd__preemption_poll(12));
    ck_assert_int_eq(told.steps, 2);
    stop();
}
END_TEST

START_TEST(another_rounds_decision_is_none)
{
    start_several();
    ck_assert(!jd__preemption_poll(10));
    decide(1, 5);
    ck_assert(!jd__preemption_poll(11));
    give_notice(2);
    decide(1, 5);
    decide(2, 13);
    decide(2, 5);
    ck_assert(!jd__preemption_poll(12));
    ck_assert(jd__preemption_poll(13));
    stop();
}
END_TEST

START_TEST(an_acknowledgement_that_cannot_be_sent)
{
    start_several();
    ck_assert(!jd__preemption_poll(10));
    give_notice(1);
    decide(1, 11);
    set_offline(true);
    UNIT_FAILS(jd_acknowledge_preemption(), JD_UNAVAILABLE,
               "jd_acknowledge_preemption: there is no connection to process 0 "
               "at present; call it again");
    ck_assert(jd__preemption_poll(11));
    set_offline(false);
    UNIT_OK(jd_acknowledge_preemption());
    ck_assert(!jd__preemption_poll(12));
    ck_assert_int_eq(told.acknowledged, 1);
    stop();
}
END_TEST

START_TEST(a_notice_after_the_end_is_nothing)
{
    struct visit v;
    char text[500];
    int old;
    visit_init(&v);
    start_several();
    ck_assert(!jd__preemption_poll(10));
    jd__preemption_stop();
    give_notice(1);
    FILE *file = catch_stderr(&old);
    ck_assert(!jd__preemption_poll(11)); /* nor does a poll wait */
    release_stderr(file, old, text, sizeof text);
    ck_assert_ptr_null(strstr(text, "has waited"));
    decide(1, 11);
    ck_assert_int_eq(told.steps, 0);
    UNIT_OK(jd__preemption_start(&client, "TERM", &set_clock));
    UNIT_OK(jd_on_preemption(visit, &v));
    ck_assert(!jd__preemption_poll(20));
    stop();
    ck_assert_int_eq(atomic_load(&v.count), 0);
}
END_TEST

START_TEST(the_callback_runs_once_a_round)
{
    struct visit v;
    visit_init(&v);
    start_several();
    UNIT_OK(jd_on_preemption(visit, &v));
    for (uint64_t round = 1; round < 4; round++) {
        give_notice(round);
        wait_for(&v.called);
        give_notice(round);
        decide(round, 5);
        UNIT_OK(jd_acknowledge_preemption());
    }
    stop();
    ck_assert_int_eq(atomic_load(&v.count), 3);
}
END_TEST

/* ---- several: polls that wait ------------------------------------------- */

/* A thread that polls one step. */
static struct {
    pthread_t thread;
    atomic_int tid;
    int64_t step;
    atomic_bool may_return;
    bool was_early, result;
} poller;

static void *poll_once(void *arg)
{
    atomic_store(&poller.tid, (int)syscall(SYS_gettid));
    poller.result = jd__preemption_poll(poller.step);
    poller.was_early = !atomic_load(&poller.may_return);
    return arg;
}

static char thread_state(int tid)
{
    char path[64], text[300];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 'X'; /* it has ended */
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *end = strrchr(text, ')');
    return end ? end[2] : 'X';
}

/* Until the poll sleeps, or has returned. */
static void start_poller(int64_t step)
{
    poller.step = step;
    atomic_store(&poller.tid, 0);
    atomic_store(&poller.may_return, false);
    ck_assert_int_eq(pthread_create(&poller.thread, NULL, poll_once, NULL), 0);
    while (atomic_load(&poller.tid) == 0)
        sched_yield();
    for (char c = 'R'; c != 'S' && c != 'X'; c = thread_state(poller.tid))
        sched_yield();
}

static void let_poller_return(void)
{
    atomic_store(&poller.may_return, true);
}

static bool join_poller(void)
{
    pthread_join(poller.thread, NULL);
    ck_assert(!poller.was_early);
    return poller.result;
}

START_TEST(a_poll_waits_for_the_decision)
{
    start_several();
    ck_assert(!jd__preemption_poll(10));
    give_notice(1);
    start_poller(11);
    let_poller_return();
    decide(1, 11);
    ck_assert(join_poller());
    UNIT_OK(jd_acknowledge_preemption());
    give_notice(2);
    start_poller(12);
    let_poller_return();
    decide(2, 13);
    ck_assert(!join_poller());
    stop();
}
END_TEST

START_TEST(a_poll_waits_for_so_long)
{
    char text[2000];
    int old;
    start_several();
    ck_assert(!jd__preemption_poll(10));
    give_notice(1);
    FILE *file = catch_stderr(&old);
    pthread_t passing = set_clock_pass(&longest_wait);
    ck_assert(!jd__preemption_poll(11));
    pthread_join(passing, NULL);
    ck_assert(!jd__preemption_poll(12)); /* no time passes */
    release_stderr(file, old, text, sizeof text);
    const char *said = strstr(
        text,
        " warning jd_reached_preemption_sync_point(11) has waited 30 s for "
        "process 0 to say at which step all stop (process 3 has received "
        "SIGTERM); it goes on, and may stop at another step than the "
        "others\n");
    ck_assert_ptr_nonnull(said);
    ck_assert_ptr_null(strstr(said + 2, "warning"));
    decide(1, 13); /* late, but not lost */
    ck_assert(jd__preemption_poll(13));
    stop();
}
END_TEST

static void expect_quiet_return(void (*function)(void))
{
    char text[500];
    int old;
    start_several();
    ck_assert(!jd__preemption_poll(10));
    give_notice(1);
    FILE *file = catch_stderr(&old);
    start_poller(11);
    let_poller_return();
    function();
    ck_assert(!join_poller());
    release_stderr(file, old, text, sizeof text);
    ck_assert_str_eq(text, ""); /* it has not waited to the end */
}

/* The failure may come a moment before the end begins. */
static void fail_now(void)
{
    jd__preemption_on_failure();
}

static void fail_later(void)
{
    atomic_store(&has_failed, true);
    give_notice(2);
}

START_TEST(a_failure_ends_the_wait)
{
    char text[500];
    int old;
    expect_quiet_return(fail_now);
    FILE *file = catch_stderr(&old);
    fail_later();
    ck_assert(!jd__preemption_poll(12)); /* nor is there another */
    release_stderr(file, old, text, sizeof text);
    ck_assert_str_eq(text, "");
    stop();
}
END_TEST

START_TEST(the_end_ends_the_wait)
{
    expect_quiet_return(stop);
}
END_TEST

static void acknowledge(void)
{
    UNIT_OK(jd_acknowledge_preemption());
}

START_TEST(an_acknowledgement_ends_the_wait)
{
    expect_quiet_return(acknowledge);
    stop();
}
END_TEST

/* ---- several: nobody passes the step ------------------------------------ */

enum { RACES = 500 };

static atomic_int races_done;
static atomic_llong first_true[RACES + 1];

/* Polls as fast as it can; of each round it notes the first true step. */
static void *poll_fast(void *arg)
{
    int64_t step = 0;
    for (int race = 1; race <= RACES; race++) {
        while (!jd__preemption_poll(step))
            step++;
        atomic_store(&first_true[race], step);
        jd_acknowledge_preemption();
        atomic_store(&races_done, race);
        step++;
    }
    return arg;
}

/* The service's answer to the one process there is is its step and one. */
START_TEST(nobody_passes_the_agreed_step)
{
    pthread_t thread;
    start_several();
    pthread_create(&thread, NULL, poll_fast, NULL);
    for (int race = 1; race <= RACES; race++) {
        give_notice((uint64_t)race);
        int64_t agreed = told.step + 1;
        decide((uint64_t)race, agreed);
        while (atomic_load(&races_done) < race)
            sched_yield();
        ck_assert_int_eq(atomic_load(&first_true[race]), agreed);
    }
    pthread_join(thread, NULL);
    stop();
}
END_TEST

/* ---- nothing is left ---------------------------------------------------- */

static int count_files(void)
{
    int count = 0;
    DIR *files = opendir("/proc/self/fd");
    for (struct dirent *d; (d = readdir(files));)
        count += d->d_name[0] != '.';
    closedir(files);
    return count;
}

static void live_once(void)
{
    struct visit v;
    visit_init(&v);
    start_several();
    ck_assert(!jd__preemption_poll(1));
    UNIT_OK(jd_on_preemption(visit, &v));
    give_notice(1);
    decide(1, 2);
    ck_assert(jd__preemption_poll(2));
    stop();
}

START_TEST(nothing_is_left_of_many_worlds)
{
    live_once();
    int files = count_files();
    for (int i = 0; i < 100; i++)
        live_once();
    ck_assert_int_eq(count_files(), files);
    await_no_thread();
}
END_TEST

/* ---- the suite ---------------------------------------------------------- */

static void add_several(Suite *suite)
{
    TCase *several = unit_case(suite, "several");
    tcase_add_checked_fixture(several, take_default, NULL);
    tcase_set_timeout(several, 30);
    tcase_add_test(several, the_signal_is_announced);
    tcase_add_test(several, the_signal_waits_for_a_connection);
    tcase_add_test(several, after_a_failure_it_is_no_preemption);
    tcase_add_test(several, a_forked_child_is_not_the_job);
    tcase_add_test(several, a_forked_child_can_poll_and_stop);
    tcase_add_test(several, a_signal_of_the_last_world_is_not_announced);
    tcase_add_test(several, a_round_from_notice_to_acknowledgement);
    tcase_add_test(several, it_can_be_armed_again);
    tcase_add_test(several, a_late_signal_of_the_same_preemption_is_none);
    tcase_add_test(several, a_late_signal_after_the_end_does_no_harm);
    tcase_add_test(several, a_process_that_has_not_polled);
    tcase_add_test(several, a_step_that_is_passed_counts);
    tcase_add_test(several, a_notice_that_comes_again_is_answered_alike);
    tcase_add_test(several, another_rounds_decision_is_none);
    tcase_add_test(several, an_acknowledgement_that_cannot_be_sent);
    tcase_add_test(several, a_notice_after_the_end_is_nothing);
    tcase_add_test(several, the_callback_runs_once_a_round);
}

static void add_waits(Suite *suite)
{
    TCase *waits = unit_case(suite, "waits");
    tcase_add_checked_fixture(waits, take_default, NULL);
    tcase_set_timeout(waits, 60);
    tcase_add_test(waits, a_poll_waits_for_the_decision);
    tcase_add_test(waits, a_poll_waits_for_so_long);
    tcase_add_test(waits, a_failure_ends_the_wait);
    tcase_add_test(waits, the_end_ends_the_wait);
    tcase_add_test(waits, an_acknowledgement_ends_the_wait);
    tcase_add_test(waits, nobody_passes_the_agreed_step);
    tcase_add_test(waits, nothing_is_left_of_many_worlds);
}

int main(void)
{
    Suite *suite = suite_create("preemption_rounds");
    add_several(suite);
    add_waits(suite);
    return unit_main(suite);
}
