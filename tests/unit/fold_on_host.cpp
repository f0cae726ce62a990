/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fold_on_host.cpp - fold_element.cuh one element after the other. Compiled by
 * the compiler of C++ and, as CUDA, by nvcc.
 */
#include "tests/unit/fold_on_host.h"

#include "collectives/cuda/fold_element.cuh"

#include <string.h>

/* fold_visit() calls it with the Fold of the pair. */
struct runner {
    const struct jd_fold *fold;

    template <class Fold> typename Fold::stored in(int vector, size_t i)
    {
        typename Fold::stored x;
        memcpy(&x, (const char *)fold->ins[vector] + i * sizeof x, sizeof x);
        return x;
    }

    template <class Fold> void run(int parts)
    {
        for (size_t i = 0; i < fold->count * (size_t)parts; i++) {
            typename Fold::wide result = Fold::first(in<Fold>(0, i));
            for (int k = 1; k < fold->num_ins; k++)
                result = Fold::next(result, in<Fold>(k, i));
            typename Fold::stored out = Fold::last(result, fold->divisor);
            memcpy((char *)fold->outs[0] + i * sizeof out, &out, sizeof out);
        }
    }
};

extern "C" bool fold_on_host(jd_dtype dtype, enum jd_reduce op,
                             const struct jd_fold *fold)
{
    struct runner runner = { fold };
    return fold_visit(dtype, op, runner);
}

extern "C" bool keys_on_host(jd_dtype dtype, enum jd_reduce op,
                             enum jd_order_way way, const struct jd_fold *fold)
{
    struct runner runner = { fold };
    return fold_visit_keys(dtype, op, way, runner);
}
