/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_move_ragged.c - ragged_all_to_all inside a group: the consumers first
 * hear what they will get, and compare it with what they expect; each says in
 * its note what it found; only where nobody found anything wrong do data move.
 * Where all know beforehand what they get, the first piece is there when they
 * meet, and one stream is for all consumers.
 */
#include "collectives/cpu/shm/shm_flow.h"
#include "collectives/cpu/shm/shm_move.h"
#include "collectives/cpu/shm/shm_private.h"
#include "collectives/platform/ragged_fault.h"

#include <stdlib.h>
#include <string.h>

/* What a member tells the others once it has heard all producers. */
struct note {
    struct jd_given given;
    struct jd_ragged_fault fault;
};
static_assert(sizeof(struct note) <= JD_SHM_NOTE, "fits");

/* One call. */
struct exchange {
    struct jd_shm_group *group;
    const struct jd_ragged *ragged;
    size_t row; /* bytes */
    char *in, *out;
    struct jd_ragged_entry *told;        /* per_member of each producer */
    const struct jd_ragged_entry *table; /* that, or what is known */
};

static struct jd_ragged_entry given_entry(const struct exchange *x,
                                          int consumer, int piece)
{
    return jd__ragged_fault_given(x->ragged, consumer, piece);
}

static struct jd_ragged_entry taken_entry(const struct exchange *x,
                                          int producer, int piece)
{
    return x->table[jd__ragged_fault_place(x->ragged, producer, piece)];
}

/* ---- telling the consumers -------------------------------------------------
 */

static size_t table_bytes(const struct jd_shm_flow *flow, int producer,
                          int consumer)
{
    const struct exchange *x = flow->arg;
    return producer == consumer
               ? 0
               : (size_t)x->ragged->per_member * sizeof(struct jd_ragged_entry);
}

/* Pieces of a stream end anywhere: also within an entry. */
static void give_table(const struct jd_shm_flow *flow, int consumer,
                       size_t begin, size_t bytes, char *to)
{
    size_t size = sizeof(struct jd_ragged_entry);
    while (bytes) {
        struct jd_ragged_entry entry =
            given_entry(flow->arg, consumer, (int)(begin / size));
        size_t offset = begin % size;
        size_t part = size - offset < bytes ? size - offset : bytes;
        memcpy(to, (const char *)&entry + offset, part);
        to += part;
        begin += part;
        bytes -= part;
    }
}

static void take_table(const struct jd_shm_flow *flow, int producer,
                       size_t begin, size_t bytes, const char *from)
{
    const struct exchange *x = flow->arg;
    if (x->told)
        memcpy(
            (char *)&x->told[jd__ragged_fault_place(x->ragged, producer, 0)] +
                begin,
            from, bytes);
}

static const struct jd_given *given_table(const struct jd_shm_flow *flow,
                                          int producer)
{
    return jd__shm_payload(flow->group, producer);
}

static const struct jd_shm_flow_ops table_ops = {
    .bytes = table_bytes,
    .give = give_table,
    .take = take_table,
    .given = given_table,
};

static struct jd_shm_flow make_table_flow(const struct exchange *x)
{
    return (struct jd_shm_flow){
        .group = x->group,
        .ops = &table_ops,
        .arg = x,
        .overwrites = true, /* it is nowhere to be read straight */
    };
}

/* ---- comparing ---------------------------------------------------------- */

static const struct note *note_of(const struct jd_shm_group *group, int member)
{
    return (const void *)group->members[member].control->note;
}

static jd_status fail_with_fault(const struct jd_shm_group *group,
                                 const struct jd_ragged_fault *fault)
{
    const struct jd_wait *wait = &group->spec.wait;
    return jd__ragged_fault_fail(wait->operation, wait->detail,
                                 group->processes, fault);
}

/* Everybody has the same answer. */
static jd_status compare_all(const struct exchange *x,
                             const struct jd_shm_flow *data)
{
    struct jd_shm_group *group = x->group;
    struct note note = { .fault.kind = JD_RAGGED_FITS };
    jd__ragged_fault_compare(x->ragged, group->size, group->index, x->table,
                             &note.fault);
    if (note.fault.kind == JD_RAGGED_FITS)
        jd__shm_flow_choose(data, &note.given);
    memcpy(group->own->note, &note, sizeof note);
    jd_status status = jd__shm_step(group);
    const struct jd_ragged_fault *said = &note_of(group, 0)->fault;
    for (int i = 1; i < group->size && status == JD_OK; i++)
        if (jd__ragged_fault_goes_before(&note_of(group, i)->fault, said))
            said = &note_of(group, i)->fault;
    return status == JD_OK && said->kind != JD_RAGGED_FITS
               ? fail_with_fault(group, said)
               : status;
}

/* ---- moving ------------------------------------------------------------- */

static size_t data_bytes(const struct jd_shm_flow *flow, int producer,
                         int consumer)
{
    const struct exchange *x = flow->arg;
    int64_t rows = 0;
    for (int i = 0; i < x->ragged->per_member; i++)
        rows += producer == x->group->index ? given_entry(x, consumer, i).size
                                            : taken_entry(x, producer, i).size;
    return (size_t)rows * x->row;
}

