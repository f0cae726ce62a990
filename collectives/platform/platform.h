/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * platform.h - a kind of device, as one const table of functions: what it
 * finds in this process, and how its devices communicate.
 *
 *     const struct jd_platform *cpu = jd__platform_find("cpu");
 *     cpu->comm_create(&spec, &comm);
 *     cpu->all_reduce(comm, &call, JD_REDUCE_SUM);
 *
 * Arguments are checked above (collectives/api/checks.c); a platform sees valid
 * ones.
 */
#ifndef COLLECTIVES_PLATFORM_PLATFORM_H
#define COLLECTIVES_PLATFORM_PLATFORM_H

#include "base/status.h"
#include "collectives/check/signature.h"
#include "collectives/kernels/nest.h"
#include "collectives/kernels/reduce.h"
#include "collectives/platform/nccl_options.h"
#include "jd_collectives.h"
#include "jd_device.h"
#include "jd_dtype.h"
#include "runtime/process/runtime.h"
#include "runtime/topology/device_source.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One device's end of the communicator of an ordered set of devices. */
struct jd_comm;

/* Where a shard's work is queued, on a platform whose calls return before they
 * are done; the platform's own. */
struct jd_stream;

/* All but the runtime is copied where it is kept: a communicator outlives the
 * mesh that had it made, where others use it. */
struct jd_comm_spec {
    const struct jd_runtime *runtime; /* outlives the communicator's use */
    const jd_device *const *members;  /* in order */
    int size;
    int index;             /* this end's device among them */
    const char *axes;      /* for sentences: "\"data\"" */
    const char *detail;    /* " over axis \"data\"" */
    const char *operation; /* the call that needs it first */
    bool is_started;       /* for calls that were started (mesh/started.h) */

    /* The same on all members; nothing where the platform has no NCCL. */
    struct jd_nccl_options nccl;

    uint64_t
        recorded; /* the recorder's number of it, the same on all members */

    /* Becomes true where comm_create is to wait no longer, and return
     * ABORTED; only looked at in there. NULL: nobody says so. */
    const atomic_bool *is_cancelled;
};

/* One collective of one member. */
struct jd_collective {
    enum jd_activity activity; /* which public function, for the others */
    const char *detail;        /* " over axis \"data\"", for sentences */
    const void *in;
    void *out;
    size_t count; /* elements; which ones, each function below says */
    jd_dtype dtype;
    jd_dtype said; /* as the program calls the type, where elements travel as
                    * another; else 0 */
    uint64_t rest; /* of a barrier, of an all_gather and of a transfer: what
                    * else is compared, in place of its rows; else 0
                    * (jd_signature.digest) */
    struct jd_stream *stream; /* the shard's; NULL where there are none */
    const struct jd_permute *permute; /* of a permutation, for sentences */
    const int64_t *counts; /* of jd_ragged_all_gather, for sentences */
    bool is_internal; /* what jd tells: its place is not compared */
};

/* The type that the others, the recorder and sentences hear of. */
static inline jd_dtype jd__collective_dtype(const struct jd_collective *call)
{
    return call->said ? call->said : call->dtype;
}

/*
 * Where an all_to_all's pieces are, in elements. The piece for member j is
 * `rows` rows of `width` elements; its first element is in[j * in_step], its
 * rows are in_pitch apart. The piece from member i goes to out[i * out_step],
 * with rows out_pitch apart. call->count is rows * width. The same on all
 * members.
 */
struct jd_pieces {
    size_t rows, width;
    size_t in_step, in_pitch;
    size_t out_step, out_pitch;
    uint64_t rest; /* jd_signature.digest */
};

/* What a producer gives a consumer in one piece, in rows: from where in its in,
 * and to where in the other's out. */
struct jd_ragged_entry {
    int64_t from, size, to;
};

/*
 * What a ragged_all_to_all moves, in rows of call->count elements: from
 * in[input_offsets[k]] send_sizes[k] rows go to member k / per_member, to its
 * out[output_offsets[k]]; recv_sizes[k] rows come from member k / per_member.
 * Arrays have per_member entries for each member.
 */
struct jd_ragged {
    const int64_t *input_offsets;
    const int64_t *send_sizes;
    const int64_t *output_offsets;
    const int64_t *recv_sizes;
    int per_member;
    size_t in_rows, out_rows; /* the buffers' lengths */
    uint64_t rest;            /* jd_signature.digest */

    /* Where rest stands for all members' sizes: what comes to this one, in the
     * order of the arrays, with from 0; nobody is told. Else NULL. */
    const struct jd_ragged_entry *known;
};

/* A permutation as this member sees it: where its in goes and whose in comes;
 * -1: nowhere, nobody. digest is of the whole list, the same on all; the list
 * itself is only looked at where they differ. */
