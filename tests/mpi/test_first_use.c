/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals: how many messages a process sends, counted through MPI's
 * profiling interface, where each process stands for a host
 * (JD_SHARED_MEMORY=0), and how long the longest is: in the first use of a
 * mesh, in the multihost utilities, and in a call on arrays, among all numbers
 * of processes up to that of the job.
 */
#include "jd.h"

#include "arrays/array/array_agree.h"
#include "collectives/cpu/comm.h"

#include "expect.h"

#include <stdint.h>

static const struct jd_runtime *runtime;
static const jd_device *const *devices;
static int self, count;

/* ---- what is counted ----------------------------------------------------- */

static struct {
    int messages;
    int longest;
} sent;

int MPI_Isend(const void *data, int bytes, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    sent.messages++;
    sent.longest = bytes > sent.longest ? bytes : sent.longest;
    return PMPI_Isend(data, bytes, type, to, tag, comm, request);
}

static int log2_of(int n)
{
    int log = 0;
    while (1 << log < n)
        log++;
    return log;
}

static void begin(void)
{
    EXPECT_OK(jd_wait_at_barrier("begin", 60, NULL, 0));
    sent.messages = sent.longest = 0;
}

/* Of T processes that take part, this one. */
static void expect_few(const char *what, int processes, int messages,
                       int longest)
{
    EXPECT(sent.messages <= messages, "%s: process %d of %d sent %d messages",
           what, self, processes, sent.messages);
    EXPECT(sent.longest <= longest,
           "%s: a message of process %d of %d has %d "
           "bytes",
           what, self, processes, sent.longest);
    if (self == processes - 1)
        printf("%s of %d: %d messages, the longest of %d bytes\n", what,
               processes, sent.messages, sent.longest);
}

/* ---- the calls ------------------------------------------------------------
 */

static void use_first(int processes)
{
    struct jd_comm *comm = NULL;
    struct jd_comm_spec spec = {
        .runtime = runtime,
        .members = devices,
        .size = processes,
        .index = self,
        .axes = "\"data\"",
        .detail = " over axis \"data\"",
        .operation = "jd_psum",
    };
    begin();
    if (self >= processes)
        return;
    EXPECT_OK(jd__comm_create(&spec, &comm));
    expect_few("first use", processes, 3 * log2_of(processes) + 3,
               4096 + 64 * processes);
    jd__comm_destroy(comm);
}

static void share(int processes)
{
    jd_mesh *mesh;
    jd_sharding *sharding;
    struct jd_agree_list *agree;
    int64_t own[3] = { self, 1, 2 }, all[3 * 64];
    EXPECT_OK(
        jd_mesh_create(&mesh, 1, &processes, (const char *[]){ "x" }, devices));
    EXPECT_OK(jd_sharding_create(&sharding, mesh, "x"));
    struct jd_invited invited = { .a = sharding, .extra = -1 };
    begin();
    EXPECT_OK(jd__array_agree_enter("test", &invited, &agree));
    if (agree) {
        EXPECT_OK(jd__array_agree_share(agree, JD_OK, "F32[8]", own, sizeof own,
                                        all));
        expect_few("a share", processes, log2_of(processes) + 1,
                   4096 + 64 * processes);
        EXPECT_OK(jd__array_agree_leave(agree, JD_OK));
    }
    for (int i = 0; agree && i < processes; i++)
        EXPECT(all[3 * i] == i, "%d", (int)all[3 * i]);
    jd_sharding_release(sharding);
    jd_mesh_destroy(mesh);
}

static void gather(void)
{
    int64_t own = self, all[64];
    jd_leaf in = { &own, JD_S64, 0, NULL };
    jd_leaf out = { all, JD_S64, 1, (int64_t[]){ count } };
    begin();
    EXPECT_OK(jd_process_allgather(&in, &out, 1, 0));
    expect_few("jd_process_allgather", count, log2_of(count) + 1,
               4096 + 64 * count);
    for (int i = 0; i < count; i++)
        EXPECT(all[i] == i, "%d", (int)all[i]);
}

static void broadcast(int source)
{
    static unsigned char data[1024];
    jd_leaf leaf = { data, JD_U8, 1, (int64_t[]){ sizeof data } };
    memset(data, self + 1, sizeof data);
    begin();
    EXPECT_OK(jd_broadcast_one_to_all(&leaf, 1, source));
    expect_few("jd_broadcast_one_to_all", count, log2_of(count) + 1,
               4096 + 64 * count);
    for (size_t i = 0; i < sizeof data; i++)
        EXPECT(data[i] == source + 1, "%d", data[i]);
}

static void compare(void)
{
    int32_t same = 7;
    jd_leaf leaf = { &same, JD_S32, 0, NULL };
    begin();
    EXPECT_OK(jd_assert_equal(&leaf, 1, "seven"));
    expect_few("jd_assert_equal", count, 2 * (log2_of(count) + 1),
               4096 + 64 * count);
}

int main(void)
{
    JD_CHECK(jd_initialize());
    EXPECT_OK(jd__runtime_get(&runtime, "test"));
    devices = jd_devices(NULL);
    self = jd_process_index();
    count = jd_process_count();
    for (int processes = 2; processes <= count; processes++) {
        use_first(processes);
        share(processes);
    }
    gather();
    broadcast(0);
    broadcast(count - 1);
    compare();
    JD_CHECK(jd_shutdown());
    return 0;
}
