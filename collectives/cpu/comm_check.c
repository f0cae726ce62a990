/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_check.c - the members of a communicator-to-be find each other. */
#include "collectives/cpu/comm_check.h"

/* A message of another step or of another communicator, left over by one that
 * failed. */
static jd_status fail_stray(struct jd_channel *channel,
                            const struct jd_merge_said *odd,
                            const struct jd_merge_said *other)
{
    const char *detail = jd__channel_next_wait(channel)->detail;
    return jd_fail(JD_ABORTED,
                   "%s%s: processes %d and %d are not at the same step of "
                   "making the mesh's communicator, as an earlier one failed "
                   "between them; the job should end",
                   jd__channel_operation(channel), detail ? detail : "",
                   odd->process, other->process);
}

static jd_status fail_different(struct jd_channel *channel,
                                const struct jd_merge *merge,
                                const struct jd_merge_said *odd,
                                const struct jd_merge_said *other)
{
    return jd_fail(
        JD_INVALID_ARGUMENT,
        "%s: process %d comes with a mesh %s, process %d with a mesh %s; "
        "all processes of a mesh must make it of the same devices in the same "
        "order, with the same axes, and use their meshes in the same order",
        jd__channel_operation(channel), odd->process,
        jd__merge_text(merge, odd), other->process,
        jd__merge_text(merge, other));
}

jd_status jd__comm_check_merge(struct jd_channel *channel,
                               enum jd_comm_step step,
                               const struct jd_comm_desc *desc,
                               struct jd_merge_call *call,
                               struct jd_merge *ret_merge)
{
    const struct jd_merge_said *odd, *other;
    call->signature.source = (int32_t)step;
    call->signature.count = call->bytes;
    call->signature.digest = desc->digest;
    call->text = step == JD_COMM_STEP_COMPARE ? desc->text : NULL;
    jd_status status = jd__merge_meet(channel, call, ret_merge);
    if (status != JD_OK || !jd__merge_differs(ret_merge, &odd, &other))
        return status;
    bool is_compared = odd->signature.source == JD_COMM_STEP_COMPARE &&
                       other->signature.source == JD_COMM_STEP_COMPARE;
    return is_compared ? fail_different(channel, ret_merge, odd, other)
                       : fail_stray(channel, odd, other);
}
