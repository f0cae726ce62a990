/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agree.h - how a multihost utility begins: all processes meet, compare
 * what they came for, and give what fits into the meeting's message. Longer
 * lists follow as one stream of bytes, in pieces that pass through the
 * group's scratch memory.
 *
 *     status = jd__agree_enter(JD_ACTIVITY_..., &group);
 *     struct jd_call_desc desc = jd__agree_call(JD_ACTIVITY_..., leaves, n);
 *     status = jd__agree_meet(&desc, &merge);
 *     ...
 *     return jd__agree_leave(status);
 *
 * Threads: one at a time.
 */
#ifndef COLLECTIVES_MULTIHOST_AGREE_H
#define COLLECTIVES_MULTIHOST_AGREE_H

#include "base/status.h"
#include "collectives/channel/merge.h"
#include "collectives/multihost/leaves.h"

#include <stdbool.h>
#include <stddef.h>

/* What a process came for. */
struct jd_call_desc {
    struct jd_signature signature;
    const jd_leaf *leaves;
    size_t count;
    const char *detail;  /* follows the list in sentences; NULL: nothing */
    const void *payload; /* NULL: this process gives nothing */
    size_t bytes;        /* of what is given */
    bool is_of_one;      /* by one, to all */
};

struct jd_call_desc jd__agree_call(enum jd_activity activity,
                                   const jd_leaf *leaves, size_t count);

/* A walk through the call's leaves, at its beginning. */
struct jd_leaf_walk jd__agree_call_walk(const struct jd_call_desc *desc);

/*
 * The group of all processes, ready for the activity.
 * Returns: JD_OK; what jd__runtime_get says where there is no world; ABORTED
 *   after an earlier failure; RESOURCE_EXHAUSTED.
 */
jd_status jd__agree_enter(enum jd_activity activity,
                          struct jd_channel **ret_group);

/* The end of each utility that has entered, whatever came of it: remembers
 * what leaves the processes out of step. Returns status. */
jd_status jd__agree_leave(jd_status status);

/*
 * Meets. Returns: JD_OK; INVALID_ARGUMENT on every process where calls
 * differ, naming two processes and what they came for; RESOURCE_EXHAUSTED
 * where one of them came without memory; the failures of a wait.
 */
jd_status jd__agree_meet(const struct jd_call_desc *desc,
                         struct jd_merge *ret_merge);

/* Meets with bytes of scratch memory for what follows. */
jd_status jd__agree_meet_with_scratch(struct jd_channel *group,
                                      struct jd_call_desc *desc, size_t bytes,
                                      char **ret_scratch);

/* Meets with all leaves of those that give, of bytes each, in the message: of
 * one at most JD_MERGE_OF_ONE, of all JD_MERGE_PAYLOAD. */
jd_status jd__agree_meet_with_leaves(struct jd_call_desc *desc, bool gives,
                                     size_t bytes, struct jd_merge *ret_merge);

/* What becomes of the source's leaves: called with each part of them, and the
 * place in this process's leaves where it belongs. */
struct jd_sink {
    void (*take)(struct jd_leaf_walk *at, const void *data, size_t bytes,
                 void *arg);
    void *arg;
};

/* Meets, and lets every process but the source take the source's leaves,
 * which have bytes in all. */
jd_status jd__agree_receive(struct jd_channel *group, struct jd_call_desc *desc,
                            size_t bytes, int source,
                            const struct jd_sink *sink);

#endif
