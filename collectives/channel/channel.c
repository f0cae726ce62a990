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

struct jd_group {
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
    struct jd_group *next; /* of those that are kept for MPI */
};

/* Destroyed with messages under way: MPI may still write into their memory. */
static _Atomic(struct jd_group *) kept;

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

static bool init_tags(struct jd_group *group, const struct jd_group_spec *spec)
{
    size_t bytes = (size_t)spec->size * sizeof *group->tags;
    if (!spec->send_tags)
        return true;
    group->tags = malloc(2 * bytes);
    if (!group->tags)
        return false;
    memcpy(group->tags, spec->send_tags, bytes);
    memcpy(group->tags + spec->size, spec->receive_tags, bytes);
    return true;
}

/* The memory that grows with the number of members. */
static bool init_arrays(struct jd_group *group,
                        const struct jd_group_spec *spec)
{
    size_t size = (size_t)group->size;
    group->processes = malloc(size * sizeof *group->processes);
    group->blocks = aligned_alloc(ALIGNMENT, size * JD_MEETING_MESSAGE);
    if (!group->processes || !group->blocks || !init_tags(group, spec) ||
        !init_posts(&group->receives, group->size) ||
        !init_posts(&group->sends, group->size))
        return false;
    memset(group->blocks, 0, size * JD_MEETING_MESSAGE);
    memcpy(group->processes, spec->processes, size * sizeof *group->processes);
    return true;
}

jd_status jd__group_create(const struct jd_group_spec *spec,
                           const char *operation, struct jd_group **ret_group)
{
    struct jd_group *group = calloc(1, sizeof *group);
    if (!group)
        return jd__fail_no_memory(operation, sizeof *group);
    group->runtime = spec->runtime;
    group->size = spec->size;
    group->index = spec->index;
    group->tag = spec->tag;
    group->piece = JD_GROUP_PIECE;
    group->wait = jd__runtime_wait(spec->runtime, operation);
    if (!init_arrays(group, spec)) {
        jd__group_destroy(group);
        return jd__fail_no_memory(operation,
                                  (size_t)spec->size * JD_MEETING_MESSAGE);
    }
    *ret_group = group;
    return JD_OK;
}

void jd__group_destroy(struct jd_group *group)
{
    if (!group)
        return;
    if (group->has_failed || group->receives.count || group->sends.count) {
        group->next = atomic_exchange(&kept, group);
        return;
    }
    finish_posts(&group->receives);
    finish_posts(&group->sends);
    free(group->processes);
    free(group->tags);
    free(group->blocks);
    free(group->scratch);
    free(group);
}

bool jd__group_has_failed(const struct jd_group *group)
{
    return group->has_failed;
}

int jd__group_size(const struct jd_group *group)
{
    return group->size;
}

int jd__group_index(const struct jd_group *group)
{
    return group->index;
}

int jd__group_process(const struct jd_group *group, int member)
{
    return group->processes[member];
}

const struct jd_runtime *jd__group_runtime(const struct jd_group *group)
{
    return group->runtime;
}

void jd__group_begin(struct jd_group *group, const char *operation,
                     const char *detail)
{
    group->wait.operation = operation;
    group->wait.detail = detail;
}

void jd__group_set_cancel(struct jd_group *group,
                          const atomic_bool *is_cancelled)
{
    group->wait.is_cancelled = is_cancelled;
}

struct jd_wait *jd__group_next_wait(struct jd_group *group)
{
    return &group->wait;
}

const char *jd__group_operation(const struct jd_group *group)
{
    return group->wait.operation;
}

size_t jd__group_piece(const struct jd_group *group)
{
    return group->piece;
}

void jd__group_set_piece(struct jd_group *group, size_t bytes)
{
    group->piece = bytes;
}

/* A failure leaves messages under way. */
jd_status jd__group_note(struct jd_group *group, jd_status status)
{
    if (status != JD_OK)
        group->has_failed = true;
    return status;
}

jd_status jd__group_start_receive(struct jd_group *group, int member,
                                  void *data, size_t bytes,
                                  MPI_Request *ret_request)
{
    int process = group->processes[member];
    int tag = group->tags ? group->tags[group->size + member] : group->tag;
    assert(bytes <= JD_GROUP_MAX_MESSAGE);
    jd__mpi_lock();
    int code = MPI_Irecv(data, (int)bytes, MPI_BYTE, process, tag,
                         group->runtime->world.comm, ret_request);
    jd__mpi_unlock();
    return jd__group_note(
        group, jd__check_mpi(code, "MPI_Irecv", group->wait.operation));
}

jd_status jd__group_start_send(struct jd_group *group, int member,
                               const void *data, size_t bytes,
                               MPI_Request *ret_request)
{
    int process = group->processes[member];
    int tag = group->tags ? group->tags[member] : group->tag;
    assert(bytes <= JD_GROUP_MAX_MESSAGE);
    jd__mpi_lock();
    int code = MPI_Isend(data, (int)bytes, MPI_BYTE, process, tag,
                         group->runtime->world.comm, ret_request);
    jd__mpi_unlock();
    return jd__group_note(
        group, jd__check_mpi(code, "MPI_Isend", group->wait.operation));
}

