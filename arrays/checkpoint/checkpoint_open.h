/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint_open.h - a checkpoint's index, found, read and asked.
 * Threads: any.
 */
#ifndef ARRAYS_CHECKPOINT_CHECKPOINT_OPEN_H
#define ARRAYS_CHECKPOINT_CHECKPOINT_OPEN_H

#include "arrays/checkpoint/checkpoint_index.h"
#include "arrays/checkpoint/checkpoint_io.h"

/* Where the checkpoint is, and the text of its index, malloc'ed, with a NUL
 * behind it. */
jd_status jd__checkpoint_text(const struct jd_io *io, const char *dir,
                              char path[PATH_MAX], char **ret_text,
                              size_t *ret_bytes);

/* jd__checkpoint_index_read, with the operation in its sentence. */
jd_status jd__checkpoint_parse(const struct jd_io *io, const char *dir,
                               const char *text, size_t bytes,
                               struct jd_index *ret_index);

/* NOT_FOUND naming some that are there. */
jd_status jd__checkpoint_find(const struct jd_index *index, const char *dir,
                              const char *operation, const char *name,
                              const struct jd_saved_array **ret_array);

#endif
