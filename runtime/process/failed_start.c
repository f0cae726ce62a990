/* SPDX-License-Identifier: BSD-3-Clause */
/* failed_start.c - a start that fails is left with a word. */
#include "runtime/process/failed_start.h"
#include "runtime/coordination/client/call.h"
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/failure/failure_report.h"

#include <stdlib.h>
#include <string.h>

static void report_start(jd_status status, const char *sentence)
{
    jd__failure_report_start(status,
                             sentence ? sentence : "jd_initialize failed");
}

jd_status jd__failed_start_tell(jd_status status)
{
    char *sentence = jd__message_take();
    report_start(status, sentence);
    jd__message_put_back(sentence);
    return status;
}

/* Not jd_shutdown's: who gives that up has left, and has nothing to say. */
static jd_status await_all(struct jd_session *session, double timeout)
{
    static const char id[] = "\0jd_initialize has failed";
    Jd__Arrive body = JD__ARRIVE__INIT;
    struct jd_call call = {
        .operation = "jd_initialize",
        .detail = ", which has failed",
        .timeout = timeout,
        .variable = "JD_SHUTDOWN_TIMEOUT",
    };
    body.barrier = jd__wire_bytes(id, sizeof id - 1);
    jd__call_init(&call, JD__MESSAGE__BODY_ARRIVE, &body);
    jd_status status = jd__client_call(jd__session_client(session), &call);
    jd__call_finish(&call);
    return status;
}

jd_status jd__failed_start_part(jd_status status, struct jd_session *session,
                                double timeout)
{
    char *sentence = jd__message_take();
    jd_status together = await_all(session, timeout);
    if (together == JD_OK)
        jd__session_leave(session, timeout);
    else if (together == JD_DEADLINE_EXCEEDED)
        report_start(status, sentence);
    jd__message_put_back(sentence);
    return status;
}
