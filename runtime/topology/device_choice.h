/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device_choice.h - the platform that is the default of a job, and which of
 * the devices that each process sees are its own; out of the records that all
 * processes have gathered, so that all come to the same choice.
 *
 *     status = jd__device_choice_choose(records, &platform);
 *     status = jd__table_create(records, platform, &table);
 */
#ifndef RUNTIME_TOPOLOGY_DEVICE_CHOICE_H
#define RUNTIME_TOPOLOGY_DEVICE_CHOICE_H

#include "runtime/topology/records.h"

/*
 * Shares the devices out (device_sharing.h) and gives the default platform: the
 * one that JD_PLATFORM names, else the first of jd__device_sources that every
 * process has a device of and every host has enough of; NULL where there is
 * none. Where a platform that is not the default cannot be shared out, nobody
 * has devices of it, why_absent says why, and they are unowned: a job with more
 * processes than GPUs on a host is one of cpus.
 *
 * Returns: JD_OK; INVALID_ARGUMENT where processes name different platforms;
 *   FAILED_PRECONDITION where a process has no device of the one that is named,
 *   with each one's reason; the failures of jd__device_sharing_decide;
 *   RESOURCE_EXHAUSTED.
 */
jd_status jd__device_choice_choose(struct jd_records *records,
                                   const char **ret_platform);

#endif
