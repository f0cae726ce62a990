/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * has_context.c - what test_cuda_program asks the stand-in, asked of the real
 * driver; by its entry point, as jd itself links with the CUDA runtime alone.
 */
#include "tests/nccl_standin/standin.h"

static cudaError_t ask(const char *name, void **ret_function,
                       enum cudaDriverEntryPointQueryResult *ret_found)
{
#if CUDART_VERSION >= 13000
    return cudaGetDriverEntryPointByVersion(name, ret_function, 12000,
                                            cudaEnableDefault, ret_found);
#else
    return cudaGetDriverEntryPoint(name, ret_function, cudaEnableDefault,
                                   ret_found);
#endif
}

bool standin_has_context(int device)
{
    typedef int get_state_f(int device, unsigned *flags, int *is_active);
    union {
        void *address;
        get_state_f *call;
    } get_state = { NULL };
    unsigned flags;
    int is_active = 0;
    enum cudaDriverEntryPointQueryResult found;
    if (ask("cuDevicePrimaryCtxGetState", &get_state.address, &found) !=
            cudaSuccess ||
        found != cudaDriverEntryPointSuccess)
        return false;
    return get_state.call(device, &flags, &is_active) == 0 && is_active;
}
