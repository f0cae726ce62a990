/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reach.h - who forms a group with whom, derived alike on every process from
 * what all have told each other.
 *
 *     jd__reach_add(row of i, j);             process i sees j's memory
 *     jd__reach_derive(rows, count, groups);
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_CPU_REACH_H
#define COLLECTIVES_CPU_REACH_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of one process's row: a bit for each process. Rows follow each
 * other in the order of the processes. */
size_t jd__reach_bytes(int count);
void jd__reach_add(unsigned char *row, int other);
bool jd__reach_has(const unsigned char *rows, int count, int process,
                   int other);

/*
 * Gives each process the number of its group: in the order of the processes,
 * each joins the first group whose processes all see it and are seen by it, or
 * begins one. Every process sees itself.
 */
void jd__reach_derive(const unsigned char *rows, int count, int *ret_groups);

/* Whether the processes of the group all have each other in these rows. */
bool jd__reach_is_mutual(const unsigned char *rows, int count,
                         const int *groups, int group);

#endif
