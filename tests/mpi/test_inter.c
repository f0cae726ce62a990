/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives between groups, with groups made by hand: which group each
 * member is of is an argument ("0,0,1,1"), members are numbered backwards, and
 * every result is compared with one that is computed here, from numbers that
 * every type holds and whose sums are exact in any order.
 */
#include "jd.h"

#include "collectives/cpu/inter/inter_private.h"
#include "collectives/kernels/fold.h"

#include "inter_layout.h"
#include "expect.h"

#include <math.h>
#include <stdint.h>

static struct jd_comm *comm;
static int size, self;

static const jd_dtype types[] = { JD_F32, JD_BF16, JD_S8,  JD_U64,
                                  JD_F16, JD_F64,  JD_C64, JD_F8E5M2 };
static const char *const names[JD_REDUCE_COUNT] = { "sum", "mean", "max",
                                                    "min", "prod", "and",
                                                    "or",  "xor" };

/* What a member tells its group, what leaders tell each other, and more. */
static const size_t small[] = { 0, 1, 7, 300, 1000, 1500, 4001 };
static const size_t all_counts[] = { 0,    1,    7,     300,   1000,
                                     1500, 4001, 65537, 786433 };

/* ---- numbers ------------------------------------------------------------ */

/* A small number that depends on all three. */
static unsigned number_of(int member, size_t i, unsigned modulus)
{
    uint64_t mixed = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    mixed ^= ((uint64_t)member + 1) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed ^= mixed >> 29;
    return (unsigned)(mixed % modulus);
}

/* Writes the number as an element; complex ones get an imaginary part too. */
static void put(void *element, jd_dtype dtype, double value)
{
    double f64[2] = { value, 2 * value };
    float f32[2] = { (float)value, (float)(2 * value) };
    int64_t s64 = (int64_t)value;
    const void *in = f32;
    void *out = element;
    switch (dtype) {
    case JD_F32:
    case JD_C64:
        memcpy(element, f32, jd_dtype_size(dtype));
        break;
    case JD_F64:
        memcpy(element, f64, jd_dtype_size(dtype));
        break;
    case JD_S8:
    case JD_U64:
        memcpy(element, &s64, jd_dtype_size(dtype));
        break;
    default: /* rounded from F32 */
        jd__fold_find(dtype, JD_REDUCE_SUM,
                      JD_FOLD_FINISH)(&(struct jd_fold){ .ins = &in,
                                                         .num_ins = 1,
                                                         .outs = &out,
                                                         .num_outs = 1,
                                                         .count = 1 });
        break;
    }
}

static void fill(char *data, jd_dtype dtype, int member, size_t first,
                 size_t count, unsigned modulus)
{
    size_t element = jd_dtype_size(dtype);
    for (size_t i = 0; i < count; i++)
        put(data + i * element, dtype, number_of(member, first + i, modulus));
}

static double combine(enum jd_reduce op, double a, double b)
{
    switch (op) {
    case JD_REDUCE_MAX:
        return a > b ? a : b;
    case JD_REDUCE_MIN:
        return a < b ? a : b;
    case JD_REDUCE_PROD:
        return a * b;
    case JD_REDUCE_AND:
        return (unsigned)a & (unsigned)b;
    case JD_REDUCE_OR:
        return (unsigned)a | (unsigned)b;
    case JD_REDUCE_XOR:
        return (unsigned)a ^ (unsigned)b;
    default:
        return a + b;
    }
}

static unsigned modulus_of(enum jd_reduce op)
{
    return op == JD_REDUCE_PROD ? 2 : op == JD_REDUCE_SUM ? 3 : 5;
}

/* What element i of the reduction is to be. */
static double reduced(enum jd_reduce op, size_t i)
{
    unsigned modulus = modulus_of(op);
    double value = number_of(0, i, modulus);
    for (int m = 1; m < size; m++)
        value = combine(op, value, number_of(m, i, modulus));
    return op == JD_REDUCE_MEAN ? value / size : value;
}

