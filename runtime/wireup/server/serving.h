/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * serving.h - what the parts of the server share: the plan, the connection to
 * the service, and who is there. One per program, filled in before libpmix can
 * call back, and there until the program ends.
 */
#ifndef RUNTIME_WIREUP_SERVER_SERVING_H
#define RUNTIME_WIREUP_SERVER_SERVING_H

#include "runtime/wireup/server/directory.h"
#include "runtime/wireup/server/liveness.h"
#include "runtime/wireup/server/plan.h"
#include "runtime/wireup/server/store.h"

struct serving {
    const Jd__Plan *plan;
    const Jd__PlanHost *own;
    const struct directory *directory;
    const char *nspace; /* PMIx's name of the job */
    double deadline;    /* a jd__clock_now(): until all have connected */
    size_t max_message; /* JD_MAX_MESSAGE */
    int pipe_fd;        /* to the supervisor */
    struct jd_loop *loop;
    struct jd_agent *agent; /* NULL where the plan is held */
    struct liveness *liveness;
    struct jd_bytes environments; /* where the plan is held: frames */
};

#endif
