/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * local_rendezvous.h - where the members of a clique-to-be that live in one
 * process come together, each on its thread: the last to come speaks for all.
 *
 *     struct jd_arrival arrival = { .device = 1, .devices = all, ... };
 *     status = jd__registry_come(&arrival, &speaks);
 *     if (status == JD_OK && speaks) {
 *         ... for each device: jd__registry_find(&arrival, device) ...
 *         jd__registry_finish(&arrival, status);
 *     }
 *
 * Nothing is allocated: arrivals are linked where they stand, which is on the
 * stacks of those who wait.
 * Threads: any.
 */
#ifndef COLLECTIVES_CPU_LOCAL_RENDEZVOUS_H
#define COLLECTIVES_CPU_LOCAL_RENDEZVOUS_H

#include "base/status.h"
#include "runtime/process/wait.h"

#include <stdbool.h>
#include <stdint.h>

enum jd_arrival_state {
    JD_ARRIVAL_WAITING,
    JD_ARRIVAL_TAKEN, /* somebody speaks for it */
    JD_ARRIVAL_DONE,
};

struct jd_arrival {
    const struct jd_wait *wait;
    uint64_t digest;    /* of what it believes that the clique is */
    const char *belief; /* the same, for people */
    int platform;       /* of the devices: its place in the topology */
    int device;         /* its local ordinal */
    const int *devices; /* all that come in this process */
    int num_devices;
    void *item;                       /* for the speaker */
    void (*make_progress)(void *arg); /* while it waits; or NULL */
    void *arg;

    /* The registry's, under its lock. */
    enum jd_arrival_state state;
    jd_status status;
    char *sentence;
    struct jd_arrival *next;
};

/*
 * Waits until all devices have come with the same belief; the last one speaks.
 * The others stay until it has finished, and return its status and sentence.
 * When one of them gives up before that, all do, with its sentence.
 * Returns: JD_OK; INVALID_ARGUMENT where devices wait for each other with
 *   different beliefs; FAILED_PRECONDITION where the device is here already,
 *   on another thread; DEADLINE_EXCEEDED naming the devices that are missing;
 *   ABORTED as jd__wait_look.
 */
jd_status jd__registry_come(struct jd_arrival *arrival, bool *ret_speaks);

/* For the speaker: the arrival of the device. */
struct jd_arrival *jd__registry_find(const struct jd_arrival *speaker,
                                     int device);

/* The speaker's last call: with a failure the others get its sentence too. */
void jd__registry_finish(struct jd_arrival *speaker, jd_status status);

/* How many are there, for tests. */
int jd__registry_count(void);

#endif
