/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_moves.c - the cuda platform's collectives as sequences of steps,
 * done by a model of the members: each way, shape, cut and place gives what the
 * definition says.
 */
#include "collectives/cuda/plan.h"
#include "collectives/kernels/fold.h"
#include "tests/unit/cuda_steps.h"

static const int sizes[] = { 1, 2, 3, 4, 7 };
enum { NUM_SIZES = sizeof sizes / sizeof *sizes };

/* Cut finely, cut a little, not at all. */
static const struct jd_cuda_limits limits[] = {
    { .chunk = 1000, .gather = 0, .row = 200 },
    { .chunk = 4096, .gather = 256, .row = 0 },
    { .chunk = 1 << 20, .gather = 1 << 20, .row = 1 << 20 },
};
enum { NUM_LIMITS = sizeof limits / sizeof *limits };

/* Whose in and out are one buffer. */
enum places { APART, IN_PLACE, SOME_IN_PLACE, NUM_PLACES };

static bool is_in_place(enum places places, int member)
{
    return places == IN_PLACE || (places == SOME_IN_PLACE && member % 2 == 0);
}

/* ---- one call ----------------------------------------------------------- */

/* Every member's buffers, and what its in was. */
static struct call {
    struct steps *steps;
    jd_dtype dtype;
    size_t in_bytes, out_bytes;
    char *given[STEPS_MEMBERS], *in[STEPS_MEMBERS], *out[STEPS_MEMBERS];
    bool is_one[STEPS_MEMBERS]; /* both buffers are */
    char *wanted;               /* one out */
} c;

static size_t element(void)
{
    return jd_dtype_size(c.dtype);
}

