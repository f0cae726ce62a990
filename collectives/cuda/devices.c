/* SPDX-License-Identifier: BSD-3-Clause */
/* devices.c - this process's GPUs. */
#include "collectives/cuda/devices.h"
#include "collectives/cuda/driver.h"
#include "collectives/cuda/errors.h"
#include "collectives/cuda/lane_watch.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERATION "jd_initialize"

/* ---- one device --------------------------------------------------------- */

/* cuDeviceGet and cuDeviceGetUuid; 0 is success. */
typedef int driver_device_f(int *ret_device, int ordinal);
typedef int driver_uuid_f(cudaUUID_t *ret_uuid, int device);

/*
 * A part of a GPU (MIG) has a UUID of its own. The properties may have the
 * whole's there: the runtime, up to 13.0 at least, asks the driver in the way
 * of CUDA 9.2, which knew no parts.
 */
static void read_uuid(int native, cudaUUID_t *uuid)
{
    driver_device_f *get_device = NULL;
    driver_uuid_f *get_uuid = NULL;
    int device;
    cudaUUID_t own;
    jd__driver_find("cuDeviceGet", (void **)&get_device);
    jd__driver_find("cuDeviceGetUuid", (void **)&get_uuid);
    if (get_device && get_uuid && get_device(&device, native) == 0 &&
        get_uuid(&own, device) == 0)
        *uuid = own;
}

/* As nvidia-smi prints it: "GPU-9a2b...-...". What it is CUDA says in the name
 * alone. */
static void print_uuid(const struct cudaDeviceProp *properties, char *text,
                       size_t size)
{
    const char *kind = strstr(properties->name, "MIG ") ? "MIG" : "GPU";
    size_t length = (size_t)snprintf(text, size, "%s-", kind);
    for (size_t i = 0; i < 16; i++) {
        bool is_group = i == 4 || i == 6 || i == 8 || i == 10;
        length += (size_t)snprintf(text + length, size - length, "%s%02x",
                                   is_group ? "-" : "",
                                   (unsigned char)properties->uuid.bytes[i]);
    }
}

/* In the kernel's spelling: lower case, a domain of four digits. CUDA and
 * nvidia-smi also write eight of them, or capitals. */
static void print_pci_id(const char *given, char *text, size_t size)
{
    const char *colon = strchr(given, ':');
    while (colon && colon - given > 4 && given[0] == '0')
        given++;
    snprintf(text, size, "%s", given);
    for (char *c = text; *c; c++)
        *c = (char)tolower((unsigned char)*c);
}

/* -1: the kernel does not know it, or shows no such device here. */
static int read_numa_node(const char *pci_id)
{
    char path[96];
    int node = -1;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", pci_id);
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    if (fscanf(file, "%d", &node) != 1)
        node = -1;
    fclose(file);
    return node;
}

/* ", peer access to GPU 1,2": by CUDA's numbers, as far as there is room. */
static void print_peers(int native, char *text, size_t size)
{
    int count = 0, can = 0;
    size_t length = 0;
    const char *glue = ", peer access to GPU ";
    if (cudaGetDeviceCount(&count) != cudaSuccess)
        count = 0;
    for (int i = 0; i < count && length < size; i++) {
        if (i == native ||
            cudaDeviceCanAccessPeer(&can, native, i) != cudaSuccess || !can)
            continue;
        length +=
            (size_t)snprintf(text + length, size - length, "%s%d", glue, i);
        glue = ",";
    }
    cudaGetLastError();
}

static jd_status describe_device(int native, struct jd_local_device *device)
{
    struct cudaDeviceProp properties;
    char pci_id[32] = "";
    jd_status status =
        jd__cuda_check(cudaGetDeviceProperties(&properties, native), OPERATION,
                       "cudaGetDeviceProperties");
    if (status == JD_OK)
        status =
            jd__cuda_check(cudaDeviceGetPCIBusId(pci_id, sizeof pci_id, native),
                           OPERATION, "cudaDeviceGetPCIBusId");
    if (status != JD_OK)
        return status;
    snprintf(device->kind, sizeof device->kind, "%.95s", properties.name);
    read_uuid(native, &properties.uuid);
    print_uuid(&properties, device->uuid, sizeof device->uuid);
    print_pci_id(pci_id, device->pci_bus_id, sizeof device->pci_bus_id);
    int length = snprintf(device->detail, sizeof device->detail,
                          "compute capability %d.%d", properties.major,
                          properties.minor);
    print_peers(native, device->detail + length,
                sizeof device->detail - (size_t)length);
    device->native = native;
    device->numa_node = read_numa_node(device->pci_bus_id);
    device->memory_bytes = properties.totalGlobalMem;
    return JD_OK;
}

/* ---- all of them -------------------------------------------------------- */

/* Why CUDA shows none; true where it can show none. The driver is asked for its
 * version before anything else, because the runtime reports a missing one as
 * too old. */
