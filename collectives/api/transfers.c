/* SPDX-License-Identifier: BSD-3-Clause */
/* transfers.c - jd_send, jd_recv, jd_recv_any_size, both at once, and groups of
 * them; jd_barrier. */
#include "base/progress.h"
#include "collectives/api/checks.h"
#include "collectives/mesh/started.h"
#include "jd_collectives.h"

#include <stdlib.h>
#include <string.h>

/* One, or several, of which the call says what is recorded. */
static jd_status make_transfers(struct jd_axis_comm *axis_comm,
                                const struct jd_collective *call,
                                const struct jd_transfer *transfers, int count)
{
    jd_status status =
        jd__axis_comm_enter(axis_comm, call, (uint64_t)transfers[0].member);
    if (status != JD_OK)
        return status;
    status = axis_comm->shard->mesh->platform->transfer(
        jd__axis_comm_handle(axis_comm), transfers, count);
    return jd__axis_comm_leave(axis_comm, call->activity, status);
}

/* What is recorded of several is the first, under the name of the whole. */
static jd_status run_transfers(struct jd_axis_comm *axis_comm,
                               enum jd_activity activity,
                               const struct jd_transfer *transfers, int count)
{
    struct jd_collective call = transfers[0].call;
    call.activity = activity;
    return make_transfers(axis_comm, &call, transfers, count);
}

/* ---- groups ------------------------------------------------------------- */

static jd_status check_open(jd_shard *shard, const char *operation,
                            bool wants_open)
{
    if (!shard)
        return jd__shard_fail_null(operation);
    if (shard->group.is_open == wants_open)
        return JD_OK;
    if (wants_open)
        return jd_fail(JD_FAILED_PRECONDITION,
                       "%s: the shard has no group open; jd_group_begin() "
                       "comes first",
                       operation);
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s: the shard has a group open already; groups are not "
                   "inside each other, jd_group_end() comes first",
                   operation);
}

jd_status jd_group_begin(jd_shard *shard)
{
    jd_status status = check_open(shard, "jd_group_begin", false);
    if (status == JD_OK)
        status = jd__mesh_check_world(shard->mesh, "jd_group_begin");
    if (status != JD_OK)
        return status;
    shard->group.is_open = true;
    shard->group.axis_comm = NULL;
    shard->group.count = 0;
    return JD_OK;
}

jd_status jd_group_end(jd_shard *shard)
{
    JD_NOTE_CALLER();
    jd_status status = check_open(shard, "jd_group_end", true);
    if (status != JD_OK)
        return status;
    struct jd_transfer_group *group = &shard->group;
    group->is_open = false;
    status = jd__mesh_check_world(shard->mesh, "jd_group_end");
    if (status != JD_OK || group->count == 0)
        return status;
    return run_transfers(group->axis_comm, JD_ACTIVITY_GROUP, group->transfers,
                         group->count);
}

struct group_args {
    struct jd_transfer *transfers;
    int count;
};

/* On the twin, whose axis communicator has the same text. */
static jd_status run_group(jd_shard *shard, const char *axes, void *args)
{
    const struct group_args *group = args;
    struct jd_axis_comm *axis_comm;
    if (group->count == 0)
        return jd__mesh_check_world(shard->mesh, "jd_group_start");
    jd_status status =
        jd__axis_comm_of(shard, axes, "jd_group_start", &axis_comm);
    for (int i = 0; status == JD_OK && i < group->count; i++)
        group->transfers[i].call.detail = axis_comm->detail;
    return status == JD_OK ? run_transfers(axis_comm, JD_ACTIVITY_GROUP,
                                           group->transfers, group->count)
                           : status;
}

static void drop_group(void *args)
{
    free(((struct group_args *)args)->transfers);
}

/* The list goes with the call. */
jd_status jd_group_start(jd_shard *shard, jd_request **ret_request)
{
    JD_NOTE_CALLER();
    jd_status status = check_open(shard, "jd_group_start", true);
    if (status != JD_OK)
        return status;
    struct jd_transfer_group *group = &shard->group;
    struct group_args args = { group->transfers, group->count };
    const struct jd_started_call call = {
        .run = run_group,
        .drop = drop_group,
        .axes = group->axis_comm ? group->axis_comm->text : NULL,
        .args = &args,
        .bytes = sizeof args,
    };
    status = jd__started_begin(shard, "jd_group_start", &call, ret_request);
    if (status == JD_OK)
        *group = (struct jd_transfer_group){ .is_open = false };
    return status;
}