/* 0 to 3, and 1 at most for PRED, whose other bytes mean nothing. */
static void fill(char *data, size_t bytes, unsigned seed)
{
    size_t count = bytes / element();
    double *numbers = malloc((count + 1) * sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = rand_r(&seed) % 4;
    UNIT_OK(jd_convert(numbers, JD_F64, data, c.dtype, count));
    free(numbers);
}

/* offset is where in is in out, or out in in, where they are one (in bytes). */
static void begin(struct steps *steps, jd_dtype dtype, size_t in, size_t out,
                  enum places places, size_t (*in_place)(int member))
{
    c = (struct call){ .steps = steps, .dtype = dtype };
    c.in_bytes = in * element();
    c.out_bytes = out * element();
    for (int i = 0; i < steps->size; i++) {
        c.given[i] = malloc(c.in_bytes + 1);
        fill(c.given[i], c.in_bytes, (unsigned)(in * 31 + (size_t)i));
        c.in[i] = malloc(c.in_bytes + 1);
        c.out[i] = malloc(c.out_bytes + 1);
        memset(c.out[i], 0xcc, c.out_bytes + 1);
        c.is_one[i] = is_in_place(places, i);
        if (c.is_one[i] && in >= out) {
            free(c.out[i]);
            c.out[i] = c.in[i] + in_place(i);
        } else if (c.is_one[i]) {
            free(c.in[i]);
            c.in[i] = c.out[i] + in_place(i);
        }
        memcpy(c.in[i], c.given[i], c.in_bytes);
        steps->members[i].call = (struct jd_collective){ .in = c.in[i],
                                                         .out = c.out[i],
                                                         .dtype = dtype };
    }
    c.wanted = malloc(c.out_bytes + 1);
}

static size_t same(int member)
{
    (void)member;
    return 0;
}

static void end(void)
{
    for (int i = 0; i < c.steps->size; i++) {
        bool is_one =
            c.in[i] + c.in_bytes > c.out[i] && c.out[i] + c.out_bytes > c.in[i];
        if (!is_one)
            ck_assert_msg(memcmp(c.in[i], c.given[i], c.in_bytes) == 0,
                          "in is as it was");
        free(c.given[i]);
        free(c.in_bytes >= c.out_bytes ? c.in[i] : c.out[i]);
        if (!c.is_one[i])
            free(c.in_bytes >= c.out_bytes ? c.out[i] : c.in[i]);
    }
    free(c.wanted);
}

/* One assertion: Check writes a line for each. */
static void expect(int member)
{
    const char *out = c.out[member];
    size_t k = 0;
    while (k < c.out_bytes && out[k] == c.wanted[k])
        k++;
    ck_assert_msg(k == c.out_bytes,
                  "member %d of %d: byte %zu of %zu is %#x not %#x", member,
                  c.steps->size, k, c.out_bytes, (unsigned char)out[k],
                  (unsigned char)c.wanted[k]);
}

/* ---- reductions --------------------------------------------------------- */

static const struct pair {
    jd_dtype dtype;
    enum jd_reduce op;
} pairs[] = {
    { JD_F32, JD_REDUCE_SUM },    { JD_F32, JD_REDUCE_MEAN },
    { JD_BF16, JD_REDUCE_MEAN },  { JD_C128, JD_REDUCE_MEAN },
    { JD_F32, JD_REDUCE_MAX },    { JD_S16, JD_REDUCE_SUM },
    { JD_F8E5M2, JD_REDUCE_SUM }, { JD_C64, JD_REDUCE_PROD },
    { JD_S32, JD_REDUCE_MIN },    { JD_PRED, JD_REDUCE_MAX },
    { JD_U64, JD_REDUCE_XOR },    { JD_S16, JD_REDUCE_AND },
    { JD_PRED, JD_REDUCE_OR },    { JD_PRED, JD_REDUCE_XOR },
    { JD_F64, JD_REDUCE_MIN },    { JD_F8E4M3FN, JD_REDUCE_MIN },
    { JD_BF16, JD_REDUCE_MAX },   { JD_F16, JD_REDUCE_MIN },
};
enum { NUM_PAIRS = sizeof pairs / sizeof *pairs };

/* count elements that begin at `first` of each in, and are wanted at `to`. */
static void want_reduced(enum jd_reduce op, size_t first, size_t to,
                         size_t count)
{
    const void *ins[STEPS_MEMBERS];
    void *out = c.wanted + to * element();
    for (int i = 0; i < c.steps->size; i++)
        ins[i] = c.given[i] + first * element();
    if (count)
        jd__fold_find(c.dtype, op, JD_FOLD_WHOLE)(
            &(struct jd_fold){ .ins = ins,
                               .outs = &out,
                               .num_ins = c.steps->size,
                               .num_outs = 1,
                               .count = count,
                               .divisor = c.steps->size });
}

static void all_reduce(struct steps *steps, struct pair pair, size_t count,
                       enum places places)
{
    begin(steps, pair.dtype, count, count, places, same);
    for (int i = 0; i < steps->size; i++) {
        struct steps_member *m = &steps->members[i];
        m->call.count = count;
        UNIT_OK(jd__cuda_all_reduce(&m->comm, &m->call, pair.op));
    }
    steps_run(steps);
    want_reduced(pair.op, 0, 0, count);
    for (int i = 0; i < steps->size; i++)
        expect(i);
    end();
}

static const size_t counts[] = { 0, 1, 64, 65, 777 };
enum { NUM_COUNTS = sizeof counts / sizeof *counts };

/* For each number of members, each way of cutting, with and without
 * JD_DETERMINISTIC. */
enum { NUM_SETTINGS = NUM_SIZES * NUM_LIMITS * 2 };

static struct steps *steps_for(int setting)
{
    jd__cuda_limits = limits[setting / NUM_SIZES % NUM_LIMITS];
    return steps_of(sizes[setting % NUM_SIZES],
                    setting / NUM_SIZES / NUM_LIMITS);
}

/* Pieces of a chunk that are rounded up to whole lines. */
static void expect_little_scratch(const struct steps *steps, size_t chunks)
{
    size_t most = chunks * jd__cuda_limits.chunk + 64 * 16 * STEPS_MEMBERS;
    if (jd__cuda_limits.gather > most)
        most = jd__cuda_limits.gather;
    for (int i = 0; i < steps->size; i++)
        ck_assert_uint_le(steps->members[i].most_scratch, most);
}

START_TEST(reductions_reduce)
{
    struct steps *steps = steps_for(_i);
    for (int p = 0; p < NUM_PAIRS; p += UNIT_STRIDE)
        for (int n = 0; n < NUM_COUNTS; n++)
            for (int places = 0; places < NUM_PLACES; places++)
                all_reduce(steps, pairs[p], counts[n], (enum places)places);
    expect_little_scratch(steps, 1);
    steps_free(steps);
}
END_TEST

static size_t scatter_count;

static size_t own_block(int member)
{
    return (size_t)member * scatter_count * element();
}

static void reduce_scatter(struct steps *steps, struct pair pair, size_t rows,
                           size_t count, enum places places)
{
    size_t size = (size_t)steps->size;
    scatter_count = count;
    begin(steps, pair.dtype, rows * count * size, rows * count,
          rows == 1 ? places : APART, own_block);
    for (int i = 0; i < steps->size; i++) {
        struct steps_member *m = &steps->members[i];
        m->call.count = count;
        UNIT_OK(jd__cuda_reduce_scatter(&m->comm, &m->call, pair.op, rows));
        ck_assert_uint_eq(m->terms.digest, rows);
    }
    steps_run(steps);
    for (int i = 0; i < steps->size; i++) {
        for (size_t row = 0; row < rows; row++)
            want_reduced(pair.op, (row * size + (size_t)i) * count, row * count,
                         count);
        expect(i);
    }
    end();
}

static const size_t row_counts[] = { 0, 1, 2, 5 };
enum { NUM_ROWS = sizeof row_counts / sizeof *row_counts };
static const size_t widths[] = { 0, 1, 7, 66 };
enum { NUM_WIDTHS = sizeof widths / sizeof *widths };

START_TEST(each_gets_its_reduced_block)
{
    struct steps *steps = steps_for(_i);
    for (int p = 0; p < NUM_PAIRS; p += UNIT_STRIDE)
        for (int r = 0; r < NUM_ROWS; r++)
            for (int n = 0; n < NUM_WIDTHS; n++)
                for (int places = 0; places < NUM_PLACES; places++)
                    reduce_scatter(steps, pairs[p], row_counts[r], widths[n],
                                   (enum places)places);
    expect_little_scratch(steps, 2);
    steps_free(steps);
}
END_TEST

/* What NCCL has is one call of it. */
START_TEST(a_native_sum_is_one_call)
{
    struct steps *steps = steps_of(4, false);
    all_reduce(steps, pairs[0], 1024, IN_PLACE);
    ck_assert_int_eq(steps->collectives, 1);
    ck_assert_int_eq(steps->messages, 0);
    steps_free(steps);
    steps = steps_of(4, true);
    all_reduce(steps, pairs[0], 1024, IN_PLACE);
    ck_assert_msg(steps->collectives > 1 || steps->members[0].most_scratch,
                  "JD_DETERMINISTIC composes it");
    steps_free(steps);
}
END_TEST

/* Keys are made in out: nothing is needed beside it. */
START_TEST(a_maximum_of_floats_is_one_call)
{
    struct steps *steps = steps_of(4, true);
    all_reduce(steps, (struct pair){ JD_F32, JD_REDUCE_MAX }, 1024, APART);
    ck_assert_int_eq(steps->collectives, 1);
    ck_assert_int_eq(steps->messages, 0);
    ck_assert_uint_eq(steps->members[0].most_scratch, 0);
    steps_free(steps);
}
END_TEST

/* ---- moves -------------------------------------------------------------- */

static size_t gather_count;

static size_t own_place(int member)
{
    return (size_t)member * gather_count * element();
}

static void all_gather(struct steps *steps, size_t rows, size_t count,
                       enum places places)
{
    size_t size = (size_t)steps->size, width = count * 2;
    gather_count = count;
    begin(steps, JD_U16, rows * count, rows * count * size,
          rows == 1 ? places : APART, size == 1 ? same : own_place);
    for (int i = 0; i < steps->size; i++) {
        struct steps_member *m = &steps->members[i];
        m->call.count = count;
        UNIT_OK(jd__cuda_all_gather(&m->comm, &m->call, rows));
        ck_assert_uint_eq(m->terms.digest, rows);
    }
    steps_run(steps);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < size; i++)
            memcpy(c.wanted + (row * size + i) * width,
                   c.given[i] + row * width, width);
    for (int i = 0; i < steps->size; i++)
        expect(i);
    end();
}

