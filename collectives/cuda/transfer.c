/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transfer.c - sends and receives between two members, as a group of NCCL's;
 * those to oneself are copies. NCCL matches them in the order of the calls, as
 * jd does, and does not compare counts: unless JD_CHECK_CALLS is set, a send
 * that is shorter than its receive leaves it waiting until the deadline.
 */
#include "collectives/cuda/check.h"
#include "collectives/cuda/connect.h"
#include "collectives/cuda/memory.h"
#include "collectives/cuda/stream.h"
#include "collectives/cuda/task.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One transfer of a call. */
struct posted {
    char *data;   /* on the device */
    bool is_host; /* it was given host memory, */
    size_t place; /* which is there in what is staged */
};

/* One call. */
struct transfer_group {
    struct jd_comm *comm;
    const struct jd_transfer *transfers;
    int count;
    struct jd_collective call; /* what the whole is called */
    struct jd_cuda_task task;
    struct posted *posted;
    bool *is_refused;
    size_t in_bytes, out_bytes; /* of all host buffers */
    char *in, *out;
};

static bool is_send(const struct transfer_group *group, int i)
{
    return group->transfers[i].call.activity == JD_ACTIVITY_SEND;
}

static bool is_own(const struct transfer_group *group, int i)
{
    return group->transfers[i].member == group->comm->index;
}

static size_t bytes_of(const struct transfer_group *group, int i)
{
    const struct jd_collective *call = &group->transfers[i].call;
    return call->count * jd_dtype_size(call->dtype);
}

/* ---- to oneself --------------------------------------------------------- */

/* The next one of that kind with this member itself; count where there is
 * none. */
static int next_own(const struct transfer_group *group, int i, bool sends)
{
    do
        i++;
    while (i < group->count &&
           !(is_own(group, i) && is_send(group, i) == sends));
    return i;
}

static struct jd_cuda_transfer_desc
describe_transfer(const struct transfer_group *group, int i)
{
    const struct jd_collective *call = &group->transfers[i].call;
    return (struct jd_cuda_transfer_desc){ .count = call->count,
                                           .dtype = (uint32_t)call->dtype,
                                           .tag = group->transfers[i].tag,
                                           .rest = call->rest };
}

static jd_status fail_alone(const struct transfer_group *group, int i)
{
    const struct jd_collective *call = &group->transfers[i].call;
    int self = group->comm->index;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s%s: process %d (member %d) has a %s itself without its "
                   "%s in the same group; put both between jd_group_begin and "
                   "jd_group_end",
                   jd__signature_activity_name(call->activity),
                   call->detail ? call->detail : "",
                   group->comm->processes[self], self,
                   is_send(group, i) ? "send to" : "receive from",
                   is_send(group, i) ? "receive" : "send");
}

/* As on cpu what does not fit is left out, and the first of it is told. */
static jd_status check_own(const struct transfer_group *group)
{
    int from = next_own(group, -1, true), to = next_own(group, -1, false);
    jd_status status = JD_OK;
    for (; from < group->count && to < group->count;
         from = next_own(group, from, true), to = next_own(group, to, false)) {
        struct jd_cuda_transfer_desc sent = describe_transfer(group, from),
                                     wanted = describe_transfer(group, to);
        if (jd__cuda_transfer_descs_agree(sent, wanted))
            continue;
        group->is_refused[from] = true;
        if (status == JD_OK)
            status = jd__cuda_fail_pair(group->comm, &group->transfers[from],
                                        group->transfers[from].call.activity,
                                        wanted);
    }
    int left = from < group->count ? from : to;
    return left < group->count && status == JD_OK ? fail_alone(group, left)
                                                  : status;
}

static void copy_own(struct transfer_group *group)
{
    int from = next_own(group, -1, true), to = next_own(group, -1, false);
    for (; from < group->count && to < group->count;
         from = next_own(group, from, true), to = next_own(group, to, false))
        if (!group->is_refused[from])
            jd__task_copy(&group->task, group->posted[to].data,
                          group->posted[from].data, bytes_of(group, from));
}

/* ---- host buffers -------------------------------------------------------
 *
 * Staging takes one buffer in and one out: where there are several, they go
 * through one, behind each other. */

static char *given_data(const struct transfer_group *group, int i)
{
    const struct jd_collective *call = &group->transfers[i].call;
    return is_send(group, i) ? (char *)(uintptr_t)call->in : call->out;
}

/* Finds the buffers' places. */
static void find_places(struct transfer_group *group)
{
    group->in_bytes = group->out_bytes = 0;
    for (int i = 0; i < group->count; i++) {
        struct posted *posted = &group->posted[i];
        size_t bytes = bytes_of(group, i);
        size_t *end = is_send(group, i) ? &group->in_bytes : &group->out_bytes;
        posted->data = given_data(group, i);
        posted->place = *end;
        posted->is_host = bytes > 0 && !jd__cuda_is_device_pointer(
                                           posted->data, group->comm->native);
        if (posted->is_host)
            *end += jd__cuda_align(bytes);
    }
}

/* Another GPU's memory counts as the host's here, and cannot be touched. */
static jd_status copy_host(char *to, const char *from, size_t bytes)
{
    if (jd__cuda_locate(to).is_apart || jd__cuda_locate(from).is_apart)
        return jd__cuda_copy(to, from, bytes);
    memcpy(to, from, bytes);
    return JD_OK;
}

