/* SPDX-License-Identifier: BSD-3-Clause */
/* located.c - values and indices as pairs, and back. */
#include "collectives/kernels/located.h"

#include "collectives/kernels/fold_number.h"

#define NAN_KEY INT64_MAX /* no other floating number's, nor its complement */

/* Negative numbers are turned round, -0.0 to -1. */
JD_INLINE int64_t key_of_code(uint64_t code, int bits, uint64_t infinity)
{
    uint64_t sign = UINT64_C(1) << (bits - 1);
    int64_t magnitude = (int64_t)(code & (sign - 1));
    if ((uint64_t)magnitude > infinity)
        return NAN_KEY;
    return code & sign ? -1 - magnitude : magnitude;
}

JD_INLINE uint64_t code_of_key(int64_t key, int bits)
{
    uint64_t sign = UINT64_C(1) << (bits - 1);
    return key < 0 ? sign | (uint64_t)(-1 - key) : (uint64_t)key;
}

/* The two loops of a type: of x its key, of a key its element. */
#define DEFINE_LOOPS(name, type, key_of_x, x_of_key)                           \
    static void pack_##name(const void *from, size_t n, bool is_least,         \
                            struct jd_located *pairs)                          \
    {                                                                          \
        const type *in = from;                                                 \
        for (size_t i = 0; i < n; i++) {                                       \
            const type x = in[i];                                              \
            const int64_t key = key_of_x;                                      \
            pairs[i].key = is_least ? ~key : key;                              \
        }                                                                      \
    }                                                                          \
    static void unpack_##name(const struct jd_located *pairs, size_t n,        \
                              bool is_least, void *to)                         \
    {                                                                          \
        type *out = to;                                                        \
        for (size_t i = 0; i < n; i++) {                                       \
            const int64_t key = is_least ? ~pairs[i].key : pairs[i].key;       \
            out[i] = (type)(x_of_key);                                         \
        }                                                                      \
    }
#define DEFINE_INTEGER(name) DEFINE_LOOPS(name, name, x, key)
DEFINE_INTEGER(s8)
DEFINE_INTEGER(s16)
DEFINE_INTEGER(s32)
DEFINE_INTEGER(s64)
DEFINE_INTEGER(u8)
DEFINE_INTEGER(u16)
DEFINE_INTEGER(u32)
DEFINE_LOOPS(u64, u64, (int64_t)(x ^ (UINT64_C(1) << 63)),
             (uint64_t)key ^ (UINT64_C(1) << 63))
DEFINE_LOOPS(pred, u8, x != 0, key)

/* A NaN wins whichever is sought. */
#define DEFINE_FLOATING(name, bits, infinity, nan)                             \
    static void pack_##name(const void *from, size_t n, bool is_least,         \
                            struct jd_located *pairs)                          \
    {                                                                          \
        const u##bits *in = from;                                              \
        for (size_t i = 0; i < n; i++) {                                       \
            const int64_t key = key_of_code(in[i], bits, infinity);            \
            pairs[i].key = is_least && key != NAN_KEY ? ~key : key;            \
        }                                                                      \
    }                                                                          \
    static void unpack_##name(const struct jd_located *pairs, size_t n,        \
                              bool is_least, void *to)                         \
    {                                                                          \
        u##bits *out = to;                                                     \
        for (size_t i = 0; i < n; i++) {                                       \
            const int64_t key = pairs[i].key;                                  \
            out[i] = (u##bits)(                                                \
                key == NAN_KEY ? (nan)                                         \
                               : code_of_key(is_least ? ~key : key, bits));    \
        }                                                                      \
    }
DEFINE_FLOATING(f8e4m3fn, 8, 0x7e, 0x7f)
DEFINE_FLOATING(f8e5m2, 8, 0x7c, 0x7e)
DEFINE_FLOATING(f16, 16, 0x7c00, 0x7e00)
DEFINE_FLOATING(bf16, 16, 0x7f80, 0x7fc0)
DEFINE_FLOATING(f32, 32, 0x7f800000, 0x7fc00000)
DEFINE_FLOATING(f64, 64, UINT64_C(0x7ff0000000000000),
                UINT64_C(0x7ff8000000000000))

static const struct loops {
    void (*pack)(const void *from, size_t n, bool is_least,
                 struct jd_located *pairs);
    void (*unpack)(const struct jd_located *pairs, size_t n, bool is_least,
                   void *to);
} table[] = {
#define LOOPS_ROW(dtype, name) [JD_##dtype] = { pack_##name, unpack_##name }
    LOOPS_ROW(PRED, pred),         LOOPS_ROW(S8, s8),
    LOOPS_ROW(S16, s16),           LOOPS_ROW(S32, s32),
    LOOPS_ROW(S64, s64),           LOOPS_ROW(U8, u8),
    LOOPS_ROW(U16, u16),           LOOPS_ROW(U32, u32),
    LOOPS_ROW(U64, u64),           LOOPS_ROW(F16, f16),
    LOOPS_ROW(BF16, bf16),         LOOPS_ROW(F32, f32),
    LOOPS_ROW(F64, f64),           LOOPS_ROW(F8E5M2, f8e5m2),
    LOOPS_ROW(F8E4M3FN, f8e4m3fn),
#undef LOOPS_ROW
};

void jd__located_pack(const struct jd_locating *locating, const void *in,
                      const int64_t *indices, size_t count,
                      struct jd_located *pairs)
{
    const s64 *given = indices;
    table[locating->dtype].pack(in, count, locating->is_least, pairs);
    for (size_t i = 0; i < count; i++)
        pairs[i].rest = ~(given ? given[i] : locating->own);
}

void jd__located_values(const struct jd_locating *locating,
                        const struct jd_located *pairs, size_t count, void *out)
{
    table[locating->dtype].unpack(pairs, count, locating->is_least, out);
}

void jd__located_indices(const struct jd_located *pairs, size_t count,
                         int64_t *indices)
{
    s64 *out = indices;
    for (size_t i = 0; i < count; i++)
        out[i] = ~pairs[i].rest;
}
