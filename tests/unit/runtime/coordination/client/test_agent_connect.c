/* SPDX-License-Identifier: BSD-3-Clause */
/* test_agent_connect.c - how agents and the service meet over real sockets. */
#include "runtime/coordination/client/call.h"
#include "tests/unit/agent_pair.h"
#include "tests/unit/set_clock.h"

#include <sched.h>

/* ---- meetings in vain --------------------------------------------------- */

enum { VAIN_SECONDS = 3 }; /* on the test's clock */

static void *meet_in_vain(void *arg)
{
    struct process *p = arg;
    ck_assert_int_eq(jd__agent_meet(p->agent, SET_CLOCK_BEGIN + VAIN_SECONDS),
                     JD_DEADLINE_EXCEEDED);
    return strdup(jd_error_message());
}

/* The agent, whose clock stands still until end_meeting(). */
static pthread_t begin_meeting(struct process *p, struct jd_agent_spec *spec)
{
    pthread_t thread;
    spec->clock = &set_clock;
    open_agent(p, spec);
    ck_assert_int_eq(pthread_create(&thread, NULL, meet_in_vain, p), 0);
    return thread;
}

/* Until all addresses have been tried. */
static void await_round(struct process *p)
{
    for (bool is_over = false; !is_over; sched_yield()) {
        pthread_mutex_lock(&p->agent->lock);
        is_over = p->agent->why != NULL;
        pthread_mutex_unlock(&p->agent->lock);
    }
}

/* The deadline comes: the sentence ends with what was tried. */
static void end_meeting(struct process *p, pthread_t thread, const char *tried)
{
    char sentence[512];
    void *said;
    set_clock_to(SET_CLOCK_BEGIN + VAIN_SECONDS);
    pthread_join(thread, &said);
    snprintf(sentence, sizeof sentence,
             "process %d has not reached the coordination service in %d s; it "
             "tried %s",
             p->agent->spec.process, VAIN_SECONDS, tried);
    ck_assert_str_eq(said, sentence);
    free(said);
}

/* ---- who is let in ------------------------------------------------------ */

START_TEST(who_knows_the_secret_is_let_in)
{
    begin(3);
    struct jd_service_place place = jd__agent_place(first.agent);
    ck_assert_str_eq(place.host, "h0");
    ck_assert_str_eq(place.program, "train");
    ck_assert_uint_eq(place.pid, 77);
    end();
}
END_TEST

static void refuse(struct jd_agent_spec *spec, jd_status status,
                   const char *text)
{
    open_agent(&other, spec);
    UNIT_FAILS(meet_for(&other, 30), status, text);
    ck_assert_int_eq(other.num_lost, 0);
    close_agent(&other);
}

/* Who has no key in common with the service cannot know that it is the one:
 * what it says is told at the deadline. */
static void pass_over(struct jd_agent_spec *spec, const char *text)
{
    char tried[400];
    pthread_t thread = begin_meeting(&other, spec);
    snprintf(tried, sizeof tried, "127.0.0.1:%d: %s", home.port, text);
    await_round(&other);
    end_meeting(&other, thread, tried);
    ck_assert_int_eq(other.num_lost, 0);
    close_agent(&other);
}

START_TEST(who_does_not_know_the_secret_is_refused)
{
    static const struct jd_auth wrong = { .way = JD_AUTH_SECRET,
                                          .key = "guess" };
    static const char sentence[] =
        "it refuses: it does not know the job's secret (here it is from "
        "JD_SECRET); set the same everywhere";
    begin(4);
    struct jd_agent_spec spec = make_spec(2, 4);
    spec.auth = &wrong;
    pass_over(&spec, sentence);
    spec = make_spec(2, 4);
    spec.auth = &open_auth;
    open_agent(&other, &spec); /* it is of our user: its word counts */
    UNIT_FAILS(meet_for(&other, 30), JD_UNAUTHENTICATED,
               "process 2 is not let in by the coordination service: it does "
               "not know the job's secret (here it is from JD_SECRET); set the "
               "same everywhere");
    close_agent(&other);
    end();
}
END_TEST

/* ---- whose turn it is --------------------------------------------------- */

