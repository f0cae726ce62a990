/* SPDX-License-Identifier: BSD-3-Clause */
/* test_scale.c - the schedules for thousands of parties, with lengths alone;
 * the simulator held to what can be reckoned by hand; and the far end. */
#include "bench/scale/compositions.h"
#include "bench/scale/start.h"
#include "bench/scale/targets.h"
#include "tests/unit/unit.h"

#include <math.h>

static const struct scale_network network = { .latency = 2e-6,
                                              .bandwidth = 12e9,
                                              .overhead = 0.15e-6,
                                              .fold = 10e9,
                                              .copy = 10e9 };
#define HOP (2e-6 + 2 * 0.15e-6) /* of a message without bytes */

static void expect_near(double value, double expected)
{
    ck_assert_msg(fabs(value - expected) <= 1e-9 * expected, "%.9g, not %.9g",
                  value, expected);
}

/* ---- everybody comes to the end -------------------------------------------
 */

static struct scale_movement movement_of(int kind, int parties)
{
    return (struct scale_movement){ .kinds = { kind, SCALE_NONE },
                                    .parties = parties,
                                    .root = parties / 3,
                                    .block = 24,
                                    .head = 300,
                                    .whole = 8 };
}

static void expect_match(int kind, int parties, int depth)
{
    char complaint[SCALE_COMPLAINT];
    struct scale_movement m = movement_of(kind, parties);
    struct scale_pass pass = scale_movement_pass(&m);
    pass.depth = depth;
    ck_assert_msg(simulator_match(&pass, complaint), "kind %d: %s", kind,
                  complaint);
}

/* Of the library's kinds and MPI's. */
START_TEST(nobody_waits_in_vain)
{
    for (int parties = 1; parties <= 70; parties++)
        for (int depth = 1; depth <= 4; depth += 3)
            expect_match(_i, parties, depth);
}
END_TEST

START_TEST(nor_among_4096)
{
    if (_i == SCALE_RING_REDUCE || _i == SCALE_RING_GATHER)
        return; /* MPI's: as many rounds as pairs have */
    expect_match(_i, 4096, 1);
    expect_match(_i, 3001, 1);
}
END_TEST

/* But for those with a round for each party. */
START_TEST(nor_among_65536)
{
    if (_i == JD_SCHEDULE_PAIRS || _i >= SCALE_RING_REDUCE)
        return;
    expect_match(_i, 65536, 1);
    expect_match(_i, 65535, 1);
    expect_match(_i, 40961, 1);
}
END_TEST

/* ---- what is wrong is found ------------------------------------------------
 */

enum defect { SILENT, DEAF, LATE, LONG, CIRCLE, ITSELF, STRANGER, DEFECTS };

/* Four parties that send to the next, with a defect. */
static struct scale_step broken(const void *arg, int task, int round, int party)
{
    enum defect defect = *(const enum defect *)arg;
    struct scale_step step = {
        .to = (party + 1) % 4, .from = (party + 3) % 4, .out = 8, .in = 8
    };
    (void)task;
    if (defect == SILENT && party == 2 && round == 1)
        step.to = -1;
    if (defect == DEAF && party == 2 && round == 1)
        step.from = -1;
    if (defect == LATE && round == 0) /* all send, and nobody receives */
        step.from = -1;
    if (defect == LATE && round == 1)
        step.to = -1;
    if (defect == LONG && party == 3)
        step.out = 9;
    if (defect == CIRCLE)
        step.from = (party + 1) % 4;
    if (defect == ITSELF && party == 0)
        step.to = step.from = 0;
    if (defect == STRANGER && party == 0)
        step.to = 4;
    return step;
}

