/* SPDX-License-Identifier: BSD-3-Clause */
/* test_shm.c - meetings, steps, and giving up. */
#include "base/clock.h"
#include "collectives/cpu/shm/shm_private.h"
#include "runtime/recorder/recorder.h"
#include "tests/unit/shm.h"

#include <sched.h>
#include <stdio.h>

static struct jd_signature sign(uint64_t count)
{
    return (struct jd_signature){ .activity = JD_ACTIVITY_PSUM,
                                  .source = -1,
                                  .count = count };
}

/* ---- meetings ----------------------------------------------------------- */

enum { ROUNDS = UNIT_PART(1000) };

static void meet_often(struct crowd *crowd, int member, void *arg)
{
    struct jd_shm_group *group = crowd->groups[member];
    unsigned seed = (unsigned)member + 1;
    (void)arg;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        struct jd_signature mine = sign(i);
        uint64_t payload[8] = { i, (uint64_t)member };
        if (rand_r(&seed) % 8 == 0)
            sched_yield();
        UNIT_OK(jd__shm_meet(group, &mine, payload, sizeof payload));
        for (int j = 0; j < crowd->size; j++) {
            const uint64_t *other = jd__shm_payload(group, j);
            ck_assert_int_eq(jd__shm_signature(group, j)->count, i);
            ck_assert_int_eq(other[0], i);
            ck_assert_int_eq(other[1], j);
        }
    }
}

START_TEST(everybody_hears_everybody)
{
    struct crowd crowd;
    crowd_start(&crowd, _i);
    crowd_run(&crowd, meet_often, NULL);
    crowd_stop(&crowd);
}
END_TEST

START_TEST(a_long_payload_comes_whole)
{
    struct crowd crowd;
    char payload[JD_SHM_PAYLOAD];
    struct jd_signature mine = sign(1);
    memset(payload, 7, sizeof payload);
    crowd_start(&crowd, 1);
    UNIT_OK(jd__shm_meet(crowd.groups[0], &mine, payload, sizeof payload));
    ck_assert(memcmp(jd__shm_payload(crowd.groups[0], 0), payload,
                     sizeof payload) == 0);
    crowd_stop(&crowd);
}
END_TEST

/* Every other meeting's signature is the same, or differs in the status alone,
 * or one member's in something else. */
static void meet_and_compare(struct crowd *crowd, int member, void *arg)
{
    struct jd_shm_group *group = crowd->groups[member];
    const int *odd = arg;
    for (int i = 0; i < 60; i++) {
        struct jd_signature mine = sign(7);
        bool differs = i % 5 == 4;
        mine.status = i % 3 == 2 ? member : 0;
        mine.source += member == *odd && differs;
        UNIT_OK(jd__shm_meet(group, &mine, NULL, 0));
        ck_assert_int_eq(jd__shm_agrees(group), !differs);
        for (int j = 0; j < crowd->size; j++) {
            const struct jd_signature *theirs = jd__shm_signature(group, j);
            ck_assert_int_eq(theirs->status, i % 3 == 2 ? j : 0);
            ck_assert_int_eq(theirs->source, -1 + (j == *odd && differs));
            ck_assert_uint_eq(theirs->count, 7);
        }
    }
}

START_TEST(a_signature_is_heard_as_it_is)
{
    struct crowd crowd;
    int odd = _i % 3;
    crowd_start(&crowd, 3);
    crowd_run(&crowd, meet_and_compare, &odd);
    crowd_stop(&crowd);
}
END_TEST

/* How many of the recorded calls have begun to wait. */
static int count_waiting(void)
{
    int count = 0;
    struct jd_ring_call call;
    for (uint64_t number = 1; number <= 2; number++)
        count +=
            jd__ring_read(jd__recorder_own(), number, &call) && call.came > 0;
    return count;
}

/* 0, 2 and 1 come one after the other, when those before wait, which can only be
 * for 1. As members are looked at in their order, 2 is the last that member 0
 * looks at. */
static void come_last(struct crowd *crowd, int member, void *arg)
{
    static const int waiting[] = { 0, 2, 1 };
    struct jd_shm_group *group = crowd->groups[member];
    struct jd_signature mine = sign(7);
    (void)arg;
    group->spins = 0;
    while (count_waiting() < waiting[member])
        sched_yield();
    jd__recorder_enter(&(struct jd_recorder_call){ .operation = "jd_psum" });
    UNIT_OK(jd__shm_meet(group, &mine, NULL, 0));
    jd__recorder_leave(JD_OK);
}

