/* SPDX-License-Identifier: BSD-3-Clause */
/* lane_watch.c - the thread that looks at how far GPUs are. */
#include "collectives/cuda/lane_watch.h"
#include "base/clock.h"
#include "runtime/recorder/recorder.h"

#define ROUND_SECONDS 0.1
/* Between two looks at what a call waits for. */
#define LOOK_SECONDS 1.0
/* A round that is so late: the process was stopped. */
#define SLEPT_SECONDS 2.0

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

/* Locked. What the first round takes for a sleep begins with it anyway. */
static void look_at_all(struct jd_looked *first)
{
    static double last_round;
    double now = jd__clock_now();
    bool has_slept = now - last_round > SLEPT_SECONDS;
    for (struct jd_looked *at = first; at; at = at->next)
        look_at((struct jd_lane_watch *)at, now, has_slept);
    last_round = jd__clock_now();
}

static struct jd_looker looker =
    JD_LOOKER("jd-gpu-watch", ROUND_SECONDS, look_at_all);

/* ---- who is looked at --------------------------------------------------- */

void jd__lane_watch_add(struct jd_lane_watch *watch,
                        const struct jd_cuda_lane *lane, jd_lane_look_f *look,
                        void *arg)
{
    if (!lane->number)
        return;
    *watch = (struct jd_lane_watch){ .lane = lane, .look = look, .arg = arg };
    jd__looker_add(&looker, &watch->looked);
}

void jd__lane_watch_remove(struct jd_lane_watch *watch)
{
    jd__looker_remove(&looker, &watch->looked);
}

void jd__lane_watch_stop(void)
{
    jd__looker_remove(&looker, NULL);
}
