/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numbers.h - the elements that the suite sends, and a serial reference for
 * what becomes of them. Shares no code with jd: numbers of 8 and 16 bits are
 * converted by ldexp() and nearbyint(), and one loop folds the members from
 * the first to the last.
 *
 *     struct terms terms = { .salt = salt, .dtype = JD_BF16, .flavour = ... };
 *     terms_write(&terms, 3, 0, n, in);             what member 3 gives
 *     fold(&terms, REDUCE_SUM, ids, 4, 0, n, wanted); the sum of four members
 */
#ifndef CONFORMANCE_NUMBERS_H
#define CONFORMANCE_NUMBERS_H

#include "jd_dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum reduce {
    REDUCE_NONE,
    REDUCE_SUM,
    REDUCE_MEAN,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_PROD,
    REDUCE_AND,
    REDUCE_OR,
    REDUCE_XOR
};

/* What the elements are like. */
enum flavour {
    FLAVOUR_BITS,    /* any bits at all; of PRED 0 and 1 */
    FLAVOUR_NUMBERS, /* floating numbers of both signs around 1 */
    FLAVOUR_WILD,    /* and among them NaNs with payloads, infinities, zeros,
                      * subnormals and the largest */
    FLAVOUR_TAME     /* of these only what is the same in any order of a sum:
                      * no subnormals, nothing that overflows */
};

/* A type as the suite sees it: parts (2: complex) of so many bytes. A
 * floating part has a mantissa and an exponent with its bias. */
struct format {
    jd_dtype dtype;
    int parts, bytes;
    int mantissa, exponent, bias;
    bool is_signed;
};

extern const struct format formats[];
extern const int num_formats;
const struct format *format_of(jd_dtype dtype);
bool is_floating(const struct format *format);

/* Whether the operation has a meaning for the type. */
bool has_meaning(enum reduce op, jd_dtype dtype);

/* Random bits out of others. */
uint64_t mix(uint64_t x);

/* The elements of one case: those of member id are a function of all this. */
struct terms {
    uint64_t salt;
    jd_dtype dtype;
    enum flavour flavour;
};

/* Writes elements first..first + count of what member id gives. */
void terms_write(const struct terms *terms, int id, size_t first, size_t count,
                 void *to);

/* Which members are reduced, in order, and which of their elements. */
struct fold {
    struct terms terms;
    enum reduce op;
    const int *ids;
    int members;
    size_t first, count;
    bool rounds_each_step; /* a sum of numbers of 16 bits, as on a GPU */
};

/* What the elements are, bit for bit: a left fold in member order. Numbers of
 * 8 and 16 bits as F32, rounded once; a NaN that was computed is the quiet one
 * without sign and payload. */
void fold_write(const struct fold *fold, void *wanted);

/* The first element of got that is none of what the same terms give in any
 * order, within the rounding of their sum or product; count where all are. */
size_t fold_check(const struct fold *fold, const void *got);

/* Whether the result's bits depend on the order of the terms. */
bool is_order_seen(enum reduce op, jd_dtype dtype);

/* Whether the type is floating, and the element not a number. */
bool is_nan_element(jd_dtype dtype, const void *element);

/* A part's code as a number, and the nearest code to a number. */
double code_value(const struct format *format, uint64_t code);
uint64_t code_nearest(const struct format *format, double value);

#endif
