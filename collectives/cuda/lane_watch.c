/* SPDX-License-Identifier: BSD-3-Clause */
/* lane_watch.c - the thread that looks at how far GPUs are. */
#include "collectives/cuda/lane_watch.h"
#include "base/clock.h"
#include "base/thread.h"
#include "runtime/recorder/recorder.h"

#include <pthread.h>

#define ROUND_SECONDS 0.1
/* Between two looks at what a call waits for. */
#define LOOK_SECONDS 1.0
/* A round that is so late: the process was stopped. */
#define SLEPT_SECONDS 2.0

/* Of the process. */
static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    pthread_cond_t changed;
    /* Guarded by lock: */
    struct jd_lane_watch *first;
    bool is_running;
    double last_round;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

static void prepare_table(void)
{
    jd__clock_init_condition(&table.changed);
}

/* ---- looking ------------------------------------------------------------ */

static void begin_watch(struct jd_lane_watch *watch, uint64_t word, double now)
{
    watch->word = word;
    watch->since = now;
    watch->next_look = now + LOOK_SECONDS;
    watch->next_notice = 0;
}

static void look_at(struct jd_lane_watch *watch, double now, bool has_slept)
{
    uint64_t word = jd__lane_read(watch->lane);
    if (!word)
        return;
    jd__recorder_set_lane(watch->lane->number, word);
    if (word != watch->word || has_slept)
        begin_watch(watch, word, now);
    if (!jd__ring_lane_call(word) || now < watch->next_look)
        return;
    watch->next_look = now + LOOK_SECONDS;
    if (!watch->look(watch->arg, watch->since, word, &watch->next_notice))
        begin_watch(watch, word, now);
}

/* Locked. */
static void look_at_all(void)
{
    double now = jd__clock_now();
    bool has_slept = now - table.last_round > SLEPT_SECONDS;
    for (struct jd_lane_watch *at = table.first; at; at = at->next)
        look_at(at, now, has_slept);
    table.last_round = jd__clock_now();
}

static void *watch_all(void *unused)
{
    pthread_mutex_lock(&table.lock);
    table.last_round = jd__clock_now();
    while (table.first) {
        struct timespec until =
            jd__clock_timespec(jd__clock_now() + ROUND_SECONDS);
        pthread_cond_timedwait(&table.changed, &table.lock, &until);
        look_at_all();
    }
    table.is_running = false;
    pthread_mutex_unlock(&table.lock);
    return unused;
}

/* ---- who is looked at --------------------------------------------------- */

void jd__lane_watch_add(struct jd_lane_watch *watch,
                        const struct jd_cuda_lane *lane, jd_lane_look_f *look,
                        void *arg)
{
    pthread_t thread;
    if (!lane->number)
        return;
    *watch = (struct jd_lane_watch){ .lane = lane, .look = look, .arg = arg };
    pthread_once(&table.once, prepare_table);
    pthread_mutex_lock(&table.lock);
    watch->next = table.first;
    table.first = watch;
    if (!table.is_running)
        table.is_running = jd__thread_start_detached("jd-gpu-watch", watch_all,
                                                     NULL, &thread) == 0;
    pthread_mutex_unlock(&table.lock);
}

void jd__lane_watch_remove(struct jd_lane_watch *watch)
{
    pthread_once(&table.once, prepare_table);
    pthread_mutex_lock(&table.lock);
    struct jd_lane_watch **link = &table.first;
    while (*link && *link != watch)
        link = &(*link)->next;
    if (*link)
        *link = watch->next;
    pthread_cond_broadcast(&table.changed);
    pthread_mutex_unlock(&table.lock);
}

void jd__lane_watch_stop(void)
{
    pthread_once(&table.once, prepare_table);
    pthread_mutex_lock(&table.lock);
    table.first = NULL;
    pthread_cond_broadcast(&table.changed);
    pthread_mutex_unlock(&table.lock);
}
