/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cudart_capture.c - graphs of the stand-in: what is recorded, and what is
 * not allowed meanwhile. */
#include "test_cudart.h"

#include <pthread.h>
#include <sched.h>

static void begin(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    GOOD(cudaStreamBeginCapture(stream, mode));
}

/* The capture ends with that error, and the stream is as before. */
static void expect_end(cudaStream_t stream, cudaError_t error)
{
    cudaGraph_t graph = (cudaGraph_t)&stream;

    ANSWERS(cudaStreamEndCapture(stream, &graph), error);
    if (error != cudaSuccess)
        ck_assert_ptr_null(graph);
    else
        GOOD(cudaGraphDestroy(graph));
    GOOD(cudaStreamSynchronize(stream));
}

static void expect_status(cudaStream_t stream,
                          enum cudaStreamCaptureStatus expected)
{
    enum cudaStreamCaptureStatus status;

    GOOD(cudaStreamIsCapturing(stream, &status));
    ck_assert_int_eq(status, expected);
}

static void count_up(void *arg)
{
    ++*(int *)arg;
}

static void add_ten(void *arg)
{
    **(int **)arg += 10;
}

START_TEST(a_graph_runs_at_each_launch_and_not_before)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    char *source = make_pinned(8);
    char *memory = make_device(8);
    char *result = make_pinned(8);
    int count = 0;
    int *where = &count;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    begin(stream, cudaStreamCaptureModeGlobal);
    GOOD(cudaMemcpyAsync(memory, source, 8, cudaMemcpyHostToDevice, stream));
    GOOD(cudaMemsetAsync(memory, '!', 1, stream));
    GOOD(cudaMemcpyAsync(result, memory, 8, cudaMemcpyDeviceToHost, stream));
    GOOD(cudaLaunchHostFunc(stream, count_up, &count));
    GOOD(standin_enqueue(stream, add_ten, &where, sizeof(where)));
    expect_status(stream, cudaStreamCaptureStatusActive);
    GOOD(cudaStreamEndCapture(stream, &graph));
    expect_status(stream, cudaStreamCaptureStatusNone);
    GOOD(cudaGraphInstantiate(&exec, graph, 0));
    GOOD(cudaGraphDestroy(graph));
    GOOD(cudaStreamSynchronize(stream));
    ck_assert_int_eq(count, 0);
    ck_assert_str_eq(result, "");

    strcpy(source, ".first.");
    GOOD(cudaGraphLaunch(exec, stream));
    GOOD(cudaStreamSynchronize(stream));
    ck_assert_str_eq(result, "!first.");
    strcpy(source, ".second");
    GOOD(cudaGraphLaunch(exec, stream));
    GOOD(cudaGraphLaunch(exec, stream));
    GOOD(cudaGraphExecDestroy(exec)); /* what was launched runs on */
    GOOD(cudaStreamSynchronize(stream));
    ck_assert_str_eq(result, "!second");
    ck_assert_int_eq(count, 33);
}
END_TEST

START_TEST(launches_of_one_graph_follow_each_other)
{
    cudaStream_t one = make_stream(cudaStreamNonBlocking);
    cudaStream_t other = make_stream(cudaStreamNonBlocking);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    static struct gate gate;
    int count = 0;

    begin(one, cudaStreamCaptureModeGlobal);
    GOOD(cudaLaunchHostFunc(one, count_up, &count));
    GOOD(cudaStreamEndCapture(one, &graph));
    GOOD(cudaGraphInstantiate(&exec, graph, 0));
    gate_close(&gate, one);
    GOOD(cudaGraphLaunch(exec, one));
    GOOD(cudaGraphLaunch(exec, other));
    for (int i = 0; i < 2000; i++) {
        ANSWERS(cudaStreamQuery(other), cudaErrorNotReady);
        sched_yield();
    }
    gate_open(&gate);
    GOOD(cudaStreamSynchronize(other));
    ck_assert_int_eq(count, 2);
    GOOD(cudaGraphDestroy(graph));
    GOOD(cudaGraphExecDestroy(exec));
}
END_TEST

static cudaStream_t captured;
static char *device_memory;

static cudaError_t allocate(void)
{
    void *memory;

    return cudaMalloc(&memory, 8);
}

static cudaError_t allocate_pinned(void)
{
    void *memory;

    return cudaMallocHost(&memory, 8);
}

static cudaError_t release(void)
{
    return cudaFree(device_memory);
}

static cudaError_t synchronize(void)
{
    return cudaStreamSynchronize(captured);
}

static cudaError_t query(void)
{
    return cudaStreamQuery(captured);
}

static cudaError_t query_another(void)
{
    return cudaStreamQuery(cudaStreamPerThread);
}

static cudaError_t query_event(void)
{
    return cudaEventQuery(make_event());
}

static cudaError_t synchronize_device(void)
{
    return cudaDeviceSynchronize();
}

static cudaError_t copy_pageable(void)
{
    char host[8] = "";

    return cudaMemcpyAsync(device_memory, host, 8, cudaMemcpyHostToDevice,
                           captured);
}

