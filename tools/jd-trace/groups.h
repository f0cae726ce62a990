/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * groups.h - processes of which the same is to be said.
 *
 *     struct group_list groups = { .count = 0 };
 *     groups_add(&groups, 2, "has left");
 *     groups_end(&groups);
 *     ... groups.groups[0] is the smallest: its text and its processes ...
 *     groups_finish(&groups);
 *
 * Without memory some are missing, and is_cut says so.
 */
#ifndef TOOLS_JD_TRACE_GROUPS_H
#define TOOLS_JD_TRACE_GROUPS_H

#include "tools/jd-trace/text_set.h"

#include <stdio.h>

struct group {
    const char *text;
    int *processes; /* sorted, each there once */
    int count;
};

struct group_pair {
    uint32_t text;
    int process;
};

struct group_list {
    struct text_set texts;
    struct group_pair *pairs;
    size_t num_pairs, room;
    int *processes;
    struct group *groups;
    int count;
    bool is_cut;
};

void groups_add(struct group_list *list, int process, const char *text);
void groups_end(struct group_list *list);
void groups_finish(struct group_list *list);

/* "process 2", "processes 0-1,3". */
void groups_print(FILE *out, const struct group *group);

#endif
