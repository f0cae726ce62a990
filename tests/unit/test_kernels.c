/* SPDX-License-Identifier: BSD-3-Clause */
/* test_kernels.c - the loops that add, at every length and alignment. */
#include "collectives/kernels.h"
#include "tests/unit/unit.h"

#include <stdint.h>

#define ROOM 4096

/* Adds one element of the type, for reference. */
typedef void add_one(void *sum, const void *term);

#define DEFINE_ONE(name, type)                                                 \
    static void one_##name(void *sum, const void *term)                        \
    {                                                                          \
        type a, b;                                                             \
        memcpy(&a, sum, sizeof a);                                             \
        memcpy(&b, term, sizeof b);                                            \
        a = (type)(a + b);                                                     \
        memcpy(sum, &a, sizeof a);                                             \
    }
DEFINE_ONE(u8, uint8_t)
DEFINE_ONE(u16, uint16_t)
DEFINE_ONE(u32, uint32_t)
DEFINE_ONE(u64, uint64_t)
DEFINE_ONE(f32, float)
DEFINE_ONE(f64, double)

static const struct {
    jd_dtype dtype;
    add_one *add;
    size_t part; /* bytes that one adds */
} rows[] = {
    { JD_S8, one_u8, 1 },   { JD_U8, one_u8, 1 },   { JD_S16, one_u16, 2 },
    { JD_U16, one_u16, 2 }, { JD_S32, one_u32, 4 }, { JD_U32, one_u32, 4 },
    { JD_S64, one_u64, 8 }, { JD_U64, one_u64, 8 }, { JD_F32, one_f32, 4 },
    { JD_F64, one_f64, 8 }, { JD_C64, one_f32, 4 }, { JD_C128, one_f64, 8 },
};
#define NUM_ROWS ((int)(sizeof rows / sizeof *rows))

/* Random bytes; of floats, numbers. */
static void fill(unsigned char *data, int row, unsigned seed)
{
    for (size_t i = 0; i < ROOM; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (unsigned char)(seed >> 24);
    }
    bool is_double = rows[row].add == one_f64;
    for (size_t i = 0; is_double && i < ROOM / 8; i++) {
        double x = (double)data[i] * 1e9 / (1 + (double)data[i + 8]);
        memcpy(data + 8 * i, &x, 8);
    }
    for (size_t i = 0; rows[row].add == one_f32 && i < ROOM / 4; i++) {
        float x = (float)data[i] * 1e9f / (1 + (float)data[i + 4]);
        memcpy(data + 4 * i, &x, 4);
    }
}

static void try_length(int row, size_t n, size_t offset)
{
    unsigned char sum[2 * ROOM], term[2 * ROOM], wanted[2 * ROOM];
    size_t bytes = n * jd_dtype_size(rows[row].dtype);
    fill(sum + offset, row, 1 + (unsigned)n);
    fill(term + 2 * offset, row, 77);
    memcpy(wanted, sum, sizeof wanted);
    for (size_t i = 0; i < bytes; i += rows[row].part)
        rows[row].add(wanted + offset + i, term + 2 * offset + i);
    jd__kernel_add(rows[row].dtype)(sum + offset, term + 2 * offset, n);
    ck_assert_msg(memcmp(sum + offset, wanted + offset, ROOM) == 0,
                  "%zu x %s at offset %zu", n, jd_dtype_name(rows[row].dtype),
                  offset);
}

START_TEST(sums_are_those_of_single_elements)
{
    for (size_t offset = 0; offset < 9; offset++)
        for (size_t n = 0; n < 70; n++)
            try_length(_i, n, offset);
    try_length(_i, ROOM / 16, 0);
    try_length(_i, ROOM / 16, 3);
}
END_TEST

START_TEST(integers_wrap)
{
    int32_t a = INT32_MAX, one = 1;
    int8_t b = -128, minus = -1;
    uint64_t c = UINT64_MAX, two = 2;
    jd__kernel_add(JD_S32)(&a, &one, 1);
    jd__kernel_add(JD_S8)(&b, &minus, 1);
    jd__kernel_add(JD_U64)(&c, &two, 1);
    ck_assert_int_eq(a, INT32_MIN);
    ck_assert_int_eq(b, 127);
    ck_assert_uint_eq(c, 1);
}
END_TEST

START_TEST(some_types_have_no_sum)
{
    static const int without[] = { JD_PRED,     JD_F16, JD_BF16, JD_F8E5M2,
                                   JD_F8E4M3FN, 0,      -1,      99 };
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        ck_assert(jd__kernel_add((jd_dtype)without[i]) == NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernels");
    TCase *tcase = unit_case(suite, "add");
    tcase_add_loop_test(tcase, sums_are_those_of_single_elements, 0, NUM_ROWS);
    tcase_add_test(tcase, integers_wrap);
    tcase_add_test(tcase, some_types_have_no_sum);
    return unit_main(suite);
}
