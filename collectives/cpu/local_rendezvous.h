/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * local_rendezvous.h - where the members of a communicator-to-be that live in
 * one process come together, each on its thread: the last to come speaks for
 * all.
 *
 *     struct jd_rendezvous own = { .device = 1, .devices = all, ... };
 *     status = jd__local_rendezvous_come(&own, &speaks);
 *     if (status == JD_OK && speaks) {
 *         ... for each device: jd__local_rendezvous_find(&own, device) ...
 *         jd__local_rendezvous_finish(&own, status);
 *     }
 *
 * Nothing is allocated: parties are linked where they stand, which is on the
 * stacks of those who wait.
 * Threads: any.
 */
#ifndef COLLECTIVES_CPU_LOCAL_RENDEZVOUS_H
#define COLLECTIVES_CPU_LOCAL_RENDEZVOUS_H

#include "base/status.h"
#include "runtime/process/wait.h"

#include <stdbool.h>
#include <stdint.h>

enum jd_rendezvous_state {
    JD_RENDEZVOUS_WAITING,
    JD_RENDEZVOUS_TAKEN, /* somebody speaks for it */
    JD_RENDEZVOUS_DONE,
};

struct jd_rendezvous {
    const struct jd_wait *wait;
    uint64_t digest;    /* of what it believes that the communicator is */
    const char *desc;   /* the same, for people */
    int platform;       /* of the devices: its place in the topology */
    int device;         /* its local ordinal */
    bool is_started;    /* for what is started, beside the device's thread */
    const int *devices; /* all that come in this process */
    int num_devices;
    void *item;                       /* for the leader */
    void (*make_progress)(void *arg); /* while it waits; or NULL */
    void *arg;

    /* The rendezvous's, under its lock. */
    enum jd_rendezvous_state state;
    jd_status status;
    char *sentence;
    struct jd_rendezvous *next;
};

/*
 * Waits until all devices have come with the same description; the last one
 * speaks. The others stay until it has finished, and return its status and
 * sentence. When one of them gives up before that, all do, with its sentence.
 * Returns: JD_OK; INVALID_ARGUMENT where devices wait for each other with
 *   different beliefs; FAILED_PRECONDITION where the device is here already,
 *   on another thread; DEADLINE_EXCEEDED naming the devices that are missing;
 *   ABORTED as jd__wait_look.
 */
jd_status jd__local_rendezvous_come(struct jd_rendezvous *party,
                                    bool *ret_speaks);

/* For the leader: the party of the device. */
struct jd_rendezvous *
jd__local_rendezvous_find(const struct jd_rendezvous *speaker, int device);

/* The leader's last call: with a failure the others get its sentence too. */
void jd__local_rendezvous_finish(struct jd_rendezvous *speaker,
                                 jd_status status);

/* How many are there, for tests. */
int jd__local_rendezvous_count(void);

#endif
