/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent_heartbeat.c - signs of life, both ways: a heartbeat every tenth of the
 * timeout, which carries what this process is doing and is answered; and once
 * a second a look at how long nothing was heard. What a process does is sampled
 * with that, and sent where it has changed, so that a failure's report can say
 * what the process was doing a second ago; where it is asked, with the line of
 * the program. The answers have the service's time: several in a row at first,
 * of which the quickest tells most.
 */
#include "base/clock.h"
#include "runtime/coordination/client/agent_private.h"

#include <math.h>
#include <stdlib.h>

#define PROGRESS_PER_SECOND 1000 /* of all processes, for the service */
#define CLOCK_SECONDS 10         /* the service's is asked for so often */
#define CLOCK_ROW 8              /* and so many times at first, */
#define CLOCK_ROW_PROCESSES 512  /* in jobs that are not bigger */

static struct timeval to_timeval(double seconds)
{
    return (struct timeval){ (time_t)seconds,
                             (suseconds_t)(1e6 * (seconds - floor(seconds))) };
}

static double heartbeat_interval(const struct jd_agent *agent)
{
    return agent->spec.heartbeat_timeout / 10;
}

static double look_interval(const struct jd_agent *agent)
{
    return agent->spec.heartbeat_timeout >= 0
               ? fmin(1, heartbeat_interval(agent))
               : 1;
}

/* Of many processes each says less often what is new, so that the service is
 * not kept busy with it. */
static double progress_interval(const struct jd_agent *agent)
{
    return fmax(look_interval(agent),
                (double)agent->spec.count / PROGRESS_PER_SECOND);
}

/* ---- what goes out ------------------------------------------------------ */

/* For whom it has waited, as a Heartbeat has it. */
struct waits_told {
    struct jd_waited worst[JD_WAITED_MOST];
    Jd__Waited entries[JD_WAITED_MOST];
    Jd__Waited *pointers[JD_WAITED_MOST];
};

static void tell_waits(const struct jd_agent *agent, struct waits_told *told,
                       Jd__Heartbeat *heartbeat)
{
    double all;
    int count = agent->spec.take_waits(told->worst, &all);
    for (int i = 0; i < count; i++) {
        Jd__Waited *entry = told->pointers[i] = &told->entries[i];
        jd__waited__init(entry);
        entry->process = (uint32_t)told->worst[i].process;
        entry->waited_us = (uint64_t)(1e6 * told->worst[i].seconds);
        if (agent->place.names_sites)
            entry->site = told->worst[i].site;
        else
            entry->call = told->worst[i].call;
    }
    heartbeat->waited = told->pointers;
    heartbeat->n_waited = (size_t)count;
    heartbeat->waited_us = (uint64_t)(1e6 * all);
}

/* How much it has queued, as a Heartbeat has it. */
struct queued_told {
    struct jd_queued queued[JD_QUEUED_MOST];
    Jd__Queued entries[JD_QUEUED_MOST];
    Jd__Queued *pointers[JD_QUEUED_MOST];
};

static void tell_queued(const struct jd_agent *agent, struct queued_told *told,
                        Jd__Heartbeat *heartbeat)
{
    int count = agent->spec.take_queued(told->queued);
    for (int i = 0; i < count; i++) {
        Jd__Queued *entry = told->pointers[i] = &told->entries[i];
        jd__queued__init(entry);
        entry->comm = told->queued[i].comm;
        entry->calls = told->queued[i].calls;
        entry->is_over = told->queued[i].is_over;
    }
    heartbeat->queued = told->pointers;
    heartbeat->n_queued = (size_t)count;
    heartbeat->queued_is_partial = agent->spec.is_queued_partial();
}

static bool has_queued(const struct jd_agent *agent)
{
    return agent->link && agent->spec.has_queued && agent->spec.has_queued();
}

static Jd__Progress own_progress(const struct jd_agent *agent)
{
    Jd__Progress progress = JD__PROGRESS__INIT;
    double lasted = jd__clock_now() - agent->progress.since;
    if (agent->call && agent->call_of == agent->progress.number)
        progress.call = agent->call;
    if (agent->progress.operation)
        progress.operation = (char *)agent->progress.operation;
    progress.number = agent->progress.number;
    progress.inside = agent->progress.inside;
    if (agent->progress.number && lasted > 0)
        progress.since_ms = (uint64_t)(1000 * lasted);
    return progress;
}

