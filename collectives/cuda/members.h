/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * members.h - what the members of a communicator tell each other before NCCL
 * makes their communicator, and what they find out from it: on every member the
 * same.
 *
 *     jd__cuda_member_describe(spec, &own);
 *     ... all members' records come together (ids.h) ...
 *     status = jd__cuda_members_check(spec, members);
 *
 * No call of CUDA or NCCL is made here. Threads: any.
 */
#ifndef COLLECTIVES_CUDA_MEMBERS_H
#define COLLECTIVES_CUDA_MEMBERS_H

#include "collectives/platform/platform.h"

enum { JD_CUDA_ID_BYTES = 128 };

/* One member's record. Bytes that are nothing are 0: it is compared and sent as
 * it is. */
struct jd_cuda_member {
    int32_t status;  /* not JD_OK: it cannot take part, and text says why */
    int32_t process; /* index */
    int32_t ordinal; /* of its device in the process */
    int32_t nccl_version; /* as ncclGetVersion has it: 22809 */
    int32_t shares;       /* JD_OVERSUBSCRIBE is set there */
    int32_t is_root;      /* id is one */
    struct jd_nccl_options nccl; /* of the mesh */
    char uuid[48];        /* of its GPU; "": not known */
    char text[512];
    unsigned char id[JD_CUDA_ID_BYTES]; /* ncclUniqueId */
};

/* The spec's member itself: all but version, id and status. */
void jd__cuda_member_describe(const struct jd_comm_spec *spec,
                              struct jd_cuda_member *ret_member);

/* It cannot take part: the thread's last sentence says why. */
void jd__cuda_member_fail(struct jd_cuda_member *member, jd_status status);

/* The failure of that one, as all members return it. */
jd_status jd__cuda_members_fail(const struct jd_comm_spec *spec,
                                const struct jd_cuda_member *members,
                                int index);

/*
 * Looks at the records of all members, the first that is wrong counting.
 * Returns: JD_OK; the status of one that cannot take part, with its sentence;
 *   FAILED_PRECONDITION naming two with different versions of NCCL;
 *   INVALID_ARGUMENT naming two whose meshes have different options of NCCL;
 *   INVALID_ARGUMENT naming two that have the same GPU, unless both are to
 *   share it.
 */
jd_status jd__cuda_members_check(const struct jd_comm_spec *spec,
                                 const struct jd_cuda_member *members);

#endif
