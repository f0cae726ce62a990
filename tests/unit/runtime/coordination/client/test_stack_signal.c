/* SPDX-License-Identifier: BSD-3-Clause */
/* test_stack_signal.c - the stack of the thread that has called jd last, taken
 * by a signal. */
#include "runtime/coordination/client/stack_signal.h"
#include "base/last_thread.h"
#include "base/log.h"
#include "tests/unit/threads.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

/* ---- which signal ------------------------------------------------------- */

static int parsed(const char *text)
{
    int number = 0;
    UNIT_OK(jd__stack_signal_parse(text, &number));
    return number;
}

START_TEST(signals_are_named_or_numbered)
{
    char number[16];
    ck_assert_int_eq(parsed("USR1"), SIGUSR1);
    ck_assert_int_eq(parsed("sigusr2"), SIGUSR2);
    ck_assert_int_eq(parsed("URG"), SIGURG);
    ck_assert_int_eq(parsed("RTMIN"), SIGRTMIN);
    ck_assert_int_eq(parsed("SIGRTMIN+3"), SIGRTMIN + 3);
    snprintf(number, sizeof number, "%d", SIGRTMAX);
    ck_assert_int_eq(parsed(number), SIGRTMAX);
    snprintf(number, sizeof number, "%d", SIGUSR2);
    ck_assert_int_eq(parsed(number), SIGUSR2);
}
END_TEST

static const char *const refused[] = {
    "",         "KILL",     "SIGSTOP",
    "SEGV",     "SIGBUS",   "FPE",
    "ILL",      "ABRT",     "TRAP",
    "SYS",      "TERM",     "INT",
    "CHLD",     "CONT",     "PIPE",
    "9",        "11",       "0",
    "-1",       "32",       "33",
    "65",       "RTMIN+99", "RTMIN-1",
    "RTMIN+x",  "RTMIN+1x", "USR3",
    "12x",      "1 2",      "+12",
    "RTMIN++1", "RTMIN+-1", "99999999999999999999",
};

START_TEST(those_that_cannot_be_used_are_refused)
{
    char text[300];
    int number = 77;
    snprintf(
        text, sizeof text,
        "JD_STACK_SIGNAL is \"%s\", but it must be one of USR1, USR2, URG, "
        "WINCH, IO, PWR, PROF and RTMIN to RTMIN+%d, by name (USR2, "
        "SIGUSR2) or by number (%d); correct it or leave it out",
        refused[_i], SIGRTMAX - SIGRTMIN, SIGUSR2);
    UNIT_FAILS(jd__stack_signal_parse(refused[_i], &number),
               JD_INVALID_ARGUMENT, text);
    ck_assert_int_eq(number, 77);
}
END_TEST

/* ---- a stack ------------------------------------------------------------ */

static atomic_bool is_taken;
static char *taken;
static const char *why;

static void *take(void *unused)
{
    taken = jd__stack_signal_take(&why);
    is_taken = true;
    return unused;
}

/* It is long enough to stand in. */
__attribute__((noinline)) static void stand_here(void)
{
    errno = 4711;
    while (!is_taken)
        ck_assert_int_eq(errno, 4711); /* it is what it was */
}

static void take_while_standing(void)
{
    pthread_t thread;
    is_taken = false;
    pthread_create(&thread, NULL, take, NULL);
    stand_here();
    pthread_join(thread, NULL);
}

static void expect_stack(const char *name)
{
    char first[120];
    snprintf(first, sizeof first,
             "Thread %d, which has called jd last, and no other: taken by %s "
             "(JD_STACK_SIGNAL), as no tool could read all\n#0  0x",
             jd__last_thread(), name);
    ck_assert_ptr_nonnull(taken);
    ck_assert_msg(strncmp(taken, first, strlen(first)) == 0, "%s", taken);
    free(taken);
}

START_TEST(the_thread_that_called_last_shows_its_stack)
{
    jd__stack_signal_open(SIGUSR2);
    ck_assert_int_eq(jd__last_thread(), (int)gettid());
    for (int i = 0; i < 3; i++) {
        take_while_standing();
        ck_assert_ptr_nonnull(strstr(taken, "\n#2 "));
        expect_stack("SIGUSR2");
    }
    jd__stack_signal_close();
}
END_TEST

/* A call in which ThreadSanitizer too has signals handled. */
static void *wait_until_told(void *may_go)
{
    jd__last_thread_note();
    is_taken = true;
    ck_assert_int_eq(sem_wait(may_go), 0); /* no EINTR */
    return NULL;
}

