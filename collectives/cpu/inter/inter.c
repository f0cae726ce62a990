/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter.c - the collectives between groups that move data as it is; those
 * that reduce are in inter_reduce.c.
 */
#include "collectives/cpu/inter/inter_private.h"
#include "runtime/recorder/site.h"
#include "runtime/topology/crowd.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

int jd__inter_served(const struct jd_inter *inter, int group, int rail)
{
    int size = jd__inter_group_size(inter, group);
    return (size - rail + inter->rails - 1) / inter->rails;
}

int jd__inter_served_before(const struct jd_inter *inter, int group, int rail)
{
    int served = 0;
    for (int t = 0; t < group; t++)
        served += jd__inter_served(inter, t, rail);
    return served;
}

static void count_served(struct jd_inter *inter, int groups)
{
    int rail = inter->place % inter->rails;
    for (int t = 0; t < groups; t++)
        inter->served[t + 1] =
            inter->served[t] + jd__inter_served(inter, t, rail);
}

/* Where a member stands when they are listed group by group. */
static int position_of(const struct jd_inter *inter, const struct jd_comm *comm,
                       int member)
{
    return inter->begins[comm->groups[member]] + comm->places[member];
}

/* No list where they are numbered so, as in most meshes. */
static bool list_members(struct jd_inter *inter, const struct jd_comm *comm)
{
    int i = 0;
    while (i < comm->size && position_of(inter, comm, i) == i)
        i++;
    if (i == comm->size)
        return true;
    inter->list = calloc((size_t)comm->size, sizeof *inter->list);
    for (i = 0; inter->list && i < comm->size; i++)
        inter->list[position_of(inter, comm, i)] = i;
    return inter->list != NULL;
}

/* Who is in which group. */
static bool make_layout(struct jd_inter *inter, const struct jd_comm *comm)
{
    size_t groups = (size_t)comm->num_groups;
    inter->begins = calloc(groups + 1, sizeof *inter->begins);
    inter->served = calloc(groups + 1, sizeof *inter->served);
    if (!inter->begins || !inter->served)
        return false;
    for (int i = 0; i < comm->size; i++)
        inter->begins[comm->groups[i] + 1]++;
    inter->rails = comm->size;
    for (int t = 0; t < comm->num_groups; t++) {
        if (inter->begins[t + 1] < inter->rails)
            inter->rails = inter->begins[t + 1];
        inter->begins[t + 1] += inter->begins[t];
    }
    inter->group = comm->groups[comm->index];
    inter->place = comm->places[comm->index];
    count_served(inter, comm->num_groups);
    return list_members(inter, comm);
}

static bool make_arrays(struct jd_inter *inter, const struct jd_comm *comm)
{
    int group_size = jd__inter_group_size(inter, inter->group);
    size_t places = (size_t)group_size + 2;
    if (comm->is_deterministic)
        places = (size_t)comm->size + 2;
    inter->ins = calloc(places, sizeof *inter->ins);
    inter->outs = calloc(places, sizeof *inter->outs);
    if (inter->place == 0) {
        inter->own = aligned_alloc(64, jd__inter_pass_size(comm));
        inter->other = aligned_alloc(64, jd__inter_pass_size(comm));
    }
    return inter->ins && inter->outs &&
           (inter->place || (inter->own && inter->other));
}

/* Leaders that share processors spare each other messages; the others each have
 * the shortest way. Of two there is one way. */
static jd_status choose_merge(const struct jd_comm *comm, const char *operation)
{
    struct jd_inter *inter = comm->inter;
    bool is_crowded = false;
    int groups = comm->num_groups;
    int *leaders = calloc((size_t)groups, sizeof *leaders);
    if (!leaders)
        return jd__fail_no_memory(operation, (size_t)groups * sizeof *leaders);
    for (int t = 0; t < groups; t++)
        leaders[t] = comm->processes[jd__inter_member(inter, t, 0)];
    jd_status status = jd__crowd_find(comm->runtime->topology, leaders, groups,
                                      operation, &is_crowded);
    inter->merge = is_crowded && groups > 2 ? JD_SCHEDULE_MERGE_BY_FOURS
                                            : JD_SCHEDULE_MERGE;
    free(leaders);
    return status;
}

