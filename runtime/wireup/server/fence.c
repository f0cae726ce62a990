/* SPDX-License-Identifier: BSD-3-Clause */
/* fence.c - the bytes of all hosts, through the store. */
#include "runtime/wireup/server/fence.h"
#include "base/clock.h"
#include "runtime/coordination/client/call.h"
#include "runtime/wireup/server/log.h"

#include <math.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { WHO_SIZE = 48, KEYS_AT_ONCE = 256, FRAME_ROOM = 256 };

/* How many fences there were of the same processes; libpmix's thread alone. */
struct company {
    struct company *next;
    char who[WHO_SIZE];
    uint64_t number;
};

static struct company *companies;

struct fence {
    const struct serving *serving;
    char who[WHO_SIZE];
    uint64_t number; /* 1, 2, 3, ... */
    double deadline; /* a jd__clock_now(); INFINITY: none */
    size_t *hosts;   /* that take part, sorted */
    size_t num_hosts;
    char *own; /* this host's bytes, and how many */
    size_t own_size;
    struct jd_bytes all;
    pmix_modex_cbfunc_t done;
    void *arg;
};

static void destroy_fence(struct fence *fence)
{
    if (!fence)
        return;
    jd__wire_bytes_finish(&fence->all);
    free(fence->hosts);
    free(fence->own);
    free(fence);
}

/* ---- who takes part ----------------------------------------------------- */

