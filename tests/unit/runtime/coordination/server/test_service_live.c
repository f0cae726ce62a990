/* SPDX-License-Identifier: BSD-3-Clause */
/* test_service_live.c - all hear the same who lives. */
#include "tests/unit/service.h"

static uint64_t ask_live(struct peer *peer, int64_t timeout_ms)
{
    Jd__Live body = JD__LIVE__INIT;
    return ask(peer, JD__MESSAGE__BODY_LIVE, &body, timeout_ms);
}

static void check_live(struct peer *peer, uint64_t id, const char *list)
{
    Jd__Message *message = take_reply(peer, id, JD_OK);
    expect_processes(message->reply->ranges, message->reply->n_ranges, list);
    drop(message);
}

START_TEST(all_hear_the_same_who_lives)
{
    start(3);
    start_joined(3);
    for (int round = 0; round < 2; round++) {
        uint64_t ids[3];
        for (int i = 2; i >= 0; i--) {
            expect_all_quiet();
            ids[i] = ask_live(&peers[i], 1000);
        }
        for (int i = 0; i < 3; i++)
            check_live(&peers[i], ids[i], "0 1 2 ");
    }
    finish();
}
END_TEST

START_TEST(the_dead_and_those_who_left_are_not_waited_for)
{
    start(5);
    start_joined(5);
    uint64_t id = ask_live(&peers[0], 90000);
    uint64_t other = ask_live(&peers[1], 90000);
    ask_live(&peers[3], 90000); /* asks, and dies */
    leave(&peers[4], false, NO_DEADLINE);
    expect_all_quiet();
    lose(&peers[2], 0);
    lose(&peers[3], 0);
    expect_all_quiet();
    pass(0.05);
    for (int i = 0; i < 2; i++)
        drop(take(&peers[i], JD__MESSAGE__BODY_FAILURE));
    check_live(&peers[0], id, "0 1 ");
    check_live(&peers[1], other, "0 1 ");
    drop(take(&peers[4], JD__MESSAGE__BODY_FAILURE));
    id = ask_live(&peers[1], 90000);
    lose(&peers[0], 0); /* a later death counts at once */
    check_live(&peers[1], id, "1 ");
    finish();
}
END_TEST

START_TEST(who_lives_has_a_deadline)
{
    start(3);
    start_joined(3);
    uint64_t id = ask_live(&peers[0], 1000);
    ask_live(&peers[1], 9000);
    uint64_t again = ask_live(&peers[0], 1000);
    expect_fails(&peers[0], again, JD_FAILED_PRECONDITION,
                 "another thread of this process waits there already");
    now += 1;
    tick();
    expect_fails(&peers[0], id, JD_DEADLINE_EXCEEDED,
                 "gave up after 1 s, waiting for process 2 (train, pid 102 on "
                 "h1), last heard 1 s ago");
    expect_all_quiet();
    ask_live(&peers[2], 1000);
    expect_all_quiet(); /* process 0 lives, and has not asked again */
    id = ask_live(&peers[0], 1000);
    check_live(&peers[0], id, "0 1 2 ");
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service live");
    TCase *tcase = unit_case(suite, "who lives");
    tcase_add_test(tcase, all_hear_the_same_who_lives);
    tcase_add_test(tcase, the_dead_and_those_who_left_are_not_waited_for);
    tcase_add_test(tcase, who_lives_has_a_deadline);
    return unit_main(suite);
}