/* ---- memory ------------------------------------------------------------- */

static char *in, *out, *wanted;

/* Members by turns have buffers that the others see, and private ones. */
static void choose_memory(unsigned which)
{
    static char *memory[2][3];
    unsigned kind = which == 2 ? (unsigned)self % 2 : which;
    for (int i = 0; i < 3 && !memory[kind][i]; i++)
        memory[kind][i] =
            kind ? layout_memory((size_t)40 << 20) : malloc((size_t)40 << 20);
    in = memory[kind][0];
    out = memory[kind][1];
    wanted = memory[kind][2];
}

static void compare(const char *what, jd_dtype dtype, size_t count)
{
    size_t element = jd_dtype_size(dtype);
    for (size_t i = 0; i < count * element; i++)
        EXPECT(out[i] == wanted[i],
               "%s of %s, member %d: byte %zu of %zu is %d, not %d", what,
               jd_dtype_name(dtype), self, i, count * element, out[i],
               wanted[i]);
}

static struct jd_collective call_of(enum jd_activity activity, jd_dtype dtype,
                                    size_t count)
{
    return (struct jd_collective){ .activity = activity,
                                   .detail = " over axis \"test\"",
                                   .in = in,
                                   .out = out,
                                   .count = count,
                                   .dtype = dtype };
}

/* ---- each collective ---------------------------------------------------- */

/* And can be checked with what put() writes. */
static bool has_meaning(jd_dtype dtype, enum jd_reduce op)
{
    bool is_simple = dtype != JD_C64 || op != JD_REDUCE_PROD;
    return is_simple && jd__fold_find(dtype, op, JD_FOLD_WHOLE) != NULL;
}

static void try_all_reduce(jd_dtype dtype, enum jd_reduce op, size_t count,
                           bool in_place)
{
    size_t element = jd_dtype_size(dtype);
    struct jd_collective call = call_of(JD_ACTIVITY_PSUM, dtype, count);
    if (!has_meaning(dtype, op))
        return;
    fill(in, dtype, self, 0, count, modulus_of(op));
    for (size_t i = 0; i < count; i++)
        put(wanted + i * element, dtype, reduced(op, i));
    if (in_place) {
        memcpy(out, in, count * element);
        call.in = out;
    }
    EXPECT_OK(jd__inter_all_reduce(comm, &call, op));
    compare(names[op], dtype, count);
}

static void try_reduce_scatter(jd_dtype dtype, enum jd_reduce op, size_t count,
                               size_t rows)
{
    size_t element = jd_dtype_size(dtype), n = (size_t)size;
    struct jd_collective call = call_of(JD_ACTIVITY_PSUM_SCATTER, dtype, count);
    if (!has_meaning(dtype, op))
        return;
    fill(in, dtype, self, 0, count * rows * n, modulus_of(op));
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < count; i++)
            put(wanted + (row * count + i) * element, dtype,
                reduced(op, (row * n + (size_t)self) * count + i));
    EXPECT_OK(jd__inter_reduce_scatter(comm, &call, op, rows));
    compare("scattered", dtype, count * rows);
}

static void try_all_gather(jd_dtype dtype, size_t count, size_t rows,
                           bool in_place)
{
    size_t element = jd_dtype_size(dtype), n = (size_t)size;
    struct jd_collective call = call_of(JD_ACTIVITY_ALL_GATHER, dtype, count);
    if (in_place)
        call.in = out + (size_t)self * count * element;
    fill((char *)call.in, dtype, self, 0, count * rows, 100);
    for (size_t row = 0; row < rows; row++)
        for (int m = 0; m < size; m++)
            fill(wanted + (row * n + (size_t)m) * count * element, dtype, m,
                 row * count, count, 100);
    EXPECT_OK(jd__inter_all_gather(comm, &call, rows));
    compare("gathered", dtype, count * rows * n);
}

