/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stragglers.c - who makes the others wait: what processes tell with their
 * heartbeats of waits that have ended, by whom they were for, over the last
 * minute. A wait counts when it has ended.
 *
 * A process has caused as much as those who waited for it did, divided by how
 * many these were. One that has made them wait for more than a tenth of the
 * minute is said once, but not one that has waited for half as long itself:
 * where waiting is even each does, and who hands on what comes late from
 * another has waited for that one as long as the others for him.
 */
#include "base/log.h"
#include "base/majority.h"
#include "runtime/coordination/server/service_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE 60.0
#define SLOT (MINUTE / JD_MINUTE_SLOTS) /* seconds */
#define WORTH_SAYING (MINUTE / 10)
#define WORTH_WORDS 1 /* whose call is asked for its words */
/* Slots that are not judged yet: what a process has waited itself may come
 * later than what others have waited for it. */
#define TOO_NEW 2

static int64_t slot_of(double at)
{
    return (int64_t)floor(at / SLOT);
}

/* ---- a minute ----------------------------------------------------------- */

static void advance_minute(struct jd_minute *minute, int64_t slot)
{
    if (slot - minute->newest >= JD_MINUTE_SLOTS)
        memset(minute->slots, 0, sizeof minute->slots);
    else
        for (int64_t i = minute->newest + 1; i <= slot; i++)
            memset(&minute->slots[i % JD_MINUTE_SLOTS], 0,
                   sizeof minute->slots[0]);
    minute->newest = slot;
}

static struct jd_minute_slot *slot_at(struct jd_minute *minute, double now)
{
    int64_t slot = slot_of(now);
    if (slot > minute->newest)
        advance_minute(minute, slot);
    return &minute->slots[minute->newest % JD_MINUTE_SLOTS];
}

/* Of the slots of the minute but that many of the newest. The number of those
 * who waited is the highest of a slot: they are the same in each. */
static struct jd_minute_slot sum_of_minute(const struct jd_minute *minute,
                                           double now, int too_new)
{
    struct jd_minute_slot all = { 0, 0, 0 };
    int64_t current = slot_of(now);
    for (int64_t i = current - JD_MINUTE_SLOTS + 1; i <= current - too_new;
         i++) {
        if (i > minute->newest || i <= minute->newest - JD_MINUTE_SLOTS ||
            i < 0)
            continue;
        const struct jd_minute_slot *slot = &minute->slots[i % JD_MINUTE_SLOTS];
        all.caused += slot->caused;
        all.waited += slot->waited;
        all.waiters = slot->waiters > all.waiters ? slot->waiters : all.waiters;
    }
    return all;
}

struct jd_minute_sum jd__stragglers_sum(const struct jd_service *service,
                                        const struct jd_service_process *member)
{
    struct jd_minute_slot all = sum_of_minute(&member->minute, service->now, 0);
    int waiters = all.waiters ? all.waiters : 1;
    return (struct jd_minute_sum){
        .caused = fmin(all.caused / waiters, MINUTE),
        .waited = fmin(all.waited, MINUTE),
        .waiters = all.waiters,
    };
}

/* ---- what is told ------------------------------------------------------- */

static void vote_for_site(struct jd_service_process *culprit, uint64_t site,
                          double seconds)
{
    bool is_own = culprit->waited_in == site;
    if (jd__majority_loses(&culprit->waited_in_lead, is_own, seconds))
        culprit->waited_in = site;
}

/* What was long ago weighs less, in a minute a third. */
static void fade_vote(struct jd_service_process *culprit, double now)
{
    int64_t slots = slot_of(now) - culprit->minute.newest;
    if (slots > 0)
        culprit->waited_in_lead *=
            pow(1 - 1.0 / JD_MINUTE_SLOTS, (double)slots);
}

/* Whether the teller names it for the first time in this slot; of many that it
 * names in turn some count twice. */
