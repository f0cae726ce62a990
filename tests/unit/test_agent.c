/* SPDX-License-Identifier: BSD-3-Clause */
/* test_agent.c - agents and the service over real sockets. */
#include "tests/unit/agent.h"

#include <sched.h>
#include <stdatomic.h>

/* ---- meeting ----------------------------------------------------------- */

static struct process first, other;

static void begin(int count)
{
    start_service(count, &secret_auth);
    enter(&first, 1, count);
}

/* The first process is as well as before. */
static void end(void)
{
    int64_t sum;
    UNIT_OK(add_to(&first, "still here", 1, &sum));
    ck_assert_int_eq(first.num_lost, 0);
    close_agent(&first);
    stop_service();
}

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

START_TEST(who_does_not_belong_is_refused)
{
    static const struct jd_auth wrong = { .way = JD_AUTH_SECRET,
                                          .key = "guess" };
    begin(4);
    struct jd_agent_spec spec = make_spec(2, 4);
    spec.auth = &wrong;
    refuse(&spec, JD_UNAUTHENTICATED,
           "process 2 is not let in by the coordination service: it does not "
           "know the job's secret (here it is from JD_SECRET); set the same "
           "everywhere");
    spec = make_spec(2, 4);
    spec.auth = &open_auth;
    refuse(&spec, JD_UNAUTHENTICATED,
           "process 2 is not let in by the coordination service: it does not "
           "know the job's secret (here it is from JD_SECRET); set the same "
           "everywhere");
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

/* ---- addresses --------------------------------------------------------- */

/* The sentence's end, after its seconds. */
static const char *what_was_tried(void)
{
    static const char begin[] =
        "process 1 has not reached the coordination service in ";
    static const char middle[] = " s; it tried ";
    const char *text = jd_error_message(), *tried = strstr(text, middle);
    ck_assert_msg(strncmp(text, begin, strlen(begin)) == 0 && tried, "%s",
                  text);
    return tried + strlen(middle);
}

START_TEST(one_that_says_nothing_is_named)
{
    char tried[80];
    int port, fd = listen_bare(&port);
    struct jd_agent_spec spec = make_spec(1, 2);
    add_endpoint(&first, port);
    open_agent(&first, &spec);
    ck_assert_int_eq(meet_for(&first, 0.2), JD_DEADLINE_EXCEEDED);
    snprintf(tried, sizeof tried, "127.0.0.1:%d: it has not answered yet",
             port);
    ck_assert_str_eq(what_was_tried(), tried);
    close_agent(&first);
    close(fd);
}
END_TEST

/* Both, or those that the loop has come to. */
START_TEST(every_address_is_named)
{
    static const char *const answers[][2] = {
        { "Connection refused", "Connection refused" },
        { "Connection refused", "it has not answered yet" },
        { "it has not answered yet", NULL },
    };
    char tried[3][160];
    struct jd_agent_spec spec = make_spec(1, 2);
    int ports[] = { unused_port(), unused_port() };
    add_endpoint(&first, ports[0]);
    add_endpoint(&first, ports[1]);
    open_agent(&first, &spec);
    ck_assert_int_eq(meet_for(&first, 0.3), JD_DEADLINE_EXCEEDED);
    for (int i = 0; i < 3; i++) {
        int length = snprintf(tried[i], sizeof tried[i], "127.0.0.1:%d: %s",
                              ports[0], answers[i][0]);
        if (answers[i][1])
            snprintf(tried[i] + length, sizeof tried[i] - (size_t)length,
                     "; 127.0.0.1:%d: %s", ports[1], answers[i][1]);
    }
    const char *said = what_was_tried();
    ck_assert_msg(strcmp(said, tried[0]) == 0 || strcmp(said, tried[1]) == 0 ||
                      strcmp(said, tried[2]) == 0,
                  "%s", said);
    close_agent(&first);
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

static void *meet_late(void *arg)
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
    ck_assert_int_eq(meet_for(&first, 0.1), JD_DEADLINE_EXCEEDED);
    close_agent(&first);
    add_endpoint(&first, port);
    open_agent(&first, &spec);
    pthread_create(&thread, NULL, meet_late, &first);
    start_service_at(2, &secret_auth, port);
    pthread_join(thread, &result);
    ck_assert_int_eq((int)(intptr_t)result, JD_OK);
    end();
}
END_TEST

static void *meet_in_vain(void *arg)
{
    ck_assert_int_eq(meet_for(arg, 30), JD_UNAUTHENTICATED);
    return strdup(jd_error_message());
}

/* It does not know the secret, and says that we are welcome. */
START_TEST(a_false_service_is_refused)
{
    static const uint8_t bytes[JD_AUTH_NONCE];
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Challenge challenge = JD__CHALLENGE__INIT;
    Jd__Welcome welcome = JD__WELCOME__INIT;
    int port, listener = listen_bare(&port);
    struct jd_agent_spec spec = make_spec(1, 2);
    add_endpoint(&first, port);
    open_agent(&first, &spec);
    pthread_t thread;
    pthread_create(&thread, NULL, meet_in_vain, &first);
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
    void *said;
    pthread_join(thread, &said);
    ck_assert_str_eq(said, "process 1 is not let in by the coordination "
                           "service: what answers there does not know the "
                           "job's secret");
    free(said);
    expect_closed(fd);
    close(listener);
    close_agent(&first);
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
    UNIT_OK(jd__auth_start());
    UNIT_OK(jd__loop_create("jd-service", &home.loop));
    struct jd_server_spec server = {
        .loop = home.loop,
        .service = { .auth = &secret_auth,
                     .job = "job",
                     .attempt = 2,
                     .count = 1,
                     .heartbeat_timeout = -1,
                     .max_message = MAX_MESSAGE,
                     .host = "h0",
                     .program = "train" },
    };
    UNIT_OK(jd__server_create(&server, &home.server));
    spec.fd = jd__server_connect(home.server);
    ck_assert_int_ge(spec.fd, 0);
    UNIT_OK(jd__loop_start(home.loop));
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

/* ---- calls ------------------------------------------------------------- */

enum { THREADS = 8, CALLS = 200 };

static void *add_often(void *arg)
{
    int64_t sum, before = 0;
    for (int i = 0; i < CALLS; i++) {
        if (add_to(arg, "n", 1, &sum) != JD_OK || sum <= before)
            return arg;
        before = sum;
    }
    return NULL;
}

START_TEST(threads_call_at_once)
{
    pthread_t threads[THREADS];
    void *result;
    begin(2);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, add_often, &first);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        ck_assert_ptr_null(result);
    }
    ck_assert_int_eq(sum_of(&first, "n"), THREADS * CALLS);
    end();
}
END_TEST

