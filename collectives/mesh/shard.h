/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shard.h - what a shard is: one local device's place in a mesh, and for each
 * list of axes that its collectives have named, the members along them and
 * this device's end of their communicator (an axis communicator).
 *
 *     struct jd_axis_comm *axis_comm;
 *     status = jd__axis_comm_of(shard, "data", "jd_psum", &axis_comm);
 *     ... axis_comm->size, axis_comm->index ...
 *     status = jd__axis_comm_enter(axis_comm, &call, 0);
 *     status = platform->...(jd__axis_comm_handle(axis_comm), ...);
 *     status = jd__axis_comm_leave(axis_comm, JD_ACTIVITY_PSUM, status);
 *
 * Threads: one shard, one thread at a time; jd__shard_abort from any.
 */
#ifndef COLLECTIVES_MESH_SHARD_H
#define COLLECTIVES_MESH_SHARD_H

#include "collectives/mesh/comm_cache.h"
#include "collectives/mesh/mesh.h"
#include "jd_collectives.h"
#include "runtime/recorder/recorder.h"

/* The groups of jd_shard_groups(), and the one that a shard is in. */
struct jd_grouping {
    struct jd_axes axes;
    int num_groups;
    int *sizes;   /* of each group */
    int *indices; /* of the first group, then of the next ... */
    int group;
    const int *members; /* its own group's part of indices */
    int size;           /* of its own group */
    int index;          /* its place there */
};

/* What a shard remembers of its last jd_ppermute or jd_pshuffle along an axis
 * communicator: a list that comes again is not looked through again. */
struct jd_route_memory {
    struct jd_route *routes; /* room for one from each member */
    int *seen;               /* room for two numbers of each member */
    bool is_known;           /* the list is right, and the rest is of it */
    int count;
    struct jd_permute permute;
};

struct jd_axis_comm {
    struct jd_shard *shard;
    struct jd_axis_comm *next; /* of the same shard; does not change */
    char *text;                /* as calls name the axes; NULL: all */
    struct jd_axes axes;
    int size;
    int index;
    char *axes_text; /* for sentences: "\"data\"" */
    char *detail;    /* for sentences: " over axis \"data\"" */
    struct jd_cached_comm *_Atomic end; /* NULL before the first collective */
    struct jd_ring_comm *recorded;      /* in the recorder; NULL: not there */
    struct jd_route_memory routes;
};

/* Sends and receives between jd_group_begin() and jd_group_end(). */
struct jd_transfer_group {
    bool is_open;
    struct jd_axis_comm *axis_comm; /* of those in it; NULL: none yet */
    struct jd_transfer *transfers;
    int count;
    int capacity;
};

struct jd_shard {
    struct jd_mesh *mesh;
    int position;             /* its device's, row-major */
    struct jd_stream *stream; /* NULL where the platform has none; a derived
                               * shard's is that of the mesh's */
    struct jd_axis_comm *_Atomic axis_comms; /* grows at its head */
    struct jd_axis_comm *last;               /* that was named */
    struct jd_grouping *grouping;            /* NULL: a shard of the mesh */
    struct jd_shard *_Atomic derived; /* by jd_shard_groups; as axis_comms */
    struct jd_shard *next; /* derived from the same; does not change */
    struct jd_transfer_group group;
    bool is_started; /* another's twin: what was started there runs on it */
    struct jd_shard *_Atomic twin;  /* NULL: nothing was started yet */
    struct jd_started_queue *queue; /* the twin's device's */
    void *halo_memory; /* of its device, where jd_halo_exchange() packs; NULL */
    size_t halo_bytes;
};

/* INVALID_ARGUMENT that says why a process may have no shard. */
jd_status jd__shard_fail_null(const char *operation);

/*
 * The axes that text names, where the shard has collectives along them.
 * Returns: JD_OK; INVALID_ARGUMENT as jd__axes_parse, or naming the axes that
 *   the shard's groups are along. Threads: any.
 */
jd_status jd__shard_axes(const struct jd_shard *shard, const char *text,
                         const char *operation, struct jd_axes *ret_axes);

/* Its index among its members along such axes, and their number; and the place
 * in the mesh of one of them. */
int jd__shard_index(const struct jd_shard *shard, const struct jd_axes *axes);
int jd__shard_size(const struct jd_shard *shard, const struct jd_axes *axes);
int jd__shard_member(const struct jd_shard *shard, const struct jd_axes *axes,
                     int index);

/* Frees what a shard has, and the shards derived from it; gives the ends of
 * its communicators back. Not the struct. */
void jd__shard_finish(struct jd_shard *shard);

/* Makes the waits of the shard's collectives, and of those of the shards
 * derived from it, return ABORTED. Threads: any. */
void jd__shard_abort(struct jd_shard *shard);

/* ---- axis communicators ------------------------------------------------- */

/*
 * The shard's axis communicator of the axes; found by its text, and made where
 * it is new. No allocation, and no reading of the text, where it was the last
 * one's too.
 * Returns: as jd__shard_axes; RESOURCE_EXHAUSTED.
 */
jd_status jd__axis_comm_of(struct jd_shard *shard, const char *axes,
                           const char *operation,
                           struct jd_axis_comm **ret_axis_comm);

/*
 * Begins a collective: from here to jd__axis_comm_leave the thread may wait for
 * others. The first one of a device set makes its communicator. rest is what
 * the recorder keeps of the call beside its type and count: a source, rows.
 * Returns: JD_OK; ABORTED where the job, a body of jd_shard_map() or an earlier
 *   call has failed; FAILED_PRECONDITION where another thread is in a
 *   collective of the same device set; the failures of comm_create. After a
 *   failure there is nothing to leave.
 */
jd_status jd__axis_comm_enter(struct jd_axis_comm *axis_comm,
                              const struct jd_collective *call, uint64_t rest);
jd_status jd__axis_comm_leave(struct jd_axis_comm *axis_comm,
                              enum jd_activity activity, jd_status status);

/* "; process 0 is index 0 of \"data\", process 1 index 2", malloc'ed: to go
 * behind a sentence that names processes. NULL where each member's index is its
 * process's, and where there is no memory. */
char *jd__axis_comm_numbers(const struct jd_axis_comm *axis_comm);

/* Of an axis communicator that was entered. */
struct jd_comm *jd__axis_comm_handle(const struct jd_axis_comm *axis_comm);

#endif