START_TEST(gathers_gather)
{
    struct steps *steps = steps_for(_i);
    for (int r = 0; r < NUM_ROWS; r++)
        for (int n = 0; n < NUM_WIDTHS; n++)
            for (int places = 0; places < NUM_PLACES; places++)
                all_gather(steps, row_counts[r], widths[n],
                           (enum places)places);
    expect_little_scratch(steps, 1);
    steps_free(steps);
}
END_TEST

/* As jd_all_to_all_2d cuts a matrix of (rows * size) x (width * size). */
static struct jd_pieces cut(size_t rows, size_t width, size_t size, bool splits,
                            bool joins)
{
    size_t columns = splits ? width * size : width;
    struct jd_pieces pieces = { .rows = rows, .width = width, .rest = 7 };
    pieces.in_pitch = columns;
    pieces.in_step = splits ? width : rows * columns;
    pieces.out_pitch = joins ? width * size : width;
    pieces.out_step = joins ? width : rows * pieces.out_pitch;
    return pieces;
}

static const char *piece_at(const char *data, size_t step, size_t pitch,
                            int member, size_t row)
{
    return data + ((size_t)member * step + row * pitch) * 2;
}

static void all_to_all(struct steps *steps, const struct jd_pieces *pieces,
                       enum places places)
{
    size_t each = pieces->rows * pieces->width;
    size_t all = each * (size_t)steps->size;
    begin(steps, JD_U16, all, all, places, same);
    for (int i = 0; i < steps->size; i++) {
        struct steps_member *m = &steps->members[i];
        m->call.count = each;
        UNIT_OK(jd__cuda_all_to_all(&m->comm, &m->call, pieces));
        ck_assert_uint_eq(m->terms.digest, 7);
    }
    steps_run(steps);
    for (int i = 0; i < steps->size; i++) {
        for (int j = 0; j < steps->size; j++)
            for (size_t row = 0; row < pieces->rows; row++)
                memcpy((char *)(uintptr_t)piece_at(c.wanted, pieces->out_step,
                                                   pieces->out_pitch, j, row),
                       piece_at(c.given[j], pieces->in_step, pieces->in_pitch,
                                i, row),
                       pieces->width * 2);
        expect(i);
    }
    end();
}