START_TEST(the_service_keeps_deadlines)
{
    begin(2);
    UNIT_FAILS(get_key(&first, "a", 0, 0), JD_NOT_FOUND,
               "get: nobody has set \"a\"");
    double before = jd__clock_now();
    ck_assert_int_eq(get_key(&first, "a", 0.05, 60), JD_DEADLINE_EXCEEDED);
    ck_assert_double_ge(jd__clock_now() - before, 0.05);
    ck_assert_ptr_nonnull(strstr(jd_error_message(),
                                 "waiting for \"a\", which nobody has set; the "
                                 "deadline was 0.05 s (the test changes it)"));
    end();
}
END_TEST

/* Also where its loop has nothing else to do for a while. */
START_TEST(a_wait_of_no_time_is_answered_at_once)
{
    begin(2);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(join_all(&first, 0), JD_DEADLINE_EXCEEDED);
    end();
}
END_TEST

START_TEST(a_service_that_does_not_answer_is_named)
{
    struct stop stop;
    Jd__Inquiry inquiry = JD__INQUIRY__INIT;
    struct jd_call call = { .operation = "inquiry" };
    begin(2);
    stop_loop(home.loop, &stop);
    ck_assert_int_eq(get_key(&first, "a", -1, 0.05), JD_DEADLINE_EXCEEDED);
    double waited = 0, silent = -1;
    ck_assert_msg(sscanf(jd_error_message(),
                         "get: no answer from the coordination service, "
                         "process 0 (train, pid 77 on h0), in %lf s; it was "
                         "last heard %lf s ago",
                         &waited, &silent) == 2,
                  "%s", jd_error_message());
    ck_assert_double_ge(waited, 0.05);
    ck_assert_double_ge(silent, 0);
    let_go_on(&stop);
    /* and it has withdrawn: nothing waits there */
    UNIT_OK(call_service(&first, &call, JD__MESSAGE__BODY_INQUIRY, &inquiry));
    ck_assert_str_eq(call.reply->rows[1]->waits, "");
    jd__call_finish(&call);
    end();
}
END_TEST

static void await_pending(struct process *p, int count)
{
    for (int pending = 0; pending < count; sched_yield()) {
        pthread_mutex_lock(&p->agent->lock);
        pending = 0;
        for (struct jd_pending *q = p->agent->pending; q; q = q->next)
            pending++;
        pthread_mutex_unlock(&p->agent->lock);
    }
}

