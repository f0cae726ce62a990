/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backlog.h - how many collectives are queued on a stream and not done.
 *
 *     status = jd__backlog_add(stream, &call, detail);
 *     if (status == JD_OK)
 *         ... queue it ...
 *     jd__backlog_free(&stream->backlog);
 *
 * CUDA's own queue is bounded, by some thousand kernels, and who launches one
 * more waits inside CUDA, without a deadline. So every 64th collective leaves
 * an event, and before the next one does, the event before the last has to be
 * done: at most 192 are behind. Who is that far ahead waits as
 * jd_shard_synchronize() does, by name. As back-pressure it also bounds what a
 * process has in flight that others cannot follow.
 *
 * What is captured into a graph is not counted. Threads: as the stream's.
 */
#ifndef COLLECTIVES_CUDA_BACKLOG_H
#define COLLECTIVES_CUDA_BACKLOG_H

#include "base/status.h"

#include <cuda_runtime_api.h>

struct jd_stream;
struct jd_collective;

/* Of memory that is zero. */
struct jd_cuda_backlog {
    unsigned count;       /* collectives, of all time */
    cudaEvent_t marks[2]; /* NULL: not yet made */
};

/*
 * Before a collective is queued, in a visit of the stream's device. Blocks:
 * while too many are not done. Returns: JD_OK; as jd__cuda_stream_wait_event();
 * INTERNAL as CUDA reports.
 */
jd_status jd__backlog_add(struct jd_stream *stream,
                          const struct jd_collective *call);

/* In a visit; nothing is queued any more. */
static inline void jd__backlog_free(struct jd_cuda_backlog *backlog)
{
    for (int i = 0; i < 2; i++)
        if (backlog->marks[i])
            cudaEventDestroy(backlog->marks[i]);
}

#endif
