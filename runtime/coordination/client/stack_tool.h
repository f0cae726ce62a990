/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stack_tool.h - has eu-stack or gdb, whichever the host has, read the stacks
 * of this process. It is stopped while they do, so they print into a file and
 * not into a pipe that it would have to empty, and what ends them in time is a
 * process of its own.
 *
 *     struct jd_stack_tool tool = { .pid = 0 };
 *     status = jd__stack_tool_start(&tool, path, 10, false);
 *     ... until tool.end is readable ...
 *     status = jd__stack_tool_finish(&tool, &text);
 *
 * Threads: one at a time.
 */
#ifndef RUNTIME_COORDINATION_CLIENT_STACK_TOOL_H
#define RUNTIME_COORDINATION_CLIENT_STACK_TOOL_H

#include "base/status.h"

#include <stdbool.h>
#include <sys/types.h>

/* What is longer is cut. It fits into the least JD_MAX_MESSAGE. */
enum { JD_STACK_MOST = 60 * 1024 };

struct jd_stack_tool {
    pid_t pid; /* 0: none runs */
    int output;
    int end;     /* readable when it has ended */
    bool is_let; /* it was named as one that may trace this process */
};

/*
 * Starts the one that this PATH has; it has so many seconds. lets: it is named
 * to Yama while it runs (PR_SET_PTRACER), in place of whoever was. Returns:
 * JD_OK; RESOURCE_EXHAUSTED.
 */
jd_status jd__stack_tool_start(struct jd_stack_tool *tool, const char *path,
                               int seconds, bool lets);

/*
 * It has ended: what it has printed, for free().
 * Returns: JD_OK; NOT_FOUND where the host has neither, PERMISSION_DENIED,
 *   UNAVAILABLE where it has shown no stack, each with what to do or with its
 *   last line; RESOURCE_EXHAUSTED.
 */
jd_status jd__stack_tool_finish(struct jd_stack_tool *tool, char **ret_text);

/* One that was refused would not be if it were named. */
bool jd__stack_tool_needs_let(void);

/* Not waited for; it ends by itself. One that does not run is nothing. */
void jd__stack_tool_abandon(struct jd_stack_tool *tool);

#endif
