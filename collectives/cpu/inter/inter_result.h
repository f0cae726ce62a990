/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_result.h - what comes by messages between members: of which kind it
 * is, whether the numbers in it can be used, and how what leaders tell each
 * other is merged on the way. Nothing here communicates.
 *
 * Transfers and meetings send with the same tags. A member that sends while
 * another calls a collective is found out by the kind.
 * Threads: any.
 */
#ifndef COLLECTIVES_CPU_INTER_INTER_RESULT_H
#define COLLECTIVES_CPU_INTER_INTER_RESULT_H

#include "collectives/check/signature.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers that data hardly begins with. */
enum jd_inter_kind {
    JD_INTER_SEND = 0x6a640001,
    JD_INTER_RECEIVE = 0x6a640002,
    JD_INTER_DATA_FOLLOWS = 0x6a640003,
    JD_INTER_RESULT = 0x6a640004,
    JD_INTER_RECEIVE_ANY_SIZE = 0x6a640005,
    JD_INTER_AGREED = 0x6a640006, /* a result of which all say the same */
};

/* Whether one end of a transfer announces itself. */
static inline bool jd__inter_is_transfer(uint64_t kind)
{
    return kind == JD_INTER_SEND || kind == JD_INTER_RECEIVE ||
           kind == JD_INTER_RECEIVE_ANY_SIZE;
}

/* Each message but data begins with this; DATA_FOLLOWS has the kind alone. */
struct jd_inter_head {
    uint64_t kind; /* enum jd_inter_kind */
    int64_t tag;   /* of a transfer */
    struct jd_signature signature;
};

/* Who says what: the lowest of those who say the same. */
struct jd_vote {
    struct jd_signature signature;
    int32_t member; /* -1: nobody */
    int32_t count;  /* who say the same */
};

/* What was said in a group, and then in several; what their leaders tell each
 * other, before data. */
struct jd_inter_result {
    struct jd_inter_head head; /* with the first vote's signature */
    struct jd_vote votes[2]; /* the lowest member's, the lowest that differs */
    int32_t failed;          /* the lowest that came with a status, or -1 */
    int32_t status;
    uint32_t is_seen;
    uint32_t bytes; /* of data */
};

/* Where all say the same. */
struct jd_inter_agreed {
    struct jd_inter_head head;
    int32_t member, count; /* the first vote's */
    uint32_t is_seen, bytes;
};

/* As a message it stands right in front of its data, and takes so much there:
 * less where all say the same, which goes without votes. Multiples of the
 * data's alignment. */
#define JD_INTER_RESULT_SPACE ((sizeof(struct jd_inter_result) + 15) / 16 * 16)
#define JD_INTER_AGREED_SPACE ((sizeof(struct jd_inter_agreed) + 15) / 16 * 16)

/* Returns where the message begins. */
char *jd__inter_result_pack(const struct jd_inter_result *result, char *data);

/* How long the result is, and its data begin behind it; it is not checked.
 * message: JD_INTER_RESULT_SPACE bytes, whatever has come. */
size_t jd__inter_result_unpack(const char *message,
                               struct jd_inter_result *ret_result);

/* Before anybody has said anything. */
void jd__inter_result_clear(struct jd_inter_result *result);

/* One member more. */
void jd__inter_result_add(struct jd_inter_result *result,
                          const struct jd_signature *said, int member);

/* What was said in others: the same result whichever is merged into which.
 * bytes stay as they are. */
void jd__inter_result_merge(struct jd_inter_result *result,
                            const struct jd_inter_result *other);

/* What mostly comes: a message of so many bytes, at most most_bytes of them
 * data, of members of a communicator of size, that says what all have said so
 * far. It is unpacked, checked and merged at once; ret_bytes: of the data
 * behind JD_INTER_AGREED_SPACE. False: it is another, and nothing is done. */
bool jd__inter_result_merge_like(struct jd_inter_result *result,
                                 const char *message, size_t came, int size,
                                 size_t most_bytes, uint32_t *ret_bytes);

/* Whether all call the same and nobody has failed: then data counts. */
bool jd__inter_result_agrees(const struct jd_inter_result *result);

/* Between whom a message went, for sentences. */
struct jd_inter_ends {
    const char *operation, *detail; /* of the one that got it */
    int from_process, from;         /* who sent it, as a member */
    int to_process, to;
};

/*
 * What a leader got: a result of no more than so many members of a
 * communicator of size.
 * Returns: JD_OK; ABORTED where it is a transfer's message;
 *   INTERNAL where a number cannot be.
 */
jd_status jd__inter_result_check(const struct jd_inter_result *result,
                                 int members, int size, size_t most_bytes,
                                 const struct jd_inter_ends *ends);

/* ABORTED, with what the two members call. */
jd_status jd__inter_fail_kind(const struct jd_inter_head *got,
                              const struct jd_inter_ends *ends);

#endif
