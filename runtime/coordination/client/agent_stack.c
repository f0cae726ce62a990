/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent_stack.c - this process's stack for who asks the service for it: a tool
 * reads it beside the loop, and what it has printed is sent when it has ended.
 */
#include "runtime/coordination/client/agent_private.h"

#include <math.h>
#include <stdlib.h>

#define TOOL_SECONDS 10 /* a tool may take so long */

/* This process stands still meanwhile, and must not be taken for dead. */
static int tool_seconds(const struct jd_agent *agent)
{
    double timeout = agent->spec.heartbeat_timeout;
    return timeout < 0 ? TOOL_SECONDS
                       : (int)fmax(1, fmin(TOOL_SECONDS, timeout / 2));
}

/* text NULL: the thread's error text. */
static void send_stack(struct jd_agent *agent, jd_status status,
                       const char *text)
{
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Stack stack = JD__STACK__INIT;
    stack.number = agent->stack.begun;
    stack.status = (int32_t)status;
    stack.text = (char *)(text ? text : jd_error_message()); /* only read */
    message.body_case = JD__MESSAGE__BODY_STACK;
    message.stack = &stack;
    if (agent->link)
        jd__link_send(agent->link, &message);
}

static void on_end(evutil_socket_t fd, short what, void *arg);

static jd_status start_tool(struct jd_agent *agent, bool lets)
{
    struct jd_agent_stack *stack = &agent->stack;
    jd_status status = jd__stack_tool_start(&stack->tool, agent->spec.tool_path,
                                            tool_seconds(agent), lets);
    if (status != JD_OK)
        return status;
    stack->end = event_new(jd__loop_base(agent->spec.loop), stack->tool.end,
                           EV_READ, on_end, agent);
    if (stack->end && event_add(stack->end, NULL) == 0)
        return JD_OK;
    jd__agent_stack_close(agent);
    return jd__fail_no_memory("the stack", sizeof *stack);
}

static void begin_to_read(struct jd_agent *agent)
{
    agent->stack.begun = agent->stack.wanted;
    jd_status status = start_tool(agent, false);
    if (status != JD_OK)
        send_stack(agent, status, NULL);
}

/* Where only a process's descendants may trace it, as by Yama, it has to name
 * one; MPI may have named all processes, so that is not touched before. */
static bool try_again(struct jd_agent *agent, jd_status status, bool was_let)
{
    return status == JD_PERMISSION_DENIED && !was_let &&
           jd__stack_tool_needs_let() && start_tool(agent, true) == JD_OK;
}

static void on_end(evutil_socket_t fd, short what, void *arg)
{
    struct jd_agent *agent = arg;
    struct jd_agent_stack *stack = &agent->stack;
    bool was_let = stack->tool.is_let;
    char *text = NULL;
    (void)fd, (void)what;
    event_free(stack->end);
    stack->end = NULL;
    jd_status status = jd__stack_tool_finish(&stack->tool, &text);
    if (try_again(agent, status, was_let))
        return;
    send_stack(agent, status, text);
    free(text);
    if (stack->wanted > stack->begun)
        begin_to_read(agent);
}

void jd__agent_stack_show(struct jd_agent *agent, uint64_t number)
{
    agent->stack.wanted = number;
    if (agent->stack.end)
        return;
    if (agent->spec.tool_path) {
        begin_to_read(agent);
        return;
    }
    agent->stack.begun = number;
    send_stack(agent, JD_PERMISSION_DENIED,
               "it has JD_STACK=0: nobody may ask for its stack");
}

void jd__agent_stack_close(struct jd_agent *agent)
{
    if (agent->stack.end)
        event_free(agent->stack.end);
    agent->stack.end = NULL;
    jd__stack_tool_abandon(&agent->stack.tool);
}
