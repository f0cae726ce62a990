/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * started.h - calls that were started, and go on beside the program.
 *
 *     struct jd_started_call call = { .run = run_psum, .axes = axes,
 *                                     .args = &args, .bytes = sizeof args };
 *     status = jd__started_begin(shard, "jd_psum_start", &call, ret_request);
 *     ...
 *     status = jd_wait(&request);
 *
 * A device has one queue of them, in the order in which they were started, and
 * a thread that runs them one by one; who waits for one that nobody runs yet
 * runs it, and those before it, itself. So they go on while the program
 * computes, or is in another call of jd, and one that is waited for at once
 * costs no change of threads. They run on the shard's twin: the same place of
 * the same mesh, with communicators of its own, so that what is started and
 * what is not need no order between them. Where there can be no thread, a call
 * is done when it was started: who waits for it may be in any other call.
 *
 * Where calls are queued on a stream it is the stream that goes on: they run at
 * once, on the shard itself.
 *
 * Waits end because the calls themselves have deadlines, and end when a peer is
 * dead. Threads: any; what is started for one device, one at a time.
 */
#ifndef COLLECTIVES_MESH_STARTED_H
#define COLLECTIVES_MESH_STARTED_H

#include "jd_overlap.h"

#include <stddef.h>

struct jd_started_call {
    /* Makes the call, as its blocking form does. */
    jd_status (*run)(jd_shard *shard, const char *axes, void *args);
    void (*drop)(void *args); /* gives what args has back; NULL: nothing */
    const char *axes;         /* copied; NULL: all */
    const void *args;         /* bytes of them, copied */
    size_t bytes;
};

/*
 * Puts a call at the end of its device's queue. Where it fails the call was not
 * started, and args is still the caller's.
 * Returns: JD_OK; INVALID_ARGUMENT for a NULL shard or ret_request;
 *   FAILED_PRECONDITION for a shard from before jd_shutdown();
 *   RESOURCE_EXHAUSTED.
 */
jd_status jd__started_begin(jd_shard *shard, const char *operation,
                            const struct jd_started_call *call,
                            jd_request **ret_request);

/* Runs what is still queued for the shard's mesh, and gives back the twin that
 * the shard may have. */
void jd__started_finish(jd_shard *shard);

#endif
