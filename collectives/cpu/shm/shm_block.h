/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_block.h - bytes that lie in rows some way apart, seen as one stream.
 *
 *     struct jd_shm_block block = { in, rows, width, pitch };
 *     jd__shm_block_pack(piece, &block, begin, bytes);      begin is in the
 * stream jd__shm_block_unpack(&other, begin, piece, bytes);
 *     jd__shm_block_copy(&other, &block);                   all of it, straight
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_CPU_SHM_SHM_BLOCK_H
#define COLLECTIVES_CPU_SHM_SHM_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

/* All but rows in bytes. */
struct jd_shm_block {
    char *data; /* the first row */
    size_t rows;
    size_t width; /* of a row */
    size_t pitch; /* from row to row, at least width */
};

/* How long the stream is. */
size_t jd__shm_block_bytes(const struct jd_shm_block *block);

/* From the first byte to the last, gaps included. */
size_t jd__shm_block_extent(const struct jd_shm_block *block);

/* Whether there are no gaps. */
bool jd__shm_block_is_whole(const struct jd_shm_block *block);

/* Bytes [begin, begin + bytes) of the stream to or from plain memory. */
void jd__shm_block_pack(char *to, const struct jd_shm_block *from, size_t begin,
                        size_t bytes);
void jd__shm_block_unpack(const struct jd_shm_block *to, size_t begin,
                          const char *from, size_t bytes);

/* Blocks of the same rows and width, which may have different pitches and have
 * nothing in common, or are the same memory: then nothing is done. */
void jd__shm_block_copy(const struct jd_shm_block *to,
                        const struct jd_shm_block *from);

#endif
