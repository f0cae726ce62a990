/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_check_calls - three processes that call different things hear so, in the
 * same words on every platform (on GPUs where JD_CHECK_CALLS is set), and go
 * on. Buffers are the host's, so that one program runs on all. "all": only
 * what all members call, of which this is so by messages too.
 */
#include "jd.h"

#include "expect.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define OVER " over axis \"data\""
#define ALIKE                                                                  \
    "; all members must make the same calls in the same order, with the same " \
    "count and type"
#define IN_ORDER                                                               \
    "; a send and its receive have the same count and type, and match in the " \
    "order of the calls"

static jd_shard *me;
static int self;

static void expect_sum(void)
{
    double mine = self + 1, sum = 0;
    EXPECT_OK(jd_psum(me, "data", &mine, &sum, 1, JD_F64));
    EXPECT_OK(jd_shard_synchronize(me));
    EXPECT(sum == 6, "the sum is %g", sum);
}

/* ---- all members -------------------------------------------------------- */

static void try_counts(void)
{
    float data[5] = { 0 };
    size_t count = self == 0 ? 5 : 4;
    expect_sentence(jd_psum(me, "data", data, data, count, JD_F32),
                    JD_INVALID_ARGUMENT,
                    "jd_psum" OVER ": process 0 calls jd_psum of 5 x F32, "
                    "process 1 calls jd_psum of 4 x F32" ALIKE);
    expect_sum();
}

static void try_functions(void)
{
    float data[4] = { 0 };
    const char *name = self == 1 ? "jd_pmax" : "jd_psum";
    jd_status status = self == 1 ? jd_pmax(me, "data", data, data, 4, JD_F32)
                                 : jd_psum(me, "data", data, data, 4, JD_F32);
    expect_sentence(status, JD_INVALID_ARGUMENT,
                    "%s" OVER ": process 1 calls jd_pmax of 4 x F32, process "
                    "0 calls jd_psum of 4 x F32" ALIKE,
                    name);
    expect_sum();
}

static void try_sources(void)
{
    float data[4] = { 0 };
    expect_sentence(jd_pbroadcast(me, "data", self == 2, data, data, 4, JD_F32),
                    JD_INVALID_ARGUMENT,
                    "jd_pbroadcast" OVER
                    ": process 2 calls jd_pbroadcast of 4 x F32 from "
                    "source 1, process 0 calls jd_pbroadcast of 4 x F32 from "
                    "source 0" ALIKE);
    expect_sum();
}

/* Whatever differs is in the sentence. */
static void try_matrices(void)
{
    static float in[24], out[24];
    size_t rows = self == 0 ? 2 : 1;
    expect_sentence(jd_all_gather_2d(me, "data", in, out, rows, 2, JD_F32),
                    JD_INVALID_ARGUMENT,
                    "jd_all_gather_2d" OVER
                    ": process 0 calls jd_all_gather_2d of 2 rows of 2 x F32, "
                    "process 1 calls jd_all_gather_2d of 1 row of 2 x "
                    "F32" ALIKE);
    expect_sentence(jd_psum_scatter_2d(me, "data", in, out, rows, 2, JD_F32),
                    JD_INVALID_ARGUMENT,
                    "jd_psum_scatter_2d" OVER
                    ": process 0 calls jd_psum_scatter_2d of 2 rows of 2 x "
                    "F32, process 1 calls jd_psum_scatter_2d of 1 row of 2 x "
                    "F32" ALIKE);
    expect_sentence(
        jd_all_to_all_2d(me, "data", in, out, 3, 3, 0, self > 0, JD_F32),
        JD_INVALID_ARGUMENT,
        "jd_all_to_all_2d" OVER
        ": process 0 calls jd_all_to_all_2d of 3 rows in pieces of 3 x F32, "
        "split_axis 0, concat_axis 0, process 1 calls jd_all_to_all_2d of 3 "
        "rows in pieces of 3 x F32, split_axis 0, concat_axis 1" ALIKE);
    expect_sentence(
        jd_all_to_all_2d(me, "data", in, out, self == 2 ? 1 : 3,
                         self == 2 ? 9 : 3, 1, 1, JD_F32),
        JD_INVALID_ARGUMENT,
        "jd_all_to_all_2d" OVER
        ": process 2 calls jd_all_to_all_2d of 1 row in pieces of 3 x F32, "
        "split_axis 1, concat_axis 1, process 0 calls jd_all_to_all_2d of 3 "
        "rows in pieces of 3 x F32, split_axis 1, concat_axis 1" ALIKE);
    expect_sentence(
        jd_all_to_all_nd(me, "data", in, out, 3,
                         (int64_t[]){ 1 + (self > 0), 3, 3 }, 1, 2, JD_F32),
        JD_INVALID_ARGUMENT,
        "jd_all_to_all_nd" OVER ": process 0 calls jd_all_to_all_nd of 1 x 3 "
        "rows in pieces of 3 x F32, "
        "split_axis 1, concat_axis 2, process 1 calls jd_all_to_all_nd of 2 x "
        "3 "
        "rows in pieces of 3 x F32, split_axis 1, concat_axis 2" ALIKE);
    expect_sum();
}

