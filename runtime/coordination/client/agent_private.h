/* SPDX-License-Identifier: BSD-3-Clause */
/* agent_private.h - what the agent's parts share: its connection
 * (agent_connect.c), how that is let in (agent_greet.c), its signs of life
 * (agent_heartbeat.c), its stack (agent_stack.c), what its process has called
 * (agent_trace.c), where it has waited (agent_site.c), its calls (agent.c). */
#ifndef RUNTIME_COORDINATION_CLIENT_AGENT_PRIVATE_H
#define RUNTIME_COORDINATION_CLIENT_AGENT_PRIVATE_H

#include "base/progress.h"
#include "base/standing.h"
#include "runtime/coordination/auth/munge.h"
#include "runtime/coordination/client/agent.h"
#include "runtime/coordination/client/stack_tool.h"
#include "runtime/coordination/net/link.h"

#include <pthread.h>

enum jd_agent_state {
    JD_AGENT_MEETING, /* connects, or is connected and not let in yet */
    JD_AGENT_READY,
    JD_AGENT_BACKING, /* lost its connection and makes it again */
    JD_AGENT_DEAD,    /* the service is gone, or has refused us */
};

/* A request under way; on its caller's stack. */
struct jd_pending {
    struct jd_pending *next;
    const Jd__Message *request;
    Jd__Message *answer; /* NULL: none yet */
    pthread_cond_t changed;
};

enum { JD_AGENT_HELD = 16 }; /* messages until munge has answered */

/* What is said on a connection until it is let in; all zero: nothing yet. */
struct jd_greeting {
    uint8_t nonce[JD_AUTH_NONCE], challenge[JD_AUTH_NONCE];
    struct jd_auth_exchange exchange;
    struct jd_munge_question *question; /* munge is asked; NULL: it is not */
    bool was_challenged;
    bool is_welcome; /* the other side has shown that it is the service, or */
    bool is_known;   /* could not: then what it says is not final */
    Jd__Message *held[JD_AGENT_HELD]; /* behind a Welcome that munge has */
    int num_held;
    const char *closed; /* what the other side did meanwhile, or NULL */
};

/* Its stack is asked for. */
struct jd_agent_stack {
    uint64_t wanted; /* the last Show; 0: none came */
    uint64_t begun;  /* the last when the tool was started */
    struct jd_stack_tool tool;
    struct event *end; /* of the tool; NULL: none runs */
    struct jd_stack_taking *taking; /* in its place; NULL: it is not */
};

/* A trace that is being read, part by part. */
struct jd_agent_trace {
    uint64_t reader; /* 0: none */
    int place, places;
    uint8_t *bytes;
    size_t size;
    uint64_t used; /* the number of the last ShowTrace that it was for */
};

enum { JD_AGENT_TRACES = 4 }; /* readers, and parts that are asked for */

/* What its process has called is asked for. */
struct jd_agent_traces {
    struct jd_agent_trace kept[JD_AGENT_TRACES];
    struct jd_trace_wanted {
        uint64_t number, reader, offset;
        int place;
    } wanted[JD_AGENT_TRACES]; /* in the order in which they came */
    int num_wanted;
    struct jd_trace_packing *packing; /* of the first; NULL: none */
};

enum { JD_AGENT_SITES = 16 }; /* whose words are asked for at once */

/* The words of calls in which it has waited are asked for. */
struct jd_agent_sites {
    uint64_t wanted[JD_AGENT_SITES]; /* in the order in which they came */
    int num_wanted;
    struct jd_site_search *search; /* of one before; NULL: none */
};

/* The call in which a thread stands. */
struct jd_agent_stand {
    uint64_t wait;
    char *call; /* NULL: not known */
};

struct jd_agent {
    struct jd_agent_spec spec; /* its texts are the agent's own */
    struct jd_auth auth;
    struct jd_endpoints endpoints;
    uint64_t incarnation;

    /* The loop's own. */
    struct jd_link_pool *pool;
    struct event *connect_event; /* the socket that is being connected */
    struct event *retry_timer, *meet_timer, *heartbeat_timer, *look_timer;
    int connecting_fd;
    int next_endpoint;
    int rounds; /* how often all endpoints were tried */
    int fd;     /* the link's */
    struct jd_greeting greeting;
    bool has_warned; /* that somebody refuses us who may be anybody */
    struct jd_progress progress, sent_progress;
    char *call;       /* the operation in more words; NULL: not known */
    uint64_t call_of; /* whose words those are, known or not */
    struct jd_agent_stand stands[JD_STANDING_MOST];
    int num_stands;
    double last_look, last_progress, back_since;
    int64_t clock_asked;   /* the last question's time, until it is answered */
    int clock_more;        /* questions that follow at once */
    double clock_asked_at; /* of the spec's clock */
    struct jd_agent_stack stack;
    struct jd_agent_traces traces;
    struct jd_agent_sites sites;

