/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * comm.h - one device's end of a communicator on the cuda platform: an NCCL
 * communicator of its own, and a communicator of the cpu platform of the same
 * members, through which they meet on the host (the control communicator).
 *
 * Making one (comm.c):
 *   1. The control communicator is made, as on cpu: who is missing is named
 * there.
 *   2. One all_gather of it carries each member's record (ids.h): process,
 *      device, UUID, NCCL's version, the mesh's options of NCCL and, of the
 *      roots, a unique id. A GPU that is there twice is named, with both
 *      processes, before NCCL sees it, and so are options that differ.
 *   3. ncclCommInitRankConfig, non-blocking, polled with the deadline, and
 *      from it, as a child that shares its connections, ncclCommSplit of one
 *      that blocks (joining.h).
 * One of a single member has no communicator of NCCL: all its calls are copies.
 *
 * Calls are queued by the child: of one that does not block NCCL makes a thread
 * for each call. What the child's calls wait for inside NCCL, where no deadline
 * is, is looked at by a thread (late_calls.h), and ends by ncclCommRevoke. What
 * is known to wait, the first transfer of two members, which connects them, is
 * the parent's. An NCCL that cannot revoke (before 2.28.7) has no child, and
 * the one communicator has all calls.
 *
 * Failure: NCCL hears of a failing member from the network between hosts alone.
 * Inside a host its kernels spin on, and so the member aborts its control
 * communicator too, where the others' waits look.
 * An end is aborted on a helper thread (aborting.h), because ncclCommAbort may
 * hang itself. It may happen at any time, and so each use of
 * the communicator is between two calls:
 *
 *     status = jd__cuda_comm_enter(comm, call, &use);
 *     if (status == JD_OK)
 *         status = jd__cuda_comm_settle(comm, &use,
 *                                       ncclAllReduce(..., use.nccl, ...),
 *                                       "ncclAllReduce");
 */
#ifndef COLLECTIVES_CUDA_COMM_H
#define COLLECTIVES_CUDA_COMM_H

#include "collectives/cuda/late_calls.h"
#include "collectives/platform/platform.h"
#include "runtime/process/wait.h"

#include <nccl.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A call of the communicator's that waits inside NCCL. */
struct jd_cuda_late {
    struct jd_late_caller caller;
    const struct jd_collective *call;
    /* The looking thread's, while it looks; then the call's: */
    struct jd_wait wait;
    struct jd_wait_state state;
    double failed_since;
    jd_status status; /* why it was ended; JD_OK: it was not */
    char *text;       /* the same as a sentence */
};

/* The cpu platform's struct of the same name is another one: control is only
 * handed to jd__host_cpu()'s functions. */
struct jd_comm {
    const struct jd_runtime *runtime;
    int size;
    int index;
    int *processes; /* of each member */
    uint64_t recorded; /* the recorder's number of it */
    const jd_device *device;
    int native; /* CUDA's number of it */
    char *detail;
    /* Used between enter and settle alone. */
    ncclComm_t comm;          /* of one: NULL */
    ncclComm_t parent;        /* NULL: comm does not block, and has all calls */
    struct jd_cuda_late late; /* where there is a parent */
    struct jd_comm *control;
    struct jd_cuda_local_meet *local; /* NULL: alone in its process */
    int local_place;                  /* this member's there */
    /* connect.h's: of each member, how many are wanted, and whether all are
     * there. */
    unsigned char *connections;
    int num_wanted;
    bool is_connected;
    struct jd_cuda_inbox *inboxes;    /* check.h's; NULL before the first */
    struct jd_cuda_nccl_comm *ending; /* aborting.h's */
    const atomic_bool *is_aborted;    /* by whomever */
    bool has_failed; /* nothing but destroy comes; of the end's thread */
    atomic_bool has_heeded; /* another member failed first: it is to be named */
};

jd_status jd__cuda_comm_create(const struct jd_comm_spec *spec,
                               struct jd_comm **ret_comm);
void jd__cuda_comm_destroy(struct jd_comm *comm);
void jd__cuda_comm_abort(struct jd_comm *comm);
int jd__cuda_comm_find_failed(const struct jd_comm *comm);

/* A call of NCCL, or a group of them. */
struct jd_cuda_use {
    const struct jd_collective *call;
    bool connects;   /* members for the first time, which NCCL waits for */
    ncclComm_t nccl; /* enter's: with which the calls are made */
};

/*
 * Before a call of NCCL with the communicator, or a group of them.
 * Returns: JD_OK, and then settle is called once, whatever comes between;
 *   ABORTED where the communicator is aborted.
 */
jd_status jd__cuda_comm_enter(struct jd_comm *comm, struct jd_cuda_use *use);

/*
 * Leaves, and waits until the communicator has taken the call, where it does
 * not block (a call may return ncclInProgress); result is what the call
 * returned, or ncclGroupEnd.
 * Returns: JD_OK; the failures of a wait and of NCCL: then the communicator is
 *   aborted.
 */
jd_status jd__cuda_comm_settle(struct jd_comm *comm,
                               const struct jd_cuda_use *use,
                               ncclResult_t result, const char *nccl_call);

/*
 * What NCCL reports of the communicator, without waiting.
 * Returns: JD_OK; ABORTED where the communicator is aborted; UNAVAILABLE naming
 *   the other processes where NCCL has lost one; INTERNAL. Then the communicator is
 *   aborted.
 */
jd_status jd__cuda_comm_poll(struct jd_comm *comm, const char *operation);

/*
 * Whether another member of this host has failed, which NCCL does not tell:
 * half a second after it was first seen (*since, 0 at first), in which the job
 * may say why, it is this end's failure too, and the communicator is aborted.
 * Returns: JD_OK; UNAVAILABLE naming it.
 */
jd_status jd__cuda_comm_heed(struct jd_comm *comm, const char *operation,
                             double *since);

#endif
