/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strided_on_host.cpp - strided_place.cuh one word after the other. Compiled by
 * the compiler of C++ and, as CUDA, by nvcc.
 */
#include "tests/unit/strided_on_host.h"

#include "collectives/cuda/strided_place.cuh"

#include <string.h>

unsigned strided_on_host(const struct jd_nest *nest, int bits)
{
    struct strided box = strided_of(nest);
    for (size_t i = box.total; i > 0; i--) {
        struct strided_word word =
            bits == 32 ? strided_place<uint32_t>(box, (uint32_t)(i - 1))
                       : strided_place<uint64_t>(box, i - 1);
        unsigned char *to = box.to + word.to;
        const unsigned char *from = box.from + word.from;
        if ((size_t)to % box.word || (size_t)from % box.word)
            return 0;
        memcpy(to, from, box.word);
    }
    return box.word;
}
