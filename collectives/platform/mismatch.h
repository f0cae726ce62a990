/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mismatch.h - what all members of a meeting hear where their calls differ: the
 * same words on each, on every platform.
 *
 *     struct jd_mismatch mismatch = { .comm = comm, ... };
 *     if (jd__signature_find_odd(get, arg, size, &mismatch.odd, ...))
 *         return jd__mismatch_fail(&mismatch);
 *
 * Of a permutation a signature has a digest alone, and of the counts of a
 * ragged gather. Where two calls differ in nothing else, all members stay
 * together after the meeting, and the two tell the list that they have, until a
 * number differs; and in any case where in the program they call: calls that
 * agree pay nothing for it.
 */
#ifndef COLLECTIVES_PLATFORM_MISMATCH_H
#define COLLECTIVES_PLATFORM_MISMATCH_H

#include "collectives/platform/platform.h"

/* Of one of two members. */
struct jd_mismatch_call {
    int member;
    struct jd_signature signature; /* copied: meetings follow */
};

struct jd_mismatch {
    /* By whose broadcast members are told what is compared. */
    const struct jd_platform *platform;
    struct jd_comm *comm;

    const struct jd_collective *call; /* this member's own */
    const int *processes;             /* of each member */
    int size;
    int index; /* this member's */
    struct jd_mismatch_call odd, other;
};

/* Collective: by all members, who have met and know the same of odd and other.
 * Blocks: for two broadcasts, and some more where these are permutations, each
 *   with a deadline; where one of them fails the sentence is without what it
 *   was to bring.
 * Returns: INVALID_ARGUMENT. */
jd_status jd__mismatch_fail(const struct jd_mismatch *mismatch);

#endif
