/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table_spread.h - a leader tells its host's processes how it went, and gives
 * them the table that it has made: one in memory that all of them map, or a
 * copy each where one of them cannot.
 *
 *     struct jd_table *table = NULL;
 *     jd_status made = is_leader ? jd__table_create(..., &table) : JD_OK;
 *     status = jd__table_spread(&group, made, &table);
 */
#ifndef RUNTIME_TOPOLOGY_TABLE_SPREAD_H
#define RUNTIME_TOPOLOGY_TABLE_SPREAD_H

#include "runtime/topology/host_group.h"
#include "runtime/topology/table.h"

/*
 * made: the leader's; its sentence becomes all others'. table: the leader's
 * own, and on success everybody's; what the leader gave is taken, on failure
 * too. Why a table is not shared is a line of the log, for information.
 * Collective over the group. Blocks: until all have come; the watchdog of
 * jd_initialize() ends that.
 * Returns: what the leader's made is; INTERNAL when MPI fails;
 *   RESOURCE_EXHAUSTED.
 */
jd_status jd__table_spread(const struct jd_host_group *group, jd_status made,
                           struct jd_table **table);

#endif
