/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cudart_stream.c - the stand-in's streams and events: what waits for
 * what, and what does not. */
#include "test_cudart.h"

#include <pthread.h>
#include <time.h>

START_TEST(a_missing_synchronise_gives_a_wrong_result)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    char *memory = make_device(8);
    char *result = make_pinned(8);
    static struct gate gate;

    gate_close(&gate, stream);
    GOOD(cudaMemsetAsync(memory, 7, 8, stream));
    GOOD(cudaMemcpyAsync(result, memory, 8, cudaMemcpyDeviceToHost, stream));
    ck_assert_int_eq(result[0], 0);
    ANSWERS(cudaStreamQuery(stream), cudaErrorNotReady);
    gate_open(&gate);
    GOOD(cudaStreamSynchronize(stream));
    ck_assert_int_eq(result[7], 7);
    GOOD(cudaStreamQuery(stream));
}
END_TEST

START_TEST(a_pageable_source_is_read_before_the_call_returns)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    char *memory = make_device(8);
    char *pinned = make_pinned(8);
    char source[8] = "before.";
    static struct gate gate;

    gate_close(&gate, stream);
    strcpy(pinned, "before.");
    GOOD(cudaMemcpyAsync(memory, source, 8, cudaMemcpyHostToDevice, stream));
    strcpy(source, "after..");
    gate_open(&gate);
    GOOD(cudaMemcpyAsync(source, memory, 8, cudaMemcpyDeviceToHost, stream));
    ck_assert_str_eq(source, "before.");

    gate_close(&gate, stream);
    GOOD(cudaMemcpyAsync(memory, pinned, 8, cudaMemcpyHostToDevice, stream));
    strcpy(pinned, "after..");
    gate_open(&gate);
    GOOD(cudaMemcpyAsync(source, memory, 8, cudaMemcpyDeviceToHost, stream));
    ck_assert_str_eq(source, "after..");
}
END_TEST

