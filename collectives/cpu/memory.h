/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.h - the memory of cpu devices, as their platform's table has it.
 */
#ifndef COLLECTIVES_CPU_MEMORY_H
#define COLLECTIVES_CPU_MEMORY_H

#include "collectives/platform/platform.h"

extern const struct jd_device_memory jd__memory_cpu;

#endif
