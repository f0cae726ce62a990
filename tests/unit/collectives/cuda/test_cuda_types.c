/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_types.c - which reductions are NCCL's on the cuda platform, and
 * into which parts the others are cut. */
#include "collectives/cuda/collectives.h"
#include "collectives/cuda/plan.h"
#include "collectives/kernels/fold.h"
#include "tests/unit/unit.h"

static const jd_dtype dtypes[] = {
#define DTYPE_ROW(name, number, size) JD_##name,
    JD_DTYPE_MAP(DTYPE_ROW)
#undef DTYPE_ROW
};
enum { NUM_DTYPES = sizeof dtypes / sizeof *dtypes };

static const char *const op_names[JD_REDUCE_COUNT] = { "sum", "mean", "max",
                                                       "min", "prod", "and",
                                                       "or",  "xor" };

/* ---- types -------------------------------------------------------------- */

static bool has_meaning(jd_dtype dtype, enum jd_reduce op)
{
    return jd__fold_find(dtype, op, JD_FOLD_WHOLE) != NULL;
}

/* What check_reduce refuses has no way of NCCL's; the rest is folded. */
START_TEST(no_pair_without_a_meaning_is_native)
{
    for (int i = 0; i < NUM_DTYPES; i++)
        for (int op = 0; op < JD_REDUCE_COUNT; op++)
            if (!has_meaning(dtypes[i], (enum jd_reduce)op))
                ck_assert_msg(
                    !jd__cuda_way_of(dtypes[i], (enum jd_reduce)op).is_native,
                    "%s %s", jd_dtype_name(dtypes[i]), op_names[op]);
}
END_TEST

static size_t nccl_size(ncclDataType_t type)
{
    static const size_t bytes[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };
    return bytes[type];
}

START_TEST(native_elements_have_their_size)
{
    for (int i = 0; i < NUM_DTYPES; i++)
        for (int op = 0; op < JD_REDUCE_COUNT; op++) {
            struct jd_cuda_way way =
                jd__cuda_way_of(dtypes[i], (enum jd_reduce)op);
            if (way.is_native)
                ck_assert_uint_eq((size_t)way.parts * nccl_size(way.type),
                                  jd_dtype_size(dtypes[i]));
        }
}
END_TEST

/* What NCCL does of each type; the rest has another meaning there, or none. */
static const struct {
    jd_dtype dtype;
    const char *native;
} table[] = {
    { JD_PRED, " max min and or" },
    { JD_S8, " sum max min prod" },
    { JD_S16, "" },
    { JD_S32, " sum max min prod" },
    { JD_S64, " sum max min prod" },
    { JD_U8, " sum max min prod" },
    { JD_U16, "" },
    { JD_U32, " sum max min prod" },
    { JD_U64, " sum max min prod" },
    { JD_F16, " sum mean" },
    { JD_F32, " sum mean max min prod" },
    { JD_F64, " sum mean max min prod" },
    { JD_C64, " sum mean" },
    { JD_BF16, " sum mean" },
    { JD_C128, " sum mean" },
    { JD_F8E5M2, " max min" },
    { JD_F8E4M3FN, " max min" },
};

START_TEST(the_table_is_this)
{
    char text[64] = "";
    ck_assert_int_eq(sizeof table / sizeof *table, NUM_DTYPES);
    for (int op = 0; op < JD_REDUCE_COUNT; op++)
        if (jd__cuda_way_of(table[_i].dtype, (enum jd_reduce)op).is_native)
            strcat(strcat(text, " "), op_names[op]);
    ck_assert_msg(strcmp(text, table[_i].native) == 0, "%s:%s, not%s",
                  jd_dtype_name(table[_i].dtype), text, table[_i].native);
}
END_TEST

START_TEST(signs_and_kinds_are_kept)
{
    ck_assert_int_eq(jd__cuda_way_of(JD_S8, JD_REDUCE_MAX).type, ncclInt8);
    ck_assert_int_eq(jd__cuda_way_of(JD_U8, JD_REDUCE_MAX).type, ncclUint8);
    ck_assert_int_eq(jd__cuda_way_of(JD_S32, JD_REDUCE_MAX).type, ncclInt32);
    ck_assert_int_eq(jd__cuda_way_of(JD_U32, JD_REDUCE_MAX).type, ncclUint32);
    ck_assert_int_eq(jd__cuda_way_of(JD_S64, JD_REDUCE_MAX).type, ncclInt64);
    ck_assert_int_eq(jd__cuda_way_of(JD_U64, JD_REDUCE_MAX).type, ncclUint64);
    ck_assert_int_eq(jd__cuda_way_of(JD_F16, JD_REDUCE_SUM).type, ncclFloat16);
    ck_assert_int_eq(jd__cuda_way_of(JD_BF16, JD_REDUCE_SUM).type,
                     ncclBfloat16);
    ck_assert_int_eq(jd__cuda_way_of(JD_F32, JD_REDUCE_SUM).type, ncclFloat32);
    ck_assert_int_eq(jd__cuda_way_of(JD_C128, JD_REDUCE_SUM).type, ncclFloat64);
    ck_assert_int_eq(jd__cuda_way_of(JD_F32, JD_REDUCE_MEAN).op, ncclAvg);
    ck_assert_int_eq(jd__cuda_way_of(JD_F32, JD_REDUCE_PROD).op, ncclProd);
    ck_assert_int_eq(jd__cuda_way_of(JD_U8, JD_REDUCE_MIN).op, ncclMin);
    ck_assert_int_eq(jd__cuda_way_of(JD_PRED, JD_REDUCE_AND).op, ncclMin);
    ck_assert_int_eq(jd__cuda_way_of(JD_PRED, JD_REDUCE_OR).op, ncclMax);
}
END_TEST

