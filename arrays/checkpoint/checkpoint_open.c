/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint_open.c - what is in a checkpoint, and whether it is whole. */
#include "arrays/checkpoint/checkpoint_open.h"

#include "arrays/checkpoint/checkpoint_block.h"
#include "base/status.h"
#include "jd_checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct jd_checkpoint {
    char dir[PATH_MAX];  /* as it was asked for */
    char path[PATH_MAX]; /* where it is */
    struct jd_index index;
};

/* ---- the index ----------------------------------------------------------- */

jd_status jd__checkpoint_text(const struct jd_io *io, const char *dir,
                              char path[PATH_MAX], char **ret_text,
                              size_t *ret_bytes)
{
    char file[PATH_MAX];
    jd_status status = jd__checkpoint_locate(io, dir, path);
    if (status == JD_OK)
        status =
            jd__checkpoint_io_path(io, path, "", JD_CHECKPOINT_INDEX, file);
    if (status == JD_OK)
        status = jd__checkpoint_io_read_file(io, file, ret_text, ret_bytes);
    return status;
}

jd_status jd__checkpoint_parse(const struct jd_io *io, const char *dir,
                               const char *text, size_t bytes,
                               struct jd_index *ret_index)
{
    char file[PATH_MAX];
    jd_status status =
        jd__checkpoint_io_path(io, dir, "", JD_CHECKPOINT_INDEX, file);
    if (status != JD_OK)
        return status;
    status = jd__checkpoint_index_read(text, bytes, file, ret_index);
    return status == JD_OK ? status
                           : jd__fail_prefix(status, "%s: ", io->operation);
}

static void print_names(const struct jd_index *index, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < index->count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s\"%s\"",
                                 i ? ", " : "", index->arrays[i].name);
    if (used >= size)
        snprintf(text + size - 4, 4, "...");
}

jd_status jd__checkpoint_find(const struct jd_index *index, const char *dir,
                              const char *operation, const char *name,
                              const struct jd_saved_array **ret_array)
{
    char names[600];
    *ret_array = jd__checkpoint_index_find(index, name);
    if (*ret_array)
        return JD_OK;
    print_names(index, names, sizeof names);
    return jd_fail(JD_NOT_FOUND, "%s: %s has no array \"%s\"; it has %s",
                   operation, dir, name, *names ? names : "none");
}

/* ---- the public side ----------------------------------------------------- */

static struct jd_io io_of(const char *operation)
{
    return (struct jd_io){ .operation = operation, .who = "this process" };
}

static jd_status read_index(jd_checkpoint *checkpoint, const struct jd_io *io)
{
    char *text;
    size_t bytes;
    jd_status status = jd__checkpoint_text(io, checkpoint->dir,
                                           checkpoint->path, &text, &bytes);
    if (status != JD_OK)
        return status;
    status = jd__checkpoint_parse(io, checkpoint->path, text, bytes,
                                  &checkpoint->index);
    free(text);
    return status;
}

jd_status jd_checkpoint_open(jd_checkpoint **ret_checkpoint, const char *dir)
{
    struct jd_io io = io_of("jd_checkpoint_open");
    if (!ret_checkpoint || !dir)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: %s is NULL", io.operation,
                       dir ? "ret_checkpoint" : "dir");
    jd_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    if (!checkpoint)
        return jd__fail_no_memory(io.operation, sizeof *checkpoint);
    jd_status status =
        jd__checkpoint_io_path(&io, dir, "", NULL, checkpoint->dir);
    if (status == JD_OK)
        status = read_index(checkpoint, &io);
    if (status == JD_OK)
        *ret_checkpoint = checkpoint;
    else
        free(checkpoint);
    return status;
}

void jd_checkpoint_close(jd_checkpoint *checkpoint)
{
    if (!checkpoint)
        return;
    jd__checkpoint_index_finish(&checkpoint->index);
    free(checkpoint);
}

size_t jd_checkpoint_count(const jd_checkpoint *checkpoint)
{
    return checkpoint ? checkpoint->index.count : 0;
}

const char *jd_checkpoint_name(const jd_checkpoint *checkpoint, size_t i)
{
    return i < jd_checkpoint_count(checkpoint)
               ? checkpoint->index.arrays[i].name
               : NULL;
}

jd_status jd_checkpoint_leaf(const jd_checkpoint *checkpoint, const char *name,
                             jd_leaf *ret_leaf)
{
    static const char operation[] = "jd_checkpoint_leaf";
    const struct jd_saved_array *array;
    const char *null = !checkpoint ? "checkpoint"
                       : !name     ? "name"
                       : !ret_leaf ? "ret_leaf"
                                   : NULL;
    if (null)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: %s is NULL", operation, null);
    jd_status status = jd__checkpoint_find(&checkpoint->index, checkpoint->dir,
                                           operation, name, &array);
    if (status == JD_OK)
        *ret_leaf = (jd_leaf){ NULL, array->dtype, array->ndim, array->shape };
    return status;
}

/* ---- reading all of it --------------------------------------------------- */

static jd_status verify_block(const struct jd_io *io,
                              const jd_checkpoint *checkpoint,
                              const struct jd_saved_array *array, int block,
                              char *memory)
{
    struct jd_block_reader reader;
    jd_status status =
        jd__checkpoint_block_open(io, array, block, checkpoint->path, &reader);
    if (status != JD_OK)
        return status;
    for (size_t i = 0; status == JD_OK && i < reader.num_chunks; i++)
        status = jd__checkpoint_block_read(&reader, i, memory);
    jd__checkpoint_block_close(&reader);
    return status;
}

static jd_status verify_arrays(const struct jd_io *io,
                               const jd_checkpoint *checkpoint,
                               const char *name, char *memory)
{
    jd_status status = JD_OK;
    for (size_t i = 0; i < checkpoint->index.count; i++) {
        const struct jd_saved_array *array = &checkpoint->index.arrays[i];
        if (name && strcmp(name, array->name) != 0)
            continue;
        for (int b = 0; status == JD_OK && b < array->num_blocks; b++)
            if (array->first_crcs[b] < array->first_crcs[b + 1])
                status = verify_block(io, checkpoint, array, b, memory);
    }
    return status;
}

jd_status jd_checkpoint_verify(const jd_checkpoint *checkpoint,
                               const char *name)
{
    struct jd_io io = io_of("jd_checkpoint_verify");
    const struct jd_saved_array *found;
    if (!checkpoint)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: checkpoint is NULL",
                       io.operation);
    jd_status status = JD_OK;
    if (name)
        status = jd__checkpoint_find(&checkpoint->index, checkpoint->dir,
                                     io.operation, name, &found);
    if (status != JD_OK)
        return status;
    char *memory = malloc(JD_CHECKPOINT_CHUNK);
    if (!memory)
        return jd__fail_no_memory(io.operation, JD_CHECKPOINT_CHUNK);
    status = verify_arrays(&io, checkpoint, name, memory);
    free(memory);
    return status;
}
