/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preemption.h - for the tests of preemption*.c, which are built from these
 * files: what stands in for the agent, the runtime and the ending, and
 * helpers. Their clock, set_clock, stands still: who waits by it for 30 s
 * without need never returns. One source of a program includes it.
 */
#ifndef TESTS_UNIT_PREEMPTION_H
#define TESTS_UNIT_PREEMPTION_H

#include "base/process_exit.h"
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/preemption/preemption.h"
#include "jd_coordination.h"
#include "jd_multihost.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/coordination/net/loop.h"
#include "runtime/process/runtime.h"
#include "tests/unit/set_clock.h"
#include "tests/unit/threads.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what stands in for the rest ---------------------------------------- */

/* The last message of each kind, and how many there were. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int preempted, steps, acknowledged;
    uint64_t round;
    int64_t step;
    bool is_offline;
    int refused;
} told = { .lock = PTHREAD_MUTEX_INITIALIZER,
           .changed = PTHREAD_COND_INITIALIZER };

static struct jd_client client; /* without a loop: a world of one */
static atomic_bool has_failed;

struct jd_loop *jd__client_loop(struct jd_client *c)
{
    return c->loop;
}

static inline void note(const Jd__Message *message)
{
    switch (message->body_case) {
    case JD__MESSAGE__BODY_PREEMPTED:
        told.preempted++;
        break;
    case JD__MESSAGE__BODY_STEP:
        told.steps++;
        told.round = message->step->round;
        told.step = message->step->step;
        break;
    case JD__MESSAGE__BODY_ACKNOWLEDGE:
        told.acknowledged++;
        told.round = message->acknowledge->round;
        break;
    default:
        abort();
    }
}

bool jd__client_tell(struct jd_client *c, const Jd__Message *message)
{
    (void)c;
    pthread_mutex_lock(&told.lock);
    bool is_told = !told.is_offline;
    if (is_told)
        note(message);
    else
        told.refused++;
    pthread_cond_broadcast(&told.changed);
    pthread_mutex_unlock(&told.lock);
    return is_told;
}

void jd__process_exit_now(int code)
{
    _exit(code);
}

bool jd__failure_exit_has_begun(void)
{
    return atomic_load(&has_failed);
}

jd_status jd__runtime_get(const struct jd_runtime **ret_runtime,
                          const char *operation)
{
    *ret_runtime = NULL;
    return jd_fail(JD_FAILED_PRECONDITION, "%s: no runtime", operation);
}

static const double longest_wait = 30; /* seconds, of polls and stops */

/* ---- worlds ------------------------------------------------------------- */

/* Check has a handler of its own, which tests inherit. */
static inline void take_default(void)
{
    signal(SIGTERM, SIG_DFL);
}

static inline void stop(void)
{
    jd__preemption_stop();
    jd__loop_destroy(client.loop);
    client.loop = NULL;
}

static inline void send_signal(void)
{
    ck_assert_int_eq(kill(getpid(), SIGTERM), 0);
}

/* How the child ends. */
static inline int run_in_child(void (*function)(void))
{
    int status;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        function();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

static inline void expect_killed(void (*function)(void))
{
    int status = run_in_child(function);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGTERM);
}

static inline void expect_exited(void (*function)(void))
{
    int status = run_in_child(function);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}

/* ---- the handler -------------------------------------------------------- */

static inline struct sigaction current_action(int number)
{
    struct sigaction action;
    ck_assert_int_eq(sigaction(number, NULL, &action), 0);
    return action;
}

static inline bool is_installed(int number)
{
    return current_action(number).sa_flags & SA_SIGINFO;
}

/* ---- a callback --------------------------------------------------------- */

struct visit {
    sem_t called, go_on;
    atomic_int count;
    pthread_t thread;
    sigset_t mask;
};

static inline void visit(void *arg)
{
    struct visit *v = arg;
    v->thread = pthread_self();
    pthread_sigmask(SIG_SETMASK, NULL, &v->mask);
    atomic_fetch_add(&v->count, 1);
    sem_post(&v->called);
}

static inline void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        ;
}

static inline void visit_init(struct visit *v)
{
    memset(v, 0, sizeof *v);
    sem_init(&v->called, 0, 0);
    sem_init(&v->go_on, 0, 0);
}

/* The kernel shows them a moment longer. */
static inline void await_no_thread(void)
{
    while (count_threads() > 0)
        sched_yield();
}

/* ---- standard error ----------------------------------------------------- */

/* Standard error goes into a file; gives what was there. */
static inline FILE *catch_stderr(int *ret_old)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    *ret_old = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    return file;
}

static inline void release_stderr(FILE *file, int old, char *text, size_t size)
{
    dup2(old, STDERR_FILENO);
    close(old);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

#endif
