/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranges.c - a sorted array, with a count of changes (a sequence lock): a
 * reader that sees the count odd, or changed meanwhile, looks again. An array
 * that has become too small is kept, because a reader may still be in it; they
 * double, so that all the old ones are no larger than the new.
 *
 * The order is on the fields themselves, not in fences: what a reader has
 * loaded of a change makes it see the count that came before it.
 */
#include "collectives/cuda/ranges.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 64, LOOKS_BEFORE_YIELD = 100 };

struct range_entry {
    _Atomic uintptr_t begin, end;
    atomic_int native;
    void *_Atomic owner;
};

struct range_table {
    struct range_table *older;
    size_t capacity;
    struct range_entry entries[];
};

static struct range_table *_Atomic table;
static atomic_size_t num_entries;
static atomic_uint changes; /* odd: one is under way */

/* ---- finding ------------------------------------------------------------ */

static uintptr_t load_word(const _Atomic uintptr_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

/* How many begin at or before the address. What is read may be in the middle
 * of a change; the caller finds out. */
static size_t count_before(const struct range_table *in, size_t count,
                           uintptr_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (load_word(&in->entries[middle].begin) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool look_up_range(uintptr_t address, struct jd_cuda_range *ret_range)
{
    const struct range_table *in =
        atomic_load_explicit(&table, memory_order_acquire);
    size_t count = atomic_load_explicit(&num_entries, memory_order_acquire);
    if (!in)
        return false;
    if (count > in->capacity)
        count = in->capacity;
    size_t place = count_before(in, count, address);
    if (place == 0)
        return false;
    const struct range_entry *entry = &in->entries[place - 1];
    ret_range->begin = load_word(&entry->begin);
    ret_range->end = load_word(&entry->end);
    ret_range->native =
        atomic_load_explicit(&entry->native, memory_order_acquire);
    ret_range->owner =
        atomic_load_explicit(&entry->owner, memory_order_acquire);
    return address < ret_range->end;
}

bool jd__cuda_ranges_find(const void *pointer, struct jd_cuda_range *ret_range)
{
    for (int looks = 1;; looks++) {
        unsigned before = atomic_load_explicit(&changes, memory_order_acquire);
        bool is_found = look_up_range((uintptr_t)pointer, ret_range);
        if (before % 2 == 0 && atomic_load(&changes) == before)
            return is_found;
        if (looks % LOOKS_BEFORE_YIELD == 0)
            sched_yield();
    }
}

/* ---- changing ----------------------------------------------------------- */

static void store_range(struct range_entry *entry,
                        const struct jd_cuda_range *range)
{
    atomic_store_explicit(&entry->begin, range->begin, memory_order_release);
    atomic_store_explicit(&entry->end, range->end, memory_order_release);
    atomic_store_explicit(&entry->native, range->native, memory_order_release);
    atomic_store_explicit(&entry->owner, range->owner, memory_order_release);
}

static void move_range(struct range_entry *to, const struct range_entry *from)
{
    struct jd_cuda_range range = { .begin = load_word(&from->begin),
                                   .end = load_word(&from->end),
                                   .native = atomic_load(&from->native),
                                   .owner = atomic_load(&from->owner) };
    store_range(to, &range);
}

/* The table, with room for one more; NULL without memory. */
static struct range_table *get_room(size_t count)
{
    struct range_table *old = atomic_load(&table);
    if (old && count < old->capacity)
        return old;
    size_t capacity = old ? 2 * old->capacity : FIRST_CAPACITY;
    struct range_table *larger =
        calloc(1, sizeof *larger + capacity * sizeof(struct range_entry));
    if (!larger)
        return NULL;
    larger->older = old;
    larger->capacity = capacity;
    for (size_t i = 0; i < count; i++)
        move_range(&larger->entries[i], &old->entries[i]);
    atomic_store_explicit(&table, larger, memory_order_release);
    return larger;
}

bool jd__cuda_ranges_add(const struct jd_cuda_range *range)
{
    size_t count = atomic_load(&num_entries);
    struct range_table *in = get_room(count);
    if (!in)
        return false;
    size_t place = count_before(in, count, range->begin);
    atomic_fetch_add(&changes, 1);
    for (size_t i = count; i > place; i--)
        move_range(&in->entries[i], &in->entries[i - 1]);
    store_range(&in->entries[place], range);
    atomic_store_explicit(&num_entries, count + 1, memory_order_release);
    atomic_fetch_add(&changes, 1);
    return true;
}

void jd__cuda_ranges_remove(uintptr_t begin)
{
    struct range_table *in = atomic_load(&table);
    size_t count = atomic_load(&num_entries);
    size_t place = in ? count_before(in, count, begin) : 0;
    if (place == 0 || load_word(&in->entries[place - 1].begin) != begin)
        return;
    atomic_fetch_add(&changes, 1);
    for (size_t i = place; i < count; i++)
        move_range(&in->entries[i - 1], &in->entries[i]);
    atomic_store_explicit(&num_entries, count - 1, memory_order_release);
    atomic_fetch_add(&changes, 1);
}
