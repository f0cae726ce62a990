/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waits.h - for which processes this one has waited lately, for how long, and
 * in which of its calls: what its heartbeats tell of stragglers.
 *
 *     jd__waits_note(process, &call, alone, seconds);  where a wait has ended
 *
 *     struct jd_waited worst[JD_WAITED_MOST];          once in a while
 *     double all;
 *     int count = jd__waits_take(ring, worst, &all);
 *
 *     jd__waits_describe(ring, worst[0].site, text, size);   where it is asked
 *
 * For a process is what it came later than all others, and no more: where
 * several come late together, nobody made the others wait alone, and who waits
 * for them one after the other would name the first.
 *
 * It is memory of a fixed size: of more than JD_WAITS_KEPT processes those are
 * left out that it has waited for least. Of the calls in which it has waited
 * for one, that is told which has more than half of the time, where there is
 * one, else one of them. Threads: any.
 */
#ifndef RUNTIME_RECORDER_WAITS_H
#define RUNTIME_RECORDER_WAITS_H

#include "runtime/recorder/ring.h"

enum { JD_WAITS_KEPT = 64, JD_WAITED_MOST = 4, JD_WAIT_TEXT = 224 };

struct jd_waited {
    int process;
    double seconds;
    uint64_t site; /* of the call; equal in all processes with that file */
    char call[96]; /* "jd_psum at train+0x4c1" */
};

/* A wait in this call has ended. The last to come was that process, after all
 * others had come for so many seconds of it; -1: it is not known who. */
void jd__waits_note(int process, const struct jd_ring_call *call,
                    double seconds, double all);

/*
 * What was noted since the last time: those waited for longest, the longest
 * first, and the sum of all waits. The ring is the one whose calls were noted.
 * Symbols and lines are not looked for. Returns: how many.
 */
int jd__waits_take(const struct jd_ring *ring,
                   struct jd_waited worst[JD_WAITED_MOST], double *ret_all);

/*
 * A site that was taken lately, with its line: "jd_psum at train.c:120
 * (step+0x4c)". False: it was none of the last JD_WAITS_KEPT. Blocks: as
 * jd__site_of().
 */
bool jd__waits_describe(const struct jd_ring *ring, uint64_t site,
                        char text[JD_WAIT_TEXT]);

#endif
