/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_private.h - what the two ways to the service share: by MPI,
 * which carries its addresses and its secret (join_by_mpi.c), and by an address
 * that all processes know (join_by_address.c).
 */
#ifndef RUNTIME_COORDINATION_SESSION_SESSION_PRIVATE_H
#define RUNTIME_COORDINATION_SESSION_SESSION_PRIVATE_H

#include "runtime/coordination/client/agent.h"
#include "runtime/coordination/client/local.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/coordination/server/sockets.h"
#include "runtime/coordination/session/session.h"

#include <sys/types.h>

/* What the agents need to come in. Plain data: travels by MPI. */
struct jd_job_key {
    char job[64];
    uint32_t attempt;
    struct jd_auth auth;
    struct jd_endpoints endpoints;
};

struct jd_coordination {
    pid_t pid; /* a forked child has no thread, and no connection */
    struct jd_local *local; /* a world of one; then nothing below */
    struct jd_loop *loop;
    struct jd_server *server; /* on process 0 */
    struct jd_agent *agent;
    int index, count;
    enum jd_failure_speakers speakers;
    bool keeps_service; /* MPI goes through it */
    double grace;       /* JD_FAILURE_GRACE */
    /* For each process the number of its host, from 0; NULL: not known yet. */
    _Atomic(int *) hosts;
    struct jd_job_key key;
};

/* ---- the parts of a start (join.c) -------------------------------------- */

/* The service on process 0, on these listeners, which are its own now. */
jd_status jd__coordination_start_server(struct jd_coordination *coordination,
                                        const struct jd_coordination_spec *spec,
                                        const struct jd_listeners *listeners);

/* Room for the files of so many connections. */
jd_status jd__coordination_allow_files(const struct jd_coordination_spec *spec);

/* The agent, for the addresses in the key; on process 0 with a connection
 * within the process. is_search is agent.h's. */
jd_status jd__coordination_open_agent(struct jd_coordination *coordination,
                                      const struct jd_coordination_spec *spec,
                                      bool is_search);

/* The agent is let in: all meet. */
jd_status jd__coordination_enrol(struct jd_coordination *coordination,
                                 const struct jd_coordination_spec *spec);

/* The agent, the loop's start, the way in, and all meet. */
jd_status jd__coordination_join(struct jd_coordination *coordination,
                                const struct jd_coordination_spec *spec);

/* The same where the cluster has candidates for the address: each is tried in
 * turn, for a short while, until one lets us in (join_search.c). */
jd_status jd__coordination_search(struct jd_coordination *coordination,
                                  const struct jd_coordination_spec *spec);

/* Seconds until the deadline, at most so many. */
double jd__coordination_remaining(const struct jd_coordination_spec *spec,
                                  double most);

/* ---- an address that is said (join.c) ----------------------------------- */

/* By what was said, not by what it resolves to: many hosts know their own
 * name as 127.0.1.1, and listen to others all the same. */
bool jd__coordination_says_loopback(const char *address,
                                    const struct jd_endpoints *endpoints);

/* Listens at the port of the address, on coordinator_bind_address where that
 * is said; origin is what said the address. */
jd_status jd__coordination_listen(const struct jd_coordination_spec *spec,
                                  const char *address, const char *origin,
                                  const struct jd_endpoints *endpoints,
                                  struct jd_listeners *ret_listeners);

/* ---- the two ways ------------------------------------------------------- */

jd_status jd__coordination_meet_by_mpi(struct jd_coordination *coordination,
                                       const struct jd_coordination_spec *spec);
jd_status
jd__coordination_meet_by_address(struct jd_coordination *coordination,
                                 const struct jd_coordination_spec *spec);

/* ---- what comes from the service (session.c) ---------------------------- */

void jd__coordination_on_push(void *coordination, const Jd__Message *message);
void jd__coordination_on_lost(void *coordination, const char *why);

#endif