static void try_broadcast(jd_dtype dtype, size_t count, int source,
                          bool in_place)
{
    struct jd_collective call = call_of(JD_ACTIVITY_PBROADCAST, dtype, count);
    if (in_place)
        call.in = out;
    fill((char *)call.in, dtype, self, 0, count, 100);
    fill(wanted, dtype, source, 0, count, 100);
    EXPECT_OK(jd__inter_broadcast(comm, &call, source));
    compare("broadcast", dtype, count);
}

/* Where in is: apart from out, out itself, or that on some members alone. */
enum places { APART, IN_PLACE, SOME_IN_PLACE };

static bool is_in_place(enum places places)
{
    return places == IN_PLACE || (places == SOME_IN_PLACE && self % 2);
}

/* Element i of what member `from` gives to member `to` is number i of it. */
static void try_all_to_all(size_t rows, size_t width, enum places places)
{
    bool in_place = places != APART; /* the layout is the same on all */
    jd_dtype dtype = JD_F32;
    size_t n = (size_t)size, piece = rows * width;
    struct jd_collective call = call_of(JD_ACTIVITY_ALL_TO_ALL, dtype, piece);
    /* in: rows beside those of the other pieces; out: piece after piece */
    struct jd_pieces pieces = { .rows = rows,
                                .width = width,
                                .in_step = width,
                                .in_pitch = n * width,
                                .out_step = in_place ? width : piece,
                                .out_pitch = in_place ? n * width : width };
    if (is_in_place(places))
        call.in = out;
    for (size_t m = 0; m < n; m++)
        for (size_t row = 0; row < rows; row++) {
            size_t first = m * piece + row * width;
            fill((char *)call.in +
                     (m * pieces.in_step + row * pieces.in_pitch) * 4,
                 dtype, self, first, width, 100);
            fill(wanted + (m * pieces.out_step + row * pieces.out_pitch) * 4,
                 dtype, (int)m, (size_t)self * piece + row * width, width, 100);
        }
    EXPECT_OK(jd__inter_all_to_all(comm, &call, &pieces));
    compare("exchanged", dtype, piece * n);
}

static void try_permute(size_t count, int shift, enum places places)
{
    struct jd_collective call = call_of(JD_ACTIVITY_PPERMUTE, JD_F32, count);
    /* member size - 1 sends to nobody, so member shift - 1 gets zeros */
    struct jd_permute permute = {
        .to = self == size - 1 ? -1 : (self + shift) % size,
        .from = (self + size - shift) % size,
        .digest = (uint64_t)shift,
    };
    if (permute.from == size - 1)
        permute.from = -1;
    if (is_in_place(places))
        call.in = out;
    fill((char *)call.in, JD_F32, self, 0, count, 100);
    memset(wanted, 0, count * 4);
    if (permute.from >= 0)
        fill(wanted, JD_F32, permute.from, 0, count, 100);
    EXPECT_OK(jd__inter_permute(comm, &call, &permute));
    compare("permuted", JD_F32, count);
}

/* Member a gives member b rows_of rows in each of its two chunks. */
static int64_t rows_of(int a, int b, int chunk, int64_t scale)
{
    return (a * 2 + b * 3 + chunk) % 4 * scale;
}

