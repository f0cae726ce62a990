/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_own_ranges.c - the program's own ranges in its ring. The threads' stacks
 * are the process's: Check gives each test a process of its own.
 */
#include "runtime/recorder/own_ranges.h"
#include "base/clock.h"
#include "jd_trace.h"
#include "runtime/recorder/recorder.h"
#include "runtime/recorder/trace.h"
#include "runtime/recorder/trace.pb-c.h"
#include "tests/unit/unit.h"

#include <pthread.h>

static struct jd_ring ring;

static void setup(void)
{
    jd__ring_init(&ring, 7, "boot");
    jd__own_ranges_begin_world();
}

static struct jd_own_range read_range(uint64_t number)
{
    struct jd_own_range range;
    ck_assert(jd__own_ranges_read(&ring, number, &range));
    return range;
}

static void begin(const char *name)
{
    UNIT_OK(jd__own_ranges_begin(&ring, name));
}

static void end(void)
{
    UNIT_OK(jd__own_ranges_end(&ring));
}

static void expect_unbalanced(void)
{
    UNIT_FAILS(jd__own_ranges_end(&ring), JD_FAILED_PRECONDITION,
               "jd_trace_end: this thread has begun no range that is not "
               "ended; call jd_trace_begin() before, on the same thread");
}

/* ---- what is recorded --------------------------------------------------- */

START_TEST(ranges_are_within_one_another)
{
    double before = jd__clock_now();
    begin("step");
    begin("forward");
    ck_assert_uint_eq(read_range(2).end, 0);
    end();
    end();
    struct jd_own_range outer = read_range(1), inner = read_range(2);
    ck_assert_str_eq(ring.own_names[outer.name].text, "step");
    ck_assert_str_eq(ring.own_names[inner.name].text, "forward");
    ck_assert_uint_eq(outer.depth, 0);
    ck_assert_uint_eq(inner.depth, 1);
    ck_assert(outer.begin >= (uint64_t)(before * 1e9));
    ck_assert(outer.begin <= inner.begin && inner.begin <= inner.end);
    ck_assert(inner.end <= outer.end);
    ck_assert(outer.end <= (uint64_t)(jd__clock_now() * 1e9));
    expect_unbalanced();
}
END_TEST

START_TEST(a_name_is_copied_and_kept_once)
{
    char name[] = "forward";
    begin(name);
    end();
    strcpy(name, "another");
    begin("forward");
    end();
    ck_assert_uint_eq(read_range(1).name, read_range(2).name);
    ck_assert_str_eq(ring.own_names[read_range(1).name].text, "forward");
}
END_TEST

START_TEST(one_that_lasts_long_is_written_anew)
{
    struct jd_own_range range;
    begin("epoch");
    uint64_t from = read_range(1).begin;
    for (int i = 0; i < JD_RING_OWN_RANGES; i++) {
        begin("step");
        end();
    }
    ck_assert(!jd__own_ranges_read(&ring, 1, &range));
    end();
    range = read_range(JD_RING_OWN_RANGES + 2);
    ck_assert_str_eq(ring.own_names[range.name].text, "epoch");
    ck_assert_uint_eq(range.begin, from);
    ck_assert_uint_eq(range.depth, 0);
    ck_assert(range.end >= read_range(JD_RING_OWN_RANGES + 1).end);
}
END_TEST

static void *begin_own(void *unused)
{
    expect_unbalanced(); /* the other's is not this one's */
    begin("read");
    end();
    return unused;
}

START_TEST(each_thread_has_its_own)
{
    pthread_t thread;
    begin("step");
    pthread_create(&thread, NULL, begin_own, NULL);
    pthread_join(thread, NULL);
    end();
    ck_assert_uint_eq(read_range(2).depth, 0);
    ck_assert_uint_ne(read_range(1).thread, read_range(2).thread);
}
END_TEST

START_TEST(another_world_has_no_open_range)
{
    begin("step");
    jd__own_ranges_begin_world();
    expect_unbalanced();
}
END_TEST

START_TEST(a_copy_has_them)
{
    static struct jd_ring copy;
    struct jd_own_range range;
    begin("step");
    end();
    jd__ring_copy(&copy, &ring);
    ck_assert(jd__own_ranges_read(&copy, 1, &range));
    ck_assert_str_eq(copy.own_names[range.name].text, "step");
    UNIT_OK(jd__own_ranges_begin(&copy, "next"));
    ck_assert(jd__own_ranges_read(&copy, 2, &range));
}
END_TEST

START_TEST(a_message_has_them)
{
    struct jd_trace_about about = { .job = "", .host = "", .end = "" };
    size_t size;
    begin("step");
    begin("forward");
    end();
    void *bytes = jd__trace_pack(&ring, &about, &size);
    Jd__Trace *trace = jd__trace__unpack(NULL, size, bytes);
    const Jd__TraceOwnRanges *ranges = trace->own_ranges;
    ck_assert_uint_eq(ranges->n_name, 2);
    ck_assert_str_eq(ranges->names[ranges->name[0]], "step");
    ck_assert_str_eq(ranges->names[ranges->name[1]], "forward");
    ck_assert_uint_eq(ranges->depth[1], 1);
    ck_assert_int_eq(ranges->end_ns[0], 0);
    ck_assert_int_eq(ranges->begin_ns[1], (int64_t)read_range(2).begin);
    ck_assert_int_eq(ranges->end_ns[1], (int64_t)read_range(2).end);
    jd__trace__free_unpacked(trace, NULL);
    free(bytes);
}
END_TEST

