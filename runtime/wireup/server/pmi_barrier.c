/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi_barrier.c - who waits, and the exchange with the other hosts. */
#include "runtime/wireup/server/pmi_barrier.h"
#include "runtime/wireup/server/exchange.h"
#include "runtime/wireup/server/log.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { GONE_SECONDS = 2 }; /* until one who has gone is waited for no more */

/* On its way to the other hosts and back. */
struct pmi_exchange {
    struct host_exchange bytes;
    struct pmi_host *host;
};

/* Who cannot be answered is seen to be gone by its own event: it may be the
 * one that is served just now. */
static void release_all(struct pmi_host *host)
{
    for (struct pmi_client *client = host->clients; client;
         client = client->next) {
        if (!client->is_waiting)
            continue;
        client->is_waiting = false;
        host->num_waiting--;
        if (!client->protocol->release(client))
            shutdown(client->fd, SHUT_RDWR);
    }
}

/* Nobody is answered: MPI would say no more than that it has failed. */
static void fail_barrier(const struct pmi_exchange *exchange, const char *why)
{
    log_say(JD_LOG_ERROR, "PMI barrier %llu: %s",
            (unsigned long long)exchange->bytes.number, why);
    liveness_end(exchange->bytes.serving->liveness, LIVENESS_FAILED);
}

static void finish_exchange(struct pmi_exchange *exchange)
{
    exchange_finish(&exchange->bytes);
    free(exchange);
}

/* On the loop: the bytes of all hosts are there. */
static void take_exchange(void *arg)
{
    struct pmi_exchange *exchange = arg;
    struct pmi_host *host = exchange->host;
    const struct jd_bytes *all = &exchange->bytes.all;
    size_t size = jd__bytes_size(all);
    host->is_exchanging = false;
    if (!size || pmi_kvs_merge(&host->kvs, all->data + all->begin, size))
        release_all(host);
    else
        fail_barrier(exchange, "what the other hosts have put is no such text, "
                               "or there is no memory for it");
    finish_exchange(exchange);
}

static void *run_exchange(void *arg)
{
    struct pmi_exchange *exchange = arg;
    jd_status status = exchange_run(&exchange->bytes);
    if (status == JD_OK &&
        jd__loop_call(exchange->bytes.serving->loop, take_exchange, exchange))
        return NULL;
    if (status != JD_UNAVAILABLE) /* that is said where it is noticed */
        fail_barrier(exchange, status == JD_OK ? "there is no memory"
                                               : jd_error_message());
    finish_exchange(exchange);
    return NULL;
}

/* The host's own bytes are the exchange's from here on. */
static struct pmi_exchange *create_exchange(struct pmi_host *host)
{
    const struct serving *serving = host->serving;
    struct pmi_exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return NULL;
    size_t size = jd__bytes_size(&host->kvs.fresh);
    host->barriers++;
    exchange->host = host;
    exchange->bytes = (struct host_exchange){
        .serving = serving,
        .who = "pmi",
        .number = host->barriers,
        .deadline = host->barriers == 1 ? serving->deadline : INFINITY,
        .hosts = malloc(serving->plan->n_hosts * sizeof(size_t)),
        .num_hosts = serving->plan->n_hosts,
        .own = malloc(size + 1),
        .own_size = size,
    };
    if (exchange->bytes.hosts && exchange->bytes.own)
        return exchange;
    finish_exchange(exchange);
    return NULL;
}

static void fill_exchange(struct host_exchange *bytes, struct jd_bytes *fresh)
{
    for (size_t h = 0; h < bytes->num_hosts; h++)
        bytes->hosts[h] = h;
    if (bytes->own_size)
        memcpy(bytes->own, fresh->data + fresh->begin, bytes->own_size);
    jd__wire_bytes_consume(fresh, bytes->own_size);
}

static bool start_exchange(struct pmi_host *host)
{
    pthread_t thread;
    struct pmi_exchange *exchange = create_exchange(host);
    if (!exchange)
        return false;
    fill_exchange(&exchange->bytes, &host->kvs.fresh);
    if (pthread_create(&thread, NULL, run_exchange, exchange) != 0) {
        finish_exchange(exchange);
        return false;
    }
    pthread_detach(thread);
    host->is_exchanging = true;
    return true;
}

/* All that are there have come. */
static void end_barrier(struct pmi_host *host)
{
    struct jd_bytes *fresh = &host->kvs.fresh;
    if (host->serving->plan->n_hosts == 1) {
        jd__wire_bytes_consume(fresh, jd__bytes_size(fresh));
        release_all(host);
    } else if (!start_exchange(host)) {
        log_say(JD_LOG_ERROR, "PMI barrier: there is no memory for it");
        liveness_end(host->serving->liveness, LIVENESS_FAILED);
    }
}

static void look_at_barrier(struct pmi_host *host)
{
    if (host->num_waiting && !host->is_exchanging &&
        host->num_waiting + host->num_gone >= host->serving->own->n_processes)
        end_barrier(host);
}

void pmi_barrier_enter(struct pmi_client *client)
{
    client->host->num_waiting += !client->is_waiting;
    client->is_waiting = true;
    look_at_barrier(client->host);
}

static struct pmi_process *process_of(const struct pmi_client *client)
{
    struct pmi_process *process = client->host->processes;
    while (process->process != client->process)
        process++;
    return process;
}

/* Where the job has not failed by now, it is over: MPI_Finalize of the others
 * waits for nobody who has gone. Only the last departure's time says so. */
static void on_gone(evutil_socket_t none, short what, void *arg)
{
    struct pmi_process *process = arg;
    (void)none, (void)what;
    process->num_times--;
    if (process->num_times || !process->has_left)
        return;
    process->has_left = false;
    process->host->num_gone++;
    look_at_barrier(process->host);
}

/* A program begins, to which all come: who went before is on its way. */
void pmi_barrier_note_come(const struct pmi_client *client)
{
    struct pmi_host *host = client->host;
    host->num_gone = 0;
    for (size_t i = 0; i < host->serving->own->n_processes; i++)
        host->processes[i].has_left = false;
}

void pmi_barrier_note_gone(const struct pmi_client *client)
{
    static const struct timeval grace = { GONE_SECONDS, 0 };
    struct pmi_process *process = process_of(client);
    process->has_left = true;
    if (event_base_once(jd__loop_base(client->host->serving->loop), -1,
                        EV_TIMEOUT, on_gone, process, &grace) == 0)
        process->num_times++;
}

bool pmi_barrier_open(struct pmi_host *host)
{
    const Jd__PlanHost *own = host->serving->own;
    host->processes = calloc(own->n_processes, sizeof *host->processes);
    for (size_t i = 0; host->processes && i < own->n_processes; i++)
        host->processes[i] =
            (struct pmi_process){ .host = host, .process = own->processes[i] };
    return host->processes != NULL;
}
