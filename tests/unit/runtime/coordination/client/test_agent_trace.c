/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_agent_trace.c - an agent shows what the processes of its host have
 * called, part by part: here bytes that tell where they are from.
 */
#include "tests/unit/agent.h"

#include <stdatomic.h>

/* ---- helpers ------------------------------------------------------------ */

enum { PLACES = 3, SIZE = 2 * JD_WIRE_TRACE_PART + 1000 };

static struct process first;
static atomic_int calls; /* of show() */
static sem_t may_go;
static bool holds; /* show() waits until it may go on */

static uint8_t byte_of(int place, int call, size_t at)
{
    return (uint8_t)(place * 50 + call * 10 + (int)(at / 1000));
}

/* The last place has nothing, as where nobody has that ring. */
static void *show(int place, int *ret_places, size_t *ret_size)
{
    uint8_t *bytes = place < PLACES - 1 ? malloc(SIZE) : NULL;
    calls++;
    if (holds)
        sem_wait(&may_go);
    for (size_t i = 0; bytes && i < SIZE; i++)
        bytes[i] = byte_of(place, calls, i);
    *ret_places = PLACES;
    *ret_size = bytes ? SIZE : 0;
    return bytes;
}

static void *show_nothing(int place, int *ret_places, size_t *ret_size)
{
    (void)place;
    *ret_places = 0;
    *ret_size = 0;
    return NULL;
}

static void *show_without_memory(int place, int *ret_places, size_t *ret_size)
{
    (void)place;
    *ret_places = PLACES;
    *ret_size = 1;
    return NULL;
}

static void begin_with(void *(*shows)(int, int *, size_t *))
{
    start_service(2, &secret_auth);
    struct jd_agent_spec spec = make_spec(1, 2);
    spec.show_trace = shows;
    calls = 0;
    sem_init(&may_go, 0, 0);
    open_agent(&first, &spec);
    UNIT_OK(meet_for(&first, 30));
}

static void begin(void)
{
    begin_with(show);
}

static void end(void)
{
    ck_assert_int_eq(first.num_lost, 0);
    close_agent(&first);
    stop_service();
}

/* The process asks about itself. */
static jd_status ask(struct jd_call *call, int place, size_t offset)
{
    Jd__TraceOf body = JD__TRACE_OF__INIT;
    body.process = 1;
    body.place = (uint32_t)place;
    body.offset = offset;
    *call = (struct jd_call){ .operation = "calls", .timeout = 30 };
    return call_service(&first, call, JD__MESSAGE__BODY_TRACE_OF, &body);
}

/* So many bytes from there on, of what that call of show() has made. */
static void expect_part(int place, size_t offset, size_t bytes, int of)
{
    struct jd_call call;
    UNIT_OK(ask(&call, place, offset));
    const Jd__TracePart *part = call.reply->trace;
    ck_assert_ptr_nonnull(part);
    ck_assert_uint_eq(part->places, PLACES);
    ck_assert_uint_eq(part->size, place < PLACES - 1 ? SIZE : 0);
    ck_assert_uint_eq(part->bytes.len, bytes);
    for (size_t i = 0; i < bytes; i++)
        ck_assert_uint_eq(part->bytes.data[i], byte_of(place, of, offset + i));
    jd__call_finish(&call);
}

static void expect_refusal(int place, size_t offset, jd_status status,
                           const char *text)
{
    struct jd_call call;
    UNIT_FAILS(ask(&call, place, offset), status, text);
    jd__call_finish(&call);
}

#define GONE                                                                   \
    "calls: process 1 (train, pid 101 on h0): the trace of which that is a "   \
    "part is not kept any more; ask for it from its begin"

/* ---- parts -------------------------------------------------------------- */

START_TEST(a_trace_comes_in_parts_of_one_moment)
{
    begin();
    expect_part(0, 0, JD_WIRE_TRACE_PART, 1);
    expect_part(0, JD_WIRE_TRACE_PART, JD_WIRE_TRACE_PART, 1);
    expect_part(0, 2 * JD_WIRE_TRACE_PART, 1000, 1);
    expect_part(1, 0, JD_WIRE_TRACE_PART, 2);
    expect_part(1, SIZE - 1, 1, 2);
    expect_part(2, 0, 0, 3);
    ck_assert_int_eq(calls, 3);
    end();
}
END_TEST

