/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * periodic.c - halos on a periodic axis of one or two members, where the left
 * neighbour is the right one too.
 *
 * Objective: MPI codes keep the two messages to one neighbour apart by tags.
 * jd_send() and jd_recv() match in the order of the calls: noted left first
 * and then right by both ends, each side's halo is the other's.
 *
 * Steps:
 *   1. The exchange as MPI does it.
 *   2. By jd_send() and jd_recv(): swapped on one or two members.
 *   3. By jd_send_tagged() and jd_recv_tagged(): right.
 *   4. By jd_ppermute(), a call for each direction: right, and shorter.
 */
#include <jd.h>
#include <jd_mpi.h>

#include <stdio.h>

enum { MOST = 1024, TO_LEFT = 1, TO_RIGHT = 2 };

/* What a member sends, and what it gets. */
struct halo {
    double to_left, to_right, from_left, from_right;
};

static int is_same(struct halo a, struct halo b)
{
    return a.from_left == b.from_left && a.from_right == b.from_right;
}

static void by_mpi(struct halo *h, int left, int right)
{
    MPI_Comm comm = jd_mpi_comm();
    MPI_Request r[4];
    MPI_Isend(&h->to_left, 1, MPI_DOUBLE, left, TO_LEFT, comm, &r[0]);
    MPI_Irecv(&h->from_left, 1, MPI_DOUBLE, left, TO_RIGHT, comm, &r[1]);
    MPI_Isend(&h->to_right, 1, MPI_DOUBLE, right, TO_RIGHT, comm, &r[2]);
    MPI_Irecv(&h->from_right, 1, MPI_DOUBLE, right, TO_LEFT, comm, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

/* tags: 1 or 0. */
static void by_group(jd_shard *me, struct halo *h, int left, int right,
                     int tags)
{
    int l = tags * TO_LEFT, r = tags * TO_RIGHT;
    JD_CHECK(jd_group_begin(me));
    JD_CHECK(jd_send_tagged(me, NULL, left, l, &h->to_left, 1, JD_F64));
    JD_CHECK(jd_recv_tagged(me, NULL, left, r, &h->from_left, 1, JD_F64));
    JD_CHECK(jd_send_tagged(me, NULL, right, r, &h->to_right, 1, JD_F64));
    JD_CHECK(jd_recv_tagged(me, NULL, right, l, &h->from_right, 1, JD_F64));
    JD_CHECK(jd_group_end(me));
}

static void by_permute(jd_shard *me, struct halo *h)
{
    static jd_route up[MOST], down[MOST];
    int n = jd_axis_size(me, NULL);
    for (int i = 0; i < n; i++) {
        up[i] = (jd_route){ i, (i + 1) % n };
        down[i] = (jd_route){ i, (i + n - 1) % n };
    }
    JD_CHECK(
        jd_ppermute(me, NULL, &h->to_right, &h->from_left, 1, JD_F64, up, n));
    JD_CHECK(
        jd_ppermute(me, NULL, &h->to_left, &h->from_right, 1, JD_F64, down, n));
}

static void say(const char *what, struct halo got, struct halo wanted)
{
    if (jd_process_index() == 0)
        printf("%s: %s\n", what,
               is_same(got, wanted) ? "as MPI's" : "not MPI's: swapped");
}

int main(void)
{
    jd_mesh *mesh;
    JD_CHECK(jd_initialize());
    if (jd_device_count() > MOST || jd_local_device_count() != 1)
        jd_abort(1, "periodic: one device in each process, and at most 1024");
    JD_CHECK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "p" }, NULL));
    jd_shard *me = jd_mesh_shard(mesh);

    int i = jd_axis_index(me, "p"), n = jd_axis_size(me, "p");
    int left = (i + n - 1) % n, right = (i + 1) % n;
    struct halo mpi = { 100.0 * i + 1, 100.0 * i + 2, -1, -1 };
    struct halo plain = mpi, tagged = mpi, permuted = mpi;
    by_mpi(&mpi, left, right);
    by_group(me, &plain, left, right, 0);
    by_group(me, &tagged, left, right, 1);
    by_permute(me, &permuted);
    say("jd_send and jd_recv", plain, mpi);
    say("jd_send_tagged and jd_recv_tagged", tagged, mpi);
    say("jd_ppermute", permuted, mpi);

    jd_mesh_destroy(mesh);
    return jd_shutdown();
}
