/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * platform_cuda.c - the platform of GPUs, as libjd sees it: collectives by
 * NCCL, or composed of what NCCL has, on streams of CUDA.
 */
#include "collectives/cuda/comm.h"
#include "collectives/cuda/collectives.h"
#include "collectives/cuda/devices.h"
#include "collectives/cuda/host.h"
#include "collectives/cuda/memory.h"
#include "collectives/cuda/stream.h"

/* The pairs that have a meaning are the same on every platform, and so is what
 * to do instead. */
static jd_status check_reduce(const struct jd_collective *call,
                              enum jd_reduce op)
{
    return jd__host_cpu()->check_reduce(call, op);
}

static const struct jd_platform platform = {
    .source = &jd__cuda_source,
    .memory = &jd__cuda_memory,
    .streams = &jd__cuda_streams,
    .has_nccl = true,
    .check_reduce = check_reduce,
    .comm_create = jd__cuda_comm_create,
    .comm_destroy = jd__cuda_comm_destroy,
    .comm_abort = jd__cuda_comm_abort,
    .comm_find_failed = jd__cuda_comm_find_failed,
    .barrier = jd__cuda_barrier,
    .all_reduce = jd__cuda_all_reduce,
    .reduce_scatter = jd__cuda_reduce_scatter,
    .all_gather = jd__cuda_all_gather,
    .all_to_all = jd__cuda_all_to_all,
    .ragged_all_to_all = jd__cuda_ragged_all_to_all,
    .permute = jd__cuda_permute,
    .broadcast = jd__cuda_broadcast,
    .transfer = jd__cuda_transfer,
};

__attribute__((visibility("default"))) jd_platform_module_f jd__platform_module;

const struct jd_platform *
jd__platform_module(const struct jd_platform_host *host)
{
    return jd__host_set(host) == JD_OK ? &platform : NULL;
}
