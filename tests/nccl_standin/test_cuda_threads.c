/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_threads.c - one process with several of the stand-in's GPUs, a
 * thread each: none of them gets memory while another one's kernel spins for it
 * (STANDIN_PEERS_WAIT=1), and what is said where one does not come, or fails.
 */
#include "../mpi/expect.h"

#include <jd.h>

#include <stdatomic.h>
#include <stdint.h>

enum { LONGEST = 1 << 15, ROUNDS = 20 };

static jd_mesh *mesh;

static void *take(jd_shard *me, size_t bytes)
{
    void *memory;
    EXPECT_OK(jd_device_alloc(jd_shard_device(me), bytes, &memory));
    return memory;
}

static void put(jd_shard *me, int16_t *memory, size_t count)
{
    static _Thread_local int16_t host[LONGEST];
    for (size_t i = 0; i < count; i++)
        host[i] = (int16_t)(jd_axis_index(me, "x") + 1);
    EXPECT_OK(jd_device_copy(memory, host, count * sizeof *host));
}

static void expect_sum(jd_shard *me, const int16_t *memory, size_t count)
{
    static _Thread_local int16_t host[LONGEST];
    int n = jd_axis_size(me, "x");
    EXPECT_OK(jd_shard_synchronize(me));
    EXPECT_OK(jd_device_copy(host, memory, count * sizeof *host));
    for (size_t i = 0; i < count; i++)
        EXPECT(host[i] == n * (n + 1) / 2, "%d at %zu", host[i], i);
}

/* ---- memory that grows -------------------------------------------------- */

/* NCCL has no sums of 16 bits: the vectors come to a scratch that grows. */
static jd_status sum_longer_and_longer(jd_shard *me, void *arg)
{
    (void)arg;
    int16_t *in = take(me, LONGEST * sizeof *in);
    int16_t *out = take(me, LONGEST * sizeof *out);
    put(me, in, LONGEST);
    for (size_t count = 1; count <= LONGEST; count *= 2) {
        EXPECT_OK(jd_psum(me, "x", in, out, count, JD_S16));
        EXPECT_OK(jd_psum(me, "x", in, out, count, JD_S16));
        expect_sum(me, out, count);
    }
    EXPECT_OK(jd_device_free(in));
    EXPECT_OK(jd_device_free(out));
    return JD_OK;
}

/* A host buffer is staged, in memory that grows with it. */
static jd_status gather_longer_and_longer(jd_shard *me, void *arg)
{
    int n = jd_axis_size(me, "x");
    int16_t *all = calloc((size_t)n * LONGEST, sizeof *all);
    int16_t *own = calloc(LONGEST, sizeof *own);
    (void)arg;
    own[0] = (int16_t)jd_axis_index(me, "x");
    for (size_t count = 1; count <= LONGEST; count *= 2) {
        EXPECT_OK(jd_all_gather(me, "x", own, all, count, JD_S16));
        for (int i = 0; i < n; i++)
            EXPECT(all[(size_t)i * count] == i, "%d", all[(size_t)i * count]);
    }
    free(all);
    free(own);
    return JD_OK;
}

/* The first transfer of two members needs memory to connect them. */
static jd_status send_to_next(jd_shard *me, void *arg)
{
    int n = jd_axis_size(me, "x"), own = jd_axis_index(me, "x");
    int16_t *in = take(me, sizeof *in), *out = take(me, sizeof *out), got;
    (void)arg;
    put(me, in, 1);
    EXPECT_OK(jd_group_begin(me));
    EXPECT_OK(jd_send(me, "x", (own + 1) % n, in, 1, JD_S16));
    EXPECT_OK(jd_recv(me, "x", (own + n - 1) % n, out, 1, JD_S16));
    EXPECT_OK(jd_group_end(me));
    EXPECT_OK(jd_shard_synchronize(me));
    EXPECT_OK(jd_device_copy(&got, out, sizeof got));
    EXPECT(got == (own + n - 1) % n + 1, "%d", got);
    EXPECT_OK(jd_device_free(in));
    EXPECT_OK(jd_device_free(out));
    return JD_OK;
}

/* To the next two, where they are: of four members all but the first and the
 * last are connected with all then. */
