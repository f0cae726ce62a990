/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi.c - PMI: who has connected, and what is read of them. */
#include "runtime/wireup/server/pmi.h"
#include "runtime/wireup/server/hand_out.h"
#include "runtime/wireup/server/listener.h"
#include "runtime/wireup/server/log.h"
#include "runtime/wireup/server/pmi_barrier.h"
#include "runtime/wireup/server/pmi_v1.h"
#include "runtime/wireup/server/pmi_v2_node.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { INDEX_BYTES = 4, READ_BYTES = 4096 };

static struct pmi_host pmi; /* one per program; the loop's own */

static void drop_client(struct pmi_client *client)
{
    struct pmi_client **at = &pmi.clients;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    pmi.num_waiting -= client->is_waiting;
    pmi_v2_node_forget(client);
    event_free(client->event);
    close(client->fd);
    jd__wire_bytes_finish(&client->input);
    free(client);
}

/* ---- reading ------------------------------------------------------------ */

static bool has_process(uint32_t process)
{
    for (const struct pmi_client *client = pmi.clients; client;
         client = client->next)
        if (client->is_known && client->process == process)
            return true;
    return false;
}

/* Who comes a second time would answer for both. */
static bool may_come(uint32_t process)
{
    bool is_own = plan_has_process(pmi.serving->own, process);
    bool is_new = is_own && !has_process(process);
    if (!is_new)
        log_say(JD_LOG_ERROR,
                "who comes for PMI says that it is process %u, which %s; it is "
                "sent away",
                (unsigned)process, is_own ? "has come" : "is not of this host");
    return is_new;
}

/* The index comes before the first line. */
static bool introduce_client(struct pmi_client *client)
{
    uint32_t process =
        jd__wire_get_u32(client->input.data + client->input.begin);
    if (!may_come(process))
        return false;
    jd__wire_bytes_consume(&client->input, INDEX_BYTES);
    client->process = process;
    client->is_known = true;
    pmi_barrier_note_come(client);
    return true;
}

/* False where the client must go. */
static bool serve_input(struct pmi_client *client)
{
    enum pmi_step step = PMI_STEP_SERVED;
    if (!client->is_known && jd__bytes_size(&client->input) < INDEX_BYTES)
        return true;
    if (!client->is_known && !introduce_client(client))
        return false;
    while (step == PMI_STEP_SERVED)
        step = jd__bytes_size(&client->input) ? client->protocol->serve(client)
                                              : PMI_STEP_PARTIAL;
    return step == PMI_STEP_PARTIAL;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct pmi_client *client = arg;
    uint8_t *at = jd__wire_bytes_reserve(&client->input, READ_BYTES);
    ssize_t n = at ? read(fd, at, READ_BYTES) : 0;
    (void)what;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        client->input.end += (size_t)n;
    if (n > 0 && serve_input(client))
        return;
    if (client->is_known)
        pmi_barrier_note_gone(client);
    drop_client(client);
}

/* ---- coming ------------------------------------------------------------- */

/* It is said once. */
static void say_crowded(size_t strangers)
{
    if (!pmi.is_crowded)
        log_say(JD_LOG_ERROR,
                "%zu connections for PMI have not said whose they are; until "
                "some have, or go, who else comes is sent away",
                strangers);
    pmi.is_crowded = true;
}

static bool may_enter(void)
{
    size_t strangers = 0;
    for (const struct pmi_client *client = pmi.clients; client;
         client = client->next)
        strangers += !client->is_known;
    if (strangers < pmi.serving->own->n_processes + PMI_SPARE_STRANGERS)
        return true;
    say_crowded(strangers);
    return false;
}

static void on_visitor(void *unused, int fd, const struct ucred *who)
{
    struct pmi_client *client = may_enter() ? calloc(1, sizeof *client) : NULL;
    (void)unused, (void)who;
    if (client)
        client->event = event_new(jd__loop_base(pmi.serving->loop), fd,
                                  EV_READ | EV_PERSIST, on_readable, client);
    if (!client || !client->event) {
        free(client);
        close(fd);
        return;
    }
    client->host = &pmi;
    client->protocol = &pmi_v1_protocol;
    client->fd = fd;
    client->next = pmi.clients;
    pmi.clients = client;
    event_add(client->event, NULL);
}

/* ---- the whole ---------------------------------------------------------- */

static jd_status hand_out_to(struct serving *serving, uint32_t process)
{
    char rank[32], count[32];
    char *variables[] = { rank, count };
    snprintf(rank, sizeof rank, "PMI_RANK=%u", (unsigned)process);
    snprintf(count, sizeof count, "PMI_SIZE=%u",
             (unsigned)serving->plan->count);
    return hand_out(serving, process, variables, 2);
}

jd_status pmi_hand_out(struct serving *serving)
{
    jd_status status = JD_OK;
    for (size_t i = 0; status == JD_OK && i < serving->own->n_processes; i++)
        status = hand_out_to(serving, serving->own->processes[i]);
    return status;
}

jd_status pmi_open(const struct serving *serving)
{
    char mapping[PMI_VALUE_MOST];
    struct listener_spec listener = { .loop = serving->loop,
                                      .path = serving->directory->pmi,
                                      .on_visitor = on_visitor };
    pmi.serving = serving;
    if (!pmi_barrier_open(&pmi))
        return jd__fail_no_memory("the processes of a host",
                                  serving->own->n_processes *
                                      sizeof *pmi.processes);
    if (pmi_print_mapping(serving->plan, mapping, sizeof mapping) &&
        !pmi_kvs_know(&pmi.kvs, "PMI_process_mapping", mapping))
        return jd__fail_no_memory("the processes' hosts", sizeof mapping);
    return listener_open(&listener);
}
