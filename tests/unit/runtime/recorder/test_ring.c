/* SPDX-License-Identifier: BSD-3-Clause */
/* test_ring.c - the last calls of a process, as others read them. */
#include "runtime/recorder/ring.h"
#include "jd_dtype.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

static struct jd_ring ring;

/* All words of a call follow from its number. */
static struct jd_ring_call call_of(uint64_t number)
{
    return (struct jd_ring_call){
        .number = number,
        .site = 3 * number,
        .comm = 5 * number,
        .sequence = 7 * number,
        .count = 11 * number,
        .rest = 13 * number,
        .name = (uint16_t)(number % 100),
        .dtype = (uint8_t)(number % 50),
        .member = (int32_t)(number % 1000),
    };
}

static void write_number(uint64_t number)
{
    struct jd_ring_call call = call_of(number);
    jd__ring_write(&ring, &call);
}

/* Check's assertions write a file each: these are in loops. */
static void expect_whole(const struct jd_ring_call *call)
{
    struct jd_ring_call wanted = call_of(call->number);
    if (call->site != wanted.site || call->comm != wanted.comm ||
        call->sequence != wanted.sequence || call->count != wanted.count ||
        call->rest != wanted.rest || call->name != wanted.name ||
        call->dtype != wanted.dtype || call->member != wanted.member)
        ck_abort_msg("call %llu is of two", (unsigned long long)call->number);
}

static void expect_text(const struct jd_ring_call *call, const char *wanted)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    jd__ring_print(out, &ring, call);
    fclose(out);
    ck_assert_str_eq(text, wanted);
    free(text);
}

static void setup(void)
{
    memset((void *)&ring, 0, sizeof ring);
    jd__ring_init(&ring, 7, "boot");
}

/* ---- calls -------------------------------------------------------------- */

START_TEST(an_empty_one_has_no_call)
{
    struct jd_ring_call call;
    ck_assert(jd__ring_is_valid(&ring));
    ck_assert_uint_eq(jd__ring_last(&ring), 0);
    ck_assert(!jd__ring_read(&ring, 0, &call));
    ck_assert(!jd__ring_read(&ring, 1, &call));
    ring.version++;
    ck_assert(!jd__ring_is_valid(&ring));
}
END_TEST

START_TEST(what_was_written_is_read)
{
    struct jd_ring_call call;
    write_number(1);
    ck_assert(jd__ring_read(&ring, 1, &call));
    expect_whole(&call);
    ck_assert_int_eq(call.state, JD_CALL_ENTERED);
    jd__ring_set_state(jd__ring_entry(&ring, 1), 1, JD_CALL_DONE, JD_ABORTED);
    ck_assert(jd__ring_read(&ring, 1, &call));
    ck_assert_int_eq(call.state, JD_CALL_DONE);
    ck_assert_int_eq(call.status, JD_ABORTED);
}
END_TEST

static int gpu_of(uint64_t number)
{
    struct jd_ring_call call;
    ck_assert(jd__ring_read(&ring, number, &call));
    expect_whole(&call);
    return call.gpu;
}

/* The GPU has begun 2, and then done it; 3 is behind it, 4 elsewhere. */
START_TEST(a_queued_call_is_as_far_as_its_gpu)
{
    for (uint64_t i = 1; i <= 4; i++) {
        write_number(i);
        if (i < 4)
            jd__ring_set_lane(&ring, i, JD_RING_LANES);
    }
    ck_assert_int_eq(gpu_of(1), JD_GPU_QUEUED);
    ck_assert_uint_eq(jd__ring_gpu_call(&ring, JD_RING_LANES), 0);
    ring.lanes[JD_RING_LANES - 1] = jd__ring_lane_word(2, 0x7fff, false);
    ck_assert_int_eq(gpu_of(1), JD_GPU_DONE);
    ck_assert_int_eq(gpu_of(2), JD_GPU_STARTED);
    ck_assert_int_eq(gpu_of(3), JD_GPU_QUEUED);
    ck_assert_int_eq(gpu_of(4), JD_GPU_NONE);
    ck_assert_uint_eq(jd__ring_gpu_call(&ring, JD_RING_LANES), 2);
    ring.lanes[JD_RING_LANES - 1] = jd__ring_lane_word(2, 0x8000, true);
    ck_assert_int_eq(gpu_of(2), JD_GPU_DONE);
    ck_assert_int_eq(gpu_of(3), JD_GPU_QUEUED);
    ck_assert_uint_eq(jd__ring_gpu_call(&ring, JD_RING_LANES), 0);
    ring.lanes[JD_RING_LANES - 1] = JD_RING_LANE_UNKNOWN;
    ck_assert_int_eq(gpu_of(3), JD_GPU_DONE);
    jd__ring_set_lane(&ring, 3, 0);
    ck_assert_int_eq(gpu_of(3), JD_GPU_NONE);
}
END_TEST

