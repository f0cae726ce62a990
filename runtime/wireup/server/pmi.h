/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi.h - PMI-1 and PMI-2 for the host's processes, where their MPI asks by
 * them (MPICH and its descendants): each connects to a Unix socket, says its
 * process index (a little-endian uint32), and gives MPI the descriptor as
 * PMI_FD. MPI's first line says its version: pmi_v1.h or pmi_v2.h answers from
 * there on. At a barrier what the hosts' processes have put is exchanged
 * (pmi_barrier.h); a get is answered from this host's memory.
 *
 * Who does not come to a barrier is not waited for longer than the job lives:
 * its end fails the job, and with it the processes of this host. The first
 * barrier, in MPI_Init, has the wire-up's deadline; and where a process ends
 * when the job is over, before its MPI_Finalize is done, the others' is not
 * kept for longer than 2 s.
 */
#ifndef RUNTIME_WIREUP_SERVER_PMI_H
#define RUNTIME_WIREUP_SERVER_PMI_H

#include "runtime/wireup/server/serving.h"

/* Listens, before the loop starts, and until the program ends. Returns JD_OK;
 * RESOURCE_EXHAUSTED naming what failed. */
jd_status pmi_open(const struct serving *serving);

/* Returns as hand_out. */
jd_status pmi_hand_out(struct serving *serving);

/* "(vector,(0,2,4),(2,1,3))": which processes are on which host, as blocks of
 * (first host, hosts, processes on each). False without memory, or where it is
 * longer than a value may be: MPI then finds out by itself. */
bool pmi_print_mapping(const Jd__Plan *plan, char *text, size_t size);

#endif