static void try_routes(void)
{
    static float in[24], out[24];
    const jd_route routes[] = { { 0, 1 }, { 1, 2 } };
    const int shuffles[2][3] = { { 1, 2, 0 }, { 2, 0, 1 } };
    expect_sentence(
        jd_ppermute(me, "data", in, out, 2, JD_F32, routes, self == 0 ? 2 : 1),
        JD_INVALID_ARGUMENT,
        "jd_ppermute" OVER ": process 0 calls jd_ppermute of 2 x F32, process "
        "1 calls jd_ppermute of 2 x F32; their routes differ: process 0 has "
        "1 -> 2, process 1 has 1 -> nobody" ALIKE);
    expect_sum();
    expect_sentence(
        jd_pshuffle(me, "data", in, out, 2, JD_F32, shuffles[self == 2]),
        JD_INVALID_ARGUMENT,
        "jd_pshuffle" OVER ": process 2 calls jd_pshuffle of 2 x F32, process "
        "0 calls jd_pshuffle of 2 x F32; their routes differ: process 2 has "
        "0 -> 1, process 0 has 0 -> 2" ALIKE);
    /* Zeros at the one, what was there at the other: no longer one call. */
    jd_status status =
        self == 0 ? jd_ppermute(me, "data", in, out, 2, JD_F32, routes, 2)
                  : jd_ppermute_keep(me, "data", in, out, 2, JD_F32, routes, 2);
    expect_sentence(status, JD_INVALID_ARGUMENT,
                    "%s" OVER ": process 0 calls jd_ppermute of 2 x F32, "
                    "process 1 calls jd_ppermute_keep of 2 x F32" ALIKE,
                    self == 0 ? "jd_ppermute" : "jd_ppermute_keep");
    expect_sum();
}

static void try_shifts(void)
{
    float in[2] = { 0 }, out[2];
    expect_sentence(jd_shift(me, "data", self == 1 ? -1 : 2, in, out, 2, JD_F32,
                             JD_EDGE_WRAP),
                    JD_INVALID_ARGUMENT,
                    "jd_shift" OVER ": process 1 calls jd_shift of 2 x F32 by "
                    "-1, JD_EDGE_WRAP, process 0 calls jd_shift of 2 x F32 by "
                    "2, JD_EDGE_WRAP" ALIKE);
    expect_sentence(jd_shift(me, "data", 1, in, out, 2, JD_F32,
                             self == 0 ? JD_EDGE_ZERO : JD_EDGE_KEEP),
                    JD_INVALID_ARGUMENT,
                    "jd_shift" OVER ": process 0 calls jd_shift of 2 x F32 by "
                    "1, JD_EDGE_ZERO, process 1 calls jd_shift of 2 x F32 by "
                    "1, JD_EDGE_KEEP" ALIKE);
    expect_sum();
}

