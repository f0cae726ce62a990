/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_failure_exit.c - what is left of a process whose job has failed: its
 * exit code, its sentence, and what could still run. Each process that ends is
 * a child, with a loop and without MPI.
 */
#include "runtime/coordination/failure/failure_exit.h"
#include "base/progress.h"
#include "jd_collectives.h"
#include "jd_mesh.h"
#include "jd_multihost.h"
#include "jd_shard.h"
#include "tests/lib/sanitized.h"
#include "tests/unit/failure_end.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* ---- last words --------------------------------------------------------- */

/* A pipe between this process's standard error and what it was. */
struct ear {
    int to, from;
};

static struct ear listen_to_stderr(void)
{
    int ends[2];
    struct ear ear = { .to = dup(STDERR_FILENO) };
    if (pipe(ends) != 0)
        _exit(97);
    ear.from = ends[0];
    dup2(ends[1], STDERR_FILENO);
    return ear;
}

/* Passes on what has been written, until it ends with this. */
static void pass_on(const struct ear *ear, const char *last)
{
    char text[4096] = "";
    size_t length = 0;
    while (!strstr(text, last)) {
        ssize_t n = read(ear->from, text + length, sizeof text - 1 - length);
        if (n <= 0 || write(ear->to, text + length, (size_t)n) != n)
            _exit(97);
        length += (size_t)n;
    }
}

/* Whoever guards the end sees all time pass that last words may take. */
static void pass_last_words(void)
{
    for (double now = SET_CLOCK_BEGIN;; now += LAST_WORDS_PART) {
        set_clock_await(now + LAST_WORDS_PART);
        set_clock_to(now + LAST_WORDS_PART);
    }
}

/* It speaks, but cannot end. */
static void end_after_last_words(void)
{
    struct ear ear = listen_to_stderr();
    fail_job(&report);
    pass_on(&ear, TAIL "\n");
    pass_last_words();
}

/* ---- the plain end ------------------------------------------------------ */

static void end_plainly(void)
{
    fail_job(&report);
    end_together();
}

START_TEST(it_says_so_and_ends)
{
    struct end end = end_of(end_plainly);
    expect_reported_end(&end);
    EXPECT_TEXT(&end, TAIL "\n");
}
END_TEST

static void end_later(void)
{
    fail_job(&report);
    set_clock_await(TOGETHER);
    fprintf(stderr, "it waits for the others\n");
    end_together();
}

START_TEST(survivors_end_together)
{
    struct end end = end_of(end_later);
    expect_reported_end(&end);
    EXPECT_TEXT(&end, "it waits for the others\n");
}
END_TEST

static void *hold_stdout(void *barrier)
{
    flockfile(stdout);
    pthread_barrier_wait(barrier);
    wait_for_ever();
    return NULL;
}

static void end_while_held(void)
{
    pthread_barrier_t barrier;
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, hold_stdout, &barrier);
    pthread_barrier_wait(&barrier);
    end_after_last_words();
}

START_TEST(a_thread_inside_printf_does_not_keep_it)
{
    struct end end = end_of(end_while_held);
    ck_assert_int_eq(end.code, JD_EXIT_PEER_FAILED);
    EXPECT_TEXT(&end, SENTENCE);
}
END_TEST

static int silent_ones;

static void end_with_silent_ones(void)
{
    struct jd_report model = report;
    model.silent = silent_ones;
    fail_job(&model);
    end_together();
}

START_TEST(who_speaks_counts_the_silent)
{
    silent_ones = 1;
    struct end end = end_of(end_with_silent_ones);
    EXPECT_TEXT(&end, TAIL "; 1 other process says nothing\n");
    silent_ones = 2000;
    end = end_of(end_with_silent_ones);
    EXPECT_TEXT(&end, TAIL "; 2000 other processes say nothing\n");
}
END_TEST

static void end_silently(void)
{
    struct jd_report model = report;
    model.speak = false;
    model.silent = 7;
    fail_job(&model);
    end_together();
}

START_TEST(who_does_not_speak_ends_too)
{
    struct end end = end_of(end_silently);
    ck_assert_int_eq(end.code, JD_EXIT_PEER_FAILED);
    ck_assert_str_eq(end.text, "before\n");
}
END_TEST

static void begin_twice(void *unused)
{
    struct jd_report second = report;
    (void)unused;
    second.text = "a second one";
    begin_with((void *)&report);
    begin_with(&second);
}

static void end_twice(void)
{
    start_loop();
    jd__loop_run(loop, begin_twice, NULL);
    end_together();
}

