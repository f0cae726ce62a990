/* SPDX-License-Identifier: BSD-3-Clause */
/* pair.c - a message from a member and one to a member, together. */
#include "collectives/channel/pair.h"

jd_status jd__pair_post(struct jd_channel *channel, struct jd_pair *pair,
                        struct jd_message_end from, struct jd_message_end to)
{
    bool receives = from.member >= 0 && from.bytes;
    bool sends = to.member >= 0 && to.bytes;
    pair->requests[0] = pair->requests[1] = MPI_REQUEST_NULL;
    pair->from = receives ? from.member : -1;
    pair->bytes = from.bytes;
    pair->ends[0] = pair->ends[1] =
        jd__channel_end(channel, jd__channel_index(channel));
    if (receives && sends)
        return jd__channel_start_both(channel, &from, &to, pair->requests,
                                      pair->ends);
    if (receives)
        return jd__channel_start_receive(channel, from.member, from.data,
                                         from.bytes, &pair->requests[0],
                                         &pair->ends[0]);
    if (sends)
        return jd__channel_start_send(channel, to.member, to.data, to.bytes,
                                      &pair->requests[1], &pair->ends[1]);
    return JD_OK;
}

jd_status jd__pair_fail_length(const struct jd_channel *channel, int member,
                               int came, size_t wanted)
{
    return jd_fail(JD_INTERNAL,
                   "%s: %d bytes came from process %d (member %d), whose call "
                   "has %zu; messages between the two are out of step, and the "
                   "job should end; do all processes run the same version of "
                   "jd?",
                   jd__channel_operation(channel), came,
                   jd__channel_process(channel, member), member, wanted);
}

jd_status jd__pair_finish_any(struct jd_channel *channel, struct jd_pair *pair)
{
    return jd__channel_wait_for(channel, pair->requests, pair->ends, 2,
                                pair->came);
}

jd_status jd__pair_finish(struct jd_channel *channel, struct jd_pair *pair)
{
    jd_status status = jd__pair_finish_any(channel, pair);
    if (status != JD_OK || pair->from < 0 ||
        (size_t)pair->came[0] == pair->bytes)
        return status;
    return jd__channel_note(
        channel,
        jd__pair_fail_length(channel, pair->from, pair->came[0], pair->bytes));
}
