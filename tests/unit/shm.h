/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm.h - a group whose members are threads of this process, each with an
 * heap of plain memory, without MPI.
 *
 *     struct crowd crowd;
 *     crowd_start(&crowd, 3);
 *     crowd_run(&crowd, body, arg);      body(crowd, member, arg) on 3 threads
 *     crowd_stop(&crowd);
 *
 * One source of a program includes it.
 */
#ifndef TESTS_UNIT_SHM_H
#define TESTS_UNIT_SHM_H

#include "collectives/cpu/shm/shm.h"
#include "collectives/cpu/shm/shm_levels.h"
#include "runtime/topology/topology.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CROWD_MAX = 16, CROWD_HEAP = 8 << 20 };

struct crowd {
    int size;
    struct jd_shm_member members[CROWD_MAX];
    struct jd_shm_group *groups[CROWD_MAX]; /* each member's end */
};

/* The members of a subgroup of the crowds that are started from here on; 0:
 * all meet at once. */
static int crowd_subgroup_size;

/* An heap begins with its member's segment. */
static inline void *crowd_memory(struct crowd *crowd, int member)
{
    return crowd->members[member].heap + (4 << 20);
}

static inline void crowd_open(struct crowd *crowd, int member, double timeout)
{
    static struct jd_process_info processes[CROWD_MAX]; /* of no namespace */
    static const struct jd_topology topology = { .processes = processes };
    int subgroups[CROWD_MAX];
    if (crowd_subgroup_size)
        jd__shm_levels_cut(crowd->size, crowd_subgroup_size, subgroups);
    struct jd_shm_spec spec = {
        .subgroups = crowd_subgroup_size ? subgroups : NULL,
        .members = crowd->members,
        .size = crowd->size,
        .index = member,
        .cores = 2,
        .wait = { .operation = "test",
                  .timeout = timeout,
                  .notice = -1,
                  .variable = "JD_TEST",
                  .topology = &topology,
                  .self = member },
    };
    UNIT_OK(jd__shm_create(&spec, "test", &crowd->groups[member]));
}

/* Each member gives up after its timeout. */
static inline void crowd_start_with(struct crowd *crowd, int size,
                                    const double *timeouts)
{
    memset(crowd, 0, sizeof *crowd);
    crowd->size = size;
    for (int i = 0; i < size; i++) {
        char *heap = aligned_alloc(JD_CONTROL_ALIGNMENT, CROWD_HEAP);
        ck_assert_ptr_nonnull(heap);
        ck_assert(jd__shm_segment_size(size) <= (4 << 20));
        memset(heap, 0, CROWD_HEAP);
        crowd->members[i] = (struct jd_shm_member){
            .control = (void *)heap,
            .heap = heap,
            .heap_size = CROWD_HEAP,
            .process = i,
            .number = i,
        };
    }
    for (int i = 0; i < size; i++)
        crowd_open(crowd, i, timeouts[i]);
}

static inline void crowd_start(struct crowd *crowd, int size)
{
    double timeouts[CROWD_MAX];
    for (int i = 0; i < size; i++)
        timeouts[i] = 60;
    crowd_start_with(crowd, size, timeouts);
}

static inline void crowd_stop(struct crowd *crowd)
{
    for (int i = 0; i < crowd->size; i++)
        jd__shm_destroy(crowd->groups[i]);
    for (int i = 0; i < crowd->size; i++) {
        ck_assert(
            jd__shm_segment_is_left(crowd->members[i].control, crowd->size));
        free(crowd->members[i].heap);
    }
}

typedef void crowd_body(struct crowd *crowd, int member, void *arg);

struct crowd_thread {
    struct crowd *crowd;
    int member;
    crowd_body *body;
    void *arg;
    pthread_t thread;
};

static inline void *crowd_main(void *arg)
{
    struct crowd_thread *t = arg;
    t->body(t->crowd, t->member, t->arg);
    return NULL;
}

static inline void crowd_run(struct crowd *crowd, crowd_body *body, void *arg)
{
    struct crowd_thread threads[CROWD_MAX];
    for (int i = 0; i < crowd->size; i++) {
        threads[i] = (struct crowd_thread){ crowd, i, body, arg, 0 };
        ck_assert_int_eq(
            pthread_create(&threads[i].thread, NULL, crowd_main, &threads[i]),
            0);
    }
    for (int i = 0; i < crowd->size; i++)
        pthread_join(threads[i].thread, NULL);
}

#endif
