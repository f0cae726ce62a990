/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reference.c - the serial arithmetic: blocks of elements, one member after
 * the other.
 */
#include "numbers.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#define BLOCK 256 /* elements */

/* The parts of a block: integers of up to 8 bytes, sign-extended where they
 * have one; numbers of up to 4 bytes as F32, F64 as itself. */
union wide {
    uint64_t u[2 * BLOCK];
    float f[2 * BLOCK];
    double d[2 * BLOCK];
};

static bool is_double(const struct format *format)
{
    return is_floating(format) && format->bytes == 8;
}

/* What a part's code is as F32; computed once for each code of a type. */
static const float *value_table(const struct format *format)
{
    static float tables[32][65536];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool is_made[32];
    int row = (int)(format - formats);
    pthread_mutex_lock(&lock);
    for (uint64_t code = 0; !is_made[row] && code >> 8 * format->bytes == 0;
         code++)
        tables[row][code] = (float)code_value(format, code);
    is_made[row] = true;
    pthread_mutex_unlock(&lock);
    return tables[row];
}

static inline uint64_t load_code(const struct format *format, const char *from)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (format->bytes) {
    case 1:
        return (unsigned char)*from;
    case 2:
        memcpy(&two, from, sizeof two);
        return two;
    case 4:
        memcpy(&four, from, sizeof four);
        return four;
    default:
        memcpy(&eight, from, sizeof eight);
        return eight;
    }
}

static void widen(const struct format *format, const char *from, size_t parts,
                  union wide *wide)
{
    size_t size = (size_t)format->bytes;
    if (is_double(format)) {
        memcpy(wide->d, from, parts * size);
    } else if (is_floating(format) && size == 4) {
        memcpy(wide->f, from, parts * size);
    } else if (is_floating(format)) {
        const float *table = value_table(format);
        for (size_t i = 0; i < parts; i++)
            wide->f[i] = table[load_code(format, from + i * size)];
    } else {
        uint64_t sign = UINT64_C(1) << (8 * size - 1);
        for (size_t i = 0; i < parts; i++) {
            uint64_t code = load_code(format, from + i * size);
            wide->u[i] = format->is_signed ? (code ^ sign) - sign : code;
        }
    }
}

static void narrow(const struct format *format, const union wide *wide,
                   size_t parts, char *to)
{
    size_t size = (size_t)format->bytes;
    for (size_t i = 0; i < parts; i++) {
        uint64_t code = wide->u[i];
        if (is_double(format)) {
            double d = isnan(wide->d[i]) ? copysign(NAN, 1) : wide->d[i];
            memcpy(&code, &d, sizeof d);
        } else if (is_floating(format) && size == 4) {
            float f = isnan(wide->f[i]) ? copysignf(NAN, 1) : wide->f[i];
            memcpy(&code, &f, sizeof f);
        } else if (is_floating(format)) {
            code = code_nearest(format, (double)wide->f[i]);
        }
        memcpy(to + i * size, &code, size);
    }
}

bool is_nan_element(jd_dtype dtype, const void *element)
{
    const struct format *format = format_of(dtype);
    return is_floating(format) &&
           isnan(code_value(format, load_code(format, element)));
}

/* ---- one member more ---------------------------------------------------- */

static uint64_t fold_integer(const struct format *format, enum reduce op,
                             uint64_t a, uint64_t b)
{
    bool is_less = format->is_signed ? (int64_t)a < (int64_t)b : a < b;
    switch (op) {
    case REDUCE_MAX:
        return is_less ? b : a;
    case REDUCE_MIN:
        return is_less ? a : b;
    case REDUCE_PROD:
        return a * b;
    case REDUCE_AND:
        return a & b;
    case REDUCE_OR:
        return a | b;
    case REDUCE_XOR:
        return a ^ b;
    default:
        return a + b;
    }
}

/* NaN wins, and -0.0 is less than +0.0. */
static double extreme(enum reduce op, double a, double b)
{
    bool is_less = a < b || (a == b && signbit(a) && !signbit(b));
    if (isnan(a) || isnan(b))
        return NAN;
    return is_less == (op == REDUCE_MAX) ? b : a;
}

#define FOLD_NUMBERS(type, a, b, parts)                                        \
    do {                                                                       \
        for (size_t i = 0; i < (parts); i++)                                   \
            (a)[i] = op == REDUCE_PROD ? (type)((a)[i] * (b)[i])               \
                     : op == REDUCE_MAX || op == REDUCE_MIN                    \
                         ? (type)extreme(op, (double)(a)[i], (double)(b)[i])   \
                         : (type)((a)[i] + (b)[i]);                            \
    } while (0)

#define MULTIPLY_COMPLEX(type, a, b, parts)                                    \
    do {                                                                       \
        for (size_t i = 0; i < (parts); i += 2) {                              \
            type real = (a)[i] * (b)[i] - (a)[i + 1] * (b)[i + 1];             \
            (a)[i + 1] = (a)[i] * (b)[i + 1] + (a)[i + 1] * (b)[i];            \
            (a)[i] = real;                                                     \
        }                                                                      \
    } while (0)

