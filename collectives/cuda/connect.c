/* SPDX-License-Identifier: BSD-3-Clause */
/* connect.c - the first exchange of two members. */
#include "collectives/cuda/connect.h"
#include "collectives/cuda/stream.h"

#include <string.h>

/* What a member is to this one; 0: no exchange was made or is wanted. */
enum { WANTED = 1, CONNECTED };

void jd__connect_want(struct jd_comm *comm, int member)
{
    if (comm->connections[member] || member == comm->index)
        return;
    comm->connections[member] = WANTED;
    comm->num_wanted++;
}

void jd__connect_want_called(struct jd_comm *comm, int member)
{
    if (comm->parent && member >= 0)
        jd__connect_want(comm, member);
}

static void want_all(struct jd_comm *comm)
{
    for (int i = 0; i < comm->size; i++)
        jd__connect_want(comm, i);
}

static int first_wanted(const struct jd_comm *comm)
{
    const unsigned char *found =
        memchr(comm->connections, WANTED, (size_t)comm->size);
    return (int)(found - comm->connections);
}

/* The call is not made. */
static void forget_wanted(struct jd_comm *comm)
{
    for (int i = 0; i < comm->size; i++)
        if (comm->connections[i] == WANTED)
            comm->connections[i] = 0;
    comm->num_wanted = 0;
}

static jd_status fail_captured(const struct jd_cuda_task *task)
{
    const struct jd_collective *call = task->call;
    int member = first_wanted(task->comm);
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s%s: the first transfer with member %d connects the two, "
                   "and a CUDA graph is being captured; make one before the "
                   "capture",
                   jd__signature_activity_name(call->activity),
                   call->detail ? call->detail : "", member);
}

char *jd__connect_prepare(struct jd_cuda_task *task)
{
    if (task->status != JD_OK || task->comm->num_wanted == 0)
        return NULL;
    if (jd__cuda_is_capturing(task->call->stream)) {
        task->status = fail_captured(task);
        forget_wanted(task->comm);
        return NULL;
    }
    return jd__task_scratch(task, (size_t)task->comm->size + 1);
}

/* The byte that is sent, and one from each member. */
void jd__connect_in(struct jd_cuda_task *task, char *memory)
{
    struct jd_comm *comm = task->comm;
    if (!memory)
        return;
    jd__task_clear(task, memory, 1);
    task->use.connects = true;
    if (!jd__task_group_begin(task))
        return;
    for (int i = 0; i < comm->size; i++) {
        if (comm->connections[i] != WANTED)
            continue;
        jd__task_send(task, memory, 1, i);
        jd__task_receive(task, memory + 1 + i, 1, i);
        comm->connections[i] = CONNECTED;
    }
    comm->num_wanted = 0;
    jd__task_group_end(task);
}

void jd__connect(struct jd_cuda_task *task)
{
    jd__connect_in(task, jd__connect_prepare(task));
}

/* Once, and all of this process come, those too that have nobody left: whom
 * transfers have connected before differs from member to member. The task meets
 * again before each call. */
void jd__connect_all(struct jd_cuda_task *task)
{
    struct jd_comm *comm = task->comm;
    if (task->status != JD_OK || !comm->parent || comm->is_connected)
        return;
    want_all(comm);
    if (comm->num_wanted == 0 && jd__cuda_is_capturing(task->call->stream))
        return; /* the others refuse */
    char *memory = jd__connect_prepare(task);
    jd__task_meet(task);
    jd__connect_in(task, memory);
    task->has_met = false;
    comm->is_connected = task->status == JD_OK;
}
