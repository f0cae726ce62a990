/* SPDX-License-Identifier: BSD-3-Clause */
/* joining.c - how the members of a communicator make NCCL's communicator. */
#include "collectives/cuda/joining.h"
#include "base/log.h"
#include "collectives/cuda/aborting.h"
#include "collectives/cuda/errors.h"
#include "collectives/cuda/host.h"
#include "collectives/cuda/ids.h"
#include "collectives/cuda/pause.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How far a member is. */
enum progress { MAKING, MADE, FAILED };

struct joining {
    struct jd_comm *comm;
    const struct jd_comm_spec *spec;
    struct jd_cuda_member *members;
    int32_t *progress; /* of each, when all last told */
    struct jd_wait wait;
    struct jd_wait_state state;
    char detail[256]; /* the wait's */
    bool splits, is_split; /* it will be, or has begun to be */
};

/* ---- one's own end ------------------------------------------------------ */

/* The NCCL that is loaded may be older than the headers. */
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 23, 0)
#pragma weak ncclCommInitRankScalable
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 7)
#pragma weak ncclCommRevoke
#endif

#define REVOKE_VERSION 22807

/* All members have the same version. */
static bool can_revoke(const struct jd_cuda_member *member)
{
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 7)
    return ncclCommRevoke && member->nccl_version >= REVOKE_VERSION;
#else
    (void)member;
    return false;
#endif
}

/* For NCCL's own messages, and its RAS. */
static void name_comm(const struct joining *j, ncclConfig_t *config)
{
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
    config->commName = jd__cuda_nccl_comm_name(j->comm->ending);
#else
    (void)j;
    (void)config;
#endif
}

/* Where the NCCL that is loaded, or the one of the headers, lacks an option it
 * would go unheard; said once for each. */
static void warn_of_option(const struct joining *j, int option)
{
    static atomic_uint said;
    const struct jd_nccl_option_row *row = jd__nccl_options_row(option);
    int loaded = j->members[j->spec->index].nccl_version;
    int version = loaded < NCCL_VERSION_CODE ? loaded : NCCL_VERSION_CODE;
    if (version >= row->since || j->spec->index != 0 ||
        atomic_fetch_or(&said, 1U << option) >> option & 1)
        return;
    jd__log(JD_LOG_WARNING,
            "%s: %s of jd_mesh_set_nccl() has no effect: NCCL has it from "
            "%d.%d on, and %s %d.%d.%d; use a newer NCCL",
            j->spec->operation, row->name, row->since / 10000,
            row->since / 100 % 100,
            loaded < NCCL_VERSION_CODE ? "the one that is loaded is"
                                       : "jd was built with",
            version / 10000, version / 100 % 100, version % 100);
}

/* Both of NCCL's communicators. NCCL takes minCTAs with maxCTAs alone, and cuts
 * that to the most that it has. */
static void set_options(const struct joining *j, ncclConfig_t *config)
{
    const struct jd_nccl_options *options = &j->spec->nccl;
    const int32_t *values = options->values;
    for (int i = 0; i < JD_NUM_NCCL_OPTIONS; i++)
        if (jd__nccl_options_has(options, i))
            warn_of_option(j, i);
    if (jd__nccl_options_has(options, JD_NCCL_MIN_CTAS)) {
        config->minCTAs = values[JD_NCCL_MIN_CTAS];
        config->maxCTAs = INT_MAX;
    }
    if (jd__nccl_options_has(options, JD_NCCL_MAX_CTAS))
        config->maxCTAs = values[JD_NCCL_MAX_CTAS];
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 26, 0)
    if (jd__nccl_options_has(options, JD_NCCL_TRAFFIC_CLASS))
        config->trafficClass = values[JD_NCCL_TRAFFIC_CLASS];
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
    if (jd__nccl_options_has(options, JD_NCCL_CTA_POLICY))
        config->CTAPolicy = values[JD_NCCL_CTA_POLICY];
#endif
}

static ncclResult_t start_with(const struct joining *j, ncclUniqueId *ids,
                               int count)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.splitShare = j->splits;
    name_comm(j, &config);
    set_options(j, &config);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 23, 0)
    if (count > 1 && ncclCommInitRankScalable)
        return ncclCommInitRankScalable(&j->comm->comm, j->spec->size,
                                        j->spec->index, count, ids, &config);
#endif
    (void)count;
    return ncclCommInitRankConfig(&j->comm->comm, j->spec->size, ids[0],
                                  j->spec->index, &config);
}

static jd_status start_nccl(const struct joining *j)
{
    int count = jd__cuda_num_roots(j->spec->size);
    ncclUniqueId *ids = calloc((size_t)count, sizeof *ids);
    if (!ids)
        return jd__fail_no_memory(j->spec->operation,
                                  (size_t)count * sizeof *ids);
    jd__cuda_ids_of(j->members, j->spec->size, ids);
    ncclResult_t result = start_with(j, ids, count);
    free(ids);
    return jd__nccl_check(result, NULL, j->spec->operation,
                          "ncclCommInitRankConfig");
}

