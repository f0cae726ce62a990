/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvtx_tool.c - in Nsight's place: what NVTX loads where NVTX_INJECTION64_PATH
 * is this library. It prints each range as it begins, one within another
 * further to the right, and at the end how many there were and how many had not
 * ended.
 */
#include <nvtx3/nvToolsExt.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

static atomic_int num_ranges, num_open;
static _Thread_local int depth;
static char the_domain[] = "jd";

static nvtxDomainHandle_t NVTX_API create_domain(const char *name)
{
    fprintf(stderr, "nvtx: domain %s\n", name);
    return (nvtxDomainHandle_t)(void *)the_domain;
}

static int NVTX_API push(nvtxDomainHandle_t domain,
                         const nvtxEventAttributes_t *event)
{
    if ((void *)domain != the_domain)
        abort();
    fprintf(stderr, "nvtx: %*s%s, %llu bytes\n", 2 * depth, "",
            event->message.ascii, (unsigned long long)event->payload.ullValue);
    atomic_fetch_add(&num_ranges, 1);
    atomic_fetch_add(&num_open, 1);
    return depth++;
}

static int NVTX_API pop(nvtxDomainHandle_t domain)
{
    (void)domain;
    atomic_fetch_sub(&num_open, 1);
    return --depth;
}

static __attribute__((destructor)) void print_sum(void)
{
    if (atomic_load(&num_ranges))
        fprintf(stderr, "nvtx: %d ranges, %d not ended\n",
                atomic_load(&num_ranges), atomic_load(&num_open));
}

/* What the headers call is in this table, by its number. */
__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (!callbacks ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size))
        return 0;
    if (size <= NVTX_CBID_CORE2_DomainCreateA)
        return 0;
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create_domain;
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
