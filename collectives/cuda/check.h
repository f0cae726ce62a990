/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h - finding out on the host whether the members call the same, through
 * the control communicator, before anything is queued. NCCL itself does not:
 * members that call different things wait for each other, or get each other's
 * bytes.
 *
 * barrier and ragged_all_to_all always meet; all others do where
 * JD_CHECK_CALLS is set, because a meeting takes longer than their call.
 */
#ifndef COLLECTIVES_CUDA_CHECK_H
#define COLLECTIVES_CUDA_CHECK_H

#include "collectives/platform/platform.h"

/* What the members compare beside the call's activity, count and type. */
struct jd_cuda_terms {
    int source;        /* -1: none */
    uint64_t digest;   /* of all else */
    bool lacks_memory; /* this member only comes to say so */
};

/*
 * Meets with all members.
 * Returns: JD_OK; INVALID_ARGUMENT, the same on every member, where they do
 *   not call the same (the cpu platform's sentence); RESOURCE_EXHAUSTED, on
 *   all, where one lacks memory; the failures of a wait.
 */
jd_status jd__cuda_meet(struct jd_comm *comm, const struct jd_collective *call,
                        struct jd_cuda_terms terms);

/* The same where JD_CHECK_CALLS is set, else JD_OK. */
jd_status jd__cuda_check_calls(struct jd_comm *comm,
                               const struct jd_collective *call,
                               struct jd_cuda_terms terms);

/* What an end tells the other of its transfer. */
struct jd_cuda_transfer_desc {
    uint64_t count;
    uint32_t dtype;
    int32_t tag;
    uint64_t sends;
    uint64_t rest; /* jd_collective.rest */
};

/* Whether two ends fit together. */
static inline bool jd__cuda_transfer_descs_agree(struct jd_cuda_transfer_desc a,
                                                 struct jd_cuda_transfer_desc b)
{
    return a.count == b.count && a.dtype == b.dtype && a.tag == b.tag &&
           a.rest == b.rest;
}

/*
 * Where JD_CHECK_CALLS is set: whether each transfer with another member and
 * its other end have the same tag, count and type, when that comes to it.
 * is_refused[i] becomes true, on both ends, where they differ. A group is
 * compared whole before any of it is queued: where its other ends are several
 * calls, these may not wait for their results, as those with host buffers do.
 * Returns: found, where that is a failure that has its sentence; JD_OK;
 *   INVALID_ARGUMENT with the first pair that differs: the others proceed;
 *   RESOURCE_EXHAUSTED; the failures of a wait.
 */
jd_status jd__cuda_check_transfers(struct jd_comm *comm,
                                   const struct jd_transfer *transfers,
                                   int count, bool *is_refused,
                                   jd_status found);

/* The sentence of a pair that differs: of the transfer, and what its other end
 * says; activity is whose words it begins with. */
jd_status jd__cuda_fail_pair(const struct jd_comm *comm,
                             const struct jd_transfer *own,
                             enum jd_activity activity,
                             struct jd_cuda_transfer_desc theirs);

/* What other members' transfers have told that is not matched yet. */
struct jd_cuda_inbox;
void jd__cuda_inboxes_destroy(struct jd_cuda_inbox *inboxes, int members);

#endif
