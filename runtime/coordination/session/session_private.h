/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_private.h - what the two ways to the service share: by MPI,
 * which carries its addresses and its secret (join_by_mpi.c), and by an address
 * that all processes know (join_by_address.c).
 */
#ifndef RUNTIME_COORDINATION_SESSION_SESSION_PRIVATE_H
#define RUNTIME_COORDINATION_SESSION_SESSION_PRIVATE_H

#include "runtime/coordination/client/agent.h"
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/client/local.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/coordination/server/sockets.h"
#include "runtime/coordination/server/speakers.h"
#include "runtime/coordination/session/session.h"

#include <sys/types.h>

struct jd_session {
    struct jd_client client;
    struct jd_server *server; /* on process 0 */
    int index, count;
    enum jd_failure_speakers speakers;
    bool keeps_service; /* MPI goes through it */
    bool has_knocked;   /* an agent of its has tried: its turn is over */
    double grace;       /* JD_FAILURE_GRACE */
};

/* ---- the parts of a start (join.c) -------------------------------------- */

/* The service on process 0, on these listeners, which are its own now. */
jd_status jd__session_start_server(struct jd_session *session,
                                   const struct jd_session_spec *spec,
                                   const struct jd_listeners *listeners);

/* Room for the files of so many connections. */
jd_status jd__session_allow_files(const struct jd_session_spec *spec);

/* The agent, for the addresses in the key; on process 0 with a connection
 * within the process. is_search is agent.h's. */
jd_status jd__session_open_agent(struct jd_session *session,
                                 const struct jd_session_spec *spec,
                                 bool is_search);

/* The agent is let in: all meet. */
jd_status jd__session_enrol(struct jd_session *session,
                            const struct jd_session_spec *spec);

/* The agent, the loop's start, the way in, and all meet. */
jd_status jd__session_join(struct jd_session *session,
                           const struct jd_session_spec *spec);

/* The same where the cluster has candidates for the address: each is tried in
 * turn, for a short while, until one lets us in (join_search.c). */
jd_status jd__session_search(struct jd_session *session,
                             const struct jd_session_spec *spec);

/* Seconds until the deadline, at most so many. */
double jd__session_remaining(const struct jd_session_spec *spec, double most);

/* ---- an address that is said (join.c) ----------------------------------- */

/* By what was said, not by what it resolves to: many hosts know their own
 * name as 127.0.1.1, and listen to others all the same. */
bool jd__session_says_loopback(const char *address,
                               const struct jd_endpoints *endpoints);

/* Listens at the port of the address, on coordinator_bind_address where that
 * is said; origin is what said the address. */
jd_status jd__session_listen(const struct jd_session_spec *spec,
                             const char *address, const char *origin,
                             const struct jd_endpoints *endpoints,
                             struct jd_listeners *ret_listeners);

/* ---- the two ways ------------------------------------------------------- */

jd_status jd__session_meet_by_mpi(struct jd_session *session,
                                  const struct jd_session_spec *spec);
jd_status jd__session_meet_by_address(struct jd_session *session,
                                      const struct jd_session_spec *spec);

/* ---- what comes from the service (session.c) ---------------------------- */

void jd__session_on_push(void *session, const Jd__Message *message);
void jd__session_on_lost(void *session, const char *why);

#endif
