/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_rings.h - a ring for each process of a host, in one file without a name
 * that all of them map: what one has written others can read, also when it has
 * been killed; and it goes with the last of them.
 *
 *     struct jd_host_rings rings;
 *     status = jd__host_rings_open(&group, &rings);
 *     ring = &rings.rings[group.index];
 *     jd__host_rings_close(&rings);
 *
 * The first of the group makes the file, the others open it by way of /proc.
 * Whoever cannot has none, and the others have it all the same.
 */
#ifndef RUNTIME_RECORDER_HOST_RINGS_H
#define RUNTIME_RECORDER_HOST_RINGS_H

#include "runtime/recorder/ring.h"
#include "runtime/topology/host_group.h"

struct jd_host_rings {
    struct jd_ring *rings; /* NULL: none */
    int count;
};

/*
 * Zero-filled rings, as many as the group has processes. Collective over the
 * group. Blocks: until all have come. Returns: JD_OK, with rings or without,
 * which is a line of the log, for information; INTERNAL when MPI fails.
 */
jd_status jd__host_rings_open(const struct jd_host_group *group,
                              struct jd_host_rings *ret_rings);

/* Whoever else has it mapped keeps it. */
void jd__host_rings_close(struct jd_host_rings *rings);

#endif
