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
 * for. The rest share the last one, which says so. A ring has those that are
 * noted in it, under the same addresses: others read them there.
 *
 * Threads: any; only what is new is added under a lock.
 */
#ifndef RUNTIME_RECORDER_NAMED_SITES_H
#define RUNTIME_RECORDER_NAMED_SITES_H

#include "runtime/recorder/ring.h"

/* The first ones from 1: what lies there is never mapped. */
static inline bool jd__named_sites_has(uint64_t site)
{
    return site >= 1 && site <= JD_RING_NAMED_SITES;
}

/* A site of this process; NULL: none has that address. */
const char *jd__named_sites_text(uint64_t site);

/* The ring has its text from then on. A load where it has it already. */
void jd__named_sites_note(struct jd_ring *ring, uint64_t site);

/* One that a ring has; NULL: it has none of that address. */
const char *jd__named_sites_text_in(const struct jd_ring *ring, uint64_t site);

#endif
