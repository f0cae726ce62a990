/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wireup.h - an MPI world without an MPI launcher: processes that have met at
 * the coordination service get a PMIx server per host, and MPI_Init joins them
 * through it.
 *
 *     status = jd__wireup_check(settings, cluster);
 *     ... jd__session_create without a world ...
 *     status = jd__wireup_enter(&spec);      the environment is the server's
 *     ... MPI_Init_thread ...
 *     jd__env_restore(env);                  and the program's again
 *
 * Threads: one; it changes the environment, so no other thread may read it.
 */
#ifndef RUNTIME_WIREUP_WIREUP_H
#define RUNTIME_WIREUP_WIREUP_H

#include "runtime/coordination/session/session.h"

/*
 * Can these processes be joined? JD_OK where count, index and coordinator
 * address are known, the MPI is Open MPI 4 or 5, and jd-pmix-server is there;
 * else UNIMPLEMENTED, or NOT_FOUND with what "jd can join them itself, but"
 * goes before; INVALID_ARGUMENT where
 * JD_TMPDIR is no absolute path.
 */
jd_status jd__wireup_check(const struct jd_settings *settings,
                           const struct jd_cluster *cluster);

struct jd_wireup_spec {
    const struct jd_settings *settings;
    const struct jd_cluster *cluster;
    const struct jd_local_facts *facts;
    struct jd_session *session; /* all have joined */
    int index, count;
    double deadline; /* a jd__clock_now() */
};

/*
 * The lowest process of each host starts the server; each process waits for
 * what the server hands out, sets it, and holds a connection to the server
 * until it ends, by which the server sees its end.
 * Returns: JD_OK; the failure of the server's start, with its host;
 *   DEADLINE_EXCEEDED naming the host whose server said nothing.
 * From here on the server's own end is this process's, and is said.
 */
jd_status jd__wireup_enter(const struct jd_wireup_spec *spec);

/* Before the session is destroyed. Nothing where none has entered. */
void jd__wireup_leave(void);

#endif