/* Of a leader; they are the same for each call. */
static bool make_rounds(struct jd_inter *inter, const struct jd_comm *comm)
{
    struct jd_schedule schedule = { .kind = inter->merge,
                                    .parties = comm->num_groups,
                                    .self = inter->group };
    int count = jd__schedule_rounds(&schedule);
    inter->rounds = calloc((size_t)count + 1, sizeof *inter->rounds);
    for (int k = 0; inter->rounds && k < count; k++) {
        struct jd_round round = jd__schedule_round(&schedule, k);
        if (round.from >= 0 || round.to >= 0)
            inter->rounds[inter->num_rounds++] = round;
    }
    return inter->rounds;
}

jd_status jd__inter_create(struct jd_comm *comm, const char *operation)
{
    size_t bytes = sizeof *comm->inter + (size_t)comm->size * sizeof(int);
    comm->inter = calloc(1, sizeof *comm->inter);
    jd_status status = comm->inter && make_layout(comm->inter, comm)
                           ? choose_merge(comm, operation)
                           : jd__fail_no_memory(operation, bytes);
    if (status == JD_OK &&
        !(make_arrays(comm->inter, comm) &&
          (comm->inter->place || make_rounds(comm->inter, comm))))
        status = jd__fail_no_memory(operation,
                                    bytes + 2 * jd__inter_pass_size(comm));
    if (status != JD_OK)
        jd__inter_destroy(comm);
    return status;
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
    free(inter->begins);
    free(inter->served);
    free(inter->list);
    free(inter->rounds);
    free(inter->ins);
    free(inter->outs);
    free(inter->own);
    free(inter->other);
    jd__inter_free_transfers(comm);
    free(inter);
    comm->inter = NULL;
}

struct jd_signature jd__inter_sign(const struct jd_collective *call)
{
    return (struct jd_signature){
        .activity = (uint16_t)call->activity,
        .dtype = (uint16_t)jd__collective_dtype(call),
        .site = call->is_internal ? 0 : jd__site_compared(),
        .count = call->count,
        .source = -1,
        .digest = call->rest,
    };
}

static size_t bytes_of(const struct jd_collective *call)
{
    return call->count * jd_dtype_size(call->dtype);
}

jd_status jd__inter_barrier(struct jd_comm *comm,
                            const struct jd_collective *call)
{
    struct jd_inter_sync sync = { .call = call,
                                  .signature = jd__inter_sign(call) };
    return jd__inter_sync(comm, &sync);
}

/* ---- all_gather and broadcast ------------------------------------------- */

static void take_gathered(struct jd_comm *comm,
                          const struct jd_inter_sync *sync, size_t rows)
{
    const struct jd_collective *call = sync->call;
    size_t width = bytes_of(call);
    for (int i = 0; i < comm->size; i++) {
        struct jd_strided to = {
            .base = (char *)call->out + (size_t)i * width,
            .rows = rows,
            .width = width,
            .pitch = (size_t)comm->size * width,
        };
        jd__strided_write(&to, 0, sync->bytes,
                          jd__inter_brought_by(comm, sync, i));
    }
}

jd_status jd__inter_all_gather(struct jd_comm *comm,
                               const struct jd_collective *call, size_t rows)
{
    struct jd_inter_sync sync = { .call = call,
                                  .signature = jd__inter_sign(call),
                                  .takes_each = true };
    bool comes =
        jd__inter_bring(comm, &sync, JD_BRING_ALL, rows * bytes_of(call));
    sync.signature.digest = call->rest ? call->rest : rows;
    jd_status status = comes ? jd__inter_sync(comm, &sync)
                             : jd__inter_gather_long(comm, &sync, rows);
    if (status == JD_OK && jd__inter_has_come(comm, &sync))
        take_gathered(comm, &sync, rows);
    return status;
}

jd_status jd__inter_broadcast(struct jd_comm *comm,
                              const struct jd_collective *call, int source)
{
    struct jd_inter_sync sync = { .call = call,
                                  .signature = jd__inter_sign(call) };
    size_t bytes = bytes_of(call);
    bool comes = jd__inter_bring(comm, &sync, JD_BRING_SOURCE, bytes);
    sync.signature.source = source;
    jd_status status = comes ? jd__inter_sync(comm, &sync)
                             : jd__inter_broadcast_long(comm, &sync, source);
    if (status == JD_OK && jd__inter_has_come(comm, &sync) && bytes)
        memcpy(call->out, jd__inter_brought(comm), bytes);
    return status;
}

