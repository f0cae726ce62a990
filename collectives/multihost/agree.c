/* SPDX-License-Identifier: BSD-3-Clause */
/* agree.c - the meeting of all processes with which the multihost
 * utilities begin. */
#include "collectives/multihost/agree.h"
#include "collectives/channel/chunks.h"
#include "collectives/mesh/agree_list.h"
#include "runtime/recorder/site.h"

#include <stdio.h>

/* All processes of the world in force. */
static struct jd_agree_lists all = JD_AGREE_LISTS(
    JD_TAG_PROCESSES, "all processes",
    "all processes must make the same calls in the same order, with equal "
    "lists of leaves");
static struct jd_agree_list *current; /* of the call under way */

jd_status jd__agree_enter(enum jd_activity activity,
                          struct jd_channel **ret_group)
{
    jd_status status = jd__agree_list_enter(
        &all, jd__signature_activity_name(activity), NULL, NULL, &current);
    if (status == JD_OK)
        *ret_group = current->channel;
    return status;
}

/* "jd_broadcast_one_to_all from process 0 of 1 leaf: F32[3]",
 * "jd_assert_equal_with of 1 leaf: F32[3] (bitwise)". */
static void print_desc(const void *arg, char *text, size_t size)
{
    const struct jd_call_desc *desc = arg;
    const char *activity =
        jd__signature_activity_name(desc->signature.activity);
    char list[1024];
    jd__leaves_print(desc->leaves, desc->count, list, sizeof list);
    if (desc->signature.activity == JD_ACTIVITY_BROADCAST_ONE_TO_ALL)
        snprintf(text, size, "%s from process %d of %s", activity,
                 (int)desc->signature.source, list);
    else
        snprintf(text, size, "%s of %s%s", activity, list,
                 desc->detail ? desc->detail : "");
}

jd_status jd__agree_meet(const struct jd_call_desc *desc,
                         struct jd_merge *ret_merge)
{
    struct jd_agree_call call = {
        .merge = { .signature = desc->signature,
                   .record = desc->payload,
                   .bytes = desc->bytes,
                   .is_of_one = desc->is_of_one },
        .print = print_desc,
        .arg = desc,
    };
    return jd__agree_list_meet(current, &call, ret_merge);
}

struct jd_call_desc jd__agree_call(enum jd_activity activity,
                                   const jd_leaf *leaves, size_t count)
{
    return (struct jd_call_desc){
        .signature = {
            .activity = (uint16_t)activity,
            .site = jd__site_compared(),
            .source = -1,
            .count = count,
            .digest = jd__leaves_digest(leaves, count),
        },
        .leaves = leaves,
        .count = count,
    };
}

struct jd_leaf_walk jd__agree_call_walk(const struct jd_call_desc *desc)
{
    return (struct jd_leaf_walk){ .leaves = desc->leaves,
                                  .count = desc->count };
}

/* Meets with scratch memory for what follows; without it, says so. */
jd_status jd__agree_meet_with_scratch(struct jd_channel *group,
                                      struct jd_call_desc *desc, size_t bytes,
                                      char **ret_scratch)
{
    struct jd_merge merge;
    *ret_scratch = jd__channel_scratch(group, bytes);
    if (!*ret_scratch)
        desc->signature.status =
            jd__fail_no_memory(jd__channel_operation(group), bytes);
    return jd__agree_meet(desc, &merge);
}

/* Meets with everything in the message. */
jd_status jd__agree_meet_with_leaves(struct jd_call_desc *desc, bool gives,
                                     size_t bytes, struct jd_merge *ret_merge)
{
    unsigned char packed[JD_MERGE_PAYLOAD];
    struct jd_leaf_walk walk = jd__agree_call_walk(desc);
    desc->bytes = bytes;
    if (gives) {
        desc->payload = packed;
        jd__leaves_walk_pack(&walk, packed, bytes);
    }
    jd_status status = jd__agree_meet(desc, ret_merge);
    desc->payload = NULL;
    desc->bytes = 0;
    return status;
}

/* All leaves came with the meeting's messages. */
static jd_status receive_short(struct jd_channel *group,
                               struct jd_call_desc *desc, size_t bytes,
                               int source, const struct jd_sink *sink)
{
    struct jd_merge merge;
    bool gives = jd__channel_index(group) == source;
    struct jd_leaf_walk walk = jd__agree_call_walk(desc);
    desc->is_of_one = true;
    jd_status status = jd__agree_meet_with_leaves(desc, gives, bytes, &merge);
    if (status == JD_OK && !gives)
        sink->take(&walk, jd__merge_record(&merge, 0), bytes, sink->arg);
    return status;
}

/* They follow the meeting in pieces. */
static jd_status receive_long(struct jd_channel *group,
                              struct jd_call_desc *desc, int source,
                              const struct jd_sink *sink)
{
    char *scratch;
    size_t piece = jd__channel_piece(group);
    bool gives = jd__channel_index(group) == source;
    struct jd_leaf_walk walk = jd__agree_call_walk(desc);
    jd_status status =
        jd__agree_meet_with_scratch(group, desc, piece, &scratch);
    while (status == JD_OK) {
        struct jd_leaf_walk begin = walk;
        size_t bytes =
            jd__leaves_walk_pack(&walk, gives ? scratch : NULL, piece);
        if (bytes == 0)
            break;
        status = jd__chunks_broadcast(group, scratch, bytes, source);
        if (status == JD_OK && !gives)
            sink->take(&begin, scratch, bytes, sink->arg);
    }
    return status;
}

jd_status jd__agree_receive(struct jd_channel *group, struct jd_call_desc *desc,
                            size_t bytes, int source,
                            const struct jd_sink *sink)
{
    return bytes > JD_MERGE_OF_ONE
               ? receive_long(group, desc, source, sink)
               : receive_short(group, desc, bytes, source, sink);
}

jd_status jd__agree_leave(jd_status status)
{
    return jd__failure_note(&all.failure,
                            jd__agree_list_leave(current, status));
}
