/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nccl_variables.h - NCCL's own variables, which it takes before what a program
 * asks for, where the devices are GPUs.
 *
 * Threads: as jd_initialize().
 */
#ifndef RUNTIME_PROCESS_NCCL_VARIABLES_H
#define RUNTIME_PROCESS_NCCL_VARIABLES_H

#include "base/env.h"

/* Sets those that jd wants and nobody has set, and takes away what would break
 * it, before NCCL's first communicator, at which it reads them. */
void jd__nccl_variables_set(void);

/* Says which of them were taken away, or take something away from jd. */
void jd__nccl_variables_warn(const struct jd_env *env);

#endif
