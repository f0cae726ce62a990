/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * runtime.h - what jd_initialize() fills in: exactly one object, from which
 * everything above takes what it needs.
 *
 *     const struct jd_runtime *runtime;
 *     status = jd__runtime_get(&runtime, "jd_mesh_create");
 */
#ifndef RUNTIME_PROCESS_RUNTIME_H
#define RUNTIME_PROCESS_RUNTIME_H

#include "autodetect/cluster.h"
#include "base/options.h"
#include "runtime/coordination/session/session.h"
#include "runtime/mpi/world.h"
#include "runtime/process/wait.h"
#include "runtime/topology/topology.h"

#include <stdint.h>

struct jd_runtime {
    uint64_t number; /* of the world in this process, never used again */
    struct jd_settings *settings;
    struct jd_cluster *cluster;
    struct jd_world world;
    struct jd_topology *topology;
    struct jd_session *session;
};

/*
 * The runtime in force. A program that never called jd_initialize() gets a
 * world of one process, made here and now, unless the launcher says that
 * there are more: then FAILED_PRECONDITION, with the operation's name and
 * what the launcher said. After jd_shutdown() the same rules hold.
 * Threads: any.
 */
jd_status jd__runtime_get(const struct jd_runtime **ret_runtime,
                          const char *operation);

/*
 * The same for what was made in the world of that number: FAILED_PRECONDITION
 * where jd_shutdown() has ended it, naming operation and thing ("the mesh"),
 * whatever came after.
 */
jd_status jd__runtime_check_world(uint64_t number, const char *operation,
                                  const char *thing);

/* Around what the program does between calls that other threads are in, a body
 * of jd_shard_map(): jd_shutdown() is refused on this thread meanwhile. They
 * may be nested. At exit there is no body any more. */
void jd__runtime_enter_body(void);
void jd__runtime_leave_body(void);

/* One more call that was started, or one less that is not done: there is no
 * shutdown meanwhile. Threads: any. */
void jd__runtime_count_started(int by);

/* jd_shutdown() wherever it is called: at exit, and before MPI_Finalize. */
jd_status jd__runtime_shut_down(void);

/* A wait of the operation with the collective deadline and the notice that
 * the settings give; the caller adds the processes of its requests. */
struct jd_wait jd__runtime_wait(const struct jd_runtime *runtime,
                                const char *operation);

#endif
