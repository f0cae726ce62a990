/* SPDX-License-Identifier: BSD-3-Clause */
/* watchdog.c - a deadline over calls that have none. */
#include "runtime/process/watchdog.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "base/process_exit.h"
#include "base/text.h"
#include "base/thread.h"
#include "runtime/process/proc_peers.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct jd_watchdog {
    struct jd_watchdog_spec spec;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock: */
    const struct jd_cluster *cluster;
    int step;
    bool stopped;
    bool has_looked; /* in this step, shortly before the deadline */
    /* of the thread alone: */
    double begin;
    double next_notice; /* seconds after begin; negative: never */
    char *seen;         /* what was to be seen then; NULL without memory */
};

#define LOOK_BEFORE 1.0 /* seconds before the deadline, a tenth of it at most  \
                         */

/* Who wakes so many seconds late was stopped, or the whole machine was: then
 * those who have waited are given a moment to say why, as they know more. */
#define STOOD_STILL 1.0
#define MOMENT 1.0

/* All that can be on other hosts are not known to be here. */
static bool may_span_hosts(const struct jd_cluster *cluster)
{
    return !cluster || !cluster->local_num_processes.known ||
           !cluster->num_processes.known ||
           cluster->local_num_processes.value < cluster->num_processes.value;
}

/* Of the other processes, and what to try; malloc'ed; NULL without memory. */
static char *describe_others(const struct jd_watchdog *dog)
{
    const struct jd_phases *phases = dog->spec.phases;
    const char *hint =
        phases->step_hints ? phases->step_hints[dog->step] : NULL;
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    jd__proc_peers_print(out, phases, dog->spec.env, dog->cluster);
    if (hint && may_span_hosts(dog->cluster))
        fprintf(out, "; %s", hint);
    jd__option_table_print_unknown(out, dog->spec.env);
    return jd__text_end(&text);
}

/* The sentence about the wait, malloc'ed; NULL without memory. */
static char *describe_start(const struct jd_watchdog *dog, double waited,
                            const char *seen)
{
    const struct jd_watchdog_spec *spec = &dog->spec;
    const struct jd_phases *phases = spec->phases;
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    fprintf(out, "%s has waited %.3g s", phases->operation, waited);
    if (phases->num_steps > 1)
        fprintf(out, " in %s, its step %d of %d",
                phases->step_names[dog->step], dog->step + 1,
                phases->num_steps);
    fputs(seen ? seen : "", out);
    return jd__text_end(&text);
}

/* The lowest waiting process of a host speaks for it. */
static bool is_speaker(const struct jd_watchdog *dog)
{
    int lowest =
        jd__proc_peers_lowest(dog->spec.phases, dog->spec.env, dog->cluster);
    return lowest < 0 || lowest == dog->cluster->process_id.value;
}

static void notice_start(struct jd_watchdog *dog, double waited)
{
    dog->next_notice *= 2;
    if (!is_speaker(dog))
        return;
    char *seen = describe_others(dog);
    char *text = describe_start(dog, waited, seen);
    free(seen);
    jd__log(JD_LOG_WARNING, "%s; it gives up after %.3g s (%s)",
            text ? text : dog->spec.phases->operation, dog->spec.timeout,
            dog->spec.variable);
    free(text);
}

/* Others that give up at the same time are then still to be seen waiting, not
 * ended or ending. */
static void look_early(struct jd_watchdog *dog)
{
    free(dog->seen);
    dog->seen = describe_others(dog);
    dog->has_looked = true;
}

static void give_up(struct jd_watchdog *dog, double waited)
{
    char *text = describe_start(dog, waited, dog->seen);
    jd__log(JD_LOG_ERROR,
            "%s; the deadline was %.3g s (%s changes it): this process ends "
            "with exit code 1",
            text ? text : dog->spec.phases->operation, dog->spec.timeout,
            dog->spec.variable);
    jd__process_exit_now(1);
}

/* The next moment, in seconds after begin: a notice, the look before the
 * deadline, the deadline. */
static double next_event(const struct jd_watchdog *dog)
{
    double timeout = dog->spec.timeout;
    double next =
        dog->has_looked ? timeout : timeout - fmin(LOOK_BEFORE, 0.1 * timeout);
    bool notice_first = dog->next_notice >= 0 && dog->next_notice < next;
    return dog->begin + (notice_first ? dog->next_notice : next);
}

static void name_thread(const struct jd_watchdog *dog)
{
    char name[16];
    snprintf(name, sizeof name, "%s%d", dog->spec.phases->thread_name,
             dog->step);
    pthread_setname_np(dog->thread, name);
}

/* The time in which nothing ran is nobody's fault, and does not count. */
static void excuse_standstill(struct jd_watchdog *dog, double late)
{
    if (late > STOOD_STILL)
        dog->begin += late + MOMENT;
}

static void *watch_start(void *arg)
{
    struct jd_watchdog *dog = arg;
    const struct jd_clock *clock = dog->spec.clock;
    pthread_mutex_lock(&dog->lock);
    while (!dog->stopped) {
        double next = next_event(dog);
        jd__clock_wait(clock, &dog->changed, &dog->lock, next);
        excuse_standstill(dog, jd__clock_read(clock) - next);
        double now = jd__clock_read(clock), waited = now - dog->begin;
        if (dog->stopped || now < next_event(dog))
            continue;
        bool is_notice = dog->next_notice >= 0 && waited >= dog->next_notice &&
                         waited < dog->spec.timeout;
        if (is_notice)
            notice_start(dog, waited);
        else if (!dog->has_looked)
            look_early(dog);
        if (waited >= dog->spec.timeout)
            give_up(dog, waited);
    }
    pthread_mutex_unlock(&dog->lock);
    return NULL;
}

jd_status jd__watchdog_start(const struct jd_watchdog_spec *spec,
                             struct jd_watchdog **ret_watchdog)
{
    struct jd_watchdog *dog = calloc(1, sizeof *dog);
    if (!dog)
        return jd__fail_no_memory(spec->phases->operation, sizeof *dog);
    dog->spec = *spec;
    dog->begin = jd__clock_read(spec->clock);
    dog->next_notice = spec->notice;
    pthread_mutex_init(&dog->lock, NULL);
    jd__clock_init_condition(&dog->changed);
    int error = jd__thread_start(&dog->thread, watch_start, dog);
    if (error) {
        free(dog);
        return jd_fail(JD_RESOURCE_EXHAUSTED,
                       "%s: no thread can be made: %s; raise the limit of "
                       "processes (ulimit -u)",
                       spec->phases->operation, strerror(error));
    }
    name_thread(dog);
    *ret_watchdog = dog;
    return JD_OK;
}

void jd__watchdog_step(struct jd_watchdog *dog, int step)
{
    pthread_mutex_lock(&dog->lock);
    dog->step = step;
    dog->has_looked = false;
    name_thread(dog);
    pthread_mutex_unlock(&dog->lock);
}

void jd__watchdog_set_cluster(struct jd_watchdog *dog,
                              const struct jd_cluster *cluster)
{
    pthread_mutex_lock(&dog->lock);
    dog->cluster = cluster;
    pthread_mutex_unlock(&dog->lock);
}

void jd__watchdog_stop(struct jd_watchdog *dog)
{
    if (!dog)
        return;
    pthread_mutex_lock(&dog->lock);
    dog->stopped = true;
    pthread_cond_signal(&dog->changed);
    pthread_mutex_unlock(&dog->lock);
    pthread_join(dog->thread, NULL);
    pthread_cond_destroy(&dog->changed);
    pthread_mutex_destroy(&dog->lock);
    free(dog->seen);
    free(dog);
}
