/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * local_meet.c - where the members of a communicator that are in one process
 * come together before each call of NCCL.
 */
#include "collectives/cuda/local_meet.h"
#include "base/clock.h"
#include "base/ranges.h"
#include "collectives/cuda/errors.h"
#include "collectives/cuda/fold.h"
#include "collectives/cuda/host.h"
#include "collectives/cuda/ids.h"
#include "collectives/cuda/pause.h"
#include "collectives/cuda/strided.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

/* How often one has come, on a line of its own. */
struct local_place {
    _Alignas(LINE) atomic_uint_fast64_t times;
    int ordinal; /* of its device */
};

struct jd_cuda_local_meet {
    atomic_int references;
    atomic_bool is_left; /* by somebody */
    int count;
    struct local_place places[]; /* in the order of members */
};

/* ---- creating ----------------------------------------------------------- */

static bool is_local(const struct jd_comm_spec *spec, int member)
{
    return spec->members[member]->process_index ==
           spec->members[spec->index]->process_index;
}

/* Whether some process, not only this one, has several members: all come to the
 * exchange then, or none. */
static jd_status find_shared(const struct jd_comm *comm, const char *operation,
                             bool *ret_is_shared)
{
    size_t bytes = (size_t)comm->size * sizeof *comm->processes;
    int *sorted = malloc(bytes);
    if (!sorted)
        return jd__fail_no_memory(operation, bytes);
    memcpy(sorted, comm->processes, bytes);
    qsort(sorted, (size_t)comm->size, sizeof *sorted, jd__ranges_compare);
    *ret_is_shared = false;
    for (int i = 1; i < comm->size; i++)
        *ret_is_shared |= sorted[i] == sorted[i - 1];
    free(sorted);
    return JD_OK;
}

static struct jd_cuda_local_meet *allocate_meet(const struct jd_comm_spec *spec)
{
    int count = 0;
    for (int i = 0; i < spec->size; i++)
        count += is_local(spec, i);
    size_t bytes = sizeof(struct jd_cuda_local_meet) +
                   (size_t)count * sizeof(struct local_place);
    struct jd_cuda_local_meet *meet =
        aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    if (!meet)
        return NULL;
    atomic_init(&meet->references, count);
    atomic_init(&meet->is_left, false);
    meet->count = 0;
    for (int i = 0; i < spec->size; i++)
        if (is_local(spec, i)) {
            struct local_place *place = &meet->places[meet->count++];
            atomic_init(&place->times, 0);
            place->ordinal = spec->members[i]->local_ordinal;
        }
    return meet;
}

/* The first of a process makes it, and tells the others where it is. */
static jd_status exchange_meets(struct jd_comm *comm,
                                const struct jd_comm_spec *spec, int first,
                                uint64_t *all)
{
    struct jd_cuda_local_meet *made = NULL;
    if (first == spec->index)
        made = allocate_meet(spec);
    uint64_t own = (uintptr_t)made;
    jd_status status =
        jd__cuda_tell(spec, comm->control, &own, sizeof own, all);
    if (status != JD_OK) {
        free(made);
        return status;
    }
    comm->local = (struct jd_cuda_local_meet *)(uintptr_t)all[first];
    return comm->local
               ? JD_OK
               : jd__fail_no_memory(spec->operation, sizeof *comm->local);
}

static jd_status find_meet(struct jd_comm *comm,
                           const struct jd_comm_spec *spec)
{
    int first = 0;
    while (!is_local(spec, first))
        first++;
    for (int i = first; i < spec->index; i++)
        comm->local_place += is_local(spec, i);
    uint64_t *all = calloc((size_t)spec->size, sizeof *all);
    if (!all)
        return jd__fail_no_memory(spec->operation,
                                  (size_t)spec->size * sizeof *all);
    jd_status status = exchange_meets(comm, spec, first, all);
    free(all);
    return status;
}

/* Which else come with the first launch of each, behind the device's work. */
static jd_status load_kernels(const char *operation)
{
    cudaError_t error = jd__cuda_fold_load();
    if (error == cudaSuccess)
        error = jd__cuda_strided_load();
    return jd__cuda_check(error, operation, "loading kernels");
}

jd_status jd__cuda_local_meet_create(struct jd_comm *comm,
                                     const struct jd_comm_spec *spec)
{
    bool is_shared = false;
    jd_status status = find_shared(comm, spec->operation, &is_shared);
    if (!is_shared)
        return status;
    status = find_meet(comm, spec);
    if (status == JD_OK)
        status = load_kernels(spec->operation);
    if (status == JD_OK && comm->local->count == 1)
        jd__cuda_local_meet_destroy(comm);
    return status;
}