START_TEST(the_newest_take_the_place_of_the_oldest)
{
    struct jd_ring_call call;
    const uint64_t count = 2 * JD_RING_CALLS + 100;
    for (uint64_t i = 1; i <= count; i++)
        write_number(i);
    ck_assert_uint_eq(jd__ring_last(&ring), count);
    ck_assert(!jd__ring_read(&ring, count - JD_RING_CALLS, &call));
    for (uint64_t i = count - JD_RING_CALLS + 1; i <= count; i++) {
        if (!jd__ring_read(&ring, i, &call))
            ck_abort_msg("call %d is gone", (int)i);
        expect_whole(&call);
    }
}
END_TEST

START_TEST(a_late_state_is_not_that_of_a_newer_call)
{
    struct jd_ring_call call;
    write_number(1);
    write_number(1 + JD_RING_CALLS);
    jd__ring_set_state(jd__ring_entry(&ring, 1), 1, JD_CALL_DONE, JD_OK);
    ck_assert(jd__ring_read(&ring, 1 + JD_RING_CALLS, &call));
    ck_assert_int_eq(call.state, JD_CALL_ENTERED);
}
END_TEST

START_TEST(a_late_call_does_not_take_the_place_of_a_newer_one)
{
    struct jd_ring_call late = call_of(1), newer = call_of(1 + JD_RING_CALLS);
    struct jd_ring_call call;
    write_number(newer.number);
    newer.came = 2;
    jd__ring_set_times(&ring, &newer);
    write_number(late.number);
    late.came = 1;
    jd__ring_set_times(&ring, &late);
    ck_assert(!jd__ring_read(&ring, late.number, &call));
    ck_assert(jd__ring_read(&ring, newer.number, &call));
    expect_whole(&call);
    ck_assert(call.came == 2);
}
END_TEST

START_TEST(one_that_is_half_written_is_not_read)
{
    struct jd_ring_call call;
    write_number(5);
    write_number(6);
    atomic_store(&jd__ring_entry(&ring, 6)->number, 0); /* killed there */
    ck_assert(!jd__ring_read(&ring, 6, &call));
    ck_assert_uint_eq(jd__ring_last(&ring), 5);
}
END_TEST

/* ---- a reader beside a writer -------------------------------------------- */

enum { LAPS = 500000, PLACE = 9 };

static atomic_bool is_over;

/* The same place over and over. */
static void *write_one_place(void *unused)
{
    for (uint64_t i = 0; i < LAPS; i++)
        write_number(PLACE + i * JD_RING_CALLS);
    atomic_store(&is_over, true);
    return unused;
}

START_TEST(what_is_read_meanwhile_is_of_one_call)
{
    pthread_t writer;
    struct jd_ring_call call;
    pthread_create(&writer, NULL, write_one_place, NULL);
    while (!atomic_load(&is_over)) {
        uint64_t number = atomic_load(&ring.entries[PLACE].number);
        if (number && jd__ring_read(&ring, number, &call))
            expect_whole(&call);
    }
    pthread_join(writer, NULL);
    ck_assert(jd__ring_read(&ring, PLACE + (LAPS - 1) * JD_RING_CALLS, &call));
    expect_whole(&call);
}
END_TEST

/* ---- times -------------------------------------------------------------- */

START_TEST(times_are_those_of_their_call)
{
    struct jd_ring_call call = call_of(3), read;
    write_number(3);
    ck_assert(jd__ring_read(&ring, 3, &read));
    ck_assert(read.came == 0 && read.met == 0 && read.left == 0);
    ck_assert_int_eq(read.last, -1);
    call.came = 100.5;
    call.last = -1;
    jd__ring_set_times(&ring, &call);
    call = (struct jd_ring_call){ .number = 3, .met = 101.25, .last = 2 };
    jd__ring_set_times(&ring, &call);
    ck_assert(jd__ring_read(&ring, 3, &read));
    ck_assert(read.came == 100.5 && read.met == 101.25 && read.left == 0);
    ck_assert_int_eq(read.last, 2);
    write_number(3 + JD_RING_CALLS);
    ck_assert(jd__ring_read(&ring, 3 + JD_RING_CALLS, &read));
    ck_assert(read.came == 0);
    ck_assert_int_eq(read.last, -1);
}
END_TEST

