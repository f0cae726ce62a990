/* SPDX-License-Identifier: BSD-3-Clause */
/* played_pmi.c - a host's PMI without the rest of the server. */
#include "tests/unit/runtime/wireup/server/played_pmi.h"
#include "runtime/wireup/server/exchange.h"
#include "runtime/wireup/server/hand_out.h"
#include "runtime/wireup/server/listener.h"
#include "runtime/wireup/server/log.h"

/* What it keeps until the program ends is taken back here. */
#include "runtime/wireup/server/pmi.c"

#include <event2/event.h>
#include <stdarg.h>
#include <string.h>

/* How long one who has gone is waited for. */
struct grace {
    struct grace *next;
    event_callback_fn on_end;
    void *arg;
};

static struct {
    struct event_base *base;
    struct grace *graces; /* the first ends first */
    Jd__Plan plan;
    Jd__PlanHost host, *hosts[1];
    uint32_t processes[PLAYED_PMI_PROCESSES];
    struct directory directory;
    struct serving serving;
    struct listener_spec listener;
    struct played_pmi_told told;
} played;

/* ---- time --------------------------------------------------------------- */

/* In place of libevent's own, which goes by a clock. */
int event_base_once(struct event_base *base, evutil_socket_t none, short what,
                    event_callback_fn on_end, void *arg,
                    const struct timeval *time)
{
    struct grace **at = &played.graces, *grace = malloc(sizeof *grace);
    (void)base, (void)none, (void)what, (void)time;
    if (!grace)
        return -1;
    *grace = (struct grace){ NULL, on_end, arg };
    while (*at)
        at = &(*at)->next;
    *at = grace;
    return 0;
}

static struct grace take_grace(void)
{
    struct grace *first = played.graces, taken = *first;
    played.graces = first->next;
    free(first);
    return taken;
}

bool played_pmi_pass_grace(void)
{
    if (!played.graces)
        return false;
    struct grace grace = take_grace();
    grace.on_end(-1, EV_TIMEOUT, grace.arg);
    played_pmi_run();
    return true;
}

/* ---- what the server has besides ---------------------------------------- */

struct event_base *jd__loop_base(const struct jd_loop *loop)
{
    (void)loop;
    return played.base;
}

bool jd__loop_call(struct jd_loop *loop, jd_loop_f function, void *arg)
{
    (void)loop, (void)function, (void)arg;
    return false;
}

jd_status listener_open(const struct listener_spec *spec)
{
    played.listener = *spec;
    return JD_OK;
}

bool plan_has_process(const Jd__PlanHost *host, uint32_t process)
{
    return process < host->n_processes;
}

jd_status hand_out(struct serving *serving, uint32_t process, char **variables,
                   size_t count)
{
    (void)serving, (void)process, (void)variables, (void)count;
    return JD_OK;
}

jd_status exchange_run(struct host_exchange *exchange)
{
    (void)exchange;
    return JD_UNAVAILABLE;
}

void exchange_finish(struct host_exchange *exchange)
{
    (void)exchange;
}

void liveness_end(struct liveness *liveness, enum liveness_outcome why)
{
    (void)liveness, (void)why;
    played.told.ends++;
}

void liveness_note_finalized(struct liveness *liveness, uint32_t process)
{
    (void)liveness, (void)process;
    played.told.finalized++;
}

void liveness_print_process(FILE *out, struct liveness *liveness,
                            uint32_t process)
{
    (void)liveness;
    fprintf(out, "process %u", (unsigned)process);
}

void log_say(enum jd_log_level level, const char *format, ...)
{
    bool is_said = level <= JD_LOG_WARNING;
    char *text = is_said ? played.told.last : played.told.note;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof played.told.last, format, args);
    va_end(args);
    played.told.sentences += is_said;
}

/* ---- the whole ---------------------------------------------------------- */

void played_pmi_begin(double seconds)
{
    memset(&played, 0, sizeof played);
    memset(&pmi, 0, sizeof pmi);
    played.base = event_base_new();
    jd__plan__init(&played.plan);
    jd__plan_host__init(&played.host);
    for (uint32_t i = 0; i < PLAYED_PMI_PROCESSES; i++)
        played.processes[i] = i;
    played.host.processes = played.processes;
    played.host.n_processes = PLAYED_PMI_PROCESSES;
    played.hosts[0] = &played.host;
    played.plan.hosts = played.hosts;
    played.plan.n_hosts = 1;
    played.plan.count = PLAYED_PMI_PROCESSES;
    played.plan.timeout = seconds;
    played.serving = (struct serving){ .plan = &played.plan,
                                       .own = &played.host,
                                       .directory = &played.directory };
    if (!played.base || pmi_open(&played.serving) != JD_OK)
        abort();
}

void played_pmi_end(void)
{
    while (pmi.clients)
        drop_client(pmi.clients);
    while (played.graces)
        take_grace();
    pmi_kvs_finish(&pmi.kvs);
    pmi_kvs_finish(&pmi.node);
    free(pmi.processes);
    event_base_free(played.base);
}

int played_pmi_connect(void)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                   ends) != 0)
        abort();
    played.listener.on_visitor(played.listener.arg, ends[0], NULL);
    return ends[1];
}

static bool is_readable(void)
{
    for (const struct pmi_client *client = pmi.clients; client;
         client = client->next) {
        char byte;
        if (recv(client->fd, &byte, 1, MSG_PEEK) >= 0)
            return true;
    }
    return false;
}

void played_pmi_run(void)
{
    do
        event_base_loop(played.base, EVLOOP_NONBLOCK);
    while (is_readable());
}

const struct pmi_host *played_pmi_host(void)
{
    return &pmi;
}

const struct played_pmi_told *played_pmi_told(void)
{
    return &played.told;
}