    pthread_mutex_t lock;
    pthread_cond_t state_changed;
    enum jd_agent_state state; /* under the lock, as the rest */
    bool expects_end;
    bool is_armed; /* has said so, and says it again where it must */
    double heard;  /* written by the loop alone */
    struct jd_link *link;
    jd_status refusal;
    char *why;   /* it is dead, or what came of the addresses tried */
    char *noted; /* what came of those of this round so far */
    char trying[JD_ENDPOINT_TEXT]; /* the one that is tried now, or "" */
    uint64_t last_id;
    struct jd_pending *pending;
    struct jd_service_place place;
};

/* Locks, sets state and why (malloc'ed, or NULL) and wakes all who wait. */
void jd__agent_set_state(struct jd_agent *agent, enum jd_agent_state state,
                         jd_status refusal, char *why);

/* The service is gone: calls end, and the runtime hears of it once. */
__attribute__((format(printf, 2, 3))) void
jd__agent_die(struct jd_agent *agent, const char *format, ...);

/* ---- agent_connect.c ----------------------------------------------------- */

extern const struct jd_link_hooks jd__agent_link_hooks;
/* On the loop: begins to connect. */
void jd__agent_connect(struct jd_agent *agent);
void jd__agent_close(struct jd_agent *agent);
/* This address does not do: the next one is tried. */
void jd__agent_give_up_address(struct jd_agent *agent, const char *what);
/* The service itself says no: the agent is dead. */
void jd__agent_be_refused(struct jd_agent *agent, jd_status status,
                          const char *text);

/* ---- agent_greet.c ------------------------------------------------------ */

/* A message before we are let in; it is the callee's to free. */
void jd__agent_greet(struct jd_agent *agent, Jd__Message *message);
/* The connection is gone. */
void jd__agent_forget_greeting(struct jd_agent *agent);

/* ---- agent_heartbeat.c -------------------------------------------------- */

bool jd__agent_heartbeat_open(struct jd_agent *agent);
void jd__agent_heartbeat_start(struct jd_agent *agent);
void jd__agent_heartbeat_stop(struct jd_agent *agent);
void jd__agent_heartbeat_close(struct jd_agent *agent);
/* The service has answered one that asked for its clock. */
void jd__agent_heartbeat_on_clock(struct jd_agent *agent,
                                  const Jd__Reply *reply);
/* What this process is doing, now: the service asks; then with the line of the
 * program, where that is not said yet. Blocks: as spec.describe_call(). */
void jd__agent_heartbeat_say(struct jd_agent *agent);
void jd__agent_set_heard(struct jd_agent *agent, double at);

/* ---- agent_stack.c ------------------------------------------------------ */

/* The service asks for this process's stack, by the Show's number. */
void jd__agent_stack_show(struct jd_agent *agent, uint64_t number);
/* Nobody waits for it any more; a tool that runs is left to itself. Blocks: as
 * spec.take_stack(), where one is being taken. */
void jd__agent_stack_close(struct jd_agent *agent);

/* ---- agent_trace.c ------------------------------------------------------ */

/* The service asks for a part of what its process has called. */
void jd__agent_trace_show(struct jd_agent *agent, const Jd__ShowTrace *show);
/* Nobody waits for it any more. Blocks: as spec.show_trace(), where one is
 * being made. */
void jd__agent_trace_close(struct jd_agent *agent);

/* ---- agent_site.c ------------------------------------------------------- */

/* The service asks for the words of a call in which its process has waited. */
void jd__agent_site_name(struct jd_agent *agent, uint64_t site);
/* Nobody waits for them any more. Blocks: as spec.describe_wait(), where one is
 * looked for. */
void jd__agent_site_close(struct jd_agent *agent);

/* ---- agent_standing.c --------------------------------------------------- */

/* Finds out in which calls the threads of this process stand; false where there
 * are not several. Blocks: as spec.describe_call(). */
bool jd__agent_standing_look(struct jd_agent *agent);
void jd__agent_standing_forget(struct jd_agent *agent);

/* ---- agent.c ------------------------------------------------------------ */

/* A message from the service, which is the callee's to free. */
void jd__agent_on_message(struct jd_agent *agent, Jd__Message *message);
/* Let in: what waits is asked, again where the connection was lost. */
void jd__agent_be_ready(struct jd_agent *agent);

#endif
