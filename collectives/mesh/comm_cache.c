/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_cache.c - the ends of communicators that this process has. */
#include "base/digest.h"
#include "collectives/mesh/comm_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    struct jd_cached_comm *first;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- which ones there are ------------------------------------------------ */

static struct jd_cached_comm *describe_comm(const struct jd_platform *platform,
                                            const struct jd_comm_spec *spec)
{
    size_t bytes = (size_t)spec->size * sizeof(int64_t);
    struct jd_cached_comm *end = calloc(1, sizeof *end + bytes);
    if (!end)
        return NULL;
    end->platform = platform;
    end->world = spec->runtime->number;
    end->device = spec->members[spec->index]->id;
    end->is_started = spec->is_started;
    end->nccl = spec->nccl;
    end->size = spec->size;
    end->references = 1;
    for (int i = 0; i < spec->size; i++)
        end->members[i] = spec->members[i]->id;
    end->digest = jd__digest(0, end->members, bytes);
    return end;
}

static bool is_same(const struct jd_cached_comm *a,
                    const struct jd_cached_comm *b)
{
    return a->digest == b->digest && a->device == b->device &&
           a->size == b->size && a->world == b->world &&
           a->platform == b->platform && a->is_started == b->is_started &&
           jd__nccl_options_differ(&a->nccl, &b->nccl) < 0 &&
           memcmp(a->members, b->members,
                  (size_t)a->size * sizeof *a->members) == 0;
}

jd_status jd__comm_cache_get(const struct jd_platform *platform,
                             const struct jd_comm_spec *spec,
                             struct jd_cached_comm **ret_end)
{
    struct jd_cached_comm *wanted = describe_comm(platform, spec), *end;
    if (!wanted)
        return jd__fail_no_memory(spec->operation,
                                  (size_t)spec->size * sizeof(int64_t));
    pthread_mutex_lock(&table.lock);
    for (end = table.first; end && !is_same(end, wanted);)
        end = end->next;
    if (end) {
        end->references++;
    } else {
        end = wanted;
        end->next = table.first;
        table.first = end;
    }
    pthread_mutex_unlock(&table.lock);
    if (end != wanted)
        free(wanted);
    *ret_end = end;
    return JD_OK;
}

/* Takes it out where nobody uses it any more. */
static bool drop_reference(struct jd_cached_comm *end)
{
    pthread_mutex_lock(&table.lock);
    bool is_last = --end->references == 0;
    struct jd_cached_comm **link = &table.first;
    while (is_last && *link != end)
        link = &(*link)->next;
    if (is_last)
        *link = end->next;
    pthread_mutex_unlock(&table.lock);
    return is_last;
}

void jd__comm_cache_put(struct jd_cached_comm *end)
{
    if (!end || !drop_reference(end))
        return;
    end->platform->comm_destroy(atomic_load(&end->comm));
    jd__failure_finish(&end->failure);
    free(end);
}

int jd__comm_cache_count(void)
{
    int count = 0;
    pthread_mutex_lock(&table.lock);
    for (struct jd_cached_comm *end = table.first; end; end = end->next)
        count++;
    pthread_mutex_unlock(&table.lock);
    return count;
}

/* ---- using one ---------------------------------------------------------- */

/* A load and a store and no exchange: it catches a program's mistake, and
 * does not have to catch it always. */
jd_status jd__comm_cache_enter(struct jd_cached_comm *end,
                               const char *operation, const char *where)
{
    if (atomic_load_explicit(&end->is_busy, memory_order_acquire))
        return jd_fail(JD_FAILED_PRECONDITION,
                       "%s%s: another thread is in a collective of device %lld "
                       "over the same devices; a device has one thread at a "
                       "time, whichever of its meshes that uses",
                       operation, where, (long long)end->device);
    atomic_store_explicit(&end->is_busy, true, memory_order_relaxed);
    jd_status status = jd__failure_check(&end->failure, operation, where);
    if (status != JD_OK)
        atomic_store_explicit(&end->is_busy, false, memory_order_release);
    return status;
}

jd_status jd__comm_cache_make(struct jd_cached_comm *end,
                              const struct jd_comm_spec *spec)
{
    struct jd_comm *comm;
    if (atomic_load_explicit(&end->comm, memory_order_relaxed))
        return JD_OK;
    jd_status status = end->platform->comm_create(spec, &comm);
    if (status == JD_OK)
        atomic_store(&end->comm, comm);
    return status;
}

jd_status jd__comm_cache_leave(struct jd_cached_comm *end, jd_status status)
{
    jd__failure_note(&end->failure, status);
    atomic_store_explicit(&end->is_busy, false, memory_order_release);
    return status;
}

void jd__comm_cache_abort(struct jd_cached_comm *end)
{
    struct jd_comm *comm = end ? atomic_load(&end->comm) : NULL;
    if (comm)
        end->platform->comm_abort(comm);
}
