/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane_watch.h - who looks at how far GPUs are (lane.h), while the program does
 * something else, or waits in CUDA itself: a thread, "jd-gpu-watch".
 *
 *     jd__lane_watch_add(&stream->watch, &stream->lane, look, stream);
 *     ...
 *     jd__lane_watch_remove(&stream->watch);
 *
 * Ten times a second it puts the lanes' words into the recorder's ring, where
 * the host's other processes see them, also when this one has been killed. A
 * call that a GPU stays in is told as a wait of jd's own is, after
 * JD_WAIT_NOTICE, with those who have not queued it; at the collective deadline
 * the job ends: there is nobody to whom it could be returned, and a
 * communicator that was aborted would leave old values behind a success of
 * CUDA's. Where jd waits for the stream, or is in a call there, that speaks,
 * and the thread is silent. It calls no CUDA.
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_CUDA_LANE_WATCH_H
#define COLLECTIVES_CUDA_LANE_WATCH_H

#include "collectives/cuda/lane.h"
#include "collectives/cuda/looker.h"

#include <stdint.h>

/*
 * Looks at a call that the GPU has been in since then; word: the lane's.
 * ret_notice: when it is told next, in seconds of the wait; 0: not yet told.
 * May block for some seconds, for a notice. False: somebody else looks after
 * it, and the time begins anew.
 */
typedef bool jd_lane_look_f(void *arg, double since, uint64_t word,
                            double *ret_notice);

/* Of memory that is zero. */
struct jd_lane_watch {
    struct jd_looked looked;
    const struct jd_cuda_lane *lane;
    jd_lane_look_f *look;
    void *arg; /* look's */
    /* The thread's: */
    uint64_t word;      /* as it was seen last, */
    double since;       /* and since when, on the clock */
    double next_look;   /* at what it waits for */
    double next_notice; /* seconds; 0: the first */
};

/* One without a lane is not looked at. */
void jd__lane_watch_add(struct jd_lane_watch *watch,
                        const struct jd_cuda_lane *lane, jd_lane_look_f *look,
                        void *arg);

/* Blocks: while the thread looks, at most some seconds. One that was not added,
 * or was removed, is none. */
void jd__lane_watch_remove(struct jd_lane_watch *watch);

/* The world ends: all are removed. Blocks: likewise. */
void jd__lane_watch_stop(void);

#endif
