/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint_plan.c - blocks given to processes, evenly. */
#include "arrays/checkpoint/checkpoint_plan.h"

#include "base/digest.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static jd_status add_to_index(struct jd_index *index, const char *name,
                              const jd_array *array)
{
    const jd_sharding *sharding = array->sharding;
    int cuts[JD_MAX_NDIM];
    for (int axis = 0; axis < array->ndim; axis++)
        cuts[axis] = axis < sharding->num_cuts ? sharding->cuts[axis].ways : 1;
    return jd__checkpoint_index_add(index, name, array->dtype, array->ndim,
                                    array->shape, cuts);
}

/* load: the bytes that each process writes. A block begins with its first
 * copy, and goes to a later one whose process has less to do. */
static void choose_writers(const struct jd_saved_array *saved,
                           const jd_sharding *sharding, uint64_t *load,
                           int *writers)
{
    for (int block = 0; block < saved->num_blocks; block++)
        writers[block] = -1;
    for (int place = 0; place < sharding->num_devices; place++) {
        int block = sharding->blocks[place], before = writers[block];
        uint64_t bytes = jd__checkpoint_saved_block_bytes(saved, block);
        uint64_t *mine = &load[sharding->devices[place]->process_index];
        if (before >= 0) {
            uint64_t *other = &load[sharding->devices[before]->process_index];
            if (*mine + bytes >= *other)
                continue;
            *other -= bytes;
        }
        *mine += bytes;
        writers[block] = place;
    }
}

static jd_status add_array(struct jd_save_plan *plan, const char *name,
                           const jd_array *array, uint64_t *load)
{
    size_t i = plan->index.count;
    jd_status status = add_to_index(&plan->index, name, array);
    if (status != JD_OK)
        return status;
    const struct jd_saved_array *saved = &plan->index.arrays[i];
    size_t bytes = (size_t)saved->num_blocks * sizeof **plan->writers;
    plan->writers[i] = malloc(bytes);
    if (!plan->writers[i])
        return jd__fail_no_memory("jd_array_save", bytes);
    choose_writers(saved, array->sharding, load, plan->writers[i]);
    return JD_OK;
}

jd_status jd__checkpoint_plan_make(const char *const *names,
                                   jd_array *const *arrays, size_t n,
                                   int num_processes,
                                   struct jd_save_plan *ret_plan)
{
    struct jd_save_plan plan = { .writers = calloc(n + 1, sizeof(int *)) };
    uint64_t *load = calloc((size_t)num_processes, sizeof *load);
    jd_status status = jd__checkpoint_index_reserve(&plan.index, n);
    if (status == JD_OK && (!plan.writers || !load))
        status = jd__fail_no_memory("jd_array_save", n * sizeof(int *));
    for (size_t i = 0; status == JD_OK && i < n; i++)
        status = add_array(&plan, names[i], arrays[i], load);
    free(load);
    if (status == JD_OK)
        *ret_plan = plan;
    else
        jd__checkpoint_plan_finish(&plan);
    return status;
}

void jd__checkpoint_plan_finish(struct jd_save_plan *plan)
{
    for (size_t i = 0; plan->writers && i < plan->index.count; i++)
        free(plan->writers[i]);
    free(plan->writers);
    jd__checkpoint_index_finish(&plan->index);
    *plan = (struct jd_save_plan){ 0 };
}

/* Which device has which block. */
static uint64_t layout_of(const jd_sharding *sharding)
{
    uint64_t digest = 0;
    for (int place = 0; place < sharding->num_devices; place++) {
        int64_t pair[] = { sharding->devices[place]->id,
                           sharding->blocks[place] };
        digest = jd__digest(digest, pair, sizeof pair);
    }
    return digest;
}

static void print_array(FILE *out, const struct jd_saved_array *saved,
                        const jd_sharding *sharding)
{
    fprintf(out, "; \"%s\" of %s[", saved->name, jd_dtype_name(saved->dtype));
    for (int axis = 0; axis < saved->ndim; axis++)
        fprintf(out, "%s%" PRId64, axis ? "," : "", saved->shape[axis]);
    fprintf(out, "] as \"%s\" on %d devices (layout %016" PRIx64 ")",
            sharding->spec, sharding->num_devices, layout_of(sharding));
}

char *jd__checkpoint_plan_print(const struct jd_save_plan *plan,
                                const char *dir, jd_array *const *arrays)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    fprintf(out, "dir %s; %zu arrays", dir, plan->index.count);
    for (size_t i = 0; i < plan->index.count; i++)
        print_array(out, &plan->index.arrays[i], arrays[i]->sharding);
    return jd__text_end(&text);
}
