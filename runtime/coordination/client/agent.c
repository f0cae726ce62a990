/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.c - calls from any thread, and the agent's life. */
#include "runtime/coordination/client/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "runtime/coordination/client/agent_private.h"
#include "runtime/coordination/client/call.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_SECONDS 60   /* for the service to answer at once */
#define LATE_SECONDS 2.0    /* for its own words at a deadline to arrive */
#define INQUIRY_SECONDS 0.5 /* for what a notice would say */

/* ---- state -------------------------------------------------------------- */

void jd__agent_set_state(struct jd_agent *agent, enum jd_agent_state state,
                         jd_status refusal, char *why)
{
    pthread_mutex_lock(&agent->lock);
    agent->state = state;
    agent->refusal = refusal;
    if (why) {
        free(agent->why);
        agent->why = why;
    }
    for (struct jd_pending *p = agent->pending; p; p = p->next)
        pthread_cond_signal(&p->changed);
    pthread_cond_broadcast(&agent->state_changed);
    pthread_mutex_unlock(&agent->lock);
}

void jd__agent_die(struct jd_agent *agent, const char *format, ...)
{
    char why[320];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    /* Before a caller wakes: it may expect the end, and finds it begun. */
    pthread_mutex_lock(&agent->lock);
    bool is_first = agent->state != JD_AGENT_DEAD && !agent->expects_end;
    pthread_mutex_unlock(&agent->lock);
    if (is_first && agent->spec.on_lost)
        agent->spec.on_lost(agent->spec.arg, why);
    jd__agent_set_state(agent, JD_AGENT_DEAD, JD_UNAVAILABLE, strdup(why));
}

void jd__agent_expect_end(struct jd_agent *agent)
{
    pthread_mutex_lock(&agent->lock);
    agent->expects_end = true;
    pthread_mutex_unlock(&agent->lock);
}

struct jd_service_place jd__agent_place(struct jd_agent *agent)
{
    pthread_mutex_lock(&agent->lock);
    struct jd_service_place place = agent->place;
    pthread_mutex_unlock(&agent->lock);
    return place;
}

/* ---- what comes from the service ---------------------------------------- */

static void take_answer(struct jd_agent *agent, Jd__Message *message)
{
    pthread_mutex_lock(&agent->lock);
    struct jd_pending *pending = agent->pending;
    while (pending && pending->request->id != message->id)
        pending = pending->next;
    if (pending && !pending->answer) {
        pending->answer = message;
        pthread_cond_signal(&pending->changed);
        message = NULL;
    }
    pthread_mutex_unlock(&agent->lock);
    if (message) /* nobody waits any more, or it answers a heartbeat */
        jd__message__free_unpacked(message, NULL);
}

void jd__agent_on_message(struct jd_agent *agent, Jd__Message *message)
{
    jd__agent_set_heard(agent, jd__clock_read(agent->spec.clock));
    if (message->body_case == JD__MESSAGE__BODY_REPLY) {
        if (message->reply->clock_ns)
            jd__agent_heartbeat_on_clock(agent, message->reply);
        take_answer(agent, message);
        return;
    }
    if (message->body_case == JD__MESSAGE__BODY_LOOK)
        jd__agent_heartbeat_say(agent);
    if (message->body_case == JD__MESSAGE__BODY_SHOW)
        jd__agent_stack_show(agent, message->show->number);
    if (message->body_case == JD__MESSAGE__BODY_SHOW_TRACE)
        jd__agent_trace_show(agent, message->show_trace);
    if (message->body_case == JD__MESSAGE__BODY_NAME_SITE)
        jd__agent_site_name(agent, message->name_site->site);
    if (agent->spec.on_push)
        agent->spec.on_push(agent->spec.arg, message);
    jd__message__free_unpacked(message, NULL);
}

static void send_armed(struct jd_agent *agent)
{
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Armed body = JD__ARMED__INIT;
    message.body_case = JD__MESSAGE__BODY_ARMED;
    message.armed = &body;
    jd__link_send(agent->link, &message);
}

/* Under one lock, so that nothing is asked twice. */
void jd__agent_be_ready(struct jd_agent *agent)
{
    pthread_mutex_lock(&agent->lock);
    agent->state = JD_AGENT_READY;
    pthread_cond_broadcast(&agent->state_changed);
    for (struct jd_pending *p = agent->pending; p; p = p->next)
        if (!p->answer)
            jd__link_send(agent->link, p->request);
    if (agent->is_armed)
        send_armed(agent);
    pthread_mutex_unlock(&agent->lock);
}

