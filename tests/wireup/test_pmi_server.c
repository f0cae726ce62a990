/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_pmi_server.c - jd-pmix-server for an MPI that asks by PMI-1: several
 * hosts are played on this machine, each with a server of its own, and
 * processes that say what MPICH's client says.
 */
#include "tests/wireup/pmi_jobs.h"

#include <sys/stat.h>
#include <unistd.h>

static const struct pmi_shape shapes[] = {
    { 1, "0", "(vector,(0,1,1))" },
    { 4, "0,1,2,3", "(vector,(0,1,4))" },
    { 4, "0,1;2,3", "(vector,(0,2,2))" },
    { 5, "0,3,4;1;2", "(vector,(0,3,1),(0,1,2))" },
    { 8, "0,4;1,5;2,6;3,7", "(vector,(0,4,1),(0,4,1))" },
};
enum { NUM_SHAPES = sizeof shapes / sizeof *shapes };

START_TEST(all_have_what_all_have_put)
{
    run_plain(&shapes[_i]);
}
END_TEST

START_TEST(an_abort_ends_the_host)
{
    run_abort(") called PMI_Abort with code 7");
}
END_TEST

START_TEST(a_process_dies)
{
    run_death();
}
END_TEST

/* Another host's processes never come to the first barrier. */
START_TEST(a_barrier_has_a_deadline)
{
    job_open(&job, 2, "0;1");
    job.asks_by_pmi = true;
    job.timeout = 6;
    job_start_servers(&job);
    job_start_member(&job, 0, "plain");
    job_expect_exit(&job, 0, -SIGKILL);
    job_expect_error(&job, "jd-pmix-server on node-0: PMI barrier 1: ");
    job_close(&job);
}
END_TEST

static const char *const answers[] = {
    "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n",
    "cmd=put_result rc=-1 msg=bad_key_or_value\n",
    "cmd=put_result rc=-1 msg=bad_key_or_value\n",
    "cmd=get_result rc=-1 msg=key_not_found value=unknown\n",
    "cmd=publish_result rc=-1 msg=not_served_by_jd\n",
    "gone: \"\"\n",
};

START_TEST(what_is_wrong_is_answered)
{
    open_pmi(1, "0");
    job_start_member(&job, 0, "wrong");
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        job_expect_word(&job, 0, answers[i]);
    job_expect_exit(&job, 0, 0);
    job_expect_nothing_left(&job);
    job_close(&job);
}
END_TEST

START_TEST(a_line_without_end_is_sent_away)
{
    open_pmi(1, "0");
    job_start_member(&job, 0, "flood");
    job_expect_word(&job, 0, "sent away\n");
    job_expect_exit(&job, 0, 0);
    job_expect_nothing_left(&job);
    job_close(&job);
}
END_TEST

START_TEST(who_comes_twice_is_sent_away)
{
    open_pmi(2, "0,1");
    job_start_members(&job, "twice");
    for (int i = 0; i < 2; i++)
        job_expect_word(&job, i, "the second hears \"\"\n");
    expect_all("ok", "(vector,(0,1,2))");
    job_expect_exits(&job, 0);
    job_expect_nothing_left(&job);
    job_close(&job);
}
END_TEST

/* The job has not failed: its agent is there. */
START_TEST(who_has_gone_is_not_waited_for)
{
    open_pmi(4, "0,1;2,3");
    job_start_members(&job, "leave");
    for (int i = 0; i < 3; i++) {
        char line[64];
        snprintf(line, sizeof line, "ok %d 4 (vector,(0,2,2))\n", i);
        job_expect_word(&job, i, line);
    }
    job_expect_exits(&job, 0);
    job_expect_nothing_left(&job);
    job_close(&job);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pmi_server");
    TCase *tcase = unit_case(suite, "pmi");
    tcase_set_timeout(tcase, 400);
    tcase_add_loop_test(tcase, all_have_what_all_have_put, 0, NUM_SHAPES);
    tcase_add_test(tcase, an_abort_ends_the_host);
    tcase_add_test(tcase, a_process_dies);
    tcase_add_test(tcase, a_barrier_has_a_deadline);
    tcase_add_test(tcase, what_is_wrong_is_answered);
    tcase_add_test(tcase, a_line_without_end_is_sent_away);
    tcase_add_test(tcase, who_comes_twice_is_sent_away);
    tcase_add_test(tcase, who_has_gone_is_not_waited_for);
    return unit_main(suite);
}
