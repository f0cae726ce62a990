/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter.c - the collectives between groups that move data as it is; those
 * that reduce are in inter_reduce.c.
 */
#include "collectives/cpu/inter/inter_private.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Who is in which group. */
static bool make_layout(struct jd_inter *inter, const struct jd_comm *comm)
{
    size_t size = (size_t)comm->size, groups = (size_t)comm->num_groups;
    inter->sizes = calloc(groups, sizeof *inter->sizes);
    inter->members = calloc(groups, sizeof *inter->members);
    inter->list = calloc(size, sizeof *inter->list);
    if (!inter->sizes || !inter->members || !inter->list)
        return false;
    for (int i = 0; i < comm->size; i++)
        inter->sizes[comm->groups[i]]++;
    inter->rails = inter->sizes[0];
    for (int t = 0, first = 0; t < comm->num_groups; t++) {
        inter->members[t] = inter->list + first;
        first += inter->sizes[t];
        if (inter->sizes[t] < inter->rails)
            inter->rails = inter->sizes[t];
    }
    for (int i = 0; i < comm->size; i++)
        inter->members[comm->groups[i]][comm->places[i]] = i;
    inter->group = comm->groups[comm->index];
    inter->place = comm->places[comm->index];
    return true;
}

static bool make_arrays(struct jd_inter *inter, const struct jd_comm *comm)
{
    size_t size = (size_t)comm->size;
    inter->sends = calloc(size, sizeof *inter->sends);
    inter->receives = calloc(size, sizeof *inter->receives);
    inter->blocks = calloc(size, sizeof *inter->blocks);
    inter->ins = calloc(size, sizeof *inter->ins);
    inter->outs = calloc(size, sizeof *inter->outs);
    if (inter->place == 0)
        inter->summary =
            malloc((size_t)comm->num_groups * jd__inter_summary_size());
    for (int i = 0; i < JD_INTER_DEPTH; i++)
        if (!jd__inter_make_posts(&inter->posts[i], 2 * comm->size))
            return false;
    return inter->sends && inter->receives && inter->blocks && inter->ins &&
           inter->outs && (inter->place || inter->summary);
}

jd_status jd__inter_create(struct jd_comm *comm, const char *operation)
{
    comm->inter = calloc(1, sizeof *comm->inter);
    if (comm->inter)
        comm->inter->is_deterministic = jd__options_integer(
            comm->runtime->settings, JD_OPTION_DETERMINISTIC);
    if (comm->inter && make_layout(comm->inter, comm) &&
        make_arrays(comm->inter, comm))
        return JD_OK;
    jd__inter_destroy(comm);
    return jd__fail_no_memory(operation, (size_t)comm->num_groups *
                                             jd__inter_summary_size());
}

/* After a failure messages may be under way: MPI still writes into what they
 * were to come to. */
static bool keep_for_mpi(struct jd_comm *comm)
{
    static _Atomic(struct jd_inter *) kept;
    if (!comm->wire || !jd__channel_has_failed(comm->wire))
        return false;
    comm->inter->next = atomic_exchange(&kept, comm->inter);
    return true;
}

void jd__inter_destroy(struct jd_comm *comm)
{
    struct jd_inter *inter = comm->inter;
    if (!inter)
        return;
    if (keep_for_mpi(comm)) {
        comm->inter = NULL;
        return;
    }
    free(inter->sizes);
    free(inter->members);
    free(inter->list);
    free(inter->sends);
    free(inter->receives);
    free(inter->blocks);
    free(inter->ins);
    free(inter->outs);
    free(inter->summary);
    for (int i = 0; i < JD_INTER_DEPTH; i++)
        jd__inter_free_posts(&inter->posts[i]);
    jd__inter_free_transfers(comm);
    free(inter);
    comm->inter = NULL;
}

struct jd_signature jd__inter_sign(const struct jd_collective *call)
{
    return (struct jd_signature){
        .activity = call->activity,
        .dtype = (uint32_t)call->dtype,
        .count = call->count,
        .source = -1,
    };
}

static size_t bytes_of(const struct jd_collective *call)
{
    return call->count * jd_dtype_size(call->dtype);
}

jd_status jd__inter_barrier(struct jd_comm *comm,
                            const struct jd_collective *call)
{
    struct jd_inter_sync meeting = { .call = call,
                                     .signature = jd__inter_sign(call) };
    return jd__inter_meet(comm, &meeting);
}

void jd__inter_clear(struct jd_comm *comm)
{
    size_t bytes = (size_t)comm->size * sizeof(struct jd_strided);
    memset(comm->inter->sends, 0, bytes);
    memset(comm->inter->receives, 0, bytes);
}