/* The two that are named differ in their routes, and the third, which calls
 * something else, hears of them as they do. */
static void try_routes_and_more(void)
{
    static float in[24], out[24];
    const jd_route routes[] = { { 1, 2 }, { 0, 0 } };
    jd_status status = self == 2 ? jd_psum(me, "data", in, out, 2, JD_F32)
                                 : jd_ppermute(me, "data", in, out, 2, JD_F32,
                                               routes + self, 2 - self);
    expect_sentence(status, JD_INVALID_ARGUMENT,
                    "%s" OVER
                    ": process 1 calls jd_ppermute of 2 x F32, process 0 "
                    "calls jd_ppermute of 2 x F32; their routes differ: "
                    "process 1 has 1 -> nobody, process 0 has 1 -> 2" ALIKE,
                    self == 2 ? "jd_psum" : "jd_ppermute");
    expect_sum();
}

static jd_status exchange(int64_t sent)
{
    static float in[9], out[9];
    const int64_t places[] = { 0, 1, 2 }, to[] = { self, self, self };
    const int64_t sizes[] = { sent, 1, 1 }, received[] = { 1, 1, 1 };
    return jd_ragged_all_to_all(me, "data", in, 9, out, 9, 1, places, sizes, to,
                                received, 3, JD_F32);
}

static void try_ragged(void)
{
    jd_status status = self == 2 ? exchange(1) : jd_barrier(me, "data");
    expect_sentence(status, JD_INVALID_ARGUMENT,
                    "%s" OVER
                    ": process 2 calls jd_ragged_all_to_all of 1 x F32 with "
                    "lists of 1 for each member, process 0 calls jd_barrier of "
                    "0 x U8" ALIKE,
                    self == 2 ? "jd_ragged_all_to_all" : "jd_barrier");
    expect_sentence(exchange(self == 1 ? 2 : 1), JD_INVALID_ARGUMENT,
                    "jd_ragged_all_to_all" OVER
                    ": process 1 (member 1) sends 2 rows to process 0 (member "
                    "0), piece 0, which expects 1; recv_sizes are the others' "
                    "send_sizes");
    EXPECT_OK(exchange(1));
    EXPECT_OK(jd_barrier(me, "data"));
    expect_sum();
}

static jd_status gather(int64_t last)
{
    static float in[9], out[9];
    const int64_t counts[] = { 2, 0, self == 2 ? 3 : last };
    for (int i = 0; i < 9; i++)
        in[i] = (float)(10 * self + i);
    jd_status status = jd_ragged_all_gather(
        me, "data", in, (size_t)counts[self], out, counts, JD_F32);
    if (status == JD_OK)
        EXPECT(out[1] == 1 && out[2] == 20 && out[4] == 22, "%g %g %g", out[1],
               out[2], out[4]);
    return status;
}

static void try_ragged_gather(void)
{
    EXPECT_OK(gather(3));
    expect_sentence(gather(self == 0 ? 4 : 3), JD_INVALID_ARGUMENT,
                    "jd_ragged_all_gather" OVER
                    ": process 0 calls jd_ragged_all_gather of F32, process 1 "
                    "calls jd_ragged_all_gather of F32; their counts differ: "
                    "process 0 has counts[2] = 4, process 1 has counts[2] = "
                    "3" ALIKE);
    EXPECT_OK(gather(3));
    expect_sum();
}

/* Associative it is not, which is what shows the order. */
static void join_digits(void *into, const void *from, size_t count,
                        void *context)
{
    int64_t *first = into;
    const int64_t *then = from;
    (void)context;
    for (size_t i = 0; i < count; i++)
        first[i] = 10 * first[i] + then[i];
}

/* On GPUs by way of the host. */
static void try_program_function(void)
{
    int64_t mine = self + 1, all = 0;
    jd_status status =
        jd_preduce(me, "data", &mine, &all, 1, sizeof all, join_digits, NULL);
    EXPECT(status == JD_OK && all == 123, "%lld: %s", (long long)all,
           jd_error_message());
    expect_sum();
}

