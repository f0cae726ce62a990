/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.h - this process's way to the coordination service, whichever
 * it is: an agent with a connection to process 0 in a world of several, or
 * the service's state itself, in this process, in a world of one (no socket,
 * no thread). Everything public of the service goes through jd__coordination_
 * call.
 *
 *     Jd__Increment body = JD__INCREMENT__INIT;
 *     struct jd_call call = { .operation = "jd_kv_increment", ... };
 *     jd__call_init(&call, JD__MESSAGE__BODY_INCREMENT, &body);
 *     status = jd__coordination_call(coordination, &call);
 *     ... call.reply->number ...
 *     jd__call_finish(&call);
 */
#ifndef RUNTIME_COORDINATION_SESSION_SESSION_H
#define RUNTIME_COORDINATION_SESSION_SESSION_H

#include "autodetect/cluster.h"
#include "base/options.h"
#include "runtime/coordination/net/wire.h"
#include "runtime/mpi/world.h"
#include "runtime/topology/records.h"
#include "runtime/topology/topology.h"

struct jd_coordination;
struct jd_job_key;

/* One request and its reply. */
struct jd_call {
    const char *operation; /* "jd_kv_get" */
    const char *detail;    /* " of key \"a\"", or NULL: follows operation */
    double timeout;        /* seconds; negative: none; 0: answered at once */
    double patience;       /* seconds for the service to answer; 0: timeout
                              and two seconds, or 60 s */
    const char *variable;  /* what changes it: "the timeout argument" */
    Jd__Message request;   /* its body; id and timeout_ms are filled in */
    Jd__Message *answer;   /* the reply's message, until jd__call_finish */
    Jd__Reply *reply;      /* within answer */
};

/* Sets the request's body; the other members are the caller's. */
void jd__call_init(struct jd_call *call, Jd__Message__BodyCase body,
                   void *body_message);
void jd__call_finish(struct jd_call *call);
/* The answer has come: it is the call's now. Returns its status, with the
 * sentence. */
jd_status jd__call_take(struct jd_call *call, Jd__Message *answer);

/*
 * Asks the service and waits for the reply, which is call->reply after JD_OK.
 * Returns: the service's status with its sentence after "operation detail: ";
 *   DEADLINE_EXCEEDED where not even the service answers in time (it says
 *   since when nothing is heard of process 0); UNAVAILABLE where the
 *   connection was lost on the way; RESOURCE_EXHAUSTED where the message is
 *   over JD_MAX_MESSAGE (nothing is sent).
 * Blocks: at most timeout and two seconds. Threads: any but the loop's.
 */
jd_status jd__coordination_call(struct jd_coordination *coordination,
                                struct jd_call *call);

/* Sends without waiting for anything. False where there is no connection.
 * Threads: any. */
bool jd__coordination_tell(struct jd_coordination *coordination,
                           const Jd__Message *message);

/* The background thread; NULL in a world of one. */
struct jd_loop *jd__coordination_loop(struct jd_coordination *coordination);

/*
 * Starts the service on process 0 and the agents of all, and registers; every
 * process of the job does so. With a world, MPI tells all where the service is
 * and its secret, and the same failure comes on every process where it cannot
 * start; without one they meet at the cluster's coordinator address, with the
 * secret of jd__auth_find. deadline is a jd__clock_now().
 */
struct jd_coordination_spec {
    const struct jd_env *env;
    const struct jd_settings *settings;
    const struct jd_cluster *cluster;
    const struct jd_local_facts *facts; /* of this process */
    const struct jd_world *world;       /* NULL: there is none yet */
    const struct jd_topology *topology; /* with a world */
    int index, count;
    double deadline;
};
jd_status jd__coordination_create(const struct jd_coordination_spec *spec,
                                  struct jd_coordination **ret_coordination);

/* A world of one. */
jd_status
jd__coordination_create_local(const struct jd_settings *settings,
                              struct jd_coordination **ret_coordination);

/*
 * The end, in order: a barrier of all processes within the timeout, then the
 * connection closes. Returns JD_OK; ABORTED where a peer has failed or left
 * without shutting down; DEADLINE_EXCEEDED naming those who did not come. The
 * coordination must be destroyed in any case.
 */
jd_status jd__coordination_leave(struct jd_coordination *coordination,
                                 double timeout);

/*
 * What this process needs is gone: all others are told why, and this process
 * says it and ends, with the exit code of one whose peer has failed.
 * Threads: the loop's alone.
 */
void jd__coordination_give_up(struct jd_coordination *coordination,
                              jd_status error, const char *why);

/* MPI goes through helpers of this service: on process 0 it stays until the
 * process ends, also after jd__coordination_destroy. */
void jd__coordination_keep_service(struct jd_coordination *coordination);

/* Ends thread and sockets at once. NULL is nothing. */
void jd__coordination_destroy(struct jd_coordination *coordination);

/* What others need to come in: job, secret, addresses (session_private.h).
 */
const struct jd_job_key *
jd__coordination_key(const struct jd_coordination *coordination);

/* The service's: each start of a service has another. */
uint64_t
jd__coordination_incarnation(const struct jd_coordination *coordination);

/* The number of a process's host, from 0, as the service sees it: processes
 * with equal numbers share a host. */
int jd__coordination_host_of(const struct jd_coordination *coordination,
                             int process);

#endif
