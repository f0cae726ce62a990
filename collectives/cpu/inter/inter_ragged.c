/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_ragged.c - ragged_all_to_all between teams: first each tells each
 * other what is to come, and all hear whether it fits; then the rows go.
 */
#include "collectives/cpu/inter/inter_private.h"
#include "collectives/platform/ragged_fault.h"

#include <string.h>

/* A ragged_all_to_all in bytes. */
struct ragged {
    struct jd_clique *clique;
    const struct jd_collective *call;
    const struct jd_ragged *arrays;
    size_t row;                   /* bytes */
    struct jd_ragged_entry *tell; /* an entry for each of the arrays' */
    struct jd_ragged_entry *told;
    char *scratch; /* of the exchanges */
};

static int entries_of(const struct ragged *r)
{
    return r->arrays->per_member * r->clique->size;
}

/* ---- finding out whether it fits ---------------------------------------- */

static jd_status fail(const struct ragged *r, int culprit,
                      const struct jd_ragged_fault *fault)
{
    const struct jd_clique *clique = r->clique;
    const char *name = jd__activity_name(r->call->activity);
    if (jd__ragged_is_fault(fault, clique->size))
        return jd__ragged_fail(name, r->call->detail, clique->processes, fault);
    return jd_fail(JD_INTERNAL,
                   "%s%s: what process %d (member %d) found wrong cannot be "
                   "(kind %d, from member %d to %d); do all processes run the "
                   "same version of jd?",
                   name, r->call->detail ? r->call->detail : "",
                   clique->processes[culprit], culprit, (int)fault->kind,
                   (int)fault->giver, (int)fault->taker);
}

/* A meeting more, in which the culprit tells what it found. */
static jd_status hear(const struct ragged *r, int culprit,
                      const struct jd_ragged_fault *fault)
{
    struct jd_collective call = *r->call;
    struct jd_meeting meeting = { .call = &call,
                                  .signature = jd__between_sign(r->call) };
    struct jd_ragged_fault heard;
    call.in = fault;
    meeting.signature.source = culprit;
    jd__between_bring(r->clique, &meeting, JD_BRING_SOURCE, sizeof *fault);
    jd_status status = jd__between_meet(r->clique, &meeting);
    if (status != JD_OK)
        return status;
    memcpy(&heard, jd__between_brought(r->clique), sizeof heard);
    return fail(r, culprit, &heard);
}

/* All hear whether any member comes with a fault, and say the same of it. */
static jd_status meet(const struct ragged *r, struct jd_meeting meeting,
                      const struct jd_ragged_fault *fault)
{
    if (fault->kind != JD_RAGGED_FITS && meeting.signature.status == JD_OK)
        meeting.signature.status = JD_INVALID_ARGUMENT;
    jd_status status = jd__between_meet(r->clique, &meeting);
    int culprit =
        status == JD_INVALID_ARGUMENT ? jd__between_failed(r->clique) : -1;
    return culprit >= 0 ? hear(r, culprit, fault) : status;
}

static jd_status tell(const struct ragged *r)
{
    const struct jd_ragged *a = r->arrays;
    size_t bytes = (size_t)a->per_member * sizeof *r->tell;
    for (int i = 0; i < r->clique->size; i++) {
        size_t first = jd__ragged_place(a, i, 0);
        for (int k = 0; k < a->per_member; k++)
            r->tell[first + (size_t)k] = jd__ragged_given(a, i, k);
        r->clique->between->sends[i] = jd__strip_flat(r->tell + first, bytes);
        r->clique->between->receives[i] =
            jd__strip_flat(r->told + first, bytes);
    }
    return jd__between_exchange(r->clique, r->scratch, false, NULL, NULL);
}

/* A second meeting: whether each member found that all is well. */
static jd_status agree(const struct ragged *r, struct jd_meeting meeting)
{
    struct jd_ragged_fault fault;
    jd__ragged_compare(r->arrays, r->clique->size, r->clique->index, r->told,
                       &fault);
    return meet(r, meeting, &fault);
}

/* ---- moving ------------------------------------------------------------- */

/* Moves every member's k-th chunk. */
static jd_status move(const struct ragged *r, int k)
{
    const struct jd_ragged *a = r->arrays;
    struct jd_between *between = r->clique->between;
    for (int i = 0; i < r->clique->size; i++) {
        int entry = i * a->per_member + k;
        between->sends[i] =
            jd__strip_flat((const char *)r->call->in +
                               (size_t)a->input_offsets[entry] * r->row,
                           (size_t)a->send_sizes[entry] * r->row);
        between->receives[i] = jd__strip_flat(
            (char *)r->call->out + (size_t)r->told[entry].to * r->row,
            (size_t)r->told[entry].size * r->row);
    }
    return jd__between_exchange(r->clique, r->scratch, false, NULL, NULL);
}

/* Cuts the memory for the entries off the scratch's end. */
static void take_scratch(struct ragged *r, struct jd_meeting *meeting)
{
    size_t bytes = jd__between_exchange_scratch(r->clique);
    size_t told = (size_t)entries_of(r) * sizeof *r->told;
    bytes = (bytes + 63) / 64 * 64;
    r->scratch = jd__between_scratch(r->clique, meeting, bytes + 2 * told);
    if (!r->scratch)
        return;
    r->tell = (struct jd_ragged_entry *)(void *)(r->scratch + bytes);
    r->told = r->tell + entries_of(r);
}

jd_status jd__between_ragged(struct jd_clique *clique,
                             const struct jd_collective *call,
                             const struct jd_ragged *ragged)
{
    struct ragged r = { .clique = clique,
                        .call = call,
                        .arrays = ragged,
                        .row = call->count * jd_dtype_size(call->dtype) };
    struct jd_meeting meeting = { .call = call,
                                  .signature = jd__between_sign(call) };
    meeting.signature.digest = (uint64_t)ragged->per_member;
    struct jd_ragged_fault fault;
    jd__ragged_compare_given(ragged, clique->size, clique->index, &fault);
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
