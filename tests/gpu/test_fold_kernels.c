/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_fold_kernels [LONGEST] - for scripts/test-gpu: the kernels of folds on
 * this machine's first GPU against the cpu platform's folds, bit for bit: every
 * type and operation, several numbers of vectors, lengths (those of up to
 * LONGEST elements, for a sanitizer, under which the longest take long) and
 * alignments.
 */
#include "collectives/cuda/fold.h"
#include "collectives/kernels/fold.h"
#include "tests/unit/fold_reference.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_TERMS = 9,
    MAX_COUNT = 100003,
    ROOM = MAX_TERMS * (MAX_COUNT + 1) * 16 + 64
};

static unsigned char ins[ROOM], result[ROOM], wanted[ROOM];
static unsigned char *memory; /* the GPU's: the vectors, then the result */
static size_t longest = MAX_COUNT;

static void check(cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return;
    printf("%s: %s\n", call, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}

/* What the cpu platform makes of the vectors. */
static void expect(const struct jd_cuda_fold *fold, const unsigned char *from)
{
    const void *vectors[MAX_TERMS];
    size_t stride = fold->stride * jd_dtype_size(fold->dtype);
    for (int k = 0; k < fold->terms; k++)
        vectors[k] = from + (size_t)k * stride;
    jd__fold_find(fold->dtype, fold->op, JD_FOLD_WHOLE)(
        &(struct jd_fold){ .ins = vectors,
                           .outs = (void *[]){ wanted },
                           .num_ins = fold->terms,
                           .num_outs = 1,
                           .count = fold->count,
                           .divisor = fold->divisor });
}

/* What was written at the offset is as wanted, and nothing beside it is. */
static bool is_as_wanted(size_t offset, size_t bytes)
{
    check(cudaMemcpy(result, memory + ROOM, bytes + 64, cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    return result[offset + bytes] == 0xa5 &&
           (offset == 0 || result[offset - 1] == 0xa5) &&
           memcmp(result + offset, wanted, bytes) == 0;
}

/* Keys, or floats of any keys, against the cpu's. */
static bool has_same_keys(struct jd_cuda_fold fold, enum jd_order_way way,
                          size_t offset)
{
    size_t bytes = fold.count * jd_dtype_size(fold.dtype);
    fold.in = memory + offset;
    fold.out = memory + ROOM + offset;
    jd__order_keys_find(fold.dtype, fold.op, way)(
        &(struct jd_fold){ .ins = (const void *[]){ ins + offset },
                           .outs = (void *[]){ wanted },
                           .num_ins = 1,
                           .num_outs = 1,
                           .count = fold.count });
    check(cudaMemset(memory + ROOM, 0xa5, bytes + 64), "cudaMemset");
    check(jd__cuda_fold_keys(&fold, way, NULL), "jd__cuda_fold_keys");
    if (is_as_wanted(offset, bytes))
        return true;
    printf("%s, operation %d, %s keys of %zu elements, %zu bytes on: other "
           "bits than the cpu's, or written beside\n",
           jd_dtype_name(fold.dtype), (int)fold.op,
           way == JD_ORDER_TO_KEYS ? "to" : "from", fold.count, offset);
    return false;
}

/* Whether the GPU gives the same; the vectors begin offset bytes on. */
static bool is_same(struct jd_cuda_fold fold, size_t offset)
{
    size_t bytes = fold.count * jd_dtype_size(fold.dtype);
    fold.in = memory + offset;
    fold.out = memory + ROOM + offset;
    fold.divisor = fold.terms + 2;
    expect(&fold, ins + offset);
    check(cudaMemset(memory + ROOM, 0xa5, bytes + 64), "cudaMemset");
    check(jd__cuda_fold(&fold, NULL), "jd__cuda_fold");
    if (is_as_wanted(offset, bytes))
        return true;
    printf("%s, operation %d of %d vectors of %zu elements, %zu bytes on: "
           "other bits than the cpu's, or written beside\n",
           jd_dtype_name(fold.dtype), (int)fold.op, fold.terms, fold.count,
           offset);
    return false;
}

static int try_pair(jd_dtype dtype, enum jd_reduce op)
{
    static const size_t counts[] = { 1, 15, 1000, MAX_COUNT };
    static const size_t offsets[] = { 0, 16, 8, 1 };
    int failures = 0;
    for (int terms = 1; terms <= MAX_TERMS; terms += 2)
        for (size_t c = 0;
             c < sizeof counts / sizeof *counts && counts[c] <= longest; c++)
            for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++)
                failures +=
                    !is_same((struct jd_cuda_fold){ .dtype = dtype,
                                                    .op = op,
                                                    .stride = counts[c] + o % 2,
                                                    .terms = terms,
                                                    .count = counts[c] },
                             offsets[o]);
    return failures;
}

static int try_keys(jd_dtype dtype, enum jd_reduce op)
{
    static const size_t counts[] = { 1, 1000, MAX_COUNT };
    static const size_t offsets[] = { 0, 8, 1 };
    int failures = 0;
    for (int way = JD_ORDER_TO_KEYS; way <= JD_ORDER_FROM_KEYS; way++)
        for (int c = 0; c < 3 && counts[c] <= longest; c++)
            for (int o = 0; o < 3; o++)
                failures += !has_same_keys(
                    (struct jd_cuda_fold){
                        .dtype = dtype, .op = op, .count = counts[c] },
                    (enum jd_order_way)way, offsets[o]);
    return failures;
}

int main(int argc, char **argv)
{
    int failures = 0, pairs = 0;
    if (argc > 1)
        longest = strtoul(argv[1], NULL, 10);
    check(cudaMalloc((void **)&memory, 2 * (size_t)ROOM), "cudaMalloc");
    for (int d = 0; d < NUM_DTYPES; d++) {
        fill_wild(ins, ROOM - ROOM % 16, dtypes[d]);
        check(cudaMemcpy(memory, ins, ROOM, cudaMemcpyHostToDevice),
              "cudaMemcpy");
        for (int op = 0; op < JD_REDUCE_COUNT; op++)
            if (has_meaning(dtypes[d], (enum jd_reduce)op)) {
                failures += try_pair(dtypes[d], (enum jd_reduce)op);
                if (jd__order_keys_find(dtypes[d], (enum jd_reduce)op,
                                        JD_ORDER_TO_KEYS))
                    failures += try_keys(dtypes[d], (enum jd_reduce)op);
                pairs++;
            }
    }
    check(cudaFree(memory), "cudaFree");
    printf("%d pairs of a type and an operation, of up to %zu elements, by %s: "
           "%d failures\n",
           pairs, longest, jd__cuda_fold_way(), failures);
    return failures || longest < 1 ? EXIT_FAILURE : EXIT_SUCCESS;
}
