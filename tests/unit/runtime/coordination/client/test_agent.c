/* SPDX-License-Identifier: BSD-3-Clause */
/* test_agent.c - agents in touch with the service over real sockets: calls, its
 * end, and coming back. */
#include "base/progress.h"
#include "runtime/coordination/client/call.h"
#include "tests/unit/agent_pair.h"
#include "tests/unit/set_clock.h"

#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>

/* ---- calls -------------------------------------------------------------- */

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
        jd__loop_catch_up(home.loop); /* it was asked, */
        jd__loop_catch_up(home.loop); /* and has answered */
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

/* ---- the service goes --------------------------------------------------- */

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
    jd__loop_catch_up(first.loop);
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
    jd__loop_catch_up(first.loop);
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
    spec.clock = &set_clock;
    open_agent(&first, &spec);
    UNIT_OK(jd__agent_meet(first.agent, SET_CLOCK_BEGIN + 30));
    stop_loop(home.loop, &stop);
    set_clock_to(SET_CLOCK_BEGIN + 0.3125);
    await_lost(&first);
    let_go_on(&stop); /* what comes now is too late */
    jd__loop_catch_up(home.loop);
    jd__loop_catch_up(first.loop);
    ck_assert_ptr_nonnull(strstr(first.why, "no sign of life for 0.312 s "));
    ck_assert_int_eq(get_key(&first, "a", 0, 0), JD_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(jd_error_message(), "no sign of life for "));
    stop_service();
    jd__loop_catch_up(first.loop);
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
 * of the timeout by the kernel's clock. By the agent's none passes. */
START_TEST(heartbeats_keep_both_alive)
{
    struct jd_agent_spec spec = make_spec(1, 2);
    start_service(2, &secret_auth);
    spec.heartbeat_timeout = 0.25;
    spec.clock = &set_clock;
    open_agent(&first, &spec);
    UNIT_OK(jd__agent_meet(first.agent, SET_CLOCK_BEGIN + 30));
    for (int i = 1; i <= 8; i++) {
        set_clock_to(SET_CLOCK_BEGIN + 0.125 * i);
        while (last_heard(&first) < SET_CLOCK_BEGIN + 0.125 * i)
            sched_yield();
    }
    end();
}
END_TEST

/* ---- being asked -------------------------------------------------------- */

static atomic_int num_described;

static char *describe(uint64_t number)
{
    char *text;
    atomic_fetch_add(&num_described, 1);
    ck_assert_int_gt(asprintf(&text, "operation %" PRIu64 " at a.c:7", number),
                     0);
    return text;
}

/* What the process says of itself when it is asked contains that. */
static bool says(struct process *p, uint32_t process, const char *words)
{
    Jd__Inquiry inquiry = JD__INQUIRY__INIT;
    struct jd_call call = { .operation = "inquiry", .timeout = 0.05 };
    inquiry.processes = &process;
    inquiry.n_processes = 1;
    UNIT_OK(call_service(p, &call, JD__MESSAGE__BODY_INQUIRY, &inquiry));
    bool has = strstr(call.reply->text, words) != NULL;
    jd__call_finish(&call);
    return has;
}

/* Once for each operation, however often it is asked. */
START_TEST(who_is_asked_says_where_it_is)
{
    char words[64];
    struct jd_agent_spec spec = make_spec(1, 2);
    spec.describe_call = describe;
    start_service(2, &secret_auth);
    open_agent(&first, &spec);
    UNIT_OK(meet_for(&first, 30));
    for (int i = 1; i <= 2; i++) {
        uint64_t number = jd__progress_enter("jd_psum");
        snprintf(words, sizeof words, ": operation %" PRIu64 " at a.c:7",
                 number);
        while (!says(&first, 1, words))
            sched_yield();
        for (int again = 0; again < 3; again++)
            ck_assert(says(&first, 1, words));
        ck_assert_int_eq(atomic_load(&num_described), i);
        jd__progress_leave();
    }
    end();
}
END_TEST

/* ---- coming back -------------------------------------------------------- */

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

/* ---- nothing is left ---------------------------------------------------- */

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

int main(void)
{
    Suite *suite = suite_create("agent");
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
    tcase_add_test(tcase, who_is_asked_says_where_it_is);
    tcase = unit_case(suite, "coming back");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, calls_under_way_are_answered_once);
    tcase_add_test(tcase, a_deadline_may_pass_while_it_comes_back);
    tcase_add_test(tcase, it_comes_back_to_no_other_service);
    tcase = unit_case(suite, "what is left");
    tcase_set_timeout(tcase, 110);
    tcase_add_test(tcase, nothing_is_left_after_many_rounds);
    return unit_main(suite);
}
