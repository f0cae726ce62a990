/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_devices.c - the cuda platform's devices, what it says of errors,
 * and the table that it is given, on the stand-in. */
#include "test_cuda.h"

#include "collectives/cuda/devices.h"
#include "collectives/cuda/errors.h"

#include <ctype.h>
#include <stdio.h>

static struct jd_found_devices found;

static void find(void)
{
    ck_assert_int_eq(jd__host_set(&fake_host.table), JD_OK);
    UNIT_OK(jd__cuda_source.enumerate(NULL, NULL, &found));
}

static void forget(void)
{
    free(found.items);
}

static void expect_none(const char *why)
{
    find();
    ck_assert_int_eq(found.count, 0);
    ck_assert_ptr_null(found.items);
    ck_assert_str_eq(found.why_none, why);
    GOOD(cudaPeekAtLastError());
}

/* ---- devices ------------------------------------------------------------ */

START_TEST(devices_are_described)
{
    static const char *const details[] = {
        "compute capability 9.0, peer access to GPU 1,2",
        "compute capability 9.0, peer access to GPU 0,2",
        "compute capability 9.0, peer access to GPU 0,1",
    };
    setenv("STANDIN_DEVICES", "3", 1);
    find();
    ck_assert_int_eq(found.count, 3);
    for (int i = 0; i < 3; i++) {
        const struct jd_local_device *device = &found.items[i];
        char pci[16];
        snprintf(pci, sizeof pci, "57d1:%02x:00.0", i + 1);
        ck_assert_str_eq(device->kind, "stand-in GPU");
        ck_assert_str_eq(device->pci_bus_id, pci);
        ck_assert_str_eq(device->detail, details[i]);
        ck_assert_int_eq(device->native, i);
        ck_assert_int_eq(device->numa_node, -1);
        ck_assert_uint_eq(device->memory_bytes, (uint64_t)1 << 30);
    }
    ck_assert_str_ne(found.items[0].uuid, found.items[1].uuid);
}
END_TEST

/* "GPU-00112233-4455-6677-8899-aabbccddeeff" */
START_TEST(uuids_are_as_nvidia_smi_prints_them)
{
    unsigned char uuid[16];
    char text[64] = "GPU-", *end = text + 4;
    find();
    standin_uuid(0, uuid);
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *end++ = '-';
        end += sprintf(end, "%02x", uuid[i]);
    }
    ck_assert_str_eq(found.items[0].uuid, text);
    ck_assert_uint_eq(strlen(text), 40);
}
END_TEST

/* Else two processes that have a part each would be told that they take the
 * same GPU. */
START_TEST(parts_of_a_gpu_have_uuids_of_their_own)
{
    setenv("STANDIN_DEVICES", "2", 1);
    setenv("STANDIN_MIG", "1", 1);
    find();
    ck_assert_str_eq(found.items[0].pci_bus_id, found.items[1].pci_bus_id);
    ck_assert_str_ne(found.items[0].uuid, found.items[1].uuid);
    ck_assert_int_eq(strncmp(found.items[0].uuid, "MIG-", 4), 0);
    ck_assert_str_eq(found.items[0].kind, "stand-in GPU MIG 1g.10gb");
}
END_TEST

/* An old driver has no parts, or says nothing of them. */
START_TEST(without_the_drivers_uuid_it_is_the_runtimes)
{
    setenv("STANDIN_FAIL", "cudaGetDriverEntryPointByVersion:1:801", 1);
    find();
    ck_assert_int_eq(strncmp(found.items[0].uuid, "GPU-", 4), 0);
    ck_assert_uint_eq(strlen(found.items[0].uuid), 40);
    GOOD(cudaPeekAtLastError());
}
END_TEST

START_TEST(ordinals_are_those_that_were_settled)
{
    setenv("STANDIN_DEVICES", "4", 1);
    find();
    jd_device device = { .local_ordinal = 1 };
    ck_assert_int_eq(jd__cuda_native(&device), 1);
    jd__cuda_source.settle((int[]){ 3, 2 }, 2);
    ck_assert_int_eq(jd__cuda_native(&device), 2);
    device.local_ordinal = 0;
    ck_assert_int_eq(jd__cuda_native(&device), 3);
}
END_TEST

START_TEST(no_driver_is_no_devices)
{
    setenv("STANDIN_DRIVER", "none", 1);
    expect_none("no NVIDIA driver is loaded on this host");
    ck_assert(!found.is_fault);
}
END_TEST

START_TEST(hidden_gpus_are_no_devices)
{
    setenv("STANDIN_VISIBLE", "", 1);
    expect_none("CUDA shows no GPU to this process: there is none, or "
                "CUDA_VISIBLE_DEVICES hides it");
    ck_assert(!found.is_fault);
}
END_TEST

START_TEST(an_old_driver_is_no_devices)
{
    setenv("STANDIN_FAIL", "cudaGetDeviceCount:1:35", 1);
    expect_none("the NVIDIA driver serves CUDA 13.0, and jd's module was "
                "built with 13.0; update the driver");
    ck_assert(found.is_fault);
}
END_TEST

