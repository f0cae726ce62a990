/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_staging.c - host buffers in a call of the cuda platform, on the
 * stand-in: the call of the tests adds 1 to each byte on the device. */
#include "fake_comm.h"
#include "test_cuda.h"

#include "collectives/cuda/memory.h"
#include "collectives/cuda/staging.h"
#include "collectives/cuda/stream.h"

#include <stdio.h>

static struct jd_stream *stream;

static void start(void)
{
    setenv("STANDIN_DEVICES", "2", 1);
    fake_host_start();
    UNIT_OK(jd__cuda_streams.create(fake_runtime(), fake_device(0), &stream));
}

static struct jd_collective call_with(const void *in, void *out)
{
    return (struct jd_collective){ .activity = JD_ACTIVITY_PSUM,
                                   .detail = " over axis \"data\"",
                                   .in = in,
                                   .out = out,
                                   .stream = stream };
}

struct addition {
    const char *in;
    char *out;
    size_t in_bytes, out_bytes;
};

/* out gets in + 1, over and over. */
static void add(void *arg)
{
    const struct addition *a = arg;
    const char *in = standin_address(a->in);
    char *out = standin_address(a->out);
    for (size_t i = 0; i < a->out_bytes; i++)
        out[i] = (char)(in[i % a->in_bytes] + 1);
}

static jd_status run(const void *in, size_t in_bytes, void *out,
                     size_t out_bytes)
{
    struct jd_collective call = call_with(in, out);
    struct jd_staged staged;
    jd_status status =
        jd__cuda_stage(&call, in_bytes, out_bytes, false, &staged);
    if (status != JD_OK)
        return status;
    ck_assert(jd__cuda_is_device_pointer(staged.call.in, 0));
    ck_assert(jd__cuda_is_device_pointer(staged.call.out, 0));
    struct addition addition = { staged.call.in, staged.call.out, in_bytes,
                                 out_bytes };
    GOOD(standin_enqueue(stream->handle, add, &addition, sizeof addition));
    return jd__cuda_unstage(&staged, JD_OK);
}

static char *take_on(int ordinal, size_t bytes)
{
    void *memory;
    UNIT_OK(jd__cuda_memory.alloc(fake_runtime(), fake_device(ordinal), bytes,
                                  &memory));
    return memory;
}

static char *make_host(size_t bytes)
{
    char *host = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        host[i] = (char)(i * 7 + i / 256 + i / 65536 * 3);
    return host;
}

static void expect_more(const char *in, size_t in_bytes, const char *out,
                        size_t out_bytes, int more)
{
    for (size_t i = 0; i < out_bytes; i++)
        if (out[i] != (char)(in[i % in_bytes] + more))
            ck_abort_msg("byte %zu of %zu is %d, not %d", i, out_bytes, out[i],
                         (char)(in[i % in_bytes] + more));
}

static void expect_sum(const char *in, size_t in_bytes, const char *out,
                       size_t out_bytes)
{
    expect_more(in, in_bytes, out, out_bytes, 1);
}

/* The largest go in pieces: pinned memory is 8 MiB at most. */
static const size_t sizes[] = { 1, 255, 65536, 65537, 9 << 20, 20 << 20 };
enum { SIZES = sizeof sizes / sizeof *sizes };

START_TEST(host_memory_goes_there_and_back)
{
    for (int i = 0; i < 2 * SIZES; i++) {
        size_t bytes = sizes[i < SIZES ? i : 2 * SIZES - 1 - i];
        char *in = make_host(bytes), *out = calloc(2, bytes);
        UNIT_OK(run(in, bytes, out, 2 * bytes));
        expect_sum(in, bytes, out, 2 * bytes);
        free(in);
        free(out);
    }
    jd__cuda_streams.destroy(stream, fake_runtime());
}
END_TEST

/* Pinned memory is written again when the copy before is over. */
START_TEST(pieces_wait_for_those_before)
{
    size_t bytes = (size_t)20 << 20;
    setenv("STANDIN_DELAY_US", "50000", 1);
    setenv("STANDIN_SEED", "1", 1);
    start();
    char *in = make_host(bytes), *out = malloc(bytes);
    UNIT_OK(run(in, bytes, out, bytes));
    expect_sum(in, bytes, out, bytes);
    free(in);
    free(out);
}
END_TEST

