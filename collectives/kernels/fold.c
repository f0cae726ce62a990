/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fold.c - puts the loops of a variant together. Where a fold is more than one
 * loop it goes block by block, so that what is between two loops stays in the
 * nearest cache.
 */
#include "collectives/kernels/fold.h"

#include "collectives/kernels/fold_loops.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    BLOCK_BYTES = 4096 /* of wide elements: two of them and as many ins and
                        * outs fit into 32 KiB */
};

void jd__fold_fence(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

jd_dtype jd__fold_wide(jd_dtype dtype)
{
    bool is_narrow = dtype == JD_F16 || dtype == JD_BF16 ||
                     dtype == JD_F8E5M2 || dtype == JD_F8E4M3FN;
    return is_narrow ? JD_F32 : dtype;
}

/* What is done to each block, and in which element sizes. A fold of one vector
 * into its own type is its copy. */
struct fold_plan {
    jd_fold_many *many;       /* NULL: one after the other, by the others */
    jd_fold_change *widen;    /* NULL: ins are what combine takes */
    jd_fold_combine *combine; /* of two ins, or of the result and one */
    jd_fold_combine *gather;  /* NULL: widen and combine */
    jd_fold_divide *divide;   /* NULL: no division */
    jd_fold_change *narrow;   /* NULL: outs are what combine gives */
    size_t in_size, out_size;
    size_t block; /* elements */
};

/* The loop that does all, or NULL where there are several. */
static jd_fold_combine *one_loop(const struct jd_fold_loops *loops,
                                 jd_dtype dtype, enum jd_reduce op, int num_ins)
{
    if (num_ins == 2 && op == JD_REDUCE_SUM && loops->pair_sum[dtype])
        return loops->pair_sum[dtype];
    return loops->combine[op][dtype];
}

static struct fold_plan make_plan(jd_dtype dtype, enum jd_reduce op,
                                  enum jd_fold_form form, int num_ins)
{
    const struct jd_fold_loops *loops = jd__fold_loops();
    bool in_wide = form == JD_FOLD_FINISH || form == JD_FOLD_WIDE;
    bool out_wide = form == JD_FOLD_PARTIAL || form == JD_FOLD_WIDE;
    bool sums = op == JD_REDUCE_SUM || op == JD_REDUCE_MEAN;
    bool copies = num_ins == 1 && op != JD_REDUCE_MEAN;
    jd_dtype wide = jd__fold_wide(dtype);
    jd_fold_combine *one = one_loop(loops, dtype, op, num_ins);
    bool native = form == JD_FOLD_WHOLE && (copies || one);
    bool sums_whole = sums && form == JD_FOLD_WHOLE && !native;
    return (struct fold_plan){
        .many = sums_whole ? loops->many_sum[dtype] : NULL,
        .widen = in_wide || native ? NULL : loops->widen[dtype],
        .combine = native ? one : loops->combine[op][wide],
        .gather = sums && !in_wide && !native ? loops->gather[dtype] : NULL,
        .divide =
            op == JD_REDUCE_MEAN && !out_wide ? loops->divide[wide] : NULL,
        .narrow = out_wide || native ? NULL : loops->narrow[dtype],
        .in_size = jd_dtype_size(in_wide ? wide : dtype),
        .out_size = jd_dtype_size(out_wide ? wide : dtype),
        .block = BLOCK_BYTES / jd_dtype_size(native ? dtype : wide),
    };
}

/* Room for one block's result and for a widened in. */
struct scratch {
    _Alignas(64) unsigned char result[BLOCK_BYTES];
    _Alignas(64) unsigned char widened[BLOCK_BYTES];
};

static const void *block_in(const struct jd_fold *fold,
                            const struct fold_plan *plan, int k, size_t start)
{
    return (const unsigned char *)fold->ins[k] + start * plan->in_size;
}

static void *block_out(const struct jd_fold *fold, const struct fold_plan *plan,
                       int k, size_t start)
{
    return (unsigned char *)fold->outs[k] + start * plan->out_size;
}

/* The ins' n elements from start on, combined; the last loop writes to last,
 * which may be one of the ins. Returns where the result is: last, or the in
 * itself where there is but one. */
static const void *combine_ins(const struct jd_fold *fold,
                               const struct fold_plan *plan, size_t start,
                               size_t n, struct scratch *scratch, void *last)
{
    const void *result = block_in(fold, plan, 0, start);
    if (plan->widen) {
        void *to = fold->num_ins > 1 ? scratch->result : last;
        plan->widen(to, result, n);
        result = to;
    }
    for (int k = 1; k < fold->num_ins; k++) {
        const void *in = block_in(fold, plan, k, start);
        void *to = k + 1 < fold->num_ins ? scratch->result : last;
        if (plan->widen && !plan->gather) {
            plan->widen(scratch->widened, in, n);
            in = scratch->widened;
        }
        (plan->gather ? plan->gather : plan->combine)(to, result, in, n);
        result = to;
    }
    return result;
}

/* The whole way of one block to where it is wanted; returns where it is. */
static const void *fold_block(const struct jd_fold *fold,
                              const struct fold_plan *plan, size_t start,
                              size_t n, struct scratch *scratch, void *last)
{
    if (plan->many) {
        plan->many(last, fold->ins, fold->num_ins, start, n,
                   plan->divide ? fold->divisor : 0);
        return last;
    }
    void *inner = plan->narrow ? scratch->result : last;
    const void *result = combine_ins(fold, plan, start, n, scratch,
                                     plan->divide ? scratch->result : inner);
    if (plan->divide) {
        plan->divide(inner, result, n, fold->divisor);
        result = inner;
    }
    if (plan->narrow) {
        plan->narrow(last, result, n);
        result = last;
    }
    return result;
}

/* A block that is streamed, or that is an in itself, is copied to each out;
 * otherwise the first out has it. */
static void fold_blocks(const struct jd_fold *fold,
                        const struct fold_plan *plan)
{
    struct scratch scratch;
    void (*stream)(void *, const void *, size_t) = jd__fold_loops()->stream;
    for (size_t start = 0; start < fold->count; start += plan->block) {
        size_t left = fold->count - start;
        size_t n = left < plan->block ? left : plan->block;
        size_t bytes = n * plan->out_size;
        void *last =
            fold->streams ? scratch.result : block_out(fold, plan, 0, start);
        const void *result = fold_block(fold, plan, start, n, &scratch, last);
        for (int k = 0; k < fold->num_outs; k++) {
            void *out = block_out(fold, plan, k, start);
            if (fold->streams)
                stream(out, result, bytes);
            else if (out != result)
                memcpy(out, result, bytes);
        }
    }
    if (fold->streams)
        jd__fold_fence();
}

/* One in, of the type that is wanted, undivided, to one out: several outs are
 * written while a block is near. */
static bool is_copy(const struct jd_fold *fold, jd_dtype dtype,
                    enum jd_reduce op, enum jd_fold_form form)
{
    bool is_as_wanted = form == JD_FOLD_WHOLE || form == JD_FOLD_WIDE ||
                        jd__fold_wide(dtype) == dtype;
    bool divides = op == JD_REDUCE_MEAN &&
                   (form == JD_FOLD_WHOLE || form == JD_FOLD_FINISH);
    return fold->num_ins == 1 && fold->num_outs == 1 && !fold->streams &&
           is_as_wanted && !divides;
}

static void copy_in(const struct jd_fold *fold, jd_dtype dtype,
                    enum jd_fold_form form)
{
    jd_dtype moved = form == JD_FOLD_WIDE ? jd__fold_wide(dtype) : dtype;
    if (fold->outs[0] != fold->ins[0])
        memcpy(fold->outs[0], fold->ins[0], fold->count * jd_dtype_size(moved));
}

/* One in, or two ins and one out in one loop, are the cases of most folds. */
static __attribute__((noinline)) void fold_by_plan(const struct jd_fold *fold,
                                                   jd_dtype dtype,
                                                   enum jd_reduce op,
                                                   enum jd_fold_form form)
{
    if (is_copy(fold, dtype, op, form)) {
        copy_in(fold, dtype, form);
        return;
    }
    struct fold_plan plan = make_plan(dtype, op, form, fold->num_ins);
    bool plain = !plan.widen && !plan.divide && !plan.narrow;
    if (plain && fold->num_ins == 2 && fold->num_outs == 1 && !fold->streams)
        plan.combine(fold->outs[0], fold->ins[0], fold->ins[1], fold->count);
    else
        fold_blocks(fold, &plan);
}

/* A function for each type, operation and form. */
#define DEFINE_FORM(dtype, op, form)                                           \
    static void fold_##dtype##_##op##_##form(const struct jd_fold *fold)       \
    {                                                                          \
        fold_by_plan(fold, JD_##dtype, JD_REDUCE_##op, JD_FOLD_##form);        \
    }
#define DEFINE_FORMS(dtype, op)                                                \
    DEFINE_FORM(dtype, op, WHOLE)                                              \
    DEFINE_FORM(dtype, op, PARTIAL)                                            \
    DEFINE_FORM(dtype, op, FINISH)                                             \
    DEFINE_FORM(dtype, op, WIDE)
#define DEFINE_OPS(dtype, number, size)                                        \
    DEFINE_FORMS(dtype, SUM)                                                   \
    DEFINE_FORMS(dtype, MEAN)                                                  \
    DEFINE_FORMS(dtype, MAX)                                                   \
    DEFINE_FORMS(dtype, MIN)                                                   \
    DEFINE_FORMS(dtype, PROD)                                                  \
    DEFINE_FORMS(dtype, AND)                                                   \
    DEFINE_FORMS(dtype, OR)                                                    \
    DEFINE_FORMS(dtype, XOR)
JD_DTYPE_MAP(DEFINE_OPS)
DEFINE_FORMS(C128, LOCATED)

#define FORM_ROW(dtype, op, form)                                              \
    [JD_FOLD_##form] = fold_##dtype##_##op##_##form
#define OP_ROW(dtype, op)                                                      \
    [JD_REDUCE_##                                                              \
        op] = { FORM_ROW(dtype, op, WHOLE), FORM_ROW(dtype, op, PARTIAL),      \
                FORM_ROW(dtype, op, FINISH), FORM_ROW(dtype, op, WIDE) }
#define DTYPE_ROW(dtype, number, size)                                         \
    [JD_##dtype] = { OP_ROW(dtype, SUM),  OP_ROW(dtype, MEAN),                 \
                     OP_ROW(dtype, MAX),  OP_ROW(dtype, MIN),                  \
                     OP_ROW(dtype, PROD), OP_ROW(dtype, AND),                  \
                     OP_ROW(dtype, OR),   OP_ROW(dtype, XOR) },
static jd_fold_function *const functions[JD_NUM_DTYPES][JD_REDUCE_COUNT]
                                        [JD_FOLD_FORMS] = { JD_DTYPE_MAP(
                                            DTYPE_ROW) };

jd_fold_function *jd__fold_find(jd_dtype dtype, enum jd_reduce op,
                                enum jd_fold_form form)
{
    static jd_fold_function *const located[JD_FOLD_FORMS] = {
        FORM_ROW(C128, LOCATED, WHOLE), FORM_ROW(C128, LOCATED, PARTIAL),
        FORM_ROW(C128, LOCATED, FINISH), FORM_ROW(C128, LOCATED, WIDE)
    };
    if ((unsigned)dtype >= JD_NUM_DTYPES || (unsigned)op >= JD_REDUCE_ALL ||
        (unsigned)form >= JD_FOLD_FORMS)
        return NULL;
    if (!jd__fold_loops()->combine[op][jd__fold_wide(dtype)])
        return NULL;
    return op == JD_REDUCE_LOCATED ? located[form] : functions[dtype][op][form];
}

void jd__fold_one(jd_dtype dtype, enum jd_reduce op, enum jd_fold_form form,
                  const void *in, void *out, size_t count, int divisor)
{
    const struct jd_fold fold = { .ins = &in,
                                  .outs = &out,
                                  .num_ins = 1,
                                  .num_outs = 1,
                                  .count = count,
                                  .divisor = divisor };
    if (is_copy(&fold, dtype, op, form))
        copy_in(&fold, dtype, form);
    else
        jd__fold_find(dtype, op, form)(&fold);
}

void jd__fold_stream(void *to, const void *from, size_t bytes)
{
    jd__fold_loops()->stream(to, from, bytes);
}
