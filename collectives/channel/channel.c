/* SPDX-License-Identifier: BSD-3-Clause */
/* channel.c - messages between the members of an ordered set of processes. */
#include "collectives/channel/channel.h"
#include "runtime/mpi/lock.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A meeting of up to RADIX members is one exchange of everybody with
 * everybody; of more, one such exchange per digit of their number (Bruck's
 * algorithm), each round handing on what the rounds before have brought.
 */
#define RADIX 8
#define ALIGNMENT 64

/* The requests of one direction, and the processes at their other ends. */
struct posts {
    MPI_Request *requests;
    int *processes;
    int count;
};

struct jd_channel {
    const struct jd_runtime *runtime;
    int *processes;
    int size;
    int index;
    int tag;
    int *tags; /* to each member, then from each; NULL: the one */
    bool has_failed;
    size_t piece;
    struct jd_wait wait;
    struct posts receives;
    struct posts sends;
    unsigned char *blocks; /* of the last meeting; see block() */
    void *scratch;
    size_t scratch_size;
    struct jd_channel *next; /* of those that are kept for MPI */
};

/* Destroyed with messages under way: MPI may still write into their memory. */
static _Atomic(struct jd_channel *) kept;

static bool init_posts(struct posts *posts, int size)
{
    posts->requests = calloc((size_t)size, sizeof *posts->requests);
    posts->processes = calloc((size_t)size, sizeof *posts->processes);
    return posts->requests && posts->processes;
}

static void finish_posts(struct posts *posts)
{
    free(posts->requests);
    free(posts->processes);
}

static bool init_tags(struct jd_channel *channel,
                      const struct jd_channel_spec *spec)
{
    size_t bytes = (size_t)spec->size * sizeof *channel->tags;
    if (!spec->send_tags)
        return true;
    channel->tags = malloc(2 * bytes);
    if (!channel->tags)
        return false;
    memcpy(channel->tags, spec->send_tags, bytes);
    memcpy(channel->tags + spec->size, spec->receive_tags, bytes);
    return true;
}

/* The memory that grows with the number of members. */
static bool init_arrays(struct jd_channel *channel,
                        const struct jd_channel_spec *spec)
{
    size_t size = (size_t)channel->size;
    channel->processes = malloc(size * sizeof *channel->processes);
    channel->blocks = aligned_alloc(ALIGNMENT, size * JD_MEETING_MESSAGE);
    if (!channel->processes || !channel->blocks || !init_tags(channel, spec) ||
        !init_posts(&channel->receives, channel->size) ||
        !init_posts(&channel->sends, channel->size))
        return false;
    memset(channel->blocks, 0, size * JD_MEETING_MESSAGE);
    memcpy(channel->processes, spec->processes,
           size * sizeof *channel->processes);
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
    channel->piece = JD_GROUP_PIECE;
    channel->wait = jd__runtime_wait(spec->runtime, operation);
    if (!init_arrays(channel, spec)) {
        jd__channel_destroy(channel);
        return jd__fail_no_memory(operation,
                                  (size_t)spec->size * JD_MEETING_MESSAGE);
    }
    *ret_group = channel;
    return JD_OK;
}

