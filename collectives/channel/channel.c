/* SPDX-License-Identifier: BSD-3-Clause */
/* channel.c - messages between the members of an ordered set of processes. */
#include "collectives/channel/channel.h"
#include "base/digest.h"
#include "runtime/mpi/lock.h"
#include "runtime/mpi/message_count.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

/* Memory that grows and never shrinks. */
struct room {
    void *memory;
    size_t size;
};

struct jd_channel {
    const struct jd_runtime *runtime;
    const int *processes;
    int *own_processes; /* where they are the channel's */
    int size;
    int index;
    int tag;
    const int *first_tags, *numbers; /* the spec's */
    bool has_failed;
    size_t piece;
    struct jd_wait wait;
    struct room scratch, merge_scratch;
    uint64_t digest;         /* of the processes; 0: not made yet */
    struct jd_channel *next; /* of those that are kept for MPI */
};

/* Destroyed with messages under way: MPI may still write into their memory. */
static _Atomic(struct jd_channel *) kept;

static bool init_processes(struct jd_channel *channel,
                           const struct jd_channel_spec *spec)
{
    size_t bytes = (size_t)spec->size * sizeof *spec->processes;
    channel->processes = spec->processes;
    if (spec->first_tags)
        return true;
    channel->own_processes = malloc(bytes);
    if (!channel->own_processes)
        return false;
    memcpy(channel->own_processes, spec->processes, bytes);
    channel->processes = channel->own_processes;
    return true;
}

jd_status jd__channel_create(const struct jd_channel_spec *spec,
                             const char *operation,
                             struct jd_channel **ret_group)
{
    struct jd_channel *channel = calloc(1, sizeof *channel);
    if (!channel)
        return jd__fail_no_memory(operation, sizeof *channel);
    channel->runtime = spec->runtime;
    channel->size = spec->size;
    channel->index = spec->index;
    channel->tag = spec->tag;
    channel->first_tags = spec->first_tags;
    channel->numbers = spec->numbers;
    channel->piece = JD_GROUP_PIECE;
    channel->wait = jd__runtime_wait(spec->runtime, operation);
    channel->wait.names_members = spec->names_members;
    channel->wait.member = spec->index;
    if (!init_processes(channel, spec)) {
        jd__channel_destroy(channel);
        return jd__fail_no_memory(operation, (size_t)spec->size * sizeof(int));
    }
    *ret_group = channel;
    return JD_OK;
}

void jd__channel_destroy(struct jd_channel *channel)
{
    if (!channel)
        return;
    if (channel->has_failed) {
        channel->next = atomic_exchange(&kept, channel);
        return;
    }
    free(channel->own_processes);
    free(channel->scratch.memory);
    free(channel->merge_scratch.memory);
    free(channel);
}

bool jd__channel_has_failed(const struct jd_channel *channel)
{
    return channel->has_failed;
}

int jd__channel_size(const struct jd_channel *channel)
{
    return channel->size;
}

int jd__channel_index(const struct jd_channel *channel)
{
    return channel->index;
}

int jd__channel_process(const struct jd_channel *channel, int member)
{
    return channel->processes[member];
}

struct jd_wait_end jd__channel_end(const struct jd_channel *channel, int member)
{
    return (struct jd_wait_end){ channel->processes[member], member, false };
}

const struct jd_runtime *jd__channel_runtime(const struct jd_channel *channel)
{
    return channel->runtime;
}

uint64_t jd__channel_digest(struct jd_channel *channel)
{
    if (!channel->digest)
        channel->digest =
            jd__digest(0, channel->processes,
                       (size_t)channel->size * sizeof *channel->processes);
    return channel->digest;
}

struct jd_parties jd__channel_parties(const struct jd_channel *channel)
{
    return (struct jd_parties){ NULL, channel->size, channel->index };
}

int jd__channel_party(const struct jd_parties *parties, int i)
{
    return parties->members ? parties->members[i] : i;
}

void jd__channel_begin(struct jd_channel *channel, const char *operation,
                       const char *detail)
{
    channel->wait.operation = operation;
    channel->wait.detail = detail;
}

void jd__channel_set_cancel(struct jd_channel *channel,
                            const atomic_bool *is_cancelled)
{
    channel->wait.is_cancelled = is_cancelled;
}

struct jd_wait *jd__channel_next_wait(struct jd_channel *channel)
{
    return &channel->wait;
}

const char *jd__channel_operation(const struct jd_channel *channel)
{
    return channel->wait.operation;
}

size_t jd__channel_piece(const struct jd_channel *channel)
{
    return channel->piece;
}

void jd__channel_set_piece(struct jd_channel *channel, size_t bytes)
{
    channel->piece = bytes;
}

