/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_checkpoint.h - arrays saved in a directory, and restored on other devices.
 *
 *     const char *names[] = { "weights", "step" };
 *     jd_array *arrays[] = { weights, step };
 *     const char *dir = "run/checkpoint";
 *     JD_CHECK(jd_array_save(dir, names, arrays, 2));
 *
 *     jd_sharding *shardings[] = { rows, everywhere };
 *     JD_CHECK(jd_array_restore(dir, names, shardings, 2, arrays));
 *
 * Each distinct block of an array is a file that numpy.load() reads; a text
 * file says which block is where, with checksums: jd-checkpoint(5). The same
 * values that are cut in the same way give the same bytes.
 */
#ifndef JD_CHECKPOINT_H
#define JD_CHECKPOINT_H

#include "jd_array.h"
#include "jd_multihost.h"
#include "jd_status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Saves n arrays under their names as the directory dir, which is on a file
 * system that all hosts share. A checkpoint that is there already is replaced
 * at once, when all of the new one is on the disk: a crash at any point, of a
 * process or of a host, leaves one of the two whole, and a failure leaves the
 * one before. dir is a name in a directory that exists; what is at dir is a
 * checkpoint, an empty directory, or nothing. One job at a time saves there.
 *
 * names are of 1 to 200 bytes, without '/' and control characters, none twice.
 * Processes write side by side, each block once.
 *
 * Collective: every process of the job, also those without a block: with the
 *   same dir, names and arrays. What one process cannot do, and what one is
 *   refused for, fails on all of them alike, and the job can go on.
 * Blocks: until all is on the disk: at most collective_timeout for a process
 *   that does not come, and JD_BARRIER_TIMEOUT for one that writes for longer
 *   than the others.
 * Threads: one at a time, and no collective at the same time.
 * Returns: JD_OK; INVALID_ARGUMENT; FAILED_PRECONDITION where something else
 *   is at dir, or an array was donated; RESOURCE_EXHAUSTED for a full disk or
 *   quota; PERMISSION_DENIED; NOT_FOUND where a host does not see the
 *   directory; DATA_LOSS for other failures of the disk: with the process, its
 *   host, the file and the offset. Also what jd_multihost.h says.
 */
JD_API jd_status jd_array_save(const char *dir, const char *const *names,
                               jd_array *const *arrays, size_t n);

/*
 * Makes n arrays, of the names, as the shardings say: any spec, any mesh, any
 * number of processes. Each process reads what its own blocks need, in pieces
 * of 4 MiB whose checksums are compared. Nothing else is in memory.
 *
 * Collective: every process of the job, with the same dir, names and
 *   shardings; a failure is the same on all of them.
 * Owns: the caller, who gives each array to jd_array_release().
 * Returns: JD_OK; NOT_FOUND where no checkpoint is at dir, and only then: a
 *   program may begin anew; INVALID_ARGUMENT, also for a name that is not there
 *   (naming those that are) and an array that cannot lie so; DATA_LOSS where a
 *   file was cut off or changed, or is missing, naming file, block and offset;
 *   FAILED_PRECONDITION where a host does not see the directory; UNIMPLEMENTED
 *   for a later version's format; RESOURCE_EXHAUSTED; PERMISSION_DENIED.
 */
JD_API jd_status jd_array_restore(const char *dir, const char *const *names,
                                  jd_sharding *const *shardings, size_t n,
                                  jd_array **ret_arrays);

/* ---- looking into one --------------------------------------------------- */

/* What is in a checkpoint, without the values. */
typedef struct jd_checkpoint jd_checkpoint;

/*
 * Reads what is in a checkpoint.
 * Collective: no; and no jd_initialize() is needed. Threads: any.
 * Owns: the caller, who gives it to jd_checkpoint_close().
 * Returns: as jd_array_restore().
 */
JD_API jd_status jd_checkpoint_open(jd_checkpoint **ret_checkpoint,
                                    const char *dir);

/* NULL is allowed. */
JD_API void jd_checkpoint_close(jd_checkpoint *checkpoint);

/* How many arrays there are; 0 for a NULL. */
JD_API size_t jd_checkpoint_count(const jd_checkpoint *checkpoint);

/* The name of array number i, in the order in which they were saved; NULL where
 * there is none. The checkpoint's. */
JD_API const char *jd_checkpoint_name(const jd_checkpoint *checkpoint,
                                      size_t i);

/*
 * The type and the shape of an array; its data is NULL, and its shape the
 * checkpoint's.
 * Returns: JD_OK; INVALID_ARGUMENT for a NULL; NOT_FOUND naming those that are
 *   there.
 */
JD_API jd_status jd_checkpoint_leaf(const jd_checkpoint *checkpoint,
                                    const char *name, jd_leaf *ret_leaf);

/*
 * Reads all blocks of an array, or with a NULL name of all, and compares their
 * checksums.
 * Returns: as jd_array_restore().
 */
JD_API jd_status jd_checkpoint_verify(const jd_checkpoint *checkpoint,
                                      const char *name);

#ifdef __cplusplus
}
#endif

#endif
