/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane.h - how far a GPU is on a stream: which of this process's calls it has
 * begun there last, and whether that is done. The GPU itself writes it into
 * memory of the host, between the work of the calls, so that who wants to know
 * asks CUDA nothing: neither host nor GPU waits for that, and a CUDA that hangs
 * holds up nobody who looks. The memory is jd's own, a page for all lanes that
 * CUDA has mapped and that stays: whatever the program does to its devices, it
 * can be read.
 *
 *     jd__lane_open(&stream->lane);
 *     ...
 *     number = jd__lane_begin(&stream->lane, handle);      in a call
 *     ... what the call queues ...
 *     jd__lane_end(&stream->lane, handle, number);
 *     ...
 *     word = jd__lane_read(&stream->lane);                  any thread
 *
 * The word is jd__ring_lane_word() of the call's number in the recorder. Where
 * the recorder is off, all lanes are taken, or the
 * driver cannot write so (CUDA has cuStreamWriteValue64 for it), nothing is
 * known and nothing fails.
 *
 * Threads: as the stream's, but where it says otherwise.
 */
#ifndef COLLECTIVES_CUDA_LANE_H
#define COLLECTIVES_CUDA_LANE_H

#include "runtime/recorder/ring.h"

#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Of memory that is zero. */
struct jd_cuda_lane {
    int number;               /* in the recorder, from 1; 0: none */
    _Atomic uint64_t *word;   /* NULL: none */
    unsigned long long place; /* the word's for the GPU */
    unsigned serial;          /* how often a call's work has begun */
    atomic_bool is_off;       /* the driver has refused */
};

/* In a visit of the stream's device, as all but read. */
void jd__lane_open(struct jd_cuda_lane *lane);

/* Nothing is queued any more. */
void jd__lane_close(struct jd_cuda_lane *lane);

/* The thread's call begins on the stream: what is queued from here on is its.
 * Not in a capture. Returns what the end takes; 0: it is not told. */
uint64_t jd__lane_begin(struct jd_cuda_lane *lane, cudaStream_t handle);
void jd__lane_end(struct jd_cuda_lane *lane, cudaStream_t handle,
                  uint64_t begun);

/* 0: nothing so far. What was queued before the driver has refused may still
 * be written, without its end. Threads: any, until the close. */
static inline uint64_t jd__lane_read(const struct jd_cuda_lane *lane)
{
    if (atomic_load(&lane->is_off))
        return JD_RING_LANE_UNKNOWN;
    return lane->word ? atomic_load_explicit(lane->word, memory_order_acquire)
                      : 0;
}

#endif
