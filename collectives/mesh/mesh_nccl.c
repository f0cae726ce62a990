/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh_nccl.c - what a program sets of NCCL for the collectives of a mesh. */
#include "base/text.h"
#include "collectives/mesh/mesh.h"
#include "collectives/mesh/shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SET "jd_mesh_set_nccl"

/* -1: there is none of that name. */
static int find_option(const char *name)
{
    for (int i = 0; i < JD_NUM_NCCL_OPTIONS; i++)
        if (strcmp(jd__nccl_options_row(i)->name, name) == 0)
            return i;
    return -1;
}

static jd_status fail_name(const char *name)
{
    struct jd_text written;
    FILE *out = jd__text_begin(&written);
    for (int i = 0; out && i < JD_NUM_NCCL_OPTIONS; i++)
        fprintf(out, "%s%s", jd__nccl_options_row(i)->name,
                i + 2 < JD_NUM_NCCL_OPTIONS    ? ", "
                : i + 2 == JD_NUM_NCCL_OPTIONS ? " or "
                                               : "");
    char *names = jd__text_end(&written);
    jd_status status =
        jd_fail(JD_INVALID_ARGUMENT,
                SET ": the name is \"%s\", which is none that a mesh can set; "
                    "set %s, with the letters as they are here",
                name, names ? names : "another");
    free(names);
    return status;
}

static jd_status check_arguments(const jd_mesh *mesh, const char *name,
                                 int value, int *ret_option)
{
    const char *null = !mesh ? "mesh" : !name ? "name" : NULL;
    if (null)
        return jd_fail(JD_INVALID_ARGUMENT, SET ": %s is NULL", null);
    int option = find_option(name);
    if (option < 0)
        return fail_name(name);
    const struct jd_nccl_option_row *row = jd__nccl_options_row(option);
    if (value < row->lowest || value > row->highest)
        return jd_fail(JD_INVALID_ARGUMENT, SET ": %s is %d; it is %s",
                       row->name, value, row->meaning);
    *ret_option = option;
    return JD_OK;
}

/* A collective was called on it, or on one that was derived from it. */
static bool is_used(const struct jd_shard *shard)
{
    const struct jd_shard *twin = atomic_load(&shard->twin);
    if (atomic_load(&shard->axis_comms) || (twin && is_used(twin)))
        return true;
    for (const struct jd_shard *derived = atomic_load(&shard->derived); derived;
         derived = derived->next)
        if (is_used(derived))
            return true;
    return false;
}

static jd_status check_unused(const jd_mesh *mesh, const char *name)
{
    jd_status status = jd__mesh_check_world(mesh, SET);
    for (int i = 0; status == JD_OK && i < mesh->num_shards; i++)
        if (is_used(&mesh->shards[i]))
            status = jd_fail(JD_FAILED_PRECONDITION,
                             SET ": %s is set after a collective of the mesh "
                                 "was called, and its communicators stay as "
                                 "they are; set it right after "
                                 "jd_mesh_create()",
                             name);
    return status;
}

static jd_status check_order(const struct jd_nccl_options *options)
{
    int least = options->values[JD_NCCL_MIN_CTAS];
    int most = options->values[JD_NCCL_MAX_CTAS];
    if (!jd__nccl_options_has(options, JD_NCCL_MAX_CTAS) || least <= most)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   SET ": minCTAs would be %d and maxCTAs %d; minCTAs is at "
                       "most maxCTAs",
                   least, most);
}

jd_status jd_mesh_set_nccl(jd_mesh *mesh, const char *name, int value)
{
    int option = 0;
    jd_status status = check_arguments(mesh, name, value, &option);
    if (status == JD_OK)
        status = check_unused(mesh, name);
    if (status != JD_OK)
        return status;
    struct jd_nccl_options options = mesh->nccl;
    jd__nccl_options_set(&options, option, value);
    status = check_order(&options);
    if (status == JD_OK)
        mesh->nccl = options;
    return status;
}