/*
 * What members of this group give to each other, where it can be read straight;
 * the strips are empty then. Each knows by the same rule who is read.
 */
static void take_inside(struct jd_comm *comm,
                        const struct jd_inter_sync *meeting)
{
    struct jd_inter *inter = comm->inter;
    const int *members = inter->members[inter->group];
    bool is_read =
        jd__inter_in_of(comm, inter->place, meeting->in_bytes) != NULL;
    for (int i = 0; i < inter->sizes[inter->group]; i++) {
        struct jd_strided *to = &inter->receives[members[i]];
        char *in = jd__inter_in_of(comm, i, meeting->in_bytes);
        if (i == inter->place)
            continue;
        if (is_read)
            inter->sends[members[i]].rows = 0;
        if (in && jd__strided_bytes(to)) {
            struct jd_strided from = inter->inside;
            from.base += in - (char *)meeting->call->in;
            jd__strided_copy(to, &from);
        }
        if (in)
            to->rows = 0;
    }
}

/* What the strips say, out of what all brought: each its in. */
static void take_brought(struct jd_comm *comm,
                         const struct jd_inter_sync *meeting)
{
    const struct jd_inter *inter = comm->inter;
    size_t offset =
        (size_t)(inter->inside.base - (const char *)meeting->call->in);
    const char *brought = jd__inter_brought(comm);
    for (int i = 0; i < comm->size; i++) {
        struct jd_strided from = inter->inside;
        from.base = (char *)brought + (size_t)i * meeting->bytes + offset;
        if (jd__strided_bytes(&inter->receives[i]))
            jd__strided_copy(&inter->receives[i], &from);
    }
}

/* Meets, and moves what the strips say, out of ins of so many bytes. */
static jd_status meet_and_exchange(struct jd_comm *comm,
                                   struct jd_inter_sync *meeting, size_t bytes)
{
    bool is_in_place = meeting->call->in == meeting->call->out;
    char *scratch = NULL;
    if (!jd__inter_bring(comm, meeting, JD_BRING_ALL, bytes)) {
        scratch =
            jd__inter_scratch(comm, meeting, jd__inter_exchange_scratch(comm));
        meeting->in_bytes = bytes;
        meeting->hides = is_in_place;
    }
    jd_status status = jd__inter_meet(comm, meeting);
    if (status != JD_OK)
        return status;
    if (jd__inter_has_come(comm, meeting)) {
        take_brought(comm, meeting);
        return JD_OK;
    }
    take_inside(comm, meeting);
    status = jd__inter_exchange(comm, scratch, is_in_place, NULL, NULL);
    return status == JD_OK ? jd__shm_step(comm->group) : status;
}

/* ---- all_gather and broadcast ------------------------------------------- */

/* Where member's rows go: each beside those of the others. */
static struct jd_strided gathered(const struct jd_comm *comm,
                                  const struct jd_collective *call, size_t rows,
                                  int member)
{
    size_t width = bytes_of(call);
    return (struct jd_strided){
        .base = (char *)call->out + (size_t)member * width,
        .rows = rows,
        .width = width,
        .pitch = (size_t)comm->size * width,
    };
}

static void take_gathered(struct jd_comm *comm,
                          const struct jd_collective *call, size_t rows)
{
    size_t bytes = rows * bytes_of(call);
    const char *brought = jd__inter_brought(comm);
    for (int i = 0; i < comm->size; i++) {
        struct jd_strided to = gathered(comm, call, rows, i);
        jd__strided_write(&to, 0, bytes, brought + (size_t)i * bytes);
    }
}

static jd_status all_gather_long(struct jd_comm *comm,
                                 const struct jd_collective *call, size_t rows,
                                 char *scratch)
{
    struct jd_inter *inter = comm->inter;
    size_t bytes = rows * bytes_of(call);
    for (int i = 0; i < comm->size; i++) {
        inter->blocks[i] = gathered(comm, call, rows, i);
        inter->receives[i] = inter->blocks[i];
        inter->sends[i] = jd__strided_flat(call->in, bytes);
    }
    if (jd__inter_all_seen(comm))
        return jd__inter_gather_seen(comm, call, inter->blocks, scratch);
    inter->sends[comm->index].rows = rows;
    inter->sends[comm->index].width = bytes_of(call);
    inter->sends[comm->index].pitch = bytes_of(call);
    return jd__inter_exchange(comm, scratch, false, NULL, NULL);
}