/* ---- each with each ----------------------------------------------------- */

/* What members give each other, of ins of so many bytes, each a strided part
 * of its in. */
struct pairs {
    struct jd_comm *comm;
    const struct jd_collective *call;
    struct jd_inter_sync sync;
    size_t in_bytes;
    const void *arg;
    struct jd_strided (*send)(const void *arg, int member);
    struct jd_strided (*receive)(const void *arg, int member);
    struct jd_strided own; /* what every other gives this member, as if the
                            * other's in were this one's */
    size_t each;           /* bytes of each pair; 0: not all have as many */
    const struct jd_permute
        *routes; /* of a permutation; NULL: each with each */
};

static bool is_ours(const struct jd_comm *comm, int member)
{
    return member != comm->index && comm->groups[member] == comm->inter->group;
}

/* What can be read in the group does not travel: each knows by the same rule
 * who is read. */
static struct jd_strided sent_to(const void *arg, int member)
{
    const struct pairs *p = arg;
    if (is_ours(p->comm, member) &&
        jd__inter_shared_in(p->comm, p->comm->inter->place, p->in_bytes))
        return jd__strided_flat(NULL, 0);
    return p->send(p->arg, member);
}

static struct jd_strided received_from(const void *arg, int member)
{
    const struct pairs *p = arg;
    if (is_ours(p->comm, member) &&
        jd__inter_shared_in(p->comm, p->comm->places[member], p->in_bytes))
        return jd__strided_flat(NULL, 0);
    return p->receive(p->arg, member);
}

static void take_inside(const struct pairs *p)
{
    const struct jd_inter *inter = p->comm->inter;
    for (int i = 0; i < jd__inter_group_size(inter, inter->group); i++) {
        int member = jd__inter_member(inter, inter->group, i);
        struct jd_strided to = p->receive(p->arg, member), from = p->own;
        char *in = jd__inter_shared_in(p->comm, i, p->in_bytes);
        if (i == inter->place || !in || !jd__strided_bytes(&to))
            continue;
        from.base += in - (char *)p->call->in;
        jd__strided_copy(&to, &from);
    }
}

/* The same out of what all brought: each its in. */
static void take_brought(const struct pairs *p)
{
    size_t offset = (size_t)(p->own.base - (const char *)p->call->in);
    for (int i = 0; i < p->comm->size; i++) {
        struct jd_strided to = p->receive(p->arg, i), from = p->own;
        from.base = (char *)jd__inter_brought_by(p->comm, &p->sync, i) + offset;
        if (jd__strided_bytes(&to))
            jd__strided_copy(&to, &from);
    }
}

/* Of two, apart: only what is for the other goes there. */
static jd_status exchange_pieces(struct pairs *p)
{
    int self = p->comm->index, other = 1 - self;
    jd_status status = jd__inter_sync(p->comm, &p->sync);
    if (status != JD_OK)
        return status;
    struct jd_strided from = p->send(p->arg, self);
    struct jd_strided to = p->receive(p->arg, self);
    if (jd__strided_bytes(&to))
        jd__strided_copy(&to, &from);
    to = p->receive(p->arg, other);
    jd__strided_write(&to, 0, p->sync.bytes,
                      jd__inter_brought_by(p->comm, &p->sync, other));
    return JD_OK;
}