START_TEST(copies_and_fills_on_the_device_do_not_wait)
{
    char *one = make_device(8);
    char *other = make_device(8);
    char host[8];
    static struct gate gate;

    gate_close(&gate, NULL);
    GOOD(cudaMemset(one, 5, 8));
    GOOD(cudaMemcpy(other, one, 8, cudaMemcpyDeviceToDevice));
    ANSWERS(cudaStreamQuery(NULL), cudaErrorNotReady);
    gate_open(&gate);
    GOOD(cudaMemcpy(host, other, 8, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(host[7], 5);
}
END_TEST

START_TEST(an_event_orders_two_streams)
{
    cudaStream_t one = make_stream(cudaStreamNonBlocking);
    cudaStream_t other = make_stream(cudaStreamNonBlocking);
    cudaEvent_t event = make_event();
    char *memory = make_device(8);
    char *result = make_pinned(8);
    static struct gate gate;

    GOOD(cudaEventQuery(event)); /* never recorded: done */
    GOOD(cudaStreamWaitEvent(other, event, 0));
    gate_close(&gate, one);
    GOOD(cudaMemsetAsync(memory, 3, 8, one));
    GOOD(cudaEventRecord(event, one));
    GOOD(cudaStreamWaitEvent(other, event, 0));
    GOOD(cudaMemcpyAsync(result, memory, 8, cudaMemcpyDeviceToHost, other));
    ANSWERS(cudaEventQuery(event), cudaErrorNotReady);
    GOOD(cudaEventDestroy(event)); /* who waits for it goes on waiting */
    ANSWERS(cudaStreamQuery(other), cudaErrorNotReady);
    gate_open(&gate);
    GOOD(cudaStreamSynchronize(other));
    ck_assert_int_eq(result[0], 3);
}
END_TEST

START_TEST(an_event_is_where_it_was_last_recorded)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    cudaEvent_t event = make_event();
    static struct gate gate;

    GOOD(cudaEventRecord(event, stream));
    GOOD(cudaStreamSynchronize(stream));
    GOOD(cudaEventQuery(event));
    gate_close(&gate, stream);
    ck_assert_int_eq(sem_wait(&gate.reached), 0);
    GOOD(cudaEventQuery(event));
    GOOD(cudaEventRecord(event, stream));
    ANSWERS(cudaEventQuery(event), cudaErrorNotReady);
    gate_open(&gate);
    GOOD(cudaStreamSynchronize(stream));
    GOOD(cudaEventQuery(event));
}
END_TEST

START_TEST(the_default_stream_waits_for_blocking_ones_alone)
{
    cudaStream_t blocking = make_stream(cudaStreamDefault);
    cudaStream_t apart = make_stream(cudaStreamNonBlocking);
    int *memory = make_device(4);
    int *result = make_pinned(4);
    static struct gate gate;
    static struct gate far_gate;

    GOOD(cudaMemset(memory, 0, 4));
    gate_close(&far_gate, apart);
    gate_close(&gate, blocking);
    GOOD(cudaMemsetAsync(memory, 1, 4, blocking));
    GOOD(cudaMemcpyAsync(result, memory, 4, cudaMemcpyDeviceToHost, NULL));
    ANSWERS(cudaStreamQuery(NULL), cudaErrorNotReady);
    gate_open(&gate);
    GOOD(cudaStreamSynchronize(cudaStreamLegacy));
    ck_assert_int_eq(*result, 0x01010101);
    ANSWERS(cudaStreamQuery(apart), cudaErrorNotReady);
    gate_open(&far_gate);
    GOOD(cudaDeviceSynchronize());
    GOOD(cudaStreamQuery(apart));
}
END_TEST

START_TEST(blocking_streams_wait_for_the_default_one)
{
    cudaStream_t blocking = make_stream(cudaStreamDefault);
    cudaStream_t apart = make_stream(cudaStreamNonBlocking);
    char *memory = make_device(4);
    static struct gate gate;

    gate_close(&gate, NULL);
    GOOD(cudaMemsetAsync(memory, 1, 1, blocking));
    GOOD(cudaMemsetAsync(memory + 1, 1, 1, cudaStreamPerThread));
    GOOD(cudaMemsetAsync(memory + 2, 1, 1, apart));
    GOOD(cudaStreamSynchronize(apart));
    ANSWERS(cudaStreamQuery(blocking), cudaErrorNotReady);
    ANSWERS(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
    gate_open(&gate);
    GOOD(cudaStreamSynchronize(blocking));
    GOOD(cudaStreamSynchronize(cudaStreamPerThread));
}
END_TEST

static void call_inside(void *arg)
{
    *(cudaError_t *)arg = cudaStreamQuery(NULL);
}

START_TEST(a_host_function_calls_nothing)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    cudaError_t inside = cudaSuccess;

    GOOD(cudaLaunchHostFunc(stream, call_inside, &inside));
    GOOD(cudaStreamSynchronize(stream));
    ANSWERS(inside, cudaErrorNotPermitted);
    GOOD(cudaGetLastError()); /* it was the other thread's */
    ANSWERS(cudaLaunchHostFunc(stream, NULL, NULL), cudaErrorInvalidValue);
}
END_TEST

START_TEST(a_destroyed_stream_does_what_is_queued)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    char *result = make_pinned(8);
    static struct gate gate;

    gate_close(&gate, stream);
    GOOD(cudaMemsetAsync(result, 9, 8, stream));
    GOOD(cudaStreamDestroy(stream));
    ANSWERS(cudaStreamQuery(stream), cudaErrorInvalidResourceHandle);
    gate_open(&gate);
    GOOD(cudaDeviceSynchronize());
    ck_assert_int_eq(result[0], 9);
}
END_TEST

START_TEST(handles_are_looked_at)
{
    cudaStream_t gone = make_stream(cudaStreamNonBlocking);
    cudaEvent_t event = make_event();
    cudaEvent_t gone_event = make_event();
    cudaStream_t far_stream;

    setenv("STANDIN_DEVICES", "2", 1);
    GOOD(cudaStreamDestroy(gone));
    GOOD(cudaEventDestroy(gone_event));
    ANSWERS(cudaStreamDestroy(gone), cudaErrorInvalidResourceHandle);
    ANSWERS(cudaStreamDestroy(NULL), cudaErrorInvalidResourceHandle);
    ANSWERS(cudaStreamSynchronize(gone), cudaErrorInvalidResourceHandle);
    ANSWERS(cudaEventRecord(event, gone), cudaErrorInvalidResourceHandle);
    ANSWERS(cudaEventQuery(gone_event), cudaErrorInvalidResourceHandle);
    ANSWERS(cudaStreamWaitEvent(NULL, gone_event, 0),
            cudaErrorInvalidResourceHandle);
    ANSWERS(cudaStreamCreateWithFlags(&far_stream, 8), cudaErrorInvalidValue);
    ANSWERS(cudaStreamCreateWithFlags(NULL, 0), cudaErrorInvalidValue);
}
END_TEST

