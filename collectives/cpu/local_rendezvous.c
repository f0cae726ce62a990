/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * local_rendezvous.c - where a process's members of a communicator-to-be come
 * together.
 */
#include "base/clock.h"
#include "base/ranges.h"
#include "base/standing.h"
#include "base/text.h"
#include "collectives/cpu/local_rendezvous.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_SLEEP 0.001 /* MPI must not be left alone for longer */

static struct {
    pthread_mutex_t lock;
    struct jd_rendezvous *parties;
} rendezvous = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Broadcast at each change. */
static pthread_cond_t change;

static void init_change(void)
{
    jd__clock_init_condition(&change);
}

/* ---- who is there; all with the lock ------------------------------------ */

static void link_party(struct jd_rendezvous *party)
{
    party->state = JD_RENDEZVOUS_WAITING;
    party->sentence = NULL;
    party->next = rendezvous.parties;
    rendezvous.parties = party;
}

static void unlink_party(struct jd_rendezvous *party)
{
    struct jd_rendezvous **at = &rendezvous.parties;
    while (*at != party)
        at = &(*at)->next;
    *at = party->next;
}

/* Of one's own platform, and of those who come for the like of it. */
static bool is_akin(const struct jd_rendezvous *a,
                    const struct jd_rendezvous *other)
{
    return a->platform == other->platform && a->is_started == other->is_started;
}

static struct jd_rendezvous *find_device(const struct jd_rendezvous *party,
                                         int device)
{
    struct jd_rendezvous *a = rendezvous.parties;
    while (a && (!is_akin(a, party) || a->device != device))
        a = a->next;
    return a;
}

static bool has_same_digest(const struct jd_rendezvous *a,
                            const struct jd_rendezvous *other)
{
    return a->digest == other->digest;
}

static int count_present(const struct jd_rendezvous *party)
{
    int count = 0;
    for (struct jd_rendezvous *a = rendezvous.parties; a; a = a->next)
        count += has_same_digest(a, party);
    return count;
}

static bool expects_device(const struct jd_rendezvous *party,
                           const struct jd_rendezvous *other)
{
    for (int i = 0; i < party->num_devices; i++)
        if (is_akin(party, other) && party->devices[i] == other->device)
            return true;
    return false;
}

/* One who waits for this one, and for whom this one waits, with another
 * description: neither can come to the other any more. */
static struct jd_rendezvous *find_conflict(const struct jd_rendezvous *party)
{
    for (struct jd_rendezvous *a = rendezvous.parties; a; a = a->next)
        if (!has_same_digest(a, party) && a->state == JD_RENDEZVOUS_WAITING &&
            expects_device(a, party) && expects_device(party, a))
            return a;
    return NULL;
}

/* Ends the waits of all who belong to one; with a failure, this thread's
 * sentence becomes theirs. */
static void end_all(const struct jd_rendezvous *one, jd_status status)
{
    uint64_t digest = one->digest;
    for (struct jd_rendezvous *a = rendezvous.parties, *next; a; a = next) {
        next = a->next;
        if (a->digest != digest)
            continue;
        a->sentence = status == JD_OK ? NULL : strdup(jd_error_message());
        a->status = status;
        a->state = JD_RENDEZVOUS_DONE;
        unlink_party(a);
    }
    pthread_cond_broadcast(&change);
}

/* ---- coming ------------------------------------------------------------- */

static jd_status fail_busy(const struct jd_rendezvous *party,
                           const struct jd_rendezvous *other)
{
    const struct jd_wait *wait = party->wait;
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s%s: device %d of process %d is in the first collective "
                   "of another mesh (%s) on another thread; call the "
                   "collectives of a device from one thread at a time",
                   wait->operation, wait->detail ? wait->detail : "",
                   party->device, wait->self, other->desc);
}

static void refuse_conflict(struct jd_rendezvous *party,
                            struct jd_rendezvous *other)
{
    const struct jd_wait *wait = party->wait;
    jd_fail(
        JD_INVALID_ARGUMENT,
        "%s: device %d of process %d comes with a mesh %s, device %d of "
        "the same process with a mesh %s; all devices of a mesh must use it "
        "with the same axes, and use their meshes in the same order",
        wait->operation, party->device, wait->self, party->desc, other->device,
        other->desc);
    end_all(party, JD_INVALID_ARGUMENT);
    end_all(other, JD_INVALID_ARGUMENT);
}

static void take_all(const struct jd_rendezvous *speaker)
{
    for (struct jd_rendezvous *a = rendezvous.parties; a; a = a->next)
        if (has_same_digest(a, speaker))
            a->state = JD_RENDEZVOUS_TAKEN;
}

/* ---- waiting ------------------------------------------------------------ */

/* The devices that have not come, sorted; NULL without memory. */
static int *list_missing(const struct jd_rendezvous *party, int *ret_count)
{
    int *missing = malloc((size_t)party->num_devices * sizeof *missing);
    int count = 0;
    for (int i = 0; missing && i < party->num_devices; i++) {
        struct jd_rendezvous *a = find_device(party, party->devices[i]);
        if (!a || !has_same_digest(a, party))
            missing[count++] = party->devices[i];
    }
    if (count)
        qsort(missing, (size_t)count, sizeof *missing, jd__ranges_compare);
    *ret_count = count;
    return missing;
}

