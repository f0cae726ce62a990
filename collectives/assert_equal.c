/* SPDX-License-Identifier: BSD-3-Clause */
/* assert_equal.c - jd_assert_equal: every process compares its leaves with
 * process 0's, and then all tell each other what they found. */
#include "collectives/elements.h"
#include "collectives/leaves.h"
#include "collectives/processes.h"
#include "jd_multihost.h"

#include <inttypes.h>
#include <string.h>

/* Where this process's leaves first differ from process 0's. */
struct difference {
    uint64_t exists;
    uint64_t leaf;
    uint64_t element;
    unsigned char value[16];
    unsigned char wanted[16];
};

/* Compares what comes next in the walk with bytes of process 0's stream. */
static void compare(struct jd_leaf_walk *walk, const void *data, size_t bytes,
                    void *found)
{
    const char *wanted = data;
    struct difference *difference = found;
    struct jd_leaf_span span;
    for (size_t used = 0; used < bytes; used += span.bytes) {
        if (!jd__walk_next(walk, bytes - used, &span))
            return;
        const jd_leaf *leaf = &walk->leaves[span.leaf];
        const char *have = (const char *)leaf->data + span.offset;
        if (difference->exists || memcmp(have, wanted + used, span.bytes) == 0)
            continue;
        size_t size = jd_dtype_size(leaf->dtype);
        for (size_t at = 0; at < span.bytes; at += size) {
            const char *other = wanted + used + at;
            if (jd__element_equal(leaf->dtype, have + at, other))
                continue;
            difference->exists = 1;
            difference->leaf = span.leaf;
            difference->element = (span.offset + at) / size;
            memcpy(difference->value, have + at, size);
            memcpy(difference->wanted, other, size);
            break;
        }
    }
}

static jd_status find_difference(struct jd_group *group,
                                 struct jd_purpose *purpose, size_t bytes,
                                 struct difference *difference)
{
    struct jd_listener listener = { compare, difference };
    return jd__processes_hear(group, purpose, bytes, 0, &listener);
}

static jd_status fail_difference(const struct jd_runtime *runtime, int process,
                                 const struct difference *difference,
                                 const jd_leaf *leaves, const char *what)
{
    const jd_leaf *leaf = &leaves[difference->leaf];
    const struct jd_topology *topology = runtime->topology;
    char value[96], wanted[96], index[128];
    jd__element_print(leaf->dtype, difference->value, value, sizeof value);
    jd__element_print(leaf->dtype, difference->wanted, wanted, sizeof wanted);
    jd__leaf_print_index(leaf, difference->element, index, sizeof index);
    return jd_fail(
        JD_FAILED_PRECONDITION,
        "%s%sjd_assert_equal: process %d (%s) has %s in leaf %" PRIu64
        " at index %s, where process 0 has %s",
        what ? what : "", what ? ": " : "", process,
        topology->hosts[topology->processes[process].host].name, value,
        difference->leaf, index, wanted);
}

/* Tells all what each has found. */
static jd_status share_differences(struct jd_group *group,
                                   const struct jd_purpose *purpose,
                                   const struct difference *own,
                                   const char *what)
{
    jd_status status =
        jd__group_meet(group, &purpose->signature, own, sizeof *own);
    for (int i = 0; status == JD_OK && i < jd__group_size(group); i++) {
        struct difference difference;
        memcpy(&difference, jd__group_payload(group, i), sizeof difference);
        if (difference.exists)
            return fail_difference(jd__group_runtime(group), i, &difference,
                                   purpose->leaves, what);
    }
    return status;
}

jd_status jd_assert_equal(const jd_leaf *leaves, size_t num_leaves,
                          const char *what)
{
    enum jd_activity activity = JD_ACTIVITY_ASSERT_EQUAL;
    struct jd_leaf_list list = { leaves, num_leaves,
                                 jd__activity_name(activity), "leaves" };
    struct difference difference = { .exists = 0 };
    struct jd_group *group;
    size_t bytes;
    jd_status status = jd__leaves_check(&list, &bytes);
    if (status == JD_OK)
        status = jd__processes_enter(activity, &group);
    if (status != JD_OK)
        return status;
    struct jd_purpose purpose = jd__purpose(activity, leaves, num_leaves);
    status = find_difference(group, &purpose, bytes, &difference);
    if (status == JD_OK)
        status = share_differences(group, &purpose, &difference, what);
    return jd__processes_leave(status);
}
