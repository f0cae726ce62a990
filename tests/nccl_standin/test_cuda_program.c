/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_program.c - streams, graphs, memory and failures of the platform of
 * GPUs, on the stand-ins. Each process has one of their GPUs.
 *
 * A gate is a host function that holds up a stream until it is opened: what is
 * queued behind it is certainly not done.
 */
#include "../mpi/expect.h"

#include <jd.h>

#include "standin.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#define CUDA_OK(call)                                                          \
    do {                                                                       \
        cudaError_t cuda_ok_ = (call);                                         \
        EXPECT(cuda_ok_ == cudaSuccess, "%s", cudaGetErrorString(cuda_ok_));   \
    } while (0)

enum { COUNT = 1000 };

static jd_mesh *mesh;
static jd_shard *me;
static int own, size;

static void hold(void *gate)
{
    while (!atomic_load((atomic_bool *)gate))
        sched_yield();
}

static void close_gate(atomic_bool *gate, cudaStream_t stream)
{
    atomic_store(gate, false);
    CUDA_OK(cudaLaunchHostFunc(stream, hold, gate));
}

static int *take(size_t count)
{
    int *memory;
    EXPECT_OK(jd_device_alloc(jd_shard_device(me), count * sizeof(int),
                              (void **)&memory));
    return memory;
}

static void fill(int *memory, size_t count, int value)
{
    int host[4 * COUNT];
    for (size_t i = 0; i < count; i++)
        host[i] = value;
    EXPECT_OK(jd_device_copy(memory, host, count * sizeof(int)));
}

static int first_of(const int *memory)
{
    int first;
    EXPECT_OK(jd_device_copy(&first, memory, sizeof first));
    return first;
}

static int sum_of_all(void)
{
    return size * (size + 1) / 2;
}

/* ---- streams ------------------------------------------------------------ */

static void test_queued(void)
{
    atomic_bool gate;
    int *memory = take(COUNT);
    cudaStream_t stream = jd_shard_stream(me);
    fill(memory, COUNT, own + 1);
    close_gate(&gate, stream);
    EXPECT_OK(jd_psum(me, NULL, memory, memory, COUNT, JD_S32));
    EXPECT(cudaStreamQuery(stream) == cudaErrorNotReady, "it is done");
    EXPECT(first_of(memory) == own + 1, "before the synchronize it is %d",
           first_of(memory));
    atomic_store(&gate, true);
    EXPECT_OK(jd_shard_synchronize(me));
    EXPECT(first_of(memory) == sum_of_all(), "it is %d", first_of(memory));
    EXPECT_OK(jd_device_free(memory));
}

/* Work on a stream of the caller's follows what was on the shard's own, and is
 * waited for like any other work of the caller's. */
static void test_use_stream(void)
{
    atomic_bool gate;
    cudaStream_t first = jd_shard_stream(me), mine;
    int *memory = take(COUNT);
    fill(memory, COUNT, own + 1);
    CUDA_OK(cudaStreamCreateWithFlags(&mine, cudaStreamNonBlocking));
    close_gate(&gate, first);
    EXPECT_OK(jd_psum(me, NULL, memory, memory, COUNT, JD_S32));
    EXPECT_OK(jd_shard_use_stream(me, mine));
    EXPECT(jd_shard_stream(me) == mine, "it is another stream");
    EXPECT_OK(jd_psum(me, NULL, memory, memory, COUNT, JD_S32));
    EXPECT(cudaStreamQuery(mine) == cudaErrorNotReady, "it did not wait");
    atomic_store(&gate, true);
    CUDA_OK(cudaStreamSynchronize(mine));
    EXPECT(first_of(memory) == size * sum_of_all(), "it is %d",
           first_of(memory));
    EXPECT_OK(jd_shard_use_stream(me, NULL));
    EXPECT(jd_shard_stream(me) == first, "the shard's own did not come back");
    EXPECT_OK(jd_psum(me, NULL, memory, memory, COUNT, JD_S32));
    EXPECT_OK(jd_shard_synchronize(me));
    CUDA_OK(cudaStreamDestroy(mine));
    EXPECT(first_of(memory) == size * size * sum_of_all(), "it is %d",
           first_of(memory));
    EXPECT_OK(jd_device_free(memory));
}

