/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * speakers.h - who says that the job has failed: of many survivors that die
 * together a few are enough.
 *
 *     struct jd_speakers rule = { .which = JD_SPEAK_SOME, .survivors = 40,
 *                                 .teller = -1 };
 *     for each process i, in order, that has survived:
 *         speaks[i] = jd__speakers_next(&rule, i, its host is new,
 *                                       its host has a culprit);
 *
 * Threads: any.
 */
#ifndef RUNTIME_COORDINATION_SERVER_SPEAKERS_H
#define RUNTIME_COORDINATION_SERVER_SPEAKERS_H

#include <stdbool.h>

/* JD_FAILURE_REPORT: which survivors print. */
enum jd_failure_speakers {
    JD_SPEAK_SOME, /* up to 16: all; above: the lowest of each host, up to 16 */
    JD_SPEAK_ALL,
    JD_SPEAK_ONE,
    JD_SPEAK_NONE,
};
enum { JD_MAX_SPEAKERS = 16 };

/* Of many so many are told in one turn of the loop, a hundred turns a second: a
 * turn takes some 4 ms, and half of the time is left for what comes in. */
enum { JD_SAID_AT_ONCE = 512 };
#define JD_SAYING_SECONDS 0.01 /* from one turn to the next */

/* The choice, walked through in the order of the processes. */
struct jd_speakers {
    enum jd_failure_speakers which;
    int survivors;
    int chosen; /* so far */
    int teller; /* of those, who also prints what was called last: the first
                 * of a culprit's host, which can read what that one called;
                 * else the first; -1: nobody. Set to -1 to begin with. */
    bool is_near; /* it is of a culprit's host */
};

/* Does the next survivor speak? is_first: of its host, among survivors;
 * is_near: of a culprit's host. */
bool jd__speakers_next(struct jd_speakers *speakers, int process, bool is_first,
                       bool is_near);

#endif
