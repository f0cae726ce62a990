/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint.h - all that a training needs to go on, in one text file. Nothing
 * of jd.
 *
 *     if (save_checkpoint(&model, epoch, "dir/checkpoint", why, sizeof why))
 *         ... why says what is wrong ...
 *
 * A file is there whole or not at all: it is written under another name,
 * brought to the disk, and renamed. So a process that is killed meanwhile
 * leaves the checkpoint before it.
 */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include "model.h"

#include <stddef.h>
#include <stdint.h>

/* epoch is the next one to be trained. 0, or -1 with a sentence in why. */
int save_checkpoint(const struct model *model, int32_t epoch, const char *path,
                    char *why, size_t why_size);

/* As above; where there is no such file 0, with the epoch -1. */
int load_checkpoint(struct model *model, int32_t *ret_epoch, const char *path,
                    char *why, size_t why_size);

#endif
