/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * channel.h - messages between the members of an ordered set of processes, by
 * MPI, each wait with a deadline and the names of those who are missing.
 *
 *     jd__channel_start_receive(group, i, in, bytes, &requests[0], &ends[0]);
 *     jd__channel_start_send(group, j, out, bytes, &requests[1], &ends[1]);
 *     status = jd__channel_wait_for(group, requests, ends, 2, NULL);
 *
 * Everything travels as bytes on jd's one communicator, under a tag of the
 * group's own, or a tag for each pair of members' numbers: making a
 * group needs no MPI call that could wait for a missing process, and destroying
 * one needs none at all. A group of one makes no MPI call whatsoever. Members
 * are numbered 0..size-1 in the group's order.
 *
 * A step that fails leaves messages under way: the group cannot be used again
 * (jd__channel_destroy then keeps the memory that MPI may still touch).
 * Threads: one group, one thread at a time; several groups at once.
 */
#ifndef COLLECTIVES_CHANNEL_CHANNEL_H
#define COLLECTIVES_CHANNEL_CHANNEL_H

#include "base/status.h"
#include "collectives/check/signature.h"
#include "runtime/process/runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jd_channel;

/* Who; copied by jd__channel_create. */
struct jd_channel_spec {
    const struct jd_runtime *runtime; /* must outlive the group's use */
    const int *processes; /* one per member; with one tag, each one once */
    int size;
    int index; /* this end's place among them */
    int tag;   /* nobody else uses it between the same processes */

    /* Instead, where first_tags is not NULL: a message to member i has the tag
     * first_tags[i] and, where members have numbers, the sender's. The arrays,
     * processes among them, then stay the caller's until the channel is
     * destroyed. */
    const int *first_tags;
    const int *numbers; /* NULL: all 0 */

    bool names_members; /* sentences do, as processes have several */
};

/* Those members of a channel who do something together, in an order of their
 * own; all where members is NULL. */
struct jd_parties {
    const int *members;
    int count;
    int self; /* this end's place among them */
};

/* Tags that are not agreed upon; 0 is lock.c's. */
enum {
    JD_TAG_PROCESSES = 2, /* all processes: the multihost utilities */
    JD_TAG_ARRAYS = 3,    /* those of a sharding: the calls on arrays */
    JD_TAG_FIRST_COMM = 16,
};

/* The largest single message; longer data goes in pieces. */
#define JD_GROUP_MAX_MESSAGE ((size_t)1 << 30)

/* How long a piece is: what stays in the caches. */
#define JD_GROUP_PIECE ((size_t)1 << 20)

/*
 * What goes by TCP at once, with MPI's header: of more, Open MPI sends the
 * beginning and asks the receiver for the rest, and each piece then costs a
 * way to the other host and back. Measured, psum of 1 MiB between two hosts,
 * 2 processes on each: 0.65 ms in pieces of 60 KiB, 1.00 of 96, 1.12 of 256.
 */
#define JD_GROUP_EAGER ((size_t)62 << 10)

/* Returns JD_OK; RESOURCE_EXHAUSTED naming operation. */
jd_status jd__channel_create(const struct jd_channel_spec *spec,
                             const char *operation,
                             struct jd_channel **ret_group);
void jd__channel_destroy(struct jd_channel *channel);

/* A failure leaves messages under way: the group's memory is kept. Returns
 * status. */
jd_status jd__channel_note(struct jd_channel *channel, jd_status status);

/* Whether a step has failed: then a message may still come with its tags. */
bool jd__channel_has_failed(const struct jd_channel *channel);

int jd__channel_size(const struct jd_channel *channel);
int jd__channel_index(const struct jd_channel *channel);
int jd__channel_process(const struct jd_channel *channel, int member);
/* Of a request that is null. */
struct jd_wait_end jd__channel_end(const struct jd_channel *channel,
                                   int member);

/* Of the processes in the order of the members. */
uint64_t jd__channel_digest(struct jd_channel *channel);

/* All members in their order; and the member that is party i. */
struct jd_parties jd__channel_parties(const struct jd_channel *channel);
int jd__channel_party(const struct jd_parties *parties, int i);

const struct jd_runtime *jd__channel_runtime(const struct jd_channel *channel);

/* What the next waits are for; both must stay until the next call of this.
 * detail (or NULL) follows the operation in sentences. */
void jd__channel_begin(struct jd_channel *channel, const char *operation,
                       const char *detail);
/* Waits end with ABORTED once it is true; NULL: never. */
void jd__channel_set_cancel(struct jd_channel *channel,
                            const atomic_bool *is_cancelled);

/* What the next waits have in common, for what a group's user sets of it:
 * begin, on_missing, behind. */
struct jd_wait *jd__channel_next_wait(struct jd_channel *channel);

/* The operation that jd__channel_begin was given. */
const char *jd__channel_operation(const struct jd_channel *channel);

/* How long data is cut: JD_GROUP_PIECE unless a test sets another length. All
 * members must have the same. */
size_t jd__channel_piece(const struct jd_channel *channel);
void jd__channel_set_piece(struct jd_channel *channel, size_t bytes);

/* A member, and what is sent to it or comes from it. */
struct jd_message_end {
    int member;
    void *data;
    size_t bytes;
};

/*
 * Starts one message, at most JD_GROUP_MAX_MESSAGE bytes: any number of them,
 * in the order of the calls where they go the same way. Returns: JD_OK;
 * INTERNAL when MPI fails.
 */
jd_status jd__channel_start_receive(struct jd_channel *channel, int member,
                                    void *data, size_t bytes,
                                    MPI_Request *ret_request,
                                    struct jd_wait_end *ret_end);
jd_status jd__channel_start_send(struct jd_channel *channel, int member,
                                 const void *data, size_t bytes,
                                 MPI_Request *ret_request,
                                 struct jd_wait_end *ret_end);

/* One that comes and one that goes, as requests[0] and [1]. */
jd_status jd__channel_start_both(struct jd_channel *channel,
                                 const struct jd_message_end *from,
                                 const struct jd_message_end *to,
                                 MPI_Request *requests,
                                 struct jd_wait_end *ends);

/*
 * Waits for all of the caller's requests, or for one (ret_index: which; -1
 * where none is open). Each has its other end, a null one any. Those that are
 * done become MPI_REQUEST_NULL. ret_came: how many bytes came, as wait.h has
 * it; NULL: not asked.
 * Returns: JD_OK; DEADLINE_EXCEEDED naming the members that are missing;
 *   INTERNAL when MPI fails.
 */
jd_status jd__channel_wait_for(struct jd_channel *channel,
                               MPI_Request *requests, struct jd_wait_end *ends,
                               int count, int *ret_came);
jd_status jd__channel_wait_any(struct jd_channel *channel,
                               MPI_Request *requests, struct jd_wait_end *ends,
                               int count, int *ret_index, int *ret_came);

/*
 * At least bytes of memory, aligned for any type, that belongs to the group
 * and stays until the next call of this; NULL where there is none. Grows and
 * never shrinks.
 */
void *jd__channel_scratch(struct jd_channel *channel, size_t bytes);

/* The same, other memory: merge.c's. */
void *jd__channel_merge_scratch(struct jd_channel *channel, size_t bytes);

#endif
