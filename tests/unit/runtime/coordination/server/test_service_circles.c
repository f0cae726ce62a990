/* SPDX-License-Identifier: BSD-3-Clause */
/* test_service_circles.c - processes that wait for each other in a circle end
 * the job, others do not. */
#include "tests/unit/waits.h"

/* ---- in a circle -------------------------------------------------------- */

static const struct said over_a = { .wait = 1,
                                    .operation = "jd_psum over axis \"a\"",
                                    .waited = 20,
                                    .process = 1 };
static const struct said over_b = { .wait = 4,
                                    .operation = "jd_psum over axis \"b\"",
                                    .waited = 20,
                                    .process = 0 };

static void confirm_circle(struct said first, struct said second)
{
    say(0, first);
    say(1, second);
    answer_look(0, first);
    answer_look(1, second);
    pass(0.5);
    answer_look(0, first);
    answer_look(1, second);
    pass(0.05);
}

START_TEST(a_circle_of_waits_ends_the_job)
{
    start_noticing(3, 20);
    confirm_circle(over_a, over_b);
    expect_failures(
        3, "process 1 (train, pid 101 on h0): it waits in jd_psum over axis "
           "\"b\" for process 0, which waits in jd_psum over axis \"a\" for "
           "process 1, for 20 s: none of them can go on; all members must make "
           "the same calls in the same order, 0.03 s ago; it waits in jd_psum "
           "over axis \"b\" for process 0, for 20 s");
    finish();
}
END_TEST

static void expect_no_circle(struct said first, struct said second)
{
    start_noticing(2, 20);
    say(0, first);
    say(1, second);
    pass(10);
    expect_all_quiet();
    finish();
}

START_TEST(a_circle_is_one_only_where_it_is_certain)
{
    struct said same = over_b, short_one = over_b, threads = over_b;
    same.operation = over_a.operation; /* what is under way may come */
    short_one.waited = 19;
    threads.has_threads = true;
    expect_no_circle(over_a, same);
    expect_no_circle(over_a, short_one);
    expect_no_circle(over_a, threads);
}
END_TEST

START_TEST(a_circle_without_notices_is_left_alone)
{
    start_noticing(2, -1);
    say(0, over_a);
    say(1, over_b);
    pass(10);
    expect_all_quiet();
    finish();
}
END_TEST

/* Both ends of a transfer have to meet before anything is under way. */
START_TEST(two_that_send_to_each_other_are_a_circle)
{
    struct said there = { 1, "jd_send over axis \"x\"", 20, 1,
                          .is_transfer = true };
    struct said back = there;
    back.process = 0;
    start_noticing(2, 20);
    confirm_circle(there, back);
    expect_failure_begins(
        &peers[0], "process 1 (train, pid 101 on h0): it waits in jd_send over "
                   "axis \"x\" for process 0, which waits in jd_send over axis "
                   "\"x\" for process 1, for 20 s: none of them can go on; ");
    finish();
}
END_TEST

/* Each is asked by a Look of its own, so that all wait at one time. */
static void answer_looks(int count, const struct said *said)
{
    for (int i = 0; i < count; i++)
        answer_look(i, said[i]);
}

START_TEST(a_long_circle_is_said_in_short)
{
    enum { COUNT = 10 };
    struct said said[COUNT];
    start_noticing(COUNT, 20);
    for (int i = 0; i < COUNT; i++) {
        said[i] = (struct said){ 1, "jd_send", 20, (uint32_t)(i + 1) % COUNT,
                                 .is_transfer = true };
        say(i, said[i]);
    }
    answer_looks(COUNT, said);
    pass(0.5);
    answer_looks(COUNT, said);
    pass(0.05);
    Jd__Message *message = take(&peers[0], JD__MESSAGE__BODY_FAILURE);
    ck_assert_ptr_nonnull(strstr(message->failure->text,
                                 " for process 7, and so on, through 10 "
                                 "processes in all, for 20 s: none of them"));
    drop(message);
    finish();
}
END_TEST

/* In one call process 2 waits for process 0, and that for process 1, which
 * waits in another call for process 2. */
