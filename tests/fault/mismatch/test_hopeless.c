/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_hopeless.c - calls that cannot end, which the job is told of long
 * before their deadline.
 *
 *     test_hopeless circle   4 processes: two sum over "a" first, two over "b"
 *     test_hopeless leave    process 1 ends while the others sum
 *     test_hopeless early    process 1 ends after its last call: no failure
 *     test_hopeless slow     2 processes, and data that take their time: none
 *
 * The same call on all, of which each waits for the other end:
 *
 *     test_hopeless sends    2 processes send to each other
 *     test_hopeless receives 2 processes receive from each other
 *
 * Process 1 sums once more than the others, who are in another call:
 *
 *     test_hopeless barrier, sync, put, broadcast, send
 *
 *     test_hopeless barriers 2 processes at barriers of two names
 *     test_hopeless groups   processes sum in groups that are unlike
 *     test_hopeless part     process 1 sums over "a", the others over all
 *
 * Two processes with two devices each:
 *
 *     test_hopeless threads  each body waits for another, of its own process or
 *                            of the other
 *     test_hopeless free     the same, but that one body of process 1 waits for
 *                            nobody: no failure
 */
#include "jd.h"

#include "tests/fault/mismatch/put.h"
#include "tests/mpi/expect.h"

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

/* More than a letter holds, and less than a ring. */
static void send_to_each_other(bool sends)
{
    enum { COUNT = 200000 };
    static double numbers[COUNT];
    int other = 1 - jd_process_index();
    if (sends)
        JD_CHECK(jd_send(me, NULL, other, numbers, COUNT, JD_F64));
    else
        JD_CHECK(jd_recv(me, NULL, other, numbers, COUNT, JD_F64));
}

/* Where MPI has small buffers, beyond the notice. */
static void send_slowly(void)
{
    enum { COUNT = 1 << 20 };
    double *numbers = calloc(COUNT, sizeof *numbers);
    EXPECT(numbers != NULL, "no memory");
    if (jd_process_index() == 0)
        JD_CHECK(jd_send(me, NULL, 1, numbers, COUNT, JD_F64));
    else
        JD_CHECK(jd_recv(me, NULL, 0, numbers, COUNT, JD_F64));
    free(numbers);
}

static void broadcast(void)
{
    double number = 1;
    const jd_leaf leaf = { &number, JD_F64, 0, NULL };
    JD_CHECK(jd_broadcast_one_to_all(&leaf, 1, 0));
}

/* What the others are in while process 1 sums. */
static void call_another(const char *what, jd_mesh *mesh)
{
    static double numbers[2000]; /* a short send would not wait */
    if (strcmp(what, "barrier") == 0)
        JD_CHECK(jd_wait_at_barrier("here", 0, NULL, 0));
    else if (strcmp(what, "sync") == 0)
        JD_CHECK(jd_sync_global_devices("there"));
    else if (strcmp(what, "put") == 0)
        put(mesh);
    else if (strcmp(what, "broadcast") == 0)
        broadcast();
    else
        JD_CHECK(jd_send(me, NULL, 1, numbers, 2000, JD_F64));
}

static void sum_once_more(const char *what, jd_mesh *mesh)
{
    if (jd_process_index() == 1)
        sum_over(NULL);
    call_another(what, mesh);
}

/* {0, 1} and {2, 3} for process 0; {0, 2} and {1, 3} for the others. */
static void sum_in_groups(void)
{
    static const int near[] = { 0, 1, 2, 3 }, far[] = { 0, 2, 1, 3 };
    static const int sizes[] = { 2, 2 };
    double one = 1, sum;
    jd_shard *group;
    EXPECT_OK(jd_shard_groups(&group, me, "a,b", 2, sizes,
                              jd_process_index() ? far : near));
    JD_CHECK(jd_psum(group, NULL, &one, &sum, 1, JD_F64));
    sum_over(NULL);
}

/* On each process one body sums over "a", the other one over "b". */
static jd_status cross(jd_shard *shard, void *is_free)
{
    bool is_second = jd_axis_index(shard, "b") != jd_process_index();
    double one = 1, sum;
    JD_CHECK(jd_psum(shard, NULL, &one, &sum, 1, JD_F64));
    if (is_free && is_second && jd_process_index() == 1)
        EXPECT_STATUS(jd_wait_at_barrier("a while", 9, NULL, 0),
                      JD_DEADLINE_EXCEEDED, "");
    for (int time = 0; time < 2; time++)
        JD_CHECK(jd_psum(shard, is_free || is_second == time ? "a" : "b", &one,
                         &sum, 1, JD_F64));
    return JD_OK;
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

static void run(const char *what, jd_mesh *mesh)
{
    if (strcmp(what, "circle") == 0)
        go_round();
    else if (strcmp(what, "leave") == 0 || strcmp(what, "early") == 0)
        part(strcmp(what, "leave") == 0);
    else if (strcmp(what, "sends") == 0 || strcmp(what, "receives") == 0)
        send_to_each_other(strcmp(what, "sends") == 0);
    else if (strcmp(what, "slow") == 0)
        send_slowly();
    else if (strcmp(what, "barriers") == 0)
        JD_CHECK(
            jd_wait_at_barrier(jd_process_index() ? "b" : "a", 0, NULL, 0));
    else if (strcmp(what, "groups") == 0)
        sum_in_groups();
    else if (strcmp(what, "part") == 0)
        sum_over(jd_process_index() == 1 ? "a" : NULL);
    else if (strcmp(what, "threads") == 0 || strcmp(what, "free") == 0)
        EXPECT_OK(jd_shard_map(mesh, cross, *what == 'f' ? mesh : NULL));
    else
        sum_once_more(what, mesh);
}

int main(int argc, char **argv)
{
    jd_mesh *mesh;
    const char *what = argc > 1 ? argv[1] : "";
    EXPECT_OK(jd_initialize());
    EXPECT_OK(jd_mesh_create(&mesh, 2, (int[]){ 2, -1 },
                             (const char *[]){ "a", "b" }, NULL));
    me = jd_mesh_shard(mesh);
    if (me) {
        sum_over("a");
        sum_over("b");
        sum_over(NULL);
    }
    run(what, mesh);
    jd_mesh_destroy(mesh);
    EXPECT_OK(jd_shutdown());
    return 0;
}
