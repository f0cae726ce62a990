/* SPDX-License-Identifier: BSD-3-Clause */
/* test_device_memory.c - jd_device_alloc, jd_device_free and jd_device_copy
 * in a process that is alone. */
#include "collectives/cpu/heap/heap_private.h"
#include "jd_memory.h"
#include "tests/unit/heap_refusals.h"
#include "tests/unit/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static const jd_device *local_device(void)
{
    const jd_device *const *devices = jd_local_devices(NULL);
    ck_assert_msg(devices != NULL, "%s", jd_error_message());
    return devices[0];
}

static unsigned char *take(size_t bytes)
{
    void *memory = NULL;
    UNIT_OK(jd_device_alloc(local_device(), bytes, &memory));
    ck_assert_ptr_nonnull(memory);
    return memory;
}

static void expect_good(const unsigned char *memory, size_t bytes)
{
    size_t alignment = bytes >= (2 << 20) ? 2 << 20 : 64;
    ck_assert_uint_eq((uintptr_t)memory % alignment, 0);
    for (size_t i = 0; i < bytes; i++)
        if (memory[i] != 0)
            ck_abort_msg("byte %zu of %zu is not zero", i, bytes);
}

static const size_t sizes[] = { 1, 63, 4096, 65536, 65537, 1 << 20, 3 << 20 };

static void take_and_give_all(bool shared)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int again = 0; again < 2; again++) {
            unsigned char *memory = take(sizes[i]);
            uint64_t offset;
            expect_good(memory, sizes[i]);
            memset(memory, 1, sizes[i]);
            ck_assert_int_eq(
                jd__heap_offset(jd__heap_existing(), memory, sizes[i], &offset),
                shared);
            UNIT_OK(jd_device_free(memory));
        }
}

START_TEST(memory_is_shared_zeroed_and_aligned)
{
    take_and_give_all(true);
    UNIT_OK(jd_device_free(NULL));
}
END_TEST

START_TEST(no_bytes_are_a_null)
{
    void *memory = &memory;
    UNIT_OK(jd_device_alloc(local_device(), 0, &memory));
    ck_assert_ptr_null(memory);
}
END_TEST

START_TEST(bad_arguments_of_alloc)
{
    jd_device other = *local_device();
    void *memory = &memory;
    UNIT_FAILS(jd_device_alloc(NULL, 8, &memory), JD_INVALID_ARGUMENT,
               "jd_device_alloc: device is NULL; take the pointer from "
               "jd_local_devices()");
    UNIT_FAILS(jd_device_alloc(&other, 8, &memory), JD_INVALID_ARGUMENT,
               "jd_device_alloc: device is no device of this job; take the "
               "pointer from jd_local_devices()");
    UNIT_FAILS(jd_device_alloc(local_device(), 8, NULL), JD_INVALID_ARGUMENT,
               "jd_device_alloc: ret_memory is NULL; it gets the pointer");
    ck_assert_ptr_eq(memory, &memory);
}
END_TEST

START_TEST(too_much_is_a_sentence)
{
    void *memory = &memory;
    size_t bytes = SIZE_MAX - 4096;
    ck_assert_int_eq(jd_device_alloc(local_device(), bytes, &memory),
                     JD_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(jd_error_message(),
                                 "jd_device_alloc: 18446744073709547519 bytes "
                                 "are needed in one piece"));
    ck_assert_ptr_eq(memory, &memory);
}
END_TEST

static void expect_refused(void *memory)
{
    char sentence[256];
    snprintf(sentence, sizeof sentence,
             "jd_device_free: %p is not memory that jd_device_alloc() gave, or "
             "it was given back already; give each pointer back once, as it "
             "came",
             memory);
    UNIT_FAILS(jd_device_free(memory), JD_INVALID_ARGUMENT, sentence);
}