/* A failure leaves messages under way. */
jd_status jd__channel_note(struct jd_channel *channel, jd_status status)
{
    if (status != JD_OK)
        channel->has_failed = true;
    return status;
}

/* Of messages from one member to another. */
static int tag_of(const struct jd_channel *channel, int to, int from)
{
    if (!channel->first_tags)
        return channel->tag;
    return channel->first_tags[to] +
           (channel->numbers ? channel->numbers[from] : 0);
}

/* Inside the lock. */
static int receive_locked(struct jd_channel *channel,
                          const struct jd_message_end *from,
                          MPI_Request *ret_request, struct jd_wait_end *ret_end)
{
    int process = channel->processes[from->member];
    int tag = tag_of(channel, channel->index, from->member);
    assert(from->bytes <= JD_GROUP_MAX_MESSAGE);
    *ret_end = jd__channel_end(channel, from->member);
    int code = MPI_Irecv(from->data, (int)from->bytes, MPI_BYTE, process, tag,
                         channel->runtime->world.comm, ret_request);
    ret_end->receives = code == MPI_SUCCESS;
    return code;
}

static int send_locked(struct jd_channel *channel,
                       const struct jd_message_end *to,
                       MPI_Request *ret_request, struct jd_wait_end *ret_end)
{
    int process = channel->processes[to->member];
    int tag = tag_of(channel, to->member, channel->index);
    assert(to->bytes <= JD_GROUP_MAX_MESSAGE);
    *ret_end = jd__channel_end(channel, to->member);
    jd__message_count_sent(process);
    return MPI_Isend(to->data, (int)to->bytes, MPI_BYTE, process, tag,
                     channel->runtime->world.comm, ret_request);
}

static jd_status check_started(struct jd_channel *channel, int code,
                               const char *call)
{
    return jd__channel_note(channel,
                            jd__mpi_check(code, call, channel->wait.operation));
}

jd_status jd__channel_start_receive(struct jd_channel *channel, int member,
                                    void *data, size_t bytes,
                                    MPI_Request *ret_request,
                                    struct jd_wait_end *ret_end)
{
    struct jd_message_end from = { member, data, bytes };
    jd__mpi_lock();
    int code = receive_locked(channel, &from, ret_request, ret_end);
    jd__mpi_unlock();
    return check_started(channel, code, "MPI_Irecv");
}

jd_status jd__channel_start_send(struct jd_channel *channel, int member,
                                 const void *data, size_t bytes,
                                 MPI_Request *ret_request,
                                 struct jd_wait_end *ret_end)
{
    struct jd_message_end to = { member, (void *)data, bytes };
    jd__mpi_lock();
    int code = send_locked(channel, &to, ret_request, ret_end);
    jd__mpi_unlock();
    return check_started(channel, code, "MPI_Isend");
}

jd_status jd__channel_start_both(struct jd_channel *channel,
                                 const struct jd_message_end *from,
                                 const struct jd_message_end *to,
                                 MPI_Request *requests,
                                 struct jd_wait_end *ends)
{
    const char *call = "MPI_Irecv";
    jd__mpi_lock();
    int code = receive_locked(channel, from, &requests[0], &ends[0]);
    if (code == MPI_SUCCESS) {
        call = "MPI_Isend";
        code = send_locked(channel, to, &requests[1], &ends[1]);
    }
    jd__mpi_unlock();
    return check_started(channel, code, call);
}

jd_status jd__channel_wait_for(struct jd_channel *channel,
                               MPI_Request *requests, struct jd_wait_end *ends,
                               int count, int *ret_came)
{
    if (count == 0)
        return JD_OK;
    return jd__channel_note(channel, jd__wait_for_mpi(&channel->wait, requests,
                                                      ends, count, ret_came));
}

jd_status jd__channel_wait_any(struct jd_channel *channel,
                               MPI_Request *requests, struct jd_wait_end *ends,
                               int count, int *ret_index, int *ret_came)
{
    return jd__channel_note(channel,
                            jd__wait_for_any_mpi(&channel->wait, requests, ends,
                                                 count, ret_index, ret_came));
}

static void *grow_room(struct room *room, size_t bytes)
{
    if (bytes <= room->size)
        return room->memory;
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *larger = aligned_alloc(ALIGNMENT, rounded);
    if (!larger)
        return NULL;
    free(room->memory);
    *room = (struct room){ larger, rounded };
    return larger;
}

void *jd__channel_scratch(struct jd_channel *channel, size_t bytes)
{
    return grow_room(&channel->scratch, bytes);
}

void *jd__channel_merge_scratch(struct jd_channel *channel, size_t bytes)
{
    return grow_room(&channel->merge_scratch, bytes);
}
