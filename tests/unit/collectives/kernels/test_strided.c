/* SPDX-License-Identifier: BSD-3-Clause */
/* test_strided.c - every stretch of every small shape, beside a loop over
 * bytes. */
#include "collectives/kernels/strided.h"
#include "tests/unit/unit.h"

#include <string.h>

enum { MOST = 96, ROWS = 5, WIDTH = 5, GAP = 2, EDGE = '#' };

/* A shape's bytes among others, which nothing may touch. */
struct area {
    char bytes[MOST];
    struct jd_strided strided;
};

static void lay_out(struct area *area, size_t rows, size_t width, size_t pitch)
{
    memset(area->bytes, EDGE, sizeof area->bytes);
    area->strided = (struct jd_strided){ area->bytes + 3, rows, width, pitch };
}

/* Where the stream's byte is. */
static char *byte_of(struct area *area, size_t i)
{
    struct jd_strided *s = &area->strided;
    return s->base + i / s->width * s->pitch + i % s->width;
}

static void number(struct area *area)
{
    for (size_t i = 0; i < jd__strided_bytes(&area->strided); i++)
        *byte_of(area, i) = (char)(i + 1);
}

static void expect_same(const struct area *found, const struct area *wanted)
{
    ck_assert_mem_eq(found->bytes, wanted->bytes, sizeof found->bytes);
}

static void check_read(struct area *area, size_t begin, size_t bytes)
{
    char out[MOST];
    memset(out, EDGE, sizeof out);
    jd__strided_read(&area->strided, begin, bytes, out + 1);
    ck_assert_int_eq(out[0], EDGE);
    for (size_t i = 0; i < bytes; i++)
        ck_assert_int_eq(out[1 + i], (char)(begin + i + 1));
    ck_assert_int_eq(out[1 + bytes], EDGE);
}

static void check_write(const struct area *shape, size_t begin, size_t bytes)
{
    const struct jd_strided *s = &shape->strided;
    struct area found, wanted;
    char in[MOST];
    lay_out(&found, s->rows, s->width, s->pitch);
    lay_out(&wanted, s->rows, s->width, s->pitch);
    for (size_t i = 0; i < bytes; i++) {
        in[i] = (char)(begin + i + 1);
        *byte_of(&wanted, begin + i) = in[i];
    }
    jd__strided_write(&found.strided, begin, bytes, in);
    expect_same(&found, &wanted);
    lay_out(&found, s->rows, s->width, s->pitch);
    jd__strided_copy_part(&found.strided, s, begin, bytes);
    expect_same(&found, &wanted);
}

static void check_at(struct area *area, size_t begin, size_t bytes)
{
    const char *at = jd__strided_at(&area->strided, begin, bytes);
    bool lies_together = jd__strided_is_flat(&area->strided) ||
                         begin / area->strided.width ==
                             (begin + bytes - 1) / area->strided.width;
    ck_assert_ptr_eq(at, lies_together ? byte_of(area, begin) : NULL);
}

static void check_shape(size_t rows, size_t width, size_t pitch)
{
    struct area area;
    lay_out(&area, rows, width, pitch);
    number(&area);
    size_t all = rows * width;
    ck_assert_uint_eq(jd__strided_extent(&area.strided),
                      (rows - 1) * pitch + width);
    ck_assert(jd__strided_is_flat(&area.strided) ==
              (rows == 1 || pitch == width));
    for (size_t begin = 0; begin < all; begin++)
        for (size_t bytes = 0; bytes <= all - begin; bytes++) {
            check_read(&area, begin, bytes);
            check_write(&area, begin, bytes);
            if (bytes)
                check_at(&area, begin, bytes);
        }
}

START_TEST(every_stretch_is_found)
{
    for (size_t rows = 1; rows <= ROWS; rows++)
        for (size_t width = 1; width <= WIDTH; width++)
            for (size_t gap = 0; gap <= GAP; gap++)
                check_shape(rows, width, width + gap);
}
END_TEST

static void check_copy(size_t rows, size_t width, size_t to_pitch,
                       size_t from_pitch)
{
    struct area to, from, wanted;
    lay_out(&to, rows, width, to_pitch);
    lay_out(&from, rows, width, from_pitch);
    lay_out(&wanted, rows, width, to_pitch);
    number(&from);
    number(&wanted);
    jd__strided_copy(&to.strided, &from.strided);
    expect_same(&to, &wanted);
}

START_TEST(a_whole_is_copied_between_pitches)
{
    for (size_t rows = 1; rows <= ROWS; rows++)
        for (size_t width = 1; width <= WIDTH; width++)
            for (size_t gap = 0; gap <= GAP; gap++)
                for (size_t other = 0; other <= GAP; other++)
                    check_copy(rows, width, width + gap, width + other);
}
END_TEST

/* Of a flat one the rows do not matter. */
START_TEST(a_flat_one_goes_with_any_shape)
{
    struct area area, wanted;
    char flat[12];
    lay_out(&wanted, 4, 3, 5);
    number(&wanted);
    lay_out(&area, 4, 3, 5);
    for (size_t i = 0; i < sizeof flat; i++)
        flat[i] = (char)(i + 1);
    struct jd_strided in = jd__strided_flat(flat, sizeof flat);
    jd__strided_copy(&area.strided, &in);
    expect_same(&area, &wanted);
    memset(flat, 0, sizeof flat);
    jd__strided_copy(&in, &area.strided);
    for (size_t i = 0; i < sizeof flat; i++)
        ck_assert_int_eq(flat[i], (char)(i + 1));
}
END_TEST

START_TEST(nothing_is_no_place)
{
    struct jd_strided none = jd__strided_flat(NULL, 0),
                      no_rows = { NULL, 0, 4, 8 };
    ck_assert_uint_eq(jd__strided_extent(&none), 0);
    ck_assert_uint_eq(jd__strided_extent(&no_rows), 0);
    jd__strided_copy(&none, &no_rows);
    jd__strided_read(&none, 0, 0, NULL);
    jd__strided_write(&no_rows, 0, 0, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("strided");
    TCase *all = unit_case(suite, "strided");
    tcase_add_test(all, every_stretch_is_found);
    tcase_add_test(all, a_whole_is_copied_between_pitches);
    tcase_add_test(all, a_flat_one_goes_with_any_shape);
    tcase_add_test(all, nothing_is_no_place);
    return unit_main(suite);
}
