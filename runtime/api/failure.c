/* SPDX-License-Identifier: BSD-3-Clause */
/* failure.c - the public calls about failures. */
#include "jd_coordination.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/coordination/failure/failure_report.h"
#include "runtime/process/runtime.h"

#include <stdio.h>
#include <stdlib.h>

/* What this process says of itself from here on. */
static void note_error(jd_status error, const char *text)
{
    char *sentence;
    if (asprintf(&sentence, "this process has reported an error: %s: %s",
                 jd_status_name(error), text) < 0)
        sentence = NULL;
    jd__failure_exit_note(sentence ? sentence : text);
    free(sentence);
}

jd_status jd_report_error(jd_status error, const char *text)
{
    const struct jd_runtime *runtime;
    if (error == JD_OK)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_report_error: the status is OK, which is no error; "
                       "give the one that says what went wrong");
    jd_status status = jd__runtime_get(&runtime, "jd_report_error");
    if (status != JD_OK)
        return status;
    const char *why = text ? text : "no reason was given";
    note_error(error, why);
    return jd__failure_report_error(error, why);
}

jd_status jd_on_peer_failure(jd_peer_failure_f callback, void *arg)
{
    const struct jd_runtime *runtime;
    jd_status status = jd__runtime_get(&runtime, "jd_on_peer_failure");
    if (status != JD_OK)
        return status;
    jd__failure_exit_set_callback(callback, arg);
    if (callback)
        jd__failure_report_armed();
    return JD_OK;
}