START_TEST(the_first_report_stands)
{
    struct end end = end_of(end_twice);
    expect_reported_end(&end);
    EXPECT_TEXT(&end, TAIL "\n");
    ck_assert_int_eq(count_of(&end, "second"), 0);
}
END_TEST

/* ---- nobody reads ------------------------------------------------------- */

/* A pipe that takes nothing more, until it is read. */
static void open_full_pipe(int ends[2])
{
    static char bytes[4096];
    if (pipe2(ends, O_NONBLOCK) != 0)
        _exit(97);
    while (write(ends[1], bytes, sizeof bytes) > 0)
        continue;
    fcntl(ends[1], F_SETFL, 0);
}

/* That this process keeps open. */
static void fill_pipe_over(int fd)
{
    int ends[2];
    open_full_pipe(ends);
    dup2(ends[1], fd);
}

static void end_with_full_stderr(void)
{
    fill_pipe_over(STDERR_FILENO);
    fail_job(&report);
    pass_last_words();
}

static void end_with_full_stdout(void)
{
    fill_pipe_over(STDOUT_FILENO);
    end_after_last_words();
}

START_TEST(a_full_pipe_does_not_keep_it)
{
    struct end end = end_of(end_with_full_stderr);
    ck_assert_int_eq(end.code, JD_EXIT_PEER_FAILED);
    end = end_of(end_with_full_stdout);
    ck_assert_int_eq(end.code, JD_EXIT_PEER_FAILED);
    EXPECT_TEXT(&end, SENTENCE);
}
END_TEST

static int full_pipe[2];

/* It speaks, and nobody reads, while it is kept from running for longer than
 * last words may take. */
static void end_when_stopped(void)
{
    static char bytes[8192]; /* room for a sentence */
    dup2(full_pipe[1], STDERR_FILENO);
    fail_job(&report);
    set_clock_await(SET_CLOCK_BEGIN + LAST_WORDS_PART);
    set_clock_to(SET_CLOCK_BEGIN + 3600);
    set_clock_await(SET_CLOCK_BEGIN + 3600 + LAST_WORDS_PART);
    if (read(full_pipe[0], bytes, sizeof bytes) <= 0)
        _exit(97);
    wait_for_ever();
}

START_TEST(a_process_that_was_stopped_speaks)
{
    static char bytes[1 << 20];
    open_full_pipe(full_pipe);
    struct end end = end_of(end_when_stopped);
    ck_assert_int_eq(end.code, JD_EXIT_PEER_FAILED);
    close(full_pipe[1]);
    read_all(full_pipe[0], bytes, sizeof bytes);
    ck_assert_ptr_nonnull(
        memmem(bytes, sizeof bytes, SENTENCE TAIL, strlen(SENTENCE TAIL)));
}
END_TEST

/* ---- a callback --------------------------------------------------------- */

static pthread_t main_thread;

static void look_around(const jd_peer_failure *failure, void *arg)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    fprintf(stderr, "callback %s: %zu culprits, %d and %d, %s, %s\n",
            (char *)arg, failure->num_processes, failure->processes[0],
            failure->processes[1], failure->text,
            failure->age >= 0.25 ? "a while ago" : "in the future");
    if (pthread_equal(pthread_self(), main_thread) ||
        jd__loop_is_current(loop) || !sigismember(&blocked, SIGTERM))
        fprintf(stderr, "on the wrong thread\n");
}

static void end_with_callback(void)
{
    main_thread = pthread_self();
    jd__failure_exit_set_callback(look_around, (void *)"one");
    end_plainly();
}

START_TEST(a_callback_runs_on_its_own_thread)
{
    struct end end = end_of(end_with_callback);
    expect_reported_end(&end);
    EXPECT_TEXT(&end, "callback one: 2 culprits, 3 and 5, " SENTENCE
                      ", a while ago\n");
    EXPECT_TEXT(&end, TAIL " after its callback\n");
    ck_assert_int_eq(count_of(&end, "wrong"), 0);
    ck_assert_int_eq(count_of(&end, "JD_FAILURE_GRACE"), 0);
}
END_TEST

static void end_without_callback(void)
{
    jd__failure_exit_set_callback(look_around, (void *)"one");
    jd__failure_exit_set_callback(NULL, NULL);
    end_plainly();
}

START_TEST(a_callback_can_be_taken_back)
{
    struct end end = end_of(end_without_callback);
    expect_reported_end(&end);
    EXPECT_TEXT(&end, TAIL "\n");
    ck_assert_int_eq(count_of(&end, "callback"), 0);
}
END_TEST

