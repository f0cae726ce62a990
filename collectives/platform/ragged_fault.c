/* SPDX-License-Identifier: BSD-3-Clause */
/* ragged_fault.c - what can be wrong with a ragged_all_to_all. */
#include "collectives/platform/ragged_fault.h"

#include <inttypes.h>

size_t jd__ragged_fault_place(const struct jd_ragged *ragged, int member,
                              int piece)
{
    return (size_t)member * (size_t)ragged->per_member + (size_t)piece;
}

struct jd_ragged_entry jd__ragged_fault_given(const struct jd_ragged *ragged,
                                              int consumer, int piece)
{
    size_t k = jd__ragged_fault_place(ragged, consumer, piece);
    return (struct jd_ragged_entry){ .from = ragged->input_offsets[k],
                                     .size = ragged->send_sizes[k],
                                     .to = ragged->output_offsets[k] };
}

/* ---- comparing ---------------------------------------------------------- */

/* Whether [offset, offset + size) is inside [0, limit). */
static bool is_inside(int64_t offset, int64_t size, size_t limit)
{
    return offset >= 0 && size >= 0 && (uint64_t)size <= limit &&
           (uint64_t)offset <= limit - (uint64_t)size;
}

static struct jd_ragged_fault check_given(const struct jd_ragged *ragged,
                                          int index, int consumer, int piece)
{
    struct jd_ragged_entry entry =
        jd__ragged_fault_given(ragged, consumer, piece);
    if (is_inside(entry.from, entry.size, ragged->in_rows))
        return (struct jd_ragged_fault){ .kind = JD_RAGGED_FITS };
    return (struct jd_ragged_fault){
        .kind = JD_RAGGED_BAD_INPUT,
        .producer = index,
        .consumer = consumer,
        .piece = piece,
        .offset = entry.from,
        .size = entry.size,
        .limit = (int64_t)ragged->in_rows,
    };
}

static struct jd_ragged_fault check_taken(const struct jd_ragged *ragged,
                                          const struct jd_ragged_entry *table,
                                          int index, int producer, int piece)
{
    size_t k = jd__ragged_fault_place(ragged, producer, piece);
    struct jd_ragged_entry entry = table[k];
    int64_t expected = ragged->recv_sizes[k];
    bool is_equal = entry.size == expected;
    if (is_equal && is_inside(entry.to, entry.size, ragged->out_rows))
        return (struct jd_ragged_fault){ .kind = JD_RAGGED_FITS };
    return (struct jd_ragged_fault){
        .kind = is_equal ? JD_RAGGED_BAD_OUTPUT : JD_RAGGED_UNEQUAL,
        .producer = producer,
        .consumer = index,
        .piece = piece,
        .offset = entry.to,
        .size = entry.size,
        .limit = is_equal ? (int64_t)ragged->out_rows : expected,
    };
}

void jd__ragged_fault_compare_given(const struct jd_ragged *ragged, int size,
                                    int index,
                                    struct jd_ragged_fault *ret_fault)
{
    *ret_fault = (struct jd_ragged_fault){ .kind = JD_RAGGED_FITS };
    for (int i = 0; i < size; i++)
        for (int piece = 0; piece < ragged->per_member; piece++) {
            *ret_fault = check_given(ragged, index, i, piece);
            if (ret_fault->kind != JD_RAGGED_FITS)
                return;
        }
}

void jd__ragged_fault_compare(const struct jd_ragged *ragged, int size,
                              int index, const struct jd_ragged_entry *table,
                              struct jd_ragged_fault *ret_fault)
{
    jd__ragged_fault_compare_given(ragged, size, index, ret_fault);
    if (ret_fault->kind != JD_RAGGED_FITS)
        return;
    if (!table) {
        ret_fault->kind = JD_RAGGED_NO_MEMORY;
        ret_fault->producer = index;
        ret_fault->size = (int64_t)(jd__ragged_fault_place(ragged, size, 0) *
                                    sizeof(struct jd_ragged_entry));
        return;
    }
    for (int i = 0; i < size; i++)
        for (int piece = 0; piece < ragged->per_member; piece++) {
            *ret_fault = check_taken(ragged, table, index, i, piece);
            if (ret_fault->kind != JD_RAGGED_FITS)
                return;
        }
}

bool jd__ragged_fault_goes_before(const struct jd_ragged_fault *a,
                                  const struct jd_ragged_fault *b)
{
    return a->kind != JD_RAGGED_FITS &&
           (b->kind == JD_RAGGED_FITS || a->kind < b->kind);
}

bool jd__ragged_fault_is_fault(const struct jd_ragged_fault *fault, int size)
{
    return fault->kind > JD_RAGGED_FITS && fault->kind <= JD_RAGGED_NO_MEMORY &&
           fault->producer >= 0 && fault->producer < size &&
           fault->consumer >= 0 && fault->consumer < size;
}

/* ---- saying ------------------------------------------------------------- */

jd_status jd__ragged_fault_fail(const char *operation, const char *detail,
                                const int *processes,
                                const struct jd_ragged_fault *fault)
{
    int producer = processes[fault->producer],
        consumer = processes[fault->consumer];
    detail = detail ? detail : "";
    switch (fault->kind) {
    case JD_RAGGED_BAD_INPUT:
        return jd_fail(
            JD_INVALID_ARGUMENT,
            "%s%s: process %d (member %d) sends rows %" PRId64 " to %" PRId64
            " + %" PRId64
            " to process %d (member %d), piece %d; its in has %" PRId64 " rows",
            operation, detail, producer, fault->producer, fault->offset,
            fault->offset, fault->size, consumer, fault->consumer, fault->piece,
            fault->limit);
    case JD_RAGGED_BAD_OUTPUT:
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s%s: process %d (member %d) sends %" PRId64
                       " rows to row %" PRId64
                       " of process %d (member %d), piece %d, whose out has "
                       "%" PRId64 " rows",
                       operation, detail, producer, fault->producer,
                       fault->size, fault->offset, consumer, fault->consumer,
                       fault->piece, fault->limit);
    case JD_RAGGED_UNEQUAL:
        return jd_fail(
            JD_INVALID_ARGUMENT,
            "%s%s: process %d (member %d) sends %" PRId64
            " rows to process %d (member %d), piece %d, which "
            "expects %" PRId64 "; recv_sizes are the others' send_sizes",
            operation, detail, producer, fault->producer, fault->size, consumer,
            fault->consumer, fault->piece, fault->limit);
    default:
        return jd_fail(JD_RESOURCE_EXHAUSTED,
                       "%s%s: process %d (member %d) has no memory for the "
                       "table of what it gets: %" PRId64 " bytes",
                       operation, detail, producer, fault->producer,
                       fault->size);
    }
}
