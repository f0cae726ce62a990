/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cudart_memory.c - the stand-in's memory: what the host may not touch,
 * what is noticed, and copies. */
#include "test_cudart.h"

static void read_it(void *arg)
{
    volatile const char *memory = arg;

    (void)memory[0];
}

static void write_it(void *arg)
{
    volatile char *memory = arg;

    memory[0] = 1;
}

START_TEST(the_host_cannot_touch_device_memory)
{
    char *memory = make_device(4096);

    expect_death(read_it, memory, "");
    expect_death(write_it, memory, "");
    expect_death(write_it, memory + 4095, "");
}
END_TEST

static void find_it(void *arg)
{
    standin_address(arg);
}

START_TEST(what_was_freed_is_not_used)
{
    char *memory = make_device(64);
    char host[64];

    GOOD(cudaFree(memory));
    ANSWERS(cudaMemcpy(host, memory, 64, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
    ANSWERS(cudaFree(memory), cudaErrorInvalidValue);
    ck_assert_ptr_ne(make_device(64), memory);
    expect_death(find_it, memory, "is device memory that was freed");
    expect_death(read_it, memory, "");
}
END_TEST

START_TEST(what_is_not_its_memory_is_not_freed)
{
    char *memory = make_device(64);
    char *pinned = make_pinned(64);
    char host;

    ANSWERS(cudaFree(memory + 1), cudaErrorInvalidValue);
    ANSWERS(cudaFree(&host), cudaErrorInvalidValue);
    ANSWERS(cudaFree(pinned), cudaErrorInvalidValue);
    ANSWERS(cudaFreeHost(memory), cudaErrorInvalidValue);
    ANSWERS(cudaFreeHost(&host), cudaErrorInvalidValue);
    GOOD(cudaFree(NULL));
    GOOD(cudaFreeHost(NULL));
    GOOD(cudaFree(memory));
    GOOD(cudaFreeHost(pinned));
    ANSWERS(cudaFreeHost(pinned), cudaErrorInvalidValue);
}
END_TEST

START_TEST(a_copy_past_an_end_is_refused)
{
    char *memory = make_device(100);
    char *pinned = make_pinned(100);
    char host[200] = "";

    ANSWERS(cudaMemcpy(memory, host, 101, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
    ANSWERS(cudaMemcpy(memory + 1, host, 100, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
    ANSWERS(cudaMemcpy(memory, pinned + 50, 51, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
    ANSWERS(cudaMemset(memory, 0, 101), cudaErrorInvalidValue);
    ANSWERS(cudaMemset(host, 0, 1), cudaErrorInvalidValue);
    ANSWERS(cudaMemcpy(NULL, host, 1, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
    GOOD(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));
    GOOD(cudaMemset(NULL, 0, 0));
}
END_TEST

static void overrun_and_free(void *arg)
{
    char *memory;

    (void)arg;
    if (cudaMalloc((void **)&memory, 100) != cudaSuccess)
        _exit(0);
    ((char *)standin_address(memory))[100] = 1;
    cudaFree(memory);
}

START_TEST(a_write_past_an_end_is_found)
{
    expect_death(overrun_and_free, NULL, "byte 100 of the 100 at ");
}
END_TEST

START_TEST(memory_ends)
{
    size_t before;
    size_t after;
    size_t total;
    void *memory = NULL;

    GOOD(cudaMemGetInfo(&before, &total));
    ck_assert_uint_eq(before, total);
    ck_assert_uint_eq(total, (size_t)1 << 30);
    ANSWERS(cudaMalloc(&memory, total + 1), cudaErrorMemoryAllocation);
    ck_assert_ptr_null(memory);
    GOOD(cudaMalloc(&memory, total - 5));
    ANSWERS(cudaMalloc(&(void *){ NULL }, 6), cudaErrorMemoryAllocation);
    GOOD(cudaMemGetInfo(&after, &total));
    ck_assert_uint_eq(after, 5);
    GOOD(cudaFree(memory));
    GOOD(cudaMemGetInfo(&after, &total));
    ck_assert_uint_eq(after, before);
}
END_TEST

START_TEST(new_memory_is_not_zero)
{
    char *memory = make_device(8);
    unsigned char host[8] = "";

    GOOD(cudaMemcpy(host, memory, 8, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(host[i], 0xDB);
    ANSWERS(cudaMalloc(NULL, 8), cudaErrorInvalidValue);
    GOOD(cudaMalloc((void **)&memory, 0));
    ck_assert_ptr_null(memory);
}
END_TEST

static void expect_place(const void *pointer, enum cudaMemoryType type,
                         int device, const void *on_device, const void *on_host)
{
    struct cudaPointerAttributes attributes;

    GOOD(cudaPointerGetAttributes(&attributes, pointer));
    ck_assert_int_eq(attributes.type, type);
    ck_assert_int_eq(attributes.device, device);
    ck_assert_ptr_eq(attributes.devicePointer, on_device);
    ck_assert_ptr_eq(attributes.hostPointer, on_host);
}

START_TEST(pointers_say_what_they_are)
{
    char host;
    char *memory;
    char *pinned;

    setenv("STANDIN_DEVICES", "2", 1);
    GOOD(cudaSetDevice(1));
    memory = make_device(16);
    pinned = make_pinned(16);
    GOOD(cudaSetDevice(0));
    expect_place(memory + 15, cudaMemoryTypeDevice, 1, memory + 15, NULL);
    expect_place(pinned + 3, cudaMemoryTypeHost, 1, pinned + 3, pinned + 3);
    expect_place(&host, cudaMemoryTypeUnregistered, -2, NULL, &host);
    GOOD(cudaFree(memory));
    expect_place(memory, cudaMemoryTypeUnregistered, -2, NULL, memory);
    ANSWERS(cudaPointerGetAttributes(NULL, &host), cudaErrorInvalidValue);
}
END_TEST

START_TEST(copies_go_all_ways)
{
    char *one = make_device(16);
    char *other = make_device(16);
    char *pinned = make_pinned(16);
    char host[16] = "0123456789abcde";

    GOOD(cudaMemcpy(one, host, 16, cudaMemcpyHostToDevice));
    GOOD(cudaMemcpy(other, one, 16, cudaMemcpyDeviceToDevice));
    GOOD(cudaMemcpy(pinned, other, 16, cudaMemcpyDeviceToHost));
    ck_assert_str_eq(pinned, "0123456789abcde");
    GOOD(cudaMemset(other, 'x', 4));
    GOOD(cudaMemcpy(host, other, 16, cudaMemcpyDefault));
    ck_assert_str_eq(host, "xxxx456789abcde");
    GOOD(cudaMemcpy(host, pinned, 4, cudaMemcpyHostToHost));
    ck_assert_str_eq(host, "0123456789abcde");
}
END_TEST

START_TEST(a_copy_of_another_way_is_refused)
{
    char *memory = make_device(16);
    char host[16];

    ANSWERS(cudaMemcpy(memory, host, 16, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
    ANSWERS(cudaMemcpy(memory, host, 16, cudaMemcpyDeviceToDevice),
            cudaErrorInvalidValue);
    ANSWERS(cudaMemcpy(host, memory, 16, cudaMemcpyHostToHost),
            cudaErrorInvalidValue);
    ANSWERS(cudaMemcpy(host, memory, 16, (enum cudaMemcpyKind)9),
            cudaErrorInvalidMemcpyDirection);
}
END_TEST

START_TEST(a_copy_in_two_dimensions_leaves_the_gaps)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    char *memory = make_device(11);
    char host[] = "abcdefghi";

    GOOD(cudaMemset(memory, '.', 11));
    GOOD(cudaDeviceSynchronize());
    GOOD(cudaMemcpy2DAsync(memory, 4, host, 3, 2, 3, cudaMemcpyHostToDevice,
                           stream));
    GOOD(cudaMemcpy2DAsync(host, 3, memory, 4, 3, 3, cudaMemcpyDeviceToHost,
                           stream));
    ck_assert_str_eq(host, "ab.de.gh.");
    ANSWERS(cudaMemcpy2DAsync(memory, 2, host, 3, 3, 3, cudaMemcpyHostToDevice,
                              stream),
            cudaErrorInvalidPitchValue);
    ANSWERS(cudaMemcpy2DAsync(memory, (size_t)1 << 31, host, 3, 3, 1,
                              cudaMemcpyHostToDevice, stream),
            cudaErrorInvalidPitchValue);
    ANSWERS(cudaMemcpy2DAsync(memory, 4, host, 3, 3, 4, cudaMemcpyHostToDevice,
                              stream),
            cudaErrorInvalidValue);
}
END_TEST

static void set_flag(void *arg)
{
    **(int **)arg = 1;
}

START_TEST(freeing_comes_after_the_devices_work)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    void *memory = make_device(8);
    int flag = 0;
    int *where = &flag;

    for (int i = 0; i < 20; i++)
        GOOD(standin_enqueue(stream, set_flag, &where, sizeof(where)));
    GOOD(cudaFree(memory));
    ck_assert_int_eq(flag, 1);
    GOOD(cudaStreamQuery(stream));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stand-in memory");
    TCase *tcase = add_case(suite, "access");

    tcase_add_test(tcase, the_host_cannot_touch_device_memory);
    tcase_add_test(tcase, what_was_freed_is_not_used);
    tcase_add_test(tcase, what_is_not_its_memory_is_not_freed);
    tcase_add_test(tcase, a_copy_past_an_end_is_refused);
    tcase_add_test(tcase, a_write_past_an_end_is_found);
    tcase = add_case(suite, "allocation");
    tcase_add_test(tcase, memory_ends);
    tcase_add_test(tcase, new_memory_is_not_zero);
    tcase_add_test(tcase, pointers_say_what_they_are);
    tcase_add_test(tcase, freeing_comes_after_the_devices_work);
    tcase = add_case(suite, "copies");
    tcase_add_test(tcase, copies_go_all_ways);
    tcase_add_test(tcase, a_copy_of_another_way_is_refused);
    tcase_add_test(tcase, a_copy_in_two_dimensions_leaves_the_gaps);
    return run_suite(suite);
}
