/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * devices.h - this process's GPUs: which CUDA shows it, and which of them are
 * its jd devices; and how a thread works with one for a moment.
 *
 *     struct jd_cuda_visit visit;
 *     jd_status status = jd__cuda_enter(native, "jd_device_alloc", &visit);
 *     if (status == JD_OK)
 *         status = ... cudaMalloc ...;
 *     jd__cuda_leave(&visit);
 */
#ifndef COLLECTIVES_CUDA_DEVICES_H
#define COLLECTIVES_CUDA_DEVICES_H

#include "collectives/platform/platform.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

extern const struct jd_device_source jd__cuda_source;

/* CUDA's number of a local device. */
int jd__cuda_native(const jd_device *device);

/*
 * Makes the calling thread's device one of this process's own, where it is
 * another; false where there is none. For calls that would make a context on
 * the device that a thread is at by chance.
 */
bool jd__cuda_select_any(void);

/* The libraries of this process; the source's. */
void jd__cuda_describe(jd_describe_f say, void *arg);

/* What a thread was set to before. */
struct jd_cuda_visit {
    int device, native; /* the thread's before, and in it */
    enum cudaStreamCaptureMode mode;
    bool is_inside;
};

/*
 * Makes the device the calling thread's until jd__cuda_leave(), and allows
 * calls there that would end the capture of a graph, which another stream may
 * be in: allocations and queries. Returns JD_OK; INTERNAL: then nothing has
 * changed, and leaving does nothing. The thread comes back to a device that is
 * one of jd's, not to another.
 */
jd_status jd__cuda_enter(int native, const char *operation,
                         struct jd_cuda_visit *ret_visit);
void jd__cuda_leave(struct jd_cuda_visit *visit);

/* The collective deadline in seconds, as the last enumeration read it;
 * negative: none. For waits that know of no runtime. */
double jd__cuda_timeout(void);

#endif