/* Who is the first that does not come to the end, and whom it waits for. */
START_TEST(a_defect_has_a_complaint)
{
    static const char *const complaints[DEFECTS] = {
        [SILENT] =
            "party 0 of 4 waits in task 0, round 2: to 1 (8 bytes), from "
            "3 (8 bytes); for 3 in vain",
        [DEAF] =
            "party 0 of 4 waits in task 0, round 2: to 1 (8 bytes), from 3 "
            "(8 bytes); for 1 in vain",
        [LATE] = "party 0 of 4 waits in task 0, round 0: to 1 (8 bytes), from "
                 "-1 (8 bytes); for 1 in vain",
        [LONG] =
            "party 0 of 4 waits in task 0, round 0: to 1 (8 bytes), from 3 "
            "(8 bytes); for 3 in vain",
        [CIRCLE] =
            "party 0 of 4 waits in task 0, round 0: to 1 (8 bytes), from "
            "1 (8 bytes); for 1 in vain",
        [ITSELF] =
            "party 0 of 4 waits in task 0, round 0: to 0 (8 bytes), from "
            "0 (8 bytes); for 0 in vain",
        [STRANGER] = "party 0 of 4 waits in task 0, round 0: to 4 (8 bytes), "
                     "from 3 (8 bytes); for 4 in vain",
    };
    char complaint[SCALE_COMPLAINT];
    enum defect defect = (enum defect)_i;
    struct scale_pass pass = { .parties = 4,
                               .tasks = 1,
                               .depth = 1,
                               .rounds = 3,
                               .step = broken,
                               .arg = &defect };
    ck_assert(!simulator_match(&pass, complaint));
    ck_assert_str_eq(complaint, complaints[defect]);
}
END_TEST

/* ---- times -----------------------------------------------------------------
 */

static double run(int kind, int parties, double block, double whole,
                  struct scale_counts *counts)
{
    struct scale_movement m = { .kinds = { kind, SCALE_NONE },
                                .parties = parties,
                                .block = block,
                                .whole = whole };
    struct scale_pass pass = scale_movement_pass(&m);
    *counts = (struct scale_counts){ 0, 0 };
    return simulator_run(&pass, &network, counts);
}

START_TEST(times_by_hand)
{
    struct scale_counts counts;
    double wire = 1e6 / 12e9, fold = 1e6 / 10e9;
    expect_near(run(JD_SCHEDULE_MERGE, 1024, 0, 1e6, &counts),
                10 * (HOP + wire + fold));
    ck_assert_double_eq(counts.messages, 10);
    ck_assert_double_eq(counts.bytes, 10e6);
    expect_near(run(JD_SCHEDULE_REDUCE_SCATTER, 1000, 1e3, 0, &counts),
                10 * HOP + 999 * (wire + fold) / 1000);
    ck_assert_double_eq(counts.bytes, 999e3);
    expect_near(run(JD_SCHEDULE_ALL_GATHER, 1000, 1e3, 0, &counts),
                10 * HOP + 999 * wire / 1000);
    expect_near(run(JD_SCHEDULE_BROADCAST, 2, 0, 1e6, &counts), HOP + wire);
    expect_near(run(SCALE_HALVING, 8, 1e6 / 8, 0, &counts),
                3 * HOP + 7 * (wire + fold) / 8);
    ck_assert_double_eq(counts.bytes, 7e6 / 8);
    expect_near(run(SCALE_DOUBLING, 8, 1e6 / 8, 0, &counts),
                3 * HOP + 7 * wire / 8);
    /* Of three the first gives all it has to the second. */
    expect_near(run(SCALE_HALVING, 3, 1e6 / 3, 0, &counts),
                2 * HOP + 1.5 * (wire + fold));
    expect_near(run(SCALE_DOUBLING, 3, 1e6 / 3, 0, &counts),
                2 * HOP + 1.5 * wire);
    expect_near(counts.bytes, 1.5e6);
    expect_near(run(SCALE_RING_REDUCE, 10, 1e5, 0, &counts),
                9 * (HOP + (wire + fold) / 10));
}
END_TEST

/* One party's clock for all of them, or each its own: of the kinds where that
 * is said to be the same. */
