/* SPDX-License-Identifier: BSD-3-Clause */
/* ring.c - the last calls of a process: what reads them, and rare writes. */
#include "runtime/recorder/ring.h"
#include "runtime/recorder/clock_samples.h"

#include <string.h>

_Static_assert(sizeof(struct jd_ring_entry) == 64, "a call is a cache line");
_Static_assert(offsetof(struct jd_ring, entries) % 64 == 0, "and begins one");

void jd__ring_init(struct jd_ring *ring, int pid, const char *boot_id)
{
    memcpy(ring->magic, JD_RING_MAGIC, sizeof ring->magic);
    ring->version = JD_RING_VERSION;
    atomic_store(&ring->pid, pid);
    atomic_store(&ring->process, -1);
    snprintf(ring->boot_id, sizeof ring->boot_id, "%s", boot_id);
}

bool jd__ring_is_valid(const struct jd_ring *ring)
{
    return memcmp(ring->magic, JD_RING_MAGIC, sizeof ring->magic) == 0 &&
           ring->version == JD_RING_VERSION;
}

static void copy_own(struct jd_ring *to, const struct jd_ring *from)
{
    atomic_store(&to->own_count, atomic_load(&from->own_count));
    atomic_store(&to->own_threads, atomic_load(&from->own_threads));
    for (int i = 0; i < JD_RING_OWN_NAMES; i++)
        if (atomic_load(&from->own_names[i].size))
            memcpy((void *)&to->own_names[i], (const void *)&from->own_names[i],
                   sizeof to->own_names[i]);
    for (int i = 0; i < JD_RING_OWN_RANGES; i++)
        if (atomic_load(&from->own_ranges[i].number))
            memcpy((void *)&to->own_ranges[i],
                   (const void *)&from->own_ranges[i],
                   sizeof to->own_ranges[i]);
}

static void copy_named_sites(struct jd_ring *to, const struct jd_ring *from)
{
    for (int i = 0; i < JD_RING_NAMED_SITES; i++)
        if (atomic_load(&from->named_sites[i].size))
            memcpy((void *)&to->named_sites[i],
                   (const void *)&from->named_sites[i],
                   sizeof to->named_sites[i]);
}

/* The background thread may write one meanwhile. */
static void copy_clocks(struct jd_ring *to, const struct jd_ring *from)
{
    struct jd_clock_sample samples[JD_RING_CLOCKS];
    int count = jd__clock_samples_read(from, samples);
    for (int i = 0; i < count; i++)
        jd__clock_samples_note(to, &samples[i]);
}

void jd__ring_copy(struct jd_ring *to, const struct jd_ring *from)
{
    memcpy((void *)to, (const void *)from, offsetof(struct jd_ring, entries));
    for (int i = 0; i < JD_RING_CALLS; i++) {
        if (atomic_load_explicit(&from->entries[i].number,
                                 memory_order_relaxed))
            memcpy((void *)&to->entries[i], (const void *)&from->entries[i],
                   sizeof to->entries[i]);
        if (atomic_load_explicit(&from->times[i].number, memory_order_relaxed))
            memcpy((void *)&to->times[i], (const void *)&from->times[i],
                   sizeof to->times[i]);
    }
    copy_own(to, from);
    copy_named_sites(to, from);
    copy_clocks(to, from);
}

/* ---- times -------------------------------------------------------------- */

static uint64_t to_nanoseconds(double seconds)
{
    return (uint64_t)(1e9 * seconds);
}

static void store_time(_Atomic uint64_t *time, double seconds)
{
    if (seconds > 0)
        atomic_store_explicit(time, to_nanoseconds(seconds),
                              memory_order_relaxed);
}

/* The times of an older call that had the place are forgotten first. */
static bool claim_times(struct jd_ring_times *times, uint64_t number)
{
    uint64_t there = atomic_load_explicit(&times->number, memory_order_relaxed);
    if (there >= number)
        return there == number;
    atomic_store_explicit(&times->number, 0, memory_order_relaxed);
    atomic_store_explicit(&times->came, 0, memory_order_release);
    atomic_store_explicit(&times->met, 0, memory_order_release);
    atomic_store_explicit(&times->left, 0, memory_order_release);
    atomic_store_explicit(&times->last, -1, memory_order_release);
    atomic_store_explicit(&times->number, number, memory_order_release);
    return true;
}

