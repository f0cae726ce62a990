/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * driver.h - functions of CUDA's driver that its runtime has none for; as they
 * are in CUDA 12.0.
 *
 *     int (*get)(int *device, int ordinal);
 *     jd__driver_find("cuDeviceGet", (void **)&get);
 *     if (get && get(&device, 0) == 0)
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_CUDA_DRIVER_H
#define COLLECTIVES_CUDA_DRIVER_H

/* NULL where the driver has none of that name. */
void jd__driver_find(const char *name, void **ret_function);

#endif
