/* SPDX-License-Identifier: BSD-3-Clause */
/* test_agent_site.c - an agent tells where its process has waited by a number,
 * and the words of it where the service asks. */
#include "tests/unit/agent.h"

#include <stdatomic.h>

/* ---- helpers ------------------------------------------------------------ */

static struct process first;
static sem_t was_asked, may_go;
static atomic_int taken; /* heartbeats that have told of a wait */
static bool knows;

/* It has waited for process 0 once. */
static int take_waits(struct jd_waited worst[JD_WAITED_MOST], double *ret_all)
{
    *ret_all = 0;
    if (taken++)
        return 0;
    *ret_all = 3;
    worst[0] = (struct jd_waited){
        .process = 0, .seconds = 3, .site = 77, .call = "a text"
    };
    return 1;
}

static bool describe(uint64_t site, char text[JD_WAIT_TEXT])
{
    sem_post(&was_asked);
    sem_wait(&may_go);
    snprintf(text, JD_WAIT_TEXT, "jd_psum at train.c:%d", (int)site);
    return knows;
}

static void begin(bool (*describes)(uint64_t, char *))
{
    start_service(2, &secret_auth);
    struct jd_agent_spec spec = make_spec(1, 2);
    spec.take_waits = take_waits;
    spec.describe_wait = describes;
    spec.heartbeat_timeout = 1;
    taken = 0;
    sem_init(&was_asked, 0, 0);
    sem_init(&may_go, 0, 0);
    open_agent(&first, &spec);
    UNIT_OK(meet_for(&first, 30));
}

static void end(void)
{
    ck_assert_int_eq(first.num_lost, 0);
    close_agent(&first);
    stop_service();
}

/* What the service says of process 0: in which call it was waited for, and for
 * how long. */
static uint64_t read_row(char *text, size_t size)
{
    struct jd_call call = { .operation = "rows" };
    Jd__Inquiry body = JD__INQUIRY__INIT;
    UNIT_OK(call_service(&first, &call, JD__MESSAGE__BODY_INQUIRY, &body));
    uint64_t caused = call.reply->rows[0]->caused_ms;
    snprintf(text, size, "%s", call.reply->rows[0]->caused_in);
    jd__call_finish(&call);
    return caused;
}

/* Until it is told of it. */
static void expect_words(const char *wanted)
{
    char text[JD_WAIT_TEXT];
    double deadline = jd__clock_now() + 30;
    do
        ck_assert_uint_eq(read_row(text, sizeof text), 3000);
    while (!text[0] && jd__clock_now() < deadline);
    ck_assert_str_eq(text, wanted);
}

/* ---- words -------------------------------------------------------------- */

/* Calls go on while it looks for them. */
START_TEST(the_words_come_when_they_are_asked_for)
{
    char text[JD_WAIT_TEXT];
    knows = true;
    begin(describe);
    sem_wait(&was_asked);
    ck_assert_uint_eq(read_row(text, sizeof text), 3000);
    ck_assert_str_eq(text, "");
    sem_post(&may_go);
    expect_words("jd_psum at train.c:77");
    end();
}
END_TEST

START_TEST(who_does_not_know_them_says_so)
{
    char text[JD_WAIT_TEXT];
    knows = false;
    begin(describe);
    sem_wait(&was_asked);
    sem_post(&may_go);
    ck_assert_uint_eq(read_row(text, sizeof text), 3000);
    ck_assert_str_eq(text, "");
    end();
}
END_TEST

START_TEST(it_may_leave_while_it_looks)
{
    knows = true;
    begin(describe);
    sem_wait(&was_asked);
    sem_post(&may_go);
    end();
}
END_TEST

/* One that has no words is asked, and answers. */
START_TEST(one_without_words_is_asked_in_vain)
{
    char text[JD_WAIT_TEXT];
    begin(NULL);
    while (read_row(text, sizeof text) == 0)
        ;
    ck_assert_str_eq(text, "");
    end();
}
END_TEST

/* ---- what a heartbeat has ------------------------------------------------ */

static void send_greeting(int fd, bool names_sites)
{
    static const uint8_t bytes[JD_AUTH_NONCE];
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Challenge challenge = JD__CHALLENGE__INIT;
    Jd__Welcome welcome = JD__WELCOME__INIT;
    Jd__Admitted admitted = JD__ADMITTED__INIT;
    uint8_t mac[JD_AUTH_MAC];
    challenge.protocol = JD_WIRE_PROTOCOL;
    challenge.nonce = jd__wire_bytes(bytes, sizeof bytes);
    message.body_case = JD__MESSAGE__BODY_CHALLENGE;
    message.challenge = &challenge;
    send_bare(fd, &message);
    Jd__Message *hello = receive_bare(fd);
    jd__auth_welcome_mac(&open_auth, challenge.nonce, hello->hello->nonce,
                         &welcome, mac);
    jd__message__free_unpacked(hello, NULL);
    welcome.mac = jd__wire_bytes(mac, sizeof mac);
    message.body_case = JD__MESSAGE__BODY_WELCOME;
    message.welcome = &welcome;
    send_bare(fd, &message);
    admitted.host = (char *)"h0";
    admitted.names_sites = names_sites;
    message.body_case = JD__MESSAGE__BODY_ADMITTED;
    message.admitted = &admitted;
    send_bare(fd, &message);
}

/* The first that tells of a wait; the caller frees it. */
static Jd__Message *receive_wait(int fd)
{
    Jd__Message *message = receive_bare(fd);
    while (message->body_case != JD__MESSAGE__BODY_HEARTBEAT ||
           !message->heartbeat->n_waited) {
        jd__message__free_unpacked(message, NULL);
        message = receive_bare(fd);
    }
    return message;
}

static void expect_wait_to(bool names_sites, uint64_t site, const char *text)
{
    int port, listener = listen_bare(&port);
    struct jd_agent_spec spec = make_spec(1, 2);
    spec.auth = &open_auth;
    spec.take_waits = take_waits;
    spec.heartbeat_timeout = 1;
    taken = 0;
    add_endpoint(&first, port);
    open_agent(&first, &spec);
    ck_assert_int_ne(meet_for(&first, 0), JD_OK); /* it has begun */
    int fd = accept(listener, NULL, NULL);
    send_greeting(fd, names_sites);
    Jd__Message *message = receive_wait(fd);
    const Jd__Waited *waited = message->heartbeat->waited[0];
    ck_assert_uint_eq(waited->site, site);
    ck_assert_str_eq(waited->call, text);
    jd__message__free_unpacked(message, NULL);
    jd__agent_expect_end(first.agent);
    close_agent(&first);
    close(fd);
    close(listener);
}

START_TEST(a_heartbeat_has_no_text)
{
    UNIT_OK(jd__auth_start());
    expect_wait_to(true, 77, "");
}
END_TEST

/* Of jd before: it takes no numbers. */
START_TEST(an_older_service_gets_the_words)
{
    UNIT_OK(jd__auth_start());
    expect_wait_to(false, 0, "a text");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_site");
    TCase *tcase = unit_case(suite, "words");
    tcase_add_test(tcase, the_words_come_when_they_are_asked_for);
    tcase_add_test(tcase, who_does_not_know_them_says_so);
    tcase_add_test(tcase, it_may_leave_while_it_looks);
    tcase_add_test(tcase, one_without_words_is_asked_in_vain);
    tcase = unit_case(suite, "what a heartbeat has");
    tcase_add_test(tcase, a_heartbeat_has_no_text);
    tcase_add_test(tcase, an_older_service_gets_the_words);
    return unit_main(suite);
}
