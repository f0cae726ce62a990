/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_stream.c - a shard's stream on the cuda platform: how it is waited
 * for, replaced and captured, and its scratch memory; on the stand-in, with
 * comms that have no communicator. */
#include "streams.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>

/* ---- waiting ------------------------------------------------------------ */

START_TEST(what_is_queued_is_waited_for)
{
    struct jd_stream *stream = make();
    char *memory = make_device(100), *there = make_pinned(100);
    for (int i = 0; i < 50; i++) {
        GOOD(cudaMemsetAsync(memory, i, 100, stream->handle));
        GOOD(cudaMemcpyAsync(there, memory, 100, cudaMemcpyDefault,
                             stream->handle));
        note(stream, &data_comm, JD_ACTIVITY_PSUM);
        UNIT_OK(synchronize(stream));
        ck_assert_int_eq(there[99], i);
        ck_assert_int_eq(stream->num_works, 0);
    }
    GOOD(cudaGetLastError());
    jd__cuda_streams.destroy(stream, fake_runtime());
}
END_TEST

static void *open_later(void *arg)
{
    (void)arg;
    while (atomic_load(&fake_host.turns) < 2500)
        ;
    gate_open(&gate);
    return NULL;
}

/* MPI makes progress meanwhile, and NCCL is asked how it is. */
START_TEST(a_wait_looks_after_what_must_go_on)
{
    pthread_t thread;
    struct jd_stream *stream = make();
    queue(stream, &data_comm, JD_ACTIVITY_PSUM);
    pthread_create(&thread, NULL, open_later, NULL);
    UNIT_OK(synchronize(stream));
    pthread_join(thread, NULL);
    ck_assert_int_ge(fake_comm_polls, 2500);
    ck_assert(!data_is_aborted);
}
END_TEST

START_TEST(a_wait_has_a_deadline_and_names_the_collective)
{
    struct jd_stream *stream = make();
    fake_host.timeout = 0.05;
    queue(stream, &data_comm, JD_ACTIVITY_PSUM);
    double begin = jd__clock_now();
    UNIT_FAILS(synchronize(stream), JD_DEADLINE_EXCEEDED,
               "jd_shard_synchronize of jd_psum over axis \"data\": process 1 "
               "has waited for 0,2,3");
    ck_assert(jd__clock_now() - begin >= 0.05);
    ck_assert_int_eq(atomic_load(&fake_host.waits), 0);
    ck_assert(data_is_aborted);
    gate_open(&gate);
    UNIT_FAILS(synchronize(stream), JD_ABORTED,
               "jd_shard_synchronize: the communicator is aborted");
}
END_TEST

START_TEST(all_that_may_be_late_is_named)
{
    struct jd_stream *stream = make();
    fake_host.timeout = 0.05;
    queue(stream, &data_comm, JD_ACTIVITY_PSUM);
    note(stream, &model_comm, JD_ACTIVITY_PSUM);
    note(stream, &model_comm, JD_ACTIVITY_ALL_GATHER);
    UNIT_FAILS(synchronize(stream), JD_DEADLINE_EXCEEDED,
               "jd_shard_synchronize of jd_psum over axis \"data\", "
               "jd_all_gather over axis \"model\": process 1 has waited for "
               "0,2,3,0,2,3");
    ck_assert(model_is_aborted);
    gate_open(&gate);
}
END_TEST

/* A call that waits itself says its own name once. */
START_TEST(a_call_that_waits_names_what_came_before)
{
    struct jd_stream *stream = make();
    fake_host.timeout = 0.05;
    queue(stream, &data_comm, JD_ACTIVITY_PSUM);
    note(stream, &model_comm, JD_ACTIVITY_ALL_GATHER);
    UNIT_FAILS(jd__cuda_stream_wait(stream, "jd_all_gather", over_model),
               JD_DEADLINE_EXCEEDED,
               "jd_all_gather over axis \"model\", after jd_psum over axis "
               "\"data\": process 1 has waited for 0,2,3,0,2,3");
    gate_open(&gate);
}
END_TEST