START_TEST(exchanges_exchange)
{
    struct steps *steps = steps_for(_i);
    for (int r = 0; r < NUM_ROWS; r++)
        for (int n = 0; n < NUM_WIDTHS; n++)
            for (int shape = 0; shape < 4; shape++)
                for (int places = 0; places < NUM_PLACES; places++) {
                    bool splits = shape & 1, joins = shape & 2;
                    struct jd_pieces pieces =
                        cut(row_counts[r], widths[n], (size_t)steps->size,
                            splits, joins);
                    all_to_all(steps, &pieces,
                               splits == joins ? (enum places)places : APART);
                }
    expect_little_scratch(steps, 2);
    steps_free(steps);
}
END_TEST

/* Member i gets member from[i]'s; -1: nobody's. */
static void permute(struct steps *steps, const int *from, size_t count,
                    enum places places)
{
    begin(steps, JD_U16, count, count, places, same);
    for (int i = 0; i < steps->size; i++) {
        struct steps_member *m = &steps->members[i];
        struct jd_permute permute = { .to = -1, .from = from[i], .digest = 5 };
        for (int j = 0; j < steps->size; j++)
            if (from[j] == i)
                permute.to = j;
        m->call.count = count;
        UNIT_OK(jd__cuda_permute(&m->comm, &m->call, &permute));
        ck_assert_uint_eq(m->terms.digest, 5);
    }
    steps_run(steps);
    for (int i = 0; i < steps->size; i++) {
        memset(c.wanted, 0, c.out_bytes);
        if (from[i] >= 0)
            memcpy(c.wanted, c.given[from[i]], c.out_bytes);
        expect(i);
    }
    end();
}

