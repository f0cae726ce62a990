/* SPDX-License-Identifier: BSD-3-Clause */
/* reach.c - who forms a group with whom. */
#include "collectives/cpu/reach.h"

size_t jd__reach_bytes(int count)
{
    return ((size_t)count + 7) / 8;
}

void jd__reach_add(unsigned char *row, int other)
{
    row[other / 8] |= (unsigned char)(1 << other % 8);
}

bool jd__reach_has(const unsigned char *rows, int count, int process, int other)
{
    const unsigned char *row = rows + (size_t)process * jd__reach_bytes(count);
    return row[other / 8] >> other % 8 & 1;
}

static bool is_mutual(const unsigned char *rows, int count, int a, int b)
{
    return a == b || (jd__reach_has(rows, count, a, b) &&
                      jd__reach_has(rows, count, b, a));
}

/* Whether all processes before this one that are in the group have it. */
static bool fits_group(const unsigned char *rows, int count, const int *groups,
                       int group, int process)
{
    for (int i = 0; i < process; i++)
        if (groups[i] == group && !is_mutual(rows, count, i, process))
            return false;
    return true;
}

void jd__reach_derive(const unsigned char *rows, int count, int *ret_groups)
{
    int num_groups = 0;
    for (int i = 0; i < count; i++) {
        int group = 0;
        while (group < num_groups &&
               !fits_group(rows, count, ret_groups, group, i))
            group++;
        ret_groups[i] = group;
        num_groups += group == num_groups;
    }
}

bool jd__reach_is_mutual(const unsigned char *rows, int count,
                         const int *groups, int group)
{
    for (int i = 0; i < count; i++)
        if (groups[i] == group && !fits_group(rows, count, groups, group, i))
            return false;
    return true;
}
