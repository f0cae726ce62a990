/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_convert.c - jd_convert between all types: of those of 8 and 16 bits
 * every number, of the others random ones, the ends of each range and the
 * middles between two numbers of each small type, against exact arithmetic.
 */
#include "tests/unit/fold_reference.h"
#include "tests/unit/unit.h"

enum { COUNT = 1 << 16 };

static unsigned char in[COUNT * 16 + 16], out[COUNT * 16 + 16];

static uint64_t random_bits(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 29;
}

/* A number as it is: long double has 64 bits of mantissa. */
struct exact {
    long double part[2];
    uint64_t bits; /* of an integer */
    bool is_integer;
};

static struct exact read_exact(jd_dtype dtype, const unsigned char *from)
{
    struct element e = load(dtype, from);
    struct exact x = { .bits = e.integer, .is_integer = !is_float(dtype) };
    if (dtype == JD_PRED)
        x.bits = e.integer != 0;
    if (is_signed(dtype))
        x.part[0] = (int64_t)e.integer;
    else if (x.is_integer)
        x.part[0] = x.bits;
    for (int i = 0; i < 2 && !x.is_integer; i++)
        x.part[i] = dtype == JD_F64 || dtype == JD_C128 ? e.d[i] : e.f[i];
    return x;
}

/* Towards zero and within the range. */
static uint64_t nearest_integer(long double x, jd_dtype to)
{
    int width = 8 * (int)jd_dtype_size(to);
    int above = is_signed(to) ? width - 1 : width;
    long double end = ldexpl(1, above);
    uint64_t top = above == 64 ? UINT64_MAX : (1ull << above) - 1;
    if (isnan(x))
        return 0;
    if (x >= end)
        return top;
    if (is_signed(to))
        return x <= -end ? ~top : (uint64_t)(int64_t)x;
    return x <= 0 ? 0 : (uint64_t)x;
}

static struct element expect(struct exact x, jd_dtype to)
{
    struct element e = { 0 };
    for (int i = 0; i < 2 && (i == 0 || is_complex(to)); i++) {
        e.f[i] = (float)x.part[i];
        e.d[i] = (double)x.part[i];
    }
    e.integer = x.is_integer   ? x.bits
                : is_float(to) ? 0
                               : nearest_integer(x.part[0], to);
    if (to == JD_PRED)
        e.integer = x.part[0] != 0 || x.part[1] != 0;
    return e;
}

/* The bytes of one converted number; small types are not stored by way of
 * F32, which would round twice. */
static void write_expected(struct exact x, jd_dtype to, unsigned char *at)
{
    if (is_small(to)) {
        unsigned code = number_encode(to, x.part[0]);
        memcpy(at, &code, jd_dtype_size(to));
    } else {
        store(to, expect(x, to), at);
    }
}

/* A number near to where something is decided. */
static double near_edge(void)
{
    static const jd_dtype small[] = { JD_F16, JD_BF16, JD_F8E5M2, JD_F8E4M3FN };
    uint64_t bits = random_bits() >> 8;
    double x;
    if (bits & 1) { /* an integer, or just beside one */
        x = ldexp(1, (int)(bits >> 1 & 127) % 66) + (double)(bits >> 8 & 7) / 4;
    } else { /* between two numbers of a small type */
        jd_dtype dtype = small[bits >> 1 & 3];
        struct number_layout layout = number_layout(dtype);
        unsigned code = (unsigned)(bits >> 3) % (layout.last + 1);
        x = (number_values(dtype)[code] + number_values(dtype)[code + 1]) / 2;
    }
    if (bits >> 20 & 1)
        x = nextafter(x, bits >> 21 & 1 ? 0 : INFINITY);
    if (bits >> 22 & 1)
        x = nextafterf((float)x, bits >> 23 & 1 ? 0 : INFINITY);
    return bits >> 24 & 1 ? -x : x;
}

/* Integers with few bits set far apart: what rounding twice gets wrong. */
static uint64_t near_middle(void)
{
    uint64_t bits = random_bits() >> 6;
    int top = 8 + (int)(bits & 63) % 56;
    uint64_t x = 1ull << top | (bits >> 6 & 511) << (top - 8);
    x += bits >> 16 & 1 ? 1 : -(bits >> 17 & 1);
    return bits >> 18 & 1 ? -x : x;
}

/* All numbers of a type, or COUNT of them. */
static size_t fill(jd_dtype from)
{
    size_t size = jd_dtype_size(from);
    jd_dtype part = from == JD_C64 ? JD_F32 : from == JD_C128 ? JD_F64 : from;
    size_t parts = is_complex(from) ? 2 : 1;
    for (size_t i = 0; i < COUNT * parts; i++) {
        uint64_t bits = i;
        if (size > 2) {
            bits = random_bits() >> 3;
            uint64_t kind = random_bits() >> 40;
            if (!is_float(from))
                bits = kind % 4 ? near_middle() : bits << 3;
            memcpy(in + i * size / parts, &bits, size / parts);
            double x = kind % 8 == 7 ? 0 : near_edge();
            if (is_float(from) && kind % 8 > 2)
                store(part, (struct element){ .f = { (float)x }, .d = { x } },
                      in + i * size / parts);
        } else {
            memcpy(in + i * size, &bits, size);
        }
    }
    return size == 1 ? 256 : COUNT;
}

