/* SPDX-License-Identifier: BSD-3-Clause */
/* signature.c - what a member of a collective says that it is calling. */
#include "collectives/signature.h"
#include "jd_dtype.h"

#include <inttypes.h>
#include <stdio.h>

const char *jd__activity_name(uint32_t activity)
{
    static const char *const names[JD_ACTIVITY_COUNT] = {
#define NAME_ROW(name, text) [JD_ACTIVITY_##name] = (text),
        JD_ACTIVITY_MAP(NAME_ROW)
#undef NAME_ROW
    };
    return activity < JD_ACTIVITY_COUNT ? names[activity] : "not an activity";
}

bool jd__signature_agrees(const struct jd_signature *a,
                          const struct jd_signature *b)
{
    return a->activity == b->activity && a->dtype == b->dtype &&
           a->source == b->source && a->count == b->count &&
           a->digest == b->digest;
}

void jd__signature_print(const struct jd_signature *signature, char *text,
                         size_t size)
{
    int used =
        snprintf(text, size, "%s of %" PRIu64 " x %s",
                 jd__activity_name(signature->activity), signature->count,
                 jd_dtype_name((jd_dtype)signature->dtype));
    if (signature->source >= 0 && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, " from source %d",
                 signature->source);
}

bool jd__signature_find_odd(const struct jd_signature *(*get)(const void *arg,
                                                              int member),
                            const void *arg, int count, int *ret_odd,
                            int *ret_other)
{
    int differing = 0, first = 0;
    for (int i = 1; i < count; i++)
        if (!jd__signature_agrees(get(arg, i), get(arg, 0)) && !differing++)
            first = i;
    if (differing == 0)
        return false;
    bool zero_is_odd = differing == count - 1 && count > 2;
    *ret_odd = zero_is_odd ? 0 : first;
    *ret_other = zero_is_odd ? first : 0;
    return true;
}

jd_status jd__signature_fail(const char *operation, const char *detail,
                             struct jd_said odd, struct jd_said other)
{
    char odd_text[96], other_text[96];
    jd__signature_print(odd.signature, odd_text, sizeof odd_text);
    jd__signature_print(other.signature, other_text, sizeof other_text);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s%s: process %d calls %s, process %d calls %s; all "
                   "members make the same calls in the same order, with the "
                   "same count and type",
                   operation, detail ? detail : "", odd.process, odd_text,
                   other.process, other_text);
}
