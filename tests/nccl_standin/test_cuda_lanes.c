/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_lanes.c - how far a GPU is on a shard's stream, and who looks at
 * that; on the stand-in, with comms that have no communicator. */
#include "streams.h"

#include "base/clock.h"

#include <sched.h>

/* A call that does not end before the gate is opened. */
static void queue_call(struct jd_stream *stream, uint64_t number)
{
    atomic_store(&fake_host.number, number);
    uint64_t begun = jd__lane_begin(&stream->lane, stream->handle);
    queue(stream, &data_comm, JD_ACTIVITY_PSUM);
    jd__lane_end(&stream->lane, stream->handle, begun);
    ck_assert_uint_eq(jd__ring_lane_call(begun), number);
}

/* Of the first call on a stream. */
static uint64_t begun_word(uint64_t number)
{
    return jd__ring_lane_word(number, 1, false);
}

static void await_word(uint64_t word)
{
    while (atomic_load(&fake_host.word) != word)
        sched_yield();
}

/* The thread that looks puts it into the recorder. */
START_TEST(the_gpu_tells_how_far_it_is)
{
    struct jd_stream *stream = make();
    ck_assert_int_gt(stream->lane.number, 0);
    ck_assert_uint_eq(jd__lane_read(&stream->lane), 0);
    queue_call(stream, 7);
    ck_assert_int_eq(fake_host.lane, stream->lane.number);
    await_word(begun_word(7));
    gate_open(&gate);
    await_word(begun_word(7) | 1);
    jd__cuda_streams.destroy(stream, fake_runtime());
    ck_assert_uint_eq(fake_host.word, begun_word(7) | 1);
}
END_TEST

START_TEST(a_deadline_says_which_call_the_gpu_is_in)
{
    struct jd_stream *stream = make();
    fake_host.timeout = 0.5;
    queue_call(stream, 7);
    await_word(begun_word(7));
    UNIT_FAILS(synchronize(stream), JD_DEADLINE_EXCEEDED,
               "jd_shard_synchronize of jd_psum over axis \"data\": process 1 "
               "has waited for 0,2,3, its GPU is in call 7");
    gate_open(&gate);
}
END_TEST

/* Nobody waits in jd. */
START_TEST(a_call_that_does_not_end_ends_the_job)
{
    struct jd_stream *stream = make();
    fake_host.timeout = 0.5;
    queue_call(stream, 7);
    while (!atomic_load(&fake_host.aborts))
        sched_yield();
    ck_assert_str_eq(fake_host.log,
                     "the GPU's work of jd_psum over axis \"data\": process 1 "
                     "has waited for 0,2,3, its GPU is in call 7");
    gate_open(&gate);
    jd__cuda_streams.destroy(stream, fake_runtime());
}
END_TEST

/* Who waits in jd says so himself, and a call in pieces goes on. */
START_TEST(a_call_that_goes_on_is_left_alone)
{
    struct jd_stream *stream = make();
    fake_host.timeout = 1.5;
    double begin = jd__clock_now();
    while (jd__clock_now() - begin < 3) {
        queue_call(stream, 7);
        await_word(jd__ring_lane_word(7, stream->lane.serial, false));
        gate_open(&gate);
        UNIT_OK(synchronize(stream));
    }
    ck_assert_int_eq(fake_host.aborts, 0);
    jd__cuda_streams.destroy(stream, fake_runtime());
}
END_TEST

/* The world has ended, and its memory with it. */
START_TEST(after_the_end_nobody_looks)
{
    struct jd_stream *stream = make();
    fake_host.timeout = 0.1;
    queue_call(stream, 7);
    await_word(begun_word(7));
    jd__cuda_source.leave();
    gate_open(&gate);
    while (jd__lane_read(&stream->lane) != (begun_word(7) | 1))
        sched_yield();
    ck_assert_uint_eq(fake_host.word, begun_word(7));
    ck_assert_int_eq(fake_host.aborts, 0);
    jd__cuda_streams.destroy(stream, fake_runtime());
    ck_assert_uint_eq(fake_host.word, begun_word(7) | 1);
}
END_TEST

