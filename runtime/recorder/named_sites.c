/* SPDX-License-Identifier: BSD-3-Clause */
/* named_sites.c - places of a program whose code has no addresses. */
#include "runtime/recorder/named_sites.h"
#include "base/digest.h"
#include "base/forked.h"
#include "jd_status.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
enum { KEPT = JD_RING_NAMED_SITES - 1 }; /* a ring's last one is the rest's */
static struct jd_ring_named_site own[KEPT];

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

/* What a terminal may obey; letters of UTF-8 stay. */
static void blank_controls(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at; at++)
        if (*at < ' ' || *at == 0x7f)
            *at = '?';
        else if (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0)
            at[0] = at[1] = '?';
}

/* As it is kept: one line, cut where it does not fit. */
static struct jd_ring_named_site make_site(const char *text)
{
    struct jd_ring_named_site site = { .size = 0 };
    set_text(&site, text);
    blank_controls(site.text);
    return site;
}

/* The place that the text has from now on; KEPT: there is no room. */
static unsigned take_place(const char *text)
{
    unsigned place = 0;
    while (place < KEPT && text_of(&own[place]) &&
           strcmp(own[place].text, text) != 0)
        place++;
    if (place < KEPT && !text_of(&own[place]))
        set_text(&own[place], text);
    return place;
}

static uint32_t digest_of(const char *text)
{
    uint64_t digest = jd__digest(0, text, strlen(text));
    return (uint32_t)(digest ^ digest >> 32) | 1;
}

/* A forked child may have a lock that is held for ever. */
const void *jd_call_site_named(const char *text)
{
    if (!text || !text[0] || jd__forked_is_child)
        return NULL;
    struct jd_ring_named_site site = make_site(text);
    pthread_mutex_lock(&lock);
    uint64_t place = take_place(site.text);
    pthread_mutex_unlock(&lock);
    uint64_t number =
        place < KEPT ? place + 1 : JD_NAMED_SITES_BEYOND | digest_of(site.text);
    return (const void *)(uintptr_t)number;
}

const char *jd__named_sites_text(uint64_t site)
{
    if (site == JD_RING_NAMED_SITES || jd__named_sites_is_beyond(site))
        return rest;
    return jd__named_sites_has(site) ? text_of(&own[site - 1]) : NULL;
}

uint32_t jd__named_sites_digest(uint64_t site)
{
    const char *text = jd__named_sites_text(site);
    if (jd__named_sites_is_beyond(site))
        return (uint32_t)site;
    return text ? digest_of(text) : 0;
}

/* ---- in a ring ---------------------------------------------------------- */

uint64_t jd__named_sites_note(struct jd_ring *ring, uint64_t site)
{
    uint64_t number =
        jd__named_sites_is_beyond(site) ? JD_RING_NAMED_SITES : site;
    struct jd_ring_named_site *there = &ring->named_sites[number - 1];
    const char *text = jd__named_sites_text(number);
    if (!text || text_of(there))
        return number;
    pthread_mutex_lock(&lock);
    if (!text_of(there))
        set_text(there, text);
    pthread_mutex_unlock(&lock);
    return number;
}

const char *jd__named_sites_text_in(const struct jd_ring *ring, uint64_t site)
{
    bool is_there = site >= 1 && site <= JD_RING_NAMED_SITES;
    return is_there ? text_of(&ring->named_sites[site - 1]) : NULL;
}