static void never_return(const jd_peer_failure *failure, void *arg)
{
    (void)failure, (void)arg;
    wait_for_ever();
}

/* Both who speaks and who guards that wait for it. */
static void end_over_grace(void)
{
    jd__failure_exit_set_callback(never_return, NULL);
    fail_job(&report);
    set_clock_await(GRACE_IS_OVER);
    set_clock_to(GRACE_IS_OVER);
    wait_for_ever();
}

START_TEST(the_grace_ends)
{
    struct end end = end_of(end_over_grace);
    expect_reported_end(&end);
    EXPECT_TEXT(&end, "jd_on_peer_failure: the callback has not returned "
                      "within 10 s (JD_FAILURE_GRACE changes it); this "
                      "process ends with exit code 117 without it\n");
}
END_TEST

static void write_down(const jd_peer_failure *failure, void *fd)
{
    (void)failure;
    if (write(*(int *)fd, "saved", 5) != 5)
        _exit(96);
}

/* Its sentence is stuck; what it has to save is not. */
static void end_stuck_with_callback(void)
{
    int fd = dup(STDOUT_FILENO);
    fill_pipe_over(STDERR_FILENO);
    jd__failure_exit_set_callback(write_down, &fd);
    fail_job(&report);
    pass_last_words();
}

START_TEST(a_callback_runs_though_nobody_reads)
{
    struct end end = end_of(end_stuck_with_callback);
    ck_assert_int_eq(end.code, JD_EXIT_PEER_FAILED);
    EXPECT_TEXT(&end, "saved");
}
END_TEST

static void *let_time_pass(void *unused)
{
    (void)unused;
    end_together();
    return NULL;
}

/* The program's own end, on another thread, waits for the callback. */
static pthread_barrier_t met;

static void meet_and_say(const jd_peer_failure *failure, void *arg)
{
    (void)failure, (void)arg;
    pthread_barrier_wait(&met);
    jd__failure_exit_await(); /* not for itself */
    fprintf(stderr, "saved\n");
}

static void end_of_its_own(void)
{
    pthread_t thread;
    pthread_barrier_init(&met, NULL, 2);
    jd__failure_exit_await(); /* nothing has happened */
    jd__failure_exit_set_callback(meet_and_say, NULL);
    fail_job(&report);
    pthread_barrier_wait(&met);
    pthread_create(&thread, NULL, let_time_pass, NULL);
    jd__failure_exit_await();
}

START_TEST(who_would_end_awaits_the_callback)
{
    struct end end = end_of(end_of_its_own);
    expect_reported_end(&end);
    EXPECT_TEXT(&end, "saved\n");
}
END_TEST

#define NEWS_SECONDS 60

static void *fail_a_moment_later(void *unused)
{
    set_clock_await(SET_CLOCK_BEGIN + NEWS_SECONDS);
    fail_job(&report);
    return let_time_pass(unused);
}

/* What it has run into is explained a moment later. */
static void end_before_the_news(void)
{
    pthread_t thread;
    start_loop();
    pthread_create(&thread, NULL, fail_a_moment_later, NULL);
    jd__failure_exit_await_notification(NEWS_SECONDS);
}

START_TEST(who_would_end_awaits_the_news)
{
    struct end end = end_of(end_before_the_news);
    expect_reported_end(&end);
}
END_TEST

static void *note_a_moment_later(void *unused)
{
    set_clock_await(SET_CLOCK_BEGIN + NEWS_SECONDS);
    set_clock_to(SET_CLOCK_BEGIN + NEWS_SECONDS);
    set_clock_await(SET_CLOCK_BEGIN + 3 * NEWS_SECONDS);
    jd__failure_exit_note("its own");
    return unused;
}

static void end_without_news(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, note_a_moment_later, NULL);
    jd__failure_exit_await_notification(NEWS_SECONDS);
    if (set_clock_now() != SET_CLOCK_BEGIN + NEWS_SECONDS)
        _exit(94);
    /* Its own is no reason to stay. */
    jd__failure_exit_await_notification(2 * NEWS_SECONDS);
    jd__failure_exit_await_notification(2 * NEWS_SECONDS);
    _exit(42);
}

START_TEST(there_may_be_no_news)
{
    struct end end = end_of(end_without_news);
    ck_assert_int_eq(end.code, 42);
}
END_TEST

/* ---- process 0 stays ---------------------------------------------------- */

enum { FOR_EVER = 1 << 30 };

static atomic_int times_asked, times_to_stay;

