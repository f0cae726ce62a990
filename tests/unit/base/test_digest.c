/* SPDX-License-Identifier: BSD-3-Clause */
/* test_digest.c - a digest sees every bit, every place, the length, and what it
 * goes on from. */
#include "base/digest.h"
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

static bool differs(const void *a, size_t a_bytes, const void *b,
                    size_t b_bytes)
{
    struct jd_value_digest one = jd__digest_value(a, a_bytes),
                           other = jd__digest_value(b, b_bytes);
    bool differ = memcmp(&one, &other, sizeof one) != 0;
    ck_assert_int_eq(jd__digest(0, a, a_bytes) != jd__digest(0, b, b_bytes),
                     differ);
    return differ;
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

/* Parts of a value that have changed places. */
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

START_TEST(what_it_goes_on_from_counts)
{
    for (size_t bytes = 0; bytes < 300; bytes++) {
        uint64_t one = jd__digest(1, value, bytes);
        ck_assert_uint_ne(one, jd__digest(2, value, bytes));
        ck_assert_uint_eq(one, jd__digest(1, value, bytes));
        ck_assert_uint_ne(jd__digest(one, value, 8),
                          jd__digest(0, value, bytes + 8));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("digest");
    TCase *tcase = unit_case(suite, "digest");
    tcase_add_checked_fixture(tcase, draw_value, NULL);
    tcase_add_test(tcase, equal_bytes_have_the_same_digest);
    tcase_add_test(tcase, every_bit_counts);
    tcase_add_test(tcase, the_length_counts);
    tcase_add_test(tcase, the_order_counts);
    tcase_add_test(tcase, what_it_goes_on_from_counts);
    return unit_main(suite);
}
