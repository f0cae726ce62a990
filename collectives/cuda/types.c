/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types.c - which NCCL type and operation stands for which of jd's, by table.
 *
 * A pair is native where NCCL gives jd's bits, or, of floating sums, means and
 * products, a result within the rounding of another order. It does not for
 * - pmax and pmin of floats: jd's have NaN win and -0.0 < +0.0. Of F32, F64 and
 *   F8 it is the greatest of integers that are in that order, as many bytes
 *   each, which NCCL has, but for 16 bits;
 * - products of F16 and BF16: NCCL's round after each factor;
 * - F8 (NCCL has it from 2.24 on): its sums round after each summand;
 * - 16-bit integers, which NCCL lacks; products of complex numbers;
 * - and, or and xor, bit by bit.
 * Complex numbers are two floats where parts do not mix; PRED is a U8 of 0 and
 * 1, whose greatest is "or" and whose least is "and".
 */
#include "collectives/cuda/collectives.h"

/* Headers of NCCL before 2.24 name it for C++ alone. */
#define BFLOAT16 ((ncclDataType_t)9)

static const ncclRedOp_t ops[JD_REDUCE_COUNT] = {
    [JD_REDUCE_SUM] = ncclSum,   [JD_REDUCE_MEAN] = ncclAvg,
    [JD_REDUCE_MAX] = ncclMax,   [JD_REDUCE_MIN] = ncclMin,
    [JD_REDUCE_PROD] = ncclProd, [JD_REDUCE_AND] = ncclMin,
    [JD_REDUCE_OR] = ncclMax,
};

#define BIT(op) (1u << JD_REDUCE_##op)
#define ORDERED (BIT(MAX) | BIT(MIN))
#define INTEGER (BIT(SUM) | BIT(PROD) | ORDERED)
#define SUMS (BIT(SUM) | BIT(MEAN))

/* What NCCL does of a type, and as how many of which of its own. */
struct type_row {
    unsigned native; /* bits of enum jd_reduce */
    int parts;
    ncclDataType_t type;
};

static const struct type_row rows[] = {
    [JD_PRED] = { ORDERED | BIT(AND) | BIT(OR), 1, ncclUint8 },
    [JD_S8] = { INTEGER, 1, ncclInt8 },
    [JD_S32] = { INTEGER, 1, ncclInt32 },
    [JD_S64] = { INTEGER, 1, ncclInt64 },
    [JD_U8] = { INTEGER, 1, ncclUint8 },
    [JD_U32] = { INTEGER, 1, ncclUint32 },
    [JD_U64] = { INTEGER, 1, ncclUint64 },
    [JD_F16] = { SUMS, 1, ncclFloat16 },
    [JD_BF16] = { SUMS, 1, BFLOAT16 },
    [JD_F32] = { SUMS | BIT(PROD), 1, ncclFloat32 },
    [JD_F64] = { SUMS | BIT(PROD), 1, ncclFloat64 },
    [JD_C64] = { SUMS, 2, ncclFloat32 },
    [JD_C128] = { SUMS, 2, ncclFloat64 },
};

/* How long the key of a type is, 0: it has none; and NCCL's integer of that
 * length. */
static const unsigned char key_bytes[] = {
    [JD_F8E5M2] = 1,
    [JD_F8E4M3FN] = 1,
    [JD_F32] = 4,
    [JD_F64] = 8,
};
static const ncclDataType_t key_types[] = {
    [1] = ncclInt8,
    [4] = ncclInt32,
    [8] = ncclInt64,
};

static struct jd_cuda_way keyed_way_of(jd_dtype dtype, enum jd_reduce op)
{
    size_t number = (size_t)dtype;
    if (number >= sizeof key_bytes || key_bytes[number] == 0 ||
        !(ORDERED & 1u << op))
        return (struct jd_cuda_way){ .is_native = false };
    return (struct jd_cuda_way){ .is_native = true,
                                 .is_keyed = true,
                                 .type = key_types[key_bytes[number]],
                                 .parts = 1,
                                 .op = ncclMax };
}

struct jd_cuda_way jd__cuda_way_of(jd_dtype dtype, enum jd_reduce op)
{
    size_t number = (size_t)dtype;
    if (number >= sizeof rows / sizeof *rows ||
        !(rows[number].native & 1u << op))
        return keyed_way_of(dtype, op);
    return (struct jd_cuda_way){ .is_native = true,
                                 .type = rows[number].type,
                                 .parts = rows[number].parts,
                                 .op = ops[op] };
}