START_TEST(what_was_read_to_its_end_is_not_kept)
{
    begin();
    expect_part(0, 0, JD_WIRE_TRACE_PART, 1);
    expect_part(0, SIZE - 1000, 1000, 1);
    expect_refusal(0, JD_WIRE_TRACE_PART, JD_ABORTED, GONE);
    expect_part(0, 0, JD_WIRE_TRACE_PART, 2); /* and anew */
    end();
}
END_TEST

START_TEST(a_part_of_nothing_is_refused)
{
    begin();
    expect_refusal(0, 1, JD_ABORTED, GONE);
    expect_part(0, 0, JD_WIRE_TRACE_PART, 1);
    expect_refusal(1, 1, JD_ABORTED, GONE);
    expect_refusal(0, SIZE, JD_ABORTED, GONE);
    expect_refusal(0, SIZE_MAX, JD_ABORTED, GONE);
    expect_part(0, SIZE - 1, 1, 1);
    expect_part(PLACES, 0, 0, 2);
    expect_part(INT32_MAX, 0, 0, 3);
    end();
}
END_TEST

START_TEST(why_there_is_none_is_said)
{
    begin_with(show_nothing);
    expect_refusal(
        0, 0, JD_FAILED_PRECONDITION,
        "calls: process 1 (train, pid 101 on h0): it records nothing "
        "(JD_RECORDER=0), or has not come so far in jd_initialize");
    end();
    begin_with(show_without_memory);
    expect_refusal(0, 0, JD_RESOURCE_EXHAUSTED,
                   "calls: process 1 (train, pid 101 on h0): it has no memory "
                   "to show what it has called");
    end();
    begin_with(NULL);
    expect_refusal(0, 0, JD_FAILED_PRECONDITION,
                   "calls: process 1 (train, pid 101 on h0): it shows nothing");
    end();
}
END_TEST

/* ---- beside the loop ---------------------------------------------------- */

static void *ask_one(void *unused)
{
    (void)unused;
    expect_part(0, 0, JD_WIRE_TRACE_PART, 1);
    return NULL;
}

/* While one is made, the agent is asked and answers other things. */
START_TEST(the_agent_goes_on_meanwhile)
{
    pthread_t asker;
    holds = true;
    begin();
    ck_assert_int_eq(pthread_create(&asker, NULL, ask_one, NULL), 0);
    for (int i = 0; i < 3; i++) {
        Jd__Inquiry body = JD__INQUIRY__INIT;
        struct jd_call call = { .operation = "table", .timeout = 30 };
        UNIT_OK(call_service(&first, &call, JD__MESSAGE__BODY_INQUIRY, &body));
        jd__call_finish(&call);
    }
    sem_post(&may_go);
    pthread_join(asker, NULL);
    holds = false;
    end();
}
END_TEST

static void *let_go(void *unused)
{
    (void)unused;
    sem_post(&may_go);
    return NULL;
}

/* What is being made is waited for, as it reads memory that may go then. */
START_TEST(an_agent_that_goes_waits_for_it)
{
    pthread_t other;
    holds = true;
    begin();
    Jd__TraceOf asked = JD__TRACE_OF__INIT;
    Jd__Message message = JD__MESSAGE__INIT;
    asked.process = 1;
    message.id = 1000;
    message.timeout_ms = 30000;
    message.body_case = JD__MESSAGE__BODY_TRACE_OF;
    message.trace_of = &asked;
    ck_assert(jd__agent_tell(first.agent, &message));
    while (atomic_load(&calls) == 0)
        jd__loop_catch_up(first.loop);
    ck_assert_int_eq(pthread_create(&other, NULL, let_go, NULL), 0);
    end();
    pthread_join(other, NULL);
    holds = false;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_trace");
    TCase *tcase = unit_case(suite, "parts");
    tcase_add_test(tcase, a_trace_comes_in_parts_of_one_moment);
    tcase_add_test(tcase, what_was_read_to_its_end_is_not_kept);
    tcase_add_test(tcase, a_part_of_nothing_is_refused);
    tcase_add_test(tcase, why_there_is_none_is_said);
    tcase = unit_case(suite, "beside the loop");
    tcase_add_test(tcase, the_agent_goes_on_meanwhile);
    tcase_add_test(tcase, an_agent_that_goes_waits_for_it);
    return unit_main(suite);
}
