/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_memory.c - jd_device_alloc(), free, size and copy of the cuda
 * platform, on the stand-in. */
#include "fake_host.h"
#include "test_cuda.h"

#include "collectives/cuda/memory.h"
#include "collectives/cuda/pool.h"
#include "collectives/cuda/ranges.h"

#include <pthread.h>
#include <stdio.h>

static const struct jd_device_memory *const memory_of = &jd__cuda_memory;

static char *take_on(int ordinal, size_t bytes)
{
    void *memory = NULL;
    UNIT_OK(
        memory_of->alloc(fake_runtime(), fake_device(ordinal), bytes, &memory));
    ck_assert_ptr_nonnull(memory);
    return memory;
}

static char *take(size_t bytes)
{
    return take_on(0, bytes);
}

static void give(char *memory)
{
    ck_assert(memory_of->free(memory));
}

static void expect_all(const char *memory, size_t bytes, char value)
{
    char *copy = malloc(bytes);
    memset(copy, ~value, bytes);
    UNIT_OK(memory_of->copy(copy, memory, bytes));
    for (size_t i = 0; i < bytes; i++)
        if (copy[i] != value)
            ck_abort_msg("byte %zu of %zu is %d, not %d", i, bytes, copy[i],
                         value);
    free(copy);
}

static void fill(char *memory, size_t bytes, char value)
{
    char *copy = malloc(bytes);
    memset(copy, value, bytes);
    UNIT_OK(memory_of->copy(memory, copy, bytes));
    free(copy);
}

static const size_t sizes[] = { 1,      255,  256,   257,           1024,
                                1025,   4096, 65537, (1 << 20) - 1, 1 << 20,
                                3 << 20 };

START_TEST(memory_is_zeroed_aligned_and_the_devices)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int again = 0; again < 2; again++) {
            char *memory = take(sizes[i]);
            struct cudaPointerAttributes attributes;
            ck_assert_uint_eq((uintptr_t)memory % 256, 0);
            expect_all(memory, sizes[i], 0);
            fill(memory, sizes[i], 7);
            GOOD(cudaPointerGetAttributes(&attributes, memory));
            ck_assert_int_eq(attributes.type, cudaMemoryTypeDevice);
            give(memory);
        }
}
END_TEST

START_TEST(sizes_are_those_asked_for)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *memory = take(sizes[i]);
        ck_assert_uint_eq(memory_of->size(memory), sizes[i]);
        ck_assert_uint_eq(memory_of->size(memory + 1), 0);
        ck_assert_uint_eq(memory_of->size(memory + 128), 0);
        give(memory);
        ck_assert_uint_eq(memory_of->size(memory), 0);
    }
    ck_assert_uint_eq(memory_of->size(&sizes), 0);
    ck_assert_uint_eq(memory_of->size(NULL), 0);
}
END_TEST

START_TEST(what_is_not_its_own_is_not_freed)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *memory = take(sizes[i]), *other = take(sizes[i]);
        ck_assert(!memory_of->free(memory + 1));
        ck_assert(!memory_of->free(memory + 128));
        give(memory);
        ck_assert(!memory_of->free(memory));
        give(other);
        ck_assert(!memory_of->free(other));
    }
    ck_assert(!memory_of->free((void *)(uintptr_t)&sizes));
    void *users;
    GOOD(cudaMalloc(&users, 64));
    ck_assert(!memory_of->free(users));
    GOOD(cudaFree(users));
}
END_TEST

START_TEST(the_host_is_told_what_it_cannot_touch)
{
    char *small = take(100), *large = take(2 << 20), host;
    void *users, *pinned;
    GOOD(cudaMalloc(&users, 64));
    GOOD(cudaMallocHost(&pinned, 64));
    ck_assert(memory_of->is_apart(small));
    ck_assert(memory_of->is_apart(small + 99));
    ck_assert(memory_of->is_apart(large + (1 << 20)));
    ck_assert(memory_of->is_apart(users));
    ck_assert(!memory_of->is_apart(pinned));
    ck_assert(!memory_of->is_apart(&host));
    ck_assert(!memory_of->is_apart(NULL));
    give(small);
    give(large);
    ck_assert(!memory_of->is_apart(large));
    GOOD(cudaFree(users));
    GOOD(cudaFreeHost(pinned));
}
END_TEST

