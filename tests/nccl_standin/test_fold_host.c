/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_fold_host.c - the folds of the platform of GPUs where there are no
 * kernels: queued, not run, in pieces, by several streams and in graphs, with
 * the cpu platform's bits. On the stand-in of the CUDA runtime.
 */
#include "collectives/cuda/fold.h"
#include "collectives/kernels/fold.h"
#include "test_cudart.h"

#include <stdint.h>

enum {
    MANY = (4 << 20) / 4 / 3 + 1000 /* F32 of three vectors: two pieces */
};

static const jd_dtype dtypes[] = {
#define LIST_DTYPE(name, number, size) JD_##name,
    JD_DTYPE_MAP(LIST_DTYPE)
#undef LIST_DTYPE
};
enum { NUM_DTYPES = sizeof dtypes / sizeof *dtypes };

static uint64_t random_bits(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 29;
}

/* The vectors on the device and as they are on the host, in pinned memory. */
struct vectors {
    struct jd_cuda_fold fold;
    size_t size;
    unsigned char *device, *host, *result, *wanted;
};

/* terms vectors of count random elements, with two elements between them; the
 * result goes after them. */
static struct vectors make_vectors(jd_dtype dtype, enum jd_reduce op, int terms,
                                   size_t count)
{
    size_t stride = count + 2, size = jd_dtype_size(dtype);
    size_t bytes = (stride * (size_t)terms + count) * size;
    struct vectors v = { .size = size,
                         .device = make_device(bytes),
                         .host = make_pinned(bytes),
                         .result = make_pinned(count * size),
                         .wanted = make_pinned(count * size) };
    for (size_t i = 0; i < bytes; i++)
        v.host[i] = (unsigned char)(random_bits() >> 20);
    v.fold =
        (struct jd_cuda_fold){ .dtype = dtype,
                               .op = op,
                               .in = v.device,
                               .stride = stride,
                               .terms = terms,
                               .divisor = terms + 1,
                               .out = v.device + stride * (size_t)terms * size,
                               .count = count };
    return v;
}

static void free_vectors(struct vectors *v)
{
    GOOD(cudaFree(v->device));
    GOOD(cudaFreeHost(v->host));
    GOOD(cudaFreeHost(v->result));
    GOOD(cudaFreeHost(v->wanted));
}

/* What the cpu platform makes of the host's vectors. */
static void expect(const struct vectors *v)
{
    const void *ins[64];
    for (int i = 0; i < v->fold.terms; i++)
        ins[i] = v->host + (size_t)i * v->fold.stride * v->size;
    jd__fold_find(v->fold.dtype, v->fold.op, JD_FOLD_WHOLE)(
        &(struct jd_fold){ .ins = ins,
                           .outs = (void *[]){ v->wanted },
                           .num_ins = v->fold.terms,
                           .num_outs = 1,
                           .count = v->fold.count,
                           .divisor = v->fold.divisor });
}

/* Brings the vectors there, folds them and brings the result: all queued. */
static void queue(struct vectors *v, cudaStream_t stream)
{
    size_t bytes = v->fold.stride * (size_t)v->fold.terms * v->size;
    GOOD(cudaMemcpyAsync(v->device, v->host, bytes, cudaMemcpyHostToDevice,
                         stream));
    GOOD(jd__cuda_fold(&v->fold, stream));
    GOOD(cudaMemcpyAsync(v->result, v->fold.out, v->fold.count * v->size,
                         cudaMemcpyDeviceToHost, stream));
}

static void compare(const struct vectors *v)
{
    expect(v);
    ck_assert_msg(memcmp(v->result, v->wanted, v->fold.count * v->size) == 0,
                  "%s, operation %d of %d vectors of %zu elements",
                  jd_dtype_name(v->fold.dtype), (int)v->fold.op, v->fold.terms,
                  v->fold.count);
}

static void expect_keys(const struct vectors *v, const void *in,
                        enum jd_order_way way, const void *is)
{
    size_t bytes = v->fold.count * v->size;
    void *wanted = malloc(bytes);
    jd__order_keys_find(v->fold.dtype, v->fold.op,
                        way)(&(struct jd_fold){ .ins = &in,
                                                .outs = &wanted,
                                                .num_ins = 1,
                                                .num_outs = 1,
                                                .count = v->fold.count });
    ck_assert(memcmp(wanted, is, bytes) == 0);
    free(wanted);
}

