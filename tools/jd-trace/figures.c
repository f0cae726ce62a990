/* SPDX-License-Identifier: BSD-3-Clause */
/* figures.c - for whom others waited, and each call site's calls and waits. */
#include "tools/jd-trace/figures.h"
#include "base/digest.h"
#include "jd_dtype.h"

#include <stdlib.h>

/* What is summed for a site and the process that came last there; for the site
 * alone, last is -1. */
struct sum {
    uint32_t name, site;
    int last;
    uint64_t count;
    double bytes, waited;
    size_t first_wait, num_waits; /* of a site alone */
    uint32_t place;               /* of a site alone: in the figures */
};

struct sum_table {
    struct sum *sums;
    uint32_t *places; /* a hash table of numbers and 1 */
    uint32_t count, num_places;
};

struct summing {
    const struct traced_job *job;
    struct sum_table table;
    float *waits; /* by site */
    struct figures *figures;
};

/* ---- a table of sums ---------------------------------------------------- */

static uint32_t *find_place(const struct sum_table *table, uint32_t name,
                            uint32_t site, int last)
{
    uint64_t key = (uint64_t)name << 32 | site;
    uint64_t at = jd__digest_mix(key ^ jd__digest_mix((uint64_t)last + 2));
    for (;; at++) {
        uint32_t *place = &table->places[at & (table->num_places - 1)];
        const struct sum *sum = *place ? &table->sums[*place - 1] : NULL;
        if (!sum ||
            (sum->name == name && sum->site == site && sum->last == last))
            return place;
    }
}

static bool grow(struct sum_table *table)
{
    uint32_t num_places = table->num_places ? 2 * table->num_places : 1024;
    struct sum *sums =
        realloc(table->sums, (size_t)num_places / 2 * sizeof *sums);
    uint32_t *places = calloc(num_places, sizeof *places);
    if (sums)
        table->sums = sums;
    if (!sums || !places) {
        free(places);
        return false;
    }
    free(table->places);
    table->places = places;
    table->num_places = num_places;
    for (uint32_t i = 0; i < table->count; i++)
        *find_place(table, sums[i].name, sums[i].site, sums[i].last) = i + 1;
    return true;
}

/* NULL without memory. */
static struct sum *sum_of(struct sum_table *table,
                          const struct traced_call *call, int last)
{
    if (2 * (table->count + 1) > table->num_places && !grow(table))
        return NULL;
    uint32_t *place = find_place(table, call->name, call->site, last);
    if (!*place) {
        table->sums[table->count] = (struct sum){ .name = call->name,
                                                  .site = call->site,
                                                  .last = last };
        *place = ++table->count;
    }
    return &table->sums[*place - 1];
}

/* ---- all calls ---------------------------------------------------------- */

static bool count_call(struct sum_table *table,
                       const struct traced_process *process,
                       const struct traced_call *call)
{
    double wait = traced_call_wait(call);
    struct sum *sum = sum_of(table, call, -1);
    if (!sum)
        return false;
    sum->count++;
    sum->bytes +=
        (double)call->count * (double)jd_dtype_size((jd_dtype)call->dtype);
    sum->waited += wait;
    sum->num_waits += wait > 0;
    if (call->last < 0 || call->last == process->index)
        return true;
    sum = sum_of(table, call, call->last);
    if (!sum)
        return false;
    sum->count++;
    sum->waited += wait;
    return true;
}

static bool count_calls(struct summing *summing)
{
    for (int i = 0; i < summing->job->count; i++) {
        const struct traced_process *process = &summing->job->processes[i];
        for (uint32_t k = 0; k < process->num_calls; k++)
            if (!count_call(&summing->table, process, &process->calls[k]))
                return false;
    }
    return true;
}

/* Where each site's waits begin. */
static bool make_waits(struct summing *summing)
{
    size_t total = 0;
    for (uint32_t i = 0; i < summing->table.count; i++) {
        struct sum *sum = &summing->table.sums[i];
        sum->first_wait = total;
        total += sum->num_waits;
        sum->num_waits = 0;
    }
    summing->waits = calloc(total + 1, sizeof *summing->waits);
    return summing->waits;
}

static void take_waits(struct summing *summing)
{
    for (int i = 0; i < summing->job->count; i++) {
        const struct traced_process *process = &summing->job->processes[i];
        for (uint32_t k = 0; k < process->num_calls; k++) {
            double wait = traced_call_wait(&process->calls[k]);
            if (wait <= 0)
                continue;
            struct sum *sum = sum_of(&summing->table, &process->calls[k], -1);
            summing->waits[sum->first_wait + sum->num_waits++] = (float)wait;
        }
    }
}

/* ---- sites -------------------------------------------------------------- */

static int compare_waits(const void *one, const void *other)
{
    float a = *(const float *)one, b = *(const float *)other;
    return (a > b) - (a < b);
}