START_TEST(kernels_of_the_device_alone_can_use_it)
{
    char *first = take_on(0, 100), *second = take_on(1, 100), host;
    void *users, *pinned;
    GOOD(cudaSetDevice(1));
    GOOD(cudaMalloc(&users, 64));
    GOOD(cudaMallocHost(&pinned, 64));
    ck_assert(jd__cuda_is_device_pointer(NULL, 0));
    ck_assert(jd__cuda_is_device_pointer(first, 0));
    ck_assert(!jd__cuda_is_device_pointer(first, 1));
    ck_assert(jd__cuda_is_device_pointer(second + 50, 1));
    ck_assert(!jd__cuda_is_device_pointer(second, 0));
    ck_assert(jd__cuda_is_device_pointer(users, 1));
    ck_assert(!jd__cuda_is_device_pointer(users, 0));
    ck_assert(!jd__cuda_is_device_pointer(pinned, 0));
    ck_assert(!jd__cuda_is_device_pointer(&host, 0));
}
END_TEST

/* ---- the pool ----------------------------------------------------------- */

static size_t free_bytes(void)
{
    size_t available, total;
    GOOD(cudaMemGetInfo(&available, &total));
    return available;
}

START_TEST(small_pieces_share_a_slab)
{
    char *pieces[2048];
    size_t before = free_bytes();
    for (int i = 0; i < 2048; i++)
        pieces[i] = take(1000);
    ck_assert_uint_eq(before - free_bytes(), JD_CUDA_SLAB);
    for (int i = 0; i < 2048; i++)
        fill(pieces[i], 1000, (char)i);
    for (int i = 0; i < 2048; i++)
        expect_all(pieces[i], 1000, (char)i);
    pieces[0] = take(1000);
    ck_assert_uint_eq(before - free_bytes(), 2 * JD_CUDA_SLAB);
}
END_TEST

START_TEST(a_slot_is_used_again)
{
    char *memory = take(1000), *again;
    size_t left = free_bytes();
    give(memory);
    ck_assert_uint_eq(free_bytes(), left);
    again = take(900);
    ck_assert_ptr_eq(again, memory);
    ck_assert_uint_eq(memory_of->size(again), 900);
    expect_all(again, 900, 0);
}
END_TEST

START_TEST(empty_slabs_go_but_for_one)
{
    enum { PIECES = 20 };
    char *pieces[PIECES];
    size_t before = free_bytes();
    for (int i = 0; i < PIECES; i++)
        pieces[i] = take(900 << 10); /* two to a slab */
    ck_assert_uint_eq(before - free_bytes(), PIECES / 2 * JD_CUDA_SLAB);
    for (int i = 0; i < PIECES; i++)
        give(pieces[i]);
    ck_assert_uint_eq(before - free_bytes(), JD_CUDA_SLAB);
}
END_TEST

/* Each size has a slot that is large enough, and no larger than it must be. */
START_TEST(slots_are_a_fifth_larger_at_most)
{
    int class, last = -1;
    size_t slot_before = 0;
    for (size_t bytes = 1; bytes < JD_CUDA_LARGE; bytes++) {
        size_t slot = jd__cuda_pool_round(bytes, &class);
        ck_assert_uint_ge(slot, bytes);
        ck_assert_uint_eq(slot % 256, 0);
        ck_assert(slot - bytes < 256 || 5 * (slot - bytes) <= slot);
        if (slot != slot_before)
            ck_assert_int_eq(class, last + 1);
        last = class;
        slot_before = slot;
    }
    ck_assert_int_eq(last, JD_CUDA_CLASSES - 1);
    ck_assert_uint_eq(slot_before, JD_CUDA_LARGE);
}
END_TEST

/* ---- what there is not -------------------------------------------------- */

START_TEST(too_much_is_told_with_what_there_is)
{
    char text[512];
    void *memory = NULL;
    const jd_device *device = fake_device(0);
    size_t asked[] = { (size_t)1 << 29, SIZE_MAX };
    char *held = take((size_t)700 << 20);
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text,
                 "jd_device_alloc: %zu bytes are not to be had on device %lld "
                 "(\"%s\", %s): %zu of its %llu bytes are free; give memory "
                 "back, or ask for less (nvidia-smi shows whether other "
                 "processes use it)",
                 asked[i], (long long)device->id, device->kind, device->uuid,
                 free_bytes(), (unsigned long long)device->memory_bytes);
        UNIT_FAILS(memory_of->alloc(fake_runtime(), device, asked[i], &memory),
                   JD_RESOURCE_EXHAUSTED, text);
        ck_assert_ptr_null(memory);
    }
    GOOD(cudaGetLastError());
    give(held);
    give(take((size_t)1 << 29));
}
END_TEST

static char *held_at_exit;

static void give_at_exit(void)
{
    if (!memory_of->free(held_at_exit) || fake_host.log[0])
        _exit(3);
    _exit(0);
}

