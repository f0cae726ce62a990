/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_munge.c - what munge vouches for and what not, with a munged of the
 * test's own; and deadlines where munged is dead, stopped, or not there.
 */
#include "base/clock.h"
#include "runtime/coordination/auth/auth.h"
#include "runtime/coordination/auth/munge.h"
#include "tests/unit/munged.h"
#include "tests/unit/set_clock.h"
#include "tests/unit/threads.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PLENTY 60 /* seconds that nothing here takes */
#define NOBODY 65534
#define REMEDY                                                                 \
    "start munged on this host, or give the job a secret with JD_SECRET_FILE"

static struct munged munged, other_munged;
static bool is_serving, is_built;
static char old_credential[1024];
static double old_from; /* a jd__clock_now() */

/* ---- what a test needs -------------------------------------------------- */

static bool has_munged(const char *test)
{
    if (!is_built || !is_serving)
        fprintf(stderr, "# %s: skipped, %s\n", test,
                is_built ? "munged is not installed or does not start"
                         : "this build is without munge");
    return is_built && is_serving;
}

static bool can_be_two_users(const char *test)
{
    if (geteuid() != 0)
        fprintf(stderr, "# %s: skipped, only root can be two users\n", test);
    return geteuid() == 0;
}

/* ---- a loop, and answers that come on it -------------------------------- */

static struct jd_loop *loop;
static int at_rest; /* threads, with the loop's */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static int answers; /* guarded by lock, as the next two */
static jd_status answer_status;
static char answer_text[2048];

static void set_up(void)
{
    if (munged.pid > 0)
        kill(munged.pid, SIGCONT);
    jd__munge_set_socket(munged.socket);
    jd__clock_init_condition(&changed);
    answers = 0;
    UNIT_OK(jd__auth_start());
    UNIT_OK(jd__loop_create("jd-test", &loop));
    UNIT_OK(jd__loop_start(loop));
    at_rest = count_all_threads();
}

static void tear_down(void)
{
    jd__loop_destroy(loop);
    pthread_cond_destroy(&changed);
}

static void on_answer(void *arg, jd_status status, const char *text)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    ck_assert(jd__loop_is_current(loop));
    answers++;
    answer_status = status;
    snprintf(answer_text, sizeof answer_text, "%s", text);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void wait_for_answers(int count)
{
    struct timespec until = jd__clock_timespec(jd__clock_now() + PLENTY);
    int error = 0;
    pthread_mutex_lock(&lock);
    while (answers < count && error == 0)
        error = pthread_cond_timedwait(&changed, &lock, &until);
    ck_assert_int_eq(answers, count);
    pthread_mutex_unlock(&lock);
}

struct decoding {
    const char *credential;
    const void *payload;
    size_t size;
    double timeout;
    struct jd_munge_question *question;
};

static void begin_decoding(void *arg)
{
    struct decoding *d = arg;
    struct jd_munge_spec spec = { .credential = d->credential,
                                  .payload = d->payload,
                                  .size = d->size,
                                  .user = JD_MUNGE_ROOT,
                                  .timeout = d->timeout };
    d->question = jd__munge_ask(loop, &spec, on_answer, NULL);
    ck_assert_ptr_nonnull(d->question);
}

static void decode(const char *credential, const void *payload, size_t size,
                   double timeout)
{
    struct decoding d = { credential, payload, size, timeout, NULL };
    answers = 0;
    ck_assert(jd__loop_run(loop, begin_decoding, &d));
    wait_for_answers(1);
}

static void expect_good(const char *credential, const char *payload)
{
    decode(credential, payload, strlen(payload), PLENTY);
    ck_assert_msg(answer_status == JD_OK, "%s", answer_text);
    ck_assert_str_eq(answer_text, "");
}

static void expect_bad(const char *credential, const char *payload,
                       const char *sentence)
{
    decode(credential, payload, strlen(payload), PLENTY);
    ck_assert_str_eq(jd_status_name(answer_status), "UNAUTHENTICATED");
    ck_assert_str_eq(answer_text, sentence);
}

static char *encode(const char *payload)
{
    char *credential = NULL;
    UNIT_OK(
        jd__munge_encode(payload, strlen(payload), PLENTY, NULL, &credential));
    return credential;
}

static void expect_munge(bool is_expected)
{
    bool is_there = !is_expected;
    UNIT_OK(jd__munge_look(PLENTY, NULL, &is_there));
    ck_assert_int_eq(is_there, is_expected);
}

/* ---- what munge vouches for --------------------------------------------- */

START_TEST(a_credential_is_good_once)
{
    if (!has_munged("a_credential_is_good_once"))
        return;
    char *credential = encode("the payload");
    expect_good(credential, "the payload");
    expect_bad(credential, "the payload",
               "munge does not vouch for the credential: Replayed credential: "
               "it has been shown on this host before, but each connection "
               "must have one of its own");
    free(credential);
    credential = encode("");
    expect_good(credential, "");
    free(credential);
    expect_munge(true);
}
END_TEST

