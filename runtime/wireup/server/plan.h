/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.h - what the server is told by the process that starts it
 * (runtime/wireup/wireup.proto), read from standard input and looked through.
 *
 *     Jd__Plan *plan;
 *     status = plan_read(STDIN_FILENO, 10, &plan);
 *     const Jd__PlanHost *own = plan->hosts[plan->host];
 *     jd__plan__free_unpacked(plan, NULL);
 *
 * Threads: a plan is only read once it is there.
 */
#ifndef RUNTIME_WIREUP_SERVER_PLAN_H
#define RUNTIME_WIREUP_SERVER_PLAN_H

#include "base/status.h"
#include "runtime/coordination/auth/auth.h"
#include "runtime/coordination/net/addresses.h"
#include "runtime/wireup/wireup.pb-c.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * Reads one frame within timeout seconds.
 * Returns: JD_OK; DEADLINE_EXCEEDED where it does not come in time;
 *   INVALID_ARGUMENT where what comes is no plan, or one that contradicts
 *   itself, with what is wrong.
 */
jd_status plan_read(int fd, double timeout, Jd__Plan **ret_plan);

enum { PLAN_NAME_SIZE = 128 };

/* The job's, the same on every host: "jd-JOB-ATTEMPT", in letters that file
 * names and regular expressions bear. */
void plan_print_name(const Jd__Plan *plan, char name[PLAN_NAME_SIZE]);

/* The host of a process, as an index into plan->hosts. */
size_t plan_host_of(const Jd__Plan *plan, uint32_t process);

/* The host's name for PMIx, where no two may be the same: a second "node" is
 * "node-1" by its index. */
void plan_print_host(FILE *out, const Jd__Plan *plan, size_t host);

/* True where process is one of the host's. */
bool plan_has_process(const Jd__PlanHost *host, uint32_t process);

/* The service's addresses and the job's secret. Returns as
 * jd__resolve_address. */
jd_status plan_endpoints(const Jd__Plan *plan,
                         struct jd_endpoints *ret_endpoints);
struct jd_auth plan_auth(const Jd__Plan *plan);

#endif