START_TEST(what_else_cuda_says_is_told)
{
    setenv("STANDIN_FAIL", "cudaGetDeviceCount:1:802", 1);
    expect_none("cudaGetDeviceCount failed: cudaErrorSystemNotReady (system "
                "not yet initialized (stand-in))");
}
END_TEST

START_TEST(a_device_that_fails_is_an_error)
{
    setenv("STANDIN_FAIL", "cudaGetDeviceProperties:1:46", 1);
    ck_assert_int_eq(jd__host_set(&fake_host.table), JD_OK);
    UNIT_FAILS(jd__cuda_source.enumerate(NULL, NULL, &found), JD_INTERNAL,
               "jd_initialize: cudaGetDeviceProperties failed: "
               "cudaErrorDevicesUnavailable (all devices are busy or "
               "unavailable (stand-in))");
}
END_TEST

/* ---- the thread's device ------------------------------------------------ */

static int current(void)
{
    int device = -1;
    GOOD(cudaGetDevice(&device));
    return device;
}

START_TEST(a_visit_ends_where_it_began)
{
    struct jd_cuda_visit visit;
    setenv("STANDIN_DEVICES", "3", 1);
    find();
    jd__cuda_source.settle((int[]){ 1, 2 }, 2);
    GOOD(cudaSetDevice(1));
    UNIT_OK(jd__cuda_enter(2, "test", &visit));
    ck_assert_int_eq(current(), 2);
    jd__cuda_leave(&visit);
    jd__cuda_leave(&visit);
    ck_assert_int_eq(current(), 1);
}
END_TEST

/* A context of another process's GPU would cost memory there. */
START_TEST(a_visit_does_not_go_back_to_anothers_gpu)
{
    struct jd_cuda_visit visit;
    setenv("STANDIN_DEVICES", "3", 1);
    find();
    jd__cuda_source.settle((int[]){ 2 }, 1);
    ck_assert_int_eq(current(), 0);
    UNIT_OK(jd__cuda_enter(2, "test", &visit));
    jd__cuda_leave(&visit);
    ck_assert_int_eq(current(), 2);
    ck_assert(standin_has_context(2) && !standin_has_context(0));
}
END_TEST

START_TEST(a_visit_that_fails_changes_nothing)
{
    struct jd_cuda_visit visit;
    find();
    UNIT_FAILS(jd__cuda_enter(7, "jd_device_alloc", &visit), JD_INTERNAL,
               "jd_device_alloc: cudaSetDevice failed: cudaErrorInvalidDevice "
               "(invalid device ordinal (stand-in))");
    jd__cuda_leave(&visit);
    ck_assert_int_eq(current(), 0);
}
END_TEST

/* ---- errors ------------------------------------------------------------- */

START_TEST(cudas_errors_are_sentences)
{
    ck_assert_int_eq(jd__host_set(&fake_host.table), JD_OK);
    UNIT_OK(jd__cuda_check(cudaSuccess, "jd_psum", "cudaMalloc"));
    UNIT_OK(jd__cuda_check(cudaErrorCudartUnloading, "jd_psum", "cudaFree"));
    UNIT_FAILS(
        jd__cuda_check(cudaErrorMemoryAllocation, "jd_psum", "cudaMalloc"),
        JD_RESOURCE_EXHAUSTED,
        "jd_psum: cudaMalloc failed: cudaErrorMemoryAllocation (out of "
        "memory (stand-in)); free memory of the GPU, or ask for less");
    UNIT_FAILS(jd__cuda_check(cudaErrorIllegalAddress, "jd_shard_synchronize",
                              "cudaStreamQuery"),
               JD_INTERNAL,
               "jd_shard_synchronize: cudaStreamQuery failed: "
               "cudaErrorIllegalAddress (an illegal memory access was "
               "encountered (stand-in)); something that was queued before has "
               "failed, a "
               "kernel perhaps (compute-sanitizer finds it), and CUDA serves "
               "this process no more");
    UNIT_FAILS(jd__cuda_check(cudaErrorInvalidValue, "jd_psum", "cudaFree"),
               JD_INTERNAL,
               "jd_psum: cudaFree failed: cudaErrorInvalidValue (invalid "
               "argument (stand-in))");
}
END_TEST

/* CUDA's own description says of these that the process has to end. */
START_TEST(errors_that_stay_are_told_as_such)
{
    static const int fatal[] = { 226, 700, 702, 710, 714,
                                 715, 716, 717, 718, 719 };
    ck_assert_int_eq(jd__host_set(&fake_host.table), JD_OK);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
        ck_assert_int_eq(
            jd__cuda_check((cudaError_t)fatal[i], "jd_psum", "cudaStreamQuery"),
            JD_INTERNAL);
        ck_assert_msg(
            strstr(jd_error_message(), "CUDA serves this process no more"),
            "%s", jd_error_message());
    }
}
END_TEST

