/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cudart_errors.c - names and texts of the errors. The texts are the stand-in's
 * own, and say so.
 */
#include "cudart.h"

struct error {
    cudaError_t value;
    const char *name;
    const char *text;
};

#define ERROR(value, text)                                                     \
    {                                                                          \
        value, #value, text " (stand-in)"                                      \
    }

static const struct error errors[] = {
    ERROR(cudaSuccess, "no error"),
    ERROR(cudaErrorInvalidValue, "invalid argument"),
    ERROR(cudaErrorMemoryAllocation, "out of memory"),
    ERROR(cudaErrorInitializationError, "initialization error"),
    ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    ERROR(cudaErrorInvalidHostPointer, "invalid host pointer"),
    ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction"),
    ERROR(cudaErrorStubLibrary, "the driver library is a stub"),
    ERROR(cudaErrorInsufficientDriver,
          "the driver is too old for the runtime, or not there"),
    ERROR(cudaErrorDevicesUnavailable, "all devices are busy or unavailable"),
    ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    ERROR(cudaErrorNoDevice, "no device is detected"),
    ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    ERROR(cudaErrorNoKernelImageForDevice, "no kernel image for the device"),
    ERROR(cudaErrorECCUncorrectable, "uncorrectable ECC error"),
    ERROR(cudaErrorNvlinkUncorrectable, "uncorrectable NVLink error"),
    ERROR(cudaErrorUnsupportedPtxVersion,
          "the kernels are of a newer CUDA than the driver"),
    ERROR(cudaErrorOperatingSystem, "an operating system call failed"),
    ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ERROR(cudaErrorIllegalState, "not permitted in the present state"),
    ERROR(cudaErrorNotReady, "device not ready"),
    ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ERROR(cudaErrorLaunchTimeout, "a launch timed out"),
    ERROR(cudaErrorContextIsDestroyed, "the context is destroyed"),
    ERROR(cudaErrorAssert, "an assert was triggered on the device"),
    ERROR(cudaErrorHardwareStackError, "hardware stack error"),
    ERROR(cudaErrorIllegalInstruction, "an illegal instruction was met"),
    ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    ERROR(cudaErrorInvalidAddressSpace,
          "an operation was not of its address space"),
    ERROR(cudaErrorInvalidPc, "invalid program counter"),
    ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    ERROR(cudaErrorNotPermitted, "operation not permitted"),
    ERROR(cudaErrorNotSupported, "operation not supported"),
    ERROR(cudaErrorSystemNotReady, "system not yet initialized"),
    ERROR(cudaErrorSystemDriverMismatch, "driver and libraries mismatch"),
    ERROR(cudaErrorCompatNotSupportedOnDevice,
          "forward compatibility is not supported on this hardware"),
    ERROR(cudaErrorStreamCaptureUnsupported,
          "operation not permitted while a stream is captured"),
    ERROR(cudaErrorStreamCaptureInvalidated,
          "the capture failed at an earlier call"),
    ERROR(cudaErrorStreamCaptureMerge, "two captures would be merged"),
    ERROR(cudaErrorStreamCaptureUnmatched,
          "the capture did not begin on this stream"),
    ERROR(cudaErrorStreamCaptureUnjoined,
          "the capture has work that was not joined to its first stream"),
    ERROR(cudaErrorStreamCaptureIsolation,
          "captured work would depend on uncaptured work"),
    ERROR(cudaErrorStreamCaptureImplicit,
          "captured work would depend on the default stream"),
    ERROR(cudaErrorCapturedEvent,
          "operation not permitted on an event last recorded in a capture"),
    ERROR(cudaErrorStreamCaptureWrongThread,
          "the capture began in another thread"),
    ERROR(cudaErrorTimeout, "a wait timed out"),
    ERROR(cudaErrorUnknown, "unknown error"),
};

static const struct error *find(cudaError_t value)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (errors[i].value == value)
            return &errors[i];
    }
    return NULL;
}

const char *cudaGetErrorName(cudaError_t error)
{
    const struct error *found = find(error);

    return found == NULL ? "unrecognized error code" : found->name;
}

const char *cudaGetErrorString(cudaError_t error)
{
    const struct error *found = find(error);

    return found == NULL ? "unrecognized error code" : found->text;
}