static void add_site(struct summing *summing, struct sum *sum)
{
    float *waits = summing->waits + sum->first_wait;
    sum->place = (uint32_t)summing->figures->num_sites++;
    struct site_figures *site = &summing->figures->sites[sum->place];
    *site = (struct site_figures){ .name = sum->name,
                                   .site = sum->site,
                                   .calls = sum->count,
                                   .waits = sum->num_waits,
                                   .bytes = sum->bytes,
                                   .waited = sum->waited,
                                   .last = -1 };
    if (!sum->num_waits)
        return;
    qsort(waits, sum->num_waits, sizeof *waits, compare_waits);
    site->median = (double)waits[sum->num_waits / 2];
    site->worst = (double)waits[sum->num_waits - 1];
}

static void add_last(struct summing *summing, const struct sum *sum)
{
    uint32_t place = *find_place(&summing->table, sum->name, sum->site, -1);
    struct site_figures *site =
        &summing->figures->sites[summing->table.sums[place - 1].place];
    if (sum->count <= site->times_last)
        return;
    site->times_last = sum->count;
    site->last = sum->last;
}

static int compare_sites(const void *one, const void *other)
{
    const struct site_figures *a = one, *b = other;
    if (a->waited != b->waited)
        return a->waited > b->waited ? -1 : 1;
    if (a->calls != b->calls)
        return a->calls > b->calls ? -1 : 1;
    return (a->site > b->site) - (a->site < b->site);
}

static bool make_sites(struct summing *summing)
{
    struct figures *figures = summing->figures;
    struct sum_table *table = &summing->table;
    figures->sites = calloc((size_t)table->count + 1, sizeof *figures->sites);
    if (!figures->sites)
        return false;
    for (uint32_t i = 0; i < table->count; i++)
        if (table->sums[i].last < 0)
            add_site(summing, &table->sums[i]);
    for (uint32_t i = 0; i < table->count; i++)
        if (table->sums[i].last >= 0)
            add_last(summing, &table->sums[i]);
    qsort(figures->sites, (size_t)figures->num_sites, sizeof *figures->sites,
          compare_sites);
    return true;
}

/* ---- stragglers --------------------------------------------------------- */

/* By the process that came last, the longest waits first. */
static int compare_sums(const void *one, const void *other)
{
    const struct sum *a = one, *b = other;
    if (a->last != b->last)
        return a->last < b->last ? -1 : 1;
    if (a->waited != b->waited)
        return a->waited > b->waited ? -1 : 1;
    return (a->site > b->site) - (a->site < b->site);
}

static int compare_stragglers(const void *one, const void *other)
{
    const struct straggler *a = one, *b = other;
    if (a->waited != b->waited)
        return a->waited > b->waited ? -1 : 1;
    return (a->process > b->process) - (a->process < b->process);
}

static void add_straggler(struct figures *figures, const struct sum *sum)
{
    struct straggler *last =
        figures->num_stragglers
            ? &figures->stragglers[figures->num_stragglers - 1]
            : NULL;
    if (!last || last->process != sum->last) {
        last = &figures->stragglers[figures->num_stragglers++];
        *last = (struct straggler){ .process = sum->last };
    }
    last->waited += sum->waited;
    if (last->num_sites == FIGURES_SITES)
        return;
    last->sites[last->num_sites].name = sum->name;
    last->sites[last->num_sites].site = sum->site;
    last->sites[last->num_sites++].waited = sum->waited;
}

/* The table is of no use as one afterwards. */
static bool make_stragglers(struct summing *summing)
{
    struct figures *figures = summing->figures;
    struct sum_table *table = &summing->table;
    figures->stragglers =
        calloc((size_t)table->count + 1, sizeof *figures->stragglers);
    if (!figures->stragglers)
        return false;
    if (table->count)
        qsort(table->sums, table->count, sizeof *table->sums, compare_sums);
    for (uint32_t i = 0; i < table->count; i++)
        if (table->sums[i].last >= 0 && table->sums[i].waited > 0)
            add_straggler(figures, &table->sums[i]);
    qsort(figures->stragglers, (size_t)figures->num_stragglers,
          sizeof *figures->stragglers, compare_stragglers);
    return true;
}

bool figures_make(const struct traced_job *job, struct figures *figures)
{
    struct summing summing = { .job = job, .figures = figures };
    *figures = (struct figures){ .num_sites = 0 };
    bool is_made = count_calls(&summing) && make_waits(&summing);
    if (is_made)
        take_waits(&summing);
    is_made = is_made && make_sites(&summing) && make_stragglers(&summing);
    free(summing.table.sums);
    free(summing.table.places);
    free(summing.waits);
    return is_made;
}

void figures_finish(struct figures *figures)
{
    free(figures->stragglers);
    free(figures->sites);
    *figures = (struct figures){ .num_sites = 0 };
}
