/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_cache.h - the plans that were used last. The same shape, type and
 * layouts find theirs again, by whatever shardings they are given.
 *
 *     struct jd_cached_plan *cached;
 *     status = jd__plan_cache_get(&spec, &cached);
 *     ... cached->plan ...
 *     jd__plan_cache_put(cached);
 *
 * Each process keeps what it likes: nobody hears of it. Plans of a world that
 * has ended go at the next use.
 * Threads: any.
 */
#ifndef ARRAYS_RESHARD_PLAN_CACHE_H
#define ARRAYS_RESHARD_PLAN_CACHE_H

#include "arrays/reshard/plan.h"

struct jd_cached_plan {
    struct jd_cached_plan *next; /* used before this one */
    int references;              /* the cache's is one */
    struct jd_plan_spec spec;    /* holds its shardings */
    int64_t shape[JD_MAX_NDIM];
    struct jd_plan *plan;
};

/* Returns as jd__plan_create. */
jd_status jd__plan_cache_get(const struct jd_plan_spec *spec,
                             struct jd_cached_plan **ret_cached);
void jd__plan_cache_put(struct jd_cached_plan *cached);

/* For tests: how many there are; how many there are at most. */
int jd__plan_cache_count(void);
enum { JD_CACHED_PLANS = 32 };

#endif