/* ---- a copy ------------------------------------------------------------- */

static size_t resident_bytes(void *memory, size_t bytes)
{
    unsigned char pages[1024];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 0;
    ck_assert_uint_le(bytes, page * sizeof pages);
    ck_assert_int_eq(mincore(memory, bytes, pages), 0);
    for (size_t i = 0; i * page < bytes; i++)
        count += pages[i] & 1;
    return count * page;
}

START_TEST(a_copy_has_all_calls)
{
    struct jd_ring_call call = call_of(2000), read;
    size_t bytes = sizeof ring;
    struct jd_ring *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(copy != MAP_FAILED);
    write_number(1);
    write_number(2000);
    call.came = 100.5;
    jd__ring_set_times(&ring, &call);
    ring.comms[JD_RING_COMMS - 1].id = 77;
    jd__ring_copy(copy, &ring);
    ck_assert(jd__ring_is_valid(copy));
    ck_assert_ptr_eq(jd__ring_find_comm(copy, 77),
                     &copy->comms[JD_RING_COMMS - 1]);
    ck_assert_uint_eq(jd__ring_last(copy), 2000);
    ck_assert(jd__ring_read(copy, 1, &read));
    expect_whole(&read);
    ck_assert(jd__ring_read(copy, 2000, &read));
    expect_whole(&read);
    ck_assert(read.came == 100.5);
    munmap(copy, bytes);
}
END_TEST

START_TEST(pages_without_a_call_are_not_copied)
{
    size_t bytes = sizeof ring;
    struct jd_ring *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(copy != MAP_FAILED);
    write_number(2000);
    jd__ring_copy(copy, &ring);
    size_t most = offsetof(struct jd_ring, entries) + ((size_t)2 << 16);
    ck_assert_uint_le(resident_bytes(copy, bytes), most);
    munmap(copy, bytes);
}
END_TEST

/* ---- in words ----------------------------------------------------------- */

static struct jd_ring_call psum(void)
{
    return (struct jd_ring_call){ .number = 1,
                                  .site = 0x5010,
                                  .comm = 77,
                                  .sequence = 4,
                                  .count = 10,
                                  .name = 9,
                                  .dtype = JD_F64 };
}

START_TEST(a_call_in_words)
{
    struct jd_ring_call call = psum();
    snprintf(ring.names[9], sizeof ring.names[9], "jd_psum");
    expect_text(&call, "jd_psum of 10 x F64 (call 4 there)");
    ring.comms[3].id = 77;
    snprintf(ring.comms[3].text, sizeof ring.comms[3].text, "axis \"x\"");
    expect_text(&call, "jd_psum of 10 x F64 over axis \"x\" (call 4 there)");
    ring.modules[1].begin = 0x5000;
    ring.modules[1].end = 0x6000;
    ring.modules[1].base = 0x4000;
    snprintf(ring.modules[1].path, sizeof ring.modules[1].path,
             "/opt/bin/train");
    expect_text(&call, "jd_psum of 10 x F64 over axis \"x\" (call 4 there), "
                       "called at train+0x1010");
    call.site = 0x6000; /* one behind it */
    expect_text(&call, "jd_psum of 10 x F64 over axis \"x\" (call 4 there)");
    call.site = 0x5010;
    memset(ring.modules[1].path, 'x', sizeof ring.modules[1].path);
    expect_text(&call, "jd_psum of 10 x F64 over axis \"x\" (call 4 there)");
    call.comm = 0;
    call.count = 0;
    expect_text(&call, "jd_psum");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ring");
    TCase *calls = unit_case(suite, "calls");
    tcase_add_checked_fixture(calls, setup, NULL);
    tcase_add_test(calls, an_empty_one_has_no_call);
    tcase_add_test(calls, what_was_written_is_read);
    tcase_add_test(calls, a_queued_call_is_as_far_as_its_gpu);
    tcase_add_test(calls, the_newest_take_the_place_of_the_oldest);
    tcase_add_test(calls, a_late_state_is_not_that_of_a_newer_call);
    tcase_add_test(calls, a_late_call_does_not_take_the_place_of_a_newer_one);
    tcase_add_test(calls, one_that_is_half_written_is_not_read);
    tcase_set_timeout(calls, 60);
    tcase_add_test(calls, what_is_read_meanwhile_is_of_one_call);
    tcase_add_test(calls, times_are_those_of_their_call);
    tcase_add_test(calls, a_copy_has_all_calls);
    tcase_add_test(calls, pages_without_a_call_are_not_copied);
    tcase_add_test(calls, a_call_in_words);
    return unit_main(suite);
}
