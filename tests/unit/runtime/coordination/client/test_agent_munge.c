/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_agent_munge.c - an agent and a service that munge vouches for, to each
 * other: with a munged of the test's own, and services that are not what they
 * seem.
 */
#include "runtime/coordination/auth/munge.h"
#include "tests/unit/agent.h"
#include "tests/unit/munged.h"

#include <sys/syscall.h>

enum { NOBODY = 65534 };

static const struct jd_auth munge_auth = { .way = JD_AUTH_MUNGE,
                                           .source = "munge" };
static struct munged munged;
static struct process first;

/* ---- a munged ----------------------------------------------------------- */

static bool has_munge(void)
{
    char *credential = NULL;
    return jd__munge_encode("", 0, 5, NULL, &credential) != JD_UNIMPLEMENTED;
}

/* False where there is nothing to test with. */
static bool begin_munge(void)
{
    bool is_there = has_munge() && munged_start(&munged);
    jd__munge_set_socket(is_there ? munged.socket : NULL);
    if (!is_there)
        fputs("# skipped: no munge in this build, or no munged here\n", stderr);
    return is_there;
}

static void end_munge(void)
{
    jd__munge_set_socket(NULL);
    munged_end(&munged);
}

/* ---- the real service --------------------------------------------------- */

START_TEST(munge_lets_both_in)
{
    int64_t sum;
    if (!begin_munge())
        return;
    start_service(3, &munge_auth);
    struct jd_agent_spec spec = make_spec(1, 3);
    spec.auth = &munge_auth;
    open_agent(&first, &spec);
    UNIT_OK(meet_for(&first, 60));
    for (int i = 1; i <= 100; i++) { /* each with its MAC */
        UNIT_OK(add_to(&first, "n", 1, &sum));
        ck_assert_int_eq(sum, i);
    }
    close_agent(&first);
    stop_service();
    end_munge();
}
END_TEST

/* The process that serves: it has no other way in than its own socket. */
START_TEST(munge_lets_the_services_own_process_in)
{
    if (!begin_munge())
        return;
    struct jd_agent_spec spec = make_spec(0, 3);
    spec.auth = &munge_auth;
    spec.fd = start_service_within(3, &munge_auth);
    add_endpoint(&first, 1);
    open_agent(&first, &spec);
    UNIT_OK(meet_for(&first, 60));
    close_agent(&first);
    stop_service();
    end_munge();
}
END_TEST

/* Its words have a MAC, and so they are final. */
START_TEST(what_the_service_refuses_is_refused_at_once)
{
    if (!begin_munge())
        return;
    start_service(3, &munge_auth);
    struct jd_agent_spec spec = make_spec(1, 3);
    spec.auth = &munge_auth;
    spec.job = "other";
    open_agent(&first, &spec);
    UNIT_FAILS(meet_for(&first, 60), JD_PERMISSION_DENIED,
               "process 1 is not let in by the coordination service: it "
               "belongs to another job (\"other\"; this one is \"job\"); two "
               "jobs need two ports");
    close_agent(&first);
    stop_service();
    end_munge();
}
END_TEST

/* ---- one that is not ---------------------------------------------------- */

/* What a false service shows: a Welcome like the real one's. */
struct rogue {
    int listener;
    uid_t user;       /* whose credential it has */
    bool has_none;    /* or none */
    bool is_for_else; /* or one for another connection */
};

/* The C library would have all threads be that user. */
static void become(uid_t user)
{
    ck_assert_int_eq(syscall(SYS_setresuid, -1, user, -1), 0);
}

/* As the user, which this thread is meanwhile; the caller frees it. */
static char *make_credential(const struct rogue *rogue,
                             const uint8_t mac[JD_AUTH_MAC])
{
    char *credential = NULL;
    uid_t self = geteuid();
    become(rogue->user);
    jd_status status =
        jd__munge_encode(mac, JD_AUTH_MAC, 30, NULL, &credential);
    become(self);
    UNIT_OK(status);
    return credential;
}

static void say_challenge(int fd, const uint8_t nonce[JD_AUTH_NONCE])
{
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Challenge challenge = JD__CHALLENGE__INIT;
    challenge.protocol = JD_WIRE_PROTOCOL;
    challenge.nonce = jd__wire_bytes(nonce, JD_AUTH_NONCE);
    message.body_case = JD__MESSAGE__BODY_CHALLENGE;
    message.challenge = &challenge;
    send_bare(fd, &message);
}

static void say_welcome(const struct rogue *rogue, int fd,
                        const uint8_t nonce[JD_AUTH_NONCE],
                        const Jd__Hello *hello)
{
    char *credential = NULL;
    uint8_t mac[JD_AUTH_MAC];
    struct jd_auth_exchange exchange;
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Welcome welcome = JD__WELCOME__INIT;
    jd__auth_exchange_begin(&exchange);
    welcome.public_key =
        jd__wire_bytes(exchange.public_key, sizeof exchange.public_key);
    jd__auth_welcome_mac(&munge_auth, jd__wire_bytes(nonce, JD_AUTH_NONCE),
                         hello->nonce, &welcome, mac);
    welcome.mac = jd__wire_bytes(mac, sizeof mac);
    uint8_t payload[JD_AUTH_MAC];
    memcpy(payload, mac, sizeof payload);
    payload[0] ^= rogue->is_for_else;
    if (!rogue->has_none)
        welcome.credential = credential = make_credential(rogue, payload);
    message.body_case = JD__MESSAGE__BODY_WELCOME;
    message.welcome = &welcome;
    send_bare(fd, &message);
    free(credential);
}

