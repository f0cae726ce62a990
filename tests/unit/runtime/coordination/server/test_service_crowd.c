/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_service_crowd.c - the service with 100,000 processes: how many messages
 * and bytes each of them is sent in what all do together. None may be sent what
 * grows with the job. Seconds of CPU time and memory stand on stderr; what
 * costs each a walk over all takes minutes here.
 */
#include "tests/lib/sanitized.h"

#include <malloc.h>
#include <time.h>

#ifndef UNIT_CROWD
#if HAS_ASAN || HAS_TSAN
#define UNIT_CROWD 10000
#else
#define UNIT_CROWD 100000
#endif
#endif

#define UNIT_MAX_PEERS UNIT_CROWD
#define UNIT_MAX_INBOX 1
#include "tests/unit/service_crowd.h"

enum {
    FEW_BYTES = 200, /* of a message that is the same in any job */
    KINDS = 64,
};

/* What was sent since begin(): by the kind of its body, and by whom it went
 * to. */
static struct {
    long messages[KINDS], bytes;
    int failures[COUNT], replies[COUNT];
    bool speaks[COUNT];
    int32_t status; /* the worst of a reply */
    double begun;
} sent;

/* ---- helpers ------------------------------------------------------------ */

static void crowd_send(void *arg, const Jd__Message *message)
{
    struct peer *peer = arg;
    size_t i = (size_t)(peer - peers);
    sent.messages[message->body_case]++;
    sent.bytes += (long)jd__wire_size(message);
    if (crowd_is_let_in(peer, message))
        return;
    if (message->body_case == JD__MESSAGE__BODY_REPLY) {
        sent.replies[i]++;
        sent.status = sent.status ? sent.status : message->reply->status;
    } else if (message->body_case == JD__MESSAGE__BODY_FAILURE) {
        sent.failures[i]++;
        sent.speaks[i] = message->failure->speak;
    }
}

