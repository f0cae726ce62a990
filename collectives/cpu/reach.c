/* SPDX-License-Identifier: BSD-3-Clause */
/* reach.c - who forms a team with whom. */
#include "collectives/cpu/reach.h"

size_t jd__sights_bytes(int count)
{
    return ((size_t)count + 7) / 8;
}

void jd__sights_add(unsigned char *row, int other)
{
    row[other / 8] |= (unsigned char)(1 << other % 8);
}

bool jd__sights_has(const unsigned char *rows, int count, int process,
                    int other)
{
    const unsigned char *row = rows + (size_t)process * jd__sights_bytes(count);
    return row[other / 8] >> other % 8 & 1;
}

static bool is_mutual(const unsigned char *rows, int count, int a, int b)
{
    return a == b || (jd__sights_has(rows, count, a, b) &&
                      jd__sights_has(rows, count, b, a));
}

/* Whether all processes before this one that are in the team have it. */
static bool fits(const unsigned char *rows, int count, const int *teams,
                 int team, int process)
{
    for (int i = 0; i < process; i++)
        if (teams[i] == team && !is_mutual(rows, count, i, process))
            return false;
    return true;
}

void jd__teams_derive(const unsigned char *rows, int count, int *ret_teams)
{
    int num_teams = 0;
    for (int i = 0; i < count; i++) {
        int team = 0;
        while (team < num_teams && !fits(rows, count, ret_teams, team, i))
            team++;
        ret_teams[i] = team;
        num_teams += team == num_teams;
    }
}

bool jd__teams_is_mutual(const unsigned char *rows, int count, const int *teams,
                         int team)
{
    for (int i = 0; i < count; i++)
        if (teams[i] == team && !fits(rows, count, teams, team, i))
            return false;
    return true;
}