/* Of calls before and after nothing is claimed: the begin is written by then.
 */
START_TEST(a_driver_that_cannot_write_is_not_asked_again)
{
    setenv("STANDIN_FAIL", "cuStreamWriteValue64:2:801", 1);
    start();
    struct jd_stream *stream = make();
    atomic_store(&fake_host.number, 7);
    uint64_t begun = jd__lane_begin(&stream->lane, stream->handle);
    ck_assert_uint_eq(begun, begun_word(7));
    jd__lane_end(&stream->lane, stream->handle, begun);
    ck_assert_int_eq(fake_host.lane, 0);
    UNIT_OK(synchronize(stream));
    ck_assert_uint_eq(jd__lane_read(&stream->lane), JD_RING_LANE_UNKNOWN);
    await_word(JD_RING_LANE_UNKNOWN);
    ck_assert_uint_eq(jd__lane_begin(&stream->lane, stream->handle), 0);
    GOOD(cudaGetLastError());
    jd__cuda_streams.destroy(stream, fake_runtime());
    ck_assert_uint_eq(fake_host.word, JD_RING_LANE_UNKNOWN);
}
END_TEST

static void expect_no_lane(void)
{
    start();
    struct jd_stream *stream = make();
    ck_assert_int_eq(stream->lane.number, 0);
    ck_assert_uint_eq(jd__lane_begin(&stream->lane, stream->handle), 0);
    ck_assert_uint_eq(jd__lane_read(&stream->lane), 0);
    jd__cuda_streams.destroy(stream, fake_runtime());
    GOOD(cudaGetLastError());
}

START_TEST(a_driver_without_it_is_none)
{
    setenv("STANDIN_WITHOUT", "cuStreamWriteValue64", 1);
    expect_no_lane();
}
END_TEST

START_TEST(memory_that_cannot_be_mapped_is_none)
{
    setenv("STANDIN_FAIL",
           _i ? "cudaHostGetDevicePointer:1:1" : "cudaHostRegister:1:801", 1);
    expect_no_lane();
}
END_TEST

/* More streams than the recorder tells apart. */
START_TEST(lanes_are_given_again)
{
    enum { COUNT = JD_RING_LANES + 1 };
    struct jd_stream *streams[COUNT];
    for (int i = 0; i < COUNT; i++) {
        streams[i] = make();
        ck_assert_int_eq(streams[i]->lane.number, (i + 1) % COUNT);
    }
    atomic_store(&fake_host.word, 99);
    jd__cuda_streams.destroy(streams[5], fake_runtime());
    ck_assert_uint_eq(fake_host.word, 99); /* nothing was told there */
    streams[5] = make();
    ck_assert_int_eq(streams[5]->lane.number, 6);
    for (int i = 0; i < COUNT; i++)
        jd__cuda_streams.destroy(streams[i], fake_runtime());
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("cuda lanes");
    TCase *tcase = unit_case(suite, "looked at");
    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_add_test(tcase, the_gpu_tells_how_far_it_is);
    tcase_add_test(tcase, a_deadline_says_which_call_the_gpu_is_in);
    tcase_add_test(tcase, a_call_that_does_not_end_ends_the_job);
    tcase_add_test(tcase, a_call_that_goes_on_is_left_alone);
    tcase_add_test(tcase, after_the_end_nobody_looks);
    tcase_add_test(tcase, lanes_are_given_again);
    tcase = unit_case(suite, "not started");
    tcase_add_test(tcase, a_driver_that_cannot_write_is_not_asked_again);
    tcase_add_test(tcase, a_driver_without_it_is_none);
    tcase_add_loop_test(tcase, memory_that_cannot_be_mapped_is_none, 0, 2);
    return suite;
}

int main(void)
{
    return unit_main(make_suite());
}
