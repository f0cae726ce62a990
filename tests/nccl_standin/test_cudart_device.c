/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cudart_device.c - the GPUs of the stand-in, its errors, and the ways in
 * which each call of it fails. */
#include "test_cudart.h"

#include <pthread.h>

START_TEST(the_devices_are_those_of_the_variable)
{
    struct cudaDeviceProp first;
    struct cudaDeviceProp last;
    char address[16];
    int count;
    int value;

    setenv("STANDIN_DEVICES", "3", 1);
    GOOD(cudaGetDeviceCount(&count));
    ck_assert_int_eq(count, 3);
    GOOD(cudaGetDeviceProperties(&first, 0));
    GOOD(cudaGetDeviceProperties(&last, 2));
    ck_assert_str_eq(first.name, "stand-in GPU");
    ck_assert_uint_eq(first.totalGlobalMem, (size_t)1 << 30);
    ck_assert_int_ne(memcmp(first.uuid.bytes, last.uuid.bytes, sizeof(CUuuid)),
                     0);
    GOOD(cudaDeviceGetPCIBusId(address, sizeof(address), 2));
    ck_assert_str_eq(address, "57D1:03:00.0");
    ANSWERS(cudaDeviceGetPCIBusId(address, 5, 2), cudaErrorInvalidValue);
    GOOD(cudaDeviceGetAttribute(&value, cudaDevAttrPciBusId, 2));
    ck_assert_int_eq(value, 3);
    GOOD(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
    ck_assert_int_eq(value, first.major);
    GOOD(cudaDeviceCanAccessPeer(&value, 0, 1));
    ck_assert_int_eq(value, 1);
    GOOD(cudaDeviceCanAccessPeer(&value, 1, 1));
    ck_assert_int_eq(value, 0);
}
END_TEST

/* The UUIDs of a process that sees "2,0". */
static void other_process(unsigned char uuids[2][16])
{
    int ends[2];
    pid_t child;

    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        setenv("STANDIN_VISIBLE", "2,0", 1);
        for (int i = 0; i < 2; i++) {
            struct cudaDeviceProp prop;
            if (cudaGetDeviceProperties(&prop, i) != cudaSuccess ||
                write(ends[1], prop.uuid.bytes, 16) != 16)
                _exit(1);
        }
        _exit(0);
    }
    ck_assert_int_eq(read(ends[0], uuids[0], 16), 16);
    ck_assert_int_eq(read(ends[0], uuids[1], 16), 16);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
}

START_TEST(a_device_has_one_uuid_in_all_processes)
{
    unsigned char uuids[2][16];
    struct cudaDeviceProp prop;

    setenv("STANDIN_DEVICES", "3", 1);
    other_process(uuids);
    GOOD(cudaGetDeviceProperties(&prop, 2));
    ck_assert_mem_eq(prop.uuid.bytes, uuids[0], 16);
    GOOD(cudaGetDeviceProperties(&prop, 0));
    ck_assert_mem_eq(prop.uuid.bytes, uuids[1], 16);
}
END_TEST

START_TEST(the_visible_ones_end_before_one_that_is_not_there)
{
    int count;

    setenv("STANDIN_DEVICES", "4", 1);
    setenv("STANDIN_VISIBLE", "3,1,7,0", 1);
    GOOD(cudaGetDeviceCount(&count));
    ck_assert_int_eq(count, 2);
}
END_TEST

START_TEST(without_a_device_there_is_no_memory)
{
    int count = -1;
    void *memory;

    setenv("STANDIN_VISIBLE", "", 1);
    ANSWERS(cudaGetDeviceCount(&count), cudaErrorNoDevice);
    ck_assert_int_eq(count, 0);
    ANSWERS(cudaMalloc(&memory, 8), cudaErrorNoDevice);
    ANSWERS(cudaSetDevice(0), cudaErrorNoDevice);
}
END_TEST

START_TEST(without_a_driver_nothing_works)
{
    int number = -1;
    void *memory;

    setenv("STANDIN_DRIVER", "none", 1);
    ANSWERS(cudaGetDeviceCount(&number), cudaErrorInsufficientDriver);
    ANSWERS(cudaMalloc(&memory, 8), cudaErrorInsufficientDriver);
    ANSWERS(cudaGetLastError(), cudaErrorInsufficientDriver);
    GOOD(cudaDriverGetVersion(&number));
    ck_assert_int_eq(number, 0);
    GOOD(cudaRuntimeGetVersion(&number));
    ck_assert_int_eq(number, CUDART_VERSION);
}
END_TEST

