/* SPDX-License-Identifier: BSD-3-Clause */
/* culprit.h - the processes that a failure most likely began with, and why. */
#ifndef TOOLS_JD_TRACE_CULPRIT_H
#define TOOLS_JD_TRACE_CULPRIT_H

#include "tools/jd-trace/wording.h"

/*
 * In this order: those whose calls differ from the others'; those that were
 * dead when others wrote their files; those that others wait for and that wait
 * for nobody; those that ended with an exit code; those that wait for each
 * other. No group: everybody has left, or nothing tells them apart.
 */
void culprit_find(const struct traced_job *job, const struct parting_list *list,
                  struct group_list *groups);

/* Whether the process is among them. */
bool culprit_is(const struct group_list *groups, int process);

#endif
