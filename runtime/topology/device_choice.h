/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device_choice.h - the platform that is the default of a job, and which of
 * the devices that each process sees are its own; out of the records that all
 * processes have gathered, so that all come to the same choice.
 *
 *     status = jd__device_choice_choose(records, &platform);
 *     status = jd__device_choice_settle(records->items[records->self]);
 *     status = jd__topology_build(records, platform, &topology);
 */
#ifndef RUNTIME_TOPOLOGY_DEVICE_CHOICE_H
#define RUNTIME_TOPOLOGY_DEVICE_CHOICE_H

#include "runtime/topology/records.h"

#include <stdio.h>

/*
 * Shares the devices out (device_sharing.h) and gives the default platform: the
 * one that JD_PLATFORM names, else the first of jd__device_sources that every
 * process has a device of; NULL where there is none.
 * Where a platform that is not the default cannot be shared out, nobody has
 * devices of it, and why_absent says why.
 *
 * Returns: JD_OK; INVALID_ARGUMENT where processes name different platforms;
 *   FAILED_PRECONDITION where a process has no device of the one that is named,
 *   with each one's reason; the failures of jd__device_sharing_decide;
 *   RESOURCE_EXHAUSTED.
 */
jd_status jd__device_choice_choose(struct jd_records *records,
                                   const char **ret_platform);

/* Tells each platform which native devices are this process's own. Returns
 * JD_OK; RESOURCE_EXHAUSTED. */
jd_status jd__device_choice_settle(const struct jd_record *own);

/* How many processes have no device of the platform. */
int jd__device_choice_count_absent(const struct jd_records *records,
                                   const char *platform);

/* Prints who has no device of the platform, and why: "processes 0-2: no NVIDIA
 * driver is loaded; process 3: JD_PLATFORM is cpu". */
void jd__device_choice_print_absent(FILE *out, const struct jd_records *records,
                                    const char *platform);

/* The same of every platform as a line of the log, for information. */
void jd__device_choice_say_absent(const struct jd_records *records);

#endif
