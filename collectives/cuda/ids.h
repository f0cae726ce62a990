/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ids.h - how the members of a communicator come to NCCL's unique ids: some of
 * them, the roots, make one each, and one all_gather of the control
 * communicator brings every member's record (members.h) to every other.
 *
 *     struct jd_cuda_member *members;    (of spec->size)
 *     status = jd__cuda_ids_exchange(spec, control, JD_OK, members);
 *     jd__cuda_ids_of(members, spec->size, ids);
 *
 * There is one root up to 256 members. Above, there is one for each 256 that
 * are begun, for ncclCommInitRankScalable: written by the book, and never tried
 * with so many.
 */
#ifndef COLLECTIVES_CUDA_IDS_H
#define COLLECTIVES_CUDA_IDS_H

#include "collectives/cuda/members.h"

#include <nccl.h>

/* How many roots there are, and whether the member is one. */
int jd__cuda_num_roots(int size);
bool jd__cuda_is_root(int member, int size);

/*
 * status is how this member comes; where that is a failure, the thread's last
 * sentence says why. Collective: all members. Blocks: until all have come, with
 * the control communicator's deadline. Returns: as jd__cuda_members_check; the
 * failures of the control communicator.
 */
jd_status jd__cuda_ids_exchange(const struct jd_comm_spec *spec,
                                struct jd_comm *control, jd_status status,
                                struct jd_cuda_member *members);

/* The roots' ids, in order, of jd__cuda_num_roots(size). */
void jd__cuda_ids_of(const struct jd_cuda_member *members, int size,
                     ncclUniqueId *ret_ids);

/*
 * One all_gather of the control communicator: bytes of each member.
 * Returns: JD_OK; its failures, with the spec's operation before.
 */
jd_status jd__cuda_tell(const struct jd_comm_spec *spec,
                        struct jd_comm *control, const void *own, size_t bytes,
                        void *all);

#endif
