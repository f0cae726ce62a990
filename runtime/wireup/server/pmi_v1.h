/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi_v1.h - the commands of PMI-1. Each client begins with them: the answer
 * to its first, init, decides which protocol it goes on with.
 */
#ifndef RUNTIME_WIREUP_SERVER_PMI_V1_H
#define RUNTIME_WIREUP_SERVER_PMI_V1_H

#include "runtime/wireup/server/pmi_client.h"

extern const struct pmi_protocol pmi_v1_protocol;

#endif