static const struct said through_a_call[] = {
    { .wait = 1, .operation = "jd_psum over all", .waited = 20, .process = 1 },
    { .wait = 4, .operation = "jd_psum over b", .waited = 20, .process = 2 },
    { .wait = 7, .operation = "jd_psum over all", .waited = 20, .process = 0 },
};

START_TEST(a_circle_may_lead_through_a_call)
{
    start_noticing(3, 20);
    for (int i = 0; i < 3; i++)
        say(i, through_a_call[i]);
    answer_looks(3, through_a_call);
    pass(0.5);
    answer_looks(3, through_a_call);
    pass(0.05);
    expect_failure_begins(
        &peers[0],
        "process 2 (train, pid 102 on h1): it waits in jd_psum over all for "
        "process 0, which waits in jd_psum over all for process 1, which waits "
        "in jd_psum over b for process 2, for 20 s: none of them can go on; ");
    finish();
}
END_TEST

/* What is under way in it may come; and who waits for many is not followed. */
START_TEST(a_call_alone_is_no_circle)
{
    struct said said[3];
    for (int many = 0; many < 2; many++) {
        memcpy(said, through_a_call, sizeof said);
        if (many)
            said[2].another = 1 + 3;
        else
            said[1].operation = said[0].operation;
        start_noticing(4, 20);
        for (int i = 0; i < 3; i++)
            say(i, said[i]);
        pass(10);
        expect_all_quiet();
        finish();
    }
}
END_TEST

/* It was certain of another circle, and may be over since. */
START_TEST(what_was_confirmed_before_is_asked_again)
{
    struct said third = over_b;
    start_noticing(3, 20);
    third.process = 0;
    say(0, over_a);
    say(1, over_b);
    answer_look(0, over_a);
    drop(take(&peers[1], JD__MESSAGE__BODY_LOOK));
    pass(0.5);
    answer_look(0, over_a); /* it is certain, and process 1 says nothing */
    drop(take(&peers[1], JD__MESSAGE__BODY_LOOK));
    third.wait = 5; /* another wait of process 1 */
    say(1, third);
    drop(take(&peers[0], JD__MESSAGE__BODY_LOOK));
    answer_look(1, third);
    pass(0.5);
    answer_look(1, third);
    drop(take(&peers[0], JD__MESSAGE__BODY_LOOK));
    pass(30);
    expect_all_quiet();
    finish();
}
END_TEST

/* ---- of several threads ------------------------------------------------- */

/* Two processes of two threads, {0, 1} and {2, 3} of a mesh: 0 waits for 2 over
 * p, that for 3 over d, that for 1 over p, and that for 0 over d. */
enum { THREADS = 2 };
static const struct said of_threads[2][THREADS] = {
    { { 1, "jd_psum over p", 20, .process = 1, .other = 2, .comm = 102 },
      { 2, "jd_psum over d", 20, .process = 0, .other = 1, .comm = 101 } },
    { { 4, "jd_psum over d", 20, .process = 1, .other = 5, .comm = 123 },
      { 5, "jd_psum over p", 20, .process = 0, .other = 4, .comm = 113 } },
};

static void say_threads(const struct said (*said)[THREADS])
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < THREADS; k++)
            say(i, said[i][k]);
}

static bool has_failure(void)
{
    const struct peer *peer = &peers[0];
    return peer->first < peer->last &&
           peer->inbox[peer->first]->body_case == JD__MESSAGE__BODY_FAILURE;
}

/* In which call one of its threads is. */
static void say_stand(int process, uint64_t wait, const char *call)
{
    Jd__Heartbeat body = JD__HEARTBEAT__INIT;
    Jd__Standing stand = JD__STANDING__INIT, *pointer = &stand;
    stand.wait = wait;
    stand.call = (char *)call;
    body.standing = &pointer;
    body.n_standing = 1;
    tell(&peers[process], JD__MESSAGE__BODY_HEARTBEAT, &body);
}

/* Each thread answers the last of the Looks that have come. */
static void answer_with_threads(int process, const struct said *said, int count)
{
    uint64_t number = 0;
    do {
        Jd__Message *look = take(&peers[process], JD__MESSAGE__BODY_LOOK);
        number = look->look->number;
        drop(look);
    } while (peers[process].first < peers[process].last);
    for (int k = 0; k < count; k++)
        say_at(process, &said[k], number);
}

