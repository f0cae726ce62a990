/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pair.h - a message from a member of a channel and one to a member, together:
 * what most rounds of a schedule are.
 *
 *     struct jd_pair pair;
 *     status = jd__pair_post(channel, &pair,
 *                            (struct jd_message_end){ i, in, 64 },
 *                            (struct jd_message_end){ j, out, 32 });
 *     ... what else there is to do ...
 *     if (status == JD_OK)
 *         status = jd__pair_finish(channel, &pair);
 *
 * Threads: as channel.h.
 */
#ifndef COLLECTIVES_CHANNEL_PAIR_H
#define COLLECTIVES_CHANNEL_PAIR_H

#include "collectives/channel/channel.h"

struct jd_pair {
    MPI_Request requests[2];
    struct jd_wait_end ends[2];
    int from;               /* the member, or -1 */
    size_t bytes;           /* that are to come of it, or may at most */
    int came[JD_WAIT_CAME]; /* how many did, once it is finished */
};

/* Zero bytes are no message, and a member that is -1 is nobody. */
jd_status jd__pair_post(struct jd_channel *channel, struct jd_pair *pair,
                        struct jd_message_end from, struct jd_message_end to);

/* Blocks: as jd__channel_wait_for(). Returns: as that; INTERNAL where less came
 * than was to. */
jd_status jd__pair_finish(struct jd_channel *channel, struct jd_pair *pair);
/* The same of messages of any length. */
jd_status jd__pair_finish_any(struct jd_channel *channel, struct jd_pair *pair);

/* INTERNAL: so many bytes came of a member, and its call has others. */
jd_status jd__pair_fail_length(const struct jd_channel *channel, int member,
                               int came, size_t wanted);

#endif