/* Host memory: the result is there when the call returns. */
static void test_host_memory(void)
{
    int in[COUNT], out[COUNT], *memory = take(COUNT);
    for (int i = 0; i < COUNT; i++)
        in[i] = own + i;
    EXPECT_OK(jd_psum(me, NULL, in, out, COUNT, JD_S32));
    for (int i = 0; i < COUNT; i++)
        EXPECT(out[i] == sum_of_all() - size + size * i, "%d is %d", i, out[i]);
    EXPECT_OK(jd_psum(me, NULL, in, memory, COUNT, JD_S32));
    EXPECT_OK(jd_psum(me, NULL, memory, out, COUNT, JD_S32));
    EXPECT(out[COUNT - 1] == size * (sum_of_all() - size + size * (COUNT - 1)),
           "the last is %d", out[COUNT - 1]);
    EXPECT_OK(jd_device_free(memory));
}

/* Each thread has another one, and NCCL queues on a thread of its own. */
static void refuse_per_thread(void)
{
    EXPECT_STATUS(jd_shard_use_stream(me, cudaStreamPerThread),
                  JD_INVALID_ARGUMENT,
                  "cudaStreamPerThread is another stream on each thread");
}

static void test_streams(void)
{
    refuse_per_thread();
    test_queued();
    test_use_stream();
    test_host_memory();
}

/* The communicator is there, and what CUDA loads at the first use: that waits
 * for what is queued. */
static void warm_up(void)
{
    int *memory = take(COUNT);
    EXPECT_OK(jd_psum(me, NULL, memory, memory, COUNT, JD_S32));
    EXPECT_OK(jd_shard_synchronize(me));
    EXPECT_OK(jd_device_free(memory));
}

static void test_warm_streams(void)
{
    warm_up();
    test_streams();
}

/* ---- graphs ------------------------------------------------------------- */

struct buffers {
    int *sum, *all, *next;
    int16_t *small;
};

/* Sums, gathers, and passes on: of the sum, size times itself is left. small is
 * of a type that NCCL lacks. */
static void queue_sequence(const struct buffers *b)
{
    jd_route routes[16];
    for (int i = 0; i < size; i++)
        routes[i] = (jd_route){ i, (i + 1) % size };
    EXPECT_OK(jd_psum(me, NULL, b->sum, b->sum, COUNT, JD_S32));
    EXPECT_OK(jd_all_gather(me, NULL, b->sum, b->all, COUNT, JD_S32));
    EXPECT_OK(
        jd_ppermute(me, NULL, b->sum, b->next, COUNT, JD_S32, routes, size));
    EXPECT_OK(jd_psum(me, NULL, b->small, b->small, COUNT, JD_S16));
}

static void start_again(const struct buffers *b)
{
    int16_t ones[COUNT];
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    fill(b->sum, COUNT, own + 1);
    EXPECT_OK(jd_device_copy(b->small, ones, sizeof ones));
}

/* After so many turns. */
static void check_turns(const struct buffers *b, int turns)
{
    int16_t small;
    int want = sum_of_all(), want_small = size;
    for (int i = 1; i < turns; i++) {
        want *= size;
        want_small *= size;
    }
    EXPECT_OK(jd_device_copy(&small, b->small, sizeof small));
    EXPECT(first_of(b->sum) == want, "the sum is %d", first_of(b->sum));
    EXPECT(first_of(b->all + (size - 1) * COUNT) == want, "gathered %d",
           first_of(b->all + (size - 1) * COUNT));
    EXPECT(first_of(b->next) == want, "passed on %d", first_of(b->next));
    EXPECT(small == want_small, "of 16 bits: %d", small);
}

static void refuse_in_capture(cudaStream_t stream)
{
    int host = 1, *memory = take(1);
    cudaGraph_t graph;
    char want[512];
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    snprintf(
        want, sizeof want,
        "jd_psum over axis \"x\": in (%p) is host memory, and a CUDA graph "
        "is being captured: a call with host memory waits for its result, "
        "and what is captured cannot; take memory of jd_device_alloc() or "
        "cudaMalloc()",
        (void *)&host);
    expect_sentence(jd_psum(me, NULL, &host, memory, 1, JD_S32),
                    JD_FAILED_PRECONDITION, "%s", want);
    EXPECT_STATUS(jd_shard_synchronize(me), JD_FAILED_PRECONDITION,
                  "a CUDA graph is being captured from the shard's stream");
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    CUDA_OK(cudaGraphDestroy(graph));
    EXPECT_OK(jd_device_free(memory));
}