/* A least is the greatest of other keys. */
START_TEST(the_order_of_floats_is_that_of_signed_integers)
{
    static const jd_dtype keyed[] = { JD_F8E5M2, JD_F8E4M3FN, JD_F32, JD_F64 };
    static const ncclDataType_t types[] = { ncclInt8, ncclInt8, ncclInt32,
                                            ncclInt64 };
    for (enum jd_reduce op = JD_REDUCE_MAX; op <= JD_REDUCE_MIN; op++) {
        struct jd_cuda_way way = jd__cuda_way_of(keyed[_i], op);
        ck_assert(way.is_keyed && way.op == ncclMax && way.parts == 1);
        ck_assert_int_eq(way.type, types[_i]);
    }
    ck_assert(!jd__cuda_way_of(keyed[_i], JD_REDUCE_SUM).is_keyed);
    ck_assert(!jd__cuda_way_of(JD_S32, JD_REDUCE_MAX).is_keyed);
}
END_TEST

/* ---- parts -------------------------------------------------------------- */

START_TEST(parts_are_all_there_is)
{
    for (size_t count = 0; count < 2000; count++)
        for (int size = 1; size < 9; size++) {
            size_t end = 0, longest = jd__cuda_longest_part(2000, size);
            for (int i = 0; i < size; i++) {
                struct jd_cuda_part part = jd__cuda_part(count, size, i);
                ck_assert_uint_eq(part.begin, end);
                ck_assert_uint_le(part.count, longest);
                end += part.count;
                if (count % (size_t)size == 0)
                    ck_assert_uint_eq(part.count, count / (size_t)size);
                else if (part.count)
                    ck_assert_uint_eq(part.begin % 64, 0);
            }
            ck_assert_uint_eq(end, count);
        }
}
END_TEST

static void walk(size_t rows, size_t columns, size_t most)
{
    struct jd_cuda_chunk chunk = { 0 }, first = { 0 };
    size_t at = 0;
    while (jd__cuda_next_chunk(rows, columns, most, &chunk)) {
        ck_assert_uint_eq(chunk.row * columns + chunk.column, at);
        ck_assert(chunk.rows == 1 || chunk.columns == columns);
        ck_assert_uint_le(chunk.rows * chunk.columns, most ? most : 1);
        if (!first.rows)
            first = chunk;
        ck_assert_uint_le(chunk.rows, first.rows);
        ck_assert_uint_le(chunk.columns, first.columns);
        at += chunk.rows * chunk.columns;
    }
    ck_assert_uint_eq(at, rows * columns);
}

START_TEST(chunks_are_all_there_is)
{
    for (size_t rows = 0; rows < 12; rows++)
        for (size_t columns = 0; columns < 12; columns++)
            for (size_t most = 0; most < 150; most++)
                walk(rows, columns, most);
}
END_TEST

/* More than 32 bits. */
START_TEST(chunks_may_be_large)
{
    struct jd_cuda_chunk chunk = { 0 };
    ck_assert(
        jd__cuda_next_chunk(1, (size_t)10 << 30, (size_t)4 << 30, &chunk));
    ck_assert(
        jd__cuda_next_chunk(1, (size_t)10 << 30, (size_t)4 << 30, &chunk));
    ck_assert(
        jd__cuda_next_chunk(1, (size_t)10 << 30, (size_t)4 << 30, &chunk));
    ck_assert_uint_eq(chunk.column, (size_t)8 << 30);
    ck_assert_uint_eq(chunk.columns, (size_t)2 << 30);
    ck_assert(
        !jd__cuda_next_chunk(1, (size_t)10 << 30, (size_t)4 << 30, &chunk));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_types");
    TCase *types = unit_case(suite, "types");
    TCase *parts = unit_case(suite, "parts");
    tcase_add_test(types, no_pair_without_a_meaning_is_native);
    tcase_add_test(types, native_elements_have_their_size);
    tcase_add_loop_test(types, the_table_is_this, 0, NUM_DTYPES);
    tcase_add_test(types, signs_and_kinds_are_kept);
    tcase_add_loop_test(types, the_order_of_floats_is_that_of_signed_integers,
                        0, 4);
    tcase_add_test(parts, parts_are_all_there_is);
    tcase_add_test(parts, chunks_are_all_there_is);
    tcase_add_test(parts, chunks_may_be_large);
    return unit_main(suite);
}