/* ---- the service's clock ------------------------------------------------ */

static int64_t begin_clock(struct jd_agent *agent)
{
    agent->clock_asked_at = jd__clock_read(agent->spec.clock);
    return agent->clock_asked = (int64_t)(1e9 * agent->clock_asked_at);
}

/* ---- a heartbeat -------------------------------------------------------- */

/* With an id it is answered: any answer is a sign of life. Where there is no
 * connection, what was waited is told when there is one again. */
static void send_heartbeat(struct jd_agent *agent, uint64_t id)
{
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Heartbeat heartbeat = JD__HEARTBEAT__INIT;
    Jd__Progress progress = own_progress(agent);
    struct waits_told told;
    struct queued_told queued;
    if (agent->link && agent->spec.take_waits)
        tell_waits(agent, &told, &heartbeat);
    if (agent->link && agent->spec.take_queued)
        tell_queued(agent, &queued, &heartbeat);
    heartbeat.progress = &progress;
    if (id && agent->spec.note_clock)
        heartbeat.clock_ns = begin_clock(agent);
    message.id = id;
    message.body_case = JD__MESSAGE__BODY_HEARTBEAT;
    message.heartbeat = &heartbeat;
    agent->sent_progress = agent->progress;
    if (agent->link)
        jd__link_send(agent->link, &message);
}

static void ask_clock_again(struct jd_agent *agent)
{
    if (agent->clock_more <= 0)
        return;
    agent->clock_more--;
    send_heartbeat(agent, UINT64_MAX);
}

/* An answer to an earlier question, which took its time, is not one to the
 * last; and a time of the future is none. */
static bool is_answer_to_last(const struct jd_agent *agent,
                              const Jd__Reply *reply)
{
    return agent->clock_asked && reply->asked_ns == agent->clock_asked &&
           reply->clock_ns > 0 && reply->clock_ns < INT64_MAX / 2;
}

void jd__agent_heartbeat_on_clock(struct jd_agent *agent,
                                  const Jd__Reply *reply)
{
    double now = jd__clock_read(agent->spec.clock);
    if (!is_answer_to_last(agent, reply))
        return;
    agent->clock_asked = 0;
    struct jd_clock_sample sample = jd__clock_samples_of(
        agent->clock_asked_at, 1e-9 * (double)reply->clock_ns, now);
    agent->spec.note_clock(&sample);
    ask_clock_again(agent);
}

/* Where heartbeats are rare, or there are none. */
static bool is_clock_due(const struct jd_agent *agent, double now)
{
    return agent->spec.note_clock &&
           now - agent->clock_asked_at > CLOCK_SECONDS + 1;
}

static bool is_same(const struct jd_progress *a, const struct jd_progress *b)
{
    return a->number == b->number && a->inside == b->inside;
}

static void send_progress(struct jd_agent *agent, double now)
{
    jd__progress_sample(&agent->progress);
    if ((is_same(&agent->sent_progress, &agent->progress) &&
         !has_queued(agent)) ||
        now - agent->last_progress < 0.9 * progress_interval(agent))
        return;
    agent->last_progress = now;
    send_heartbeat(agent, 0);
}

/* ---- what comes in ------------------------------------------------------ */

void jd__agent_set_heard(struct jd_agent *agent, double at)
{
    pthread_mutex_lock(&agent->lock);
    agent->heard = at;
    pthread_mutex_unlock(&agent->lock);
}

/* One that was stopped itself has heard nothing for that reason. */
static void forgive_own_sleep(struct jd_agent *agent, double now)
{
    double timeout = agent->spec.heartbeat_timeout;
    if (now - agent->last_look > 3 * look_interval(agent) + 0.5)
        jd__agent_set_heard(agent, fmax(agent->heard, now - timeout / 2));
    agent->last_look = now;
}

/* True where the service is given up. */
static bool give_up_silent(struct jd_agent *agent, double now)
{
    double timeout = agent->spec.heartbeat_timeout;
    if (timeout < 0)
        return false;
    forgive_own_sleep(agent, now);
    if (now - agent->heard <= timeout)
        return false;
    jd__agent_heartbeat_stop(agent);
    jd__agent_die(agent,
                  "no sign of life for %.3g s (its host is down or cut off, or "
                  "it is stopped; JD_HEARTBEAT_TIMEOUT is %.3g s)",
                  now - agent->heard, timeout);
    return true;
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    struct jd_agent *agent = arg;
    double now = jd__clock_read(agent->spec.clock);
    (void)fd, (void)what;
    jd__loop_check(agent->spec.loop);
    if (give_up_silent(agent, now))
        return;
    if (agent->spec.role == JD__ROLE__PROCESS)
        send_progress(agent, now);
    if (is_clock_due(agent, now))
        send_heartbeat(agent, UINT64_MAX);
}

