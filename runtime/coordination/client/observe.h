/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * observe.h - a look at another job: connects to its coordination service as
 * an observer, who is let in like any other but can change nothing, and asks
 * for the table of its processes, once or again and again, for a stack, or for
 * what processes have called.
 *
 *     status = jd__observe_open(env, settings, "10.0.0.1:40123", 10,
 * &observer); status = jd__observe_ask(observer, 10, &answer);
 *     ... answer->reply->rows ...
 *     jd__message__free_unpacked(answer, NULL);
 *     jd__observe_close(observer);
 */
#ifndef RUNTIME_COORDINATION_CLIENT_OBSERVE_H
#define RUNTIME_COORDINATION_CLIENT_OBSERVE_H

#include "base/options.h"
#include "runtime/coordination/net/wire.h"

struct jd_observer;

/*
 * Lets itself in; the address is not copied.
 * Blocks: at most timeout seconds to look the name up and again to be let in.
 * Returns: JD_OK; as jd__resolve_address, jd__secret_find and jd__agent_meet,
 *   with the address; RESOURCE_EXHAUSTED.
 */
jd_status jd__observe_open(const struct jd_env *env,
                           const struct jd_settings *settings,
                           const char *address, double timeout,
                           struct jd_observer **ret_observer);

/*
 * The table of now, for jd__message__free_unpacked.
 * Blocks: at most timeout seconds.
 * Returns: JD_OK; UNAVAILABLE or ABORTED where the job has ended meanwhile,
 *   DEADLINE_EXCEEDED, with the address.
 */
jd_status jd__observe_ask(struct jd_observer *observer, double timeout,
                          Jd__Message **ret_answer);

/*
 * The stacks of that process's threads, in answer->reply->text.
 * Blocks: at most timeout seconds, and two more for the service's own words.
 * Returns: as jd__observe_ask; INVALID_ARGUMENT where there is no such process,
 *   FAILED_PRECONDITION where it has gone, NOT_FOUND without a tool,
 *   PERMISSION_DENIED.
 */
jd_status jd__observe_stack(struct jd_observer *observer, int process,
                            double timeout, Jd__Message **ret_answer);

/*
 * A part of what the processes of that one's host have called: of the trace at
 * the place, from the offset on, in answer->reply->trace.
 * Blocks: at most timeout seconds, and two more for the service's own words.
 * Returns: as jd__observe_stack, but for NOT_FOUND; UNIMPLEMENTED where the
 *   process's jd, or that of process 0, is of an earlier version; ABORTED where
 *   the trace is to be read anew from offset 0; RESOURCE_EXHAUSTED where too
 * many others read.
 */
jd_status jd__observe_trace(struct jd_observer *observer, int process,
                            int place, size_t offset, double timeout,
                            Jd__Message **ret_answer);

/* NULL is nothing. */
void jd__observe_close(struct jd_observer *observer);

#endif