static void try_ragged(size_t count, int64_t scale)
{
    int64_t arrays[4][2 * 16], room = 4 * scale;
    struct jd_collective call =
        call_of(JD_ACTIVITY_RAGGED_ALL_TO_ALL, JD_F32, count);
    struct jd_ragged ragged = { .input_offsets = arrays[0],
                                .send_sizes = arrays[1],
                                .output_offsets = arrays[2],
                                .recv_sizes = arrays[3],
                                .per_member = 2,
                                .in_rows = (size_t)(room * 2 * size),
                                .out_rows = (size_t)(room * 2 * size) };
    memset(out, 77, ragged.out_rows * count * 4);
    memset(wanted, 77, ragged.out_rows * count * 4);
    fill(in, JD_F32, self, 0, ragged.in_rows * count, 100);
    for (int k = 0; k < 2 * size; k++) {
        int m = k / 2;
        arrays[0][k] = k * room;
        arrays[1][k] = rows_of(self, m, k % 2, scale);
        arrays[2][k] = (self * 2 + k % 2) * room;
        arrays[3][k] = rows_of(m, self, k % 2, scale);
        fill(wanted + (size_t)(k * room) * count * 4, JD_F32, m,
             (size_t)((self * 2 + k % 2) * room) * count,
             (size_t)arrays[3][k] * count, 100);
    }
    EXPECT_OK(jd__inter_ragged(comm, &call, &ragged));
    compare("ragged", JD_F32, ragged.out_rows * count);
}

/* ---- transfers ---------------------------------------------------------- */

/* How long the k-th of what a gives b is. */
static size_t length_of(int a, int b, int k)
{
    static const size_t lengths[] = { 3, 400000, 100000, 500, 0 };
    return lengths[(size_t)(a + 2 * b + k) % 5];
}

/* A place of its own for what goes to or comes from a member. */
static char *place_of(char *base, int member, int k)
{
    return base + (size_t)(member * 2 + k) * 400000 * 4;
}

static struct jd_transfer transfer_of(bool sends, int member, int k)
{
    struct jd_transfer t = { .member = member, .sends = sends };
    t.call = call_of(sends ? JD_ACTIVITY_SEND : JD_ACTIVITY_RECV, JD_F32,
                     sends ? length_of(self, member, k)
                           : length_of(member, self, k));
    t.call.in = sends ? place_of(in, member, k) : NULL;
    t.call.out = sends ? NULL : place_of(out, member, k);
    if (sends)
        fill((char *)t.call.in, JD_F32, self * 64 + member, (size_t)k,
             t.call.count, 100);
    return t;
}

static void compare_transfer(int member, int k)
{
    size_t count = length_of(member, self, k);
    fill(wanted, JD_F32, member * 64 + self, (size_t)k, count, 100);
    EXPECT(memcmp(place_of(out, member, k), wanted, count * 4) == 0,
           "the %d. of member %d to %d", k, member, self);
}

/* Two sends and two receives with everybody, in an order of each one's own. */
static void try_group(void)
{
    struct jd_transfer transfers[4 * LAYOUT_MOST];
    int count = 0;
    for (int i = 0; i < size; i++) {
        int member = (self + i) % size;
        bool sends_first = (self + i) % 2;
        for (int k = 0; k < 2; k++) {
            transfers[count++] = transfer_of(sends_first, member, k);
            transfers[count++] = transfer_of(!sends_first, member, k);
        }
    }
    EXPECT_OK(jd__inter_transfer(comm, transfers, count));
    for (int i = 0; i < size; i++)
        for (int k = 0; k < 2; k++)
            compare_transfer(i, k);
}

/* What one sends in a group the other receives in calls of its own; and a
 * token that goes around, which one member begins and ends in one group. */
static void try_calls(void)
{
    struct jd_transfer pair[2];
    int next = (self + 1) % size, last = (self + size - 1) % size;
    if (self < 2) {
        for (int k = 0; k < 2; k++)
            pair[k] = transfer_of(self == 0, 1 - self, k);
        EXPECT_OK(jd__inter_transfer(comm, pair, self == 0 ? 2 : 1));
        if (self == 1)
            EXPECT_OK(jd__inter_transfer(comm, pair + 1, 1));
        for (int k = 0; self == 1 && k < 2; k++)
            compare_transfer(0, k);
    }
    pair[self == 0] = transfer_of(false, last, 0);
    pair[self != 0] = transfer_of(true, next, 0);
    EXPECT_OK(jd__inter_transfer(comm, pair, self == 0 ? 2 : 1));
    if (self != 0)
        EXPECT_OK(jd__inter_transfer(comm, pair + 1, 1));
    compare_transfer(last, 0);
}

