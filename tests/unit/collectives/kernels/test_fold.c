/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_fold.c - every fold in every variant against one element after the
 * other, over random bits, special values, lengths, alignments and outs.
 */
#include "collectives/kernels/fold.h"
#include "tests/unit/fold_reference.h"
#include "tests/unit/unit.h"

#include <stdint.h>
#include <stdio.h>

enum {
    MAX_INS = 5,
    MAX_OUTS = 3,
    MAX_COUNT = 2500, /* some blocks of the smallest kind */
    MARGIN = 128,
    ROOM = MAX_COUNT * 16 + 2 * MARGIN
};

/* One case: what is folded, where it lies. */
struct
try {
    jd_dtype dtype;
    enum jd_reduce op;
    enum jd_fold_form form;
    int num_ins, num_outs;
    int in_place; /* the in that the first out is, or -1 */
    size_t count, offset;
    bool streams;
};

static unsigned char ins[MAX_INS][ROOM], outs[MAX_OUTS][ROOM];
static unsigned char wanted[ROOM];

static jd_dtype in_type(const struct try *t)
{
    bool wide = t->form == JD_FOLD_FINISH || t->form == JD_FOLD_WIDE;
    return wide ? jd__fold_wide(t->dtype) : t->dtype;
}

static jd_dtype out_type(const struct try *t)
{
    bool wide = t->form == JD_FOLD_PARTIAL || t->form == JD_FOLD_WIDE;
    return wide ? jd__fold_wide(t->dtype) : t->dtype;
}

static int divisor_of(const struct try *t)
{
    bool divides = t->form == JD_FOLD_WHOLE || t->form == JD_FOLD_FINISH;
    return t->op == JD_REDUCE_MEAN && divides ? t->num_ins + 2 : 0;
}

/* From the first in to the last, element by element. */
static void expect(const struct try *t, const unsigned char *const *from)
{
    size_t in_size = jd_dtype_size(in_type(t));
    size_t out_size = jd_dtype_size(out_type(t));
    int divisor = divisor_of(t);
    for (size_t i = 0; i < t->count; i++) {
        struct element e = load(in_type(t), from[0] + i * in_size);
        for (int k = 1; k < t->num_ins; k++)
            e = combine(t->dtype, t->op, e,
                        load(in_type(t), from[k] + i * in_size));
        if (divisor)
            e = divide(e, divisor);
        store(out_type(t), e, wanted + i * out_size);
    }
    if (t->num_ins == 1 && in_type(t) == out_type(t) && !divisor)
        memcpy(wanted, from[0], t->count * in_size);
}

static void describe(const struct try *t, const char *variant, char text[200])
{
    snprintf(text, 200,
             "%s: %s op %d form %d, %d ins, %d outs, %zu elements at %zu%s, "
             "out is in %d",
             variant, jd_dtype_name(t->dtype), (int)t->op, (int)t->form,
             t->num_ins, t->num_outs, t->count, t->offset,
             t->streams ? ", streamed" : "", t->in_place);
}

/* One into one goes by jd__fold_one() too. */
static void fold(const struct try *t, const unsigned char *const *from,
                 void *const *to)
{
    static bool is_turn;
    bool is_one = t->num_ins == 1 && t->num_outs == 1 && !t->streams;
    is_turn = is_one ? !is_turn : is_turn;
    if (is_one && is_turn) {
        jd__fold_one(t->dtype, t->op, t->form, from[0], to[0], t->count,
                     divisor_of(t));
        return;
    }
    jd__fold_find(t->dtype, t->op, t->form)(&(struct jd_fold){
        .ins = (const void *const *)from,
        .outs = to,
        .num_ins = t->num_ins,
        .num_outs = t->num_outs,
        .count = t->count,
        .divisor = divisor_of(t),
        .streams = t->streams,
    });
}

static void try_one(const struct try *t, const char *variant)
{
    char text[200];
    describe(t, variant, text);
    const unsigned char *from[MAX_INS];
    void *to[MAX_OUTS];
    for (int k = 0; k < t->num_ins; k++)
        from[k] = ins[k] + MARGIN + (size_t)(k + 1) * t->offset;
    expect(t, from);
    static unsigned char kept[ROOM];
    unsigned char untouched[16];
    memset(untouched, 0xa5, sizeof untouched);
    size_t bytes = t->count * jd_dtype_size(out_type(t));
    for (int k = 0; k < t->num_outs; k++)
        memset(outs[k], 0xa5, bytes + 2 * MARGIN);
    for (int k = 0; k < t->num_outs; k++)
        to[k] = outs[k] + MARGIN + (size_t)(3 * k + 2) * t->offset;
    if (t->in_place >= 0) {
        memcpy(kept, ins[t->in_place], ROOM);
        to[0] =
            ins[t->in_place] + MARGIN + (size_t)(t->in_place + 1) * t->offset;
    }
    fold(t, from, to);
    for (int k = 0; k < t->num_outs; k++) {
        unsigned char *out = to[k];
        size_t i = 0;
        while (i < bytes && out[i] == wanted[i])
            i++;
        ck_assert_msg(i == bytes, "%s: byte %zu of out %d is %#x, not %#x",
                      text, i, k, out[i], wanted[i]);
        bool alone = k > 0 || t->in_place < 0;
        ck_assert_msg(!alone || (memcmp(out - 16, untouched, 16) == 0 &&
                                 memcmp(out + bytes, untouched, 16) == 0),
                      "%s: written beside out %d", text, k);
    }
    if (t->in_place >= 0)
        memcpy(ins[t->in_place], kept, ROOM);
}

