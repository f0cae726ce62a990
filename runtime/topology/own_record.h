/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * own_record.h - what this process says of itself, before anybody is asked:
 * its host, the devices that it sees, and what it was told about them.
 *
 *     struct jd_record *record;
 *     status = jd__own_record_create(settings, &facts, &record);
 *     free(record);
 *
 * Who it is in the job is added by the caller.
 */
#ifndef RUNTIME_TOPOLOGY_OWN_RECORD_H
#define RUNTIME_TOPOLOGY_OWN_RECORD_H

#include "runtime/topology/records.h"

/*
 * Asks each platform for its devices; where JD_PLATFORM says cpu, that one
 * alone. Returns JD_OK; RESOURCE_EXHAUSTED; the failures of a platform.
 */
jd_status jd__own_record_create(const struct jd_settings *settings,
                                const struct jd_local_facts *facts,
                                struct jd_record **ret_record);

/* How many devices of one platform this process has, at most: others, who may
 * own some of those that it sees, have not been asked. */
int jd__own_record_most_devices(const struct jd_record *record);

#endif