/* CPU time: the machine may be busy with others. */
static double cpu_now(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static void begin(void)
{
    memset(&sent, 0, sizeof sent);
    sent.begun = cpu_now();
}

/* So many messages of that kind were sent for each process, and none that is
 * longer for there being many. */
static void end(const char *what, Jd__Message__BodyCase body, long each)
{
    double seconds = cpu_now() - sent.begun;
    long all = 0;
    for (int i = 0; i < KINDS; i++)
        all += sent.messages[i];
    fprintf(stderr,
            "%d processes: %s: %.3f s, %.2f us, %.2f messages and %.1f bytes "
            "for each, %.2f KiB kept for each\n",
            (int)COUNT, what, seconds, 1e6 * seconds / COUNT,
            (double)all / COUNT, (double)sent.bytes / COUNT,
            (double)(mallinfo2().uordblks + mallinfo2().hblkhd) / COUNT / 1024);
    ck_assert_int_eq(sent.status, JD_OK);
    ck_assert_int_eq(sent.messages[body], each * COUNT);
    ck_assert_int_le(sent.bytes, FEW_BYTES * all);
}

/* The server's own way: after each message it asks what is due. */
static void start_crowd(void)
{
    crowd_start(crowd_send);
    begin();
    for (int i = 0; i < COUNT; i++) {
        crowd_come(i);
        tick();
    }
    end("all come", JD__MESSAGE__BODY_ADMITTED, 1);
    begin();
    for (int i = 0; i < COUNT; i++) {
        join(&peers[i], NO_DEADLINE);
        tick();
    }
    end("all join", JD__MESSAGE__BODY_REPLY, 1);
}

/* ---- what all do together ----------------------------------------------- */

static void pass_a_barrier(void)
{
    begin();
    for (int i = 0; i < COUNT; i++) {
        arrive(&peers[i], "b", 1000);
        tick();
    }
    end("a barrier of all", JD__MESSAGE__BODY_REPLY, 1);
}

static void use_the_store(void)
{
    char key[32];
    begin();
    for (int i = 0; i < COUNT; i++) {
        snprintf(key, sizeof key, "k/%d", i);
        set(&peers[i], key, "a value of thirty-two bytes ...");
    }
    end("each sets a key", JD__MESSAGE__BODY_REPLY, 1);
    begin();
    for (int i = 0; i < COUNT; i++)
        get(&peers[i], "common", 1000);
    set(&peers[0], "common", "x");
    sent.messages[JD__MESSAGE__BODY_REPLY]--; /* of the set */
    end("all wait for one key", JD__MESSAGE__BODY_REPLY, 1);
}

static void beat_all(void)
{
    Jd__Heartbeat body = JD__HEARTBEAT__INIT;
    begin();
    for (int i = 0; i < COUNT; i++) {
        now += 1e-5;
        ask(&peers[i], JD__MESSAGE__BODY_HEARTBEAT, &body, 0);
    }
    tick();
    end("all send a heartbeat", JD__MESSAGE__BODY_REPLY, 1);
}

static void ask_who_lives(void)
{
    Jd__Live body = JD__LIVE__INIT;
    begin();
    for (int i = 0; i < COUNT; i++) {
        ask(&peers[i], JD__MESSAGE__BODY_LIVE, &body, 1000);
        tick();
    }
    end("all ask who lives", JD__MESSAGE__BODY_REPLY, 1);
}

/* As those do who wait in a collective when their notice is due. */
static void ask_what_others_do(void)
{
    uint32_t others[16];
    Jd__Inquiry body = JD__INQUIRY__INIT;
    body.processes = others;
    body.n_processes = 16;
    begin();
    for (int i = 0; i < COUNT; i++) {
        for (uint32_t k = 0; k < 16; k++)
            others[k] = ((uint32_t)i + 1 + k) % COUNT;
        ask(&peers[i], JD__MESSAGE__BODY_INQUIRY, &body, 200);
    }
    now += 0.3;
    tick();
    sent.bytes = 0; /* each is told of eight others by name */
    end("all ask what 16 others do", JD__MESSAGE__BODY_REPLY, 1);
}

static void agree_to_stop(void)
{
    Jd__Preempted preempted = JD__PREEMPTED__INIT;
    Jd__Step step = JD__STEP__INIT;
    Jd__Acknowledge acknowledge = JD__ACKNOWLEDGE__INIT;
    begin();
    for (int i = 0; i < COUNT; i++)
        tell(&peers[i], JD__MESSAGE__BODY_PREEMPTED, &preempted);
    step.round = acknowledge.round = 1;
    for (int i = 0; i < COUNT; i++) {
        tell(&peers[i], JD__MESSAGE__BODY_STEP, &step);
        tick();
    }
    for (int i = 0; i < COUNT; i++) {
        tell(&peers[i], JD__MESSAGE__BODY_ACKNOWLEDGE, &acknowledge);
        tick();
    }
    ck_assert_int_eq(sent.messages[JD__MESSAGE__BODY_PREEMPTION], COUNT);
    end("all agree to stop", JD__MESSAGE__BODY_DECISION, 1);
}

/* ---- a failure ---------------------------------------------------------- */

static int count_told(void)
{
    int told = 0;
    for (int i = 0; i < COUNT; i++)
        told += sent.failures[i];
    return told;
}

/* The server's clock comes at the time that the machine has said; returns the
 * next one. */
static double say_a_turn(double due)
{
    int before = count_told();
    now = due;
    due = tick();
    ck_assert_int_le(count_told() - before, JD_SAID_AT_ONCE + 1);
    return due;
}

/* Between two turns the others are heard, and none of these says more. */
static void hear_another(int i)
{
    Jd__Heartbeat body = JD__HEARTBEAT__INIT;
    int before = count_told(), replies = sent.replies[i];
    now += JD_SAYING_SECONDS / 2;
    ask(&peers[i], JD__MESSAGE__BODY_HEARTBEAT, &body, 0);
    tick();
    ck_assert_int_eq(sent.replies[i], replies + 1);
    ck_assert_int_eq(count_told(), before);
    sent.messages[JD__MESSAGE__BODY_REPLY]--;
}

static void check_fails(int i)
{
    Jd__Report body = JD__REPORT__INIT;
    body.kind = JD__REPORT__KIND__CHECK;
    body.text = (char *)"no";
    ask(&peers[i], JD__MESSAGE__BODY_REPORT, &body, 60000);
}

static void check_speakers(int culprit)
{
    int speakers = 0;
    for (int i = 0; i < COUNT; i++) {
        int lowest = i - i % PER_HOST;
        lowest += lowest == culprit;
        speakers += sent.speaks[i];
        ck_assert(!sent.speaks[i] || i == lowest);
    }
    ck_assert_int_eq(speakers, JD_MAX_SPEAKERS);
}

/* Those who print are the first to hear it, process 0 is the last, and is not
 * answered before either, where it fails itself; and all have heard it within
 * the time that reports allow for it. */
static void tell_of_a_failure(void)
{
    enum { CULPRIT = 2 * PER_HOST };
    begin();
    lose(&peers[CULPRIT], 0);
    double begun = now, due = say_a_turn(tick());
    check_fails(0);
    for (int h = 1; h < JD_MAX_SPEAKERS; h++)
        ck_assert_int_eq(sent.failures[h * PER_HOST + (h == 2)], 1);
    while (!service->has_failed) {
        ck_assert_int_eq(sent.failures[0], 0);
        ck_assert_int_eq(sent.replies[0], 0);
        hear_another(COUNT / 2);
        due = say_a_turn(due);
    }
    ck_assert_int_eq(sent.replies[0], 1);
    sent.messages[JD__MESSAGE__BODY_FAILURE]++; /* of the dead one */
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(sent.failures[i], i != CULPRIT);
    check_speakers(CULPRIT);
    ck_assert(now - begun < 0.1 + COUNT * JD_SAYING_SECONDS / JD_SAID_AT_ONCE);
    end("a failure is told to all", JD__MESSAGE__BODY_FAILURE, 1);
}

START_TEST(none_is_sent_what_grows_with_the_job)
{
    start_crowd();
    pass_a_barrier();
    use_the_store();
    beat_all();
    ask_who_lives();
    ask_what_others_do();
    agree_to_stop();
    tell_of_a_failure();
    finish();
}
END_TEST

/* ---- waits for others, while others leave ------------------------------- */

static void wait_for(int i, int other)
{
    Jd__Blocked body = JD__BLOCKED__INIT;
    uint32_t process = (uint32_t)other;
    body.wait = 1;
    body.operation = (char *)"jd_psum";
    body.processes = &process;
    body.n_processes = 1;
    body.waited_ms = 600;
    body.is_far = true;
    tell(&peers[i], JD__MESSAGE__BODY_BLOCKED, &body);
    tick();
}

/* The lower half waits in a collective for the upper half, which leaves. */
static void leave_half(void)
{
    begin();
    for (int i = 0; i < COUNT / 2; i++)
        wait_for(i, i + COUNT / 2);
    for (int i = COUNT / 2; i < COUNT; i++) {
        leave(&peers[i], false, NO_DEADLINE);
        tick();
    }
    sent.messages[JD__MESSAGE__BODY_LOOK] *= 2;
    end("half wait for the other half, which leaves", JD__MESSAGE__BODY_LOOK,
        1);
}

/* Each of them is told at a barrier that some have left. */
static void come_to_a_barrier_that_some_have_left(void)
{
    begin();
    for (int i = 0; i < COUNT / 2; i++)
        arrive(&peers[i], "b", 1000);
    ck_assert_int_eq(sent.status, JD_ABORTED);
    sent.status = JD_OK;
    sent.messages[JD__MESSAGE__BODY_REPLY] *= 2;
    end("half come to a barrier that the other half has left",
        JD__MESSAGE__BODY_REPLY, 1);
}

START_TEST(those_who_leave_cost_what_they_are_waited_for)
{
    start_crowd();
    leave_half();
    come_to_a_barrier_that_some_have_left();
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service with a crowd");
    TCase *tcase = unit_case(suite, "crowd");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, none_is_sent_what_grows_with_the_job);
    tcase_add_test(tcase, those_who_leave_cost_what_they_are_waited_for);
    return unit_main(suite);
}
