/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_merge_state.c - what members say, merged in the rounds of a schedule:
 * the same on all of them, and what one would find who hears all in order.
 */
#include "collectives/channel/merge_state.h"
#include "collectives/schedule/schedule.h"
#include "tests/unit/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 33 };

static struct jd_merge_state states[MOST], sent[MOST];
static int said[MOST], status[MOST];

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static void begin(int parties)
{
    for (int i = 0; i < parties; i++) {
        char text[16];
        struct jd_signature signature = { .count = (uint64_t)said[i],
                                          .status = status[i] };
        snprintf(text, sizeof text, "says %d", said[i]);
        jd__merge_state_begin(&states[i], 100 + i, 7, &signature, text);
    }
}

static void take(int self, const struct jd_round *round)
{
    struct jd_merge_state *own = &states[self], theirs = sent[round->from];
    if (round->then == JD_THEN_FOLD_ABOVE) {
        jd__merge_state_fold(own, &theirs);
        return;
    }
    if (round->then == JD_THEN_FOLD_BELOW)
        jd__merge_state_fold(&theirs, own);
    *own = theirs;
}

static void go_rounds(int parties)
{
    struct jd_schedule s = { .kind = JD_SCHEDULE_MERGE, .parties = parties };
    int rounds = jd__schedule_rounds(&s);
    for (int k = 0; k < rounds; k++) {
        memcpy(sent, states, sizeof sent);
        for (s.self = 0; s.self < parties; s.self++) {
            struct jd_round round = jd__schedule_round(&s, k);
            if (round.from >= 0)
                take(s.self, &round);
        }
    }
}

static int count_of(int parties, int what)
{
    int found = 0;
    for (int i = 0; i < parties; i++)
        found += said[i] == what;
    return found;
}

/* What all must know; counts are exact where two things are said. */
static void expect_all(int parties, bool counts)
{
    int other = 0, failed = 0;
    char text[16];
    while (other < parties && said[other] == said[0])
        other++;
    while (failed < parties && status[failed] == JD_OK)
        failed++;
    for (int i = 0; i < parties; i++) {
        const struct jd_merge_outcome *o = &states[i].outcome;
        ck_assert_mem_eq(o, &states[0].outcome, sizeof *o);
        ck_assert_int_eq(o->first.process, 100);
        ck_assert_int_eq(o->other.count > 0, other < parties);
        if (o->other.count)
            ck_assert_int_eq(o->other.process, 100 + other);
        ck_assert_int_eq(o->status,
                         failed < parties ? status[failed] : (int)JD_OK);
        if (failed < parties)
            ck_assert_int_eq(o->failed, 100 + failed);
        if (counts)
            ck_assert_int_eq(o->first.count, count_of(parties, said[0]));
        if (counts && other < parties)
            ck_assert_int_eq(o->other.count, count_of(parties, said[other]));
        snprintf(text, sizeof text, "says %d", said[0]);
        ck_assert_str_eq(states[i].first_text, text);
        snprintf(text, sizeof text, "says %d",
                 other < parties ? said[other] : 0);
        ck_assert_str_eq(states[i].other_text, other < parties ? text : "");
    }
}

static void try_random(int parties, int things, uint32_t *seed)
{
    for (int i = 0; i < parties; i++) {
        said[i] = (int)next_random(seed) % things;
        status[i] = next_random(seed) % 8 ? JD_OK : JD_INTERNAL - i % 3;
    }
    begin(parties);
    go_rounds(parties);
    expect_all(parties, things <= 2);
}

START_TEST(all_know_the_same)
{
    uint32_t seed = 4711;
    for (int parties = 1; parties <= MOST; parties++)
        for (int things = 1; things <= 5; things++)
            for (int i = 0; i < 20; i++)
                try_random(parties, things, &seed);
}
END_TEST

START_TEST(the_odd_one_is_in_the_minority)
{
    for (int parties = 3; parties <= MOST; parties++)
        for (int odd = 0; odd < parties; odd++) {
            const struct jd_merge_said *found, *other;
            struct jd_merge merge = { .records = NULL };
            memset(said, 0, sizeof said);
            memset(status, 0, sizeof status);
            said[odd] = 1;
            begin(parties);
            go_rounds(parties);
            merge.first = states[0].outcome.first;
            merge.other = states[0].outcome.other;
            ck_assert(jd__merge_differs(&merge, &found, &other));
            ck_assert_int_eq(found->process, 100 + odd);
            ck_assert_int_eq(other->process, odd == 0 ? 101 : 100);
        }
}
END_TEST

START_TEST(a_long_text_is_cut)
{
    char text[JD_MERGE_TEXT + 100];
    struct jd_signature signature = { .count = 1 };
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    jd__merge_state_begin(&states[0], 0, 0, &signature, text);
    ck_assert_uint_eq(strlen(states[0].first_text), JD_MERGE_TEXT - 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("merge_state");
    TCase *merging = unit_case(suite, "merging");
    tcase_add_test(merging, all_know_the_same);
    tcase_add_test(merging, the_odd_one_is_in_the_minority);
    tcase_add_test(merging, a_long_text_is_cut);
    return unit_main(suite);
}
