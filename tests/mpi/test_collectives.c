/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_collectives [uninitialised] - every collective with every type and
 * counts on both sides of each limit, against a serial reference, bit for bit:
 * a sum is a fold in member order.
 * "uninitialised": the same without jd_initialize(), in a world of one.
 */
#include "jd.h"

#include "expect.h"

#include <stdbool.h>
#include <stdint.h>

#define LARGEST 300001 /* more than one piece of every type */

static const size_t counts[] = { 0, 1, 7, 254, 509, 1000, 65537 };

static const jd_dtype types[] = {
#define TYPE_ROW(name, number, size) JD_##name,
    JD_DTYPE_MAP(TYPE_ROW)
#undef TYPE_ROW
};
#define NUM_TYPES (sizeof types / sizeof *types)

/* Where in and out are: apart, one buffer, or at odd addresses. */
enum layout { APART, IN_PLACE, ODD, NUM_LAYOUTS };

static jd_shard *me;
static int members, own;
static char *storage[3]; /* in, out and reference, with room to spare */

static bool has_sum(jd_dtype t)
{
    return t != JD_PRED && t != JD_F16 && t != JD_BF16 && t != JD_F8E5M2 &&
           t != JD_F8E4M3FN;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

/* Bits of any kind; where they are summed, numbers of unlike size. */
static void fill(void *data, int member, size_t count, jd_dtype t, bool sum)
{
    size_t size = jd_dtype_size(t);
    bool is_double = t == JD_F64 || t == JD_C128;
    bool is_float = t == JD_F32 || t == JD_C64;
    size_t step = sum && is_double ? 8 : sum && is_float ? 4 : 1;
    char *byte = data;
    for (size_t i = 0; i < count * size; i += step) {
        uint64_t bits = mix(i * 1000003 + (uint64_t)member + count);
        double number = (double)(int64_t)bits / (double)(1 + (bits & 0xffff));
        float single = (float)number;
        if (step == 8)
            memcpy(byte + i, &number, 8);
        else if (step == 4)
            memcpy(byte + i, &single, 4);
        else
            byte[i] = (char)bits;
    }
}

#define ADD_AS(type)                                                           \
    for (size_t i = 0; i < bytes / sizeof(type); i++) {                        \
        type x, y;                                                             \
        memcpy(&x, (char *)sum + i * sizeof x, sizeof x);                      \
        memcpy(&y, (const char *)term + i * sizeof y, sizeof y);               \
        x = (type)(x + y);                                                     \
        memcpy((char *)sum + i * sizeof x, &x, sizeof x);                      \
    }

static void add(void *sum, const void *term, size_t bytes, jd_dtype t)
{
    if (t == JD_F32 || t == JD_C64)
        ADD_AS(float)
    else if (t == JD_F64 || t == JD_C128)
        ADD_AS(double)
    else if (jd_dtype_size(t) == 1)
        ADD_AS(uint8_t)
    else if (jd_dtype_size(t) == 2)
        ADD_AS(uint16_t)
    else if (jd_dtype_size(t) == 4)
        ADD_AS(uint32_t)
    else
        ADD_AS(uint64_t)
}

static void expect_same(const void *got, const void *wanted, size_t bytes,
                        const char *what, jd_dtype t)
{
    for (size_t i = 0; i < bytes; i++)
        EXPECT(((const char *)got)[i] == ((const char *)wanted)[i],
               "%s of %zu bytes of %s, member %d: byte %zu differs", what,
               bytes, jd_dtype_name(t), own, i);
}

static char *place(int which, enum layout layout)
{
    return storage[which] + (layout == ODD ? 1 + 2 * which : 0);
}

static void try_psum(size_t count, jd_dtype t, enum layout layout)
{
    size_t bytes = count * jd_dtype_size(t);
    char *in = place(0, layout);
    char *out = layout == IN_PLACE ? in : place(1, layout);
    char *wanted = storage[2], *term = malloc(bytes + 1);
    fill(wanted, 0, count, t, true);
    for (int i = 1; i < members; i++) {
        fill(term, i, count, t, true);
        add(wanted, term, bytes, t);
    }
    free(term);
    fill(in, own, count, t, true);
    EXPECT_OK(jd_psum(me, "data", in, out, count, t));
    expect_same(out, wanted, bytes, "jd_psum", t);
}

static void try_all_gather(size_t count, jd_dtype t, enum layout layout)
{
    size_t bytes = count * jd_dtype_size(t);
    char *out = place(1, layout);
    char *in =
        layout == IN_PLACE ? out + (size_t)own * bytes : place(0, layout);
    for (int i = 0; i < members; i++)
        fill(storage[2] + (size_t)i * bytes, i, count, t, false);
    fill(in, own, count, t, false);
    EXPECT_OK(jd_all_gather(me, NULL, in, out, count, t));
    expect_same(out, storage[2], (size_t)members * bytes, "jd_all_gather", t);
}

static void try_pbroadcast(size_t count, jd_dtype t, enum layout layout)
{
    size_t bytes = count * jd_dtype_size(t);
    int source = (int)(count % (size_t)members);
    char *in = place(0, layout);
    char *out = layout == IN_PLACE ? in : place(1, layout);
    fill(storage[2], source, count, t, false);
    fill(in, own, count, t, false);
    EXPECT_OK(jd_pbroadcast(me, "data", source,
                            own == source || layout == IN_PLACE ? in : NULL,
                            out, count, t));
    expect_same(out, storage[2], bytes, "jd_pbroadcast", t);
}

static void try_all(size_t count, jd_dtype t)
{
    for (enum layout layout = APART; layout < NUM_LAYOUTS; layout++) {
        if (has_sum(t))
            try_psum(count, t, layout);
        try_all_gather(count, t, layout);
        try_pbroadcast(count, t, layout);
    }
}

/* Everything that is not arithmetic keeps the bits of NaNs and of -0.0. */
static void try_special_numbers(void)
{
    uint32_t bits[3] = { 0x7fa00001, 0xffc12345, 0x80000000 };
    uint32_t out[3 * 64];
    float zero = -0.0f, sum;
    EXPECT_OK(jd_pbroadcast(me, NULL, members - 1, bits, out, 3, JD_F32));
    expect_same(out, bits, sizeof bits, "jd_pbroadcast", JD_F32);
    EXPECT_OK(jd_all_gather(me, NULL, bits, out, 3, JD_F32));
    for (int i = 0; i < members; i++)
        expect_same(out + 3 * i, bits, sizeof bits, "jd_all_gather", JD_F32);
    EXPECT_OK(jd_psum(me, NULL, &zero, &sum, 1, JD_F32));
    memcpy(out, &sum, sizeof sum);
    EXPECT(out[0] == 0x80000000, "the sum of -0.0 has bits %x", out[0]);
    float mine = own == members / 2 ? (float)strtod("nan", NULL) : 1;
    EXPECT_OK(jd_psum(me, NULL, &mine, &sum, 1, JD_F32));
    EXPECT(sum != sum, "a NaN among the terms gives %g", (double)sum);
}

static void make_storage(void)
{
    for (int i = 0; i < 3; i++) {
        storage[i] = malloc((size_t)members * LARGEST * 16 + 64);
        EXPECT(storage[i] != NULL, "no memory");
    }
}

/* What is kept and moved alone: no sum, the bits there as they were. */
static void try_kept(void)
{
    static const jd_dtype kept[] = {
#define KEPT_ROW(name, number, size) JD_##name,
        JD_STORAGE_DTYPE_MAP(KEPT_ROW)
#undef KEPT_ROW
    };
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
        unsigned char code = 1;
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            try_all_gather(counts[c], kept[k], APART);
            try_pbroadcast(counts[c], kept[k], ODD);
        }
        EXPECT(jd_psum(me, "data", &code, &code, 1, kept[k]) ==
                       JD_UNIMPLEMENTED &&
                   strstr(jd_error_message(), "it is kept and moved, not "
                                              "reduced"),
               "%s", jd_error_message());
    }
}

int main(int argc, char **argv)
{
    jd_mesh *mesh;
    if (argc < 2 || strcmp(argv[1], "uninitialised") != 0)
        JD_CHECK(jd_initialize());
    EXPECT_OK(jd_mesh_create(&mesh, 1, (int[]){ -1 },
                             (const char *[]){ "data" }, NULL));
    me = jd_mesh_shard(mesh);
    EXPECT(me != NULL, "%s", jd_error_message());
    members = jd_axis_size(me, "data");
    own = jd_axis_index(me, "data");
    EXPECT(members == jd_device_count(), "%d members", members);
    make_storage();
    for (size_t t = 0; t < NUM_TYPES; t++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            try_all(counts[c], types[t]);
    try_all(LARGEST, JD_F64);
    try_special_numbers();
    try_kept();
    for (int i = 0; i < 3; i++)
        free(storage[i]);
    jd_mesh_destroy(mesh);
    JD_CHECK(jd_shutdown());
    return 0;
}