START_TEST(who_comes_last_is_recorded)
{
    struct crowd crowd;
    struct jd_ring_call call;
    jd__recorder_configure(true, false);
    crowd_start(&crowd, 3);
    crowd_run(&crowd, come_last, NULL);
    for (uint64_t number = 1; number <= 2; number++) {
        ck_assert(jd__ring_read(jd__recorder_own(), number, &call));
        ck_assert_int_eq(call.last, crowd.groups[0]->processes[1]);
    }
    crowd_stop(&crowd);
}
END_TEST

START_TEST(signatures_that_differ_have_other_digests)
{
    struct jd_signature a = sign(1), b[] = { a, a, a, a, a, a };
    b[0].activity++;
    b[1].dtype++;
    b[2].source++;
    b[3].count++;
    b[4].digest++;
    b[5].activity--, b[5].dtype++;
    for (int i = 0; i < 6; i++)
        ck_assert_uint_ne(jd__signature_digest(&a),
                          jd__signature_digest(&b[i]));
    a.status = JD_ABORTED;
    ck_assert_uint_eq(jd__signature_digest(&a),
                      jd__signature_digest(&(struct jd_signature){
                          .activity = JD_ACTIVITY_PSUM,
                          .source = -1,
                          .count = 1,
                      }));
}
END_TEST

/* ---- steps -------------------------------------------------------------- */

/* Not atomic: the steps order the accesses. */
static long board[CROWD_MAX];

static void step_often(struct crowd *crowd, int member, void *arg)
{
    struct jd_shm_group *group = crowd->groups[member];
    (void)arg;
    for (long i = 1; i <= ROUNDS; i++) {
        board[member] = i;
        UNIT_OK(jd__shm_step(group));
        for (int j = 0; j < crowd->size; j++)
            ck_assert_int_eq(board[j], i);
        UNIT_OK(jd__shm_step(group));
    }
    ck_assert_int_eq(jd__shm_steps(group), 2 * ROUNDS);
}

START_TEST(a_step_orders_what_comes_before_it)
{
    struct crowd crowd;
    crowd_start(&crowd, _i);
    crowd_run(&crowd, step_often, NULL);
    crowd_stop(&crowd);
}
END_TEST

static void hand_on(struct crowd *crowd, int member, void *arg)
{
    struct jd_shm_group *group = crowd->groups[member];
    (void)arg;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        if (member > 0)
            UNIT_OK(jd__shm_await(group, member - 1, i));
        else if (i > 1)
            UNIT_OK(jd__shm_await(group, crowd->size - 1, i - 1));
        board[0]++;
        ck_assert_int_eq(jd__shm_advance(group), i);
    }
}

START_TEST(one_member_can_be_awaited)
{
    struct crowd crowd;
    crowd_start(&crowd, 3);
    board[0] = 0;
    crowd_run(&crowd, hand_on, NULL);
    ck_assert_int_eq(board[0], 3 * ROUNDS);
    crowd_stop(&crowd);
}
END_TEST

/* ---- places ------------------------------------------------------------- */

START_TEST(places_are_inside_the_heap)
{
    struct crowd crowd;
    char mine[8];
    crowd_start(&crowd, 2);
    char *heap = crowd.members[0].heap;
    struct jd_shm_group *group = crowd.groups[0], *other = crowd.groups[1];
    uint64_t end = CROWD_HEAP;
    ck_assert_int_eq(jd__shm_place(group, heap + 5, 10), 5);
    ck_assert_int_eq(jd__shm_place(group, heap + end - 10, 10), end - 10);
    ck_assert(jd__shm_place(group, heap + end - 9, 10) == JD_PLACE_PRIVATE);
    ck_assert(jd__shm_place(group, heap + end, 0) == JD_PLACE_PRIVATE);
    ck_assert(jd__shm_place(group, mine, 8) == JD_PLACE_PRIVATE);
    ck_assert_ptr_eq(jd__shm_at(other, 0, 5, 10), heap + 5);
    ck_assert_ptr_null(jd__shm_at(other, 0, JD_PLACE_PRIVATE, 1));
    ck_assert_ptr_null(jd__shm_at(other, 0, end - 9, 10));
    crowd_stop(&crowd);
}
END_TEST

