/* SPDX-License-Identifier: BSD-3-Clause */
/* ids.c - how the members of a communicator come to NCCL's unique ids. */
#include "collectives/cuda/ids.h"
#include "collectives/cuda/errors.h"
#include "collectives/cuda/host.h"

#include <string.h>

#ifndef JD_CUDA_MEMBERS_OF_A_ROOT
#define JD_CUDA_MEMBERS_OF_A_ROOT 256 /* tests have less */
#endif

_Static_assert(sizeof(ncclUniqueId) == JD_CUDA_ID_BYTES,
               "a record has room for one id");

/* ---- roots -------------------------------------------------------------- */

int jd__cuda_num_roots(int size)
{
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 23, 0)
    return (size + JD_CUDA_MEMBERS_OF_A_ROOT - 1) / JD_CUDA_MEMBERS_OF_A_ROOT;
#else
    (void)size;
    return 1;
#endif
}

/* Root number i is the first member of the i-th of as many even parts. */
bool jd__cuda_is_root(int member, int size)
{
    int64_t roots = jd__cuda_num_roots(size);
    int64_t number = (member * roots + size - 1) / size;
    return number < roots && number * size / roots == member;
}

void jd__cuda_ids_of(const struct jd_cuda_member *members, int size,
                     ncclUniqueId *ret_ids)
{
    int found = 0, roots = jd__cuda_num_roots(size);
    for (int i = 0; i < size && found < roots; i++)
        if (members[i].is_root)
            memcpy(&ret_ids[found++], members[i].id, sizeof *ret_ids);
}

/* ---- the exchange ------------------------------------------------------- */

static jd_status get_version(struct jd_cuda_member *member,
                             const char *operation)
{
    int version = 0;
    jd_status status = jd__nccl_check(ncclGetVersion(&version), NULL, operation,
                                      "ncclGetVersion");
    member->nccl_version = version;
    return status;
}

static jd_status make_id(struct jd_cuda_member *member, const char *operation)
{
    ncclUniqueId id;
    jd_status status = jd__nccl_check(ncclGetUniqueId(&id), NULL, operation,
                                      "ncclGetUniqueId");
    if (status == JD_OK)
        memcpy(member->id, &id, sizeof id);
    return status;
}

/* A member that has failed comes all the same, to say so. */
static void make_own(const struct jd_comm_spec *spec, jd_status status,
                     struct jd_cuda_member *ret_own)
{
    jd__cuda_member_describe(spec, ret_own);
    ret_own->is_root = jd__cuda_is_root(spec->index, spec->size);
    if (status == JD_OK)
        status = get_version(ret_own, spec->operation);
    if (status == JD_OK && ret_own->is_root)
        status = make_id(ret_own, spec->operation);
    if (status != JD_OK)
        jd__cuda_member_fail(ret_own, status);
}

jd_status jd__cuda_tell(const struct jd_comm_spec *spec,
                        struct jd_comm *control, const void *own, size_t bytes,
                        void *all)
{
    struct jd_collective call = {
        .activity = JD_ACTIVITY_COMMUNICATOR,
        .is_internal = true,
        .detail = spec->detail,
        .in = own,
        .out = all,
        .count = bytes,
        .dtype = JD_U8,
    };
    jd_status status = jd__host_cpu()->all_gather(control, &call, 1);
    return status == JD_OK ? JD_OK
                           : jd__fail_prefix(status, "%s: ", spec->operation);
}

jd_status jd__cuda_ids_exchange(const struct jd_comm_spec *spec,
                                struct jd_comm *control, jd_status status,
                                struct jd_cuda_member *members)
{
    struct jd_cuda_member own;
    make_own(spec, status, &own);
    status = jd__cuda_tell(spec, control, &own, sizeof own, members);
    if (status == JD_OK)
        status = jd__cuda_members_check(spec, members);
    return status;
}
