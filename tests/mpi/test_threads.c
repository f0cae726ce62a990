/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals: several threads of each process call MPI at the same time, at the
 * thread level that the variable asks for.
 *   groups    each is a member of one group, with a tag for each pair
 *   progress  MPI goes on with the program's message during a wait for
 *             something else
 *   one       the program's MPI serves one thread: a shard each is refused
 * At MPI_THREAD_SERIALIZED none comes into MPI while another is there.
 */
#include "jd.h"
#include "jd_mpi.h"

#include "collectives/channel/merge.h"
#include "collectives/channel/pair.h"
#include "runtime/mpi/lock.h"

#include "expect.h"
#include "watched_mpi.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 200, FIRST_TAG = 1000, LONG = 100000 };

static const struct jd_runtime *runtime;

/* ---- who is in MPI ------------------------------------------------------ */

static atomic_int inside;

static void enter(void)
{
    int level;
    MPI_Query_thread(&level);
    int others = atomic_fetch_add(&inside, 1);
    EXPECT(level == MPI_THREAD_MULTIPLE || others == 0, "%d are in MPI",
           others);
    if (rand() % 16 == 0)
        sched_yield();
}

static int leave(int code)
{
    atomic_fetch_sub(&inside, 1);
    return code;
}

/* ---- groups ------------------------------------------------------------- */

static int processes[64], first_tags[64], numbers[64]; /* of the members */

static void number_members(int size)
{
    for (int i = 0; i < size; i++) {
        processes[i] = i / THREADS;
        first_tags[i] = FIRST_TAG + i * size;
        numbers[i] = i;
    }
}

static struct jd_channel *open_group(int index)
{
    int size = runtime->world.count * THREADS;
    struct jd_channel_spec spec = {
        .runtime = runtime,
        .processes = processes,
        .size = size,
        .index = index,
        .first_tags = first_tags,
        .numbers = numbers,
    };
    struct jd_channel *group;
    EXPECT_OK(jd__channel_create(&spec, "test", &group));
    jd__channel_begin(group, "test", NULL);
    return group;
}

static void meet(struct jd_channel *group, int round)
{
    struct jd_signature signature = { .activity = JD_ACTIVITY_PSUM };
    int mine[2] = { round, jd__channel_index(group) };
    struct jd_merge merge;
    struct jd_merge_call call = { .signature = signature,
                                  .record = mine,
                                  .bytes = sizeof mine };
    EXPECT_OK(jd__merge_meet(group, &call, &merge));
    for (int i = 0; i < jd__channel_size(group); i++) {
        const int *theirs = jd__merge_record(&merge, i);
        EXPECT(theirs[0] == round && theirs[1] == i, "%d, %d", theirs[0],
               theirs[1]);
    }
}

/* A message that MPI does not send at once, to the member `distance` on. */
static void pass_on(struct jd_channel *group, int distance)
{
    static _Thread_local int out[LONG], in[LONG];
    int size = jd__channel_size(group), index = jd__channel_index(group);
    int from = (index + size - distance) % size;
    for (int i = 0; i < LONG; i++)
        out[i] = index * LONG + i;
    struct jd_pair pair;
    EXPECT_OK(jd__pair_post(
        group, &pair, (struct jd_message_end){ from, in, sizeof in },
        (struct jd_message_end){ (index + distance) % size, out, sizeof out }));
    EXPECT_OK(jd__pair_finish(group, &pair));
    for (int i = 0; i < LONG; i++)
        EXPECT(in[i] == from * LONG + i, "[%d] is %d", i, in[i]);
}

static void *be_member(void *arg)
{
    int thread = *(int *)arg;
    struct jd_channel *group =
        open_group(runtime->world.index * THREADS + thread);
    for (int round = 0; round < ROUNDS; round++)
        meet(group, round);
    for (int d = 0; d < jd__channel_size(group); d++)
        pass_on(group, d);
    for (int i = 0; i < ROUNDS; i++)
        jd__mpi_make_progress((void *)(uintptr_t)&runtime->world);
    EXPECT(!jd__channel_has_failed(group), "nothing has failed");
    jd__channel_destroy(group);
    return NULL;
}

static void try_groups(void)
{
    pthread_t threads[THREADS];
    int own[THREADS];
    number_members(runtime->world.count * THREADS);
    for (int i = 0; i < THREADS; i++) {
        own[i] = i;
        EXPECT(pthread_create(&threads[i], NULL, be_member, &own[i]) == 0,
               "no thread");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- progress ----------------------------------------------------------- */

/* Process 0 sends, and waits for what process 1 says once it has it all. */
static void try_progress(void)
{
    enum { BYTES = 8 << 20 };
    char *data = calloc(1, BYTES);
    void *said;
    size_t length;
    MPI_Request request;
    if (jd_process_index() == 1) {
        MPI_Recv(data, BYTES, MPI_BYTE, 0, 5, jd_mpi_comm(), MPI_STATUS_IGNORE);
        EXPECT_OK(jd_kv_set("received", "yes", 3, 0));
    } else {
        MPI_Isend(data, BYTES, MPI_BYTE, 1, 5, jd_mpi_comm(), &request);
        jd_status status;
        while ((status = jd_kv_try_get("received", &said, &length)) ==
               JD_NOT_FOUND)
            jd__mpi_make_progress((void *)(uintptr_t)&runtime->world);
        EXPECT_OK(status);
        free(said);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    free(data);
}

/* ---- one thread --------------------------------------------------------- */

static jd_status do_nothing(jd_shard *shard, void *arg)
{
    (void)shard, (void)arg;
    return JD_OK;
}

static void try_one(void)
{
    jd_mesh *mesh;
    EXPECT_OK(jd_mesh_create(&mesh, 1, (int[]){ -1 },
                             (const char *[]){ "data" }, NULL));
    expect_sentence(jd_shard_map(mesh, do_nothing, NULL),
                    JD_FAILED_PRECONDITION,
                    "jd_shard_map: this process has 2 devices, with a thread "
                    "each, and MPI was initialised with MPI_THREAD_FUNNELED, "
                    "which serves one; ask MPI_Init_thread for "
                    "MPI_THREAD_SERIALIZED, let jd_initialize() start MPI, or "
                    "set JD_NUM_CPU_DEVICES=1");
    jd_mesh_destroy(mesh);
}

int main(int argc, char **argv)
{
    EXPECT(argc == 2, "one argument");
    bool is_one = strcmp(argv[1], "one") == 0;
    int provided;
    if (is_one)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    JD_CHECK(jd_initialize());
    EXPECT_OK(jd__runtime_get(&runtime, "test"));
    if (strcmp(argv[1], "groups") == 0)
        try_groups();
    else if (is_one)
        try_one();
    else
        try_progress();
    JD_CHECK(jd_shutdown());
    if (is_one)
        MPI_Finalize();
    return 0;
}