/* Between the host buffers that are sent, or received, and what is staged. */
static jd_status copy_all(const struct transfer_group *group, bool sends)
{
    jd_status status = JD_OK;
    for (int i = 0; i < group->count && status == JD_OK; i++) {
        char *staged =
            (sends ? group->in : group->out) + group->posted[i].place;
        if (!group->posted[i].is_host || is_send(group, i) != sends ||
            group->is_refused[i])
            continue;
        status =
            sends ? copy_host(staged, given_data(group, i), bytes_of(group, i))
                  : copy_host(given_data(group, i), staged, bytes_of(group, i));
    }
    return status;
}

static void set_data(struct transfer_group *group)
{
    char *in = (char *)(uintptr_t)group->task.call->in;
    char *out = group->task.call->out;
    for (int i = 0; i < group->count; i++)
        if (group->posted[i].is_host)
            group->posted[i].data =
                (is_send(group, i) ? in : out) + group->posted[i].place;
}

/* ---- to others ---------------------------------------------------------- */

static bool is_moved(const struct transfer_group *group, int i)
{
    return !is_own(group, i) && !group->is_refused[i] && bytes_of(group, i);
}

static bool goes_any(const struct transfer_group *group)
{
    for (int i = 0; i < group->count; i++)
        if (is_moved(group, i))
            return true;
    return false;
}

static void want_members(const struct transfer_group *group)
{
    for (int i = 0; i < group->count; i++)
        if (is_moved(group, i))
            jd__connect_want(group->comm, group->transfers[i].member);
}

static void move_transfers(struct transfer_group *group)
{
    struct jd_cuda_task *task = &group->task;
    if (!goes_any(group))
        return;
    want_members(group);
    jd__connect(task);
    if (!jd__task_group_begin(task))
        return;
    for (int i = 0; i < group->count; i++) {
        if (!is_moved(group, i))
            continue;
        if (is_send(group, i))
            jd__task_send(task, group->posted[i].data, bytes_of(group, i),
                          group->transfers[i].member);
        else
            jd__task_receive(task, group->posted[i].data, bytes_of(group, i),
                             group->transfers[i].member);
    }
    jd__task_group_end(task);
}

static jd_status run_on_device(struct transfer_group *group)
{
    jd__task_begin_bare(&group->task, group->comm, &group->call);
    jd__task_is_transfer(&group->task);
    copy_own(group);
    move_transfers(group);
    return jd__task_end(&group->task);
}

/* A graph that is captured waits for nothing: staging says that of the buffer
 * that was given. */
static jd_status check_capture(const struct transfer_group *group)
{
    struct jd_staged staged;
    for (int i = 0; i < group->count; i++)
        if (group->posted[i].is_host)
            return jd__cuda_stage(&group->transfers[i].call,
                                  is_send(group, i) ? bytes_of(group, i) : 0,
                                  is_send(group, i) ? 0 : bytes_of(group, i),
                                  false, &staged);
    return JD_OK;
}

static jd_status run_staged(struct transfer_group *group)
{
    size_t bytes = group->in_bytes + group->out_bytes;
    if (jd__cuda_is_capturing(group->call.stream))
        return check_capture(group);
    char *memory = malloc(bytes);
    if (!memory)
        return jd__fail_no_memory(
            jd__signature_activity_name(group->call.activity), bytes);
    group->call.in = group->in = memory;
    group->call.out = group->out = memory + group->in_bytes;
    jd_status status = copy_all(group, true);
    if (status == JD_OK) {
        jd__task_begin(&group->task, group->comm, &group->call, group->in_bytes,
                       group->out_bytes, false);
        jd__task_is_transfer(&group->task);
        set_data(group);
        copy_own(group);
        move_transfers(group);
        status = jd__task_end(&group->task);
    }
    if (status == JD_OK)
        status = copy_all(group, false);
    free(memory);
    return status;
}

/* What both ends know not to fit is left out, and the rest proceeds. */
static jd_status run_transfers(struct transfer_group *group)
{
    jd_status own = check_own(group);
    jd_status checked = jd__cuda_check_transfers(
        group->comm, group->transfers, group->count, group->is_refused, own);
    if (checked != JD_OK && checked != JD_INVALID_ARGUMENT)
        return checked;
    find_places(group);
    jd_status status = group->in_bytes || group->out_bytes
                           ? run_staged(group)
                           : run_on_device(group);
    return status == JD_OK ? checked : status;
}

enum { FEW = 8 };

jd_status jd__cuda_transfer(struct jd_comm *comm,
                            const struct jd_transfer *transfers, int count)
{
    struct posted few[FEW];
    bool few_refused[FEW] = { false };
    struct transfer_group group = { .comm = comm,
                                    .transfers = transfers,
                                    .count = count,
                                    .call = transfers[0].call,
                                    .posted = few,
                                    .is_refused = few_refused };
    group.call.activity = jd__transfers_activity(transfers, count);
    if (count > FEW) {
        group.posted = malloc((size_t)count * sizeof *group.posted);
        group.is_refused = calloc((size_t)count, sizeof *group.is_refused);
    }
    jd_status status =
        group.posted && group.is_refused
            ? run_transfers(&group)
            : jd__fail_no_memory(
                  jd__signature_activity_name(group.call.activity),
                  (size_t)count * sizeof *group.posted);
    if (count > FEW) {
        free(group.posted);
        free(group.is_refused);
    }
    return status;
}
