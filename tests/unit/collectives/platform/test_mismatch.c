/* SPDX-License-Identifier: BSD-3-Clause */
/* test_mismatch.c - the sentence about two calls that differ in their routes,
 * or in their counts: the members are played one after the other, and a
 * broadcast gives what its source would. */
#include "collectives/platform/mismatch.h"
#include "base/progress.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS = 1300, ODD = 3, OTHER = 0, PIECE = 256 };

#define CALLS                                                                  \
    "jd_ppermute: process 13 calls jd_ppermute of 5 x F32, process 10 calls "  \
    "jd_ppermute of 5 x F32"
#define ALIKE                                                                  \
    "; all members must make the same calls in the same order, with the same " \
    "count and type"

static struct {
    int to[2][MEMBERS]; /* odd's routes or counts, and other's */
    enum jd_activity odd_calls;
    int self;
    int broadcasts;
    int fails_at; /* the broadcast that does; -1: none */
    int several;  /* members of a process */
    const char *sites[2]; /* odd's, and other's */
    uint32_t compared[2]; /* their digests */
    int sites_told;
    bool site_fails;
} world;

/* Where a member calls; "": it does not know. The own place is that of this
 * program, and another's what the test says. */
static jd_status tell_site(const struct jd_collective *call, int source)
{
    const char *text = world.sites[source == OTHER];
    ck_assert_uint_ge(call->count, 100);
    ck_assert(source == (world.sites_told++ % 2 ? OTHER : ODD));
    if (source == world.self && text[0])
        ck_assert_ptr_nonnull(strstr(call->out, text));
    snprintf(call->out, call->count, "%s", text);
    return world.site_fails ? jd_fail(JD_ABORTED, "somebody gave up") : JD_OK;
}

static jd_status broadcast(struct jd_comm *comm,
                           const struct jd_collective *call, int source)
{
    int64_t *out = call->out;
    int begin = world.broadcasts / 2 * PIECE;
    ck_assert_ptr_null(comm);
    if (call->dtype == JD_U8)
        return tell_site(call, source);
    ck_assert_int_eq(source, world.broadcasts % 2 ? OTHER : ODD);
    ck_assert_int_eq(call->dtype, JD_S64);
    ck_assert_uint_le(call->count, PIECE);
    if (world.broadcasts++ == world.fails_at)
        return jd_fail(JD_ABORTED, "another member gave up");
    for (size_t i = 0; i < call->count; i++) {
        int to = world.to[source == OTHER][begin + (int)i];
        if (source == world.self)
            ck_assert_int_eq(out[i], to);
        out[i] = to;
    }
    return JD_OK;
}

static void reset(void)
{
    memset(&world, 0, sizeof world);
    for (int i = 0; i < MEMBERS; i++)
        world.to[0][i] = world.to[1][i] = i % 7 ? (i + 1) % MEMBERS : -1;
    world.fails_at = -1;
    world.several = 1;
    world.odd_calls = JD_ACTIVITY_PPERMUTE;
    world.sites[0] = world.sites[1] = "";
}

/* What a member has in its list, the last route first. */
static int list(int member, jd_route *routes)
{
    int count = 0;
    for (int i = MEMBERS - 1; i >= 0; i--)
        if (world.to[member == OTHER][i] >= 0)
            routes[count++] = (jd_route){ i, world.to[member == OTHER][i] };
    return count;
}

static struct jd_signature signature_of(enum jd_activity activity,
                                        uint64_t count)
{
    return (struct jd_signature){ .activity = (uint16_t)activity,
                                  .dtype = JD_F32,
                                  .source = -1,
                                  .count = count,
                                  .digest = 2 };
}

static jd_status play(int self, enum jd_activity activity, uint64_t count)
{
    static const struct jd_platform platform = { .broadcast = broadcast };
    static jd_route routes[MEMBERS];
    static int processes[MEMBERS];
    static int64_t counts[MEMBERS];
    bool has_list = self == ODD || self == OTHER;
    struct jd_permute permute = { .routes = routes };
    struct jd_collective call = { .activity = world.odd_calls };
    struct jd_mismatch mismatch = {
        .platform = &platform,
        .call = &call,
        .processes = processes,
        .size = MEMBERS,
        .index = self,
        .odd = { ODD, signature_of(world.odd_calls, 5) },
        .other = { OTHER, signature_of(activity, count) },
    };
    mismatch.odd.signature.digest = 1;
    mismatch.odd.signature.site = world.compared[0];
    mismatch.other.signature.site = world.compared[1];
    for (int i = 0; i < MEMBERS; i++) {
        processes[i] = 10 + i / world.several;
        counts[i] = world.to[self == OTHER][i];
    }
    permute.num_routes = list(self, routes);
    call.permute = has_list ? &permute : NULL;
    call.counts = has_list ? counts : NULL;
    world.self = self;
    world.broadcasts = 0;
    return jd__mismatch_fail(&mismatch);
}