/* Both ends hear of it, and go on. */
static void try_wrong_transfers(void)
{
    char text[320];
    if (self < 2) {
        struct jd_transfer one = transfer_of(self == 0, 1 - self, 0);
        one.call.count = self == 0 ? 5 : 100000;
        snprintf(text, sizeof text,
                 "%s over axis \"test\": process %d (member %d) calls %s of "
                 "%d x F32, and its other end, process %d (member %d), calls "
                 "%s of %d x F32; a send and its receive have the same count "
                 "and type, and match in the order of the calls",
                 self ? "jd_recv" : "jd_send", comm->processes[self], self,
                 self ? "jd_recv" : "jd_send", self ? 100000 : 5,
                 comm->processes[1 - self], 1 - self,
                 self ? "jd_send" : "jd_recv", self ? 5 : 100000);
        EXPECT_STATUS(jd__inter_transfer(comm, &one, 1), JD_INVALID_ARGUMENT,
                      text);
        one.call.count = 5;
        one.tag = self == 0 ? 7 : 0;
        snprintf(text, sizeof text,
                 " x F32 with tag %d, and its other end, process %d (member "
                 "%d), calls %s of 5 x F32 with tag %d; a send and its receive "
                 "have the same tag; ",
                 self ? 0 : 7, comm->processes[1 - self], 1 - self,
                 self ? "jd_send" : "jd_recv", self ? 7 : 0);
        EXPECT_STATUS(jd__inter_transfer(comm, &one, 1), JD_INVALID_ARGUMENT,
                      text);
    }
    struct jd_transfer alone[2] = { transfer_of(true, self, 0),
                                    transfer_of(true, self, 1) };
    EXPECT_STATUS(jd__inter_transfer(comm, alone, 2), JD_INVALID_ARGUMENT,
                  "jd_group_end: member ");
    try_calls();
}

/* ---- misuse ------------------------------------------------------------- */

/* Sizes that do not match are an error everywhere, in the same words, and
 * nothing is written. */
static void try_wrong_ragged(void)
{
    int64_t zero[16] = { 0 }, one[16] = { 0 };
    struct jd_collective call =
        call_of(JD_ACTIVITY_RAGGED_ALL_TO_ALL, JD_F32, 1);
    struct jd_ragged ragged = { .input_offsets = zero,
                                .send_sizes = zero,
                                .output_offsets = zero,
                                .recv_sizes = zero,
                                .per_member = 1,
                                .in_rows = 1,
                                .out_rows = 1 };
    char text[200];
    one[1] = self == 0;
    ragged.send_sizes = one;
    jd_status status = jd__inter_ragged(comm, &call, &ragged);
    snprintf(text, sizeof text,
             "jd_ragged_all_to_all over axis \"test\": process %d (member 0) "
             "sends 1 rows to process %d (member 1), piece 0, which expects 0; "
             "recv_sizes are the others' send_sizes",
             comm->processes[0], comm->processes[1]);
    EXPECT_STATUS(status, JD_INVALID_ARGUMENT, text);
    one[1] = self == 0 ? 2 : 0;
    status = jd__inter_ragged(comm, &call, &ragged);
    snprintf(text, sizeof text,
             "jd_ragged_all_to_all over axis \"test\": process %d (member 0) "
             "sends rows 0 to 0 + 2 to process %d (member 1), piece 0; its in "
             "has 1 rows",
             comm->processes[0], comm->processes[1]);
    EXPECT_STATUS(status, JD_INVALID_ARGUMENT, text);
}

/* ---- orders ------------------------------------------------------------- */

/* A number whose sums are rounded. */
static float rough(int member, size_t i)
{
    float scale[] = { 1e-3f, 1, 1e3f };
    return scale[number_of(member, i, 3)] /
           (float)(3 + number_of(member + 100, i, 1000));
}