/* ---- giving up ---------------------------------------------------------- */

static void come_late(struct crowd *crowd, int member, void *arg)
{
    struct jd_shm_group *group = crowd->groups[member];
    struct jd_signature mine = sign(0);
    atomic_int *gone = arg;
    if (member == 0) {
        ck_assert_int_eq(jd__shm_meet(group, &mine, NULL, 0),
                         JD_DEADLINE_EXCEEDED);
        double waited = 0;
        sscanf(jd_error_message(), "test: process 0 has waited %lf s", &waited);
        ck_assert_msg(waited >= 0.2, "%s", jd_error_message());
        atomic_fetch_add(gone, 1);
        return;
    }
    if (member == 1)
        while (atomic_load(gone) == 0)
            sched_yield();
    ck_assert_int_eq(jd__shm_meet(group, &mine, NULL, 0), JD_ABORTED);
    ck_assert_ptr_nonnull(
        strstr(jd_error_message(), "test: another member gave up waiting"));
    ck_assert_int_eq(jd__shm_meet(group, &mine, NULL, 0), JD_ABORTED);
}

/* Process 2 has no deadline of its own: it hears of it. */
START_TEST(a_late_member_hears_that_others_gave_up)
{
    struct crowd crowd;
    atomic_int gone = 0;
    crowd_start_with(&crowd, 3, (double[]){ 0.2, 60, 60 });
    crowd_run(&crowd, come_late, &gone);
    crowd_stop(&crowd);
}
END_TEST

/* From here on: the meeting before that is no race. */
static void be_impatient(struct jd_shm_group *group)
{
    group->spec.wait.timeout = 0.2;
}

static void give_up_inside(struct crowd *crowd, int member, void *arg)
{
    struct jd_shm_group *group = crowd->groups[member];
    struct jd_signature mine = sign(0);
    atomic_int *copying = arg;
    UNIT_OK(jd__shm_meet(group, &mine, NULL, 0));
    if (member == 0) {
        /* The other is still at work in our buffers until it says so. */
        be_impatient(group);
        ck_assert_int_eq(jd__shm_step(group), JD_DEADLINE_EXCEEDED);
        ck_assert_int_eq(atomic_load(copying), 0);
        return;
    }
    while (atomic_load(&crowd->members[0].control->step) != JD_SHM_REVOKED)
        sched_yield();
    double begin = jd__clock_now(); /* so that it most likely waits */
    while (jd__clock_now() < begin + 0.2)
        sched_yield();
    atomic_store(copying, 0);
    ck_assert_int_eq(jd__shm_step(group), JD_ABORTED);
}

START_TEST(nobody_leaves_while_a_member_holds_its_buffers)
{
    struct crowd crowd;
    atomic_int copying = 1;
    crowd_start(&crowd, 2);
    crowd_run(&crowd, give_up_inside, &copying);
    crowd_stop(&crowd);
}
END_TEST

static void leave_or_wait(struct crowd *crowd, int member, void *arg)
{
    struct jd_shm_group *group = crowd->groups[member];
    struct jd_signature mine = sign(0);
    (void)arg;
    UNIT_OK(jd__shm_meet(group, &mine, NULL, 0));
    if (member == 1) {
        jd__shm_leave(group);
        return;
    }
    if (member == 0)
        be_impatient(group);
    ck_assert_int_eq(jd__shm_step(group),
                     member == 0 ? JD_DEADLINE_EXCEEDED : JD_ABORTED);
    ck_assert_ptr_null(strstr(jd_error_message(), "let go"));
}

START_TEST(who_has_left_is_not_waited_for)
{
    struct crowd crowd;
    crowd_start(&crowd, 3);
    crowd_run(&crowd, leave_or_wait, NULL);
    crowd_stop(&crowd);
}
END_TEST

static void revoke_or_wait(struct crowd *crowd, int member, void *arg)
{
    struct jd_shm_group *group = crowd->groups[member];
    struct jd_signature mine = sign(0);
    (void)arg;
    if (member == 1) {
        UNIT_OK(jd__shm_meet(group, &mine, NULL, 0));
        jd__shm_revoke(group);
    } else if (jd__shm_meet(group, &mine, NULL, 0) == JD_OK) {
        ck_assert_int_eq(jd__shm_step(group), JD_ABORTED);
    }
    ck_assert_int_eq(jd__shm_meet(group, &mine, NULL, 0), JD_ABORTED);
}

