/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_coordination.h - what processes tell each other beside their data: a
 * key-value store, barriers with names and deadlines, who is alive, what went
 * wrong, and preemption.
 *
 *     JD_CHECK(jd_kv_set("address/3", text, strlen(text), 0));
 *     JD_CHECK(jd_kv_get("address/0", 30, &value, &size));
 *     JD_CHECK(jd_wait_at_barrier("loaded", 60, NULL, 0));
 *
 * What holds for all of them:
 * Collective: none but where said; any process at any time after
 *             jd_initialize(). In a world of one they work without a service.
 * Blocks:     a round trip to process 0, and where it waits for others, at
 *             most its timeout: seconds of millisecond grain; 0 is
 *             JD_BARRIER_TIMEOUT (600 s), negative is no deadline. Where
 *             process 0 does not answer, DEADLINE_EXCEEDED two seconds
 *             after that, or after 60 s where there is nothing to wait for.
 * Threads:    any, several at once.
 * Returns:    JD_OK; INVALID_ARGUMENT; FAILED_PRECONDITION where
 *             jd_initialize() was needed and not called; DEADLINE_EXCEEDED;
 *             UNAVAILABLE where the connection to process 0 was lost;
 *             RESOURCE_EXHAUSTED (memory, a message over JD_MAX_MESSAGE, or
 *             more than JD_MAX_STORE in the store that this process has set);
 *             and what each says.
 *
 * Keys are exact, of 1 to 4096 bytes, with "/" between the parts of a path;
 * values are any bytes. The store stands until the last process has left: a
 * process's death takes nothing away. It is all in process 0's memory, and
 * each process may have JD_MAX_STORE (256 MiB) of it: what it has set last,
 * until somebody deletes it.
 */
#ifndef JD_COORDINATION_H
#define JD_COORDINATION_H

#include "jd_status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the key-value store ------------------------------------------------ */

/* A key and its value. What jd returns has a NUL behind each value. */
typedef struct jd_kv_entry {
    const char *key;
    const void *value;
    size_t size; /* bytes of value */
} jd_kv_entry;

/*
 * Sets the key's value (copied).
 * Returns: ALREADY_EXISTS where the key is there and allow_overwrite is 0.
 * Source: DistributedRuntimeClient.key_value_set.
 */
JD_API jd_status jd_kv_set(const char *key, const void *value, size_t size,
                           int allow_overwrite);

/*
 * Waits until the key is there and gives its value, malloc'ed, with a NUL
 * behind it: free() it.
 * Returns: DEADLINE_EXCEEDED, naming the key.
 * Source: DistributedRuntimeClient.blocking_key_value_get.
 */
JD_API jd_status jd_kv_get(const char *key, double timeout, void **ret_value,
                           size_t *ret_size);

/* As jd_kv_get, without waiting. Returns: NOT_FOUND.
 * Source: DistributedRuntimeClient.key_value_try_get. */
JD_API jd_status jd_kv_try_get(const char *key, void **ret_value,
                               size_t *ret_size);

/*
 * All entries under the directory, in the order of their keys' bytes: those
 * whose key begins with "directory/"; "" has all. One block: free() it.
 * Nothing there is JD_OK with count 0 (the pointer is free()able too).
 * Source: DistributedRuntimeClient.key_value_dir_get.
 */
JD_API jd_status jd_kv_dir_get(const char *directory, jd_kv_entry **ret_entries,
                               size_t *ret_count);

/*
 * Deletes the key and all under it ("key/..."). ret_count (may be NULL) is how
 * many there were, 0 included.
 * Source: DistributedRuntimeClient.key_value_delete.
 */
JD_API jd_status jd_kv_delete(const char *key, size_t *ret_count);

/*
 * Adds to the key's value, a decimal number, and gives the sum; a key that is
 * not there counts as 0. No two processes get the same sum of the same steps.
 * Returns: FAILED_PRECONDITION where the value is no 64-bit number;
 *   OUT_OF_RANGE where the sum is none. Nothing has changed then.
 * Source: DistributedRuntimeClient.key_value_increment.
 */
JD_API jd_status jd_kv_increment(const char *key, int64_t by, int64_t *ret_sum);

/* As jd_kv_set, for many in one round trip: all or none. Returns:
 * ALREADY_EXISTS naming the first that is there; INVALID_ARGUMENT where a key
 * is there twice in the list. With allow_overwrite, where process 0 has no
 * memory left or this process has stored too much (RESOURCE_EXHAUSTED), what
 * had come in until then keeps its new value. */
