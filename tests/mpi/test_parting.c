/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_parting HOW LEAVER - two processes, each of which takes itself for alone
 * on its host; one of them leaves the job while the other sums with it.
 *
 *     test_parting in_order 1   it has done its part, and its last message is
 *                               under way until the service has asked both:
 *                               no failure
 *     test_parting early 1      it has not: the other hears that nothing of it
 *                               is under way
 */
#include "jd.h"

#include "expect.h"
#include "runtime/coordination/failure/failure_report.h"

#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the service asks, in this order: who waits, who leaves, and both once
 * more. */
#define SECOND_LOOK 3
#define CALLS_OF_AN_ANSWER 3 /* two requests, and what is counted of one */

static atomic_bool hides;
static atomic_int num_calls; /* of answers to the second Look */

/* Until the wait was told of as it was then. */
static bool is_hidden(void)
{
    return atomic_load(&hides) && atomic_load(&num_calls) < CALLS_OF_AN_ANSWER;
}

int MPI_Request_get_status(MPI_Request request, int *done, MPI_Status *status)
{
    if (!is_hidden())
        return PMPI_Request_get_status(request, done, status);
    if (jd__failure_report_looks() >= SECOND_LOOK)
        atomic_fetch_add(&num_calls, 1);
    *done = 0;
    return MPI_SUCCESS;
}

int MPI_Testall(int count, MPI_Request requests[], int *done,
                MPI_Status statuses[])
{
    if (!is_hidden())
        return PMPI_Testall(count, requests, done, statuses);
    *done = 0;
    return MPI_SUCCESS;
}

/* Processes whose hosts have other names are on other hosts. */
static void move_to_own_host(void)
{
    char name[32];
    int length = snprintf(name, sizeof name, "apart%d", (int)getpid());
    if (unshare(CLONE_NEWUTS) != 0 || sethostname(name, (size_t)length) != 0)
        SKIP("no name for a host: %s", strerror(errno));
}

static void sum(jd_mesh *mesh)
{
    double one = 1, all;
    JD_CHECK(jd_psum(jd_mesh_shard(mesh), "data", &one, &all, 1, JD_F64));
    EXPECT(all == 2, "it is %g", all);
}

/* The other has made all calls but, perhaps, the last. */
static void await_other(bool is_leaver)
{
    void *value;
    size_t size;
    if (is_leaver) {
        EXPECT_OK(jd_kv_set("I go", "1", 1, 0));
        return;
    }
    EXPECT_OK(jd_kv_get("I go", 0, &value, &size));
    free(value);
}

int main(int argc, char **argv)
{
    jd_mesh *mesh;
    bool is_early = argc > 1 && strcmp(argv[1], "early") == 0;
    int leaver = argc > 2 ? atoi(argv[2]) : 1;
    move_to_own_host();
    EXPECT_OK(jd_initialize());
    EXPECT_OK(jd_mesh_create(&mesh, 1, (int[]){ -1 },
                             (const char *[]){ "data" }, NULL));
    bool is_leaver = jd_process_index() == leaver;
    sum(mesh);
    await_other(is_leaver);
    atomic_store(&hides, !is_leaver && !is_early);
    if (is_leaver && is_early)
        exit(0);
    sum(mesh);
    EXPECT(is_leaver || is_early || !is_hidden(), "nobody asked");
    jd_mesh_destroy(mesh);
    EXPECT_OK(jd_shutdown());
    return 0;
}