/* jd's handlers were there before CUDA's, and so run after them. */
START_TEST(what_is_freed_after_cuda_has_gone_is_freed)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        atexit(give_at_exit);
        fake_host_start();
        held_at_exit = take(2 << 20);
        exit(4);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "signal %d", WTERMSIG(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

/* Each piece of work waits for up to a minute; the seed makes it long. */
START_TEST(a_stuck_gpu_does_not_hold_an_allocation_for_ever)
{
    void *memory = NULL;
    char text[512];
    setenv("STANDIN_DELAY_US", "60000000", 1);
    setenv("STANDIN_SEED", "5", 1);
    fake_host.timeout = 0.05;
    fake_host_start();
    const jd_device *device = fake_device(0);
    snprintf(text, sizeof text,
             "jd_device_alloc: device %lld (\"%s\", %s) has not zeroed 64 "
             "bytes within 0.05 s: a kernel on it does not end, or is slow; "
             "the deadline is the collectives' (JD_COLLECTIVE_TIMEOUT changes "
             "it)",
             (long long)device->id, device->kind, device->uuid);
    UNIT_FAILS(memory_of->alloc(fake_runtime(), device, 64, &memory),
               JD_DEADLINE_EXCEEDED, text);
    ck_assert_ptr_null(memory);
}
END_TEST

/* ---- copies ------------------------------------------------------------- */

START_TEST(copies_go_between_any_two_sides)
{
    char *first = take_on(0, 5000), *second = take_on(1, 5000);
    char *third = take_on(0, 5000);
    fill(first, 5000, 3);
    UNIT_OK(memory_of->copy(second, first, 5000));
    UNIT_OK(memory_of->copy(third, second + 100, 4900));
    expect_all(second, 5000, 3);
    expect_all(third, 4900, 3);
    expect_all(third + 4900, 100, 0);
}
END_TEST

/* What the program has queued on the default stream comes before. */
START_TEST(a_copy_comes_after_the_default_stream)
{
    char *memory = take(100), there = 0;
    GOOD(cudaMemsetAsync(memory, 9, 100, NULL));
    UNIT_OK(memory_of->copy(&there, memory + 99, 1));
    ck_assert_int_eq(there, 9);
    char *other = take(100);
    UNIT_OK(memory_of->copy(other, memory, 100));
    ck_assert_int_eq(cudaStreamQuery(NULL), cudaSuccess);
}
END_TEST

START_TEST(a_copy_does_not_wait_for_ever)
{
    static struct gate gate;
    char *memory = take(100), there;
    fake_host.timeout = 0.05;
    fake_host_start();
    gate_close(&gate, NULL);
    UNIT_FAILS(memory_of->copy(&there, memory, 1), JD_DEADLINE_EXCEEDED,
               "jd_device_copy: what was queued on the default stream of GPU "
               "0 before is not done within 0.05 s: a kernel does not end, or "
               "is slow; the deadline is the collectives' "
               "(JD_COLLECTIVE_TIMEOUT changes it)");
    gate_open(&gate);
}
END_TEST

/* An allocation or a copy in another thread, or of another stream, would end
 * the capture of a graph where CUDA is not told that it may be. */
START_TEST(a_capture_goes_on)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    cudaGraph_t graph;
    char there;
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    char *small = take(100), *large = take(4 << 20);
    UNIT_OK(memory_of->copy(&there, small, 1));
    ck_assert(memory_of->is_apart(large));
    give(small);
    give(large);
    GOOD(cudaStreamEndCapture(stream, &graph));
    GOOD(cudaGraphDestroy(graph));
}
END_TEST

/* ---- threads ------------------------------------------------------------ */

START_TEST(the_threads_device_stays)
{
    int device = -1;
    char there;
    GOOD(cudaSetDevice(1));
    char *memory = take_on(0, 100);
    UNIT_OK(memory_of->copy(&there, memory, 1));
    give(memory);
    GOOD(cudaGetDevice(&device));
    ck_assert_int_eq(device, 1);
}
END_TEST

static void *take_and_give(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    char *held[8] = { NULL };
    for (int i = 0; i < 400; i++) {
        char **place = &held[rand_r(&seed) % 8];
        size_t bytes = (size_t)rand_r(&seed) % (3 << 20) + 1;
        if (*place)
            give(*place);
        *place = take_on((int)(uintptr_t)arg % 2, i % 16 ? bytes >> 8 : bytes);
        ck_assert(jd__cuda_is_device_pointer(*place, (int)(uintptr_t)arg % 2));
    }
    for (int i = 0; i < 8; i++)
        if (held[i])
            give(held[i]);
    return NULL;
}

