/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * topology_svg.h - a job as a picture for a page: a table for each host, and in
 * it a box for each process, with its cores and devices, in the colour of its
 * host. Of many hosts those in the middle are left out.
 */
#ifndef TOOLS_JD_INFO_TOPOLOGY_SVG_H
#define TOOLS_JD_INFO_TOPOLOGY_SVG_H

#include "runtime/topology/topology.h"

#include <stdio.h>

/* Returns: JD_OK; RESOURCE_EXHAUSTED; as jd__text_write(). */
jd_status topology_svg_print(FILE *out, struct jd_topology *topology);

#endif
