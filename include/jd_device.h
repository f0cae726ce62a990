/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_device.h - the global table of devices: every process sees all of them,
 * in the same order, under the same ids.
 *
 *     int n;
 *     const jd_device *const *all = jd_devices(&n);
 *     for (int i = 0; i < n; i++)
 *         printf("%lld on %s\n", (long long)all[i]->id, all[i]->host);
 *
 * Lists and structs belong to jd and stay until jd_shutdown(). Where the
 * world could not be found out (jd_process.h), the lists are NULL, the counts
 * -1, and jd_error_message() says why. Threads: any.
 */
#ifndef JD_DEVICE_H
#define JD_DEVICE_H

#include "jd_status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One device of the job. Strings are never NULL; "" is "does not apply". */
typedef struct jd_device {
    int64_t id;           /* process_index << 17 | local_ordinal */
    int process_index;    /* the process it belongs to */
    int local_ordinal;    /* its number in that process, from 0 */
    const char *platform; /* "cpu", "cuda" */
    const char *kind;     /* the model's name */
    const char *host;     /* the name of the host it is in */
    int slice_index;      /* devices of a slice share a fast network */
    int numa_node;        /* -1: not known, or spans several */
    const char *pci_bus_id;
    const char *uuid;
    uint64_t memory_bytes; /* 0: not known */
    int index; /* its place among its platform's, as jd_devices() lists them */
} jd_device;

/*
 * All devices of the default platform, by process index, then local ordinal;
 * *ret_count gets their number (NULL allowed). That is the one that JD_PLATFORM
 * names, else cuda where every process has a GPU, else cpu. Of the GPUs of a
 * host each process has those that it alone sees, or one of those that several
 * see, in the order of the processes; or what local_device_ids says.
 * Source: jax.devices.
 */
JD_API const jd_device *const *jd_devices(int *ret_count);

/* Those of this process. Source: jax.local_devices. */
JD_API const jd_device *const *jd_local_devices(int *ret_count);

/*
 * All devices of the named platform. NULL and 0 where the job has none of
 * that name (NOT_FOUND in jd_error_message()'s sentence).
 * Source: jax.devices(backend).
 */
JD_API const jd_device *const *jd_platform_devices(const char *platform,
                                                   int *ret_count);

/* Source: jax.device_count, jax.local_device_count. */
JD_API int jd_device_count(void);
JD_API int jd_local_device_count(void);

#ifdef __cplusplus
}
#endif

#endif
