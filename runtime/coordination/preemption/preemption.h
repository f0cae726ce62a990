/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preemption.h - this process's part in agreeing on the step at which all
 * stop. The signal handler only writes to an eventfd; the background thread
 * announces it (Preempted), answers the service's Preemption with the last
 * polled Step, and keeps the Decision; polls compare with it.
 *
 *     jd__preemption_start(client, "TERM", NULL);
 *     ... jd__preemption_poll(step) ...      1, 2, 3, ... by the program
 *     jd__preemption_on_notice(&notice);     by the agent, on the loop
 *     jd__preemption_on_decision(&decision);
 *     ... polls are true from the agreed step on ...
 *     jd__preemption_stop();
 *
 * A poll stores its step, then reads the state; the background thread sets the
 * state, then reads the step (both sequentially consistent): so either the
 * poll waits for the decision, or its step is in it.
 *
 * In a world of one there is no thread: the handler sets the state, and the
 * poll that sees it decides.
 */
#ifndef RUNTIME_COORDINATION_PREEMPTION_PREEMPTION_H
#define RUNTIME_COORDINATION_PREEMPTION_PREEMPTION_H

#include "base/status.h"
#include "runtime/coordination/net/wire.h"

#include <stdbool.h>

struct jd_client;
struct jd_clock;

/*
 * Begins with jd_initialize (and with a world of one that is made at a first
 * use), before the agent registers: a notice that comes earlier is lost.
 * signal_name is JD_PREEMPTION_SIGNAL: "TERM", "SIGUSR1", "10". No handler is
 * installed yet. The clock is of all that waits here; NULL: the machine's.
 * Returns JD_OK; INVALID_ARGUMENT naming the variable.
 */
jd_status jd__preemption_start(struct jd_client *client,
                               const char *signal_name,
                               const struct jd_clock *clock);

/*
 * Ends with jd_shutdown, while the loop still runs. Polls that wait return
 * false. Waits at most 30 s for a callback that runs: so it is called before
 * anything is taken away that the callback may use, and without a lock that
 * it may need. The handler, once installed, stays for the process and passes
 * the signal on. Nothing where nothing was started, and in a forked child.
 */
void jd__preemption_stop(void);

/* From the service, on the loop's thread. Rounds count from 1. A notice that
 * comes again (the connection was lost) is answered again, with the same
 * step. */
void jd__preemption_on_notice(const Jd__Preemption *notice);
void jd__preemption_on_decision(const Jd__Decision *decision);

/* Another process has failed: polls wait no longer. */
void jd__preemption_on_failure(void);

/* No handler is installed yet; false in a forked child. */
bool jd__preemption_is_unready(void);
/* There is a world, of several or of one. */
bool jd__preemption_is_started(void);
/* Installs the handler where that is not done. Returns JD_OK;
 * RESOURCE_EXHAUSTED with the sentence after "operation: ". */
jd_status jd__preemption_prepare(const char *operation);

/* True where the step is the agreed one or later. Installs the handler at its
 * first call. False where nothing was started. */
bool jd__preemption_poll(int64_t step);

/* A poll has no status to return: it says jd_error_message(), once, and the
 * signal keeps its old action. Rounds that others begin are heard
 * nevertheless. */
void jd__preemption_warn_of_failure(void);

/* The round is over for this process; the next may begin. As
 * jd_acknowledge_preemption. */
jd_status jd__preemption_acknowledge(void);

#endif
