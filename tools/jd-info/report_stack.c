/* SPDX-License-Identifier: BSD-3-Clause */
/* report_stack.c - jd-info --job ADDRESS --stack N: where the threads of a
 * process of a running job stand. */
#include "base/text.h"
#include "runtime/coordination/client/observe.h"
#include "tools/jd-info/jd_info.h"

#include <stdio.h>

#define STACK_SECONDS 15 /* for the tool to read it */

static jd_status print_stack(struct jd_observer *observer, int process)
{
    Jd__Message *answer;
    jd_status status =
        jd__observe_stack(observer, process, STACK_SECONDS, &answer);
    if (status != JD_OK)
        return status;
    jd__text_make_plain(answer->reply->text, true);
    fputs(answer->reply->text, stdout);
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
