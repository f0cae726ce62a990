/* SPDX-License-Identifier: BSD-3-Clause */
/* failure.c - what broke a communicator. */
#include "collectives/mesh/failure.h"

#include <stdlib.h>
#include <string.h>

/* The others are failures in which all members agree, or that come before
 * anything was sent. */
static bool leaves_members_out_of_step(jd_status status)
{
    switch (status) {
    case JD_OK:
    case JD_INVALID_ARGUMENT:
    case JD_RESOURCE_EXHAUSTED:
    case JD_FAILED_PRECONDITION:
    case JD_UNIMPLEMENTED:
        return false;
    default:
        return true;
    }
}

jd_status jd__failure_check(const struct jd_failure *failure,
                            const char *operation, const char *where)
{
    if (!failure->happened)
        return JD_OK;
    return jd_fail(JD_ABORTED,
                   "%s%s: not begun, because an earlier call among the same "
                   "members failed and left them out of step; the job should "
                   "end. It was: %s",
                   operation, where,
                   failure->sentence ? failure->sentence
                                     : "(no memory for its sentence)");
}

jd_status jd__failure_note(struct jd_failure *failure, jd_status status)
{
    if (leaves_members_out_of_step(status) && !failure->happened) {
        failure->happened = true;
        failure->sentence = strdup(jd_error_message());
    }
    return status;
}

void jd__failure_finish(struct jd_failure *failure)
{
    free(failure->sentence);
    *failure = (struct jd_failure){ .happened = false };
}
