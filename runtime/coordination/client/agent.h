/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent.h - a process's connection to the coordination service: it meets it,
 * asks it on behalf of any thread, sends heartbeats, and notices when it is
 * gone. It needs no MPI, and makes no MPI call.
 *
 *     jd__agent_create(&spec, &agent);
 *     jd__agent_meet(agent, deadline);       until it is let in
 *     jd__agent_call(agent, &call);          from any thread
 *     jd__agent_destroy(agent);
 *
 * A connection that breaks by ETIMEDOUT or an unreachable host is made again
 * until the heartbeat timeout, and requests under way are asked again; an end
 * of file or a reset is the service's death.
 */
#ifndef RUNTIME_COORDINATION_CLIENT_AGENT_H
#define RUNTIME_COORDINATION_CLIENT_AGENT_H

#include "base/clock.h"
#include "runtime/coordination/auth/auth.h"
#include "runtime/coordination/client/call.h"
#include "runtime/coordination/net/addresses.h"
#include "runtime/coordination/net/loop.h"
#include "runtime/recorder/clock_samples.h"
#include "runtime/recorder/queued.h"
#include "runtime/recorder/waits.h"

struct jd_agent;

struct jd_agent_spec {
    struct jd_loop *loop;
    const struct jd_auth *auth;
    Jd__Role role;
    const char *job;
    uint32_t attempt;
    int process, count;
    const char *host, *boot_id, *program; /* of this process */
    uint32_t pid;
    int fd; /* connected already; -1: the endpoints are tried in turn */
    const struct jd_endpoints *endpoints;
    bool is_search; /* the service may be elsewhere: one round over them */
    double turn;    /* seconds before the first try: jd__agent_turn */
    double heartbeat_timeout; /* seconds; negative: none */
    double notice;            /* seconds until a wait says for whom */
    double munge_timeout; /* seconds for munge to answer; 0: MUNGE_SECONDS */
    const struct jd_clock *clock; /* of deadlines and signs of life */
    size_t max_message;
    /* The PATH of the tools that show this process's stack to who asks the
     * service for it; NULL: it is not shown. */
    const char *tool_path;
    /* Where no tool can, on a thread of the agent's: as
     * jd__stack_signal_take(); NULL: nothing does. */
    char *(*take_stack)(const char **ret_why);
    /* On the loop's thread: an operation of this process, by its number, in
     * more words, malloc'ed; NULL: they are not known. NULL: nor is any. */
    char *(*describe_call)(uint64_t number);
    /* As jd__recorder_take_waits(); NULL: it waits for nobody. */
    int (*take_waits)(struct jd_waited worst[JD_WAITED_MOST], double *ret_all);
    /* As jd__queued_take(), jd__queued_is_new() and jd__queued_is_partial();
     * NULL: it queues nothing. */
    int (*take_queued)(struct jd_queued told[JD_QUEUED_MOST]);
    bool (*has_queued)(void);
    bool (*is_queued_partial)(void);
    /* On a thread of the agent's: as jd__recorder_describe_wait(); NULL: it
     * knows no words of the sites that those have. */
    bool (*describe_wait)(uint64_t site, char text[JD_WAIT_TEXT]);
    /* On a thread of the agent's: as jd__trace_file_show(); NULL: it shows no
     * calls to who asks the service for them. */
    void *(*show_trace)(int place, int *ret_places, size_t *ret_size);
    /* On the loop's thread: what was learned of the service's clock; NULL: it
     * is not asked for. */
    void (*note_clock)(const struct jd_clock_sample *sample);
    /* On the loop's thread: what nobody asked for, and the service's death
     * ("connection closed ..."), once. */
    void (*on_push)(void *arg, const Jd__Message *message);
    void (*on_lost)(void *arg, const char *why);
    void *arg;
};

/*
 * Processes, or hosts, that start together do not all knock in one
 * millisecond: the first 512 of a job do, those behind them 20,000 in each
 * second: two thirds of what one core was measured to let in (bench/README.md),
 * so that the service's queue of connections does not run over. Returns when it
 * is that one's turn, in seconds from its start.
 */
double jd__agent_turn(int number);

/* Who the service is, as its Welcome says. */
struct jd_service_place {
    char host[72];
    char program[64];
    uint32_t pid;
    uint64_t incarnation;
    bool shows_traces; /* who asks it for calls is answered */
    bool names_sites;  /* it asks for the words of sites */
};

/* Copies what it needs. Returns JD_OK, RESOURCE_EXHAUSTED. The fd is the
 * agent's in any case. */
jd_status jd__agent_create(const struct jd_agent_spec *spec,
                           struct jd_agent **ret_agent);

/*
 * Connects, and waits until it is let in, at most until the deadline, a time
 * of the spec's clock. The loop runs.
 * Returns: JD_OK; what the service says where it refuses; DEADLINE_EXCEEDED
 *   with every address that was tried and what came of it; UNAUTHENTICATED
 *   where the service does not know the secret. In a search: NOT_FOUND after
 *   one round, also where it is another job's service, and no more than the
 *   addresses with what came of each.
 */
jd_status jd__agent_meet(struct jd_agent *agent, double deadline);

/* As jd__client_call and jd__client_tell. */
jd_status jd__agent_call(struct jd_agent *agent, struct jd_call *call);
bool jd__agent_tell(struct jd_agent *agent, const Jd__Message *message);

/* After jd__agent_meet. */
struct jd_service_place jd__agent_place(struct jd_agent *agent);

/* What has been queued since the last heartbeat is told. Blocks: until the
 * loop's thread has. */
void jd__agent_say_queued(struct jd_agent *agent);

/* The failure is known, or the end has come in order: what happens to the
 * connection from here on is no news. Threads: any. */
void jd__agent_expect_end(struct jd_agent *agent);

/* Closes at once; nobody waits in a call. NULL is nothing. */
void jd__agent_destroy(struct jd_agent *agent);

#endif