/* A sum that is rounded: in member order where that is asked for; else near
 * it, and the same on all members. */
static void try_order(size_t count)
{
    const struct jd_inter *inter = comm->inter;
    bool is_fixed = comm->is_deterministic, differs = false;
    bool is_short = count < 1000 || jd__inter_group_size(inter, comm->num_groups - 1) == 1;
    struct jd_collective call = call_of(JD_ACTIVITY_PSUM, JD_F32, count);
    float *numbers = (float *)(void *)in, *sums = (float *)(void *)out;
    for (size_t i = 0; i < count; i++)
        numbers[i] = rough(self, i);
    EXPECT_OK(jd__inter_all_reduce(comm, &call, JD_REDUCE_SUM));
    for (size_t i = 0; i < count; i++) {
        float sum = rough(0, i);
        for (int m = 1; m < size; m++)
            sum += rough(m, i);
        differs |= sums[i] != sum;
        EXPECT(is_fixed ? sums[i] == sum : fabsf(sums[i] - sum) <= 1e-5f * sum,
               "sum %zu of %zu is %.9g, not %.9g", i, count, (double)sums[i],
               (double)sum);
    }
    EXPECT(is_fixed || is_short || differs,
           "sums of %zu are in member order without being asked", count);
    memcpy(wanted, out, count * 4);
    EXPECT_OK(jd__inter_broadcast(comm,
                                  &(struct jd_collective){ .detail = "",
                                                           .in = wanted,
                                                           .out = out,
                                                           .count = count,
                                                           .dtype = JD_F32 },
                                  0));
    compare("the same", JD_F32, count);
}

/* Who calls something else is named on every member, and the comm goes on. */
static void try_mismatch(size_t count)
{
    struct jd_collective call = call_of(JD_ACTIVITY_PSUM, JD_F32, count);
    char text[320];
    if (self == 1) {
        call.activity = JD_ACTIVITY_PMAX;
        call.count++;
    }
    snprintf(
        text, sizeof text,
        "%s over axis \"test\": process %d calls jd_pmax of %zu x F32, "
        "process %d calls jd_psum of %zu x F32; all members must make the same "
        "calls in the same order, with the same count and type",
        self == 1 ? "jd_pmax" : "jd_psum", comm->processes[1], count + 1,
        comm->processes[0], count);
    EXPECT_STATUS(jd__inter_all_reduce(
                      comm, &call, self == 1 ? JD_REDUCE_MAX : JD_REDUCE_SUM),
                  JD_INVALID_ARGUMENT, text);
    try_all_reduce(JD_F32, JD_REDUCE_SUM, 7, false);
}

/* ---- all of it ---------------------------------------------------------- */

static void try_reduction(jd_dtype dtype, enum jd_reduce op, size_t count)
{
    size_t most = ((size_t)8 << 20) / (size_t)size / jd_dtype_size(dtype);
    try_all_reduce(dtype, op, count, false);
    try_all_reduce(dtype, op, count, true);
    try_reduce_scatter(dtype, op, count < most ? count : most, 1);
    if (count > 1000)
        return;
    try_reduce_scatter(dtype, op, count, 5);
    try_reduce_scatter(dtype, op, count / 4, 5);
}

/* Numbers of every type are made slowly, so long vectors are of few. */
static bool is_too_long(size_t count, size_t type, int op)
{
    bool is_chosen = op == JD_REDUCE_SUM && type < 2;
    return count > 4001 && !is_chosen && (count > 70000 || type != 4);
}

/* TEST_FULL is set. */
static bool is_full(void)
{
    static const char *full;
    if (!full && !(full = getenv("TEST_FULL")))
        full = "";
    return *full;
}

/* Each with one of the kinds of memory, in full with all: of three, and of two
 * where it is long. */
