/* SPDX-License-Identifier: BSD-3-Clause */
/* test_identity.c - the element that changes no other, of each type. */
#include "collectives/kernels/identity.h"
#include "tests/unit/fold_reference.h"
#include "tests/unit/unit.h"

enum { COUNT = 400, ROOM = COUNT * 16 };

static unsigned char in[ROOM], identities[ROOM], out[ROOM], alone[ROOM];

static void fold_into(jd_dtype dtype, enum jd_reduce op,
                      const void *const ins[2], void *to)
{
    jd__fold_find(dtype, op, JD_FOLD_WHOLE)(&(struct jd_fold){
        .ins = ins, .outs = &to, .num_ins = 2, .num_outs = 1, .count = COUNT });
}

/* Whether an element is a NaN, whose payload does not stay, or a zero, whose
 * sign a sum does not keep, or of PRED another byte than 1 that is true. */
static bool is_special(jd_dtype dtype, const unsigned char *x)
{
    struct element e = load(dtype, x);
    if (!is_float(dtype))
        return dtype == JD_PRED && e.integer > 1;
    for (int i = 0; i < 2; i++)
        if (isnan(e.f[i]) || isnan(e.d[i]) || is_complex(dtype))
            return true;
    return e.f[0] == 0 && e.d[0] == 0;
}

static void try_pair(jd_dtype dtype, enum jd_reduce op)
{
    size_t size = jd_dtype_size(dtype);
    fill_wild(in, ROOM, dtype);
    jd__identity_fill(dtype, op, COUNT, identities);
    fold_into(dtype, op, (const void *const[]){ identities, in }, out);
    fold_into(dtype, op, (const void *const[]){ in, identities }, alone);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_msg(is_special(dtype, in + i * size) ||
                          (memcmp(in + i * size, out + i * size, size) == 0 &&
                           memcmp(in + i * size, alone + i * size, size) == 0),
                      "%s, op %d: element %zu is changed", jd_dtype_name(dtype),
                      (int)op, i);
}

START_TEST(identity_changes_nothing)
{
    for (int op = 0; op < JD_REDUCE_COUNT; op++)
        if (op != JD_REDUCE_MEAN && has_meaning(dtypes[_i], (enum jd_reduce)op))
            try_pair(dtypes[_i], (enum jd_reduce)op);
}
END_TEST

START_TEST(values_are_those_that_are_said)
{
    float f;
    int16_t s;
    double c[2];
    uint8_t b;
    jd__identity_fill(JD_F32, JD_REDUCE_MAX, 1, &f);
    ck_assert(f < 0 && isinf(f));
    jd__identity_fill(JD_S16, JD_REDUCE_MIN, 1, &s);
    ck_assert_int_eq(s, INT16_MAX);
    jd__identity_fill(JD_C128, JD_REDUCE_PROD, 1, c);
    ck_assert(c[0] == 1 && c[1] == 0);
    jd__identity_fill(JD_PRED, JD_REDUCE_AND, 1, &b);
    ck_assert_int_eq(b, 1);
    jd__identity_fill(JD_F8E4M3FN, JD_REDUCE_MAX, 1, &b);
    ck_assert_int_eq(b, 0xfe);
    jd__identity_fill(JD_U8, JD_REDUCE_XOR, 1, &b);
    ck_assert_int_eq(b, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("identity");
    TCase *all = unit_case(suite, "identity");
    tcase_add_loop_test(all, identity_changes_nothing, 0, NUM_DTYPES);
    tcase_add_test(all, values_are_those_that_are_said);
    return unit_main(suite);
}
