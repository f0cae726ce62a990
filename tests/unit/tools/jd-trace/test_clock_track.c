/* SPDX-License-Identifier: BSD-3-Clause */
/* test_clock_track.c - two clocks that are played: what is said of the one
 * against the other, from questions that take their time on either way, holds.
 */
#include "runtime/recorder/clock_samples.h"
#include "tests/unit/unit.h"
#include "tools/jd-trace/clock_track.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { TRIALS = 100, QUESTIONS = 200 };

/* ---- two clocks --------------------------------------------------------- */

static uint64_t seed;

/* From 0 to below 1. */
static double draw(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 11) * 0x1p-53;
}

/* The other shows now + hidden + rate * now. */
struct played {
    double now, hidden, rate;
    struct jd_ring *ring;
    double quickest; /* half of the way there and back */
};

static double there(const struct played *p, double at)
{
    return at + p->hidden + p->rate * at;
}

/* A way takes 20 us, or up to a second: as uneven as they come. */
static double draw_way(void)
{
    return 20e-6 + (draw() < 0.5 ? 0 : pow(10, -6 * draw()));
}

static void ask(struct played *p)
{
    double asked = p->now, came = asked + draw_way();
    double answered = came + draw_way();
    struct jd_clock_sample sample =
        jd__clock_samples_of(asked, there(p, came), answered);
    jd__clock_samples_note(p->ring, &sample);
    p->quickest = fmin(p->quickest, (answered - asked) / 2);
    p->now = answered;
}

static struct played begin(void)
{
    struct played p = { .now = 1000 + 1e6 * draw(),
                        .hidden = 200 * draw() - 100,
                        .rate = JD_CLOCK_DRIFT * (2 * draw() - 1) * 0.99,
                        .ring = calloc(1, sizeof *p.ring),
                        .quickest = INFINITY };
    jd__ring_init(p.ring, 1, "b");
    return p;
}

static struct clock_track end(struct played *p)
{
    struct jd_clock_sample samples[JD_RING_CLOCKS];
    struct clock_track track;
    int count = jd__clock_samples_read(p->ring, samples);
    free(p->ring);
    ck_assert(clock_track_make(&track, samples, (size_t)count));
    return track;
}

static void expect_holds(const struct played *p,
                         const struct clock_track *track, double at)
{
    struct clock_offset said = clock_track_at(track, (int64_t)(1e9 * at));
    double is = 1e9 * (there(p, at) - at);
    ck_assert_msg(fabs((double)said.offset - is) <= said.error + 2,
                  "at %.9f the offset is %.0f ns, and %" PRId64
                  " was said, off by %.0f at most",
                  at, is, said.offset, said.error);
}

/* ---- what is said holds ------------------------------------------------- */

START_TEST(the_error_holds_at_any_time)
{
    for (int i = 0; i < TRIALS; i++) {
        struct played p = begin();
        double first = p.now;
        for (int k = 0; k < QUESTIONS; k++, p.now += 20 * draw())
            ask(&p);
        struct clock_track track = end(&p);
        ck_assert(!track.jumps);
        for (int k = 0; k < 1000; k++)
            expect_holds(&p, &track,
                         first - 50 + draw() * (p.now + 100 - first));
        clock_track_finish(&track);
    }
}
END_TEST

/* Of questions in a row the quickest is kept, and nothing is said at random. */
START_TEST(the_quickest_of_a_row_tells_most)
{
    for (int i = 0; i < TRIALS; i++) {
        struct played p = begin();
        while (p.now - floor(p.now) > 0.5)
            p.now += 0.25;
        double first = p.now;
        for (int k = 0; k < 8 && p.now < first + JD_CLOCK_SECONDS - 2; k++)
            ask(&p);
        double quickest = p.quickest, now = p.now;
        struct clock_track track = end(&p);
        ck_assert_uint_eq(track.count, 1);
        struct clock_offset said = clock_track_at(&track, (int64_t)(1e9 * now));
        ck_assert_double_le(said.error * 1e-9,
                            1.001 * quickest + JD_CLOCK_DRIFT * (now - first) +
                                2e-6);
        expect_holds(&p, &track, now);
        clock_track_finish(&track);
    }
}
END_TEST

