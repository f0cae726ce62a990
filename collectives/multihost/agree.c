/* SPDX-License-Identifier: BSD-3-Clause */
/* agree.c - the meeting of all processes with which the multihost
 * utilities begin. */
#include "collectives/multihost/agree.h"
#include "base/digest.h"
#include "collectives/channel/chunks.h"
#include "collectives/mesh/failure.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/recorder/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All processes of the world in force; made by the first call in it. */
static struct {
    uint64_t world; /* the number of the runtime; 0: none yet */
    struct jd_channel *group;
    struct jd_ring_comm *recorded;
    struct jd_failure failure;
} processes;

/* What stands for it in the recorder. */
#define ALL_PROCESSES UINT64_C(1)

static jd_status open_group(const struct jd_runtime *runtime,
                            const char *operation)
{
    int count = runtime->world.count;
    int *all = malloc((size_t)count * sizeof *all);
    if (!all)
        return jd__fail_no_memory(operation, (size_t)count * sizeof *all);
    for (int i = 0; i < count; i++)
        all[i] = i;
    struct jd_channel_spec spec = {
        .runtime = runtime,
        .processes = all,
        .size = count,
        .index = runtime->world.index,
        .tag = JD_TAG_PROCESSES,
    };
    jd_status status = jd__channel_create(&spec, operation, &processes.group);
    free(all);
    if (status != JD_OK)
        return status;
    processes.world = runtime->number;
    jd__recorder_comm_put(processes.recorded);
    processes.recorded = jd__recorder_comm_get(
        ALL_PROCESSES, runtime->world.index, count, "all processes");
    return JD_OK;
}

/* The group of all processes, ready for the operation. */
jd_status jd__agree_enter(enum jd_activity activity,
                          struct jd_channel **ret_group)
{
    const char *operation = jd__signature_activity_name(activity);
    const struct jd_runtime *runtime;
    jd_status status = jd__runtime_get(&runtime, operation);
    if (status == JD_OK)
        status = jd__failure_exit_check(operation);
    if (status != JD_OK)
        return status;
    if (processes.world != runtime->number) {
        jd__channel_destroy(processes.group);
        jd__failure_finish(&processes.failure);
        processes.group = NULL;
        processes.world = 0;
        status = open_group(runtime, operation);
    } else {
        status = jd__failure_check(&processes.failure, operation, "");
    }
    if (status != JD_OK)
        return status;
    jd__recorder_enter(&(struct jd_recorder_call){
        .operation = operation,
        .comm = processes.recorded,
    });
    jd__channel_begin(processes.group, operation, NULL);
    *ret_group = processes.group;
    return JD_OK;
}

/* "jd_broadcast_one_to_all from process 0 of 1 leaf: F32[3]",
 * "jd_assert_equal_with of 1 leaf: F32[3] (bitwise)". */
static void print_desc(const struct jd_call_desc *desc, char *text, size_t size)
{
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

/* All know that their calls differ; now they tell each other how. */
static jd_status fail_mismatch(struct jd_channel *group,
                               const struct jd_call_desc *desc,
                               const struct jd_merge *merge)
{
    char own[1280];
    const char *odd_text, *other_text;
    const struct jd_merge_said *odd = &merge->other, *other = &merge->first;
    print_desc(desc, own, sizeof own);
    jd__merge_differs(merge, &odd, &other);
    jd_status status = jd__merge_explain(group, merge, own, sizeof own,
                                         &odd_text, &other_text);
    if (status != JD_OK)
        return status;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: process %d calls %s, process %d calls %s; all "
                   "processes must make the "
                   "same calls in the same order, with equal lists of leaves",
                   jd__channel_operation(group), odd->process, odd_text,
                   other->process, other_text);
}

jd_status jd__agree_meet(struct jd_channel *group,
                         const struct jd_call_desc *desc,
                         struct jd_merge *ret_merge)
{
    const struct jd_merge_said *odd, *other;
    struct jd_merge_call call = { .signature = desc->signature,
                                  .record = desc->payload,
                                  .bytes = desc->bytes,
                                  .is_gift = desc->is_gift };
    jd_status status = jd__merge_meet(group, &call, ret_merge);
    if (status == JD_OK && jd__merge_differs(ret_merge, &odd, &other))
        status = fail_mismatch(group, desc, ret_merge);
    return status == JD_OK ? jd__merge_check_status(group, ret_merge) : status;
}

struct jd_call_desc jd__agree_call(enum jd_activity activity,
                                   const jd_leaf *leaves, size_t count)
{
    return (struct jd_call_desc){
        .signature = {
            .activity = activity,
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
    return jd__agree_meet(group, desc, &merge);
}

/* Meets with everything in the message. */
jd_status jd__agree_meet_with_leaves(struct jd_channel *group,
                                     struct jd_call_desc *desc, bool gives,
                                     size_t bytes, struct jd_merge *ret_merge)
{
    unsigned char packed[JD_MERGE_PAYLOAD];
    struct jd_leaf_walk walk = jd__agree_call_walk(desc);
    desc->bytes = bytes;
    if (gives) {
        desc->payload = packed;
        jd__leaves_walk_pack(&walk, packed, bytes);
    }
    jd_status status = jd__agree_meet(group, desc, ret_merge);
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
    desc->is_gift = true;
    jd_status status =
        jd__agree_meet_with_leaves(group, desc, gives, bytes, &merge);
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
    return bytes > JD_MERGE_GIFT
               ? receive_long(group, desc, source, sink)
               : receive_short(group, desc, bytes, source, sink);
}

jd_status jd__agree_leave(jd_status status)
{
    jd__recorder_leave(status);
    return jd__failure_note(&processes.failure, status);
}
