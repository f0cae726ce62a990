/* SPDX-License-Identifier: BSD-3-Clause */
/* any_size.c - whether a send fits a receive of any size up to its capacity. */
#include "collectives/check/any_size.h"
#include "collectives/check/signature.h"
#include "jd_dtype.h"

#include <inttypes.h>

static bool is_like(const struct jd_any_size_end *sent,
                    const struct jd_any_size_end *wanted)
{
    return sent->dtype == wanted->dtype && sent->tag == wanted->tag;
}

bool jd__any_size_fits(const struct jd_any_size_end *sent,
                       const struct jd_any_size_end *wanted)
{
    return is_like(sent, wanted) && sent->count <= wanted->count;
}

/* Tags that differ are the reason, whatever else differs. */
static const char *rule_of(const struct jd_any_size_end *sent,
                           const struct jd_any_size_end *wanted)
{
    return sent->tag != wanted->tag
               ? jd__transfer_rule(sent->tag, wanted->tag)
               : "a send and its receive have the same type, and match in the "
                 "order of the calls";
}

static jd_status fail_unlike(const char *operation, const char *detail,
                             const struct jd_any_size_end *sent,
                             const struct jd_any_size_end *wanted)
{
    return jd_fail(
        JD_INVALID_ARGUMENT,
        "%s%s: process %d (member %d) sends %" PRIu64
        " x %s%s, where process %d (member %d) receives at most %" PRIu64
        " x %s%s; %s",
        operation, detail, sent->process, sent->member, sent->count,
        jd_dtype_name((jd_dtype)sent->dtype),
        jd__tag_text(sent->tag, wanted->tag).text, wanted->process,
        wanted->member, wanted->count, jd_dtype_name((jd_dtype)wanted->dtype),
        jd__tag_text(wanted->tag, sent->tag).text, rule_of(sent, wanted));
}

jd_status jd__any_size_fail(const char *operation, const char *detail,
                            const struct jd_any_size_end *sent,
                            const struct jd_any_size_end *wanted)
{
    const char *along = detail ? detail : "";
    if (!is_like(sent, wanted))
        return fail_unlike(operation, along, sent, wanted);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s%s: process %d (member %d) sends %" PRIu64
                   " x %s, and process %d (member %d) calls jd_recv_any_size "
                   "with a capacity of %" PRIu64
                   "; give it a capacity of %" PRIu64 " at least, or send less",
                   operation, along, sent->process, sent->member, sent->count,
                   jd_dtype_name((jd_dtype)sent->dtype), wanted->process,
                   wanted->member, wanted->count, sent->count);
}
