/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_hopeless.c - calls that cannot end, which the job is told of long
 * before their deadline.
 *
 *     test_hopeless circle   4 processes: two sum over "a" first, two over "b"
 *     test_hopeless leave    process 1 ends while the others sum
 *     test_hopeless early    process 1 ends after its last call: no failure
 */
#include "expect.h"

#include <jd.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static jd_shard *me;

static void sum_over(const char *axis)
{
    double one = 1, sum;
    JD_CHECK(jd_psum(me, axis, &one, &sum, 1, JD_F64));
}

static void go_round(void)
{
    bool is_diagonal = jd_process_index() == 0 || jd_process_index() == 3;
    sum_over(is_diagonal ? "a" : "b");
    sum_over(is_diagonal ? "b" : "a");
}

/* The others go on when process 1 is about to end, and not before. */
static void part(bool is_needed)
{
    void *value;
    size_t size;
    if (jd_process_index() == 1) {
        EXPECT_OK(jd_kv_set("I go", "1", 1, 0));
        exit(0);
    }
    EXPECT_OK(jd_kv_get("I go", 0, &value, &size));
    free(value);
    if (is_needed)
        sum_over(NULL);
    EXPECT_STATUS(jd_wait_at_barrier("a while", 1, NULL, 0), JD_ABORTED, "");
}

int main(int argc, char **argv)
{
    jd_mesh *mesh;
    const char *what = argc > 1 ? argv[1] : "";
    EXPECT_OK(jd_initialize());
    EXPECT_OK(jd_mesh_create(&mesh, 2, (int[]){ 2, -1 },
                             (const char *[]){ "a", "b" }, NULL));
    me = jd_mesh_shard(mesh);
    sum_over("a");
    sum_over("b");
    sum_over(NULL);
    if (strcmp(what, "circle") == 0)
        go_round();
    else
        part(strcmp(what, "leave") == 0);
    jd_mesh_destroy(mesh);
    EXPECT_OK(jd_shutdown());
    return 0;
}
