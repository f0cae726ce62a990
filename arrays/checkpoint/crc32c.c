/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crc32c.c - eight bytes at a time, by the processor's instruction or by
 * tables. A checksum is a polynomial modulo another one, its lowest power in
 * the highest bit.
 */
#include "arrays/checkpoint/crc32c.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#ifdef __x86_64__
#include <nmmintrin.h>
#endif

#define POLYNOMIAL UINT32_C(0x82f63b78)
#define ONE UINT32_C(0x80000000)      /* x to the power of 0 */
#define ONE_BYTE UINT32_C(0x00800000) /* of 8 */

/* ---- polynomials -------------------------------------------------------- */

static uint32_t times_x(uint32_t a)
{
    return a >> 1 ^ (a & 1 ? POLYNOMIAL : 0);
}

static uint32_t multiply_polynomials(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (int bit = 31; bit >= 0; bit--) {
        product ^= a >> bit & 1 ? b : 0;
        b = times_x(b);
    }
    return product;
}

/* What a checksum is multiplied by when so many zeros follow. */
static uint32_t shift_of(uint64_t bytes)
{
    uint32_t shift = ONE;
    for (uint32_t square = ONE_BYTE; bytes; bytes >>= 1) {
        if (bytes & 1)
            shift = multiply_polynomials(shift, square);
        square = multiply_polynomials(square, square);
    }
    return shift;
}

uint32_t jd__crc32c_join(uint32_t first, uint32_t second, uint64_t second_bytes)
{
    return multiply_polynomials(shift_of(second_bytes), first) ^ second;
}

/* ---- by tables ---------------------------------------------------------- */

/* tables[n][byte]: what a byte adds that n others follow. */
static uint32_t tables[8][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void fill_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = times_x(crc);
        tables[0][byte] = crc;
    }
    for (int n = 1; n < 8; n++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = tables[n - 1][byte];
            tables[n][byte] = crc >> 8 ^ tables[0][crc & 255];
        }
}

static uint32_t add_by_tables(uint32_t crc, const unsigned char *data,
                              size_t bytes)
{
    pthread_once(&tables_once, fill_tables);
    for (; bytes >= 8; bytes -= 8, data += 8) {
        uint32_t sum = 0;
        for (int i = 0; i < 4; i++)
            sum ^= tables[7 - i][(crc >> 8 * i & 255) ^ data[i]] ^
                   tables[3 - i][data[4 + i]];
        crc = sum;
    }
    for (; bytes > 0; bytes--)
        crc = crc >> 8 ^ tables[0][(crc & 255) ^ *data++];
    return crc;
}

/* ---- by the instruction -------------------------------------------------- */

#ifdef __x86_64__
#define SSE42 __attribute__((target("sse4.2")))

/* The instruction gives its result three cycles later and can begin each
 * cycle: three lanes of so many bytes keep it busy. */
enum { LANE = 8192 };

static uint32_t lane_shift;
static pthread_once_t lane_once = PTHREAD_ONCE_INIT;

static void find_lane_shift(void)
{
    lane_shift = shift_of(LANE);
}

static uint64_t word_at(const unsigned char *data)
{
    uint64_t word;
    memcpy(&word, data, sizeof word);
    return word;
}

SSE42 static uint32_t add_lanes(uint32_t crc, const unsigned char *data)
{
    uint64_t first = crc, second = 0, third = 0;
    for (size_t i = 0; i < LANE; i += 8) {
        first = _mm_crc32_u64(first, word_at(data + i));
        second = _mm_crc32_u64(second, word_at(data + LANE + i));
        third = _mm_crc32_u64(third, word_at(data + 2 * LANE + i));
    }
    crc = multiply_polynomials(lane_shift, (uint32_t)first) ^ (uint32_t)second;
    return multiply_polynomials(lane_shift, crc) ^ (uint32_t)third;
}

SSE42 static uint32_t
add_by_instruction(uint32_t crc, const unsigned char *data, size_t bytes)
{
    pthread_once(&lane_once, find_lane_shift);
    for (; bytes >= 3 * LANE; bytes -= 3 * LANE, data += 3 * LANE)
        crc = add_lanes(crc, data);
    uint64_t sum = crc;
    for (; bytes >= 8; bytes -= 8, data += 8)
        sum = _mm_crc32_u64(sum, word_at(data));
    crc = (uint32_t)sum;
    for (; bytes > 0; bytes--)
        crc = _mm_crc32_u8(crc, *data++);
    return crc;
}

static bool has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2");
}
#endif

/* ---- which -------------------------------------------------------------- */

typedef uint32_t (*add_f)(uint32_t crc, const unsigned char *data,
                          size_t bytes);

/* NULL until it is asked for; all who ask at once find the same. */
static _Atomic(add_f) in_use;

static add_f find_best(void)
{
#ifdef __x86_64__
    if (has_instruction())
        return add_by_instruction;
#endif
    return add_by_tables;
}

uint32_t jd__crc32c(uint32_t crc, const void *data, size_t bytes)
{
    add_f add = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (!add) {
        add = find_best();
        atomic_store_explicit(&in_use, add, memory_order_relaxed);
    }
    return bytes == 0 ? crc : ~add(~crc, data, bytes);
}

bool jd__crc32c_set_variant(const char *name)
{
    add_f add = NULL;
    if (strcmp(name, "portable") == 0)
        add = add_by_tables;
    else if (strcmp(name, "sse4.2") == 0 && find_best() != add_by_tables)
        add = find_best();
    if (!add)
        return false;
    atomic_store_explicit(&in_use, add, memory_order_relaxed);
    return true;
}
