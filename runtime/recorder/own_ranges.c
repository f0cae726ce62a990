/* SPDX-License-Identifier: BSD-3-Clause */
/* own_ranges.c - the program's own named ranges in its ring. */
#include "runtime/recorder/own_ranges.h"
#include "base/clock.h"
#include "base/digest.h"

#include <pthread.h>
#include <string.h>

/* Of what is added to names. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic uint64_t world;

struct open_range {
    uint64_t number, begin;
    uint16_t name;
};

/* What the thread has begun and not ended. */
static _Thread_local struct {
    uint64_t world; /* in which it was */
    uint32_t thread;
    int depth;
    struct open_range open[JD_OWN_RANGES_DEPTH];
} mine;

void jd__own_ranges_begin_world(void)
{
    atomic_fetch_add(&world, 1);
}

/* The thread has not begun a range in this world yet, if it is another. */
static void enter_world(struct jd_ring *ring)
{
    uint64_t now = atomic_load_explicit(&world, memory_order_relaxed);
    if (mine.world == now)
        return;
    mine.world = now;
    mine.depth = 0;
    mine.thread = atomic_fetch_add(&ring->own_threads, 1);
}

static uint64_t nanoseconds_now(void)
{
    return (uint64_t)(1e9 * jd__clock_now());
}

/* ---- names -------------------------------------------------------------- */

/* The name's place, or the free one that would be its; JD_RING_OWN_NAMES: all
 * are others'. */
static unsigned find_place(const struct jd_ring *ring, const char *name,
                           size_t size)
{
    uint64_t at = jd__digest(0, name, size);
    for (unsigned tries = 0; tries < JD_RING_OWN_NAMES; tries++, at++) {
        unsigned place = (unsigned)(at % JD_RING_OWN_NAMES);
        const struct jd_ring_own_name *there = &ring->own_names[place];
        size_t taken = atomic_load_explicit(&there->size, memory_order_acquire);
        if (!taken || (taken == size && memcmp(there->text, name, size) == 0))
            return place;
    }
    return JD_RING_OWN_NAMES;
}

static bool is_taken(const struct jd_ring *ring, unsigned place)
{
    return place < JD_RING_OWN_NAMES &&
           atomic_load_explicit(&ring->own_names[place].size,
                                memory_order_acquire);
}

static unsigned add_name(struct jd_ring *ring, const char *name, size_t size)
{
    pthread_mutex_lock(&lock);
    unsigned place = find_place(ring, name, size);
    if (place < JD_RING_OWN_NAMES && !is_taken(ring, place)) {
        memcpy(ring->own_names[place].text, name, size);
        atomic_store_explicit(&ring->own_names[place].size, (uint32_t)size,
                              memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return place;
}

static unsigned name_place(struct jd_ring *ring, const char *name)
{
    size_t size = strlen(name) + 1;
    unsigned place = find_place(ring, name, size);
    return is_taken(ring, place) ? place : add_name(ring, name, size);
}

/* ---- to write ----------------------------------------------------------- */

/* Becomes the newest, in place of one that is JD_RING_OWN_RANGES older; nothing
 * where a thread was held up until a newer one had its place. */
static void write_range(struct jd_ring *ring, const struct jd_own_range *range)
{
    struct jd_ring_own_range *entry =
        &ring->own_ranges[range->number % JD_RING_OWN_RANGES];
    const memory_order order = memory_order_release; /* after the 0 */
    if (jd__ring_is_late(&entry->number, range->number))
        return;
    atomic_store_explicit(&entry->number, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->begin, range->begin, order);
    atomic_store_explicit(&entry->end, range->end, order);
    atomic_store_explicit(&entry->kind,
                          range->name | (uint64_t)range->depth << 16 |
                              (uint64_t)range->thread << 32,
                          order);
    atomic_store_explicit(&entry->number, range->number, order);
}

/* Of the thread's innermost open range; end 0: it begins. */
static uint64_t write_mine(struct jd_ring *ring, const struct open_range *open,
                           uint64_t end)
{
    struct jd_own_range range = {
        .number = 1 + atomic_fetch_add(&ring->own_count, 1),
        .begin = open->begin,
        .end = end,
        .name = open->name,
        .depth = (uint16_t)mine.depth,
        .thread = mine.thread,
    };
    write_range(ring, &range);
    return range.number;
}

/* ---- calls -------------------------------------------------------------- */

static jd_status check_name(const char *name)
{
    if (!name || !name[0])
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_trace_begin: name is %s; give the range a name of "
                       "1 to %d bytes",
                       name ? "\"\"" : "NULL", JD_RING_OWN_BYTES - 1);
    if (strlen(name) < JD_RING_OWN_BYTES)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "jd_trace_begin: the name \"%s\" is %zu bytes long, and a "
                   "range's has %d at most; choose a shorter one",
                   name, strlen(name), JD_RING_OWN_BYTES - 1);
}

