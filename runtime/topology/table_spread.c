/* SPDX-License-Identifier: BSD-3-Clause */
/* table_spread.c - a leader's table becomes its host's. */
#include "runtime/topology/table_spread.h"
#include "base/log.h"
#include "runtime/topology/table_file.h"

#include <stdlib.h>
#include <string.h>

/* What a leader tells first. */
struct result {
    int32_t status;
    int32_t text_bytes; /* of the failure's sentence */
    int32_t is_shared;
    int32_t unused;
    struct jd_table_desc desc;
};

static jd_status from_leader(const struct jd_host_group *group, void *data,
                             uint64_t bytes)
{
    return jd__mpi_check(MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, group->comm),
                         "MPI_Bcast", "jd_initialize");
}

/* ---- a failure ---------------------------------------------------------- */

/* The leader's sentence, word for word. */
static jd_status hear_failure(const struct jd_host_group *group,
                              const struct result *result)
{
    size_t bytes = (size_t)result->text_bytes;
    char *text = malloc(bytes);
    if (!text)
        return jd__fail_no_memory("jd_initialize", bytes);
    if (group->index == 0)
        memcpy(text, jd_error_message(), bytes);
    jd_status status = from_leader(group, text, bytes);
    if (status == JD_OK && group->index > 0)
        jd_fail((jd_status)result->status, "%s", text);
    free(text);
    return status == JD_OK ? (jd_status)result->status : status;
}

/* ---- the table ---------------------------------------------------------- */

/* Do all have it? */
static jd_status agree_on_host(const struct jd_host_group *group, bool has,
                               bool *ret_all)
{
    int own = has, all = 0;
    jd_status status = jd__mpi_check(
        MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, group->comm),
        "MPI_Allreduce", "jd_initialize");
    *ret_all = all;
    return status;
}

/* The leader keeps what it has; the others get the same bytes. */
static jd_status copy_table(const struct jd_host_group *group, uint64_t bytes,
                            struct jd_table **table)
{
    if (group->index > 0)
        *table = jd__table_allocate(bytes);
    if (!*table)
        return jd__fail_no_memory("jd_initialize", bytes);
    return from_leader(group, *table, bytes);
}

static void say_unless(jd_status status)
{
    if (status != JD_OK)
        jd__log(JD_LOG_INFO, "%s", jd_error_message());
}

/* Whoever is no leader maps the leader's. */
static bool find_table(const struct jd_host_group *group,
                       const struct result *result, struct jd_table **mapped)
{
    if (!result->is_shared || group->index == 0)
        return result->is_shared;
    jd_status status = jd__table_file_map(&result->desc, mapped);
    say_unless(status);
    return status == JD_OK;
}

static jd_status hear_table(const struct jd_host_group *group,
                            const struct result *result,
                            const struct jd_table_file *file,
                            struct jd_table **table)
{
    struct jd_table *mapped = NULL;
    bool has = find_table(group, result, &mapped), has_all = false;
    jd_status status = agree_on_host(group, has, &has_all);
    if (status == JD_OK && has_all && group->index > 0)
        *table = mapped;
    else if (status == JD_OK && has_all)
        say_unless(jd__table_file_put(file, *table));
    else
        jd__table_destroy(mapped);
    if (status != JD_OK || has_all)
        return status;
    return copy_table(group, result->desc.bytes, table);
}

/* ---- the leader --------------------------------------------------------- */

/* A failure to share is none of the job. */
static struct result make_result(jd_status made, const struct jd_table *table,
                                 struct jd_table_file *file)
{
    struct result result = { .status = (int32_t)made };
    if (made != JD_OK) {
        result.text_bytes = (int32_t)strlen(jd_error_message()) + 1;
        return result;
    }
    jd_status shared = jd__table_file_create(table, file);
    say_unless(shared);
    result.is_shared = shared == JD_OK;
    result.desc = file->desc;
    return result;
}

static jd_status spread_table(const struct jd_host_group *group, jd_status made,
                              struct jd_table **table)
{
    struct jd_table_file file = { .descriptor = -1 };
    struct result result = { .status = JD_OK };
    if (group->index == 0)
        result = make_result(made, *table, &file);
    jd_status status = from_leader(group, &result, sizeof result);
    if (status == JD_OK)
        status = result.status == JD_OK
                     ? hear_table(group, &result, &file, table)
                     : hear_failure(group, &result);
    jd__table_file_close(&file);
    return status;
}

jd_status jd__table_spread(const struct jd_host_group *group, jd_status made,
                           struct jd_table **table)
{
    jd_status status =
        group->comm == MPI_COMM_NULL ? made : spread_table(group, made, table);
    if (status != JD_OK) {
        jd__table_destroy(*table);
        *table = NULL;
    }
    return status;
}