static void *get_what_is_there(void *arg)
{
    return (void *)(intptr_t)get_key(arg, "still here", -1, 0.02);
}

/* This process did not read it: its thread is held, as one that does not run.
 */
START_TEST(an_answer_that_has_come_is_heard_at_the_deadline)
{
    struct stop stop;
    int64_t sum;
    begin(2);
    UNIT_OK(add_to(&first, "still here", 1, &sum));
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        void *status;
        stop_loop(first.loop, &stop);
        pthread_create(&thread, NULL, get_what_is_there, &first);
        await_pending(&first, 1);
        flush_loop(home.loop); /* it was asked, */
        flush_loop(home.loop); /* and has answered */
        usleep(30000);
        let_go_on(&stop);
        pthread_join(thread, &status);
        ck_assert_int_eq((int)(intptr_t)status, JD_OK);
    }
    end();
}
END_TEST

static FILE *errors;
static int old_stderr;

static void catch_stderr(void)
{
    errors = tmpfile();
    old_stderr = dup(STDERR_FILENO);
    dup2(fileno(errors), STDERR_FILENO);
}

static void release_stderr(char *text, size_t size)
{
    dup2(old_stderr, STDERR_FILENO);
    close(old_stderr);
    rewind(errors);
    text[fread(text, 1, size - 1, errors)] = '\0';
    fclose(errors);
}

static void *join_in_vain(void *arg)
{
    ck_assert_int_eq(join_all(arg, 600), JD_UNAVAILABLE);
    return NULL;
}

/* Until standard error has so many lines. */
static void await_lines(int wanted)
{
    char text[2000];
    for (int lines = 0; lines < wanted; sched_yield()) {
        ssize_t size = pread(fileno(errors), text, sizeof text, 0);
        lines = 0;
        for (ssize_t i = 0; i < size; i++)
            lines += text[i] == '\n';
    }
}

/* At doubling intervals: the first at once, the second after 0.01 s or more. */
START_TEST(a_long_wait_says_for_whom)
{
    static const char about[] =
        " s for processes 0,2: process 0, which has not come; process 2, which "
        "has not come; it gives up after 600 s (the test)\n";
    char text[2000];
    pthread_t thread;
    start_service(3, &secret_auth);
    struct jd_agent_spec spec = make_spec(1, 3);
    spec.notice = 0;
    open_agent(&first, &spec);
    UNIT_OK(meet_for(&first, 30));
    catch_stderr();
    pthread_create(&thread, NULL, join_in_vain, &first);
    await_lines(5);
    stop_service();
    pthread_join(thread, NULL);
    release_stderr(text, sizeof text);
    const char *line = text;
    for (int i = 0; i < 5; i++, line = strchr(line, '\n') + 1) {
        double waited = -1;
        const char *said = strstr(line, "join: process 1 has waited ");
        ck_assert_msg(said != NULL, "%s", text);
        sscanf(said, "join: process 1 has waited %lf", &waited);
        ck_assert_msg(waited >= (i ? 0.00999 * (1 << (i - 1)) : 0), "%s", text);
        said = strstr(said, " s for ");
        ck_assert_msg(said && strncmp(said, about, strlen(about)) == 0, "%s",
                      text);
    }
    close_agent(&first);
}
END_TEST

/* ---- the service goes -------------------------------------------------- */

static void *wait_for_key(void *arg)
{
    jd_status status = get_key(arg, "never", -1, 0);
    ck_assert_int_eq(status, JD_UNAVAILABLE);
    return strdup(jd_error_message());
}

START_TEST(the_services_death_ends_calls)
{
    static const char text[] =
        "get: the connection to the coordination service, process 0 (train, "
        "pid 77 on h0), is lost: connection closed without shutdown (killed or "
        "crashed)";
    pthread_t threads[4];
    void *said;
    start_service(2, &secret_auth);
    enter(&first, 1, 2);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, wait_for_key, &first);
    stop_service();
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &said);
        ck_assert_str_eq(said, text);
        free(said);
    }
    await_lost(&first);
    UNIT_FAILS(get_key(&first, "a", 1, 0), JD_UNAVAILABLE, text);
    Jd__Message message = JD__MESSAGE__INIT;
    ck_assert(!jd__agent_tell(first.agent, &message));
    flush_loop(first.loop);
    ck_assert_int_eq(first.num_lost, 1);
    ck_assert_str_eq(first.why, "connection closed without shutdown (killed or "
                                "crashed)");
    close_agent(&first);
}
END_TEST

