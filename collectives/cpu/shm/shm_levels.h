/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_levels.h - how a large group meets: in subgroups of members that share a
 * cache or a NUMA node, whose leaders then meet on behalf of all.
 *
 *     struct jd_shm_locality where[] = { { 0, 0, 0 }, { 0, 1, 1 }, ... };
 *     int count = jd__shm_levels_plan(where, size, subgroups);
 *     spec.subgroups = count > 1 ? subgroups : NULL;      jd__shm_create()
 *
 * A member then reads one line, its leader's; a leader one of each member of
 * its subgroup and one of each other leader; where all meet at once each reads
 * one of everybody. Three flags follow each other instead of one, which costs
 * more than it saves where members wait for a core: the plan is for members
 * that have one each.
 *
 * Pure functions: all members come to the same plan from the same facts.
 * Threads: any.
 */
#ifndef COLLECTIVES_CPU_SHM_SHM_LEVELS_H
#define COLLECTIVES_CPU_SHM_SHM_LEVELS_H

/* The smallest group that meets in two levels by itself. */
#define JD_SHM_LEVELS_FROM 16

/* What the cores of a member share, numbered in the host; -1: they are in
 * several. */
struct jd_shm_locality {
    int numa_node;
    int cache; /* the last level's */
    int member;
};

/*
 * Gives each member the number of its subgroup, from 0 up; how many there are.
 * 1: the group is small, or too scattered for two levels to read less. where
 * comes in the order of the members, and leaves in another.
 * Members of one cache stay together, cut evenly where they are more than the
 * root of the size; fewer than 4 join others of their NUMA node.
 */
int jd__shm_levels_plan(struct jd_shm_locality *where, int size,
                        int *ret_subgroups);

/* The same in runs of length members, the last perhaps shorter; length > 0. */
int jd__shm_levels_cut(int size, int length, int *ret_subgroups);

#endif
