/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_messages - how many messages a process sends in one call, by MPI's
 * profiling interface, where no two processes share memory
 * (JD_SHARED_MEMORY=0): each then stands for a host. For every number of hosts
 * up to that of the processes; and all have the same bits of a rounded sum.
 */
#include "jd.h"
#include "jd_mpi.h"

#include "expect.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum { KIB = 1024, LONG = KIB * KIB, SHORT_MESSAGE = 32 * KIB };

/* ---- counting ----------------------------------------------------------- */

static struct {
    int messages; /* of the call in hand */
    int little;   /* of them, those shorter than SHORT_MESSAGE */
} sent;

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    sent.messages++;
    sent.little += count < SHORT_MESSAGE;
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}

static int log2_of(int n)
{
    int log = 0;
    while (1 << log < n)
        log++;
    return log;
}

/* ---- calls -------------------------------------------------------------- */

static char *in, *out;
static jd_shard *me;
static int hosts;

static void psum(int bytes)
{
    EXPECT_OK(jd_psum(me, "p", in, out, (size_t)bytes / 4, JD_F32));
}

static void pmean_bf16(int bytes)
{
    EXPECT_OK(jd_pmean(me, "p", in, out, (size_t)bytes / 2, JD_BF16));
}

static void barrier(int bytes)
{
    (void)bytes;
    EXPECT_OK(jd_barrier(me, "p"));
}

static void scan(int bytes)
{
    EXPECT_OK(jd_scan(me, "p", in, out, (size_t)bytes / 4, JD_F32, JD_OP_SUM,
                      JD_SCAN_EXCLUSIVE));
}

static void all_gather(int bytes)
{
    EXPECT_OK(jd_all_gather(me, "p", in, out, (size_t)bytes, JD_S8));
}

static void psum_scatter(int bytes)
{
    size_t count = (size_t)bytes / 4 / (size_t)hosts;
    EXPECT_OK(jd_psum_scatter(me, "p", in, out, count, JD_F32));
}

static void pbroadcast(int bytes)
{
    EXPECT_OK(jd_pbroadcast(me, "p", hosts / 2, in, out, (size_t)bytes, JD_S8));
}

static void all_to_all(int bytes)
{
    EXPECT_OK(jd_all_to_all(me, "p", in, out, (size_t)bytes, JD_S8));
}

/* One more than that many parties need: of no power of two some have a part in
 * two rounds more. */
static int check_messages(void)
{
    return log2_of(hosts) + 1;
}

/* Of short ones: all comes with the check. */
static int no_more(int bytes)
{
    (void)bytes;
    return 0;
}

/* Of long ones, for each piece: those that are no shorter than 32 KiB do not
 * count. */
static int by_pieces(int bytes)
{
    int pieces = (bytes + 256 * KIB - 1) / (256 * KIB);
    return pieces * (2 * log2_of(hosts) + 2);
}

static int in_one_piece(int bytes)
{
    return by_pieces(bytes < 1 ? bytes : 1);
}

static int to_each(int bytes)
{
    return bytes <= 256 ? log2_of(hosts) + 1 : hosts - 1;
}

/* Of a scan, a round doubles what a member has: it tells the one that gets it,
 * and the one that it gets from. */
static int by_doubling(int bytes)
{
    (void)bytes;
    return 2 * log2_of(hosts);
}

/* And says that long data follows; which are in pieces. */
static int by_doubling_long(int bytes)
{
    return by_doubling(bytes) + log2_of(hosts);
}

static const struct {
    const char *name;
    void (*call)(int bytes);
    int bytes;
    int (*beside_the_check)(int bytes);
    bool counts_little_alone;
} calls[] = {
    { "jd_barrier", barrier, 0, no_more, false },
    { "jd_psum of 8 bytes", psum, 8, no_more, false },
    { "jd_psum of 4 KiB", psum, 4 * KIB, no_more, false },
    { "jd_pmean of 2 KiB of BF16", pmean_bf16, 2 * KIB, no_more, false },
    { "jd_scan of 8 bytes", scan, 8, no_more, false },
    { "jd_scan of 1200 bytes", scan, 1200, by_doubling, false },
    { "jd_scan of 64 KiB", scan, 64 * KIB, by_doubling_long, true },
    { "jd_all_gather of 4 bytes", all_gather, 4, no_more, false },
    { "jd_all_gather of 1 KiB", all_gather, KIB, no_more, false },
    { "jd_pbroadcast of 4 KiB", pbroadcast, 4 * KIB, no_more, false },
    { "jd_psum of 64 KiB", psum, 64 * KIB, in_one_piece, false },
    { "jd_psum of 1 MiB", psum, LONG, by_pieces, true },
    { "jd_psum_scatter of 1 MiB", psum_scatter, LONG, by_pieces, true },
    { "jd_all_gather of 64 KiB", all_gather, 64 * KIB, by_pieces, true },
    { "jd_pbroadcast of 1 MiB", pbroadcast, LONG, by_pieces, true },
    { "jd_all_to_all of 256 bytes", all_to_all, 256, to_each, false },
    { "jd_all_to_all of 8 KiB", all_to_all, 8 * KIB, to_each, false },
};

static void count_calls(void)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int most = check_messages() + calls[i].beside_the_check(calls[i].bytes);
        sent.messages = sent.little = 0;
        calls[i].call(calls[i].bytes);
        int counted =
            calls[i].counts_little_alone ? sent.little : sent.messages;
        EXPECT(counted <= most,
               "%s among %d hosts: process %d sends %d messages, %d at most",
               calls[i].name, hosts, jd_process_index(), counted, most);
    }
}

/* ---- bits --------------------------------------------------------------- */

static uint64_t digest_of(const char *data, size_t bytes)
{
    uint64_t digest = UINT64_C(1469598103934665603);
    for (size_t i = 0; i < bytes; i++)
        digest = (digest ^ (unsigned char)data[i]) * UINT64_C(1099511628211);
    return digest;
}

static void compare_bits(int bytes)
{
    uint64_t own, all[64];
    float *numbers = (float *)(void *)in;
    for (int i = 0; i < bytes / 4; i++)
        numbers[i] = 1.0f / (float)(3 + (i * 7 + jd_process_index() * 13) % 97);
    psum(bytes);
    own = digest_of(out, (size_t)bytes);
    EXPECT_OK(jd_all_gather(me, "p", &own, all, 1, JD_U64));
    for (int i = 0; i < hosts; i++)
        EXPECT(all[i] == own,
               "psum of %d bytes among %d hosts: process %d "
               "has other bits than process %d",
               bytes, hosts, i, jd_process_index());
}

int main(void)
{
    int n;
    EXPECT_OK(jd_initialize());
    const jd_device *const *devices = jd_devices(&n);
    in = calloc(1, 2 * LONG);
    out = calloc((size_t)n, LONG);
    EXPECT(in && out && n <= 64, "%d devices", n);
    for (hosts = 2; hosts <= n; hosts++) {
        jd_mesh *mesh;
        EXPECT_OK(
            jd_mesh_create(&mesh, 1, &hosts, (const char *[]){ "p" }, devices));
        me = jd_mesh_shard(mesh);
        if (me) {
            EXPECT_OK(jd_barrier(me, "p")); /* its first use */
            count_calls();
            compare_bits(40);
            compare_bits(20000);
            compare_bits(100000);
        }
        jd_mesh_destroy(mesh);
    }
    free(in);
    free(out);
    return jd_shutdown();
}