static void send_onwards(jd_shard *me, int16_t *memory)
{
    int n = jd_axis_size(me, "x"), own = jd_axis_index(me, "x");
    EXPECT_OK(jd_group_begin(me));
    for (int by = 1; by <= 2; by++) {
        if (own + by < n)
            EXPECT_OK(jd_send(me, "x", own + by, memory, 1, JD_S16));
        if (own - by >= 0)
            EXPECT_OK(jd_recv(me, "x", own - by, memory + by, 1, JD_S16));
    }
    EXPECT_OK(jd_group_end(me));
    EXPECT_OK(jd_shard_synchronize(me));
}

/* A long sum of 16 bits (512 KiB of all and more) needs transfers of all with
 * all. */
static jd_status sum_after_transfers(jd_shard *me, void *arg)
{
    (void)arg;
    int16_t *in = take(me, 4 * LONGEST * sizeof *in);
    send_onwards(me, in);
    put(me, in, LONGEST);
    EXPECT_OK(jd_psum(me, "x", in, in, 4 * LONGEST, JD_S16));
    expect_sum(me, in, LONGEST);
    EXPECT_OK(jd_device_free(in));
    return JD_OK;
}

static void make_mesh(void)
{
    EXPECT_OK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "x" }, NULL));
}

/* Each with a mesh, and so with memory, of its own: who comes late to what is
 * another one each time. */
static void test_memory(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        make_mesh();
        EXPECT_OK(jd_shard_map(mesh, send_to_next, NULL));
        EXPECT_OK(jd_shard_map(mesh, sum_longer_and_longer, NULL));
        EXPECT_OK(jd_shard_map(mesh, gather_longer_and_longer, NULL));
        jd_mesh_destroy(mesh);
    }
}

static void test_partly(void)
{
    make_mesh();
    EXPECT_OK(jd_shard_map(mesh, sum_after_transfers, NULL));
    jd_mesh_destroy(mesh);
}

/* ---- one that does not come, or fails ------------------------------------ */

static jd_status sum_twice(jd_shard *me, void *leaves)
{
    int16_t *in = take(me, sizeof *in);
    int16_t *out = take(me, sizeof *out);
    put(me, in, 1);
    EXPECT_OK(jd_psum(me, "x", in, out, 1, JD_S16));
    EXPECT_OK(jd_shard_synchronize(me));
    if (leaves && jd_axis_index(me, "x") == 1)
        return JD_OK;
    return jd_psum(me, "x", in, out, 1, JD_S16);
}

static void test_late(void)
{
    static char leaves;
    make_mesh();
    jd_status status = jd_shard_map(mesh, sum_twice, &leaves);
    EXPECT(status == JD_DEADLINE_EXCEEDED || status == JD_ABORTED, "%s: %s",
           jd_status_name(status), jd_error_message());
    printf("late: %s\n", jd_error_message());
}

/* A scratch of 64 KiB is there from the beginning: one gets none longer. */
static jd_status need_memory(jd_shard *me, void *texts)
{
    int16_t *in = take(me, 4 * LONGEST * sizeof *in);
    int16_t *out = take(me, 4 * LONGEST * sizeof *out);
    int own = jd_axis_index(me, "x");
    jd_status status;
    status = jd_psum(me, "x", in, out, 4 * LONGEST, JD_S16);
    if (status == JD_OK)
        status = jd_shard_synchronize(me);
    snprintf(((char(*)[512])texts)[own], 512, "%s: %s", jd_status_name(status),
             jd_error_message());
    return JD_OK; /* or jd_shard_map() ends the others */
}

static void test_fails(void)
{
    static char texts[8][512];
    make_mesh();
    EXPECT_OK(jd_shard_map(mesh, need_memory, texts));
    for (int i = 0; i < jd_local_device_count(); i++)
        printf("device %d: %s\n", i, texts[i]);
}

int main(int argc, char **argv)
{
    EXPECT_OK(jd_initialize());
    if (argc > 1 && strcmp(argv[1], "late") == 0)
        test_late();
    else if (argc > 1 && strcmp(argv[1], "fails") == 0)
        test_fails();
    else if (argc > 1 && strcmp(argv[1], "partly") == 0)
        test_partly();
    else
        test_memory();
    fflush(stdout);
    return jd_shutdown();
}
