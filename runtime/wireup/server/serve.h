/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * serve.h - the server from its start to its end: it connects, serves, and ends
 * when its processes are gone.
 */
#ifndef RUNTIME_WIREUP_SERVER_SERVE_H
#define RUNTIME_WIREUP_SERVER_SERVE_H

#include "runtime/wireup/server/directory.h"
#include "runtime/wireup/server/plan.h"

/*
 * Serves until nobody of the host is there any more; where the job fails, who
 * is still there LIVENESS_GRACE_SECONDS later is ended with SIGKILL. Who comes
 * and goes is written to pipe_fd (struct liveness_note). Where the plan is held
 * it serves until the end of standard input, and ends nobody. on_ready is
 * called when every process has been handed out what it needs, with the
 * environments that the starter is to have, and gives up standard input.
 * Blocks: as long as the processes live. Returns JD_OK; where it could not
 * begin, why: then nobody was served.
 */
jd_status serve(const Jd__Plan *plan, const struct directory *directory,
                int pipe_fd,
                void (*on_ready)(const struct jd_bytes *environments));

#endif
