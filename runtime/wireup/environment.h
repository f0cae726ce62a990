/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * environment.h - what MPI's server of a host may set in its processes before
 * MPI_Init: a closed list of names. Some variables of Open MPI and libpmix name
 * a folder of plugins, and so run code; who can write into the service's store
 * must not be able to set those.
 *
 *     jd__environment_allows("PMIX_RANK", "3")                        true
 *     jd__environment_allows("PMIX_MCA_mca_base_component_path", x)   false
 *
 * The server leaves out what is not on it, the processes refuse it.
 * Threads: any.
 */
#ifndef RUNTIME_WIREUP_ENVIRONMENT_H
#define RUNTIME_WIREUP_ENVIRONMENT_H

#include <stdbool.h>

/* True where the variable may be set to that value. */
bool jd__environment_allows(const char *name, const char *value);

#endif
