/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * team_move_ragged.c - ragged_all_to_all inside a team: the takers first hear
 * what they will get, and compare it with what they expect; each says in its
 * note what it found; only where nobody found anything wrong do data move.
 */
#include "collectives/team_flow.h"
#include "collectives/team_move.h"
#include "collectives/team_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a giver tells a taker of one piece, in rows. */
struct entry {
    int64_t from, size, to;
};

/* What can be wrong with a piece. */
enum fault {
    NO_FAULT,
    BAD_INPUT,  /* it is not inside the giver's in */
    BAD_OUTPUT, /* nor inside the taker's out */
    UNEQUAL,    /* the taker expects another size */
    NO_MEMORY,
};

/* What a member tells the others once it has heard all givers. */
struct note {
    struct jd_given given;
    int32_t fault;
    int32_t giver, taker, piece;
    int64_t offset, size; /* in bytes of memory: size */
    int64_t limit;        /* or what the taker expects */
};
static_assert(sizeof(struct note) <= JD_TEAM_NOTE, "fits");

/* One call. */
struct exchange {
    struct jd_team *team;
    const struct jd_ragged *ragged;
    size_t row; /* bytes */
    char *in, *out;
    struct entry *table; /* per_member of each giver */
};

static size_t entry_of(const struct exchange *x, int member, int piece)
{
    return (size_t)member * (size_t)x->ragged->per_member + (size_t)piece;
}

static struct entry given_entry(const struct exchange *x, int taker, int piece)
{
    size_t k = entry_of(x, taker, piece);
    return (struct entry){ .from = x->ragged->input_offsets[k],
                           .size = x->ragged->send_sizes[k],
                           .to = x->ragged->output_offsets[k] };
}

static struct entry taken_entry(const struct exchange *x, int giver, int piece)
{
    return x->table[entry_of(x, giver, piece)];
}

/* ---- telling the takers ------------------------------------------------- */

static size_t table_bytes(const struct jd_flow *flow, int giver, int taker)
{
    const struct exchange *x = flow->arg;
    return giver == taker
               ? 0
               : (size_t)x->ragged->per_member * sizeof(struct entry);
}

/* Pieces of a stream end anywhere: also within an entry. */
static void give_table(const struct jd_flow *flow, int taker, size_t begin,
                       size_t bytes, char *to)
{
    size_t size = sizeof(struct entry);
    while (bytes) {
        struct entry entry = given_entry(flow->arg, taker, (int)(begin / size));
        size_t offset = begin % size;
        size_t part = size - offset < bytes ? size - offset : bytes;
        memcpy(to, (const char *)&entry + offset, part);
        to += part;
        begin += part;
        bytes -= part;
    }
}

static void take_table(const struct jd_flow *flow, int giver, size_t begin,
                       size_t bytes, const char *from)
{
    const struct exchange *x = flow->arg;
    if (x->table)
        memcpy((char *)&x->table[entry_of(x, giver, 0)] + begin, from, bytes);
}

static const struct jd_given *given_table(const struct jd_flow *flow, int giver)
{
    return jd__team_payload(flow->team, giver);
}

static const struct jd_flow_ops table_ops = {
    .bytes = table_bytes,
    .give = give_table,
    .take = take_table,
    .given = given_table,
};

static struct jd_flow make_table_flow(const struct exchange *x)
{
    return (struct jd_flow){
        .team = x->team,
        .ops = &table_ops,
        .arg = x,
        .overwrites = true, /* it is nowhere to be read straight */
    };
}

/* ---- comparing ---------------------------------------------------------- */

/* Whether [offset, offset + size) is inside [0, limit). */
static bool is_inside(int64_t offset, int64_t size, size_t limit)
{
    return offset >= 0 && size >= 0 && (uint64_t)size <= limit &&
           (uint64_t)offset <= limit - (uint64_t)size;
}

