/* SPDX-License-Identifier: BSD-3-Clause */
/* inter_result.c - what comes by messages between members, checked. */
#include "collectives/cpu/inter/inter_result.h"

#include <string.h>

static bool is_of_a_call(const struct jd_inter_head *got)
{
    return (got->kind == JD_INTER_RESULT || got->kind == JD_INTER_AGREED ||
            jd__inter_is_transfer(got->kind)) &&
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

static bool is_vote(const struct jd_vote *vote, int members, int size)
{
    return is_member(vote->member, size) &&
           (vote->member < 0 || (vote->count >= 0 && vote->count <= members));
}

/* There is always one who says something. */
static bool is_first_vote(const struct jd_vote *vote, int members, int size)
{
    return is_vote(vote, members, size) && vote->member >= 0 && vote->count > 0;
}

static bool is_status(int32_t status)
{
    return status >= JD_OK && status <= JD_UNAUTHENTICATED;
}

jd_status jd__inter_result_check(const struct jd_inter_result *result,
                                 int members, int size, size_t most_bytes,
                                 const struct jd_inter_ends *ends)
{
    const struct jd_vote *votes = result->votes;
    if (result->head.kind != JD_INTER_RESULT)
        return jd__inter_fail_kind(&result->head, ends);
    if (is_first_vote(&votes[0], members, size) &&
        is_vote(&votes[1], members, size) && is_member(result->failed, size) &&
        result->bytes <= most_bytes &&
        (result->failed < 0 ||
         (is_status(result->status) && result->status != JD_OK)))
        return JD_OK;
    return jd_fail(JD_INTERNAL,
                   "%s%s: what process %d (member %d) says of %d members "
                   "cannot be (member %d, %d, failed %d, %u bytes); do all "
                   "processes run the same version of jd?",
                   ends->operation, ends->detail ? ends->detail : "",
                   ends->from_process, ends->from, members,
                   (int)votes[0].member, (int)votes[1].member,
                   (int)result->failed, (unsigned)result->bytes);
}

/* ---- as a message -------------------------------------------------------- */

char *jd__inter_result_pack(const struct jd_inter_result *result, char *data)
{
    if (!jd__inter_result_agrees(result))
        return memcpy(data - JD_INTER_RESULT_SPACE, result, sizeof *result);
    const struct jd_vote *vote = &result->votes[0];
    struct jd_inter_agreed agreed = { result->head, vote->member, vote->count,
                                      result->is_seen, result->bytes };
    agreed.head.kind = JD_INTER_AGREED;
    agreed.head.signature = vote->signature;
    return memcpy(data - JD_INTER_AGREED_SPACE, &agreed, sizeof agreed);
}

size_t jd__inter_result_unpack(const char *message,
                               struct jd_inter_result *ret_result)
{
    struct jd_inter_agreed agreed;
    memcpy(&agreed, message, sizeof agreed);
    if (agreed.head.kind != JD_INTER_AGREED) {
        memcpy(ret_result, message, sizeof *ret_result);
        return JD_INTER_RESULT_SPACE;
    }
    agreed.head.kind = JD_INTER_RESULT;
    *ret_result = (struct jd_inter_result){
        .head = agreed.head,
        .votes = { { agreed.head.signature, agreed.member, agreed.count },
                   { .member = -1 } },
        .failed = -1,
        .is_seen = agreed.is_seen,
        .bytes = agreed.bytes,
    };
    return JD_INTER_AGREED_SPACE;
}

/* ---- merging ------------------------------------------------------------ */

void jd__inter_result_clear(struct jd_inter_result *result)
{
    memset(result, 0, sizeof *result);
    result->head.kind = JD_INTER_RESULT;
    result->votes[0].member = result->votes[1].member = result->failed = -1;
}

/* Votes of two results: of those that say the same there is one. */
struct votes {
    struct jd_vote all[4];
    int count;
};

static void put_vote(struct votes *votes, const struct jd_vote *vote)
{
    for (int i = 0; i < votes->count; i++) {
        struct jd_vote *other = &votes->all[i];
        if (!jd__signature_agrees(&other->signature, &vote->signature))
            continue;
        other->count += vote->count;
        if (vote->member < other->member)
            other->member = vote->member;
        return;
    }
    votes->all[votes->count++] = *vote;
}

/* The one of the lowest member, which is taken out. */
static struct jd_vote take_lowest(struct votes *votes)
{
    struct jd_vote none = { .member = -1 };
    int lowest = 0;
    if (!votes->count)
        return none;
    for (int i = 1; i < votes->count; i++)
        if (votes->all[i].member < votes->all[lowest].member)
            lowest = i;
    struct jd_vote vote = votes->all[lowest];
    votes->all[lowest] = votes->all[--votes->count];
    return vote;
}

/* Most often all say the same. False where they do not. */
static bool add_like_vote(struct jd_inter_result *result,
                          const struct jd_vote *added)
{
    struct jd_vote *first = &result->votes[0];
    if (result->votes[1].member >= 0 || added[1].member >= 0 ||
        first->member < 0 || added[0].member < 0 ||
        !jd__signature_agrees(&first->signature, &added[0].signature))
        return false;
    first->count += added[0].count;
    if (added[0].member < first->member)
        first->member = added[0].member;
    return true;
}

/* Of more than two the lowest members' stay, whichever result they are in. */
static void add_votes(struct jd_inter_result *result,
                      const struct jd_vote *added)
{
    if (add_like_vote(result, added))
        return;
    struct votes votes = { .count = 0 };
    for (int i = 0; i < 2; i++)
        if (result->votes[i].member >= 0)
            put_vote(&votes, &result->votes[i]);
    for (int i = 0; i < 2; i++)
        if (added[i].member >= 0)
            put_vote(&votes, &added[i]);
    result->votes[0] = take_lowest(&votes);
    result->votes[1] = take_lowest(&votes);
    result->head.signature = result->votes[0].signature;
}

static void add_failure(struct jd_inter_result *result, int32_t member,
                        int32_t status)
{
    if (member < 0 || (result->failed >= 0 && result->failed <= member))
        return;
    result->failed = member;
    result->status = status;
}

/* The first of all. */
static void begin_votes(struct jd_inter_result *result,
                        const struct jd_signature *said, int member)
{
    result->votes[0] = (struct jd_vote){ *said, member, 1 };
    result->head.signature = *said;
}

void jd__inter_result_add(struct jd_inter_result *result,
                          const struct jd_signature *said, int member)
{
    if (result->votes[0].member < 0)
        begin_votes(result, said, member);
    else
        add_votes(result, (struct jd_vote[2]){ { *said, member, 1 },
                                               { .member = -1 } });
    add_failure(result, said->status == JD_OK ? -1 : member, said->status);
}

void jd__inter_result_merge(struct jd_inter_result *result,
                            const struct jd_inter_result *other)
{
    add_votes(result, other->votes);
    add_failure(result, other->failed, other->status);
    result->is_seen &= other->is_seen;
}

bool jd__inter_result_merge_like(struct jd_inter_result *result,
                                 const char *message, size_t came, int size,
                                 size_t most_bytes, uint32_t *ret_bytes)
{
    struct jd_inter_agreed said;
    if (came < JD_INTER_AGREED_SPACE)
        return false;
    memcpy(&said, message, sizeof said);
    const struct jd_vote votes[2] = {
        { said.head.signature, said.member, said.count }, { .member = -1 }
    };
    if (said.head.kind != JD_INTER_AGREED || result->failed >= 0 ||
        !is_first_vote(&votes[0], size, size) || said.bytes > most_bytes ||
        came - JD_INTER_AGREED_SPACE != said.bytes ||
        !add_like_vote(result, votes))
        return false;
    result->is_seen &= said.is_seen;
    *ret_bytes = said.bytes;
    return true;
}

bool jd__inter_result_agrees(const struct jd_inter_result *result)
{
    return result->votes[1].member < 0 && result->failed < 0;
}
