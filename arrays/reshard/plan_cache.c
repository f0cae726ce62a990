/* SPDX-License-Identifier: BSD-3-Clause */
/* plan_cache.c - the plans that were used last, the last one first. */
#include "arrays/reshard/plan_cache.h"
#include "base/status.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    uint64_t world; /* that they are all of */
    int count;
    struct jd_cached_plan *first;
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- what is the same --------------------------------------------------- */

static bool has_same_layout(const jd_sharding *a, const jd_sharding *b,
                            int ndim)
{
    size_t count = (size_t)a->num_devices;
    if (a == b)
        return true;
    if (a->num_devices != b->num_devices || a->ways != b->ways)
        return false;
    for (int d = 0; d < ndim; d++)
        if (a->cuts[d].ways != b->cuts[d].ways)
            return false;
    return memcmp(a->devices, b->devices, count * sizeof *a->devices) == 0 &&
           memcmp(a->blocks, b->blocks, count * sizeof *a->blocks) == 0;
}

static bool is_for(const struct jd_cached_plan *cached,
                   const struct jd_plan_spec *spec)
{
    const struct jd_plan_spec *known = &cached->spec;
    size_t bytes = (size_t)spec->ndim * sizeof *spec->shape;
    return known->ndim == spec->ndim && known->element == spec->element &&
           known->memory == spec->memory && known->packs == spec->packs &&
           known->process == spec->process &&
           (bytes == 0 || memcmp(cached->shape, spec->shape, bytes) == 0) &&
           has_same_layout(known->from, spec->from, spec->ndim) &&
           has_same_layout(known->to, spec->to, spec->ndim);
}

/* ---- references --------------------------------------------------------- */

/* With the lock. */
static void drop_reference(struct jd_cached_plan *cached)
{
    if (--cached->references > 0)
        return;
    jd_sharding_release((jd_sharding *)cached->spec.from);
    jd_sharding_release((jd_sharding *)cached->spec.to);
    jd__plan_destroy(cached->plan);
    free(cached);
}

/* With the lock: keeps so many of the first ones. */
static void shorten_cache(int count)
{
    struct jd_cached_plan **link = &cache.first;
    for (int i = 0; i < count && *link; i++)
        link = &(*link)->next;
    while (*link) {
        struct jd_cached_plan *last = *link;
        *link = last->next;
        cache.count--;
        drop_reference(last);
    }
}

/* With the lock: the plan, which becomes the first; NULL where there is none.
 */
static struct jd_cached_plan *find_plan(const struct jd_plan_spec *spec)
{
    struct jd_cached_plan **link = &cache.first;
    while (*link && !is_for(*link, spec))
        link = &(*link)->next;
    struct jd_cached_plan *found = *link;
    if (!found)
        return NULL;
    *link = found->next;
    found->next = cache.first;
    cache.first = found;
    found->references++;
    return found;
}

/* ---- making ------------------------------------------------------------- */

static jd_status make_plan(const struct jd_plan_spec *spec,
                           struct jd_cached_plan **ret_cached)
{
    struct jd_cached_plan *cached = calloc(1, sizeof *cached);
    if (!cached)
        return jd__fail_no_memory(spec->operation, sizeof *cached);
    jd_status status = jd__plan_create(spec, &cached->plan);
    if (status != JD_OK) {
        free(cached);
        return status;
    }
    cached->references = 2;
    cached->spec = *spec;
    cached->spec.from = jd__sharding_retain(spec->from);
    cached->spec.to = jd__sharding_retain(spec->to);
    for (int d = 0; d < spec->ndim; d++)
        cached->shape[d] = spec->shape[d];
    cached->spec.shape = cached->shape;
    *ret_cached = cached;
    return JD_OK;
}

static void keep_plan(struct jd_cached_plan *cached)
{
    pthread_mutex_lock(&cache.lock);
    cached->next = cache.first;
    cache.first = cached;
    cache.count++;
    shorten_cache(JD_CACHED_PLANS);
    pthread_mutex_unlock(&cache.lock);
}

jd_status jd__plan_cache_get(const struct jd_plan_spec *spec,
                             struct jd_cached_plan **ret_cached)
{
    pthread_mutex_lock(&cache.lock);
    if (cache.world != spec->to->world)
        shorten_cache(0);
    cache.world = spec->to->world;
    struct jd_cached_plan *cached = find_plan(spec);
    pthread_mutex_unlock(&cache.lock);
    if (!cached) {
        jd_status status = make_plan(spec, &cached);
        if (status != JD_OK)
            return status;
        keep_plan(cached);
    }
    *ret_cached = cached;
    return JD_OK;
}

void jd__plan_cache_put(struct jd_cached_plan *cached)
{
    pthread_mutex_lock(&cache.lock);
    drop_reference(cached);
    pthread_mutex_unlock(&cache.lock);
}

int jd__plan_cache_count(void)
{
    pthread_mutex_lock(&cache.lock);
    int count = cache.count;
    pthread_mutex_unlock(&cache.lock);
    return count;
}