/* Each member once at most, some not at all, some their own. */
static void draw_permutation(int *from, int size, unsigned *seed)
{
    for (int i = 0; i < size; i++)
        from[i] = i;
    for (int i = size - 1; i > 0; i--) {
        int j = rand_r(seed) % (i + 1), kept = from[i];
        from[i] = from[j];
        from[j] = kept;
    }
    for (int i = 0; i < size; i++)
        if (rand_r(seed) % 3 == 0)
            from[i] = -1;
}

START_TEST(permutations_move_and_leave_zeros)
{
    struct steps *steps = steps_for(_i);
    unsigned seed = (unsigned)_i;
    int from[STEPS_MEMBERS];
    for (int k = 0; k < 50; k++)
        for (int places = 0; places < NUM_PLACES; places++) {
            draw_permutation(from, steps->size, &seed);
            permute(steps, from, counts[k % NUM_COUNTS], (enum places)places);
        }
    expect_little_scratch(steps, 1);
    steps_free(steps);
}
END_TEST

static void broadcast(struct steps *steps, int source, size_t count,
                      enum places places)
{
    begin(steps, JD_U16, count, count, places, same);
    for (int i = 0; i < steps->size; i++) {
        struct steps_member *m = &steps->members[i];
        m->call.count = count;
        if (i != source)
            m->call.in = NULL;
        UNIT_OK(jd__cuda_broadcast(&m->comm, &m->call, source));
        ck_assert_int_eq(m->terms.source, source);
    }
    steps_run(steps);
    memcpy(c.wanted, c.given[source], c.out_bytes);
    for (int i = 0; i < steps->size; i++)
        expect(i);
    end();
}

START_TEST(a_broadcast_reaches_all)
{
    struct steps *steps = steps_for(_i);
    for (int source = 0; source < steps->size; source++)
        for (int n = 0; n < NUM_COUNTS; n++)
            for (int places = 0; places < NUM_PLACES; places++)
                broadcast(steps, source, counts[n], (enum places)places);
    steps_free(steps);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_moves");
    TCase *reductions = unit_case(suite, "reductions");
    TCase *moves = unit_case(suite, "moves");
    tcase_set_timeout(reductions, 100);
    tcase_add_loop_test(reductions, reductions_reduce, 0, NUM_SETTINGS);
    tcase_add_loop_test(reductions, each_gets_its_reduced_block, 0,
                        NUM_SETTINGS);
    tcase_add_test(reductions, a_native_sum_is_one_call);
    tcase_add_test(reductions, a_maximum_of_floats_is_one_call);
    tcase_add_loop_test(moves, gathers_gather, 0, NUM_SETTINGS / 2);
    tcase_add_loop_test(moves, exchanges_exchange, 0, NUM_SETTINGS / 2);
    tcase_add_loop_test(moves, permutations_move_and_leave_zeros, 0,
                        NUM_SETTINGS / 2);
    tcase_add_loop_test(moves, a_broadcast_reaches_all, 0, NUM_SETTINGS / 2);
    return unit_main(suite);
}