static void *see_thread(void *arg)
{
    int *seen = arg;

    seen[0] = (int)cudaPeekAtLastError();
    cudaGetDevice(&seen[1]);
    return NULL;
}

START_TEST(device_and_last_error_are_the_threads)
{
    int seen[2];
    pthread_t thread;
    int device;

    setenv("STANDIN_DEVICES", "2", 1);
    GOOD(cudaSetDevice(1));
    ANSWERS(cudaSetDevice(2), cudaErrorInvalidDevice);
    ANSWERS(cudaSetDevice(-1), cudaErrorInvalidDevice);
    pthread_create(&thread, NULL, see_thread, seen);
    pthread_join(thread, NULL);
    ck_assert_int_eq(seen[0], cudaSuccess);
    ck_assert_int_eq(seen[1], 0);
    GOOD(cudaGetDevice(&device));
    ck_assert_int_eq(device, 1);
    ANSWERS(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    ANSWERS(cudaGetLastError(), cudaErrorInvalidDevice);
    GOOD(cudaGetLastError());
}
END_TEST

START_TEST(errors_have_names)
{
    ck_assert_str_eq(cudaGetErrorName(cudaErrorMemoryAllocation),
                     "cudaErrorMemoryAllocation");
    ck_assert_str_eq(cudaGetErrorString(cudaErrorMemoryAllocation),
                     "out of memory (stand-in)");
    ck_assert_str_eq(cudaGetErrorName((cudaError_t)12345),
                     "unrecognized error code");
    ck_assert_str_eq(cudaGetErrorString((cudaError_t)12345),
                     "unrecognized error code");
}
END_TEST

START_TEST(the_nth_call_fails_when_told)
{
    void *memory;
    size_t number;

    setenv("STANDIN_FAIL", "cudaMalloc:2:2,cudaMemGetInfo:1:999,HANG:1", 1);
    GOOD(cudaMalloc(&memory, 8));
    ANSWERS(cudaMalloc(&memory, 8), cudaErrorMemoryAllocation);
    GOOD(cudaMalloc(&memory, 8));
    ANSWERS(cudaMemGetInfo(&number, &number), cudaErrorUnknown);
    GOOD(cudaGetDevice(&(int){ 0 }));
    ck_assert_int_eq(standin_fails("HANG"), 1);
    ck_assert_int_eq(standin_fails("HANG"), 0);
}
END_TEST

START_TEST(a_child_of_a_process_that_used_it_cannot)
{
    int count;
    int status;
    pid_t child;

    GOOD(cudaGetDeviceCount(&count));
    child = fork();
    if (child == 0)
        _exit(cudaGetDeviceCount(&count) == cudaErrorInitializationError ? 0
                                                                         : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

static void *left;

static void free_at_exit(void)
{
    _exit(cudaFree(left) == cudaErrorCudartUnloading &&
                  cudaPeekAtLastError() == cudaErrorCudartUnloading
              ? 0
              : 1);
}

START_TEST(handlers_of_before_run_after_its_end)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        atexit(free_at_exit);
        cudaMalloc(&left, 8);
        exit(2);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stand-in devices");
    TCase *tcase = add_case(suite, "devices");

    tcase_add_test(tcase, the_devices_are_those_of_the_variable);
    tcase_add_test(tcase, a_device_has_one_uuid_in_all_processes);
    tcase_add_test(tcase, the_visible_ones_end_before_one_that_is_not_there);
    tcase_add_test(tcase, without_a_device_there_is_no_memory);
    tcase_add_test(tcase, without_a_driver_nothing_works);
    tcase = add_case(suite, "errors");
    tcase_add_test(tcase, device_and_last_error_are_the_threads);
    tcase_add_test(tcase, errors_have_names);
    tcase_add_test(tcase, the_nth_call_fails_when_told);
    tcase_add_test(tcase, a_child_of_a_process_that_used_it_cannot);
    tcase_add_test(tcase, handlers_of_before_run_after_its_end);
    return run_suite(suite);
}
