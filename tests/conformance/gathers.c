/* SPDX-License-Identifier: BSD-3-Clause */
/* gathers.c - the operations that gather and exchange blocks. */
#include "operations.h"

#include <stdlib.h>
#include <string.h>

static size_t members_of(const struct attempt *a)
{
    return (size_t)a->span->size;
}

/* ---- all_gather --------------------------------------------------------- */

static void plan_gather_rows(struct attempt *a, size_t rows, size_t columns)
{
    a->rows = rows;
    a->columns = columns;
    a->in_count = rows * columns;
    a->out_count = rows * columns * members_of(a);
    a->place =
        rows == 1 ? (ptrdiff_t)((size_t)a->span->index * columns) : NO_PLACE;
}

static void plan_gather(struct attempt *a)
{
    plan_gather_rows(a, 1, a->count);
}

static void plan_gather_2d(struct attempt *a)
{
    size_t rows = 1 + draw(a, 1, 4);
    plan_gather_rows(a, a->count < rows ? a->count : rows,
                     a->count < rows ? 1 : a->count / rows);
}

static jd_status run_gather(const struct attempt *a)
{
    return jd_all_gather(a->span->shard, a->axes, a->in, a->out, a->columns,
                         a->dtype);
}

static jd_status run_gather_2d(const struct attempt *a)
{
    return jd_all_gather_2d(a->span->shard, a->axes, a->in, a->out, a->rows,
                            a->columns, a->dtype);
}

static void expect_gather(const struct attempt *a, char *wanted)
{
    size_t run = a->columns * a->size;
    for (size_t row = 0; row < a->rows; row++)
        for (int i = 0; i < a->span->size; i++, wanted += run)
            expect_given(a, i, row * a->columns, a->columns, wanted);
}

const struct operation operation_all_gather = {
    .name = "all_gather",
    .call = "jd_all_gather",
    .plan = plan_gather,
    .run = run_gather,
    .expect = expect_gather,
};
const struct operation operation_all_gather_2d = {
    .name = "all_gather_2d",
    .call = "jd_all_gather_2d",
    .plan = plan_gather_2d,
    .run = run_gather_2d,
    .expect = expect_gather,
};

/* ---- all_to_all --------------------------------------------------------- */

static void plan_exchange(struct attempt *a)
{
    a->columns = a->count;
    a->in_count = a->out_count = members_of(a) * a->count;
    a->place = 0;
}

static jd_status run_exchange(const struct attempt *a)
{
    return jd_all_to_all(a->span->shard, a->axes, a->in, a->out, a->columns,
                         a->dtype);
}

static void expect_exchange(const struct attempt *a, char *wanted)
{
    size_t own = (size_t)a->span->index * a->count;
    for (int i = 0; i < a->span->size; i++)
        expect_given(a, i, own, a->count,
                     wanted + (size_t)i * a->count * a->size);
}

const struct operation operation_all_to_all = {
    .name = "all_to_all",
    .call = "jd_all_to_all",
    .plan = plan_exchange,
    .run = run_exchange,
    .expect = expect_exchange,
};

/* A matrix whose split axis divides by the members. */
static void plan_exchange_2d(struct attempt *a)
{
    size_t other = 1 + draw(a, 1, 4), members = members_of(a);
    size_t share = a->count / other;
    if (a->count < other) {
        other = a->count;
        share = 1;
    }
    a->split = (int)draw(a, 2, 2);
    a->concat = (int)draw(a, 3, 2);
    a->rows = a->split == 0 ? share * members : other;
    a->columns = a->split == 0 ? other : share * members;
    a->in_count = a->out_count = a->rows * a->columns;
    a->place = a->split == a->concat ? 0 : NO_PLACE;
}

static jd_status run_exchange_2d(const struct attempt *a)
{
    return jd_all_to_all_2d(a->span->shard, a->axes, a->in, a->out, a->rows,
                            a->columns, a->split, a->concat, a->dtype);
}

