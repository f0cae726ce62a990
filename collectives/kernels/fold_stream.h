/* SPDX-License-Identifier: BSD-3-Clause */
/* fold_stream.h - for the folds' loops alone: stores that pass the caches. */
#ifndef COLLECTIVES_KERNELS_FOLD_STREAM_H
#define COLLECTIVES_KERNELS_FOLD_STREAM_H

#include "collectives/kernels/fold_number.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

/* One vector of stores that pass the caches, to an aligned place. */
#if defined(__AVX512F__)
#define STREAM_BYTES 64
JD_INLINE void stream_vector(unsigned char *to, const unsigned char *from)
{
    _mm512_stream_si512((void *)to, _mm512_loadu_si512(from));
}
#elif defined(__AVX2__)
#define STREAM_BYTES 32
JD_INLINE void stream_vector(unsigned char *to, const unsigned char *from)
{
    _mm256_stream_si256((void *)to, _mm256_loadu_si256((const void *)from));
}
#elif defined(__SSE2__)
#define STREAM_BYTES 16
JD_INLINE void stream_vector(unsigned char *to, const unsigned char *from)
{
    _mm_stream_si128((void *)to, _mm_loadu_si128((const void *)from));
}
#else
#define STREAM_BYTES 64
JD_INLINE void stream_vector(unsigned char *to, const unsigned char *from)
{
    memcpy(to, from, STREAM_BYTES);
}
#endif

/* Whole cache lines pass the caches; the rest at both ends is copied. */
static void stream_copy(void *to, const void *from, size_t bytes)
{
    enum { LINE = 64 };
    unsigned char *out = to;
    const unsigned char *in = from;
    size_t head = (LINE - (uintptr_t)out % LINE) % LINE;
    if (head > bytes)
        head = bytes;
    memcpy(out, in, head);
    size_t end = head + (bytes - head) / LINE * LINE;
    for (size_t i = head; i < end; i += LINE)
        for (size_t j = 0; j < LINE; j += STREAM_BYTES)
            stream_vector(out + i + j, in + i + j);
    memcpy(out + end, in + end, bytes - end);
}

#endif
