/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent_trace.c - what the processes of this host have called, for who asks the
 * service for it, part by part. A trace is made on a thread beside the loop, as
 * that takes its time (it looks for lines of the program); its parts go out
 * from the loop, one for each that is asked for.
 */
#include "base/thread.h"
#include "runtime/coordination/client/agent_private.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A trace that is being made: its thread's until it is given to the loop. */
struct jd_trace_packing {
    struct jd_agent *agent; /* of the loop's thread; NULL: it is closed */
    struct jd_loop *loop;
    void *(*show)(int place, int *ret_places, size_t *ret_size);
    pthread_t thread;
    int place, places;
    void *bytes;
    size_t size;
};

/* ---- what is sent ------------------------------------------------------- */

static void send_part(struct jd_agent *agent, Jd__TracePart *part)
{
    Jd__Message message = JD__MESSAGE__INIT;
    message.body_case = JD__MESSAGE__BODY_TRACE_PART;
    message.trace_part = part;
    if (agent->link)
        jd__link_send(agent->link, &message);
}

static void refuse_part(struct jd_agent *agent, uint64_t number,
                        jd_status status, const char *why)
{
    Jd__TracePart part = JD__TRACE_PART__INIT;
    part.number = number;
    part.status = (int32_t)status;
    part.text = (char *)why; /* only read */
    send_part(agent, &part);
}

static void forget_trace(struct jd_agent_trace *trace)
{
    free(trace->bytes);
    *trace = (struct jd_agent_trace){ .reader = 0 };
}

/* The last part is the end of the trace. */
static void send_from(struct jd_agent *agent, struct jd_agent_trace *trace,
                      const struct jd_trace_wanted *wanted)
{
    Jd__TracePart part = JD__TRACE_PART__INIT;
    size_t left = trace->size - (size_t)wanted->offset;
    size_t bytes = left < JD_WIRE_TRACE_PART ? left : JD_WIRE_TRACE_PART;
    part.number = trace->used = wanted->number;
    part.places = (uint32_t)trace->places;
    part.size = trace->size;
    if (bytes)
        part.bytes = jd__wire_bytes(trace->bytes + wanted->offset, bytes);
    send_part(agent, &part);
    if (bytes == left)
        forget_trace(trace);
}

/* ---- traces ------------------------------------------------------------- */

/* Its own, else a free one, else the one that was asked for longest ago. */
static struct jd_agent_trace *find_trace(struct jd_agent_traces *traces,
                                         uint64_t reader)
{
    struct jd_agent_trace *best = &traces->kept[0];
    for (int i = 0; i < JD_AGENT_TRACES; i++) {
        struct jd_agent_trace *trace = &traces->kept[i];
        if (trace->reader == reader)
            return trace;
        if (trace->used < best->used)
            best = trace;
    }
    return best;
}

static void go_on(struct jd_agent *agent);

/* The first that is wanted was answered. */
static void end_first(struct jd_agent *agent)
{
    struct jd_agent_traces *traces = &agent->traces;
    traces->num_wanted--;
    memmove(traces->wanted, traces->wanted + 1,
            (size_t)traces->num_wanted * sizeof *traces->wanted);
}

static void take_packed(struct jd_agent *agent,
                        struct jd_trace_packing *packing)
{
    const struct jd_trace_wanted *wanted = &agent->traces.wanted[0];
    if (!packing->places) {
        refuse_part(agent, wanted->number, JD_FAILED_PRECONDITION,
                    "it records nothing (JD_RECORDER=0), or has not come so "
                    "far in jd_initialize");
        return;
    }
    if (!packing->bytes && packing->size) {
        refuse_part(agent, wanted->number, JD_RESOURCE_EXHAUSTED,
                    "it has no memory to show what it has called");
        return;
    }
    struct jd_agent_trace *trace = find_trace(&agent->traces, wanted->reader);
    forget_trace(trace);
    *trace = (struct jd_agent_trace){ .reader = wanted->reader,
                                      .place = packing->place,
                                      .places = packing->places,
                                      .bytes = packing->bytes,
                                      .size = packing->size };
    packing->bytes = NULL;
    send_from(agent, trace, wanted);
}

