/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi.c - PMI-1: who has connected, what MPI asks, and its barriers. */
#include "runtime/wireup/server/pmi.h"
#include "base/text.h"
#include "runtime/wireup/server/exchange.h"
#include "runtime/wireup/server/hand_out.h"
#include "runtime/wireup/server/listener.h"
#include "runtime/wireup/server/log.h"
#include "runtime/wireup/server/pmi_kvs.h"
#include "runtime/wireup/server/pmi_wire.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KVS_NAME "jd"
enum { INDEX_BYTES = 4, READ_BYTES = 4096 };
enum { GONE_SECONDS = 2 }; /* until one who has gone is waited for no more */

/* One per program; the loop's own. */
static struct {
    const struct serving *serving;
    struct pmi_kvs kvs;
    struct client *clients;
    size_t num_waiting; /* in the barrier */
    size_t num_gone;    /* for some seconds; they come to no barrier */
    bool is_exchanging; /* with other hosts */
    uint64_t barriers;  /* that were */
} pmi;

struct client {
    struct client *next;
    int fd;
    struct event *event;
    bool is_known, is_waiting;
    uint32_t process;
    struct jd_bytes input;
};

/* ---- clients ------------------------------------------------------------ */

static void drop_client(struct client *client)
{
    struct client **at = &pmi.clients;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    pmi.num_waiting -= client->is_waiting;
    event_free(client->event);
    close(client->fd);
    jd__wire_bytes_finish(&client->input);
    free(client);
}

/* A client waits for each answer before it asks again: what the kernel does
 * not take at once is no answer that anybody reads. */
__attribute__((format(printf, 2, 3))) static bool
answer_line(const struct client *client, const char *format, ...)
{
    char line[PMI_LINE_MOST];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return length > 0 && (size_t)length < sizeof line &&
           send(client->fd, line, (size_t)length, MSG_NOSIGNAL) == length;
}

/* ---- barriers ----------------------------------------------------------- */

static void release_all(void)
{
    for (struct client *client = pmi.clients, *next; client; client = next) {
        next = client->next;
        if (!client->is_waiting)
            continue;
        client->is_waiting = false;
        pmi.num_waiting--;
        if (!answer_line(client, "cmd=barrier_out rc=0\n"))
            drop_client(client);
    }
}

/* Nobody is answered: MPI would say no more than that it has failed. */
static void fail_barrier(const struct host_exchange *exchange, const char *why)
{
    log_say(JD_LOG_ERROR, "PMI barrier %llu: %s",
            (unsigned long long)exchange->number, why);
    liveness_end(exchange->serving->liveness, LIVENESS_FAILED);
}

static void finish_exchange(struct host_exchange *exchange)
{
    exchange_finish(exchange);
    free(exchange);
}

/* On the loop: the bytes of all hosts are there. */
static void take_exchange(void *arg)
{
    struct host_exchange *exchange = arg;
    const struct jd_bytes *all = &exchange->all;
    size_t size = jd__bytes_size(all);
    pmi.is_exchanging = false;
    if (!size || pmi_kvs_merge(&pmi.kvs, all->data + all->begin, size))
        release_all();
    else
        fail_barrier(exchange, "what the other hosts have put is no such text, "
                               "or there is no memory for it");
    finish_exchange(exchange);
}

static void *run_exchange(void *arg)
{
    struct host_exchange *exchange = arg;
    jd_status status = exchange_run(exchange);
    if (status == JD_OK &&
        jd__loop_call(exchange->serving->loop, take_exchange, exchange))
        return NULL;
    if (status != JD_UNAVAILABLE) /* that is said where it is noticed */
        fail_barrier(exchange, status == JD_OK ? "there is no memory"
                                               : jd_error_message());
    finish_exchange(exchange);
    return NULL;
}

/* The host's own bytes are the exchange's from here on. */
static struct host_exchange *create_exchange(void)
{
    const struct serving *serving = pmi.serving;
    struct host_exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return NULL;
    size_t size = jd__bytes_size(&pmi.kvs.fresh);
    pmi.barriers++;
    *exchange = (struct host_exchange){
        .serving = serving,
        .who = "pmi",
        .number = pmi.barriers,
        .deadline = pmi.barriers == 1 ? serving->deadline : INFINITY,
        .hosts = malloc(serving->plan->n_hosts * sizeof *exchange->hosts),
        .num_hosts = serving->plan->n_hosts,
        .own = malloc(size + 1),
        .own_size = size,
    };
    if (exchange->hosts && exchange->own)
        return exchange;
    finish_exchange(exchange);
    return NULL;
}