START_TEST(an_event_is_of_its_device)
{
    cudaEvent_t event;
    cudaStream_t far_stream;

    setenv("STANDIN_DEVICES", "2", 1);
    event = make_event();
    GOOD(cudaSetDevice(1));
    far_stream = make_stream(cudaStreamNonBlocking);
    GOOD(cudaSetDevice(0));
    ck_assert_int_eq(standin_device_of(far_stream), 1);
    ck_assert_int_eq(standin_device_of(NULL), 0);
    ANSWERS(cudaEventRecord(event, far_stream), cudaErrorInvalidResourceHandle);
    GOOD(cudaEventRecord(event, NULL));
    GOOD(cudaStreamWaitEvent(far_stream, event, 0));
    GOOD(cudaStreamSynchronize(far_stream));
}
END_TEST

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Of a hundred delays up to 2 ms; the seed makes them the same each time. */
START_TEST(work_is_delayed)
{
    cudaStream_t stream;
    char *memory;
    double start;

    setenv("STANDIN_DELAY_US", "2000", 1);
    setenv("STANDIN_SEED", "1", 1);
    stream = make_stream(cudaStreamNonBlocking);
    memory = make_device(8);
    start = now();
    for (int i = 0; i < 100; i++)
        GOOD(cudaMemsetAsync(memory, i, 8, stream));
    GOOD(cudaStreamSynchronize(stream));
    ck_assert_double_gt(now() - start, 0.05);
}
END_TEST

enum { ROUNDS = 100, CHAIN = 3, THREADS = 4 };

/* A value goes through streams that wait for each other. */
static void *pass_values(void *arg)
{
    cudaStream_t streams[CHAIN];
    cudaEvent_t events[CHAIN];
    char *memory = make_device(CHAIN);
    char *result = make_pinned(1);

    (void)arg;
    for (int i = 0; i < CHAIN; i++) {
        streams[i] = make_stream(cudaStreamNonBlocking);
        events[i] = make_event();
    }
    for (int round = 0; round < ROUNDS; round++) {
        GOOD(cudaMemsetAsync(memory, round, 1, streams[0]));
        for (int i = 1; i < CHAIN; i++) {
            GOOD(cudaEventRecord(events[i], streams[i - 1]));
            GOOD(cudaStreamWaitEvent(streams[i], events[i], 0));
            GOOD(cudaMemcpyAsync(memory + i, memory + i - 1, 1,
                                 cudaMemcpyDefault, streams[i]));
        }
        GOOD(cudaMemcpyAsync(result, memory + CHAIN - 1, 1, cudaMemcpyDefault,
                             streams[CHAIN - 1]));
        GOOD(cudaStreamSynchronize(streams[CHAIN - 1]));
        ck_assert_int_eq(*result, round);
    }
    for (int i = 0; i < CHAIN; i++) {
        GOOD(cudaStreamDestroy(streams[i]));
        GOOD(cudaEventDestroy(events[i]));
    }
    GOOD(cudaFree(memory));
    GOOD(cudaFreeHost(result));
    return NULL;
}

START_TEST(threads_use_it_at_the_same_time)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, pass_values, NULL),
                         0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stand-in streams");
    TCase *tcase = add_case(suite, "streams");

    tcase_add_test(tcase, a_missing_synchronise_gives_a_wrong_result);
    tcase_add_test(tcase, a_pageable_source_is_read_before_the_call_returns);
    tcase_add_test(tcase, copies_and_fills_on_the_device_do_not_wait);
    tcase_add_test(tcase, a_host_function_calls_nothing);
    tcase_add_test(tcase, a_destroyed_stream_does_what_is_queued);
    tcase_add_test(tcase, handles_are_looked_at);
    tcase_add_test(tcase, work_is_delayed);
    tcase_add_test(tcase, threads_use_it_at_the_same_time);
    tcase = add_case(suite, "order");
    tcase_add_test(tcase, an_event_orders_two_streams);
    tcase_add_test(tcase, an_event_is_where_it_was_last_recorded);
    tcase_add_test(tcase, an_event_is_of_its_device);
    tcase_add_test(tcase, the_default_stream_waits_for_blocking_ones_alone);
    tcase_add_test(tcase, blocking_streams_wait_for_the_default_one);
    return run_suite(suite);
}
