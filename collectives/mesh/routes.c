/* SPDX-License-Identifier: BSD-3-Clause */
/* routes.c - a list of routes, as members compare theirs with the others'. */
#include "collectives/mesh/routes.h"
#include "base/digest.h"

/* A sum has no order. Numbers without a pattern are added: sums of digests
 * that are nearly linear in the members are equal for many permutations. */
uint64_t jd__routes_digest(const jd_route *routes, int count)
{
    uint64_t digest = 0;
    for (int i = 0; i < count; i++)
        digest += jd__digest_mix((uint64_t)(uint32_t)routes[i].from << 32 |
                                 (uint32_t)routes[i].to);
    return digest;
}
