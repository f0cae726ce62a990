/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint_block.h - one block's file, written and read by pieces.
 *
 *     status = jd__checkpoint_block_write(&io, saved, block, &from, path, &fd);
 *     ... later: jd__checkpoint_io_sync_and_close(&io, path, fd) ...
 *
 *     struct jd_block_reader reader;
 *     status = jd__checkpoint_block_open(&io, saved, block, dir, &reader);
 *     for (size_t i = 0; i < reader.num_chunks; i++)
 *         status = jd__checkpoint_block_read(&reader, i, memory);
 *     jd__checkpoint_block_close(&reader);
 *
 * Threads: one reader, one thread.
 */
#ifndef ARRAYS_CHECKPOINT_CHECKPOINT_BLOCK_H
#define ARRAYS_CHECKPOINT_CHECKPOINT_BLOCK_H

#include "arrays/checkpoint/checkpoint_index.h"
#include "arrays/checkpoint/checkpoint_io.h"

#include <stdatomic.h>

/* How much goes to a file or comes from one at once: its checksum is made while
 * it is in the caches. */
#define JD_CHECKPOINT_PIECE ((size_t)512 << 10)

/* The elements of a block, and JD_CHECKPOINT_PIECE bytes to copy them to where
 * the host cannot read them. */
struct jd_block_source {
    const char *data;
    char *piece;
};

/* Writes header and elements into a new file, which stays open, and the
 * checksums into the array's. */
jd_status jd__checkpoint_block_write(const struct jd_io *io,
                                     struct jd_saved_array *array, int block,
                                     const struct jd_block_source *from,
                                     const char *path, int *ret_fd);

struct jd_block_reader {
    const struct jd_io *io;
    const struct jd_saved_array *array;
    int block;
    char path[PATH_MAX];
    int fd;
    size_t bytes;      /* of the elements */
    int64_t begin;     /* where they are in the file */
    size_t num_chunks; /* of JD_CHECKPOINT_CHUNK bytes, the last one shorter */
};

/* Checks the file's length and what stands before the elements. */
jd_status jd__checkpoint_block_open(const struct jd_io *io,
                                    const struct jd_saved_array *array,
                                    int block, const char *dir,
                                    struct jd_block_reader *ret_reader);

/* Asks the disk for at most so many bytes of the elements from an offset on,
 * before they are read, and returns how many were asked for; until is_over.
 * Where it cannot, it is silent: reading says why. */
size_t jd__checkpoint_block_expect(const struct jd_io *io,
                                   const struct jd_saved_array *array,
                                   int block, const char *dir, size_t offset,
                                   size_t bytes, const atomic_bool *is_over);

/* Reads a chunk and checks it; gives its bytes. */
jd_status jd__checkpoint_block_read(const struct jd_block_reader *reader,
                                    size_t chunk, char *memory);
size_t jd__checkpoint_block_chunk_bytes(const struct jd_block_reader *reader,
                                        size_t chunk);
void jd__checkpoint_block_close(struct jd_block_reader *reader);

#endif
