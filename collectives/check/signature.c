/* SPDX-License-Identifier: BSD-3-Clause */
/* signature.c - what a member of a collective says that it is calling. */
#include "collectives/check/signature.h"
#include "base/text.h"
#include "jd_dtype.h"

#include <inttypes.h>
#include <stdio.h>

const char *jd__signature_activity_name(uint32_t activity)
{
    static const char *const names[JD_ACTIVITY_COUNT] = {
#define NAME_ROW(name, text) [JD_ACTIVITY_##name] = (text),
        JD_ACTIVITY_MAP(NAME_ROW)
#undef NAME_ROW
    };
    return activity < JD_ACTIVITY_COUNT ? names[activity] : "not an activity";
}

static bool is_same_call(const struct jd_signature *a,
                         const struct jd_signature *b)
{
    return a->activity == b->activity && a->dtype == b->dtype &&
           a->source == b->source && a->count == b->count &&
           a->digest == b->digest;
}

bool jd__signature_agrees(const struct jd_signature *a,
                          const struct jd_signature *b)
{
    return is_same_call(a, b) && a->site == b->site;
}

const char *jd__signature_describe_sites(const struct jd_signature *a,
                                         const struct jd_signature *b)
{
    if (!is_same_call(a, b) || a->site == b->site)
        return "";
    return a->site && b->site
               ? " at another place of the program (JD_CHECK_SITES=1)"
               : ", but only one of them has JD_CHECK_SITES=1, which all must "
                 "have";
}

struct signature_part {
    char text[56];
};

/* " of 2 rows", where the call has rows. */
static struct signature_part rows_of(const struct jd_signature *s)
{
    struct signature_part part = { "" };
    if (s->activity == JD_ACTIVITY_ALL_GATHER_2D ||
        s->activity == JD_ACTIVITY_PSUM_SCATTER_2D)
        snprintf(part.text, sizeof part.text, " of %" PRIu64 " row%s",
                 s->digest, jd__text_s(s->digest));
    if (s->activity == JD_ACTIVITY_ALL_TO_ALL_2D)
        snprintf(part.text, sizeof part.text, " of %" PRIu64 " row%s in pieces",
                 s->digest >> 2, jd__text_s(s->digest >> 2));
    if (s->activity == JD_ACTIVITY_ALL_TO_ALL_ND)
        snprintf(part.text, sizeof part.text,
                 " of %" PRIu64 " x %" PRIu64 " rows in pieces",
                 s->digest >> 38, s->digest >> 12 & ((1u << 26) - 1));
    return part;
}

/* By the two bits that jd__signature_shift() has of an edge. */
static const char *const edge_names[] = { "JD_EDGE_WRAP", "JD_EDGE_ZERO",
                                          "JD_EDGE_KEEP", "another edge" };

static const char *const op_names[] = { "JD_OP_SUM", "JD_OP_PROD",
                                        "JD_OP_MAX", "JD_OP_MIN",
                                        "JD_OP_AND", "JD_OP_OR",
                                        "JD_OP_XOR", "another operation" };

/* What comes after count and type. */
static struct signature_part rest_of(const struct jd_signature *s)
{
    struct signature_part part = { "" };
    if (s->source >= 0)
        snprintf(part.text, sizeof part.text, " from source %d", s->source);
    else if (s->activity == JD_ACTIVITY_ALL_TO_ALL_2D)
        snprintf(part.text, sizeof part.text, ", split_axis %d, concat_axis %d",
                 (int)(s->digest >> 1 & 1), (int)(s->digest & 1));
    else if (s->activity == JD_ACTIVITY_ALL_TO_ALL_ND)
        snprintf(part.text, sizeof part.text, ", split_axis %d, concat_axis %d",
                 (int)(s->digest >> 6 & 63), (int)(s->digest & 63));
    else if (s->activity == JD_ACTIVITY_RAGGED_ALL_TO_ALL)
        snprintf(part.text, sizeof part.text,
                 " with lists of %" PRIu64 " for each member", s->digest);
    else if (s->activity == JD_ACTIVITY_SHIFT)
        snprintf(part.text, sizeof part.text, " by %d, %s",
                 (int)(int32_t)(s->digest >> 2), edge_names[s->digest & 3]);
    else if (s->activity == JD_ACTIVITY_SCAN)
        snprintf(part.text, sizeof part.text, " by %s, %s",
                 op_names[s->digest >> 1 & 7],
                 s->digest & 1 ? "exclusive" : "inclusive");
    return part;
}

void jd__signature_print(const struct jd_signature *signature, char *text,
                         size_t size)
{
    if (signature->activity == JD_ACTIVITY_RAGGED_ALL_GATHER) {
        /* Its counts are many; mismatch.c finds the one that differs. */
        snprintf(text, size, "%s of %s",
                 jd__signature_activity_name(signature->activity),
                 jd_dtype_name((jd_dtype)signature->dtype));
        return;
    }
    if (signature->activity == JD_ACTIVITY_PREDUCE) {
        snprintf(text, size, "%s of %" PRIu64 " x %d byte%s",
                 jd__signature_activity_name(signature->activity),
                 signature->digest >> 16, (int)(signature->digest & 0xffff),
                 jd__text_s(signature->digest & 0xffff));
        return;
    }
    snprintf(text, size, "%s%s of %" PRIu64 " x %s%s",
             jd__signature_activity_name(signature->activity),
             rows_of(signature).text, signature->count,
             jd_dtype_name((jd_dtype)signature->dtype),
             rest_of(signature).text);
}

bool jd__signature_find_odd(const struct jd_signature *(*get)(const void *arg,
                                                              int member),
                            const void *arg, int count, int *ret_odd,
                            int *ret_other)
{
    int differing = 0, first = 0, agreeing = 0; /* with 0; with the first */
    for (int i = 1; i < count; i++) {
        if (jd__signature_agrees(get(arg, i), get(arg, 0)))
            continue;
        if (!differing++)
            first = i;
        agreeing += jd__signature_agrees(get(arg, i), get(arg, first));
    }
    if (differing == 0)
        return false;
    bool zero_is_odd = differing == count - 1 && agreeing > 1;
    *ret_odd = zero_is_odd ? 0 : first;
    *ret_other = zero_is_odd ? first : 0;
    return true;
}

static int count_members(const int *processes, int count, int process)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        found += processes[i] == process;
    return found;
}

int jd__signature_name(const int *processes, int count, int member, int other)
{
    return count_members(processes, count, processes[member]) > 1 ||
                   count_members(processes, count, processes[other]) > 1
               ? member
               : -1;
}

jd_status jd__signature_fail(const char *operation, const char *detail,
                             struct jd_said odd, struct jd_said other,
                             const char *more, const char *end)
{
    char odd_text[JD_SIGNATURE_TEXT], other_text[JD_SIGNATURE_TEXT];
    jd__signature_print(odd.signature, odd_text, sizeof odd_text);
    jd__signature_print(other.signature, other_text, sizeof other_text);
    return jd_fail(
        JD_INVALID_ARGUMENT,
        "%s%s: process %d%s calls %s, process %d%s calls %s%s%s; all "
        "members must make the same calls in the same order, with the "
        "same count and type%s",
        operation, detail ? detail : "", odd.process,
        jd__member_text(odd.member).text, odd_text, other.process,
        jd__member_text(other.member).text, other_text,
        jd__signature_describe_sites(odd.signature, other.signature), more,
        end);
}
