/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * standin.h - what the stand-ins for the CUDA runtime (cudart.c ...) and for
 * NCCL (nccl.c ...) share. They have the names and the behaviour of the real
 * ones on host memory, for tests alone: no result of theirs is a GPU's.
 *
 * As asynchronous as the real ones: what is queued on a stream runs on a thread
 * of the stream's own, after a random delay. As strict: device memory is mapped
 * without access at the address that the program sees; the stand-ins use a
 * second mapping. A missing synchronise gives a wrong result, and a host access
 * to device memory a fault.
 *
 * Variables (libjd does not know them):
 *   STANDIN_DEVICES        how many GPUs there are (default 1)
 *   STANDIN_VISIBLE        which of them this process sees: "0,2" (default all)
 *   STANDIN_DELAY_US       the longest random delay before a piece of work (50)
 *   STANDIN_SEED           of the delays (default: the process's id)
 *   STANDIN_FAIL           CALL:N:RESULT: the Nth call of that name returns the
 *                          numeric result, and after a kernel's failure (700,
 *                          719 ...) all calls do; ASYNC:N:RESULT makes the Nth
 *                          collective of NCCL an asynchronous error; HANG:N
 *                          lets its work hang until the communicator is
 *                          aborted, BLOCK:N the call that queues it;
 *                          ABORT:N:HANG lets the Nth ncclCommAbort hang
 *   STANDIN_NCCL_VERSION   what ncclGetVersion says (22809)
 *   STANDIN_WITHOUT        a function that the driver does not have
 *   STANDIN_DRIVER         "none": as without a driver
 *   STANDIN_PEERS_WAIT     1: who gets memory waits for the work of all of the
 *                          process's devices, as where NCCL has mapped their
 *                          memory to each other
 *   STANDIN_MIG            1: all are parts of one GPU
 */
#ifndef NCCL_STANDIN_STANDIN_H
#define NCCL_STANDIN_STANDIN_H

#include <cuda_runtime_api.h>

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(default)

/*
 * Queues run(a copy of arg) on the stream; run may block (it is on the stream's
 * thread). While a graph is captured from the stream it becomes a node of the
 * graph instead, with a copy for each launch. NULL is the device's default
 * stream.
 */
cudaError_t standin_enqueue(cudaStream_t stream, void (*run)(void *arg),
                            const void *arg, size_t bytes);

/* Where the stand-ins may touch the memory; host memory is where it is. */
void *standin_address(const void *pointer);

/* The device of a stream, as the process numbers them; NULL: the thread's. */
int standin_device_of(cudaStream_t stream);

/* Whether the process has a context on the device, as the process numbers them:
 * some hundred MiB of a real GPU's memory. A thread that never chose a device
 * makes one on device 0 at its first call that needs one, and cudaSetDevice
 * makes one at once. */
bool standin_has_context(int device);

/* The 16 bytes of a device's UUID. */
void standin_uuid(int device, unsigned char uuid[16]);

/* STANDIN_FAIL: counts a call of that name; its result where it is the one to
 * fail, else 0. */
int standin_fails(const char *call);

#pragma GCC visibility pop

#endif
