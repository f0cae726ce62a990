/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_munge_deadlines.c - deadlines where munged is dead, stopped or not
 * there, questions that are cancelled, and the thread that asks.
 */
#include "tests/unit/munge_asked.h"
#include "tests/unit/set_clock.h"

#include <dirent.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>

#define REMEDY                                                                 \
    "start munged on this host, or give the job a secret with JD_SECRET_FILE"

/* ---- where munged does not serve ---------------------------------------- */

static void fail_encoding(double timeout, const struct jd_clock *clock,
                          jd_status status, const char *sentence)
{
    char *credential = NULL;
    UNIT_FAILS(jd__munge_encode("x", 1, timeout, clock, &credential), status,
               sentence);
    ck_assert_ptr_null(credential);
}

START_TEST(munged_has_no_socket)
{
    if (!is_built)
        return;
    jd__munge_set_socket("/nonexistent/munge");
    expect_munge(false);
    static const char sentence[] =
        "munge does not serve this process (socket /nonexistent/munge): "
        "Failed to access \"/nonexistent/munge\": No such file or directory "
        "(Did you start munged?); " REMEDY;
    fail_encoding(PLENTY, NULL, JD_UNAVAILABLE, sentence);
    decode("MUNGE:AAAA:", "x", 1, PLENTY);
    ck_assert_str_eq(jd_status_name(answer_status), "UNAVAILABLE");
    ck_assert_str_eq(answer_text, sentence);
}
END_TEST

static void *look_in_vain(void *sentence)
{
    bool is_there;
    UNIT_FAILS(jd__munge_look(PLENTY, NULL, &is_there), JD_UNAVAILABLE,
               (const char *)sentence);
    return NULL;
}

/* A socket that a killed munged has left: libmunge looks again and again for
 * 2 s of its own, and the first deadline is below that. */
START_TEST(munged_has_been_killed)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char sentence[512];
    pthread_t looker;
    if (!is_built)
        return;
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/jd-test-munge-%d",
             (int)getpid());
    ck_assert_int_eq(bind(fd, (void *)&address, sizeof address), 0);
    close(fd);
    jd__munge_set_socket(address.sun_path);
    fail_encoding(0.05, NULL, JD_DEADLINE_EXCEEDED,
                  "munged has not answered within 0.05 s; look whether it runs "
                  "and is not stopped; " REMEDY);
    snprintf(sentence, sizeof sentence,
             "munge does not serve this process (socket %s): Failed to "
             "connect to \"%s\": Connection refused; " REMEDY,
             address.sun_path, address.sun_path);
    pthread_create(&looker, NULL, look_in_vain, sentence);
    fail_encoding(PLENTY, NULL, JD_UNAVAILABLE, sentence);
    pthread_join(looker, NULL);
    wait_for_all_threads(at_rest); /* that of the first encoding too */
    unlink(address.sun_path);
}
END_TEST

START_TEST(munged_is_stopped)
{
    static const char sentence[] =
        "munged has not answered within 0.05 s; look whether it runs and is "
        "not stopped; " REMEDY;
    double seconds = 0.05;
    bool is_there;
    if (!has_munged("munged_is_stopped"))
        return;
    char *credential = encode("x");
    kill(munged.pid, SIGSTOP);
    pthread_t passing = set_clock_pass(&seconds);
    fail_encoding(seconds, &set_clock, JD_DEADLINE_EXCEEDED, sentence);
    pthread_join(passing, NULL);
    passing = set_clock_pass(&seconds);
    UNIT_FAILS(jd__munge_look(seconds, &set_clock, &is_there),
               JD_DEADLINE_EXCEEDED, sentence);
    pthread_join(passing, NULL);
    decode(credential, "x", 1, seconds); /* the loop's timer is the kernel's */
    ck_assert_str_eq(jd_status_name(answer_status), "DEADLINE_EXCEEDED");
    ck_assert_str_eq(answer_text, sentence);
    kill(munged.pid, SIGCONT);
    wait_for_all_threads(at_rest);
    ck_assert_int_eq(answers, 1);
    free(credential);
    credential = encode("again");
    expect_good(credential, "again");
    free(credential);
}
END_TEST

/* The thread's answer comes when nobody waits and the loop is gone. */
START_TEST(the_loop_ends_before_the_answer)
{
    if (!has_munged("the_loop_ends_before_the_answer"))
        return;
    char *credential = encode("x");
    kill(munged.pid, SIGSTOP);
    decode(credential, "x", 1, 0.05);
    ck_assert_int_eq(answer_status, JD_DEADLINE_EXCEEDED);
    jd__loop_destroy(loop);
    kill(munged.pid, SIGCONT);
    wait_for_all_threads(at_rest - 1);
    ck_assert_int_eq(answers, 1);
    free(credential);
    loop = NULL;
}
END_TEST