/* The two themselves, and one that calls something else. */
static void expect_routes(const char *routes)
{
    const int members[] = { ODD, OTHER, 700 };
    for (int i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text, CALLS "%s" ALIKE, routes);
        UNIT_FAILS(play(members[i], JD_ACTIVITY_PPERMUTE, 5),
                   JD_INVALID_ARGUMENT, text);
    }
}

START_TEST(the_first_route_that_differs_is_said)
{
    reset();
    world.to[0][1100] = 4;
    world.to[0][515] = -1;
    expect_routes("; their routes differ: process 13 has 515 -> nobody, "
                  "process 10 has 515 -> 516");
    ck_assert_int_eq(world.broadcasts, 6);
    world.to[1][511] = 0;
    expect_routes(
        "; their routes differ: process 13 has 511 -> nobody, process "
        "10 has 511 -> 0");
    ck_assert_int_eq(world.broadcasts, 4);
    reset();
    world.to[1][MEMBERS - 1] = 8;
    expect_routes("; their routes differ: process 13 has 1299 -> 0, process "
                  "10 has 1299 -> 8");
    ck_assert_int_eq(world.broadcasts, 12);
}
END_TEST

/* Somebody has died, or two lists have one digest: the sentence without. */
START_TEST(what_cannot_be_told_is_left_out)
{
    reset();
    expect_routes("");
    world.to[0][515] = 7;
    for (world.fails_at = 0; world.fails_at < 6; world.fails_at++)
        expect_routes("");
}
END_TEST

/* Though they differ in their own too. */
START_TEST(the_first_count_that_differs_is_said)
{
    static const char *const text =
        "jd_ragged_all_gather: process 13 calls jd_ragged_all_gather of F32, "
        "process 10 calls jd_ragged_all_gather of F32; their counts differ: "
        "process 13 has counts[300] = 9, process 10 has counts[300] = "
        "301" ALIKE;
    reset();
    world.odd_calls = JD_ACTIVITY_RAGGED_ALL_GATHER;
    world.to[0][300] = 9;
    UNIT_FAILS(play(ODD, world.odd_calls, 6), JD_INVALID_ARGUMENT, text);
    ck_assert_int_eq(world.broadcasts, 4);
    UNIT_FAILS(play(700, world.odd_calls, 6), JD_INVALID_ARGUMENT, text);
}
END_TEST

START_TEST(other_calls_are_not_asked_for_routes)
{
    reset();
    UNIT_FAILS(play(ODD, JD_ACTIVITY_PPERMUTE, 6), JD_INVALID_ARGUMENT,
               "jd_ppermute: process 13 calls jd_ppermute of 5 x F32, process "
               "10 calls jd_ppermute of 6 x F32" ALIKE);
    ck_assert_int_eq(world.broadcasts, 0);
    UNIT_FAILS(play(ODD, JD_ACTIVITY_PPERMUTE_KEEP, 5), JD_INVALID_ARGUMENT,
               "jd_ppermute: process 13 calls jd_ppermute of 5 x F32, process "
               "10 calls jd_ppermute_keep of 5 x F32" ALIKE);
    ck_assert_int_eq(world.broadcasts, 0);
}
END_TEST

/* Counts that differ are what is said. */
START_TEST(places_are_said_where_all_else_is_alike)
{
    struct jd_signature odd = signature_of(JD_ACTIVITY_PPERMUTE, 5);
    struct jd_signature other = odd;
    odd.site = 7;
    other.site = 8;
    ck_assert(!jd__signature_agrees(&odd, &other));
    ck_assert(jd__signature_digest(&odd) != jd__signature_digest(&other));
    ck_assert_str_eq(jd__signature_describe_sites(&odd, &other),
                     " at another place of the program (JD_CHECK_SITES=1)");
    other.site = 0;
    ck_assert_str_eq(jd__signature_describe_sites(&odd, &other),
                     ", but only one of them has JD_CHECK_SITES=1, which all "
                     "must have");
    other.site = 7;
    ck_assert(jd__signature_agrees(&odd, &other));
    ck_assert_str_eq(jd__signature_describe_sites(&odd, &other), "");
    reset();
    world.compared[0] = 7;
    world.compared[1] = 8;
    UNIT_FAILS(play(ODD, JD_ACTIVITY_PPERMUTE, 6), JD_INVALID_ARGUMENT,
               "jd_ppermute: process 13 calls jd_ppermute of 5 x F32, process "
               "10 calls jd_ppermute of 6 x F32" ALIKE);
}
END_TEST