struct jd_permute {
    int to, from;
    bool keeps; /* where nothing comes, out stays as it is */
    int num_routes; /* 0: the digest says all */
    const jd_route *routes;
    uint64_t digest;
};

/* One of a group; the transfers of a list are in the order of their tags.
 * call.activity is JD_ACTIVITY_SEND, from call.in, or
 * JD_ACTIVITY_RECV or _RECV_ANY_SIZE, to call.out. Where the count is 0 both
 * may be NULL. */
struct jd_transfer_pair; /* transfer_pair.h */
struct jd_transfer {
    int member;
    bool sends; /* as the activity says */
    int32_t tag;
    int number; /* in the order of the calls, for sentences */
    enum jd_activity whole; /* the call that it is a part of; 0: its own */
    size_t *came; /* of a receive of call.count at most: written when what comes
                   * is known to fit; NULL: exactly so many come */
    struct jd_collective call; /* rest: what else both ends have alike */

    /* Says what differs, where rests do; NULL: they are 0. */
    void (*explain)(const struct jd_transfer_pair *pair, char *text,
                    size_t size);
    const void *context; /* explain's */
};

/* What sentences about it begin with. */
static inline enum jd_activity
jd__transfer_activity(const struct jd_transfer *transfer)
{
    return transfer->whole ? transfer->whole : transfer->call.activity;
}

/* What a list of them is called as a whole. */
static inline enum jd_activity
jd__transfers_activity(const struct jd_transfer *transfers, int count)
{
    return transfers[0].whole ? transfers[0].whole
           : count > 1        ? JD_ACTIVITY_GROUP
                              : transfers[0].call.activity;
}

/*
 * A device's memory. Threads: any.
 */
struct jd_device_memory {
    /* Gives bytes > 0 of a local device's, zeroed, as jd_device_alloc() says.
     */
    jd_status (*alloc)(const struct jd_runtime *runtime,
                       const jd_device *device, size_t bytes,
                       void **ret_memory);

    /* Gives back what alloc gave; false where it did not give this. */
    bool (*free)(void *memory);

    /* The bytes that alloc was asked for; 0 where memory is not the begin of
     * what it gave. */
    size_t (*size)(const void *memory);

    /* Whether the host can neither read nor write at the address itself. NULL:
     * it always can. */
    bool (*is_apart)(const void *memory);

    /* Copies between any two sides of which one is apart, and returns when it
     * is done. NULL where is_apart is. */
    jd_status (*copy)(void *to, const void *from, size_t bytes);

    /* The same of a box. Where stream is not NULL, and both sides are its
     * device's, it is queued there; else done, after what is queued there. NULL
     * where is_apart is. */
    jd_status (*copy_nest)(const struct jd_nest *nest,
                           struct jd_stream *stream);
};

/*
 * The streams of a platform whose collectives return when they are queued;
 * jd_collective.stream says on which. One stream, one thread at a time.
 */
struct jd_stream_table {
    /* A stream of a local device. */
    jd_status (*create)(const struct jd_runtime *runtime,
                        const jd_device *device, struct jd_stream **ret_stream);

    /* Gives it back, after what is queued; NULL is allowed. Waits with the
     * collective deadline at most, and says in the log what is not done.
     * runtime is NULL where the stream's world has ended. */
    void (*destroy)(struct jd_stream *stream, const struct jd_runtime *runtime);

    /* The platform's handle, and another in its place that the caller owns:
     * what is queued before is done before what comes after. */
    void *(*native)(const struct jd_stream *stream);
    jd_status (*use)(struct jd_stream *stream, void *native);

    /*
     * Waits until what is queued is done.
     * Returns: JD_OK; DEADLINE_EXCEEDED naming the collective that is not done
     *   and its members; ABORTED where the job or a body has failed; INTERNAL
     *   with what the platform reports.
     */
    jd_status (*synchronize)(struct jd_stream *stream, const char *operation);

    /* Whether synchronize would not wait: what is queued is done, or cannot be
     * waited for. Never waits. */
    bool (*is_idle)(struct jd_stream *stream, const char *operation);
};

/*
 * All members are mandatory but streams and has_nccl. The functions with a
 * communicator run on the thread of that end's shard, one at a time for each
 * end, on all members in the same order (transfer: on those that it concerns);
 * they wait with the collective deadline. Each begins by finding out whether
 * all members call the same: if not, all return INVALID_ARGUMENT and the
 * communicator can go on (a platform with streams finds out where
 * JD_CHECK_CALLS is set, and for ragged_all_to_all). After a failure other than
 * INVALID_ARGUMENT and RESOURCE_EXHAUSTED nothing but comm_destroy is called on
 * the communicator any more.
 */