static void confirm_threads(const struct said (*said)[THREADS])
{
    for (int time = 0; time < 2; time++) {
        for (int i = 0; i < 2; i++)
            answer_with_threads(i, said[i], THREADS);
        pass(0.5);
    }
}

START_TEST(a_circle_through_all_threads_ends_the_job)
{
    start_noticing(2, 20);
    say_place(1, "jd_psum", "jd_psum of 1 x F64 over p, called at train.c:1");
    say_threads(of_threads);
    say_stand(0, 2, "jd_psum of 1 x F64 over d, called at train.c:36");
    say_stand(0, 9, "another, called at train.c:9");
    confirm_threads(of_threads);
    expect_failure_begins(
        &peers[0],
        "process 1 (train, pid 101 on h0): it waits in jd_psum over p for "
        "process 0, which waits in jd_psum over d at train.c:36 for another "
        "thread of its own, which waits in jd_psum over p for process 1, which "
        "waits in jd_psum over d for another thread of its own, for 20 s: none "
        "of their threads can go on; ");
    finish();
}
END_TEST

/* A thread that is in no wait, in a short one, in one that is told to be over,
 * or waits for somebody who can come. */
START_TEST(a_thread_that_can_go_on_ends_no_job)
{
    struct said said[2][THREADS];
    for (int way = 0; way < 4; way++) {
        memcpy(said, of_threads, sizeof said);
        struct said *last = &said[1][0];
        if (way == 0)
            last->has_threads = said[1][1].has_threads = true;
        else if (way == 1)
            last->waited = 19;
        else if (way == 2)
            said[1][1].other = 7;
        else
            last->process = 2;
        start_noticing(3, 20);
        say_threads((const struct said(*)[THREADS])said);
        pass(0.9);
        expect_all_quiet();
        finish();
    }
}
END_TEST

/* The second threads exchange what takes its time, and the first ones wait for
 * them in the next call. */
START_TEST(what_is_under_way_in_one_call_ends_no_job)
{
    static const struct said said[2][THREADS] = {
        { { 1, "jd_psum over d", 20, .process = 0, .other = 2, .comm = 101 },
          { 2, "jd_psum over p", 20, .process = 1, .other = 1, .comm = 113 } },
        { { 4, "jd_psum over d", 20, .process = 1, .other = 5, .comm = 123 },
          { 5, "jd_psum over p", 20, .process = 0, .other = 4, .comm = 113 } },
    };
    start_noticing(2, 20);
    say_threads(said);
    pass(0.9);
    expect_all_quiet();
    finish();
}
END_TEST

/* Each says its wait; the last one is looked at when all are known. */
static void say_all(const int *processes, const struct said *said, int count)
{
    for (int i = 0; i < count; i++)
        say(processes[i], said[i]);
}

/* Processes 0 and 1 wait for each other in two calls; process 0's second thread
 * and process 2 for each other in one. */
START_TEST(nor_does_it_hold_a_thread)
{
    static const struct said said[] = {
        { 2, "jd_psum over c", 20, .process = 2, .other = 1, .comm = 3 },
        { 7, "jd_psum over c", 20, .process = 0, .comm = 3 },
        { 4, "jd_psum over b", 20, .process = 0, .comm = 2 },
        { 1, "jd_psum over a", 20, .process = 1, .other = 2, .comm = 1 },
    };
    start_noticing(3, 20);
    say_all((int[]){ 0, 2, 1, 0 }, said, 4);
    pass(0.9);
    expect_all_quiet();
    finish();
}
END_TEST

/* Process 0's second thread waits for 2, who waits for 4, who runs, and for 3,
 * who waits for 2. */
START_TEST(who_leans_on_one_that_can_go_on_holds_nobody)
{
    static const struct said said[] = {
        { 2, "jd_psum over c", 20, .process = 2, .other = 1, .another = 1 + 3 },
        { 7, "jd_psum over d", 20, .process = 4 },
        { 8, "jd_psum over e", 20, .process = 2 },
        { 4, "jd_psum over b", 20, .process = 0 },
        { 1, "jd_psum over a", 20, .process = 1, .other = 2 },
    };
    start_noticing(5, 20);
    say_all((int[]){ 0, 2, 3, 1, 0 }, said, 5);
    pass(0.9);
    expect_all_quiet();
    finish();
}
END_TEST