#define APART                                                                  \
    " is in the memory of a GPU, and the devices of this mesh are cpu ones, "  \
    "which cannot read it; copy it to the host (jd_device_copy)"

/* What is computed on the host, of memory of a GPU: alone, before anybody
 * waits. */
static void try_memory_of_gpu(jd_shard *host, int64_t *apart)
{
    int64_t here[4] = { 4, 3, 2, 1 };
    expect_sentence(
        jd_pmaxloc(host, "data", apart, NULL, here, here + 2, 2, JD_S64),
        JD_UNIMPLEMENTED, "jd_pmaxloc: in" APART);
    expect_sentence(
        jd_pminloc(host, "data", here, apart, here, here + 2, 2, JD_S64),
        JD_UNIMPLEMENTED, "jd_pminloc: in_index" APART);
    expect_sentence(
        jd_pminloc(host, "data", here, NULL, here, apart, 2, JD_S64),
        JD_UNIMPLEMENTED, "jd_pminloc: out_index" APART);
    expect_sentence(jd_scan(host, "data", here, apart, 2, JD_S64, JD_OP_SUM,
                            JD_SCAN_INCLUSIVE),
                    JD_UNIMPLEMENTED, "jd_scan: out" APART);
    expect_sentence(jd_preduce(host, "data", apart, here, 2, sizeof *here,
                               join_digits, NULL),
                    JD_UNIMPLEMENTED, "jd_preduce: in" APART);
}

/* On a mesh of the cpu devices, of which each process has one. */
static void try_host_mesh(void)
{
    int count;
    const jd_device *const *cpus = jd_platform_devices("cpu", &count);
    jd_mesh *mesh;
    void *apart;
    int64_t sum = 1;
    if (strcmp(jd_shard_device(me)->platform, "cpu") == 0)
        return;
    EXPECT_OK(
        jd_mesh_create(&mesh, 1, &count, (const char *[]){ "data" }, cpus));
    EXPECT_OK(jd_device_alloc(jd_shard_device(me), 64, &apart));
    try_memory_of_gpu(jd_mesh_shard(mesh), apart);
    EXPECT_OK(jd_psum(jd_mesh_shard(mesh), "data", &sum, &sum, 1, JD_S64));
    EXPECT(sum == count, "%lld", (long long)sum);
    EXPECT_OK(jd_device_free(apart));
    jd_mesh_destroy(mesh);
}

/* Where it is refused the pair sends the count first, as it says. */
static void try_any_size(void)
{
    int32_t data[5] = { 7, 7, 7, 7, 7 };
    size_t came = 0;
    bool is_cpu = strcmp(jd_shard_device(me)->platform, "cpu") == 0;
    if (self == 1) {
        jd_status status =
            jd_recv_any_size(me, "data", 0, data, 5, &came, JD_S32);
        if (is_cpu)
            EXPECT(status == JD_OK && came == 3, "%zu: %s", came,
                   jd_error_message());
        else
            expect_sentence(status, JD_UNIMPLEMENTED,
                            "jd_recv_any_size: not on GPUs; send the count "
                            "first, to a jd_recv() of 1, and receive so many "
                            "with a second one");
    } else if (self == 0 && is_cpu) {
        EXPECT_OK(jd_send(me, "data", 1, data, 3, JD_S32));
    }
    expect_sum();
}

/* What one member alone has wrong: the others hear it too. */
static void try_own_rows(void)
{
    expect_sentence(exchange(self == 1 ? 10 : 1), JD_INVALID_ARGUMENT,
                    "jd_ragged_all_to_all" OVER
                    ": process 1 (member 1) sends rows 0 to 0 + 10 to process "
                    "0 (member 0), piece 0; its in has 9 rows");
    expect_sentence(exchange(self == 2 ? -1 : 1), JD_INVALID_ARGUMENT,
                    "jd_ragged_all_to_all" OVER
                    ": process 2 (member 2) sends rows 0 to 0 + -1 to process "
                    "0 (member 0), piece 0; its in has 9 rows");
    EXPECT_OK(exchange(1));
    expect_sum();
}

