/* SPDX-License-Identifier: BSD-3-Clause */
/* preemption_signal.c - the handler of the preemption signal. */
#include "runtime/coordination/preemption/preemption_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
/* timeout(1) sends a signal to its child and then to the child's group; a
 * terminal and a launcher may both pass one on. */
#define COPY_NANOSECONDS SECOND
#define LATE_COPY_NANOSECONDS (10 * SECOND) /* between a launcher's hosts */

/* What launchers and operators send; the rest belongs to the kernel, to the
 * terminal or to timers, or cannot be caught. */
static const struct {
    int number;
    const char *name;
} allowed[] = {
    { SIGTERM, "SIGTERM" }, { SIGINT, "SIGINT" },   { SIGHUP, "SIGHUP" },
    { SIGQUIT, "SIGQUIT" }, { SIGUSR1, "SIGUSR1" }, { SIGUSR2, "SIGUSR2" },
    { SIGXCPU, "SIGXCPU" }, { SIGPWR, "SIGPWR" },
};

enum {
    NUM_ALLOWED = sizeof allowed / sizeof *allowed,
    PREFIX = sizeof "SIG" - 1,
};

/* Of the process, because handlers are. The handler reads all of it. */
static struct {
    _Atomic(void (*)(void)) notify; /* NULL: the signal is passed on */
    atomic_int number;              /* which signal notify is for */
    atomic_int pid;                 /* whom it is for: not a forked child */
    atomic_llong first_at;          /* nanoseconds; 0: none has come yet */
    atomic_llong copy_until;        /* nanoseconds; 0: none is expected */
    bool installed[NUM_ALLOWED];
    /* Written before the handler is there. */
    struct sigaction previous[NUM_ALLOWED];
} caught;

/* ---- names -------------------------------------------------------------- */

static bool is_meant(const char *text, int i)
{
    char digits[16];
    snprintf(digits, sizeof digits, "%d", allowed[i].number);
    return strcasecmp(text, allowed[i].name) == 0 ||
           strcasecmp(text, allowed[i].name + PREFIX) == 0 ||
           strcmp(text, digits) == 0;
}

jd_status jd__preemption_signal_parse(const char *text, int *ret_number)
{
    for (int i = 0; i < NUM_ALLOWED; i++)
        if (is_meant(text, i)) {
            *ret_number = allowed[i].number;
            return JD_OK;
        }
    return jd_fail(JD_INVALID_ARGUMENT,
                   "JD_PREEMPTION_SIGNAL is \"%s\", but it must be one of "
                   "TERM, INT, HUP, QUIT, USR1, USR2, XCPU and PWR, by name "
                   "(TERM, SIGTERM) or by number (%d); correct it or leave it "
                   "out",
                   text, SIGTERM);
}

static int find_signal(int number)
{
    int i = 0;
    while (i < NUM_ALLOWED && allowed[i].number != number)
        i++;
    return i;
}

const char *jd__preemption_signal_name(int number)
{
    int i = find_signal(number);
    return i < NUM_ALLOWED ? allowed[i].name : "the preemption signal";
}

/* ---- in the handler ----------------------------------------------------- */

static bool is_function(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

/* The default action of all allowed signals ends the process: it happens as
 * soon as the handler returns and the signal is not blocked any more. */
static void end_process(int number)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigaction(number, &action, NULL);
    raise(number);
}

static void chain_handler(int i, siginfo_t *info, void *context)
{
    const struct sigaction *previous = &caught.previous[i];
    if (previous->sa_flags & SA_SIGINFO)
        previous->sa_sigaction(allowed[i].number, info, context);
    else if (is_function(previous))
        previous->sa_handler(allowed[i].number);
}

static bool had_default(int i)
{
    const struct sigaction *previous = &caught.previous[i];
    return !is_function(previous) && previous->sa_handler == SIG_DFL;
}

static long long monotonic_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * SECOND + t.tv_nsec;
}

static bool is_late_copy(void)
{
    long long until = atomic_exchange(&caught.copy_until, 0);
    return until && monotonic_now() < until;
}

/* What one signal is in its round. */
enum turn { FIRST, COPY, SECOND_ONE };

static enum turn take_turn(void)
{
    long long time = monotonic_now(), first = 0;
    if (atomic_compare_exchange_strong(&caught.first_at, &first, time))
        return FIRST;
    return time - first < COPY_NANOSECONDS ? COPY : SECOND_ONE;
}

/* Whether it has to end the process. */
static bool hear_signal(int i)
{
    void (*notify)(void) = atomic_load(&caught.notify);
    bool ours = atomic_load(&caught.number) == allowed[i].number &&
                atomic_load(&caught.pid) == getpid();
    if (ours && is_late_copy())
        return false;
    if (!ours || !notify)
        return had_default(i);
    enum turn turn = take_turn();
    if (turn == FIRST)
        notify();
    return turn == SECOND_ONE;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int error = errno, i = find_signal(number);
    if (hear_signal(i))
        end_process(number);
    else
        chain_handler(i, info, context);
    errno = error;
}

/* ---- life --------------------------------------------------------------- */

static jd_status fail_handler(int i)
{
    return jd_fail(JD_INTERNAL, "the handler of %s cannot be installed: %s",
                   allowed[i].name, strerror(errno));
}

/* Once; but again where the program has put the default back since. What it
 * has put on top of ours may call ours, and stays. */
static jd_status install_handler(int i)
{
    struct sigaction now, action = { .sa_flags = SA_RESTART | SA_SIGINFO };
    if (sigaction(allowed[i].number, NULL, &now) != 0)
        return fail_handler(i);
    if (caught.installed[i] && is_function(&now))
        return JD_OK;
    caught.previous[i] = now;
    action.sa_sigaction = on_signal;
    action.sa_mask = now.sa_mask;
    if (sigaction(allowed[i].number, &action, NULL) != 0)
        return fail_handler(i);
    caught.installed[i] = true;
    return JD_OK;
}

jd_status jd__preemption_signal_catch(int number, void (*notify)(void))
{
    atomic_store(&caught.first_at, 0);
    atomic_store(&caught.number, number);
    atomic_store(&caught.pid, getpid());
    atomic_store(&caught.notify, notify);
    jd_status status = install_handler(find_signal(number));
    if (status != JD_OK)
        jd__preemption_signal_release();
    return status;
}

void jd__preemption_signal_expect_copy(void)
{
    if (!atomic_load(&caught.first_at))
        atomic_store(&caught.copy_until,
                     monotonic_now() + LATE_COPY_NANOSECONDS);
}

void jd__preemption_signal_rearm(void)
{
    atomic_store(&caught.first_at, 0);
}

void jd__preemption_signal_release(void)
{
    atomic_store(&caught.notify, NULL);
}
