/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint_agree.h - how the processes that save or restore come to the
 * same end: what one of them cannot do, none has done.
 *
 *     status = ... what this process does for itself ...
 *     status = jd__checkpoint_agree(&io, status);
 *
 * Collective: every process of the job. Threads: one at a time.
 */
#ifndef ARRAYS_CHECKPOINT_CHECKPOINT_AGREE_H
#define ARRAYS_CHECKPOINT_CHECKPOINT_AGREE_H

#include "arrays/checkpoint/checkpoint_io.h"

/* JD_OK where every process comes with that; else, on every process, status
 * and sentence of the lowest one that does not. */
jd_status jd__checkpoint_agree(const struct jd_io *io, jd_status status);

/*
 * The same, and that all came for the same: what describes it (NULL where
 * a process cannot say), and where two calls differ, failed or not, all get
 * INVALID_ARGUMENT with both, from where their texts differ on, and the place
 * of each. ret_word is process 0's word.
 */
jd_status jd__checkpoint_agree_on(const struct jd_io *io, jd_status status,
                                  const char *what, uint64_t word,
                                  uint64_t *ret_word);

#endif