START_TEST(a_member_that_fails_ends_the_others_waits)
{
    struct crowd crowd;
    crowd_start(&crowd, 3);
    crowd_run(&crowd, revoke_or_wait, NULL);
    crowd_stop(&crowd);
}
END_TEST

START_TEST(one_alone_meets_nobody)
{
    struct crowd crowd;
    crowd_start(&crowd, 1);
    struct jd_shm_group *group = crowd.groups[0];
    for (int i = 0; i < 3; i++) {
        struct jd_signature mine = sign((uint64_t)i);
        memset(jd__shm_payload_space(group), i, 8);
        UNIT_OK(jd__shm_meet_alone(group));
        ck_assert_mem_eq(jd__shm_payload(group, 0),
                         ((char[8]){ i, i, i, i, i, i, i, i }), 8);
        UNIT_OK(jd__shm_meet(group, &mine, NULL, 0));
        ck_assert_int_eq(jd__shm_signature(group, 0)->count, i);
    }
    jd__shm_abort(group);
    UNIT_FAILS(
        jd__shm_meet_alone(group), JD_ABORTED,
        "test: another member gave up waiting, or failed, and the members "
        "are out of step; the job should end (the one that gave up says "
        "why)");
    crowd_stop(&crowd);
}
END_TEST

/* Member 0 is in a wait while another of its threads aborts its end. */
static void be_aborted(struct crowd *crowd, int member, void *arg)
{
    struct jd_shm_group *group = crowd->groups[member];
    struct jd_signature mine = sign(0);
    atomic_int *waiting = arg;
    if (member == 1) {
        while (!atomic_load(waiting))
            sched_yield();
        jd__shm_abort(crowd->groups[0]);
    } else {
        atomic_store(waiting, 1);
    }
    /* Both may have come to the first already. */
    if (jd__shm_meet(group, &mine, NULL, 0) == JD_OK)
        ck_assert_int_eq(jd__shm_meet(group, &mine, NULL, 0), JD_ABORTED);
}

START_TEST(another_thread_ends_a_wait)
{
    struct crowd crowd;
    atomic_int waiting;
    for (int i = 0; i < 20; i++) {
        atomic_init(&waiting, 0);
        crowd_start(&crowd, 2);
        crowd_run(&crowd, be_aborted, &waiting);
        crowd_stop(&crowd);
    }
}
END_TEST

/* ---- two levels --------------------------------------------------------- */

static void meet_in_two_levels(void)
{
    crowd_subgroup_size = 2;
}

/* Sums of what the members tell: as many as payloads were merged. */
struct sum {
    const struct jd_shm_group *group;
    int refuses; /* the member whose payload is not to be merged, or -1 */
};

static bool gather_sum(void *arg, const int *members, int count, void *part)
{
    const struct sum *sum = arg;
    uint64_t *result = part;
    *result = 0;
    for (int i = 0; i < count; i++) {
        if (members[i] == sum->refuses)
            return false;
        *result += *(const uint64_t *)jd__shm_payload(sum->group, members[i]);
    }
    return true;
}

static void finish_sum(void *arg, const void **parts, int count, void *result)
{
    uint64_t total = 0;
    (void)arg;
    for (int i = 0; i < count; i++)
        total += *(const uint64_t *)parts[i];
    memcpy(result, &total, sizeof total);
}

/* Now and then one of them does not want it, or calls something else. */
static void meet_and_merge(struct crowd *crowd, int member, void *arg)
{
    struct sum sum = { crowd->groups[member], -1 };
    struct jd_shm_merge merge = { gather_sum, finish_sum, &sum };
    uint64_t all = (uint64_t)(crowd->size * (crowd->size - 1) / 2);
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct jd_signature mine = sign(7);
        uint64_t payload = (uint64_t)(i * crowd->size + member), wanted;
        int odd = i / 4 % crowd->size;
        sum.refuses = i % 4 == 1 ? odd : -1;
        mine.source = i % 4 == 2 && member == odd;
        UNIT_OK(jd__shm_meet_merging(crowd->groups[member], &mine, &payload,
                                     sizeof payload, &merge));
        const uint64_t *result = jd__shm_merged(crowd->groups[member]);
        ck_assert_int_eq(result != NULL, i % 4 != 1 && i % 4 != 2);
        ck_assert_int_eq(jd__shm_agrees(crowd->groups[member]), i % 4 != 2);
        wanted = (uint64_t)(i * crowd->size * crowd->size) + all;
        if (result)
            ck_assert_uint_eq(*result, wanted);
    }
}

