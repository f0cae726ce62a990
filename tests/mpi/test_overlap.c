/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that are started: any of them between calls that are not, on two meshes
 * of the same devices, waited for in each member's own order; and what goes
 * wrong with them.
 *
 *     test_overlap TRIALS SEED | refused | late [tested] | crossing | funneled
 * | exit
 */
#include "jd.h"

#include "expect.h"

#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPS = 24, MOST = 3000 };

enum kind {
    PSUM,
    PMAX,
    PAND,
    POR,
    PXOR,
    SCATTER,
    GATHER,
    TO_ALL,
    BROADCAST,
    RING,
    HALO,
    BARRIER,
    KINDS
};

/* One call; the same on all members but for the buffers and the request. */
struct op {
    enum kind kind;
    int number, mesh, source;
    bool is_started;
    size_t count;
    int64_t *in, *out;
    jd_request *request;
};

static jd_mesh *meshes[2];
static int trials;
static unsigned first_seed;

static unsigned draw(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static int64_t value_of(const struct op *op, int member, size_t i)
{
    return (int64_t)((uint64_t)(member + 1) * 1000003u + i * 7919u +
                     (uint64_t)op->number * 104729u) %
           65536;
}

/* ---- making ------------------------------------------------------------- */

static size_t in_blocks(const struct op *op, int n)
{
    return op->kind == SCATTER || op->kind == TO_ALL ? (size_t)n : 1;
}

static size_t out_blocks(const struct op *op, int n)
{
    return op->kind == GATHER || op->kind == TO_ALL ? (size_t)n : 1;
}

static struct op make_op(int number, unsigned *seed, int me, int n)
{
    struct op op = { .kind = draw(seed) % KINDS,
                     .number = number,
                     .mesh = (int)(draw(seed) % 2),
                     .source = (int)(draw(seed) % (unsigned)n),
                     .is_started = draw(seed) % 3 != 0,
                     .count = draw(seed) % MOST };
    if (op.kind == HALO)
        op.count += 2;
    size_t ins = op.count * in_blocks(&op, n);
    size_t outs = op.count * out_blocks(&op, n);
    op.in = malloc((ins + 1) * sizeof *op.in);
    op.out = malloc((outs + 1) * sizeof *op.out);
    EXPECT(op.in && op.out, "no memory");
    for (size_t i = 0; i < ins; i++)
        op.in[i] = value_of(&op, me, i);
    for (size_t i = 0; i < outs; i++)
        op.out[i] = op.kind == HALO ? op.in[i] : -1;
    return op;
}

/* A ring, one element wide at both sides of a block of two at least. */
static jd_halo_dim halo_of(const struct op *op)
{
    bool is_wide = op->count > 2;
    return (jd_halo_dim){ (int64_t)op->count, is_wide, is_wide, "x", 1 };
}

static void open_ring(const struct op *op, jd_shard *shard, int me, int n)
{
    EXPECT_OK(jd_group_begin(shard));
    EXPECT_OK(
        jd_recv(shard, "x", (me + n - 1) % n, op->out, op->count, JD_S64));
    EXPECT_OK(jd_send(shard, "x", (me + 1) % n, op->in, op->count, JD_S64));
}

/* ---- calling ------------------------------------------------------------ */

static jd_status call_op(struct op *op, jd_shard *s, int me, int n)
{
    jd_halo_dim dim = halo_of(op);
    switch (op->kind) {
    case PSUM:
        return jd_psum(s, "x", op->in, op->out, op->count, JD_S64);
    case PMAX:
        return jd_pmax(s, "x", op->in, op->out, op->count, JD_S64);
    case PAND:
        return jd_pand(s, "x", op->in, op->out, op->count, JD_S64);
    case POR:
        return jd_por(s, "x", op->in, op->out, op->count, JD_S64);
    case PXOR:
        return jd_pxor(s, "x", op->in, op->out, op->count, JD_S64);
    case SCATTER:
        return jd_psum_scatter(s, "x", op->in, op->out, op->count, JD_S64);
    case GATHER:
        return jd_all_gather(s, "x", op->in, op->out, op->count, JD_S64);
    case TO_ALL:
        return jd_all_to_all(s, "x", op->in, op->out, op->count, JD_S64);
    case BROADCAST:
        return jd_pbroadcast(s, "x", op->source, op->in, op->out, op->count,
                             JD_S64);
    case RING:
        open_ring(op, s, me, n);
        return jd_group_end(s);
    case HALO:
        return jd_halo_exchange(s, op->out, JD_S64, 1, &dim, 0);
    default:
        return jd_barrier(s, "x");
    }
}

/* The text of the axis is gone when the call returns. */
static jd_status start_op(struct op *op, jd_shard *s, int me, int n)
{
    jd_request **r = &op->request;
    jd_halo_dim dim = halo_of(op);
    char axis[] = "x";
    jd_status status = JD_OK;
    dim.axis = axis;
    switch (op->kind) {
    case PSUM:
        status = jd_psum_start(s, axis, op->in, op->out, op->count, JD_S64, r);
        break;
    case PMAX:
        status = jd_pmax_start(s, axis, op->in, op->out, op->count, JD_S64, r);
        break;
    case PAND:
        status = jd_pand_start(s, axis, op->in, op->out, op->count, JD_S64, r);
        break;
    case POR:
        status = jd_por_start(s, axis, op->in, op->out, op->count, JD_S64, r);
        break;
    case PXOR:
        status = jd_pxor_start(s, axis, op->in, op->out, op->count, JD_S64, r);
        break;
    case SCATTER:
        status = jd_psum_scatter_start(s, axis, op->in, op->out, op->count,
                                       JD_S64, r);
        break;
    case GATHER:
        status =
            jd_all_gather_start(s, axis, op->in, op->out, op->count, JD_S64, r);
        break;
    case TO_ALL:
        status =
            jd_all_to_all_start(s, axis, op->in, op->out, op->count, JD_S64, r);
        break;
    case BROADCAST:
        status = jd_pbroadcast_start(s, axis, op->source, op->in, op->out,
                                     op->count, JD_S64, r);
        break;
    case RING:
        open_ring(op, s, me, n);
        status = jd_group_start(s, r);
        break;
    case HALO:
        status = jd_halo_start(s, op->out, JD_S64, 1, &dim, 0, r);
        break;
    default:
        status = jd_barrier_start(s, axis, r);
    }
    memset(axis, '?', sizeof axis - 1);
    return status;
}

/* ---- what should have come ---------------------------------------------- */

static int64_t fold_of(const struct op *op, int n, size_t i)
{
    int64_t folded = value_of(op, 0, i);
    for (int m = 1; m < n; m++) {
        int64_t value = value_of(op, m, i);
        switch (op->kind) {
        case PMAX:
            folded = value > folded ? value : folded;
            break;
        case PAND:
            folded &= value;
            break;
        case POR:
            folded |= value;
            break;
        case PXOR:
            folded ^= value;
            break;
        default:
            folded += value;
        }
    }
    return folded;
}

/* Of a halo of one at each side, where there is one. */
static int64_t halo_value(const struct op *op, int me, int n, size_t i)
{
    if (op->count > 2 && i == 0)
        return value_of(op, (me + n - 1) % n, op->count - 2);
    if (op->count > 2 && i == op->count - 1)
        return value_of(op, (me + 1) % n, 1);
    return value_of(op, me, i);
}

static int64_t wanted(const struct op *op, int me, int n, size_t i)
{
    size_t place = op->count ? i % op->count : 0;
    int block = op->count ? (int)(i / op->count) : 0;
    switch (op->kind) {
    case SCATTER:
        return fold_of(op, n, (size_t)me * op->count + i);
    case GATHER:
        return value_of(op, block, place);
    case TO_ALL:
        return value_of(op, block, (size_t)me * op->count + place);
    case BROADCAST:
        return value_of(op, op->source, i);
    case RING:
        return value_of(op, (me + n - 1) % n, i);
    case HALO:
        return halo_value(op, me, n, i);
    case BARRIER:
        return -1;
    default:
        return fold_of(op, n, i);
    }
}

/* As a program does that has nothing else to do; the call's own deadline ends
 * it. */
static jd_status test_until_done(jd_request **request)
{
    jd_status status = JD_OK;
    for (int is_done = 0; !is_done; sched_yield()) {
        status = jd_test(request, &is_done);
        EXPECT(is_done == 0 || is_done == 1, "%d", is_done);
        EXPECT(is_done || (status == JD_OK && *request), "%s",
               jd_error_message());
    }
    EXPECT(!*request, "a request is left");
    return status;
}

static void finish_op(struct op *op, int me, int n)
{
    EXPECT_OK(op->number % 3 && op->request ? test_until_done(&op->request)
                                            : jd_wait(&op->request));
    EXPECT(op->request == NULL, "a request is left");
    for (size_t i = 0; i < op->count * out_blocks(op, n); i++)
        EXPECT(op->out[i] == wanted(op, me, n, i),
               "kind %d number %d element %zu of %zu: %lld and not %lld",
               op->kind, op->number, i, op->count, (long long)op->out[i],
               (long long)wanted(op, me, n, i));
    free(op->in);
    free(op->out);
    op->in = NULL;
}

/* ---- trials ------------------------------------------------------------- */

/* The seed is the same on all members, own is not. */
static void try_ops(jd_shard *const *shards, unsigned seed)
{
    struct op ops[OPS];
    int me = jd_axis_index(shards[0], "x"), n = jd_axis_size(shards[0], "x");
    unsigned own = seed + 17u * (unsigned)me;
    for (int k = 0; k < OPS; k++) {
        ops[k] = make_op(k, &seed, me, n);
        jd_shard *shard = shards[ops[k].mesh];
        EXPECT_OK(ops[k].is_started ? start_op(&ops[k], shard, me, n)
                                    : call_op(&ops[k], shard, me, n));
        int early = (int)(draw(&own) % (unsigned)(k + 1));
        if (draw(&own) % 2 && ops[early].in)
            finish_op(&ops[early], me, n);
    }
    for (int k = OPS - 1; k >= 0; k--)
        if (ops[k].in)
            finish_op(&ops[k], me, n);
}

/* The shard of the other mesh for the same device: the k-th is the k-th. */
static jd_shard *other_shards[64];

static jd_status note_shard(jd_shard *me, void *arg)
{
    (void)arg;
    other_shards[jd_shard_device(me)->local_ordinal] = me;
    return JD_OK;
}

static jd_status run_trials(jd_shard *me, void *arg)
{
    jd_shard *shards[] = { me,
                           other_shards[jd_shard_device(me)->local_ordinal] };
    (void)arg;
    for (int i = 0; i < trials; i++)
        try_ops(shards, first_seed + (unsigned)i);
    return JD_OK;
}

static void make_meshes(void)
{
    const int shape[] = { -1, 1 };
    const char *const axes[] = { "x", "y" };
    EXPECT_OK(jd_mesh_create(&meshes[0], 1, shape, axes, NULL));
    EXPECT_OK(jd_mesh_create(&meshes[1], 2, shape, axes, NULL));
}

static void run_random(void)
{
    make_meshes();
    EXPECT_OK(jd_shard_map(meshes[1], note_shard, NULL));
    EXPECT_OK(jd_shard_map(meshes[0], run_trials, NULL));
}

/* ---- groups of shards, meshes that go ----------------------------------- */

static void try_derived(jd_shard *me)
{
    int n = jd_axis_size(me, "x"), index = jd_axis_index(me, "x");
    int64_t one = 1, sum = 0;
    jd_request *request;
    jd_shard *group;
    int sizes[64], indices[64];
    for (int i = 0; i < n; i++)
        indices[i] = i;
    sizes[0] = n - n / 2;
    sizes[1] = n / 2;
    EXPECT_OK(jd_shard_groups(&group, me, "x", n > 1 ? 2 : 1, sizes, indices));
    EXPECT_OK(jd_psum_start(group, NULL, &one, &sum, 1, JD_S64, &request));
    EXPECT_OK(jd_wait(&request));
    EXPECT(sum == (index < n - n / 2 ? n - n / 2 : n / 2), "%lld",
           (long long)sum);
}

/* What is started is done before the mesh goes. */
static void try_unwaited(void)
{
    jd_mesh *mesh;
    const int shape[] = { -1 };
    const char *const axes[] = { "x" };
    int64_t one = 1, sum = 0;
    jd_request *request;
    EXPECT_OK(jd_mesh_create(&mesh, 1, shape, axes, NULL));
    EXPECT_OK(jd_psum_start(jd_mesh_shard(mesh), "x", &one, &sum, 1, JD_S64,
                            &request));
    jd_mesh_destroy(mesh);
    EXPECT(sum == jd_process_count(), "%lld", (long long)sum);
    EXPECT_OK(jd_wait(&request));
}

static void await_word(const char *key)
{
    void *value;
    size_t size;
    EXPECT_OK(jd_kv_get(key, 60, &value, &size));
    free(value);
}

/* ---- refusals ----------------------------------------------------------- */

static void try_nulls(jd_shard *me)
{
    jd_request *none = NULL;
    int64_t a = 0, b = 0;
    int is_done = 7;
    EXPECT_STATUS(jd_test(NULL, &is_done), JD_INVALID_ARGUMENT,
                  "jd_test: request is NULL; it is the address of what");
    EXPECT_STATUS(jd_test(&none, NULL), JD_INVALID_ARGUMENT,
                  "jd_test: ret_is_done is NULL; it is where 1 is written");
    EXPECT(is_done == 7, "%d", is_done);
    EXPECT_OK(jd_test(&none, &is_done));
    EXPECT(is_done == 1, "%d", is_done);
    EXPECT_OK(jd_wait(&none));
    EXPECT_STATUS(jd_wait(NULL), JD_INVALID_ARGUMENT,
                  "jd_wait: request is NULL; it is the address of what");
    EXPECT_STATUS(jd_psum_start(me, "x", &a, &b, 1, JD_S64, NULL),
                  JD_INVALID_ARGUMENT,
                  "jd_psum_start: ret_request is NULL; the call ends by");
    EXPECT_STATUS(jd_barrier_start(NULL, "x", &none), JD_INVALID_ARGUMENT,
                  "jd_barrier_start: shard is NULL");
    EXPECT_STATUS(jd_group_start(me, &none), JD_FAILED_PRECONDITION,
                  "jd_group_start: the shard has no group open");
    EXPECT_OK(jd_group_begin(me));
    EXPECT_STATUS(jd_group_start(me, NULL), JD_INVALID_ARGUMENT,
                  "jd_group_start: ret_request is NULL");
    EXPECT_OK(jd_group_start(me, &none));
    EXPECT_OK(jd_wait(&none));
    EXPECT_OK(jd_halo_start(me, NULL, JD_S64, 1, NULL, 0, &none));
    EXPECT_STATUS(jd_wait(&none), JD_INVALID_ARGUMENT,
                  "jd_halo_exchange: dims is NULL and ndim is 1");
    EXPECT_OK(jd_psum_start(me, "nosuch", &a, &b, 1, JD_S64, &none));
    EXPECT_STATUS(jd_wait(&none), JD_INVALID_ARGUMENT,
                  "jd_psum: the mesh has no axis");
}

static void try_child(jd_request *request)
{
    int how;
    pid_t child = fork();
    if (child == 0) {
        int is_done = 7;
        EXPECT_STATUS(jd_wait(&request), JD_FAILED_PRECONDITION, "jd_wait: ");
        EXPECT_STATUS(jd_test(&request, &is_done), JD_FAILED_PRECONDITION,
                      "jd_test: ");
        EXPECT(is_done == 7, "%d", is_done);
        _exit(0);
    }
    EXPECT(child > 0 && waitpid(child, &how, 0) == child && how == 0, "%d",
           how);
}

/* Both hear of it, with both places in the program; the next call is right. */
static void try_unequal(jd_shard *me, jd_status (*end)(jd_request **request))
{
    int64_t in[2] = { 1, 2 }, out[2] = { 0, 0 };
    size_t count = 1 + (size_t)jd_process_index();
    jd_request *first, *second;
    EXPECT_OK(jd_psum_start(me, "x", in, out, count, JD_S64, &first));
    EXPECT_OK(jd_psum_start(me, "x", in, out, 2, JD_S64, &second));
    EXPECT_STATUS(
        end(&first), JD_INVALID_ARGUMENT,
        "jd_psum over axis \"x\", started: process 1 calls jd_psum of 2 x "
        "S64, process 0 calls jd_psum of 1 x S64");
    EXPECT(strstr(jd_error_message(), "; process 1 calls at test_overlap"),
           "%s", jd_error_message());
    try_child(second);
    EXPECT_OK(end(&second));
    EXPECT(out[1] == 4, "%lld", (long long)out[1]);
}

/* Process 1 starts it when process 0 has seen that it is not done. */
static void try_test(jd_shard *me)
{
    int64_t one = 1, sum = 0;
    int is_done = 7;
    jd_request *request;
    if (jd_process_index() == 1)
        await_word("not done");
    EXPECT_OK(jd_psum_start(me, "x", &one, &sum, 1, JD_S64, &request));
    if (jd_process_index() == 0) {
        EXPECT_OK(jd_test(&request, &is_done));
        EXPECT(is_done == 0 && request, "%d", is_done);
        EXPECT_OK(jd_kv_set("not done", "yes", 4, 0));
    }
    EXPECT_OK(test_until_done(&request));
    EXPECT(sum == 2, "%lld", (long long)sum);
}

/* Process 1 starts it when process 0 was refused. */
static void try_shutdown(jd_shard *me)
{
    int64_t one = 1, sum = 0;
    jd_request *request;
    if (jd_process_index() == 1)
        await_word("refused");
    EXPECT_OK(jd_psum_start(me, "x", &one, &sum, 1, JD_S64, &request));
    if (jd_process_index() == 0) {
        EXPECT_STATUS(jd_shutdown(), JD_FAILED_PRECONDITION,
                      "jd_shutdown: 1 call of jd_psum_start() and its like is "
                      "not done; jd_wait() for each request comes first");
        EXPECT_OK(jd_kv_set("refused", "yes", 4, 0));
    }
    EXPECT_OK(jd_wait(&request));
    EXPECT(sum == 2, "%lld", (long long)sum);
}

static void run_refused(void)
{
    make_meshes();
    jd_shard *me = jd_mesh_shard(meshes[0]);
    try_nulls(me);
    try_derived(me);
    try_unwaited();
    try_unequal(me, jd_wait);
    try_unequal(me, test_until_done);
    try_test(me);
    try_shutdown(me);
}

/* ---- the rest ----------------------------------------------------------- */

/* Process 0 alone starts it. */
static void run_late(jd_status (*end)(jd_request **request))
{
    int64_t one = 1, sum = 0;
    jd_request *request;
    make_meshes();
    jd_shard *me = jd_mesh_shard(meshes[0]);
    EXPECT_OK(jd_barrier(me, "x"));
    if (jd_process_index() == 0) {
        EXPECT_OK(jd_psum_start(me, "x", &one, &sum, 1, JD_S64, &request));
        EXPECT_STATUS(end(&request), JD_DEADLINE_EXCEEDED, "process 1");
        EXPECT(strstr(jd_error_message(), "jd_psum over axis \"x\", started"),
               "%s", jd_error_message());
        EXPECT_OK(jd_kv_set("over", "yes", 4, 0));
    } else {
        await_word("over");
    }
}

/* Each waits for what the other has started before it makes the next call. */
static void run_crossing(void)
{
    int64_t one = 1, sum = 0, word = 0;
    int index;
    jd_request *request;
    make_meshes();
    jd_shard *me = jd_mesh_shard(meshes[0]);
    index = jd_axis_index(me, "x");
    for (int i = 0; i < 200; i++) {
        if (index == 0) {
            EXPECT_OK(jd_psum_start(me, "x", &one, &sum, 1, JD_S64, &request));
            EXPECT_OK(jd_recv(me, "x", 1, &word, 1, JD_S64));
            EXPECT_OK(jd_barrier(me, "x"));
        } else {
            EXPECT_OK(jd_send(me, "x", 0, &one, 1, JD_S64));
            EXPECT_OK(jd_psum_start(me, "x", &one, &sum, 1, JD_S64, &request));
            EXPECT_OK(jd_wait(&request));
            EXPECT(sum == 2, "%lld", (long long)sum);
            EXPECT_OK(jd_barrier(me, "x"));
        }
        EXPECT_OK(jd_wait(&request));
        EXPECT(sum == 2, "%lld", (long long)sum);
    }
}

/* Returns from main, and has not waited. */
static void run_exit(void)
{
    static int64_t one = 1, sum;
    jd_request *request;
    make_meshes();
    if (jd_process_index() == 0)
        EXPECT_OK(jd_psum_start(jd_mesh_shard(meshes[0]), "x", &one, &sum, 1,
                                JD_S64, &request));
}

static void start_mpi(void)
{
    int given;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given);
    EXPECT(given == MPI_THREAD_FUNNELED, "%d", given);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    bool is_funneled = strcmp(what, "funneled") == 0;
    if (is_funneled)
        start_mpi();
    EXPECT_OK(jd_initialize());
    trials = is_funneled ? 20 : atoi(what);
    first_seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    if (strcmp(what, "refused") == 0)
        run_refused();
    else if (strcmp(what, "late") == 0)
        run_late(argc > 2 ? test_until_done : jd_wait);
    else if (strcmp(what, "crossing") == 0)
        run_crossing();
    else if (strcmp(what, "exit") == 0)
        run_exit();
    else
        run_random();
    if (strcmp(what, "exit") == 0)
        return 0;
    jd_mesh_destroy(meshes[0]);
    jd_mesh_destroy(meshes[1]);
    jd_status status = jd_shutdown();
    if (is_funneled)
        MPI_Finalize();
    return status;
}
