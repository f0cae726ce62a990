/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * between_layout.h - a clique of all processes, a member each, numbered
 * backwards, whose teams are what the test says: "0,0,1,1" is the team of each
 * member. Each process has one window of memory that the others map: the
 * control block, and what layout_memory() cuts off.
 */
#ifndef BETWEEN_LAYOUT_H
#define BETWEEN_LAYOUT_H

#include "jd_mpi.h"

#include "collectives/cpu/inter/inter.h"
#include "runtime/mpi/lock.h"

#include "expect.h"

#include <stdint.h>

#define LAYOUT_MOST 16
#define LAYOUT_WINDOW ((size_t)128 << 20)

static struct {
    struct jd_clique clique;
    int processes[LAYOUT_MOST], teams[LAYOUT_MOST], places[LAYOUT_MOST];
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
    for (int i = 0; i < layout.clique.size; i++) {
        int team = text[2 * i] - '0';
        layout.teams[i] = team;
        layout.places[i] = seen[team]++;
        if (team >= layout.clique.num_teams)
            layout.clique.num_teams = team + 1;
    }
}

/* The rank in shared of each member. */
static inline void layout_find_ranks(MPI_Comm shared, int *ranks)
{
    MPI_Group all, host;
    MPI_Comm_group(jd_mpi_comm(), &all);
    MPI_Comm_group(shared, &host);
    MPI_Group_translate_ranks(all, layout.clique.size, layout.processes, host,
                              ranks);
    MPI_Group_free(&all);
    MPI_Group_free(&host);
}

static inline void layout_open_team(const struct jd_runtime *runtime,
                                    MPI_Comm shared)
{
    struct jd_clique *clique = &layout.clique;
    struct jd_team_member members[LAYOUT_MOST];
    int ranks[LAYOUT_MOST];
    struct jd_team_spec spec = { .members = members,
                                 .index = layout.places[clique->index],
                                 .wait = jd__runtime_wait(runtime, "test"),
                                 .cores = 1,
                                 .make_progress = jd__mpi_make_progress,
                                 .arg = (void *)&runtime->world };
    layout_find_ranks(shared, ranks);
    for (int i = 0; i < clique->size; i++) {
        MPI_Aint bytes;
        int unit;
        char *base;
        if (layout.teams[i] != layout.teams[clique->index])
            continue;
        MPI_Win_shared_query(layout.window, ranks[i], &bytes, &unit, &base);
        base = layout_align(base);
        members[spec.size++] =
            (struct jd_team_member){ .control = (void *)base,
                                     .arena = base,
                                     .arena_size = LAYOUT_WINDOW - 4096,
                                     .process = layout.processes[i],
                                     .number = i };
    }
    layout_memory(jd__control_size(spec.size));
    memset(layout.own, 0, jd__control_size(spec.size));
    MPI_Barrier(jd_mpi_comm());
    EXPECT_OK(jd__team_create(&spec, "test", &clique->team));
}

static inline struct jd_clique *layout_open(const char *text)
{
    struct jd_clique *clique = &layout.clique;
    const struct jd_runtime *runtime;
    MPI_Comm shared;
    EXPECT_OK(jd__runtime_get(&runtime, "test"));
    clique->runtime = runtime;
    clique->size = runtime->world.count;
    clique->index = clique->size - 1 - runtime->world.index;
    clique->processes = layout.processes;
    clique->teams = layout.teams;
    clique->places = layout.places;
    for (int i = 0; i < clique->size; i++)
        layout.processes[i] = clique->size - 1 - i;
    layout_parse(text);
    MPI_Comm_split_type(jd_mpi_comm(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &shared);
    MPI_Win_allocate_shared((MPI_Aint)LAYOUT_WINDOW, 1, MPI_INFO_NULL, shared,
                            &layout.own, &layout.window);
    layout.own = layout_align(layout.own);
    layout_open_team(runtime, shared);
    MPI_Comm_free(&shared);
    struct jd_group_spec spec = { .runtime = runtime,
                                  .processes = layout.processes,
                                  .size = clique->size,
                                  .index = clique->index,
                                  .tag = 4711 };
    EXPECT_OK(jd__group_create(&spec, "test", &clique->wire));
    EXPECT_OK(jd__between_create(clique, "test"));
    return clique;
}

static inline void layout_close(struct jd_clique *clique)
{
    jd__between_destroy(clique);
    jd__group_destroy(clique->wire);
    jd__team_destroy(clique->team);
    MPI_Win_free(&layout.window);
}

#endif