START_TEST(leaders_merge_what_all_brought)
{
    struct crowd crowd;
    crowd_start(&crowd, _i);
    crowd_run(&crowd, meet_and_merge, NULL);
    crowd_stop(&crowd);
}
END_TEST

START_TEST(nothing_is_merged_in_one_level)
{
    struct crowd crowd;
    struct sum sum = { NULL, -1 };
    struct jd_shm_merge merge = { gather_sum, finish_sum, &sum };
    struct jd_signature mine = sign(1);
    uint64_t payload = 1;
    crowd_start(&crowd, 1);
    UNIT_OK(jd__shm_meet_merging(crowd.groups[0], &mine, &payload,
                                 sizeof payload, &merge));
    ck_assert_ptr_null(jd__shm_merged(crowd.groups[0]));
    crowd_stop(&crowd);
}
END_TEST

/* All but one or two have come to the first meeting. */
static bool others_are_there(const struct crowd *crowd, int size, int one,
                             int two)
{
    for (int i = 0; i < size; i++)
        if (i != one && i != two &&
            atomic_load(&crowd->members[i].control->slots[1].round) < 1)
            return false;
    return true;
}

/* Five members: 0 leads 1, 2 leads 3, 4 leads nobody. */
struct absence {
    int absent; /* who does not come until another has given up */
    int looks;  /* whose deadline is short: it comes when the others have */
    atomic_int ended;
};

static void be_missed(struct crowd *crowd, int member, void *arg)
{
    struct absence *a = arg;
    struct jd_signature mine = sign(0);
    char named[40];
    while (member == a->absent && atomic_load(&a->ended) == 0)
        sched_yield();
    while (member == a->looks &&
           !others_are_there(crowd, 5, a->absent, a->looks))
        sched_yield();
    jd_status status = jd__shm_meet(crowd->groups[member], &mine, NULL, 0);
    if (member == a->absent) {
        ck_assert_int_eq(status, JD_ABORTED);
        return;
    }
    snprintf(named, sizeof named, "s for process %d;", a->absent);
    ck_assert_int_ne(status, JD_OK);
    if (status == JD_DEADLINE_EXCEEDED)
        ck_assert_msg(strstr(jd_error_message(), named), "%s",
                      jd_error_message());
    atomic_fetch_add(&a->ended, status == JD_DEADLINE_EXCEEDED);
}

/* One by one, a member of each kind is not there, and each kind looks. */
START_TEST(who_is_missing_is_named_in_each_level)
{
    int absent = _i / 5, looks = _i % 5;
    double timeouts[5] = { 60, 60, 60, 60, 60 };
    struct crowd crowd;
    struct absence a = { .absent = absent, .looks = looks };
    if (absent == looks)
        return;
    timeouts[looks] = 0.2;
    crowd_start_with(&crowd, 5, timeouts);
    crowd_run(&crowd, be_missed, &a);
    ck_assert_int_gt(atomic_load(&a.ended), 0);
    crowd_stop(&crowd);
}
END_TEST

/* Member 3 has come, and its leader with it; then it gives up. Nobody of the
 * other subgroup may believe that all are there. */
static void give_up_early(struct crowd *crowd, int member, void *arg)
{
    struct jd_signature mine = sign(0);
    atomic_int *gone = arg;
    while (member == 0 && atomic_load(gone) == 0)
        sched_yield();
    ck_assert_int_eq(jd__shm_meet(crowd->groups[member], &mine, NULL, 0),
                     member == 3 ? JD_DEADLINE_EXCEEDED : JD_ABORTED);
    if (member == 3)
        atomic_store(gone, 1);
}

START_TEST(who_gave_up_after_it_came_is_believed)
{
    struct crowd crowd;
    atomic_int gone = 0;
    crowd_start_with(&crowd, 4, (double[]){ 60, 60, 60, 0.2 });
    crowd_run(&crowd, give_up_early, &gone);
    crowd_stop(&crowd);
}
END_TEST

