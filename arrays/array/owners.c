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
static void set_members(struct jd_owners *owners, const jd_sharding *sharding,
                        const struct holding *holdings)
{
    int used = 0;
    const struct holding *last = NULL;
    struct jd_owner *member = NULL;
    for (int i = 0; i < sharding->num_devices; i++) {
        const struct holding *h = &holdings[i];
        const jd_device *device = sharding->devices[h->place];
        bool is_new = !last || last->process != h->process;
        if (is_new) {
            member = &owners->members[owners->num_members++];
            *member = (struct jd_owner){ device, used, 0 };
        }
        if (is_new || last->block != h->block) {
            owners->blocks[used++] = h->block;
            member->count++;
        }
        last = h;
    }
}

/* What members are put in order by. */
struct order {
    int block;
    struct jd_owner member;
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

static bool sort_members(struct jd_owners *owners)
{
    size_t count = (size_t)owners->num_members;
    struct order *orders = malloc(count * sizeof *orders);
    for (size_t i = 0; orders && i < count; i++)
        orders[i] = (struct order){ owners->blocks[owners->members[i].first],
                                    owners->members[i] };
    if (!orders)
        return false;
    qsort(orders, count, sizeof *orders, compare_orders);
    for (size_t i = 0; i < count; i++)
        owners->members[i] = orders[i].member;
    free(orders);
    return true;
}

static void set_ranks(struct jd_owners *owners)
{
    int self = jd_process_index();
    owners->own = -1;
    for (int m = 0; m < owners->num_members; m++) {
        const struct jd_owner *member = &owners->members[m];
        if (member->device->process_index == self)
            owners->own = m;
        for (int i = member->first; i < member->first + member->count; i++)
            owners->ranks[i] = owners->num_owners[owners->blocks[i]]++;
    }
}

jd_status jd__owners_find(const char *operation, const jd_sharding *sharding,
                          struct jd_owners *ret_owners)
{
    size_t devices = (size_t)sharding->num_devices;
    size_t ways = (size_t)sharding->ways;
    struct jd_owners owners = {
        .members = malloc(devices * sizeof *owners.members),
        .blocks = malloc(devices * sizeof *owners.blocks),
        .ranks = malloc(devices * sizeof *owners.ranks),
        .num_owners = calloc(ways, sizeof *owners.num_owners),
    };
    struct holding *holdings = list_holdings(sharding);
    bool is_whole = owners.members && owners.blocks && owners.ranks &&
                    owners.num_owners && holdings;
    if (is_whole) {
        set_members(&owners, sharding, holdings);
        is_whole = sort_members(&owners);
    }
    free(holdings);
    if (!is_whole) {
        jd__owners_finish(&owners);
        return jd__fail_no_memory(operation, devices * sizeof *holdings);
    }
    set_ranks(&owners);
    *ret_owners = owners;
    return JD_OK;
}

void jd__owners_finish(struct jd_owners *owners)
{
    free(owners->members);
    free(owners->blocks);
    free(owners->ranks);
    free(owners->num_owners);
}

void jd__owners_excuse(struct jd_owners *owners, int member)
{
    const struct jd_owner *m = &owners->members[member];
    for (int i = m->first; i < m->first + m->count; i++)
        owners->num_owners[owners->blocks[i]] = 0;
}

/* ---- what a member gives ------------------------------------------------ */

/* The part of a block that its rank-th of so many owners gives. */
static void find_part(size_t elements, int rank, int num_owners,
                      struct jd_block_range *range)
{
    size_t n = (size_t)num_owners, k = (size_t)rank;
    range->begin = range->count = 0;
    if (num_owners == 0)
        return;
    size_t base = elements / n, longer = elements % n;
    range->begin = k * base + (k < longer ? k : longer);
    range->count = base + (k < longer ? 1 : 0);
}

/* Of the member's at-th block. */
static void find_range(const struct jd_owners *owners, const jd_array *array,
                       int at, struct jd_block_range *range)
{
    range->block = owners->blocks[at];
    jd__sharding_block(array->sharding, range->block, array->ndim, array->shape,
                       range->index);
    find_part((size_t)jd__box_count(range->index, array->ndim),
              owners->ranks[at], owners->num_owners[range->block], range);
}

bool jd__owners_next(const struct jd_owners *owners, const jd_array *array,
                     int member, struct jd_cursor *cursor, size_t room,
                     struct jd_block_range *ret_range)
{
    const struct jd_owner *m = &owners->members[member];
    for (; cursor->at < m->count; cursor->at++, cursor->done = 0) {
        find_range(owners, array, m->first + cursor->at, ret_range);
        size_t left = ret_range->count - cursor->done;
        if (left == 0)
            continue;
        ret_range->begin += cursor->done;
        ret_range->count = left < room ? left : room;
        cursor->done += ret_range->count;
        return true;
    }
    return false;
}

size_t jd__owners_load(const struct jd_owners *owners, const jd_array *array,
                       int member)
{
    const struct jd_owner *m = &owners->members[member];
    struct jd_block_range range;
    size_t load = 0;
    for (int i = m->first; i < m->first + m->count; i++) {
        find_range(owners, array, i, &range);
        load += range.count;
    }
    return load;
}
