/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cudart_driver.c - the driver's functions that can be had by name: each as it
 * was in the CUDA that is asked for. They give the driver's numbers for errors,
 * of which some are the runtime's.
 */
#include "cudart.h"

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

static bool find(const char *symbol, unsigned int version, void **ret)
{
    int (*get)(cudaUUID_t *, int) =
        version < UUIDS_OF_PARTS ? get_uuid_of_whole : get_uuid;
    int (*device)(int *, int) = get_device;

    if (strcmp(symbol, "cuDeviceGet") == 0)
        memcpy(ret, &device, sizeof(*ret));
    else if (strcmp(symbol, "cuDeviceGetUuid") == 0)
        memcpy(ret, &get, sizeof(*ret));
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