bool jd__agent_tell(struct jd_agent *agent, const Jd__Message *message)
{
    pthread_mutex_lock(&agent->lock);
    agent->is_armed |= message->body_case == JD__MESSAGE__BODY_ARMED;
    bool sent = agent->state == JD_AGENT_READY && agent->link &&
                jd__link_send(agent->link, message);
    pthread_mutex_unlock(&agent->lock);
    return sent;
}

/* ---- calls: with the lock ----------------------------------------------- */

/* One call's wait. */
struct waiting {
    struct jd_agent *agent;
    struct jd_call *call;
    struct jd_pending pending;
    double begin, end, next_notice; /* in the clock's time; INFINITY: never */
    bool could_not_send;            /* there was no memory */
    bool has_caught_up;             /* at the end */
};

static void begin_call(struct waiting *w)
{
    struct jd_agent *agent = w->agent;
    w->call->request.id = ++agent->last_id;
    w->pending.request = &w->call->request;
    w->pending.next = agent->pending;
    agent->pending = &w->pending;
    w->could_not_send = agent->state == JD_AGENT_READY && agent->link &&
                        !jd__link_send(agent->link, &w->call->request) &&
                        !jd__link_is_closed(agent->link);
}

static void end_call(struct waiting *w)
{
    struct jd_pending **link = &w->agent->pending;
    while (*link != &w->pending)
        link = &(*link)->next;
    *link = w->pending.next;
}

/* Nobody wants the reply any more: nothing of it stays at the service. */
static void withdraw_call(struct waiting *w)
{
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Withdraw body = JD__WITHDRAW__INIT;
    body.id = w->call->request.id;
    message.body_case = JD__MESSAGE__BODY_WITHDRAW;
    message.withdraw = &body;
    if (w->agent->state == JD_AGENT_READY && w->agent->link)
        jd__link_send(w->agent->link, &message);
}

static jd_status fail_silent(const struct waiting *w)
{
    const struct jd_agent *agent = w->agent;
    double now = jd__clock_read(agent->spec.clock);
    return jd_fail(JD_DEADLINE_EXCEEDED,
                   "%s%s: no answer from the coordination service, process 0 "
                   "(%s, pid %u on %s), in %.3g s; it was last heard %.3g s "
                   "ago",
                   w->call->operation, w->call->detail ? w->call->detail : "",
                   agent->place.program, (unsigned)agent->place.pid,
                   agent->place.host, now - w->begin, now - agent->heard);
}

static jd_status fail_lost(const struct waiting *w)
{
    const struct jd_agent *agent = w->agent;
    return jd_fail(JD_UNAVAILABLE,
                   "%s%s: the connection to the coordination service, process "
                   "0 (%s, pid %u on %s), is lost: %s",
                   w->call->operation, w->call->detail ? w->call->detail : "",
                   agent->place.program, (unsigned)agent->place.pid,
                   agent->place.host, agent->why ? agent->why : "it is gone");
}

/* Until the answer, the notice, the end, or the service's death. */
static void wait_a_while(struct waiting *w)
{
    double until = fmin(w->end, w->next_notice);
    if (isinf(until)) {
        pthread_cond_wait(&w->pending.changed, &w->agent->lock);
        return;
    }
    jd__clock_wait(w->agent->spec.clock, &w->pending.changed, &w->agent->lock,
                   until);
}

/* ---- calls -------------------------------------------------------------- */

static jd_status await_answer(struct jd_agent *agent, struct jd_call *call,
                              double grace, double notice);

/* Says what the call waits for, if this is the lowest process that waits. */
static void say_notice(struct waiting *w)
{
    Jd__Inquiry body = JD__INQUIRY__INIT;
    struct jd_call call = { .operation = w->call->operation };
    body.wait = w->call->request.id;
    jd__call_init(&call, JD__MESSAGE__BODY_INQUIRY, &body);
    if (await_answer(w->agent, &call, INQUIRY_SECONDS, -1) != JD_OK ||
        !call.reply->number) {
        jd__call_finish(&call);
        return;
    }
    double waited = jd__clock_read(w->agent->spec.clock) - w->begin;
    const char *detail = w->call->detail ? w->call->detail : "";
    if (w->call->timeout < 0)
        jd__log(JD_LOG_WARNING,
                "%s%s: process %d has waited %.3g s for %s; it has no deadline "
                "(%s sets one)",
                w->call->operation, detail, w->agent->spec.process, waited,
                call.reply->text, w->call->variable);
    else
        jd__log(JD_LOG_WARNING,
                "%s%s: process %d has waited %.3g s for %s; it gives up after "
                "%.3g s (%s)",
                w->call->operation, detail, w->agent->spec.process, waited,
                call.reply->text, w->call->timeout, w->call->variable);
    jd__call_finish(&call);
}