static cudaError_t copy_and_wait(void)
{
    return cudaMemcpy(device_memory, device_memory + 4, 4,
                      cudaMemcpyDeviceToDevice);
}

static cudaError_t destroy_stream(void)
{
    return cudaStreamDestroy(captured);
}

/* The first six are allowed where the mode is relaxed. */
static cudaError_t (*const forbidden[])(void) = {
    allocate,           allocate_pinned, release,        query_event,
    query_another,      copy_and_wait,   synchronize,    query,
    synchronize_device, copy_pageable,   destroy_stream,
};
enum {
    NUM_RELAXED = 6,
    NUM_FORBIDDEN = sizeof(forbidden) / sizeof(forbidden[0])
};

START_TEST(what_a_capture_forbids_ends_it)
{
    captured = make_stream(cudaStreamNonBlocking);
    device_memory = make_device(8);
    begin(captured, cudaStreamCaptureModeThreadLocal);
    ANSWERS(forbidden[_i](), cudaErrorStreamCaptureUnsupported);
    expect_status(captured, cudaStreamCaptureStatusInvalidated);
    ANSWERS(cudaMemsetAsync(device_memory, 0, 8, captured),
            cudaErrorStreamCaptureInvalidated);
    expect_end(captured, cudaErrorStreamCaptureInvalidated);
}
END_TEST

START_TEST(a_relaxed_capture_allows_more)
{
    captured = make_stream(cudaStreamNonBlocking);
    device_memory = make_device(8);
    begin(captured, cudaStreamCaptureModeRelaxed);
    GOOD(forbidden[_i]());
    expect_end(captured, cudaSuccess);
}
END_TEST

START_TEST(a_relaxed_thread_allows_more)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;

    captured = make_stream(cudaStreamNonBlocking);
    device_memory = make_device(8);
    begin(captured, cudaStreamCaptureModeGlobal);
    GOOD(cudaThreadExchangeStreamCaptureMode(&mode));
    ck_assert_int_eq(mode, cudaStreamCaptureModeGlobal);
    GOOD(forbidden[_i]());
    GOOD(cudaThreadExchangeStreamCaptureMode(&mode));
    ck_assert_int_eq(mode, cudaStreamCaptureModeRelaxed);
    expect_end(captured, cudaSuccess);
    mode = (enum cudaStreamCaptureMode)7;
    ANSWERS(cudaThreadExchangeStreamCaptureMode(&mode), cudaErrorInvalidValue);
}
END_TEST

/* What cudaMalloc answers to another thread of that mode. */
static void *allocate_elsewhere(void *arg)
{
    enum cudaStreamCaptureMode *mode = arg;
    void *memory;
    cudaError_t error = cudaThreadExchangeStreamCaptureMode(mode);

    if (error == cudaSuccess)
        error = cudaMalloc(&memory, 8);
    *mode = (enum cudaStreamCaptureMode)error;
    return NULL;
}

static cudaError_t ask_thread(enum cudaStreamCaptureMode mode)
{
    pthread_t thread;

    pthread_create(&thread, NULL, allocate_elsewhere, &mode);
    pthread_join(thread, NULL);
    return (cudaError_t)mode;
}

START_TEST(other_threads_are_bound_by_a_global_capture)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);

    begin(stream, cudaStreamCaptureModeThreadLocal);
    GOOD(ask_thread(cudaStreamCaptureModeGlobal));
    expect_end(stream, cudaSuccess);
    begin(stream, cudaStreamCaptureModeGlobal);
    GOOD(ask_thread(cudaStreamCaptureModeThreadLocal));
    ANSWERS(ask_thread(cudaStreamCaptureModeGlobal),
            cudaErrorStreamCaptureUnsupported);
    expect_end(stream, cudaErrorStreamCaptureInvalidated);
}
END_TEST

static void *end_elsewhere(void *arg)
{
    static cudaError_t error;
    cudaGraph_t graph;

    error = cudaStreamEndCapture(arg, &graph);
    return &error;
}

START_TEST(a_capture_ends_where_it_began)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    cudaStream_t other = make_stream(cudaStreamNonBlocking);
    cudaEvent_t event = make_event();
    cudaGraph_t graph;
    pthread_t thread;
    void *error;

    ANSWERS(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
    ANSWERS(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal),
            cudaErrorStreamCaptureUnsupported);
    begin(stream, cudaStreamCaptureModeGlobal);
    ANSWERS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
            cudaErrorIllegalState);
    pthread_create(&thread, NULL, end_elsewhere, stream);
    pthread_join(thread, &error);
    ANSWERS(*(cudaError_t *)error, cudaErrorStreamCaptureWrongThread);
    GOOD(cudaEventRecord(event, stream));
    GOOD(cudaStreamWaitEvent(other, event, 0));
    ANSWERS(cudaStreamEndCapture(other, &graph),
            cudaErrorStreamCaptureUnmatched);
    expect_end(stream, cudaErrorStreamCaptureUnjoined);
    expect_status(other, cudaStreamCaptureStatusNone);
}
END_TEST

