/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_order_keys.c - the greatest key is the result of pmax or pmin, with its
 * bits: NaNs with payloads, infinities, subnormals and zeros with a sign.
 */
#include "collectives/kernels/order_keys.h"
#include "tests/unit/fold_reference.h"
#include "tests/unit/unit.h"

enum { NUM_INS = 3, COUNT = 1 << 14, ROOM = COUNT * 8 };

static unsigned char ins[NUM_INS][ROOM], keys[NUM_INS][ROOM], wanted[ROOM];

static const struct {
    jd_dtype dtype, key;
} types[] = {
    { JD_F8E5M2, JD_S8 },
    { JD_F8E4M3FN, JD_S8 },
    { JD_F32, JD_S32 },
    { JD_F64, JD_S64 },
};
enum { NUM_TYPES = sizeof types / sizeof *types };

static void run(jd_fold_function *function, const void *const *from,
                int num_ins, void *to)
{
    function(&(struct jd_fold){ .ins = from,
                                .outs = &to,
                                .num_ins = num_ins,
                                .num_outs = 1,
                                .count = COUNT });
}

/* Of as many vectors: to keys, the greatest of them, and back in place. */
static void compare(int type, enum jd_reduce op, int num_ins)
{
    jd_dtype dtype = types[type].dtype;
    const void *from[NUM_INS], *made[NUM_INS];
    for (int k = 0; k < num_ins; k++) {
        from[k] = ins[k];
        made[k] = keys[k];
        run(jd__order_keys_find(dtype, op, JD_ORDER_TO_KEYS), &from[k], 1,
            keys[k]);
    }
    if (num_ins > 1)
        run(jd__fold_find(types[type].key, JD_REDUCE_MAX, JD_FOLD_WHOLE), made,
            num_ins, keys[0]);
    run(jd__order_keys_find(dtype, op, JD_ORDER_FROM_KEYS), made, 1, keys[0]);
    run(jd__fold_find(dtype, op, JD_FOLD_WHOLE), from, num_ins, wanted);
    size_t bytes = COUNT * jd_dtype_size(dtype), i = 0;
    while (i < bytes && keys[0][i] == wanted[i])
        i++;
    ck_assert_msg(
        i == bytes, "%s, operation %d of %d: byte %zu is %02x not %02x",
        jd_dtype_name(dtype), (int)op, num_ins, i, keys[0][i], wanted[i]);
}

START_TEST(the_greatest_key_is_the_result)
{
    for (int k = 0; k < NUM_INS; k++)
        fill_wild(ins[k], ROOM, types[_i].dtype);
    for (int num_ins = 2; num_ins <= NUM_INS; num_ins++) {
        compare(_i, JD_REDUCE_MAX, num_ins);
        compare(_i, JD_REDUCE_MIN, num_ins);
    }
}
END_TEST

/* Of 8 bits, all pairs there are. */
START_TEST(all_pairs_of_eight_bits)
{
    static const int small[] = { 0, 1 };
    for (int part = 0; part < 0x10000; part += COUNT) {
        for (int i = 0; i < COUNT; i++) {
            ins[0][i] = (unsigned char)(part + i);
            ins[1][i] = (unsigned char)((part + i) >> 8);
        }
        compare(small[_i], JD_REDUCE_MAX, 2);
        compare(small[_i], JD_REDUCE_MIN, 2);
    }
}
END_TEST

START_TEST(other_pairs_have_none)
{
    for (int d = 0; d < NUM_DTYPES; d++)
        for (int op = 0; op < JD_REDUCE_COUNT; op++) {
            bool is_keyed = false;
            for (int i = 0; i < NUM_TYPES; i++)
                is_keyed |= types[i].dtype == dtypes[d] &&
                            (op == JD_REDUCE_MAX || op == JD_REDUCE_MIN);
            ck_assert((jd__order_keys_find(dtypes[d], (enum jd_reduce)op,
                                           JD_ORDER_TO_KEYS) != NULL) ==
                      is_keyed);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("order_keys");
    TCase *tcase = unit_case(suite, "order_keys");
    tcase_add_loop_test(tcase, the_greatest_key_is_the_result, 0, NUM_TYPES);
    tcase_add_loop_test(tcase, all_pairs_of_eight_bits, 0, 2);
    tcase_add_test(tcase, other_pairs_have_none);
    return unit_main(suite);
}
