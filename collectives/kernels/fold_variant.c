/* SPDX-License-Identifier: BSD-3-Clause */
/* fold_variant.c - which loops this processor is given. */
#include "collectives/kernels/fold.h"
#include "collectives/kernels/fold_loops.h"

#include <stdatomic.h>
#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

static bool has_all(void)
{
    return true;
}

#ifdef __x86_64__
/* The conversions of F16 are told by their own bit alone. */
static bool has_avx2(void)
{
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) &&
           (c & bit_F16C);
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

/* The best first. */
static const struct {
    const struct jd_fold_loops *loops;
    bool (*runs_here)(void);
} variants[] = {
#ifdef __x86_64__
    { &jd__fold_loops_avx512, has_avx512 },
    { &jd__fold_loops_avx2, has_avx2 },
#endif
    { &jd__fold_loops_portable, has_all },
};
#define NUM_VARIANTS (sizeof variants / sizeof *variants)

/* NULL until it is asked for; all who ask at once find the same. */
static _Atomic(const struct jd_fold_loops *) in_use;

const struct jd_fold_loops *jd__fold_loops(void)
{
    const struct jd_fold_loops *loops =
        atomic_load_explicit(&in_use, memory_order_relaxed);
    for (size_t i = 0; !loops && i < NUM_VARIANTS; i++)
        if (variants[i].runs_here()) {
            loops = variants[i].loops;
            atomic_store_explicit(&in_use, loops, memory_order_relaxed);
        }
    return loops;
}

const char *jd__fold_variant(void)
{
    return jd__fold_loops()->name;
}

bool jd__fold_set_variant(const char *name)
{
    for (size_t i = 0; i < NUM_VARIANTS; i++)
        if (strcmp(variants[i].loops->name, name) == 0 &&
            variants[i].runs_here()) {
            atomic_store_explicit(&in_use, variants[i].loops,
                                  memory_order_relaxed);
            return true;
        }
    return false;
}