START_TEST(of_many_each_has_its_turn)
{
    double last = jd__agent_turn(99999);
    for (int i = 0; i < 512; i++)
        ck_assert_double_eq(jd__agent_turn(i), 0);
    for (int i = 513; i < 100000; i++)
        ck_assert_double_gt(jd__agent_turn(i), jd__agent_turn(i - 1));
    ck_assert_double_ge(last, 1); /* spread, */
    ck_assert_double_le(last, 6); /* and soon there */
}
END_TEST

/* Meanwhile the loop is free: it takes the agent down at once. */
START_TEST(who_waits_for_its_turn_blocks_nobody)
{
    begin(3);
    struct jd_agent_spec spec = make_spec(2, 3);
    spec.turn = 1000;
    pthread_t thread = begin_meeting(&other, &spec);
    set_clock_await(SET_CLOCK_BEGIN + VAIN_SECONDS);
    end_meeting(&other, thread, "no address yet");
    close_agent(&other);
    end();
}
END_TEST

START_TEST(who_has_waited_for_its_turn_is_let_in)
{
    begin(3);
    struct jd_agent_spec spec = make_spec(2, 3);
    double begun = jd__clock_now();
    spec.turn = 0.05; /* of the kernel's clock */
    open_agent(&other, &spec);
    UNIT_OK(meet_for(&other, 30));
    ck_assert_double_ge(jd__clock_now() - begun, 0.049);
    close_agent(&other);
    end();
}
END_TEST

START_TEST(who_does_not_belong_is_refused)
{
    begin(4);
    struct jd_agent_spec spec;
    spec = make_spec(2, 4);
    spec.job = "other";
    refuse(&spec, JD_PERMISSION_DENIED,
           "process 2 is not let in by the coordination service: it belongs to "
           "another job (\"other\"; this one is \"job\"); two jobs need two "
           "ports");
    spec = make_spec(2, 4);
    spec.attempt = 1;
    refuse(&spec, JD_ABORTED,
           "process 2 is not let in by the coordination service: it belongs to "
           "attempt 1 of the job, and this is attempt 2; it should end");
    spec = make_spec(2, 5);
    refuse(&spec, JD_INVALID_ARGUMENT,
           "process 2 is not let in by the coordination service: it believes "
           "that the job has 5 processes, but it has 4");
    spec = make_spec(4, 4);
    refuse(&spec, JD_OUT_OF_RANGE,
           "process 4 is not let in by the coordination service: it says that "
           "it is process 4, but the processes are 0 to 3");
    spec = make_spec(1, 4);
    refuse(&spec, JD_ALREADY_EXISTS,
           "process 1 is not let in by the coordination service: it says that "
           "it is process 1, but process 1 (train, pid 101 on h0) is there "
           "already; each process needs an index of its own (JD_PROCESS_ID), "
           "and a job of several attempts a new service");
    end();
}
END_TEST

START_TEST(another_protocol_is_refused)
{
    begin(3);
    Jd__Hello hello = make_hello(2, 3);
    hello.protocol = 9;
    int fd = say_hello_bare(&hello, &secret_auth);
    Jd__Message *message = receive_bare(fd);
    ck_assert_int_eq(message->body_case, JD__MESSAGE__BODY_REFUSAL);
    ck_assert_int_eq(message->refusal->status, JD_UNIMPLEMENTED);
    jd__message__free_unpacked(message, NULL);
    expect_closed(fd);
    end();
}
END_TEST

START_TEST(garbage_is_closed)
{
    static const char *const garbage[] = { "GET / HTTP/1.1\r\n\r\n",
                                           "\4\0\0\0AAAA", "\0\0\0\0" };
    static const size_t sizes[] = { 18, 8, 4 };
    begin(3);
    for (int i = 0; i < 3; i++) {
        int fd = connect_to(home.port);
        ck_assert_int_eq(send(fd, garbage[i], sizes[i], MSG_NOSIGNAL),
                         (ssize_t)sizes[i]);
        expect_closed(fd);
    }
    end();
}
END_TEST

/* One says half a word and then nothing, one goes on for ever, byte by byte,
 * one says nothing, one has gone. */
