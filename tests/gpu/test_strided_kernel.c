/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_strided_kernel.c - for scripts/test-gpu: the kernel that copies boxes,
 * on this machine's first GPU, against the host's copy of the same: boxes of
 * any shape, words of every width, and rows of more than 2 GiB of distance
 * where the memory is there.
 */
#include "collectives/cuda/strided.h"
#include "tests/unit/draw_nest.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = DRAWN_NEST_ROOM, ROUNDS = 500 };

static unsigned char from[ROOM], to[ROOM], wanted[ROOM];
static unsigned char *memory; /* the GPU's: from, then to */

static void check(cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return;
    printf("%s: %s\n", call, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}

/* Into wanted; the box is of the GPU's memory. */
static void copy_rows(struct jd_nest nest)
{
    size_t at[JD_NEST_LOOPS] = { 0 };
    do
        for (size_t i = 0; i < nest.rows.count; i++)
            memcpy(wanted + ((unsigned char *)nest.rows.to - memory - ROOM) +
                       i * nest.rows.to_pitch,
                   from + ((const unsigned char *)nest.rows.from - memory) +
                       i * nest.rows.from_pitch,
                   nest.rows.row);
    while (jd__nest_next(&nest, at));
}

static bool is_same(const struct jd_nest *nest)
{
    memset(wanted, 0xa5, ROOM);
    copy_rows(*nest);
    check(cudaMemset(memory + ROOM, 0xa5, ROOM), "cudaMemset");
    check(jd__cuda_strided(nest, NULL), "jd__cuda_strided");
    check(cudaMemcpy(to, memory + ROOM, ROOM, cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    if (memcmp(to, wanted, ROOM) == 0)
        return true;
    printf("%zu rows of %zu bytes in %d loops: other bytes than the host's\n",
           nest->rows.count, nest->rows.row, nest->num_loops);
    return false;
}

static int try_unit(size_t unit)
{
    unsigned seed = (unsigned)unit;
    int failures = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct jd_nest nest = draw_nest(&seed, unit, memory + ROOM, memory);
        failures += !is_same(&nest);
    }
    return failures;
}

/* Two rows of a byte, 3 GiB apart. */
static int try_far(void)
{
    const size_t far = (size_t)3 << 30;
    unsigned char *block, there[2];
    if (cudaMalloc((void **)&block, far + 64) != cudaSuccess) {
        cudaGetLastError();
        puts("rows 3 GiB apart: not tried, the GPU has not so much memory");
        return 0;
    }
    check(cudaMemset(block, 1, 1), "cudaMemset");
    check(cudaMemset(block + far, 2, 1), "cudaMemset");
    const struct jd_nest nest = { .rows = { block + 8, block, far, far, 1,
                                            2 } };
    check(jd__cuda_strided(&nest, NULL), "jd__cuda_strided");
    for (int i = 0; i < 2; i++)
        check(cudaMemcpy(&there[i], block + 8 + (size_t)i * far, 1,
                         cudaMemcpyDeviceToHost),
              "cudaMemcpy");
    check(cudaFree(block), "cudaFree");
    return there[0] != 1 || there[1] != 2;
}

int main(void)
{
    int failures = 0;
    for (size_t i = 0; i < ROOM; i++)
        from[i] = (unsigned char)(i * 37 + i / 251);
    check(cudaMalloc((void **)&memory, 2 * (size_t)ROOM), "cudaMalloc");
    check(cudaMemcpy(memory, from, ROOM, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(jd__cuda_strided_load(), "jd__cuda_strided_load");
    for (size_t unit = 1; unit <= 32; unit *= 2)
        failures += try_unit(unit);
    failures += try_far();
    check(cudaFree(memory), "cudaFree");
    printf("boxes of words of 1 to 16 bytes: %d failures\n", failures);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
