/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter.c - the collectives between teams that move data as it is; those
 * that reduce are in inter_reduce.c.
 */
#include "collectives/cpu/inter/inter_private.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Who is in which team. */
static bool make_layout(struct jd_between *between,
                        const struct jd_clique *clique)
{
    size_t size = (size_t)clique->size, teams = (size_t)clique->num_teams;
    between->sizes = calloc(teams, sizeof *between->sizes);
    between->members = calloc(teams, sizeof *between->members);
    between->list = calloc(size, sizeof *between->list);
    if (!between->sizes || !between->members || !between->list)
        return false;
    for (int i = 0; i < clique->size; i++)
        between->sizes[clique->teams[i]]++;
    between->lanes = between->sizes[0];
    for (int t = 0, first = 0; t < clique->num_teams; t++) {
        between->members[t] = between->list + first;
        first += between->sizes[t];
        if (between->sizes[t] < between->lanes)
            between->lanes = between->sizes[t];
    }
    for (int i = 0; i < clique->size; i++)
        between->members[clique->teams[i]][clique->places[i]] = i;
    between->team = clique->teams[clique->index];
    between->place = clique->places[clique->index];
    return true;
}

static bool make_arrays(struct jd_between *between,
                        const struct jd_clique *clique)
{
    size_t size = (size_t)clique->size;
    between->sends = calloc(size, sizeof *between->sends);
    between->receives = calloc(size, sizeof *between->receives);
    between->blocks = calloc(size, sizeof *between->blocks);
    between->ins = calloc(size, sizeof *between->ins);
    between->outs = calloc(size, sizeof *between->outs);
    if (between->place == 0)
        between->summary =
            malloc((size_t)clique->num_teams * jd__between_summary_size());
    for (int i = 0; i < JD_BETWEEN_DEPTH; i++)
        if (!jd__between_make_posts(&between->posts[i], 2 * clique->size))
            return false;
    return between->sends && between->receives && between->blocks &&
           between->ins && between->outs &&
           (between->place || between->summary);
}

jd_status jd__between_create(struct jd_clique *clique, const char *operation)
{
    clique->between = calloc(1, sizeof *clique->between);
    if (clique->between)
        clique->between->is_deterministic = jd__settings_integer(
            clique->runtime->settings, JD_OPTION_DETERMINISTIC);
    if (clique->between && make_layout(clique->between, clique) &&
        make_arrays(clique->between, clique))
        return JD_OK;
    jd__between_destroy(clique);
    return jd__fail_no_memory(operation, (size_t)clique->num_teams *
                                             jd__between_summary_size());
}

/* After a failure messages may be under way: MPI still writes into what they
 * were to come to. */
static bool keep_for_mpi(struct jd_clique *clique)
{
    static _Atomic(struct jd_between *) kept;
    if (!clique->wire || !jd__group_has_failed(clique->wire))
        return false;
    clique->between->next = atomic_exchange(&kept, clique->between);
    return true;
}

void jd__between_destroy(struct jd_clique *clique)
{
    struct jd_between *between = clique->between;
    if (!between)
        return;
    if (keep_for_mpi(clique)) {
        clique->between = NULL;
        return;
    }
    free(between->sizes);
    free(between->members);
    free(between->list);
    free(between->sends);
    free(between->receives);
    free(between->blocks);
    free(between->ins);
    free(between->outs);
    free(between->summary);
    for (int i = 0; i < JD_BETWEEN_DEPTH; i++)
        jd__between_free_posts(&between->posts[i]);
    jd__between_free_transfers(clique);
    free(between);
    clique->between = NULL;
}

struct jd_signature jd__between_sign(const struct jd_collective *call)
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

jd_status jd__between_barrier(struct jd_clique *clique,
                              const struct jd_collective *call)
{
    struct jd_meeting meeting = { .call = call,
                                  .signature = jd__between_sign(call) };
    return jd__between_meet(clique, &meeting);
}

void jd__between_clear(struct jd_clique *clique)
{
    size_t bytes = (size_t)clique->size * sizeof(struct jd_strip);
    memset(clique->between->sends, 0, bytes);
    memset(clique->between->receives, 0, bytes);
}

/*
 * What members of this team give to each other, where it can be read straight;
 * the strips are empty then. Each knows by the same rule who is read.
 */
