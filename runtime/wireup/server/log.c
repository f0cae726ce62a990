/* SPDX-License-Identifier: BSD-3-Clause */
/* log.c - lines that say that the server speaks, and of which host. */
#include "runtime/wireup/server/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char own_host[256] = "this host";

void log_as(const char *host, const char *level, int count)
{
    snprintf(own_host, sizeof own_host, "%s", host);
    jd__log_set_level(level);
    jd__log_set_identity(-1, count);
}

void log_say(enum jd_log_level level, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    if (!jd__log_enabled(level))
        return;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    jd__log(level, "jd-pmix-server on %s: %s", own_host,
            text ? text : "(no memory for a sentence)");
    free(text);
}
