/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_result.h - what comes by messages between members: of which kind it
 * is, and whether the numbers in it can be used. Nothing here communicates.
 *
 * Transfers and meetings send with the same tags. A member that sends while
 * another calls a collective is found out by the kind.
 * Threads: any.
 */
#ifndef COLLECTIVES_CPU_INTER_INTER_RESULT_H
#define COLLECTIVES_CPU_INTER_INTER_RESULT_H

#include "collectives/check/signature.h"

#include <stddef.h>
#include <stdint.h>

/* Numbers that data hardly begins with. */
enum jd_inter_kind {
    JD_INTER_SEND = 0x6a640001,
    JD_INTER_RECEIVE = 0x6a640002,
    JD_INTER_DATA_FOLLOWS = 0x6a640003,
    JD_INTER_SUMMARY = 0x6a640004,
};

/* Each message but data begins with this; DATA_FOLLOWS has the kind alone. */
struct jd_inter_head {
    uint64_t kind; /* enum jd_inter_kind */
    int64_t tag;   /* of a transfer */
    struct jd_signature signature;
};

/* Who says what: one of those who say the same. */
struct jd_vote {
    struct jd_signature signature;
    int32_t member; /* -1: nobody */
    int32_t count;  /* who say the same */
};

/* What was said in a group; what the leaders tell each other, before data. */
struct jd_inter_result_head {
    struct jd_inter_head head; /* with the first voice's signature */
    struct jd_vote voices[2];  /* the first member's, the first that differs */
    int32_t failed;            /* the first that came with a status, or -1 */
    int32_t status;
    uint32_t is_seen;
    uint32_t bytes; /* of data */
};

/* Between whom a message went, for sentences. */
struct jd_inter_ends {
    const char *operation, *detail; /* of the one that got it */
    int from_process, from;         /* who sent it, as a member */
    int to_process, to;
};

/*
 * What a leader got: a summary of a group of so many members of a communicator
 * of size.
 * Returns: JD_OK; ABORTED where it is a transfer's message;
 *   INTERNAL where a number cannot be.
 */
jd_status jd__inter_result_check(const struct jd_inter_result_head *summary,
                                 int group, int size, size_t most_bytes,
                                 const struct jd_inter_ends *ends);

/* ABORTED, with what the two members call. */
jd_status jd__inter_fail_kind(const struct jd_inter_head *got,
                              const struct jd_inter_ends *ends);

#endif