/* ---- two of them -------------------------------------------------------- */

/* Longer than what a sender leaves; with JD_CHECK_CALLS on GPUs any. */
enum { SENT = 2049 };

static void try_transfer(void)
{
    static float data[SENT];
    if (self == 0)
        expect_sentence(
            jd_send(me, "data", 1, data, SENT, JD_F32), JD_INVALID_ARGUMENT,
            "jd_send" OVER ": process 0 (member 0) sends 2049 x F32, where "
            "process 1 (member 1) receives 4 x F32" IN_ORDER);
    if (self == 1)
        expect_sentence(
            jd_recv(me, "data", 0, data, 4, JD_F32), JD_INVALID_ARGUMENT,
            "jd_recv" OVER ": process 0 (member 0) sends 2049 x F32, where "
            "process 1 (member 1) receives 4 x F32" IN_ORDER);
    expect_sum();
}

/* What fits is done. */
static void try_sendrecv(void)
{
    int32_t data[5] = { 7, 7, 7, 7, 7 }, got[5] = { 0 };
    jd_status status =
        jd_sendrecv(me, "data", (self + 1) % 3, data, self == 0 ? 5 : 4,
                    (self + 2) % 3, got, 4, JD_S32);
    if (self == 2)
        EXPECT(status == JD_OK && got[3] == 7, "%s", jd_error_message());
    else
        expect_sentence(status, JD_INVALID_ARGUMENT,
                        "jd_sendrecv" OVER
                        ": process 0 (member 0) sends 5 x S32, where process 1 "
                        "(member 1) receives 4 x S32" IN_ORDER);
    expect_sum();
}

static void try_tags(void)
{
    static float data[SENT];
    jd_status status = JD_INVALID_ARGUMENT;
    if (self == 0)
        status = jd_send_tagged(me, "data", 1, 5, data, SENT, JD_F32);
    else if (self == 1)
        status = jd_recv(me, "data", 0, data, SENT, JD_F32);
    if (self < 2)
        expect_sentence(
            status, JD_INVALID_ARGUMENT,
            "%s" OVER
            ": process 0 (member 0) sends 2049 x F32 with tag 5, where "
            "process 1 (member 1) receives 2049 x F32 with tag 0; a send and "
            "its "
            "receive have the same tag; between two members the transfers of a "
            "group match in the order of their tags, others in that of the "
            "calls",
            self == 0 ? "jd_send" : "jd_recv");
    expect_sum();
}

/* What fits of a group is done. */
static void try_group(void)
{
    int32_t data[5] = { 7, 7, 7, 7, 7 }, got[4] = { 0 };
    EXPECT_OK(jd_group_begin(me));
    if (self == 0) {
        EXPECT_OK(jd_send(me, "data", 2, data, 5, JD_S32));
        EXPECT_OK(jd_send(me, "data", 1, data, 4, JD_S32));
    } else {
        EXPECT_OK(jd_recv(me, "data", 0, got, 4, JD_S32));
    }
    jd_status status = jd_group_end(me);
    EXPECT_OK(jd_shard_synchronize(me));
    if (self == 1)
        EXPECT(status == JD_OK && got[3] == 7, "%s", jd_error_message());
    else
        expect_sentence(status, JD_INVALID_ARGUMENT,
                        "%s" OVER
                        ": process 0 (member 0) sends 5 x S32, where process 2 "
                        "(member 2) receives 4 x S32" IN_ORDER,
                        self == 0 ? "jd_send" : "jd_recv");
    expect_sum();
}

static int32_t *on_device(int32_t value)
{
    int32_t values[3] = { value, value, value };
    void *memory;
    EXPECT_OK(jd_device_alloc(jd_shard_device(me), sizeof values, &memory));
    EXPECT_OK(jd_device_copy(memory, values, sizeof values));
    return memory;
}