void jd__channel_destroy(struct jd_channel *channel)
{
    if (!channel)
        return;
    if (channel->has_failed || channel->receives.count ||
        channel->sends.count) {
        channel->next = atomic_exchange(&kept, channel);
        return;
    }
    finish_posts(&channel->receives);
    finish_posts(&channel->sends);
    free(channel->processes);
    free(channel->tags);
    free(channel->blocks);
    free(channel->scratch);
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

const struct jd_runtime *jd__channel_runtime(const struct jd_channel *channel)
{
    return channel->runtime;
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

jd_status jd__channel_start_receive(struct jd_channel *channel, int member,
                                    void *data, size_t bytes,
                                    MPI_Request *ret_request)
{
    int process = channel->processes[member];
    int tag =
        channel->tags ? channel->tags[channel->size + member] : channel->tag;
    assert(bytes <= JD_GROUP_MAX_MESSAGE);
    jd__mpi_lock();
    int code = MPI_Irecv(data, (int)bytes, MPI_BYTE, process, tag,
                         channel->runtime->world.comm, ret_request);
    jd__mpi_unlock();
    return jd__channel_note(
        channel, jd__mpi_check(code, "MPI_Irecv", channel->wait.operation));
}

jd_status jd__channel_start_send(struct jd_channel *channel, int member,
                                 const void *data, size_t bytes,
                                 MPI_Request *ret_request)
{
    int process = channel->processes[member];
    int tag = channel->tags ? channel->tags[member] : channel->tag;
    assert(bytes <= JD_GROUP_MAX_MESSAGE);
    jd__mpi_lock();
    int code = MPI_Isend(data, (int)bytes, MPI_BYTE, process, tag,
                         channel->runtime->world.comm, ret_request);
    jd__mpi_unlock();
    return jd__channel_note(
        channel, jd__mpi_check(code, "MPI_Isend", channel->wait.operation));
}

jd_status jd__channel_receive(struct jd_channel *channel, int member,
                              void *data, size_t bytes)
{
    struct posts *posts = &channel->receives;
    assert(posts->count < channel->size);
    if (bytes == 0)
        return JD_OK;
    posts->processes[posts->count] = channel->processes[member];
    jd_status status = jd__channel_start_receive(
        channel, member, data, bytes, &posts->requests[posts->count]);
    posts->count += status == JD_OK;
    return status;
}

jd_status jd__channel_send(struct jd_channel *channel, int member,
                           const void *data, size_t bytes)
{
    struct posts *posts = &channel->sends;
    assert(posts->count < channel->size);
    if (bytes == 0)
        return JD_OK;
    posts->processes[posts->count] = channel->processes[member];
    jd_status status = jd__channel_start_send(channel, member, data, bytes,
                                              &posts->requests[posts->count]);
    posts->count += status == JD_OK;
    return status;
}

jd_status jd__channel_wait_for(struct jd_channel *channel,
                               MPI_Request *requests, const int *processes,
                               int count)
{
    if (count == 0)
        return JD_OK;
    channel->wait.processes = processes;
    return jd__channel_note(channel,
                            jd__wait_for_mpi(&channel->wait, requests, count));
}

jd_status jd__channel_wait_any(struct jd_channel *channel,
                               MPI_Request *requests, const int *processes,
                               int count, int *ret_index)
{
    channel->wait.processes = processes;
    return jd__channel_note(
        channel,
        jd__wait_for_any_mpi(&channel->wait, requests, count, ret_index));
}

static jd_status wait_for_posts(struct jd_channel *channel, struct posts *posts)
{
    jd_status status = jd__channel_wait_for(channel, posts->requests,
                                            posts->processes, posts->count);
    if (status == JD_OK)
        posts->count = 0;
    return status;
}

jd_status jd__channel_wait(struct jd_channel *channel)
{
    jd_status status = wait_for_posts(channel, &channel->receives);
    return status == JD_OK ? wait_for_posts(channel, &channel->sends) : status;
}

/* Blocks are kept in the order in which they come: ours is the first, then
 * that of the member after us, and so on around. */
static unsigned char *block(const struct jd_channel *channel, int member)
{
    int place = member - channel->index;
    if (place < 0)
        place += channel->size;
    return channel->blocks + (size_t)place * JD_MEETING_MESSAGE;
}

const struct jd_signature *
jd__channel_signature(const struct jd_channel *channel, int member)
{
    return (const void *)block(channel, member);
}

const void *jd__channel_payload(const struct jd_channel *channel, int member)
{
    return block(channel, member) + sizeof(struct jd_signature);
}

/* One round: hands our first blocks to the members 1, 2, ... distances before
 * us and gets those of the members after us. first is the length of a message
 * that is one block. */
static jd_status meet_round(struct jd_channel *channel, int distance,
                            size_t first)
{
    int size = channel->size;
    jd_status status = JD_OK;
    for (int i = 1; i < RADIX && i * distance < size; i++) {
        int place = i * distance;
        int blocks = size - place < distance ? size - place : distance;
        size_t most = (size_t)blocks * JD_MEETING_MESSAGE;
        unsigned char *to =
            channel->blocks + (size_t)place * JD_MEETING_MESSAGE;
        if (status == JD_OK)
            status = jd__channel_receive(
                channel, (channel->index + place) % size, to, most);
        if (status == JD_OK)
            status = jd__channel_send(
                channel, (channel->index + size - place) % size,
                channel->blocks, distance == 1 ? first : most);
    }
    return status == JD_OK ? jd__channel_wait(channel) : status;
}

jd_status jd__channel_meet(struct jd_channel *channel,
                           const struct jd_signature *signature,
                           const void *payload, size_t bytes)
{
    assert(bytes <= JD_MEETING_PAYLOAD);
    memcpy(channel->blocks, signature, sizeof *signature);
    if (bytes)
        memcpy(channel->blocks + sizeof *signature, payload, bytes);
    jd_status status = JD_OK;
    for (int d = 1; d < channel->size && status == JD_OK; d *= RADIX)
        status = meet_round(channel, d, sizeof *signature + bytes);
    return status;
}

static const struct jd_signature *get_signature(const void *channel, int member)
{
    return jd__channel_signature(channel, member);
}

bool jd__channel_find_odd(const struct jd_channel *channel, int *ret_odd,
                          int *ret_other)
{
    return jd__signature_find_odd(get_signature, channel, channel->size,
                                  ret_odd, ret_other);
}

jd_status jd__channel_check_status(const struct jd_channel *channel)
{
    for (int i = 0; i < channel->size; i++) {
        jd_status status = (jd_status)jd__channel_signature(channel, i)->status;
        if (status != JD_OK && i != channel->index)
            return jd_fail(status,
                           "%s: process %d came, but could not take part: "
                           "%s; its own message says more",
                           channel->wait.operation, channel->processes[i],
                           jd_status_name(status));
        if (status != JD_OK)
            return status;
    }
    return JD_OK;
}

void *jd__channel_scratch(struct jd_channel *channel, size_t bytes)
{
    if (bytes <= channel->scratch_size)
        return channel->scratch;
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *larger = aligned_alloc(ALIGNMENT, rounded);
    if (!larger)
        return NULL;
    free(channel->scratch);
    channel->scratch = larger;
    channel->scratch_size = rounded;
    return larger;
}