struct byte_range {
    uintptr_t begin, end;
};

static struct byte_range range_of(const struct jd_transfer *transfer)
{
    const struct jd_collective *call = &transfer->call;
    uintptr_t begin = (uintptr_t)(transfer->sends ? call->in : call->out);
    return (struct byte_range){ begin, begin + call->count *
                                                   jd_dtype_size(call->dtype) };
}

/* What comes in is written while the others are read or written. */
static jd_status check_apart(const struct jd_transfer_group *group,
                             const struct jd_transfer *added)
{
    struct byte_range own = range_of(added);
    for (int i = 0; i < group->count; i++) {
        const struct jd_transfer *other = &group->transfers[i];
        struct byte_range range = range_of(other);
        if ((added->sends && other->sends) || own.begin == own.end ||
            range.begin == range.end || range.end <= own.begin ||
            own.end <= range.begin)
            continue;
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: the buffer overlaps that of the group's transfer "
                       "%d (%s); what comes in has memory of its own",
                       jd__signature_activity_name(added->call.activity),
                       other->number,
                       jd__signature_activity_name(other->call.activity));
    }
    return JD_OK;
}

static jd_status check_same_span(const struct jd_transfer_group *group,
                                 const struct jd_axis_comm *axis_comm,
                                 const struct jd_transfer *added)
{
    if (!group->axis_comm || group->axis_comm == axis_comm)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: the axes are %s, and those of the group's first "
                   "transfer %s; a group is along one list of axes (NULL "
                   "reaches every device of the mesh)",
                   jd__signature_activity_name(added->call.activity),
                   axis_comm->axes_text, group->axis_comm->axes_text);
}

static jd_status grow_group(struct jd_transfer_group *group,
                            const char *operation)
{
    if (group->count < group->capacity)
        return JD_OK;
    int capacity = group->capacity ? 2 * group->capacity : 16;
    size_t bytes = (size_t)capacity * sizeof *group->transfers;
    struct jd_transfer *transfers = realloc(group->transfers, bytes);
    if (!transfers)
        return jd__fail_no_memory(operation, bytes);
    group->transfers = transfers;
    group->capacity = capacity;
    return JD_OK;
}

/* In the order of the tags, and of the calls within one: what matches in the
 * order of the list then matches by tag, on a platform without tags too. */
static void insert_transfer(struct jd_transfer_group *group,
                            const struct jd_transfer *added)
{
    int at = group->count;
    while (at > 0 && group->transfers[at - 1].tag > added->tag)
        at--;
    struct jd_transfer *place = &group->transfers[at];
    memmove(place + 1, place, (size_t)(group->count - at) * sizeof *place);
    *place = *added;
    place->number = group->count++;
}

static jd_status add_transfer(struct jd_axis_comm *axis_comm,
                              const struct jd_transfer *added)
{
    struct jd_transfer_group *group = &axis_comm->shard->group;
    jd_status status = check_same_span(group, axis_comm, added);
    if (status == JD_OK)
        status = check_apart(group, added);
    if (status == JD_OK)
        status = grow_group(group,
                            jd__signature_activity_name(added->call.activity));
    if (status != JD_OK)
        return status;
    group->axis_comm = axis_comm;
    insert_transfer(group, added);
    return JD_OK;
}

/* ---- one ---------------------------------------------------------------- */

/* Alone it would wait for its other half for ever. */
static jd_status check_not_self(const struct jd_axis_comm *axis_comm,
                                const struct jd_transfer *added)
{
    if (added->member != axis_comm->index)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: member %d is the caller itself; send and receive then "
                   "go between jd_group_begin() and jd_group_end()",
                   jd__signature_activity_name(added->call.activity),
                   added->member);
}