/* Process 1's second thread waits for 0 in a call that is not known to be that
 * of 0's first thread; the second one may yet come to it. */
START_TEST(a_call_that_is_not_known_is_not_taken_for_another)
{
    static const struct said said[] = {
        { 2, "jd_psum over c", 20, .process = 3, .other = 1 },
        { 5, "jd_psum over x", 20, .process = 0, .other = 4 },
        { 8, "jd_psum over b", 20, .process = 1 },
        { 1, "jd_psum over x", 20, .process = 2, .other = 2 },
        { 4, "jd_psum over a", 20, .process = 2, .other = 5 },
    };
    start_noticing(4, 20);
    say_all((int[]){ 0, 1, 2, 0, 1 }, said, 5);
    pass(0.9);
    expect_all_quiet();
    finish();
}
END_TEST

/* Process 0's second thread waits for 2. Between the two answers it has done
 * what others wait for, and its process says that it is in the other wait
 * alone. */
START_TEST(who_is_in_other_waits_is_asked_anew)
{
    struct said said[] = {
        { 1, "jd_psum over a", 20, .process = 1, .other = 2 },
        { 2, "jd_psum over c", 20, .process = 2, .other = 1 },
        { 4, "jd_psum over b", 20, .process = 0 },
        { 7, "jd_psum over d", 20, .process = 0 },
    };
    start_noticing(3, 20);
    for (int i = 0; i < 4; i++)
        say(i < 2 ? 0 : i - 1, said[i]);
    answer_with_threads(0, said, 2);
    answer_with_threads(1, &said[2], 1);
    answer_with_threads(2, &said[3], 1);
    pass(0.5);
    said[0].other = 0;
    answer_with_threads(0, said, 1);
    answer_with_threads(1, &said[2], 1);
    pass(0.05);
    drop(take(&peers[0], JD__MESSAGE__BODY_LOOK)); /* from the beginning */
    drop(take(&peers[2], JD__MESSAGE__BODY_LOOK));
    expect_all_quiet();
    finish();
}
END_TEST

/* The threads of processes 0 and 1 wait for each other, and one more for
 * process 2, whose own wait for each other: three circles, of which two have
 * the third in them. They are asked in turn, and not for ever. */
enum { THREE = 3 };
static const struct said that_share[THREE][THREE] = {
    { { 3, "c", 20, .process = 2, .other = 1, .third = 2, .comm = 3 },
      { 1, "a", 20, .process = 0, .other = 2, .third = 3, .comm = 1 },
      { 2, "b", 20, .process = 0, .other = 1, .third = 3, .comm = 2 } },
    { { 6, "c", 20, .process = 2, .other = 4, .third = 5, .comm = 6 },
      { 4, "a", 20, .process = 1, .other = 5, .third = 6, .comm = 4 },
      { 5, "b", 20, .process = 1, .other = 4, .third = 6, .comm = 5 } },
    { { 7, "d", 20, .process = 2, .other = 8, .comm = 7 },
      { 8, "e", 20, .process = 2, .other = 7, .comm = 8 } },
};

START_TEST(circles_that_share_waits_come_to_an_end)
{
    int looks = 0;
    start_noticing(3, 20);
    for (int i = THREE - 1; i >= 0; i--, pass(0.05))
        for (int k = 0; k < THREE && that_share[i][k].wait; k++)
            say(i, that_share[i][k]);
    for (int time = 0; time < 40 && !has_failure(); time++) {
        for (int i = 0; i < THREE && !has_failure(); i++)
            if (peers[i].first < peers[i].last) {
                answer_with_threads(i, that_share[i], i < 2 ? THREE : 2);
                looks++;
            }
        pass(0.05);
    }
    ck_assert(has_failure());
    ck_assert_int_le(looks, 18);
    finish();
}
END_TEST

/* The two circle in p; their second threads wait for process 2, which waits for
 * one of them: it is asked too. */
