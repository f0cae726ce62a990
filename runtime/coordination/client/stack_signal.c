/* SPDX-License-Identifier: BSD-3-Clause */
/* stack_signal.c - a stack taken by a signal. */
#include "runtime/coordination/client/stack_signal.h"
#include "base/clock.h"
#include "base/last_thread.h"
#include "base/log.h"
#include "base/text.h"
#include "runtime/recorder/site.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define TAKE_SECONDS 2
#define LINE_SECONDS 2 /* for all lines of a stack; the rest have none */

enum { MOST_FRAMES = 128, NAME_BYTES = 16 };

/* What nobody else sends for a reason of its own, or the program chooses. */
static const struct {
    int number;
    const char *name;
} allowed[] = {
    { SIGUSR1, "SIGUSR1" },   { SIGUSR2, "SIGUSR2" }, { SIGURG, "SIGURG" },
    { SIGWINCH, "SIGWINCH" }, { SIGIO, "SIGIO" },     { SIGPWR, "SIGPWR" },
    { SIGPROF, "SIGPROF" },
};

enum {
    NUM_ALLOWED = sizeof allowed / sizeof *allowed,
    PREFIX = sizeof "SIG" - 1,
};

/* ---- names -------------------------------------------------------------- */

/* -1: it is no number, or none of a signal. */
static int parse_digits(const char *text)
{
    size_t length = strspn(text, "0123456789");
    return length && length <= 3 && !text[length] ? atoi(text) : -1;
}

static bool is_meant(const char *text, int i)
{
    return strcasecmp(text, allowed[i].name) == 0 ||
           strcasecmp(text, allowed[i].name + PREFIX) == 0 ||
           parse_digits(text) == allowed[i].number;
}

/* "RTMIN+3", "SIGRTMIN+3" or its number; 0: it is none. */
static int parse_real_time(const char *text)
{
    int number = parse_digits(text);
    if (strncasecmp(text, "SIG", PREFIX) == 0)
        text += PREFIX;
    if (strcasecmp(text, "RTMIN") == 0)
        return SIGRTMIN;
    if (strncasecmp(text, "RTMIN+", 6) == 0 && parse_digits(text + 6) >= 0)
        number = SIGRTMIN + parse_digits(text + 6);
    return number >= SIGRTMIN && number <= SIGRTMAX ? number : 0;
}

jd_status jd__stack_signal_parse(const char *text, int *ret_number)
{
    int number = parse_real_time(text);
    for (int i = 0; i < NUM_ALLOWED && !number; i++)
        if (is_meant(text, i))
            number = allowed[i].number;
    if (!number)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "JD_STACK_SIGNAL is \"%s\", but it must be one of USR1, "
                       "USR2, URG, WINCH, IO, PWR, PROF and RTMIN to RTMIN+%d, "
                       "by name (USR2, SIGUSR2) or by number (%d); correct it "
                       "or leave it out",
                       text, SIGRTMAX - SIGRTMIN, SIGUSR2);
    *ret_number = number;
    return JD_OK;
}

static void print_name(int number, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "SIGRTMIN+%d", number - SIGRTMIN);
    for (int i = 0; i < NUM_ALLOWED; i++)
        if (allowed[i].number == number)
            snprintf(name, NAME_BYTES, "%s", allowed[i].name);
}

/* ---- in the handler ----------------------------------------------------- */

/* Of the process, because handlers are. */
static struct {
    pthread_mutex_t lock; /* of who takes, opens and closes */
    int number;           /* 0: closed */
    struct sigaction previous;
    bool has_said;    /* that the program has a handler of its own */
    atomic_int asked; /* the thread that is to write; 0: none */
    atomic_bool is_written;
    sem_t written; /* it has */
    void *frames[MOST_FRAMES];
    int num_frames;
    uintptr_t at; /* where it was interrupted; 0: not known */
} sample = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uintptr_t interrupted_at(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

/* backtrace() has been called before: it loads nothing, and takes no memory.
 * Nobody else's signal of this kind is answered. */
static void write_stack(int number, siginfo_t *info, void *context)
{
    int error = errno, asked = (int)syscall(SYS_gettid);
    (void)number, (void)info;
    if (atomic_compare_exchange_strong(&sample.asked, &asked, 0)) {
        sample.at = interrupted_at(context);
        sample.num_frames = backtrace(sample.frames, MOST_FRAMES);
        atomic_store(&sample.is_written, true);
        sem_post(&sample.written);
    }
    errno = error;
}

/* ---- life --------------------------------------------------------------- */

static bool is_function(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

/* The handler that is there now is this file's. */
static bool is_own(void)
{
    struct sigaction now;
    return sigaction(sample.number, NULL, &now) == 0 &&
           now.sa_flags & SA_SIGINFO && now.sa_sigaction == write_stack;
}

static void say_taken(int number)
{
    char name[NAME_BYTES];
    print_name(number, name);
    if (!sample.has_said)
        jd__log(JD_LOG_WARNING,
                "JD_STACK_SIGNAL is %s, for which this program has a handler "
                "of its own: no stack is taken by it; choose another, or leave "
                "it out",
                name);
    sample.has_said = true;
}

static void install_handler(int number)
{
    struct sigaction action = { .sa_flags = SA_RESTART | SA_SIGINFO };
    void *first[1];
    action.sa_sigaction = write_stack;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &sample.previous) != 0)
        return;
    if (is_function(&sample.previous)) {
        say_taken(number);
        return;
    }
    backtrace(first, 1); /* it loads libgcc */
    sem_init(&sample.written, 0, 0);
    if (sigaction(number, &action, NULL) == 0)
        sample.number = number;
}

