/* SPDX-License-Identifier: BSD-3-Clause */
/* check.c - finding out on the host whether the members call the same. */
#include "collectives/cuda/check.h"
#include "collectives/cuda/comm.h"
#include "collectives/cuda/host.h"
#include "collectives/platform/mismatch.h"
#include "runtime/recorder/site.h"

#include <stdlib.h>

static struct jd_signature sign_call(const struct jd_collective *call,
                                     struct jd_cuda_terms terms)
{
    return (struct jd_signature){
        .activity = (uint16_t)call->activity,
        .dtype = (uint16_t)jd__collective_dtype(call),
        .site = jd__site_compared(),
        .source = terms.source,
        .status = terms.lacks_memory ? JD_RESOURCE_EXHAUSTED : JD_OK,
        .count = call->count,
        .digest = terms.digest,
    };
}

/* The control communicator compares activities itself, and names them; where
 * they differ, all its members know, and gather once more, as something else:
 * what they call is of other counts and types than their signatures. */
static jd_status gather_signatures(struct jd_comm *comm,
                                   const struct jd_collective *call,
                                   const struct jd_signature *own,
                                   struct jd_signature *all)
{
    struct jd_collective told = { .activity = call->activity,
                                  .is_internal = true,
                                  .detail = call->detail,
                                  .in = own,
                                  .out = all,
                                  .count = sizeof *own,
                                  .dtype = JD_U8 };
    const struct jd_platform *cpu = jd__host_cpu();
    jd_status status = cpu->all_gather(comm->control, &told, 1);
    if (status != JD_INVALID_ARGUMENT)
        return status;
    told.activity = JD_ACTIVITY_PROCESS_ALLGATHER;
    return cpu->all_gather(comm->control, &told, 1);
}

static const struct jd_signature *get_signature(const void *all, int member)
{
    return (const struct jd_signature *)all + member;
}

static jd_status fail_mismatch(const struct jd_comm *comm,
                               const struct jd_collective *call,
                               const struct jd_signature *all, int odd,
                               int other)
{
    struct jd_mismatch mismatch = {
        .platform = jd__host_cpu(),
        .comm = comm->control,
        .call = call,
        .processes = comm->processes,
        .size = comm->size,
        .index = comm->index,
        .odd = { odd, all[odd] },
        .other = { other, all[other] },
    };
    return jd__mismatch_fail(&mismatch);
}

static jd_status compare_signatures(const struct jd_comm *comm,
                                    const struct jd_collective *call,
                                    const struct jd_signature *all)
{
    const char *name = jd__signature_activity_name(call->activity);
    const char *detail = call->detail ? call->detail : "";
    int odd, other;
    if (jd__signature_find_odd(get_signature, all, comm->size, &odd, &other))
        return fail_mismatch(comm, call, all, odd, other);
    for (int i = 0; i < comm->size; i++)
        if (all[i].status != JD_OK)
            return jd_fail(JD_RESOURCE_EXHAUSTED,
                           "%s%s: process %d (member %d) has no memory for "
                           "the call",
                           name, detail, comm->processes[i], i);
    return JD_OK;
}

enum { FEW = 256 };

jd_status jd__cuda_meet(struct jd_comm *comm, const struct jd_collective *call,
                        struct jd_cuda_terms terms)
{
    struct jd_signature few[FEW], *all = few;
    struct jd_signature own = sign_call(call, terms);
    size_t bytes = (size_t)comm->size * sizeof *all;
    if (comm->size > FEW)
        all = malloc(bytes);
    if (!all)
        return jd__fail_no_memory(jd__signature_activity_name(call->activity),
                                  bytes);
    jd_status status = gather_signatures(comm, call, &own, all);
    if (status == JD_OK)
        status = compare_signatures(comm, call, all);
    if (all != few)
        free(all);
    return status;
}

jd_status jd__cuda_check_calls(struct jd_comm *comm,
                               const struct jd_collective *call,
                               struct jd_cuda_terms terms)
{
    if (!jd__options_integer(comm->runtime->settings, JD_OPTION_CHECK_CALLS))
        return JD_OK;
    return jd__cuda_meet(comm, call, terms);
}