/* Of this program; what a member that is played has noted is the caller. */
START_TEST(both_say_where_they_call)
{
    reset();
    world.sites[0] = "test_mismatch";
    world.sites[1] = "other.c+0x44";
    jd__progress_note_caller((const void *)(uintptr_t)play);
    UNIT_FAILS(play(ODD, JD_ACTIVITY_PPERMUTE, 6), JD_INVALID_ARGUMENT,
               "jd_ppermute: process 13 calls jd_ppermute of 5 x F32, process "
               "10 calls jd_ppermute of 6 x F32" ALIKE
               "; process 13 calls at test_mismatch, process 10 at "
               "other.c+0x44");
    ck_assert_int_eq(world.sites_told, 2);
    world.site_fails = true;
    UNIT_FAILS(play(ODD, JD_ACTIVITY_PPERMUTE, 6), JD_INVALID_ARGUMENT,
               "jd_ppermute: process 13 calls jd_ppermute of 5 x F32, process "
               "10 calls jd_ppermute of 6 x F32" ALIKE);
    world.site_fails = false;
    world.sites[1] = ""; /* one side alone says little */
    UNIT_FAILS(play(700, JD_ACTIVITY_PPERMUTE, 6), JD_INVALID_ARGUMENT,
               "jd_ppermute: process 13 calls jd_ppermute of 5 x F32, process "
               "10 calls jd_ppermute of 6 x F32" ALIKE);
}
END_TEST

/* The processes alone may be the same. */
START_TEST(where_a_process_has_several_members_are_named)
{
    reset();
    world.several = 4;
    UNIT_FAILS(play(ODD, JD_ACTIVITY_PPERMUTE, 6), JD_INVALID_ARGUMENT,
               "jd_ppermute: process 10 (member 3) calls jd_ppermute of 5 x "
               "F32, process 10 (member 0) calls jd_ppermute of 6 x F32" ALIKE);
    world.to[0][5] = 9;
    UNIT_FAILS(play(ODD, JD_ACTIVITY_PPERMUTE, 5), JD_INVALID_ARGUMENT,
               "jd_ppermute: process 10 (member 3) calls jd_ppermute of 5 x "
               "F32, process 10 (member 0) calls jd_ppermute of 5 x F32; their "
               "routes differ: process 10 (member 3) has 5 -> 9, process 10 "
               "(member 0) has 5 -> 6" ALIKE);
}
END_TEST

START_TEST(one_that_has_no_other_is_named_beside_one_that_has)
{
    const int processes[] = { 4, 4, 5, 6 };
    ck_assert_int_eq(jd__signature_name(processes, 4, 2, 1), 2);
    ck_assert_int_eq(jd__signature_name(processes, 4, 1, 2), 1);
    ck_assert_int_eq(jd__signature_name(processes, 4, 2, 3), -1);
    ck_assert_int_eq(jd__signature_name(processes, 4, 2, 2), -1);
}
END_TEST

/* ---- who is odd --------------------------------------------------------- */

static const struct jd_signature *get(const void *all, int member)
{
    return (const struct jd_signature *)all + member;
}

static void expect_odd(const char *calls, int odd, int other)
{
    struct jd_signature all[8] = { 0 };
    int count = (int)strlen(calls), got_odd = -1, got_other = -1;
    for (int i = 0; i < count; i++)
        all[i].count = (uint64_t)calls[i];
    ck_assert(jd__signature_find_odd(get, all, count, &got_odd, &got_other) ==
              (odd >= 0));
    ck_assert_int_eq(got_odd, odd);
    ck_assert_int_eq(got_other, other);
}

/* As between hosts: of as many the lowest member is right. */
START_TEST(the_odd_one_is_not_with_the_most)
{
    expect_odd("aaa", -1, -1);
    expect_odd("ab", 1, 0);
    expect_odd("aab", 2, 0);
    expect_odd("aba", 1, 0);
    expect_odd("baa", 0, 1);
    expect_odd("abc", 1, 0);
    expect_odd("abac", 1, 0);
    expect_odd("abbb", 0, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mismatch");
    TCase *routes = unit_case(suite, "routes");
    tcase_add_test(routes, the_first_route_that_differs_is_said);
    tcase_add_test(routes, what_cannot_be_told_is_left_out);
    tcase_add_test(routes, the_first_count_that_differs_is_said);
    tcase_add_test(routes, other_calls_are_not_asked_for_routes);
    tcase_add_test(routes, both_say_where_they_call);
    tcase_add_test(routes, places_are_said_where_all_else_is_alike);
    tcase_add_test(routes, where_a_process_has_several_members_are_named);
    tcase_add_test(routes, one_that_has_no_other_is_named_beside_one_that_has);
    tcase_add_test(unit_case(suite, "odd"), the_odd_one_is_not_with_the_most);
    return unit_main(suite);
}
