/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_deadline KIND - the last process does not come to a collective, and
 * the others say so at the deadline, and again at the next call. KIND is
 * "first" (the mesh's first collective), "later", "sync", or "crossed" (two
 * processes use two meshes in opposite orders). Run with a
 * JD_COLLECTIVE_TIMEOUT of which the collectives before that need little.
 */
#include "jd.h"
#include "jd_mpi.h"

#include "expect.h"

#include <stdbool.h>
#include <stdint.h>

static int count, self, last;

static jd_shard *make_shard(jd_mesh **mesh)
{
    EXPECT_OK(jd_mesh_create(mesh, 1, (int[]){ -1 }, (const char *[]){ "data" },
                             NULL));
    return jd_mesh_shard(*mesh);
}

/* The last process waits until all others have ended their waits, one of them
 * at its deadline. */
static void stay_away(void)
{
    int status, late = 0;
    for (int i = 0; i < last; i++) {
        MPI_Recv(&status, 1, MPI_INT, i, 0, jd_mpi_comm(), MPI_STATUS_IGNORE);
        late += status == JD_DEADLINE_EXCEEDED;
    }
    EXPECT(late > 0, "nobody came to a deadline");
}

static void expect_text(const char *text)
{
    EXPECT(strstr(jd_error_message(), text), "wanted '%s' in: %s", text,
           jd_error_message());
}

/* awaited is "es 1-2" or " 1": the processes that had not come. */
static void expect_deadline(jd_status status, const char *operation,
                            const char *awaited)
{
    char text[256];
    EXPECT(status == JD_DEADLINE_EXCEEDED, "%s: %s", jd_status_name(status),
           jd_error_message());
    snprintf(text, sizeof text, "%s: process %d has waited ", operation, self);
    expect_text(text);
    snprintf(text, sizeof text, " s for process%s (test_deadline, pid ",
             awaited);
    expect_text(text);
    expect_text("last heard ");
    snprintf(text, sizeof text,
             "; the deadline was %s s (JD_COLLECTIVE_TIMEOUT changes it)",
             getenv("JD_COLLECTIVE_TIMEOUT"));
    expect_text(text);
}

/* The first whose time is up ends the wait of all: whose own time is not
 * nearly over by then hears only that. */
static bool is_ended_by_another(jd_status status, bool is_first)
{
    if (status != JD_ABORTED || is_first || last == 1)
        return false;
    expect_text("jd_psum over axis \"data\": another member gave up waiting");
    return true;
}

/* why: the call before has failed with that. */
static void expect_aborted(jd_status status, const char *operation,
                           const char *why)
{
    char text[256];
    EXPECT(status == JD_ABORTED, "%s", jd_status_name(status));
    snprintf(text, sizeof text,
             "%s: not begun, because an earlier call among the same members "
             "failed and left them out of step; the job should end. It was: ",
             operation);
    expect_text(text);
    expect_text(why);
}

/* Where they share memory it hears that the others gave up. Else it has the
 * right sum, if all that it needs had been sent to it, or an error; no wrong
 * sum, and no JD_OK again. */
static void come_late(jd_shard *me)
{
    double one = 1, sum = -1;
    jd_status status = jd_psum(me, "data", &one, &sum, 1, JD_F64);
    const char *shared = getenv("JD_SHARED_MEMORY");
    if (!shared)
        EXPECT(status == JD_ABORTED, "%s", jd_status_name(status));
    EXPECT(status != JD_OK || sum == count, "a sum of %g", sum);
    if (status == JD_OK)
        status = jd_psum(me, "data", &one, &sum, 1, JD_F64);
    EXPECT(status != JD_OK, "a sum of %g that nobody else makes", sum);
}

static jd_status try_psum(const char *kind)
{
    jd_mesh *mesh;
    double one = 1, sum;
    jd_shard *me = make_shard(&mesh);
    char awaited[32];
    bool is_first = strcmp(kind, "first") == 0;
    MPI_Barrier(jd_mpi_comm()); /* the others begin together */
    if (!is_first)
        EXPECT_OK(jd_psum(me, "data", &one, &sum, 1, JD_F64));
    if (self == last) {
        stay_away();
        if (!is_first)
            come_late(me);
        jd_mesh_destroy(mesh);
        return JD_OK;
    }
    snprintf(awaited, sizeof awaited, " %d", last);
    jd_status status = jd_psum(me, "data", &one, &sum, 1, JD_F64);
    bool is_ended = is_ended_by_another(status, is_first);
    if (!is_ended)
        expect_deadline(status, "jd_psum over axis \"data\"", awaited);
    expect_aborted(jd_psum(me, "data", &one, &sum, 1, JD_F64),
                   "jd_psum over axis \"data\"",
                   is_ended ? "another member gave up" : " has waited ");
    jd_mesh_destroy(mesh);
    return status;
}

/* Two meshes of the same two processes in another order do not take each
 * other's messages. (Those of the same order share what they use.) */
static void try_crossed(void)
{
    const jd_device *const *all = jd_devices(NULL);
    jd_mesh *meshes[2];
    jd_shard *shards[2];
    double one = 1, sum;
    for (int i = 0; i < 2; i++) {
        EXPECT_OK(jd_mesh_create(&meshes[i], 1, (int[]){ 2 },
                                 (const char *[]){ "data" },
                                 (const jd_device *[]){ all[i], all[1 - i] }));
        shards[i] = jd_mesh_shard(meshes[i]);
        EXPECT_OK(jd_psum(shards[i], NULL, &one, &sum, 1, JD_F64));
    }
    EXPECT_STATUS(jd_psum(shards[self == 0], NULL, &one, &sum, 1, JD_F64),
                  JD_DEADLINE_EXCEEDED, "jd_psum over axis \"data\": process");
    MPI_Barrier(jd_mpi_comm());
    for (int i = 0; i < 2; i++)
        jd_mesh_destroy(meshes[i]);
}

static jd_status try_sync(void)
{
    if (self == last) {
        stay_away();
        return JD_OK;
    }
    jd_status status = jd_sync_global_devices("here");
    char text[64];
    if (strstr(jd_error_message(), ": no answer from the coordination service"))
        return status; /* process 0 has come too late to answer */
    snprintf(text, sizeof text, "waiting for process %d (test_deadline, pid ",
             last);
    EXPECT_STATUS(status, JD_DEADLINE_EXCEEDED,
                  "jd_sync_global_devices \"here\": gave up after ");
    EXPECT_STATUS(status, JD_DEADLINE_EXCEEDED, text);
    EXPECT_STATUS(status, JD_DEADLINE_EXCEEDED, "), last heard ");
    EXPECT_STATUS(status, JD_DEADLINE_EXCEEDED,
                  "; the deadline was 2 s (JD_BARRIER_TIMEOUT changes it)");
    return status;
}

int main(int argc, char **argv)
{
    JD_CHECK(jd_initialize());
    count = jd_process_count();
    self = jd_process_index();
    last = count - 1;
    const char *kind = argc > 1 ? argv[1] : "first";
    if (strcmp(kind, "crossed") == 0) {
        try_crossed();
        return 0;
    }
    int status = (int)(strcmp(kind, "sync") == 0 ? try_sync() : try_psum(kind));
    if (self != last)
        MPI_Send(&status, 1, MPI_INT, last, 0, jd_mpi_comm());
    MPI_Barrier(jd_mpi_comm()); /* leaving ends the others' waits */
    return 0;
}
