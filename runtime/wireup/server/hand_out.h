/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hand_out.h - what a process of the host gets before MPI_Init: an Environment
 * (wireup.proto), into the service's store, or, where jd-run holds the server,
 * among the frames that the starter reads.
 */
#ifndef RUNTIME_WIREUP_SERVER_HAND_OUT_H
#define RUNTIME_WIREUP_SERVER_HAND_OUT_H

#include "runtime/wireup/server/serving.h"

/* variables are NAME=VALUE. Returns JD_OK; as store_set; RESOURCE_EXHAUSTED. */
jd_status hand_out(struct serving *serving, uint32_t process, char **variables,
                   size_t count);

#endif
