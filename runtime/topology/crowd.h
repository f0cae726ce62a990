/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crowd.h - whether processes wait for each other's processors.
 */
#ifndef RUNTIME_TOPOLOGY_CROWD_H
#define RUNTIME_TOPOLOGY_CROWD_H

#include "runtime/topology/topology.h"

/*
 * Whether some machine has more of these processes than the job may use
 * hardware threads there; the same on every process. Hosts of one boot are one
 * machine, as containers are, which may use what they may together, or all that
 * there are where that is less. Takes count log(count), and until it returns 8
 * bytes for each.
 * Returns: JD_OK; RESOURCE_EXHAUSTED naming operation.
 */
jd_status jd__crowd_find(const struct jd_topology *topology,
                         const int *processes, int count, const char *operation,
                         bool *ret_is_crowded);

#endif
