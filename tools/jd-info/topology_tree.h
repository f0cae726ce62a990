/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * topology_tree.h - a job for people to read: each host with its processes and
 * their devices; of a job of many hosts, those that look alike on one line.
 */
#ifndef TOOLS_JD_INFO_TOPOLOGY_TREE_H
#define TOOLS_JD_INFO_TOPOLOGY_TREE_H

#include "runtime/topology/topology.h"

#include <stdbool.h>
#include <stdio.h>

/* Up to so many hosts are printed one by one, alike or not. */
enum { TOPOLOGY_TREE_FEW_HOSTS = 8 };

/* Returns false where memory has run out; some may be printed then. */
bool topology_tree_print(FILE *out, struct jd_topology *topology);

/* Its first line, and what is said of a host's machine. */
void topology_tree_job(FILE *out, const struct jd_topology *topology);
void topology_tree_machine(FILE *out, const struct jd_topology *topology,
                           int host);

#endif
