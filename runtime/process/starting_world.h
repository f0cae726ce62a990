/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * starting_world.h - how the processes of a start come together: in an MPI
 * world, and at the coordination service. Where no launcher serves MPI they
 * meet first.
 */
#ifndef RUNTIME_PROCESS_STARTING_WORLD_H
#define RUNTIME_PROCESS_STARTING_WORLD_H

#include "runtime/process/starting.h"

/* Opens the runtime's world; the way is s->way. Where they met for it, the
 * runtime has its session. Collective. */
jd_status jd__starting_world_open(struct jd_starting *s);

/* All meet where the world says, and the runtime has its session; those that
 * have met already are done. Collective. */
jd_status jd__starting_world_meet(struct jd_starting *s);

/* Starts MPI, with what suits this host in its environment meanwhile. */
jd_status jd__starting_world_init_mpi(struct jd_starting *s);

#endif
