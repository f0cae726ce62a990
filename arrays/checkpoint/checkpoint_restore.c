/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint_restore.c - jd_array_restore: process 0 reads the index for all,
 * then each process reads what its own blocks need.
 */
#include "arrays/array/array.h"
#include "arrays/checkpoint/checkpoint_agree.h"
#include "arrays/checkpoint/checkpoint_ahead.h"
#include "arrays/checkpoint/checkpoint_block.h"
#include "arrays/checkpoint/checkpoint_io.h"
#include "arrays/checkpoint/checkpoint_open.h"
#include "arrays/checkpoint/checkpoint_runs.h"
#include "base/status.h"
#include "base/text.h"
#include "collectives/platform/device_memory.h"
#include "jd_checkpoint.h"
#include "jd_memory.h"
#include "jd_process.h"
#include "runtime/recorder/recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "jd_array_restore";

/* A block of this process, one for all of its devices that have it. */
struct target {
    const jd_array_shard *shard;
    char *data;    /* in host memory */
    bool is_apart; /* not the device's own memory */
    bool is_met;   /* by the block that is being read */
    struct jd_runs runs;
};

struct restore {
    struct jd_io io;
    const char *dir;
    char path[PATH_MAX]; /* where it is */
    struct jd_index index;
    char *chunk; /* memory for one */
    jd_array **arrays;
    jd_array **ret_arrays; /* the caller's */
};

/* ---- one block of the checkpoint ----------------------------------------- */

/* The one target that takes the whole chunk as it is; NULL where there are
 * others, or other places. */
static struct target *find_straight(struct target *targets, int count,
                                    int64_t begin, int64_t end)
{
    struct target *found = NULL;
    for (int i = 0; i < count; i++) {
        if (!targets[i].is_met ||
            !jd__checkpoint_runs_reach(&targets[i].runs, end))
            continue;
        if (found || !jd__checkpoint_runs_cover(&targets[i].runs, begin, end))
            return NULL;
        found = &targets[i];
    }
    return found;
}

static bool is_needed(const struct target *targets, int count, int64_t end)
{
    for (int i = 0; i < count; i++)
        if (targets[i].is_met &&
            jd__checkpoint_runs_reach(&targets[i].runs, end))
            return true;
    return false;
}

static jd_status read_chunk(struct restore *restore,
                            const struct jd_block_reader *reader, size_t chunk,
                            struct target *targets, int count)
{
    size_t element = jd_dtype_size(reader->array->dtype);
    size_t bytes = jd__checkpoint_block_chunk_bytes(reader, chunk);
    int64_t begin = (int64_t)(chunk * (JD_CHECKPOINT_CHUNK / element));
    int64_t end = begin + (int64_t)(bytes / element);
    if (!is_needed(targets, count, end))
        return JD_OK;
    struct target *straight = find_straight(targets, count, begin, end);
    char *memory =
        straight ? jd__checkpoint_runs_place(&straight->runs, straight->data)
                 : restore->chunk;
    jd_status status = jd__checkpoint_block_read(reader, chunk, memory);
    for (int i = 0; status == JD_OK && i < count; i++)
        if (targets[i].is_met)
            jd__checkpoint_runs_take(&targets[i].runs, begin, end,
                                     straight ? NULL : memory, targets[i].data);
    return status;
}

static jd_status read_block(struct restore *restore,
                            const struct jd_saved_array *saved, int block,
                            struct target *targets, int count)
{
    jd_range index[JD_MAX_NDIM];
    struct jd_block_reader reader;
    bool is_needed_at_all = false;
    jd__checkpoint_saved_block(saved, block, index);
    for (int i = 0; i < count; i++) {
        targets[i].is_met = jd__checkpoint_runs_begin(
            index, targets[i].shard->index, saved->ndim,
            jd_dtype_size(saved->dtype), &targets[i].runs);
        is_needed_at_all |= targets[i].is_met;
    }
    if (!is_needed_at_all)
        return JD_OK;
    jd_status status = jd__checkpoint_block_open(&restore->io, saved, block,
                                                 restore->path, &reader);
    if (status != JD_OK)
        return status;
    for (size_t i = 0; status == JD_OK && i < reader.num_chunks; i++)
        status = read_chunk(restore, &reader, i, targets, count);
    jd__checkpoint_block_close(&reader);
    return status;
}

/* ---- one array ----------------------------------------------------------- */

/* The shard before it that has the same elements; NULL where it is the first.
 */
static const jd_array_shard *find_same(const jd_array *array, int shard)
{
    const int *blocks = array->sharding->blocks,
              *local = array->sharding->local;
    for (int i = 0; i < shard; i++)
        if (blocks[local[i]] == blocks[local[shard]])
            return &array->shards[i];
    return NULL;
}