START_TEST(one_side_may_be_the_devices)
{
    for (int i = 0; i < SIZES; i++) {
        char *host = make_host(sizes[i]), *back = calloc(1, sizes[i]);
        char *device = take_on(0, sizes[i]);
        UNIT_OK(run(host, sizes[i], device, sizes[i]));
        UNIT_OK(jd__cuda_memory.copy(back, device, sizes[i]));
        expect_sum(host, sizes[i], back, sizes[i]);
        UNIT_OK(run(device, sizes[i], back, sizes[i]));
        expect_more(host, sizes[i], back, sizes[i], 2);
        ck_assert(jd__cuda_memory.free(device));
        free(host);
        free(back);
    }
}
END_TEST

/* With host memory on a side the call is over when it returns. */
START_TEST(a_call_from_host_memory_has_been_done)
{
    char host[100] = "", *device = take_on(0, 100);
    UNIT_OK(run(host, 100, device, 100));
    ck_assert_int_eq(cudaStreamQuery(stream->handle), cudaSuccess);
}
END_TEST

START_TEST(in_place_is_in_place)
{
    for (int i = 0; i < SIZES; i++) {
        size_t bytes = sizes[i];
        char *host = make_host(3 * bytes), *was = make_host(3 * bytes);
        UNIT_OK(run(host + bytes, bytes, host, 3 * bytes));
        expect_sum(was + bytes, bytes, host, bytes);
        memcpy(host, was, 3 * bytes);
        UNIT_OK(run(host, 3 * bytes, host + bytes, bytes));
        expect_sum(was, bytes, host + bytes, bytes);
        ck_assert_mem_eq(host, was, bytes);
        ck_assert_mem_eq(host + 2 * bytes, was + 2 * bytes, bytes);
        free(host);
        free(was);
    }
}
END_TEST

/* So that what is in place for the program is so for NCCL. */
START_TEST(places_are_as_far_apart_as_they_were)
{
    char host[1000];
    struct jd_collective call = call_with(host + 300, host);
    struct jd_staged staged;
    UNIT_OK(jd__cuda_stage(&call, 100, 1000, false, &staged));
    ck_assert_int_eq((char *)staged.call.in - (char *)staged.call.out, 300);
    UNIT_OK(jd__cuda_unstage(&staged, JD_OK));
}
END_TEST

/* The first bytes are written alone. */
START_TEST(what_a_call_leaves_alone_is_kept)
{
    char in[100], out[1000], was[1000];
    struct jd_collective call = call_with(in, out);
    struct jd_staged staged;
    memset(in, 4, sizeof in);
    memset(out, 9, sizeof out);
    memset(was, 9, sizeof was);
    UNIT_OK(jd__cuda_stage(&call, sizeof in, sizeof out, true, &staged));
    struct addition addition = { staged.call.in, staged.call.out, 100, 100 };
    GOOD(standin_enqueue(stream->handle, add, &addition, sizeof addition));
    UNIT_OK(jd__cuda_unstage(&staged, JD_OK));
    ck_assert_int_eq(out[0], 5);
    ck_assert_int_eq(out[99], 5);
    ck_assert_mem_eq(out + 100, was + 100, 900);
}
END_TEST

START_TEST(memory_of_another_gpu_is_staged)
{
    char *other = take_on(1, 1000), *out = take_on(1, 1000);
    char host[1000], back[1000];
    memset(host, 5, sizeof host);
    UNIT_OK(jd__cuda_memory.copy(other, host, 1000));
    UNIT_OK(run(other, 1000, out, 1000));
    UNIT_OK(jd__cuda_memory.copy(back, out, 1000));
    expect_sum(host, 1000, back, 1000);
}
END_TEST