static void free_packing(struct jd_trace_packing *packing)
{
    free(packing->bytes);
    free(packing);
}

/* On the loop: the thread is at its end. */
static void on_packed(void *arg)
{
    struct jd_trace_packing *packing = arg;
    struct jd_agent *agent = packing->agent;
    if (agent) {
        pthread_join(packing->thread, NULL);
        agent->traces.packing = NULL;
        take_packed(agent, packing);
        end_first(agent);
    }
    free_packing(packing);
    if (agent)
        go_on(agent);
}

/* Without memory to say that it has ended, it stays; so does the asker's wait,
 * until its deadline. */
static void *make_trace(void *arg)
{
    struct jd_trace_packing *packing = arg;
    pthread_setname_np(pthread_self(), "jd-trace");
    packing->bytes =
        packing->show(packing->place, &packing->places, &packing->size);
    jd__loop_call(packing->loop, on_packed, packing);
    return NULL;
}

static bool begin_packing(struct jd_agent *agent)
{
    struct jd_trace_packing *packing = calloc(1, sizeof *packing);
    if (!packing)
        return false;
    *packing = (struct jd_trace_packing){
        .agent = agent,
        .loop = agent->spec.loop,
        .show = agent->spec.show_trace,
        .place = agent->traces.wanted[0].place,
    };
    agent->traces.packing = packing;
    if (jd__thread_start(&packing->thread, make_trace, packing) == 0)
        return true;
    agent->traces.packing = NULL;
    free(packing);
    return false;
}

/* ---- what is asked for -------------------------------------------------- */

static void answer_first(struct jd_agent *agent)
{
    const struct jd_trace_wanted *wanted = &agent->traces.wanted[0];
    struct jd_agent_trace *trace = find_trace(&agent->traces, wanted->reader);
    if (!agent->spec.show_trace)
        refuse_part(agent, wanted->number, JD_FAILED_PRECONDITION,
                    "it shows nothing");
    else if (wanted->offset &&
             (trace->reader != wanted->reader ||
              trace->place != wanted->place || wanted->offset >= trace->size))
        refuse_part(agent, wanted->number, JD_ABORTED,
                    "the trace of which that is a part is not kept any more; "
                    "ask for it from its begin");
    else if (wanted->offset)
        send_from(agent, trace, wanted);
    else if (begin_packing(agent))
        return;
    else
        refuse_part(agent, wanted->number, JD_RESOURCE_EXHAUSTED,
                    "it has no memory or thread to show what it has called");
    end_first(agent);
}

static void go_on(struct jd_agent *agent)
{
    while (agent->traces.num_wanted && !agent->traces.packing)
        answer_first(agent);
}

void jd__agent_trace_show(struct jd_agent *agent, const Jd__ShowTrace *show)
{
    struct jd_agent_traces *traces = &agent->traces;
    if (traces->num_wanted == JD_AGENT_TRACES) {
        refuse_part(agent, show->number, JD_RESOURCE_EXHAUSTED,
                    "more was asked of it at once than it answers");
        return;
    }
    traces->wanted[traces->num_wanted++] = (struct jd_trace_wanted){
        .number = show->number,
        .reader = show->reader,
        .offset = show->offset,
        .place = show->place < INT_MAX ? (int)show->place : INT_MAX,
    };
    go_on(agent);
}

void jd__agent_trace_close(struct jd_agent *agent)
{
    struct jd_agent_traces *traces = &agent->traces;
    if (traces->packing) {
        pthread_join(traces->packing->thread, NULL);
        traces->packing->agent = NULL;
        traces->packing = NULL;
    }
    for (int i = 0; i < JD_AGENT_TRACES; i++)
        forget_trace(&traces->kept[i]);
    traces->num_wanted = 0;
}
