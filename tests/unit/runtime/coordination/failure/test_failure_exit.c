/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_failure_exit.c - what is left of a process whose job has failed: its
 * exit code, its sentence, and what could still run. Each process that ends is
 * a child, with a loop and without MPI.
 */
#include "runtime/coordination/failure/failure_exit.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/progress.h"
#include "jd_collectives.h"
#include "jd_mesh.h"
#include "jd_multihost.h"
#include "jd_shard.h"
#include "runtime/coordination/net/loop.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SENTENCE                                                               \
    "process 3 (train, pid 99 on h0) has failed: it was switched off"
#define TAIL "; this process ends with exit code 117"

static const int culprits[] = { 3, 5 };

static const struct jd_report report = {
    .processes = culprits,
    .num_processes = 2,
    .text = SENTENCE,
    .age = 0.25,
    .speak = true,
};

/* ThreadSanitizer's _exit flushes streams, and waits for those who hold them:
 * two ends cannot be seen with it. */
#if defined __SANITIZE_THREAD__
#define EXIT_WAITS_FOR_STREAMS true
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define EXIT_WAITS_FOR_STREAMS true
#endif
#endif
#ifndef EXIT_WAITS_FOR_STREAMS
#define EXIT_WAITS_FOR_STREAMS false
#endif

/* ---- a process that ends ------------------------------------------------ */

struct end {
    int code; /* -1: none */
    char text[4096];
};

static void read_all(int fd, char *text, size_t size)
{
    size_t length = 0;
    for (ssize_t n; (n = read(fd, text + length, size - 1 - length)) > 0;)
        length += (size_t)n;
    text[length] = '\0';
    close(fd);
}

/* Runs the body in a child that has printed "before" without a newline. */
static struct end end_of(void (*body)(void))
{
    struct end end = { .code = -1 };
    int out[2], status;
    ck_assert_int_eq(pipe(out), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], STDOUT_FILENO);
        dup2(out[1], STDERR_FILENO);
        close(out[0]);
        close(out[1]);
        jd__log_set_identity(0, 4);
        jd__failure_exit_configure(10);
        printf("before\n");
        body();
        _exit(99);
    }
    close(out[1]);
    read_all(out[0], end.text, sizeof end.text);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFEXITED(status))
        end.code = WEXITSTATUS(status);
    return end;
}