/* Member i's part for this one is part_rows x part_columns; it begins at a row
 * and a column of its in, and at others of this one's out. */
static void expect_part(const struct attempt *a, int i, char *wanted)
{
    size_t members = members_of(a), own = (size_t)a->span->index;
    size_t part_rows = a->split == 0 ? a->rows / members : a->rows;
    size_t part_columns = a->split == 1 ? a->columns / members : a->columns;
    size_t from_row = a->split == 0 ? own * part_rows : 0;
    size_t from_column = a->split == 1 ? own * part_columns : 0;
    size_t to_row = a->concat == 0 ? (size_t)i * part_rows : 0;
    size_t to_column = a->concat == 1 ? (size_t)i * part_columns : 0;
    size_t pitch = a->concat == 1 ? part_columns * members : part_columns;
    for (size_t row = 0; row < part_rows; row++)
        expect_given(a, i, (from_row + row) * a->columns + from_column,
                     part_columns,
                     wanted + ((to_row + row) * pitch + to_column) * a->size);
}

static void expect_exchange_2d(const struct attempt *a, char *wanted)
{
    for (int i = 0; i < a->span->size; i++)
        expect_part(a, i, wanted);
}

const struct operation operation_all_to_all_2d = {
    .name = "all_to_all_2d",
    .call = "jd_all_to_all_2d",
    .plan = plan_exchange_2d,
    .run = run_exchange_2d,
    .expect = expect_exchange_2d,
};

/* Of up to five dimensions, along any two. */
static void plan_exchange_nd(struct attempt *a)
{
    size_t share = a->count, others = 1;
    a->ndim = 1 + (int)draw(a, 1, MOST_DIMENSIONS);
    a->split = (int)draw(a, 2, (size_t)a->ndim);
    a->concat = (int)draw(a, 3, (size_t)a->ndim);
    for (int d = 0; d < a->ndim; d++) {
        size_t length = 1 + draw(a, 4 + d, 3);
        if (d == a->split || length > share)
            length = 1;
        a->shape[d] = (int64_t)length;
        share /= length;
        others *= length;
    }
    share *= members_of(a);
    a->shape[a->split] = (int64_t)share;
    a->in_count = a->out_count = share * others;
    a->place = a->split == a->concat ? 0 : NO_PLACE;
}

static jd_status run_exchange_nd(const struct attempt *a)
{
    return jd_all_to_all_nd(a->span->shard, a->axes, a->in, a->out, a->ndim,
                            a->shape, a->split, a->concat, a->dtype);
}

static size_t flat_index(const struct attempt *a, const int64_t *index,
                         const int64_t *shape)
{
    int64_t flat = 0;
    for (int d = 0; d < a->ndim; d++)
        flat = flat * shape[d] + index[d];
    return (size_t)flat;
}

/* What lies side by side in out, from an index on, and in a member's in. */
static void expect_run(const struct attempt *a, const int64_t *index,
                       const int64_t *out_shape, int64_t count, char *wanted)
{
    int64_t part = a->shape[a->split] / (int64_t)members_of(a);
    int64_t joined = a->split == a->concat ? part : a->shape[a->concat];
    int64_t from[MOST_DIMENSIONS];
    memcpy(from, index, sizeof from);
    from[a->concat] %= joined;
    from[a->split] += a->span->index * part;
    expect_given(a, (int)(index[a->concat] / joined),
                 flat_index(a, from, a->shape), (size_t)count,
                 wanted + flat_index(a, index, out_shape) * a->size);
}

/* The next run's index: false where there is none. */
static bool next_run(const struct attempt *a, int64_t *index,
                     const int64_t *out_shape, int64_t run)
{
    for (int d = a->ndim - 1; d >= 0; d--) {
        index[d] += d == a->ndim - 1 ? run : 1;
        if (index[d] < out_shape[d])
            return true;
        index[d] = 0;
    }
    return false;
}

