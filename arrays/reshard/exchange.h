/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exchange.h - moves what a plan says from the blocks of one array to those of
 * another.
 *
 *     struct jd_exchange exchange = { "jd_array_reshard", plan, from, to,
 *                                     cache_limit, false };
 *     status = jd__exchange_open(&exchange, &parts);
 *     ... all processes say whether they can ...
 *     if (status == JD_OK)
 *         status = jd__exchange_run(&exchange, parts);
 *     jd__exchange_close(&exchange, parts);
 *
 * Collective: the processes of the plan's members, unless it is LOCAL.
 * Blocks: as the collectives that it is made of.
 * Threads: one at a time.
 */
#ifndef ARRAYS_RESHARD_EXCHANGE_H
#define ARRAYS_RESHARD_EXCHANGE_H

#include "arrays/array/array.h"
#include "arrays/reshard/plan.h"

struct jd_exchange {
    const char *operation;
    const struct jd_plan *plan;
    const jd_array *from;
    const jd_array *to; /* whose blocks are written */
    size_t cache_limit; /* bytes that may be kept for later: block_cache.h */
    bool keeps;         /* blocks that stay as they are are not copied */
};

/* What each device of this process needs; no communication. Returns JD_OK;
 * RESOURCE_EXHAUSTED. */
struct jd_exchange_part;
jd_status jd__exchange_open(const struct jd_exchange *exchange,
                            struct jd_exchange_part **ret_parts);
void jd__exchange_close(const struct jd_exchange *exchange,
                        struct jd_exchange_part *parts);

/*
 * Returns: JD_OK; INVALID_ARGUMENT, on all, where processes do not mean the
 *   same; RESOURCE_EXHAUSTED; as jd_shard_map(). After a failure the new
 *   blocks are undefined.
 */
jd_status jd__exchange_run(const struct jd_exchange *exchange,
                           struct jd_exchange_part *parts);

#endif
