/* SPDX-License-Identifier: BSD-3-Clause */
/* join.c - the parts of a start that both ways to the service share. */
#include "base/clock.h"
#include "base/log.h"
#include "runtime/coordination/client/call.h"
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/client/stack_signal.h"
#include "runtime/coordination/net/process_lists.h"
#include "runtime/coordination/preemption/preemption.h"
#include "runtime/coordination/preemption/preemption_signal.h"
#include "runtime/coordination/session/session_private.h"
#include "runtime/recorder/queued.h"
#include "runtime/recorder/recorder.h"
#include "runtime/recorder/trace_file.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beside one per process: strangers have as many (service.h), and the job has
 * the rest, for its checkpoints above all. */
#define SPARE_FILES (JD_SERVICE_STRANGERS + 64)
#define RESOLVE_SECONDS 30 /* for the name in coordinator_bind_address */

double jd__session_remaining(const struct jd_session_spec *spec, double most)
{
    return fmax(0.1, fmin(most, spec->deadline - jd__clock_read(spec->clock)));
}

jd_status jd__session_allow_files(const struct jd_session_spec *spec)
{
    char what[64];
    snprintf(what, sizeof what, "%d processes", spec->count);
    return jd__file_limit_allow((size_t)spec->count + SPARE_FILES, what);
}

/* ---- an address that is said -------------------------------------------- */

bool jd__session_says_loopback(const char *address,
                               const struct jd_endpoints *endpoints)
{
    bool is_number = address[0] == '[' || isdigit((unsigned char)address[0]);
    return strncmp(address, "localhost:", strlen("localhost:")) == 0 ||
           (is_number && jd__addresses_is_loopback(&endpoints->items[0]));
}

jd_status jd__session_listen(const struct jd_session_spec *spec,
                             const char *address, const char *origin,
                             const struct jd_endpoints *endpoints,
                             struct jd_listeners *ret_listeners)
{
    const struct jd_setting *bind =
        jd__options_find(spec->settings, JD_OPTION_COORDINATOR_BIND_ADDRESS);
    struct jd_listen listen = {
        .bind = bind->text,
        .variable = bind->text ? bind->origin : origin,
        .port = endpoints->items[0].port,
        .loopback = jd__session_says_loopback(address, endpoints),
        .timeout = jd__session_remaining(spec, RESOLVE_SECONDS),
    };
    return jd__listen_open(&listen, ret_listeners);
}

/* ---- the service, on process 0 ------------------------------------------ */

/* Those who only look have a way of their own: a munge that does not answer
 * keeps them out, and the job goes on. */
static jd_status find_observer_auth(const struct jd_session_spec *spec,
                                    struct jd_auth *ret_auth)
{
    jd_status status =
        jd__secret_find(spec->env, spec->settings, spec->clock, ret_auth);
    if (status != JD_UNAVAILABLE && status != JD_DEADLINE_EXCEEDED &&
        status != JD_RESOURCE_EXHAUSTED)
        return status;
    jd__log(JD_LOG_WARNING, "jd-info --job cannot look at this job: %s",
            jd_error_message());
    *ret_auth = (struct jd_auth){ .way = JD_AUTH_OPEN };
    return JD_OK;
}