static void on_heartbeat(evutil_socket_t fd, short what, void *arg)
{
    struct jd_agent *agent = arg;
    (void)fd, (void)what;
    jd__progress_sample(&agent->progress);
    send_heartbeat(agent, UINT64_MAX);
}

/* False where there is nothing more to say. They are looked for only here,
 * where somebody has waited for long: it loads a library. */
static bool find_words(struct jd_agent *agent)
{
    uint64_t number = agent->progress.number;
    if (!number || number == agent->call_of || !agent->spec.describe_call)
        return false;
    free(agent->call);
    agent->call = agent->spec.describe_call(number);
    agent->call_of = number;
    return true;
}

/* In which calls its threads stand, where several do. */
static void send_stands(struct jd_agent *agent)
{
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Heartbeat heartbeat = JD__HEARTBEAT__INIT;
    Jd__Standing stands[JD_STANDING_MOST], *pointers[JD_STANDING_MOST];
    for (int i = 0; i < agent->num_stands; i++) {
        if (!agent->stands[i].call)
            continue;
        Jd__Standing *stand = &stands[heartbeat.n_standing];
        jd__standing__init(stand);
        stand->wait = agent->stands[i].wait;
        stand->call = agent->stands[i].call;
        pointers[heartbeat.n_standing++] = stand;
    }
    heartbeat.standing = pointers;
    message.body_case = JD__MESSAGE__BODY_HEARTBEAT;
    message.heartbeat = &heartbeat;
    if (agent->link && heartbeat.n_standing)
        jd__link_send(agent->link, &message);
}

static void say_queued(void *arg)
{
    struct jd_agent *agent = arg;
    if (has_queued(agent))
        send_heartbeat(agent, 0);
}

void jd__agent_say_queued(struct jd_agent *agent)
{
    jd__loop_run(agent->spec.loop, say_queued, agent);
}

/* At once, and again with words, which may take their time. */
void jd__agent_heartbeat_say(struct jd_agent *agent)
{
    jd__progress_sample(&agent->progress);
    send_heartbeat(agent, 0);
    if (find_words(agent))
        send_heartbeat(agent, 0);
    if (jd__agent_standing_look(agent))
        send_stands(agent);
}

/* ---- life --------------------------------------------------------------- */

bool jd__agent_heartbeat_open(struct jd_agent *agent)
{
    struct event_base *base = jd__loop_base(agent->spec.loop);
    agent->look_timer = event_new(base, -1, EV_PERSIST, on_look, agent);
    agent->heartbeat_timer =
        event_new(base, -1, EV_PERSIST, on_heartbeat, agent);
    return agent->look_timer && agent->heartbeat_timer;
}

void jd__agent_heartbeat_start(struct jd_agent *agent)
{
    struct timeval look = to_timeval(look_interval(agent));
    agent->last_look = jd__clock_read(agent->spec.clock);
    jd__agent_set_heard(agent, agent->last_look);
    event_add(agent->look_timer, &look);
    if (agent->spec.heartbeat_timeout >= 0) {
        struct timeval beat = to_timeval(heartbeat_interval(agent));
        event_add(agent->heartbeat_timer, &beat);
    }
    agent->clock_more =
        agent->spec.count <= CLOCK_ROW_PROCESSES ? CLOCK_ROW : 1;
    if (agent->spec.note_clock)
        ask_clock_again(agent);
}

void jd__agent_heartbeat_stop(struct jd_agent *agent)
{
    if (agent->look_timer)
        event_del(agent->look_timer);
    if (agent->heartbeat_timer)
        event_del(agent->heartbeat_timer);
}

void jd__agent_heartbeat_close(struct jd_agent *agent)
{
    if (agent->look_timer)
        event_free(agent->look_timer);
    if (agent->heartbeat_timer)
        event_free(agent->heartbeat_timer);
    agent->look_timer = agent->heartbeat_timer = NULL;
}
