/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check_transfers.c - comparing the two ends of transfers on the host.
 *
 * Each transfer tells its other end what it is, in the order of the calls: the
 * k-th send that a member tells of is the other's k-th receive. What comes
 * before it is asked for is kept: a later transfer's.
 */
#include "collectives/cuda/check.h"
#include "collectives/cuda/comm.h"
#include "collectives/cuda/host.h"
#include "collectives/platform/transfer_pair.h"

#include <stdlib.h>
#include <string.h>

/* What one member has said of its transfers, in its order. */
struct jd_cuda_inbox {
    struct jd_cuda_transfer_desc *descs;
    int count, capacity;
};

void jd__cuda_inboxes_destroy(struct jd_cuda_inbox *inboxes, int members)
{
    for (int i = 0; inboxes && i < members; i++)
        free(inboxes[i].descs);
    free(inboxes);
}

/* A transfer of the present call. */
struct transfer_end {
    struct jd_cuda_transfer_desc mine, theirs;
    bool is_matched;
};

/* The present call. */
struct check {
    struct jd_comm *comm;
    const struct jd_transfer *transfers;
    int count;
    struct transfer_end *ends;
    struct jd_transfer *posts; /* two for each transfer */
    bool *is_refused;
    jd_status status; /* the first pair that differs */
};

/* ---- sentences ---------------------------------------------------------- */

jd_status jd__cuda_fail_pair(const struct jd_comm *comm,
                             const struct jd_transfer *own,
                             enum jd_activity activity,
                             struct jd_cuda_transfer_desc theirs)
{
    const struct jd_transfer_pair pair = {
        .own = own,
        .process = comm->processes[comm->index],
        .other = comm->processes[own->member],
        .member = comm->index,
        .count = theirs.count,
        .rest = theirs.rest,
        .dtype = theirs.dtype,
        .tag = theirs.tag,
    };
    return jd__transfer_fail_pair(&pair, activity);
}

/* ---- matching ----------------------------------------------------------- */

static void match_transfer(struct check *check, int i,
                           struct jd_cuda_transfer_desc theirs)
{
    const struct jd_transfer *transfer = &check->transfers[i];
    check->ends[i].is_matched = true;
    if (jd__cuda_transfer_descs_agree(check->ends[i].mine, theirs))
        return;
    check->is_refused[i] = true;
    if (check->status == JD_OK)
        check->status = jd__cuda_fail_pair(
            check->comm, transfer, jd__transfer_activity(transfer), theirs);
}

static bool is_other(const struct check *check, int i)
{
    return check->transfers[i].member != check->comm->index;
}

/* The first that this can be the other end of; -1: it is a later call's. */
static int find_transfer(const struct check *check, int member, bool sends)
{
    for (int i = 0; i < check->count; i++)
        if (check->transfers[i].member == member && is_other(check, i) &&
            !check->ends[i].is_matched &&
            (check->ends[i].mine.sends != 0) != sends)
            return i;
    return -1;
}

/* Takes what came early and is asked for now. */
static void match_early(struct check *check, int member)
{
    struct jd_cuda_inbox *inbox = &check->comm->inboxes[member];
    int kept = 0;
    for (int k = 0; k < inbox->count; k++) {
        struct jd_cuda_transfer_desc desc = inbox->descs[k];
        int i = find_transfer(check, member, desc.sends != 0);
        if (i >= 0)
            match_transfer(check, i, desc);
        else
            inbox->descs[kept++] = desc;
    }
    inbox->count = kept;
}

static jd_status keep_desc(struct check *check, int member,
                           struct jd_cuda_transfer_desc desc)
{
    struct jd_cuda_inbox *inbox = &check->comm->inboxes[member];
    if (inbox->count == inbox->capacity) {
        int capacity = inbox->capacity ? 2 * inbox->capacity : 16;
        size_t bytes = (size_t)capacity * sizeof *inbox->descs;
        struct jd_cuda_transfer_desc *larger = realloc(inbox->descs, bytes);
        if (!larger)
            return jd__fail_no_memory("jd_group_end", bytes);
        inbox->descs = larger;
        inbox->capacity = capacity;
    }
    inbox->descs[inbox->count++] = desc;
    return JD_OK;
}

