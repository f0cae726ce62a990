/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_platform.h - a platform that notes what it is called with, for tests of
 * what is above platforms. Meshes of this process's cpu devices are given to
 * it after they were made:
 *
 *     jd_mesh *mesh = fake_mesh(2, (int[]){ 2, 4 }, names);
 *     jd_psum(&mesh->shards[0], "data", ...);
 *     ... fake.last.call.count, fake.calls ...
 *
 * Its collectives do not wait, but for barrier where fake.waits: then the
 * members of a communicator meet, or are aborted. Threads: any; what was noted
 * last is looked at when the threads have ended.
 */
#ifndef TESTS_UNIT_FAKE_PLATFORM_H
#define TESTS_UNIT_FAKE_PLATFORM_H

#include "collectives/mesh/shard.h"
#include "tests/unit/unit.h"

#include <pthread.h>

/* The last call. */
struct fake_call {
    const char *function;
    struct jd_collective call;
    enum jd_reduce op;
    size_t rows;
    int source;
    struct jd_pieces pieces;
    struct jd_ragged ragged;
    struct jd_permute permute;
    struct jd_transfer transfers[32];
    int count; /* of transfers */
    const struct jd_comm *comm;
};

enum { FAKE_MEMBERS = 16 };

struct jd_comm {
    int size, index;
    int64_t members[FAKE_MEMBERS];
    char axes[64];
    char detail[96];
    struct jd_nccl_options nccl;
    bool is_aborted; /* this end has been told */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fake_call last;
    int calls;         /* of collectives */
    int made, freed;   /* communicators */
    int aborts;        /* calls of comm_abort */
    jd_status fails;   /* what the next calls return */
    size_t comes;      /* what a receive of any size gets */
    bool waits;        /* barrier meets, */
    bool create_waits; /* and comm_create waits until it is cancelled */
    int waiting;       /* threads that do */
    bool is_aborted;   /* some communicator is */
} fake = { .lock = PTHREAD_MUTEX_INITIALIZER,
           .changed = PTHREAD_COND_INITIALIZER };

static jd_status fake_note(const struct fake_call *noted)
{
    pthread_mutex_lock(&fake.lock);
    fake.last = *noted;
    fake.calls++;
    jd_status status = fake.fails;
    pthread_mutex_unlock(&fake.lock);
    return status == JD_OK ? JD_OK : jd_fail(status, "the fake fails");
}

static jd_status fake_check_reduce(const struct jd_collective *call,
                                   enum jd_reduce op)
{
    if (call->dtype != JD_PRED || op == JD_REDUCE_MAX || op == JD_REDUCE_MIN)
        return JD_OK;
    return jd_fail(JD_UNIMPLEMENTED, "%s: no such reduction",
                   jd__signature_activity_name(call->activity));
}

/* Until another thread says that the call is cancelled: the test's own turns,
 * as a platform's between two looks. */
static jd_status fake_await_cancel(const struct jd_comm_spec *spec)
{
    pthread_mutex_lock(&fake.lock);
    fake.waiting++;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
    while (!atomic_load(spec->is_cancelled))
        sched_yield();
    return jd_fail(JD_ABORTED, "the fake was cancelled");
}

static jd_status fake_create(const struct jd_comm_spec *spec,
                             struct jd_comm **ret_comm)
{
    if (fake.create_waits)
        return fake_await_cancel(spec);
    struct jd_comm *comm = calloc(1, sizeof *comm);
    comm->size = spec->size;
    comm->index = spec->index;
    comm->nccl = spec->nccl;
    for (int i = 0; i < spec->size; i++)
        comm->members[i] = spec->members[i]->id;
    snprintf(comm->axes, sizeof comm->axes, "%s", spec->axes);
    snprintf(comm->detail, sizeof comm->detail, "%s", spec->detail);
    pthread_mutex_lock(&fake.lock);
    fake.made++;
    jd_status status = fake.fails;
    pthread_mutex_unlock(&fake.lock);
    if (status != JD_OK) {
        free(comm);
        return jd_fail(status, "the fake makes no communicator");
    }
    *ret_comm = comm;
    return JD_OK;
}

static void fake_destroy(struct jd_comm *comm)
{
    pthread_mutex_lock(&fake.lock);
    fake.freed += comm != NULL;
    pthread_mutex_unlock(&fake.lock);
    free(comm);
}