jd_status jd__inter_all_gather(struct jd_comm *comm,
                               const struct jd_collective *call, size_t rows)
{
    struct jd_inter_sync meeting = { .call = call,
                                     .signature = jd__inter_sign(call) };
    size_t bytes = rows * bytes_of(call);
    char *scratch = NULL;
    meeting.signature.digest = rows;
    if (!jd__inter_bring(comm, &meeting, JD_BRING_ALL, bytes)) {
        scratch =
            jd__inter_scratch(comm, &meeting, jd__inter_exchange_scratch(comm));
        meeting.in_bytes = bytes;
        meeting.out_bytes = bytes * (size_t)comm->size;
    }
    jd_status status = jd__inter_meet(comm, &meeting);
    if (status != JD_OK)
        return status;
    if (!jd__inter_has_come(comm, &meeting))
        return all_gather_long(comm, call, rows, scratch);
    take_gathered(comm, call, rows);
    return JD_OK;
}

static jd_status broadcast_long(struct jd_comm *comm,
                                const struct jd_collective *call, int source,
                                char *scratch)
{
    struct jd_inter *inter = comm->inter;
    size_t bytes = bytes_of(call);
    if (jd__inter_all_seen(comm))
        return jd__inter_broadcast_seen(comm, call, source, scratch);
    jd__inter_clear(comm);
    for (int i = 0; i < comm->size && comm->index == source; i++)
        inter->sends[i] = jd__strided_flat(call->in, bytes);
    inter->receives[source] = jd__strided_flat(call->out, bytes);
    return jd__inter_exchange(comm, scratch, false, NULL, NULL);
}

jd_status jd__inter_broadcast(struct jd_comm *comm,
                              const struct jd_collective *call, int source)
{
    struct jd_inter_sync meeting = { .call = call,
                                     .signature = jd__inter_sign(call) };
    size_t bytes = bytes_of(call);
    char *scratch = NULL;
    meeting.signature.source = source;
    if (!jd__inter_bring(comm, &meeting, JD_BRING_SOURCE, bytes)) {
        scratch =
            jd__inter_scratch(comm, &meeting, jd__inter_exchange_scratch(comm));
        meeting.in_bytes = meeting.out_bytes = bytes;
    }
    jd_status status = jd__inter_meet(comm, &meeting);
    if (status != JD_OK)
        return status;
    if (!jd__inter_has_come(comm, &meeting))
        return broadcast_long(comm, call, source, scratch);
    if (bytes)
        memcpy(call->out, jd__inter_brought(comm), bytes);
    return JD_OK;
}

/* ---- each with each ----------------------------------------------------- */

static struct jd_strided piece_at(const struct jd_pieces *pieces,
                                  size_t element, const void *base,
                                  size_t offset, size_t pitch)
{
    return (struct jd_strided){
        .base = (char *)base + offset * element,
        .rows = pieces->rows,
        .width = pieces->width * element,
        .pitch = pitch * element,
    };
}

jd_status jd__inter_all_to_all(struct jd_comm *comm,
                               const struct jd_collective *call,
                               const struct jd_pieces *pieces)
{
    struct jd_inter *inter = comm->inter;
    struct jd_inter_sync meeting = { .call = call,
                                     .signature = jd__inter_sign(call) };
    size_t element = jd_dtype_size(call->dtype);
    meeting.signature.digest = pieces->rest;
    inter->inside =
        piece_at(pieces, element, call->in,
                 (size_t)comm->index * pieces->in_step, pieces->in_pitch);
    for (int i = 0; i < comm->size; i++) {
        size_t m = (size_t)i;
        inter->sends[i] = piece_at(pieces, element, call->in,
                                   m * pieces->in_step, pieces->in_pitch);
        inter->receives[i] = piece_at(pieces, element, call->out,
                                      m * pieces->out_step, pieces->out_pitch);
    }
    return meet_and_exchange(comm, &meeting,
                             (size_t)comm->size * bytes_of(call));
}

jd_status jd__inter_permute(struct jd_comm *comm,
                            const struct jd_collective *call,
                            const struct jd_permute *permute)
{
    struct jd_inter *inter = comm->inter;
    struct jd_inter_sync meeting = { .call = call,
                                     .signature = jd__inter_sign(call) };
    size_t bytes = bytes_of(call);
    meeting.signature.digest = permute->digest;
    inter->inside = jd__strided_flat(call->in, bytes);
    jd__inter_clear(comm);
    if (permute->to >= 0)
        inter->sends[permute->to] = jd__strided_flat(call->in, bytes);
    if (permute->from >= 0)
        inter->receives[permute->from] =
            jd__strided_flat(call->out, bytes);
    jd_status status = meet_and_exchange(comm, &meeting, bytes);
    if (status == JD_OK && permute->from < 0 && !permute->keeps && bytes)
        memset(call->out, 0, bytes);
    return status;
}