START_TEST(pinned_and_users_memory_works)
{
    char *pinned = make_pinned(100), *users = make_device(100);
    UNIT_OK(run(pinned, 100, users, 100));
    UNIT_OK(run(users, 100, pinned, 100));
    ck_assert_int_eq(pinned[99], 2);
}
END_TEST

START_TEST(device_memory_costs_nothing)
{
    setenv("STANDIN_FAIL", "cudaPointerGetAttributes:1:999", 1);
    start();
    char *in = take_on(0, 100), *out = take_on(0, 100);
    struct jd_collective call = call_with(in, out);
    struct jd_staged staged;
    UNIT_OK(jd__cuda_stage(&call, 100, 100, false, &staged));
    ck_assert(!staged.is_staged);
    ck_assert_ptr_eq(staged.call.in, in);
    ck_assert_ptr_eq(staged.call.out, out);
    ck_assert_ptr_null(stream->staging);
    UNIT_OK(jd__cuda_unstage(&staged, JD_OK));
    struct cudaPointerAttributes attributes;
    ANSWERS(cudaPointerGetAttributes(&attributes, in), cudaErrorUnknown);
}
END_TEST

START_TEST(nothing_is_no_buffer)
{
    struct jd_collective call = call_with(NULL, NULL);
    struct jd_staged staged;
    char host;
    UNIT_OK(jd__cuda_stage(&call, 100, 0, false, &staged));
    ck_assert(!staged.is_staged);
    call = call_with(&host, &host);
    UNIT_OK(jd__cuda_stage(&call, 0, 0, false, &staged));
    ck_assert(!staged.is_staged);
}
END_TEST

/* A call that failed leaves copies behind, which do not disturb the next. */
START_TEST(a_call_that_failed_leaves_the_next_alone)
{
    static struct gate gate;
    char *in = make_host(1000), *out = calloc(1, 1000),
         *other = calloc(1, 1000);
    struct jd_collective call = call_with(other, out);
    struct jd_staged staged;
    UNIT_OK(run(in, 1000, out, 1000));
    gate_close(&gate, stream->handle);
    UNIT_OK(jd__cuda_stage(&call, 1000, 1000, false, &staged));
    ck_assert_int_eq(
        jd__cuda_unstage(&staged, jd_fail(JD_INVALID_ARGUMENT, "no")),
        JD_INVALID_ARGUMENT);
    ck_assert_str_eq(jd_error_message(), "no");
    gate_open(&gate);
    UNIT_OK(run(in, 1000, out, 1000));
    expect_sum(in, 1000, out, 1000);
    free(in);
    free(out);
    free(other);
}
END_TEST

START_TEST(a_call_that_hangs_has_a_deadline)
{
    static struct gate gate;
    char host[100] = "";
    fake_host.timeout = 0.05;
    gate_close(&gate, stream->handle);
    UNIT_FAILS(run(host, 100, host, 100), JD_DEADLINE_EXCEEDED,
               "jd_psum over axis \"data\": what is queued on the stream of "
               "device 131072 (GPU 0, \"stand-in GPU\") is not done within "
               "0.05 s: a kernel of the program does not end, or is slow "
               "(JD_COLLECTIVE_TIMEOUT changes the deadline)");
    gate_open(&gate);
}
END_TEST

START_TEST(no_memory_is_told)
{
    char host[100] = "";
    setenv("STANDIN_FAIL",
           "cudaMallocHost:1:2,cudaMallocHost:2:2,cudaMalloc:2:2,"
           "cudaMalloc:3:2", /* the first is the stream's scratch */
           1);
    start();
    UNIT_FAILS(run(host, 100, host, 100), JD_RESOURCE_EXHAUSTED,
               "jd_psum: cudaMallocHost (100 bytes for a host buffer) failed: "
               "cudaErrorMemoryAllocation (out of memory (stand-in)); the host "
               "has too little memory that can be pinned: free some, or take "
               "memory of jd_device_alloc(), which needs none");
    UNIT_FAILS(run(host, 100, host, 100), JD_RESOURCE_EXHAUSTED,
               "jd_psum: cudaMalloc (100 bytes for a host buffer) failed: "
               "cudaErrorMemoryAllocation (out of memory (stand-in)); free "
               "memory of the GPU, or ask for less");
    UNIT_OK(run(host, 100, host, 100));
}
END_TEST

