/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_ragged.c - ragged_all_to_all between groups: first each tells each
 * other what is to come, where that is not known, and all hear whether it fits;
 * then the rows go.
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
    const struct jd_ragged_entry *told;
    char *scratch; /* of the exchanges */
};

/* What one member tells another. */
static size_t entry_bytes(const struct ragged *r)
{
    return (size_t)r->arrays->per_member * sizeof *r->tell;
}

static int entries_of(const struct ragged *r)
{
    return r->arrays->per_member * r->comm->size;
}

/* ---- finding out whether it fits ---------------------------------------- */

static jd_status fail_with_fault(const struct ragged *r, int culprit,
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
                   (int)fault->producer, (int)fault->consumer);
}

/* A sync more, in which the culprit tells what it found. */
static jd_status hear_fault(const struct ragged *r, int culprit,
                            const struct jd_ragged_fault *fault)
{
    struct jd_collective call = *r->call;
    struct jd_inter_sync sync = { .call = &call,
                                  .signature = jd__inter_sign(r->call) };
    struct jd_ragged_fault heard;
    call.in = fault;
    sync.signature.source = culprit;
    jd__inter_bring(r->comm, &sync, JD_BRING_SOURCE, sizeof *fault);
    jd_status status = jd__inter_sync(r->comm, &sync);
    if (status != JD_OK)
        return status;
    memcpy(&heard, jd__inter_brought(r->comm), sizeof heard);
    return fail_with_fault(r, culprit, &heard);
}

/* All hear whether any member comes with a fault, and say the same of it. */
static jd_status sync_with_fault(const struct ragged *r,
                                 struct jd_inter_sync sync,
                                 const struct jd_ragged_fault *fault)
{
    if (fault->kind != JD_RAGGED_FITS && sync.signature.status == JD_OK)
        sync.signature.status = JD_INVALID_ARGUMENT;
    jd_status status = jd__inter_sync(r->comm, &sync);
    int culprit =
        status == JD_INVALID_ARGUMENT ? jd__inter_failed(r->comm) : -1;
    return culprit >= 0 ? hear_fault(r, culprit, fault) : status;
}

static struct jd_strided entries_at(const struct ragged *r,
                                    const struct jd_ragged_entry *table,
                                    int member)
{
    return jd__strided_flat(
        table + jd__ragged_fault_place(r->arrays, member, 0), entry_bytes(r));
}

static struct jd_strided told_to(const void *arg, int member)
{
    const struct ragged *r = arg;
    return entries_at(r, r->tell, member);
}

static struct jd_strided told_by(const void *arg, int member)
{
    const struct ragged *r = arg;
    return entries_at(r, r->told, member);
}

static jd_status exchange_entries(const struct ragged *r)
{
    const struct jd_ragged *a = r->arrays;
    struct jd_inter_exchange x = { .comm = r->comm,
                                   .arg = r,
                                   .send = told_to,
                                   .receive = told_by,
                                   .scratch = r->scratch };
    for (int i = 0; i < r->comm->size; i++)
        for (int k = 0; k < a->per_member; k++)
            r->tell[jd__ragged_fault_place(a, i, k)] =
                jd__ragged_fault_given(a, i, k);
    return jd__inter_is_short(r->comm, entry_bytes(r))
               ? jd__inter_exchange_short(&x, entry_bytes(r))
               : jd__inter_exchange(&x);
}

/* A second sync: whether each member found that all is well. */
static jd_status agree_on_entries(const struct ragged *r,
                                  struct jd_inter_sync sync)
{
    struct jd_ragged_fault fault;
    jd__ragged_fault_compare(r->arrays, r->comm->size, r->comm->index, r->told,
                             &fault);
    return sync_with_fault(r, sync, &fault);
}

static jd_status tell_entries(const struct ragged *r, struct jd_inter_sync sync)
{
    jd_status status = exchange_entries(r);
    return status == JD_OK ? agree_on_entries(r, sync) : status;
}

/* ---- moving ------------------------------------------------------------- */

/* Every member's k-th chunk. */
struct chunk {
    const struct ragged *ragged;
    int number;
};

static int entry_of(const struct chunk *c, int member)
{
    return member * c->ragged->arrays->per_member + c->number;
}

static struct jd_strided chunk_for(const void *arg, int member)
{
    const struct chunk *c = arg;
    const struct ragged *r = c->ragged;
    int entry = entry_of(c, member);
    size_t offset = (size_t)r->arrays->input_offsets[entry] * r->row;
    return jd__strided_flat(jd__strided_place(r->call->in, offset),
                            (size_t)r->arrays->send_sizes[entry] * r->row);
}

static struct jd_strided chunk_from(const void *arg, int member)
{
    const struct chunk *c = arg;
    const struct ragged *r = c->ragged;
    const struct jd_ragged_entry *entry = &r->told[entry_of(c, member)];
    size_t offset = (size_t)entry->to * r->row;
    return jd__strided_flat(jd__strided_place(r->call->out, offset),
                            (size_t)entry->size * r->row);
}

static jd_status move_chunk(const struct ragged *r, int k)
{
    struct chunk chunk = { r, k };
    return jd__inter_exchange(
        &(struct jd_inter_exchange){ .comm = r->comm,
                                     .arg = &chunk,
                                     .send = chunk_for,
                                     .receive = chunk_from,
                                     .scratch = r->scratch });
}

/* Cuts the memory for the entries off the scratch's end. */
static void take_scratch(struct ragged *r, struct jd_inter_sync *sync)
{
    size_t bytes = jd__inter_exchange_scratch(r->comm);
    size_t few = jd__inter_short_scratch(r->comm, entry_bytes(r));
    size_t told = (size_t)entries_of(r) * sizeof *r->told;
    if (jd__inter_is_short(r->comm, entry_bytes(r)) && few > bytes)
        bytes = few;
    bytes = (bytes + 63) / 64 * 64;
    r->told = r->arrays->known;
    r->scratch =
        jd__inter_scratch(r->comm, sync, bytes + (r->told ? 0 : 2 * told));
    if (!r->scratch || r->told)
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
    struct jd_inter_sync sync = { .call = call,
                                  .signature = jd__inter_sign(call) };
    sync.signature.digest = ragged->rest;
    struct jd_ragged_fault fault;
    jd__ragged_fault_compare_given(ragged, comm->size, comm->index, &fault);
    take_scratch(&r, &sync);
    jd_status status = sync_with_fault(&r, sync, &fault);
    if (status == JD_OK && !ragged->known)
        status = tell_entries(&r, sync);
    for (int k = 0; k < ragged->per_member && status == JD_OK; k++)
        status = move_chunk(&r, k);
    return status;
}