static void give_data(const struct jd_shm_flow *flow, int consumer,
                      size_t begin, size_t bytes, char *to)
{
    const struct exchange *x = flow->arg;
    for (int i = 0; bytes; i++) {
        struct jd_ragged_entry entry = given_entry(x, consumer, i);
        size_t length = (size_t)entry.size * x->row;
        if (begin >= length) {
            begin -= length;
            continue;
        }
        size_t part = length - begin < bytes ? length - begin : bytes;
        memcpy(to, x->in + (size_t)entry.from * x->row + begin, part);
        to += part;
        bytes -= part;
        begin = 0;
    }
}

static void take_data(const struct jd_shm_flow *flow, int producer,
                      size_t begin, size_t bytes, const char *from)
{
    const struct exchange *x = flow->arg;
    for (int i = 0; bytes; i++) {
        struct jd_ragged_entry entry = taken_entry(x, producer, i);
        size_t length = (size_t)entry.size * x->row;
        if (begin >= length) {
            begin -= length;
            continue;
        }
        size_t part = length - begin < bytes ? length - begin : bytes;
        memcpy(x->out + (size_t)entry.to * x->row + begin, from, part);
        from += part;
        bytes -= part;
        begin = 0;
    }
}

static jd_status copy_data(const struct jd_shm_flow *flow, int producer,
                           struct jd_shm_cma in)
{
    const struct exchange *x = flow->arg;
    jd_status status = JD_OK;
    for (int i = 0; i < x->ragged->per_member && status == JD_OK; i++) {
        struct jd_ragged_entry entry = taken_entry(x, producer, i);
        size_t bytes = (size_t)entry.size * x->row;
        struct jd_strided to = { x->out + (size_t)entry.to * x->row, 1, bytes,
                                   bytes };
        if (bytes)
            status = jd__shm_cma_copy(x->group, in, (size_t)entry.from * x->row,
                                      bytes, &to);
    }
    return status;
}

/* Of what is known it is told when the members meet. */
static const struct jd_given *given_data(const struct jd_shm_flow *flow,
                                         int producer)
{
    const struct exchange *x = flow->arg;
    return x->ragged->known ? jd__shm_payload(flow->group, producer)
                            : &note_of(flow->group, producer)->given;
}

static const struct jd_shm_flow_ops data_ops = {
    .bytes = data_bytes,
    .give = give_data,
    .take = take_data,
    .copy = copy_data,
    .given = given_data,
};

static struct exchange make_exchange(struct jd_shm_group *group,
                                     const struct jd_collective *call,
                                     const struct jd_ragged *ragged)
{
    return (struct exchange){
        .group = group,
        .ragged = ragged,
        .row = call->count * jd_dtype_size(call->dtype),
        .in = (char *)(uintptr_t)call->in,
        .out = call->out,
        .table = ragged->known,
    };
}

static struct jd_shm_flow make_data_flow(const struct exchange *x)
{
    bool is_known = x->ragged->known != NULL;
    return (struct jd_shm_flow){
        .group = x->group,
        .ops = &data_ops,
        .arg = x,
        .in = x->in,
        .in_bytes = x->ragged->in_rows * x->row,
        .is_shared = is_known,
        .is_late = !is_known,
    };
}

/* ---- both parts --------------------------------------------------------- */

size_t jd__shm_move_tell_ragged(struct jd_shm_group *group,
                                const struct jd_collective *call,
                                const struct jd_ragged *ragged, void *payload)
{
    struct exchange x = make_exchange(group, call, ragged);
    struct jd_shm_flow flow =
        ragged->known ? make_data_flow(&x) : make_table_flow(&x);
    jd__shm_flow_give(&flow, payload);
    return sizeof(struct jd_given);
}

/* Room for the table, which the group keeps; NULL where there is none. */
static struct jd_ragged_entry *make_table(const struct exchange *x)
{
    struct jd_shm_group *group = x->group;
    size_t bytes = jd__ragged_fault_place(x->ragged, group->size, 0) *
                   sizeof(struct jd_ragged_entry);
    if (bytes > group->scratch_bytes) {
        void *scratch = realloc(group->scratch, bytes);
        if (!scratch)
            return NULL;
        group->scratch = scratch;
        group->scratch_bytes = bytes;
    }
    struct jd_ragged_entry *table = group->scratch;
    for (int i = 0; i < x->ragged->per_member; i++)
        table[jd__ragged_fault_place(x->ragged, group->index, i)] =
            given_entry(x, group->index, i);
    return table;
}

jd_status jd__shm_move_run_ragged(struct jd_shm_group *group,
                                  const struct jd_collective *call,
                                  const struct jd_ragged *ragged)
{
    struct exchange x = make_exchange(group, call, ragged);
    struct jd_shm_flow data = make_data_flow(&x);
    if (ragged->known)
        return jd__shm_flow_run(&data);
    x.table = x.told = make_table(&x);
    struct jd_shm_flow table = make_table_flow(&x);
    jd_status status = jd__shm_flow_run(&table);
    if (status == JD_OK)
        status = compare_all(&x, &data);
    return status == JD_OK ? jd__shm_flow_run(&data) : status;
}