static jd_status take_desc(struct check *check, int member,
                           struct jd_cuda_transfer_desc desc)
{
    int i = find_transfer(check, member, desc.sends != 0);
    if (i < 0)
        return keep_desc(check, member, desc);
    match_transfer(check, i, desc);
    return JD_OK;
}

/* ---- telling ------------------------------------------------------------ */

static void post_desc(struct check *check, int *num_posts, int i, bool sends)
{
    struct transfer_end *end = &check->ends[i];
    check->posts[(*num_posts)++] = (struct jd_transfer){
        .member = check->transfers[i].member,
        .sends = sends,
        .call = { .activity = sends ? JD_ACTIVITY_SEND : JD_ACTIVITY_RECV,
                  .detail = check->transfers[i].call.detail,
                  .in = sends ? &end->mine : NULL,
                  .out = sends ? NULL : &end->theirs,
                  .count = sizeof end->mine,
                  .dtype = JD_U8 },
    };
}

/* Hears once from the other end of each that is not matched. What an end hears
 * need not be its own: members tell in their order. */
static jd_status receive_descs(struct check *check, int num_posts)
{
    int first = num_posts;
    for (int i = 0; i < check->count; i++)
        if (is_other(check, i) && !check->ends[i].is_matched)
            post_desc(check, &num_posts, i, false);
    if (num_posts == 0)
        return JD_OK;
    jd_status status =
        jd__host_cpu()->transfer(check->comm->control, check->posts, num_posts);
    for (int k = first; k < num_posts && status == JD_OK; k++) {
        const struct jd_cuda_transfer_desc *desc = check->posts[k].call.out;
        status = take_desc(check, check->posts[k].member, *desc);
    }
    return status;
}

static bool are_matched(const struct check *check)
{
    for (int i = 0; i < check->count; i++)
        if (is_other(check, i) && !check->ends[i].is_matched)
            return false;
    return true;
}

static void begin_check(struct check *check)
{
    for (int i = 0; i < check->count; i++) {
        const struct jd_collective *call = &check->transfers[i].call;
        check->ends[i].mine = (struct jd_cuda_transfer_desc){
            .count = call->count,
            .dtype = (uint32_t)call->dtype,
            .tag = check->transfers[i].tag,
            .sends = check->transfers[i].sends,
            .rest = call->rest,
        };
    }
    for (int i = 0; i < check->comm->size; i++)
        match_early(check, i);
}

static jd_status compare_transfers(struct check *check)
{
    int num_posts = 0;
    begin_check(check);
    for (int i = 0; i < check->count; i++)
        if (is_other(check, i))
            post_desc(check, &num_posts, i, true);
    jd_status status = receive_descs(check, num_posts);
    while (status == JD_OK && !are_matched(check))
        status = receive_descs(check, 0);
    return status == JD_OK ? check->status : status;
}

static bool make_room(struct check *check)
{
    size_t count = (size_t)check->count, size = (size_t)check->comm->size;
    if (!check->comm->inboxes)
        check->comm->inboxes = calloc(size, sizeof *check->comm->inboxes);
    check->ends = calloc(count, sizeof *check->ends);
    check->posts = calloc(2 * count, sizeof *check->posts);
    return check->comm->inboxes && check->ends && check->posts;
}

jd_status jd__cuda_check_transfers(struct jd_comm *comm,
                                   const struct jd_transfer *transfers,
                                   int count, bool *is_refused, jd_status found)
{
    struct check check = { .comm = comm,
                           .transfers = transfers,
                           .count = count,
                           .is_refused = is_refused,
                           .status = found };
    if (!jd__options_integer(comm->runtime->settings, JD_OPTION_CHECK_CALLS))
        return found;
    jd_status status =
        make_room(&check)
            ? compare_transfers(&check)
            : jd__fail_no_memory("jd_group_end",
                                 3 * (size_t)count * sizeof *check.posts);
    free(check.ends);
    free(check.posts);
    return status;
}
