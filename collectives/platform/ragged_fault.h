/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ragged_fault.h - what can be wrong with a ragged_all_to_all: found by each
 * member once it has heard what it will get, told to all, and said by all in
 * the same words, on every platform. Nothing here communicates.
 *
 *     jd__ragged_fault_compare(ragged, size, index, table, &fault);
 *     ... all tell all; of two, jd__ragged_fault_goes_before() says which one
 * ... return jd__ragged_fault_fail(operation, detail, processes, &fault);
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_PLATFORM_RAGGED_FAULT_H
#define COLLECTIVES_PLATFORM_RAGGED_FAULT_H

#include "collectives/platform/platform.h"

#include <stddef.h>
#include <stdint.h>

/* The lower ones explain the higher ones. */
enum jd_ragged_kind {
    JD_RAGGED_FITS,
    JD_RAGGED_BAD_INPUT,  /* it is not inside the producer's in */
    JD_RAGGED_BAD_OUTPUT, /* nor inside the consumer's out */
    JD_RAGGED_UNEQUAL,    /* the consumer expects another size */
    JD_RAGGED_NO_MEMORY,  /* at producer, for size bytes */
};

struct jd_ragged_fault {
    int32_t kind; /* enum jd_ragged_kind */
    int32_t producer, consumer, piece;
    int64_t offset, size;
    int64_t limit; /* or what the consumer expects */
};

/* The place of a member's piece in a table that has per_member for each. */
size_t jd__ragged_fault_place(const struct jd_ragged *ragged, int member,
                              int piece);

/* What this member gives. */
struct jd_ragged_entry jd__ragged_fault_given(const struct jd_ragged *ragged,
                                              int consumer, int piece);

/* The first thing that is wrong, as member index of size sees it; table is what
 * it gets, from each producer, and NULL where there was no memory for that. */
void jd__ragged_fault_compare(const struct jd_ragged *ragged, int size,
                              int index, const struct jd_ragged_entry *table,
                              struct jd_ragged_fault *ret_fault);

/* The same of what it gives alone, which it knows without the others. */
void jd__ragged_fault_compare_given(const struct jd_ragged *ragged, int size,
                                    int index,
                                    struct jd_ragged_fault *ret_fault);

/* Whether a is what is said, and not b, which a lower member found. */
bool jd__ragged_fault_goes_before(const struct jd_ragged_fault *a,
                                  const struct jd_ragged_fault *b);

/* Whether what came by a message is a fault among size members. */
bool jd__ragged_fault_is_fault(const struct jd_ragged_fault *fault, int size);

/* INVALID_ARGUMENT, or RESOURCE_EXHAUSTED, with both ends of the piece.
 * processes are the members'; detail may be NULL. */
jd_status jd__ragged_fault_fail(const char *operation, const char *detail,
                                const int *processes,
                                const struct jd_ragged_fault *fault);

#endif