jd_status jd__group_receive(struct jd_group *group, int member, void *data,
                            size_t bytes)
{
    struct posts *posts = &group->receives;
    assert(posts->count < group->size);
    if (bytes == 0)
        return JD_OK;
    posts->processes[posts->count] = group->processes[member];
    jd_status status = jd__group_start_receive(group, member, data, bytes,
                                               &posts->requests[posts->count]);
    posts->count += status == JD_OK;
    return status;
}

jd_status jd__group_send(struct jd_group *group, int member, const void *data,
                         size_t bytes)
{
    struct posts *posts = &group->sends;
    assert(posts->count < group->size);
    if (bytes == 0)
        return JD_OK;
    posts->processes[posts->count] = group->processes[member];
    jd_status status = jd__group_start_send(group, member, data, bytes,
                                            &posts->requests[posts->count]);
    posts->count += status == JD_OK;
    return status;
}

jd_status jd__group_wait_for(struct jd_group *group, MPI_Request *requests,
                             const int *processes, int count)
{
    if (count == 0)
        return JD_OK;
    group->wait.processes = processes;
    return jd__group_note(group,
                          jd__wait_for_mpi(&group->wait, requests, count));
}

jd_status jd__group_wait_any(struct jd_group *group, MPI_Request *requests,
                             const int *processes, int count, int *ret_index)
{
    group->wait.processes = processes;
    return jd__group_note(
        group, jd__wait_for_any_mpi(&group->wait, requests, count, ret_index));
}

static jd_status wait_for_posts(struct jd_group *group, struct posts *posts)
{
    jd_status status = jd__group_wait_for(group, posts->requests,
                                          posts->processes, posts->count);
    if (status == JD_OK)
        posts->count = 0;
    return status;
}

jd_status jd__group_wait(struct jd_group *group)
{
    jd_status status = wait_for_posts(group, &group->receives);
    return status == JD_OK ? wait_for_posts(group, &group->sends) : status;
}

/* Blocks are kept in the order in which they come: ours is the first, then
 * that of the member after us, and so on around. */
static unsigned char *block(const struct jd_group *group, int member)
{
    int place = member - group->index;
    if (place < 0)
        place += group->size;
    return group->blocks + (size_t)place * JD_MEETING_MESSAGE;
}

const struct jd_signature *jd__group_signature(const struct jd_group *group,
                                               int member)
{
    return (const void *)block(group, member);
}

const void *jd__group_payload(const struct jd_group *group, int member)
{
    return block(group, member) + sizeof(struct jd_signature);
}

/* One round: hands our first blocks to the members 1, 2, ... distances before
 * us and gets those of the members after us. first is the length of a message
 * that is one block. */
static jd_status meet_round(struct jd_group *group, int distance, size_t first)
{
    int size = group->size;
    jd_status status = JD_OK;
    for (int i = 1; i < RADIX && i * distance < size; i++) {
        int place = i * distance;
        int blocks = size - place < distance ? size - place : distance;
        size_t most = (size_t)blocks * JD_MEETING_MESSAGE;
        unsigned char *to = group->blocks + (size_t)place * JD_MEETING_MESSAGE;
        if (status == JD_OK)
            status = jd__group_receive(group, (group->index + place) % size, to,
                                       most);
        if (status == JD_OK)
            status =
                jd__group_send(group, (group->index + size - place) % size,
                               group->blocks, distance == 1 ? first : most);
    }
    return status == JD_OK ? jd__group_wait(group) : status;
}

jd_status jd__group_meet(struct jd_group *group,
                         const struct jd_signature *signature,
                         const void *payload, size_t bytes)
{
    assert(bytes <= JD_MEETING_PAYLOAD);
    memcpy(group->blocks, signature, sizeof *signature);
    if (bytes)
        memcpy(group->blocks + sizeof *signature, payload, bytes);
    jd_status status = JD_OK;
    for (int d = 1; d < group->size && status == JD_OK; d *= RADIX)
        status = meet_round(group, d, sizeof *signature + bytes);
    return status;
}

static const struct jd_signature *get_signature(const void *group, int member)
{
    return jd__group_signature(group, member);
}

bool jd__group_find_odd(const struct jd_group *group, int *ret_odd,
                        int *ret_other)
{
    return jd__signature_find_odd(get_signature, group, group->size, ret_odd,
                                  ret_other);
}

jd_status jd__group_check_status(const struct jd_group *group)
{
    for (int i = 0; i < group->size; i++) {
        jd_status status = (jd_status)jd__group_signature(group, i)->status;
        if (status != JD_OK && i != group->index)
            return jd_fail(status,
                           "%s: process %d came, but could not take part: "
                           "%s; its own message says more",
                           group->wait.operation, group->processes[i],
                           jd_status_name(status));
        if (status != JD_OK)
            return status;
    }
    return JD_OK;
}

void *jd__group_scratch(struct jd_group *group, size_t bytes)
{
    if (bytes <= group->scratch_size)
        return group->scratch;
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *larger = aligned_alloc(ALIGNMENT, rounded);
    if (!larger)
        return NULL;
    free(group->scratch);
    group->scratch = larger;
    group->scratch_size = rounded;
    return larger;
}
