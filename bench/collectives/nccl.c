/* SPDX-License-Identifier: BSD-3-Clause */
/* nccl.c - NCCL's own calls. What is declared here of NCCL and CUDA is
 * what both promise to keep: names, numbers, and 128 bytes of a unique id. */
#include "bench/collectives/nccl.h"
#include "jd_process.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MODULE "/platform_cuda.so"

struct unique_id {
    char bytes[128];
};

/* Results are 0 where all is well. A communicator and a stream are pointers. */
#define FUNCTIONS(X)                                                           \
    X(cudaGetDeviceCount, (int *count))                                        \
    X(cudaDeviceGetPCIBusId, (char *text, int size, int device))               \
    X(cudaSetDevice, (int device))                                             \
    X(ncclGetUniqueId, (struct unique_id * id))                                \
    X(ncclCommInitRankConfig,                                                  \
      (void **comm, int ranks, struct unique_id id, int rank, void *config))   \
    X(ncclCommDestroy, (void *comm))                                           \
    X(ncclGroupStart, (void))                                                  \
    X(ncclGroupEnd, (void))                                                    \
    X(ncclAllReduce, (const void *in, void *out, size_t count, int type,       \
                      int op, void *comm, void *stream))                       \
    X(ncclReduceScatter, (const void *in, void *out, size_t count, int type,   \
                          int op, void *comm, void *stream))                   \
    X(ncclAllGather, (const void *in, void *out, size_t count, int type,       \
                      void *comm, void *stream))                               \
    X(ncclBroadcast, (const void *in, void *out, size_t count, int type,       \
                      int root, void *comm, void *stream))                     \
    X(ncclSend, (const void *in, size_t count, int type, int to, void *comm,   \
                 void *stream))                                                \
    X(ncclRecv,                                                                \
      (void *out, size_t count, int type, int from, void *comm, void *stream))

struct bench_nccl {
    void *module;
    void *comm;
    int rank, size;
#define FUNCTION_MEMBER(name, parameters) int(*name) parameters;
    FUNCTIONS(FUNCTION_MEMBER)
#undef FUNCTION_MEMBER
};

static void expect(int result, const char *call)
{
    char text[128];
    if (result == 0)
        return;
    snprintf(text, sizeof text,
             "jd-bench: %s gave %d; NCCL_DEBUG=WARN says "
             "more",
             call, result);
    jd_abort(1, text);
}

/* ---- the functions ------------------------------------------------------ */

static int find_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    size_t length = strlen(info->dlpi_name), tail = sizeof MODULE - 1;
    (void)size;
    if (length < tail || strcmp(info->dlpi_name + length - tail, MODULE) != 0)
        return 0;
    *(void **)arg = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return 1;
}

/* Of the module, or of what it is linked with. */
static void *find_function(const struct bench_nccl *nccl, const char *name)
{
    char text[128];
    void *function = dlsym(nccl->module, name);
    if (function)
        return function;
    snprintf(text, sizeof text,
             "jd-bench: the libraries of platform_cuda.so have no %s", name);
    jd_abort(1, text);
}

