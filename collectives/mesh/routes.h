/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * routes.h - a list of routes, as members compare theirs with the others'.
 * Threads: any.
 */
#ifndef COLLECTIVES_MESH_ROUTES_H
#define COLLECTIVES_MESH_ROUTES_H

#include "jd_collectives.h"

#include <stdint.h>

/* The same for the same routes in another order; other routes have another,
 * but for one case in 2^64. */
uint64_t jd__routes_digest(const jd_route *routes, int count);

#endif
