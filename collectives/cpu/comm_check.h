/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * comm_check.h - how the processes of a communicator-to-be make sure, with a
 * deadline, that all are there and mean the same.
 */
#ifndef COLLECTIVES_CPU_COMM_CHECK_H
#define COLLECTIVES_CPU_COMM_CHECK_H

#include "collectives/channel/merge.h"

#include <stddef.h>
#include <stdint.h>

/* What a member believes that the communicator is. */
struct jd_comm_desc {
    uint64_t digest;
    char text[JD_MERGE_TEXT]; /* for people: "\"data\" of 4 devices of
                               * processes 0-3" */
};

/* The steps of making one; messages of two do not agree. */
enum jd_comm_step {
    JD_COMM_STEP_COMPARE,
    JD_COMM_STEP_INFOS,
    JD_COMM_STEP_REACH,
    JD_COMM_STEP_GROUPS,
    JD_COMM_STEP_END,
};

/*
 * Merges what the parties say in the first step or in a later one. status:
 * with which this process comes; it is not compared here.
 * Returns: JD_OK; INVALID_ARGUMENT on every member where descriptions differ,
 *   naming two members and what they say; DEADLINE_EXCEEDED naming those who
 *   did not come; ABORTED where one is at another step; RESOURCE_EXHAUSTED.
 */
jd_status jd__comm_check_merge(struct jd_channel *channel,
                               enum jd_comm_step step,
                               const struct jd_comm_desc *desc,
                               struct jd_merge_call *call,
                               struct jd_merge *ret_merge);

#endif
