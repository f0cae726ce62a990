/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fold_vector.h - for the folds' loops alone: a vector of F32 and what F16 and
 * BF16 have to do with it, in the instructions of the processor that they are
 * compiled for. Compilers find them in plain loops for none of F16 and for a
 * part of BF16. FOLD_VECTORS is defined where there is such a vector.
 */
#ifndef COLLECTIVES_KERNELS_FOLD_VECTOR_H
#define COLLECTIVES_KERNELS_FOLD_VECTOR_H

#include "collectives/kernels/fold_number.h"

#include <stdint.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__)
#define FOLD_VECTORS
enum { LANES = 16 };
typedef __m512 lanes;
typedef __m512i words;

JD_INLINE words load_words(const void *from)
{
    return _mm512_loadu_si512(from);
}

JD_INLINE void store_words(void *to, words x)
{
    _mm512_storeu_si512(to, x);
}

JD_INLINE lanes even_bf16(words x)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
}

JD_INLINE lanes odd_bf16(words x)
{
    const words odd = _mm512_set1_epi32((int)0xffff0000);
    return _mm512_castsi512_ps(_mm512_and_si512(x, odd));
}

/* To nearest in the upper 16 bits: half a unit more, and where that leaves
 * nothing below, it was in the middle, and the even one is the lower. */
JD_INLINE words round_bf16(lanes x)
{
    words bits =
        _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
    __mmask16 middle = _mm512_testn_epi32_mask(bits, _mm512_set1_epi32(0xffff));
    return _mm512_mask_and_epi32(bits, middle, bits,
                                 _mm512_set1_epi32(~0x10000));
}

JD_INLINE words join_bf16(lanes even, lanes odd)
{
    return _mm512_mask_blend_epi16(
        0xaaaaaaaa, _mm512_srli_epi32(round_bf16(even), 16), round_bf16(odd));
}

JD_INLINE lanes load_f16(const void *from)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256(from));
}

JD_INLINE void store_f16(void *to, lanes x)
{
    _mm256_storeu_si256(to, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

JD_INLINE lanes load_f32(const void *from)
{
    return _mm512_loadu_ps(from);
}

JD_INLINE void store_f32(void *to, lanes x)
{
    _mm512_storeu_ps(to, x);
}

JD_INLINE lanes add_lanes(lanes x, lanes y)
{
    return _mm512_add_ps(x, y);
}

JD_INLINE lanes multiply_lanes(lanes x, float by)
{
    return _mm512_mul_ps(x, _mm512_set1_ps(by));
}

JD_INLINE lanes divide_lanes(lanes x, float by)
{
    return _mm512_div_ps(x, _mm512_set1_ps(by));
}

JD_INLINE int any_nan(lanes x, lanes y)
{
    return _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q);
}

JD_INLINE lanes plain_lanes(lanes x)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x,
                                _mm512_set1_ps(jd__f32_of(0x7fc00000)));
}

#elif defined(__AVX2__) && defined(__F16C__)
#define FOLD_VECTORS
enum { LANES = 8 };
typedef __m256 lanes;
typedef __m256i words;

JD_INLINE words load_words(const void *from)
{
    return _mm256_loadu_si256(from);
}

JD_INLINE void store_words(void *to, words x)
{
    _mm256_storeu_si256(to, x);
}

JD_INLINE lanes even_bf16(words x)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(x, 16));
}

JD_INLINE lanes odd_bf16(words x)
{
    const words odd = _mm256_set1_epi32((int)0xffff0000);
    return _mm256_castsi256_ps(_mm256_and_si256(x, odd));
}

JD_INLINE words round_bf16(lanes x)
{
    words bits = _mm256_castps_si256(x);
    words last =
        _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)),
                            last);
}

JD_INLINE words join_bf16(lanes even, lanes odd)
{
    return _mm256_blend_epi16(_mm256_srli_epi32(round_bf16(even), 16),
                              round_bf16(odd), 0xaa);
}

JD_INLINE lanes load_f16(const void *from)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(from));
}

JD_INLINE void store_f16(void *to, lanes x)
{
    _mm_storeu_si128(to, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

JD_INLINE lanes load_f32(const void *from)
{
    return _mm256_loadu_ps(from);
}

JD_INLINE void store_f32(void *to, lanes x)
{
    _mm256_storeu_ps(to, x);
}

JD_INLINE lanes add_lanes(lanes x, lanes y)
{
    return _mm256_add_ps(x, y);
}

JD_INLINE lanes multiply_lanes(lanes x, float by)
{
    return _mm256_mul_ps(x, _mm256_set1_ps(by));
}

JD_INLINE lanes divide_lanes(lanes x, float by)
{
    return _mm256_div_ps(x, _mm256_set1_ps(by));
}

JD_INLINE int any_nan(lanes x, lanes y)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(x, y, _CMP_UNORD_Q));
}

JD_INLINE lanes plain_lanes(lanes x)
{
    return _mm256_blendv_ps(x, _mm256_set1_ps(jd__f32_of(0x7fc00000)),
                            _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}
#endif

#endif
