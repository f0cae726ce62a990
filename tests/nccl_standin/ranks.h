/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.h - the ranks of a communicator of the stand-in, as threads. */
#ifndef NCCL_STANDIN_RANKS_H
#define NCCL_STANDIN_RANKS_H

#include "tests/unit/unit.h"

#include <nccl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#define CUDA_OK(call)                                                          \
    do {                                                                       \
        cudaError_t cuda_ok_ = (call);                                         \
        ck_assert_msg(cuda_ok_ == cudaSuccess, "%s: %s", #call,                \
                      cudaGetErrorString(cuda_ok_));                           \
    } while (0)
#define NCCL_OK(call)                                                          \
    do {                                                                       \
        ncclResult_t nccl_ok_ = (call);                                        \
        ck_assert_msg(nccl_ok_ == ncclSuccess, "%s: %s: %s", #call,            \
                      ncclGetErrorString(nccl_ok_), ncclGetLastError(NULL));   \
    } while (0)

struct rank {
    int rank, size;
    ncclUniqueId id;
    void (*body)(struct rank *rank);
    ncclComm_t comm;
    cudaStream_t stream;
};

/* The state, once it is not ncclInProgress. */
static inline ncclResult_t wait_state(ncclComm_t comm)
{
    ncclResult_t state;
    do {
        sched_yield();
        NCCL_OK(ncclCommGetAsyncError(comm, &state));
    } while (state == ncclInProgress);
    return state;
}

/* What every call on a communicator that does not block is followed by. */
static inline void settle(struct rank *rank, ncclResult_t result)
{
    ck_assert_msg(result == ncclSuccess || result == ncclInProgress, "%s: %s",
                  ncclGetErrorString(result), ncclGetLastError(rank->comm));
    NCCL_OK(wait_state(rank->comm));
}

static inline void finish(struct rank *rank)
{
    CUDA_OK(cudaStreamSynchronize(rank->stream));
}

/* By the stream: cudaMemcpy() would not wait for it, nor it for that. */
static inline void upload(struct rank *rank, void *to, const void *from,
                          size_t bytes)
{
    CUDA_OK(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, rank->stream));
    finish(rank);
}

static inline void fetch(struct rank *rank, void *to, const void *from,
                         size_t bytes)
{
    CUDA_OK(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, rank->stream));
    finish(rank);
}

static inline void *device_memory(size_t bytes)
{
    void *memory;
    CUDA_OK(cudaMalloc(&memory, bytes));
    return memory;
}

/* Begins to make the communicator; the ranks meet on. */
static inline void start_comm(struct rank *rank)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ck_assert_int_eq(ncclCommInitRankConfig(&rank->comm, rank->size, rank->id,
                                            rank->rank, &config),
                     ncclInProgress);
}

/* The thread's device and stream. */
static inline void open_stream(struct rank *rank, int device)
{
    CUDA_OK(cudaSetDevice(device));
    CUDA_OK(cudaStreamCreateWithFlags(&rank->stream, cudaStreamNonBlocking));
}

static inline void *run_rank(void *arg)
{
    struct rank *rank = (struct rank *)arg;
    open_stream(rank, rank->rank);
    start_comm(rank);
    NCCL_OK(wait_state(rank->comm));
    rank->body(rank);
    finish(rank);
    NCCL_OK(ncclCommDestroy(rank->comm));
    CUDA_OK(cudaStreamDestroy(rank->stream));
    return NULL;
}

enum { MAX_RANKS = 8 };

static inline void set_devices(int count)
{
    char text[16];
    snprintf(text, sizeof text, "%d", count);
    setenv("STANDIN_DEVICES", text, 1);
}

/* Each on a thread and a device of its own. */
static inline void run_threads(int size, void *(*run)(void *),
                               void (*body)(struct rank *rank))
{
    struct rank ranks[MAX_RANKS] = { 0 };
    pthread_t threads[MAX_RANKS];
    ncclUniqueId id;
    set_devices(size);
    NCCL_OK(ncclGetUniqueId(&id));
    for (int i = 0; i < size; i++) {
        ranks[i] =
            (struct rank){ .rank = i, .size = size, .id = id, .body = body };
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run, &ranks[i]), 0);
    }
    for (int i = 0; i < size; i++)
        pthread_join(threads[i], NULL);
}

static inline void run_ranks(int size, void (*body)(struct rank *rank))
{
    run_threads(size, run_rank, body);
}

#endif
