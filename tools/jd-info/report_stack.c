/* SPDX-License-Identifier: BSD-3-Clause */
/* report_stack.c - jd-info --job ADDRESS --stack N: where the threads of a
 * process of a running job stand. */
#include "runtime/coordination/client/observe.h"
#include "tools/jd-info/jd_info.h"

#include <stdio.h>

#define STACK_SECONDS 15 /* for the tool to read it */

/* The text is another process's: a terminal is not to obey it. */
static void print_plainly(const char *text)
{
    for (const char *c = text; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        bool is_plain =
            (byte >= ' ' && byte != 0x7f) || byte == '\n' || byte == '\t';
        putchar(is_plain ? byte : '?');
    }
}

static jd_status print_stack(struct jd_observer *observer, int process)
{
    Jd__Message *answer;
    jd_status status =
        jd__observe_stack(observer, process, STACK_SECONDS, &answer);
    if (status != JD_OK)
        return status;
    print_plainly(answer->reply->text);
    jd__message__free_unpacked(answer, NULL);
    return JD_OK;
}

int jd_info_stack(const struct jd_env *env, const char *address, int process)
{
    struct jd_observer *observer = NULL;
    jd_status status = jd_info_open_job(env, address, &observer);
    if (status == JD_OK)
        status = print_stack(observer, process);
    jd__observe_close(observer);
    return status == JD_OK ? 0 : jd_info_fail();
}
