/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint_io.h - a checkpoint's directory and its files.
 *
 *     struct jd_io io;
 *     status = jd__checkpoint_io_begin("jd_array_save", &io);
 *     char path[PATH_MAX];
 *     status = jd__checkpoint_io_path(&io, dir, "", file, path);
 *     status = jd__checkpoint_io_create(&io, path, &fd);
 *     status = jd__checkpoint_io_write(&io, path, fd, data, bytes, 0);
 *
 * A checkpoint at DIR is written as DIR.tmp-<16 digits> and then takes DIR's
 * name; jd-checkpoint(5) says in which order, and what is where after a crash.
 *
 * Threads: any.
 */
#ifndef ARRAYS_CHECKPOINT_CHECKPOINT_IO_H
#define ARRAYS_CHECKPOINT_CHECKPOINT_IO_H

#include "jd_status.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who reads and writes, for sentences. */
struct jd_io {
    const char *operation;
    int process;
    char who[160]; /* "process 2 on host node1" */
};

/* This process. Returns what jd__runtime_get does. */
jd_status jd__checkpoint_io_begin(const char *operation, struct jd_io *ret_io);

/* Says that something failed at a file (at an offset, where that is not
 * negative), with errno's text and the remedy: RESOURCE_EXHAUSTED for a full
 * disk and the like, PERMISSION_DENIED, NOT_FOUND, DATA_LOSS. */
jd_status jd__checkpoint_io_fail(const struct jd_io *io, const char *what,
                                 const char *path, int64_t offset, int error);

/* "DIR" + suffix + "/FILE"; without the slash where file is NULL.
 * INVALID_ARGUMENT where that is too long. */
jd_status jd__checkpoint_io_path(const struct jd_io *io, const char *dir,
                                 const char *suffix, const char *file,
                                 char path[PATH_MAX]);

/* ---- files --------------------------------------------------------------- */

/* A new file, open for writing. */
jd_status jd__checkpoint_io_create(const struct jd_io *io, const char *path,
                                   int *ret_fd);

/* All bytes, at the offset. */
jd_status jd__checkpoint_io_write(const struct jd_io *io, const char *path,
                                  int fd, const void *data, size_t bytes,
                                  int64_t offset);

/* Brings a file or a directory to the disk; gives 0 or its errno. */
int jd__checkpoint_io_sync(int fd);

/* Brings the file to the disk and closes it in any case. */
jd_status jd__checkpoint_io_sync_and_close(const struct jd_io *io,
                                           const char *path, int fd);

/* A file that is there, open for reading. */
jd_status jd__checkpoint_io_open(const struct jd_io *io, const char *path,
                                 int *ret_fd);

/* All bytes from the offset; DATA_LOSS where the file ends before. */
jd_status jd__checkpoint_io_read(const struct jd_io *io, const char *path,
                                 int fd, void *data, size_t bytes,
                                 int64_t offset);

/* The whole file, malloc'ed, with a NUL behind it. */
jd_status jd__checkpoint_io_read_file(const struct jd_io *io, const char *path,
                                      char **ret_text, size_t *ret_bytes);

/* ---- the directory: one process does it ---------------------------------- */

/* Why a directory cannot be a checkpoint's; NULL where it can. */
const char *jd__checkpoint_dir_fault(const char *dir);

/*
 * Makes an empty DIR.tmp-<word>, after what earlier crashes left was put in
 * order: unfinished directories are removed.
 * Returns: also FAILED_PRECONDITION where something else than a checkpoint or
 *   an empty directory is at DIR.
 */
jd_status jd__checkpoint_prepare(const struct jd_io *io, const char *dir,
                                 uint64_t *ret_word);

/* Puts it in DIR's place, whatever is there. */
jd_status jd__checkpoint_commit(const struct jd_io *io, const char *dir,
                                uint64_t word);

/* Removes what of that word is not at DIR: the checkpoint before it, or an
 * unfinished one. What cannot be removed stays. */
void jd__checkpoint_discard(const char *dir, uint64_t word);

/* ".tmp-<word>" */
enum { JD_CHECKPOINT_SUFFIX = 24 };
void jd__checkpoint_suffix(uint64_t word, char suffix[JD_CHECKPOINT_SUFFIX]);

/* Where the checkpoint is: at DIR, or beside it where a crash has left it.
 * NOT_FOUND where there is none. */
jd_status jd__checkpoint_locate(const struct jd_io *io, const char *dir,
                                char path[PATH_MAX]);

#endif
