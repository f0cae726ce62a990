/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi_v2.h - the commands of PMI-2, which a client speaks that has asked for it
 * in its first line. What jd does not serve (names, spawning, other jobs) is
 * answered with a fault, and so is what comes before fullinit or behind
 * finalize.
 */
#ifndef RUNTIME_WIREUP_SERVER_PMI_V2_H
#define RUNTIME_WIREUP_SERVER_PMI_V2_H

#include "runtime/wireup/server/pmi_client.h"

extern const struct pmi_protocol pmi_v2_protocol;

#endif
