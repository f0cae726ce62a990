/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_comms WHAT RANK [FAIL] - the life of comms of GPUs, on the
 * stand-ins. FAIL is STANDIN_FAIL in process RANK.
 *
 *   good       communicators are made, used, ended, and made again
 *   same       the first collective fails, on all with the culprit's sentence,
 *              and so does the next
 *   first      it fails, on each in its own way
 *   far        the same, where NCCL believes each process on a host of its own
 *   later      the same of the third
 *   apart      RANK ends its communicator long after the others
 *   beside     the same, where the third of the process after RANK fails too
 *   leave      the third fails in RANK, which returns from main with code 3
 *   kill       RANK is killed while all make one after another
 *   killed     the process after RANK is killed instead of its third
 */
#include "jd.h"

#include "data_mesh.h"
#include "tests/mpi/expect.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static const char *what;
static int rank;
static atomic_int sums_made;

static bool is(const char *word)
{
    return strcmp(what, word) == 0;
}

/* Before jd_initialize, as the stand-ins look then. */
static void arm(int argc, char **argv)
{
    const char *own = getenv("OMPI_COMM_WORLD_RANK");
    EXPECT(argc >= 3 && own, "test_nccl_comms WHAT RANK [FAIL], under mpirun");
    what = argv[1];
    rank = atoi(argv[2]);
    if (argc > 3 && rank == atoi(own))
        setenv("STANDIN_FAIL", argv[3], 1);
    if (is("beside") && atoi(own) == rank + 1)
        setenv("STANDIN_FAIL", "ncclAllReduce:3:3", 1);
    if (is("far"))
        setenv("NCCL_HOSTID", own, 1);
}

/* Of host memory, and so it is done when it returns. */
static jd_status sum(jd_shard *shard, void *arg)
{
    double in = 1 + jd_axis_index(shard, "data"), out = 0;
    int size = jd_axis_size(shard, "data");
    (void)arg;
    jd_status status = jd_psum(shard, "data", &in, &out, 1, JD_F64);
    EXPECT(status != JD_OK || out == size * (size + 1) / 2, "the sum is %g",
           out);
    return status;
}

/* Where the end of a communicator fails it is aborted, and whose sum is still
 * under way hears of that: so all have theirs first. */
static void sum_and_destroy(jd_mesh *mesh)
{
    EXPECT_OK(jd_shard_map(mesh, sum, NULL));
    EXPECT_OK(jd_sync_global_devices("summed"));
    jd_mesh_destroy(mesh);
}

static void try_good(void)
{
    jd_mesh *first = make_mesh(), *second = make_mesh();
    EXPECT_OK(jd_shard_map(second, sum, NULL));
    sum_and_destroy(first);
    sum_and_destroy(second);
    sum_and_destroy(make_mesh());
}

static void try_apart(void)
{
    jd_mesh *mesh = make_mesh();
    EXPECT_OK(jd_shard_map(mesh, sum, NULL));
    if (jd_process_index() == rank)
        sleep(12); /* an end that hangs is told of after 10 s */
    jd_mesh_destroy(mesh);
}

static void say(jd_status status)
{
    printf("process %d: %s: %s\n", jd_process_index(), jd_status_name(status),
           status == JD_OK ? "" : jd_error_message());
    fflush(stdout);
}

/* The good ones before. A failure is the communicator's: it would end the sums
 * of those who are a call behind, too. */
static jd_shard *prepare(jd_mesh *mesh, int count)
{
    jd_shard *shard = jd_mesh_shard(mesh);
    for (int i = 0; i < count; i++)
        EXPECT_OK(sum(shard, NULL));
    EXPECT_OK(jd_sync_global_devices("prepared"));
    return shard;
}

static void try_failure(int count)
{
    jd_mesh *mesh = make_mesh();
    jd_shard *shard = prepare(mesh, count);
    jd_status status = sum(shard, NULL);
    EXPECT(status != JD_OK, "it did not fail");
    say(status);
    if (is("same"))
        say(sum(shard, NULL));
    jd_mesh_destroy(mesh);
}

/* Leaves it to the system: the mesh is looked for by tools. */
static int leave(void)
{
    static jd_mesh *volatile mesh;
    mesh = make_mesh();
    jd_shard *shard = prepare(mesh, 2);
    for (;;) {
        jd_status status = sum(shard, NULL);
        if (status != JD_OK && jd_process_index() == rank)
            return 3;
        JD_CHECK(status);
    }
}

/* Wherever the process is then. */
static void *kill_later(void *arg)
{
    while (atomic_load(&sums_made) < 100)
        sched_yield();
    raise(SIGKILL);
    return arg;
}

static void be_killed(void)
{
    pthread_t thread;
    jd_shard *shard = prepare(make_mesh(), 2);
    if (jd_process_index() == rank)
        EXPECT(pthread_create(&thread, NULL, kill_later, NULL) == 0,
               "no thread");
    for (;; atomic_fetch_add(&sums_made, 1))
        JD_CHECK(sum(shard, NULL));
}

static void be_killed_beside(void)
{
    jd_shard *shard = prepare(make_mesh(), 2);
    if (jd_process_index() == rank + 1)
        raise(SIGKILL);
    JD_CHECK(sum(shard, NULL));
}

int main(int argc, char **argv)
{
    arm(argc, argv);
    JD_CHECK(jd_initialize());
    int count;
    const jd_device *const *devices = jd_devices(&count);
    EXPECT(strcmp(devices[0]->platform, "cuda") == 0, "the platform is %s",
           devices[0]->platform);
    if (is("leave"))
        return leave();
    if (is("kill"))
        be_killed();
    if (is("killed"))
        be_killed_beside();
    if (is("good"))
        try_good();
    else if (is("apart"))
        try_apart();
    else
        try_failure(is("later") || is("beside") ? 2 : 0);
    return jd_shutdown();
}
