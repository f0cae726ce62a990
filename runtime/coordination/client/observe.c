/* SPDX-License-Identifier: BSD-3-Clause */
/* observe.c - a look at another job. */
#include "runtime/coordination/client/observe.h"
#include "base/clock.h"
#include "runtime/coordination/client/agent.h"
#include "runtime/coordination/client/call.h"

#include <stdlib.h>
#include <unistd.h>

struct jd_observer {
    const char *address;
    struct jd_auth auth;
    struct jd_endpoints endpoints;
    struct jd_loop *loop;
    struct jd_agent *agent;
};

static jd_status create_agent(struct jd_observer *o,
                              const struct jd_settings *settings)
{
    struct jd_agent_spec spec = {
        .loop = o->loop,
        .auth = &o->auth,
        .role = JD__ROLE__OBSERVER,
        .job = "",
        .host = "",
        .boot_id = "",
        .program = "jd-info",
        .pid = (uint32_t)getpid(),
        .fd = -1,
        .endpoints = &o->endpoints,
        .heartbeat_timeout = -1,
        .notice = -1,
        .max_message =
            (size_t)jd__options_integer(settings, JD_OPTION_MAX_MESSAGE),
    };
    return jd__agent_create(&spec, &o->agent);
}

static jd_status fail_observer(const struct jd_observer *o, jd_status status)
{
    return jd__fail_prefix(status, "the job at %s: ", o->address);
}

static jd_status connect_to(struct jd_observer *o,
                            const struct jd_settings *settings, double timeout)
{
    jd_status status = jd__loop_create("jd-observe", &o->loop);
    if (status == JD_OK)
        status = jd__loop_start(o->loop);
    if (status == JD_OK)
        status = create_agent(o, settings);
    if (status == JD_OK)
        status = jd__agent_meet(o->agent, jd__clock_now() + timeout);
    return status;
}

jd_status jd__observe_open(const struct jd_env *env,
                           const struct jd_settings *settings,
                           const char *address, double timeout,
                           struct jd_observer **ret_observer)
{
    struct jd_observer *o = calloc(1, sizeof *o);
    if (!o)
        return jd__fail_no_memory("jd-info", sizeof *o);
    o->address = address;
    jd_status status = jd__auth_start();
    if (status == JD_OK)
        status = jd__secret_find(env, settings, NULL, &o->auth);
    if (status == JD_OK)
        status = jd__resolve_address(address, timeout, &o->endpoints);
    if (status == JD_OK)
        status = connect_to(o, settings, timeout);
    if (status == JD_OK) {
        *ret_observer = o;
        return JD_OK;
    }
    status = fail_observer(o, status);
    jd__observe_close(o);
    return status;
}

jd_status jd__observe_ask(struct jd_observer *o, double timeout,
                          Jd__Message **ret_answer)
{
    Jd__Inquiry body = JD__INQUIRY__INIT;
    struct jd_call call = { .operation = "the table of processes",
                            .grace = timeout };
    jd__call_init(&call, JD__MESSAGE__BODY_INQUIRY, &body);
    jd_status status = jd__agent_call(o->agent, &call);
    if (status != JD_OK)
        return fail_observer(o, status);
    *ret_answer = call.answer;
    return JD_OK;
}

jd_status jd__observe_stack(struct jd_observer *o, int process, double timeout,
                            Jd__Message **ret_answer)
{
    Jd__StackOf body = JD__STACK_OF__INIT;
    struct jd_call call = { .operation = "the stack", .timeout = timeout };
    body.process = (uint32_t)process;
    jd__call_init(&call, JD__MESSAGE__BODY_STACK_OF, &body);
    call.request.timeout_ms = (int64_t)(1000 * timeout);
    jd_status status = jd__agent_call(o->agent, &call);
    if (status != JD_OK)
        return fail_observer(o, status);
    *ret_answer = call.answer;
    return JD_OK;
}

static jd_status fail_old_service(const struct jd_observer *o)
{
    return jd_fail(JD_UNIMPLEMENTED,
                   "the job at %s: the jd of its process 0 is of an earlier "
                   "version, which cannot show what a job has called while it "
                   "runs; JD_TRACE_DIR has it when the job has ended",
                   o->address);
}

/* A part that is not there was never sent by a service of jd. */
static jd_status take_part(const struct jd_observer *o, struct jd_call *call,
                           Jd__Message **ret_answer)
{
    if (call->reply->trace) {
        *ret_answer = call->answer;
        return JD_OK;
    }
    jd__call_finish(call);
    return jd_fail(JD_INTERNAL,
                   "the job at %s: its coordination service answers without "
                   "what was asked for; it is broken",
                   o->address);
}

jd_status jd__observe_trace(struct jd_observer *o, int process, int place,
                            size_t offset, double timeout,
                            Jd__Message **ret_answer)
{
    Jd__TraceOf body = JD__TRACE_OF__INIT;
    struct jd_call call = { .operation = "its calls", .timeout = timeout };
    if (!jd__agent_place(o->agent).shows_traces)
        return fail_old_service(o);
    body.process = (uint32_t)process;
    body.place = (uint32_t)place;
    body.offset = offset;
    jd__call_init(&call, JD__MESSAGE__BODY_TRACE_OF, &body);
    call.request.timeout_ms = (int64_t)(1000 * timeout);
    jd_status status = jd__agent_call(o->agent, &call);
    return status == JD_OK ? take_part(o, &call, ret_answer)
                           : fail_observer(o, status);
}

void jd__observe_close(struct jd_observer *o)
{
    if (!o)
        return;
    jd__agent_destroy(o->agent);
    jd__loop_destroy(o->loop);
    jd__auth_wipe(&o->auth, sizeof o->auth);
    free(o);
}
