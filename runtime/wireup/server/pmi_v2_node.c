/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi_v2_node.c - a host's attributes, and who waits for them. */
#include "runtime/wireup/server/pmi_v2_node.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct pmi_v2_wait {
    struct pmi_v2_wait *next;
    struct pmi_client *client;
    struct event *timer;
    char key[PMI_KEY_MOST], thread[PMI_KEY_MOST];
};

static void drop_wait(struct pmi_v2_wait *wait)
{
    struct pmi_v2_wait **at = &wait->client->host->waits;
    while (*at != wait)
        at = &(*at)->next;
    *at = wait->next;
    event_free(wait->timer);
    free(wait);
}

/* Who cannot be answered is seen to be gone by its own event. */
static void end_wait(struct pmi_v2_wait *wait, const char *value)
{
    const struct pmi_v2_asker asker = { wait->client, "info-getnodeattr",
                                        wait->thread };
    if (!pmi_v2_reply_found(&asker, value))
        shutdown(wait->client->fd, SHUT_RDWR);
    drop_wait(wait);
}

bool pmi_v2_node_put(struct pmi_host *host, const char *key, const char *value)
{
    if (!key[0] || !pmi_kvs_know(&host->node, key, value))
        return false;
    for (struct pmi_v2_wait *wait = host->waits, *next; wait; wait = next) {
        next = wait->next;
        if (strcmp(wait->key, key) == 0)
            end_wait(wait, value);
    }
    return true;
}

static void on_time(evutil_socket_t none, short what, void *arg)
{
    struct pmi_v2_wait *wait = arg;
    (void)none, (void)what;
    pmi_client_say(wait->client,
                   "has waited %.0f s for the host's attribute \"%s\" of "
                   "PMI-2, which no process has put; "
                   "JD_INITIALIZATION_TIMEOUT gives them longer",
                   wait->client->host->serving->plan->timeout, wait->key);
    end_wait(wait, NULL);
}

static bool start_timer(struct pmi_v2_wait *wait)
{
    const struct serving *serving = wait->client->host->serving;
    double seconds = serving->plan->timeout;
    struct timeval time = { .tv_sec = (time_t)seconds };
    wait->timer = evtimer_new(jd__loop_base(serving->loop), on_time, wait);
    return wait->timer && evtimer_add(wait->timer, &time) == 0;
}

static bool has_room(const struct pmi_host *host,
                     const struct pmi_client *client)
{
    int count = 0;
    for (const struct pmi_v2_wait *wait = host->waits; wait; wait = wait->next)
        count += wait->client == client;
    return count < PMI_V2_WAITS_MOST;
}

bool pmi_v2_node_await(struct pmi_host *host, const struct pmi_v2_asker *asker,
                       const char *key)
{
    struct pmi_v2_wait *wait =
        has_room(host, asker->client) ? calloc(1, sizeof *wait) : NULL;
    if (!wait)
        return false;
    wait->client = asker->client;
    snprintf(wait->key, sizeof wait->key, "%s", key);
    snprintf(wait->thread, sizeof wait->thread, "%s", asker->thread);
    if (!start_timer(wait)) {
        if (wait->timer)
            event_free(wait->timer);
        free(wait);
        return false;
    }
    wait->next = host->waits;
    host->waits = wait;
    return true;
}

void pmi_v2_node_forget(const struct pmi_client *client)
{
    for (struct pmi_v2_wait *wait = client->host->waits, *next; wait;
         wait = next) {
        next = wait->next;
        if (wait->client == client)
            drop_wait(wait);
    }
}
