/* SPDX-License-Identifier: BSD-3-Clause */
/* test_value_digest.c - the digest sees every bit, every place and the length.
 */
#include "arrays/array/value_digest.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <time.h>

enum { BYTES = 70000 };

static unsigned char value[BYTES];

static void draw_value(void)
{
    unsigned seed = (unsigned)time(NULL);
    fprintf(stderr, "# seed %u\n", seed);
    for (int i = 0; i < BYTES; i++)
        value[i] = (unsigned char)rand_r(&seed);
}

/* What lies around from other digests is nothing to it. */
static bool differs(const void *a, size_t a_bytes, const void *b,
                    size_t b_bytes)
{
    unsigned char one[JD_VALUE_DIGEST], other[JD_VALUE_DIGEST];
    jd__value_digest(value, 2048, one);
    jd__value_digest(a, a_bytes, one);
    jd__value_digest(value + 7, 2048, other);
    jd__value_digest(b, b_bytes, other);
    return memcmp(one, other, sizeof one) != 0;
}

START_TEST(equal_bytes_have_the_same_digest)
{
    unsigned char *copy = malloc(BYTES + 1);
    memcpy(copy + 1, value, BYTES);
    for (size_t bytes = 0; bytes < BYTES; bytes = bytes * 3 + 1)
        ck_assert(!differs(value, bytes, copy + 1, bytes));
    ck_assert(!differs(NULL, 0, value, 0));
    free(copy);
}
END_TEST

START_TEST(every_bit_counts)
{
    unsigned char copy[BYTES];
    memcpy(copy, value, BYTES);
    for (int bit = 0; bit < 8; bit++)
        for (size_t at = (size_t)bit; at < BYTES; at += 331) {
            copy[at] ^= (unsigned char)(1 << bit);
            if (!differs(value, BYTES, copy, BYTES))
                ck_abort_msg("bit %d of byte %zu", bit, at);
            copy[at] ^= (unsigned char)(1 << bit);
        }
}
END_TEST

START_TEST(the_length_counts)
{
    static const unsigned char zeros[BYTES];
    for (size_t bytes = 0; bytes < 3000; bytes++)
        if (!differs(zeros, bytes, zeros, bytes + 1))
            ck_abort_msg("%zu zeros", bytes);
}
END_TEST

/* Words, quarters of a block of eight, and chunks that have changed places. */
START_TEST(the_order_counts)
{
    static const size_t sizes[] = { 1, 4, 16, 32, 1024, 32768 };
    unsigned char copy[BYTES];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memcpy(copy, value + sizes[i], sizes[i]);
        memcpy(copy + sizes[i], value, sizes[i]);
        memcpy(copy + 2 * sizes[i], value + 2 * sizes[i], BYTES - 2 * sizes[i]);
        ck_assert(memcmp(copy, value, BYTES) == 0 ||
                  differs(value, BYTES, copy, BYTES));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("value digest");
    TCase *tcase = unit_case(suite, "value digest");
    tcase_add_checked_fixture(tcase, draw_value, NULL);
    tcase_add_test(tcase, equal_bytes_have_the_same_digest);
    tcase_add_test(tcase, every_bit_counts);
    tcase_add_test(tcase, the_length_counts);
    tcase_add_test(tcase, the_order_counts);
    return unit_main(suite);
}