/* The sentence about the wait, malloc'ed; NULL without memory. */
static char *describe_wait(void *arg, double waited)
{
    const struct jd_rendezvous *party = arg;
    const struct jd_wait *wait = party->wait;
    struct jd_text text = { .out = NULL };
    int count, *missing = list_missing(party, &count);
    FILE *out = missing ? jd__text_begin(&text) : NULL;
    if (out) {
        fprintf(out,
                "%s%s: device %d of process %d has waited %.3g s for device%s ",
                wait->operation, wait->detail ? wait->detail : "",
                party->device, wait->self, waited, jd__text_s(count));
        jd__ranges_print(out, missing, count);
        fputs(" of the same process, whose thread has not made this call, or "
              "waits for one that has not",
              out);
    }
    free(missing);
    return jd__text_end(&text);
}

/* Of those who wait for the same, the one of the lowest device speaks. */
static bool is_lowest(const struct jd_rendezvous *party)
{
    for (struct jd_rendezvous *a = rendezvous.parties; a; a = a->next)
        if (has_same_digest(a, party) && a->device < party->device)
            return false;
    return true;
}

/* What ends the wait of one for whom nobody speaks yet. */
static jd_status look_around(struct jd_rendezvous *party, double begin,
                             struct jd_wait_state *state)
{
    const struct jd_wait_own own = { .describe = describe_wait,
                                     .arg = party,
                                     .is_silent = !is_lowest(party) };
    return jd__wait_look_own(party->wait, state, jd__clock_now() - begin, &own);
}

/* From now on it waits for a thread of this process alone. */
static void rest_while_spoken_for(bool *ret_rests)
{
    jd__standing_end();
    jd__standing_rest();
    *ret_rests = true;
}

/* Lets go of the lock for a moment, and of MPI's progress never for longer. */
static void doze_and_progress(const struct jd_rendezvous *party)
{
    struct timespec until = jd__clock_timespec(jd__clock_now() + LONGEST_SLEEP);
    pthread_cond_timedwait(&change, &rendezvous.lock, &until);
    if (party->state == JD_RENDEZVOUS_DONE || !party->make_progress)
        return;
    pthread_mutex_unlock(&rendezvous.lock);
    party->make_progress(party->arg);
    pthread_mutex_lock(&rendezvous.lock);
}

/* Until somebody has spoken for it; before that, as long as it may wait. */
static jd_status wait_for_others(struct jd_rendezvous *party)
{
    double begin = jd__clock_now();
    struct jd_wait_state state = jd__wait_start(party->wait);
    jd_status status = JD_OK;
    bool rests = false;
    while (party->state != JD_RENDEZVOUS_DONE) {
        if (party->state == JD_RENDEZVOUS_WAITING)
            status = look_around(party, begin, &state);
        else if (!rests)
            rest_while_spoken_for(&rests);
        if (status == JD_OK)
            doze_and_progress(party);
        else
            end_all(party, status);
    }
    jd__wait_end(&state);
    if (rests)
        jd__standing_go_on();
    if (party->status != JD_OK)
        jd_fail(party->status, "%s",
                party->sentence ? party->sentence : party->wait->operation);
    free(party->sentence);
    return party->status;
}

jd_status jd__local_rendezvous_come(struct jd_rendezvous *party,
                                    bool *ret_speaks)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    jd_status status = JD_OK;
    bool speaks = false;
    pthread_once(&once, init_change);
    pthread_mutex_lock(&rendezvous.lock);
    struct jd_rendezvous *other = find_device(party, party->device);
    if (other) {
        status = fail_busy(party, other);
    } else {
        other = find_conflict(party);
        link_party(party);
        if (other)
            refuse_conflict(party, other);
        speaks = !other && count_present(party) == party->num_devices;
        if (speaks)
            take_all(party);
        else
            status = wait_for_others(party);
    }
    pthread_mutex_unlock(&rendezvous.lock);
    *ret_speaks = speaks;
    return status;
}

struct jd_rendezvous *
jd__local_rendezvous_find(const struct jd_rendezvous *speaker, int device)
{
    pthread_mutex_lock(&rendezvous.lock);
    struct jd_rendezvous *a = find_device(speaker, device);
    pthread_mutex_unlock(&rendezvous.lock);
    return a && has_same_digest(a, speaker) ? a : NULL;
}

void jd__local_rendezvous_finish(struct jd_rendezvous *speaker,
                                 jd_status status)
{
    pthread_mutex_lock(&rendezvous.lock);
    end_all(speaker, status);
    pthread_mutex_unlock(&rendezvous.lock);
    free(speaker->sentence);
}

int jd__local_rendezvous_count(void)
{
    int count = 0;
    pthread_mutex_lock(&rendezvous.lock);
    for (struct jd_rendezvous *a = rendezvous.parties; a; a = a->next)
        count++;
    pthread_mutex_unlock(&rendezvous.lock);
    return count;
}
