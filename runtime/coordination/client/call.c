/* SPDX-License-Identifier: BSD-3-Clause */
/* call.c - a request and its reply, whoever answers. */
#include "runtime/coordination/client/call.h"

#include <limits.h>

void jd__call_init(struct jd_call *call, Jd__Message__BodyCase body,
                   void *body_message)
{
    jd__message__init(&call->request);
    call->request.body_case = body;
    call->request.reply = body_message; /* a union of pointers */
    call->answer = NULL;
    call->reply = NULL;
    call->missing = -1;
}

void jd__call_finish(struct jd_call *call)
{
    if (call->answer)
        jd__message__free_unpacked(call->answer, NULL);
    call->answer = NULL;
    call->reply = NULL;
}

static jd_status fail_call(const struct jd_call *call, jd_status status,
                           const char *text)
{
    const char *detail = call->detail ? call->detail : "";
    if (status == JD_DEADLINE_EXCEEDED && call->variable)
        return jd_fail(
            status, "%s%s: %s; the deadline was %.3g s (%s changes it)",
            call->operation, detail, text, call->timeout, call->variable);
    return jd_fail(status, "%s%s: %s", call->operation, detail, text);
}

jd_status jd__call_take(struct jd_call *call, Jd__Message *answer)
{
    call->answer = answer;
    call->reply = answer->reply;
    jd_status status = (jd_status)call->reply->status;
    if (status == JD_OK)
        return JD_OK;
    fail_call(call, status, call->reply->text);
    if (status == JD_DEADLINE_EXCEEDED && call->reply->n_ranges >= 2 &&
        call->reply->ranges[0] < INT_MAX)
        call->missing = (int)call->reply->ranges[0];
    jd__call_finish(call);
    return status;
}