static bool stay(void *arg)
{
    (void)arg;
    return ++times_asked <= times_to_stay;
}

static void begin_and_stay(void *unused)
{
    (void)unused;
    jd__failure_exit_begin(loop, &report, stay, NULL);
}

static void print_from_loop(void *unused)
{
    (void)unused;
    fprintf(stderr, "the loop goes on\n");
}

/* The loop goes on meanwhile. */
static void end_after_others(void)
{
    start_loop();
    jd__loop_run(loop, begin_and_stay, NULL);
    set_clock_await(GRACE_IS_OVER);
    while (times_asked < 3)
        sched_yield();
    jd__loop_run(loop, print_from_loop, NULL);
    times_to_stay = 0;
    end_together();
}

static void end_with_nobody_left(void)
{
    start_loop();
    jd__loop_run(loop, begin_and_stay, NULL);
    end_together();
}

START_TEST(it_stays_for_others)
{
    times_to_stay = FOR_EVER;
    struct end end = end_of(end_after_others);
    expect_reported_end(&end);
    EXPECT_TEXT(&end, "the loop goes on\n");
    times_to_stay = 0;
    end = end_of(end_with_nobody_left);
    expect_reported_end(&end);
}
END_TEST

static void end_over_grace_of_others(void)
{
    times_to_stay = FOR_EVER;
    start_loop();
    jd__loop_run(loop, begin_and_stay, NULL);
    set_clock_await(GRACE_IS_OVER);
    set_clock_to(GRACE_IS_OVER);
    wait_for_ever();
}

START_TEST(it_stays_no_longer_than_the_grace)
{
    struct end end = end_of(end_over_grace_of_others);
    expect_reported_end(&end);
    EXPECT_TEXT(&end, TAIL "\n");
}
END_TEST

/* ---- a process that goes on --------------------------------------------- */

static void leave_with_failure(void)
{
    jd__failure_exit_set_leaving(true);
    fail_job(&report);
    if (jd__failure_exit_check("jd_shutdown") != JD_ABORTED)
        _exit(95);
    fprintf(stderr, "%s\n", jd_error_message());
    jd__failure_exit_set_leaving(false);
    jd__failure_exit_await();
    jd__loop_destroy(loop);
    _exit(42);
}

START_TEST(jd_shutdown_returns_it)
{
    struct end end = end_of(leave_with_failure);
    ck_assert_int_eq(end.code, 42);
    EXPECT_TEXT(&end, "jd_shutdown: " SENTENCE "\n");
    ck_assert_int_eq(count_of(&end, "exit code"), 0);
}
END_TEST

static void go_on_after_own_failure(void)
{
    jd__failure_exit_note("jd_report_error: the disk is full");
    fail_job(&report);
    if (jd__failure_exit_check("jd_psum") != JD_ABORTED)
        _exit(95);
    fprintf(stderr, "%s\n", jd_error_message());
    jd__loop_destroy(loop);
    _exit(42);
}

START_TEST(its_own_failure_does_not_end_it)
{
    struct end end = end_of(go_on_after_own_failure);
    ck_assert_int_eq(end.code, 42);
    EXPECT_TEXT(&end, "jd_psum: jd_report_error: the disk is full\n");
    ck_assert_int_eq(count_of(&end, "exit code"), 0);
}
END_TEST

START_TEST(a_check_costs_nothing_and_can_be_reset)
{
    UNIT_OK(jd__failure_exit_check("jd_psum"));
    ck_assert(!jd__failure_exit_has_begun());
    jd__failure_exit_note(SENTENCE);
    ck_assert(jd__failure_exit_has_begun());
    UNIT_FAILS(jd__failure_exit_check("jd_psum"), JD_ABORTED,
               "jd_psum: " SENTENCE);
    jd__failure_exit_reset();
    ck_assert(!jd__failure_exit_has_begun());
    UNIT_OK(jd__failure_exit_check("jd_psum"));
}
END_TEST

static int heard;

/* The waits of this process end already. */
static void hear(void)
{
    heard += jd__failure_exit_has_begun() ? 1 : 100;
}

START_TEST(the_hook_is_called_once)
{
    jd__failure_exit_set_hook(hear);
    ck_assert_int_eq(heard, 0);
    jd__failure_exit_note(SENTENCE);
    ck_assert_int_eq(heard, 1);
    jd__failure_exit_note("another");
    ck_assert_int_eq(heard, 1);
    jd__failure_exit_reset();
    jd__failure_exit_note(SENTENCE);
    ck_assert_int_eq(heard, 2);
    jd__failure_exit_reset();
}
END_TEST