static bool check_given(const struct exchange *x, int taker, int piece,
                        struct note *note)
{
    struct entry entry = given_entry(x, taker, piece);
    size_t limit = x->ragged->in_rows;
    if (is_inside(entry.from, entry.size, limit))
        return true;
    note->fault = BAD_INPUT;
    note->giver = x->team->index;
    note->taker = taker;
    note->offset = entry.from;
    note->size = entry.size;
    note->limit = (int64_t)limit;
    return false;
}

static bool check_taken(const struct exchange *x, int giver, int piece,
                        struct note *note)
{
    struct entry entry = taken_entry(x, giver, piece);
    size_t limit = x->ragged->out_rows;
    int64_t expected = x->ragged->recv_sizes[entry_of(x, giver, piece)];
    if (entry.size == expected && is_inside(entry.to, entry.size, limit))
        return true;
    note->fault = entry.size == expected ? BAD_OUTPUT : UNEQUAL;
    note->giver = giver;
    note->taker = x->team->index;
    note->offset = entry.to;
    note->size = entry.size;
    note->limit = entry.size == expected ? (int64_t)limit : expected;
    return false;
}

/* The first thing that is wrong. */
static void compare(const struct exchange *x, struct note *note)
{
    if (!x->table) {
        note->fault = NO_MEMORY;
        note->giver = x->team->index;
        note->size =
            (int64_t)(entry_of(x, x->team->size, 0) * sizeof(struct entry));
        return;
    }
    for (int i = 0; i < x->team->size; i++)
        for (note->piece = 0; note->piece < x->ragged->per_member;
             note->piece++)
            if (!check_given(x, i, note->piece, note) ||
                !check_taken(x, i, note->piece, note))
                return;
}

static const struct note *note_of(const struct jd_team *team, int member)
{
    return (const void *)team->members[member].control->note;
}

static jd_status fail(const struct jd_team *team, const struct note *note)
{
    const char *operation = team->spec.wait.operation;
    const char *detail = team->spec.wait.detail ? team->spec.wait.detail : "";
    int giver = team->processes[note->giver];
    int taker = team->processes[note->taker];
    switch (note->fault) {
    case BAD_INPUT:
        return jd_fail(
            JD_INVALID_ARGUMENT,
            "%s%s: process %d (member %d) sends rows %" PRId64 " to %" PRId64
            " + %" PRId64
            " to process %d (member %d), piece %d; its in has %" PRId64 " rows",
            operation, detail, giver, note->giver, note->offset, note->offset,
            note->size, taker, note->taker, note->piece, note->limit);
    case BAD_OUTPUT:
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s%s: process %d (member %d) sends %" PRId64
                       " rows to row %" PRId64
                       " of process %d (member %d), piece %d, whose out has "
                       "%" PRId64 " rows",
                       operation, detail, giver, note->giver, note->size,
                       note->offset, taker, note->taker, note->piece,
                       note->limit);
    case UNEQUAL:
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s%s: process %d (member %d) sends %" PRId64
                       " rows to process %d (member %d), piece %d, which "
                       "expects %" PRId64
                       "; recv_sizes are the others' send_sizes",
                       operation, detail, giver, note->giver, note->size, taker,
                       note->taker, note->piece, note->limit);
    default:
        return jd_fail(JD_RESOURCE_EXHAUSTED,
                       "%s%s: process %d (member %d) has no memory for the "
                       "table of what it gets: %" PRId64 " bytes",
                       operation, detail, giver, note->giver, note->size);
    }
}

/* Everybody has the same answer: the lowest member's that has one. */
static jd_status compare_all(const struct exchange *x,
                             const struct jd_flow *data)
{
    struct jd_team *team = x->team;
    struct note note = { .fault = NO_FAULT };
    compare(x, &note);
    if (note.fault == NO_FAULT)
        jd__flow_choose(data, &note.given);
    memcpy(team->own->note, &note, sizeof note);
    jd_status status = jd__team_step(team);
    for (int i = 0; i < team->size && status == JD_OK; i++)
        if (note_of(team, i)->fault != NO_FAULT)
            status = fail(team, note_of(team, i));
    return status;
}

