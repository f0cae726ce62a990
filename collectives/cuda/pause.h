/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pause.h - what a loop that polls the GPU does between two looks: a short
 * spin, then yields, then sleeps of up to 1 ms.
 *
 *     struct jd_cuda_pace pace = jd__cuda_pace(timeout);
 *     while ((error = cudaStreamQuery(stream)) == cudaErrorNotReady)
 *         if (!jd__cuda_pause(&pace))
 *             ... it is late ...
 */
#ifndef COLLECTIVES_CUDA_PAUSE_H
#define COLLECTIVES_CUDA_PAUSE_H

#include <stdbool.h>

struct jd_cuda_pace {
    double timeout;  /* seconds; negative: none */
    double begin;    /* on the clock, the first pause that was not a spin */
    unsigned pauses; /* all but the sleeps */
    unsigned sleeps;
};

static inline struct jd_cuda_pace jd__cuda_pace(double timeout)
{
    return (struct jd_cuda_pace){ .timeout = timeout, .begin = -1 };
}

/* False where the time is over. */
bool jd__cuda_pause(struct jd_cuda_pace *pace);

/* Whether the next pause is a spin: there is no time for anything else. */
bool jd__cuda_pause_is_short(const struct jd_cuda_pace *pace);

#endif