JD_API jd_status jd_kv_set_many(const jd_kv_entry *entries, size_t count,
                                int allow_overwrite);

/* As jd_kv_get, for many in one round trip: waits until all are there. Gives
 * count entries in the order of the keys, one block: free() it. Returns:
 * DEADLINE_EXCEEDED naming those that are missing. */
JD_API jd_status jd_kv_get_many(const char *const *keys, size_t count,
                                double timeout, jd_kv_entry **ret_entries);

/* ---- barriers ----------------------------------------------------------- */

/*
 * Waits until all processes (process_ids NULL), or those of the list (this
 * one among them, in any order, none twice), have come to the barrier of that
 * id. An id (1 to 4096 bytes) can be used again and again. Each caller has a
 * deadline of its own; one who gives up is not counted any more, the others
 * go on waiting for it. With timeout 0, whoever waits here for a process that
 * waits for it in turn, in a collective or at another barrier, ends the job
 * when the notice is due (JD_WAIT_NOTICE).
 * Collective: the processes of the list.
 * Returns: DEADLINE_EXCEEDED naming every missing process, its host, when it
 *   was last heard and what it was doing; INVALID_ARGUMENT on all that wait
 *   where somebody comes with another list, naming it and both lists;
 *   ABORTED where a participant has died or left; CANCELLED by
 *   jd_cancel_barrier; FAILED_PRECONDITION where another thread of this
 *   process waits there already.
 * Source: DistributedRuntimeClient.wait_at_barrier.
 */
JD_API jd_status jd_wait_at_barrier(const char *id, double timeout,
                                    const int *process_ids, size_t count);

/* Ends the wait of all who wait at the barrier, with CANCELLED; any process
 * may. Returns: NOT_FOUND where nobody waits there. */
JD_API jd_status jd_cancel_barrier(const char *id);

/*
 * Waits until every living process has called this, and gives all of them the
 * same sorted list of those that live: one block, free() it. A process that
 * dies meanwhile is not waited for.
 * Collective: every living process.
 * Returns: DEADLINE_EXCEEDED naming those that live and have not called.
 * Source: DistributedRuntimeClient.get_live_nodes.
 */
JD_API jd_status jd_live_processes(double timeout, int **ret_processes,
                                   size_t *ret_count);

/* ---- failure ------------------------------------------------------------ */

/*
 * Tells all other processes that something went wrong here, which ends them
 * as this process's death would: one sentence with status and text, exit code
 * 117. This process goes on, to end as it likes; its collectives are ABORTED.
 * Blocks: at most 2.5 s, where process 0 does not answer.
 * Source: ReportErrorToService of XLA's coordination service.
 */
JD_API jd_status jd_report_error(jd_status status, const char *text);

/* What a callback hears; it stands until the callback returns. */
typedef struct jd_peer_failure {
    const int *processes; /* who failed, sorted */
    size_t num_processes;
    const char
        *text;  /* the sentence: process, host, cause, what it was doing */
    double age; /* seconds since it happened */
} jd_peer_failure;

typedef void (*jd_peer_failure_f)(const jd_peer_failure *failure, void *arg);

/*
 * Has the callback run when another process has failed, on a thread of its
 * own; the process ends with exit code 117 when it returns, at the latest
 * after JD_FAILURE_GRACE (30 s). It may use the key-value store, barriers of
 * those who live, and jd_live_processes; collectives are ABORTED from then
 * on. NULL: no callback any more. One at a time; jd_shutdown forgets it.
 */
JD_API jd_status jd_on_peer_failure(jd_peer_failure_f callback, void *arg);

/* ---- preemption --------------------------------------------------------- */

/*
 * Has the callback run when any process of the job has received
 * JD_PREEMPTION_SIGNAL (SIGTERM), on a thread of its own, once until
 * jd_acknowledge_preemption(). Installs the signal's handler, as the first
 * jd_reached_preemption_sync_point() does; the handler that was there runs
 * too. A second signal ends the process, but one that comes within a second of
 * the first is taken for a copy of it. NULL: no callback any more.
 */
JD_API jd_status jd_on_preemption(void (*callback)(void *arg), void *arg);

/*
 * The program has dealt with the preemption: polls are 0 again, and the next
 * signal begins a new round when every process has said this.
 */
JD_API jd_status jd_acknowledge_preemption(void);

#ifdef __cplusplus
}
#endif

#endif
