/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream.h - a shard's stream: what is queued there, and how it is waited for.
 *
 * A wait polls: the stream, NCCL's asynchronous errors of the communicators
 * that have work on it, and jd__wait_look() for the deadline and peers'
 * failures; it yields and lets MPI make progress. Never a bare
 * cudaStreamSynchronize: a collective whose peer is dead never ends.
 *
 * Threads: one stream, one thread at a time.
 */
#ifndef COLLECTIVES_CUDA_STREAM_H
#define COLLECTIVES_CUDA_STREAM_H

#include "collectives/cuda/backlog.h"
#include "collectives/cuda/buffer.h"
#include "collectives/cuda/lane.h"
#include "collectives/cuda/lane_watch.h"
#include "collectives/platform/platform.h"

#include <cuda_runtime_api.h>
#include <pthread.h>

extern const struct jd_stream_table jd__cuda_streams;

/* A piece of work of a communicator that may not be done yet. */
struct jd_cuda_work {
    struct jd_comm *comm;
    enum jd_activity activity;
    const char *detail; /* stays as long as the communicator */
    bool is_captured;   /* in a graph, which may be launched at any time */
};

struct jd_stream {
    const struct jd_runtime *runtime; /* NULL: it has ended */
    const jd_device *device;
    int native;          /* CUDA's number of the device */
    cudaStream_t handle; /* what collectives are queued on */
    cudaStream_t own;    /* made by create; handle unless use() was called */

    /* The last work of each communicator since the last wait, and what graphs
     * have; under lock, because a communicator may go on another thread. */
    pthread_mutex_t lock;
    struct jd_cuda_work *works;
    int num_works;
    int capacity;

    /* Device memory for compositions: whoever uses it queues on this stream
     * alone, so that uses follow each other. */
    struct jd_cuda_buffer scratch;

    struct jd_cuda_backlog backlog;
    struct jd_cuda_lane lane;
    struct jd_lane_watch watch;
    atomic_int waits; /* threads of jd that wait for it, or are in a call
                       * there, and speak */
    struct jd_staging *staging;     /* staging.h's; NULL before the first */
    struct jd_stream *next, **link; /* among all of the process */
};

/* Notes that the communicator has work there, or will have where a graph is
 * being captured. Returns JD_OK; RESOURCE_EXHAUSTED. */
jd_status jd__cuda_stream_note(struct jd_stream *stream, struct jd_comm *comm,
                               const struct jd_collective *call,
                               bool is_captured);

/* The communicator is going: no stream knows its work any more. Threads: any.
 * */
void jd__cuda_streams_forget(const struct jd_comm *comm);

/*
 * At least bytes of device memory, aligned to 256, until the next call of this
 * on the stream: what was queued before may still use the old. Grows, without
 * waiting for anything. FAILED_PRECONDITION where it has to grow while a graph
 * is captured, with the remedy (make the call once before the capture).
 */
jd_status jd__cuda_scratch(struct jd_stream *stream, size_t bytes,
                           const struct jd_collective *call, void **ret_memory);

/* Whether a graph is being captured from it. During a visit of its device, as
 * all that asks CUDA of a stream. */
bool jd__cuda_is_capturing(const struct jd_stream *stream);

/*
 * Waits for all that is queued, with the collective deadline. detail is the
 * operation's, or NULL. As the table's synchronize; FAILED_PRECONDITION while a
 * graph is captured. After any other failure the communicators with work there
 * are aborted.
 */
jd_status jd__cuda_stream_wait(struct jd_stream *stream, const char *operation,
                               const char *detail);

/* Waits in the same way until an event is done that was recorded there. In a
 * visit of the stream's device. As jd__cuda_stream_wait(). */
jd_status jd__cuda_stream_wait_event(struct jd_stream *stream,
                                     cudaEvent_t event, const char *operation,
                                     const char *detail);

/* lane_watch.h's look at a stream, as a wait of jd's looks, without CUDA. At
 * the deadline it ends the job. */
bool jd__cuda_stream_look(void *stream, double since, uint64_t word,
                          double *ret_notice);

/* Whether jd__cuda_stream_wait() would return at once. */
bool jd__cuda_stream_is_idle(struct jd_stream *stream, const char *operation);

/* After a failure of that: whether all is over in a moment, as the collectives
 * of aborted communicators are. */
bool jd__cuda_stream_ends(struct jd_stream *stream);

#endif