static bool explain_none(cudaError_t error, char *text, size_t size)
{
    int driver = 0, runtime = 0;
    bool is_empty = error == cudaSuccess || error == cudaErrorNoDevice;
    cudaGetLastError();
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0)
        snprintf(text, size, "no NVIDIA driver is loaded on this host");
    else if (error == cudaErrorInsufficientDriver)
        snprintf(text, size,
                 "the NVIDIA driver serves CUDA %d.%d, and jd's module was "
                 "built with %d.%d; update the driver",
                 driver / 1000, driver % 1000 / 10, runtime / 1000,
                 runtime % 1000 / 10);
    else if (is_empty)
        snprintf(text, size,
                 "CUDA shows no GPU to this process: there is none, or "
                 "CUDA_VISIBLE_DEVICES hides it");
    else
        snprintf(text, size, "cudaGetDeviceCount failed: %s (%s)",
                 cudaGetErrorName(error), cudaGetErrorString(error));
    return driver != 0 && !is_empty;
}

static _Atomic double timeout = -1;

double jd__cuda_timeout(void)
{
    return atomic_load(&timeout);
}

static jd_status enumerate_devices(const struct jd_settings *settings,
                                   const struct jd_host_facts *host,
                                   struct jd_found_devices *found)
{
    int count = 0;
    (void)host;
    atomic_store(&timeout,
                 jd__options_seconds(settings, JD_OPTION_COLLECTIVE_TIMEOUT));
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        found->is_fault =
            explain_none(error, found->why_none, sizeof found->why_none);
        return JD_OK;
    }
    found->items = calloc((size_t)count, sizeof *found->items);
    if (!found->items)
        return jd__fail_no_memory(OPERATION,
                                  (size_t)count * sizeof *found->items);
    found->count = count;
    jd_status status = JD_OK;
    for (int i = 0; i < count && status == JD_OK; i++)
        status = describe_device(i, &found->items[i]);
    return status;
}

/* ---- which are jd's ----------------------------------------------------- */

enum { MAX_DEVICES = 1024 };

/* CUDA's number of each local ordinal; as long as nobody has said otherwise,
 * the same. */
static _Atomic int natives[MAX_DEVICES];
static atomic_int num_natives;

static void settle_devices(const int *chosen, int count)
{
    if (count > MAX_DEVICES)
        count = MAX_DEVICES;
    for (int i = 0; i < count; i++)
        atomic_store(&natives[i], chosen[i]);
    atomic_store(&num_natives, count);
}

int jd__cuda_native(const jd_device *device)
{
    int ordinal = device->local_ordinal;
    return ordinal < atomic_load(&num_natives) ? atomic_load(&natives[ordinal])
                                               : ordinal;
}

const struct jd_device_source jd__cuda_source = {
    .platform = "cuda",
    .enumerate = enumerate_devices,
    .settle = settle_devices,
    .leave = jd__lane_watch_stop,
    .describe = jd__cuda_describe,
};

/* ---- the calling thread's ----------------------------------------------- */

static bool is_own(int native)
{
    for (int i = 0; i < atomic_load(&num_natives); i++)
        if (atomic_load(&natives[i]) == native)
            return true;
    return false;
}

bool jd__cuda_select_any(void)
{
    int current = -1;
    if (atomic_load(&num_natives) == 0)
        return false;
    return (cudaGetDevice(&current) == cudaSuccess && is_own(current)) ||
           cudaSetDevice(atomic_load(&natives[0])) == cudaSuccess;
}

/*
 * Back to where the thread was. One that never chose a device says that it is
 * at 0. Where this GPU is another process's it is not gone back to: that would
 * make a context there, of some hundred MiB.
 */
static void go_back(int device)
{
    int current = -1;
    if (cudaGetDevice(&current) == cudaSuccess && current != device &&
        is_own(device))
        cudaSetDevice(device);
}

/* The mode comes after the device: the call for it makes a context where the
 * thread is. */
jd_status jd__cuda_enter(int native, const char *operation,
                         struct jd_cuda_visit *ret_visit)
{
    struct jd_cuda_visit visit = { .native = native,
                                   .mode = cudaStreamCaptureModeRelaxed };
    *ret_visit = visit;
    jd_status status = jd__cuda_check(cudaGetDevice(&visit.device), operation,
                                      "cudaGetDevice");
    if (status == JD_OK && visit.device != native)
        status =
            jd__cuda_check(cudaSetDevice(native), operation, "cudaSetDevice");
    if (status != JD_OK)
        return status;
    status = jd__cuda_check(cudaThreadExchangeStreamCaptureMode(&visit.mode),
                            operation, "cudaThreadExchangeStreamCaptureMode");
    visit.is_inside = status == JD_OK;
    if (visit.is_inside)
        *ret_visit = visit;
    else
        go_back(visit.device);
    return status;
}

void jd__cuda_leave(struct jd_cuda_visit *visit)
{
    if (!visit->is_inside)
        return;
    visit->is_inside = false;
    cudaThreadExchangeStreamCaptureMode(&visit->mode);
    if (visit->device != visit->native)
        go_back(visit->device);
}