static jd_status check_and_transfer(jd_shard *shard, const char *axes,
                                    struct jd_transfer *added,
                                    const char *member_name)
{
    struct jd_collective *call = &added->call;
    struct jd_axis_comm *axis_comm;
    const struct jd_buffers buffers = { added->sends ? call->count : 0,
                                        added->sends ? 0 : call->count, 0, "" };
    jd_status status = jd__checks_call(shard, axes, call, 1, &axis_comm);
    if (status == JD_OK)
        status = jd__checks_member(axis_comm, call, member_name, added->member);
    if (status == JD_OK)
        status = jd__checks_buffers(call, &buffers);
    if (status != JD_OK)
        return status;
    if (shard->group.is_open)
        return add_transfer(axis_comm, added);
    status = check_not_self(axis_comm, added);
    return status == JD_OK ? make_transfers(axis_comm, call, added, 1) : status;
}

static jd_status send_to(jd_shard *shard, const char *axes, int to, int32_t tag,
                         const void *in, size_t count, jd_dtype dtype)
{
    struct jd_transfer added = { .member = to,
                                 .sends = true,
                                 .tag = tag,
                                 .call = { .activity = JD_ACTIVITY_SEND,
                                           .in = in,
                                           .count = count,
                                           .dtype = dtype } };
    return check_and_transfer(shard, axes, &added, "to");
}

static jd_status recv_from(jd_shard *shard, const char *axes, int from,
                           int32_t tag, void *out, size_t count, jd_dtype dtype)
{
    struct jd_transfer added = { .member = from,
                                 .tag = tag,
                                 .call = { .activity = JD_ACTIVITY_RECV,
                                           .out = out,
                                           .count = count,
                                           .dtype = dtype } };
    return check_and_transfer(shard, axes, &added, "from");
}

jd_status jd_send_tagged(jd_shard *shard, const char *axes, int to, int32_t tag,
                         const void *in, size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    return send_to(shard, axes, to, tag, in, count, dtype);
}

jd_status jd_recv_tagged(jd_shard *shard, const char *axes, int from,
                         int32_t tag, void *out, size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    return recv_from(shard, axes, from, tag, out, count, dtype);
}

jd_status jd_send(jd_shard *shard, const char *axes, int to, const void *in,
                  size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    return send_to(shard, axes, to, 0, in, count, dtype);
}

jd_status jd_recv(jd_shard *shard, const char *axes, int from, void *out,
                  size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    return recv_from(shard, axes, from, 0, out, count, dtype);
}

/* ---- of any size -------------------------------------------------------- */

static jd_status check_any_size(const jd_shard *shard,
                                const struct jd_transfer *added,
                                const size_t *ret_count)
{
    if (!shard)
        return jd__shard_fail_null("jd_recv_any_size");
    if (!ret_count)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_recv_any_size: ret_count is NULL; it is where the "
                       "number of elements that came is written");
    return jd__checks_cpu(shard, &added->call,
                          "send the count first, to a jd_recv() of 1, and "
                          "receive so many with a second one");
}

/* Alone it is written on success only; in a group as soon as it is known. */
jd_status jd_recv_any_size(jd_shard *shard, const char *axes, int from,
                           void *out, size_t capacity, size_t *ret_count,
                           jd_dtype dtype)
{
    JD_NOTE_CALLER();
    size_t came = 0;
    struct jd_transfer added = { .member = from,
                                 .came = &came,
                                 .call = { .activity =
                                               JD_ACTIVITY_RECV_ANY_SIZE,
                                           .out = out,
                                           .count = capacity,
                                           .dtype = dtype } };
    jd_status status = check_any_size(shard, &added, ret_count);
    if (status != JD_OK)
        return status;
    bool is_noted = shard->group.is_open;
    if (is_noted)
        added.came = ret_count;
    status = check_and_transfer(shard, axes, &added, "from");
    if (status == JD_OK && !is_noted)
        *ret_count = came;
    return status;
}

/* ---- both --------------------------------------------------------------- */

/* Where a peer is nobody the buffer is not looked at. */
enum { NOBODY = -1 };

