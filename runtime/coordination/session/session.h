/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.h - this process's time with the coordination service, from its way
 * there to its leave: on process 0 the service too. What is asked of it in
 * between goes through client.h.
 *
 *     status = jd__session_create(&spec, &session);
 *     ... jd__client_call(jd__session_client(session), &call) ...
 *     status = jd__session_leave(session, timeout);
 *     jd__session_destroy(session);
 */
#ifndef RUNTIME_COORDINATION_SESSION_SESSION_H
#define RUNTIME_COORDINATION_SESSION_SESSION_H

#include "autodetect/cluster.h"
#include "base/clock.h"
#include "base/options.h"
#include "runtime/coordination/net/wire.h"
#include "runtime/mpi/world.h"
#include "runtime/topology/records.h"
#include "runtime/topology/topology.h"

struct jd_client;
struct jd_session;

/*
 * Starts the service on process 0 and the agents of all, and registers; every
 * process of the job does so. With a world, MPI tells all where the service is
 * and its secret, and the same failure comes on every process where it cannot
 * start; without one they meet at the cluster's coordinator address, with the
 * secret of jd__secret_find. deadline is a time of the clock.
 */
struct jd_session_spec {
    const struct jd_env *env;
    const struct jd_settings *settings;
    const struct jd_cluster *cluster;
    const struct jd_local_facts *facts; /* of this process */
    const struct jd_world *world;       /* NULL: there is none yet */
    const struct jd_topology *topology; /* with a world */
    int index, count;
    const struct jd_clock *clock; /* of the deadline */
    double deadline;
};
jd_status jd__session_create(const struct jd_session_spec *spec,
                             struct jd_session **ret_session);

/* A world of one. */
jd_status jd__session_create_local(const struct jd_settings *settings,
                                   struct jd_session **ret_session);

/* What asks the service; the session's own. */
struct jd_client *jd__session_client(struct jd_session *session);

/*
 * The end, in order: a barrier of all processes within the timeout, then the
 * connection closes. Returns JD_OK; ABORTED where a peer has failed or left
 * without shutting down; DEADLINE_EXCEEDED naming those who did not come. The
 * session must be destroyed in any case.
 */
jd_status jd__session_leave(struct jd_session *session, double timeout);

/*
 * What this process needs is gone: all others are told why, and this process
 * says it and ends, with the exit code of one whose peer has failed.
 * Threads: the loop's alone.
 */
void jd__session_give_up(struct jd_session *session, jd_status error,
                         const char *why);

/* MPI goes through helpers of this service: on process 0 it stays until the
 * process ends, also after jd__session_destroy. */
void jd__session_keep_service(struct jd_session *session);

/* Ends thread and sockets at once. NULL is nothing. */
void jd__session_destroy(struct jd_session *session);

#endif