struct jd_platform {
    /* The name, and this process's devices: called by the runtime. */
    const struct jd_device_source *source;

    const struct jd_device_memory *memory;
    const struct jd_stream_table *streams; /* NULL: calls return when done */
    bool has_nccl; /* the options of a mesh make another communicator */

    /*
     * JD_OK where the platform reduces the type by the operation; else
     * UNIMPLEMENTED naming the call, the type and what to do instead.
     * Called before a communicator is made for such a call, without
     * communication.
     */
    jd_status (*check_reduce)(const struct jd_collective *call,
                              enum jd_reduce op);

    /*
     * Makes this end, with the other members: at the first collective of a
     * device set, by each of them, several sets at a time in one process
     * (a thread each). Returns JD_OK; INVALID_ARGUMENT where the members do
     * not mean the same set; the failures of a wait.
     */
    jd_status (*comm_create)(const struct jd_comm_spec *spec,
                             struct jd_comm **ret_comm);

    /* Gives this end back; never waits; NULL is allowed. After a failure, and
     * after jd_shutdown() too. */
    void (*comm_destroy)(struct jd_comm *comm);

    /*
     * The waits of this end and of all other members on the communicator return
     * ABORTED, those that come later too. From any thread, while another may
     * be in one of the functions below; never waits; again is nothing.
     */
    void (*comm_abort)(struct jd_comm *comm);

    /*
     * The first other member of this host whose end was aborted, or gave up; -1
     * where there is none, or none is seen from here. Never waits.
     */
    int (*comm_find_failed)(const struct jd_comm *comm);

    /* Only meets. */
    jd_status (*barrier)(struct jd_comm *comm,
                         const struct jd_collective *call);

    /* out[0..count) = the members' in, reduced element by element; the same
     * bits on every member. in == out is allowed. */
    jd_status (*all_reduce)(struct jd_comm *comm,
                            const struct jd_collective *call,
                            enum jd_reduce op);

    /* Member i's out, `rows` rows of count elements, is the reduction of block
     * i: in[(row * members + i) * count ...]. out may be the member's own
     * block where rows is 1. */
    jd_status (*reduce_scatter)(struct jd_comm *comm,
                                const struct jd_collective *call,
                                enum jd_reduce op, size_t rows);

    /* out[(row * members + i) * count ...] = row of member i's in, which has
     * `rows` rows of count elements; in may be its place in out where rows is
     * 1. */
    jd_status (*all_gather)(struct jd_comm *comm,
                            const struct jd_collective *call, size_t rows);

    /* in == out is allowed where in's and out's steps and pitches agree. */
    jd_status (*all_to_all)(struct jd_comm *comm,
                            const struct jd_collective *call,
                            const struct jd_pieces *pieces);

    /* in and out have nothing in common; what nothing comes to stays. Sizes
     * that do not match the others', or that do not fit, are INVALID_ARGUMENT
     * on all members, before anything is written. */
    jd_status (*ragged_all_to_all)(struct jd_comm *comm,
                                   const struct jd_collective *call,
                                   const struct jd_ragged *ragged);

    /* out = the in of permute->from; where nothing comes zeros, or what it was
     * where permute->keeps. in == out is allowed. */
    jd_status (*permute)(struct jd_comm *comm, const struct jd_collective *call,
                         const struct jd_permute *permute);

    /* out = member source's in; in is read there alone, and may be out. */
    jd_status (*broadcast)(struct jd_comm *comm,
                           const struct jd_collective *call, int source);

    /*
     * Sends and receives of this member that proceed together. Between two
     * members they match in the order of the list and of the calls; a pair
     * whose tag, count or type differs, or of which more is sent than comes at
     * most, is INVALID_ARGUMENT on both. A member may send to itself.
     */
    jd_status (*transfer)(struct jd_comm *comm,
                          const struct jd_transfer *transfers, int count);
};

/* The platform of that name, or NULL. */
const struct jd_platform *jd__platform_find(const char *name);

/* Those that there are in this process, one after the other; NULL after the
 * last. */
const struct jd_platform *jd__platform_at(int index);

/* Waits until what is queued on the stream is done, with the collective
 * deadline; nothing where the platform has no streams. Returns: as synchronize.
 */
jd_status jd__platform_await(const struct jd_platform *platform,
                             struct jd_stream *stream, const char *operation);

/* That of libjd itself; the other is loaded (platform_module.h). */
extern const struct jd_platform jd__platform_cpu;

/* What the runtime asks of each (platform.c has the list). */
extern const struct jd_device_source jd__device_source_cpu;
extern const struct jd_device_source jd__device_source_cuda;

#endif
