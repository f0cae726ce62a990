/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strided_kernel.cu - strided.h by a kernel: a thread copies word after word of
 * a box, as wide as the box's alignment allows. Numbers of 32 bits are divided
 * in a fifth of the time of those of 64; few boxes have more words.
 */
#include "collectives/cuda/strided.h"
#include "collectives/cuda/strided_place.cuh"

enum { THREADS = 256 };
static const size_t MAX_BLOCKS = 4096; /* more than any GPU runs at once */

template <class Word, class Index>
static __global__ void __launch_bounds__(THREADS) copy_words(struct strided box)
{
    size_t step = (size_t)gridDim.x * THREADS;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < box.total;
         i += step) {
        struct strided_word word = strided_place<Index>(box, (Index)i);
        *(Word *)(box.to + word.to) = *(const Word *)(box.from + word.from);
    }
}

template <class Word> static const void *kernel_for(const struct strided &box)
{
    return box.total <= UINT32_MAX ? (const void *)copy_words<Word, uint32_t>
                                   : (const void *)copy_words<Word, uint64_t>;
}

static const void *kernel_of(const struct strided &box)
{
    switch (box.word) {
    case 1:
        return kernel_for<uint8_t>(box);
    case 2:
        return kernel_for<uint16_t>(box);
    case 4:
        return kernel_for<uint32_t>(box);
    case 8:
        return kernel_for<uint64_t>(box);
    default:
        return kernel_for<uint4>(box);
    }
}

/* What has no gaps is CUDA's own copy. */
extern "C" cudaError_t jd__cuda_strided(const struct jd_nest *nest,
                                        cudaStream_t stream)
{
    struct strided box = strided_of(nest);
    if (box.total == 0)
        return cudaSuccess;
    if (box.num_loops == 0)
        return cudaMemcpyAsync(box.to, box.from, nest->rows.row,
                               cudaMemcpyDeviceToDevice, stream);
    void *args[] = { &box };
    size_t blocks = (box.total + THREADS - 1) / THREADS;
    return cudaLaunchKernel(
        kernel_of(box),
        dim3((unsigned)(blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS)),
        dim3(THREADS), args, 0, stream);
}

/* Looking at a kernel loads it. */
extern "C" cudaError_t jd__cuda_strided_load(void)
{
    static const size_t totals[] = { 1, SIZE_MAX }; /* of either index */
    cudaError_t error = cudaSuccess;
    struct strided box = {};
    for (box.word = 1; box.word <= 16; box.word *= 2)
        for (int i = 0; i < 2 && error == cudaSuccess; i++) {
            struct cudaFuncAttributes attributes;
            box.total = totals[i];
            error = cudaFuncGetAttributes(&attributes, kernel_of(box));
        }
    return error;
}