/* All that can lie differently, for one type, op and form. */
static void try_places(struct try t, const char *variant)
{
    static const size_t counts[] = { 0, 1, 2, 7, 16, 31, 64, 129, 1000, 2500 };
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (t.num_ins = 1; t.num_ins <= MAX_INS; t.num_ins++) {
            uint64_t bits = wild_bits() >> 20;
            t.count = counts[c];
            t.offset = bits & 1 ? 0 : (bits >> 1 & 255) % 9;
            t.num_outs = 1 + (int)(bits >> 4 & 255) % MAX_OUTS;
            t.streams = bits >> 12 & 1;
            t.in_place = -1;
            try_one(&t, variant);
            if (in_type(&t) != out_type(&t))
                continue;
            t.in_place = (int)(bits >> 13 & 255) % t.num_ins;
            t.streams = false;
            t.num_outs = 1 + (int)(bits >> 21 & 1);
            try_one(&t, variant);
        }
}

static void try_forms(jd_dtype dtype, enum jd_reduce op)
{
    for (int form = 0; form < JD_FOLD_FORMS; form++) {
        struct try t = { .dtype = dtype,
                         .op = op,
                         .form = (enum jd_fold_form)form };
        for (int k = 0; k < MAX_INS; k++)
            fill_wild(ins[k], ROOM, in_type(&t));
        for (int v = 0; v < NUM_VARIANTS; v++)
            if (jd__fold_set_variant(variants[v]))
                try_places(t, variants[v]);
    }
}

START_TEST(folds_are_those_of_single_elements)
{
    for (int op = 0; op < JD_REDUCE_COUNT; op++)
        if (has_meaning(dtypes[_i], (enum jd_reduce)op))
            try_forms(dtypes[_i], (enum jd_reduce)op);
}
END_TEST

START_TEST(pairs_without_meaning_have_no_fold)
{
    for (int d = 0; d < NUM_DTYPES; d++)
        for (int op = 0; op < JD_REDUCE_COUNT; op++)
            for (int form = 0; form < JD_FOLD_FORMS; form++)
                ck_assert_msg(!jd__fold_find(dtypes[d], (enum jd_reduce)op,
                                             (enum jd_fold_form)form) ==
                                  !has_meaning(dtypes[d], (enum jd_reduce)op),
                              "%s, op %d", jd_dtype_name(dtypes[d]), op);
    static const int others[] = { -1, 0, 13, 14, 17, 21, 1 << 20 };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert(
            !jd__fold_find((jd_dtype)others[i], JD_REDUCE_SUM, JD_FOLD_WHOLE));
    ck_assert(!jd__fold_find(JD_F32, JD_REDUCE_COUNT, JD_FOLD_WHOLE));
    ck_assert(!jd__fold_find(JD_F32, JD_REDUCE_SUM, JD_FOLD_FORMS));
}
END_TEST

START_TEST(variants_are_chosen_by_name)
{
    ck_assert_ptr_nonnull(jd__fold_variant());
    for (int v = 0; v < NUM_VARIANTS; v++)
        if (choose(variants[v]))
            ck_assert_str_eq(jd__fold_variant(), variants[v]);
    ck_assert(jd__fold_set_variant("portable"));
    ck_assert(!jd__fold_set_variant("abacus"));
    ck_assert_str_eq(jd__fold_variant(), "portable");
}
END_TEST

START_TEST(streams_are_exact)
{
    fill_wild(ins[0], ROOM, JD_U8);
    for (int v = 0; v < NUM_VARIANTS; v++) {
        if (!choose(variants[v]))
            continue;
        for (size_t bytes = 0; bytes < 400; bytes++)
            for (size_t offset = 0; offset < 64; offset += 7) {
                memset(outs[0], 0xa5, 600);
                unsigned char *to = outs[0] + 16 + offset;
                jd__fold_stream(to, ins[0] + bytes % 13, bytes);
                jd__fold_fence();
                ck_assert(memcmp(to, ins[0] + bytes % 13, bytes) == 0);
                ck_assert(to[-1] == 0xa5 && to[bytes] == 0xa5);
            }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fold");
    TCase *tcase = unit_case(suite, "fold");
    tcase_set_timeout(tcase, 100);
    tcase_add_loop_test(tcase, folds_are_those_of_single_elements, 0,
                        NUM_DTYPES);
    tcase_add_test(tcase, pairs_without_meaning_have_no_fold);
    tcase_add_test(tcase, variants_are_chosen_by_name);
    tcase_add_test(tcase, streams_are_exact);
    return unit_main(suite);
}