START_TEST(one_stands_for_all)
{
    static const int sizes[] = { 2, 3, 7, 64, 100, 1000 };
    struct scale_movement m = movement_of(_i, 2);
    if (!scale_movement_pass(&m).is_alike || _i == JD_SCHEDULE_PAIRS)
        return;
    for (int i = 0; i < 6; i++)
        for (int depth = 1; depth <= 5; depth += 2) {
            struct scale_counts one = { 0, 0 }, all = { 0, 0 };
            m = movement_of(_i, sizes[i]);
            m.block = 5e4;
            struct scale_pass pass = scale_movement_pass(&m);
            pass.depth = depth;
            pass.tasks = 7;
            pass.lag = depth == 3 ? 2 : 0;
            double seconds = simulator_run(&pass, &network, &one);
            pass.is_alike = false;
            expect_near(simulator_run(&pass, &network, &all), seconds);
            ck_assert_double_eq(one.messages, all.messages);
            ck_assert_double_eq(one.bytes, all.bytes);
        }
}
END_TEST

/* Task i: party i + 1 sends a megabyte to party 0; or the other way. */
static struct scale_step to_one(const void *arg, int task, int round, int party)
{
    bool leaves = *(const bool *)arg, is_one = party == 0;
    struct scale_step step = { .to = -1, .from = -1, .out = 1e6, .in = 1e6 };
    (void)round;
    if (party != 0 && party != task + 1)
        return step;
    if (leaves == is_one)
        step.to = is_one ? task + 1 : 0;
    else
        step.from = is_one ? task + 1 : 0;
    return step;
}

START_TEST(a_wire_is_one_for_all)
{
    char complaint[SCALE_COMPLAINT];
    for (int leaves = 0; leaves < 2; leaves++) {
        bool arg = leaves;
        struct scale_counts counts = { 0, 0 };
        struct scale_pass pass = { .parties = 5,
                                   .tasks = 4,
                                   .depth = 4,
                                   .rounds = 1,
                                   .step = to_one,
                                   .arg = &arg };
        ck_assert_msg(simulator_match(&pass, complaint), "%s", complaint);
        expect_near(simulator_run(&pass, &network, &counts), HOP + 4e6 / 12e9);
        ck_assert_double_eq(counts.messages, leaves ? 4 : 1);
    }
}
END_TEST

/* Of pairs each has a round with nobody, at a time of its own. */
START_TEST(one_stands_for_all_pairs)
{
    for (int parties = 100; parties <= 1001; parties += 300)
        for (int depth = 1; depth <= 8; depth += 7) {
            struct scale_movement m = movement_of(JD_SCHEDULE_PAIRS, parties);
            struct scale_pass pass = scale_movement_pass(&m);
            struct scale_counts one = { 0, 0 }, all = { 0, 0 };
            pass.depth = depth;
            double seconds = simulator_run(&pass, &network, &one);
            pass.is_alike = false;
            double longer = simulator_run(&pass, &network, &all);
            ck_assert_msg(fabs(longer / seconds - 1) < 0.05, "%g and %g",
                          longer, seconds);
            ck_assert_double_eq(one.messages, parties - 1);
            ck_assert_double_eq(all.messages, parties - 1);
        }
}
END_TEST

/* One piece begins when the one before has gone half of its way. */
START_TEST(pieces_lag_by_hand)
{
    struct scale_counts counts = { 0, 0 };
    struct scale_movement m = movement_of(JD_SCHEDULE_ALL_GATHER, 16);
    m.block = 0;
    struct scale_pass pass = scale_movement_pass(&m);
    char complaint[SCALE_COMPLAINT];
    pass.tasks = 3;
    pass.lag = 2;
    pass.depth = 3;
    ck_assert_msg(simulator_match(&pass, complaint), "%s", complaint);
    /* us: the first has come twice at 4.6 and is over at 9.2, when the second
     * has come once, at 7.2; that is over at 14.1, and the third, which came
     * first at 12.1, at 19. */
    expect_near(simulator_run(&pass, &network, &counts), 19e-6);
    ck_assert_double_eq(counts.messages, 12);
}
END_TEST

START_TEST(two_under_way_by_hand)
{
    struct scale_counts counts = { 0, 0 };
    struct scale_movement m = { .kinds = { JD_SCHEDULE_PAIRS, SCALE_NONE },
                                .parties = 5 };
    struct scale_pass pass = scale_movement_pass(&m);
    pass.depth = 2;
    pass.tasks = 5; /* of party 0 the first is idle */
    /* us: posts until 0.15 and 0.3, the first has come at 2.3, the third is
     * posted until 2.45, the second has come at 2.6, the fourth is posted until
     * 2.75, the third has come at 4.6 and the fourth at 4.9. */
    expect_near(simulator_run(&pass, &network, &counts), 4.9e-6);
}
END_TEST

