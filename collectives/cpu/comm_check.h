/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * comm_check.h - how the processes of a communicator-to-be make sure, with a
 * deadline, that all are there and mean the same.
 */
#ifndef COLLECTIVES_CPU_COMM_CHECK_H
#define COLLECTIVES_CPU_COMM_CHECK_H

#include "collectives/channel/channel.h"

#include <stddef.h>
#include <stdint.h>

/* What a member believes that the communicator is. */
struct jd_comm_desc {
    uint64_t digest;
    char text[224]; /* for people: "\"data\" of 4 devices of processes 0-3" */
};

/*
 * Each member tells the one of the lowest process what it believes, and that
 * one answers all; where it waits for long, it tells those that have come who
 * has not.
 * Returns: JD_OK; INVALID_ARGUMENT on every member where beliefs differ,
 *   naming two members and what they believe; DEADLINE_EXCEEDED naming those
 *   who did not come (the lowest itself, where it came less than half a second
 *   before); RESOURCE_EXHAUSTED.
 */
jd_status jd__comm_check_compare(struct jd_channel *channel,
                                 const struct jd_comm_desc *desc);

#endif
