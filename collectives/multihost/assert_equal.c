/* SPDX-License-Identifier: BSD-3-Clause */
/* assert_equal.c - jd_assert_equal: every process compares its leaves with
 * process 0's, and then all tell each other what they found. */
#include "base/progress.h"
#include "collectives/kernels/elements.h"
#include "collectives/channel/chunks.h"
#include "collectives/multihost/agree.h"
#include "collectives/multihost/equality.h"
#include "collectives/multihost/leaves.h"
#include "jd_multihost.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Where this process's leaves first differ from process 0's. */
struct value_difference {
    uint64_t exists;
    uint64_t leaf;
    uint64_t element;
    unsigned char value[16];
    unsigned char wanted[16];
};

/* What is compared, and what came of it. */
struct comparison {
    jd_equality rules;
    char rules_text[160]; /* for sentences */
    const jd_leaf *leaves;
    const char *what;
    struct value_difference difference;
};

/* The first element of the range, of size bytes each, that is not equal. */
static void compare_range(struct comparison *comparison,
                          const struct jd_leaf_range *range, const char *wanted)
{
    const jd_leaf *leaf = &comparison->leaves[range->leaf];
    const char *have = (const char *)leaf->data + range->offset;
    size_t size = jd_dtype_size(leaf->dtype);
    if (jd__equality_trusts_bits(&comparison->rules, leaf->dtype) &&
        memcmp(have, wanted, range->bytes) == 0)
        return;
    for (size_t at = 0; at < range->bytes; at += size) {
        if (jd__equality_holds(&comparison->rules, leaf->dtype, have + at,
                               wanted + at))
            continue;
        struct value_difference *difference = &comparison->difference;
        difference->exists = 1;
        difference->leaf = range->leaf;
        difference->element = (range->offset + at) / size;
        memcpy(difference->value, have + at, size);
        memcpy(difference->wanted, wanted + at, size);
        return;
    }
}

/* Compares what comes next in the walk with bytes of process 0's stream. */
static void compare_stream(struct jd_leaf_walk *walk, const void *data,
                           size_t bytes, void *arg)
{
    struct comparison *comparison = arg;
    struct jd_leaf_range range;
    for (size_t used = 0; used < bytes; used += range.bytes) {
        if (!jd__leaves_walk_next(walk, bytes - used, &range))
            return;
        if (!comparison->difference.exists)
            compare_range(comparison, &range, (const char *)data + used);
    }
}

/* Process 0 hears nobody: where a NaN is not equal to itself, this finds it. */
static void compare_own(struct comparison *comparison, size_t num_leaves)
{
    for (size_t i = 0; i < num_leaves; i++) {
        struct jd_leaf_walk walk = { .leaves = comparison->leaves,
                                     .count = num_leaves,
                                     .leaf = i };
        const jd_leaf *leaf = &comparison->leaves[i];
        compare_stream(&walk, leaf->data, jd__leaf_bytes(leaf), comparison);
    }
}

static jd_status find_difference(struct jd_channel *group,
                                 struct jd_call_desc *desc, size_t bytes,
                                 struct comparison *comparison)
{
    struct jd_sink sink = { compare_stream, comparison };
    jd_status status = jd__agree_receive(group, desc, bytes, 0, &sink);
    bool is_source = jd__channel_index(group) == 0;
    if (status == JD_OK && is_source && comparison->rules.nan_differs)
        compare_own(comparison, desc->count);
    return status;
}

static jd_status fail_difference(struct jd_channel *group, int process,
                                 const struct value_difference *difference,
                                 const struct comparison *comparison)
{
    const jd_leaf *leaf = &comparison->leaves[difference->leaf];
    const struct jd_topology *topology = jd__channel_runtime(group)->topology;
    const char *what = comparison->what;
    char value[96], wanted[96], index[128];
    jd__element_print_apart(leaf->dtype, difference->value, value,
                            difference->wanted, wanted, sizeof value);
    jd__leaf_print_index(leaf, difference->element, index, sizeof index);
    return jd_fail(
        JD_FAILED_PRECONDITION,
        "%s%s%s: process %d (%s) has %s in leaf %" PRIu64
        " at index %s, where process 0 has %s%s",
        what ? what : "", what ? ": " : "", jd__channel_operation(group),
        process,
        jd__topology_host_name(topology, topology->processes[process].host),
        value, difference->leaf, index, wanted, comparison->rules_text);
}

/* The lowest process that has found a difference tells all which. */
static jd_status share_differences(struct jd_channel *group,
                                   const struct jd_call_desc *desc,
                                   const struct comparison *comparison)
{
    struct jd_merge merge;
    struct jd_merge_call call = { .signature = desc->signature };
    if (comparison->difference.exists)
        call.signature.status = JD_FAILED_PRECONDITION;
    jd_status status = jd__merge_meet(group, &call, &merge);
    if (status != JD_OK || merge.status == JD_OK)
        return status;
    struct value_difference *difference =
        jd__channel_scratch(group, sizeof *difference);
    if (!difference)
        return jd__fail_no_memory(jd__channel_operation(group),
                                  sizeof *difference);
    *difference = comparison->difference;
    status = jd__chunks_broadcast(group, difference, sizeof *difference,
                                  merge.failed);
    return status == JD_OK
               ? fail_difference(group, merge.failed, difference, comparison)
               : status;
}

static jd_status assert_equal(enum jd_activity activity,
                              struct comparison *comparison, size_t num_leaves)
{
    struct jd_leaf_list list = { comparison->leaves, num_leaves,
                                 jd__signature_activity_name(activity),
                                 "leaves" };
    struct jd_channel *group;
    size_t bytes;
    jd_status status = jd__leaves_check(&list, &bytes);
    if (status == JD_OK)
        status = jd__agree_enter(activity, &group);
    if (status != JD_OK)
        return status;
    struct jd_call_desc desc =
        jd__agree_call(activity, comparison->leaves, num_leaves);
    desc.detail = comparison->rules_text;
    desc.signature.digest ^= jd__equality_digest(&comparison->rules);
    status = find_difference(group, &desc, bytes, comparison);
    if (status == JD_OK)
        status = share_differences(group, &desc, comparison);
    return jd__agree_leave(status);
}

jd_status jd_assert_equal(const jd_leaf *leaves, size_t num_leaves,
                          const char *what)
{
    JD_NOTE_CALLER();
    struct comparison comparison = { .leaves = leaves, .what = what };
    return assert_equal(JD_ACTIVITY_ASSERT_EQUAL, &comparison, num_leaves);
}

jd_status jd_assert_equal_with(const jd_leaf *leaves, size_t num_leaves,
                               const char *what, const jd_equality *equality,
                               size_t size)
{
    JD_NOTE_CALLER();
    enum jd_activity activity = JD_ACTIVITY_ASSERT_EQUAL_WITH;
    struct comparison comparison = { .leaves = leaves, .what = what };
    jd_status status =
        jd__equality_read(equality, size, jd__signature_activity_name(activity),
                          &comparison.rules);
    if (status != JD_OK)
        return status;
    jd__equality_print(&comparison.rules, comparison.rules_text,
                       sizeof comparison.rules_text);
    return assert_equal(activity, &comparison, num_leaves);
}
