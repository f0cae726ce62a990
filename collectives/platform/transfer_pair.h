/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transfer_pair.h - a send and its receive that do not fit together: the
 * sentence that each platform says of them. (Functions of a header: the module
 * of GPUs has them too.)
 */
#ifndef COLLECTIVES_PLATFORM_TRANSFER_PAIR_H
#define COLLECTIVES_PLATFORM_TRANSFER_PAIR_H

#include "base/status.h"
#include "collectives/platform/platform.h"

#include <inttypes.h>
#include <stdio.h>

/* A transfer, and what its other end says. */
struct jd_transfer_pair {
    const struct jd_transfer *own;
    int process, other;   /* this end's, and the other's */
    int member;           /* this end's; the other's is own->member */
    uint64_t count, rest; /* the other's */
    uint32_t dtype;       /* a jd_dtype */
    int32_t tag;
};

/* How the sentence of two ends that do not fit together ends. */
struct jd_transfer_why {
    char text[320];
};
static inline struct jd_transfer_why
jd__transfer_why(const struct jd_transfer_pair *pair)
{
    const struct jd_transfer *own = pair->own;
    struct jd_transfer_why why = { "" };
    if (own->explain && own->call.rest != pair->rest)
        own->explain(pair, why.text, sizeof why.text);
    else
        snprintf(why.text, sizeof why.text, "%s",
                 jd__transfer_rule(own->tag, pair->tag));
    return why;
}

/* "16 x F32 with tag 3" of one end; other is the other's tag. */
struct jd_transfer_end_text {
    char text[96];
};
static inline struct jd_transfer_end_text
jd__transfer_end(uint64_t count, uint32_t dtype, int32_t tag, int32_t other)
{
    struct jd_transfer_end_text end;
    snprintf(end.text, sizeof end.text, "%" PRIu64 " x %s%s", count,
             jd_dtype_name((jd_dtype)dtype), jd__tag_text(tag, other).text);
    return end;
}

/* INVALID_ARGUMENT with the sentence, which begins with activity's words. */
static inline jd_status
jd__transfer_fail_pair(const struct jd_transfer_pair *pair,
                       enum jd_activity activity)
{
    const struct jd_transfer *own = pair->own;
    const struct jd_transfer_end_text ends[] = {
        jd__transfer_end(own->call.count, (uint32_t)own->call.dtype, own->tag,
                         pair->tag),
        jd__transfer_end(pair->count, pair->dtype, pair->tag, own->tag),
    };
    const int processes[] = { pair->process, pair->other };
    const int members[] = { pair->member, own->member };
    int sender = own->sends ? 0 : 1, receiver = 1 - sender;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s%s: process %d (member %d) sends %s, where process %d "
                   "(member %d) receives %s; %s",
                   jd__signature_activity_name(activity),
                   own->call.detail ? own->call.detail : "", processes[sender],
                   members[sender], ends[sender].text, processes[receiver],
                   members[receiver], ends[receiver].text,
                   jd__transfer_why(pair).text);
}

#endif
