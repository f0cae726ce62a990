/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gather.h - the whole array on every process, or on one, for the files that
 * do it.
 *
 * One device of each process takes part. Where the blocks follow each other in
 * the whole, or cut one dimension into equal parts, they go straight from
 * where they are to where they belong. Otherwise each process gives what
 * jd__owners_next() says in chunks of one length, a chunk of each at a time,
 * into memory that is bounded, and from there to their places.
 *
 *     struct jd_gather g = { .operation = ..., .array = ..., .out = ... };
 *     status = jd__gather_prepare(&g, -1);
 *     ... all say that they are ready ...
 *     status = jd__gather_to_all(&g);
 *     jd__gather_finish(&g);
 *
 * Threads: as the calls.
 */
#ifndef ARRAYS_GATHER_GATHER_H
#define ARRAYS_GATHER_GATHER_H

#include "arrays/array/owners.h"
#include "jd_shard.h"

/* How the blocks get to where they belong. */
enum jd_gather_way {
    JD_GATHER_NONE,    /* nothing has to travel */
    JD_GATHER_AT_ONCE, /* one jd_all_gather_2d of a part of each block */
    JD_GATHER_JOINED, /* one jd_all_gather of each process's blocks, in place */
    JD_GATHER_RAGGED, /* one jd_ragged_all_to_all of parts of unlike lengths */
    JD_GATHER_RANGES, /* messages, straight to their places at the root */
    JD_GATHER_CHUNKS, /* of each process one at a time */
};

/* A number for each of the mesh, in elements; zeros at first. What a member
 * gives always begins at its in's begin. */
struct jd_gather_lists {
    int64_t *from, *sent, *to, *received;
};

struct jd_gather {
    const char *operation;
    const jd_array *array;
    const jd_leaf *out; /* read only where the array goes */
    struct jd_owners owners;
    int root; /* its place among the members; -1: all are */
    int size; /* of the mesh: the members, and a root that is none of them */
    int index;
    jd_shard *me;
    enum jd_gather_way way;
    size_t load;  /* the greatest of the members' */
    size_t chunk; /* elements */
    char *chunks; /* one of each where they go to; else this process's */
    struct jd_cursor *cursors;
    struct jd_gather_lists lists; /* of a jd_ragged_all_to_all */
};

/* Where an element of the whole is, by the place of its block and its place in
 * it, where blocks are not interrupted in the whole. */
size_t jd__gather_offset(const jd_array *array,
                         const struct jd_block_range *range);

/* ---- gather_ways.c: what a process works out by itself ------------------ */

/* Returns JD_OK; RESOURCE_EXHAUSTED; INVALID_ARGUMENT for a root that no
 * message can reach. To be finished after a failure too. */
jd_status jd__gather_prepare(struct jd_gather *g, int root_process);
void jd__gather_finish(struct jd_gather *g);

/* The first dimension that is cut; ndim: none is. And how many rows those
 * before it make. */
int jd__gather_first_cut(const jd_array *array);
size_t jd__gather_rows(const jd_array *array, int dimension);

/* ---- gather_copies.c: within a process ---------------------------------- */

/* This process's own blocks, to their places. */
jd_status jd__gather_copy_own(const struct jd_gather *g);

/* Where this process has a range. */
const char *jd__gather_own_range(const struct jd_gather *g,
                                 const struct jd_block_range *range);

/* This process's next chunk: where it lies, or, where it is of several pieces
 * or shorter than count elements, packed into slot. And on to the one after
 * it. Returns: as jd_device_copy(). */
jd_status jd__gather_pack(const struct jd_gather *g, char *slot, size_t count,
                          const void **ret_chunk);

void jd__gather_pass(const struct jd_gather *g, size_t count);

/* Puts the next chunk of a member, of at most count elements, to its place,
 * and goes on. */
jd_status jd__gather_unpack(const struct jd_gather *g, int member,
                            const char *slot, size_t count);

/* How many elements the next chunk of a member has, at most count. */
size_t jd__gather_measure(const struct jd_gather *g, int member, size_t count);

/* ---- between processes -------------------------------------------------- */

/* gather_parts.c. What the lists say, from count elements of in to room
 * elements of out; and the one part that each gives, from where it is to its
 * place with all, or at the root. */
jd_status jd__gather_exchange(const struct jd_gather *g, const void *in,
                              size_t count, void *out, size_t room);
jd_status jd__gather_parts(const struct jd_gather *g);

/* gather_all.c, gather_root.c */
jd_status jd__gather_to_all(const struct jd_gather *g);
jd_status jd__gather_to_root(const struct jd_gather *g);

#endif
