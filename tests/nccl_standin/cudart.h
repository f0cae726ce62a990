/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cudart.h - what the files of the stand-in CUDA runtime share.
 *
 *     cudart_call.c      how each call begins and ends; the last error
 *     cudart_errors.c    names and texts of errors
 *     cudart_device.c    the GPUs, and which is the thread's
 *     cudart_driver.c    the driver's functions that can be had by name
 *     cudart_blocks.c    which memory is allocated, and where it is
 *     cudart_memory.c    device memory and pinned memory
 *     cudart_copy.c      copies and fills
 *     cudart_queue.c     streams' threads: the order of work, and waiting for
 * it cudart_stream.c    the calls on streams cudart_event.c     events
 *     cudart_capture.c   what is recorded instead of run
 *     cudart_graph.c     what was recorded, run any number of times
 *
 * Memory has a lock of its own; all else is guarded by standin__lock().
 */
#ifndef NCCL_STANDIN_CUDART_H
#define NCCL_STANDIN_CUDART_H

#include "standin.h"

#include <pthread.h>

enum { STANDIN_MAX_DEVICES = 64 };

/* A call begins with enter(__func__), and does nothing where that is an error;
 * it ends with leave(error), which remembers an error as the thread's last. */
cudaError_t standin__enter(const char *call);
/* One is needed, and a context on the thread's. */
cudaError_t standin__enter_device(const char *call);
void standin__make_context(void); /* on the thread's device */
cudaError_t standin__leave(cudaError_t error);

/* The thread runs a host function: calls are not permitted. */
void standin__set_in_host_function(bool is_in);

/* Says so and ends the process: what a real GPU answers with a corrupted
 * context, and what no test goes on after. */
_Noreturn void standin__fatal(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void *standin__allocate(size_t bytes);

/* A variable's number; fallback where it is not set. */
long standin__number(const char *name, long fallback);

int standin__device(void);
int standin__num_devices(void);
bool standin__has_driver(void);
void standin__uuid_of_whole(int device, unsigned char uuid[16]);
size_t standin__device_bytes(void);

/* An allocation. */
struct standin_block {
    char *start; /* as the program sees it */
    char *bytes; /* where they are */
    size_t size; /* as it was asked for */
    int device;
    bool is_pinned;
};

/* Addresses for that many bytes, without access, and never given again; NULL
 * where there are none. */
char *standin__reserve(size_t size);
void standin__block_add(const struct standin_block *block);
/* The block that a pointer is in; false: none. */
bool standin__block_find(const void *pointer, struct standin_block *ret_block);
/* Takes the block that starts there out of the table. */
bool standin__block_take(const void *start, bool is_pinned,
                         struct standin_block *ret_block);

enum standin_place {
    STANDIN_PAGEABLE, /* host memory that CUDA knows nothing of */
    STANDIN_PINNED,
    STANDIN_DEVICE,
    STANDIN_INVALID /* NULL, freed device memory, or past an end */
};
enum standin_place standin__place(const void *pointer, size_t bytes);

/* Work up to and with that number of the stream's is meant. */
struct standin_marker {
    struct CUstream_st *stream;
    unsigned long long number;
};

/* What a piece of work does; as a node of a graph it does so at each launch. */
struct standin_task {
    void (*run)(void *arg); /* NULL: nothing; it is there for its order */
    void *arg;              /* bytes of them, the task's own */
    size_t bytes;
    bool is_host_function;
};
struct standin_task standin__task_copy(const struct standin_task *task);

struct standin_work {
    struct standin_work *next;
    struct standin_task task;
    struct standin_marker *after; /* what has to be done before */
    int num_after;
};

struct CUstream_st {
    struct CUstream_st *next; /* of all */
    int references;           /* the handle, the thread, markers */
    int device;
    bool is_legacy;   /* the device's default stream */
    bool is_blocking; /* in order with it */
    bool is_destroyed;
    bool has_thread;
    pthread_cond_t arrived;
    struct standin_work *first;
    struct standin_work *last;
    unsigned long long queued;
    unsigned long long done;
    long longest_delay; /* us */
    unsigned int random;

    struct standin_capture *capture;
    unsigned int captured; /* pieces of work, while capturing */
    bool is_joined;        /* all of them come before another stream's */
};

struct CUevent_st {
    struct CUevent_st *next; /* of all that are not destroyed */
    int device;
    struct standin_marker marker; /* no stream: never recorded */

    /* Where it was recorded in a capture. */
    struct standin_capture *capture;
    struct CUstream_st *stream;
    unsigned int captured;
};

void standin__lock(void);
void standin__unlock(void);

/* All below: with the lock held. */

/* The stream of a handle; NULL where it is none. */
struct CUstream_st *standin__stream(cudaStream_t handle);
struct CUstream_st *standin__streams(void);
struct CUstream_st *standin__stream_create(int device, bool is_blocking);
void standin__stream_destroy(struct CUstream_st *stream);

/* Queues it behind the stream's work and, of a blocking stream, the default
 * stream's; or records it. after may be NULL. The task's arg is taken over, at
 * an error too. */
cudaError_t standin__submit(struct CUstream_st *stream,
                            const struct standin_task *task,
                            const struct standin_marker *after);
/* The same, known not to be captured. */
void standin__queue(struct CUstream_st *stream, const struct standin_task *task,
                    const struct standin_marker *after);

struct standin_marker standin__mark(struct CUstream_st *stream);
void standin__unmark(struct standin_marker *marker);
bool standin__is_done(const struct standin_marker *marker);

/* The stream's work so far; of the default stream, that before it, too. */
bool standin__is_idle(struct CUstream_st *stream);
void standin__wait_idle(struct CUstream_st *stream, const char *call);
void standin__wait_device(int device, const char *call);

/* Of captures: which calls they allow. */

/* cudaSuccess where the stream may be used at all; an invalidated capture and
 * the default stream beside a capturing one are refused. */
cudaError_t standin__usable(struct CUstream_st *stream);
/* For calls that a capture forbids by its mode (cudaMalloc ...). */
cudaError_t standin__allow_unsafe(void);
/* For calls that look at or wait for the stream. */
cudaError_t standin__allow_looking(struct CUstream_st *stream);
void standin__invalidate(struct standin_capture *capture);
void standin__record(struct CUstream_st *stream,
                     const struct standin_task *task);
/* The stream goes on after the captured event; cudaErrorStreamCapture* where
 * it is not of the same capture. */
cudaError_t standin__join(struct CUstream_st *stream, struct CUevent_st *event);
bool standin__is_ongoing(const struct standin_capture *capture);

struct CUgraph_st {
    struct standin_task *tasks;
    int num_tasks;
};
struct CUgraph_st *standin__graph_create(void);
void standin__graph_destroy(struct CUgraph_st *graph);
void standin__graph_add(struct CUgraph_st *graph,
                        const struct standin_task *task);

#endif
