/* SPDX-License-Identifier: BSD-3-Clause */
/* check.c - finding out on the host whether the members call the same. */
#include "collectives/cuda/check.h"
#include "collectives/cuda/clique.h"
#include "collectives/cuda/host.h"
#include "collectives/platform/mismatch.h"

#include <stdlib.h>

static struct jd_signature sign(const struct jd_collective *call,
                                struct jd_cuda_terms terms)
{
    return (struct jd_signature){
        .activity = call->activity,
        .dtype = (uint32_t)call->dtype,
        .source = terms.source,
        .status = terms.lacks_memory ? JD_RESOURCE_EXHAUSTED : JD_OK,
        .count = call->count,
        .digest = terms.digest,
    };
}

/* The control clique compares activities itself, and names them; where they
 * differ, all its members know, and gather once more, as something else: what
 * they call is of other counts and types than their signatures. */
static jd_status gather(struct jd_clique *clique,
                        const struct jd_collective *call,
                        const struct jd_signature *own,
                        struct jd_signature *all)
{
    struct jd_collective told = { .activity = call->activity,
                                  .detail = call->detail,
                                  .in = own,
                                  .out = all,
                                  .count = sizeof *own,
                                  .dtype = JD_U8 };
    const struct jd_platform *cpu = jd__host_cpu();
    jd_status status = cpu->all_gather(clique->control, &told, 1);
    if (status != JD_INVALID_ARGUMENT)
        return status;
    told.activity = JD_ACTIVITY_PROCESS_ALLGATHER;
    return cpu->all_gather(clique->control, &told, 1);
}

static const struct jd_signature *get_signature(const void *all, int member)
{
    return (const struct jd_signature *)all + member;
}

static jd_status fail(const struct jd_clique *clique,
                      const struct jd_collective *call,
                      const struct jd_signature *all, int odd, int other)
{
    struct jd_mismatch mismatch = {
        .platform = jd__host_cpu(),
        .clique = clique->control,
        .call = call,
        .processes = clique->processes,
        .size = clique->size,
        .index = clique->index,
        .odd = { odd, all[odd] },
        .other = { other, all[other] },
    };
    return jd__mismatch_fail(&mismatch);
}

static jd_status compare(const struct jd_clique *clique,
                         const struct jd_collective *call,
                         const struct jd_signature *all)
{
    const char *name = jd__activity_name(call->activity);
    const char *detail = call->detail ? call->detail : "";
    int odd, other;
    if (jd__signature_find_odd(get_signature, all, clique->size, &odd, &other))
        return fail(clique, call, all, odd, other);
    for (int i = 0; i < clique->size; i++)
        if (all[i].status != JD_OK)
            return jd_fail(JD_RESOURCE_EXHAUSTED,
                           "%s%s: process %d (member %d) has no memory for "
                           "the call",
                           name, detail, clique->processes[i], i);
    return JD_OK;
}

enum { FEW = 256 };

jd_status jd__cuda_meet(struct jd_clique *clique,
                        const struct jd_collective *call,
                        struct jd_cuda_terms terms)
{
    struct jd_signature few[FEW], *all = few;
    struct jd_signature own = sign(call, terms);
    size_t bytes = (size_t)clique->size * sizeof *all;
    if (clique->size > FEW)
        all = malloc(bytes);
    if (!all)
        return jd__fail_no_memory(jd__activity_name(call->activity), bytes);
    jd_status status = gather(clique, call, &own, all);
    if (status == JD_OK)
        status = compare(clique, call, all);
    if (all != few)
        free(all);
    return status;
}

jd_status jd__cuda_check_calls(struct jd_clique *clique,
                               const struct jd_collective *call,
                               struct jd_cuda_terms terms)
{
    if (!jd__settings_integer(clique->runtime->settings, JD_OPTION_CHECK_CALLS))
        return JD_OK;
    return jd__cuda_meet(clique, call, terms);
}