static void do_notice(struct waiting *w)
{
    pthread_mutex_unlock(&w->agent->lock);
    say_notice(w);
    pthread_mutex_lock(&w->agent->lock);
    double waited = jd__clock_read(w->agent->spec.clock) - w->begin;
    double next = fmax(w->next_notice - w->begin, 0.01);
    while (next <= waited)
        next *= 2;
    w->next_notice = w->begin + next;
}

/* The time is up, which may be because this process did not run: the answer
 * may have come. */
static void catch_up(struct waiting *w)
{
    w->has_caught_up = true;
    pthread_mutex_unlock(&w->agent->lock);
    jd__loop_catch_up(w->agent->spec.loop);
    pthread_mutex_lock(&w->agent->lock);
}

/* With the lock. JD_OK: the answer is there. */
static jd_status wait_for_answer(struct waiting *w)
{
    if (w->could_not_send)
        return jd__fail_no_memory(w->call->operation,
                                  jd__wire_size(&w->call->request));
    for (;;) {
        if (w->pending.answer)
            return JD_OK;
        if (w->agent->state == JD_AGENT_DEAD)
            return fail_lost(w);
        double now = jd__clock_read(w->agent->spec.clock);
        if (now >= w->end && w->has_caught_up) {
            withdraw_call(w);
            return fail_silent(w);
        }
        if (now >= w->end)
            catch_up(w);
        else if (now >= w->next_notice)
            do_notice(w);
        else
            wait_a_while(w);
    }
}

static jd_status await_answer(struct jd_agent *agent, struct jd_call *call,
                              double grace, double notice)
{
    struct waiting w = { .agent = agent, .call = call };
    w.begin = jd__clock_read(agent->spec.clock);
    w.end = w.begin + grace;
    w.next_notice = notice >= 0 ? w.begin + notice : INFINITY;
    jd__clock_init_condition(&w.pending.changed);
    pthread_mutex_lock(&agent->lock);
    begin_call(&w);
    jd_status status = wait_for_answer(&w);
    end_call(&w);
    pthread_mutex_unlock(&agent->lock);
    pthread_cond_destroy(&w.pending.changed);
    if (w.pending.answer && status != JD_OK)
        jd__message__free_unpacked(w.pending.answer, NULL);
    else if (status == JD_OK)
        status = jd__call_take(call, w.pending.answer);
    return status;
}

jd_status jd__agent_call(struct jd_agent *agent, struct jd_call *call)
{
    size_t bytes = jd__wire_size(&call->request) + 2 * sizeof(uint64_t);
    bool waits = call->timeout != 0;
    double grace = !waits              ? ANSWER_SECONDS
                   : call->timeout < 0 ? INFINITY
                                       : call->timeout + LATE_SECONDS;
    if (bytes > agent->spec.max_message)
        return jd_fail(JD_RESOURCE_EXHAUSTED,
                       "%s%s: the message would have %zu bytes, over the %zu "
                       "of JD_MAX_MESSAGE; nothing was sent",
                       call->operation, call->detail ? call->detail : "", bytes,
                       agent->spec.max_message);
    return await_answer(agent, call, call->grace > 0 ? call->grace : grace,
                        waits && call->variable ? agent->spec.notice : -1);
}

/* ---- life --------------------------------------------------------------- */

static bool copy_spec(struct jd_agent *agent, const struct jd_agent_spec *spec)
{
    agent->spec = *spec;
    agent->auth = *spec->auth;
    if (spec->endpoints)
        agent->endpoints = *spec->endpoints;
    agent->spec.job = strdup(spec->job);
    agent->spec.host = strdup(spec->host);
    agent->spec.boot_id = strdup(spec->boot_id);
    agent->spec.program = strdup(spec->program);
    if (spec->tool_path)
        agent->spec.tool_path = strdup(spec->tool_path);
    return agent->spec.job && agent->spec.host && agent->spec.boot_id &&
           agent->spec.program && !agent->spec.tool_path == !spec->tool_path;
}

