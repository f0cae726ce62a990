/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.c - this process's way to the service: calls, what comes from
 * the service, and its life.
 */
#include "runtime/coordination/session/session.h"
#include "base/clock.h"
#include "base/forked.h"
#include "base/log.h"
#include "runtime/coordination/client/call.h"
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/client/stack_signal.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/coordination/failure/failure_report.h"
#include "runtime/coordination/net/child.h"
#include "runtime/coordination/net/process_lists.h"
#include "runtime/coordination/preemption/preemption.h"
#include "runtime/coordination/server/speakers.h"
#include "runtime/coordination/session/session_private.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct jd_client *jd__session_client(struct jd_session *session)
{
    return &session->client;
}

/* ---- what comes from the service ---------------------------------------- */

/* Process 0 stays while others' callbacks may use the store. */
static bool must_stay(void *arg)
{
    struct jd_session *session = arg;
    return session->server && jd__sockets_has_armed(session->server);
}

/* For a thread that is not the loop's. */
struct staying {
    struct jd_session *session;
    bool must;
};

static void look_whether_to_stay(void *arg)
{
    struct staying *staying = arg;
    staying->must = must_stay(staying->session);
}

static void begin_ending(struct jd_session *session,
                         const struct jd_report *report)
{
    if (session->client.agent)
        jd__agent_expect_end(session->client.agent);
    jd__preemption_on_failure();
    jd__failure_exit_begin(session->client.loop, report, must_stay, session);
}

/*
 * One that is a culprit itself knows it, and ends as it likes; but one that
 * only seemed dead (it was stopped, and runs again) hears it here.
 */
static void on_failure(struct jd_session *session, const Jd__Failure *failure)
{
    char *own = NULL;
    size_t count;
    int *processes = jd__process_lists_unpack(
        failure->ranges, failure->n_ranges, (size_t)session->count, &count);
    struct jd_report report = {
        .processes = processes,
        .num_processes = processes ? count : 0,
        .text = failure->text,
        .age = (double)failure->age_ms / 1000,
        .speak = failure->speak || failure->includes_you,
        .tells_calls = failure->tells_calls,
        .silent = (int)failure->silent,
    };
    jd__preemption_on_failure();
    if (failure->includes_you && !failure->is_stuck &&
        asprintf(&own, "the others take this process for dead: %s",
                 failure->text) >= 0)
        report.text = own;
    if (!failure->includes_you || !jd__failure_exit_has_begun())
        begin_ending(session, &report);
    free(processes);
    free(own);
}

static void on_look(struct jd_session *session, const Jd__Look *look)
{
    jd__failure_report_on_look(look->number);
    if (look->receiver)
        jd__failure_report_sent(&session->client, look->number,
                                (int)(look->receiver - 1));
}

void jd__session_on_push(void *arg, const Jd__Message *message)
{
    switch (message->body_case) {
    case JD__MESSAGE__BODY_FAILURE:
        on_failure(arg, message->failure);
        break;
    case JD__MESSAGE__BODY_PREEMPTION:
        jd__preemption_on_notice(message->preemption);
        break;
    case JD__MESSAGE__BODY_DECISION:
        jd__preemption_on_decision(message->decision);
        break;
    case JD__MESSAGE__BODY_LOOK:
        on_look(arg, message->look);
        break;
    default: /* of a later version */
        break;
    }
}

/* Process 0 is gone, and nobody is left to choose who speaks: each process
 * knows for itself whether it would be chosen, and how many would not be.
 * Where the hosts are not known, all are taken who may. */
static void choose_without_service(const struct jd_session *session,
                                   const int *hosts, struct jd_report *report)
{
    struct jd_speakers rule = { .which = session->speakers,
                                .survivors = session->count - 1,
                                .teller = -1 };
    bool *is_known = calloc((size_t)session->count, sizeof *is_known);
    if ((!hosts || !is_known) && rule.which == JD_SPEAK_SOME)
        rule.which = JD_SPEAK_ALL;
    for (int i = 1; i < session->count; i++) {
        bool is_first = !hosts || !is_known || !is_known[hosts[i]];
        bool is_near = hosts && hosts[i] == hosts[0];
        bool is_chosen = jd__speakers_next(&rule, i, is_first, is_near);
        if (i == session->index)
            report->speak = is_chosen;
        if (hosts && is_known)
            is_known[hosts[i]] = true;
    }
    free(is_known);
    report->silent = rule.survivors - rule.chosen;
    report->tells_calls = rule.teller == session->index;
}