void jd__cuda_local_meet_destroy(struct jd_comm *comm)
{
    struct jd_cuda_local_meet *meet = comm->local;
    comm->local = NULL;
    if (meet && atomic_fetch_sub(&meet->references, 1) == 1)
        free(meet);
}

/* ---- coming ------------------------------------------------------------- */

/* A wait for those who have come less often than this member. */
struct coming {
    const struct jd_comm *comm;
    const struct jd_collective *call;
    uint64_t times;
    double begin; /* on the clock */
    struct jd_wait wait;
    struct jd_wait_state state;
};

static bool is_missing(const struct coming *c, int place)
{
    return atomic_load(&c->comm->local->places[place].times) < c->times;
}

static bool have_all_come(const struct coming *c)
{
    for (int i = 0; i < c->comm->local->count; i++)
        if (is_missing(c, i))
            return false;
    return true;
}

static void print_missing(const struct coming *c, FILE *out)
{
    const struct jd_cuda_local_meet *meet = c->comm->local;
    int *missing = malloc((size_t)meet->count * sizeof *missing), count = 0;
    for (int i = 0; missing && i < meet->count; i++)
        if (is_missing(c, i))
            missing[count++] = meet->places[i].ordinal;
    if (missing)
        qsort(missing, (size_t)count, sizeof *missing, jd__ranges_compare);
    fprintf(out, "device%s ", count == 1 ? "" : "s");
    jd__ranges_print(out, missing, count);
    free(missing);
}

/* The sentence about the wait, malloc'ed; NULL without memory. */
static char *describe_wait(void *arg, double waited)
{
    const struct coming *c = arg;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    fprintf(out, "%s%s: device %d of process %d has waited %.3g s for ",
            c->wait.operation, c->wait.detail ? c->wait.detail : "",
            c->comm->device->local_ordinal, c->wait.self, waited);
    print_missing(c, out);
    fputs(" of the same process, whose thread has not made this call, or waits "
          "for one that has not",
          out);
    fclose(out);
    return text;
}

static jd_status fail_left(const struct coming *c)
{
    return jd_fail(JD_ABORTED,
                   "%s%s: a call of another device of this process among the "
                   "same members has failed, and it has left them; it says why "
                   "itself",
                   jd__signature_activity_name(c->call->activity),
                   c->call->detail ? c->call->detail : "");
}

/* What ends the wait, or says that it lasts. */
static jd_status look_around(struct coming *c)
{
    const struct jd_wait_own own = { .describe = describe_wait, .arg = c };
    jd_status status = jd__wait_check(&c->wait);
    if (status == JD_OK && atomic_load(&c->comm->local->is_left))
        status = fail_left(c);
    if (status == JD_OK)
        status = jd__wait_look_own(&c->wait, &c->state,
                                   jd__clock_now() - c->begin, &own);
    if (status == JD_OK)
        jd__host_make_progress(c->comm->runtime);
    return status;
}

static jd_status wait_for_all(struct coming *c)
{
    struct jd_cuda_pace pace = jd__cuda_pace(-1);
    jd_status status = JD_OK;
    c->wait = jd__runtime_wait(c->comm->runtime,
                               jd__signature_activity_name(c->call->activity));
    c->wait.detail = c->call->detail;
    c->wait.is_cancelled = c->comm->is_aborted;
    c->begin = jd__clock_now();
    c->state = jd__wait_start(&c->wait);
    while (status == JD_OK && !have_all_come(c)) {
        if (!jd__cuda_pause_is_short(&pace))
            status = look_around(c);
        jd__cuda_pause(&pace);
    }
    jd__wait_end(&c->state);
    return status;
}

jd_status jd__cuda_local_meet_come(struct jd_comm *comm,
                                   const struct jd_collective *call)
{
    struct coming c = { .comm = comm, .call = call };
    if (!comm->local)
        return JD_OK;
    c.times =
        1 + atomic_fetch_add(&comm->local->places[comm->local_place].times, 1);
    return have_all_come(&c) ? JD_OK : wait_for_all(&c);
}

void jd__cuda_local_meet_leave(struct jd_comm *comm)
{
    if (comm->local)
        atomic_store(&comm->local->is_left, true);
}
