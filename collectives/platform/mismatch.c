/* SPDX-License-Identifier: BSD-3-Clause */
/* mismatch.c - what all members of a meeting hear where their calls differ. */
#include "collectives/platform/mismatch.h"
#include "runtime/recorder/site.h"

#include <inttypes.h>
#include <stdio.h>

/* Members whose numbers are told at a time: what fits beside a signature. */
enum { PIECE = 256 };

/* Of the members from `begin` on, in odd's list and in other's: where their in
 * goes, -1 for nowhere; or how many elements they have. */
struct list_piece {
    int begin, count;
    int64_t odd[PIECE], other[PIECE];
};

/* The first member of whom the lists have unlike numbers. */
struct list_difference {
    int member;
    int64_t odd, other;
};

static bool is_permutation(const struct jd_signature *s)
{
    return (s->activity == JD_ACTIVITY_PPERMUTE ||
            s->activity == JD_ACTIVITY_PPERMUTE_KEEP ||
            s->activity == JD_ACTIVITY_PSHUFFLE) &&
           s->source < 0; /* it is not what is told below */
}

/* Whether the two calls differ in their routes alone: the same answer on all
 * members, whatever they call themselves. */
static bool is_of_routes(const struct jd_mismatch *m)
{
    struct jd_signature alike = m->odd.signature;
    alike.digest = m->other.signature.digest;
    return is_permutation(&alike) &&
           jd__signature_agrees(&alike, &m->other.signature);
}

/* Or in their counts: on some platforms a signature has these too, so that a
 * difference in them may look like one in more. */
static bool is_of_counts(const struct jd_mismatch *m)
{
    const struct jd_signature *a = &m->odd.signature, *b = &m->other.signature;
    return a->activity == JD_ACTIVITY_RAGGED_ALL_GATHER &&
           a->activity == b->activity && a->dtype == b->dtype;
}

static void read_routes(const struct jd_permute *permute, int begin, int count,
                        int64_t *to)
{
    for (int i = 0; i < count; i++)
        to[i] = -1;
    for (int i = 0; permute && i < permute->num_routes; i++) {
        const jd_route *route = &permute->routes[i];
        if (route->from >= begin && route->from - begin < count)
            to[route->from - begin] = route->to;
    }
}

static void read_counts(const int64_t *counts, int begin, int count,
                        int64_t *to)
{
    for (int i = 0; i < count; i++)
        to[i] = counts ? counts[begin + i] : -1;
}

/* A member's part of the piece becomes everybody's. */
static jd_status tell_part(const struct jd_mismatch *m, int member, int begin,
                           int count, int64_t *to)
{
    struct jd_collective told = { .activity = m->odd.signature.activity,
                                  .is_internal = true,
                                  .detail = m->call->detail,
                                  .in = to,
                                  .out = to,
                                  .count = (size_t)count,
                                  .dtype = JD_S64 };
    if (member == m->index && is_of_counts(m))
        read_counts(m->call->counts, begin, count, to);
    else if (member == m->index)
        read_routes(m->call->permute, begin, count, to);
    return m->platform->broadcast(m->comm, &told, member);
}

/* Whether there is a difference in the piece. */
static bool differs_in_piece(const struct list_piece *piece,
                             struct list_difference *ret_found)
{
    for (int i = 0; i < piece->count; i++) {
        if (piece->odd[i] == piece->other[i])
            continue;
        *ret_found = (struct list_difference){ piece->begin + i, piece->odd[i],
                                               piece->other[i] };
        return true;
    }
    return false;
}

/* False also where members cannot be told any more. */
static bool find_difference(const struct jd_mismatch *m,
                            struct list_difference *ret_found)
{
    struct list_piece piece;
    for (int begin = 0; begin < m->size; begin += PIECE) {
        int count = m->size - begin < PIECE ? m->size - begin : PIECE;
        piece.begin = begin;
        piece.count = count;
        if (tell_part(m, m->odd.member, begin, count, piece.odd) != JD_OK ||
            tell_part(m, m->other.member, begin, count, piece.other) != JD_OK)
            return false;
        if (differs_in_piece(&piece, ret_found))
            return true;
    }
    return false;
}