/* With two that enclose a time more is known than by the nearer one alone. */
START_TEST(both_sides_count)
{
    const struct jd_clock_sample samples[] = {
        { .at = 20000000000, .offset = 1000, .error = 5000 },
        { .at = 10000000000, .offset = 0, .error = 1000 },
    };
    struct clock_track track;
    ck_assert(clock_track_make(&track, samples, 2));
    struct clock_offset said = clock_track_at(&track, 10000000000);
    ck_assert_int_eq(said.offset, 0);
    ck_assert_double_eq_tol(said.error, 1000, 0.5);
    said = clock_track_at(&track, 0);
    ck_assert_double_eq_tol(said.error, 1000 + 1e10 * JD_CLOCK_DRIFT, 0.5);
    said = clock_track_at(&track, 15000000000);
    ck_assert_double_eq_tol(said.error, 1000 + 5e9 * JD_CLOCK_DRIFT, 2500);
    clock_track_finish(&track);
}
END_TEST

/* A host that slept for 100 s: its clock stood still. */
START_TEST(a_clock_that_stood_still_is_said)
{
    struct played p = begin();
    double first = p.now;
    for (int k = 0; k < 10; k++, p.now += 10)
        ask(&p);
    struct played before = p;
    double jump = p.now;
    p.hidden += 100;
    for (int k = 0; k < 10; k++, p.now += 10)
        ask(&p);
    struct clock_track track = end(&p);
    ck_assert(track.jumps);
    expect_holds(&before, &track, first);
    expect_holds(&before, &track, jump - 1e-3);
    expect_holds(&p, &track, jump + 1e-3);
    expect_holds(&p, &track, p.now);
    struct clock_offset said = clock_track_at(&track, (int64_t)(1e9 * p.now));
    ck_assert_double_lt(said.error, 1e9 + 1e7);
    clock_track_finish(&track);
}
END_TEST

/* ---- what a ring keeps -------------------------------------------------- */

START_TEST(a_ring_keeps_the_newest)
{
    struct jd_clock_sample samples[JD_RING_CLOCKS];
    struct jd_ring *ring = calloc(1, sizeof *ring);
    const int64_t step = JD_CLOCK_SECONDS * INT64_C(1000000000);
    ck_assert_int_eq(jd__clock_samples_read(ring, samples), 0);
    for (int i = 1; i <= JD_RING_CLOCKS + 5; i++) {
        struct jd_clock_sample sample = { .at = i * step, .error = 10 };
        jd__clock_samples_note(ring, &sample);
        sample.at++;
        sample.error = 11; /* young, and no better */
        jd__clock_samples_note(ring, &sample);
    }
    ck_assert_int_eq(jd__clock_samples_read(ring, samples), JD_RING_CLOCKS);
    for (int i = 0; i < JD_RING_CLOCKS; i++) {
        ck_assert_int_gt(samples[i].at, 5 * step);
        ck_assert_int_eq(samples[i].error, 10);
    }
    jd__clock_samples_forget(ring);
    ck_assert_int_eq(jd__clock_samples_read(ring, samples), 0);
    free(ring);
}
END_TEST

int main(void)
{
    const char *given = getenv("JD_TEST_SEED");
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)getpid() * 7919 + 1;
    printf("# JD_TEST_SEED=%" PRIu64 "\n", seed);
    Suite *suite = suite_create("clock_track");
    TCase *tcase = unit_case(suite, "clocks");
    tcase_add_test(tcase, the_error_holds_at_any_time);
    tcase_add_test(tcase, the_quickest_of_a_row_tells_most);
    tcase_add_test(tcase, both_sides_count);
    tcase_add_test(tcase, a_clock_that_stood_still_is_said);
    tcase_add_test(tcase, a_ring_keeps_the_newest);
    return unit_main(suite);
}
