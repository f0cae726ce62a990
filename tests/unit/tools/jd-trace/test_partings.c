/* SPDX-License-Identifier: BSD-3-Clause */
/* test_partings.c - of a job that runs, whose processes were each looked at at
 * another moment, nobody is named who may have come a moment later. */
#include "tests/unit/unit.h"
#include "tools/jd-trace/culprit.h"
#include "tools/jd-trace/partings.h"

enum { PROCESSES = 2, CALLS = 3 };

static struct traced_call calls[PROCESSES][CALLS];
static struct traced_comm comms[PROCESSES];
static struct traced_process processes[PROCESSES];
static struct traced_job job;
static struct parting_list list;
static struct group_list culprits;

/* ---- helpers ------------------------------------------------------------ */

/* Both have returned from two calls, and 0 is in the third. */
static void begin(const char *address)
{
    uint32_t name;
    memset(calls, 0, sizeof calls);
    job = (struct traced_job){ .processes = processes,
                               .count = PROCESSES,
                               .num_processes = PROCESSES,
                               .address = address };
    ck_assert(text_set_add(&job.texts, "jd_psum", &name));
    for (int i = 0; i < PROCESSES; i++) {
        comms[i] = (struct traced_comm){ .id = 7, .member = i, .size = 2 };
        processes[i] =
            (struct traced_process){ .end = (char *)"",
                                     .step = (char *)"",
                                     .host = (char *)"h0",
                                     .index = i,
                                     .processes = PROCESSES,
                                     .writer = i,
                                     .comms = &comms[i],
                                     .calls = calls[i],
                                     .num_comms = 1,
                                     .num_calls = CALLS - (uint32_t)i };
        for (uint32_t k = 0; k < CALLS; k++)
            calls[i][k] = (struct traced_call){ .number = k + 1,
                                                .sequence = k + 1,
                                                .name = name,
                                                .comm = 1,
                                                .state = JD_CALL_DONE };
    }
    calls[0][CALLS - 1].state = JD_CALL_ENTERED;
}

static void find(void)
{
    ck_assert(partings_find(&job, &list));
    culprit_find(&job, &list, &culprits);
}

static void end(void)
{
    groups_finish(&culprits);
    partings_finish(&list);
    text_set_finish(&job.texts);
}

static void expect_culprit(int process)
{
    ck_assert_int_eq(culprits.count, process >= 0);
    if (process < 0)
        return;
    ck_assert_int_eq(culprits.groups[0].count, 1);
    ck_assert_int_eq(culprits.groups[0].processes[0], process);
}

/* ---- tests -------------------------------------------------------------- */

START_TEST(who_others_have_waited_for_is_named)
{
    begin("h0:1");
    find();
    ck_assert_int_eq(list.count, 1);
    ck_assert_int_eq(list.partings[0].kind, PARTING_WAITS);
    ck_assert_uint_eq(list.partings[0].sequence, CALLS);
    expect_culprit(1);
    end();
}
END_TEST

START_TEST(who_may_come_at_once_is_not)
{
    begin("h0:1");
    calls[0][CALLS - 1].is_fresh = true;
    find();
    ck_assert_int_eq(list.count, 0);
    expect_culprit(-1);
    end();
}
END_TEST

/* What its call returned from is queued, and its GPU waits there. */
START_TEST(whom_a_gpu_waits_for_is_named)
{
    begin("h0:1");
    calls[0][CALLS - 1].state = JD_CALL_DONE;
    find();
    ck_assert_int_eq(list.count, 0);
    groups_finish(&culprits);
    partings_finish(&list);
    calls[0][CALLS - 1].gpu = JD_GPU_STARTED;
    find();
    expect_culprit(1);
    end();
}
END_TEST

/* 1 waits for something that nobody shares; what 0 does is not known. */
START_TEST(who_waits_alone_while_others_compute_is_not)
{
    begin("h0:1");
    calls[0][CALLS - 1].state = JD_CALL_DONE;
    calls[1][1].comm = 0;
    calls[1][1].state = JD_CALL_ENTERED;
    calls[0][1].comm = calls[0][2].comm = 0;
    find();
    expect_culprit(-1);
    groups_finish(&culprits);
    partings_finish(&list);
    job.address = NULL; /* files: the job has ended so */
    find();
    ck_assert_int_gt(culprits.count, 0);
    end();
}
END_TEST

/* Nobody is left who could end either wait. */
START_TEST(two_that_wait_apart_are_named)
{
    uint32_t other;
    begin("h0:1");
    ck_assert(text_set_add(&job.texts, "jd_kv_get", &other));
    calls[0][1].comm = calls[0][2].comm = calls[1][1].comm = 0;
    calls[1][1].state = JD_CALL_ENTERED;
    calls[1][1].name = other;
    find();
    ck_assert_int_gt(culprits.count, 0);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("partings");
    TCase *tcase = unit_case(suite, "of a job that runs");
    tcase_add_test(tcase, who_others_have_waited_for_is_named);
    tcase_add_test(tcase, who_may_come_at_once_is_not);
    tcase_add_test(tcase, whom_a_gpu_waits_for_is_named);
    tcase_add_test(tcase, who_waits_alone_while_others_compute_is_not);
    tcase_add_test(tcase, two_that_wait_apart_are_named);
    return unit_main(suite);
}
