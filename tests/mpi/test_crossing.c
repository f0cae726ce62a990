/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_crossing LEVEL - several shards of a process in different collectives
 * at the same time, at the thread level of the program's own MPI.
 *   serialized  a 2x2 mesh over two processes with two devices each, some of
 *               whose shards come to "x" first and some to "y"
 *   single      the same mesh over four processes with one device each
 * MPI is never called by two threads at the same time, and by one thread only
 * where the level says so.
 */
#include "jd.h"
#include "jd_mpi.h"

#include "expect.h"
#include "watched_mpi.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { DEVICES = 4, MOST = 10000 };

/* ---- who is in MPI ------------------------------------------------------ */

static atomic_int inside;
static atomic_bool is_counting; /* jd is at work */
static pthread_t main_thread;
static int level;

static void enter(void)
{
    if (!atomic_load(&is_counting))
        return;
    int others = atomic_fetch_add(&inside, 1);
    EXPECT(others == 0, "%d others are in MPI", others);
    EXPECT(level != MPI_THREAD_SINGLE ||
               pthread_equal(main_thread, pthread_self()),
           "another thread is in MPI");
    if (rand() % 16 == 0)
        sched_yield();
}

static int leave(int code)
{
    if (atomic_load(&is_counting))
        atomic_fetch_sub(&inside, 1);
    return code;
}

/* ---- collectives over one axis ------------------------------------------ */

/* The number of a member of the mesh, by its coordinates. */
static int number_of(const int *at)
{
    return at[0] * 2 + at[1];
}

/* The one that differs in this axis alone. */
static int partner_of(const int *at, int axis)
{
    int other[2] = { at[0], at[1] };
    other[axis] = 1 - other[axis];
    return number_of(other);
}

static void try_sum(jd_shard *me, const char *name, int own, int other,
                    int count)
{
    double *values = calloc((size_t)count, sizeof *values);
    for (int i = 0; i < count; i++)
        values[i] = own * count + i;
    EXPECT_OK(jd_psum(me, name, values, values, (size_t)count, JD_F64));
    for (int i = 0; i < count; i++)
        EXPECT(values[i] == (own + other) * count + 2 * i,
               "%s: [%d] of %d is %g", name, i, count, values[i]);
    free(values);
}

static void try_moves(jd_shard *me, const char *name, int own, int other)
{
    int32_t mine[2] = { own, own }, got[2], all[2];
    int index = jd_axis_index(me, name);
    jd_route turn[] = { { 0, 1 }, { 1, 0 } };
    EXPECT_OK(jd_ppermute(me, name, mine, got, 2, JD_S32, turn, 2));
    EXPECT(got[0] == other && got[1] == other, "%d", got[0]);
    EXPECT_OK(jd_all_gather(me, name, mine, all, 1, JD_S32));
    EXPECT(all[index] == own && all[1 - index] == other, "%d, %d", all[0],
           all[1]);
    EXPECT_OK(jd_barrier(me, name));
}

static void use_axis(jd_shard *me, const int *at, int axis)
{
    static const char *const names[] = { "x", "y" };
    int own = number_of(at), other = partner_of(at, axis);
    try_sum(me, names[axis], own, other, 1);
    try_moves(me, names[axis], own, other);
    try_sum(me, names[axis], own, other, MOST);
}

/* ---- orders ------------------------------------------------------------- */

/*
 * Bit n of the order is the axis that member n comes to first. Each waits for
 * its partner along that axis; where the four wait in a circle, the program
 * is wrong.
 */
static bool is_circle(int order)
{
    int at = 0, steps = 0;
    do {
        int axis = order >> at & 1;
        int next = partner_of((int[]){ at / 2, at % 2 }, axis);
        if ((order >> next & 1) == axis)
            return false;
        at = next;
    } while (++steps < DEVICES);
    return true;
}

static jd_status use_both(jd_shard *me, void *arg)
{
    int order = *(int *)arg, at[2];
    EXPECT_OK(jd_shard_coordinates(me, 2, at));
    int first = order >> number_of(at) & 1;
    for (int round = 0; round < 2; round++) {
        use_axis(me, at, first);
        use_axis(me, at, 1 - first);
    }
    return JD_OK;
}

/* Both pairs along an axis may be of one process, of two, or one of each. */
static void try_layout(const int *numbers)
{
    const jd_device *const *all = jd_devices(NULL);
    const jd_device *chosen[DEVICES];
    int tried = 0;
    for (int i = 0; i < DEVICES; i++)
        chosen[i] = all[numbers[i]];
    for (int order = 0; order < 1 << DEVICES; order++) {
        jd_mesh *mesh;
        if (is_circle(order))
            continue;
        EXPECT_OK(jd_mesh_create(&mesh, 2, (int[]){ 2, 2 },
                                 (const char *[]){ "x", "y" }, chosen));
        EXPECT_OK(jd_shard_map(mesh, use_both, &order));
        jd_mesh_destroy(mesh);
        tried++;
    }
    EXPECT(tried == 14, "%d orders", tried);
}

int main(int argc, char **argv)
{
    EXPECT(argc == 2, "one argument");
    bool is_single = strcmp(argv[1], "single") == 0;
    int wanted = is_single ? MPI_THREAD_SINGLE : MPI_THREAD_SERIALIZED;
    MPI_Init_thread(&argc, &argv, wanted, &level);
    if (level != wanted)
        SKIP("this MPI gives level %d for %d", level, wanted);
    JD_CHECK(jd_initialize_on(MPI_COMM_WORLD, NULL, 0));
    EXPECT(jd_device_count() == DEVICES &&
               jd_local_device_count() == (is_single ? 1 : 2),
           "%d devices", jd_device_count());
    main_thread = pthread_self();
    atomic_store(&is_counting, true);
    try_layout((int[]){ 0, 1, 2, 3 });
    try_layout((int[]){ 0, 2, 3, 1 });
    atomic_store(&is_counting, false);
    JD_CHECK(jd_shutdown());
    return MPI_Finalize();
}