START_TEST(a_call_that_waits_goes_on)
{
    sem_t may_go;
    pthread_t thread;
    sem_init(&may_go, 0, 0);
    jd__stack_signal_open(SIGRTMIN + 1);
    is_taken = false;
    pthread_create(&thread, NULL, wait_until_told, &may_go);
    while (!is_taken)
        ;
    ck_assert_int_ne(jd__last_thread(), (int)gettid());
    for (int i = 0; i < 5; i++) {
        take(NULL);
        expect_stack("SIGRTMIN+1");
    }
    sem_post(&may_go);
    pthread_join(thread, NULL);
    sem_destroy(&may_go);
    jd__stack_signal_close();
}
END_TEST

/* ---- none --------------------------------------------------------------- */

static void expect_none(const char *text)
{
    take(NULL);
    ck_assert_ptr_null(taken);
    ck_assert_str_eq(why, text);
}

static void *note_thread(void *unused)
{
    jd__last_thread_note();
    return unused;
}

START_TEST(a_thread_that_has_ended_has_none)
{
    pthread_t thread;
    jd__stack_signal_open(SIGUSR2);
    pthread_create(&thread, NULL, note_thread, NULL);
    pthread_join(thread, NULL);
    while (access("/proc/self/task", F_OK) == 0) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/task/%d", jd__last_thread());
        if (access(path, F_OK) != 0)
            break;
    }
    expect_none("the thread that has called jd last has ended");
    jd__stack_signal_close();
}
END_TEST

/* What is still on its way when the end has come ends nobody. */
START_TEST(a_thread_that_blocks_it_has_none)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    jd__stack_signal_open(SIGUSR2);
    jd__last_thread_note();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    expect_none("the thread that has called jd last did not take "
                "JD_STACK_SIGNAL within 2 s: it blocks it, or is in the "
                "kernel");
    jd__stack_signal_close();
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
END_TEST

static atomic_int own_calls;

static void own_handler(int number)
{
    (void)number;
    own_calls++;
}

START_TEST(a_program_with_a_handler_keeps_it)
{
    struct sigaction now;
    signal(SIGUSR2, own_handler);
    jd__stack_signal_open(SIGUSR2);
    jd__stack_signal_open(SIGUSR2);
    expect_none("JD_STACK_SIGNAL has no handler in it");
    raise(SIGUSR2);
    jd__stack_signal_close();
    raise(SIGUSR2);
    ck_assert_int_eq(own_calls, 2);
    ck_assert_int_eq(sigaction(SIGUSR2, NULL, &now), 0);
    ck_assert(now.sa_handler == own_handler);
}
END_TEST

START_TEST(so_does_one_that_puts_its_own_later)
{
    struct sigaction now;
    jd__stack_signal_open(SIGUSR2);
    signal(SIGUSR2, own_handler);
    expect_none("the program has a handler of its own for JD_STACK_SIGNAL");
    jd__stack_signal_close();
    ck_assert_int_eq(own_calls, 0);
    ck_assert_int_eq(sigaction(SIGUSR2, NULL, &now), 0);
    ck_assert(now.sa_handler == own_handler);
}
END_TEST

START_TEST(the_former_action_comes_back)
{
    struct sigaction now;
    signal(SIGUSR2, SIG_IGN);
    jd__stack_signal_open(SIGUSR2);
    raise(SIGUSR2); /* somebody else's does nothing */
    jd__stack_signal_close();
    ck_assert_int_eq(sigaction(SIGUSR2, NULL, &now), 0);
    ck_assert(now.sa_handler == SIG_IGN);
    expect_none("JD_STACK_SIGNAL has no handler in it");
    jd__stack_signal_open(SIGRTMIN); /* and another world has another */
    take_while_standing();
    expect_stack("SIGRTMIN+0");
    jd__stack_signal_close();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stack_signal");
    TCase *tcase = unit_case(suite, "which signal");
    int count = (int)(sizeof refused / sizeof *refused);
    tcase_add_test(tcase, signals_are_named_or_numbered);
    tcase_add_loop_test(tcase, those_that_cannot_be_used_are_refused, 0, count);
    tcase = unit_case(suite, "a stack");
    tcase_add_test(tcase, the_thread_that_called_last_shows_its_stack);
    tcase_add_test(tcase, a_call_that_waits_goes_on);
    tcase = unit_case(suite, "none");
    tcase_add_test(tcase, a_thread_that_has_ended_has_none);
    tcase_add_test(tcase, a_thread_that_blocks_it_has_none);
    tcase_add_test(tcase, a_program_with_a_handler_keeps_it);
    tcase_add_test(tcase, so_does_one_that_puts_its_own_later);
    tcase_add_test(tcase, the_former_action_comes_back);
    return unit_main(suite);
}
