/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock_samples.h - what a process knows of its host's clock against that of
 * process 0's host: samples in its ring, so that times of several hosts can be
 * put beside each other later, also those of a process that was killed.
 *
 *     asked = now; ... the other side says its time ...; answered = now;
 *     sample = jd__clock_samples_of(asked, there, answered);
 *     jd__clock_samples_note(ring, &sample);           one thread
 *
 *     struct jd_clock_sample samples[JD_RING_CLOCKS];   anybody
 *     int count = jd__clock_samples_read(ring, samples);
 *
 * The other side took its time after the question had come and before the
 * answer went, so that in between the two clocks differ by there - answered at
 * least and by there - asked at most, however uneven the two ways were: the
 * middle is the offset, and half of the way there and back its error.
 *
 * Threads: one writes.
 */
#ifndef RUNTIME_RECORDER_CLOCK_SAMPLES_H
#define RUNTIME_RECORDER_CLOCK_SAMPLES_H

#include "runtime/recorder/ring.h"

/* Nanoseconds. */
struct jd_clock_sample {
    int64_t at;     /* of the own clock */
    int64_t offset; /* what the other clock shows then, less at */
    int64_t error;  /* it is off by so much at most */
};

/* How much two clocks part at most: each is a crystal's, which may be off by a
 * hundred millionths. */
#define JD_CLOCK_DRIFT 200e-6

/* Of samples that are closer than this the best is kept. */
#define JD_CLOCK_SECONDS 5

/* Of three times in seconds, two of the own clock and one of the other's. */
struct jd_clock_sample jd__clock_samples_of(double asked, double there,
                                            double answered);

/* Kept in place of the last, where that is young and no better; dropped where
 * it is young and better; else in place of the oldest. */
void jd__clock_samples_note(struct jd_ring *ring,
                            const struct jd_clock_sample *sample);

/* In no order; returns how many. Those that are written now are left out. */
int jd__clock_samples_read(const struct jd_ring *ring,
                           struct jd_clock_sample samples[JD_RING_CLOCKS]);

/* There are none: from here on another clock is asked. */
void jd__clock_samples_forget(struct jd_ring *ring);

#endif
