/* SPDX-License-Identifier: BSD-3-Clause */
/* clock_samples.c - samples of another clock, in a ring. */
#include "runtime/recorder/clock_samples.h"

/* What doubles of a long uptime round off, and then some. */
#define ROUNDING_NS 1000

static int64_t to_nanoseconds(double seconds)
{
    return (int64_t)(1e9 * seconds);
}

struct jd_clock_sample jd__clock_samples_of(double asked, double there,
                                            double answered)
{
    double half = (answered - asked) / 2;
    double parted = 2 * half * JD_CLOCK_DRIFT; /* meanwhile */
    return (struct jd_clock_sample){
        .at = to_nanoseconds(answered),
        .offset = to_nanoseconds(there - asked - half),
        .error = to_nanoseconds(half + parted) + ROUNDING_NS,
    };
}

/* ---- to write ----------------------------------------------------------- */

static void store_sample(struct jd_ring_clock *place, uint64_t version,
                         const struct jd_clock_sample *sample)
{
    const memory_order order = memory_order_release; /* after the 0 */
    atomic_store_explicit(&place->version, 0, memory_order_relaxed);
    atomic_store_explicit(&place->at, sample->at, order);
    atomic_store_explicit(&place->offset, sample->offset, order);
    atomic_store_explicit(&place->error, sample->error, order);
    atomic_store_explicit(&place->version, version, order);
}

static bool load_sample(const struct jd_ring_clock *place,
                        struct jd_clock_sample *ret_sample)
{
    const memory_order order = memory_order_acquire;
    uint64_t version = atomic_load_explicit(&place->version, order);
    struct jd_clock_sample sample = {
        .at = atomic_load_explicit(&place->at, order),
        .offset = atomic_load_explicit(&place->offset, order),
        .error = atomic_load_explicit(&place->error, order),
    };
    if (!version || atomic_load_explicit(&place->version, order) != version)
        return false;
    *ret_sample = sample;
    return true;
}

/* Whether the newest one is to make place for it, or to stay alone. */
static bool is_near(const struct jd_clock_sample *newest,
                    const struct jd_clock_sample *sample)
{
    return sample->at - newest->at < JD_CLOCK_SECONDS * INT64_C(1000000000);
}

void jd__clock_samples_note(struct jd_ring *ring,
                            const struct jd_clock_sample *sample)
{
    struct jd_clock_sample newest;
    uint64_t version = 1 + atomic_load(&ring->clock_version);
    uint32_t place = atomic_load(&ring->clock_newest);
    if (load_sample(&ring->clocks[place], &newest)) {
        bool is_young = is_near(&newest, sample);
        if (is_young && newest.error <= sample->error)
            return;
        if (!is_young)
            place = (place + 1) % JD_RING_CLOCKS;
    }
    atomic_store(&ring->clock_version, version);
    store_sample(&ring->clocks[place], version, sample);
    atomic_store(&ring->clock_newest, place);
}

void jd__clock_samples_forget(struct jd_ring *ring)
{
    for (int i = 0; i < JD_RING_CLOCKS; i++)
        atomic_store(&ring->clocks[i].version, 0);
}

/* ---- to read ------------------------------------------------------------ */

int jd__clock_samples_read(const struct jd_ring *ring,
                           struct jd_clock_sample samples[JD_RING_CLOCKS])
{
    int count = 0;
    for (int i = 0; i < JD_RING_CLOCKS; i++)
        count += load_sample(&ring->clocks[i], &samples[count]);
    return count;
}
