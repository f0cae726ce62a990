/* SPDX-License-Identifier: BSD-3-Clause */
/* test_heap.c - allocations in a heap: apart, zeroed, aligned, and given
 * back to the system. */
#include "tests/unit/heap_use.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdatomic.h>

static void expect_usage(struct jd_heap *heap, size_t bytes, size_t count)
{
    size_t used, allocations;
    jd__heap_usage(heap, &used, &allocations);
    ck_assert_uint_eq(used, bytes);
    ck_assert_uint_eq(allocations, count);
}

/* ---- against a model ---------------------------------------------------- */

#define SLOTS 300
#define ROUNDS 10000

/* What the model knows of an allocation: each is filled with its number. */
struct slot {
    unsigned char *memory;
    size_t bytes;
    unsigned char fill;
};

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Sizes of all orders from 1 byte to 4 MiB, the small ones more often. */
static size_t random_size(uint64_t *state)
{
    unsigned order = (unsigned)(next_random(state) % 23);
    if (order > 17)
        order = (unsigned)(next_random(state) % 23);
    return 1 + next_random(state) % ((size_t)1 << order);
}

/* All bytes are the value, and so each is as the one before it. */
static void expect_all(const struct slot *slot, unsigned char value)
{
    const unsigned char *memory = slot->memory;
    ck_assert_int_eq(memory[0], value);
    ck_assert_int_eq(memcmp(memory, memory + 1, slot->bytes - 1), 0);
}

static size_t random_alignment(uint64_t *state)
{
    static const size_t alignments[] = { 0, 0, 0, 64, 256, 4096, 1 << 17 };
    return alignments[next_random(state) %
                      (sizeof alignments / sizeof *alignments)];
}

static void fill_slot(struct jd_heap *heap, struct slot *slot, uint64_t *state)
{
    size_t alignment = random_alignment(state);
    slot->bytes = random_size(state);
    slot->fill = (unsigned char)(1 + next_random(state) % 255);
    slot->memory = (unsigned char *)take(heap, slot->bytes, alignment);
    size_t least = slot->bytes >= JD_HEAP_HUGE ? JD_HEAP_HUGE : 64;
    if (alignment > least)
        least = alignment;
    ck_assert_uint_eq((uintptr_t)slot->memory % least, 0);
    ck_assert_uint_eq(jd__heap_size_of(heap, slot->memory), slot->bytes);
    expect_all(slot, 0);
    memset(slot->memory, slot->fill, slot->bytes);
}

static void empty_slot(struct jd_heap *heap, struct slot *slot)
{
    expect_all(slot, slot->fill); /* nobody else has written there */
    ck_assert(jd__heap_free(heap, slot->memory));
    slot->memory = NULL;
}

static void run_model(struct jd_heap *heap, int rounds)
{
    static struct slot slots[SLOTS];
    uint64_t state = 20240817;
    size_t bytes = 0, count = 0;
    for (int i = 0; i < rounds; i++) {
        struct slot *slot = &slots[next_random(&state) % SLOTS];
        if (slot->memory) {
            bytes -= slot->bytes, count--;
            empty_slot(heap, slot);
        } else {
            fill_slot(heap, slot, &state);
            bytes += slot->bytes, count++;
        }
        expect_usage(heap, bytes, count);
    }
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].memory)
            empty_slot(heap, &slots[i]);
}

START_TEST(allocations_are_apart_zeroed_and_aligned)
{
    struct jd_heap *heap = make_heap(&(struct jd_heap_spec){ 0 });
    run_model(heap, ROUNDS);
    expect_usage(heap, 0, 0);
    jd__heap_destroy(heap);
}
END_TEST

/* ---- given back --------------------------------------------------------- */

START_TEST(freed_memory_goes_back_to_the_system)
{
    struct jd_heap *heap = make_small_heap();
    uint64_t before = file_bytes(heap);
    char *large = take(heap, 5 << 20, 0);
    char *middle = take(heap, 100 << 10, 0);
    uint64_t wanted = (5 << 20) + (100 << 10);
    ck_assert_uint_eq(file_bytes(heap) - before, wanted);
    memset(large, 1, 5 << 20);
    memset(middle, 1, 100 << 10);
    ck_assert_uint_eq(file_bytes(heap) - before, wanted);
    ck_assert(jd__heap_free(heap, middle));
    ck_assert(jd__heap_free(heap, large));
    ck_assert_uint_eq(file_bytes(heap), before);
    expect_usage(heap, 0, 0);
    jd__heap_destroy(heap);
}
END_TEST

