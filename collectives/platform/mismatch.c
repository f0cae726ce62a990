/* SPDX-License-Identifier: BSD-3-Clause */
/* mismatch.c - what all members of a meeting hear where their calls differ. */
#include "collectives/platform/mismatch.h"
#include "runtime/recorder/site.h"

#include <stdio.h>

/* Members whose routes are told at a time: what fits beside a signature. */
enum { PIECE = 512 };

/* Where the in of the members from `begin` on goes, in odd's list and in
 * other's; -1: nowhere. */
struct route_piece {
    int begin, count;
    int32_t odd[PIECE], other[PIECE];
};

/* The first member whose in goes somewhere else. */
struct route_difference {
    int from;
    int32_t odd, other;
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

static void read_routes(const struct jd_permute *permute, int begin, int count,
                        int32_t *to)
{
    for (int i = 0; i < count; i++)
        to[i] = -1;
    for (int i = 0; permute && i < permute->num_routes; i++) {
        const jd_route *route = &permute->routes[i];
        if (route->from >= begin && route->from - begin < count)
            to[route->from - begin] = route->to;
    }
}

/* A member's part of the piece becomes everybody's. */
static jd_status tell_routes(const struct jd_mismatch *m, int member, int begin,
                             int count, int32_t *to)
{
    struct jd_collective told = { .activity = m->odd.signature.activity,
                                  .is_internal = true,
                                  .detail = m->call->detail,
                                  .in = to,
                                  .out = to,
                                  .count = (size_t)count,
                                  .dtype = JD_S32 };
    if (member == m->index)
        read_routes(m->call->permute, begin, count, to);
    return m->platform->broadcast(m->comm, &told, member);
}

/* Whether there is a difference in the piece. */
static bool differs_in_piece(const struct route_piece *piece,
                             struct route_difference *ret_found)
{
    for (int i = 0; i < piece->count; i++) {
        if (piece->odd[i] == piece->other[i])
            continue;
        *ret_found = (struct route_difference){ piece->begin + i, piece->odd[i],
                                                piece->other[i] };
        return true;
    }
    return false;
}

/* False also where members cannot be told any more. */
static bool find_difference(const struct jd_mismatch *m,
                            struct route_difference *ret_found)
{
    struct route_piece piece;
    for (int begin = 0; begin < m->size; begin += PIECE) {
        int count = m->size - begin < PIECE ? m->size - begin : PIECE;
        piece.begin = begin;
        piece.count = count;
        if (tell_routes(m, m->odd.member, begin, count, piece.odd) != JD_OK ||
            tell_routes(m, m->other.member, begin, count, piece.other) != JD_OK)
            return false;
        if (differs_in_piece(&piece, ret_found))
            return true;
    }
    return false;
}

struct end_text {
    char text[16];
};

static struct end_text end_of(int32_t to)
{
    struct end_text end = { "nobody" };
    if (to >= 0)
        snprintf(end.text, sizeof end.text, "%d", (int)to);
    return end;
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
    struct route_difference found;
    char routes[160] = "", sites[3 * sizeof(struct jd_site_text)];
    if (is_of_routes(m) && find_difference(m, &found))
        snprintf(routes, sizeof routes,
                 "; their routes differ: process %d%s has %d -> %s, process "
                 "%d%s has %d -> %s",
                 odd.process, jd__member_text(odd.member).text, found.from,
                 end_of(found.odd).text, other.process,
                 jd__member_text(other.member).text, found.from,
                 end_of(found.other).text);
    print_sites(m, &odd, &other, sites, sizeof sites);
    return jd__signature_fail(jd__signature_activity_name(m->call->activity),
                              m->call->detail, odd, other, routes, sites);
}
