/* SPDX-License-Identifier: BSD-3-Clause */
/* describe.c - which NCCL and which CUDA this process has, for jd-info. */
#include "collectives/cuda/devices.h"
#include "collectives/cuda/fold.h"

#include <dlfcn.h>
#include <nccl.h>
#include <stdio.h>
#include <unistd.h>

#define SETTINGS "/etc/nccl.conf" /* of the whole host */

/* The library that has the function; "?". */
static const char *file_of(ncclResult_t (*function)(int *))
{
    Dl_info info;
    return dladdr(*(void **)&function, &info) && info.dli_fname ? info.dli_fname
                                                                : "?";
}

static void say_cuda(jd_describe_f say, void *arg, const char *name,
                     cudaError_t (*ask)(int *version))
{
    char text[32];
    int version = 0;
    if (ask(&version) != cudaSuccess || version == 0)
        return;
    snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
    say(arg, name, text);
}

void jd__cuda_describe(jd_describe_f say, void *arg)
{
    char text[32];
    int version = 0;
    if (ncclGetVersion(&version) == ncclSuccess) {
        snprintf(text, sizeof text, "%d.%d.%d", version / 10000,
                 version / 100 % 100, version % 100);
        say(arg, "nccl", text);
        say(arg, "nccl_file", file_of(ncclGetVersion));
    }
    if (access(SETTINGS, R_OK) == 0)
        say(arg, "nccl_settings", SETTINGS);
    say_cuda(say, arg, "cuda_runtime", cudaRuntimeGetVersion);
    say_cuda(say, arg, "cuda_driver", cudaDriverGetVersion);
    say(arg, "reductions_without_nccl", jd__cuda_fold_way());
}