static jd_status exchange_pairs(struct pairs *p)
{
    struct jd_comm *comm = p->comm;
    struct jd_inter_exchange x = { .comm = comm,
                                   .arg = p,
                                   .send = sent_to,
                                   .receive = received_from,
                                   .is_in_place = p->call->in == p->call->out };
    bool comes = jd__inter_bring(comm, &p->sync, JD_BRING_ALL, p->in_bytes);
    bool is_short = p->each && jd__inter_is_short(comm, p->each);
    if (!comes) {
        x.scratch =
            jd__inter_scratch(comm, &p->sync,
                              is_short ? jd__inter_short_scratch(comm, p->each)
                                       : jd__inter_exchange_scratch(comm));
        p->sync.in_bytes = p->in_bytes;
        p->sync.hides = x.is_in_place;
    }
    jd_status status = jd__inter_sync(comm, &p->sync);
    if (status != JD_OK)
        return status;
    if (jd__inter_has_come(comm, &p->sync)) {
        take_brought(p);
        return JD_OK;
    }
    if (is_short)
        return jd__inter_exchange_short(&x, p->each);
    status = p->routes
                 ? jd__inter_exchange_one(&x, p->routes->from, p->routes->to)
                 : jd__inter_exchange(&x);
    if (status != JD_OK)
        return status;
    take_inside(p); /* out may be an in, of which all has gone by now */
    return jd__shm_step(comm->group);
}

/* ---- all_to_all */

struct all_to_all {
    const struct jd_collective *call;
    const struct jd_pieces *pieces;
    size_t element;
};

static struct jd_strided piece_for(const void *arg, int member)
{
    const struct all_to_all *a = arg;
    size_t offset = (size_t)member * a->pieces->in_step * a->element;
    return (struct jd_strided){
        .base = jd__strided_place(a->call->in, offset),
        .rows = a->pieces->rows,
        .width = a->pieces->width * a->element,
        .pitch = a->pieces->in_pitch * a->element,
    };
}

static struct jd_strided piece_from(const void *arg, int member)
{
    const struct all_to_all *a = arg;
    size_t offset = (size_t)member * a->pieces->out_step * a->element;
    return (struct jd_strided){
        .base = jd__strided_place(a->call->out, offset),
        .rows = a->pieces->rows,
        .width = a->pieces->width * a->element,
        .pitch = a->pieces->out_pitch * a->element,
    };
}

/* Without a step all members get the one piece that there is. */
static size_t bytes_of_pieces(const struct jd_comm *comm,
                              const struct jd_collective *call,
                              const struct jd_pieces *pieces)
{
    return (pieces->in_step ? (size_t)comm->size : 1) * bytes_of(call);
}

jd_status jd__inter_all_to_all(struct jd_comm *comm,
                               const struct jd_collective *call,
                               const struct jd_pieces *pieces)
{
    struct all_to_all a = { call, pieces, jd_dtype_size(call->dtype) };
    struct pairs p = {
        .comm = comm,
        .call = call,
        .sync = { .call = call,
                  .signature = jd__inter_sign(call),
                  .takes_each = true },
        .in_bytes = bytes_of_pieces(comm, call, pieces),
        .arg = &a,
        .send = piece_for,
        .receive = piece_from,
        .own = piece_for(&a, comm->index),
        .each = bytes_of(call),
    };
    p.sync.signature.digest = pieces->rest;
    return jd__inter_bring_piece(comm, &p.sync, piece_for(&a, 1 - comm->index))
               ? exchange_pieces(&p)
               : exchange_pairs(&p);
}

/* ---- permute */

struct permute {
    const struct jd_collective *call;
    const struct jd_permute *permute;
};

static struct jd_strided route_to(const void *arg, int member)
{
    const struct permute *p = arg;
    return jd__strided_flat(p->call->in,
                            member == p->permute->to ? bytes_of(p->call) : 0);
}

static struct jd_strided route_from(const void *arg, int member)
{
    const struct permute *p = arg;
    return jd__strided_flat(p->call->out,
                            member == p->permute->from ? bytes_of(p->call) : 0);
}

jd_status jd__inter_permute(struct jd_comm *comm,
                            const struct jd_collective *call,
                            const struct jd_permute *permute)
{
    struct permute routes = { call, permute };
    size_t bytes = bytes_of(call);
    struct pairs p = {
        .comm = comm,
        .call = call,
        .sync = { .call = call,
                  .signature = jd__inter_sign(call),
                  .takes_each = true },
        .in_bytes = bytes,
        .arg = &routes,
        .send = route_to,
        .receive = route_from,
        .own = jd__strided_flat(call->in, bytes),
        .routes = permute,
    };
    p.sync.signature.digest = permute->digest;
    jd_status status = exchange_pairs(&p);
    if (status == JD_OK && permute->from < 0 && !permute->keeps && bytes)
        memset(call->out, 0, bytes);
    return status;
}
