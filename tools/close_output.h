/* SPDX-License-Identifier: BSD-3-Clause */
/* close_output.h - the end of what a tool prints. */
#ifndef TOOLS_CLOSE_OUTPUT_H
#define TOOLS_CLOSE_OUTPUT_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A full disk or a closed pipe must not look like success: the exit code, 1
 * with a line of that tool on standard error. */
static inline int close_output(const char *tool)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    fprintf(stderr, "%s: standard output cannot be written: %s\n", tool,
            strerror(errno));
    return 1;
}

#endif