START_TEST(slow_strangers_are_closed)
{
    static const char header[] = { 0, 16, 0, 0 };
    begin(3);
    int half = connect_to(home.port), slow = connect_to(home.port);
    int mute = connect_to(home.port), gone = connect_to(home.port);
    ck_assert_int_eq(send(half, header, 3, MSG_NOSIGNAL), 3);
    ck_assert_int_eq(send(slow, header, 4, MSG_NOSIGNAL), 4);
    close(gone);
    struct pollfd poller = { .fd = slow, .events = POLLIN };
    char bytes[512];
    for (bool is_open = true; is_open;) {
        is_open = send(slow, "x", 1, MSG_NOSIGNAL) == 1;
        if (poll(&poller, 1, 100) > 0 && is_open)
            while (recv(slow, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
                ;
    }
    close(slow);
    expect_closed(half);
    expect_closed(mute);
    end();
}
END_TEST

/* Its length alone ends the connection, which was a process's. */
START_TEST(a_frame_over_the_limit_is_closed)
{
    static const uint8_t header[] = { 1, 0, 1, 0 };
    start_service(3, &open_auth);
    struct jd_agent_spec spec = make_spec(1, 3);
    spec.auth = &open_auth;
    open_agent(&first, &spec);
    UNIT_OK(meet_for(&first, 30));
    Jd__Hello hello = make_hello(2, 3);
    hello.incarnation = 5;
    int fd = say_hello_bare(&hello, &open_auth);
    Jd__Message *message = receive_bare(fd);
    ck_assert_int_eq(message->body_case, JD__MESSAGE__BODY_WELCOME);
    jd__message__free_unpacked(message, NULL);
    ck_assert_int_eq(send(fd, header, 4, MSG_NOSIGNAL), 4);
    expect_closed(fd);
    end();
}
END_TEST

START_TEST(a_message_over_the_limit_is_not_sent)
{
    static uint8_t value[MAX_MESSAGE];
    Jd__Set body = JD__SET__INIT;
    Jd__Entry entry = JD__ENTRY__INIT, *pointer = &entry;
    struct jd_call call = { .operation = "set", .detail = " of \"a\"" };
    begin(3);
    entry.key = jd__wire_text("a");
    entry.value = jd__wire_bytes(value, sizeof value);
    body.entries = &pointer;
    body.n_entries = 1;
    UNIT_FAILS(call_service(&first, &call, JD__MESSAGE__BODY_SET, &body),
               JD_RESOURCE_EXHAUSTED,
               "set of \"a\": the message would have 65572 bytes, over the "
               "65536 of JD_MAX_MESSAGE; nothing was sent");
    entry.value.len -= 100; /* nearly the largest goes through */
    UNIT_OK(call_service(&first, &call, JD__MESSAGE__BODY_SET, &body));
    jd__call_finish(&call);
    end();
}
END_TEST

/* ---- addresses ---------------------------------------------------------- */

/* The agent has seen that it is connected, and hears nothing. */
static void await_connection(int listener, struct process *p)
{
    ck_assert_int_ge(accept(listener, NULL, NULL), 0);
    jd__loop_catch_up(p->loop);
}

START_TEST(one_that_says_nothing_is_named)
{
    char tried[80];
    int port, fd = listen_bare(&port);
    struct jd_agent_spec spec = make_spec(1, 2);
    add_endpoint(&first, port);
    pthread_t thread = begin_meeting(&first, &spec);
    await_connection(fd, &first);
    snprintf(tried, sizeof tried, "127.0.0.1:%d: it has not answered yet",
             port);
    end_meeting(&first, thread, tried);
    close_agent(&first);
    close(fd);
}
END_TEST

START_TEST(every_address_is_named)
{
    char tried[160];
    struct jd_agent_spec spec = make_spec(1, 2);
    int ports[] = { unused_port(), unused_port() };
    add_endpoint(&first, ports[0]);
    add_endpoint(&first, ports[1]);
    pthread_t thread = begin_meeting(&first, &spec);
    await_round(&first);
    snprintf(tried, sizeof tried,
             "127.0.0.1:%d: Connection refused; 127.0.0.1:%d: Connection "
             "refused",
             ports[0], ports[1]);
    end_meeting(&first, thread, tried);
    close_agent(&first);
}
END_TEST

/* Before all have been tried. */
START_TEST(every_address_so_far_is_named)
{
    char tried[160];
    struct jd_agent_spec spec = make_spec(1, 2);
    int port, fd = listen_bare(&port), closed = unused_port();
    add_endpoint(&first, closed);
    add_endpoint(&first, port);
    add_endpoint(&first, unused_port());
    pthread_t thread = begin_meeting(&first, &spec);
    await_connection(fd, &first);
    snprintf(tried, sizeof tried,
             "127.0.0.1:%d: Connection refused; 127.0.0.1:%d: it has not "
             "answered yet",
             closed, port);
    end_meeting(&first, thread, tried);
    close_agent(&first);
    close(fd);
}
END_TEST

START_TEST(where_nobody_listens_the_next_address_is_tried)
{
    start_service(2, &secret_auth);
    add_endpoint(&first, unused_port());
    add_endpoint(&first, home.port);
    enter(&first, 1, 2);
    end();
}
END_TEST

/* Something else answers there: what it says is no Challenge. */
START_TEST(where_something_else_answers_the_next_address_is_tried)
{
    int port, listener = listen_bare(&port);
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Reply reply = JD__REPLY__INIT;
    start_service(2, &secret_auth);
    add_endpoint(&first, port);
    add_endpoint(&first, home.port);
    struct jd_agent_spec spec = make_spec(1, 2);
    open_agent(&first, &spec);
    jd__agent_meet(first.agent, jd__clock_now()); /* it begins */
    int fd = accept(listener, NULL, NULL);
    message.body_case = JD__MESSAGE__BODY_REPLY;
    message.reply = &reply;
    send_bare(fd, &message);
    expect_closed(fd);
    while (get_key(&first, "a", 0, 0) != JD_NOT_FOUND)
        sched_yield();
    close(listener);
    end();
}
END_TEST

static void *meet_in_the_end(void *arg)
{
    return (void *)(intptr_t)meet_for(arg, 30);
}

START_TEST(a_service_may_come_up_late)
{
    pthread_t thread;
    void *result;
    int port = unused_port();
    struct jd_agent_spec spec = make_spec(1, 2);
    add_endpoint(&first, port);
    open_agent(&first, &spec);
    pthread_create(&thread, NULL, meet_in_the_end, &first);
    await_round(&first);
    start_service_at(2, &secret_auth, port);
    pthread_join(thread, &result);
    ck_assert_int_eq((int)(intptr_t)result, JD_OK);
    end();
}
END_TEST

/* It does not know the secret, and says that we are welcome. */
START_TEST(a_false_service_is_refused)
{
    static const uint8_t bytes[JD_AUTH_NONCE];
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Challenge challenge = JD__CHALLENGE__INIT;
    Jd__Welcome welcome = JD__WELCOME__INIT;
    char tried[160];
    int port, listener = listen_bare(&port);
    struct jd_agent_spec spec = make_spec(1, 2);
    add_endpoint(&first, port);
    pthread_t thread = begin_meeting(&first, &spec);
    int fd = accept(listener, NULL, NULL);
    challenge.protocol = JD_WIRE_PROTOCOL;
    challenge.nonce = welcome.mac = jd__wire_bytes(bytes, sizeof bytes);
    message.body_case = JD__MESSAGE__BODY_CHALLENGE;
    message.challenge = &challenge;
    send_bare(fd, &message);
    Jd__Message *hello = receive_bare(fd);
    ck_assert_int_eq(hello->body_case, JD__MESSAGE__BODY_HELLO);
    jd__message__free_unpacked(hello, NULL);
    message.body_case = JD__MESSAGE__BODY_WELCOME;
    message.welcome = &welcome;
    send_bare(fd, &message);
    snprintf(tried, sizeof tried,
             "127.0.0.1:%d: what answers there does not know the job's secret",
             port);
    await_round(&first);
    end_meeting(&first, thread, tried);
    expect_closed(fd);
    close(listener);
    close_agent(&first);
}
END_TEST

/* A service that refuses the next to come. */
static void refuse_next(int listener, jd_status status)
{
    static const uint8_t bytes[JD_AUTH_NONCE];
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Challenge challenge = JD__CHALLENGE__INIT;
    Jd__Refusal refusal = JD__REFUSAL__INIT;
    int fd = accept(listener, NULL, NULL);
    challenge.protocol = JD_WIRE_PROTOCOL;
    challenge.nonce = jd__wire_bytes(bytes, sizeof bytes);
    message.body_case = JD__MESSAGE__BODY_CHALLENGE;
    message.challenge = &challenge;
    send_bare(fd, &message);
    refusal.status = (int32_t)status;
    refusal.text = (char *)"not now";
    message.body_case = JD__MESSAGE__BODY_REFUSAL;
    message.refusal = &refusal;
    send_bare(fd, &message);
    close(fd);
}

/* As where strangers flood the service. */
START_TEST(who_finds_no_room_comes_again)
{
    int port, listener = listen_bare(&port);
    struct jd_agent_spec spec = make_spec(1, 2);
    add_endpoint(&first, port);
    open_agent(&first, &spec);
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, meet_in_the_end, &first);
    refuse_next(listener, JD_RESOURCE_EXHAUSTED);
    refuse_next(listener, JD_DEADLINE_EXCEEDED);
    close(listener);
    start_service_at(2, &secret_auth, port);
    pthread_join(thread, &result);
    ck_assert_int_eq((int)(intptr_t)result, JD_OK);
    end();
}
END_TEST

/* Of a flood few hear why. The second time nobody accepts. */
START_TEST(one_that_closes_without_a_word_is_named)
{
    char tried[160];
    int port, listener = listen_bare(&port);
    struct jd_agent_spec spec = make_spec(1, 2);
    add_endpoint(&first, port);
    pthread_t thread = begin_meeting(&first, &spec);
    close(accept(listener, NULL, NULL));
    snprintf(tried, sizeof tried,
             "127.0.0.1:%d: it closed the connection, as the job's service "
             "does where strangers flood it",
             port);
    await_round(&first);
    end_meeting(&first, thread, tried);
    close_agent(&first);
    close(listener);
}
END_TEST

START_TEST(the_own_connection_is_the_agents)
{
    int count = count_entries("/proc/self/fd"), fds[2];
    struct jd_agent_spec spec = make_spec(0, 1);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
                     0);
    spec.fd = fds[0];
    add_endpoint(&first, 1);
    open_agent(&first, &spec); /* and never meets */
    close_agent(&first);
    close(fds[1]);
    ck_assert_int_eq(count_entries("/proc/self/fd"), count);
}
END_TEST

