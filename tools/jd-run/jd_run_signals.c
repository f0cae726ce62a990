/* SPDX-License-Identifier: BSD-3-Clause */
/* jd_run_signals.c - signals as something to read, so that nothing happens
 * at any moment but in the loop. */
#include "base/clock.h"
#include "tools/jd-run/jd_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const struct {
    int number;
    bool is_passed_on;
    const char *name;
} known[] = {
    { SIGINT, true, "SIGINT" },    { SIGTERM, true, "SIGTERM" },
    { SIGHUP, true, "SIGHUP" },    { SIGQUIT, true, "SIGQUIT" },
    { SIGUSR1, true, "SIGUSR1" },  { SIGUSR2, true, "SIGUSR2" },
    { SIGTSTP, true, "SIGTSTP" },  { SIGCONT, true, "SIGCONT" },
    { SIGKILL, false, "SIGKILL" }, { SIGABRT, false, "SIGABRT" },
    { SIGSEGV, false, "SIGSEGV" }, { SIGBUS, false, "SIGBUS" },
    { SIGFPE, false, "SIGFPE" },   { SIGILL, false, "SIGILL" },
    { SIGPIPE, false, "SIGPIPE" }, { SIGALRM, false, "SIGALRM" },
    { SIGTRAP, false, "SIGTRAP" }, { SIGSYS, false, "SIGSYS" },
    { SIGXCPU, false, "SIGXCPU" }, { SIGXFSZ, false, "SIGXFSZ" },
};

enum { NUM_KNOWN = sizeof known / sizeof *known };

/* What jd-run was started with as ignored (nohup, a background job of a
 * script) its processes ignore too. */
static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 &&
           action.sa_handler == SIG_IGN;
}

jd_status run_signals_take(struct run_signals *signals)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (int i = 0; i < NUM_KNOWN; i++)
        if (known[i].is_passed_on && !is_ignored(known[i].number))
            sigaddset(&set, known[i].number);
    /* Children of a process that ignores SIGCHLD leave no status; a reader
     * that has gone is an error of write(), not the end of jd-run. */
    sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_DFL },
              &signals->child);
    sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN },
              &signals->pipe);
    sigprocmask(SIG_BLOCK, &set, &signals->mask);
    signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals->fd < 0)
        return jd_fail(JD_INTERNAL, "signalfd: %s", strerror(errno));
    return JD_OK;
}

void run_signals_restore(const struct run_signals *signals)
{
    sigaction(SIGCHLD, &signals->child, NULL);
    sigaction(SIGPIPE, &signals->pipe, NULL);
    sigprocmask(SIG_SETMASK, &signals->mask, NULL);
}

bool run_signals_next(const struct run_signals *signals,
                      struct signalfd_siginfo *ret_info)
{
    return read(signals->fd, ret_info, sizeof *ret_info) ==
           (ssize_t)sizeof *ret_info;
}

/* By SIGTSTP and not SIGSTOP: the kernel then leaves jd-run running where it
 * leaves its processes running, in a group that nobody could continue. */
double run_signals_stop(void)
{
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    double before = jd__clock_now();
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, NULL);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    return jd__clock_now() - before;
}

const char *run_signal_name(int number)
{
    static char text[32];
    for (int i = 0; i < NUM_KNOWN; i++)
        if (known[i].number == number)
            return known[i].name;
    snprintf(text, sizeof text, "signal %d", number);
    return text;
}
