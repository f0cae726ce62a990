/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * signature.h - what a member of a collective says that it is calling, so that
 * members who call different things find out instead of waiting for ever.
 *
 *     struct jd_signature mine = { .activity = JD_ACTIVITY_PSUM, ... };
 *     if (!jd__signature_agrees(&mine, &theirs)) ...
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_CHECK_SIGNATURE_H
#define COLLECTIVES_CHECK_SIGNATURE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What the members of a meeting can be doing. */
#define JD_ACTIVITY_MAP(X)                                                     \
    X(PSUM, "jd_psum")                                                         \
    X(PMEAN, "jd_pmean")                                                       \
    X(PMAX, "jd_pmax")                                                         \
    X(PMIN, "jd_pmin")                                                         \
    X(PPROD, "jd_pprod")                                                       \
    X(PMAXLOC, "jd_pmaxloc")                                                   \
    X(PMINLOC, "jd_pminloc")                                                   \
    X(PAND, "jd_pand")                                                         \
    X(POR, "jd_por")                                                           \
    X(PXOR, "jd_pxor")                                                         \
    X(ALL_GATHER, "jd_all_gather")                                             \
    X(ALL_GATHER_2D, "jd_all_gather_2d")                                       \
    X(PSUM_SCATTER, "jd_psum_scatter")                                         \
    X(PSUM_SCATTER_2D, "jd_psum_scatter_2d")                                   \
    X(ALL_TO_ALL, "jd_all_to_all")                                             \
    X(ALL_TO_ALL_2D, "jd_all_to_all_2d")                                       \
    X(ALL_TO_ALL_ND, "jd_all_to_all_nd")                                       \
    X(RAGGED_ALL_TO_ALL, "jd_ragged_all_to_all")                               \
    X(RAGGED_ALL_GATHER, "jd_ragged_all_gather")                               \
    X(PREDUCE, "jd_preduce")                                                   \
    X(PPERMUTE, "jd_ppermute")                                                 \
    X(PPERMUTE_KEEP, "jd_ppermute_keep")                                       \
    X(PSHUFFLE, "jd_pshuffle")                                                 \
    X(SHIFT, "jd_shift")                                                       \
    X(PBROADCAST, "jd_pbroadcast")                                             \
    X(SCAN, "jd_scan")                                                         \
    X(SEND, "jd_send")                                                         \
    X(RECV, "jd_recv")                                                         \
    X(RECV_ANY_SIZE, "jd_recv_any_size")                                       \
    X(SENDRECV, "jd_sendrecv")                                                 \
    X(HALO_EXCHANGE, "jd_halo_exchange")                                       \
    X(GROUP, "jd_group_end")                                                   \
    X(BARRIER, "jd_barrier")                                                   \
    X(BROADCAST_ONE_TO_ALL, "jd_broadcast_one_to_all")                         \
    X(PROCESS_ALLGATHER, "jd_process_allgather")                               \
    X(ASSERT_EQUAL, "jd_assert_equal")                                         \
    X(ASSERT_EQUAL_WITH, "jd_assert_equal_with")                               \
    X(COMMUNICATOR, "making NCCL's communicator")

enum jd_activity {
#define JD_ACTIVITY_ENUM_ROW(name, text) JD_ACTIVITY_##name,
    JD_ACTIVITY_MAP(JD_ACTIVITY_ENUM_ROW)
#undef JD_ACTIVITY_ENUM_ROW
        JD_ACTIVITY_COUNT
};

/* "jd_psum"; for a number that is none, "not an activity". */
const char *jd__signature_activity_name(uint32_t activity);

/*
 * What a member comes to a meeting with. All but status must be the same on
 * all members; status is not JD_OK where a member only comes to say that it
 * cannot take part.
 */
struct jd_signature {
    uint16_t activity; /* enum jd_activity */
    uint16_t dtype;
    uint32_t site;  /* with JD_CHECK_SITES=1 the place in the program (site.h);
                     * 0: it is not compared */
    int32_t source; /* -1: the call has none */
    int32_t status;
    uint64_t count;
    uint64_t digest; /* the rest, as it is where jd__signature_print() says
                      * it: of the 2-D calls, of jd_ragged_all_to_all, of
                      * jd_shift, of jd_scan and of jd_preduce; of a
                      * permutation its routes'
                      * (routes.h), of jd_ragged_all_gather its counts' */
};

/* The rest of jd_all_to_all_2d; the axes are 0 or 1. */
static inline uint64_t jd__signature_matrix(size_t rows, int split_axis,
                                            int concat_axis)
{
    return (uint64_t)rows << 2 | (uint64_t)split_axis << 1 |
           (uint64_t)concat_axis;
}

