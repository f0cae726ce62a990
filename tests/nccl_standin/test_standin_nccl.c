/* SPDX-License-Identifier: BSD-3-Clause */
/* test_standin_nccl.c - the stand-in does what NCCL says it does. Ranks are
 * threads; each test is a process of its own. They free no memory of a GPU:
 * that would wait for the collective of another rank, which waits for this. */
#include "ranks.h"

#include <math.h>

/* ---- reductions --------------------------------------------------------- */

enum { COUNT = 1000 };

#define DEFINE_REDUCE(name, type, nccl_type)                                   \
    static void reduce_##name(struct rank *rank, ncclRedOp_t op, type want)    \
    {                                                                          \
        type host[COUNT];                                                      \
        type *device = device_memory(sizeof host);                             \
        for (int i = 0; i < COUNT; i++)                                        \
            host[i] = (type)(rank->rank + 1);                                  \
        upload(rank, device, host, sizeof host);                               \
        settle(rank, ncclAllReduce(device, device, COUNT, nccl_type, op,       \
                                   rank->comm, rank->stream));                 \
        fetch(rank, host, device, sizeof host);                                \
        for (int i = 0; i < COUNT; i++)                                        \
            ck_assert_msg(host[i] == want, "element %d of " #type, i);         \
    }                                                                          \
    static void all_ops_##name(struct rank *rank)                              \
    {                                                                          \
        reduce_##name(rank, ncclSum, (type)10);                                \
        reduce_##name(rank, ncclProd, (type)24);                               \
        reduce_##name(rank, ncclMax, (type)4);                                 \
        reduce_##name(rank, ncclMin, (type)1);                                 \
        reduce_##name(rank, ncclAvg, (type)2.5);                               \
    }
DEFINE_REDUCE(i8, int8_t, ncclInt8)
DEFINE_REDUCE(u8, uint8_t, ncclUint8)
DEFINE_REDUCE(i32, int32_t, ncclInt32)
DEFINE_REDUCE(u32, uint32_t, ncclUint32)
DEFINE_REDUCE(i64, int64_t, ncclInt64)
DEFINE_REDUCE(u64, uint64_t, ncclUint64)
DEFINE_REDUCE(f32, float, ncclFloat32)
DEFINE_REDUCE(f64, double, ncclFloat64)

START_TEST(every_operation_on_every_wide_type)
{
    static void (*const bodies[])(struct rank *) = {
        all_ops_i8,  all_ops_u8,  all_ops_i32, all_ops_u32,
        all_ops_i64, all_ops_u64, all_ops_f32, all_ops_f64,
    };
    run_ranks(4, bodies[_i]);
}
END_TEST

/* Two ranks' numbers, by their bits, and what becomes of them. */
struct sum {
    ncclDataType_t type;
    ncclRedOp_t op;
    unsigned codes[2], want;
};
static const struct sum sums[] = {
    { ncclFloat16, ncclSum, { 0x6800, 0x3c00 }, 0x6800 },  /* 2048 + 1, tie */
    { ncclFloat16, ncclSum, { 0x6801, 0x3c00 }, 0x6802 },  /* 2050 + 1, tie */
    { ncclFloat16, ncclSum, { 0x7bff, 0x7bff }, 0x7c00 },  /* overflow */
    { ncclFloat16, ncclProd, { 0x0001, 0x3800 }, 0x0000 }, /* least / 2 */
    { ncclFloat16, ncclProd, { 0x0003, 0x3800 }, 0x0002 },
    { ncclFloat16, ncclMax, { 0x7e00, 0xbc00 }, 0xbc00 }, /* NaN, -1 */
    { ncclFloat16, ncclMin, { 0x3c00, 0x7e00 }, 0x3c00 },
    { ncclFloat16, ncclAvg, { 0x3c00, 0x4200 }, 0x4000 },  /* 1, 3 */
    { ncclBfloat16, ncclSum, { 0x4380, 0x3f80 }, 0x4380 }, /* 256 + 1 */
    { ncclBfloat16, ncclSum, { 0x4381, 0x3f80 }, 0x4382 }, /* 258 + 1 */
    { ncclBfloat16, ncclSum, { 0x7f7f, 0x7f7f }, 0x7f80 },
    { ncclBfloat16, ncclMax, { 0x7fc0, 0x4000 }, 0x4000 },
    { ncclFloat8e4m3, ncclSum, { 0x38, 0x38 }, 0x40 }, /* 1 + 1 */
    { ncclFloat8e4m3, ncclSum, { 0x7e, 0x7e }, 0x7e }, /* stays the largest */
    { ncclFloat8e4m3, ncclMax, { 0x7f, 0x38 }, 0x38 },
    { ncclFloat8e5m2, ncclSum, { 0x3c, 0x3c }, 0x40 },
    { ncclFloat8e5m2, ncclSum, { 0x7b, 0x7b }, 0x7b },
    { ncclFloat8e5m2, ncclProd, { 0x40, 0xc0 }, 0xc4 }, /* 2 * -2 */
    { ncclFloat16, ncclMax, { 0xbc00, 0x7e00 }, 0xbc00 },
    { ncclFloat16, ncclMin, { 0x7e00, 0x3c00 }, 0x3c00 },
    { ncclFloat32, ncclMax, { 0xbf800000, 0x7fc00000 }, 0xbf800000 },
    { ncclFloat32, ncclMax, { 0x7fc00000, 0xbf800000 }, 0xbf800000 },
    { ncclFloat32, ncclMin, { 0x3f800000, 0x7fc00000 }, 0x3f800000 },
    { ncclFloat32, ncclMin, { 0x7fc00000, 0x3f800000 }, 0x3f800000 },
};

static const struct sum *the_sum;

static size_t size_of(ncclDataType_t type)
{
    if (type == ncclFloat32)
        return 4;
    return type == ncclFloat16 || type == ncclBfloat16 ? 2 : 1;
}

static void sum_codes(struct rank *rank)
{
    size_t size = size_of(the_sum->type);
    uint32_t code = the_sum->codes[rank->rank];
    char *device = device_memory(size);
    upload(rank, device, &code, size);
    settle(rank, ncclAllReduce(device, device, 1, the_sum->type, the_sum->op,
                               rank->comm, rank->stream));
    code = 0;
    fetch(rank, &code, device, size);
    ck_assert_msg(code == the_sum->want, "%#x, not %#x", code, the_sum->want);
}

START_TEST(numbers_are_rounded_and_compared_as_on_a_gpu)
{
    the_sum = &sums[_i];
    run_ranks(2, sum_codes);
}
END_TEST

/* The maximum of a number and itself is the number, for each code. */
static void keep_all_codes(struct rank *rank)
{
    enum { CODES = 65536 };
    static const ncclDataType_t types[] = { ncclFloat16, ncclBfloat16,
                                            ncclFloat8e4m3, ncclFloat8e5m2 };
    static const unsigned infinities[] = { 0x7c00, 0x7f80, 0x7e, 0x7b };
    uint16_t *host = malloc(CODES * 2), *back = malloc(CODES * 2);
    void *device = device_memory(CODES * 2);
    for (int t = 0; t < 4; t++) {
        size_t size = t < 2 ? 2 : 1;
        unsigned sign = t < 2 ? 0x8000 : 0x80;
        for (unsigned i = 0; i < CODES; i++)
            if (size == 2)
                host[i] = (uint16_t)i;
            else
                ((uint8_t *)host)[i] = (uint8_t)i;
        upload(rank, device, host, CODES * size);
        settle(rank, ncclAllReduce(device, device, CODES, types[t], ncclMax,
                                   rank->comm, rank->stream));
        fetch(rank, back, device, CODES * size);
        for (unsigned i = 0; i < CODES; i++) {
            unsigned was = size == 2 ? host[i] : ((uint8_t *)host)[i];
            unsigned is = size == 2 ? back[i] : ((uint8_t *)back)[i];
            if ((was & (sign - 1)) <= infinities[t])
                ck_assert_msg(was == is, "type %d: %#x became %#x", t, was, is);
        }
    }
    free(host);
    free(back);
}

START_TEST(no_code_of_a_small_type_is_lost)
{
    run_ranks(2, keep_all_codes);
}
END_TEST

/* 1e8, 1, -1e8 and 1 in three orders have three sums: so the order is seen, and
 * it is another one for each rank's part, and the same bits come everywhere. */
static float order_seen[4][4];

static void sum_in_order(struct rank *rank)
{
    static const float terms[] = { 1e8f, 1, -1e8f, 3 };
    float host[4], mine = terms[rank->rank];
    float *device = device_memory(sizeof host);
    for (int i = 0; i < 4; i++)
        host[i] = mine;
    upload(rank, device, host, sizeof host);
    settle(rank, ncclAllReduce(device, device, 4, ncclFloat32, ncclSum,
                               rank->comm, rank->stream));
    fetch(rank, order_seen[rank->rank], device, sizeof host);
}

START_TEST(a_sum_has_an_order_of_its_own)
{
    /* Part r: r + 1, r + 2, ... r. */
    static const float want[] = { (1 + -1e8f) + 3 + 1e8f, -1e8f + 3 + 1e8f + 1,
                                  (3 + 1e8f) + 1 + -1e8f,
                                  (1e8f + 1) + -1e8f + 3 };
    run_ranks(4, sum_in_order);
    for (int i = 0; i < 4; i++)
        ck_assert_msg(memcmp(order_seen[i], want, sizeof want) == 0,
                      "rank %d: %g %g %g %g", i, order_seen[i][0],
                      order_seen[i][1], order_seen[i][2], order_seen[i][3]);
    ck_assert(want[0] != want[3]);
}
END_TEST

/* ---- the others --------------------------------------------------------- */

static int *ramp(struct rank *rank, int count)
{
    int *device = device_memory((size_t)count * sizeof(int));
    int *host = malloc((size_t)count * sizeof(int));
    for (int i = 0; i < count; i++)
        host[i] = 1000000 * rank->rank + i;
    upload(rank, device, host, (size_t)count * sizeof(int));
    free(host);
    return device;
}

static void scatter_gather_broadcast(struct rank *rank)
{
    int size = rank->size, own[COUNT];
    int *whole = ramp(rank, size * COUNT);
    int *block = whole + rank->rank * COUNT; /* in place */
    settle(rank, ncclReduceScatter(whole, block, COUNT, ncclInt32, ncclSum,
                                   rank->comm, rank->stream));
    fetch(rank, own, block, sizeof own);
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(own[i], 1000000 * (size * (size - 1) / 2) +
                                     size * (rank->rank * COUNT + i));
    settle(rank, ncclAllGather(block, whole, COUNT, ncclInt32, rank->comm,
                               rank->stream));
    fetch(rank, own, whole + (size - 1) * COUNT, sizeof own);
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(own[i], 1000000 * (size * (size - 1) / 2) +
                                     size * ((size - 1) * COUNT + i));
    int *mine = ramp(rank, COUNT);
    settle(rank, ncclBroadcast(mine, whole, COUNT, ncclInt32, size - 1,
                               rank->comm, rank->stream));
    fetch(rank, own, whole, sizeof own);
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(own[i], 1000000 * (size - 1) + i);
}

START_TEST(reduce_scatter_all_gather_broadcast)
{
    run_ranks(_i, scatter_gather_broadcast);
}
END_TEST

/* Large ones all ways at once; two to each, in order. */
static void exchange_all(struct rank *rank)
{
    enum { LARGE = 1 << 19 };
    int size = rank->size, first[2];
    int *in = ramp(rank, LARGE + 1);
    int *out = device_memory((size_t)size * (LARGE + 1) * sizeof(int));
    NCCL_OK(ncclGroupStart());
    for (int i = 0; i < size; i++) {
        int *to = out + i * (LARGE + 1);
        NCCL_OK(ncclSend(in, LARGE, ncclInt32, i, rank->comm, rank->stream));
        NCCL_OK(
            ncclSend(in + LARGE, 1, ncclInt32, i, rank->comm, rank->stream));
        NCCL_OK(ncclRecv(to, LARGE, ncclInt32, i, rank->comm, rank->stream));
        NCCL_OK(
            ncclRecv(to + LARGE, 1, ncclInt32, i, rank->comm, rank->stream));
    }
    settle(rank, ncclGroupEnd());
    for (int i = 0; i < size; i++) {
        fetch(rank, first, out + i * (LARGE + 1) + LARGE - 1, sizeof first);
        ck_assert_int_eq(first[0], 1000000 * i + LARGE - 1);
        ck_assert_int_eq(first[1], 1000000 * i + LARGE);
    }
}

START_TEST(large_messages_go_all_ways_at_once)
{
    run_ranks(4, exchange_all);
}
END_TEST

/* A graph of a sum that doubles (two ranks), launched three times. */
static void launch_graph(struct rank *rank)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int one = 1, *device = device_memory(sizeof one);
    upload(rank, device, &one, sizeof one);
    CUDA_OK(
        cudaStreamBeginCapture(rank->stream, cudaStreamCaptureModeThreadLocal));
    settle(rank, ncclAllReduce(device, device, 1, ncclInt32, ncclSum,
                               rank->comm, rank->stream));
    CUDA_OK(cudaStreamEndCapture(rank->stream, &graph));
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    fetch(rank, &one, device, sizeof one);
    ck_assert_int_eq(one, 1); /* nothing ran */
    for (int i = 0; i < 3; i++)
        CUDA_OK(cudaGraphLaunch(exec, rank->stream));
    fetch(rank, &one, device, sizeof one);
    ck_assert_int_eq(one, 8);
    CUDA_OK(cudaGraphExecDestroy(exec));
    CUDA_OK(cudaGraphDestroy(graph));
}

