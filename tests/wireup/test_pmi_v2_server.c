/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_pmi_v2_server.c - as test_pmi_server.c, for an MPI that asks by PMI-2:
 * processes that say what MPICH's and Slurm's clients say, and some that say
 * what nobody should.
 */
#include "tests/wireup/pmi_jobs.h"

static const struct pmi_shape shapes[] = {
    { 1, "0", "(vector,(0,1,1))" },
    { 4, "0,1,2,3", "(vector,(0,1,4))" },
    { 5, "0,3,4;1;2", "(vector,(0,3,1),(0,1,2))" },
};
enum { NUM_SHAPES = sizeof shapes / sizeof *shapes };

START_TEST(all_have_what_all_have_put)
{
    run_plain(&shapes[_i]);
}
END_TEST

START_TEST(an_abort_ends_the_host)
{
    run_abort(") called PMI_Abort (\"enough is enough\")");
}
END_TEST

START_TEST(a_process_dies)
{
    run_death();
}
END_TEST

/* The job has not failed: its agent is there. */
static void expect_without_last(const char *mode, int code)
{
    char line[64];
    open_pmi(4, "0,1;2,3");
    job_start_members(&job, mode);
    for (int i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "ok %d 4 (vector,(0,2,2))\n", i);
        job_expect_word(&job, i, line);
    }
    job_expect_exit(&job, 3, code);
    job_expect_exits(&job, 0);
    job_expect_nothing_left(&job);
    job_close(&job);
}

START_TEST(who_has_gone_is_not_waited_for)
{
    expect_without_last("leave", 0);
}
END_TEST

START_TEST(who_goes_in_a_frame_is_gone)
{
    expect_without_last("dies", 3);
}
END_TEST

static const char pair_rule[] =
    "errmsg=a key has 1 to 63 bytes without '=', blank and newline, a value at "
    "most 1023 without newline;\n";

static const char *const answers[] = {
    "cmd=kvs-fence-response;thrid=7;rc=14;errmsg=fullinit comes first;\n",
    "cmd=fullinit-response;rc=14;errmsg=fullinit has been;\n",
    "cmd=dance-response;thrid=8;rc=14;errmsg=jd does not serve it;\n",
    "cmd=name-publish-response;rc=14;errmsg=jd does not serve it;\n",
    "cmd=spawn-response;rc=14;errmsg=jd does not serve it;\n",
    "cmd=kvs-put-response;rc=4;",
    "cmd=kvs-put-response;rc=5;",
    "cmd=info-putnodeattr-response;rc=7;",
    "cmd=kvs-put-response;rc=6;",
    "cmd=kvs-get-response;rc=14;errmsg=jd serves this job alone, jd;\n",
    "cmd=kvs-get-response;rc=0;found=FALSE;\n",
    "cmd=kvs-fence-response;rc=14;errmsg=this process has finalized PMI;\n",
};

START_TEST(what_is_wrong_is_answered)
{
    char line[256];
    open_pmi(1, "0");
    job_start_member(&job, 0, "wrong");
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        bool is_whole = strchr(answers[i], '\n') != NULL;
        snprintf(line, sizeof line, "%s%s", answers[i],
                 is_whole ? "" : pair_rule);
        job_expect_word(&job, 0, line);
    }
    job_expect_exit(&job, 0, 0);
    job_expect_nothing_left(&job);
    job_close(&job);
}
END_TEST

static const struct {
    const char *bytes, *said;
} broken[] = {
    { "\\s\\s12abcmd=kvs-fence;",
      "a frame begins with \"  12ab\" and not with its length" },
    { "cmd=barrier_in", "a frame begins with \"cmd=ba\" and not with its " },
    { "\\s65537", "a frame says that it has 65537 bytes, and 65536 are " },
    { "3\\s\\s\\s\\s\\scmd=kvs-fence;",
      "a command does not begin with cmd=NAME;" },
    { "20\\s\\s\\s\\scmd=kvs-get;key=kkkk", "a command does not end with ';'" },
    { "85\\s\\s\\s\\scmd=kvs-fence;thrid="
      "0123456789012345678901234567890123456789012345678901234567890123;",
      "the name of a thread is too long" },
};
enum { NUM_BROKEN = sizeof broken / sizeof *broken };

START_TEST(what_cannot_be_read_is_told_and_sent_away)
{
    open_pmi(1, "0");
    job_start_member(&job, 0, broken[_i].bytes);
    job_expect_word(&job, 0, "\n");
    job_expect_exit(&job, 0, 0);
    job_expect_nothing_left(&job);
    job_expect_error(&job, ") spoke PMI-2 that cannot be read: ");
    job_expect_error(&job, broken[_i].said);
    job_expect_error(&job, "(MPICH: MPIR_CVAR_PMI_VERSION=1, Intel MPI: "
                           "I_MPI_PMI=pmi1)");
    job_close(&job);
}
END_TEST

START_TEST(a_flood_is_sent_away)
{
    open_pmi(1, "0");
    job_start_member(&job, 0, "flood");
    job_expect_word(&job, 0, "sent away 0 1 \n");
    job_expect_exit(&job, 0, 0);
    job_expect_nothing_left(&job);
    job_close(&job);
}
END_TEST

START_TEST(a_wait_for_an_attribute_has_a_deadline)
{
    job_open(&job, 1, "0");
    job.asks_by_pmi = true;
    job.timeout = 2;
    job_start_servers(&job);
    job_start_member(&job, 0, "patience");
    job_expect_word(&job, 0,
                    "cmd=info-getnodeattr-response;rc=0;found=FALSE;\n");
    job_expect_exit(&job, 0, 0);
    job_expect_nothing_left(&job);
    job_expect_error(&job, ") has waited 2 s for the host's attribute "
                           "\"never\" of PMI-2, which no process has put; "
                           "JD_INITIALIZATION_TIMEOUT gives them longer");
    job_close(&job);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pmi_v2_server");
    TCase *tcase = unit_case(suite, "pmi_v2");
    tcase_set_timeout(tcase, 400);
    tcase_add_loop_test(tcase, all_have_what_all_have_put, 0, NUM_SHAPES);
    tcase_add_test(tcase, an_abort_ends_the_host);
    tcase_add_test(tcase, a_process_dies);
    tcase_add_test(tcase, who_has_gone_is_not_waited_for);
    tcase_add_test(tcase, who_goes_in_a_frame_is_gone);
    tcase_add_test(tcase, what_is_wrong_is_answered);
    tcase_add_loop_test(tcase, what_cannot_be_read_is_told_and_sent_away, 0,
                        NUM_BROKEN);
    tcase_add_test(tcase, a_flood_is_sent_away);
    tcase_add_test(tcase, a_wait_for_an_attribute_has_a_deadline);
    return unit_main(suite);
}