jd_status jd__session_start_server(struct jd_session *session,
                                   const struct jd_session_spec *spec,
                                   const struct jd_listeners *listeners)
{
    const struct jd_settings *settings = spec->settings;
    struct jd_listeners taken = *listeners;
    struct jd_auth observer_auth;
    jd_status status = find_observer_auth(spec, &observer_auth);
    if (status != JD_OK) {
        jd__listen_close(&taken);
        return status;
    }
    bool has_own = observer_auth.way != JD_AUTH_OPEN;
    struct jd_server_spec server = {
        .loop = session->client.loop,
        .listeners = taken,
        .service = {
            .auth = &session->client.key.auth,
            .observer_auth = has_own ? &observer_auth : NULL,
            .job = session->client.key.job,
            .attempt = session->client.key.attempt,
            .count = spec->count,
            .heartbeat_timeout =
                jd__options_seconds(settings, JD_OPTION_HEARTBEAT_TIMEOUT),
            .max_message =
                (size_t)jd__options_integer(settings, JD_OPTION_MAX_MESSAGE),
            .max_store =
                (size_t)jd__options_integer(settings, JD_OPTION_MAX_STORE),
            .speakers = session->speakers,
            .notice = jd__options_seconds(settings, JD_OPTION_WAIT_NOTICE),
            .host = spec->facts->host,
            .program = spec->facts->program,
            .pid = (uint32_t)spec->facts->pid,
        },
    };
    status = jd__sockets_create(&server, &session->server);
    jd__auth_wipe(&observer_auth, sizeof observer_auth);
    return status;
}

/* ---- the agent ---------------------------------------------------------- */

/* Most of the time until the deadline is left, whatever the number. */
static double take_turn(struct jd_session *session,
                        const struct jd_session_spec *spec)
{
    double turn = session->has_knocked ? 0 : jd__agent_turn(session->index);
    session->has_knocked = true;
    return fmin(turn, jd__session_remaining(spec, INFINITY) / 4);
}

static const char *find_tool_path(const struct jd_session_spec *spec)
{
    const char *path = jd__env_get(spec->env, "PATH");
    if (!jd__options_integer(spec->settings, JD_OPTION_STACK))
        return NULL;
    return path ? path : "";
}

/* A signal that is the preemption's would begin one. */
static jd_status check_stack_signal(const struct jd_settings *settings,
                                    const char *text, int number)
{
    int other;
    jd_status status = jd__preemption_signal_parse(
        jd__options_text(settings, JD_OPTION_PREEMPTION_SIGNAL), &other);
    if (status != JD_OK || other != number)
        return status;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "JD_STACK_SIGNAL is \"%s\", and so is "
                   "JD_PREEMPTION_SIGNAL; choose another for one of them",
                   text);
}

/* For hosts whose tools cannot read its stack; its handler stays until the end.
 */
static jd_status
open_stack_signal(const struct jd_session_spec *spec,
                  char *(**ret_take_stack)(const char **ret_why))
{
    const char *text = jd__options_text(spec->settings, JD_OPTION_STACK_SIGNAL);
    int number;
    *ret_take_stack = NULL;
    if (!text || !text[0] ||
        !jd__options_integer(spec->settings, JD_OPTION_STACK))
        return JD_OK;
    jd_status status = jd__stack_signal_parse(text, &number);
    if (status == JD_OK)
        status = check_stack_signal(spec->settings, text, number);
    if (status != JD_OK)
        return status;
    jd__stack_signal_open(number);
    *ret_take_stack = jd__stack_signal_take;
    return JD_OK;
}

static jd_status create_agent(struct jd_session *session,
                              const struct jd_session_spec *spec, int fd,
                              bool is_search)
{
    const struct jd_settings *settings = spec->settings;
    struct jd_agent_spec agent = {
        .loop = session->client.loop,
        .auth = &session->client.key.auth,
        .role = JD__ROLE__PROCESS,
        .job = session->client.key.job,
        .attempt = session->client.key.attempt,
        .process = session->index,
        .count = session->count,
        .host = spec->facts->host,
        .boot_id = spec->facts->boot_id,
        .program = spec->facts->program,
        .pid = (uint32_t)spec->facts->pid,
        .fd = fd,
        .is_search = is_search,
        .turn = take_turn(session, spec),
        .endpoints = &session->client.key.endpoints,
        .heartbeat_timeout =
            jd__options_seconds(settings, JD_OPTION_HEARTBEAT_TIMEOUT),
        .notice = jd__options_seconds(settings, JD_OPTION_WAIT_NOTICE),
        .clock = spec->clock,
        .max_message =
            (size_t)jd__options_integer(settings, JD_OPTION_MAX_MESSAGE),
        .tool_path = find_tool_path(spec),
        .describe_call = jd__recorder_own_call,
        .take_waits = jd__recorder_take_waits,
        .take_queued = jd__queued_take,
        .has_queued = jd__queued_is_new,
        .is_queued_partial = jd__queued_is_partial,
        .describe_wait = jd__recorder_describe_wait,
        .show_trace = jd__trace_file_show,
        .note_clock = jd__recorder_note_clock,
        .on_push = jd__session_on_push,
        .on_lost = jd__session_on_lost,
        .arg = session,
    };
    jd_status status = open_stack_signal(spec, &agent.take_stack);
    if (status == JD_OK)
        return jd__agent_create(&agent, &session->client.agent);
    if (fd >= 0)
        close(fd);
    return status;
}

