/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_ragged.c - ragged_all_to_all between groups: first each tells each
 * other what is to come, and all hear whether it fits; then the rows go.
 */
#include "collectives/cpu/inter/inter_private.h"
#include "collectives/platform/ragged_fault.h"

#include <string.h>

/* A ragged_all_to_all in bytes. */
struct ragged {
    struct jd_comm *comm;
    const struct jd_collective *call;
    const struct jd_ragged *arrays;
    size_t row;                   /* bytes */
    struct jd_ragged_entry *tell; /* an entry for each of the arrays' */
    struct jd_ragged_entry *told;
    char *scratch; /* of the exchanges */
};

static int entries_of(const struct ragged *r)
{
    return r->arrays->per_member * r->comm->size;
}

/* ---- finding out whether it fits ---------------------------------------- */

static jd_status fail(const struct ragged *r, int culprit,
                      const struct jd_ragged_fault *fault)
{
    const struct jd_comm *comm = r->comm;
    const char *name = jd__signature_activity_name(r->call->activity);
    if (jd__ragged_fault_is_fault(fault, comm->size))
        return jd__ragged_fault_fail(name, r->call->detail, comm->processes,
                                     fault);
    return jd_fail(JD_INTERNAL,
                   "%s%s: what process %d (member %d) found wrong cannot be "
                   "(kind %d, from member %d to %d); do all processes run the "
                   "same version of jd?",
                   name, r->call->detail ? r->call->detail : "",
                   comm->processes[culprit], culprit, (int)fault->kind,
                   (int)fault->giver, (int)fault->taker);
}

/* A meeting more, in which the culprit tells what it found. */
static jd_status hear(const struct ragged *r, int culprit,
                      const struct jd_ragged_fault *fault)
{
    struct jd_collective call = *r->call;
    struct jd_inter_sync meeting = { .call = &call,
                                     .signature = jd__inter_sign(r->call) };
    struct jd_ragged_fault heard;
    call.in = fault;
    meeting.signature.source = culprit;
    jd__inter_bring(r->comm, &meeting, JD_BRING_SOURCE, sizeof *fault);
    jd_status status = jd__inter_meet(r->comm, &meeting);
    if (status != JD_OK)
        return status;
    memcpy(&heard, jd__inter_brought(r->comm), sizeof heard);
    return fail(r, culprit, &heard);
}

/* All hear whether any member comes with a fault, and say the same of it. */
static jd_status meet(const struct ragged *r, struct jd_inter_sync meeting,
                      const struct jd_ragged_fault *fault)
{
    if (fault->kind != JD_RAGGED_FITS && meeting.signature.status == JD_OK)
        meeting.signature.status = JD_INVALID_ARGUMENT;
    jd_status status = jd__inter_meet(r->comm, &meeting);
    int culprit =
        status == JD_INVALID_ARGUMENT ? jd__inter_failed(r->comm) : -1;
    return culprit >= 0 ? hear(r, culprit, fault) : status;
}

static jd_status tell(const struct ragged *r)
{
    const struct jd_ragged *a = r->arrays;
    size_t bytes = (size_t)a->per_member * sizeof *r->tell;
    for (int i = 0; i < r->comm->size; i++) {
        size_t first = jd__ragged_fault_place(a, i, 0);
        for (int k = 0; k < a->per_member; k++)
            r->tell[first + (size_t)k] = jd__ragged_fault_given(a, i, k);
        r->comm->inter->sends[i] =
            jd__strided_flat(r->tell + first, bytes);
        r->comm->inter->receives[i] =
            jd__strided_flat(r->told + first, bytes);
    }
    return jd__inter_exchange(r->comm, r->scratch, false, NULL, NULL);
}

/* A second meeting: whether each member found that all is well. */
static jd_status agree(const struct ragged *r, struct jd_inter_sync meeting)
{
    struct jd_ragged_fault fault;
    jd__ragged_fault_compare(r->arrays, r->comm->size, r->comm->index, r->told,
                             &fault);
    return meet(r, meeting, &fault);
}

/* ---- moving ------------------------------------------------------------- */

/* Moves every member's k-th chunk. */
static jd_status move(const struct ragged *r, int k)
{
    const struct jd_ragged *a = r->arrays;
    struct jd_inter *inter = r->comm->inter;
    for (int i = 0; i < r->comm->size; i++) {
        int entry = i * a->per_member + k;
        inter->sends[i] =
            jd__strided_flat((const char *)r->call->in +
                                       (size_t)a->input_offsets[entry] * r->row,
                                   (size_t)a->send_sizes[entry] * r->row);
        inter->receives[i] = jd__strided_flat(
            (char *)r->call->out + (size_t)r->told[entry].to * r->row,
            (size_t)r->told[entry].size * r->row);
    }
    return jd__inter_exchange(r->comm, r->scratch, false, NULL, NULL);
}

/* Cuts the memory for the entries off the scratch's end. */
static void take_scratch(struct ragged *r, struct jd_inter_sync *meeting)
{
    size_t bytes = jd__inter_exchange_scratch(r->comm);
    size_t told = (size_t)entries_of(r) * sizeof *r->told;
    bytes = (bytes + 63) / 64 * 64;
    r->scratch = jd__inter_scratch(r->comm, meeting, bytes + 2 * told);
    if (!r->scratch)
        return;
    r->tell = (struct jd_ragged_entry *)(void *)(r->scratch + bytes);
    r->told = r->tell + entries_of(r);
}

jd_status jd__inter_ragged(struct jd_comm *comm,
                           const struct jd_collective *call,
                           const struct jd_ragged *ragged)
{
    struct ragged r = { .comm = comm,
                        .call = call,
                        .arrays = ragged,
                        .row = call->count * jd_dtype_size(call->dtype) };
    struct jd_inter_sync meeting = { .call = call,
                                     .signature = jd__inter_sign(call) };
    meeting.signature.digest = (uint64_t)ragged->per_member;
    struct jd_ragged_fault fault;
    jd__ragged_fault_compare_given(ragged, comm->size, comm->index, &fault);
    take_scratch(&r, &meeting);
    jd_status status = meet(&r, meeting, &fault);
    if (status == JD_OK)
        status = tell(&r);
    if (status == JD_OK)
        status = agree(&r, meeting);
    for (int k = 0; k < ragged->per_member && status == JD_OK; k++)
        status = move(&r, k);
    return status;
}
