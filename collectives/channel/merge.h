/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * merge.h - how the members of a channel come to a call: what they say is
 * merged on the way, in as many rounds as their number has binary digits.
 *
 *     struct jd_merge_call call = { .signature = { ... },
 *                                   .record = &own, .bytes = sizeof own };
 *     struct jd_merge merge;
 *     status = jd__merge_meet(channel, &call, &merge);
 *     if (status == JD_OK && jd__merge_differs(&merge, &odd, &other))
 *         ... odd->process calls odd->signature, other->process ...
 *     if (status == JD_OK)
 *         status = jd__merge_check_status(channel, &merge);
 *     ... jd__merge_record(&merge, i) is what party i has given ...
 *
 * The first messages of all calls look alike, and a receiver takes any length:
 * members who come with different intentions meet all the same, and find out.
 * Who waits for long tells those who wait for it whom it waits for, so that
 * all name the one who has not come.
 *
 * Collective: the parties. Blocks: with one collective deadline.
 * Threads: as channel.h.
 */
#ifndef COLLECTIVES_CHANNEL_MERGE_H
#define COLLECTIVES_CHANNEL_MERGE_H

#include "collectives/channel/channel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the records of all may have in one message; more follow the rounds. */
#define JD_MERGE_PAYLOAD ((size_t)32 << 10)

/* Of what one gives to all. */
#define JD_MERGE_OF_ONE ((size_t)4000)

enum {
    JD_MERGE_TEXT = 224, /* what a member says in words, with its end */
};

/* What a member comes with. */
struct jd_merge_call {
    struct jd_signature signature; /* its status too */
    const char *text;              /* NULL: "" */
    const void *record;
    size_t bytes; /* of the record; the same where signatures agree */

    /* Only the record of the one that has one goes to all, at most
     * JD_MERGE_OF_ONE bytes; the others' are NULL. */
    bool is_of_one;

    /* Where they are to stand, in the order of the parties; NULL: in the
     * channel's memory, all of them at most JD_MERGE_PAYLOAD bytes. */
    void *all;

    const struct jd_parties *parties; /* NULL: all members */
};

/* What some members have said alike: the first of them, and how many. */
struct jd_merge_said {
    int32_t process;
    int32_t count;
    uint64_t list; /* of whom they believe the parties to be */
    struct jd_signature signature;
};

/* What all know then; until the channel's next merge. */
struct jd_merge {
    struct jd_merge_said first, other; /* other: the first that differs from
                                        * first; its count is 0: all agree */
    int32_t failed, status; /* of the first that came with one; else JD_OK */
    const char *first_text, *other_text;
    const unsigned char *records;
    size_t bytes; /* of each; 0: of one for all */
};

/* Returns: JD_OK, signatures and statuses are not compared here; the failures
 * of a wait; RESOURCE_EXHAUSTED. */
jd_status jd__merge_meet(struct jd_channel *channel,
                         const struct jd_merge_call *call,
                         struct jd_merge *ret_merge);

/* Whether signatures differ: what the odd one says, and what one who agrees
 * with most. The same on every member. */
bool jd__merge_differs(const struct jd_merge *merge,
                       const struct jd_merge_said **ret_odd,
                       const struct jd_merge_said **ret_other);

/* The text that came with it. */
const char *jd__merge_text(const struct jd_merge *merge,
                           const struct jd_merge_said *said);

/* JD_OK, or the status of the first member that came with one, which every
 * member returns, naming its process. */
jd_status jd__merge_check_status(struct jd_channel *channel,
                                 const struct jd_merge *merge);

/* What party i has given. */
const void *jd__merge_record(const struct jd_merge *merge, int i);

/*
 * After a merge that found two: these say to all in words what they call, own
 * of less than size bytes; the others listen. All members of the channel take
 * part. The texts stay until its next merge.
 * Returns: as jd__merge_meet; INVALID_ARGUMENT where the lists of members
 *   differ.
 */
jd_status jd__merge_explain(struct jd_channel *channel,
                            const struct jd_merge *merge, const char *own,
                            size_t size, const char **ret_odd,
                            const char **ret_other);

#endif
