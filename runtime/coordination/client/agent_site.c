/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent_site.c - the words of a call in which this process has waited, for the
 * service, which knows its number from a heartbeat: of all processes that wait
 * there it asks one, once. The line of the program is looked for on a thread
 * beside the loop, as that reads files.
 */
#include "base/thread.h"
#include "runtime/coordination/client/agent_private.h"

#include <stdlib.h>
#include <string.h>

/* A site whose words are looked for: its thread's until it is given to the
 * loop. */
struct jd_site_search {
    struct jd_agent *agent; /* of the loop's thread; NULL: it is closed */
    struct jd_loop *loop;
    bool (*describe)(uint64_t site, char text[JD_WAIT_TEXT]);
    pthread_t thread;
    uint64_t site;
    char text[JD_WAIT_TEXT];
};

static void send_words(struct jd_agent *agent, uint64_t site, const char *text)
{
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__SiteNamed named = JD__SITE_NAMED__INIT;
    named.site = site;
    named.text = (char *)text; /* only read */
    message.body_case = JD__MESSAGE__BODY_SITE_NAMED;
    message.site_named = &named;
    if (agent->link)
        jd__link_send(agent->link, &message);
}

static void go_on(struct jd_agent *agent);

/* On the loop: the thread is at its end. */
static void on_found(void *arg)
{
    struct jd_site_search *search = arg;
    struct jd_agent *agent = search->agent;
    if (agent) {
        pthread_join(search->thread, NULL);
        agent->sites.search = NULL;
        send_words(agent, search->site, search->text);
    }
    free(search);
    if (agent)
        go_on(agent);
}

/* Without memory to say that it has ended, it stays: nothing is said then. */
static void *search_site(void *arg)
{
    struct jd_site_search *search = arg;
    pthread_setname_np(pthread_self(), "jd-site");
    if (!search->describe(search->site, search->text))
        search->text[0] = '\0';
    jd__loop_call(search->loop, on_found, search);
    return NULL;
}

static bool begin_search(struct jd_agent *agent, uint64_t site)
{
    struct jd_site_search *search = calloc(1, sizeof *search);
    if (!search)
        return false;
    search->agent = agent;
    search->loop = agent->spec.loop;
    search->describe = agent->spec.describe_wait;
    search->site = site;
    agent->sites.search = search;
    if (jd__thread_start(&search->thread, search_site, search) == 0)
        return true;
    agent->sites.search = NULL;
    free(search);
    return false;
}

static void go_on(struct jd_agent *agent)
{
    struct jd_agent_sites *sites = &agent->sites;
    while (sites->num_wanted && !sites->search) {
        uint64_t site = sites->wanted[0];
        sites->num_wanted--;
        memmove(sites->wanted, sites->wanted + 1,
                (size_t)sites->num_wanted * sizeof *sites->wanted);
        if (!agent->spec.describe_wait || !begin_search(agent, site))
            send_words(agent, site, "");
    }
}

void jd__agent_site_name(struct jd_agent *agent, uint64_t site)
{
    struct jd_agent_sites *sites = &agent->sites;
    if (sites->num_wanted == JD_AGENT_SITES) {
        send_words(agent, site, "");
        return;
    }
    sites->wanted[sites->num_wanted++] = site;
    go_on(agent);
}

void jd__agent_site_close(struct jd_agent *agent)
{
    struct jd_agent_sites *sites = &agent->sites;
    if (sites->search) {
        pthread_join(sites->search->thread, NULL);
        sites->search->agent = NULL;
        sites->search = NULL;
    }
    sites->num_wanted = 0;
}