static void free_agent(struct jd_agent *agent)
{
    free((char *)agent->spec.job);
    free((char *)agent->spec.host);
    free((char *)agent->spec.boot_id);
    free((char *)agent->spec.program);
    free((char *)agent->spec.tool_path);
    free(agent->why);
    free(agent->noted);
    free(agent->call);
    jd__agent_standing_forget(agent);
    pthread_cond_destroy(&agent->state_changed);
    pthread_mutex_destroy(&agent->lock);
    free(agent);
}

jd_status jd__agent_create(const struct jd_agent_spec *spec,
                           struct jd_agent **ret_agent)
{
    struct jd_agent *agent = calloc(1, sizeof *agent);
    if (!agent) {
        if (spec->fd >= 0)
            close(spec->fd);
        return jd__fail_no_memory("the coordination agent", sizeof *agent);
    }
    pthread_mutex_init(&agent->lock, NULL);
    jd__clock_init_condition(&agent->state_changed);
    agent->connecting_fd = spec->fd;
    jd__auth_random(&agent->incarnation, sizeof agent->incarnation);
    bool is_ready = copy_spec(agent, spec) &&
                    jd__link_pool_create(spec->loop, &agent->pool) == JD_OK;
    if (is_ready) {
        *ret_agent = agent;
        return JD_OK;
    }
    if (spec->fd >= 0)
        close(spec->fd);
    free_agent(agent);
    return jd__fail_no_memory("the coordination agent", sizeof *agent);
}

static void connect_on_loop(void *agent)
{
    jd__agent_connect(agent);
}

/* With the lock: of a whole round over the addresses, or of the first. */
static void print_tried(FILE *out, const struct jd_agent *agent)
{
    if (agent->why) {
        fputs(agent->why, out);
        return;
    }
    fputs(agent->noted ? agent->noted : "", out);
    if (agent->trying[0])
        fprintf(out, "%s%s: it has not answered yet", agent->noted ? "; " : "",
                agent->trying);
    else if (!agent->noted)
        fputs("no address yet", out);
}

static jd_status fail_to_reach(const struct jd_agent *agent, const char *who,
                               double begin)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    if (out)
        print_tried(out, agent);
    char *tried = jd__text_end(&written);
    jd_status status =
        jd_fail(JD_DEADLINE_EXCEEDED,
                "%s has not reached the coordination service in %.3g s; it "
                "tried %s",
                who, jd__clock_read(agent->spec.clock) - begin,
                tried ? tried : "in vain");
    free(tried);
    return status;
}

/* With the lock. */
static jd_status meeting_status(const struct jd_agent *agent, double begin)
{
    char who[32] = "this program";
    if (agent->spec.role == JD__ROLE__PROCESS)
        snprintf(who, sizeof who, "process %d", agent->spec.process);
    if (agent->state == JD_AGENT_READY)
        return JD_OK;
    if (agent->spec.is_search && agent->refusal == JD_NOT_FOUND)
        return jd_fail(JD_NOT_FOUND, "%s",
                       agent->why ? agent->why : "(no memory)");
    if (agent->state == JD_AGENT_DEAD)
        return jd_fail(agent->refusal,
                       "%s is not let in by the coordination service: %s", who,
                       agent->why ? agent->why : "(no memory)");
    return fail_to_reach(agent, who, begin);
}

jd_status jd__agent_meet(struct jd_agent *agent, double deadline)
{
    double begin = jd__clock_read(agent->spec.clock);
    int error = 0;
    /* It has begun, then, where the deadline passes. */
    if (!jd__loop_run(agent->spec.loop, connect_on_loop, agent))
        return jd__fail_no_memory("the coordination agent", sizeof *agent);
    pthread_mutex_lock(&agent->lock);
    while (agent->state == JD_AGENT_MEETING && error != ETIMEDOUT)
        error = jd__clock_wait(agent->spec.clock, &agent->state_changed,
                               &agent->lock, deadline);
    jd_status status = meeting_status(agent, begin);
    pthread_mutex_unlock(&agent->lock);
    return status;
}

static void close_on_loop(void *arg)
{
    struct jd_agent *agent = arg;
    jd__agent_close(agent);
    jd__agent_stack_close(agent);
    jd__agent_trace_close(agent);
    jd__agent_site_close(agent);
    jd__link_pool_destroy(agent->pool);
}

void jd__agent_destroy(struct jd_agent *agent)
{
    if (!agent)
        return;
    jd__agent_expect_end(agent);
    jd__loop_run(agent->spec.loop, close_on_loop, agent);
    jd__auth_wipe(&agent->auth, sizeof agent->auth);
    free_agent(agent);
}
