/* SPDX-License-Identifier: BSD-3-Clause */
/* loop.c - the background thread. */
#include "base/log.h"
#include "base/process_exit.h"
#include "base/thread.h"
#include "runtime/coordination/net/loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

struct job {
    struct job *next;
    jd_loop_f function;
    void *arg;
};

struct jd_loop {
    struct event_base *base;
    struct event *wake_event;
    int wake_fd;
    ino_t wake_inode; /* to see whether it is still the same */
    char name[16];
    pid_t pid; /* a forked child has no such thread, and may close what it is */
    bool is_running;
    bool is_stopped; /* asked for; of the loop's thread */
    pthread_t thread;
    pthread_mutex_t lock;
    struct job *first; /* under the lock, as the rest */
    struct job **last;
};

/* ---- where it cannot go on ---------------------------------------------- */

static void end_process(const struct jd_loop *loop, const char *why)
{
    if (getpid() != loop->pid)
        return;
    jd__log(JD_LOG_ERROR,
            "the background thread %s cannot go on: %s; has something in this "
            "process closed file descriptors that it had not opened (a loop "
            "over all of them, a close() too many)? This process ends with "
            "exit code 1",
            loop->name, why);
    jd__process_exit_now(1);
}

void jd__loop_check(const struct jd_loop *loop)
{
    struct stat is;
    if (fstat(loop->wake_fd, &is) != 0)
        end_process(loop, "its eventfd is closed");
    else if (is.st_ino != loop->wake_inode)
        end_process(loop, "its eventfd is closed, and another file has its "
                          "number");
}

/* ---- on the loop's thread ----------------------------------------------- */

static struct job *take_jobs(struct jd_loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    struct job *jobs = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    pthread_mutex_unlock(&loop->lock);
    return jobs;
}

static void run_jobs(struct jd_loop *loop)
{
    struct job *job = take_jobs(loop);
    while (job) {
        struct job *next = job->next;
        job->function(job->arg);
        free(job);
        job = next;
    }
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    uint64_t count;
    (void)what;
    if (read(fd, &count, sizeof count) < 0 && errno != EAGAIN)
        return;
    run_jobs(arg);
}

static void *run_loop(void *arg)
{
    struct jd_loop *loop = arg;
    pthread_setname_np(pthread_self(), loop->name);
    event_base_dispatch(loop->base);
    if (!loop->is_stopped)
        end_process(loop, "waiting for its connections fails (epoll_wait)");
    return NULL;
}

/* ---- from any thread ---------------------------------------------------- */

bool jd__loop_call(struct jd_loop *loop, jd_loop_f function, void *arg)
{
    static const uint64_t one = 1;
    struct job *job = malloc(sizeof *job);
    if (!job)
        return false;
    *job = (struct job){ NULL, function, arg };
    pthread_mutex_lock(&loop->lock);
    bool was_empty = !loop->first;
    *loop->last = job;
    loop->last = &job->next;
    pthread_mutex_unlock(&loop->lock);
    /* An eventfd takes 2^64 - 2 wakes before a write would fail. */
    if (was_empty && write(loop->wake_fd, &one, sizeof one) != sizeof one)
        end_process(loop, "it cannot be woken");
    return true;
}

struct errand {
    jd_loop_f function;
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool is_done;
};

static void run_errand(void *arg)
{
    struct errand *errand = arg;
    errand->function(errand->arg);
    pthread_mutex_lock(&errand->lock);
    errand->is_done = true;
    pthread_cond_signal(&errand->done);
    pthread_mutex_unlock(&errand->lock);
}

/* Without a deadline: nothing on the loop blocks, and only this process's end
 * ends the thread. */
