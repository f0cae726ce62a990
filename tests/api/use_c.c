/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program as a user writes it, in C11: each public macro, and each form of
 * jd_initialize(). With an argument it fails on purpose: JD_CHECK then ends
 * the process.
 */
#include <jd.h>
#include <jd_mpi.h>

#include <stdio.h>

JD_API JD_NORETURN void give_up(void);
JD_API void tell(const char *text, ...) JD_FORMAT(1, 2);

void give_up(void)
{
    jd_abort(3, "give_up was called");
}

void tell(const char *text, ...)
{
    (void)text;
}

static int initialize_three_ways(void)
{
    JD_CHECK(jd_initialize());
    JD_CHECK(jd_shutdown());
    JD_CHECK((jd_initialize)());
    JD_CHECK(jd_shutdown());
    JD_CHECK(jd_initialize(.initialization_timeout = 60,
                           .cluster_detection_method = "deactivate"));
    if (jd_process_count() != 1)
        give_up();
    return jd_shutdown();
}

static int count_rows(void)
{
    int rows = 0;
#define ROW(...) rows++;
    JD_STATUS_MAP(ROW)
    JD_DTYPE_MAP(ROW)
    JD_STORAGE_DTYPE_MAP(ROW)
#undef ROW
    return rows;
}

static int64_t count_elements(const jd_range *index, int ndim)
{
    int64_t count = ndim <= JD_MAX_NDIM;
    for (int d = 0; d < ndim; d++)
        count *= index[d].end - index[d].begin;
    return count;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        JD_CHECK(jd_mesh_create(NULL, 0, NULL, NULL, NULL));
    if (count_rows() < 20)
        return 1;
    if (count_elements((jd_range[]){ { 1, 3 }, { 0, 4 } }, 2) != 8)
        return 1;
    tell("page %d", 3);
    if (jd_fail_with(JD_NOT_FOUND, "page %d", 3) != JD_NOT_FOUND)
        return 1;
    if (initialize_three_ways() != JD_OK)
        return 1;
#if !JD_VERSION_GE(JD_VERSION_MAJOR, JD_VERSION_MINOR, JD_VERSION_PATCH)
#error "these headers are older than themselves"
#endif
    printf("jd %s\n", jd_version());
    return 0;
}