static void test_graphs(void)
{
    struct buffers b = { take(COUNT), take((size_t)size * COUNT), take(COUNT),
                         (int16_t *)take(COUNT) };
    cudaStream_t stream = jd_shard_stream(me);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    start_again(&b);
    queue_sequence(&b); /* makes what a capture cannot */
    EXPECT_OK(jd_shard_synchronize(me));
    check_turns(&b, 1);
    start_again(&b);
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    queue_sequence(&b);
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int turn = 1; turn <= 3; turn++) {
        CUDA_OK(cudaGraphLaunch(exec, stream));
        EXPECT_OK(jd_shard_synchronize(me));
        check_turns(&b, turn);
    }
    CUDA_OK(cudaGraphExecDestroy(exec));
    CUDA_OK(cudaGraphDestroy(graph));
    refuse_in_capture(stream);
    fill(b.next, COUNT, own + 1); /* and it goes on */
    EXPECT_OK(jd_psum(me, NULL, b.next, b.next, COUNT, JD_S32));
    EXPECT_OK(jd_shard_synchronize(me));
    EXPECT(first_of(b.next) == sum_of_all(), "%d", first_of(b.next));
    EXPECT_OK(jd_device_free(b.sum));
    EXPECT_OK(jd_device_free(b.all));
    EXPECT_OK(jd_device_free(b.next));
    EXPECT_OK(jd_device_free(b.small));
}

/* ---- memory ------------------------------------------------------------- */

static void test_memory(void)
{
    const jd_device *device = jd_shard_device(me);
    char *memory, *other;
    char text[32] = "", want[32];
    EXPECT_STATUS(jd_device_alloc(device, (size_t)1 << 50, (void **)&memory),
                  JD_RESOURCE_EXHAUSTED, "jd_device_alloc");
    EXPECT_OK(jd_device_alloc(device, sizeof text, (void **)&memory));
    EXPECT_OK(jd_device_alloc(device, (size_t)3 << 20, (void **)&other));
    EXPECT_OK(jd_device_copy(text, memory, sizeof text));
    memset(want, 0, sizeof want);
    EXPECT(memcmp(text, want, sizeof text) == 0, "it is not zeroed");
    snprintf(text, sizeof text, "process %d", own);
    EXPECT_OK(jd_device_copy(other + 7, text, sizeof text));
    EXPECT_OK(jd_device_copy(memory, other + 7, sizeof text));
    EXPECT_OK(jd_device_copy(want, memory, sizeof want));
    EXPECT(strcmp(text, want) == 0, "\"%s\"", want);
    EXPECT_STATUS(jd_device_free(memory + 1), JD_INVALID_ARGUMENT,
                  "jd_device_free");
    EXPECT_OK(jd_device_free(memory));
    EXPECT_STATUS(jd_device_free(memory), JD_INVALID_ARGUMENT,
                  "jd_device_free");
    EXPECT_OK(jd_device_free(other));
}

/* ---- pairs -------------------------------------------------------------- */

/* Half of the members send and receive in a group, those that they do it with
 * one by one. */
static void exchange_with(int other)
{
    int *in = take(COUNT), *out = take(COUNT);
    bool groups = own < other;
    fill(in, COUNT, own + 1);
    if (groups)
        EXPECT_OK(jd_group_begin(me));
    else
        EXPECT_OK(jd_recv(me, NULL, other, out, COUNT, JD_S32));
    EXPECT_OK(jd_send(me, NULL, other, in, COUNT, JD_S32));
    if (groups) {
        EXPECT_OK(jd_recv(me, NULL, other, out, COUNT, JD_S32));
        EXPECT_OK(jd_group_end(me));
    }
    EXPECT_OK(jd_shard_synchronize(me));
    EXPECT(first_of(out) == other + 1, "it is %d", first_of(out));
    EXPECT_OK(jd_device_free(in));
    EXPECT_OK(jd_device_free(out));
}

/* Those that are half the members apart, and neighbours. */
static void test_pairs(void)
{
    exchange_with((own + size / 2) % size);
    exchange_with(own ^ 1);
}

/* STANDIN_FAIL is cudaMemcpyAsync:1: one's own piece goes with the others, and
 * no copy comes before or after. */
static void test_own_piece(void)
{
    enum { PIECE = 300000 };
    int *in = take((size_t)size * PIECE), *out = take((size_t)size * PIECE);
    EXPECT_OK(jd_all_to_all(me, NULL, in, out, PIECE, JD_F32));
    EXPECT_OK(jd_shard_synchronize(me));
    EXPECT_OK(jd_device_free(in));
    EXPECT_OK(jd_device_free(out));
}

