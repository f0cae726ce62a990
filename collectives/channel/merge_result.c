/* SPDX-License-Identifier: BSD-3-Clause */
/* merge_result.c - what the members of a merge know then. */
#include "collectives/channel/chunks.h"
#include "collectives/channel/merge.h"

#include <assert.h>
#include <string.h>

bool jd__merge_differs(const struct jd_merge *merge,
                       const struct jd_merge_said **ret_odd,
                       const struct jd_merge_said **ret_other)
{
    bool first_is_odd = merge->first.count == 1 && merge->other.count > 1;
    if (!merge->other.count)
        return false;
    *ret_odd = first_is_odd ? &merge->first : &merge->other;
    *ret_other = first_is_odd ? &merge->other : &merge->first;
    return true;
}

const char *jd__merge_text(const struct jd_merge *merge,
                           const struct jd_merge_said *said)
{
    return said == &merge->first ? merge->first_text : merge->other_text;
}

jd_status jd__merge_check_status(struct jd_channel *channel,
                                 const struct jd_merge *merge)
{
    jd_status status = (jd_status)merge->status;
    if (status == JD_OK ||
        merge->failed == jd__channel_runtime(channel)->world.index)
        return status;
    return jd_fail(status,
                   "%s: process %d came, but could not take part: "
                   "%s; its own message says more",
                   jd__channel_operation(channel), merge->failed,
                   jd_status_name(status));
}

const void *jd__merge_record(const struct jd_merge *merge, int i)
{
    return merge->records + (size_t)i * merge->bytes;
}

static jd_status fail_lists(const struct jd_channel *channel,
                            const struct jd_merge *merge)
{
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: process %d calls it for other processes than process "
                   "%d; all processes of the meshes must make the same calls "
                   "in the same order",
                   jd__channel_operation(channel), merge->other.process,
                   merge->first.process);
}

/* The process's text goes to all. */
static jd_status hear_text(struct jd_channel *channel, int process,
                           const char *own, char *text, size_t size)
{
    int source = jd__channel_size(channel) - 1;
    while (source > 0 && jd__channel_process(channel, source) != process)
        source--;
    memset(text, 0, size);
    if (source == jd__channel_index(channel))
        memcpy(text, own, strlen(own));
    return jd__chunks_broadcast(channel, text, size, source);
}

jd_status jd__merge_explain(struct jd_channel *channel,
                            const struct jd_merge *merge, const char *own,
                            size_t size, const char **ret_odd,
                            const char **ret_other)
{
    const struct jd_merge_said *odd = NULL, *other = NULL;
    char *memory = jd__channel_merge_scratch(channel, 2 * size);
    char *texts[2] = { memory, memory + size };
    assert(strlen(own) < size);
    if (!jd__merge_differs(merge, &odd, &other))
        return JD_OK;
    if (odd->list != other->list)
        return fail_lists(channel, merge);
    jd_status status = hear_text(channel, odd->process, own, texts[0], size);
    if (status == JD_OK)
        status = hear_text(channel, other->process, own, texts[1], size);
    *ret_odd = texts[0];
    *ret_other = texts[1];
    return status;
}