START_TEST(a_payload_has_all_bytes)
{
    static const char bytes[] = { 0, 1, '\n', -1, 0 };
    char *credential = NULL;
    if (!has_munged("a_payload_has_all_bytes"))
        return;
    UNIT_OK(jd__munge_encode(bytes, sizeof bytes, PLENTY, NULL, &credential));
    decode(credential, bytes, sizeof bytes, PLENTY);
    ck_assert_msg(answer_status == JD_OK, "%s", answer_text);
    free(credential);
}
END_TEST

START_TEST(a_credential_for_something_else)
{
    static const char *const wrong[] = { "", "the payloa", "the payload2",
                                         "the payloae" };
    char sentence[256];
    if (!has_munged("a_credential_for_something_else"))
        return;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *credential = encode("the payload");
        snprintf(sentence, sizeof sentence,
                 "munge vouches for the credential, but it is for something "
                 "else: its payload of 11 bytes is not the %zu bytes that "
                 "this connection must have",
                 strlen(wrong[i]));
        expect_bad(credential, wrong[i], sentence);
        free(credential);
    }
}
END_TEST

START_TEST(garbage)
{
    static char long_one[8000];
    memset(long_one, 'A', sizeof long_one - 1);
    memcpy(long_one, "MUNGE:", 6);
    long_one[sizeof long_one - 2] = ':';
    const char *const credentials[] = { "",        "garbage",     "MUNGE:",
                                        "MUNGE::", "MUNGE:!!!!:", long_one };
    static const char begin[] = "munge does not vouch for the credential: ";
    if (!has_munged("garbage"))
        return;
    for (size_t i = 0; i < sizeof credentials / sizeof *credentials; i++) {
        decode(credentials[i], "x", 1, PLENTY);
        ck_assert_msg(answer_status == JD_UNAUTHENTICATED, "%zu: %s", i,
                      answer_text);
        ck_assert_msg(strncmp(answer_text, begin, strlen(begin)) == 0, "%s",
                      answer_text);
    }
}
END_TEST

START_TEST(a_credential_of_another_cluster)
{
    if (!has_munged("a_credential_of_another_cluster"))
        return;
    jd__munge_set_socket(other_munged.socket);
    char *credential = encode("the payload");
    jd__munge_set_socket(munged.socket);
    expect_bad(credential, "the payload",
               "munge does not vouch for the credential: Invalid credential; "
               "all hosts of the job need the same munge key");
    free(credential);
}
END_TEST

/* Before the other tests, so that it is old by now; else it is waited for:
 * munged has its own clock, and counts whole seconds. */
START_TEST(an_old_credential)
{
    if (!has_munged("an_old_credential"))
        return;
    if (!old_credential[0]) {
        fprintf(stderr, "# an_old_credential: skipped, no munge(1)\n");
        return;
    }
    struct timespec until = jd__clock_timespec(old_from);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    decode(old_credential, "old", 3, PLENTY);
    ck_assert_str_eq(jd_status_name(answer_status), "UNAUTHENTICATED");
    ck_assert_ptr_nonnull(
        strstr(answer_text, "Expired credential: by the two hosts' clocks its "
                            "age is "));
    ck_assert_ptr_nonnull(strstr(answer_text,
                                 " s, but it must be from 0 to 1 s; set the "
                                 "clocks of the hosts"));
}
END_TEST

/* ---- whom munge vouches for --------------------------------------------- */

/* This program again, as another user: prints a credential. */
static int encode_main(char **argv)
{
    char *credential = NULL;
    jd__munge_set_socket(argv[3]);
    if (setuid((uid_t)atoi(argv[2])) != 0 ||
        jd__munge_encode("me", 2, PLENTY, NULL, &credential) != JD_OK)
        return 1;
    fputs(credential, stdout);
    free(credential);
    return 0;
}

