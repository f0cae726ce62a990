/* SPDX-License-Identifier: BSD-3-Clause */
/* owners.c - which processes hold which blocks, and what each gives. */
#include "arrays/array/owners.h"

#include <stdlib.h>

/* ---- finding ------------------------------------------------------------ */

/* A place of the mesh. */
struct holding {
    int process;
    int block;
    int place;
};

static int compare_holdings(const void *one, const void *other)
{
    const struct holding *a = one, *b = other;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static struct holding *list_holdings(const jd_sharding *sharding)
{
    size_t count = (size_t)sharding->num_devices;
    struct holding *holdings = malloc(count * sizeof *holdings);
    for (size_t i = 0; holdings && i < count; i++)
        holdings[i] = (struct holding){ sharding->devices[i]->process_index,
                                        sharding->blocks[i], (int)i };
    if (holdings)
        qsort(holdings, count, sizeof *holdings, compare_holdings);
    return holdings;
}

/* Members by process, with each of their blocks once. */
static void set_members(struct jd_holders *holders, const jd_sharding *sharding,
                        const struct holding *holdings)
{
    int used = 0;
    const struct holding *last = NULL;
    struct jd_member *member = NULL;
    for (int i = 0; i < sharding->num_devices; i++) {
        const struct holding *h = &holdings[i];
        const jd_device *device = sharding->devices[h->place];
        bool is_new = !last || last->process != h->process;
        if (is_new) {
            member = &holders->members[holders->num_members++];
            *member = (struct jd_member){ device, used, 0 };
        }
        if (is_new || last->block != h->block) {
            holders->blocks[used++] = h->block;
            member->count++;
        }
        last = h;
    }
}

/* What members are put in order by. */
struct order {
    int block;
    struct jd_member member;
};

static int compare_orders(const void *one, const void *other)
{
    const struct order *a = one, *b = other;
    int p = a->member.device->process_index;
    int q = b->member.device->process_index;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return p < q ? -1 : p > q;
}

static bool sort_members(struct jd_holders *holders)
{
    size_t count = (size_t)holders->num_members;
    struct order *orders = malloc(count * sizeof *orders);
    for (size_t i = 0; orders && i < count; i++)
        orders[i] = (struct order){ holders->blocks[holders->members[i].first],
                                    holders->members[i] };
    if (!orders)
        return false;
    qsort(orders, count, sizeof *orders, compare_orders);
    for (size_t i = 0; i < count; i++)
        holders->members[i] = orders[i].member;
    free(orders);
    return true;
}

static void set_ranks(struct jd_holders *holders)
{
    int self = jd_process_index();
    holders->own = -1;
    for (int m = 0; m < holders->num_members; m++) {
        const struct jd_member *member = &holders->members[m];
        if (member->device->process_index == self)
            holders->own = m;
        for (int i = member->first; i < member->first + member->count; i++)
            holders->ranks[i] = holders->givers[holders->blocks[i]]++;
    }
}

jd_status jd__holders_find(const char *operation, const jd_sharding *sharding,
                           struct jd_holders *ret_holders)
{
    size_t devices = (size_t)sharding->num_devices;
    size_t ways = (size_t)sharding->ways;
    struct jd_holders holders = {
        .members = malloc(devices * sizeof *holders.members),
        .blocks = malloc(devices * sizeof *holders.blocks),
        .ranks = malloc(devices * sizeof *holders.ranks),
        .givers = calloc(ways, sizeof *holders.givers),
    };
    struct holding *holdings = list_holdings(sharding);
    bool is_whole = holders.members && holders.blocks && holders.ranks &&
                    holders.givers && holdings;
    if (is_whole) {
        set_members(&holders, sharding, holdings);
        is_whole = sort_members(&holders);
    }
    free(holdings);
    if (!is_whole) {
        jd__holders_finish(&holders);
        return jd__fail_no_memory(operation, devices * sizeof *holdings);
    }
    set_ranks(&holders);
    *ret_holders = holders;
    return JD_OK;
}

void jd__holders_finish(struct jd_holders *holders)
{
    free(holders->members);
    free(holders->blocks);
    free(holders->ranks);
    free(holders->givers);
}

void jd__holders_excuse(struct jd_holders *holders, int member)
{
    const struct jd_member *m = &holders->members[member];
    for (int i = m->first; i < m->first + m->count; i++)
        holders->givers[holders->blocks[i]] = 0;
}

/* ---- what a member gives ------------------------------------------------ */

/* The part of a block that its rank-th of so many givers gives. */
static void find_part(size_t elements, int rank, int givers,
                      struct jd_span_of_block *span)
{
    size_t n = (size_t)givers, k = (size_t)rank;
    span->begin = span->count = 0;
    if (givers == 0)
        return;
    size_t base = elements / n, longer = elements % n;
    span->begin = k * base + (k < longer ? k : longer);
    span->count = base + (k < longer ? 1 : 0);
}

/* Of the member's at-th block. */
static void find_span(const struct jd_holders *holders, const jd_array *array,
                      int at, struct jd_span_of_block *span)
{
    span->block = holders->blocks[at];
    jd__sharding_block(array->sharding, span->block, array->ndim, array->shape,
                       span->index);
    find_part((size_t)jd__box_count(span->index, array->ndim),
              holders->ranks[at], holders->givers[span->block], span);
}

bool jd__holders_next(const struct jd_holders *holders, const jd_array *array,
                      int member, struct jd_cursor *cursor, size_t room,
                      struct jd_span_of_block *ret_span)
{
    const struct jd_member *m = &holders->members[member];
    for (; cursor->at < m->count; cursor->at++, cursor->done = 0) {
        find_span(holders, array, m->first + cursor->at, ret_span);
        size_t left = ret_span->count - cursor->done;
        if (left == 0)
            continue;
        ret_span->begin += cursor->done;
        ret_span->count = left < room ? left : room;
        cursor->done += ret_span->count;
        return true;
    }
    return false;
}

size_t jd__holders_load(const struct jd_holders *holders, const jd_array *array,
                        int member)
{
    const struct jd_member *m = &holders->members[member];
    struct jd_span_of_block span;
    size_t load = 0;
    for (int i = m->first; i < m->first + m->count; i++) {
        find_span(holders, array, i, &span);
        load += span.count;
    }
    return load;
}
