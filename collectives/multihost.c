/* SPDX-License-Identifier: BSD-3-Clause */
/* multihost.c - jd_broadcast_one_to_all and jd_sync_global_devices. */
#include "jd_multihost.h"
#include "collectives/bulk.h"
#include "collectives/digest.h"
#include "collectives/leaves.h"
#include "collectives/processes.h"

#include <string.h>

static jd_status broadcast_stream(struct jd_group *group,
                                  struct jd_purpose *purpose, int source)
{
    char *scratch;
    size_t piece = jd__group_piece(group);
    bool gives = jd__group_index(group) == source;
    struct jd_leaf_walk walk = jd__purpose_walk(purpose);
    jd_status status =
        jd__processes_meet_with_scratch(group, purpose, piece, &scratch);
    while (status == JD_OK) {
        struct jd_leaf_walk begin = walk;
        size_t bytes = jd__walk_pack(&walk, gives ? scratch : NULL, piece);
        if (bytes == 0)
            break;
        status = jd__bulk_broadcast(group, scratch, bytes, source);
        if (status == JD_OK && !gives)
            jd__walk_unpack(&begin, scratch, bytes, purpose->leaves, 0);
    }
    return status;
}

static jd_status broadcast(struct jd_group *group, struct jd_purpose *purpose,
                           size_t bytes, int source)
{
    bool gives = jd__group_index(group) == source;
    purpose->signature.source = source;
    if (bytes > JD_MEETING_PAYLOAD)
        return broadcast_stream(group, purpose, source);
    jd_status status =
        jd__processes_meet_with_leaves(group, purpose, gives, bytes);
    struct jd_leaf_walk walk = jd__purpose_walk(purpose);
    if (status == JD_OK && !gives)
        jd__walk_unpack(&walk, jd__group_payload(group, source), bytes,
                        purpose->leaves, 0);
    return status;
}

jd_status jd_broadcast_one_to_all(const jd_leaf *leaves, size_t num_leaves,
                                  int source)
{
    enum jd_activity activity = JD_ACTIVITY_BROADCAST_ONE_TO_ALL;
    struct jd_leaf_list list = { leaves, num_leaves,
                                 jd__activity_name(activity), "leaves" };
    struct jd_group *group;
    size_t bytes;
    jd_status status = jd__leaves_check(&list, &bytes);
    if (status == JD_OK)
        status = jd__processes_enter(activity, &group);
    if (status != JD_OK)
        return status;
    if (source < 0 || source >= jd__group_size(group))
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: source is %d; the processes are 0 to %d",
                       list.operation, source, jd__group_size(group) - 1);
    struct jd_purpose purpose = jd__purpose(activity, leaves, num_leaves);
    status = broadcast(group, &purpose, bytes, source);
    return jd__processes_leave(status);
}

jd_status jd_sync_global_devices(const char *name)
{
    enum jd_activity activity = JD_ACTIVITY_SYNC_GLOBAL_DEVICES;
    struct jd_group *group;
    if (!name)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_sync_global_devices: name is NULL; give every "
                       "point of the program a name");
    size_t length = strlen(name);
    if (length > JD_MEETING_PAYLOAD)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_sync_global_devices: the name has %zu bytes; at "
                       "most %zu",
                       length, JD_MEETING_PAYLOAD);
    jd_status status = jd__processes_enter(activity, &group);
    if (status != JD_OK)
        return status;
    struct jd_purpose purpose = jd__purpose(activity, NULL, 0);
    purpose.signature.count = length;
    purpose.signature.digest = jd__digest(0, name, length);
    purpose.name = purpose.payload = name;
    purpose.bytes = length;
    return jd__processes_leave(jd__processes_meet(group, &purpose));
}
