/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fold_kernels.cu - fold.h by kernels. A fold is limited by memory: each thread
 * takes 16 bytes of all vectors at a time where they are aligned so.
 */
#include "collectives/cuda/fold.h"

#include "collectives/cuda/fold_element.cuh"

#include <string.h>

enum { PACK_BYTES = 16, THREADS = 256 };
static const size_t MAX_BLOCKS = 2048; /* more than any GPU runs at once */

/* The vectors as kernels take them: in bytes, and the count in what the fold
 * folds. */
struct vectors {
    const unsigned char *in;
    size_t stride;
    int terms;
    int divisor;
    unsigned char *out;
    size_t count;
};

/* What is read and written at once. */
template <int BYTES> struct word;
template <> struct word<1> {
    typedef uint8_t type;
};
template <> struct word<2> {
    typedef uint16_t type;
};
template <> struct word<4> {
    typedef uint32_t type;
};
template <> struct word<8> {
    typedef uint64_t type;
};
template <> struct word<16> {
    typedef uint4 type;
};

/* SIZE bytes of numbers, from or to memory that is aligned to ALIGNMENT. */
template <int SIZE, int ALIGNMENT>
static __device__ __forceinline__ void load(void *numbers,
                                            const unsigned char *from)
{
    typedef typename word<ALIGNMENT>::type Word;
    Word words[SIZE / ALIGNMENT];
#pragma unroll
    for (int i = 0; i < SIZE / ALIGNMENT; i++)
        words[i] = ((const Word *)from)[i];
    memcpy(numbers, words, SIZE);
}

template <int SIZE, int ALIGNMENT>
static __device__ __forceinline__ void store(unsigned char *to,
                                             const void *numbers)
{
    typedef typename word<ALIGNMENT>::type Word;
    Word words[SIZE / ALIGNMENT];
    memcpy(words, numbers, SIZE);
#pragma unroll
    for (int i = 0; i < SIZE / ALIGNMENT; i++)
        ((Word *)to)[i] = words[i];
}

/* The numbers that begin at the byte: all vectors' are read before the result
 * is written, which may be one of them. */
template <class Fold, int SIZE, int ALIGNMENT>
static __device__ __forceinline__ void fold_pack(const struct vectors &v,
                                                 size_t at)
{
    const int NUMBERS = SIZE / sizeof(typename Fold::stored);
    typename Fold::stored x[NUMBERS];
    typename Fold::wide result[NUMBERS];
    load<SIZE, ALIGNMENT>(x, v.in + at);
#pragma unroll
    for (int i = 0; i < NUMBERS; i++)
        result[i] = Fold::first(x[i]);
#pragma unroll 4
    for (int k = 1; k < v.terms; k++) {
        load<SIZE, ALIGNMENT>(x, v.in + k * v.stride + at);
#pragma unroll
        for (int i = 0; i < NUMBERS; i++)
            result[i] = Fold::next(result[i], x[i]);
    }
#pragma unroll
    for (int i = 0; i < NUMBERS; i++)
        x[i] = Fold::last(result[i], v.divisor);
    store<SIZE, ALIGNMENT>(v.out + at, x);
}

/* Number by number. */
template <class Fold, int ALIGNMENT>
static __global__ void __launch_bounds__(THREADS) fold_numbers(struct vectors v)
{
    const int SIZE = sizeof(typename Fold::stored);
    size_t step = (size_t)gridDim.x * THREADS;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < v.count;
         i += step)
        fold_pack<Fold, SIZE, ALIGNMENT>(v, i * SIZE);
}

/* In packs, and the numbers after the last whole one by the first threads. */
template <class Fold>
static __global__ void __launch_bounds__(THREADS) fold_packs(struct vectors v)
{
    const int SIZE = sizeof(typename Fold::stored);
    const int NUMBERS = PACK_BYTES / SIZE;
    size_t step = (size_t)gridDim.x * THREADS;
    size_t first = blockIdx.x * (size_t)THREADS + threadIdx.x;
    size_t packs = v.count / NUMBERS;
    for (size_t i = first; i < packs; i += step)
        fold_pack<Fold, PACK_BYTES, PACK_BYTES>(v, i * PACK_BYTES);
    if (first < v.count % NUMBERS)
        fold_pack<Fold, SIZE, SIZE>(v, packs * PACK_BYTES + first * SIZE);
}