/* ---- wrong pointers ----------------------------------------------------- */

START_TEST(only_the_begin_of_an_allocation_is_freed)
{
    struct jd_heap *heap = make_small_heap();
    char *large = take(heap, 100 << 10, 0), *small = take(heap, 100, 0);
    int other;
    ck_assert(jd__heap_free(heap, NULL));
    ck_assert(!jd__heap_free(heap, large + 64));
    ck_assert(!jd__heap_free(heap, small + 64));
    ck_assert(!jd__heap_free(heap, small + 128)); /* a free object */
    ck_assert(!jd__heap_free(heap, heap->base));
    ck_assert(!jd__heap_free(heap, &other));
    expect_usage(heap, (100 << 10) + 100, 2);
    ck_assert(jd__heap_free(heap, large));
    ck_assert(!jd__heap_free(heap, large));
    ck_assert(jd__heap_free(heap, small));
    ck_assert(!jd__heap_free(heap, small));
    expect_usage(heap, 0, 0);
    jd__heap_destroy(heap);
}
END_TEST

/* ---- places ------------------------------------------------------------- */

START_TEST(offsets_are_of_what_lies_inside)
{
    struct jd_heap *heap = make_small_heap();
    uint64_t offset = 7;
    const char *end = heap->base + heap->size;
    ck_assert(!jd__heap_offset(NULL, heap->base, 1, &offset));
    ck_assert(!jd__heap_offset(heap, heap->base - 1, 1, &offset));
    ck_assert(!jd__heap_offset(heap, end, 1, &offset));
    ck_assert(!jd__heap_offset(heap, end - 8, 9, &offset));
    ck_assert(!jd__heap_offset(heap, end - 8, SIZE_MAX, &offset));
    ck_assert_uint_eq(offset, 7);
    ck_assert(jd__heap_offset(heap, end - 8, 8, &offset));
    ck_assert_uint_eq(offset, heap->size - 8);
    ck_assert(jd__heap_offset(heap, heap->base, heap->size, &offset));
    ck_assert_uint_eq(offset, 0);
    jd__heap_destroy(heap);
}
END_TEST

/* ---- threads ------------------------------------------------------------ */

#define THREADS 4
#define THREAD_ROUNDS 2000

/* Each thread keeps a few allocations, filled with a byte of its own. */
static void *use_heap(void *arg)
{
    static atomic_int numbers;
    struct jd_heap *heap = arg;
    struct slot slots[8] = { 0 };
    uint64_t state = (uint64_t)atomic_fetch_add(&numbers, 1);
    for (int i = 0; i < THREAD_ROUNDS; i++) {
        struct slot *slot = &slots[next_random(&state) % 8];
        if (slot->memory)
            empty_slot(heap, slot);
        else
            fill_slot(heap, slot, &state);
    }
    for (int i = 0; i < 8; i++)
        if (slots[i].memory)
            empty_slot(heap, &slots[i]);
    return NULL;
}

START_TEST(threads_use_it_at_once)
{
    struct jd_heap *heap = make_small_heap();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use_heap, heap), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    expect_usage(heap, 0, 0);
    jd__heap_destroy(heap);
}
END_TEST

static void *get_heap(void *barrier)
{
    pthread_barrier_wait(barrier);
    return jd__heap_get("test");
}

START_TEST(threads_get_the_same_one)
{
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    void *first = NULL;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, get_heap, &barrier),
                         0);
    for (int i = 0; i < THREADS; i++) {
        void *heap;
        pthread_join(threads[i], &heap);
        first = first ? first : heap;
        ck_assert_ptr_nonnull(heap);
        ck_assert_ptr_eq(heap, first);
    }
    pthread_barrier_destroy(&barrier);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena");
    TCase *tcase = unit_case(suite, "allocations");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, allocations_are_apart_zeroed_and_aligned);
    tcase_add_test(tcase, freed_memory_goes_back_to_the_system);
    tcase_add_test(tcase, only_the_begin_of_an_allocation_is_freed);
    tcase_add_test(tcase, offsets_are_of_what_lies_inside);
    tcase = unit_case(suite, "threads");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, threads_use_it_at_once);
    tcase_add_test(tcase, threads_get_the_same_one);
    return unit_main(suite);
}