static void expect_and_free(int32_t *data, int32_t wanted)
{
    int32_t got;
    EXPECT_OK(jd_device_copy(&got, data, sizeof got));
    EXPECT(got == wanted, "%d not %d", got, wanted);
    EXPECT_OK(jd_device_free(data));
}

/* What one does in a group the other may do in calls, and in another order
 * where the directions differ. The buffers are the device's: host buffers on
 * GPUs are waited for. */
static void try_order(void)
{
    int32_t *first = on_device(1), *second = on_device(2), *last = on_device(3);
    if (self == 0) {
        EXPECT_OK(jd_group_begin(me));
        EXPECT_OK(jd_send(me, "data", 1, first, 3, JD_S32));
        EXPECT_OK(jd_send(me, "data", 1, last, 1, JD_S32));
        EXPECT_OK(jd_recv(me, "data", 1, second, 2, JD_S32));
        EXPECT_OK(jd_group_end(me));
    } else if (self == 1) {
        EXPECT_OK(jd_group_begin(me));
        EXPECT_OK(jd_send(me, "data", 0, last, 2, JD_S32));
        EXPECT_OK(jd_recv(me, "data", 0, second, 3, JD_S32));
        EXPECT_OK(jd_group_end(me));
        EXPECT_OK(jd_recv(me, "data", 0, first, 1, JD_S32));
    }
    EXPECT_OK(jd_shard_synchronize(me));
    expect_and_free(first, self == 1 ? 3 : 1);
    expect_and_free(second, self == 0 ? 3 : self == 1 ? 1 : 2);
    expect_and_free(last, 3);
    expect_sum();
}

static void try_oneself(void)
{
    int32_t data[3] = { 4, 5, 6 }, got[3] = { 0 };
    EXPECT_OK(jd_group_begin(me));
    EXPECT_OK(jd_send(me, "data", self, data, 3, JD_S32));
    EXPECT_OK(jd_recv(me, "data", self, got, 2, JD_S32));
    expect_sentence(jd_group_end(me), JD_INVALID_ARGUMENT,
                    "jd_send" OVER
                    ": process %d (member %d) sends 3 x S32, where process %d "
                    "(member %d) receives 2 x S32" IN_ORDER,
                    self, self, self, self);
    EXPECT_OK(jd_group_begin(me));
    EXPECT_OK(jd_recv(me, "data", self, got, 2, JD_S32));
    expect_sentence(jd_group_end(me), JD_INVALID_ARGUMENT,
                    "jd_recv" OVER
                    ": process %d (member %d) has a receive from itself "
                    "without its send in the same group; put both between "
                    "jd_group_begin and jd_group_end",
                    self, self);
    expect_sum();
}

static void try_all(void)
{
    try_counts();
    try_functions();
    try_sources();
    try_matrices();
    try_routes();
    try_routes_and_more();
    try_shifts();
    try_ragged();
    try_ragged_gather();
    try_program_function();
    try_host_mesh();
    try_own_rows();
}

static void try_two(void)
{
    try_transfer();
    try_sendrecv();
    try_tags();
    try_any_size();
    try_group();
    try_order();
    try_oneself();
}

int main(int argc, char **argv)
{
    bool all_alone = argc > 1 && strcmp(argv[1], "all") == 0;
    const char *name = "data";
    int size = -1;
    jd_mesh *mesh;
    EXPECT_OK(jd_initialize());
    EXPECT_OK(jd_mesh_create(&mesh, 1, &size, &name, NULL));
    self = jd_process_index();
    me = jd_mesh_shard(mesh);
    EXPECT(jd_process_count() == 3 && me, "it takes three processes of one");
    expect_sum();
    try_all();
    if (!all_alone)
        try_two();
    jd_mesh_destroy(mesh);
    EXPECT_OK(jd_shutdown());
    return 0;
}