void jd__ring_set_times(struct jd_ring *ring, const struct jd_ring_call *call)
{
    struct jd_ring_times *times = &ring->times[call->number % JD_RING_CALLS];
    if (!claim_times(times, call->number))
        return;
    store_time(&times->came, call->came);
    store_time(&times->met, call->met);
    store_time(&times->left, call->left);
    if (call->last >= 0)
        atomic_store_explicit(&times->last, call->last, memory_order_relaxed);
}

/* ---- to read ------------------------------------------------------------ */

static uint64_t load_word(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

uint64_t jd__ring_last(const struct jd_ring *ring)
{
    uint64_t last = 0;
    for (int i = 0; i < JD_RING_CALLS; i++) {
        uint64_t number = load_word(&ring->entries[i].number);
        if (number > last)
            last = number;
    }
    return last;
}

static double load_time(const _Atomic uint64_t *time)
{
    return 1e-9 * (double)load_word(time);
}

static void read_times(const struct jd_ring *ring, struct jd_ring_call *call)
{
    const struct jd_ring_times *times =
        &ring->times[call->number % JD_RING_CALLS];
    call->last = -1;
    if (load_word(&times->number) != call->number)
        return;
    call->came = load_time(&times->came);
    call->met = load_time(&times->met);
    call->left = load_time(&times->left);
    call->last =
        (int32_t)atomic_load_explicit(&times->last, memory_order_acquire);
}

static struct jd_ring_call read_words(const struct jd_ring_entry *entry)
{
    uint64_t kind = load_word(&entry->kind), state = load_word(&entry->state);
    return (struct jd_ring_call){
        .site = load_word(&entry->site),
        .comm = load_word(&entry->comm),
        .sequence = load_word(&entry->sequence),
        .count = load_word(&entry->count),
        .rest = load_word(&entry->rest),
        .name = (uint16_t)kind,
        .dtype = (uint8_t)(kind >> 16),
        .lane = (uint8_t)(kind >> 24),
        .member = (int32_t)(kind >> 32),
        .state = (uint8_t)state,
        .status = (int32_t)(state >> 32),
    };
}

/* Calls follow each other on a lane in the order of their numbers. */
static enum jd_gpu_state gpu_state(const struct jd_ring *ring,
                                   const struct jd_ring_call *call)
{
    if (!call->lane || call->lane > JD_RING_LANES)
        return JD_GPU_NONE;
    uint64_t word = load_word(&ring->lanes[call->lane - 1]);
    if (word >> 16 < call->number)
        return JD_GPU_QUEUED;
    return jd__ring_lane_call(word) == call->number ? JD_GPU_STARTED
                                                    : JD_GPU_DONE;
}

uint64_t jd__ring_gpu_call(const struct jd_ring *ring, int lane)
{
    return jd__ring_lane_call(load_word(&ring->lanes[lane - 1]));
}

bool jd__ring_read(const struct jd_ring *ring, uint64_t number,
                   struct jd_ring_call *ret_call)
{
    const struct jd_ring_entry *entry = &ring->entries[number % JD_RING_CALLS];
    if (!number || load_word(&entry->number) != number)
        return false;
    struct jd_ring_call call = read_words(entry);
    call.number = number;
    call.gpu = (uint8_t)gpu_state(ring, &call);
    read_times(ring, &call);
    if (load_word(&entry->number) != number)
        return false;
    *ret_call = call;
    return true;
}

const struct jd_ring_comm *jd__ring_find_comm(const struct jd_ring *ring,
                                              uint64_t id)
{
    for (int i = 0; id && i < JD_RING_COMMS; i++)
        if (load_word(&ring->comms[i].id) == id)
            return &ring->comms[i];
    return NULL;
}

const struct jd_ring_module *jd__ring_find_module(const struct jd_ring *ring,
                                                  uint64_t address)
{
    for (int i = 0; i < JD_RING_MODULES; i++) {
        const struct jd_ring_module *module = &ring->modules[i];
        uint64_t begin = load_word(&module->begin);
        if (begin && begin <= address && address < module->end)
            return module;
    }
    return NULL;
}