static void take_inside(struct jd_clique *clique,
                        const struct jd_meeting *meeting)
{
    struct jd_between *between = clique->between;
    const int *members = between->members[between->team];
    bool is_read =
        jd__between_in_of(clique, between->place, meeting->in_bytes) != NULL;
    for (int i = 0; i < between->sizes[between->team]; i++) {
        struct jd_strip *to = &between->receives[members[i]];
        char *in = jd__between_in_of(clique, i, meeting->in_bytes);
        if (i == between->place)
            continue;
        if (is_read)
            between->sends[members[i]].rows = 0;
        if (in && jd__strip_bytes(to)) {
            struct jd_strip from = between->inside;
            from.base += in - (char *)meeting->call->in;
            jd__strip_copy(to, &from);
        }
        if (in)
            to->rows = 0;
    }
}

/* What the strips say, out of what all brought: each its in. */
static void take_brought(struct jd_clique *clique,
                         const struct jd_meeting *meeting)
{
    const struct jd_between *between = clique->between;
    size_t offset =
        (size_t)(between->inside.base - (const char *)meeting->call->in);
    const char *brought = jd__between_brought(clique);
    for (int i = 0; i < clique->size; i++) {
        struct jd_strip from = between->inside;
        from.base = (char *)brought + (size_t)i * meeting->bytes + offset;
        if (jd__strip_bytes(&between->receives[i]))
            jd__strip_copy(&between->receives[i], &from);
    }
}

/* Meets, and moves what the strips say, out of ins of so many bytes. */
static jd_status meet_and_exchange(struct jd_clique *clique,
                                   struct jd_meeting *meeting, size_t bytes)
{
    bool is_in_place = meeting->call->in == meeting->call->out;
    char *scratch = NULL;
    if (!jd__between_bring(clique, meeting, JD_BRING_ALL, bytes)) {
        scratch = jd__between_scratch(clique, meeting,
                                      jd__between_exchange_scratch(clique));
        meeting->in_bytes = bytes;
        meeting->hides = is_in_place;
    }
    jd_status status = jd__between_meet(clique, meeting);
    if (status != JD_OK)
        return status;
    if (jd__between_has_come(clique, meeting)) {
        take_brought(clique, meeting);
        return JD_OK;
    }
    take_inside(clique, meeting);
    status = jd__between_exchange(clique, scratch, is_in_place, NULL, NULL);
    return status == JD_OK ? jd__team_step(clique->team) : status;
}

/* ---- all_gather and broadcast ------------------------------------------- */

/* Where member's rows go: each beside those of the others. */
static struct jd_strip gathered(const struct jd_clique *clique,
                                const struct jd_collective *call, size_t rows,
                                int member)
{
    size_t width = bytes_of(call);
    return (struct jd_strip){
        .base = (char *)call->out + (size_t)member * width,
        .rows = rows,
        .width = width,
        .pitch = (size_t)clique->size * width,
    };
}

static void take_gathered(struct jd_clique *clique,
                          const struct jd_collective *call, size_t rows)
{
    size_t bytes = rows * bytes_of(call);
    const char *brought = jd__between_brought(clique);
    for (int i = 0; i < clique->size; i++) {
        struct jd_strip to = gathered(clique, call, rows, i);
        jd__strip_write(&to, 0, bytes, brought + (size_t)i * bytes);
    }
}

static jd_status all_gather_long(struct jd_clique *clique,
                                 const struct jd_collective *call, size_t rows,
                                 char *scratch)
{
    struct jd_between *between = clique->between;
    size_t bytes = rows * bytes_of(call);
    for (int i = 0; i < clique->size; i++) {
        between->blocks[i] = gathered(clique, call, rows, i);
        between->receives[i] = between->blocks[i];
        between->sends[i] = jd__strip_flat(call->in, bytes);
    }
    if (jd__between_all_seen(clique))
        return jd__between_gather_seen(clique, call, between->blocks, scratch);
    between->sends[clique->index].rows = rows;
    between->sends[clique->index].width = bytes_of(call);
    between->sends[clique->index].pitch = bytes_of(call);
    return jd__between_exchange(clique, scratch, false, NULL, NULL);
}

