/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_boxes.c - copies of boxes on the cuda platform: between any two
 * sides, in how many steps, and queued on a shard's stream; on the stand-in.
 */
#include "fake_host.h"
#include "test_cuda.h"

#include "collectives/cuda/memory.h"
#include "collectives/cuda/stream.h"

/* A box of 3 x 4 x 5 bytes in a block of 6 x 7 x 8. */
enum { LONG = 6 * 7 * 8 };
static const size_t box[] = { 3, 4, 5 };

static const struct jd_device_memory *const memory_of = &jd__cuda_memory;
static struct gate gate;

static char *take_on(int ordinal)
{
    void *memory = NULL;
    UNIT_OK(
        memory_of->alloc(fake_runtime(), fake_device(ordinal), LONG, &memory));
    return memory;
}

static struct jd_stream *make_jd_stream(void)
{
    struct jd_stream *stream;
    UNIT_OK(jd__cuda_streams.create(fake_runtime(), fake_device(0), &stream));
    return stream;
}

/* From a corner to one byte on in each dimension. */
static struct jd_nest box_of(char *to, const char *from)
{
    return (struct jd_nest){
        .rows = { to + 56 + 8 + 1, from, 8, 8, box[2], box[1] },
        .num_loops = 1,
        .loops = { { box[0], 56, 56 } },
    };
}

static char value_of(size_t x, size_t y, size_t z)
{
    return (char)(x * 56 + y * 8 + z + 1);
}

/* What the block at `to` is after the copy. */
static bool is_copied(const char *to)
{
    for (size_t i = 0; i < LONG; i++) {
        size_t x = i / 56 - 1, y = i / 8 % 7 - 1, z = i % 8 - 1;
        bool is_inside = x < box[0] && y < box[1] && z < box[2];
        if (to[i] != (is_inside ? value_of(x, y, z) : 0))
            return false;
    }
    return true;
}

static void fill(char *block)
{
    for (size_t i = 0; i < LONG; i++)
        block[i] = (char)(i + 1);
}

static char *take_filled(int ordinal)
{
    char host[LONG], *memory = take_on(ordinal);
    fill(host);
    UNIT_OK(memory_of->copy(memory, host, LONG));
    return memory;
}

static void expect_copied(const char *to)
{
    char there[LONG];
    UNIT_OK(memory_of->copy(there, to, LONG));
    ck_assert(is_copied(there));
}

START_TEST(between_any_two_sides)
{
    char *first = take_filled(0), *second = take_on(0), *other = take_on(1);
    char host[LONG] = { 0 }, filled[LONG];
    struct jd_nest nest = box_of(second, first);
    UNIT_OK(memory_of->copy_nest(&nest, NULL));
    expect_copied(second);
    nest = box_of(other, first);
    UNIT_OK(memory_of->copy_nest(&nest, NULL));
    expect_copied(other);
    nest = box_of(host, first);
    UNIT_OK(memory_of->copy_nest(&nest, NULL));
    ck_assert(is_copied(host));
    fill(filled);
    second = take_on(0);
    nest = box_of(second, filled);
    UNIT_OK(memory_of->copy_nest(&nest, NULL));
    expect_copied(second);
}
END_TEST

static void start(void)
{
    setenv("STANDIN_DEVICES", "2", 1);
    fake_host_start();
}

/* The event before and the one after, whatever the dimensions; the copy that
 * fills the first block has two. */
START_TEST(a_box_waits_twice)
{
    setenv("STANDIN_FAIL", "cudaEventRecord:5:1", 1);
    start();
    char *first = take_filled(0), *second = take_on(0);
    struct jd_nest nest = box_of(second, first);
    nest.num_loops = 2; /* and once more the same */
    nest.loops[1] = (struct jd_nest_loop){ 3, 0, 0 };
    UNIT_OK(memory_of->copy_nest(&nest, NULL));
    ck_assert_int_eq(memory_of->copy_nest(&nest, NULL), JD_INTERNAL);
    expect_copied(second);
}
END_TEST

/* Behind what is there, and nothing is waited for. */
START_TEST(a_box_of_the_streams_device_is_queued)
{
    struct jd_stream *stream = make_jd_stream();
    char *first = take_filled(0), *second = take_on(0), there[LONG];
    struct jd_nest nest = box_of(second, first);
    gate_close(&gate, stream->handle);
    UNIT_OK(memory_of->copy_nest(&nest, stream));
    UNIT_OK(memory_of->copy(there, second, LONG));
    ck_assert(!is_copied(there));
    gate_open(&gate);
    UNIT_OK(jd__cuda_stream_wait(stream, "wait", NULL));
    expect_copied(second);
    jd__cuda_streams.destroy(stream, fake_runtime());
}
END_TEST

/* A box that comes to the host, or goes to another device, comes after what is
 * on the stream, and is done at the return. */
START_TEST(another_box_waits_for_the_stream)
{
    struct jd_stream *stream = make_jd_stream();
    char *first = take_on(0), host[LONG] = { 0 }, filled[LONG];
    char *sides[] = { host, take_on(1) };
    struct jd_nest nest = box_of(sides[_i], first);
    struct jd_nest in = box_of(first, filled);
    fill(filled);
    in.rows.to = first;
    UNIT_OK(memory_of->copy_nest(&in, NULL));
    fake_host.timeout = 0.05;
    gate_close(&gate, stream->handle);
    ck_assert_int_eq(memory_of->copy_nest(&nest, stream), JD_DEADLINE_EXCEEDED);
    ck_assert_msg(strstr(jd_error_message(), "jd_device_copy"), "%s",
                  jd_error_message());
    gate_open(&gate);
    fake_host.timeout = 10;
    UNIT_OK(memory_of->copy_nest(&nest, stream));
    if (_i == 0)
        ck_assert(is_copied(host));
    else
        expect_copied(sides[1]);
    jd__cuda_streams.destroy(stream, fake_runtime());
}
END_TEST

START_TEST(failures_are_told)
{
    setenv("STANDIN_FAIL", "cudaMemcpy2DAsync:2:1", 1);
    start();
    char *first = take_filled(0), *second = take_on(0);
    struct jd_nest nest = box_of(second, first);
    UNIT_FAILS(memory_of->copy_nest(&nest, NULL), JD_INTERNAL,
               "jd_device_copy: a box's copy failed: cudaErrorInvalidValue "
               "(invalid argument (stand-in))");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda boxes");
    TCase *tcase = unit_case(suite, "boxes");
    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_add_test(tcase, between_any_two_sides);
    tcase_add_test(tcase, a_box_of_the_streams_device_is_queued);
    tcase_add_loop_test(tcase, another_box_waits_for_the_stream, 0, 2);
    tcase = unit_case(suite, "not started");
    tcase_add_test(tcase, a_box_waits_twice);
    tcase_add_test(tcase, failures_are_told);
    return unit_main(suite);
}
