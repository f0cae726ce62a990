/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_fold_pairs.c - all pairs of the types of 8 bits, and all numbers of
 * those of 16 bits with some, in every variant.
 */
#include "collectives/kernels/fold.h"
#include "tests/unit/fold_reference.h"
#include "tests/unit/unit.h"

enum { ALL = 1 << 16 };

static uint16_t first[ALL], second[ALL], result[ALL], wanted[ALL];

static void expect(jd_dtype dtype, enum jd_reduce op)
{
    size_t size = jd_dtype_size(dtype);
    const unsigned char *a = (void *)first, *b = (void *)second;
    for (size_t i = 0; i < ALL; i++) {
        struct element e = combine(dtype, op, load(dtype, a + i * size),
                                   load(dtype, b + i * size));
        if (op == JD_REDUCE_MEAN)
            e = divide(e, 3);
        store(dtype, e, (unsigned char *)wanted + i * size);
    }
}

static void compare(jd_dtype dtype, enum jd_reduce op, const char *variant)
{
    size_t size = jd_dtype_size(dtype);
    for (size_t i = 0; i < ALL; i++) {
        unsigned a = 0, b = 0, is = 0, should = 0;
        memcpy(&a, (unsigned char *)first + i * size, size);
        memcpy(&b, (unsigned char *)second + i * size, size);
        memcpy(&is, (unsigned char *)result + i * size, size);
        memcpy(&should, (unsigned char *)wanted + i * size, size);
        if (is != should)
            ck_abort_msg("%s: %s op %d of %#x and %#x is %#x not %#x", variant,
                         jd_dtype_name(dtype), (int)op, a, b, is, should);
    }
}

/* The two vectors as they are, by every operation in every variant. */
static void try_vectors(jd_dtype dtype)
{
    for (int i = 0; i < JD_REDUCE_COUNT; i++) {
        enum jd_reduce op = (enum jd_reduce)i;
        if (!has_meaning(dtype, op))
            continue;
        expect(dtype, op);
        for (int v = 0; v < NUM_VARIANTS; v++) {
            if (!jd__fold_set_variant(variants[v]))
                continue;
            memset(result, 0xa5, sizeof result);
            jd__fold_find(dtype, op, JD_FOLD_WHOLE)(
                &(struct jd_fold){ .ins = (const void *[]){ first, second },
                                   .outs = (void *[]){ result },
                                   .num_ins = 2,
                                   .num_outs = 1,
                                   .count = ALL,
                                   .divisor = 3 });
            compare(dtype, op, variants[v]);
        }
    }
}

static const jd_dtype of_8_bits[] = { JD_PRED, JD_S8, JD_U8, JD_F8E5M2,
                                      JD_F8E4M3FN };
static const jd_dtype of_16_bits[] = { JD_S16, JD_U16, JD_F16, JD_BF16 };

START_TEST(all_pairs_of_8_bits)
{
    unsigned char *a = (unsigned char *)first, *b = (unsigned char *)second;
    for (unsigned i = 0; i < ALL; i++) {
        a[i] = (unsigned char)(i >> 8);
        b[i] = (unsigned char)i;
    }
    try_vectors(of_8_bits[_i]);
}
END_TEST

/* Zeros, subnormals, the largest, infinities and NaNs of F16 and of BF16, and
 * some others. */
START_TEST(all_numbers_of_16_bits)
{
    static const uint16_t others[] = {
        0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x007f, 0x0400, 0x0080,
        0x3c00, 0xbc00, 0x3f80, 0xbf80, 0x7bff, 0xfbff, 0x7f7f, 0xff7f,
        0x7c00, 0xfc00, 0x7f80, 0xff80, 0x7e00, 0x7fc0, 0x7c01, 0xff81,
        0x1234, 0x9abc, 0x5678, 0xdef0, 0x3555, 0x4049, 0x2e66, 0xffff,
    };
    for (size_t k = 0; k < sizeof others / sizeof *others; k += UNIT_STRIDE) {
        for (unsigned i = 0; i < ALL; i++) {
            first[i] = (uint16_t)i;
            second[i] = others[k];
        }
        try_vectors(of_16_bits[_i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fold_pairs");
    TCase *tcase = unit_case(suite, "pairs");
    tcase_set_timeout(tcase, 100);
    tcase_add_loop_test(tcase, all_pairs_of_8_bits, 0,
                        sizeof of_8_bits / sizeof *of_8_bits);
    tcase_add_loop_test(tcase, all_numbers_of_16_bits, 0,
                        sizeof of_16_bits / sizeof *of_16_bits);
    return unit_main(suite);
}