static void encode_as(const char *uid, char *credential, size_t size)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl("/proc/self/exe", "test_munge", "encode", uid, munged.socket,
              (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n; length < size - 1 && (n = read(ends[0], credential + length,
                                                   size - 1 - length)) > 0;)
        length += (size_t)n;
    credential[length] = '\0';
    close(ends[0]);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

START_TEST(another_user)
{
    char credential[1024];
    if (!has_munged("another_user") || !can_be_two_users("another_user"))
        return;
    encode_as("65534", credential, sizeof credential);
    expect_bad(credential, "me",
               "munge vouches for the credential, but as user id 65534's, and "
               "it must be 0's or root's; start all processes as the same "
               "user");
}
END_TEST

START_TEST(the_same_user_and_root)
{
    char own[1024], root[1024];
    if (!has_munged("the_same_user_and_root") ||
        !can_be_two_users("the_same_user_and_root"))
        return;
    encode_as("65534", own, sizeof own);
    encode_as("0", root, sizeof root);
    ck_assert_int_eq(seteuid(NOBODY), 0);
    expect_good(own, "me");
    expect_good(root, "me");
    ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

static void ask_on_loop(void *spec)
{
    ck_assert_ptr_nonnull(jd__munge_ask(loop, spec, on_answer, NULL));
}

/* Asks, and waits; what munge says is in answer_status and answer_text. */
static void ask(struct jd_munge_spec spec)
{
    int before = answers;
    spec.timeout = PLENTY;
    ck_assert(jd__loop_run(loop, ask_on_loop, &spec));
    wait_for_answers(before + 1);
}

/* Each shows one of its own, and makes one for the other. */
START_TEST(each_vouches_for_the_other)
{
    char hello[2048];
    if (!has_munged("each_vouches_for_the_other"))
        return;
    ask((struct jd_munge_spec){ .answer = "hello", .answer_size = 5 });
    ck_assert_int_eq(answer_status, JD_OK);
    snprintf(hello, sizeof hello, "%s", answer_text);
    ask((struct jd_munge_spec){ .credential = hello,
                                .payload = "hello",
                                .size = 5,
                                .answer = "welcome",
                                .answer_size = 7 });
    ck_assert_msg(answer_status == JD_OK, "%s", answer_text);
    snprintf(hello, sizeof hello, "%s", answer_text);
    expect_good(hello, "welcome");
}
END_TEST

START_TEST(a_wrong_one_gets_none)
{
    if (!has_munged("a_wrong_one_gets_none"))
        return;
    char *credential = encode("hello");
    ask((struct jd_munge_spec){ .credential = credential,
                                .payload = "other",
                                .size = 5,
                                .answer = "welcome",
                                .answer_size = 7 });
    ck_assert_int_eq(answer_status, JD_UNAUTHENTICATED);
    ck_assert_ptr_null(strstr(answer_text, "MUNGE:"));
    free(credential);
}
END_TEST

/* Whoever gets hold of it cannot use it; the user's own processes can. */
START_TEST(a_credential_is_for_one_user)
{
    char own[2048];
    if (!has_munged("a_credential_is_for_one_user") ||
        !can_be_two_users("a_credential_is_for_one_user"))
        return;
    ask((struct jd_munge_spec){ .answer = "me", .answer_size = 2 });
    snprintf(own, sizeof own, "%s", answer_text);
    ck_assert_int_eq(seteuid(NOBODY), 0);
    ask((struct jd_munge_spec){
        .credential = own, .payload = "me", .size = 2, .user = JD_MUNGE_ANY });
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(answer_status, JD_UNAUTHENTICATED);
    ck_assert_ptr_nonnull(strstr(answer_text,
                                 "it is for another user; start all processes "
                                 "as the same user"));
    expect_good(own, "me");
}
END_TEST

/* Between processes root's word is another user's, too. */
START_TEST(root_is_another_user)
{
    char root[1024];
    if (!has_munged("root_is_another_user") ||
        !can_be_two_users("root_is_another_user"))
        return;
    encode_as("0", root, sizeof root);
    ck_assert_int_eq(seteuid(NOBODY), 0);
    ask((struct jd_munge_spec){
        .credential = root, .payload = "me", .size = 2, .user = JD_MUNGE_OWN });
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_str_eq(answer_text,
                     "munge vouches for the credential, but as user id 0's, "
                     "and it must be 65534's; start all processes as the same "
                     "user");
}
END_TEST

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
    Suite *suite = suite_create("munge");
    TCase *tests = unit_case(suite, "tests");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 2 * PLENTY);
    tcase_add_test(tests, a_credential_is_good_once);
    tcase_add_test(tests, a_payload_has_all_bytes);
    tcase_add_test(tests, a_credential_for_something_else);
    tcase_add_test(tests, garbage);
    tcase_add_test(tests, a_credential_of_another_cluster);
    tcase_add_test(tests, another_user);
    tcase_add_test(tests, each_vouches_for_the_other);
    tcase_add_test(tests, a_wrong_one_gets_none);
    tcase_add_test(tests, a_credential_is_for_one_user);
    tcase_add_test(tests, root_is_another_user);
    tcase_add_test(tests, the_same_user_and_root);
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
    tcase_add_test(tests, an_old_credential); /* the last */
    return unit_main(suite);
}

/* munge(1) makes one that lives for a second. */
static void make_old_credential(void)
{
    char command[256];
    snprintf(command, sizeof command,
             "munge --socket=%s --ttl=1 --string=old || true", munged.socket);
    FILE *out = popen(command, "r");
    if (!fgets(old_credential, sizeof old_credential, out))
        old_credential[0] = '\0';
    pclose(out);
    old_credential[strcspn(old_credential, "\n")] = '\0';
    old_from = jd__clock_now() + 2.1;
}

static bool find_out_whether_built(void)
{
    char *credential = NULL;
    jd__munge_set_socket("/nonexistent/munge");
    return jd__munge_encode("", 0, PLENTY, NULL, &credential) !=
           JD_UNIMPLEMENTED;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "encode") == 0)
        return encode_main(argv);
    is_built = find_out_whether_built();
    is_serving = munged_start(&munged) && munged_start(&other_munged);
    if (is_serving)
        make_old_credential();
    int code = run_suite();
    munged_end(&munged);
    munged_end(&other_munged);
    return code;
}
