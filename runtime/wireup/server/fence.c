/* SPDX-License-Identifier: BSD-3-Clause */
/* fence.c - PMIx_Fence as an exchange of the hosts that take part. */
#include "runtime/wireup/server/fence.h"
#include "base/clock.h"
#include "runtime/wireup/server/exchange.h"
#include "runtime/wireup/server/log.h"

#include <math.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* How many fences there were of the same processes; libpmix's thread alone. */
struct company {
    struct company *next;
    char who[EXCHANGE_WHO];
    uint64_t number;
};

static struct company *companies;

struct fence {
    struct host_exchange exchange;
    pmix_modex_cbfunc_t done;
    void *arg;
};

static void destroy_fence(struct fence *fence)
{
    if (!fence)
        return;
    exchange_finish(&fence->exchange);
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
static void name_company(uint32_t *ranks, size_t count, char who[EXCHANGE_WHO])
{
    uint8_t digest[crypto_generichash_BYTES_MIN];
    qsort(ranks, count, sizeof *ranks, compare_ranks);
    crypto_generichash(digest, sizeof digest, (const uint8_t *)ranks,
                       count * sizeof *ranks, NULL, 0);
    sodium_bin2hex(who, EXCHANGE_WHO, digest, sizeof digest);
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
    const Jd__Plan *plan = fence->exchange.serving->plan;
    bool *takes_part = calloc(plan->n_hosts, sizeof *takes_part);
    fence->exchange.hosts =
        malloc(plan->n_hosts * sizeof *fence->exchange.hosts);
    bool has_memory = takes_part && fence->exchange.hosts;
    if (has_memory)
        mark_hosts(plan, procs, count, takes_part);
    for (size_t h = 0; has_memory && h < plan->n_hosts; h++)
        if (takes_part[h])
            fence->exchange.hosts[fence->exchange.num_hosts++] = h;
    free(takes_part);
    return has_memory;
}

static bool fill_who(struct fence *fence, const pmix_proc_t procs[],
                     size_t count)
{
    uint32_t *ranks;
    snprintf(fence->exchange.who, sizeof fence->exchange.who, "all");
    if (is_of_all(fence->exchange.serving->plan, procs, count))
        return true;
    ranks = malloc(count * sizeof *ranks);
    for (size_t i = 0; ranks && i < count; i++)
        ranks[i] = procs[i].rank;
    if (ranks)
        name_company(ranks, count, fence->exchange.who);
    free(ranks);
    return ranks != NULL;
}

static bool fill_number(struct fence *fence)
{
    struct company *company = companies;
    while (company && strcmp(company->who, fence->exchange.who) != 0)
        company = company->next;
    if (!company) {
        company = calloc(1, sizeof *company);
        if (!company)
            return false;
        memcpy(company->who, fence->exchange.who, sizeof company->who);
        company->next = companies;
        companies = company;
    }
    fence->exchange.number = ++company->number;
    return true;
}

/* ---- the whole ---------------------------------------------------------- */

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
    struct host_exchange *exchange = &fence->exchange;
    jd_status status = exchange_run(exchange);
    if (status != JD_OK &&
        status != JD_UNAVAILABLE) /* that is said where it is noticed */
        log_say(JD_LOG_ERROR, "PMIx_Fence %llu of %s: %s",
                (unsigned long long)exchange->number, exchange->who,
                jd_error_message());
    fence->done(
        code_of(status), (const char *)exchange->all.data + exchange->all.begin,
        jd__bytes_size(&exchange->all), fence->arg, release_fence, fence);
    return NULL;
}

/* ---- beginning ---------------------------------------------------------- */

static double deadline_of(const struct fence *fence, int timeout)
{
    if (timeout > 0)
        return jd__clock_now() + timeout;
    return fence->exchange.number == 1 &&
                   strcmp(fence->exchange.who, "all") == 0
               ? fence->exchange.serving->deadline
               : INFINITY;
}

static struct fence *create_fence(const struct serving *serving,
                                  const pmix_proc_t procs[], size_t num_procs,
                                  const char *data, size_t size)
{
    struct fence *fence = calloc(1, sizeof *fence);
    if (!fence)
        return NULL;
    fence->exchange.serving = serving;
    fence->exchange.own = malloc(size + 1);
    fence->exchange.own_size = size;
    if (fence->exchange.own && size)
        memcpy(fence->exchange.own, data, size);
    if (fence->exchange.own && fill_hosts(fence, procs, num_procs) &&
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
    fence->exchange.deadline = deadline_of(fence, timeout);
    if (fence->exchange.num_hosts == 1) {
        done(PMIX_SUCCESS, fence->exchange.own, size, arg, release_fence,
             fence);
        return PMIX_SUCCESS;
    }
    if (pthread_create(&thread, NULL, run_fence, fence) != 0) {
        destroy_fence(fence);
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    pthread_detach(thread);
    return PMIX_SUCCESS;
}