START_TEST(threads_take_and_give_at_the_same_time)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, take_and_give, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}
END_TEST

/* ---- ranges ------------------------------------------------------------- */

enum { RANGES = 1000 };

/* The range k is the addresses [1000k, 1000k + 500). */
static struct jd_cuda_range range_of(uintptr_t k)
{
    return (struct jd_cuda_range){ .begin = 1000 * k,
                                   .end = 1000 * k + 500,
                                   .native = (int)k };
}

static bool is_found(uintptr_t address)
{
    struct jd_cuda_range range;
    bool found = jd__cuda_ranges_find((void *)address, &range);
    ck_assert(!found || range.native == (int)(address / 1000));
    return found;
}

START_TEST(ranges_are_found_from_begin_to_end)
{
    for (uintptr_t i = 1; i <= RANGES; i++) {
        struct jd_cuda_range range = range_of(i * 7 % (RANGES + 9) + 1);
        ck_assert(jd__cuda_ranges_add(&range));
    }
    for (uintptr_t i = 1; i <= RANGES; i += 2) {
        uintptr_t k = i * 7 % (RANGES + 9) + 1;
        ck_assert(is_found(1000 * k));
        ck_assert(is_found(1000 * k + 499));
        ck_assert(!is_found(1000 * k + 500));
        ck_assert(!is_found(1000 * k - 1));
        jd__cuda_ranges_remove(1000 * k);
        ck_assert(!is_found(1000 * k));
    }
    ck_assert(!is_found(0));
    ck_assert(!is_found(UINTPTR_MAX));
}
END_TEST

static atomic_bool is_over;

static void *look_for_one(void *arg)
{
    long *looks = arg;
    while (!atomic_load(&is_over)) {
        ck_assert(is_found(500000));
        ++*looks;
    }
    return NULL;
}

/* One that is there all the time is found all the time. */
START_TEST(ranges_are_found_while_others_come_and_go)
{
    pthread_t thread;
    long looks = 0;
    struct jd_cuda_range there = range_of(500);
    ck_assert(jd__cuda_ranges_add(&there));
    pthread_create(&thread, NULL, look_for_one, &looks);
    for (int again = 0; again < 1000; again++) {
        for (uintptr_t k = 400; k < 500; k++) {
            struct jd_cuda_range range = range_of(k);
            ck_assert(jd__cuda_ranges_add(&range));
        }
        for (uintptr_t k = 400; k < 500; k++)
            jd__cuda_ranges_remove(1000 * k);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    ck_assert_int_gt(looks, 0);
}
END_TEST

static void start(void)
{
    setenv("STANDIN_DEVICES", "2", 1);
    fake_host_start();
}

static Suite *make_suite(void)
{
    Suite *suite = suite_create("cuda memory");
    TCase *tcase = unit_case(suite, "memory");
    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_add_test(tcase, memory_is_zeroed_aligned_and_the_devices);
    tcase_add_test(tcase, sizes_are_those_asked_for);
    tcase_add_test(tcase, what_is_not_its_own_is_not_freed);
    tcase_add_test(tcase, the_host_is_told_what_it_cannot_touch);
    tcase_add_test(tcase, kernels_of_the_device_alone_can_use_it);
    tcase_add_test(tcase, small_pieces_share_a_slab);
    tcase_add_test(tcase, a_slot_is_used_again);
    tcase_add_test(tcase, empty_slabs_go_but_for_one);
    tcase_add_test(tcase, too_much_is_told_with_what_there_is);
    tcase_add_test(tcase, copies_go_between_any_two_sides);
    tcase_add_test(tcase, a_copy_comes_after_the_default_stream);
    tcase_add_test(tcase, a_copy_does_not_wait_for_ever);
    tcase_add_test(tcase, a_capture_goes_on);
    tcase_add_test(tcase, the_threads_device_stays);
    tcase_add_test(tcase, threads_take_and_give_at_the_same_time);
    tcase = unit_case(suite, "not started");
    tcase_add_test(tcase, what_is_freed_after_cuda_has_gone_is_freed);
    tcase_add_test(tcase, a_stuck_gpu_does_not_hold_an_allocation_for_ever);
    tcase_add_test(tcase, slots_are_a_fifth_larger_at_most);
    tcase_add_test(tcase, ranges_are_found_from_begin_to_end);
    tcase_add_test(tcase, ranges_are_found_while_others_come_and_go);
    return suite;
}

int main(void)
{
    return unit_main(make_suite());
}
