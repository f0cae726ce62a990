/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cudart_call.c - how each call begins and ends: where there is no driver,
 * after a fork, in a host function and at exit it fails as the real one does,
 * and where STANDIN_FAIL says so. See cudart.h.
 */
#include "cudart.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local cudaError_t last_error;
static _Thread_local bool is_in_host_function;
static atomic_bool is_unloading;
static atomic_int broken; /* what all calls with a context return; 0: none */
static bool is_owner;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* One CALL:N:RESULT of STANDIN_FAIL. */
struct failure {
    char call[48];
    long number;
    int result;
    atomic_long seen;
};
enum { MAX_FAILURES = 8 };
static struct failure failures[MAX_FAILURES];
static int num_failures;
static pthread_once_t failures_once = PTHREAD_ONCE_INIT;

void standin__fatal(const char *format, ...)
{
    va_list args;
    char text[512];

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "stand-in CUDA runtime: %s\n", text);
    fflush(stderr);
    abort();
}

void *standin__allocate(size_t bytes)
{
    void *memory = calloc(1, bytes == 0 ? 1 : bytes);

    if (memory == NULL)
        standin__fatal("no host memory for %zu bytes", bytes);
    return memory;
}

long standin__number(const char *name, long fallback)
{
    const char *text = getenv(name);
    char *end = NULL;
    long number;

    if (text == NULL || text[0] == '\0')
        return fallback;
    errno = 0;
    number = strtol(text, &end, 10);
    if (*end != '\0' || errno != 0 || number < 0)
        standin__fatal("%s=%s is no number", name, text);
    return number;
}

/* A result that is no number ("HANG"), or none, is 1. */
static void read_failure(const char *item, struct failure *failure)
{
    char result[16] = "1";
    int fields = sscanf(item, "%47[^:]:%ld:%15[^:]", failure->call,
                        &failure->number, result);

    if (fields < 2 || failure->number < 1)
        standin__fatal("STANDIN_FAIL has %s: it is CALL:N:RESULT, N from 1",
                       item);
    failure->result = result[0] >= '0' && result[0] <= '9' ? atoi(result) : 1;
}

static void read_failures(void)
{
    const char *text = getenv("STANDIN_FAIL");
    char *copy = text == NULL ? NULL : strdup(text);
    char *rest = NULL;
    char *item = copy == NULL ? NULL : strtok_r(copy, ",", &rest);

    while (item != NULL && num_failures < MAX_FAILURES) {
        read_failure(item, &failures[num_failures]);
        num_failures++;
        item = strtok_r(NULL, ",", &rest);
    }
    free(copy);
}

int standin_fails(const char *call)
{
    int result = 0;

    pthread_once(&failures_once, read_failures);
    for (int i = 0; i < num_failures; i++) {
        struct failure *failure = &failures[i];
        if (strcmp(failure->call, call) != 0)
            continue;
        if (atomic_fetch_add(&failure->seen, 1) + 1 == failure->number)
            result = failure->result;
    }
    return result;
}

static void unload(void)
{
    atomic_store(&is_unloading, true);
}

/* In a child, which has CUDA's memory without its threads. Asking for the pid
 * at each call would cost more than the real one's calls take. */
static void disown(void)
{
    is_owner = false;
}

/* The real one registers its end at its first use, too: handlers that were
 * there before run after it. */
static void start(void)
{
    is_owner = true;
    pthread_atfork(NULL, NULL, disown);
    atexit(unload);
}

void standin__set_in_host_function(bool is_in)
{
    is_in_host_function = is_in;
}

/* After a kernel's failure all calls say so until the process ends. */
static bool stays(int error)
{
    return (error >= cudaErrorIllegalAddress &&
            error <= cudaErrorLaunchTimeout) ||
           (error >= cudaErrorAssert && error <= cudaErrorLaunchFailure);
}

cudaError_t standin__enter(const char *call)
{
    int failure;

    if (atomic_load(&is_unloading))
        return cudaErrorCudartUnloading;
    if (is_in_host_function)
        return cudaErrorNotPermitted;
    if (!standin__has_driver())
        return cudaErrorInsufficientDriver;
    pthread_once(&once, start);
    if (!is_owner)
        return cudaErrorInitializationError;
    failure = standin_fails(call);
    if (stays(failure))
        atomic_store(&broken, failure);
    return failure == 0 ? cudaSuccess : (cudaError_t)failure;
}

cudaError_t standin__enter_device(const char *call)
{
    cudaError_t error = standin__enter(call);

    if (error != cudaSuccess)
        return error;
    if (standin__num_devices() == 0)
        return cudaErrorNoDevice;
    standin__make_context();
    return (cudaError_t)atomic_load(&broken);
}

cudaError_t standin__leave(cudaError_t error)
{
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last_error;

    last_error = cudaSuccess;
    return atomic_load(&is_unloading) ? cudaErrorCudartUnloading : error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return atomic_load(&is_unloading) ? cudaErrorCudartUnloading : last_error;
}
