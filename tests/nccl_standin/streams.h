/* SPDX-License-Identifier: BSD-3-Clause */
/* streams.h - what tests of a shard's stream have in common: two comms that
 * have no communicator, and collectives that end when a gate is opened. */
#ifndef NCCL_STANDIN_STREAMS_H
#define NCCL_STANDIN_STREAMS_H

#include "fake_comm.h"
#include "test_cuda.h"

#include "collectives/cuda/devices.h"
#include "collectives/cuda/stream.h"

static char over_data[] = " over axis \"data\"";
static char over_model[] = " over axis \"model\"";
static struct jd_comm data_comm, model_comm;
static atomic_bool data_is_aborted, model_is_aborted;
static struct gate gate;

static inline struct jd_stream *make(void)
{
    struct jd_stream *stream;
    UNIT_OK(jd__cuda_streams.create(fake_runtime(), fake_device(0), &stream));
    return stream;
}

static inline struct jd_collective
call_of(struct jd_stream *stream, enum jd_activity activity, const char *detail)
{
    return (struct jd_collective){ .activity = activity,
                                   .detail = detail,
                                   .stream = stream };
}

static inline void note(struct jd_stream *stream, struct jd_comm *comm,
                        enum jd_activity activity)
{
    struct jd_collective call = call_of(stream, activity, comm->detail);
    UNIT_OK(jd__cuda_stream_note(stream, comm, &call,
                                 jd__cuda_is_capturing(stream)));
}

/* A collective that does not end before the gate is opened. */
static inline void queue(struct jd_stream *stream, struct jd_comm *comm,
                         enum jd_activity activity)
{
    gate_close(&gate, stream->handle);
    note(stream, comm, activity);
}

static inline jd_status synchronize(struct jd_stream *stream)
{
    return jd__cuda_streams.synchronize(stream, "jd_shard_synchronize");
}

static inline void start(void)
{
    setenv("STANDIN_DEVICES", "2", 1);
    fake_host_start();
    fake_comm_init(&data_comm, &data_is_aborted, over_data);
    fake_comm_init(&model_comm, &model_is_aborted, over_model);
}

#endif
