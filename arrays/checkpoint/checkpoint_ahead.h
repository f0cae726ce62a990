/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint_ahead.h - the disk begins while memory is made for what it reads:
 * a thread asks for this process's parts of an array's blocks, as far as the
 * page cache should hold them, and is not waited for.
 *
 *     jd__checkpoint_ahead_start(&ahead, io, dir, saved, array);
 *     ... make the array's memory, read its blocks ...
 *     jd__checkpoint_ahead_finish(&ahead);
 *
 * Nothing depends on it: where the thread or a file cannot be had, nothing is
 * asked, and reading says why. Threads: start and finish by the same one.
 */
#ifndef ARRAYS_CHECKPOINT_CHECKPOINT_AHEAD_H
#define ARRAYS_CHECKPOINT_CHECKPOINT_AHEAD_H

#include "arrays/array/array.h"
#include "arrays/checkpoint/checkpoint_block.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct jd_ahead {
    const struct jd_io *io;
    const char *dir; /* where the blocks are */
    const struct jd_saved_array *saved;
    const jd_array *array; /* its shards' indices; data is not looked at */
    pthread_t thread;
    bool has_thread;
    atomic_bool is_over;
};

/* What it points to must stay until it is finished. */
void jd__checkpoint_ahead_start(struct jd_ahead *ahead, const struct jd_io *io,
                                const char *dir,
                                const struct jd_saved_array *saved,
                                const jd_array *array);

/* Waits for what the thread has just asked for: 128 KiB. */
void jd__checkpoint_ahead_finish(struct jd_ahead *ahead);

#endif
