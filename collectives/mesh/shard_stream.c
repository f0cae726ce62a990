/* SPDX-License-Identifier: BSD-3-Clause */
/* shard_stream.c - a shard's stream, on a platform whose calls return before
 * they are done. */
#include "base/progress.h"
#include "collectives/mesh/shard.h"

#define STREAM "jd_shard_stream"
#define USE "jd_shard_use_stream"
#define SYNCHRONIZE "jd_shard_synchronize"

static jd_status check_shard(const jd_shard *shard, const char *operation)
{
    return shard ? jd__mesh_check_world(shard->mesh, operation)
                 : jd__shard_fail_null(operation);
}

void *jd_shard_stream(const jd_shard *shard)
{
    if (check_shard(shard, STREAM) != JD_OK)
        return NULL;
    const struct jd_platform *platform = shard->mesh->platform;
    if (platform->streams)
        return platform->streams->native(shard->stream);
    jd_fail(JD_UNIMPLEMENTED,
            STREAM ": the shard's device is of platform \"%s\", whose calls "
                   "return when they are done: there is no stream",
            platform->source->platform);
    return NULL;
}

jd_status jd_shard_use_stream(jd_shard *shard, void *stream)
{
    jd_status status = check_shard(shard, USE);
    if (status != JD_OK)
        return status;
    const struct jd_platform *platform = shard->mesh->platform;
    if (platform->streams)
        return platform->streams->use(shard->stream, stream);
    return jd_fail(JD_UNIMPLEMENTED,
                   USE ": the shard's device is of platform \"%s\", whose "
                       "calls return when they are done: it has no stream to "
                       "replace",
                   platform->source->platform);
}

jd_status jd_shard_synchronize(jd_shard *shard)
{
    JD_NOTE_CALLER();
    jd_status status = check_shard(shard, SYNCHRONIZE);
    if (status != JD_OK || !shard->mesh->platform->streams)
        return status;
    jd__recorder_enter(&(struct jd_recorder_call){ .operation = SYNCHRONIZE });
    return jd__recorder_leave(
        jd__platform_await(shard->mesh->platform, shard->stream, SYNCHRONIZE));
}