bool jd__loop_run(struct jd_loop *loop, jd_loop_f function, void *arg)
{
    struct errand errand = { function, arg, PTHREAD_MUTEX_INITIALIZER,
                             PTHREAD_COND_INITIALIZER, false };
    if (!loop->is_running) {
        function(arg);
        return true;
    }
    if (!jd__loop_call(loop, run_errand, &errand))
        return false;
    pthread_mutex_lock(&errand.lock);
    while (!errand.is_done)
        pthread_cond_wait(&errand.done, &errand.lock);
    pthread_mutex_unlock(&errand.lock);
    pthread_cond_destroy(&errand.done);
    pthread_mutex_destroy(&errand.lock);
    return true;
}

static void do_nothing(void *unused)
{
    (void)unused;
}

/* What can be read is seen in the turn of the first errand at the latest, and
 * handled before the second; then the service's answer to its own process can
 * be read, and is handled before the third. */
void jd__loop_catch_up(struct jd_loop *loop)
{
    enum { TURNS = 3 };
    for (int i = 0; i < TURNS; i++)
        jd__loop_run(loop, do_nothing, NULL);
}

bool jd__loop_is_current(const struct jd_loop *loop)
{
    return loop->is_running && pthread_equal(loop->thread, pthread_self());
}

struct event_base *jd__loop_base(const struct jd_loop *loop)
{
    return loop->base;
}

/* ---- life --------------------------------------------------------------- */

static jd_status fail_thread(const char *call, int error)
{
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "the background thread cannot start: %s failed: %s", call,
                   strerror(error));
}

/* Without precise timers: those are a descriptor, and once it is closed the
 * loop sleeps for ever. */
static struct event_base *create_base(void)
{
    struct event_config *config = event_config_new();
    if (!config)
        return NULL;
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    event_config_set_flag(config, EVENT_BASE_FLAG_IGNORE_ENV);
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

static jd_status open_loop(struct jd_loop *loop)
{
    struct stat is;
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->wake_fd < 0 || fstat(loop->wake_fd, &is) != 0)
        return fail_thread("eventfd", errno);
    loop->wake_inode = is.st_ino;
    loop->base = create_base();
    if (!loop->base)
        return fail_thread("event_base_new_with_config", errno);
    loop->wake_event = event_new(loop->base, loop->wake_fd,
                                 EV_READ | EV_PERSIST, on_wake, loop);
    if (!loop->wake_event || event_add(loop->wake_event, NULL) != 0)
        return fail_thread("event_add", ENOMEM);
    return JD_OK;
}

jd_status jd__loop_create(const char *thread_name, struct jd_loop **ret_loop)
{
    struct jd_loop *loop = calloc(1, sizeof *loop);
    if (!loop)
        return jd__fail_no_memory("the background thread", sizeof *loop);
    pthread_mutex_init(&loop->lock, NULL);
    loop->pid = getpid();
    loop->last = &loop->first;
    loop->wake_fd = -1;
    snprintf(loop->name, sizeof loop->name, "%s", thread_name);
    jd_status status = open_loop(loop);
    if (status == JD_OK)
        *ret_loop = loop;
    else
        jd__loop_destroy(loop);
    return status;
}

jd_status jd__loop_start(struct jd_loop *loop)
{
    loop->is_running = true; /* before the thread looks */
    int error = jd__thread_start(&loop->thread, run_loop, loop);
    if (error == 0)
        return JD_OK;
    loop->is_running = false;
    return fail_thread("pthread_create", error);
}

static void stop_loop(void *arg)
{
    struct jd_loop *loop = arg;
    loop->is_stopped = true;
    event_base_loopbreak(loop->base);
}

void jd__loop_destroy(struct jd_loop *loop)
{
    if (!loop)
        return;
    if (loop->is_running) {
        while (!jd__loop_call(loop, stop_loop, loop))
            sched_yield(); /* memory is short: somebody frees some */
        pthread_join(loop->thread, NULL);
    }
    run_jobs(loop);
    if (loop->wake_event)
        event_free(loop->wake_event);
    if (loop->base)
        event_base_free(loop->base);
    if (loop->wake_fd >= 0)
        close(loop->wake_fd);
    pthread_mutex_destroy(&loop->lock);
    free(loop);
}