START_TEST(every_pair_has_the_bits_of_the_cpu)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    for (int op = 0; op < JD_REDUCE_COUNT; op++)
        for (int terms = 1; terms <= 5; terms += 2) {
            if (!jd__fold_find(dtypes[_i], (enum jd_reduce)op, JD_FOLD_WHOLE))
                continue;
            struct vectors v =
                make_vectors(dtypes[_i], (enum jd_reduce)op, terms, 1001);
            queue(&v, stream);
            GOOD(cudaStreamSynchronize(stream));
            compare(&v);
            free_vectors(&v);
        }
}
END_TEST

/* Keys in place of the vector, in two pieces, and back. */
START_TEST(keys_come_and_go)
{
    static const enum jd_reduce ops[] = { JD_REDUCE_MAX, JD_REDUCE_MIN };
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    struct vectors v = make_vectors(JD_F32, ops[_i], 1, 3 * MANY);
    size_t bytes = v.fold.count * v.size;
    GOOD(cudaMemcpyAsync(v.device, v.host, bytes, cudaMemcpyHostToDevice,
                         stream));
    v.fold.terms = 7; /* not looked at */
    GOOD(jd__cuda_fold_keys(&v.fold, JD_ORDER_TO_KEYS, stream));
    GOOD(cudaMemcpyAsync(v.wanted, v.fold.out, bytes, cudaMemcpyDeviceToHost,
                         stream));
    v.fold.in = v.fold.out;
    GOOD(jd__cuda_fold_keys(&v.fold, JD_ORDER_FROM_KEYS, stream));
    GOOD(cudaMemcpyAsync(v.result, v.fold.out, bytes, cudaMemcpyDeviceToHost,
                         stream));
    GOOD(cudaStreamSynchronize(stream));
    expect_keys(&v, v.host, JD_ORDER_TO_KEYS, v.wanted);
    expect_keys(&v, v.wanted, JD_ORDER_FROM_KEYS, v.result);
    free_vectors(&v);
}
END_TEST

START_TEST(long_vectors_go_in_pieces)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    struct vectors v = make_vectors(JD_F32, JD_REDUCE_SUM, 3, MANY);
    queue(&v, stream);
    GOOD(cudaStreamSynchronize(stream));
    compare(&v);
    free_vectors(&v);
}
END_TEST

START_TEST(the_result_may_be_one_of_the_vectors)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    struct vectors v = make_vectors(JD_BF16, JD_REDUCE_MEAN, 3, 777);
    v.fold.out = v.device + v.fold.stride * v.size;
    queue(&v, stream);
    GOOD(cudaStreamSynchronize(stream));
    compare(&v);
    free_vectors(&v);
}
END_TEST

START_TEST(it_is_queued_and_not_run)
{
    static struct gate gate;
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    struct vectors v = make_vectors(JD_S16, JD_REDUCE_SUM, 2, 1000);
    gate_close(&gate, stream);
    queue(&v, stream);
    ANSWERS(cudaStreamQuery(stream), cudaErrorNotReady);
    memset(v.host, 1, v.fold.stride * 2 * v.size);
    gate_open(&gate);
    GOOD(cudaStreamSynchronize(stream));
    compare(&v);
    free_vectors(&v);
}
END_TEST

/* Folds of two streams run at the same time, after one that both may have the
 * buffer of. */
START_TEST(streams_do_not_meet)
{
    static struct gate gates[2];
    cudaStream_t streams[2];
    struct vectors v[20];
    for (int i = 0; i < 20; i++)
        v[i] = make_vectors(JD_F32, JD_REDUCE_MAX, 4, 500);
    for (int i = 0; i < 2; i++)
        streams[i] = make_stream(cudaStreamNonBlocking);
    queue(&v[0], streams[0]);
    GOOD(cudaStreamSynchronize(streams[0]));
    for (int i = 0; i < 2; i++)
        gate_close(&gates[i], streams[i]);
    for (int i = 1; i < 20; i++)
        queue(&v[i], streams[i % 2]);
    for (int i = 0; i < 2; i++)
        gate_open(&gates[i]);
    for (int i = 0; i < 2; i++)
        GOOD(cudaStreamSynchronize(streams[i]));
    for (int i = 0; i < 20; i++)
        compare(&v[i]);
}
END_TEST