static void expect_exchange_nd(const struct attempt *a, char *wanted)
{
    int64_t index[MOST_DIMENSIONS] = { 0 }, out[MOST_DIMENSIONS];
    memcpy(out, a->shape, sizeof out);
    out[a->split] /= (int64_t)members_of(a);
    int64_t run = out[a->ndim - 1];
    out[a->concat] *= (int64_t)members_of(a);
    if (a->out_count == 0)
        return;
    do
        expect_run(a, index, out, run, wanted);
    while (next_run(a, index, out, run));
}

const struct operation operation_all_to_all_nd = {
    .name = "all_to_all_nd",
    .call = "jd_all_to_all_nd",
    .plan = plan_exchange_nd,
    .run = run_exchange_nd,
    .expect = expect_exchange_nd,
};

/* ---- ragged_all_to_all -------------------------------------------------- */

/* Entries for each member at most; a->rows is how many, a->columns how many
 * elements are in a row. */
#define MOST_ENTRIES 3

/* No entry has more rows than this, so that all fit into the buffers. */
static size_t most_rows(const struct attempt *a)
{
    return a->count / (a->columns * a->rows);
}

/* The rows that member `from` sends to member `to` by its entry q. */
static size_t ragged_size(const struct attempt *a, int from, int to, size_t q)
{
    uint64_t which = ((uint64_t)from << 16 | (uint64_t)to << 8 | q) + 100;
    return draw(a, which, 3) == 0 ? 0 : draw(a, ~which, most_rows(a) + 1);
}

/* A row that nobody sends, or writes, after some of the entries. */
static size_t gap_after(const struct attempt *a, size_t size)
{
    return size < most_rows(a) && size % 2 == 0;
}

/* Where member from's entry for `to` begins in its in; to = members: its end.
 */
static size_t input_offset(const struct attempt *a, int from, int to, size_t q)
{
    size_t offset = 0;
    for (int j = 0; j <= to && j < a->span->size; j++)
        for (size_t k = 0; k < a->rows && (j < to || k < q); k++) {
            size_t size = ragged_size(a, from, j, k);
            offset += size + gap_after(a, size);
        }
    return offset;
}

/* And where it goes in the other's out, which lists the last member first. */
static size_t output_offset(const struct attempt *a, int from, int to, size_t q)
{
    size_t offset = 0;
    for (int i = a->span->size - 1; i >= from && i >= 0; i--)
        for (size_t k = 0; k < a->rows && (i > from || k < q); k++) {
            size_t size = ragged_size(a, i, to, k);
            offset += size + gap_after(a, size);
        }
    return offset;
}

static void plan_ragged(struct attempt *a)
{
    int own = a->span->index;
    a->columns = 1 + draw(a, 1, 3);
    a->rows = 1 + draw(a, 2, MOST_ENTRIES);
    a->in_count = input_offset(a, own, a->span->size, 0) * a->columns;
    a->out_count = output_offset(a, -1, own, 0) * a->columns;
    a->place = NO_PLACE;
}

static jd_status run_ragged(const struct attempt *a)
{
    int64_t lists[4][MAX_MEMBERS * MOST_ENTRIES];
    int own = a->span->index, n = 0;
    for (int j = 0; j < a->span->size; j++)
        for (size_t q = 0; q < a->rows; q++, n++) {
            lists[0][n] = (int64_t)input_offset(a, own, j, q);
            lists[1][n] = (int64_t)ragged_size(a, own, j, q);
            lists[2][n] = (int64_t)output_offset(a, own, j, q);
            lists[3][n] = (int64_t)ragged_size(a, j, own, q);
        }
    return jd_ragged_all_to_all(a->span->shard, a->axes, a->in,
                                a->in_count / a->columns, a->out,
                                a->out_count / a->columns, a->columns, lists[0],
                                lists[1], lists[2], lists[3], n, a->dtype);
}