static void fold_in(const struct format *format, enum reduce op, union wide *a,
                    const union wide *b, size_t parts)
{
    bool is_complex_product = op == REDUCE_PROD && format->parts == 2;
    if (!is_floating(format))
        for (size_t i = 0; i < parts; i++)
            a->u[i] = fold_integer(format, op, a->u[i], b->u[i]);
    else if (is_double(format) && is_complex_product)
        MULTIPLY_COMPLEX(double, a->d, b->d, parts);
    else if (is_complex_product)
        MULTIPLY_COMPLEX(float, a->f, b->f, parts);
    else if (is_double(format))
        FOLD_NUMBERS(double, a->d, b->d, parts);
    else
        FOLD_NUMBERS(float, a->f, b->f, parts);
}

static void divide(const struct format *format, union wide *a, int divisor,
                   size_t parts)
{
    for (size_t i = 0; i < parts; i++)
        if (is_double(format))
            a->d[i] /= divisor;
        else
            a->f[i] /= (float)divisor;
}

static void fold_block(const struct fold *fold, size_t first, size_t count,
                       char *to)
{
    const struct format *format = format_of(fold->terms.dtype);
    size_t parts = count * (size_t)format->parts;
    char bytes[16 * BLOCK];
    union wide sum, term;
    terms_write(&fold->terms, fold->ids[0], first, count, bytes);
    widen(format, bytes, parts, &sum);
    for (int i = 1; i < fold->members; i++) {
        terms_write(&fold->terms, fold->ids[i], first, count, bytes);
        widen(format, bytes, parts, &term);
        fold_in(format, fold->op, &sum, &term, parts);
    }
    if (fold->op == REDUCE_MEAN)
        divide(format, &sum, fold->members, parts);
    narrow(format, &sum, parts, to);
}

void fold_write(const struct fold *fold, void *wanted)
{
    const struct format *format = format_of(fold->terms.dtype);
    size_t size = (size_t)(format->parts * format->bytes);
    if (fold->members == 1 && fold->op != REDUCE_MEAN) {
        terms_write(&fold->terms, fold->ids[0], fold->first, fold->count,
                    wanted);
        return;
    }
    for (size_t done = 0; done < fold->count; done += BLOCK) {
        size_t left = fold->count - done;
        fold_block(fold, fold->first + done, left < BLOCK ? left : BLOCK,
                   (char *)wanted + done * size);
    }
}

/* ---- in any order ------------------------------------------------------- */

/* A result and how far from it another order may come. */
struct range {
    long double value[2];
    long double slack[2];
};

static void load_element(const struct format *format, const char *from,
                         long double value[2])
{
    value[1] = 0;
    for (int i = 0; i < format->parts; i++)
        value[i] = (long double)code_value(
            format, load_code(format, from + i * format->bytes));
}

static void add_term(struct range *range, enum reduce op, long double term[2])
{
    long double *a = range->value, real;
    if (op == REDUCE_PROD) {
        real = a[0] * term[0] - a[1] * term[1];
        a[1] = a[0] * term[1] + a[1] * term[0];
        a[0] = real;
        range->slack[0] *= fabsl(term[0]) + fabsl(term[1]);
        range->slack[1] = range->slack[0];
    } else {
        a[0] += term[0];
        a[1] += term[1];
        range->slack[0] += fabsl(term[0]);
        range->slack[1] += fabsl(term[1]);
    }
}

/* What a rounding may be off by, of a number's size. */
static long double epsilon_of(const struct fold *fold,
                              const struct format *format)
{
    if (fold->rounds_each_step && format->bytes == 2 && fold->op != REDUCE_PROD)
        return ldexpl(1, -format->mantissa);
    return is_double(format) ? DBL_EPSILON : FLT_EPSILON;
}

/* A member's term is exact; each of the operations rounds once. */
static struct range range_of(const struct fold *fold, size_t index)
{
    const struct format *format = format_of(fold->terms.dtype);
    bool is_product = fold->op == REDUCE_PROD;
    struct range range = { { is_product, 0 }, { is_product, 0 } };
    char bytes[16];
    long double term[2], divisor = fold->op == REDUCE_MEAN ? fold->members : 1;
    for (int i = 0; i < fold->members; i++) {
        terms_write(&fold->terms, fold->ids[i], index, 1, bytes);
        load_element(format, bytes, term);
        if (is_product && format->parts == 1)
            range.value[0] *= term[0], range.slack[0] *= fabsl(term[0]);
        else
            add_term(&range, fold->op, term);
    }
    for (int part = 0; part < 2; part++) {
        range.value[part] /= divisor;
        range.slack[part] *= epsilon_of(fold, format) *
                             (long double)(fold->members + 2) * 2 / divisor;
    }
    return range;
}

/* The part's code is what rounding a number in the range gives. */
static bool is_in_range(const struct format *format, long double value,
                        long double slack, uint64_t code)
{
    if (isnan(value) || isinf(value))
        slack = 0;
    double low = (double)(value - slack), high = (double)(value + slack);
    double got = code_value(format, code);
    if (isnan(value))
        return isnan(got);
    return code == code_nearest(format, low) ||
           code == code_nearest(format, high) || (got >= low && got <= high);
}

size_t fold_check(const struct fold *fold, const void *got)
{
    const struct format *format = format_of(fold->terms.dtype);
    const char *at = got;
    size_t size = (size_t)format->bytes;
    for (size_t i = 0; i < fold->count; i++) {
        struct range range = range_of(fold, fold->first + i);
        for (int part = 0; part < format->parts; part++, at += size)
            if (!is_in_range(format, range.value[part], range.slack[part],
                             load_code(format, at)))
                return i;
    }
    return fold->count;
}