static jd_status make_target(const jd_array *array, int i,
                             struct target *ret_target)
{
    const jd_array_shard *shard = &array->shards[i];
    struct target target = { .shard = shard, .data = shard->data };
    target.is_apart = jd__device_memory_is_apart(shard->data);
    if (target.is_apart)
        target.data = malloc(shard->count * array->element);
    if (!target.data)
        return jd__fail_no_memory(operation, shard->count * array->element);
    *ret_target = target;
    return JD_OK;
}

static jd_status make_targets(const jd_array *array, struct target *targets,
                              int *ret_count)
{
    jd_status status = JD_OK;
    for (int i = 0; status == JD_OK && i < array->num_shards; i++)
        if (array->shards[i].count > 0 && !find_same(array, i)) {
            status = make_target(array, i, &targets[*ret_count]);
            *ret_count += status == JD_OK;
        }
    return status;
}

static jd_status copy_replicas(const jd_array *array)
{
    jd_status status = JD_OK;
    for (int i = 0; status == JD_OK && i < array->num_shards; i++) {
        const jd_array_shard *shard = &array->shards[i];
        const jd_array_shard *same = find_same(array, i);
        if (same && shard->count > 0)
            status = jd_device_copy(shard->data, same->data,
                                    shard->count * array->element);
    }
    return status;
}

static jd_status finish_targets(const jd_array *array, struct target *targets,
                                int count, jd_status status)
{
    for (int i = 0; i < count; i++) {
        if (!targets[i].is_apart)
            continue;
        if (status == JD_OK)
            status = jd_device_copy(targets[i].shard->data, targets[i].data,
                                    targets[i].shard->count * array->element);
        free(targets[i].data);
    }
    return status == JD_OK ? copy_replicas(array) : status;
}

static jd_status read_array(struct restore *restore,
                            const struct jd_saved_array *saved,
                            const jd_array *array)
{
    size_t places = (size_t)array->num_shards + 1;
    struct target *targets = malloc(places * sizeof *targets);
    int count = 0;
    if (!targets)
        return jd__fail_no_memory(operation, places * sizeof *targets);
    jd_status status = make_targets(array, targets, &count);
    for (int b = 0; status == JD_OK && count > 0 && b < saved->num_blocks; b++)
        if (saved->first_crcs[b] < saved->first_crcs[b + 1])
            status = read_block(restore, saved, b, targets, count);
    status = finish_targets(array, targets, count, status);
    free(targets);
    return status;
}

static jd_status make_array(struct restore *restore, const char *name,
                            const jd_sharding *sharding, jd_array **ret_array)
{
    const struct jd_saved_array *saved;
    jd_status status = jd__checkpoint_find(&restore->index, restore->dir,
                                           operation, name, &saved);
    if (status != JD_OK)
        return JD_INVALID_ARGUMENT;
    char which[2 * JD_CHECKPOINT_MAX_NAME];
    snprintf(which, sizeof which, "%s: \"%s\"", operation, name);
    status = jd__array_create_without_data(
        which, sharding, saved->dtype, saved->ndim, saved->shape, ret_array);
    if (status != JD_OK)
        return status;
    struct jd_ahead ahead;
    jd__checkpoint_ahead_start(&ahead, &restore->io, restore->path, saved,
                               *ret_array);
    status = jd__array_allocate(*ret_array, which);
    if (status == JD_OK)
        status = read_array(restore, saved, *ret_array);
    jd__checkpoint_ahead_finish(&ahead);
    return status;
}

static jd_status make_arrays(struct restore *restore, const char *const *names,
                             jd_sharding *const *shardings, size_t n)
{
    jd_status status = JD_OK;
    restore->chunk = malloc(JD_CHECKPOINT_CHUNK);
    if (!restore->chunk)
        return jd__fail_no_memory(operation, JD_CHECKPOINT_CHUNK);
    for (size_t i = 0; status == JD_OK && i < n; i++)
        status =
            make_array(restore, names[i], shardings[i], &restore->arrays[i]);
    return status;
}

/* ---- all of it ----------------------------------------------------------- */

static jd_status check_arguments(const char *dir, const char *const *names,
                                 jd_sharding *const *shardings, size_t n,
                                 jd_array *const *ret_arrays)
{
    const char *null = !dir          ? "dir"
                       : n == 0      ? NULL
                       : !names      ? "names"
                       : !shardings  ? "shardings"
                       : !ret_arrays ? "ret_arrays"
                                     : NULL;
    if (null)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: %s is NULL", operation, null);
    for (size_t i = 0; i < n; i++) {
        if (!names[i])
            return jd_fail(JD_INVALID_ARGUMENT, "%s: names[%zu] is NULL",
                           operation, i);
        char which[2 * JD_CHECKPOINT_MAX_NAME];
        snprintf(which, sizeof which, "%s: shardings[%zu], of \"%.200s\"",
                 operation, i, names[i]);
        jd_status status = jd__sharding_check_world(shardings[i], which);
        if (status != JD_OK)
            return status;
    }
    return JD_OK;
}