/* All are there, as far as member 1's leader knows. */
START_TEST(what_was_told_ends_a_meeting)
{
    struct crowd crowd;
    struct jd_signature mine = sign(0);
    crowd_start(&crowd, 4);
    atomic_store(&crowd.members[0].control->released[1].round, 1);
    jd__shm_revoke(crowd.groups[3]);
    for (int i = 0; i < 3; i++)
        ck_assert(atomic_load(&crowd.members[i].control->is_told));
    ck_assert_int_eq(jd__shm_meet(crowd.groups[1], &mine, NULL, 0), JD_ABORTED);
    crowd_stop(&crowd);
}
END_TEST

/* The leader has come and does not go on: it is named, as all have come. */
static void hold_up(struct crowd *crowd, int member, void *arg)
{
    struct jd_shm_group *group = crowd->groups[member];
    struct jd_signature mine = sign(0);
    atomic_int *gone = arg;
    if (member == 0) {
        atomic_store(&group->own->slots[1].round, 1);
        while (atomic_load(gone) == 0)
            sched_yield();
        return;
    }
    while (member == 1 && !others_are_there(crowd, 4, 1, 1))
        sched_yield();
    ck_assert_int_eq(jd__shm_meet(group, &mine, NULL, 0),
                     member == 1 ? JD_DEADLINE_EXCEEDED : JD_ABORTED);
    if (member > 1)
        return;
    ck_assert_msg(strstr(jd_error_message(), "s for process 0;"), "%s",
                  jd_error_message());
    atomic_store(gone, 1);
}

/* It holds the buffers until it lets go: here it has left at once. */
START_TEST(a_leader_that_stands_still_is_named)
{
    struct crowd crowd;
    atomic_int gone = 0;
    crowd_start_with(&crowd, 4, (double[]){ 60, 0.2, 60, 60 });
    atomic_store(&crowd.members[0].control->left, 1);
    crowd_run(&crowd, hold_up, &gone);
    crowd_stop(&crowd);
}
END_TEST

/* What is true of every group. */
static void add_everywhere(TCase *meetings, TCase *ends)
{
    tcase_add_loop_test(meetings, everybody_hears_everybody, 1, 6);
    tcase_add_loop_test(meetings, a_signature_is_heard_as_it_is, 0, 3);
    tcase_add_loop_test(meetings, a_step_orders_what_comes_before_it, 1, 6);
    tcase_add_test(ends, a_late_member_hears_that_others_gave_up);
    tcase_add_test(ends, nobody_leaves_while_a_member_holds_its_buffers);
    tcase_add_test(ends, who_has_left_is_not_waited_for);
    tcase_add_test(ends, a_member_that_fails_ends_the_others_waits);
    tcase_add_test(ends, another_thread_ends_a_wait);
}

static void add_two_levels(Suite *suite)
{
    TCase *meetings = unit_case(suite, "two levels");
    TCase *ends = unit_case(suite, "giving up in two levels");
    tcase_add_checked_fixture(meetings, meet_in_two_levels, NULL);
    tcase_add_checked_fixture(ends, meet_in_two_levels, NULL);
    add_everywhere(meetings, ends);
    tcase_add_loop_test(meetings, leaders_merge_what_all_brought, 2, 8);
    tcase_add_loop_test(ends, who_is_missing_is_named_in_each_level, 0, 25);
    tcase_add_test(ends, who_gave_up_after_it_came_is_believed);
    tcase_add_test(ends, what_was_told_ends_a_meeting);
    tcase_add_test(ends, a_leader_that_stands_still_is_named);
}

int main(void)
{
    Suite *suite = suite_create("shm");
    TCase *meetings = unit_case(suite, "meetings");
    TCase *ends = unit_case(suite, "giving up");
    add_everywhere(meetings, ends);
    tcase_add_test(meetings, a_long_payload_comes_whole);
    tcase_add_test(meetings, who_comes_last_is_recorded);
    tcase_add_test(meetings, signatures_that_differ_have_other_digests);
    tcase_add_test(meetings, one_member_can_be_awaited);
    tcase_add_test(meetings, places_are_inside_the_heap);
    tcase_add_test(meetings, one_alone_meets_nobody);
    tcase_add_test(meetings, nothing_is_merged_in_one_level);
    add_two_levels(suite);
    return unit_main(suite);
}