static jd_status refuse_depth(const struct jd_ring *ring, const char *name)
{
    const struct open_range *inner = &mine.open[JD_OWN_RANGES_DEPTH - 1];
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "jd_trace_begin: this thread has %d ranges within one "
                   "another, and \"%s\" would be one more, within \"%s\"; end "
                   "one by jd_trace_end() before",
                   JD_OWN_RANGES_DEPTH, name,
                   ring->own_names[inner->name].text);
}

static jd_status refuse_name(const char *name)
{
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "jd_trace_begin: \"%s\" would be name %d of this process's "
                   "ranges, and %d are kept; give ranges of one kind the same "
                   "name, without a number in it",
                   name, JD_RING_OWN_NAMES + 1, JD_RING_OWN_NAMES);
}

jd_status jd__own_ranges_begin(struct jd_ring *ring, const char *name)
{
    jd_status status = check_name(name);
    if (status != JD_OK || !ring)
        return status;
    enter_world(ring);
    if (mine.depth == JD_OWN_RANGES_DEPTH)
        return refuse_depth(ring, name);
    unsigned place = name_place(ring, name);
    if (place == JD_RING_OWN_NAMES)
        return refuse_name(name);
    struct open_range *open = &mine.open[mine.depth];
    open->name = (uint16_t)place;
    open->begin = nanoseconds_now();
    open->number = write_mine(ring, open, 0);
    mine.depth++;
    return JD_OK;
}

jd_status jd__own_ranges_end(struct jd_ring *ring)
{
    if (!ring)
        return JD_OK;
    enter_world(ring);
    if (!mine.depth)
        return jd_fail(JD_FAILED_PRECONDITION,
                       "jd_trace_end: this thread has begun no range that is "
                       "not ended; call jd_trace_begin() before, on the same "
                       "thread");
    const struct open_range *open = &mine.open[--mine.depth];
    struct jd_ring_own_range *entry =
        &ring->own_ranges[open->number % JD_RING_OWN_RANGES];
    uint64_t end = nanoseconds_now();
    if (atomic_load(&entry->number) == open->number)
        atomic_store_explicit(&entry->end, end, memory_order_release);
    else
        write_mine(ring, open, end);
    return JD_OK;
}

/* ---- to read ------------------------------------------------------------ */

static uint64_t load_word(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

bool jd__own_ranges_read(const struct jd_ring *ring, uint64_t number,
                         struct jd_own_range *ret_range)
{
    const struct jd_ring_own_range *entry =
        &ring->own_ranges[number % JD_RING_OWN_RANGES];
    if (!number || load_word(&entry->number) != number)
        return false;
    uint64_t kind = load_word(&entry->kind);
    struct jd_own_range range = { .number = number,
                                  .begin = load_word(&entry->begin),
                                  .end = load_word(&entry->end),
                                  .name = (uint16_t)kind,
                                  .depth = (uint16_t)(kind >> 16),
                                  .thread = (uint32_t)(kind >> 32) };
    if (load_word(&entry->number) != number)
        return false;
    *ret_range = range;
    return true;
}
