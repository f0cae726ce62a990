/* SPDX-License-Identifier: BSD-3-Clause */
/* backlog.c - how many collectives are queued on a stream and not done. */
#include "collectives/cuda/backlog.h"
#include "collectives/cuda/errors.h"
#include "collectives/cuda/stream.h"

#define PER_MARK 64 /* collectives; a power of two */

static jd_status make_mark(cudaEvent_t *mark, const char *operation)
{
    if (*mark)
        return JD_OK;
    return jd__cuda_check(
        cudaEventCreateWithFlags(mark, cudaEventDisableTiming), operation,
        "cudaEventCreateWithFlags");
}

/* The mark that was left twice as many collectives ago is left anew. */
static jd_status leave_mark(struct jd_stream *stream, cudaEvent_t *mark,
                            const struct jd_collective *call)
{
    const char *operation = jd__signature_activity_name(call->activity);
    jd_status status = JD_OK;
    if (*mark)
        status =
            jd__cuda_stream_wait_event(stream, *mark, operation, call->detail);
    if (status == JD_OK)
        status = make_mark(mark, operation);
    return status == JD_OK
               ? jd__cuda_check(cudaEventRecord(*mark, stream->handle),
                                operation, "cudaEventRecord")
               : status;
}

jd_status jd__backlog_add(struct jd_stream *stream,
                          const struct jd_collective *call)
{
    struct jd_cuda_backlog *backlog = &stream->backlog;
    if (++backlog->count % PER_MARK != 0 || jd__cuda_is_capturing(stream))
        return JD_OK;
    return leave_mark(stream, &backlog->marks[backlog->count / PER_MARK % 2],
                      call);
}
