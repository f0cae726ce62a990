/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cudart.h - what the tests of the stand-in CUDA runtime share. Each test
 * is a process of its own (Check forks), so that its variables count.
 */
#ifndef NCCL_STANDIN_TEST_CUDART_H
#define NCCL_STANDIN_TEST_CUDART_H

#include "standin.h"

#include <check.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The call answers with that error. */
#define ANSWERS(call, error)                                                   \
    ck_assert_str_eq(cudaGetErrorName(call), cudaGetErrorName(error))
#define GOOD(call) ANSWERS(call, cudaSuccess)

/* A piece of work that ends when the gate is opened. It is static: the work may
 * look at it after the test has opened it and returned. */
struct gate {
    sem_t reached;
    sem_t open;
};

static inline void gate_run(void *arg)
{
    struct gate *gate = *(struct gate **)arg;

    sem_post(&gate->reached);
    while (sem_wait(&gate->open) != 0)
        ;
}

/* Holds the stream at the gate. */
static inline void gate_close(struct gate *gate, cudaStream_t stream)
{
    sem_init(&gate->reached, 0, 0);
    sem_init(&gate->open, 0, 0);
    GOOD(standin_enqueue(stream, gate_run, &gate, sizeof(gate)));
}

static inline void gate_open(struct gate *gate)
{
    sem_post(&gate->open);
}

static inline cudaStream_t make_stream(unsigned int flags)
{
    cudaStream_t stream;

    GOOD(cudaStreamCreateWithFlags(&stream, flags));
    return stream;
}

static inline cudaEvent_t make_event(void)
{
    cudaEvent_t event;

    GOOD(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}

static inline void *make_device(size_t bytes)
{
    void *memory;

    GOOD(cudaMalloc(&memory, bytes));
    return memory;
}

/* Pinned, and zero. */
static inline void *make_pinned(size_t bytes)
{
    void *memory;

    GOOD(cudaMallocHost(&memory, bytes));
    if (bytes > 0)
        memset(memory, 0, bytes);
    return memory;
}

/* What a child that does it says on standard error; it must not end well. */
static inline void expect_death(void (*deed)(void *arg), void *arg,
                                const char *text)
{
    char said[4096] = "";
    size_t length = 0;
    ssize_t got;
    int ends[2];
    int status;
    pid_t child;

    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        deed(arg);
        _exit(0);
    }
    close(ends[1]);
    do {
        got = read(ends[0], said + length, sizeof(said) - 1 - length);
        length += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(!WIFEXITED(status) || WEXITSTATUS(status) != 0, "it lives");
    ck_assert_msg(strstr(said, text) != NULL, "it said \"%s\"", said);
}

static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static inline TCase *add_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);

    suite_add_tcase(suite, tcase);
    return tcase;
}

#endif
