/* SPDX-License-Identifier: BSD-3-Clause */
/* multihost.c - jd_broadcast_one_to_all and jd_sync_global_devices. */
#include "jd_multihost.h"
#include "base/progress.h"
#include "collectives/multihost/agree.h"
#include "collectives/multihost/leaves.h"
#include "runtime/api/barrier.h"
#include "runtime/coordination/failure/failure_exit.h"

#include <string.h>

#define MAX_NAME 4096 /* bytes of a sync point's name */

static void unpack_leaves(struct jd_leaf_walk *at, const void *data,
                          size_t bytes, void *leaves)
{
    jd__leaves_walk_unpack(at, data, bytes, leaves, 0);
}

static jd_status broadcast_leaves(struct jd_channel *group,
                                  struct jd_call_desc *desc, size_t bytes,
                                  int source)
{
    struct jd_sink sink = { unpack_leaves, (void *)desc->leaves };
    desc->signature.source = source;
    return jd__agree_receive(group, desc, bytes, source, &sink);
}

jd_status jd_broadcast_one_to_all(const jd_leaf *leaves, size_t num_leaves,
                                  int source)
{
    JD_NOTE_CALLER();
    enum jd_activity activity = JD_ACTIVITY_BROADCAST_ONE_TO_ALL;
    struct jd_leaf_list list = { leaves, num_leaves,
                                 jd__signature_activity_name(activity),
                                 "leaves" };
    struct jd_channel *group;
    size_t bytes;
    jd_status status = jd__leaves_check(&list, &bytes);
    if (status == JD_OK)
        status = jd__agree_enter(activity, &group);
    if (status != JD_OK)
        return status;
    if (source < 0 || source >= jd__channel_size(group))
        return jd__agree_leave(jd_fail(
            JD_INVALID_ARGUMENT, "%s: source is %d; the processes are 0 to %d",
            list.operation, source, jd__channel_size(group) - 1));
    struct jd_call_desc desc = jd__agree_call(activity, leaves, num_leaves);
    status = broadcast_leaves(group, &desc, bytes, source);
    return jd__agree_leave(status);
}

/* On cpu nothing of a device is under way when a call has returned: there is
 * no stream to drain first. */
jd_status jd_sync_global_devices(const char *name)
{
    JD_NOTE_CALLER();
    static const char operation[] = "jd_sync_global_devices";
    const struct jd_runtime *runtime;
    if (!name)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: name is NULL; give every point of the program a "
                       "name",
                       operation);
    if (strlen(name) > MAX_NAME)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: the name has %zu bytes; at most %d", operation,
                       strlen(name), MAX_NAME);
    jd_status status = jd__runtime_get(&runtime, operation);
    if (status == JD_OK)
        status = jd__failure_exit_check(operation);
    return status == JD_OK ? jd__barrier_sync(runtime, name) : status;
}