jd_status jd__between_all_gather(struct jd_clique *clique,
                                 const struct jd_collective *call, size_t rows)
{
    struct jd_meeting meeting = { .call = call,
                                  .signature = jd__between_sign(call) };
    size_t bytes = rows * bytes_of(call);
    char *scratch = NULL;
    meeting.signature.digest = rows;
    if (!jd__between_bring(clique, &meeting, JD_BRING_ALL, bytes)) {
        scratch = jd__between_scratch(clique, &meeting,
                                      jd__between_exchange_scratch(clique));
        meeting.in_bytes = bytes;
        meeting.out_bytes = bytes * (size_t)clique->size;
    }
    jd_status status = jd__between_meet(clique, &meeting);
    if (status != JD_OK)
        return status;
    if (!jd__between_has_come(clique, &meeting))
        return all_gather_long(clique, call, rows, scratch);
    take_gathered(clique, call, rows);
    return JD_OK;
}

static jd_status broadcast_long(struct jd_clique *clique,
                                const struct jd_collective *call, int source,
                                char *scratch)
{
    struct jd_between *between = clique->between;
    size_t bytes = bytes_of(call);
    if (jd__between_all_seen(clique))
        return jd__between_broadcast_seen(clique, call, source, scratch);
    jd__between_clear(clique);
    for (int i = 0; i < clique->size && clique->index == source; i++)
        between->sends[i] = jd__strip_flat(call->in, bytes);
    between->receives[source] = jd__strip_flat(call->out, bytes);
    return jd__between_exchange(clique, scratch, false, NULL, NULL);
}

jd_status jd__between_broadcast(struct jd_clique *clique,
                                const struct jd_collective *call, int source)
{
    struct jd_meeting meeting = { .call = call,
                                  .signature = jd__between_sign(call) };
    size_t bytes = bytes_of(call);
    char *scratch = NULL;
    meeting.signature.source = source;
    if (!jd__between_bring(clique, &meeting, JD_BRING_SOURCE, bytes)) {
        scratch = jd__between_scratch(clique, &meeting,
                                      jd__between_exchange_scratch(clique));
        meeting.in_bytes = meeting.out_bytes = bytes;
    }
    jd_status status = jd__between_meet(clique, &meeting);
    if (status != JD_OK)
        return status;
    if (!jd__between_has_come(clique, &meeting))
        return broadcast_long(clique, call, source, scratch);
    if (bytes)
        memcpy(call->out, jd__between_brought(clique), bytes);
    return JD_OK;
}

/* ---- each with each ----------------------------------------------------- */

static struct jd_strip piece_at(const struct jd_pieces *pieces, size_t element,
                                const void *base, size_t offset, size_t pitch)
{
    return (struct jd_strip){
        .base = (char *)base + offset * element,
        .rows = pieces->rows,
        .width = pieces->width * element,
        .pitch = pitch * element,
    };
}

jd_status jd__between_all_to_all(struct jd_clique *clique,
                                 const struct jd_collective *call,
                                 const struct jd_pieces *pieces)
{
    struct jd_between *between = clique->between;
    struct jd_meeting meeting = { .call = call,
                                  .signature = jd__between_sign(call) };
    size_t element = jd_dtype_size(call->dtype);
    meeting.signature.digest = pieces->rest;
    between->inside =
        piece_at(pieces, element, call->in,
                 (size_t)clique->index * pieces->in_step, pieces->in_pitch);
    for (int i = 0; i < clique->size; i++) {
        size_t m = (size_t)i;
        between->sends[i] = piece_at(pieces, element, call->in,
                                     m * pieces->in_step, pieces->in_pitch);
        between->receives[i] =
            piece_at(pieces, element, call->out, m * pieces->out_step,
                     pieces->out_pitch);
    }
    return meet_and_exchange(clique, &meeting,
                             (size_t)clique->size * bytes_of(call));
}

jd_status jd__between_permute(struct jd_clique *clique,
                              const struct jd_collective *call,
                              const struct jd_permute *permute)
{
    struct jd_between *between = clique->between;
    struct jd_meeting meeting = { .call = call,
                                  .signature = jd__between_sign(call) };
    size_t bytes = bytes_of(call);
    meeting.signature.digest = permute->digest;
    between->inside = jd__strip_flat(call->in, bytes);
    jd__between_clear(clique);
    if (permute->to >= 0)
        between->sends[permute->to] = jd__strip_flat(call->in, bytes);
    if (permute->from >= 0)
        between->receives[permute->from] = jd__strip_flat(call->out, bytes);
    jd_status status = meet_and_exchange(clique, &meeting, bytes);
    if (status == JD_OK && permute->from < 0 && !permute->keeps && bytes)
        memset(call->out, 0, bytes);
    return status;
}