START_TEST(who_holds_the_other_threads_is_asked)
{
    struct said said[2][THREADS];
    struct said third = { 8, "jd_psum over z", 20, .process = 0 };
    memcpy(said, of_threads, sizeof said);
    said[0][1] =
        (struct said){ 2, "jd_psum over e", 20, .process = 2, .other = 1 };
    said[1][0] =
        (struct said){ 4, "jd_psum over f", 20, .process = 2, .other = 5 };
    said[1][1].operation = "jd_psum over q";
    start_noticing(3, 20);
    say_threads((const struct said(*)[THREADS])said);
    pass(0.1);
    expect_all_quiet();
    say(2, third);
    for (int time = 0; time < 2; time++) {
        for (int i = 0; i < 2; i++)
            answer_with_threads(i, said[i], THREADS);
        pass(0.5);
    }
    drop(take(&peers[2], JD__MESSAGE__BODY_LOOK));
    Jd__Message *look = take(&peers[2], JD__MESSAGE__BODY_LOOK);
    expect_all_quiet(); /* process 2 has not confirmed it */
    say_at(2, &third, look->look->number);
    drop(look);
    pass(0.05);
    expect_failure_begins(
        &peers[2],
        "process 2 (train, pid 102 on h1): it waits in jd_psum over z for "
        "process 0, which waits in jd_psum over p for process 1, which waits "
        "in jd_psum over f for process 2, for 20 s: none of their threads can "
        "go on; ");
    finish();
}
END_TEST

/* ---- with barriers ------------------------------------------------------ */

static uint64_t arrive_alone(int process, const char *name)
{
    Jd__Arrive body = JD__ARRIVE__INIT;
    body.barrier = jd__wire_text(name);
    body.is_alone = true;
    return ask(&peers[process], JD__MESSAGE__BODY_ARRIVE, &body, 600000);
}

/* What a process asks when the notice about its wait is due. */
static void notice(int process, uint64_t wait)
{
    Jd__Inquiry body = JD__INQUIRY__INIT;
    body.wait = wait;
    uint64_t id = ask(&peers[process], JD__MESSAGE__BODY_INQUIRY, &body, 0);
    drop(take_reply(&peers[process], id, JD_OK));
}

static const struct said waits_for_1 = { .wait = 1,
                                         .operation = "jd_psum over axis \"x\"",
                                         .waited = 20,
                                         .process = 1 };

START_TEST(a_barrier_against_a_call_is_a_circle)
{
    start_noticing(2, 20);
    arrive_alone(1, "here");
    pass(20.1);
    say_place(0, "jd_psum",
              "jd_psum of 1 x F64 over axis \"x\" (call 2 "
              "there), called at train.c:120 (step+0x4c)");
    say(0, waits_for_1);
    answer_look(0, waits_for_1);
    drop(take(&peers[1], JD__MESSAGE__BODY_LOOK));
    say_place(1, "jd_wait_at_barrier",
              "jd_wait_at_barrier, called at \", called at read.c:58 (next)");
    pass(0.5);
    answer_look(0, waits_for_1);
    pass(0.05);
    expect_failure_begins(
        &peers[0],
        "process 0 (train, pid 100 on h0): it waits in jd_psum over axis "
        "\"x\" at train.c:120 (step+0x4c) for process 1, which waits at "
        "barrier \"here\" at read.c:58 (next) for process 0, for 20 s: none "
        "of them can go on; all members must make the same calls in the same "
        "order, ");
    finish();
}
END_TEST

/* The barrier's notice is the later one. */
START_TEST(a_call_against_a_barrier_is_a_circle)
{
    start_noticing(2, 20);
    uint64_t id = arrive_alone(1, "here");
    pass(10);
    say(0, waits_for_1);
    pass(10);
    expect_all_quiet();
    notice(1, id);
    pass(0.5);
    answer_look(0, waits_for_1);
    pass(0.5);
    answer_look(0, waits_for_1);
    pass(1);
    drop(take(&peers[1], JD__MESSAGE__BODY_LOOK));
    expect_all_quiet(); /* process 1 has not said where it waits */
    pass(1);
    drop(take(&peers[0], JD__MESSAGE__BODY_FAILURE));
    finish();
}
END_TEST