/* Of the GPU's memory: what is wanted cannot be had, nor what is needed, until
 * the first buffer has gone. */
START_TEST(an_old_buffer_goes_where_memory_is_short)
{
    static char host[100000];
    setenv("STANDIN_FAIL", "cudaMalloc:3:2,cudaMalloc:4:2", 1);
    start();
    UNIT_OK(run(host, 100, host, 100));
    struct jd_staged staged;
    struct jd_collective call = call_with(host, host);
    UNIT_OK(jd__cuda_stage(&call, 100, 100, false, &staged));
    void *old = staged.call.out;
    UNIT_OK(jd__cuda_unstage(&staged, JD_OK));
    UNIT_OK(run(host, sizeof host, host, sizeof host));
    ck_assert_int_eq(host[sizeof host - 1], 1);
    ANSWERS(cudaFree(old), cudaErrorInvalidValue);
}
END_TEST

START_TEST(host_memory_is_refused_in_a_capture)
{
    char host[100] = "", text[512], *device = take_on(0, 100);
    cudaGraph_t graph;
    GOOD(cudaStreamBeginCapture(stream->handle, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text,
                 "jd_psum over axis \"data\": %s (%p) is host memory, and a "
                 "CUDA graph is being captured: a call with host memory waits "
                 "for its result, and what is captured cannot; take memory of "
                 "jd_device_alloc() or cudaMalloc()",
                 i ? "out" : "in", (void *)host);
        UNIT_FAILS(run(i ? device : host, 100, i ? host : device, 100),
                   JD_FAILED_PRECONDITION, text);
    }
    UNIT_OK(run(device, 100, device, 100));
    GOOD(cudaStreamEndCapture(stream->handle, &graph));
    GOOD(cudaGraphDestroy(graph));
}
END_TEST

/* What another GPU does may be the collective that this call is a part of. */
START_TEST(buffers_grow_while_another_gpu_works)
{
    static struct gate gate;
    static char in[3 << 20], out[3 << 20];
    GOOD(cudaSetDevice(1));
    gate_close(&gate, make_stream(cudaStreamNonBlocking));
    GOOD(cudaSetDevice(0));
    for (size_t bytes = 1000; bytes <= sizeof in; bytes *= 3) {
        memset(in, (int)(bytes % 100), bytes);
        UNIT_OK(run(in, bytes, out, bytes));
        ck_assert_int_eq(out[bytes - 1], (char)(bytes % 100 + 1));
    }
    gate_open(&gate);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("cuda staging");
    TCase *tcase = unit_case(suite, "staging");
    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_add_test(tcase, host_memory_goes_there_and_back);
    tcase_add_test(tcase, one_side_may_be_the_devices);
    tcase_add_test(tcase, a_call_from_host_memory_has_been_done);
    tcase_add_test(tcase, in_place_is_in_place);
    tcase_add_test(tcase, places_are_as_far_apart_as_they_were);
    tcase_add_test(tcase, what_a_call_leaves_alone_is_kept);
    tcase_add_test(tcase, memory_of_another_gpu_is_staged);
    tcase_add_test(tcase, pinned_and_users_memory_works);
    tcase_add_test(tcase, nothing_is_no_buffer);
    tcase_add_test(tcase, a_call_that_failed_leaves_the_next_alone);
    tcase_add_test(tcase, a_call_that_hangs_has_a_deadline);
    tcase_add_test(tcase, host_memory_is_refused_in_a_capture);
    tcase_add_test(tcase, buffers_grow_while_another_gpu_works);
    tcase = unit_case(suite, "not started");
    tcase_add_test(tcase, pieces_wait_for_those_before);
    tcase_add_test(tcase, device_memory_costs_nothing);
    tcase_add_test(tcase, no_memory_is_told);
    tcase_add_test(tcase, an_old_buffer_goes_where_memory_is_short);
    return suite;
}

int main(void)
{
    return unit_main(make_suite());
}
