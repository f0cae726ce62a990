/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda_header.c - prints the values of <cuda_runtime_api.h> that jd and the
 * stand-in use, and does not compile where a signature is another. It is built
 * with the stand-in's header and, where CUDA is installed, with the real one:
 * test_headers.sh compares what they print.
 */
#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdio.h>

#define SIGNATURE(name, type)                                                  \
    _Static_assert(_Generic(&(name), type : 1, default : 0),                   \
                   #name " has another signature")

SIGNATURE(cudaGetLastError, cudaError_t (*)(void));
SIGNATURE(cudaPeekAtLastError, cudaError_t (*)(void));
SIGNATURE(cudaGetErrorName, const char *(*)(cudaError_t));
SIGNATURE(cudaGetErrorString, const char *(*)(cudaError_t));
SIGNATURE(cudaRuntimeGetVersion, cudaError_t (*)(int *));
SIGNATURE(cudaDriverGetVersion, cudaError_t (*)(int *));
SIGNATURE(cudaGetDeviceCount, cudaError_t (*)(int *));
SIGNATURE(cudaGetDeviceProperties,
          cudaError_t (*)(struct cudaDeviceProp *, int));
#if CUDART_VERSION >= 12050
SIGNATURE(cudaGetDriverEntryPointByVersion,
          cudaError_t (*)(const char *, void **, unsigned int,
                          unsigned long long,
                          enum cudaDriverEntryPointQueryResult *));
#endif
SIGNATURE(cudaDeviceGetPCIBusId, cudaError_t (*)(char *, int, int));
SIGNATURE(cudaDeviceGetAttribute,
          cudaError_t (*)(int *, enum cudaDeviceAttr, int));
SIGNATURE(cudaDeviceCanAccessPeer, cudaError_t (*)(int *, int, int));
SIGNATURE(cudaSetDevice, cudaError_t (*)(int));
SIGNATURE(cudaGetDevice, cudaError_t (*)(int *));
SIGNATURE(cudaDeviceSynchronize, cudaError_t (*)(void));
SIGNATURE(cudaMemGetInfo, cudaError_t (*)(size_t *, size_t *));
SIGNATURE(cudaMalloc, cudaError_t (*)(void **, size_t));
SIGNATURE(cudaFree, cudaError_t (*)(void *));
SIGNATURE(cudaHostRegister, cudaError_t (*)(void *, size_t, unsigned int));
SIGNATURE(cudaHostGetDevicePointer,
          cudaError_t (*)(void **, void *, unsigned int));
SIGNATURE(cudaMallocHost, cudaError_t (*)(void **, size_t));
SIGNATURE(cudaFreeHost, cudaError_t (*)(void *));
SIGNATURE(cudaPointerGetAttributes,
          cudaError_t (*)(struct cudaPointerAttributes *, const void *));
SIGNATURE(cudaMemcpy,
          cudaError_t (*)(void *, const void *, size_t, enum cudaMemcpyKind));
SIGNATURE(cudaMemcpyAsync, cudaError_t (*)(void *, const void *, size_t,
                                           enum cudaMemcpyKind, cudaStream_t));
SIGNATURE(cudaMemcpy2DAsync,
          cudaError_t (*)(void *, size_t, const void *, size_t, size_t, size_t,
                          enum cudaMemcpyKind, cudaStream_t));
SIGNATURE(cudaMemset, cudaError_t (*)(void *, int, size_t));
SIGNATURE(cudaMemsetAsync, cudaError_t (*)(void *, int, size_t, cudaStream_t));
SIGNATURE(cudaStreamCreateWithFlags,
          cudaError_t (*)(cudaStream_t *, unsigned int));
SIGNATURE(cudaStreamDestroy, cudaError_t (*)(cudaStream_t));
SIGNATURE(cudaStreamQuery, cudaError_t (*)(cudaStream_t));
SIGNATURE(cudaStreamSynchronize, cudaError_t (*)(cudaStream_t));
SIGNATURE(cudaStreamWaitEvent,
          cudaError_t (*)(cudaStream_t, cudaEvent_t, unsigned int));
SIGNATURE(cudaLaunchHostFunc,
          cudaError_t (*)(cudaStream_t, cudaHostFn_t, void *));
SIGNATURE(cudaEventCreateWithFlags,
          cudaError_t (*)(cudaEvent_t *, unsigned int));
SIGNATURE(cudaEventRecord, cudaError_t (*)(cudaEvent_t, cudaStream_t));
SIGNATURE(cudaEventQuery, cudaError_t (*)(cudaEvent_t));
SIGNATURE(cudaEventDestroy, cudaError_t (*)(cudaEvent_t));
SIGNATURE(cudaStreamIsCapturing,
          cudaError_t (*)(cudaStream_t, enum cudaStreamCaptureStatus *));
SIGNATURE(cudaStreamBeginCapture,
          cudaError_t (*)(cudaStream_t, enum cudaStreamCaptureMode));
SIGNATURE(cudaStreamEndCapture, cudaError_t (*)(cudaStream_t, cudaGraph_t *));
SIGNATURE(cudaThreadExchangeStreamCaptureMode,
          cudaError_t (*)(enum cudaStreamCaptureMode *));
SIGNATURE(cudaGraphInstantiate,
          cudaError_t (*)(cudaGraphExec_t *, cudaGraph_t, unsigned long long));
SIGNATURE(cudaGraphLaunch, cudaError_t (*)(cudaGraphExec_t, cudaStream_t));
SIGNATURE(cudaGraphDestroy, cudaError_t (*)(cudaGraph_t));
SIGNATURE(cudaGraphExecDestroy, cudaError_t (*)(cudaGraphExec_t));

#define VALUE(name) printf(#name " %lld\n", (long long)(name))
#define FIELD(structure, name)                                                 \
    printf(#structure "." #name " of %zu bytes\n",                             \
           sizeof(((struct structure *)NULL)->name))

static void print_errors(void)
{
    VALUE(cudaSuccess);
    VALUE(cudaErrorInvalidValue);
    VALUE(cudaErrorMemoryAllocation);
    VALUE(cudaErrorInitializationError);
    VALUE(cudaErrorCudartUnloading);
    VALUE(cudaErrorInvalidPitchValue);
    VALUE(cudaErrorInvalidHostPointer);
    VALUE(cudaErrorInvalidDevicePointer);
    VALUE(cudaErrorInvalidMemcpyDirection);
    VALUE(cudaErrorStubLibrary);
    VALUE(cudaErrorInsufficientDriver);
    VALUE(cudaErrorDevicesUnavailable);
    VALUE(cudaErrorInvalidDeviceFunction);
    VALUE(cudaErrorNoDevice);
    VALUE(cudaErrorInvalidDevice);
    VALUE(cudaErrorNoKernelImageForDevice);
    VALUE(cudaErrorECCUncorrectable);
    VALUE(cudaErrorNvlinkUncorrectable);
    VALUE(cudaErrorUnsupportedPtxVersion);
    VALUE(cudaErrorOperatingSystem);
    VALUE(cudaErrorInvalidResourceHandle);
    VALUE(cudaErrorIllegalState);
    VALUE(cudaErrorNotReady);
    VALUE(cudaErrorIllegalAddress);
    VALUE(cudaErrorLaunchTimeout);
    VALUE(cudaErrorContextIsDestroyed);
    VALUE(cudaErrorAssert);
    VALUE(cudaErrorHardwareStackError);
    VALUE(cudaErrorIllegalInstruction);
    VALUE(cudaErrorMisalignedAddress);
    VALUE(cudaErrorInvalidAddressSpace);
    VALUE(cudaErrorInvalidPc);
    VALUE(cudaErrorLaunchFailure);
    VALUE(cudaErrorNotPermitted);
    VALUE(cudaErrorNotSupported);
    VALUE(cudaErrorSystemNotReady);
    VALUE(cudaErrorSystemDriverMismatch);
    VALUE(cudaErrorCompatNotSupportedOnDevice);
    VALUE(cudaErrorStreamCaptureUnsupported);
    VALUE(cudaErrorStreamCaptureInvalidated);
    VALUE(cudaErrorStreamCaptureMerge);
    VALUE(cudaErrorStreamCaptureUnmatched);
    VALUE(cudaErrorStreamCaptureUnjoined);
    VALUE(cudaErrorStreamCaptureIsolation);
    VALUE(cudaErrorStreamCaptureImplicit);
    VALUE(cudaErrorCapturedEvent);
    VALUE(cudaErrorStreamCaptureWrongThread);
    VALUE(cudaErrorTimeout);
    VALUE(cudaErrorUnknown);
}

static void print_kinds(void)
{
    VALUE(cudaMemcpyHostToHost);
    VALUE(cudaMemcpyHostToDevice);
    VALUE(cudaMemcpyDeviceToHost);
    VALUE(cudaMemcpyDeviceToDevice);
    VALUE(cudaMemcpyDefault);
}

static void print_memory_types(void)
{
    VALUE(cudaMemoryTypeUnregistered);
    VALUE(cudaMemoryTypeHost);
    VALUE(cudaMemoryTypeDevice);
    VALUE(cudaMemoryTypeManaged);
}

static void print_capture_statuses(void)
{
    VALUE(cudaStreamCaptureStatusNone);
    VALUE(cudaStreamCaptureStatusActive);
    VALUE(cudaStreamCaptureStatusInvalidated);
}

static void print_capture_modes(void)
{
    VALUE(cudaStreamCaptureModeGlobal);
    VALUE(cudaStreamCaptureModeThreadLocal);
    VALUE(cudaStreamCaptureModeRelaxed);
}

static void print_attributes(void)
{
    VALUE(cudaDevAttrMaxThreadsPerBlock);
    VALUE(cudaDevAttrWarpSize);
    VALUE(cudaDevAttrMultiProcessorCount);
    VALUE(cudaDevAttrIntegrated);
    VALUE(cudaDevAttrComputeMode);
    VALUE(cudaDevAttrPciBusId);
    VALUE(cudaDevAttrPciDeviceId);
    VALUE(cudaDevAttrUnifiedAddressing);
    VALUE(cudaDevAttrPciDomainId);
    VALUE(cudaDevAttrComputeCapabilityMajor);
    VALUE(cudaDevAttrComputeCapabilityMinor);
    VALUE(cudaDevAttrManagedMemory);
    VALUE(cudaDevAttrPageableMemoryAccess);
}

static void print_constants(void)
{
    VALUE(cudaStreamDefault);
    VALUE(cudaStreamNonBlocking);
    VALUE(cudaStreamLegacy);
    VALUE(cudaStreamPerThread);
    VALUE(cudaEventDefault);
    VALUE(cudaEventBlockingSync);
    VALUE(cudaEventDisableTiming);
    VALUE(cudaEventRecordDefault);
    VALUE(cudaEventWaitDefault);
    VALUE(cudaCpuDeviceId);
    VALUE(cudaEnableDefault);
    VALUE(cudaDriverEntryPointSuccess);
    VALUE(cudaHostRegisterPortable);
    VALUE(cudaHostRegisterMapped);
    VALUE(cudaDriverEntryPointSymbolNotFound);
}

static void print_properties(void)
{
    FIELD(cudaDeviceProp, name);
    FIELD(cudaDeviceProp, uuid);
    FIELD(cudaDeviceProp, totalGlobalMem);
    FIELD(cudaDeviceProp, warpSize);
    FIELD(cudaDeviceProp, maxThreadsPerBlock);
    FIELD(cudaDeviceProp, major);
    FIELD(cudaDeviceProp, minor);
    FIELD(cudaDeviceProp, multiProcessorCount);
    FIELD(cudaDeviceProp, integrated);
    FIELD(cudaDeviceProp, pciBusID);
    FIELD(cudaDeviceProp, pciDeviceID);
    FIELD(cudaDeviceProp, pciDomainID);
    FIELD(cudaDeviceProp, unifiedAddressing);
    FIELD(cudaDeviceProp, managedMemory);
    FIELD(cudaDeviceProp, pageableMemoryAccess);
}

static void print_pointer_attributes(void)
{
    FIELD(cudaPointerAttributes, type);
    FIELD(cudaPointerAttributes, device);
    FIELD(cudaPointerAttributes, devicePointer);
    FIELD(cudaPointerAttributes, hostPointer);
}

int main(void)
{
    puts("CUDA runtime");
    print_errors();
    print_kinds();
    print_memory_types();
    print_capture_statuses();
    print_capture_modes();
    print_attributes();
    print_constants();
    print_properties();
    print_pointer_attributes();
    VALUE(sizeof(cudaUUID_t));
    VALUE(sizeof(cudaError_t));
#if CUDART_VERSION >= 12020
    VALUE(cudaDevAttrHostNumaId);
    FIELD(cudaDeviceProp, hostNumaId);
#endif
    return 0;
}
