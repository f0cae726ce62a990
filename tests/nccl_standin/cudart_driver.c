/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cudart_driver.c - the driver's functions that can be had by name: each as it
 * was in the CUDA that is asked for. They give the driver's numbers for errors,
 * of which some are the runtime's.
 */
#include "cudart.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { UUIDS_OF_PARTS = 11040 };

static int get_device(int *device, int ordinal)
{
    if (ordinal < 0 || ordinal >= standin__num_devices())
        return cudaErrorInvalidDevice;
    *device = ordinal;
    return cudaSuccess;
}

static int get_uuid_of_whole(cudaUUID_t *uuid, int device)
{
    standin__uuid_of_whole(device, (unsigned char *)uuid->bytes);
    return cudaSuccess;
}

static int get_uuid(cudaUUID_t *uuid, int device)
{
    standin_uuid(device, (unsigned char *)uuid->bytes);
    return cudaSuccess;
}

struct driver_write {
    unsigned long long *address;
    unsigned long long value;
};

static void write_value(void *arg)
{
    const struct driver_write *write = arg;

    __atomic_store_n(write->address, write->value, __ATOMIC_RELEASE);
}

static cudaError_t queue_write(cudaStream_t handle,
                               const struct driver_write *write,
                               unsigned int flags)
{
    const struct standin_task task = { .run = write_value,
                                       .arg = (void *)(uintptr_t)write,
                                       .bytes = sizeof(*write) };
    struct standin_task copy;
    struct CUstream_st *stream;
    cudaError_t error = cudaErrorInvalidValue;

    if (flags != 0 ||
        standin__place(write->address, sizeof(write->value)) != STANDIN_PINNED)
        return error;
    copy = standin__task_copy(&task);
    standin__lock();
    stream = standin__stream(handle);
    error = stream == NULL ? cudaErrorInvalidResourceHandle
                           : standin__submit(stream, &copy, NULL);
    standin__unlock();
    return error;
}

/* Of the driver's memory, pinned memory alone is allowed here. */
static int stream_write(cudaStream_t stream, unsigned long long address,
                        unsigned long long value, unsigned int flags)
{
    const struct driver_write write = {
        (unsigned long long *)(uintptr_t)address, value
    };
    cudaError_t error = standin__enter_device("cuStreamWriteValue64");

    if (error == cudaSuccess)
        error = queue_write(stream, &write, flags);
    standin__leave(error);
    return (int)error;
}

static bool find(const char *symbol, unsigned int version, void **ret)
{
    int (*get)(cudaUUID_t *, int) =
        version < UUIDS_OF_PARTS ? get_uuid_of_whole : get_uuid;
    int (*device)(int *, int) = get_device;
    const char *without = getenv("STANDIN_WITHOUT");
    int (*write)(cudaStream_t, unsigned long long, unsigned long long,
                 unsigned int) = stream_write;

    if (without != NULL && strcmp(symbol, without) == 0)
        return false;
    if (strcmp(symbol, "cuDeviceGet") == 0)
        memcpy(ret, &device, sizeof(*ret));
    else if (strcmp(symbol, "cuDeviceGetUuid") == 0)
        memcpy(ret, &get, sizeof(*ret));
    else if (strcmp(symbol, "cuStreamWriteValue64") == 0)
        memcpy(ret, &write, sizeof(*ret));
    else
        return false;
    return true;
}

cudaError_t cudaGetDriverEntryPointByVersion(
    const char *symbol, void **funcPtr, unsigned int cudaVersion,
    unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *driverStatus)
{
    cudaError_t error = standin__enter(__func__);

    if (error == cudaSuccess && (symbol == NULL || funcPtr == NULL ||
                                 driverStatus == NULL || flags != 0))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        *funcPtr = NULL;
        *driverStatus = find(symbol, cudaVersion, funcPtr)
                            ? cudaDriverEntryPointSuccess
                            : cudaDriverEntryPointSymbolNotFound;
    }
    return standin__leave(error);
}