static void say_heard(void)
{
    hear();
    fprintf(stderr, "heard %d\n", heard);
}

static void end_heard(void)
{
    jd__failure_exit_set_hook(say_heard);
    fail_job(&report);
    end_together();
}

START_TEST(the_hook_hears_of_others)
{
    struct end end = end_of(end_heard);
    expect_reported_end(&end);
    EXPECT_TEXT(&end, "heard 1\n");
}
END_TEST

static void reset_too_late(void)
{
    jd__failure_exit_set_callback(never_return, NULL);
    fail_job(&report);
    jd__failure_exit_reset();
    set_clock_await(GRACE_IS_OVER);
    set_clock_to(GRACE_IS_OVER);
    wait_for_ever();
}

START_TEST(a_reset_does_not_keep_it)
{
    struct end end = end_of(reset_too_late);
    expect_reported_end(&end);
}
END_TEST

/* ---- collectives after it ----------------------------------------------- */

START_TEST(collectives_are_aborted)
{
    static const int shape[] = { -1 };
    static const char *const names[] = { "data" };
    struct jd_progress progress;
    jd_mesh *mesh;
    float in = 1, out = 7;
    jd_leaf leaf = { &in, JD_F32, 0, NULL };
    UNIT_OK(jd_mesh_create(&mesh, 1, shape, names, NULL));
    jd_shard *shard = jd_mesh_shard(mesh);
    UNIT_OK(jd_psum(shard, NULL, &in, &out, 1, JD_F32));
    UNIT_OK(jd_assert_equal(&leaf, 1, NULL));
    jd__failure_exit_note(SENTENCE);
    UNIT_FAILS(jd_psum(shard, NULL, &in, &out, 1, JD_F32), JD_ABORTED,
               "jd_psum: " SENTENCE);
    UNIT_FAILS(jd_assert_equal(&leaf, 1, NULL), JD_ABORTED,
               "jd_assert_equal: " SENTENCE);
    jd__progress_sample(&progress);
    ck_assert(!progress.inside);
    jd__failure_exit_reset();
    UNIT_OK(jd_psum(shard, NULL, &in, &out, 1, JD_F32));
    UNIT_OK(jd_assert_equal(&leaf, 1, NULL));
    jd_mesh_destroy(mesh);
}
END_TEST

static TCase *add_case(Suite *suite, const char *name)
{
    TCase *tcase = unit_case(suite, name);
    tcase_set_timeout(tcase, 60);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("ending");
    TCase *plain = add_case(suite, "plain");
    tcase_add_test(plain, it_says_so_and_ends);
    tcase_add_test(plain, survivors_end_together);
    tcase_add_test(plain, who_speaks_counts_the_silent);
    tcase_add_test(plain, who_does_not_speak_ends_too);
    tcase_add_test(plain, the_first_report_stands);
    /* ThreadSanitizer's _exit flushes streams, and waits for those who hold
     * them. */
    if (!HAS_TSAN) {
        tcase_add_test(plain, a_thread_inside_printf_does_not_keep_it);
        tcase_add_test(plain, a_full_pipe_does_not_keep_it);
        tcase_add_test(plain, a_process_that_was_stopped_speaks);
    }
    TCase *callbacks = add_case(suite, "callbacks");
    tcase_add_test(callbacks, a_callback_runs_on_its_own_thread);
    tcase_add_test(callbacks, a_callback_can_be_taken_back);
    tcase_add_test(callbacks, the_grace_ends);
    tcase_add_test(callbacks, a_callback_runs_though_nobody_reads);
    tcase_add_test(callbacks, who_would_end_awaits_the_callback);
    tcase_add_test(callbacks, who_would_end_awaits_the_news);
    tcase_add_test(callbacks, there_may_be_no_news);
    TCase *stays = add_case(suite, "stays");
    tcase_add_test(stays, it_stays_for_others);
    tcase_add_test(stays, it_stays_no_longer_than_the_grace);
    TCase *goes_on = add_case(suite, "goes on");
    tcase_add_test(goes_on, jd_shutdown_returns_it);
    tcase_add_test(goes_on, its_own_failure_does_not_end_it);
    tcase_add_test(goes_on, a_check_costs_nothing_and_can_be_reset);
    tcase_add_test(goes_on, the_hook_is_called_once);
    tcase_add_test(goes_on, the_hook_hears_of_others);
    tcase_add_test(goes_on, a_reset_does_not_keep_it);
    tcase_add_test(goes_on, collectives_are_aborted);
    return unit_main(suite);
}
