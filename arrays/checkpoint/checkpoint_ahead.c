/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint_ahead.c - asking the disk for what will be read. */
#include "arrays/checkpoint/checkpoint_ahead.h"
#include "arrays/checkpoint/checkpoint_runs.h"
#include "base/thread.h"

#include <stdint.h>

/* So much is asked for before it is read; the system may forget more. */
#define MOST ((size_t)256 << 20)

/* Whether this process needs something of a block; its first byte then. */
static bool needs_block(const jd_array *array, const jd_range *block,
                        size_t *ret_first)
{
    struct jd_runs runs;
    size_t first = SIZE_MAX;
    for (int i = 0; i < array->num_shards; i++)
        if (array->shards[i].count > 0 &&
            jd__checkpoint_runs_begin(block, array->shards[i].index,
                                      array->ndim, array->element, &runs) &&
            (size_t)runs.from < first)
            first = (size_t)runs.from;
    *ret_first = first * array->element;
    return first < SIZE_MAX;
}

static void *ask_all(void *arg)
{
    struct jd_ahead *ahead = arg;
    jd_range block[JD_MAX_NDIM];
    size_t first, left = MOST;
    int count = ahead->saved->num_blocks;
    for (int b = 0; b < count && left && !atomic_load(&ahead->is_over); b++) {
        jd__checkpoint_saved_block(ahead->saved, b, block);
        if (needs_block(ahead->array, block, &first))
            left -= jd__checkpoint_block_expect(ahead->io, ahead->saved, b,
                                                ahead->dir, first, left,
                                                &ahead->is_over);
    }
    return NULL;
}

void jd__checkpoint_ahead_start(struct jd_ahead *ahead, const struct jd_io *io,
                                const char *dir,
                                const struct jd_saved_array *saved,
                                const jd_array *array)
{
    ahead->io = io;
    ahead->dir = dir;
    ahead->saved = saved;
    ahead->array = array;
    atomic_init(&ahead->is_over, false);
    ahead->has_thread = jd__thread_start(&ahead->thread, ask_all, ahead) == 0;
}

void jd__checkpoint_ahead_finish(struct jd_ahead *ahead)
{
    atomic_store(&ahead->is_over, true);
    if (ahead->has_thread)
        pthread_join(ahead->thread, NULL);
}
