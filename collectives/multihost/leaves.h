/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leaves.h - lists of leaves: checked, described, and walked through as one
 * stream of bytes that is never cut inside an element.
 * Threads: any.
 */
#ifndef COLLECTIVES_MULTIHOST_LEAVES_H
#define COLLECTIVES_MULTIHOST_LEAVES_H

#include "base/status.h"
#include "jd_multihost.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jd_leaf_list {
    const jd_leaf *leaves;
    size_t count;
    const char *operation; /* for sentences */
    const char *name;      /* of the argument, for sentences: "leaves" */
};

/*
 * Gives the bytes of all leaves together.
 * Returns: JD_OK; INVALID_ARGUMENT naming the leaf: a NULL, an unknown type, a
 *   negative number, more than fits into an address space.
 */
jd_status jd__leaves_check(const struct jd_leaf_list *list, size_t *ret_bytes);

/* Of a checked leaf. */
size_t jd__leaf_elements(const jd_leaf *leaf);
size_t jd__leaf_bytes(const jd_leaf *leaf);

/* Of number, types and shapes. */
uint64_t jd__leaves_digest(const jd_leaf *leaves, size_t count);

/* "F32[64,10]", "S32[]"; cut where it does not fit. */
void jd__leaf_print(const jd_leaf *leaf, char *text, size_t size);

/* "2 leaves: F32[64,10], S32[]"; where they do not fit, "..." and the last
 * that do. */
void jd__leaves_print(const jd_leaf *leaves, size_t count, char *text,
                      size_t size);

/* "[2,7]" of element number n of the leaf, "[]" of a scalar's. */
void jd__leaf_print_index(const jd_leaf *leaf, size_t n, char *text,
                          size_t size);

/* Where a walk through the list is; all zero but the list: at its begin. */
struct jd_leaf_walk {
    const jd_leaf *leaves;
    size_t count;
    size_t leaf;
    size_t offset; /* bytes */
};

/* Neighbouring elements of one leaf. */
struct jd_leaf_range {
    size_t leaf;
    size_t offset;
    size_t bytes;
};

/* The next range of at most room bytes; false where there is no room for
 * another element, or no more element. */
bool jd__leaves_walk_next(struct jd_leaf_walk *walk, size_t room,
                          struct jd_leaf_range *ret_range);

/* Copies what comes next into at most size bytes; gives how many. With a NULL
 * buffer nothing is copied. */
size_t jd__leaves_walk_pack(struct jd_leaf_walk *walk, void *buffer,
                            size_t size);

/* Copies the bytes that jd__leaves_walk_pack packed from the same place in an
 * equal list back into the leaves; into the copy-th of several copies that lie
 * one behind the other in the leaves of to (the walk's own: to is its leaves).
 * */
void jd__leaves_walk_unpack(struct jd_leaf_walk *walk, const void *buffer,
                            size_t bytes, const jd_leaf *to, size_t copy);

#endif
