/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * comm.h - one device's end of a clique on the cpu platform: who its
 * members are, who of them share memory (a team), and how the others are
 * reached (the wire).
 *
 * Making one, by its members alone (comm.c, bootstrap.c):
 *   1. The members of one process come together in its registry; the last to
 *      come speaks for all.
 *   2. The processes' speakers meet by MPI, compare what they believe that the
 *      clique is, and tell each other their members' tags, control blocks and
 *      arena.
 *   3. Each maps the arenas of its host's others, says which it could, and all
 *      derive the teams from that: members whose processes can all see each
 *      other.
 * A world of one process makes no MPI call.
 */
#ifndef COLLECTIVES_CPU_COMM_H
#define COLLECTIVES_CPU_COMM_H

#include "collectives/channel/channel.h"
#include "collectives/cpu/shm/shm.h"
#include "collectives/platform/platform.h"

#include <stdatomic.h>

struct jd_clique {
    const struct jd_runtime *runtime;
    int size;
    int index;
    const int *processes; /* of each member */
    const int *teams;     /* the number of each member's team; teams are
                           * numbered in the order of their first members */
    const int *places;    /* each member's number in its team, by member */
    int num_teams;
    struct jd_team *team;  /* this member's, of one where it is alone */
    struct jd_group *wire; /* messages between any two members, as bytes, each
                            * pair with a tag of its own; NULL where there is
                            * one team */
    struct jd_between *between; /* inter.h's; NULL where there is one team */
    atomic_bool is_aborted;     /* ends the waits on the wire */
};

/* struct jd_platform's clique_create, clique_destroy and clique_abort. */
jd_status jd__clique_cpu_create(const struct jd_clique_spec *spec,
                                struct jd_clique **ret_clique);
void jd__clique_cpu_destroy(struct jd_clique *clique);
void jd__clique_cpu_abort(struct jd_clique *clique);

#endif