static bool start_exchange(void)
{
    pthread_t thread;
    struct host_exchange *exchange = create_exchange();
    if (!exchange)
        return false;
    for (size_t h = 0; h < exchange->num_hosts; h++)
        exchange->hosts[h] = h;
    if (exchange->own_size)
        memcpy(exchange->own, pmi.kvs.fresh.data + pmi.kvs.fresh.begin,
               exchange->own_size);
    jd__wire_bytes_consume(&pmi.kvs.fresh, exchange->own_size);
    if (pthread_create(&thread, NULL, run_exchange, exchange) != 0) {
        finish_exchange(exchange);
        return false;
    }
    pthread_detach(thread);
    pmi.is_exchanging = true;
    return true;
}

/* All that are there have come. */
static void end_barrier(void)
{
    if (pmi.serving->plan->n_hosts == 1) {
        jd__wire_bytes_consume(&pmi.kvs.fresh, jd__bytes_size(&pmi.kvs.fresh));
        release_all();
    } else if (!start_exchange()) {
        log_say(JD_LOG_ERROR, "PMI barrier: there is no memory for it");
        liveness_end(pmi.serving->liveness, LIVENESS_FAILED);
    }
}

static void look_at_barrier(void)
{
    if (pmi.num_waiting && !pmi.is_exchanging &&
        pmi.num_waiting + pmi.num_gone >= pmi.serving->own->n_processes)
        end_barrier();
}

static void enter_barrier(struct client *client)
{
    pmi.num_waiting += !client->is_waiting;
    client->is_waiting = true;
    look_at_barrier();
}

/* Where the job has not failed by now, it is over: MPI_Finalize of the others
 * waits for nobody who has gone. */
static void on_gone(evutil_socket_t none, short what, void *unused)
{
    (void)none, (void)what, (void)unused;
    pmi.num_gone++;
    look_at_barrier();
}

static void note_gone(void)
{
    static const struct timeval grace = { GONE_SECONDS, 0 };
    event_base_once(jd__loop_base(pmi.serving->loop), -1, EV_TIMEOUT, on_gone,
                    NULL, &grace);
}

/* ---- requests ----------------------------------------------------------- */

static bool answer_init(const struct client *client, const char *version)
{
    return answer_line(
        client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d\n",
        strcmp(version, "1") == 0 ? 0 : -1);
}

static bool answer_put(const struct client *client,
                       const struct pmi_request *request)
{
    bool fits = strlen(request->key) < PMI_KEY_MOST &&
                strlen(request->value) < PMI_VALUE_MOST;
    bool is_put = fits && pmi_kvs_put(&pmi.kvs, request->key, request->value);
    return answer_line(client, "cmd=put_result rc=%d msg=%s\n", is_put ? 0 : -1,
                       is_put ? "success" : "bad_key_or_value");
}

static bool answer_get(const struct client *client, const char *key)
{
    const char *value = pmi_kvs_get(&pmi.kvs, key);
    if (value)
        return answer_line(client, "cmd=get_result rc=0 msg=success value=%s\n",
                           value);
    return answer_line(client, "cmd=get_result rc=-1 msg=key_not_found "
                               "value=unknown\n");
}

static void print_process(const struct client *client, char *text, size_t size)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    if (out)
        liveness_print_process(out, pmi.serving->liveness, client->process);
    char *who = jd__text_end(&written);
    snprintf(text, size, "%s", who ? who : "a process");
    free(who);
}

/* The caller ends by itself; the others have a moment. */
static void end_job(const struct client *client, const char *code)
{
    char who[64];
    print_process(client, who, sizeof who);
    log_say(JD_LOG_ERROR, "%s called PMI_Abort with code %.20s", who, code);
    liveness_end(pmi.serving->liveness, LIVENESS_FAILED);
}

static void say_unknown(const struct client *client, const char *name)
{
    char who[64];
    print_process(client, who, sizeof who);
    log_say(JD_LOG_DEBUG, "%s asks by PMI for %.40s, which is not known", who,
            name);
}