/* The rest of jd_all_to_all_nd: planes and rows are the lengths before and
 * between the axes, which are 0 to 63. Of what is longer than the low bits:
 * then what goes to each differs too, or the columns do. */
static inline uint64_t jd__signature_nd(size_t planes, size_t rows,
                                        int split_axis, int concat_axis)
{
    const uint64_t most = (UINT64_C(1) << 26) - 1;
    return (planes & most) << 38 | (rows & most) << 12 |
           (uint64_t)split_axis << 6 | (uint64_t)concat_axis;
}

/* The rest of jd_shift; edge is a jd_edge. */
static inline uint64_t jd__signature_shift(int by, int edge)
{
    return (uint64_t)(uint32_t)by << 2 | (uint64_t)edge;
}

/* The rest of jd_scan, never 0; op is a jd_op, kind a jd_scan_kind. */
static inline uint64_t jd__signature_scan(int op, int kind)
{
    return UINT64_C(1) << 8 | (uint64_t)op << 1 | (uint64_t)kind;
}

/* The rest of jd_preduce: elements, of bytes below 2^16; its count is that of
 * one piece. */
static inline uint64_t jd__signature_preduce(size_t count, size_t bytes)
{
    return (uint64_t)count << 16 | (uint64_t)bytes;
}

/* Of all but the status, in some instructions: against accidents. */
static inline uint64_t jd__signature_digest(const struct jd_signature *s)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t d = s->activity | (uint64_t)s->dtype << 16;
    d = (d | (uint64_t)s->site << 32) * odd;
    d = ((d ^ d >> 32) + s->count) * odd;
    d = ((d ^ d >> 32) + s->digest) * odd;
    return (d ^ d >> 32) + (uint32_t)s->source;
}

/* All but the status. */
bool jd__signature_agrees(const struct jd_signature *a,
                          const struct jd_signature *b);

/* What JD_CHECK_SITES has found, for behind the second call; "" where the calls
 * differ in something else, or not at all. */
const char *jd__signature_describe_sites(const struct jd_signature *a,
                                         const struct jd_signature *b);

/* "jd_pbroadcast of 5 x F32 from source 1", with all that has to be the same
 * but a permutation's routes; cut where it does not fit. */
#define JD_SIGNATURE_TEXT 160
void jd__signature_print(const struct jd_signature *signature, char *text,
                         size_t size);

/* What the sentence of two ends that do not fit together says of a tag: ""
 * where both have that of jd_send() and jd_recv(). */
struct jd_tag_text {
    char text[24];
};
static inline struct jd_tag_text jd__tag_text(int32_t tag, int32_t other)
{
    struct jd_tag_text tagged = { "" };
    if (tag || other)
        snprintf(tagged.text, sizeof tagged.text, " with tag %d", (int)tag);
    return tagged;
}

/* How it ends. */
static inline const char *jd__transfer_rule(int32_t tag, int32_t other)
{
    return tag == other ? "a send and its receive have the same count and "
                          "type, and match in the order of the calls"
                        : "a send and its receive have the same tag; between "
                          "two members the transfers of a group match in the "
                          "order of their tags, others in that of the calls";
}

/*
 * Two of count members whose signatures differ: odd, and one who agrees with
 * most. False where all agree. Same answer on every member.
 */
bool jd__signature_find_odd(const struct jd_signature *(*get)(const void *arg,
                                                              int member),
                            const void *arg, int count, int *ret_odd,
                            int *ret_other);

/* What a process has said. */
struct jd_said {
    int process;
    int member; /* -1: not to be named, the process has no other */
    const struct jd_signature *signature;
};

/* " (member 3)", or "" for -1. */
struct jd_member_text {
    char text[24];
};
static inline struct jd_member_text jd__member_text(int member)
{
    struct jd_member_text named = { "" };
    if (member >= 0)
        snprintf(named.text, sizeof named.text, " (member %d)", member);
    return named;
}

/* The member, where its process or the other's has several of them; else -1.
 * processes are of all members; the other may be the same. */
int jd__signature_name(const int *processes, int count, int member, int other);

/* INVALID_ARGUMENT with what the two processes call. detail follows the
 * operation, or is NULL; more, what the two calls do not show, or ""; end is
 * the sentence's, or "". */
jd_status jd__signature_fail(const char *operation, const char *detail,
                             struct jd_said odd, struct jd_said other,
                             const char *more, const char *end);

#endif