/* Of a communicator that is there. */
static jd_status start_split(struct joining *j)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 1;
    name_comm(j, &config);
    set_options(j, &config);
    j->is_split = true;
    ncclResult_t result =
        ncclCommSplit(j->comm->comm, 0, j->spec->index,
                      jd__cuda_nccl_comm_child(j->comm->ending), &config);
    return jd__nccl_check(result, j->comm->comm, j->spec->operation,
                          "ncclCommSplit");
}

static void take_child(struct joining *j)
{
    if (!j->splits)
        return;
    j->comm->parent = j->comm->comm;
    j->comm->comm = *jd__cuda_nccl_comm_child(j->comm->ending);
}

/* Those who were not done when all last told; if none but this one, it. */
static int find_missing(void *arg, int *processes)
{
    const struct joining *j = arg;
    int count = 0;
    for (int i = 0; i < j->spec->size; i++)
        if (j->progress[i] == MAKING && i != j->spec->index)
            processes[count++] = j->comm->processes[i];
    if (count == 0)
        processes[count++] = j->comm->processes[j->spec->index];
    return count;
}

static jd_status look_at_nccl(struct joining *j, int32_t *ret_progress)
{
    ncclResult_t result = ncclInProgress;
    jd_status status = jd__nccl_check(
        ncclCommGetAsyncError(j->comm->comm, &result), j->comm->comm,
        j->spec->operation, "ncclCommGetAsyncError");
    if (status == JD_OK && result == ncclInProgress)
        return jd__wait_look(&j->wait, &j->state, find_missing, j,
                             j->spec->size);
    if (status == JD_OK)
        status = jd__nccl_check(result, j->comm->comm, j->spec->operation,
                                j->is_split ? "ncclCommSplit"
                                            : "ncclCommInitRankConfig");
    if (status == JD_OK && j->splits && !j->is_split)
        return start_split(j);
    *ret_progress = MADE;
    return status;
}

/* ---- all together ------------------------------------------------------- */

/* How bad it is: what others make of one's failure comes after it. */
static int weight_of(int32_t status)
{
    return status == JD_OK            ? 0
           : status == JD_ABORTED     ? 1
           : status == JD_UNAVAILABLE ? 2
                                      : 3;
}

/* Tells why, hears why, and takes the first of the worst. */
static jd_status explain_failure(struct joining *j, struct jd_cuda_member *own)
{
    int culprit = 0;
    jd_status status =
        jd__cuda_tell(j->spec, j->comm->control, own, sizeof *own, j->members);
    if (status != JD_OK)
        return status;
    for (int i = 1; i < j->spec->size; i++)
        if (weight_of(j->members[i].status) >
            weight_of(j->members[culprit].status))
            culprit = i;
    return jd__cuda_members_fail(j->spec, j->members, culprit);
}

static bool has_progress(const struct joining *j, enum progress progress)
{
    for (int i = 0; i < j->spec->size; i++)
        if (j->progress[i] == (int32_t)progress)
            return true;
    return false;
}

/* Looks until all are done or one has failed; status is how it began. */
static jd_status await_join(struct joining *j, jd_status status)
{
    struct jd_cuda_member own = j->members[j->spec->index];
    int32_t progress = MAKING;
    struct jd_cuda_pace pace = jd__cuda_pace(-1);
    for (;; jd__cuda_pause(&pace)) {
        if (progress == MAKING && status == JD_OK)
            status = look_at_nccl(j, &progress);
        if (status != JD_OK && progress != FAILED) {
            progress = FAILED;
            jd__cuda_member_fail(&own, status);
        }
        jd_status told = jd__cuda_tell(j->spec, j->comm->control, &progress,
                                       sizeof progress, j->progress);
        if (told != JD_OK)
            return told;
        if (has_progress(j, FAILED))
            return explain_failure(j, &own);
        if (!has_progress(j, MAKING))
            return JD_OK;
    }
}

jd_status jd__cuda_join(struct jd_comm *comm, const struct jd_comm_spec *spec,
                        struct jd_cuda_member *members, int32_t *progress)
{
    struct joining j = {
        .comm = comm,
        .spec = spec,
        .members = members,
        .progress = progress,
        .wait = jd__runtime_wait(spec->runtime, spec->operation),
    };
    j.splits = can_revoke(&members[spec->index]);
    snprintf(j.detail, sizeof j.detail, "%s, making NCCL's communicator",
             spec->detail);
    j.wait.detail = j.detail;
    j.wait.processes = comm->processes;
    j.wait.is_cancelled = spec->is_cancelled;
    j.state = jd__wait_start(&j.wait);
    memset(progress, 0, (size_t)spec->size * sizeof *progress);
    jd_status status = await_join(&j, start_nccl(&j));
    jd__wait_end(&j.state);
    if (status == JD_OK)
        take_child(&j);
    return status;
}