/* What asks for a number or a name. */
static bool answer_question(const struct client *client,
                            enum pmi_command command)
{
    switch (command) {
    case PMI_GET_MAXES:
        return answer_line(client,
                           "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d "
                           "vallen_max=%d\n",
                           PMI_NAME_MOST, PMI_KEY_MOST, PMI_VALUE_MOST);
    case PMI_GET_APPNUM:
        return answer_line(client, "cmd=appnum rc=0 appnum=0\n");
    case PMI_GET_UNIVERSE_SIZE:
        return answer_line(client, "cmd=universe_size rc=0 size=%u\n",
                           (unsigned)pmi.serving->plan->count);
    default:
        return answer_line(client,
                           "cmd=my_kvsname rc=0 kvsname=" KVS_NAME "\n");
    }
}

/* False where the client is of no use any more. */
static bool serve_request(struct client *client,
                          const struct pmi_request *request)
{
    switch (request->command) {
    case PMI_INIT:
        return answer_init(client, request->version);
    case PMI_PUT:
        return answer_put(client, request);
    case PMI_GET:
        return answer_get(client, request->key);
    case PMI_BARRIER_IN:
        enter_barrier(client);
        return true;
    case PMI_FINALIZE:
        liveness_note_finalized(pmi.serving->liveness, client->process);
        return answer_line(client, "cmd=finalize_ack rc=0\n");
    case PMI_ABORT:
        end_job(client, request->code);
        return true;
    case PMI_REFUSED:
        return answer_line(client, "cmd=%.40s rc=-1 msg=not_served_by_jd\n",
                           request->name);
    case PMI_UNKNOWN:
        say_unknown(client, request->name);
        return true;
    default:
        return answer_question(client, request->command);
    }
}

/* ---- reading ------------------------------------------------------------ */

static bool has_process(uint32_t process)
{
    for (const struct client *client = pmi.clients; client;
         client = client->next)
        if (client->is_known && client->process == process)
            return true;
    return false;
}

/* The index comes before the first line. */
static bool introduce_client(struct client *client)
{
    uint32_t process =
        jd__wire_get_u32(client->input.data + client->input.begin);
    if (!plan_has_process(pmi.serving->own, process) || has_process(process))
        return false;
    jd__wire_bytes_consume(&client->input, INDEX_BYTES);
    client->process = process;
    client->is_known = true;
    return true;
}

/* The first line into a text of its own, without its newline; false where
 * there is none yet. */
static bool cut_line(struct client *client, char line[PMI_LINE_MOST])
{
    struct jd_bytes *input = &client->input;
    const uint8_t *begin = input->data + input->begin;
    const uint8_t *end = jd__bytes_size(input)
                             ? memchr(begin, '\n', jd__bytes_size(input))
                             : NULL;
    if (!end || end - begin >= PMI_LINE_MOST)
        return false;
    memcpy(line, begin, (size_t)(end - begin));
    line[end - begin] = '\0';
    jd__wire_bytes_consume(input, (size_t)(end - begin) + 1);
    return true;
}

/* False where the client must go. */
static bool serve_input(struct client *client)
{
    char line[PMI_LINE_MOST];
    struct pmi_request request;
    if (!client->is_known && jd__bytes_size(&client->input) < INDEX_BYTES)
        return true;
    if (!client->is_known && !introduce_client(client))
        return false;
    while (cut_line(client, line)) {
        pmi_wire_read(line, &request);
        if (!serve_request(client, &request))
            return false;
    }
    return jd__bytes_size(&client->input) < PMI_LINE_MOST;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct client *client = arg;
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
        note_gone();
    drop_client(client);
}

static void on_visitor(void *unused, int fd, const struct ucred *who)
{
    struct client *client = calloc(1, sizeof *client);
    (void)unused, (void)who;
    if (client)
        client->event = event_new(jd__loop_base(pmi.serving->loop), fd,
                                  EV_READ | EV_PERSIST, on_readable, client);
    if (!client || !client->event) {
        free(client);
        close(fd);
        return;
    }
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
    if (pmi_print_mapping(serving->plan, mapping, sizeof mapping) &&
        !pmi_kvs_know(&pmi.kvs, "PMI_process_mapping", mapping))
        return jd__fail_no_memory("the processes' hosts", sizeof mapping);
    return listener_open(&listener);
}
