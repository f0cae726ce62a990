/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane.h - how far a GPU is on a stream: which of this process's calls it has
 * begun there last, and whether that is done. The GPU itself writes it into
 * pinned memory, between the work of the calls, so that who wants to know asks
 * CUDA nothing: neither host nor GPU waits for that, and a CUDA that hangs
 * holds up nobody who looks.
 *
 *     jd__lane_open(&stream->lane);
 *     ...
 *     number = jd__lane_begin(&stream->lane, handle);      in a call
 *     ... what the call queues ...
 *     jd__lane_end(&stream->lane, handle, number);
 *     ...
 *     word = jd__lane_read(&stream->lane);                  any thread
 *
 * The word is twice the call's number in the recorder (ring.h), and one more
 * when the call is done. Where the recorder is off, all lanes are taken, or the
 * driver cannot write so (CUDA has cuStreamWriteValue64 for it), nothing is
 * known and nothing fails.
 *
 * Threads: as the stream's, but where it says otherwise.
 */
#ifndef COLLECTIVES_CUDA_LANE_H
#define COLLECTIVES_CUDA_LANE_H

#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Of memory that is zero. */
struct jd_cuda_lane {
    int number;             /* in the recorder, from 1; 0: none */
    _Atomic uint64_t *word; /* pinned; NULL: none */
    bool is_off;            /* the driver has refused */
};

/* In a visit of the stream's device, as all but read. */
void jd__lane_open(struct jd_cuda_lane *lane);

/* Nothing is queued any more. */
void jd__lane_close(struct jd_cuda_lane *lane);

/* The thread's call begins on the stream: what is queued from here on is its.
 * Not in a capture. Returns its number, for the end; 0: not told. */
uint64_t jd__lane_begin(struct jd_cuda_lane *lane, cudaStream_t handle);
void jd__lane_end(struct jd_cuda_lane *lane, cudaStream_t handle,
                  uint64_t number);

/* 0: nothing so far. Threads: any, until the close. */
static inline uint64_t jd__lane_read(const struct jd_cuda_lane *lane)
{
    return lane->word ? atomic_load_explicit(lane->word, memory_order_acquire)
                      : 0;
}

/* Whether the GPU is in a call, and which. */
static inline uint64_t jd__lane_call(uint64_t word)
{
    return word % 2 ? 0 : word / 2;
}

#endif
