/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client.h - this process's way to the coordination service, whichever it is:
 * an agent with a connection to process 0 in a world of several, or the
 * service's state itself, in this process, in a world of one (no socket, no
 * thread). Everything public of the service goes through jd__client_call.
 * A session makes it, and takes it down (session.h).
 */
#ifndef RUNTIME_COORDINATION_CLIENT_CLIENT_H
#define RUNTIME_COORDINATION_CLIENT_CLIENT_H

#include "runtime/coordination/auth/auth.h"
#include "runtime/coordination/client/call.h"
#include "runtime/coordination/net/addresses.h"

#include <stdatomic.h>
#include <sys/types.h>

/* What the agents need to come in. Plain data: travels by MPI. */
struct jd_job_key {
    char job[64];
    uint32_t attempt;
    struct jd_auth auth;
    struct jd_endpoints endpoints;
};

struct jd_client {
    pid_t pid; /* a forked child has no thread, and no connection */
    int count; /* of the job's processes */
    struct jd_local *local; /* a world of one; then nothing below */
    struct jd_loop *loop;   /* the background thread */
    struct jd_agent *agent;
    /* For each process the number of its host, from 0; NULL: not known yet. */
    _Atomic(int *) hosts;
    struct jd_job_key key;
};

/*
 * Asks the service and waits for the reply, which is call->reply after JD_OK.
 * Returns: the service's status with its sentence after "operation detail: ";
 *   DEADLINE_EXCEEDED where not even the service answers in time (it says
 *   since when nothing is heard of process 0); UNAVAILABLE where the
 *   connection was lost on the way; RESOURCE_EXHAUSTED where the message is
 *   over JD_MAX_MESSAGE (nothing is sent).
 * Blocks: at most timeout and two seconds. Threads: any but the loop's.
 */
jd_status jd__client_call(struct jd_client *client, struct jd_call *call);

/* Sends without waiting for anything. False where there is no connection.
 * Threads: any. */
bool jd__client_tell(struct jd_client *client, const Jd__Message *message);

/* The background thread; NULL in a world of one. */
struct jd_loop *jd__client_loop(struct jd_client *client);

/* What others need to come in: job, secret, addresses */
const struct jd_job_key *jd__client_key(const struct jd_client *client);

/* The service's: each start of a service has another. 0: a world of one. */
uint64_t jd__client_incarnation(const struct jd_client *client);

/* The number of a process's host, from 0, as the service sees it: processes
 * with equal numbers share a host. */
int jd__client_host_of(const struct jd_client *client, int process);

#endif
