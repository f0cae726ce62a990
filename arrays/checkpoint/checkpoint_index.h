/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint_index.h - the text file that says what is in a checkpoint;
 * jd-checkpoint(5) describes it.
 *
 *     struct jd_index index = { 0 };
 *     status = jd__checkpoint_index_reserve(&index, n);
 *     status = jd__checkpoint_index_add(&index, "weights", JD_F32, 2, shape,
 * cuts);
 *     ... fills in index.arrays[0].crcs ...
 *     status = jd__checkpoint_index_write(&index, &text, &bytes);
 *     jd__checkpoint_index_finish(&index);
 *
 *     status = jd__checkpoint_index_read(text, bytes, "dir/index.jd", &index);
 *
 * Blocks are numbered row-major over the cuts, so the array's line says where
 * each of them is; their lines repeat it for other readers. jd's own believes a
 * text only where it is, byte for byte, what it would write itself.
 *
 * Threads: one index, one thread.
 */
#ifndef ARRAYS_CHECKPOINT_CHECKPOINT_INDEX_H
#define ARRAYS_CHECKPOINT_CHECKPOINT_INDEX_H

#include "jd_array.h"

#include <stddef.h>
#include <stdint.h>

#define JD_CHECKPOINT_INDEX "index.jd"

/* A checksum stands for so many bytes: what a reader has to read at once. */
#define JD_CHECKPOINT_CHUNK ((size_t)4 << 20)

enum {
    JD_CHECKPOINT_MAX_NAME = 200,
    JD_CHECKPOINT_MAX_FILE = 240,       /* of a block's file, with its NUL */
    JD_CHECKPOINT_MAX_BLOCKS = 1 << 24, /* of an array */
    JD_CHECKPOINT_ALL_BLOCKS = 1 << 26, /* of all arrays together */
};

struct jd_saved_array {
    char *name;
    jd_dtype dtype;
    int ndim;
    int64_t shape[JD_MAX_NDIM];
    int cuts[JD_MAX_NDIM]; /* ways */
    int num_blocks;
    size_t *first_crcs; /* of each block, and the number of all */
    uint32_t *crcs;     /* of each block's chunks */
};

struct jd_index {
    size_t count;
    struct jd_saved_array *arrays;
    int num_blocks; /* of all */
    void *by_name;  /* the arrays, as tsearch() keeps them */
};

/* Room for so many arrays; before the first is added. */
jd_status jd__checkpoint_index_reserve(struct jd_index *index, size_t count);

/*
 * Adds an array, with checksums of 0; the index has room for it.
 * Returns: JD_OK; INVALID_ARGUMENT where it is too large or has too many
 *   blocks; RESOURCE_EXHAUSTED.
 */
jd_status jd__checkpoint_index_add(struct jd_index *index, const char *name,
                                   jd_dtype dtype, int ndim,
                                   const int64_t *shape, const int *cuts);
void jd__checkpoint_index_finish(struct jd_index *index);

/* The array of that name; NULL where there is none. */
const struct jd_saved_array *
jd__checkpoint_index_find(const struct jd_index *index, const char *name);

/* Why a name cannot be an array's in a checkpoint; NULL where it can. */
const char *jd__checkpoint_name_fault(const char *name);

/* ---- blocks -------------------------------------------------------------- */

/* Which elements it has, and their bytes. */
void jd__checkpoint_saved_block(const struct jd_saved_array *array, int block,
                                jd_range *ret_index);
size_t jd__checkpoint_saved_block_bytes(const struct jd_saved_array *array,
                                        int block);

/* The name of its file, and what stands there before its elements: at most
 * JD_NPY_MAX_HEADER bytes. */
void jd__checkpoint_saved_block_file(const struct jd_saved_array *array,
                                     int block,
                                     char file[JD_CHECKPOINT_MAX_FILE]);
size_t jd__checkpoint_saved_block_header(const struct jd_saved_array *array,
                                         int block, char *header);

/* Of the whole block. */
uint32_t jd__checkpoint_saved_block_crc(const struct jd_saved_array *array,
                                        int block);

/* ---- the file ------------------------------------------------------------ */

/* Gives it malloc'ed, with a NUL behind it. Returns: JD_OK;
 * RESOURCE_EXHAUSTED. */
jd_status jd__checkpoint_index_write(const struct jd_index *index,
                                     char **ret_text, size_t *ret_bytes);

/*
 * Reads it; a NUL stands behind the text. path is for sentences.
 * Returns: JD_OK; INVALID_ARGUMENT where it is no index; UNIMPLEMENTED where
 *   it is a later version's; DATA_LOSS, naming line or checksum, where it was
 *   cut off or changed; RESOURCE_EXHAUSTED.
 */
jd_status jd__checkpoint_index_read(const char *text, size_t bytes,
                                    const char *path,
                                    struct jd_index *ret_index);

#endif
