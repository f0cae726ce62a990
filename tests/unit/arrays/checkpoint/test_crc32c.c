/* SPDX-License-Identifier: BSD-3-Clause */
/* test_crc32c.c - checksums known from elsewhere, and by bits. */
#include "arrays/checkpoint/crc32c.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static const char *const variants[] = { "sse4.2", "portable" };
enum { NUM_VARIANTS = 2, MANY = 100000 };

static unsigned char bytes[MANY + 16];

/* A bit at a time, as the definition has it. */
static uint32_t by_bits(const unsigned char *data, size_t count)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < count; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

static void fill(void)
{
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof bytes; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(x >> 24);
    }
}

/* A processor without the instruction has the other one tested twice. */
static void use_variant(int i)
{
    if (!jd__crc32c_set_variant(variants[i]))
        ck_assert(jd__crc32c_set_variant("portable"));
}

/* RFC 3720, appendix B.4. */
START_TEST(known_checksums)
{
    unsigned char data[32];
    use_variant(_i);
    ck_assert_uint_eq(jd__crc32c(0, "123456789", 9), 0xe3069283);
    ck_assert_uint_eq(jd__crc32c(0, "", 0), 0);
    ck_assert_uint_eq(jd__crc32c(7, NULL, 0), 7);
    memset(data, 0, sizeof data);
    ck_assert_uint_eq(jd__crc32c(0, data, 32), 0x8a9136aa);
    memset(data, 0xff, sizeof data);
    ck_assert_uint_eq(jd__crc32c(0, data, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        data[i] = (unsigned char)i;
    ck_assert_uint_eq(jd__crc32c(0, data, 32), 0x46dd794e);
}
END_TEST

START_TEST(all_lengths_and_places)
{
    static const size_t lengths[] = { 24575, 24576, 24577, 49152, 73731, MANY };
    fill();
    use_variant(_i);
    for (size_t n = 0; n < 100; n++)
        ck_assert_uint_eq(jd__crc32c(0, bytes + n % 9, n),
                          by_bits(bytes + n % 9, n));
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        ck_assert_uint_eq(jd__crc32c(0, bytes + i, lengths[i]),
                          by_bits(bytes + i, lengths[i]));
}
END_TEST

START_TEST(parts_make_the_whole)
{
    fill();
    use_variant(_i);
    uint32_t whole = by_bits(bytes, MANY);
    for (size_t first = 0; first <= MANY; first += 7919) {
        uint32_t a = jd__crc32c(0, bytes, first);
        uint32_t b = jd__crc32c(0, bytes + first, MANY - first);
        ck_assert_uint_eq(jd__crc32c(a, bytes + first, MANY - first), whole);
        ck_assert_uint_eq(jd__crc32c_join(a, b, MANY - first), whole);
    }
}
END_TEST

START_TEST(an_unknown_variant_is_refused)
{
#ifndef __x86_64__
    ck_assert(!jd__crc32c_set_variant("sse4.2"));
#endif
    ck_assert(!jd__crc32c_set_variant("sse9"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("crc32c");
    TCase *tcase = unit_case(suite, "checksums");
    tcase_add_loop_test(tcase, known_checksums, 0, NUM_VARIANTS);
    tcase_add_loop_test(tcase, all_lengths_and_places, 0, NUM_VARIANTS);
    tcase_add_loop_test(tcase, parts_make_the_whole, 0, NUM_VARIANTS);
    tcase_add_test(tcase, an_unknown_variant_is_refused);
    return unit_main(suite);
}
