/* SPDX-License-Identifier: BSD-3-Clause */
/* looker.c - the thread that looks, and for how long there is one. */
#include "collectives/cuda/looker.h"
#include "base/clock.h"
#include "base/thread.h"

static void *look_at_list(void *arg)
{
    struct jd_looker *looker = arg;
    pthread_mutex_lock(&looker->lock);
    while (looker->first) {
        jd__clock_wait(NULL, &looker->changed, &looker->lock,
                       jd__clock_now() + looker->seconds);
        looker->look_at_all(looker->first);
    }
    looker->is_running = false;
    pthread_cond_destroy(&looker->changed);
    pthread_mutex_unlock(&looker->lock);
    return NULL;
}

/* Locked. */
static bool start_thread(struct jd_looker *looker)
{
    pthread_t thread;
    jd__clock_init_condition(&looker->changed);
    if (jd__thread_start_detached(looker->thread, look_at_list, looker,
                                  &thread) == 0)
        return true;
    pthread_cond_destroy(&looker->changed);
    return false;
}

bool jd__looker_add(struct jd_looker *looker, struct jd_looked *looked)
{
    pthread_mutex_lock(&looker->lock);
    looked->next = looker->first;
    looker->first = looked;
    bool is_running = looker->is_running || start_thread(looker);
    looker->is_running = is_running;
    pthread_mutex_unlock(&looker->lock);
    return is_running;
}

void jd__looker_remove(struct jd_looker *looker, struct jd_looked *looked)
{
    pthread_mutex_lock(&looker->lock);
    struct jd_looked **link = &looker->first;
    while (looked && *link && *link != looked)
        link = &(*link)->next;
    *link = looked && *link ? looked->next : NULL;
    if (looker->is_running)
        pthread_cond_broadcast(&looker->changed);
    pthread_mutex_unlock(&looker->lock);
}
