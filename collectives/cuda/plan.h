/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.h - into which parts a collective is cut: so that what it needs beside
 * its buffers stays small, and so that each member folds a share.
 *
 * All members have to cut alike, because what one sends in a piece another
 * receives in one: plans depend on nothing but what is the same on all.
 * Nothing here touches CUDA. Threads: any.
 */
#ifndef COLLECTIVES_CUDA_PLAN_H
#define COLLECTIVES_CUDA_PLAN_H

#include <stdbool.h>
#include <stddef.h>

/* Where one way ends and the next begins, in bytes. Tests set them before they
 * make a communicator; nobody else writes here. */
struct jd_cuda_limits {
    /* What all members' pieces that move at a time have together: the most
     * that a collective needs of a device beside its buffers. A larger one
     * saves less than 1 % of the time that it takes to move. */
    size_t chunk;

    /* A reduction that NCCL lacks brings all members' vectors to each member
     * up to here: one message instead of two. */
    size_t gather;

    /* From here on a row is a collective of its own; below, rows are packed
     * together. */
    size_t row;
};
extern struct jd_cuda_limits jd__cuda_limits;

/* Elements of a vector. */
struct jd_cuda_part {
    size_t begin, count;
};

/* What a member folds of count elements: equal parts where that is possible,
 * else the last ones are shorter or empty, and all begin at a multiple of 64
 * elements. */
struct jd_cuda_part jd__cuda_part(size_t count, int size, int member);

/* As long as the longest part of so many elements or fewer. */
size_t jd__cuda_longest_part(size_t count, int size);

/* A part of rows x columns elements: whole rows, or a piece of one. */
struct jd_cuda_chunk {
    size_t row, rows;
    size_t column, columns;
};

/*
 * Walks through rows x columns in chunks of at most `most` elements (at least
 * 1), whole rows where one is not more than that:
 *
 *     struct jd_cuda_chunk chunk = { 0 };
 *     while (jd__cuda_next_chunk(rows, columns, most, &chunk)) ...
 */
bool jd__cuda_next_chunk(size_t rows, size_t columns, size_t most,
                         struct jd_cuda_chunk *chunk);

#endif