START_TEST(a_kernel_that_hangs_is_told)
{
    struct jd_stream *stream = make();
    fake_host.timeout = 0.05;
    gate_close(&gate, stream->handle);
    UNIT_FAILS(synchronize(stream), JD_DEADLINE_EXCEEDED,
               "jd_shard_synchronize: what is queued on the stream of device "
               "131072 (GPU 0, \"stand-in GPU\") is not done within 0.05 s: a "
               "kernel of the program does not end, or is slow "
               "(JD_COLLECTIVE_TIMEOUT changes the deadline)");
    gate_open(&gate);
}
END_TEST

START_TEST(devices_of_one_process_wait_for_each_other)
{
    static int own[] = { 1, 1 };
    struct jd_stream *stream = make();
    fake_host.timeout = 0.05;
    data_comm.processes = own;
    data_comm.size = 2;
    queue(stream, &data_comm, JD_ACTIVITY_PSUM);
    UNIT_FAILS(synchronize(stream), JD_DEADLINE_EXCEEDED,
               "jd_shard_synchronize of jd_psum over axis \"data\": what is "
               "queued on the stream of device 131072 (GPU 0, \"stand-in "
               "GPU\") is not done within 0.05 s: another device of this "
               "process has not made the call, or a kernel of the program "
               "does not end (JD_COLLECTIVE_TIMEOUT changes the deadline)");
    gate_open(&gate);
}
END_TEST

START_TEST(a_lost_peer_ends_a_wait)
{
    struct jd_stream *stream = make();
    queue(stream, &data_comm, JD_ACTIVITY_PSUM);
    note(stream, &model_comm, JD_ACTIVITY_PSUM);
    atomic_store(&fake_comm_is_lost, true);
    UNIT_FAILS(synchronize(stream), JD_UNAVAILABLE,
               "jd_shard_synchronize: a peer is lost");
    ck_assert(model_is_aborted);
    gate_open(&gate);
}
END_TEST

START_TEST(a_failed_job_ends_a_wait)
{
    struct jd_stream *stream = make();
    atomic_store(&fake_host.is_ended, true);
    queue(stream, &data_comm, JD_ACTIVITY_PSUM);
    UNIT_FAILS(synchronize(stream), JD_ABORTED,
               "jd_shard_synchronize: the job has failed");
    ck_assert(data_is_aborted);
    gate_open(&gate);
}
END_TEST

/* NCCL's kernels end when their comm is aborted, without a result. */
START_TEST(what_was_aborted_is_no_result)
{
    struct jd_stream *stream = make();
    note(stream, &data_comm, JD_ACTIVITY_PSUM);
    data_is_aborted = true;
    UNIT_FAILS(synchronize(stream), JD_ABORTED,
               "jd_shard_synchronize: the communicator is aborted");
}
END_TEST

START_TEST(cudas_errors_end_a_wait)
{
    setenv("STANDIN_FAIL", "cudaStreamQuery:1:719", 1);
    start();
    struct jd_stream *stream = make();
    note(stream, &data_comm, JD_ACTIVITY_PSUM);
    ck_assert_int_eq(synchronize(stream), JD_INTERNAL);
    ck_assert_ptr_nonnull(strstr(jd_error_message(),
                                 "jd_shard_synchronize: cudaStreamQuery "
                                 "failed: cudaErrorLaunchFailure ("));
    ck_assert(data_is_aborted);
}
END_TEST

/* A GPU that a kernel has broken: each call fails, and none waits. */
START_TEST(a_broken_gpu_is_left)
{
    setenv("STANDIN_FAIL", "cudaStreamQuery:1:700", 1);
    start();
    struct jd_stream *stream = make();
    note(stream, &data_comm, JD_ACTIVITY_PSUM);
    ck_assert_int_eq(synchronize(stream), JD_INTERNAL);
    ck_assert_int_eq(synchronize(stream), JD_INTERNAL);
    ck_assert_ptr_nonnull(
        strstr(jd_error_message(), "CUDA serves this process no more"));
    jd__cuda_streams.destroy(stream, fake_runtime());
    ck_assert_ptr_nonnull(
        strstr(fake_host.log, "; the stream and its memory stay"));
}
END_TEST