START_TEST(barriers_of_two_names_are_a_circle)
{
    start_noticing(2, 20);
    say_place(1, "jd_psum", "jd_psum, called at where.c:1");
    pass(0.01);
    arrive_alone(0, "a");
    uint64_t id = arrive_alone(1, "b");
    pass(20);
    notice(1, id);
    pass(0.5);
    drop(take(&peers[0], JD__MESSAGE__BODY_LOOK));
    drop(take(&peers[1], JD__MESSAGE__BODY_LOOK));
    say_place(0, "jd_wait_at_barrier", "jd_wait_at_barrier, called at a.c:1");
    beat_doing(&peers[1], "jd_wait_at_barrier", 8, true, 20000);
    pass(1.9);
    expect_all_quiet();
    pass(0.5);
    expect_failure_begins(
        &peers[1], "process 0 (train, pid 100 on h0): it waits at barrier "
                   "\"a\" at a.c:1 for process 1, which waits at barrier "
                   "\"b\" for process 0, for 22.8 s: none of them can go on; ");
    finish();
}
END_TEST

/* Both have said where: nobody is waited for. */
START_TEST(barriers_whose_places_are_known_end_at_once)
{
    start_noticing(2, 20);
    arrive_alone(0, "a");
    uint64_t id = arrive_alone(1, "b");
    pass(20);
    notice(1, id);
    pass(0.5);
    for (int i = 0; i < 2; i++) {
        drop(take(&peers[i], JD__MESSAGE__BODY_LOOK));
        say_place(i, "jd_wait_at_barrier", "it, called at a.c:1");
    }
    pass(0.4);
    drop(take(&peers[0], JD__MESSAGE__BODY_FAILURE));
    finish();
}
END_TEST

/* A process with other threads, or a timeout of the program's own; one that
 * does not wait itself; one whose notice is not due. */
START_TEST(a_barrier_is_in_a_circle_only_where_it_is_certain)
{
    start_noticing(3, 20);
    uint64_t other = arrive(&peers[0], "a", 600000);
    uint64_t id = arrive_alone(1, "b");
    pass(20);
    notice(0, other);
    notice(1, id);
    pass(10);
    expect_all_quiet();
    arrive_alone(2, "c");
    withdraw(&peers[0], other);
    other = arrive_alone(0, "a");
    withdraw(&peers[1], id);
    pass(10);
    notice(0, other);
    pass(5);
    expect_all_quiet();
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service: waits in a circle");
    TCase *tcase = unit_case(suite, "in a circle");
    tcase_add_test(tcase, a_circle_of_waits_ends_the_job);
    tcase_add_test(tcase, a_circle_is_one_only_where_it_is_certain);
    tcase_add_test(tcase, a_circle_without_notices_is_left_alone);
    tcase_add_test(tcase, two_that_send_to_each_other_are_a_circle);
    tcase_add_test(tcase, a_long_circle_is_said_in_short);
    tcase_add_test(tcase, a_circle_may_lead_through_a_call);
    tcase_add_test(tcase, a_call_alone_is_no_circle);
    tcase_add_test(tcase, what_was_confirmed_before_is_asked_again);
    tcase_add_test(tcase, a_circle_through_all_threads_ends_the_job);
    tcase_add_test(tcase, a_thread_that_can_go_on_ends_no_job);
    tcase_add_test(tcase, who_holds_the_other_threads_is_asked);
    tcase_add_test(tcase, what_is_under_way_in_one_call_ends_no_job);
    tcase_add_test(tcase, nor_does_it_hold_a_thread);
    tcase_add_test(tcase, who_leans_on_one_that_can_go_on_holds_nobody);
    tcase_add_test(tcase, a_call_that_is_not_known_is_not_taken_for_another);
    tcase_add_test(tcase, who_is_in_other_waits_is_asked_anew);
    tcase_add_test(tcase, circles_that_share_waits_come_to_an_end);
    tcase = unit_case(suite, "with barriers");
    tcase_add_test(tcase, a_barrier_against_a_call_is_a_circle);
    tcase_add_test(tcase, a_call_against_a_barrier_is_a_circle);
    tcase_add_test(tcase, barriers_of_two_names_are_a_circle);
    tcase_add_test(tcase, barriers_whose_places_are_known_end_at_once);
    tcase_add_test(tcase, a_barrier_is_in_a_circle_only_where_it_is_certain);
    return unit_main(suite);
}