struct end_text {
    char text[16];
};

static struct end_text end_of(int64_t to)
{
    struct end_text end = { "nobody" };
    if (to >= 0)
        snprintf(end.text, sizeof end.text, "%d", (int)to);
    return end;
}

/* The first difference in their lists, for behind the two calls. */
struct list_text {
    char text[200];
};

static struct list_text print_routes(const struct jd_said *odd,
                                     const struct jd_said *other,
                                     const struct list_difference *found)
{
    struct list_text list;
    snprintf(list.text, sizeof list.text,
             "; their routes differ: process %d%s has %d -> %s, process %d%s "
             "has %d -> %s",
             odd->process, jd__member_text(odd->member).text, found->member,
             end_of(found->odd).text, other->process,
             jd__member_text(other->member).text, found->member,
             end_of(found->other).text);
    return list;
}

static struct list_text print_counts(const struct jd_said *odd,
                                     const struct jd_said *other,
                                     const struct list_difference *found)
{
    struct list_text list;
    snprintf(list.text, sizeof list.text,
             "; their counts differ: process %d%s has counts[%d] = %" PRId64
             ", process %d%s has counts[%d] = %" PRId64,
             odd->process, jd__member_text(odd->member).text, found->member,
             found->odd, other->process, jd__member_text(other->member).text,
             found->member, found->other);
    return list;
}

static struct list_text compare_lists(const struct jd_mismatch *m,
                                      const struct jd_said *odd,
                                      const struct jd_said *other)
{
    struct list_difference found;
    if ((is_of_routes(m) || is_of_counts(m)) && find_difference(m, &found))
        return is_of_counts(m) ? print_counts(odd, other, &found)
                               : print_routes(odd, other, &found);
    return (struct list_text){ "" };
}

/* ---- where in the program ------------------------------------------------ */

/* A member's place in its program becomes known to all; "" where it cannot. */
static struct jd_site_text tell_site(const struct jd_mismatch *m, int member)
{
    struct jd_site_text site = { "" };
    struct jd_collective told = { .activity = m->odd.signature.activity,
                                  .is_internal = true,
                                  .detail = m->call->detail,
                                  .in = site.text,
                                  .out = site.text,
                                  .count = sizeof site.text,
                                  .dtype = JD_U8 };
    if (member == m->index)
        site = jd__site_of_caller();
    if (m->platform->broadcast(m->comm, &told, member) != JD_OK)
        site.text[0] = 0;
    site.text[sizeof site.text - 1] = 0;
    return site;
}

/* What comes behind the sentence; nothing where one of the two is not known. */
static void print_sites(const struct jd_mismatch *m, const struct jd_said *odd,
                        const struct jd_said *other, char *text, size_t size)
{
    struct jd_site_text at = tell_site(m, m->odd.member);
    struct jd_site_text other_at = tell_site(m, m->other.member);
    text[0] = 0;
    if (at.text[0] && other_at.text[0])
        snprintf(text, size, "; process %d%s calls at %s, process %d%s at %s",
                 odd->process, jd__member_text(odd->member).text, at.text,
                 other->process, jd__member_text(other->member).text,
                 other_at.text);
}

static struct jd_said said_by(const struct jd_mismatch *m,
                              const struct jd_mismatch_call *one,
                              const struct jd_mismatch_call *other)
{
    return (struct jd_said){
        .process = m->processes[one->member],
        .member = jd__signature_name(m->processes, m->size, one->member,
                                     other->member),
        .signature = &one->signature,
    };
}

jd_status jd__mismatch_fail(const struct jd_mismatch *m)
{
    struct jd_said odd = said_by(m, &m->odd, &m->other);
    struct jd_said other = said_by(m, &m->other, &m->odd);
    char sites[3 * sizeof(struct jd_site_text)];
    struct list_text lists = compare_lists(m, &odd, &other);
    print_sites(m, &odd, &other, sites, sizeof sites);
    return jd__signature_fail(jd__signature_activity_name(m->call->activity),
                              m->call->detail, odd, other, lists.text, sites);
}