/* ---- cancelling --------------------------------------------------------- */

static void cancel(void *question)
{
    jd__munge_cancel(question);
}

static void count_events(void *count)
{
    *(int *)count =
        event_base_get_num_events(jd__loop_base(loop), EVENT_BASE_COUNT_ADDED);
}

START_TEST(no_timer_is_left)
{
    int before = -1, after = -2;
    if (!has_munged("no_timer_is_left"))
        return;
    ck_assert(jd__loop_run(loop, count_events, &before));
    char *credential = encode("x");
    expect_good(credential, "x");
    ck_assert(jd__loop_run(loop, count_events, &after));
    ck_assert_int_eq(after, before);
    struct decoding d = { credential, "x", 1, PLENTY, NULL };
    ck_assert(jd__loop_run(loop, begin_decoding, &d));
    ck_assert(jd__loop_run(loop, count_events, &after));
    ck_assert_int_le(after, before + 1);
    wait_for_answers(2);
    ck_assert(jd__loop_run(loop, count_events, &after));
    ck_assert_int_eq(after, before);
    free(credential);
}
END_TEST

START_TEST(a_cancelled_question_has_no_answer)
{
    if (!has_munged("a_cancelled_question_has_no_answer"))
        return;
    char *credential = encode("x");
    struct decoding d = { credential, "x", 1, PLENTY, NULL };
    kill(munged.pid, SIGSTOP);
    ck_assert(jd__loop_run(loop, begin_decoding, &d));
    ck_assert(jd__loop_run(loop, cancel, d.question));
    jd__loop_destroy(loop);
    kill(munged.pid, SIGCONT);
    wait_for_all_threads(at_rest - 1);
    ck_assert_int_eq(answers, 0);
    jd__munge_cancel(NULL);
    free(credential);
    loop = NULL;
}
END_TEST

/* The answer lies in the loop's queue when the question is cancelled. */
static void begin_and_cancel_late(void *arg)
{
    struct decoding *d = arg;
    begin_decoding(d);
    wait_for_all_threads(at_rest);
    jd__munge_cancel(d->question);
}

START_TEST(cancelling_comes_late)
{
    if (!has_munged("cancelling_comes_late"))
        return;
    char *credential = encode("x");
    struct decoding d = { credential, "x", 1, PLENTY, NULL };
    ck_assert(jd__loop_run(loop, begin_and_cancel_late, &d));
    jd__loop_destroy(loop);
    ck_assert_int_eq(answers, 0);
    free(credential);
    loop = NULL;
}
END_TEST

/* ---- threads, and the rest ---------------------------------------------- */

START_TEST(many_at_once)
{
    enum { MANY = 50 };
    struct decoding d[MANY];
    if (!has_munged("many_at_once"))
        return;
    for (int i = 0; i < MANY; i++) {
        d[i] = (struct decoding){ encode("x"), "x", 1, PLENTY, NULL };
        ck_assert(jd__loop_run(loop, begin_decoding, &d[i]));
    }
    wait_for_answers(MANY);
    ck_assert_msg(answer_status == JD_OK, "%s", answer_text);
    wait_for_all_threads(at_rest);
    for (int i = 0; i < MANY; i++)
        free((char *)d[i].credential);
}
END_TEST

/* The file of /proc of the thread that has this name. */
static bool read_thread(const char *name, const char *file, char *text,
                        size_t size)
{
    DIR *tasks = opendir("/proc/self/task");
    bool is_found = false;
    for (struct dirent *d; !is_found && (d = readdir(tasks));) {
        char path[330], comm[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", d->d_name);
        FILE *in = d->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!in)
            continue;
        is_found = fgets(comm, sizeof comm, in) && strstr(comm, name);
        fclose(in);
        snprintf(path, sizeof path, "/proc/self/task/%s/%s", d->d_name, file);
        in = is_found ? fopen(path, "r") : NULL;
        text[in ? fread(text, 1, size - 1, in) : 0] = '\0';
        if (in)
            fclose(in);
    }
    closedir(tasks);
    return is_found;
}

START_TEST(the_thread_takes_no_signal)
{
    char *credential = NULL, text[4096];
    if (!has_munged("the_thread_takes_no_signal"))
        return;
    kill(munged.pid, SIGSTOP);
    ck_assert_int_eq(jd__munge_encode("x", 1, 0, NULL, &credential),
                     JD_DEADLINE_EXCEEDED);
    while (!read_thread("jd-munge", "status", text, sizeof text))
        sched_yield(); /* it may not have begun to run */
    kill(munged.pid, SIGCONT);
    const char *blocked = strstr(text, "SigBlk:");
    ck_assert_ptr_nonnull(blocked);
    unsigned long mask = strtoul(blocked + strlen("SigBlk:"), NULL, 16);
    ck_assert(mask & 1ul << (SIGTERM - 1));
    ck_assert(mask & 1ul << (SIGCHLD - 1));
    wait_for_all_threads(at_rest);
}
END_TEST

