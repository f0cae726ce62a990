/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunks.h - how data that does not fit in a merge moves within a channel: by
 * the rounds of a schedule, in pieces, each straight from the buffer where it
 * is to the one where it goes.
 *
 * All members call the same function with the same sizes; a merge before
 * has made sure of that. Failures are those of jd__pair_finish().
 * Threads: as channel.h.
 */
#ifndef COLLECTIVES_CHANNEL_CHUNKS_H
#define COLLECTIVES_CHANNEL_CHUNKS_H

#include "collectives/channel/channel.h"

#include <stddef.h>

/* out[i * bytes .. (i + 1) * bytes) becomes member i's in[0 .. bytes). in may
 * be the place in out where it goes. */
jd_status jd__chunks_all_gather(struct jd_channel *channel, const void *in,
                                void *out, size_t bytes);

/* The same among some members: out is in the order of the parties. */
jd_status jd__chunks_all_gather_among(struct jd_channel *channel,
                                      const struct jd_parties *parties,
                                      const void *in, void *out, size_t bytes);

/* data becomes the source's on every member. */
jd_status jd__chunks_broadcast(struct jd_channel *channel, void *data,
                               size_t bytes, int source);

#endif