START_TEST(an_error_is_told_once)
{
    find();
    cudaError_t error = cudaFree(&error);
    ck_assert_int_eq(jd__cuda_check(error, "test", "cudaFree"), JD_INTERNAL);
    GOOD(cudaGetLastError());
}
END_TEST

START_TEST(nccls_errors_are_sentences)
{
    static const struct {
        ncclResult_t result;
        jd_status status;
    } pairs[] = { { ncclUnhandledCudaError, JD_INTERNAL },
                  { ncclSystemError, JD_INTERNAL },
                  { ncclInvalidUsage, JD_INVALID_ARGUMENT },
                  { ncclRemoteError, JD_UNAVAILABLE } };
    ck_assert_int_eq(jd__host_set(&fake_host.table), JD_OK);
    UNIT_OK(jd__nccl_check(ncclSuccess, NULL, "jd_psum", "ncclAllReduce"));
    UNIT_OK(jd__nccl_check(ncclInProgress, NULL, "jd_psum", "ncclAllReduce"));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[256];
        ck_assert_int_eq(
            jd__nccl_check(pairs[i].result, NULL, "jd_psum", "ncclAllReduce"),
            pairs[i].status);
        snprintf(text, sizeof text, "jd_psum: ncclAllReduce failed: %s",
                 ncclGetErrorString(pairs[i].result));
        ck_assert_ptr_nonnull(strstr(jd_error_message(), text));
        ck_assert_ptr_nonnull(strstr(jd_error_message(),
                                     "; NCCL_DEBUG=WARN makes NCCL say more"));
    }
}
END_TEST

/* ---- the table ---------------------------------------------------------- */

START_TEST(a_table_of_another_build_is_refused)
{
    struct jd_platform_host table = fake_host.table;
    table.version = "99.1.0";
    ck_assert_int_eq(jd__host_set(&table), JD_FAILED_PRECONDITION);
    ck_assert_str_eq(table.error_message(),
                     "the cuda platform's module is of jd " JD_VERSION
                     ", and the library of jd 99.1.0; install both from one "
                     "build");
    table.interface = 99;
    ck_assert_int_eq(jd__host_set(&table), JD_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(table.error_message(),
                                 ", and the library of jd 99; install both "
                                 "from one build"));
}
END_TEST

START_TEST(sentences_of_any_length_go_through)
{
    char number[3001];
    memset(number, '7', 3000);
    number[3000] = 0;
    ck_assert_int_eq(jd__host_set(&fake_host.table), JD_OK);
    UNIT_FAILS(jd_fail(JD_ABORTED, "%s", number), JD_ABORTED, number);
    UNIT_FAILS(jd_fail(JD_ABORTED, "%d of %s", 3, "it"), JD_ABORTED, "3 of it");
    UNIT_FAILS(jd__fail_prefix(JD_ABORTED, "%s: ", "before"), JD_ABORTED,
               "before: 3 of it");
    jd__log(JD_LOG_WARNING, "%d lines", 2);
    ck_assert_str_eq(fake_host.log, "2 lines");
    jd__log(JD_LOG_INFO, "not wanted");
    ck_assert_str_eq(fake_host.log, "2 lines");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("cuda devices");
    TCase *tcase = unit_case(suite, "devices");
    tcase_add_checked_fixture(tcase, NULL, forget);
    tcase_add_test(tcase, devices_are_described);
    tcase_add_test(tcase, uuids_are_as_nvidia_smi_prints_them);
    tcase_add_test(tcase, parts_of_a_gpu_have_uuids_of_their_own);
    tcase_add_test(tcase, without_the_drivers_uuid_it_is_the_runtimes);
    tcase_add_test(tcase, ordinals_are_those_that_were_settled);
    tcase_add_test(tcase, no_driver_is_no_devices);
    tcase_add_test(tcase, hidden_gpus_are_no_devices);
    tcase_add_test(tcase, an_old_driver_is_no_devices);
    tcase_add_test(tcase, what_else_cuda_says_is_told);
    tcase_add_test(tcase, a_device_that_fails_is_an_error);
    tcase = unit_case(suite, "threads");
    tcase_add_checked_fixture(tcase, NULL, forget);
    tcase_add_test(tcase, a_visit_ends_where_it_began);
    tcase_add_test(tcase, a_visit_does_not_go_back_to_anothers_gpu);
    tcase_add_test(tcase, a_visit_that_fails_changes_nothing);
    tcase = unit_case(suite, "errors");
    tcase_add_checked_fixture(tcase, NULL, forget);
    tcase_add_test(tcase, cudas_errors_are_sentences);
    tcase_add_test(tcase, errors_that_stay_are_told_as_such);
    tcase_add_test(tcase, an_error_is_told_once);
    tcase_add_test(tcase, nccls_errors_are_sentences);
    tcase = unit_case(suite, "table");
    tcase_add_test(tcase, a_table_of_another_build_is_refused);
    tcase_add_test(tcase, sentences_of_any_length_go_through);
    return suite;
}

int main(void)
{
    return unit_main(make_suite());
}