static atomic_bool is_told;

static void tell_slowly(void *arg, const char *why)
{
    usleep(50000);
    atomic_store(&is_told, true);
    on_lost(arg, why);
}

/* Who was in a call is not to explain an end that is explained already. */
START_TEST(the_services_death_is_told_before_calls_end)
{
    pthread_t thread;
    void *said;
    start_service(2, &secret_auth);
    struct jd_agent_spec spec = make_spec(1, 2);
    spec.on_lost = tell_slowly;
    open_agent(&first, &spec);
    UNIT_OK(meet_for(&first, 30));
    pthread_create(&thread, NULL, wait_for_key, &first);
    stop_service();
    pthread_join(thread, &said);
    ck_assert(atomic_load(&is_told));
    free(said);
    await_lost(&first);
    close_agent(&first);
}
END_TEST

START_TEST(an_end_that_is_expected_is_no_news)
{
    start_service(2, &secret_auth);
    enter(&first, 1, 2);
    jd__agent_expect_end(first.agent);
    stop_service();
    while (get_key(&first, "a", 0, 0) != JD_UNAVAILABLE)
        sched_yield();
    flush_loop(first.loop);
    ck_assert_int_eq(first.num_lost, 0);
    close_agent(&first);
}
END_TEST

START_TEST(a_silent_service_is_lost_after_the_timeout)
{
    struct stop stop;
    struct jd_agent_spec spec = make_spec(1, 2);
    start_service(2, &secret_auth);
    spec.heartbeat_timeout = 0.3;
    open_agent(&first, &spec);
    meet_for(&first, 30); /* it may be lost again already */
    stop_loop(home.loop, &stop);
    await_lost(&first);
    let_go_on(&stop); /* what comes now is too late */
    flush_loop(home.loop);
    flush_loop(first.loop);
    ck_assert_ptr_nonnull(strstr(first.why, "no sign of life for "));
    ck_assert_int_eq(get_key(&first, "a", 0, 0), JD_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(jd_error_message(), "no sign of life for "));
    stop_service();
    flush_loop(first.loop);
    ck_assert_int_eq(get_key(&first, "a", 0, 0), JD_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(jd_error_message(), "no sign of life for "));
    ck_assert_int_eq(first.num_lost, 1);
    close_agent(&first);
}
END_TEST

static double last_heard(struct process *p)
{
    pthread_mutex_lock(&p->agent->lock);
    double heard = p->agent->heard;
    pthread_mutex_unlock(&p->agent->lock);
    return heard;
}

/* Nothing else is said: the service answers heartbeats, which come every tenth
 * of the timeout. */
START_TEST(heartbeats_keep_both_alive)
{
    struct jd_agent_spec spec = make_spec(1, 2);
    start_service(2, &secret_auth);
    spec.heartbeat_timeout = 5;
    open_agent(&first, &spec);
    UNIT_OK(meet_for(&first, 30));
    for (int i = 0; i < 3; i++) {
        double before = last_heard(&first);
        while (last_heard(&first) == before)
            sched_yield();
    }
    end();
}
END_TEST

/* ---- coming back ------------------------------------------------------- */

/* This process's end of the connection to the port, or -1. */
static int find_connection(int port)
{
    for (int fd = 3; fd < 200; fd++) {
        struct sockaddr_in address = { .sin_family = AF_UNSPEC };
        socklen_t length = sizeof address;
        if (getpeername(fd, (struct sockaddr *)&address, &length) == 0 &&
            address.sin_family == AF_INET && ntohs(address.sin_port) == port)
            return fd;
    }
    return -1;
}

static void lose_connection(void *agent)
{
    jd__agent_link_hooks.on_closed(agent, ETIMEDOUT, NULL);
}

/* The service does not hear of it: a copy keeps the connection open. */
static int cut(struct process *p)
{
    int fd = find_connection(home.port);
    ck_assert_int_ge(fd, 0);
    int copy = dup(fd);
    jd__loop_run(p->loop, lose_connection, p->agent);
    return copy;
}

static void *add_once(void *arg)
{
    int64_t sum;
    return (void *)(intptr_t)(add_to(arg, "n", 1, &sum) == JD_OK ? sum : -1);
}

