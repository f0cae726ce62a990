/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint_save.c - jd_array_save: every process writes its blocks beside
 * dir, and when all are on the disk process 0 writes the index and puts the
 * whole in dir's place.
 */
#include "arrays/checkpoint/checkpoint_agree.h"
#include "arrays/checkpoint/checkpoint_block.h"
#include "arrays/checkpoint/checkpoint_io.h"
#include "arrays/checkpoint/checkpoint_plan.h"
#include "base/status.h"
#include "collectives/platform/device_memory.h"
#include "jd_checkpoint.h"
#include "jd_coordination.h"
#include "jd_process.h"
#include "runtime/recorder/recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char operation[] = "jd_array_save";

/* Files that are written and not yet known to be on the disk: brought there
 * together, they cost the disk's journal less. */
enum { MAX_PENDING = 64 };

struct pending_save {
    int fd;
    char *path;
};

struct save {
    struct jd_io io;
    const char *dir;
    jd_array *const *arrays;
    struct jd_save_plan plan;
    uint64_t word;
    char suffix[JD_CHECKPOINT_SUFFIX];
    char *piece; /* of host memory, where a device has the elements */
    struct pending_save pending[MAX_PENDING];
    int num_pending;
};

/* ---- arguments ----------------------------------------------------------- */