/* ---- what is refused ---------------------------------------------------- */

START_TEST(a_range_has_a_name)
{
    char name[JD_RING_OWN_BYTES + 1];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    UNIT_FAILS(jd__own_ranges_begin(&ring, NULL), JD_INVALID_ARGUMENT,
               "jd_trace_begin: name is NULL; give the range a name of 1 to 63 "
               "bytes");
    UNIT_FAILS(jd__own_ranges_begin(&ring, ""), JD_INVALID_ARGUMENT,
               "jd_trace_begin: name is \"\"; give the range a name of 1 to 63 "
               "bytes");
    UNIT_FAILS(
        jd__own_ranges_begin(&ring, name), JD_INVALID_ARGUMENT,
        "jd_trace_begin: the name "
        "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xx\" is 64 bytes long, and a range's has 63 at most; choose a "
        "shorter one");
    expect_unbalanced();
    ck_assert_uint_eq(ring.own_count, 0);
    begin(name + 1);
}
END_TEST

START_TEST(they_are_not_endlessly_deep)
{
    for (int i = 0; i < JD_OWN_RANGES_DEPTH - 1; i++)
        begin("outer");
    begin("inner");
    UNIT_FAILS(jd__own_ranges_begin(&ring, "more"), JD_RESOURCE_EXHAUSTED,
               "jd_trace_begin: this thread has 32 ranges within one another, "
               "and \"more\" would be one more, within \"inner\"; end one by "
               "jd_trace_end() before");
    ck_assert_uint_eq(ring.own_count, JD_OWN_RANGES_DEPTH);
    end();
    begin("more");
}
END_TEST

START_TEST(so_many_names_are_kept)
{
    char name[20];
    for (int i = 0; i < JD_RING_OWN_NAMES; i++) {
        snprintf(name, sizeof name, "step %d", i);
        begin(name);
        end();
    }
    UNIT_FAILS(jd__own_ranges_begin(&ring, "one more"), JD_RESOURCE_EXHAUSTED,
               "jd_trace_begin: \"one more\" would be name 257 of this "
               "process's ranges, and 256 are kept; give ranges of one kind "
               "the same name, without a number in it");
    ck_assert_uint_eq(ring.own_count, JD_RING_OWN_NAMES);
    begin("step 0");
    end();
    ck_assert_str_eq(
        ring.own_names[read_range(JD_RING_OWN_NAMES + 1).name].text, "step 0");
}
END_TEST

START_TEST(without_a_recorder_nothing_is_recorded)
{
    jd__recorder_configure(false, false);
    UNIT_OK(jd__recorder_begin_range("step"));
    UNIT_OK(jd__recorder_end_range());
    UNIT_OK(jd__recorder_end_range());
    UNIT_FAILS(jd__recorder_begin_range(NULL), JD_INVALID_ARGUMENT,
               "jd_trace_begin: name is NULL; give the range a name of 1 to 63 "
               "bytes");
    jd__recorder_configure(true, false);
    ck_assert_uint_eq(jd__recorder_own()->own_count, 0);
    UNIT_OK(jd__recorder_begin_range("step"));
    ck_assert_uint_eq(jd__recorder_own()->own_count, 1);
}
END_TEST

START_TEST(outside_of_a_world_there_are_none)
{
    UNIT_FAILS(jd_trace_begin("step"), JD_FAILED_PRECONDITION,
               "jd_trace_begin: ranges are recorded between jd_initialize() "
               "and jd_shutdown(), and this is outside of them; call "
               "jd_initialize() before");
    UNIT_FAILS(jd_trace_end(), JD_FAILED_PRECONDITION,
               "jd_trace_end: ranges are recorded between jd_initialize() and "
               "jd_shutdown(), and this is outside of them; call "
               "jd_initialize() before");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("own_ranges");
    TCase *recorded = unit_case(suite, "recorded");
    tcase_add_checked_fixture(recorded, setup, NULL);
    tcase_add_test(recorded, ranges_are_within_one_another);
    tcase_add_test(recorded, a_name_is_copied_and_kept_once);
    tcase_add_test(recorded, one_that_lasts_long_is_written_anew);
    tcase_add_test(recorded, each_thread_has_its_own);
    tcase_add_test(recorded, another_world_has_no_open_range);
    tcase_add_test(recorded, a_copy_has_them);
    tcase_add_test(recorded, a_message_has_them);
    TCase *refused = unit_case(suite, "refused");
    tcase_add_checked_fixture(refused, setup, NULL);
    tcase_add_test(refused, a_range_has_a_name);
    tcase_add_test(refused, they_are_not_endlessly_deep);
    tcase_add_test(refused, so_many_names_are_kept);
    tcase_add_test(refused, without_a_recorder_nothing_is_recorded);
    tcase_add_test(refused, outside_of_a_world_there_are_none);
    return unit_main(suite);
}