static void fake_abort(struct jd_comm *comm)
{
    pthread_mutex_lock(&fake.lock);
    comm->is_aborted = true;
    fake.is_aborted = true;
    fake.aborts++;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

/* Nobody ever comes to it: it ends by an abort alone. */
static jd_status fake_wait(struct jd_comm *comm)
{
    pthread_mutex_lock(&fake.lock);
    fake.waiting++;
    pthread_cond_broadcast(&fake.changed);
    while (!comm->is_aborted)
        pthread_cond_wait(&fake.changed, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
    return jd_fail(JD_ABORTED, "the fake was aborted");
}

static jd_status fake_barrier(struct jd_comm *comm,
                              const struct jd_collective *call)
{
    if (fake.waits)
        return fake_wait(comm);
    return fake_note(&(struct fake_call){
        .function = "barrier", .comm = comm, .call = *call });
}

static jd_status fake_all_reduce(struct jd_comm *comm,
                                 const struct jd_collective *call,
                                 enum jd_reduce op)
{
    return fake_note(&(struct fake_call){
        .function = "all_reduce", .comm = comm, .call = *call, .op = op });
}

static jd_status fake_reduce_scatter(struct jd_comm *comm,
                                     const struct jd_collective *call,
                                     enum jd_reduce op, size_t rows)
{
    return fake_note(&(struct fake_call){ .function = "reduce_scatter",
                                          .comm = comm,
                                          .call = *call,
                                          .op = op,
                                          .rows = rows });
}

static jd_status fake_all_gather(struct jd_comm *comm,
                                 const struct jd_collective *call, size_t rows)
{
    return fake_note(&(struct fake_call){
        .function = "all_gather", .comm = comm, .call = *call, .rows = rows });
}

static jd_status fake_all_to_all(struct jd_comm *comm,
                                 const struct jd_collective *call,
                                 const struct jd_pieces *pieces)
{
    return fake_note(&(struct fake_call){ .function = "all_to_all",
                                          .comm = comm,
                                          .call = *call,
                                          .pieces = *pieces });
}

static jd_status fake_ragged(struct jd_comm *comm,
                             const struct jd_collective *call,
                             const struct jd_ragged *ragged)
{
    return fake_note(&(struct fake_call){ .function = "ragged_all_to_all",
                                          .comm = comm,
                                          .call = *call,
                                          .ragged = *ragged });
}

static jd_status fake_permute(struct jd_comm *comm,
                              const struct jd_collective *call,
                              const struct jd_permute *permute)
{
    return fake_note(&(struct fake_call){ .function = "permute",
                                          .comm = comm,
                                          .call = *call,
                                          .permute = *permute });
}

static jd_status fake_broadcast(struct jd_comm *comm,
                                const struct jd_collective *call, int source)
{
    return fake_note(&(struct fake_call){ .function = "broadcast",
                                          .comm = comm,
                                          .call = *call,
                                          .source = source });
}

static jd_status fake_transfer(struct jd_comm *comm,
                               const struct jd_transfer *transfers, int count)
{
    struct fake_call noted = { .function = "transfer",
                               .comm = comm,
                               .count = count };
    for (int i = 0; i < count; i++) {
        noted.transfers[i] = transfers[i];
        if (transfers[i].came)
            *transfers[i].came = fake.comes;
    }
    return fake_note(&noted);
}

static const struct jd_platform fake_platform = {
    .check_reduce = fake_check_reduce,
    .comm_create = fake_create,
    .comm_destroy = fake_destroy,
    .comm_abort = fake_abort,
    .barrier = fake_barrier,
    .all_reduce = fake_all_reduce,
    .reduce_scatter = fake_reduce_scatter,
    .all_gather = fake_all_gather,
    .all_to_all = fake_all_to_all,
    .ragged_all_to_all = fake_ragged,
    .permute = fake_permute,
    .broadcast = fake_broadcast,
    .transfer = fake_transfer,
};

/* Before the first use of jd in the process. */
static inline void fake_start(const char *num_devices)
{
    setenv("JD_NUM_CPU_DEVICES", num_devices, 1);
    memset(&fake.last, 0, sizeof fake.last);
}

static inline jd_mesh *fake_mesh(int ndim, const int *shape,
                                 const char *const *names)
{
    jd_mesh *mesh;
    UNIT_OK(jd_mesh_create(&mesh, ndim, shape, names, NULL));
    mesh->platform = &fake_platform;
    return mesh;
}

#endif