/* What this process came for; NULL where memory ends. */
static char *describe_call(const char *dir, const char *const *names,
                           jd_sharding *const *shardings, size_t n)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    fprintf(out, "dir %s; %zu arrays", dir, n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "; \"%s\" as \"%s\" on %d devices", names[i],
                shardings[i]->spec, shardings[i]->num_devices);
    return jd__text_end(&text);
}

/* Process 0's text of the index, to all: what they read is of one
 * checkpoint, though another job may replace it meanwhile. */
static jd_status share_index(const struct restore *restore, char **text,
                             uint64_t bytes)
{
    jd_status status = JD_OK;
    if (!*text)
        *text = calloc(bytes + 1, 1);
    if (!*text)
        status = jd__fail_no_memory(operation, bytes + 1);
    status = jd__checkpoint_agree(&restore->io, status);
    if (status != JD_OK)
        return status;
    int64_t shape[] = { (int64_t)bytes };
    jd_leaf leaf = { *text, JD_U8, 1, shape };
    status = jd_broadcast_one_to_all(&leaf, 1, 0);
    return status == JD_OK ? status
                           : jd__fail_prefix(status, "%s: ", operation);
}

/* Up to where each process has the index's text. */
static jd_status begin_restore(struct restore *restore,
                               const char *const *names,
                               jd_sharding *const *shardings, size_t n,
                               char **ret_text, size_t *ret_bytes)
{
    char *what = NULL, *text = NULL;
    size_t bytes = 0;
    uint64_t shared_bytes;
    jd_status status =
        check_arguments(restore->dir, names, shardings, n, restore->ret_arrays);
    if (status == JD_OK && !restore->arrays)
        status = jd__fail_no_memory(operation, n * sizeof *restore->arrays);
    if (status == JD_OK) {
        what = describe_call(restore->dir, names, shardings, n);
        if (!what)
            status = jd__fail_no_memory(operation, n);
    }
    if (status == JD_OK && restore->io.process == 0)
        status = jd__checkpoint_text(&restore->io, restore->dir, restore->path,
                                     &text, &bytes);
    status = jd__checkpoint_agree_on(&restore->io, status, what, bytes,
                                     &shared_bytes);
    if (status == JD_OK)
        status = share_index(restore, &text, shared_bytes);
    free(what);
    if (status == JD_OK) {
        *ret_text = text;
        *ret_bytes = (size_t)shared_bytes;
    } else {
        free(text);
    }
    return status;
}

static void release_arrays(jd_array **arrays, size_t n)
{
    for (size_t i = 0; i < n; i++)
        jd_array_release(arrays[i]);
}

/* Process 0 has found it. */
static jd_status locate_checkpoint(struct restore *restore)
{
    jd_status status =
        jd__checkpoint_locate(&restore->io, restore->dir, restore->path);
    return status == JD_NOT_FOUND ? JD_FAILED_PRECONDITION : status;
}

static jd_status restore_all(struct restore *restore, const char *const *names,
                             jd_sharding *const *shardings, size_t n)
{
    char *text;
    size_t bytes;
    jd_status status =
        begin_restore(restore, names, shardings, n, &text, &bytes);
    if (status != JD_OK)
        return status;
    status = jd__checkpoint_parse(&restore->io, restore->dir, text, bytes,
                                  &restore->index);
    free(text);
    if (status == JD_OK && restore->io.process != 0)
        status = locate_checkpoint(restore);
    if (status == JD_OK)
        status = make_arrays(restore, names, shardings, n);
    status = jd__checkpoint_agree(&restore->io, status);
    jd__checkpoint_index_finish(&restore->index);
    free(restore->chunk);
    return status;
}

jd_status jd_array_restore(const char *dir, const char *const *names,
                           jd_sharding *const *shardings, size_t n,
                           jd_array **ret_arrays)
{
    JD_NOTE_CALLER();
    struct restore restore = { .dir = dir };
    jd_status status = jd__checkpoint_io_begin(operation, &restore.io);
    if (status != JD_OK)
        return status;
    jd__recorder_enter(
        &(struct jd_recorder_call){ .operation = operation, .count = n });
    jd_array **arrays = calloc(n + 1, sizeof *arrays);
    restore.ret_arrays = ret_arrays;
    restore.arrays = arrays;
    status = restore_all(&restore, names, shardings, n);
    if (status == JD_OK && n > 0)
        memcpy(ret_arrays, arrays, n * sizeof *arrays);
    else if (arrays)
        release_arrays(arrays, n);
    free(arrays);
    return jd__recorder_leave(status);
}