static int count_of(const struct end *end, const char *part)
{
    int count = 0;
    for (const char *at = end->text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

#define EXPECT_TEXT(end, part)                                                 \
    ck_assert_msg(count_of(end, part) == 1, "not once \"%s\" in: %s", part,    \
                  (end)->text)

static void expect_reported_end(const struct end *end)
{
    ck_assert_int_eq(end->code, JD_EXIT_PEER_FAILED);
    EXPECT_TEXT(end, "before\n");
    EXPECT_TEXT(end, " error " SENTENCE TAIL);
}

/* ---- in the child ------------------------------------------------------- */

static struct jd_loop *loop;

static void start_loop(void)
{
    if (jd__loop_create("jd-test", &loop) != JD_OK ||
        jd__loop_start(loop) != JD_OK)
        _exit(98);
}

static void begin_with(void *model)
{
    jd__failure_exit_begin(loop, model, NULL, NULL);
}

/* On the loop's thread, and returns when it has been done. */
static void fail_job(const struct jd_report *model)
{
    if (!loop)
        start_loop();
    jd__loop_run(loop, begin_with, (void *)model);
}

static void wait_for_ever(void)
{
    for (;;)
        pause();
}

/* ---- the plain end ------------------------------------------------------ */

static void end_plainly(void)
{
    fail_job(&report);
    wait_for_ever();
}

START_TEST(it_says_so_and_ends)
{
    struct end end = end_of(end_plainly);
    expect_reported_end(&end);
    EXPECT_TEXT(&end, TAIL "\n");
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
    end_plainly();
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
    wait_for_ever();
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
    wait_for_ever();
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
    wait_for_ever();
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
    end_plainly();
}

static void end_with_full_stdout(void)
{
    fill_pipe_over(STDOUT_FILENO);
    end_plainly();
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

/* It has begun to speak, and nobody reads, when it is stopped. */
static void end_when_stopped(int fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(fd, STDERR_FILENO);
    jd__failure_exit_configure(10);
    fail_job(&report);
    kill(getpid(), SIGSTOP);
    wait_for_ever();
}

/* It is stopped for longer than last words may take, and heard after that. */
START_TEST(a_process_that_was_stopped_speaks)
{
    enum { COUNT = 3 };
    static char bytes[4096];
    int ends[COUNT][2], status;
    pid_t children[COUNT];
    for (int i = 0; i < COUNT; i++) {
        open_full_pipe(ends[i]);
        children[i] = fork();
        if (children[i] == 0)
            end_when_stopped(ends[i][1]);
        close(ends[i][1]);
        ck_assert_int_eq(waitpid(children[i], &status, WUNTRACED), children[i]);
        ck_assert(WIFSTOPPED(status));
    }
    usleep(1300000);
    for (int i = 0; i < COUNT; i++) {
        struct end end;
        while (read(ends[i][0], bytes, sizeof bytes) > 0)
            continue;
        fcntl(ends[i][0], F_SETFL, 0);
        kill(children[i], SIGCONT);
        read_all(ends[i][0], end.text, sizeof end.text);
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        EXPECT_TEXT(&end, SENTENCE TAIL);
    }
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

static void end_over_grace(void)
{
    jd__failure_exit_configure(0.2);
    jd__failure_exit_set_callback(never_return, NULL);
    end_plainly();
}

START_TEST(the_grace_ends)
{
    struct end end = end_of(end_over_grace);
    expect_reported_end(&end);
    EXPECT_TEXT(&end, "jd_on_peer_failure: the callback has not returned "
                      "within 0.2 s (JD_FAILURE_GRACE changes it); this "
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
    end_plainly();
}

START_TEST(a_callback_runs_though_nobody_reads)
{
    struct end end = end_of(end_stuck_with_callback);
    ck_assert_int_eq(end.code, JD_EXIT_PEER_FAILED);
    EXPECT_TEXT(&end, "saved");
}
END_TEST

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
    pthread_barrier_init(&met, NULL, 2);
    jd__failure_exit_await(); /* nothing has happened */
    jd__failure_exit_set_callback(meet_and_say, NULL);
    fail_job(&report);
    pthread_barrier_wait(&met);
    jd__failure_exit_await();
}

START_TEST(who_would_end_awaits_the_callback)
{
    struct end end = end_of(end_of_its_own);
    expect_reported_end(&end);
    EXPECT_TEXT(&end, "saved\n");
}
END_TEST

static void *fail_a_moment_later(void *unused)
{
    usleep(20000);
    fail_job(&report);
    return unused;
}

/* What it has run into is explained a moment later. */
static void end_before_the_news(void)
{
    pthread_t thread;
    start_loop();
    pthread_create(&thread, NULL, fail_a_moment_later, NULL);
    jd__failure_exit_await_notification(60);
}

START_TEST(who_would_end_awaits_the_news)
{
    struct end end = end_of(end_before_the_news);
    expect_reported_end(&end);
}
END_TEST

static void *note_a_moment_later(void *unused)
{
    usleep(20000);
    jd__failure_exit_note("its own");
    return unused;
}

static void end_without_news(void)
{
    double begin = jd__clock_now();
    jd__failure_exit_await_notification(0.05);
    if (jd__clock_now() - begin < 0.05)
        _exit(94);
    pthread_t thread;
    pthread_create(&thread, NULL, note_a_moment_later, NULL);
    jd__failure_exit_await_notification(600); /* its own is no reason to stay */
    jd__failure_exit_await_notification(600);
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

/* The loop goes on meanwhile; a process that does not stay has ended when the
 * others would have been asked so often. */
static void end_after_others(void)
{
    start_loop();
    jd__loop_run(loop, begin_and_stay, NULL);
    while (times_asked < 20)
        sched_yield();
    jd__loop_run(loop, print_from_loop, NULL);
    times_to_stay = 0;
    wait_for_ever();
}

START_TEST(it_stays_for_others)
{
    times_to_stay = FOR_EVER;
    struct end end = end_of(end_after_others);
    expect_reported_end(&end);
    EXPECT_TEXT(&end, "the loop goes on\n");
    times_to_stay = 0;
    end = end_of(end_after_others);
    expect_reported_end(&end);
    ck_assert_int_eq(count_of(&end, "loop"), 0);
}
END_TEST

static void end_over_grace_of_others(void)
{
    jd__failure_exit_configure(0.2);
    times_to_stay = FOR_EVER;
    start_loop();
    jd__loop_run(loop, begin_and_stay, NULL);
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
    wait_for_ever();
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
    jd__failure_exit_configure(0.2);
    fail_job(&report);
    jd__failure_exit_reset();
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
    tcase_add_test(plain, who_speaks_counts_the_silent);
    tcase_add_test(plain, who_does_not_speak_ends_too);
    tcase_add_test(plain, the_first_report_stands);
    if (!EXIT_WAITS_FOR_STREAMS) {
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