void jd__stack_signal_open(int number)
{
    jd__last_thread_note();
    pthread_mutex_lock(&sample.lock);
    if (!sample.number)
        install_handler(number);
    pthread_mutex_unlock(&sample.lock);
}

void jd__stack_signal_close(void)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    pthread_mutex_lock(&sample.lock);
    if (sample.number && is_own()) {
        sigaction(sample.number, &ignore, NULL); /* drops what is pending */
        sigaction(sample.number, &sample.previous, NULL);
    }
    sample.number = 0;
    atomic_store(&sample.asked, 0);
    pthread_mutex_unlock(&sample.lock);
}

/* ---- to take ------------------------------------------------------------ */

static bool await_stack(void)
{
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += TAKE_SECONDS;
    while (sem_clockwait(&sample.written, CLOCK_MONOTONIC, &deadline) != 0)
        if (errno != EINTR)
            return false;
    return atomic_load(&sample.is_written);
}

/* With the lock. NULL: the frames are there. */
static const char *ask_thread(int thread)
{
    if (!sample.number)
        return "JD_STACK_SIGNAL has no handler in it";
    if (!is_own()) {
        say_taken(sample.number);
        return "the program has a handler of its own for JD_STACK_SIGNAL";
    }
    while (sem_trywait(&sample.written) == 0) /* of one who came too late */
        ;
    atomic_store(&sample.is_written, false);
    atomic_store(&sample.asked, thread);
    if (!thread || syscall(SYS_tgkill, getpid(), thread, sample.number) != 0) {
        atomic_store(&sample.asked, 0);
        return "the thread that has called jd last has ended";
    }
    if (await_stack())
        return NULL;
    int asked = thread;
    if (!atomic_compare_exchange_strong(&sample.asked, &asked, 0) &&
        await_stack())
        return NULL; /* it writes just now */
    return "the thread that has called jd last did not take JD_STACK_SIGNAL "
           "within 2 s: it blocks it, or is in the kernel";
}

/* The handler's own frames, and the kernel's behind it, come first. */
static int find_first(void)
{
    for (int i = 0; i < sample.num_frames; i++)
        if ((uintptr_t)sample.frames[i] == sample.at)
            return i;
    return sample.num_frames > 2 ? 2 : 0;
}

/* The first is where it stands, the others are what calls return to. */
static void print_frame(FILE *out, int number, void *frame, double until)
{
    const char *at = (const char *)frame + (number == 0);
    struct jd_site_text site = { "" };
    if (jd__clock_now() < until)
        site = jd__site_of(at);
    fprintf(out, "#%-2d %p %s\n", number, frame,
            site.text[0] ? site.text : "(not known)");
}

static char *print_stack(int thread)
{
    struct jd_text text;
    char name[NAME_BYTES];
    FILE *out = jd__text_begin(&text);
    int first = find_first();
    double until = jd__clock_now() + LINE_SECONDS;
    if (!out)
        return NULL;
    print_name(sample.number, name);
    fprintf(out,
            "Thread %d, which has called jd last, and no other: taken by %s "
            "(JD_STACK_SIGNAL), as no tool could read all\n",
            thread, name);
    for (int i = first; i < sample.num_frames; i++)
        print_frame(out, i - first, sample.frames[i], until);
    return jd__text_end(&text);
}

char *jd__stack_signal_take(const char **ret_why)
{
    int thread = jd__last_thread();
    pthread_mutex_lock(&sample.lock);
    *ret_why = ask_thread(thread);
    char *text = *ret_why ? NULL : print_stack(thread);
    if (!*ret_why && !text)
        *ret_why = "it has no memory for it";
    pthread_mutex_unlock(&sample.lock);
    return text;
}