/* One connection; what comes after it finds nobody. */
static void *play(void *arg)
{
    static const uint8_t nonce[JD_AUTH_NONCE] = "anything new";
    const struct rogue *rogue = arg;
    int fd = accept(rogue->listener, NULL, NULL);
    say_challenge(fd, nonce);
    Jd__Message *hello = receive_bare(fd);
    ck_assert_int_eq(hello->body_case, JD__MESSAGE__BODY_HELLO);
    say_welcome(rogue, fd, nonce, hello->hello);
    jd__message__free_unpacked(hello, NULL);
    expect_closed(fd);
    close(rogue->listener);
    return NULL;
}

/* In a search an agent takes one round, and says what came of it. */
static void expect_passed_over(struct rogue *rogue, const char *text)
{
    char said[400];
    int port;
    pthread_t thread;
    UNIT_OK(jd__auth_start());
    rogue->listener = listen_bare(&port);
    struct jd_agent_spec spec = make_spec(1, 2);
    spec.auth = &munge_auth;
    spec.is_search = true;
    add_endpoint(&first, port);
    open_agent(&first, &spec);
    ck_assert_int_eq(pthread_create(&thread, NULL, play, rogue), 0);
    snprintf(said, sizeof said, "127.0.0.1:%d: %s", port, text);
    UNIT_FAILS(meet_for(&first, 60), JD_NOT_FOUND, said);
    pthread_join(thread, NULL);
    close_agent(&first);
}

START_TEST(one_of_another_user_is_passed_over)
{
    struct rogue rogue = { .user = NOBODY };
    if (geteuid() != 0)
        fputs("# skipped: only root can be two users\n", stderr);
    if (geteuid() != 0 || !begin_munge())
        return;
    expect_passed_over(&rogue,
                       "it says that we are welcome, but munge vouches for the "
                       "credential, but as user id 65534's, and it must be "
                       "0's; start all processes as the same user");
    end_munge();
}
END_TEST

START_TEST(one_without_a_credential_is_passed_over)
{
    struct rogue rogue = { .has_none = true };
    if (!begin_munge())
        return;
    expect_passed_over(&rogue,
                       "what answers there shows no munge credential, which a "
                       "Slurm job's service has; set JD_SECRET_FILE, the same "
                       "for all processes, where its host has no munge");
    end_munge();
}
END_TEST

START_TEST(one_with_anothers_credential_is_passed_over)
{
    struct rogue rogue = { .user = geteuid(), .is_for_else = true };
    if (!begin_munge())
        return;
    expect_passed_over(&rogue,
                       "it says that we are welcome, but munge vouches for the "
                       "credential, but it is for something else: its payload "
                       "of 32 bytes is not the 32 bytes that this connection "
                       "must have");
    end_munge();
}
END_TEST

/* Somebody to whom the agent shows nothing, since munge does not answer; munge
 * serves again when the agent has given him up. */
static void *wait_until_given_up(void *arg)
{
    static const uint8_t nonce[JD_AUTH_NONCE] = "anything new";
    const int *listener = arg;
    int fd = accept(*listener, NULL, NULL);
    say_challenge(fd, nonce);
    expect_closed(fd);
    close(*listener);
    kill(munged.pid, SIGCONT);
    return NULL;
}

START_TEST(an_own_munge_that_is_late_is_asked_again)
{
    int port, listener;
    pthread_t thread;
    if (!begin_munge())
        return;
    start_service(3, &munge_auth);
    listener = listen_bare(&port);
    struct jd_agent_spec spec = make_spec(1, 3);
    spec.auth = &munge_auth;
    spec.munge_timeout = 0.1; /* of the kernel's clock */
    add_endpoint(&first, port);
    add_endpoint(&first, home.port);
    kill(munged.pid, SIGSTOP);
    open_agent(&first, &spec);
    ck_assert_int_eq(
        pthread_create(&thread, NULL, wait_until_given_up, &listener), 0);
    UNIT_OK(meet_for(&first, 60));
    pthread_join(thread, NULL);
    close_agent(&first);
    stop_service();
    end_munge();
}
END_TEST

/* The agent ends while munge is asked. */
START_TEST(an_agent_may_end_before_munge_has_answered)
{
    if (!begin_munge())
        return;
    start_service(3, &munge_auth);
    kill(munged.pid, SIGSTOP);
    for (int i = 0; i < 5; i++) {
        struct jd_agent_spec spec = make_spec(1, 3);
        spec.auth = &munge_auth;
        open_agent(&first, &spec);
        ck_assert_int_eq(meet_for(&first, 0.05), JD_DEADLINE_EXCEEDED);
        close_agent(&first);
    }
    stop_service();
    kill(munged.pid, SIGCONT);
    end_munge();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent and munge");
    TCase *tcase = unit_case(suite, "munge");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, munge_lets_both_in);
    tcase_add_test(tcase, munge_lets_the_services_own_process_in);
    tcase_add_test(tcase, what_the_service_refuses_is_refused_at_once);
    tcase_add_test(tcase, one_of_another_user_is_passed_over);
    tcase_add_test(tcase, one_without_a_credential_is_passed_over);
    tcase_add_test(tcase, one_with_anothers_credential_is_passed_over);
    tcase_add_test(tcase, an_own_munge_that_is_late_is_asked_again);
    tcase_add_test(tcase, an_agent_may_end_before_munge_has_answered);
    return unit_main(suite);
}
