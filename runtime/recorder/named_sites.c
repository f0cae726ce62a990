/* SPDX-License-Identifier: BSD-3-Clause */
/* named_sites.c - places of a program whose code has no addresses. */
#include "runtime/recorder/named_sites.h"
#include "jd_status.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct jd_ring_named_site own[JD_RING_NAMED_SITES];

static const char rest[] = "a line beyond those that are kept";

static const char *text_of(const struct jd_ring_named_site *site)
{
    return atomic_load_explicit(&site->size, memory_order_acquire) ? site->text
                                                                   : NULL;
}

static void set_text(struct jd_ring_named_site *site, const char *text)
{
    snprintf(site->text, sizeof site->text, "%s", text);
    atomic_store_explicit(&site->size, (uint32_t)strlen(site->text) + 1,
                          memory_order_release);
}

/* ---- of the process ----------------------------------------------------- */

/* The text's place, which is its from now on, or that of the rest. */
static unsigned take_place(const char *text)
{
    unsigned place = 0;
    const unsigned last = JD_RING_NAMED_SITES - 1;
    const size_t bytes = sizeof own->text - 1;
    while (place < last && text_of(&own[place]) &&
           strncmp(own[place].text, text, bytes) != 0)
        place++;
    if (!text_of(&own[place]))
        set_text(&own[place], place < last ? text : rest);
    return place;
}

const void *jd_call_site_named(const char *text)
{
    if (!text || !text[0])
        return NULL;
    pthread_mutex_lock(&lock);
    unsigned place = take_place(text);
    pthread_mutex_unlock(&lock);
    return (const void *)(uintptr_t)(place + 1);
}

const char *jd__named_sites_text(uint64_t site)
{
    return jd__named_sites_has(site) ? text_of(&own[site - 1]) : NULL;
}

/* ---- in a ring ---------------------------------------------------------- */

void jd__named_sites_note(struct jd_ring *ring, uint64_t site)
{
    struct jd_ring_named_site *there = &ring->named_sites[site - 1];
    const char *text = jd__named_sites_text(site);
    if (!text || text_of(there))
        return;
    pthread_mutex_lock(&lock);
    if (!text_of(there))
        set_text(there, text);
    pthread_mutex_unlock(&lock);
}

const char *jd__named_sites_text_in(const struct jd_ring *ring, uint64_t site)
{
    return jd__named_sites_has(site) ? text_of(&ring->named_sites[site - 1])
                                     : NULL;
}