/* ---- failures ----------------------------------------------------------- */

/* STANDIN_FAIL is HANG: the deadline of one ends it, and the other may come to
 * its own, or see before that the first has given up. */
static void test_hang(void)
{
    int *memory = take(COUNT);
    EXPECT_OK(jd_psum(me, NULL, memory, memory, COUNT, JD_S32));
    jd_status status = jd_shard_synchronize(me);
    EXPECT(status == JD_DEADLINE_EXCEEDED || status == JD_UNAVAILABLE, "%s: %s",
           jd_status_name(status), status == JD_OK ? "" : jd_error_message());
    printf("hung: %s: %s\n", jd_status_name(status), jd_error_message());
    fflush(stdout);
}

/* So many that none is left of those that CUDA could queue. */
static void test_many(void)
{
    int *memory = take(COUNT);
    fill(memory, COUNT, own);
    for (int i = 0; i < 2000; i++)
        EXPECT_OK(jd_pmax(me, NULL, memory, memory, COUNT, JD_S32));
    EXPECT_OK(jd_shard_synchronize(me));
    EXPECT(first_of(memory) == size - 1, "it is %d", first_of(memory));
    EXPECT_OK(jd_device_free(memory));
}

/* Process 0 goes ahead alone, until it is too far. */
static void test_ahead(void)
{
    int *memory = take(COUNT), count = 0;
    void *said;
    size_t length;
    jd_status status = jd_psum(me, NULL, memory, memory, COUNT, JD_S32);
    EXPECT_OK(status);
    EXPECT_OK(jd_shard_synchronize(me));
    if (own != 0) {
        EXPECT_OK(jd_kv_get("stopped", 60, &said, &length));
        free(said);
        return;
    }
    for (; status == JD_OK && count < 2000; count++)
        status = jd_psum(me, NULL, memory, memory, COUNT, JD_S32);
    EXPECT(status == JD_DEADLINE_EXCEEDED, "%s after %d",
           jd_status_name(status), count);
    printf("ahead by %s: %s\n", count > 128 && count <= 200 ? "hundreds" : "",
           jd_error_message());
    EXPECT_OK(jd_kv_set("stopped", "yes", 3, 0));
}

/* STANDIN_FAIL is ASYNC. */
static void test_async(void)
{
    int *memory = take(COUNT);
    jd_status status = jd_psum(me, NULL, memory, memory, COUNT, JD_S32);
    if (status == JD_OK)
        status = jd_shard_synchronize(me);
    EXPECT(status != JD_OK, "nothing failed");
    printf("failed: %s: %s\n", jd_status_name(status), jd_error_message());
    fflush(stdout);
}

/* What waits for the GPU without jd is not kept either. */
static void wait_bare(const jd_peer_failure *failure, void *arg)
{
    cudaError_t error = cudaStreamSynchronize(jd_shard_stream(me));
    (void)arg;
    printf("process %d: idle after process %d had failed: %d\n", own,
           failure->processes[0], (int)error);
    fflush(stdout);
}

/* What the others have said in the store; "word/PROCESS" is its key. */
static void await_others(const char *word)
{
    for (int i = 0; i < size - 1; i++) {
        char key[32];
        void *value;
        size_t bytes;
        snprintf(key, sizeof key, "%s/%d", word, i);
        EXPECT_OK(jd_kv_get(key, 60, &value, &bytes));
        free(value);
    }
}

static void tell_others(const char *word)
{
    char key[32];
    snprintf(key, sizeof key, "%s/%d", word, own);
    EXPECT_OK(jd_kv_set(key, "yes", 3, 0));
}

/* The last is killed; the others have queued what waits for it. */
static void test_peer(void)
{
    int *memory = take(COUNT);
    EXPECT_OK(jd_on_peer_failure(wait_bare, NULL));
    EXPECT_OK(jd_psum(me, NULL, memory, memory, COUNT, JD_S32));
    EXPECT_OK(jd_shard_synchronize(me));
    if (own == size - 1) {
        await_others("queued");
        raise(SIGKILL);
    }
    EXPECT_OK(jd_psum(me, NULL, memory, memory, COUNT, JD_S32));
    tell_others("queued");
    for (;;)
        pause();
}

/* ---- members that do not come ------------------------------------------- */

/* Process 0 comes to its deadline long before the others, who hear of it. */
static void set_deadlines(void)
{
    const char *rank = launcher_rank_text();
    if (rank && atoi(rank) != 0)
        EXPECT(setenv("JD_COLLECTIVE_TIMEOUT", "50", 1) == 0, "no memory");
}