START_TEST(calls_under_way_are_answered_once)
{
    for (int round = 0; round < 20; round++) {
        pthread_t threads[THREADS];
        struct stop stop;
        int64_t total = 0;
        begin(2);
        stop_loop(home.loop, &stop);
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, add_once, &first);
        await_pending(&first, THREADS);
        int copy = cut(&first);
        let_go_on(&stop);
        for (int i = 0; i < THREADS; i++) {
            void *sum;
            pthread_join(threads[i], &sum);
            total += (intptr_t)sum;
        }
        ck_assert_int_eq(total, THREADS * (THREADS + 1) / 2);
        ck_assert_int_eq(sum_of(&first, "n"), THREADS);
        close(copy);
        end();
    }
}
END_TEST

/* Before it is let in again nothing is said, not even that a wait is over. */
START_TEST(a_deadline_may_pass_while_it_comes_back)
{
    struct stop stop;
    begin(2);
    stop_loop(home.loop, &stop);
    int copy = cut(&first);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(get_key(&first, "a", -1, 0.02), JD_DEADLINE_EXCEEDED);
    let_go_on(&stop);
    close(copy);
    end();
}
END_TEST

START_TEST(it_comes_back_to_no_other_service)
{
    int port = unused_port();
    struct stop stop;
    start_service_at(2, &secret_auth, port);
    enter(&first, 1, 2);
    stop_loop(first.loop, &stop);
    stop_service();
    start_service_at(2, &secret_auth, port);
    jd__loop_call(first.loop, lose_connection, first.agent);
    let_go_on(&stop);
    await_lost(&first);
    if (!strstr(first.why, "closed without shutdown")) /* which came first */
        ck_assert_str_eq(first.why,
                         "it does not let us back in: it was connected to "
                         "another start of this service, which is gone; it "
                         "should end");
    close_agent(&first);
    stop_service();
}
END_TEST

/* ---- nothing is left --------------------------------------------------- */

START_TEST(nothing_is_left_after_many_rounds)
{
    int64_t sum;
    begin(2);
    end();
    int fds = count_entries("/proc/self/fd");
    for (int i = 0; i < 1000; i++) {
        begin(2);
        enter(&other, 0, 2);
        if (i % 2)
            UNIT_OK(add_to(&first, "n", 1, &sum));
        if (i % 3)
            close_agent(&other);
        close_agent(&first);
        stop_service();
        if (i % 3 == 0)
            close_agent(&other);
    }
    ck_assert_int_eq(count_entries("/proc/self/fd"), fds);
    while (count_threads() > 0)
        sched_yield(); /* the kernel shows them a moment longer */
}
END_TEST

static void add_meeting(Suite *suite)
{
    TCase *tcase = unit_case(suite, "meeting");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, who_knows_the_secret_is_let_in);
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
    tcase_add_test(tcase, where_nobody_listens_the_next_address_is_tried);
    tcase_add_test(tcase,
                   where_something_else_answers_the_next_address_is_tried);
    tcase_add_test(tcase, a_service_may_come_up_late);
    tcase_add_test(tcase, a_false_service_is_refused);
    tcase_add_test(tcase, the_own_connection_is_the_agents);
    tcase_add_test(tcase, process_0_has_a_connection_within_the_process);
}

static void add_calls(Suite *suite)
{
    TCase *tcase = unit_case(suite, "calls");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, threads_call_at_once);
    tcase_add_test(tcase, the_service_keeps_deadlines);
    tcase_add_test(tcase, a_wait_of_no_time_is_answered_at_once);
    tcase_add_test(tcase, a_service_that_does_not_answer_is_named);
    tcase_add_test(tcase, an_answer_that_has_come_is_heard_at_the_deadline);
    tcase_add_test(tcase, a_long_wait_says_for_whom);
    tcase = unit_case(suite, "the service goes");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, the_services_death_ends_calls);
    tcase_add_test(tcase, the_services_death_is_told_before_calls_end);
    tcase_add_test(tcase, an_end_that_is_expected_is_no_news);
    tcase_add_test(tcase, a_silent_service_is_lost_after_the_timeout);
    tcase_add_test(tcase, heartbeats_keep_both_alive);
    tcase = unit_case(suite, "coming back");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, calls_under_way_are_answered_once);
    tcase_add_test(tcase, a_deadline_may_pass_while_it_comes_back);
    tcase_add_test(tcase, it_comes_back_to_no_other_service);
    tcase = unit_case(suite, "what is left");
    tcase_set_timeout(tcase, 110);
    tcase_add_test(tcase, nothing_is_left_after_many_rounds);
}

int main(void)
{
    Suite *suite = suite_create("agent");
    add_meeting(suite);
    add_calls(suite);
    return unit_main(suite);
}