static bool is_turn(size_t count, size_t number, unsigned which)
{
    unsigned kinds = count > 4001 ? 2 : 3;
    return is_full() || number % kinds == which;
}

static void try_reductions(const size_t *counts, size_t num_counts,
                           unsigned which)
{
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int op = 0; op < JD_REDUCE_COUNT; op++)
            for (size_t c = 0; c < num_counts; c++)
                if (is_turn(counts[c], t + (size_t)op + c, which) &&
                    !is_too_long(counts[c], t, op))
                    try_reduction(types[t], (enum jd_reduce)op, counts[c]);
}

static void try_moves(const size_t *counts, size_t num_counts)
{
    for (size_t c = 0; c < num_counts; c++) {
        size_t count = counts[c], share = count;
        if (share > ((size_t)2 << 20) / (size_t)size)
            share = ((size_t)2 << 20) / (size_t)size;
        for (int flags = 0; flags < 2; flags++) {
            try_broadcast(JD_F32, count, flags * (size - 1), flags);
            try_broadcast(JD_U64, count, size / 2, flags);
            try_all_gather(JD_F32, share, 1, flags);
        }
        for (int places = APART; places <= SOME_IN_PLACE; places++) {
            try_all_to_all(1, share, (enum places)places);
            try_permute(count, 1, (enum places)places);
            try_permute(count, size - 1, (enum places)places);
        }
        try_broadcast(JD_S8, count, 0, false);
        try_all_gather(JD_S8, share, 1, false);
        if (count <= 1000) {
            try_all_gather(JD_C64, count, 3, false);
            try_all_to_all(3, count, APART);
            try_all_to_all(4, count, IN_PLACE);
            try_all_to_all(4, count, SOME_IN_PLACE);
            try_ragged(count, 1);
        }
    }
    try_ragged(3, 20000);
    try_ragged(0, 0);
}

/* One comes too late: all name its process, those of other groups too, which
 * wait for the one that speaks for it. Nobody calls again. */
static void try_deadline(bool is_leader)
{
    const struct jd_inter *inter = comm->inter;
    int last_group = comm->num_groups - 1;
    int late = jd__inter_member(inter, last_group, is_leader ? 0 : 1);
    struct jd_collective call;
    char text[160];
    choose_memory(1);
    call = call_of(JD_ACTIVITY_PSUM, JD_F32, 100000);
    snprintf(text, sizeof text, "s for process %d (test_inter, pid ",
             comm->processes[late]);
    if (self == late)
        EXPECT_OK(jd_wait_at_barrier("gave up", 30, NULL, 0));
    EXPECT_STATUS(jd__inter_all_reduce(comm, &call, JD_REDUCE_SUM),
                  self == late ? JD_ABORTED : JD_DEADLINE_EXCEEDED,
                  self == late ? "another member gave up waiting" : text);
    if (self != late)
        EXPECT_OK(jd_wait_at_barrier("gave up", 30, NULL, 0));
    EXPECT_STATUS(jd__inter_barrier(comm, &call), JD_ABORTED,
                  "another member gave up waiting");
}

/* ---- messages that are shorter than they say ----------------------------- */

static void say(const void *data, size_t bytes)
{
    struct jd_pair pair;
    EXPECT_OK(jd__pair_post(comm->wire, &pair,
                            (struct jd_message_end){ -1, NULL, 0 },
                            (struct jd_message_end){ 0, (void *)data, bytes }));
    EXPECT_OK(jd__pair_finish(comm->wire, &pair));
}