static bool is_new(struct jd_service_process *teller, int culprit, double now)
{
    if (teller->named_in != slot_of(now))
        teller->num_named = 0;
    teller->named_in = slot_of(now);
    for (unsigned i = 0; i < teller->num_named && i < JD_MINUTE_NAMED; i++)
        if (teller->named[i] == culprit)
            return false;
    teller->named[teller->num_named++ % JD_MINUTE_NAMED] = culprit;
    return true;
}

/* What lasted longer than the minute counts as one. */
static double to_seconds(uint64_t microseconds)
{
    return fmin((double)microseconds / 1e6, MINUTE);
}

static void take_entry(struct jd_service *service,
                       struct jd_service_process *teller,
                       const Jd__Waited *waited)
{
    double seconds = to_seconds(waited->waited_us);
    if (waited->process >= (uint32_t)service->count ||
        waited->process == (uint32_t)teller->index || seconds <= 0)
        return;
    struct jd_service_process *culprit = &service->members[waited->process];
    fade_vote(culprit, service->now);
    struct jd_minute_slot *slot = slot_at(&culprit->minute, service->now);
    slot->caused += seconds;
    if (is_new(teller, culprit->index, service->now) &&
        slot->waiters < service->count - 1)
        slot->waiters++;
    uint64_t site = jd__sites_take(service, waited);
    vote_for_site(culprit, site, seconds);
    if (culprit->waited_in == site &&
        jd__stragglers_sum(service, culprit).caused >= WORTH_WORDS)
        jd__sites_want(service, site, teller);
    service->waits_told = service->now;
    if (service->stragglers_due <= 0)
        service->stragglers_due =
            SLOT * (double)(slot_of(service->now) + TOO_NEW);
}

void jd__stragglers_on_heartbeat(struct jd_service *service,
                                 struct jd_service_process *teller,
                                 const Jd__Heartbeat *heartbeat)
{
    size_t count = heartbeat->n_waited;
    slot_at(&teller->minute, service->now)->waited +=
        to_seconds(heartbeat->waited_us);
    for (size_t i = 0; i < count && i < JD_MINUTE_NAMED; i++)
        take_entry(service, teller, heartbeat->waited[i]);
}

/* ---- what is said ------------------------------------------------------- */

static bool is_straggler(const struct jd_service *service,
                         const struct jd_service_process *member)
{
    struct jd_minute_slot old =
        sum_of_minute(&member->minute, service->now, TOO_NEW);
    struct jd_minute_slot all = sum_of_minute(&member->minute, service->now, 0);
    return old.waiters && old.caused / old.waiters > WORTH_SAYING &&
           old.caused / old.waiters > 2 * all.waited;
}

static void say_straggler(const struct jd_service *service,
                          const struct jd_service_process *member)
{
    struct jd_minute_sum all = jd__stragglers_sum(service, member);
    const char *words = jd__sites_words(service, member->waited_in);
    jd__log(JD_LOG_INFO,
            "process %d (%s, pid %u on %s) makes others wait: %d for %.3g s "
            "each of the last minute%s%s; jd-info --job shows what it does",
            member->index, member->program, (unsigned)member->pid,
            jd__processes_host(service, member), all.waiters, all.caused,
            words[0] ? ", most of it in " : "", words);
}

static void judge_members(struct jd_service *service)
{
    for (int i = 0; i < service->count; i++) {
        struct jd_service_process *member = &service->members[i];
        if (member->is_said_to_straggle || !jd__processes_is_alive(member) ||
            !is_straggler(service, member))
            continue;
        member->is_said_to_straggle = true;
        say_straggler(service, member);
    }
}

double jd__stragglers_tick(struct jd_service *service)
{
    if (service->stragglers_due <= 0)
        return INFINITY;
    if (service->now < service->stragglers_due)
        return service->stragglers_due;
    judge_members(service);
    int64_t last = slot_of(service->waits_told) + TOO_NEW;
    bool is_over = last <= slot_of(service->now);
    service->stragglers_due = is_over ? 0 : SLOT * (double)last;
    return is_over ? INFINITY : service->stragglers_due;
}
