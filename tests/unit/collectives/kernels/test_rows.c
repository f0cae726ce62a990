/* SPDX-License-Identifier: BSD-3-Clause */
/* test_rows.c - copies of rows, one byte at a time beside them. */
#include "collectives/kernels/rows.h"
#include "tests/unit/unit.h"

enum {
    GUARD = 64,
    COUNT = 5,
    MOST = 4200,
    ROOM = 2 * GUARD + COUNT * 2 * MOST
};

static const size_t widths[] = { 0,  1,   2,   3,    4,    7,    8,    16,
                                 17, 255, 511, 1023, 1024, 1025, 2048, 4111 };
static const size_t gaps[] = { 0, 1, 24, 64 };

static unsigned char from[ROOM], to[ROOM], want[ROOM];

static void copy_bytes(const struct jd_rows *rows)
{
    size_t begin = (size_t)((unsigned char *)rows->to - to);
    for (size_t i = 0; i < rows->count; i++)
        for (size_t j = 0; j < rows->row; j++)
            want[begin + i * rows->to_pitch + j] =
                ((const unsigned char *)rows->from)[i * rows->from_pitch + j];
}

static void check(const struct jd_rows *rows, bool streams)
{
    memset(to, 0xa5, sizeof to);
    memset(want, 0xa5, sizeof want);
    copy_bytes(rows);
    jd__rows_copy(rows, streams);
    ck_assert_msg(memcmp(to, want, sizeof to) == 0,
                  "%zu rows of %zu bytes, %zu and %zu apart, streams: %d",
                  rows->count, rows->row, rows->to_pitch, rows->from_pitch,
                  streams);
}

static void check_width(size_t width, size_t to_gap, size_t from_gap)
{
    for (size_t count = 0; count <= COUNT; count += count ? COUNT - 1 : 1)
        for (size_t shift = 0; shift < GUARD; shift += 9) {
            struct jd_rows rows = { .to = to + GUARD + shift,
                                    .from = from + (shift * 5) % GUARD,
                                    .to_pitch = width + to_gap,
                                    .from_pitch = width + from_gap,
                                    .row = width,
                                    .count = count };
            check(&rows, false);
            check(&rows, true);
        }
}

START_TEST(copies_rows_and_nothing_between)
{
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 37 + i / 251);
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
            for (size_t h = 0; h < sizeof gaps / sizeof *gaps; h++)
                check_width(widths[w], gaps[g], gaps[h]);
}
END_TEST

START_TEST(nothing_needs_no_memory)
{
    jd__rows_copy(&(struct jd_rows){ .row = 8, .to_pitch = 9 }, false);
    jd__rows_copy(&(struct jd_rows){ .count = 8, .to_pitch = 9 }, true);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rows");
    TCase *tcase = unit_case(suite, "rows");
    tcase_add_test(tcase, copies_rows_and_nothing_between);
    tcase_add_test(tcase, nothing_needs_no_memory);
    return unit_main(suite);
}