START_TEST(a_comm_that_goes_is_forgotten)
{
    struct jd_stream *stream = make(), *other = make();
    note(stream, &data_comm, JD_ACTIVITY_PSUM);
    note(stream, &model_comm, JD_ACTIVITY_PSUM);
    note(other, &data_comm, JD_ACTIVITY_PSUM);
    jd__cuda_streams_forget(&data_comm);
    ck_assert_int_eq(stream->num_works, 1);
    ck_assert_ptr_eq(stream->works[0].comm, &model_comm);
    ck_assert_int_eq(other->num_works, 0);
    jd__cuda_streams.destroy(stream, fake_runtime());
    jd__cuda_streams_forget(&data_comm);
    jd__cuda_streams.destroy(other, fake_runtime());
}
END_TEST

/* ---- going -------------------------------------------------------------- */

static int num_done;

static void count_done(void *arg)
{
    (void)arg;
    num_done++;
}

START_TEST(a_stream_goes_after_what_is_queued)
{
    for (int i = 1; i < 20; i++) {
        struct jd_stream *stream = make();
        GOOD(cudaLaunchHostFunc(stream->handle, count_done, NULL));
        jd__cuda_streams.destroy(stream, i % 2 ? fake_runtime() : NULL);
        ck_assert_int_eq(num_done, i);
    }
    jd__cuda_streams.destroy(NULL, NULL);
}
END_TEST

START_TEST(a_stream_that_hangs_is_left)
{
    struct jd_stream *stream = make();
    fake_host.timeout = 0.05;
    queue(stream, &data_comm, JD_ACTIVITY_PSUM);
    jd__cuda_streams.destroy(stream, fake_runtime());
    ck_assert_str_eq(fake_host.log,
                     "jd_mesh_destroy of jd_psum over axis \"data\": process "
                     "1 has waited for 0,2,3; the stream and its memory stay");
    gate_open(&gate);
}
END_TEST

/* ---- threads ------------------------------------------------------------ */

static void *synchronize_there(void *stream)
{
    UNIT_OK(synchronize(stream));
    return NULL;
}

static void *destroy_there(void *stream)
{
    jd__cuda_streams.destroy(stream, fake_runtime());
    return NULL;
}

static void run_on_a_new_thread(void *(*run)(void *), struct jd_stream *stream)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run, stream);
    pthread_join(thread, NULL);
}

/* A new thread is at GPU 0, which is another process's. */
START_TEST(a_wait_makes_no_context_on_anothers_gpu)
{
    jd__cuda_source.settle((int[]){ 1 }, 1);
    struct jd_stream *stream = make();
    run_on_a_new_thread(synchronize_there, stream);
    ck_assert(standin_has_context(1) && !standin_has_context(0));
    run_on_a_new_thread(destroy_there, stream);
    ck_assert(standin_has_context(1) && !standin_has_context(0));
}
END_TEST

/* ---- the program's stream ----------------------------------------------- */

START_TEST(another_stream_comes_after_the_one_before)
{
    struct jd_stream *stream = make();
    void *own = jd__cuda_streams.native(stream);
    cudaStream_t users = make_stream(cudaStreamNonBlocking);
    char *memory = make_device(100), *there = make_pinned(100);
    gate_close(&gate, stream->handle);
    GOOD(cudaMemsetAsync(memory, 1, 100, stream->handle));
    UNIT_OK(jd__cuda_streams.use(stream, users));
    ck_assert_ptr_eq(jd__cuda_streams.native(stream), users);
    GOOD(cudaMemcpyAsync(there, memory, 100, cudaMemcpyDefault, users));
    ANSWERS(cudaStreamQuery(users), cudaErrorNotReady);
    gate_open(&gate);
    UNIT_OK(synchronize(stream));
    ck_assert_int_eq(there[0], 1);
    UNIT_OK(jd__cuda_streams.use(stream, NULL));
    ck_assert_ptr_eq(jd__cuda_streams.native(stream), own);
}
END_TEST

START_TEST(the_default_stream_is_a_stream)
{
    struct jd_stream *stream = make();
    UNIT_OK(jd__cuda_streams.use(stream, cudaStreamLegacy));
    gate_close(&gate, NULL);
    fake_host.timeout = 0.05;
    ck_assert_int_eq(synchronize(stream), JD_DEADLINE_EXCEEDED);
    gate_open(&gate);
    fake_host.timeout = 30;
    UNIT_OK(synchronize(stream));
}
END_TEST

