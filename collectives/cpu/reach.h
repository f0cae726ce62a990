/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reach.h - who forms a team with whom, derived alike on every process from
 * what all have told each other.
 *
 *     jd__sights_add(row of i, j);             process i sees j's memory
 *     jd__teams_derive(rows, count, teams);
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_CPU_REACH_H
#define COLLECTIVES_CPU_REACH_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of one process's row: a bit for each process. Rows follow each
 * other in the order of the processes. */
size_t jd__sights_bytes(int count);
void jd__sights_add(unsigned char *row, int other);
bool jd__sights_has(const unsigned char *rows, int count, int process,
                    int other);

/*
 * Gives each process the number of its team: in the order of the processes,
 * each joins the first team whose processes all see it and are seen by it, or
 * begins one. Every process sees itself.
 */
void jd__teams_derive(const unsigned char *rows, int count, int *ret_teams);

/* Whether the processes of the team all have each other in these rows. */
bool jd__teams_is_mutual(const unsigned char *rows, int count, const int *teams,
                         int team);

#endif