static jd_status check_peer(const struct jd_axis_comm *axis_comm,
                            const char *name, int member)
{
    if (member >= NOBODY && member < axis_comm->size)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "jd_sendrecv: %s is %d; the members are 0 to %d, and -1 is "
                   "nobody",
                   name, member, axis_comm->size - 1);
}

/* One half of it. */
static jd_status check_half(jd_shard *shard, const char *axes,
                            struct jd_transfer *half,
                            struct jd_axis_comm **ret_axis_comm)
{
    struct jd_collective *call = &half->call;
    struct jd_buffers buffers = { 0, 0, JD_NO_PLACE, "" };
    jd_status status = jd__checks_call(shard, axes, call, 1, ret_axis_comm);
    if (status == JD_OK)
        status = check_peer(*ret_axis_comm, half->sends ? "to" : "from",
                            half->member);
    if (status != JD_OK || half->member == NOBODY)
        return status;
    if (half->sends)
        buffers.in = call->count;
    else
        buffers.out = call->count;
    return jd__checks_buffers(call, &buffers);
}

/* The two buffers have nothing in common: what comes is written while the other
 * is read. */
static jd_status check_halves(const struct jd_transfer *sent,
                              const struct jd_transfer *received)
{
    struct jd_collective both = sent->call;
    both.out = received->call.out;
    if (sent->member == NOBODY || received->member == NOBODY)
        return JD_OK;
    return jd__checks_buffers(&both, &(struct jd_buffers){ sent->call.count,
                                                           received->call.count,
                                                           JD_NO_PLACE, "" });
}

/* Also with nobody: it may be where the axis's members meet first. */
static jd_status run_with_nobody(struct jd_axis_comm *axis_comm)
{
    const struct jd_collective call = { .activity = JD_ACTIVITY_SENDRECV,
                                        .dtype = JD_U8 };
    jd_status status = jd__axis_comm_enter(axis_comm, &call, 0);
    return status == JD_OK
               ? jd__axis_comm_leave(axis_comm, call.activity, JD_OK)
               : status;
}

static struct jd_collective half_call(const void *in, void *out, size_t count,
                                      jd_dtype dtype)
{
    return (struct jd_collective){ .activity = JD_ACTIVITY_SENDRECV,
                                   .in = in,
                                   .out = out,
                                   .count = count,
                                   .dtype = dtype };
}

jd_status jd_sendrecv(jd_shard *shard, const char *axes, int to, const void *in,
                      size_t in_count, int from, void *out, size_t out_count,
                      jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_transfer halves[] = {
        { .member = to,
          .sends = true,
          .whole = JD_ACTIVITY_SENDRECV,
          .call = half_call(in, NULL, in_count, dtype) },
        { .member = from,
          .number = 1,
          .whole = JD_ACTIVITY_SENDRECV,
          .call = half_call(NULL, out, out_count, dtype) },
    };
    struct jd_axis_comm *axis_comm;
    jd_status status = check_half(shard, axes, &halves[0], &axis_comm);
    if (status == JD_OK)
        status = check_half(shard, axes, &halves[1], &axis_comm);
    if (status == JD_OK)
        status = check_halves(&halves[0], &halves[1]);
    if (status != JD_OK)
        return status;
    int count = (to != NOBODY) + (from != NOBODY);
    halves[0].call.activity = JD_ACTIVITY_SEND;
    halves[1].call.activity = JD_ACTIVITY_RECV;
    return count ? run_transfers(axis_comm, JD_ACTIVITY_SENDRECV,
                                 &halves[to == NOBODY], count)
                 : run_with_nobody(axis_comm);
}

/* ---- without data ------------------------------------------------------- */

jd_status jd_barrier(jd_shard *shard, const char *axes)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_BARRIER,
                                  .dtype = JD_U8 };
    struct jd_axis_comm *axis_comm;
    jd_status status = jd__checks_call(shard, axes, &call, 1, &axis_comm);
    if (status == JD_OK)
        status = jd__axis_comm_enter(axis_comm, &call, 0);
    if (status != JD_OK)
        return status;
    status =
        shard->mesh->platform->barrier(jd__axis_comm_handle(axis_comm), &call);
    return jd__axis_comm_leave(axis_comm, call.activity, status);
}