jd_status jd__session_open_agent(struct jd_session *session,
                                 const struct jd_session_spec *spec,
                                 bool is_search)
{
    int fd = -1;
    if (session->server) {
        fd = jd__sockets_connect(session->server);
        if (fd < 0)
            return jd_fail(JD_RESOURCE_EXHAUSTED,
                           "jd_initialize: socketpair failed: %s",
                           strerror(errno));
    }
    return create_agent(session, spec, fd, is_search);
}

/* ---- all meet ----------------------------------------------------------- */

static jd_status fail_hosts(size_t known, size_t count)
{
    return jd_fail(JD_INTERNAL,
                   "jd_initialize: the coordination service tells the hosts of "
                   "%zu processes of a job of %zu; its program is of another "
                   "version, or it is broken",
                   known, count);
}

static jd_status take_reply(struct jd_session *session, const Jd__Reply *reply)
{
    size_t count = (size_t)session->count;
    if (!reply->n_hosts) /* this process came back, and knows them */
        return JD_OK;
    int *hosts = malloc(count * sizeof *hosts);
    if (!hosts)
        return jd__fail_no_memory("jd_initialize", count * sizeof *hosts);
    size_t known = jd__process_lists_unpack_hosts(reply->hosts, reply->n_hosts,
                                                  hosts, count);
    if (known < count) {
        free(hosts);
        return fail_hosts(known, count);
    }
    atomic_store(&session->client.hosts, hosts);
    return JD_OK;
}

static jd_status register_self(struct jd_session *session,
                               const struct jd_session_spec *spec)
{
    Jd__Join body = JD__JOIN__INIT;
    struct jd_call call = {
        .operation = "jd_initialize",
        .detail = ": the meeting at the coordination service",
        .timeout = jd__session_remaining(spec, INFINITY),
        .variable = "JD_INITIALIZATION_TIMEOUT",
    };
    jd__call_init(&call, JD__MESSAGE__BODY_JOIN, &body);
    jd_status status = jd__client_call(&session->client, &call);
    if (status == JD_OK)
        status = take_reply(session, call.reply);
    jd__call_finish(&call);
    return status;
}

jd_status jd__session_enrol(struct jd_session *session,
                            const struct jd_session_spec *spec)
{
    jd_status status = jd__preemption_start(
        &session->client,
        jd__options_text(spec->settings, JD_OPTION_PREEMPTION_SIGNAL), NULL);
    return status == JD_OK ? register_self(session, spec) : status;
}

jd_status jd__session_join(struct jd_session *session,
                           const struct jd_session_spec *spec)
{
    jd_status status = jd__session_open_agent(session, spec, false);
    if (status == JD_OK)
        status = jd__loop_start(session->client.loop);
    if (status != JD_OK)
        return status;
    status = jd__agent_meet(session->client.agent, spec->deadline);
    return status == JD_OK ? jd__session_enrol(session, spec)
                           : jd__fail_prefix(status, "jd_initialize: ");
}