/* A sum that cannot be; what it leaves on the GPU does not run on. */
static void fail_to_sum(int *memory)
{
    jd_status status = jd_psum(me, NULL, memory, memory, COUNT, JD_S32);
    if (status == JD_OK)
        status = jd_shard_synchronize(me);
    EXPECT(status != JD_OK, "it was done");
    printf("process %d: %s: %s\n", own, jd_status_name(status),
           jd_error_message());
    printf("process %d: idle after that: %d\n", own,
           (int)cudaStreamSynchronize(jd_shard_stream(me)));
    fflush(stdout);
}

/* The last does not call. */
static void test_absent(void)
{
    int *memory = take(COUNT);
    warm_up();
    if (own == size - 1) {
        await_others("given up");
        return;
    }
    fail_to_sum(memory);
    tell_others("given up");
}

/* The last is stopped, and continued by process 0 when all have given up: it is
 * too late then. */
static void test_stopped(void)
{
    int *memory = take(COUNT), last = size - 1;
    int64_t pid = own == last ? getpid() : 0;
    EXPECT_OK(jd_psum(me, NULL, &pid, &pid, 1, JD_S64));
    if (own == last)
        raise(SIGSTOP);
    fail_to_sum(memory);
    if (own == last)
        return;
    tell_others("given up");
    if (own == 0) {
        await_others("given up");
        EXPECT(kill((pid_t)pid, SIGCONT) == 0, "there is no process %d",
               (int)pid);
    }
}

/* ---- the thread's device ------------------------------------------------ */

/* One process has two GPUs, and a mesh one of them: a communicator that is made
 * for it leaves the thread where it was. */
static int test_device(void)
{
    int count, current = -1;
    double in = 3, out = 0;
    const jd_device *const *devices = jd_local_devices(&count);
    EXPECT(count == 2, "%d GPUs", count);
    CUDA_OK(cudaSetDevice(0));
    EXPECT_OK(jd_mesh_create(&mesh, 1, (int[]){ 1 }, (const char *[]){ "x" },
                             &devices[1]));
    EXPECT_OK(jd_psum(jd_mesh_shard(mesh), "x", &in, &out, 1, JD_F64));
    CUDA_OK(cudaGetDevice(&current));
    EXPECT(current == 0, "the thread is at GPU %d", current);
    jd_mesh_destroy(mesh);
    return jd_shutdown();
}

/* The calling thread's GPU becomes the shard's. */
static void select_device(void)
{
    struct cudaPointerAttributes found;
    int *memory = take(1);
    CUDA_OK(cudaPointerGetAttributes(&found, memory));
    CUDA_OK(cudaSetDevice(found.device));
    EXPECT_OK(jd_device_free(memory));
}

/* Another process's GPU has no memory that this one took by chance. */
static void expect_one_context(void)
{
    int count, contexts = 0;
    CUDA_OK(cudaGetDeviceCount(&count));
    for (int i = 0; i < count; i++)
        contexts += standin_has_context(i);
    EXPECT(contexts == 1, "there are contexts on %d GPUs", contexts);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = { { "streams", test_streams }, { "warm", test_warm_streams },
                  { "graphs", test_graphs },   { "memory", test_memory },
                  { "pairs", test_pairs },     { "many", test_many },
                  { "ahead", test_ahead },     { "hang", test_hang },
                  { "async", test_async },     { "own", test_own_piece },
                  { "peer", test_peer },       { "absent", test_absent },
                  { "stopped", test_stopped } };
    EXPECT(argc == 2, "usage: test_cuda_program TEST");
    if (strcmp(argv[1], "absent") == 0 || strcmp(argv[1], "stopped") == 0)
        set_deadlines();
    EXPECT_OK(jd_initialize());
    if (strcmp(argv[1], "device") == 0)
        return test_device();
    EXPECT_OK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "x" }, NULL));
    me = jd_mesh_shard(mesh);
    EXPECT(me, "%s", jd_error_message());
    EXPECT(strcmp(jd_shard_device(me)->platform, "cuda") == 0, "it is %s",
           jd_shard_device(me)->platform);
    select_device();
    own = jd_axis_index(me, NULL);
    size = jd_axis_size(me, NULL);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (strcmp(argv[1], tests[i].name) == 0)
            tests[i].run();
    expect_one_context();
    jd_mesh_destroy(mesh);
    expect_one_context();
    return jd_shutdown();
}
