/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert_storage.c - conversions from and to the types that are kept alone, by
 * way of F64, or of 64 bits between integers, a code at a time: who has such
 * numbers has them once.
 */
#include "collectives/kernels/convert_loops.h"
#include "collectives/kernels/storage.h"

#include <string.h>

enum {
    BLOCK = 512 /* elements that are on the way at a time */
};

static bool is_integer(jd_dtype dtype)
{
    return jd__storage_is(dtype)
               ? jd__storage_is_integer(dtype)
               : jd__fold_loops()->convert->to_bits[dtype] != NULL;
}

static void read_doubles(jd_dtype from, const unsigned char *in, double *out,
                         size_t count)
{
    const struct jd_convert_loops *loops = jd__fold_loops()->convert;
    if (jd__storage_is(from)) {
        for (size_t i = 0; i < count; i++)
            out[i] = jd__storage_read(from, in[i]);
    } else if (loops->to_odd_double[from]) {
        loops->to_odd_double[from](out, in, count);
    } else {
        loops->to_double[from](out, in, count);
    }
}

static void write_doubles(jd_dtype to, const double *in, unsigned char *out,
                          size_t count)
{
    if (jd__storage_is(to))
        for (size_t i = 0; i < count; i++)
            out[i] = jd__storage_write(to, in[i]);
    else
        jd__fold_loops()->convert->from_double[to](out, in, count);
}

static void read_bits(jd_dtype from, const unsigned char *in, int64_t *out,
                      size_t count)
{
    if (jd__storage_is(from))
        for (size_t i = 0; i < count; i++)
            out[i] = (int64_t)jd__storage_read(from, in[i]);
    else
        jd__fold_loops()->convert->to_bits[from](out, in, count);
}

static void write_bits(jd_dtype to, const int64_t *in, unsigned char *out,
                       size_t count)
{
    if (jd__storage_is(to))
        for (size_t i = 0; i < count; i++)
            out[i] = (uint8_t)(in[i] & 0xf);
    else
        jd__fold_loops()->convert->from_bits[to](out, in, count);
}

void jd__convert_storage(const void *in, jd_dtype from, void *out, jd_dtype to,
                         size_t count)
{
    union {
        double numbers[BLOCK];
        int64_t bits[BLOCK];
    } between;
    size_t in_size = jd_dtype_size(from), out_size = jd_dtype_size(to);
    bool goes_by_bits = is_integer(from) && is_integer(to);
    for (size_t i = 0; i < count; i += BLOCK) {
        size_t n = count - i < BLOCK ? count - i : BLOCK;
        const unsigned char *next = (const unsigned char *)in + i * in_size;
        unsigned char *place = (unsigned char *)out + i * out_size;
        if (goes_by_bits) {
            read_bits(from, next, between.bits, n);
            write_bits(to, between.bits, place, n);
        } else {
            read_doubles(from, next, between.numbers, n);
            write_doubles(to, between.numbers, place, n);
        }
    }
}
