/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tuning_openmpi.h - the settings of Open MPI that jd makes before MPI_Init,
 * why, and when it leaves them alone.
 *
 * mpi_yield_when_idle: more processes than allowed cores on the host, which
 * Open MPI cannot know when srun starts it; a waiting process then burns the
 * core that its peer needs.
 * pml=ob1: without an RDMA device the default ends up there too, after 200 ms
 * of looking for one (Open MPI 4.1 of Debian).
 * btl=^ofi: for the same reason, where no file says which are left out; there
 * Open MPI 5 looks for a device for 1 s.
 * btl_tcp_if_include, or _exclude: what JD_INTERFACE says. An interface that
 * swallows packets would keep MPI waiting for ever.
 */
#ifndef RUNTIME_MPI_TUNING_OPENMPI_H
#define RUNTIME_MPI_TUNING_OPENMPI_H

#include "runtime/mpi/tuning.h"

/* Fills in the settings' places of an empty plan. */
void jd__tuning_plan_open_mpi(const struct jd_tune_request *request,
                              struct jd_tuning *ret_plan);

#endif
