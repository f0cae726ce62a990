/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cudart_device.c - the GPUs: those of STANDIN_DEVICES that STANDIN_VISIBLE
 * names, numbered from 0, and which of them is the thread's. A GPU has the same
 * UUID and PCI address in every process of the host.
 */
#include "cudart.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No machine has a PCI domain of that number. */
enum { PCI_DOMAIN = 0x57D1, WHOLE = STANDIN_MAX_DEVICES };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int numbers[STANDIN_MAX_DEVICES]; /* which of the host's GPUs */
static int num_devices;
static bool has_driver = true;
static _Thread_local int current;
static atomic_bool has_context[STANDIN_MAX_DEVICES];

/* As with the real variable, the list ends before the first that is not
 * there. */
static void read_visible(const char *list, long count)
{
    char *end = NULL;
    const char *text = list;

    while (*text != '\0' && num_devices < STANDIN_MAX_DEVICES) {
        long number = strtol(text, &end, 10);
        if (end == text || number < 0 || number >= count)
            return;
        numbers[num_devices] = (int)number;
        num_devices++;
        text = *end == ',' ? end + 1 : end;
    }
}

static void read_devices(void)
{
    const char *driver = getenv("STANDIN_DRIVER");
    const char *visible = getenv("STANDIN_VISIBLE");
    long count = standin__number("STANDIN_DEVICES", 1);

    has_driver = driver == NULL || strcmp(driver, "none") != 0;
    if (visible != NULL) {
        read_visible(visible, count);
        return;
    }
    for (num_devices = 0;
         num_devices < count && num_devices < STANDIN_MAX_DEVICES;
         num_devices++)
        numbers[num_devices] = num_devices;
}

int standin__num_devices(void)
{
    pthread_once(&once, read_devices);
    return num_devices;
}

bool standin__has_driver(void)
{
    pthread_once(&once, read_devices);
    return has_driver;
}

int standin__device(void)
{
    return current;
}

void standin__make_context(void)
{
    atomic_store(&has_context[current], true);
}

bool standin_has_context(int device)
{
    return atomic_load(&has_context[device]);
}

static cudaError_t check_device(int device)
{
    if (standin__num_devices() == 0)
        return cudaErrorNoDevice;
    return device >= 0 && device < num_devices ? cudaSuccess
                                               : cudaErrorInvalidDevice;
}

/* All are parts of one GPU. */
static bool is_mig(void)
{
    return standin__number("STANDIN_MIG", 0) != 0;
}

static int pci_bus(int device)
{
    return (is_mig() ? WHOLE : numbers[device]) + 1;
}

static uint64_t mix(uint64_t hash, unsigned char byte)
{
    return (hash ^ byte) * 0x100000001b3u;
}