static void compare(jd_dtype from, jd_dtype to, const unsigned char *original,
                    const unsigned char *result, size_t count,
                    const char *variant)
{
    size_t in_size = jd_dtype_size(from), out_size = jd_dtype_size(to);
    for (size_t i = 0; i < count; i++) {
        unsigned char wanted[16];
        const unsigned char *x = original + i * in_size;
        write_expected(read_exact(from, x), to, wanted);
        if (from == to)
            memcpy(wanted, x, in_size);
        if (memcmp(result + i * out_size, wanted, out_size) == 0)
            continue;
        uint64_t shown[3] = { 0 };
        memcpy(&shown[0], x, in_size < 8 ? in_size : 8);
        memcpy(&shown[1], result + i * out_size, out_size < 8 ? out_size : 8);
        memcpy(&shown[2], wanted, out_size < 8 ? out_size : 8);
        ck_abort_msg("%s: %s %#llx to %s is %#llx, not %#llx", variant,
                     jd_dtype_name(from), (unsigned long long)shown[0],
                     jd_dtype_name(to), (unsigned long long)shown[1],
                     (unsigned long long)shown[2]);
    }
}

static void try_pair(jd_dtype from, jd_dtype to, size_t count)
{
    for (int v = 0; v < NUM_VARIANTS; v++) {
        if (!jd__fold_set_variant(variants[v]))
            continue;
        size_t bytes = count * jd_dtype_size(to);
        memset(out, 0xa5, bytes + 16);
        UNIT_OK(jd_convert(in, from, out + v, to, count));
        compare(from, to, in, out + v, count, variants[v]);
        ck_assert(out[v + bytes] == 0xa5);
    }
}

START_TEST(every_type_becomes_every_other)
{
    jd_dtype from = dtypes[_i];
    size_t count = fill(from);
    for (int to = 0; to < NUM_DTYPES; to++)
        try_pair(from, dtypes[to], count);
}
END_TEST

START_TEST(lengths_and_places_do_not_matter)
{
    static const size_t counts[] = { 0, 1, 2, 7, 33, 511, 512, 513, 1300 };
    jd_dtype from = dtypes[_i];
    fill(from);
    memmove(in + 3, in, COUNT);
    for (int k = 0; k < NUM_DTYPES; k++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            jd_dtype to = dtypes[k];
            size_t bytes = counts[c] * jd_dtype_size(to);
            memset(out, 0xa5, bytes + 16);
            UNIT_OK(jd_convert(in + 3, from, out + 5, to, counts[c]));
            compare(from, to, in + 3, out + 5, counts[c], "best");
            ck_assert(out[4] == 0xa5 && out[5 + bytes] == 0xa5);
        }
}
END_TEST

START_TEST(equal_sizes_convert_in_place)
{
    static unsigned char place[COUNT * 16];
    jd_dtype from = dtypes[_i];
    size_t count = fill(from), size = jd_dtype_size(from);
    for (int k = 0; k < NUM_DTYPES; k++) {
        if (jd_dtype_size(dtypes[k]) != size)
            continue;
        memcpy(place, in, count * size);
        UNIT_OK(jd_convert(place, from, place, dtypes[k], count));
        compare(from, dtypes[k], in, place, count, "in place");
    }
}
END_TEST

START_TEST(arguments_are_checked)
{
    float x[4] = { 1, 2, 3, 4 };
    double y[4] = { 0 };
    UNIT_OK(jd_convert(NULL, JD_F32, NULL, JD_F64, 0));
    UNIT_OK(jd_convert(x, JD_F32, x, JD_F32, 4));
    UNIT_FAILS(jd_convert(x, (jd_dtype)13, y, JD_F64, 4), JD_INVALID_ARGUMENT,
               "jd_convert: from is 13, which is no jd_dtype; jd_dtype.h lists "
               "them");
    UNIT_FAILS(jd_convert(x, JD_F32, y, (jd_dtype)-1, 0), JD_INVALID_ARGUMENT,
               "jd_convert: to is -1, which is no jd_dtype; jd_dtype.h lists "
               "them");
    UNIT_FAILS(jd_convert(NULL, JD_F32, y, JD_F64, 4), JD_INVALID_ARGUMENT,
               "jd_convert: in is NULL, but count is 4");
    UNIT_FAILS(jd_convert(x, JD_F32, NULL, JD_F64, 4), JD_INVALID_ARGUMENT,
               "jd_convert: out is NULL, but count is 4");
    UNIT_FAILS(jd_convert(x, JD_F32, y, JD_F64, (size_t)-4),
               JD_INVALID_ARGUMENT,
               "jd_convert: count is 18446744073709551612, but no in of so "
               "many F32 exists; was it computed with a negative number?");
    UNIT_FAILS(jd_convert(y, JD_F32, y, JD_F64, 4), JD_INVALID_ARGUMENT,
               "jd_convert: out overlaps in: 4 F32 of 4 bytes and F64 of 8 "
               "bytes; out must be apart from in, or be in where elements have "
               "the same size");
    UNIT_FAILS(jd_convert(x, JD_F32, x + 1, JD_S32, 3), JD_INVALID_ARGUMENT,
               "jd_convert: out overlaps in: 3 F32 of 4 bytes and S32 of 4 "
               "bytes; out must be apart from in, or be in where elements have "
               "the same size");
    ck_assert(x[0] == 1 && x[3] == 4 && y[0] == 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("convert");
    TCase *tcase = unit_case(suite, "convert");
    tcase_set_timeout(tcase, 100);
    tcase_add_loop_test(tcase, every_type_becomes_every_other, 0, NUM_DTYPES);
    tcase_add_loop_test(tcase, lengths_and_places_do_not_matter, 0, NUM_DTYPES);
    tcase_add_loop_test(tcase, equal_sizes_convert_in_place, 0, NUM_DTYPES);
    tcase_add_test(tcase, arguments_are_checked);
    return unit_main(suite);
}
