/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * named_sites.h - places of a program whose code has no addresses, as Python's:
 * each is a text that stands under an address that no code has.
 *
 *     jd_call_site(jd_call_site_named("train.py:12 (step)"));    the binding
 *
 *     if (jd__named_sites_has(site))                             site.h
 *         text = jd__named_sites_text(site);
 *
 * The texts are the process's and stay for ever: as many as a ring has room
 * for, less one. The address of one beyond is made of its digest, so that
 * processes that have kept other texts compare the same; it is said as one of
 * the rest. A ring has those that are noted in it, under the same addresses,
 * and the rest under its last: others read them there.
 *
 * Threads: any; only what is new is added under a lock.
 */
#ifndef RUNTIME_RECORDER_NAMED_SITES_H
#define RUNTIME_RECORDER_NAMED_SITES_H

#include "runtime/recorder/ring.h"

/* With the digest of a text beyond: no program is loaded there. */
#define JD_NAMED_SITES_BEYOND (UINT64_C(1) << 63)

static inline bool jd__named_sites_is_beyond(uint64_t site)
{
    return site >> 32 == JD_NAMED_SITES_BEYOND >> 32;
}

/* The first ones from 1: what lies there is never mapped. */
static inline bool jd__named_sites_has(uint64_t site)
{
    return (site >= 1 && site <= JD_RING_NAMED_SITES) ||
           jd__named_sites_is_beyond(site);
}

/* A site of this process; NULL: none has that address. */
const char *jd__named_sites_text(uint64_t site);

/* Of the text, whether it is kept or beyond: the same in each process. 0: none
 * has that address. */
uint32_t jd__named_sites_digest(uint64_t site);

/* The ring has its text from then on. A load where it has it already. Returns:
 * the address that the ring has it under. */
uint64_t jd__named_sites_note(struct jd_ring *ring, uint64_t site);

/* One that a ring has, as its process wrote it: maybe without a NUL. NULL: it
 * has none of that address. */
const char *jd__named_sites_text_in(const struct jd_ring *ring, uint64_t site);

#endif