static jd_status find(const char *variables, const struct jd_clock *clock,
                      struct jd_auth *auth)
{
    struct jd_env *env = unit_env(variables);
    struct jd_settings *settings;
    UNIT_OK(jd__options_resolve(env, NULL, 0, &settings));
    jd_status status = jd__secret_find(env, settings, clock, auth);
    jd__options_destroy(settings);
    jd__env_destroy(env);
    return status;
}

START_TEST(a_slurm_job_has_munge)
{
    struct jd_auth auth;
    if (!has_munged("a_slurm_job_has_munge"))
        return;
    UNIT_OK(find("SLURM_JOB_ID=17\n", NULL, &auth));
    ck_assert_int_eq(auth.way, JD_AUTH_MUNGE);
    ck_assert_str_eq(auth.source, "munge");
    UNIT_OK(find("SLURM_JOB_ID=17\nJD_SECRET=x\n", NULL, &auth));
    ck_assert_int_eq(auth.way, JD_AUTH_SECRET);
    UNIT_OK(find("", NULL, &auth));
    ck_assert_int_eq(auth.way, JD_AUTH_OPEN);
}
END_TEST

/* Whoever keeps munged busy must not have a process believe any service. */
START_TEST(a_munged_that_does_not_answer_is_not_none)
{
    struct jd_auth auth = { .way = JD_AUTH_SECRET };
    double seconds = 5;
    if (!has_munged("a_munged_that_does_not_answer_is_not_none"))
        return;
    kill(munged.pid, SIGSTOP);
    pthread_t passing = set_clock_pass(&seconds);
    UNIT_FAILS(find("SLURM_JOB_ID=17\n", &set_clock, &auth),
               JD_DEADLINE_EXCEEDED,
               "in a Slurm job (SLURM_JOB_ID is set) the processes know each "
               "other by munge, but munged has not answered within 5 s; look "
               "whether it runs and is not stopped; " REMEDY);
    pthread_join(passing, NULL);
    ck_assert_int_eq(auth.way, JD_AUTH_SECRET);
    UNIT_OK(find("SLURM_JOB_ID=17\nJD_SECRET=x\n", NULL, &auth));
    UNIT_OK(find("", NULL, &auth));
    ck_assert_int_eq(auth.way, JD_AUTH_OPEN);
    kill(munged.pid, SIGCONT);
    wait_for_all_threads(at_rest);
    jd__munge_set_socket("/nonexistent/munge");
    UNIT_OK(find("SLURM_JOB_ID=17\n", NULL, &auth));
    ck_assert_int_eq(auth.way, JD_AUTH_OPEN);
}
END_TEST

START_TEST(a_build_without_munge)
{
    static const char sentence[] =
        "this jd was built without munge; install libmunge's headers and "
        "build it again with -Dmunge=enabled, or give the job a secret with "
        "JD_SECRET_FILE";
    if (is_built)
        return;
    expect_munge(false);
    fail_encoding(PLENTY, NULL, JD_UNIMPLEMENTED, sentence);
    struct jd_munge_spec spec = { .answer = "", .timeout = PLENTY };
    ck_assert_ptr_null(jd__munge_ask(loop, &spec, on_answer, NULL));
    ck_assert_str_eq(jd_error_message(), sentence);
    jd__munge_cancel(NULL);
}
END_TEST
static int run_suite(void)
{
    Suite *suite = suite_create("munge_deadlines");
    TCase *tests = unit_case(suite, "tests");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 2 * PLENTY);
    tcase_add_test(tests, munged_has_no_socket);
    tcase_add_test(tests, munged_has_been_killed);
    tcase_add_test(tests, munged_is_stopped);
    tcase_add_test(tests, the_loop_ends_before_the_answer);
    tcase_add_test(tests, a_cancelled_question_has_no_answer);
    tcase_add_test(tests, cancelling_comes_late);
    tcase_add_test(tests, no_timer_is_left);
    tcase_add_test(tests, many_at_once);
    tcase_add_test(tests, the_thread_takes_no_signal);
    tcase_add_test(tests, a_slurm_job_has_munge);
    tcase_add_test(tests, a_munged_that_does_not_answer_is_not_none);
    tcase_add_test(tests, a_build_without_munge);
    return unit_main(suite);
}

int main(void)
{
    return munge_asked_main(run_suite);
}