static void expect_ragged(const struct attempt *a, char *wanted)
{
    int own = a->span->index;
    for (int i = 0; i < a->span->size; i++)
        for (size_t q = 0; q < a->rows; q++)
            expect_given(a, i, input_offset(a, i, own, q) * a->columns,
                         ragged_size(a, i, own, q) * a->columns,
                         wanted + output_offset(a, i, own, q) * a->columns *
                                      a->size);
}

const struct operation operation_ragged_all_to_all = {
    .name = "ragged_all_to_all",
    .call = "jd_ragged_all_to_all",
    .plan = plan_ragged,
    .run = run_ragged,
    .expect = expect_ragged,
};

/* ---- ragged_all_gather -------------------------------------------------- */

/* What a member gives: all as many, or each its own number, often none. */
static size_t part_of(const struct attempt *a, int member)
{
    uint64_t which = (uint64_t)member + 100;
    if (draw(a, 1, 4) == 0)
        return a->count;
    return draw(a, which, 3) == 0 ? 0 : draw(a, ~which, a->count + 1);
}

/* Where it is in out; of the member behind the last one: out's length. */
static size_t part_offset(const struct attempt *a, int member)
{
    size_t offset = 0;
    for (int i = 0; i < member; i++)
        offset += part_of(a, i);
    return offset;
}

static void plan_ragged_gather(struct attempt *a)
{
    a->in_count = part_of(a, a->span->index);
    a->out_count = part_offset(a, a->span->size);
    a->place = (ptrdiff_t)part_offset(a, a->span->index);
}

static jd_status run_ragged_gather(const struct attempt *a)
{
    int64_t counts[MAX_MEMBERS];
    for (int i = 0; i < a->span->size; i++)
        counts[i] = (int64_t)part_of(a, i);
    return jd_ragged_all_gather(a->span->shard, a->axes, a->in, a->in_count,
                                a->out, counts, a->dtype);
}

static void expect_ragged_gather(const struct attempt *a, char *wanted)
{
    for (int i = 0; i < a->span->size; i++)
        expect_given(a, i, 0, part_of(a, i),
                     wanted + part_offset(a, i) * a->size);
}

const struct operation operation_ragged_all_gather = {
    .name = "ragged_all_gather",
    .call = "jd_ragged_all_gather",
    .plan = plan_ragged_gather,
    .run = run_ragged_gather,
    .expect = expect_ragged_gather,
};

/* ---- preduce ------------------------------------------------------------ */

/* Pairs of bytes, as maps x -> a * x + b: the one after the other, in which the
 * order matters. */
static void join_maps(void *into, const void *from, size_t count, void *context)
{
    unsigned char *first = into;
    const unsigned char *then = from;
    ++*(int *)context;
    for (size_t i = 0; i < 2 * count; i += 2) {
        first[i + 1] = (unsigned char)(then[i] * first[i + 1] + then[i + 1]);
        first[i] = (unsigned char)(then[i] * first[i]);
    }
}

static void plan_preduce(struct attempt *a)
{
    a->in_count = a->out_count = a->count / 2 * 2;
    a->place = 0;
}

static jd_status run_preduce(const struct attempt *a)
{
    int calls = 0;
    return jd_preduce(a->span->shard, a->axes, a->in, a->out,
                      a->in_count * a->size / 2, 2, join_maps, &calls);
}

static void expect_preduce(const struct attempt *a, char *wanted)
{
    size_t bytes = a->in_count * a->size;
    char *term = malloc(bytes + 1);
    int calls = 0;
    expect_given(a, 0, 0, a->in_count, wanted);
    for (int i = 1; i < a->span->size && term; i++) {
        expect_given(a, i, 0, a->in_count, term);
        join_maps(wanted, term, bytes / 2, &calls);
    }
    free(term);
}

const struct operation operation_preduce = {
    .name = "preduce",
    .call = "jd_preduce",
    .plan = plan_preduce,
    .run = run_preduce,
    .expect = expect_preduce,
};