START_TEST(a_stream_joins_by_an_event_and_comes_back)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    cudaStream_t other = make_stream(cudaStreamNonBlocking);
    cudaEvent_t fork_event = make_event();
    cudaEvent_t join_event = make_event();
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    int count = 0;

    begin(stream, cudaStreamCaptureModeGlobal);
    GOOD(cudaEventRecord(fork_event, stream));
    GOOD(cudaStreamWaitEvent(other, fork_event, 0));
    expect_status(other, cudaStreamCaptureStatusActive);
    GOOD(cudaLaunchHostFunc(other, count_up, &count));
    GOOD(cudaEventRecord(join_event, other));
    GOOD(cudaStreamWaitEvent(stream, join_event, 0));
    GOOD(cudaStreamEndCapture(stream, &graph));
    expect_status(other, cudaStreamCaptureStatusNone);
    GOOD(cudaGraphInstantiate(&exec, graph, 0));
    GOOD(cudaGraphLaunch(exec, stream));
    GOOD(cudaStreamSynchronize(stream));
    ck_assert_int_eq(count, 1);
    ANSWERS(cudaEventQuery(join_event), cudaErrorCapturedEvent);
    GOOD(cudaEventRecord(join_event, other));
    GOOD(cudaStreamSynchronize(other));
    GOOD(cudaEventQuery(join_event));
    GOOD(cudaGraphDestroy(graph));
    GOOD(cudaGraphExecDestroy(exec));
}
END_TEST

START_TEST(work_after_the_join_is_missed)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    cudaStream_t other = make_stream(cudaStreamNonBlocking);
    cudaEvent_t event = make_event();
    int count = 0;

    begin(stream, cudaStreamCaptureModeGlobal);
    GOOD(cudaEventRecord(event, stream));
    GOOD(cudaStreamWaitEvent(other, event, 0));
    GOOD(cudaEventRecord(event, other));
    GOOD(cudaLaunchHostFunc(other, count_up, &count));
    GOOD(cudaStreamWaitEvent(stream, event, 0));
    expect_end(stream, cudaErrorStreamCaptureUnjoined);
}
END_TEST

START_TEST(a_capture_depends_on_nothing_outside)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    cudaStream_t blocking = make_stream(cudaStreamDefault);
    cudaEvent_t event = make_event();

    GOOD(cudaEventRecord(event, blocking));
    begin(stream, cudaStreamCaptureModeGlobal);
    ANSWERS(cudaStreamWaitEvent(stream, event, 0),
            cudaErrorStreamCaptureIsolation);
    expect_end(stream, cudaErrorStreamCaptureInvalidated);

    begin(stream, cudaStreamCaptureModeGlobal);
    begin(blocking, cudaStreamCaptureModeGlobal);
    GOOD(cudaEventRecord(event, stream));
    ANSWERS(cudaStreamWaitEvent(blocking, event, 0),
            cudaErrorStreamCaptureMerge);
    ANSWERS(cudaStreamEndCapture(stream, &(cudaGraph_t){ NULL }),
            cudaErrorStreamCaptureInvalidated);
    expect_end(blocking, cudaSuccess);
}
END_TEST

START_TEST(the_default_stream_is_not_used_beside_a_blocking_one)
{
    cudaStream_t stream = make_stream(cudaStreamDefault);
    enum cudaStreamCaptureStatus status;
    char *memory = make_device(8);

    begin(stream, cudaStreamCaptureModeRelaxed);
    ANSWERS(cudaStreamIsCapturing(NULL, &status),
            cudaErrorStreamCaptureImplicit);
    expect_status(stream, cudaStreamCaptureStatusActive);
    ANSWERS(cudaMemset(memory, 0, 8), cudaErrorStreamCaptureImplicit);
    expect_end(stream, cudaErrorStreamCaptureInvalidated);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stand-in graphs");
    TCase *tcase = add_case(suite, "graphs");

    tcase_add_test(tcase, a_graph_runs_at_each_launch_and_not_before);
    tcase_add_test(tcase, launches_of_one_graph_follow_each_other);
    tcase = add_case(suite, "capture");
    tcase_add_loop_test(tcase, what_a_capture_forbids_ends_it, 0,
                        NUM_FORBIDDEN);
    tcase_add_loop_test(tcase, a_relaxed_capture_allows_more, 0, NUM_RELAXED);
    tcase_add_loop_test(tcase, a_relaxed_thread_allows_more, 0, NUM_RELAXED);
    tcase_add_test(tcase, other_threads_are_bound_by_a_global_capture);
    tcase_add_test(tcase, a_capture_ends_where_it_began);
    tcase_add_test(tcase, a_stream_joins_by_an_event_and_comes_back);
    tcase_add_test(tcase, work_after_the_join_is_missed);
    tcase_add_test(tcase, a_capture_depends_on_nothing_outside);
    tcase_add_test(tcase, the_default_stream_is_not_used_beside_a_blocking_one);
    return run_suite(suite);
}
