/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_stack.c - the stack of a process that has not come. */
#include "runtime/process/wait_stack.h"
#include "base/log.h"
#include "base/text.h"
#include "runtime/coordination/failure/failure_report.h"

#include <stdlib.h>
#include <string.h>

/* One line of the log, however many it has. */
static void cut_last_newline(char *text)
{
    size_t length = strlen(text);
    if (length && text[length - 1] == '\n')
        text[length - 1] = 0;
}

static void show_stack(const char *operation, const char *detail, char *text)
{
    jd__text_make_plain(text, true);
    cut_last_newline(text);
    jd__log(JD_LOG_WARNING,
            "%s%s: where the one stands that it has waited for, %s", operation,
            detail ? detail : "", text);
}

static void show_reason(const char *operation, const char *detail, int process)
{
    jd__log(JD_LOG_INFO, "%s%s: where process %d stands is not known: %s",
            operation, detail ? detail : "", process, jd_error_message());
}

void jd__wait_stack_show(const char *operation, const char *detail, int process)
{
    char *text;
    jd_status status = jd__failure_report_stack(process, &text);
    if (status != JD_OK)
        show_reason(operation, detail, process);
    else if (text)
        show_stack(operation, detail, text);
    if (status != JD_OK || text)
        jd__failure_report_stack_shown(process);
    free(text);
}
