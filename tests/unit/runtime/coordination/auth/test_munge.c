/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_munge.c - what munge vouches for, for whom, and what not.
 */
#include "tests/unit/munge_asked.h"

#define NOBODY 65534

static char old_credential[1024];
static double old_from; /* a jd__clock_now() */

static bool can_be_two_users(const char *test)
{
    if (geteuid() != 0)
        fprintf(stderr, "# %s: skipped, only root can be two users\n", test);
    return geteuid() == 0;
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

static int run_suite(void)
{
    if (is_serving)
        make_old_credential();
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
    tcase_add_test(tests, an_old_credential); /* the last */
    return unit_main(suite);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "encode") == 0)
        return encode_main(argv);
    return munge_asked_main(run_suite);
}