START_TEST(a_stream_of_another_device_is_refused)
{
    char text[256];
    struct jd_stream *stream = make();
    void *own = jd__cuda_streams.native(stream);
    GOOD(cudaSetDevice(1));
    cudaStream_t users = make_stream(cudaStreamNonBlocking);
    snprintf(text, sizeof text,
             "jd_shard_use_stream: the stream %p is none of GPU 0 (device "
             "131072, \"stand-in GPU\"), which the shard's device is; make it "
             "after cudaSetDevice(0)",
             (void *)users);
    UNIT_FAILS(jd__cuda_streams.use(stream, users), JD_INVALID_ARGUMENT, text);
    ck_assert_ptr_eq(jd__cuda_streams.native(stream), own);
    GOOD(cudaGetLastError());
}
END_TEST

/* ---- capture ------------------------------------------------------------ */

START_TEST(a_capture_is_not_waited_for)
{
    cudaGraph_t graph;
    struct jd_stream *stream = make();
    GOOD(cudaStreamBeginCapture(stream->handle, cudaStreamCaptureModeGlobal));
    ck_assert(jd__cuda_is_capturing(stream));
    UNIT_FAILS(synchronize(stream), JD_FAILED_PRECONDITION,
               "jd_shard_synchronize: a CUDA graph is being captured from the "
               "shard's stream, and what is captured runs later; wait after "
               "cudaStreamEndCapture() and cudaGraphLaunch()");
    GOOD(cudaStreamEndCapture(stream->handle, &graph));
    ck_assert(!jd__cuda_is_capturing(stream));
    UNIT_OK(synchronize(stream));
    GOOD(cudaGraphDestroy(graph));
}
END_TEST

/* A wait for one stream leaves the capture of another alone. */
START_TEST(a_wait_beside_a_capture_does_not_end_it)
{
    cudaGraph_t graph;
    struct jd_stream *stream = make(), *other = make();
    GOOD(cudaStreamBeginCapture(other->handle, cudaStreamCaptureModeGlobal));
    UNIT_OK(synchronize(stream));
    GOOD(cudaStreamEndCapture(other->handle, &graph));
    GOOD(cudaGraphDestroy(graph));
}
END_TEST

/* What a graph has may run at any time. */
START_TEST(a_captured_collective_is_looked_after)
{
    cudaGraph_t graph;
    cudaGraphExec_t launchable;
    struct jd_stream *stream = make();
    GOOD(cudaStreamBeginCapture(stream->handle, cudaStreamCaptureModeGlobal));
    queue(stream, &data_comm, JD_ACTIVITY_PSUM);
    GOOD(cudaStreamEndCapture(stream->handle, &graph));
    GOOD(cudaGraphInstantiate(&launchable, graph, 0));
    UNIT_OK(synchronize(stream));
    GOOD(cudaGraphLaunch(launchable, stream->handle));
    fake_host.timeout = 0.05;
    UNIT_FAILS(synchronize(stream), JD_DEADLINE_EXCEEDED,
               "jd_shard_synchronize of jd_psum over axis \"data\": process 1 "
               "has waited for 0,2,3");
    gate_open(&gate);
    GOOD(cudaGraphExecDestroy(launchable));
    GOOD(cudaGraphDestroy(graph));
}
END_TEST

START_TEST(streams_change_between_captures_not_in_them)
{
    cudaGraph_t graph;
    struct jd_stream *stream = make();
    cudaStream_t users = make_stream(cudaStreamNonBlocking);
    GOOD(cudaStreamBeginCapture(users, cudaStreamCaptureModeGlobal));
    gate_close(&gate, stream->handle);
    UNIT_FAILS(jd__cuda_streams.use(stream, users), JD_FAILED_PRECONDITION,
               "jd_shard_use_stream: a CUDA graph is being captured from the "
               "new stream, and the other stream is not part of it; work is "
               "queued on the shard's stream: call jd_shard_synchronize() "
               "before the capture");
    gate_open(&gate);
    UNIT_OK(synchronize(stream));
    UNIT_OK(jd__cuda_streams.use(stream, users));
    UNIT_FAILS(jd__cuda_streams.use(stream, NULL), JD_FAILED_PRECONDITION,
               "jd_shard_use_stream: a CUDA graph is being captured from the "
               "shard's stream, and the other stream is not part of it; end "
               "the capture first");
    GOOD(cudaStreamEndCapture(users, &graph));
    UNIT_OK(jd__cuda_streams.use(stream, NULL));
    GOOD(cudaGraphDestroy(graph));
}
END_TEST