static int compare_ranks(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static bool is_of_all(const Jd__Plan *plan, const pmix_proc_t procs[],
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (procs[i].rank == PMIX_RANK_WILDCARD)
            return true;
    return count == 0 || count >= plan->count;
}

/* The digest is the same on every host, in whatever order ranks are named. */
static void name_company(uint32_t *ranks, size_t count, char who[WHO_SIZE])
{
    uint8_t digest[crypto_generichash_BYTES_MIN];
    qsort(ranks, count, sizeof *ranks, compare_ranks);
    crypto_generichash(digest, sizeof digest, (const uint8_t *)ranks,
                       count * sizeof *ranks, NULL, 0);
    sodium_bin2hex(who, WHO_SIZE, digest, sizeof digest);
}

static void mark_hosts(const Jd__Plan *plan, const pmix_proc_t procs[],
                       size_t count, bool *takes_part)
{
    bool all = is_of_all(plan, procs, count);
    for (size_t h = 0; all && h < plan->n_hosts; h++)
        takes_part[h] = true;
    for (size_t i = 0; !all && i < count; i++)
        takes_part[plan_host_of(plan, procs[i].rank)] = true;
}

static bool fill_hosts(struct fence *fence, const pmix_proc_t procs[],
                       size_t count)
{
    const Jd__Plan *plan = fence->serving->plan;
    bool *takes_part = calloc(plan->n_hosts, sizeof *takes_part);
    fence->hosts = malloc(plan->n_hosts * sizeof *fence->hosts);
    bool has_memory = takes_part && fence->hosts;
    if (has_memory)
        mark_hosts(plan, procs, count, takes_part);
    for (size_t h = 0; has_memory && h < plan->n_hosts; h++)
        if (takes_part[h])
            fence->hosts[fence->num_hosts++] = h;
    free(takes_part);
    return has_memory;
}

static bool fill_who(struct fence *fence, const pmix_proc_t procs[],
                     size_t count)
{
    uint32_t *ranks;
    snprintf(fence->who, sizeof fence->who, "all");
    if (is_of_all(fence->serving->plan, procs, count))
        return true;
    ranks = malloc(count * sizeof *ranks);
    for (size_t i = 0; ranks && i < count; i++)
        ranks[i] = procs[i].rank;
    if (ranks)
        name_company(ranks, count, fence->who);
    free(ranks);
    return ranks != NULL;
}

static bool fill_number(struct fence *fence)
{
    struct company *company = companies;
    while (company && strcmp(company->who, fence->who) != 0)
        company = company->next;
    if (!company) {
        company = calloc(1, sizeof *company);
        if (!company)
            return false;
        memcpy(company->who, fence->who, sizeof company->who);
        company->next = companies;
        companies = company;
    }
    fence->number = ++company->number;
    return true;
}

/* ---- through the store -------------------------------------------------- */

static void host_key(const struct fence *fence, size_t host,
                     struct store_key *key)
{
    store_key(key, "fence/%s/%llu/%zu", fence->who,
              (unsigned long long)fence->number, host);
}

static bool append_bytes(struct jd_bytes *all, const void *data, size_t size)
{
    uint8_t *at = size ? jd__wire_bytes_reserve(all, size) : NULL;
    if (at) {
        memcpy(at, data, size);
        all->end += size;
    }
    return at || !size;
}

static double seconds_left(const struct fence *fence)
{
    return isinf(fence->deadline)
               ? -1
               : fmax(0.001, fence->deadline - jd__clock_now());
}

static jd_status take_values(struct fence *fence, const Jd__Reply *reply)
{
    for (size_t i = 0; i < reply->n_entries; i++) {
        ProtobufCBinaryData value = reply->entries[i]->value;
        if (!append_bytes(&fence->all, value.data, value.len))
            return jd__fail_no_memory("PMIx_Fence", value.len);
    }
    return JD_OK;
}

/* Of the hosts from first to before end. Where all together are too much for
 * one message, each half is asked for. */
static jd_status collect_hosts(struct fence *fence, size_t first, size_t end)
{
    struct store_key keys[KEYS_AT_ONCE];
    struct jd_call call;
    size_t count = end - first;
    if (count <= KEYS_AT_ONCE) {
        for (size_t i = 0; i < count; i++)
            host_key(fence, fence->hosts[first + i], &keys[i]);
        jd_status status = store_get(fence->serving->agent, keys, count,
                                     seconds_left(fence), &call);
        if (status == JD_OK) {
            status = take_values(fence, call.reply);
            jd__call_finish(&call);
            return status;
        }
        if (status != JD_RESOURCE_EXHAUSTED || count == 1)
            return status;
    }
    jd_status status = collect_hosts(fence, first, first + count / 2);
    return status == JD_OK ? collect_hosts(fence, first + count / 2, end)
                           : status;
}

static void forget_last(const struct fence *fence)
{
    struct store_key key;
    if (fence->number < 2 || fence->serving->plan->host != fence->hosts[0])
        return;
    store_key(&key, "fence/%s/%llu", fence->who,
              (unsigned long long)fence->number - 1);
    store_forget(fence->serving->agent, &key);
}

/* Asks for the others' right behind its own, without waiting for a reply in
 * between: when the last host's bytes have come, process 0 may go on and end,
 * and the service with it. */
static jd_status exchange_data(struct fence *fence)
{
    const struct serving *serving = fence->serving;
    struct store_key key;
    if (fence->own_size + FRAME_ROOM > serving->max_message)
        return jd_fail(JD_RESOURCE_EXHAUSTED,
                       "the processes of this host have published %zu bytes, "
                       "more than a message of %zu takes (JD_MAX_MESSAGE)",
                       fence->own_size, serving->max_message);
    host_key(fence, serving->plan->host, &key);
    store_tell(serving->agent, &key, fence->own, fence->own_size);
    return collect_hosts(fence, 0, fence->num_hosts);
}

static pmix_status_t code_of(jd_status status)
{
    return status == JD_OK                  ? PMIX_SUCCESS
           : status == JD_DEADLINE_EXCEEDED ? PMIX_ERR_TIMEOUT
           : status == JD_UNAVAILABLE       ? PMIX_ERR_LOST_CONNECTION
                                            : PMIX_ERROR;
}

/* libpmix is done with the bytes. */
static void release_fence(void *fence)
{
    destroy_fence(fence);
}

static void *run_fence(void *arg)
{
    struct fence *fence = arg;
    jd_status status = exchange_data(fence);
    if (status == JD_OK)
        forget_last(fence);
    else if (status != JD_UNAVAILABLE) /* that is said where it is noticed */
        log_say(JD_LOG_ERROR, "PMIx_Fence %llu of %s: %s",
                (unsigned long long)fence->number, fence->who,
                jd_error_message());
    if (status != JD_OK)
        jd__wire_bytes_finish(&fence->all);
    fence->done(code_of(status),
                (const char *)fence->all.data + fence->all.begin,
                jd__bytes_size(&fence->all), fence->arg, release_fence, fence);
    return NULL;
}

/* ---- beginning ---------------------------------------------------------- */

static double deadline_of(const struct fence *fence, int timeout)
{
    if (timeout > 0)
        return jd__clock_now() + timeout;
    return fence->number == 1 && strcmp(fence->who, "all") == 0
               ? fence->serving->deadline
               : INFINITY;
}

static struct fence *create_fence(const struct serving *serving,
                                  const pmix_proc_t procs[], size_t num_procs,
                                  const char *data, size_t size)
{
    struct fence *fence = calloc(1, sizeof *fence);
    if (!fence)
        return NULL;
    fence->serving = serving;
    fence->own = malloc(size + 1);
    fence->own_size = size;
    if (fence->own && size)
        memcpy(fence->own, data, size);
    if (fence->own && fill_hosts(fence, procs, num_procs) &&
        fill_who(fence, procs, num_procs) && fill_number(fence))
        return fence;
    destroy_fence(fence);
    return NULL;
}

pmix_status_t fence_begin(const struct serving *serving,
                          const pmix_proc_t procs[], size_t num_procs,
                          int timeout, char *data, size_t size,
                          pmix_modex_cbfunc_t done, void *arg)
{
    pthread_t thread;
    struct fence *fence = create_fence(serving, procs, num_procs, data, size);
    if (!fence)
        return PMIX_ERR_NOMEM;
    fence->done = done;
    fence->arg = arg;
    fence->deadline = deadline_of(fence, timeout);
    if (fence->num_hosts == 1) {
        done(PMIX_SUCCESS, fence->own, size, arg, release_fence, fence);
        return PMIX_SUCCESS;
    }
    if (pthread_create(&thread, NULL, run_fence, fence) != 0) {
        destroy_fence(fence);
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    pthread_detach(thread);
    return PMIX_SUCCESS;
}
