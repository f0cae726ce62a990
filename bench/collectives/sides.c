/* SPDX-License-Identifier: BSD-3-Clause */
/* sides.c - the same collective of jd and of its peer, each on its
 * buffers. */
#include "base/env.h"
#include "bench/collectives/collectives.h"
#include "bench/collectives/nccl.h"
#include "jd_collectives.h"
#include "jd_memory.h"
#include "jd_mpi.h"
#include "jd_process.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sums that MPI has no type for -------------------------------------- */

static float widen_bf16(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint16_t narrow_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/* What a user writes: a plain loop. */
static void add_bf16(void *in, void *inout, int *n, MPI_Datatype *type)
{
    uint16_t *a = inout;
    const uint16_t *b = in;
    (void)type;
    for (int i = 0; i < *n; i++)
        a[i] = narrow_bf16(widen_bf16(a[i]) + widen_bf16(b[i]));
}

/* jd_convert does the work of the compiler's half-precision type. */
static void add_f16(void *in, void *inout, int *n, MPI_Datatype *type)
{
    enum { AT_ONCE = 256 };
    float a[AT_ONCE], b[AT_ONCE];
    (void)type;
    for (int i = 0; i < *n; i += AT_ONCE) {
        size_t part = (size_t)(*n - i < AT_ONCE ? *n - i : AT_ONCE);
        jd_convert((uint16_t *)in + i, JD_F16, a, JD_F32, part);
        jd_convert((uint16_t *)inout + i, JD_F16, b, JD_F32, part);
        for (size_t j = 0; j < part; j++)
            b[j] += a[j];
        jd_convert(b, JD_F32, (uint16_t *)inout + i, JD_F16, part);
    }
}

static MPI_Datatype mpi_type(jd_dtype dtype)
{
    switch (dtype) {
    case JD_S8:
        return MPI_INT8_T;
    case JD_S16:
        return MPI_INT16_T;
    case JD_S32:
        return MPI_INT32_T;
    case JD_S64:
        return MPI_INT64_T;
    case JD_U8:
        return MPI_UINT8_T;
    case JD_U16:
    case JD_F16:
    case JD_BF16:
        return MPI_UINT16_T;
    case JD_U32:
        return MPI_UINT32_T;
    case JD_U64:
        return MPI_UINT64_T;
    case JD_F32:
        return MPI_FLOAT;
    case JD_F64:
        return MPI_DOUBLE;
    case JD_C64:
        return MPI_C_FLOAT_COMPLEX;
    case JD_C128:
        return MPI_C_DOUBLE_COMPLEX;
    default: /* a byte each */
        return MPI_BYTE;
    }
}

static bool is_sum(enum bench_op op)
{
    return op == BENCH_OP_psum || op == BENCH_OP_psum_scatter;
}

bool bench_can(const struct bench_sides *sides, enum bench_side side,
               enum bench_op op, jd_dtype dtype)
{
    bool is_peer = bench_whose(side) == BENCH_PEER;
    if (side >= BENCH_APART && !bench_has_place(op))
        return false;
    if (is_peer && sides->nccl)
        return bench_nccl_can(op, dtype);
    if (!is_sum(op))
        return true;
    return dtype != JD_PRED && (!is_peer || mpi_type(dtype) != MPI_BYTE);
}

/* ---- buffers ------------------------------------------------------------ */

static bool is_device_memory(const struct bench_request *request,
                             enum bench_side side)
{
    return request->on_gpus || (side == BENCH_JD && !request->is_malloced);
}

static void *allocate(const struct bench_request *request, enum bench_side side,
                      size_t bytes)
{
    void *memory = NULL;
    if (is_device_memory(request, side))
        JD_CHECK(jd_device_alloc(jd_local_devices(NULL)[0], bytes, &memory));
    else if (posix_memalign(&memory, 4096, bytes) == 0)
        memset(memory, 0, bytes);
    if (!memory) {
        fprintf(stderr, "jd-bench: no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

static void release(const struct bench_request *request, enum bench_side side,
                    void *memory)
{
    if (is_device_memory(request, side))
        jd_device_free(memory);
    else
        free(memory);
}

/* The first device of each process. */
static void make_mesh(struct bench_sides *sides)
{
    int count, used = 0;
    const jd_device *const *all = jd_devices(&count);
    const jd_device **firsts = malloc((size_t)count * sizeof *firsts);
    if (!firsts)
        jd_abort(1, "jd-bench: no memory");
    for (int i = 0; i < count; i++)
        if (all[i]->local_ordinal == 0)
            firsts[used++] = all[i];
    JD_CHECK(jd_mesh_create(&sides->mesh, 1, &used, (const char *[]){ "x" },
                            firsts));
    free(firsts);
}

static void open_jd(struct bench_sides *sides,
                    const struct bench_request *request)
{
    if (request->on_gpus)
        JD_CHECK(jd__env_export("JD_PLATFORM", "cuda"));
    JD_CHECK(jd_initialize());
    make_mesh(sides);
    sides->me = jd_mesh_shard(sides->mesh);
    if (!sides->me)
        jd_abort(1, jd_error_message());
    sides->comm = jd_mpi_comm();
    sides->has_jd = true;
}

/* The largest size of which the buffers take half of the least GPU's memory. */
static size_t fit_size(const struct bench_sides *sides, size_t least_size,
                       int num_buffers)
{
    unsigned long long own = jd_shard_device(sides->me)->memory_bytes, least;
    size_t bytes = BENCH_GPU_BYTES;
    own = own ? own : ULLONG_MAX; /* not known */
    MPI_Allreduce(&own, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN,
                  sides->comm);
    while (bytes > least_size && bytes > least / 2 / (unsigned)num_buffers)
        bytes /= 2;
    if (sides->rank == 0)
        printf("# sizes up to %zu MiB%s\n", bytes >> 20,
               bytes < BENCH_GPU_BYTES
                   ? ", of which all buffers take half of a GPU's memory"
                   : "");
    return bytes < least_size ? least_size : bytes;
}

static void open_buffers(struct bench_sides *sides,
                         const struct bench_request *request,
                         const bool *is_there)
{
    for (int side = 0; side < BENCH_APART; side++) {
        if (!is_there[side])
            continue;
        int in_place = side + BENCH_APART;
        sides->in[side] = allocate(request, side, request->max_bytes + 64);
        sides->out[side] = allocate(request, side, request->max_bytes + 64);
        if (request->has_both)
            sides->in[in_place] = sides->out[in_place] = sides->out[side];
    }
}

void bench_sides_open(struct bench_sides *sides, struct bench_request *request,
                      bool with_jd, bool with_peer)
{
    const bool is_there[BENCH_APART] = { with_jd, with_peer };
    *sides = (struct bench_sides){ .comm = MPI_COMM_WORLD,
                                   .in_place = request->in_place };
    if (with_jd)
        open_jd(sides, request);
    else
        MPI_Init(NULL, NULL);
    MPI_Comm_rank(sides->comm, &sides->rank);
    MPI_Comm_size(sides->comm, &sides->size);
    MPI_Op_create(add_f16, 1, &sides->add_f16);
    MPI_Op_create(add_bf16, 1, &sides->add_bf16);
    if (request->max_bytes == 0)
        request->max_bytes =
            fit_size(sides, request->min_bytes, 2 * (with_jd + with_peer));
    open_buffers(sides, request, is_there);
    if (request->on_gpus) {
        sides->host = malloc(BENCH_HOST_BYTES);
        if (!sides->host)
            jd_abort(1, "jd-bench: no memory");
    }
    if (request->on_gpus && with_peer)
        sides->nccl = bench_nccl_open(sides->comm, jd_shard_device(sides->me));
}

void bench_sides_close(struct bench_sides *sides,
                       const struct bench_request *request)
{
    bench_nccl_close(sides->nccl);
    free(sides->host);
    for (int side = 0; side < BENCH_APART; side++)
        if (sides->in[side]) {
            release(request, side, sides->in[side]);
            release(request, side, sides->out[side]);
        }
    MPI_Op_free(&sides->add_f16);
    MPI_Op_free(&sides->add_bf16);
    if (sides->has_jd) {
        jd_mesh_destroy(sides->mesh);
        JD_CHECK(jd_shutdown());
    } else {
        MPI_Finalize();
    }
}

/* ---- the calls ---------------------------------------------------------- */

size_t bench_count(const struct bench_sides *sides, enum bench_op op,
                   jd_dtype dtype, size_t bytes)
{
    size_t elements = bytes / jd_dtype_size(dtype);
    switch (op) {
    case BENCH_OP_all_gather:
    case BENCH_OP_psum_scatter:
    case BENCH_OP_all_to_all:
        return elements / (size_t)sides->size;
    case BENCH_OP_barrier:
        return 1;
    default:
        return elements;
    }
}

static void call_jd(struct bench_sides *sides, enum bench_side side,
                    enum bench_op op, jd_dtype dtype, size_t count)
{
    void *in = bench_in(sides, side, op, dtype, count);
    void *out = bench_out(sides, side, op, dtype, count);
    jd_shard *me = sides->me;
    jd_status status = JD_OK;
    switch (op) {
    case BENCH_OP_psum:
        status = jd_psum(me, NULL, in, out, count, dtype);
        break;
    case BENCH_OP_all_gather:
        status = jd_all_gather(me, NULL, in, out, count, dtype);
        break;
    case BENCH_OP_psum_scatter:
        status = jd_psum_scatter(me, NULL, in, out, count, dtype);
        break;
    case BENCH_OP_all_to_all:
        status = jd_all_to_all(me, NULL, in, out, count, dtype);
        break;
    case BENCH_OP_pbroadcast:
        status = jd_pbroadcast(me, NULL, 0, in, out, count, dtype);
        break;
    case BENCH_OP_ppermute: {
        jd_route routes[1024];
        for (int i = 0; i < sides->size; i++)
            routes[i] = (jd_route){ .from = i, .to = (i + 1) % sides->size };
        status =
            jd_ppermute(me, NULL, in, out, count, dtype, routes, sides->size);
        break;
    }
    case BENCH_OP_barrier:
    case BENCH_OPS:
        status = jd_barrier(me, NULL);
        break;
    }
    JD_CHECK(status);
}

static void call_mpi(struct bench_sides *sides, enum bench_side side,
                     enum bench_op op, jd_dtype dtype, size_t elements)
{
    void *in = bench_in(sides, side, op, dtype, elements);
    void *out = bench_out(sides, side, op, dtype, elements);
    const void *given = in == out || side >= BENCH_APART ? MPI_IN_PLACE : in;
    MPI_Datatype type = mpi_type(dtype);
    MPI_Op add = dtype == JD_F16    ? sides->add_f16
                 : dtype == JD_BF16 ? sides->add_bf16
                                    : MPI_SUM;
    if (type == MPI_BYTE)
        elements *= jd_dtype_size(dtype);
    int n = sides->size, count = (int)elements;
    switch (op) {
    case BENCH_OP_psum:
        MPI_Allreduce(given, out, count, type, add, sides->comm);
        break;
    case BENCH_OP_all_gather:
        MPI_Allgather(given, count, type, out, count, type, sides->comm);
        break;
    case BENCH_OP_psum_scatter:
        MPI_Reduce_scatter_block(given, out, count, type, add, sides->comm);
        break;
    case BENCH_OP_all_to_all:
        MPI_Alltoall(in, count, type, out, count, type, sides->comm);
        break;
    case BENCH_OP_pbroadcast:
        if (sides->rank == 0 && in != out)
            memcpy(out, in, elements * (size_t)jd_dtype_size(dtype));
        MPI_Bcast(out, count, type, 0, sides->comm);
        break;
    case BENCH_OP_ppermute:
        MPI_Sendrecv(in, count, type, (sides->rank + 1) % n, 0, out, count,
                     type, (sides->rank + n - 1) % n, 0, sides->comm,
                     MPI_STATUS_IGNORE);
        break;
    case BENCH_OP_barrier:
    case BENCH_OPS:
        MPI_Barrier(sides->comm);
        break;
    }
}

void bench_call_once(struct bench_sides *sides, enum bench_side side,
                     enum bench_op op, jd_dtype dtype, size_t count)
{
    if (bench_whose(side) == BENCH_JD)
        call_jd(sides, side, op, dtype, count);
    else if (sides->nccl)
        bench_nccl_call(sides->nccl,
                        &(struct bench_nccl_call){
                            .op = op,
                            .dtype = dtype,
                            .in = bench_in(sides, side, op, dtype, count),
                            .out = bench_out(sides, side, op, dtype, count),
                            .count = count,
                            .stream = jd_shard_stream(sides->me),
                        });
    else
        call_mpi(sides, side, op, dtype, count);
}

void bench_finish(struct bench_sides *sides)
{
    if (sides->me)
        JD_CHECK(jd_shard_synchronize(sides->me));
}