static void give_wrong_pointers(void)
{
    unsigned char *small = take(100), *large = take(1 << 20);
    int local;
    expect_refused(&local);
    expect_refused(small + 1);
    expect_refused(large + 4096);
    UNIT_OK(jd_device_free(small));
    UNIT_OK(jd_device_free(large));
    expect_refused(small);
    expect_refused(large);
}

START_TEST(wrong_pointers_are_refused)
{
    expect_refused((void *)sizes); /* before there is a heap */
    give_wrong_pointers();
}
END_TEST

START_TEST(copies)
{
    unsigned char *device = take(1000), host[1000], back[1000];
    for (int i = 0; i < 1000; i++)
        host[i] = (unsigned char)i;
    UNIT_OK(jd_device_copy(device, host, 1000));
    UNIT_OK(jd_device_copy(back, device, 1000));
    ck_assert_mem_eq(host, back, 1000);
    UNIT_OK(jd_device_copy(back, back + 500, 500));
    ck_assert_mem_eq(host + 500, back, 500);
    UNIT_OK(jd_device_copy(NULL, NULL, 0));
    UNIT_OK(jd_device_free(device));
}
END_TEST

START_TEST(bad_arguments_of_copy)
{
    char buffer[100] = "";
    UNIT_FAILS(jd_device_copy(NULL, buffer, 8), JD_INVALID_ARGUMENT,
               "jd_device_copy: to is NULL, and 8 bytes are to be copied");
    UNIT_FAILS(jd_device_copy(buffer, NULL, 8), JD_INVALID_ARGUMENT,
               "jd_device_copy: from is NULL, and 8 bytes are to be copied");
    UNIT_FAILS(jd_device_copy(buffer, buffer + 7, 8), JD_INVALID_ARGUMENT,
               "jd_device_copy: to and from overlap: they begin 7 bytes apart "
               "and have 8; copy by way of a third buffer");
    UNIT_FAILS(jd_device_copy(buffer + 7, buffer, 8), JD_INVALID_ARGUMENT,
               "jd_device_copy: to and from overlap: they begin 7 bytes apart "
               "and have 8; copy by way of a third buffer");
}
END_TEST

/* ---- without a heap ----------------------------------------------------- */

START_TEST(without_a_heap_memory_is_plain)
{
    local_device();
    refuse_files();
    take_and_give_all(false);
    give_wrong_pointers();
    ck_assert_ptr_null(jd__heap_existing());
}
END_TEST

/* ---- fork --------------------------------------------------------------- */

static void run_child(unsigned char *parents)
{
    ck_assert_ptr_null(jd__heap_existing());
    ck_assert_int_eq(parents[0], 7); /* still to be read */
    ck_assert_int_eq(jd_device_free(parents), JD_FAILED_PRECONDITION);
    exit(0);
}

START_TEST(a_forked_child_has_no_heap)
{
    unsigned char *memory = take(100);
    int how = -1;
    memory[0] = 7;
    pid_t child = fork();
    if (child == 0)
        run_child(memory);
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert_int_eq(how, 0);
    ck_assert_int_eq(memory[0], 7);
    UNIT_OK(jd_device_free(memory));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device memory");
    TCase *tcase = unit_case(suite, "alloc");
    tcase_add_test(tcase, memory_is_shared_zeroed_and_aligned);
    tcase_add_test(tcase, no_bytes_are_a_null);
    tcase_add_test(tcase, bad_arguments_of_alloc);
    tcase_add_test(tcase, too_much_is_a_sentence);
    tcase = unit_case(suite, "free");
    tcase_add_test(tcase, wrong_pointers_are_refused);
    tcase = unit_case(suite, "copy");
    tcase_add_test(tcase, copies);
    tcase_add_test(tcase, bad_arguments_of_copy);
    tcase = unit_case(suite, "system");
    tcase_add_test(tcase, without_a_heap_memory_is_plain);
    tcase_add_test(tcase, a_forked_child_has_no_heap);
    return unit_main(suite);
}