START_TEST(process_0_has_a_connection_within_the_process)
{
    struct jd_agent_spec spec = make_spec(0, 1);
    int64_t sum;
    spec.fd = start_service_within(1, &secret_auth);
    add_endpoint(&first, 1);
    open_agent(&first, &spec);
    UNIT_OK(meet_for(&first, 30));
    UNIT_OK(join_all(&first, 30));
    UNIT_OK(add_to(&first, "n", 4, &sum));
    ck_assert_int_eq(sum, 4);
    close_agent(&first);
    stop_service();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent connect");
    TCase *tcase = unit_case(suite, "meeting");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, who_knows_the_secret_is_let_in);
    tcase_add_test(tcase, who_does_not_know_the_secret_is_refused);
    tcase_add_test(tcase, of_many_each_has_its_turn);
    tcase_add_test(tcase, who_waits_for_its_turn_blocks_nobody);
    tcase_add_test(tcase, who_has_waited_for_its_turn_is_let_in);
    tcase_add_test(tcase, who_does_not_belong_is_refused);
    tcase_add_test(tcase, another_protocol_is_refused);
    tcase_add_test(tcase, garbage_is_closed);
    tcase_add_test(tcase, slow_strangers_are_closed);
    tcase_add_test(tcase, a_frame_over_the_limit_is_closed);
    tcase_add_test(tcase, a_message_over_the_limit_is_not_sent);
    tcase = unit_case(suite, "addresses");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, one_that_says_nothing_is_named);
    tcase_add_test(tcase, every_address_is_named);
    tcase_add_test(tcase, every_address_so_far_is_named);
    tcase_add_test(tcase, where_nobody_listens_the_next_address_is_tried);
    tcase_add_test(tcase,
                   where_something_else_answers_the_next_address_is_tried);
    tcase_add_test(tcase, a_service_may_come_up_late);
    tcase_add_test(tcase, a_false_service_is_refused);
    tcase_add_test(tcase, who_finds_no_room_comes_again);
    tcase_add_test(tcase, one_that_closes_without_a_word_is_named);
    tcase_add_test(tcase, the_own_connection_is_the_agents);
    tcase_add_test(tcase, process_0_has_a_connection_within_the_process);
    return unit_main(suite);
}