START_TEST(a_graph_does_it_again_and_again)
{
    run_ranks(2, launch_graph);
}
END_TEST

/* ---- options ------------------------------------------------------------ */

/* Of a communicator of one rank. */
static ncclResult_t try_options(int least, int most, int policy)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    config.minCTAs = least;
    config.maxCTAs = most;
    config.CTAPolicy = policy;
    NCCL_OK(ncclGetUniqueId(&id));
    ncclResult_t result = ncclCommInitRankConfig(&comm, 1, id, 0, &config);
    if (result == ncclSuccess)
        NCCL_OK(ncclCommDestroy(comm));
    return result;
}

START_TEST(options_are_checked)
{
    const int none = NCCL_CONFIG_UNDEF_INT;
    ck_assert_int_eq(try_options(2, 8, NCCL_CTA_POLICY_ZERO), ncclSuccess);
    ck_assert_int_eq(try_options(none, 1, none), ncclSuccess);
    ck_assert_int_eq(try_options(2, none, none), ncclInvalidArgument);
    ck_assert_int_eq(try_options(3, 2, none), ncclInvalidArgument);
    ck_assert_int_eq(try_options(0, 2, none), ncclInvalidArgument);
    ck_assert_int_eq(try_options(none, 0, none), ncclInvalidArgument);
    ck_assert_int_eq(try_options(none, none, 3), ncclInvalidArgument);
    ck_assert_int_eq(try_options(none, none, -1), ncclInvalidArgument);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("stand-in NCCL");
    TCase *tcase = unit_case(suite, "reductions");
    tcase_add_loop_test(tcase, every_operation_on_every_wide_type, 0, 8);
    tcase_add_loop_test(tcase, numbers_are_rounded_and_compared_as_on_a_gpu, 0,
                        (int)(sizeof sums / sizeof *sums));
    tcase_add_test(tcase, no_code_of_a_small_type_is_lost);
    tcase_add_test(tcase, a_sum_has_an_order_of_its_own);
    tcase = unit_case(suite, "moves");
    tcase_add_loop_test(tcase, reduce_scatter_all_gather_broadcast, 1, 5);
    tcase_add_test(tcase, large_messages_go_all_ways_at_once);
    tcase_add_test(tcase, a_graph_does_it_again_and_again);
    tcase = unit_case(suite, "options");
    tcase_add_test(tcase, options_are_checked);
    return suite;
}

int main(void)
{
    return unit_main(make_suite());
}
