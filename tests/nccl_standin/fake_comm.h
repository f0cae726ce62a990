/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_comm.h - comms without a communicator, for tests of the files that
 * only ask whether one has failed: stands in for comm.c.
 */
#ifndef NCCL_STANDIN_FAKE_COMM_H
#define NCCL_STANDIN_FAKE_COMM_H

#include "collectives/cuda/comm.h"

/* Of the four processes, over the axis. */
void fake_comm_init(struct jd_comm *comm, atomic_bool *is_aborted,
                    char *detail);

extern atomic_int fake_comm_polls;
extern atomic_bool fake_comm_is_lost; /* polls report a lost peer */

#endif
