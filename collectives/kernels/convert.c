/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert.c - any type into any other, by way of a common one that holds what
 * the two hold: 64 bits for integers, F32 for the small floating types and
 * itself, F64 for the rest.
 */
#include "base/status.h"
#include "collectives/kernels/convert_loops.h"
#include "collectives/kernels/storage.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    BLOCK = 512 /* elements that are on the way at a time */
};

static bool is_complex(jd_dtype dtype)
{
    return dtype == JD_C64 || dtype == JD_C128;
}

static bool is_small(jd_dtype dtype)
{
    return jd__fold_loops()->widen[dtype] != NULL;
}

/* To the common type and from it; NULL where it is the type itself. */
struct convert_way {
    jd_fold_change *there, *back;
};

static struct convert_way find_way(jd_dtype from, jd_dtype to)
{
    const struct jd_fold_loops *loops = jd__fold_loops();
    const struct jd_convert_loops *convert = loops->convert;
    if (convert->to_bits[from] && convert->from_bits[to])
        return (struct convert_way){ convert->to_bits[from],
                                     convert->from_bits[to] };
    bool fits_f32 =
        (is_small(from) || from == JD_F32) && (is_small(to) || to == JD_F32);
    if (fits_f32)
        return (struct convert_way){ loops->widen[from], loops->narrow[to] };
    bool is_long = to == JD_F64 || to == JD_C128;
    jd_fold_change *there = convert->to_double[from];
    if (!is_long && convert->to_odd_double[from])
        there = convert->to_odd_double[from];
    return (struct convert_way){ from == JD_F64 ? NULL : there,
                                 to == JD_F64 ? NULL
                                              : convert->from_double[to] };
}

static void convert_in_steps(struct convert_way way, const unsigned char *in,
                             size_t in_size, unsigned char *out,
                             size_t out_size, size_t count)
{
    double between[BLOCK];
    if (!way.there || !way.back) {
        (way.there ? way.there : way.back)(out, in, count);
        return;
    }
    for (size_t i = 0; i < count; i += BLOCK) {
        size_t n = count - i < BLOCK ? count - i : BLOCK;
        way.there(between, in + i * in_size, n);
        way.back(out + i * out_size, between, n);
    }
}

/* A complex number is true where one of its parts is. */
static void complex_to_pred(jd_dtype part, const unsigned char *in,
                            unsigned char *out, size_t count)
{
    unsigned char parts[2 * BLOCK];
    size_t size = jd_dtype_size(part);
    for (size_t i = 0; i < count; i += BLOCK) {
        size_t n = count - i < BLOCK ? count - i : BLOCK;
        convert_in_steps(find_way(part, JD_PRED), in + 2 * i * size, size,
                         parts, 1, 2 * n);
        for (size_t j = 0; j < n; j++)
            out[i + j] = parts[2 * j] | parts[2 * j + 1];
    }
}

static void convert_vector(const void *in, jd_dtype from, void *out,
                           jd_dtype to, size_t count)
{
    size_t in_size = jd_dtype_size(from), out_size = jd_dtype_size(to);
    jd_dtype part = from == JD_C64 ? JD_F32 : JD_F64;
    if (from == to) {
        if (in != out)
            memcpy(out, in, count * in_size);
    } else if (jd__storage_is(from) || jd__storage_is(to)) {
        jd__convert_storage(in, from, out, to, count);
    } else if (is_complex(from) && to == JD_PRED) {
        complex_to_pred(part, in, out, count);
    } else if (is_complex(from) && is_complex(to)) {
        convert_in_steps(find_way(part, to == JD_C64 ? JD_F32 : JD_F64), in,
                         in_size / 2, out, out_size / 2, 2 * count);
    } else {
        convert_in_steps(find_way(from, to), in, in_size, out, out_size, count);
    }
}

static jd_status check_type(const char *argument, jd_dtype dtype)
{
    if (jd_dtype_size(dtype) > 0)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "jd_convert: %s is %d, which is no jd_dtype; jd_dtype.h "
                   "lists them",
                   argument, (int)dtype);
}

static jd_status check_vector(const char *argument, const void *data,
                              jd_dtype dtype, size_t count)
{
    if (!data)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_convert: %s is NULL, but count is %zu", argument,
                       count);
    if (count > SIZE_MAX / 2 / jd_dtype_size(dtype))
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_convert: count is %zu, but no %s of so many %s "
                       "exists; was it computed with a negative number?",
                       count, argument, jd_dtype_name(dtype));
    return JD_OK;
}

static jd_status check_overlap(const void *in, jd_dtype from, const void *out,
                               jd_dtype to, size_t count)
{
    uintptr_t a = (uintptr_t)in, b = (uintptr_t)out;
    size_t in_size = jd_dtype_size(from), out_size = jd_dtype_size(to);
    bool apart = a + count * in_size <= b || b + count * out_size <= a;
    if (apart || (a == b && in_size == out_size))
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "jd_convert: out overlaps in: %zu %s of %zu bytes and %s of "
                   "%zu bytes; out must be apart from in, or be in where "
                   "elements have the same size",
                   count, jd_dtype_name(from), in_size, jd_dtype_name(to),
                   out_size);
}

jd_status jd_convert(const void *in, jd_dtype from, void *out, jd_dtype to,
                     size_t count)
{
    jd_status status = check_type("from", from);
    if (status == JD_OK)
        status = check_type("to", to);
    if (status != JD_OK || count == 0)
        return status;
    status = check_vector("in", in, from, count);
    if (status == JD_OK)
        status = check_vector("out", out, to, count);
    if (status == JD_OK)
        status = check_overlap(in, from, out, to, count);
    if (status == JD_OK)
        convert_vector(in, from, out, to, count);
    return status;
}