/* Both streams are of one capture, and none may be asked whether it is done. */
START_TEST(streams_of_one_capture_follow_each_other)
{
    cudaGraph_t graph;
    struct jd_stream *stream = make();
    cudaStream_t first = make_stream(cudaStreamNonBlocking);
    cudaStream_t second = make_stream(cudaStreamNonBlocking);
    cudaEvent_t event = make_event();
    UNIT_OK(jd__cuda_streams.use(stream, first));
    GOOD(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    GOOD(cudaEventRecord(event, first));
    GOOD(cudaStreamWaitEvent(second, event, 0));
    UNIT_OK(jd__cuda_streams.use(stream, second));
    UNIT_OK(jd__cuda_streams.use(stream, first));
    GOOD(cudaStreamEndCapture(first, &graph));
    GOOD(cudaGraphDestroy(graph));
}
END_TEST

/* ---- scratch ------------------------------------------------------------ */

START_TEST(scratch_grows_after_what_uses_it)
{
    struct jd_stream *stream = make();
    struct jd_collective call =
        call_of(stream, JD_ACTIVITY_PSUM, data_comm.detail);
    void *small, *same, *large;
    UNIT_OK(jd__cuda_scratch(stream, 1, &call, &small));
    UNIT_OK(jd__cuda_scratch(stream, 65536, &call, &same));
    ck_assert_ptr_eq(small, same);
    ck_assert_uint_eq((uintptr_t)small % 256, 0);
    GOOD(cudaMemsetAsync(small, 1, 65536, stream->handle));
    UNIT_OK(jd__cuda_scratch(stream, 3 << 20, &call, &large));
    GOOD(cudaMemsetAsync(large, 1, 3 << 20, stream->handle));
    UNIT_OK(synchronize(stream));
    jd__cuda_streams.destroy(stream, fake_runtime());
    ANSWERS(cudaFree(large), cudaErrorInvalidValue);
}
END_TEST

/* What they do may be the collective that this call is a part of. */
START_TEST(scratch_waits_for_no_other_gpu)
{
    static struct gate own_gate;
    struct jd_stream *stream = make();
    struct jd_collective call =
        call_of(stream, JD_ACTIVITY_PSUM, data_comm.detail);
    void *memory, *larger;
    UNIT_OK(jd__cuda_scratch(stream, 1, &call, &memory));
    GOOD(cudaSetDevice(1));
    gate_close(&gate, make_stream(cudaStreamNonBlocking));
    GOOD(cudaSetDevice(0));
    gate_close(&own_gate, stream->handle);
    UNIT_OK(jd__cuda_scratch(stream, 1 << 20, &call, &larger));
    ck_assert_ptr_ne(larger, memory);
    gate_open(&gate);
    gate_open(&own_gate);
    jd__cuda_streams.destroy(stream, fake_runtime());
    ANSWERS(cudaFree(memory), cudaErrorInvalidValue);
    ANSWERS(cudaFree(larger), cudaErrorInvalidValue);
}
END_TEST

START_TEST(scratch_takes_what_it_needs_where_memory_is_short)
{
    struct jd_stream *stream = make();
    struct jd_collective call =
        call_of(stream, JD_ACTIVITY_PSUM, data_comm.detail);
    void *memory;
    UNIT_OK(jd__cuda_scratch(stream, (size_t)400 << 20, &call, &memory));
    UNIT_OK(jd__cuda_scratch(stream, (size_t)500 << 20, &call, &memory));
    UNIT_OK(synchronize(stream));
    jd__cuda_streams.destroy(stream, fake_runtime());
}
END_TEST

START_TEST(scratch_that_is_too_large_is_told)
{
    struct jd_stream *stream = make();
    struct jd_collective call =
        call_of(stream, JD_ACTIVITY_PSUM, data_comm.detail);
    void *memory;
    UNIT_FAILS(
        jd__cuda_scratch(stream, (size_t)1 << 40, &call, &memory),
        JD_RESOURCE_EXHAUSTED,
        "jd_psum: cudaMalloc (1099511627776 bytes of scratch memory) failed: "
        "cudaErrorMemoryAllocation (out of memory (stand-in)); free "
        "memory of the GPU, or ask for less");
    UNIT_OK(jd__cuda_scratch(stream, 100, &call, &memory));
}
END_TEST

/* A graph keeps its addresses, whatever is called later. */
START_TEST(scratch_of_a_graph_stays)
{
    cudaGraph_t graph;
    cudaGraphExec_t launchable;
    struct jd_stream *stream = make();
    struct jd_collective call =
        call_of(stream, JD_ACTIVITY_PSUM, data_comm.detail);
    void *captured, *larger;
    UNIT_OK(jd__cuda_scratch(stream, 100, &call, &captured));
    GOOD(cudaStreamBeginCapture(stream->handle, cudaStreamCaptureModeGlobal));
    UNIT_OK(jd__cuda_scratch(stream, 100, &call, &captured));
    GOOD(cudaMemsetAsync(captured, 1, 100, stream->handle));
    UNIT_FAILS(jd__cuda_scratch(stream, 1 << 20, &call, &larger),
               JD_FAILED_PRECONDITION,
               "jd_psum over axis \"data\": the call needs 1048576 bytes of "
               "scratch memory on the GPU, and none can be had while a CUDA "
               "graph is captured; make the call once, with this count and "
               "type, before the capture");
    GOOD(cudaStreamEndCapture(stream->handle, &graph));
    GOOD(cudaGraphInstantiate(&launchable, graph, 0));
    UNIT_OK(jd__cuda_scratch(stream, 1 << 20, &call, &larger));
    ck_assert_ptr_ne(larger, captured);
    GOOD(cudaGraphLaunch(launchable, stream->handle));
    UNIT_OK(synchronize(stream));
    jd__cuda_streams.destroy(stream, fake_runtime());
    ANSWERS(cudaFree(captured), cudaErrorInvalidValue);
    GOOD(cudaGraphExecDestroy(launchable));
    GOOD(cudaGraphDestroy(graph));
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("cuda stream");
    TCase *tcase = unit_case(suite, "waiting");
    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_add_test(tcase, what_is_queued_is_waited_for);
    tcase_add_test(tcase, a_wait_looks_after_what_must_go_on);
    tcase_add_test(tcase, a_wait_has_a_deadline_and_names_the_collective);
    tcase_add_test(tcase, all_that_may_be_late_is_named);
    tcase_add_test(tcase, a_call_that_waits_names_what_came_before);
    tcase_add_test(tcase, a_kernel_that_hangs_is_told);
    tcase_add_test(tcase, devices_of_one_process_wait_for_each_other);
    tcase_add_test(tcase, a_lost_peer_ends_a_wait);
    tcase_add_test(tcase, a_failed_job_ends_a_wait);
    tcase_add_test(tcase, what_was_aborted_is_no_result);
    tcase_add_test(tcase, a_comm_that_goes_is_forgotten);
    tcase_add_test(tcase, a_stream_goes_after_what_is_queued);
    tcase_add_test(tcase, a_stream_that_hangs_is_left);
    tcase = unit_case(suite, "threads");
    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_add_test(tcase, a_wait_makes_no_context_on_anothers_gpu);
    tcase = unit_case(suite, "not started");
    tcase_add_test(tcase, cudas_errors_end_a_wait);
    tcase_add_test(tcase, a_broken_gpu_is_left);
    tcase = unit_case(suite, "use");
    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_add_test(tcase, another_stream_comes_after_the_one_before);
    tcase_add_test(tcase, the_default_stream_is_a_stream);
    tcase_add_test(tcase, a_stream_of_another_device_is_refused);
    tcase_add_test(tcase, a_capture_is_not_waited_for);
    tcase_add_test(tcase, a_wait_beside_a_capture_does_not_end_it);
    tcase_add_test(tcase, a_captured_collective_is_looked_after);
    tcase_add_test(tcase, streams_change_between_captures_not_in_them);
    tcase_add_test(tcase, streams_of_one_capture_follow_each_other);
    tcase = unit_case(suite, "scratch");
    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_add_test(tcase, scratch_grows_after_what_uses_it);
    tcase_add_test(tcase, scratch_waits_for_no_other_gpu);
    tcase_add_test(tcase, scratch_takes_what_it_needs_where_memory_is_short);
    tcase_add_test(tcase, scratch_that_is_too_large_is_told);
    tcase_add_test(tcase, scratch_of_a_graph_stays);
    return suite;
}

int main(void)
{
    return unit_main(make_suite());
}
