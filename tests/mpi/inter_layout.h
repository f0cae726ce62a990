/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_layout.h - a comm of all processes, a member each, numbered
 * backwards, whose groups are what the test says: "0,0,1,1" is the group of each
 * member. Each process has one window of memory that the others map: the
 * segment, and what layout_memory() cuts off.
 */
#ifndef TESTS_MPI_INTER_LAYOUT_H
#define TESTS_MPI_INTER_LAYOUT_H

#include "jd_mpi.h"

#include "collectives/cpu/inter/inter.h"
#include "runtime/mpi/lock.h"

#include "expect.h"

#include <stdint.h>

#define LAYOUT_MOST 16
#define LAYOUT_WINDOW ((size_t)128 << 20)

static struct {
    struct jd_comm comm;
    int processes[LAYOUT_MOST], groups[LAYOUT_MOST], places[LAYOUT_MOST];
    char *own; /* this process's window, and how much of it is taken */
    size_t taken;
    MPI_Win window;
} layout;

/* Windows begin anywhere, and their last page is for that. */
static inline char *layout_align(char *base)
{
    return base + (4096 - (uintptr_t)base % 4096) % 4096;
}

static inline void *layout_memory(size_t bytes)
{
    void *memory = layout.own + layout.taken;
    layout.taken += (bytes + 4095) / 4096 * 4096;
    EXPECT(layout.taken <= LAYOUT_WINDOW - 4096, "%zu bytes", layout.taken);
    return memory;
}

static inline void layout_parse(const char *text)
{
    int seen[LAYOUT_MOST] = { 0 };
    for (int i = 0; i < layout.comm.size; i++) {
        int group = text[2 * i] - '0';
        layout.groups[i] = group;
        layout.places[i] = seen[group]++;
        if (group >= layout.comm.num_groups)
            layout.comm.num_groups = group + 1;
    }
}

/* The rank in shared of each member. */
static inline void layout_find_ranks(MPI_Comm shared, int *ranks)
{
    MPI_Group all, host;
    MPI_Comm_group(jd_mpi_comm(), &all);
    MPI_Comm_group(shared, &host);
    MPI_Group_translate_ranks(all, layout.comm.size, layout.processes, host,
                              ranks);
    MPI_Group_free(&all);
    MPI_Group_free(&host);
}

static inline void layout_open_group(const struct jd_runtime *runtime,
                                     MPI_Comm shared)
{
    struct jd_comm *comm = &layout.comm;
    struct jd_shm_member members[LAYOUT_MOST];
    int ranks[LAYOUT_MOST];
    struct jd_shm_spec spec = { .members = members,
                                .index = layout.places[comm->index],
                                .wait = jd__runtime_wait(runtime, "test"),
                                .cores = 1,
                                .make_progress = jd__mpi_make_progress,
                                .arg = (void *)&runtime->world };
    layout_find_ranks(shared, ranks);
    for (int i = 0; i < comm->size; i++) {
        MPI_Aint bytes;
        int unit;
        char *base;
        if (layout.groups[i] != layout.groups[comm->index])
            continue;
        MPI_Win_shared_query(layout.window, ranks[i], &bytes, &unit, &base);
        base = layout_align(base);
        members[spec.size++] =
            (struct jd_shm_member){ .control = (void *)base,
                                    .heap = base,
                                    .heap_size = LAYOUT_WINDOW - 4096,
                                    .process = layout.processes[i],
                                    .number = i };
    }
    layout_memory(jd__shm_segment_size(spec.size));
    memset(layout.own, 0, jd__shm_segment_size(spec.size));
    MPI_Barrier(jd_mpi_comm());
    EXPECT_OK(jd__shm_create(&spec, "test", &comm->group));
}

static inline struct jd_comm *layout_open(const char *text)
{
    struct jd_comm *comm = &layout.comm;
    const struct jd_runtime *runtime;
    MPI_Comm shared;
    EXPECT_OK(jd__runtime_get(&runtime, "test"));
    comm->runtime = runtime;
    comm->size = runtime->world.count;
    comm->index = comm->size - 1 - runtime->world.index;
    comm->processes = layout.processes;
    comm->groups = layout.groups;
    comm->places = layout.places;
    for (int i = 0; i < comm->size; i++)
        layout.processes[i] = comm->size - 1 - i;
    layout_parse(text);
    MPI_Comm_split_type(jd_mpi_comm(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &shared);
    MPI_Win_allocate_shared((MPI_Aint)LAYOUT_WINDOW, 1, MPI_INFO_NULL, shared,
                            &layout.own, &layout.window);
    layout.own = layout_align(layout.own);
    layout_open_group(runtime, shared);
    MPI_Comm_free(&shared);
    struct jd_channel_spec spec = { .runtime = runtime,
                                    .processes = layout.processes,
                                    .size = comm->size,
                                    .index = comm->index,
                                    .tag = 4711 };
    EXPECT_OK(jd__channel_create(&spec, "test", &comm->wire));
    EXPECT_OK(jd__inter_create(comm, "test"));
    return comm;
}

static inline void layout_close(struct jd_comm *comm)
{
    jd__inter_destroy(comm);
    jd__channel_destroy(comm->wire);
    jd__shm_destroy(comm->group);
    MPI_Win_free(&layout.window);
}

#endif
