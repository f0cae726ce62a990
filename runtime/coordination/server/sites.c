/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sites.c - the words of calls in which processes have waited. A heartbeat has
 * a number of each, which is the same in all processes that run the same file:
 * one of those that tell of it is asked for the words (NameSite), and only
 * where they are wanted. So thousands of processes send no text.
 */
#include "base/digest.h"
#include "base/text.h"
#include "runtime/coordination/server/service_private.h"

#include <string.h>

#define ANSWER_SECONDS 5 /* one that was asked; then the next may be */

static struct jd_service_site *find_site(struct jd_service *service,
                                         uint64_t key)
{
    for (int i = 0; i < service->num_sites; i++)
        if (service->sites[i].key == key)
            return &service->sites[i];
    return NULL;
}

/* That of which was told longest ago gives way. */
static struct jd_service_site *take_place(struct jd_service *service)
{
    if (service->num_sites < JD_SERVICE_SITES)
        return &service->sites[service->num_sites++];
    struct jd_service_site *oldest = &service->sites[0];
    for (int i = 1; i < JD_SERVICE_SITES; i++)
        if (service->sites[i].told < oldest->told)
            oldest = &service->sites[i];
    return oldest;
}

static struct jd_service_site *find_or_add(struct jd_service *service,
                                           uint64_t key)
{
    struct jd_service_site *site = find_site(service, key);
    if (!site) {
        site = take_place(service);
        *site = (struct jd_service_site){ .key = key };
    }
    site->told = ++service->num_sites_told;
    return site;
}

static void set_words(struct jd_service_site *site, const char *text)
{
    snprintf(site->text, sizeof site->text, "%s", text);
    jd__text_make_plain(site->text, false);
}

uint64_t jd__sites_take(struct jd_service *service, const Jd__Waited *waited)
{
    if (waited->site)
        return find_or_add(service, waited->site)->key;
    if (!waited->call[0])
        return 0;
    uint64_t key = jd__digest(0, waited->call, strlen(waited->call)) | 1;
    set_words(find_or_add(service, key), waited->call);
    return key;
}

void jd__sites_want(struct jd_service *service, uint64_t key,
                    const struct jd_service_process *teller)
{
    Jd__NameSite body = JD__NAME_SITE__INIT;
    struct jd_service_site *site = find_site(service, key);
    if (!site || site->text[0] || !teller->connection ||
        (site->was_asked && service->now - site->asked < ANSWER_SECONDS))
        return;
    site->was_asked = true;
    site->asked = service->now;
    body.site = key;
    jd__service_send(service, teller->connection, JD__MESSAGE__BODY_NAME_SITE,
                     &body);
}

const char *jd__sites_words(const struct jd_service *service, uint64_t key)
{
    for (int i = 0; i < service->num_sites; i++)
        if (service->sites[i].key == key)
            return service->sites[i].text;
    return "";
}

/* What nobody was asked for is nobody's to say. */
void jd__sites_on_named(struct jd_service *service,
                        struct jd_connection *connection,
                        const Jd__Message *message)
{
    const Jd__SiteNamed *named = message->site_named;
    struct jd_service_site *site = find_site(service, named->site);
    (void)connection;
    if (site && site->was_asked && !site->text[0])
        set_words(site, named->text);
}
