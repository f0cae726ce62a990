/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * failed_start.h - how a process leaves a start that fails when all have met at
 * the coordination service: whoever just closes its connection looks to the
 * others like one that has died.
 *
 *     status = init_mpi(...);               a failure of this process alone
 *     return status == JD_OK ? JD_OK : jd__failed_start_tell(status);
 *
 *     status = jd__table_spread(...);       what the records of all say
 *     if (status != JD_OK)
 *         return jd__failed_start_part(status, session, timeout);
 *
 * Both return status, and leave its sentence as it was.
 */
#ifndef RUNTIME_PROCESS_FAILED_START_H
#define RUNTIME_PROCESS_FAILED_START_H

#include "runtime/coordination/session/session.h"

/* The others wait for this process: they are told why it does not come. Where
 * it is another's failure that it has run into, that ends it here. */
jd_status jd__failed_start_tell(jd_status status);

/* All have the same failure: nobody goes before all have come here, up to
 * timeout seconds; who does not come is told, and so ended. */
jd_status jd__failed_start_part(jd_status status, struct jd_session *session,
                                double timeout);

#endif
