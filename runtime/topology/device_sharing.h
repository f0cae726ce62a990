/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device_sharing.h - which of the devices that the processes of a host see are
 * each one's own. A device is known by its UUID: a part of a GPU (MIG) is a
 * device like any other. Devices without a UUID (cpu) are seen by one process
 * alone, and stay its own.
 *
 *   local_device_ids    these, by their numbers among what the process sees
 *   one process sees it all alone, or lists have nothing in common
 *                       each takes what it sees
 *   several see the same
 *                       each takes one, in the order of the processes
 *   fewer devices than processes that see them
 *                       refused; JD_OVERSUBSCRIBE=1: they share
 *   lists overlap in part
 *                       refused
 *   a device taken twice (of all hosts: containers of one machine)
 *                       refused; JD_OVERSUBSCRIBE=1: they share
 */
#ifndef RUNTIME_TOPOLOGY_DEVICE_SHARING_H
#define RUNTIME_TOPOLOGY_DEVICE_SHARING_H

#include "runtime/topology/records.h"

/*
 * Of each record, puts the platform's own devices first, in the order of their
 * local ordinals, and those that the process only sees at the end, as unowned.
 * The records are verified. On failure nothing has changed; ret_is_short then
 * says whether it is that a host has fewer devices than processes.
 *
 * Returns: JD_OK; INVALID_ARGUMENT for local_device_ids that a process does not
 *   see or names twice; FAILED_PRECONDITION for the other refusals; each names
 *   the host, the processes, the numbers and what helps; RESOURCE_EXHAUSTED.
 */
jd_status jd__device_sharing_decide(struct jd_records *records,
                                    const char *platform, bool *ret_is_short);

/* Makes all the devices of the platform that have a UUID unowned. Returns
 * JD_OK; RESOURCE_EXHAUSTED. */
jd_status jd__device_sharing_drop(struct jd_records *records,
                                  const char *platform);

#endif
