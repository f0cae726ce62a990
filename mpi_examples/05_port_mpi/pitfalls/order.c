/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order.c - ranks and indices.
 *
 * Objective: where an MPI program counts by ranks, a mesh of one axis counts
 * alike: index i is process i, wherever the launcher has put it. In a mesh of
 * several axes it need not be (the devices are host by host there), and a
 * program asks jd_axis_index().
 *
 * Steps:
 *   1. A ring by process index on one axis, and a gather of the indices.
 *   2. The same on two axes, by jd_axis_index().
 */
#include <jd.h>

#include <stdio.h>

enum { MOST = 1024 };

/* Everybody's number goes one member up, and to everybody. Returns whether
 * each came from where it should. */
static int goes_around(jd_shard *me, int number)
{
    static int all[MOST];
    int n = jd_axis_size(me, NULL), from_left = -1, right = 1;
    JD_CHECK(jd_group_begin(me));
    JD_CHECK(jd_send(me, NULL, (number + 1) % n, &number, 1, JD_S32));
    JD_CHECK(jd_recv(me, NULL, (number + n - 1) % n, &from_left, 1, JD_S32));
    JD_CHECK(jd_group_end(me));
    JD_CHECK(jd_all_gather(me, NULL, &number, all, 1, JD_S32));
    for (int i = 0; i < n; i++)
        right = right && all[i] == i;
    return right && from_left == (number + n - 1) % n;
}

static void say(const char *what, jd_shard *me, int right)
{
    int all_right = right;
    JD_CHECK(jd_pmin(me, NULL, &right, &all_right, 1, JD_S32));
    if (jd_process_index() == 0)
        printf("%s: %s\n", what, all_right ? "right" : "WRONG");
}

int main(void)
{
    jd_mesh *line, *grid;
    JD_CHECK(jd_initialize());
    if (jd_device_count() > MOST || jd_local_device_count() != 1)
        jd_abort(1, "order: one device in each process, and at most 1024");
    JD_CHECK(
        jd_mesh_create(&line, 1, (int[]){ -1 }, (const char *[]){ "p" }, NULL));
    JD_CHECK(jd_mesh_create(&grid, 2, (int[]){ -1, 1 },
                            (const char *[]){ "p", "q" }, NULL));

    jd_shard *me = jd_mesh_shard(line), *here = jd_mesh_shard(grid);
    say("one axis, by process index", me, goes_around(me, jd_process_index()));
    say("two axes, by jd_axis_index", here,
        goes_around(here, jd_axis_index(here, NULL)));

    jd_mesh_destroy(grid);
    jd_mesh_destroy(line);
    return jd_shutdown();
}