START_TEST(a_graph_folds_at_each_launch)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    struct vectors v = make_vectors(JD_U8, JD_REDUCE_PROD, 3, 100);
    struct vectors between = make_vectors(JD_U8, JD_REDUCE_PROD, 3, 100);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    queue(&v, stream);
    GOOD(cudaStreamEndCapture(stream, &graph));
    GOOD(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        v.host[i] ^= 0xff;
        GOOD(cudaGraphLaunch(exec, stream));
        queue(&between, stream);
        GOOD(cudaStreamSynchronize(stream));
        compare(&v);
        compare(&between);
    }
    GOOD(cudaGraphExecDestroy(exec));
    GOOD(cudaGraphDestroy(graph));
}
END_TEST

/* Another thread's capture in the strictest mode does not mind a new buffer. */
START_TEST(a_capture_elsewhere_is_left_alone)
{
    cudaStream_t captured = make_stream(cudaStreamNonBlocking);
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    struct vectors v = make_vectors(JD_F64, JD_REDUCE_SUM, 2, 100);
    cudaGraph_t graph;
    GOOD(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
    queue(&v, stream);
    GOOD(cudaStreamEndCapture(captured, &graph));
    GOOD(cudaGraphDestroy(graph));
    GOOD(cudaStreamSynchronize(stream));
    compare(&v);
}
END_TEST

START_TEST(failures_are_told)
{
    static const char *const calls[] = {
        "cudaMallocHost", "cudaEventCreateWithFlags", "cudaMemcpyAsync",
        "cudaLaunchHostFunc", "cudaEventRecord"
    };
    char fail[100];
    cudaStream_t stream;
    struct vectors v;
    snprintf(fail, sizeof fail, "%s:%d:%d", calls[_i],
             strcmp(calls[_i], "cudaMallocHost") == 0 ? 4 : 1,
             (int)cudaErrorMemoryAllocation);
    setenv("STANDIN_FAIL", fail, 1);
    stream = make_stream(cudaStreamNonBlocking);
    v = make_vectors(JD_F32, JD_REDUCE_SUM, 2, 100);
    ANSWERS(jd__cuda_fold(&v.fold, stream), cudaErrorMemoryAllocation);
    queue(&v, stream);
    GOOD(cudaStreamSynchronize(stream));
    compare(&v);
}
END_TEST

START_TEST(nothing_is_done_for_nothing)
{
    cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    struct vectors v = make_vectors(JD_F32, JD_REDUCE_SUM, 2, 1);
    v.fold.count = 0;
    setenv("STANDIN_FAIL", "cudaMemcpyAsync:1:1", 1);
    GOOD(jd__cuda_fold(&v.fold, stream));
    v = make_vectors(JD_F32, JD_REDUCE_SUM, 1, 7);
    v.fold.out = v.device;
    GOOD(jd__cuda_fold(&v.fold, stream));
    ck_assert_str_eq(jd__cuda_fold_way(), "host");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fold_host");
    TCase *tcase = add_case(suite, "fold_host");
    tcase_add_loop_test(tcase, every_pair_has_the_bits_of_the_cpu, 0,
                        NUM_DTYPES);
    tcase_add_loop_test(tcase, keys_come_and_go, 0, 2);
    tcase_add_test(tcase, long_vectors_go_in_pieces);
    tcase_add_test(tcase, the_result_may_be_one_of_the_vectors);
    tcase_add_test(tcase, it_is_queued_and_not_run);
    tcase_add_test(tcase, streams_do_not_meet);
    tcase_add_test(tcase, a_graph_folds_at_each_launch);
    tcase_add_test(tcase, a_capture_elsewhere_is_left_alone);
    tcase_add_loop_test(tcase, failures_are_told, 0, 5);
    tcase_add_test(tcase, nothing_is_done_for_nothing);
    return run_suite(suite);
}