/* The widest accesses that the vectors allow. */
template <class Fold> static const void *kernel_of(const struct vectors &v)
{
    const size_t SIZE = sizeof(typename Fold::stored);
    size_t common = (size_t)v.in | (size_t)v.out | v.stride;
    if (common % PACK_BYTES == 0)
        return (const void *)fold_packs<Fold>;
    if (common % SIZE == 0)
        return (const void *)fold_numbers<Fold, (int)SIZE>;
    return (const void *)fold_numbers<Fold, 1>;
}

static unsigned blocks_for(size_t count, size_t at_once)
{
    size_t blocks = (count / at_once + THREADS) / THREADS;
    return (unsigned)(blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS);
}

/* fold_visit() calls it with the Fold of the pair. */
struct launcher {
    const struct jd_cuda_fold *fold;
    cudaStream_t stream;
    cudaError_t error;

    template <class Fold> void run(int parts)
    {
        const size_t SIZE = sizeof(typename Fold::stored);
        struct vectors v = { (const unsigned char *)fold->in,
                             fold->stride * parts * SIZE,
                             fold->terms,
                             fold->divisor,
                             (unsigned char *)fold->out,
                             fold->count * parts };
        void *args[] = { &v };
        const void *kernel = kernel_of<Fold>(v);
        size_t at_once =
            kernel == (const void *)fold_packs<Fold> ? PACK_BYTES / SIZE : 1;
        error = cudaLaunchKernel(kernel, dim3(blocks_for(v.count, at_once)),
                                 dim3(THREADS), args, 0, stream);
    }
};

extern "C" cudaError_t jd__cuda_fold(const struct jd_cuda_fold *fold,
                                     cudaStream_t stream)
{
    if (fold->count == 0)
        return cudaSuccess;
    if (fold->terms == 1 && fold->op != JD_REDUCE_MEAN)
        return fold->in == fold->out
                   ? cudaSuccess
                   : cudaMemcpyAsync(fold->out, fold->in,
                                     fold->count * jd_dtype_size(fold->dtype),
                                     cudaMemcpyDeviceToDevice, stream);
    struct launcher launcher = { fold, stream, cudaErrorInvalidValue };
    fold_visit(fold->dtype, fold->op, launcher);
    return launcher.error;
}

extern "C" cudaError_t jd__cuda_fold_keys(const struct jd_cuda_fold *fold,
                                          enum jd_order_way way,
                                          cudaStream_t stream)
{
    struct jd_cuda_fold one = *fold;
    struct launcher launcher = { &one, stream, cudaErrorInvalidValue };
    one.terms = 1;
    if (fold->count == 0)
        return cudaSuccess;
    fold_visit_keys(fold->dtype, fold->op, way, launcher);
    return launcher.error;
}

/* Looking at a kernel loads it. */
struct loader {
    cudaError_t error;

    void load(const void *kernel)
    {
        struct cudaFuncAttributes attributes;
        if (error == cudaSuccess)
            error = cudaFuncGetAttributes(&attributes, kernel);
    }

    template <class Fold> void run(int)
    {
        load((const void *)fold_packs<Fold>);
        load((const void *)
                 fold_numbers<Fold, (int)sizeof(typename Fold::stored)>);
        load((const void *)fold_numbers<Fold, 1>);
    }
};

static void load_pair(jd_dtype dtype, enum jd_reduce op, struct loader &loader)
{
    fold_visit(dtype, op, loader);
    fold_visit_keys(dtype, op, JD_ORDER_TO_KEYS, loader);
    fold_visit_keys(dtype, op, JD_ORDER_FROM_KEYS, loader);
}

extern "C" cudaError_t jd__cuda_fold_load(void)
{
    struct loader loader = { cudaSuccess };
    for (int dtype = 0; dtype <= JD_F8E4M3FN; dtype++)
        for (int op = 0; op < JD_REDUCE_COUNT; op++)
            load_pair((jd_dtype)dtype, (enum jd_reduce)op, loader);
    return loader.error;
}

extern "C" const char *jd__cuda_fold_way(void)
{
    return "kernels";
}
