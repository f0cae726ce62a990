/* SPDX-License-Identifier: BSD-3-Clause */
/* inter_result.c - what comes by messages between members, checked. */
#include "collectives/cpu/inter/inter_result.h"

#include <stdbool.h>

static bool is_of_a_call(const struct jd_inter_head *got)
{
    return (got->kind == JD_INTER_SUMMARY || got->kind == JD_INTER_SEND ||
            got->kind == JD_INTER_RECEIVE) &&
           got->signature.activity < JD_ACTIVITY_COUNT;
}

jd_status jd__inter_fail_kind(const struct jd_inter_head *got,
                              const struct jd_inter_ends *ends)
{
    char text[JD_SIGNATURE_TEXT] = "sends data";
    if (is_of_a_call(got))
        jd__signature_print(&got->signature, text, sizeof text);
    return jd_fail(JD_ABORTED,
                   "%s%s: process %d (member %d) %s%s with process %d (member "
                   "%d), which calls %s; a jd_send() has its jd_recv() there "
                   "at the same place among the calls, and all members must "
                   "make the same collectives in the same order",
                   ends->operation, ends->detail ? ends->detail : "",
                   ends->from_process, ends->from,
                   is_of_a_call(got) ? "calls " : "", text, ends->to_process,
                   ends->to, ends->operation);
}

/* A member's number, or -1. */
static bool is_member(int32_t member, int size)
{
    return member >= -1 && member < size;
}

static bool is_voice(const struct jd_vote *voice, int group, int size)
{
    return is_member(voice->member, size) &&
           (voice->member < 0 || (voice->count >= 0 && voice->count <= group));
}

static bool is_status(int32_t status)
{
    return status >= JD_OK && status <= JD_UNAUTHENTICATED;
}

jd_status jd__inter_result_check(const struct jd_inter_result_head *summary,
                                 int group, int size, size_t most_bytes,
                                 const struct jd_inter_ends *ends)
{
    if (summary->head.kind != JD_INTER_SUMMARY)
        return jd__inter_fail_kind(&summary->head, ends);
    if (is_voice(&summary->voices[0], group, size) &&
        summary->voices[0].member >= 0 && summary->voices[0].count > 0 &&
        is_voice(&summary->voices[1], group, size) &&
        is_member(summary->failed, size) && summary->bytes <= most_bytes &&
        (summary->failed < 0 ||
         (is_status(summary->status) && summary->status != JD_OK)))
        return JD_OK;
    return jd_fail(JD_INTERNAL,
                   "%s%s: what process %d (member %d) says of its host's %d "
                   "members cannot be (member %d, %d, failed %d, %u bytes); "
                   "do all processes run the same version of jd?",
                   ends->operation, ends->detail ? ends->detail : "",
                   ends->from_process, ends->from, group,
                   (int)summary->voices[0].member,
                   (int)summary->voices[1].member, (int)summary->failed,
                   (unsigned)summary->bytes);
}
