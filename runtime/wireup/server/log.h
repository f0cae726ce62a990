/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.h - the server's own lines on standard error: jd's lines, which begin
 * with who speaks, "jd-pmix-server on node3: ".
 *
 *     log_as("node3", plan->log_level, plan->count);
 *     log_say(JD_LOG_ERROR, "process %u called PMIx_Abort", process);
 *
 * Threads: any, after log_as.
 */
#ifndef RUNTIME_WIREUP_SERVER_LOG_H
#define RUNTIME_WIREUP_SERVER_LOG_H

#include "base/log.h"

void log_as(const char *host, const char *level, int count);

__attribute__((format(printf, 2, 3))) void log_say(enum jd_log_level level,
                                                   const char *format, ...);

#endif
