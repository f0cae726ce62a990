/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nccl_header.c - prints the values and layouts of <nccl.h> that jd uses, and
 * does not compile where a signature is another. It is built with the
 * stand-in's header and, where NCCL is installed, with the real one:
 * test_headers.sh compares what they print.
 */
#include <nccl.h>

#include <stdio.h>

#define SIGNATURE(name, type)                                                  \
    _Static_assert(_Generic(&(name), type : 1, default : 0),                   \
                   #name " has another signature")

SIGNATURE(ncclMemAlloc, ncclResult_t (*)(void **, size_t));
SIGNATURE(ncclMemFree, ncclResult_t (*)(void *));
SIGNATURE(ncclGetVersion, ncclResult_t (*)(int *));
SIGNATURE(ncclGetUniqueId, ncclResult_t (*)(ncclUniqueId *));
SIGNATURE(ncclGetErrorString, const char *(*)(ncclResult_t));
SIGNATURE(ncclGetLastError, const char *(*)(ncclComm_t));
SIGNATURE(ncclCommInitRankConfig,
          ncclResult_t (*)(ncclComm_t *, int, ncclUniqueId, int,
                           ncclConfig_t *));
SIGNATURE(ncclCommInitRankScalable,
          ncclResult_t (*)(ncclComm_t *, int, int, int, ncclUniqueId *,
                           ncclConfig_t *));
SIGNATURE(ncclCommFinalize, ncclResult_t (*)(ncclComm_t));
SIGNATURE(ncclCommDestroy, ncclResult_t (*)(ncclComm_t));
SIGNATURE(ncclCommAbort, ncclResult_t (*)(ncclComm_t));
SIGNATURE(ncclCommGetAsyncError, ncclResult_t (*)(ncclComm_t, ncclResult_t *));
SIGNATURE(ncclCommRegister,
          ncclResult_t (*)(ncclComm_t, void *, size_t, void **));
SIGNATURE(ncclCommDeregister, ncclResult_t (*)(ncclComm_t, void *));
SIGNATURE(ncclAllReduce,
          ncclResult_t (*)(const void *, void *, size_t, ncclDataType_t,
                           ncclRedOp_t, ncclComm_t, cudaStream_t));
SIGNATURE(ncclReduceScatter,
          ncclResult_t (*)(const void *, void *, size_t, ncclDataType_t,
                           ncclRedOp_t, ncclComm_t, cudaStream_t));
SIGNATURE(ncclAllGather,
          ncclResult_t (*)(const void *, void *, size_t, ncclDataType_t,
                           ncclComm_t, cudaStream_t));
SIGNATURE(ncclBroadcast,
          ncclResult_t (*)(const void *, void *, size_t, ncclDataType_t, int,
                           ncclComm_t, cudaStream_t));
SIGNATURE(ncclSend, ncclResult_t (*)(const void *, size_t, ncclDataType_t, int,
                                     ncclComm_t, cudaStream_t));
SIGNATURE(ncclRecv, ncclResult_t (*)(void *, size_t, ncclDataType_t, int,
                                     ncclComm_t, cudaStream_t));
SIGNATURE(ncclGroupStart, ncclResult_t (*)(void));
SIGNATURE(ncclGroupEnd, ncclResult_t (*)(void));

#define VALUE(name) printf(#name " %lld\n", (long long)(name))
#define FIELD(name)                                                            \
    printf("ncclConfig_t." #name " at %zu, %zu bytes, %lld\n",                 \
           offsetof(ncclConfig_t, name), sizeof config.name,                   \
           (long long)config.name)

static void print_results(void)
{
    VALUE(ncclSuccess);
    VALUE(ncclUnhandledCudaError);
    VALUE(ncclSystemError);
    VALUE(ncclInternalError);
    VALUE(ncclInvalidArgument);
    VALUE(ncclInvalidUsage);
    VALUE(ncclRemoteError);
    VALUE(ncclInProgress);
    VALUE(ncclNumResults);
}

static void print_types(void)
{
    VALUE(ncclInt8);
    VALUE(ncclChar);
    VALUE(ncclUint8);
    VALUE(ncclInt32);
    VALUE(ncclInt);
    VALUE(ncclUint32);
    VALUE(ncclInt64);
    VALUE(ncclUint64);
    VALUE(ncclFloat16);
    VALUE(ncclHalf);
    VALUE(ncclFloat32);
    VALUE(ncclFloat);
    VALUE(ncclFloat64);
    VALUE(ncclDouble);
    VALUE(ncclBfloat16);
    VALUE(ncclFloat8e4m3);
    VALUE(ncclFloat8e5m2);
    VALUE(ncclNumTypes);
}

static void print_operations(void)
{
    VALUE(ncclSum);
    VALUE(ncclProd);
    VALUE(ncclMax);
    VALUE(ncclMin);
    VALUE(ncclAvg);
    VALUE(ncclNumOps);
    VALUE(ncclMaxRedOp);
}

/* size, magic and version are checked by the library, so they are printed. */
static void print_config(void)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    FIELD(size);
    FIELD(magic);
    FIELD(version);
    FIELD(blocking);
    FIELD(cgaClusterSize);
    FIELD(minCTAs);
    FIELD(maxCTAs);
    FIELD(netName);
    FIELD(splitShare);
    FIELD(trafficClass);
    FIELD(commName);
    FIELD(collnetEnable);
    FIELD(CTAPolicy);
    FIELD(shrinkShare);
    FIELD(nvlsCTAs);
    FIELD(nChannelsPerNetPeer);
    FIELD(nvlinkCentricSched);
}

int main(void)
{
    printf("NCCL %d.%d\n", NCCL_MAJOR, NCCL_MINOR);
    VALUE(NCCL_VERSION_CODE);
    VALUE(NCCL_VERSION(2, 7, 8));
    VALUE(NCCL_VERSION(2, 18, 5));
    VALUE(NCCL_SPLIT_NOCOLOR);
    VALUE(NCCL_REVOKE_DEFAULT);
    VALUE(NCCL_CTA_POLICY_DEFAULT);
    VALUE(NCCL_CTA_POLICY_EFFICIENCY);
    VALUE(NCCL_CTA_POLICY_ZERO);
    VALUE(sizeof(ncclUniqueId));
    VALUE(sizeof(ncclDataType_t));
    VALUE(sizeof(ncclRedOp_t));
    print_results();
    print_types();
    print_operations();
    print_config();
    return 0;
}