/* ---- moving ------------------------------------------------------------- */

static size_t data_bytes(const struct jd_flow *flow, int giver, int taker)
{
    const struct exchange *x = flow->arg;
    int64_t rows = 0;
    for (int i = 0; i < x->ragged->per_member; i++)
        rows += giver == x->team->index ? given_entry(x, taker, i).size
                                        : taken_entry(x, giver, i).size;
    return (size_t)rows * x->row;
}

static void give_data(const struct jd_flow *flow, int taker, size_t begin,
                      size_t bytes, char *to)
{
    const struct exchange *x = flow->arg;
    for (int i = 0; bytes; i++) {
        struct entry entry = given_entry(x, taker, i);
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

static void take_data(const struct jd_flow *flow, int giver, size_t begin,
                      size_t bytes, const char *from)
{
    const struct exchange *x = flow->arg;
    for (int i = 0; bytes; i++) {
        struct entry entry = taken_entry(x, giver, i);
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

static jd_status copy_data(const struct jd_flow *flow, int giver,
                           struct jd_sight in)
{
    const struct exchange *x = flow->arg;
    jd_status status = JD_OK;
    for (int i = 0; i < x->ragged->per_member && status == JD_OK; i++) {
        struct entry entry = taken_entry(x, giver, i);
        size_t bytes = (size_t)entry.size * x->row;
        struct jd_block to = { x->out + (size_t)entry.to * x->row, 1, bytes,
                               bytes };
        if (bytes)
            status = jd__sight_copy(x->team, in, (size_t)entry.from * x->row,
                                    bytes, &to);
    }
    return status;
}

static const struct jd_given *given_data(const struct jd_flow *flow, int giver)
{
    return &note_of(flow->team, giver)->given;
}

static const struct jd_flow_ops data_ops = {
    .bytes = data_bytes,
    .give = give_data,
    .take = take_data,
    .copy = copy_data,
    .given = given_data,
};

/* ---- both parts --------------------------------------------------------- */

size_t jd__move_tell_ragged(struct jd_team *team,
                            const struct jd_ragged *ragged, void *payload)
{
    struct exchange x = { .team = team, .ragged = ragged };
    struct jd_flow flow = make_table_flow(&x);
    jd__flow_give(&flow, payload);
    return sizeof(struct jd_given);
}

/* Room for the table, which the team keeps; NULL where there is none. */
static struct entry *make_table(const struct exchange *x)
{
    struct jd_team *team = x->team;
    size_t bytes = entry_of(x, team->size, 0) * sizeof(struct entry);
    if (bytes > team->scratch_bytes) {
        void *scratch = realloc(team->scratch, bytes);
        if (!scratch)
            return NULL;
        team->scratch = scratch;
        team->scratch_bytes = bytes;
    }
    struct entry *table = team->scratch;
    for (int i = 0; i < x->ragged->per_member; i++)
        table[entry_of(x, team->index, i)] = given_entry(x, team->index, i);
    return table;
}

jd_status jd__move_run_ragged(struct jd_team *team,
                              const struct jd_collective *call,
                              const struct jd_ragged *ragged)
{
    struct exchange x = {
        .team = team,
        .ragged = ragged,
        .row = call->count * jd_dtype_size(call->dtype),
        .in = (char *)(uintptr_t)call->in,
        .out = call->out,
    };
    x.table = make_table(&x);
    struct jd_flow table = make_table_flow(&x);
    struct jd_flow data = {
        .team = team,
        .ops = &data_ops,
        .arg = &x,
        .in = call->in,
        .in_bytes = ragged->in_rows * x.row,
        .is_late = true,
    };
    jd_status status = jd__flow_run(&table);
    if (status == JD_OK)
        status = compare_all(&x, &data);
    return status == JD_OK ? jd__flow_run(&data) : status;
}
