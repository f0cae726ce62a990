/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loop.h - the one background thread of a process: a libevent loop that
 * blocks all signals.
 *
 *     struct jd_loop *loop;
 *     jd__loop_create("jd-coordinate", &loop);
 *     ... events are made on jd__loop_base(loop) by this thread ...
 *     jd__loop_start(loop);
 *     jd__loop_call(loop, do_something, arg);       from any thread
 *     jd__loop_run(loop, take_down, arg);           and wait for it
 *     jd__loop_destroy(loop);
 *
 * After the start only the loop's thread touches the base: others send it
 * functions. So libevent needs no locks, and nothing of it that is
 * process-wide is used (Open MPI shares the library). Functions on the loop
 * never block, never run user code and never call MPI.
 *
 * A process whose loop cannot go on is of no use to its job, and would wait
 * for ever: it says so and ends, with exit code 1. That happens to those who
 * close descriptors that are not their own.
 */
#ifndef RUNTIME_COORDINATION_NET_LOOP_H
#define RUNTIME_COORDINATION_NET_LOOP_H

#include "base/status.h"

#include <event2/event.h>
#include <stdbool.h>

struct jd_loop;
typedef void (*jd_loop_f)(void *arg);

/* Returns JD_OK; RESOURCE_EXHAUSTED naming the call that failed. */
jd_status jd__loop_create(const char *thread_name, struct jd_loop **ret_loop);

struct event_base *jd__loop_base(const struct jd_loop *loop);

/* Starts the thread. Returns JD_OK; RESOURCE_EXHAUSTED. */
jd_status jd__loop_start(struct jd_loop *loop);

/*
 * Has the loop's thread call the function soon, in the order of the calls.
 * Returns false, having done nothing, where there is no memory.
 * Threads: any; not from a signal handler.
 */
bool jd__loop_call(struct jd_loop *loop, jd_loop_f function, void *arg);

/* As jd__loop_call, and waits until it has run. Not on the loop's thread. */
bool jd__loop_run(struct jd_loop *loop, jd_loop_f function, void *arg);

/*
 * Waits until the loop has handled what this process had been sent before the
 * call, and, where it is process 0 itself that was asked, its answers: whoever
 * was kept from running for a while hears first what has come meanwhile. Not on
 * the loop's thread.
 */
void jd__loop_catch_up(struct jd_loop *loop);

/* On the loop's thread, now and then: ends the process where the loop's own
 * descriptor is closed, or is something else by now, so that nobody can wake
 * it. */
void jd__loop_check(const struct jd_loop *loop);

bool jd__loop_is_current(const struct jd_loop *loop);

/* Runs what was sent, ends the thread, frees. The events' owners have freed
 * them on the loop before. NULL is nothing. */
void jd__loop_destroy(struct jd_loop *loop);

#endif