static void make_uuid(unsigned char number, unsigned char uuid[16])
{
    char boot[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    uint64_t hash = 0xcbf29ce484222325u;

    if (file != NULL) {
        if (fgets(boot, sizeof(boot), file) == NULL)
            boot[0] = '\0';
        fclose(file);
    }
    for (size_t i = 0; boot[i] != '\0'; i++)
        hash = mix(hash, (unsigned char)boot[i]);
    for (int i = 0; i < 16; i++) {
        hash = mix(hash, number);
        uuid[i] = (unsigned char)(hash >> 32);
    }
}

void standin_uuid(int device, unsigned char uuid[16])
{
    make_uuid((unsigned char)numbers[device], uuid);
}

void standin__uuid_of_whole(int device, unsigned char uuid[16])
{
    make_uuid(is_mig() ? WHOLE : (unsigned char)numbers[device], uuid);
}

static cudaError_t count_devices(int *count)
{
    if (count == NULL)
        return cudaErrorInvalidValue;
    *count = standin__num_devices();
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t error = standin__enter(__func__);

    if (error == cudaSuccess)
        error = count_devices(count);
    else if (count != NULL)
        *count = 0;
    return standin__leave(error);
}

/* The runtime asks the driver for a UUID as it was before there were parts. */
static cudaError_t describe(struct cudaDeviceProp *prop, int device)
{
    cudaError_t error = check_device(device);

    if (error != cudaSuccess || prop == NULL)
        return error == cudaSuccess ? cudaErrorInvalidValue : error;
    *prop = (struct cudaDeviceProp){
        .totalGlobalMem = standin__device_bytes(),
        .warpSize = 32,
        .maxThreadsPerBlock = 1024,
        .major = 9,
        .multiProcessorCount = 1,
        .pciBusID = pci_bus(device),
        .pciDomainID = PCI_DOMAIN,
        .unifiedAddressing = 1,
        .hostNumaId = -1,
    };
    snprintf(prop->name, sizeof(prop->name), "stand-in GPU%s",
             is_mig() ? " MIG 1g.10gb" : "");
    standin__uuid_of_whole(device, (unsigned char *)prop->uuid.bytes);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    cudaError_t error = standin__enter(__func__);

    if (error == cudaSuccess)
        error = describe(prop, device);
    return standin__leave(error);
}

static cudaError_t pci_address(char *text, int len, int device)
{
    cudaError_t error = check_device(device);
    int written;

    if (error != cudaSuccess)
        return error;
    if (text == NULL || len <= 0)
        return cudaErrorInvalidValue;
    written = snprintf(text, (size_t)len, "%04X:%02X:00.0",
                       (unsigned int)PCI_DOMAIN, (unsigned int)pci_bus(device));
    return written < len ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    cudaError_t error = standin__enter(__func__);

    if (error == cudaSuccess)
        error = pci_address(pciBusId, len, device);
    return standin__leave(error);
}

static cudaError_t attribute(int *value, enum cudaDeviceAttr attr, int device)
{
    struct cudaDeviceProp prop = { .name = "" };
    cudaError_t error = describe(&prop, device);
    const struct {
        enum cudaDeviceAttr attr;
        int value;
    } known[] = {
        { cudaDevAttrMaxThreadsPerBlock, prop.maxThreadsPerBlock },
        { cudaDevAttrWarpSize, prop.warpSize },
        { cudaDevAttrMultiProcessorCount, prop.multiProcessorCount },
        { cudaDevAttrIntegrated, prop.integrated },
        { cudaDevAttrComputeMode, 0 },
        { cudaDevAttrPciBusId, prop.pciBusID },
        { cudaDevAttrPciDeviceId, prop.pciDeviceID },
        { cudaDevAttrUnifiedAddressing, prop.unifiedAddressing },
        { cudaDevAttrPciDomainId, prop.pciDomainID },
        { cudaDevAttrComputeCapabilityMajor, prop.major },
        { cudaDevAttrComputeCapabilityMinor, prop.minor },
        { cudaDevAttrManagedMemory, prop.managedMemory },
        { cudaDevAttrPageableMemoryAccess, prop.pageableMemoryAccess },
        { cudaDevAttrHostNumaId, prop.hostNumaId },
    };

    if (error != cudaSuccess || value == NULL)
        return error == cudaSuccess ? cudaErrorInvalidValue : error;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].attr != attr)
            continue;
        *value = known[i].value;
        return cudaSuccess;
    }
    return cudaErrorInvalidValue;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr,
                                   int device)
{
    cudaError_t error = standin__enter(__func__);

    if (error == cudaSuccess)
        error = attribute(value, attr, device);
    return standin__leave(error);
}

static cudaError_t can_access(int *can, int device, int peer)
{
    cudaError_t error = check_device(device);

    if (error == cudaSuccess)
        error = check_device(peer);
    if (error != cudaSuccess || can == NULL)
        return error == cudaSuccess ? cudaErrorInvalidValue : error;
    *can = device != peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device,
                                    int peerDevice)
{
    cudaError_t error = standin__enter(__func__);

    if (error == cudaSuccess)
        error = can_access(canAccessPeer, device, peerDevice);
    return standin__leave(error);
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t error = standin__enter(__func__);

    if (error == cudaSuccess)
        error = check_device(device);
    if (error == cudaSuccess) {
        current = device;
        standin__make_context();
    }
    return standin__leave(error);
}

cudaError_t cudaGetDevice(int *device)
{
    cudaError_t error = standin__enter(__func__);

    if (error == cudaSuccess && device == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = check_device(current);
    if (error == cudaSuccess)
        *device = current;
    return standin__leave(error);
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
    if (runtimeVersion == NULL)
        return standin__leave(cudaErrorInvalidValue);
    *runtimeVersion = CUDART_VERSION;
    return cudaSuccess;
}

/* 0 is the real answer where there is no driver. */
cudaError_t cudaDriverGetVersion(int *driverVersion)
{
    if (driverVersion == NULL)
        return standin__leave(cudaErrorInvalidValue);
    *driverVersion = standin__has_driver() ? CUDART_VERSION : 0;
    return cudaSuccess;
}