/* Names that stand next to each other once they are sorted. */
static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static jd_status check_twice(const char *const *names, size_t n)
{
    const char **sorted = malloc((n + 1) * sizeof *sorted);
    jd_status status = JD_OK;
    if (!sorted)
        return jd__fail_no_memory(operation, n * sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = names[i];
    qsort(sorted, n, sizeof *sorted, compare_names);
    for (size_t i = 1; status == JD_OK && i < n; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            status = jd_fail(JD_INVALID_ARGUMENT,
                             "%s: the name \"%s\" is there twice", operation,
                             sorted[i]);
    free(sorted);
    return status;
}

static jd_status check_arguments(const char *dir, const char *const *names,
                                 jd_array *const *arrays, size_t n)
{
    const char *fault = jd__checkpoint_dir_fault(dir);
    if (fault)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: dir%s%s%s %s", operation,
                       dir ? " \"" : "", dir ? dir : "", dir ? "\"" : "",
                       fault);
    if (n > 0 && (!names || !arrays))
        return jd_fail(JD_INVALID_ARGUMENT, "%s: %s is NULL, but n is %zu",
                       operation, names ? "arrays" : "names", n);
    for (size_t i = 0; i < n; i++) {
        fault = jd__checkpoint_name_fault(names[i]);
        if (fault)
            return jd_fail(JD_INVALID_ARGUMENT, "%s: names[%zu] %s", operation,
                           i, fault);
        char which[2 * JD_CHECKPOINT_MAX_NAME];
        snprintf(which, sizeof which, "%s: arrays[%zu], \"%s\"", operation, i,
                 names[i]);
        jd_status status = jd__array_check(arrays[i], which);
        if (status != JD_OK)
            return status;
    }
    return check_twice(names, n);
}

/* ---- this process's blocks ----------------------------------------------- */

/* After a failure they are only closed: its sentence is what is told. */
static jd_status sync_pending(struct save *save, jd_status status)
{
    for (int i = 0; i < save->num_pending; i++) {
        struct pending_save *file = &save->pending[i];
        if (status == JD_OK)
            status = jd__checkpoint_io_sync_and_close(&save->io, file->path,
                                                      file->fd);
        else
            close(file->fd);
        free(file->path);
    }
    save->num_pending = 0;
    return status;
}

static jd_status add_pending(struct save *save, const char *path, int fd)
{
    char *copy = strdup(path);
    if (!copy) {
        close(fd);
        return jd__fail_no_memory(operation, strlen(path));
    }
    save->pending[save->num_pending++] = (struct pending_save){ fd, copy };
    return save->num_pending == MAX_PENDING ? sync_pending(save, JD_OK) : JD_OK;
}

static jd_status make_piece(struct save *save)
{
    if (!save->piece)
        save->piece = malloc(JD_CHECKPOINT_PIECE);
    return save->piece ? JD_OK
                       : jd__fail_no_memory(operation, JD_CHECKPOINT_PIECE);
}

static jd_status write_block(struct save *save, size_t i, int block,
                             const jd_array_shard *shard)
{
    char file[JD_CHECKPOINT_MAX_FILE], path[PATH_MAX];
    struct jd_saved_array *saved = &save->plan.index.arrays[i];
    struct jd_block_source from = { .data = shard->data };
    jd_status status = JD_OK;
    int fd;
    if (jd__device_memory_is_apart(shard->data))
        status = make_piece(save);
    from.piece = save->piece;
    jd__checkpoint_saved_block_file(saved, block, file);
    if (status == JD_OK)
        status = jd__checkpoint_io_path(&save->io, save->dir, save->suffix,
                                        file, path);
    if (status == JD_OK)
        status = jd__checkpoint_block_write(&save->io, saved, block, &from,
                                            path, &fd);
    return status == JD_OK ? add_pending(save, path, fd) : status;
}

static jd_status write_blocks(struct save *save)
{
    jd_status status = JD_OK;
    for (size_t i = 0; i < save->plan.index.count; i++) {
        const jd_array *array = save->arrays[i];
        const jd_sharding *sharding = array->sharding;
        for (int s = 0; status == JD_OK && s < array->num_shards; s++) {
            int place = sharding->local[s], block = sharding->blocks[place];
            if (save->plan.writers[i][block] == place &&
                array->shards[s].count > 0)
                status = write_block(save, i, block, &array->shards[s]);
        }
    }
    return sync_pending(save, status);
}

/* ---- the checksums, from all to process 0 -------------------------------- */

/* Visits the checksums of all blocks in the index's order, with the process
 * that has written each block. */
static void for_each_block(const struct save *save,
                           void (*visit)(int process, uint32_t *crcs,
                                         size_t count, void *arg),
                           void *arg)
{
    for (size_t i = 0; i < save->plan.index.count; i++) {
        const struct jd_saved_array *saved = &save->plan.index.arrays[i];
        const jd_sharding *sharding = save->arrays[i]->sharding;
        for (int block = 0; block < saved->num_blocks; block++) {
            size_t first = saved->first_crcs[block];
            int place = save->plan.writers[i][block];
            visit(sharding->devices[place]->process_index, saved->crcs + first,
                  saved->first_crcs[block + 1] - first, arg);
        }
    }
}

/* The checksums of one process, one after the other. */
struct list {
    int process;
    size_t count;
    uint32_t *crcs; /* NULL: they are only counted */
};

static void add_to_list(int process, uint32_t *crcs, size_t count, void *arg)
{
    struct list *list = arg;
    if (process != list->process)
        return;
    if (list->crcs)
        memcpy(list->crcs + list->count, crcs, count * sizeof *crcs);
    list->count += count;
}

static void crcs_key(const struct save *save, char key[64])
{
    snprintf(key, 64, "%s/%016" PRIx64, operation, save->word);
}

static jd_status give_crcs(const struct save *save)
{
    struct list list = { .process = save->io.process };
    char dir[64], key[80];
    for_each_block(save, add_to_list, &list);
    if (list.count == 0 || list.process == 0)
        return JD_OK;
    list.crcs = malloc(list.count * sizeof *list.crcs);
    if (!list.crcs)
        return jd__fail_no_memory(operation, list.count * sizeof *list.crcs);
    list.count = 0;
    for_each_block(save, add_to_list, &list);
    crcs_key(save, dir);
    snprintf(key, sizeof key, "%s/%d", dir, list.process);
    jd_status status =
        jd_kv_set(key, list.crcs, list.count * sizeof *list.crcs, 1);
    free(list.crcs);
    return status == JD_OK ? status
                           : jd__fail_prefix(status, "%s: ", operation);
}

/* What each process has given, and how much of it was taken. */
struct checksums {
    const char *crcs;
    size_t count;
};

struct all_checksums {
    struct checksums *of; /* by process */
    bool are_too_few;
};

static void take_checksums(int process, uint32_t *crcs, size_t count, void *arg)
{
    struct all_checksums *all_checksums = arg;
    struct checksums *checksums = &all_checksums->of[process];
    if (process == 0 || count == 0)
        return;
    if (checksums->count < count) {
        all_checksums->are_too_few = true;
        return;
    }
    memcpy(crcs, checksums->crcs, count * sizeof *crcs);
    checksums->crcs += count * sizeof *crcs;
    checksums->count -= count;
}

static jd_status distribute_checksums(const struct save *save,
                                      const jd_kv_entry *entries, size_t count)
{
    int processes = jd_process_count();
    struct all_checksums all_checksums = {
        .of = calloc((size_t)processes, sizeof *all_checksums.of)
    };
    if (!all_checksums.of)
        return jd__fail_no_memory(operation,
                                  (size_t)processes * sizeof *all_checksums.of);
    for (size_t i = 0; i < count; i++) {
        long process = strtol(strrchr(entries[i].key, '/') + 1, NULL, 10);
        if (process > 0 && process < processes)
            all_checksums.of[process] =
                (struct checksums){ entries[i].value,
                                    entries[i].size / sizeof(uint32_t) };
    }
    for_each_block(save, take_checksums, &all_checksums);
    free(all_checksums.of);
    if (all_checksums.are_too_few)
        return jd_fail(JD_INTERNAL,
                       "%s: the checksums of some blocks did not come",
                       operation);
    return JD_OK;
}

static jd_status take_crcs(const struct save *save)
{
    char key[64];
    jd_kv_entry *entries;
    size_t count;
    crcs_key(save, key);
    jd_status status = jd_kv_dir_get(key, &entries, &count);
    if (status != JD_OK)
        return jd__fail_prefix(status, "%s: ", operation);
    status = distribute_checksums(save, entries, count);
    free(entries);
    return status;
}

/* ---- the index ----------------------------------------------------------- */

static jd_status write_file(const struct save *save, const char *text,
                            size_t bytes)
{
    char path[PATH_MAX];
    int fd;
    jd_status status = jd__checkpoint_io_path(
        &save->io, save->dir, save->suffix, JD_CHECKPOINT_INDEX, path);
    if (status == JD_OK)
        status = jd__checkpoint_io_create(&save->io, path, &fd);
    if (status != JD_OK)
        return status;
    status = jd__checkpoint_io_write(&save->io, path, fd, text, bytes, 0);
    if (status == JD_OK)
        return jd__checkpoint_io_sync_and_close(&save->io, path, fd);
    close(fd);
    return status;
}

/* What process 0 does when all blocks are on the disk. */
static jd_status finish_checkpoint(const struct save *save)
{
    char *text;
    size_t bytes;
    jd_status status = take_crcs(save);
    if (status == JD_OK)
        status = jd__checkpoint_index_write(&save->plan.index, &text, &bytes);
    if (status != JD_OK)
        return status;
    status = write_file(save, text, bytes);
    free(text);
    if (status == JD_OK)
        status = jd__checkpoint_commit(&save->io, save->dir, save->word);
    return status;
}

/* ---- all of it ----------------------------------------------------------- */

/* Up to where all know what is saved, and where. */
static jd_status begin_save(struct save *save, const char *const *names,
                            size_t n)
{
    bool is_first = save->io.process == 0;
    uint64_t word = 0;
    char *what = NULL;
    jd_status status = check_arguments(save->dir, names, save->arrays, n);
    if (status == JD_OK)
        status = jd__checkpoint_plan_make(names, save->arrays, n,
                                          jd_process_count(), &save->plan);
    if (status == JD_OK) {
        what = jd__checkpoint_plan_print(&save->plan, save->dir, save->arrays);
        if (!what)
            status = jd__fail_no_memory(operation, n);
    }
    if (status == JD_OK && is_first)
        status = jd__checkpoint_prepare(&save->io, save->dir, &word);
    bool is_prepared = status == JD_OK && is_first;
    status =
        jd__checkpoint_agree_on(&save->io, status, what, word, &save->word);
    free(what);
    if (status != JD_OK && is_prepared)
        jd__checkpoint_discard(save->dir, word);
    jd__checkpoint_suffix(save->word, save->suffix);
    return status;
}

/* The wait for the slowest, which sleeps, and names who is missing. */
static jd_status wait_for_all(void)
{
    jd_status status = jd_wait_at_barrier("jd_array_save: all blocks are on "
                                          "the disk",
                                          0, NULL, 0);
    return status == JD_OK ? status
                           : jd__fail_prefix(status, "%s: ", operation);
}

/* mine, with its sentence, is this process's part; the sentence outlives the
 * wait for the others. */
static jd_status meet_others(const struct save *save, jd_status mine)
{
    char *sentence = mine == JD_OK ? NULL : strdup(jd_error_message());
    jd_status status = wait_for_all();
    if (status == JD_OK && mine != JD_OK)
        jd_fail(mine, "%s", sentence ? sentence : operation);
    free(sentence);
    return status == JD_OK ? jd__checkpoint_agree(&save->io, mine) : status;
}

/* Where the service may be lost, it is not asked: the sentence that says so
 * stays. */
static void clean_up(const struct save *save, jd_status status)
{
    char key[64];
    crcs_key(save, key);
    if (status != JD_UNAVAILABLE && status != JD_ABORTED &&
        status != JD_DEADLINE_EXCEEDED)
        jd_kv_delete(key, NULL);
    jd__checkpoint_discard(save->dir, save->word);
}

static jd_status save_blocks_and_index(struct save *save)
{
    bool is_first = save->io.process == 0;
    jd_status status = write_blocks(save);
    if (status == JD_OK)
        status = give_crcs(save);
    status = meet_others(save, status);
    if (status == JD_OK)
        status = jd__checkpoint_agree(
            &save->io, is_first ? finish_checkpoint(save) : JD_OK);
    if (is_first)
        clean_up(save, status);
    return status;
}

static jd_status save_all(struct save *save, const char *const *names, size_t n)
{
    jd_status status = begin_save(save, names, n);
    if (status == JD_OK)
        status = save_blocks_and_index(save);
    jd__checkpoint_plan_finish(&save->plan);
    free(save->piece);
    return status;
}

jd_status jd_array_save(const char *dir, const char *const *names,
                        jd_array *const *arrays, size_t n)
{
    JD_NOTE_CALLER();
    struct save save = { .dir = dir, .arrays = arrays };
    jd_status status = jd__checkpoint_io_begin(operation, &save.io);
    if (status != JD_OK)
        return status;
    jd__recorder_enter(
        &(struct jd_recorder_call){ .operation = operation, .count = n });
    return jd__recorder_leave(save_all(&save, names, n));
}
