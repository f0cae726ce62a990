/* SPDX-License-Identifier: BSD-3-Clause */
/* host_group.c - who can open whose files, and who leads them. */
#include "runtime/topology/host_group.h"
#include "base/digest.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* MPI's colours are not negative. */
static int colour_of(const struct jd_local_facts *facts, bool shares, int rank)
{
    uint64_t numbers[] = { facts->pid_namespace, geteuid(),
                           shares ? 0 : (uint64_t)rank + 1 };
    uint64_t digest = jd__digest(0, facts->host, strlen(facts->host));
    digest = jd__digest(digest, facts->boot_id, strlen(facts->boot_id));
    return (int)(jd__digest(digest, numbers, sizeof numbers) & INT32_MAX);
}

static jd_status measure_comm(MPI_Comm comm, int *ret_index, int *ret_count)
{
    int code = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(comm, ret_index);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(comm, ret_count);
    return jd__mpi_check(code, "MPI_Comm_size", "jd_initialize");
}

static jd_status split_world(const struct jd_world *world, int colour,
                             MPI_Comm *comm)
{
    return jd__mpi_check(
        MPI_Comm_split(world->comm, colour, world->index, comm),
        "MPI_Comm_split", "jd_initialize");
}

/* Nobody needs a communicator with itself. */
static void free_single(MPI_Comm *comm, int count)
{
    if (*comm != MPI_COMM_NULL && count == 1)
        MPI_Comm_free(comm);
}

static jd_status find_leaders(const struct jd_world *world,
                              struct jd_host_group *group)
{
    int unused;
    jd_status status = split_world(world, group->index == 0 ? 0 : MPI_UNDEFINED,
                                   &group->leaders);
    if (status == JD_OK && group->leaders != MPI_COMM_NULL)
        status = measure_comm(group->leaders, &unused, &group->num_leaders);
    return status;
}

jd_status jd__host_group_open(const struct jd_world *world,
                              const struct jd_local_facts *facts, bool shares,
                              struct jd_host_group *ret_group)
{
    struct jd_host_group group = {
        .count = 1,
        .num_leaders = 1,
        .comm = MPI_COMM_NULL,
        .leaders = MPI_COMM_NULL,
    };
    bool is_known = facts->boot_id[0] && facts->pid_namespace;
    jd_status status = JD_OK;
    *ret_group = group;
    if (!world->has_mpi || world->count == 1)
        return JD_OK;
    status = split_world(
        world, colour_of(facts, shares && is_known, world->index), &group.comm);
    if (status == JD_OK)
        status = measure_comm(group.comm, &group.index, &group.count);
    if (status == JD_OK)
        status = find_leaders(world, &group);
    if (status != JD_OK)
        return status;
    free_single(&group.comm, group.count);
    free_single(&group.leaders, group.num_leaders);
    *ret_group = group;
    return JD_OK;
}

void jd__host_group_close(struct jd_host_group *group)
{
    if (!jd__mpi_is_up())
        return;
    if (group->comm != MPI_COMM_NULL)
        MPI_Comm_free(&group->comm);
    if (group->leaders != MPI_COMM_NULL)
        MPI_Comm_free(&group->leaders);
}
