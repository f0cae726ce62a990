/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvtx.h - ranges that Nsight Systems and other tools of NVTX show: one for
 * each call, on its thread, from the first step that is put on the stream to
 * the last, in a domain "jd". Its message is "jd_psum of 1024 x F32 over axis
 * \"data\"", its payload the bytes of so many elements.
 *
 * Without a tool a call costs one branch. Where NVTX's headers were not there
 * when the platform was built there are no ranges.
 * Threads: any; begin and end on one.
 */
#ifndef COLLECTIVES_CUDA_NVTX_H
#define COLLECTIVES_CUDA_NVTX_H

#include "collectives/platform/platform.h"

#if JD_HAVE_NVTX
void jd__nvtx_begin(const struct jd_collective *call);
void jd__nvtx_end(void);
#else
static inline void jd__nvtx_begin(const struct jd_collective *call)
{
    (void)call;
}

static inline void jd__nvtx_end(void)
{
}
#endif

#endif