void jd__session_on_lost(void *arg, const char *why)
{
    static const int process_0 = 0;
    struct jd_session *session = arg;
    const int *hosts = atomic_load(&session->client.hosts);
    struct jd_service_place place = jd__agent_place(session->client.agent);
    char text[640];
    snprintf(text, sizeof text, "process 0 (%s, pid %u on %s): %s, 0.00 s ago",
             place.program, (unsigned)place.pid, place.host, why);
    struct jd_report report = {
        .processes = &process_0,
        .num_processes = 1,
        .text = text,
    };
    choose_without_service(session, hosts, &report);
    begin_ending(session, &report);
}

/* Begun first: the service's own report of it comes to this process too. */
void jd__session_give_up(struct jd_session *session, jd_status error,
                         const char *why)
{
    struct jd_report report = { .text = why, .speak = true };
    Jd__Report body = JD__REPORT__INIT;
    Jd__Message message = JD__MESSAGE__INIT;
    jd__preemption_on_failure();
    jd__failure_exit_begin(session->client.loop, &report, must_stay, session);
    body.kind = JD__REPORT__KIND__ERROR;
    body.code = (int)error;
    body.text = (char *)why; /* only read */
    message.body_case = JD__MESSAGE__BODY_REPORT;
    message.report = &body;
    jd__client_tell(&session->client, &message);
    jd__agent_expect_end(session->client.agent);
}

/* ---- life --------------------------------------------------------------- */

static enum jd_failure_speakers
read_speakers(const struct jd_settings *settings)
{
    static const char *const names[] = { "some", "all", "one", "none" };
    const char *text = jd__options_text(settings, JD_OPTION_FAILURE_REPORT);
    for (int i = 0; i < 4; i++)
        if (strcmp(text, names[i]) == 0)
            return (enum jd_failure_speakers)i;
    return JD_SPEAK_SOME;
}

static jd_status create_empty(struct jd_session **ret_session)
{
    struct jd_session *session = calloc(1, sizeof *session);
    if (!session)
        return jd__fail_no_memory("jd_initialize", sizeof *session);
    session->client.pid = getpid();
    jd__failure_exit_reset();
    jd_status status = jd__auth_start();
    if (status != JD_OK) {
        free(session);
        return status;
    }
    jd__child_watch();
    *ret_session = session;
    return JD_OK;
}

static void say_where(const struct jd_session *session)
{
    char address[JD_ENDPOINT_TEXT];
    if (session->index != 0)
        return;
    jd__addresses_format(&session->client.key.endpoints.items[0], address);
    jd__log(JD_LOG_INFO,
            "the coordination service listens at %s (jd-info --job shows what "
            "each process does)",
            address);
}

/* A failure on the way is jd_initialize's to return, as one in jd_shutdown is:
 * it does not end the process. */
static jd_status meet_service(struct jd_session *session,
                              const struct jd_session_spec *spec)
{
    jd_status status = jd__loop_create("jd-coordinate", &session->client.loop);
    jd__failure_exit_set_leaving(true);
    if (status == JD_OK)
        status = spec->world ? jd__session_meet_by_mpi(session, spec)
                             : jd__session_meet_by_address(session, spec);
    jd__failure_exit_set_leaving(false);
    return status == JD_OK ? jd__failure_exit_check("jd_initialize") : status;
}

