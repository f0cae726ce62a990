/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent_stack.c - this process's stack for who asks the service for it: a tool
 * reads it beside the loop, and what it has printed is sent when it has ended.
 * Where none can, a thread has one of the program's threads write down its own.
 */
#include "base/thread.h"
#include "runtime/coordination/client/agent_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- without a tool ------------------------------------------------------ */

/* A stack that is being taken: its thread's until it is given to the loop. */
struct jd_stack_taking {
    struct jd_agent *agent; /* of the loop's thread; NULL: it is closed */
    struct jd_loop *loop;
    char *(*take)(const char **ret_why);
    pthread_t thread;
    jd_status status; /* of the tool, */
    char *said;       /* and what it has said */
    char *text;
    const char *why;
};

static void free_taking(struct jd_stack_taking *taking)
{
    free(taking->said);
    free(taking->text);
    free(taking);
}

static void go_on(struct jd_agent *agent)
{
    if (agent->stack.wanted > agent->stack.begun)
        begin_to_read(agent);
}

static void send_taken(struct jd_agent *agent, struct jd_stack_taking *taking)
{
    if (taking->text) {
        send_stack(agent, JD_OK, taking->text);
        return;
    }
    jd_fail(taking->status, "%s; nor is it taken by JD_STACK_SIGNAL: %s",
            taking->said, taking->why);
    send_stack(agent, taking->status, NULL);
}

/* On the loop: the thread is at its end. */
static void on_taken(void *arg)
{
    struct jd_stack_taking *taking = arg;
    struct jd_agent *agent = taking->agent;
    if (agent) {
        pthread_join(taking->thread, NULL);
        agent->stack.taking = NULL;
        send_taken(agent, taking);
    }
    free_taking(taking);
    if (agent)
        go_on(agent);
}

static void *take_stack(void *arg)
{
    struct jd_stack_taking *taking = arg;
    pthread_setname_np(pthread_self(), "jd-stack");
    taking->text = taking->take(&taking->why);
    jd__loop_call(taking->loop, on_taken, taking);
    return NULL;
}

/* The thread's error text says why the tool has failed. False: nothing is
 * taken. */
static bool begin_to_take(struct jd_agent *agent, jd_status status)
{
    struct jd_stack_taking *taking = status != JD_OK && agent->spec.take_stack
                                         ? calloc(1, sizeof *taking)
                                         : NULL;
    if (!taking)
        return false;
    taking->agent = agent;
    taking->loop = agent->spec.loop;
    taking->take = agent->spec.take_stack;
    taking->status = status;
    taking->said = strdup(jd_error_message());
    agent->stack.taking = taking;
    if (taking->said &&
        jd__thread_start(&taking->thread, take_stack, taking) == 0)
        return true;
    agent->stack.taking = NULL;
    free_taking(taking);
    return false;
}

/* ---- the end ------------------------------------------------------------- */

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
    if (try_again(agent, status, was_let) || begin_to_take(agent, status))
        return;
    send_stack(agent, status, text);
    free(text);
    go_on(agent);
}

void jd__agent_stack_show(struct jd_agent *agent, uint64_t number)
{
    agent->stack.wanted = number;
    if (agent->stack.end || agent->stack.taking)
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
    if (agent->stack.taking) {
        pthread_join(agent->stack.taking->thread, NULL);
        agent->stack.taking->agent = NULL;
        agent->stack.taking = NULL;
    }
    jd__stack_tool_abandon(&agent->stack.tool);
}