static void find_functions(struct bench_nccl *nccl)
{
    dl_iterate_phdr(find_module, &nccl->module);
    if (!nccl->module)
        jd_abort(1, "jd-bench: platform_cuda.so is not loaded, so there is no "
                    "NCCL to compare with; jd-info --topology says why");
    void *function;
#define FIND_FUNCTION(name, parameters)                                        \
    function = find_function(nccl, #name);                                     \
    memcpy(&nccl->name, &function, sizeof function);
    FUNCTIONS(FIND_FUNCTION)
#undef FIND_FUNCTION
}

/* ---- the communicator --------------------------------------------------- */

/* jd goes back to the thread's device after each call; NCCL wants its own. */
static void select_device(const struct bench_nccl *nccl,
                          const jd_device *device)
{
    int count = 0;
    char text[32];
    expect(nccl->cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    for (int i = 0; i < count; i++) {
        expect(nccl->cudaDeviceGetPCIBusId(text, sizeof text, i),
               "cudaDeviceGetPCIBusId");
        if (strcasecmp(text, device->pci_bus_id) == 0) {
            expect(nccl->cudaSetDevice(i), "cudaSetDevice");
            return;
        }
    }
}

struct bench_nccl *bench_nccl_open(MPI_Comm comm, const jd_device *device)
{
    struct bench_nccl *nccl = calloc(1, sizeof *nccl);
    struct unique_id id;
    if (!nccl)
        jd_abort(1, "jd-bench: no memory");
    find_functions(nccl);
    select_device(nccl, device);
    MPI_Comm_rank(comm, &nccl->rank);
    MPI_Comm_size(comm, &nccl->size);
    if (nccl->rank == 0)
        expect(nccl->ncclGetUniqueId(&id), "ncclGetUniqueId");
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, comm);
    expect(nccl->ncclCommInitRankConfig(&nccl->comm, nccl->size, id, nccl->rank,
                                        NULL),
           "ncclCommInitRankConfig");
    return nccl;
}

void bench_nccl_close(struct bench_nccl *nccl)
{
    if (!nccl)
        return;
    nccl->ncclCommDestroy(nccl->comm);
    dlclose(nccl->module);
    free(nccl);
}

/* ---- the calls ---------------------------------------------------------- */

/* nccl.h's number; -1: it has no such type. */
static int type_of(jd_dtype dtype)
{
    switch (dtype) {
    case JD_S8:
        return 0;
    case JD_U8:
        return 1;
    case JD_S32:
        return 2;
    case JD_U32:
        return 3;
    case JD_S64:
        return 4;
    case JD_U64:
        return 5;
    case JD_F16:
        return 6;
    case JD_F32:
        return 7;
    case JD_F64:
        return 8;
    case JD_BF16:
        return 9;
    default:
        return -1;
    }
}

bool bench_nccl_can(enum bench_op op, jd_dtype dtype)
{
    return op != BENCH_OP_barrier && type_of(dtype) >= 0;
}

/* A piece to each rank, or all to the next one. */
static void exchange(struct bench_nccl *nccl,
                     const struct bench_nccl_call *call)
{
    bool is_all = call->op == BENCH_OP_all_to_all;
    int type = type_of(call->dtype), n = nccl->size;
    size_t step = call->count * jd_dtype_size(call->dtype);
    const char *in = call->in;
    char *out = call->out;
    expect(nccl->ncclGroupStart(), "ncclGroupStart");
    for (int i = 1; i <= (is_all ? n : 1); i++) {
        int to = (nccl->rank + i) % n, from = (nccl->rank + n - i % n) % n;
        expect(nccl->ncclSend(in + (is_all ? (size_t)to * step : 0),
                              call->count, type, to, nccl->comm, call->stream),
               "ncclSend");
        expect(nccl->ncclRecv(out + (is_all ? (size_t)from * step : 0),
                              call->count, type, from, nccl->comm,
                              call->stream),
               "ncclRecv");
    }
    expect(nccl->ncclGroupEnd(), "ncclGroupEnd");
}

void bench_nccl_call(struct bench_nccl *nccl,
                     const struct bench_nccl_call *call)
{
    enum { SUM = 0, ROOT = 0 };
    int type = type_of(call->dtype);
    const void *in = call->in;
    void *out = call->out;
    switch (call->op) {
    case BENCH_OP_psum:
        expect(nccl->ncclAllReduce(in, out, call->count, type, SUM, nccl->comm,
                                   call->stream),
               "ncclAllReduce");
        break;
    case BENCH_OP_psum_scatter:
        expect(nccl->ncclReduceScatter(in, out, call->count, type, SUM,
                                       nccl->comm, call->stream),
               "ncclReduceScatter");
        break;
    case BENCH_OP_all_gather:
        expect(nccl->ncclAllGather(in, out, call->count, type, nccl->comm,
                                   call->stream),
               "ncclAllGather");
        break;
    case BENCH_OP_pbroadcast:
        expect(nccl->ncclBroadcast(in, out, call->count, type, ROOT, nccl->comm,
                                   call->stream),
               "ncclBroadcast");
        break;
    default:
        exchange(nccl, call);
        break;
    }
}
