/* SPDX-License-Identifier: BSD-3-Clause */
/* memory_cpu.h - the memory of cpu devices, as their platform's table has it.
 */
#ifndef COLLECTIVES_MEMORY_CPU_H
#define COLLECTIVES_MEMORY_CPU_H

#include "collectives/platform.h"

extern const struct jd_device_memory jd__memory_cpu;

#endif