jd_status jd__session_create(const struct jd_session_spec *spec,
                             struct jd_session **ret_session)
{
    struct jd_session *session = NULL;
    jd_status status = create_empty(&session);
    if (status != JD_OK)
        return status;
    session->index = spec->index;
    session->count = session->client.count = spec->count;
    session->speakers = read_speakers(spec->settings);
    session->grace =
        jd__options_seconds(spec->settings, JD_OPTION_FAILURE_GRACE);
    jd__failure_exit_configure(session->grace);
    jd__file_limit_raise();
    status = meet_service(session, spec);
    if (status != JD_OK) {
        jd__session_destroy(session);
        return status;
    }
    say_where(session);
    jd__failure_report_open(&session->client);
    *ret_session = session;
    return JD_OK;
}

jd_status jd__session_create_local(const struct jd_settings *settings,
                                   struct jd_session **ret_session)
{
    struct jd_session *session = NULL;
    jd_status status = create_empty(&session);
    if (status != JD_OK)
        return status;
    session->count = session->client.count = 1;
    status = jd__local_create(
        (size_t)jd__options_integer(settings, JD_OPTION_MAX_MESSAGE),
        (size_t)jd__options_integer(settings, JD_OPTION_MAX_STORE),
        &session->client.local);
    if (status == JD_OK)
        status = jd__preemption_start(
            &session->client,
            jd__options_text(settings, JD_OPTION_PREEMPTION_SIGNAL), NULL);
    if (status == JD_OK)
        *ret_session = session;
    else
        jd__session_destroy(session);
    return status;
}

/* The job has failed while process 0 was leaving: what others' callbacks use
 * is here. */
static void stay_for_others(struct jd_session *session)
{
    static const struct timespec moment = { 0, 20000000 };
    double end = jd__clock_now() + session->grace;
    struct staying staying = { session, true };
    while (session->server && staying.must && jd__clock_now() < end) {
        if (!jd__loop_run(session->client.loop, look_whether_to_stay, &staying))
            return;
        if (staying.must)
            nanosleep(&moment, NULL);
    }
}

jd_status jd__session_leave(struct jd_session *session, double timeout)
{
    Jd__Leave body = JD__LEAVE__INIT;
    struct jd_call call = {
        .operation = "jd_shutdown",
        .timeout = timeout,
        .variable = "JD_SHUTDOWN_TIMEOUT",
    };
    if (session->client.local || session->client.pid != getpid())
        return JD_OK;
    jd__failure_exit_set_leaving(true);
    jd__failure_exit_await(); /* one that began just before */
    body.at_once = jd__failure_exit_has_begun();
    jd__agent_say_queued(session->client.agent);
    jd__call_init(&call, JD__MESSAGE__BODY_LEAVE, &body);
    jd_status status = jd__failure_exit_check("jd_shutdown");
    if (status == JD_OK)
        status = jd__client_call(&session->client, &call);
    else
        jd__client_tell(&session->client, &call.request);
    jd__call_finish(&call);
    jd__agent_expect_end(session->client.agent);
    if (status != JD_OK)
        stay_for_others(session);
    return status;
}

void jd__session_keep_service(struct jd_session *session)
{
    session->keeps_service = true;
}

/* MPI starts once, so there is one at most; the process's end takes it. Its
 * port is free: the next jd_initialize() may be given the same address. */
static void end_service(struct jd_session *session)
{
    static struct jd_server *kept;
    static struct jd_loop *kept_loop;
    if (session->keeps_service && session->server) {
        kept = session->server;
        kept_loop = session->client.loop;
        jd__sockets_stop_listening(kept);
        (void)kept, (void)kept_loop; /* only to be found by leak checkers */
        return;
    }
    jd__sockets_destroy(session->server);
    jd__loop_destroy(session->client.loop);
}

void jd__session_destroy(struct jd_session *session)
{
    if (!session)
        return;
    if (session->client.pid == getpid()) {
        jd__failure_report_close();
        jd__preemption_stop();
        jd__agent_destroy(session->client.agent);
        jd__stack_signal_close();
        end_service(session);
        jd__local_destroy(session->client.local);
        jd__failure_exit_set_leaving(false);
    }
    free(atomic_load(&session->client.hosts));
    jd__auth_wipe(&session->client.key, sizeof session->client.key);
    free(session);
}