/* Messages that wait for none of the others do not wait for the latency. */
START_TEST(a_window_hides_the_latency)
{
    struct scale_movement m = { .kinds = { JD_SCHEDULE_PAIRS, SCALE_NONE },
                                .parties = 10001 };
    struct scale_pass pass = scale_movement_pass(&m);
    struct scale_counts counts = { 0, 0 };
    expect_near(simulator_run(&pass, &network, &counts), 10000 * HOP);
    pass.depth = 32;
    double seconds = simulator_run(&pass, &network, &counts);
    ck_assert(fabs(seconds / (10000 * 0.3e-6) - 1) < 0.01);
}
END_TEST

/* ---- the far end -----------------------------------------------------------
 */

/* Fixed, so that no target depends on the machine. */
static struct scale_constants constants(void)
{
    struct scale_constants c = scale_constants_default();
    c.value[SCALE_FOLD] = c.value[SCALE_COPY] = 10e9;
    return c;
}

static void expect_target(const struct scale_target *target, double most)
{
    ck_assert_msg(target->value > 0 && target->value <= most,
                  "%s: %g%s, wanted at most %g", target->name, target->value,
                  target->unit, most);
}

/* As the library cuts, and a core folds as fast as one was measured to. */
START_TEST(targets_are_met)
{
    struct scale_target targets[SCALE_TARGETS];
    struct scale_constants c = constants();
    c.value[SCALE_FOLD] = c.value[SCALE_COPY] = 48e9;
    ck_assert(scale_targets(&c, targets));
    for (int i = 0; i < SCALE_TARGETS; i++)
        expect_target(&targets[i], targets[i].most);
}
END_TEST

/* Slower cores want longer pieces. */

START_TEST(longer_pieces_meet_all)
{
    struct scale_target targets[SCALE_TARGETS];
    struct scale_constants c = constants();
    ck_assert(scale_constants_read(&c, SCALE_PIECE, "2048"));
    ck_assert(scale_constants_read(&c, SCALE_LAG, "4"));
    ck_assert(scale_targets(&c, targets));
    for (int i = 0; i < SCALE_TARGETS; i++)
        expect_target(&targets[i], targets[i].most);
}
END_TEST

/* And would not be by other ways. */
START_TEST(targets_can_be_missed)
{
    struct scale_target targets[SCALE_TARGETS];
    struct scale_constants c = constants();
    c.value[SCALE_LATENCY] = 3e-6;
    c.value[SCALE_FOLD] = 5e9;
    c.value[SCALE_OVERHEAD] = 0.3e-6;
    c.value[SCALE_REGISTER] = 1e-3;
    c.value[SCALE_HEARTBEAT] = 1e-3;
    ck_assert(scale_targets(&c, targets));
    for (int i = 0; i < SCALE_TARGETS; i++)
        ck_assert_msg(targets[i].value > targets[i].most ||
                          strcmp(targets[i].unit, " MiB") == 0,
                      "%s: %g", targets[i].name, targets[i].value);
}
END_TEST

static double messages_of(enum scale_op op, int hosts, double bytes)
{
    const struct scale_call call = { op, hosts, 1, bytes };
    struct scale_constants c = constants();
    struct scale_result result;
    ck_assert(scale_simulate_jd(&call, &c, &result));
    ck_assert(result.seconds > 0);
    return result.counts.messages;
}

START_TEST(as_few_messages_as_promised)
{
    for (int hosts = 2; hosts <= 300; hosts += UNIT_STRIDE) {
        int log = jd__schedule_log2(hosts);
        ck_assert(messages_of(SCALE_PSUM, hosts, 8) <= log + 1);
        ck_assert(messages_of(SCALE_PSUM, hosts, 4096) <= log + 1);
        ck_assert(messages_of(SCALE_BROADCAST, hosts, 4096) <= log + 1);
        ck_assert(messages_of(SCALE_MESH, hosts, 0) <= 3 * log + 3);
        ck_assert(messages_of(SCALE_ALL_TO_ALL, hosts, 1024) <=
                  hosts - 1 + log + 1);
    }
}
END_TEST