/* Data; a result with the beginning of what it brings; what is announced. */
static void send_short(void)
{
    static char data[4096];
    struct jd_signature sum = { .activity = JD_ACTIVITY_PSUM,
                                .dtype = JD_F32,
                                .source = -1,
                                .count = 2 };
    struct jd_inter_head send = { .kind = JD_INTER_SEND,
                                  .signature = { .activity = JD_ACTIVITY_SEND,
                                                 .dtype = JD_F32,
                                                 .source = -1,
                                                 .count = 1000 } };
    struct jd_inter_result result;
    const uint64_t follows = JD_INTER_DATA_FOLLOWS;
    say(data, 60);
    jd__inter_result_clear(&result);
    jd__inter_result_add(&result, &sum, 1);
    result.is_seen = true;
    result.bytes = 8;
    char *sent = jd__inter_result_pack(&result, data + 1024);
    say(sent, JD_INTER_AGREED_SPACE + 4);
    say(&send, sizeof send);
    say(&follows, sizeof follows);
    say(data, 3996);
}

static void expect_short(jd_status status, int came, int length)
{
    char text[160];
    snprintf(text, sizeof text,
             "%d bytes came from process %d (member 1), whose call has %d; "
             "messages between the two are out of step",
             came, comm->processes[1], length);
    EXPECT_STATUS(status, JD_INTERNAL, text);
}

static void get_short(void)
{
    static char data[4096];
    const int head = JD_INTER_AGREED_SPACE;
    struct jd_pair pair;
    struct jd_collective call = call_of(JD_ACTIVITY_PSUM, JD_F32, 2);
    EXPECT_OK(jd__pair_post(comm->wire, &pair,
                            (struct jd_message_end){ 1, data, 64 },
                            (struct jd_message_end){ -1, NULL, 0 }));
    expect_short(jd__pair_finish(comm->wire, &pair), 60, 64);
    expect_short(jd__inter_all_reduce(comm, &call, JD_REDUCE_SUM), head + 4,
                 head + 8);
    struct jd_transfer receive = { .call = { .activity = JD_ACTIVITY_RECV,
                                             .out = data,
                                             .count = 1000,
                                             .dtype = JD_F32,
                                             .detail = "" },
                                   .member = 1 };
    expect_short(jd__inter_transfer(comm, &receive, 1), 3996, 4000);
}

/* Member 1 sends what member 0 cannot use, and nobody calls again. */
static void try_short(void)
{
    choose_memory(1);
    if (self == 1)
        send_short();
    else
        get_short();
    EXPECT_OK(jd_wait_at_barrier("over", 30, NULL, 0));
}

int main(int argc, char **argv)
{
    EXPECT(argc >= 3, "%d arguments; LAYOUT PIECE [late | leader | short]", argc - 1);
    EXPECT_OK(jd_initialize());
    comm = layout_open(argv[1]);
    size = comm->size;
    self = comm->index;
    bool pieces = atoi(argv[2]) > 0;
    if (argc > 3) {
        if (strcmp(argv[3], "short") == 0)
            try_short();
        else
            try_deadline(strcmp(argv[3], "leader") == 0);
        layout_close(comm);
        EXPECT_OK(jd_shutdown());
        return 0;
    }
    if (pieces)
        jd__channel_set_piece(comm->wire, (size_t)atoi(argv[2]));
    for (unsigned which = 0; which < 3; which++) {
        bool is_brief = pieces || which == 2;
        const size_t *counts = is_brief ? small : all_counts;
        size_t num = is_brief ? sizeof small / sizeof *small
                              : sizeof all_counts / sizeof *all_counts;
        /* In small pieces the longest is messages by the hundred. */
        if (pieces && !is_full())
            num--;
        choose_memory(which);
        try_reductions(counts, num, which);
        try_moves(counts, num);
        try_mismatch(1);
        try_mismatch(5000);
        try_mismatch(100000);
        try_wrong_ragged();
        try_order(900);
        try_order(5000);
        try_order(100000);
        try_group();
        try_calls();
        try_wrong_transfers();
        EXPECT_OK(jd__inter_barrier(
            comm, &(struct jd_collective){ .activity = JD_ACTIVITY_BARRIER,
                                           .detail = "" }));
    }
    layout_close(comm);
    EXPECT_OK(jd_shutdown());
    return 0;
}