/* Of a host's members each carries a part: what leaves a host is the same. */
START_TEST(rails_share_the_vector)
{
    struct scale_constants c = constants();
    const struct scale_call one = { SCALE_PSUM, 16, 1, 1 << 24 };
    const struct scale_call eight = { SCALE_PSUM, 16, 8, 1 << 24 };
    struct scale_result lone, shared;
    ck_assert(scale_simulate_jd(&one, &c, &lone));
    ck_assert(scale_simulate_jd(&eight, &c, &shared));
    ck_assert(fabs(8 * shared.counts.bytes / lone.counts.bytes - 1) < 0.01);
}
END_TEST

START_TEST(a_start_grows_with_the_processes)
{
    struct scale_constants c = constants();
    struct scale_start few, many;
    ck_assert(scale_simulate_start(10, 128, &c, &few));
    ck_assert(scale_simulate_start(100, 128, &c, &many));
    expect_near(many.registrations, 10 * few.registrations);
    expect_near(many.host_bytes, 512.0 * 12800);
    expect_near(many.process_bytes, 1048576 + 64 * 100.0 + 32 * 12800.0);
    expect_near(many.cores, 12800 * 21e-6 / 10);
}
END_TEST

START_TEST(constants_are_numbers_above_0)
{
    struct scale_constants c = scale_constants_default();
    ck_assert(scale_constants_read(&c, SCALE_LATENCY, "1.5"));
    expect_near(c.value[SCALE_LATENCY], 1.5e-6);
    ck_assert_str_eq(c.source[SCALE_LATENCY], "given");
    ck_assert(!scale_constants_read(&c, SCALE_LATENCY, "0"));
    ck_assert(!scale_constants_read(&c, SCALE_LATENCY, "-1"));
    ck_assert(!scale_constants_read(&c, SCALE_LATENCY, "nan"));
    ck_assert(!scale_constants_read(&c, SCALE_LATENCY, "inf"));
    ck_assert(!scale_constants_read(&c, SCALE_LATENCY, ""));
    ck_assert(!scale_constants_read(&c, SCALE_LATENCY, "2us"));
    expect_near(c.value[SCALE_LATENCY], 1.5e-6);
    scale_constants_measure(&c);
    ck_assert(c.value[SCALE_FOLD] > 0 && c.value[SCALE_COPY] > 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scale");
    TCase *match = unit_case(suite, "match"), *time = unit_case(suite, "time");
    TCase *far = unit_case(suite, "far end");
    tcase_add_loop_test(match, nobody_waits_in_vain, 0, SCALE_KINDS);
    tcase_add_loop_test(match, nor_among_4096, 0, SCALE_KINDS);
    tcase_add_loop_test(match, nor_among_65536, 0, SCALE_KINDS);
    tcase_add_loop_test(match, a_defect_has_a_complaint, 0, DEFECTS);
    tcase_add_test(time, times_by_hand);
    tcase_add_loop_test(time, one_stands_for_all, 0, SCALE_KINDS);
    tcase_add_test(time, a_wire_is_one_for_all);
    tcase_add_test(time, one_stands_for_all_pairs);
    tcase_add_test(time, pieces_lag_by_hand);
    tcase_add_test(time, two_under_way_by_hand);
    tcase_add_test(time, a_window_hides_the_latency);
    tcase_add_test(far, targets_are_met);
    tcase_add_test(far, longer_pieces_meet_all);
    tcase_add_test(far, targets_can_be_missed);
    tcase_add_test(far, as_few_messages_as_promised);
    tcase_add_test(far, rails_share_the_vector);
    tcase_add_test(far, a_start_grows_with_the_processes);
    tcase_add_test(far, constants_are_numbers_above_0);
    tcase_set_timeout(match, 120);
    tcase_set_timeout(far, 120);
    return unit_main(suite);
}
