/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ragged.c - ragged_all_to_all, and the barrier, whose members always meet on
 * the host first: what a member gets, and where, only its producer knows, but
 * for jd_ragged_all_gather. Each
 * tells each, compares, and all hear what anybody found (ragged_fault.h);
 * then a group of sends and receives is queued. A graph that captures it
 * has the sizes of the capture.
 */
#include "collectives/cuda/check.h"
#include "collectives/cuda/connect.h"
#include "collectives/cuda/host.h"
#include "collectives/cuda/task.h"
#include "collectives/kernels/strided.h"
#include "collectives/platform/ragged_fault.h"

#include <stdlib.h>
#include <string.h>

jd_status jd__cuda_barrier(struct jd_comm *comm,
                           const struct jd_collective *call)
{
    return jd__cuda_meet(comm, call, (struct jd_cuda_terms){ .source = -1 });
}

/* One call. */
struct ragged_exchange {
    struct jd_comm *comm;
    const struct jd_collective *call;
    const struct jd_ragged *ragged;
    size_t row; /* bytes */
    struct jd_ragged_entry *given, *taken;
    struct jd_ragged_fault *faults; /* the members' */
};

/* ---- on the host -------------------------------------------------------- */

/* Memory for what is given, taken and found; NULL. */
static void *make_tables(struct ragged_exchange *x)
{
    const struct jd_ragged_entry *known = x->ragged->known;
    size_t entries = jd__ragged_fault_place(x->ragged, x->comm->size, 0);
    size_t bytes = 2 * entries * sizeof *x->given +
                   (size_t)x->comm->size * sizeof *x->faults;
    char *memory = malloc(bytes);
    if (!memory)
        return NULL;
    x->given = (void *)memory;
    x->taken = x->given + entries;
    x->faults = (void *)(x->taken + entries);
    for (int i = 0; i < x->comm->size; i++)
        for (int k = 0; k < x->ragged->per_member; k++)
            x->given[jd__ragged_fault_place(x->ragged, i, k)] =
                jd__ragged_fault_given(x->ragged, i, k);
    if (known)
        memcpy(x->taken, known, entries * sizeof *known);
    return memory;
}

static struct jd_collective host_call(const struct ragged_exchange *x,
                                      const void *in, void *out, size_t bytes)
{
    return (struct jd_collective){ .activity = x->call->activity,
                                   .detail = x->call->detail,
                                   .in = in,
                                   .out = out,
                                   .count = bytes,
                                   .dtype = JD_U8 };
}

static jd_status tell_consumers(const struct ragged_exchange *x)
{
    size_t bytes = (size_t)x->ragged->per_member * sizeof *x->given;
    struct jd_collective call = host_call(x, x->given, x->taken, bytes);
    const struct jd_pieces pieces = { .rows = 1,
                                      .width = bytes,
                                      .in_step = bytes,
                                      .in_pitch = bytes,
                                      .out_step = bytes,
                                      .out_pitch = bytes };
    return jd__host_cpu()->all_to_all(x->comm->control, &call, &pieces);
}

/* Everybody has the same answer. */
static jd_status compare_all(const struct ragged_exchange *x)
{
    const struct jd_comm *comm = x->comm;
    struct jd_ragged_fault fault;
    struct jd_collective call = host_call(x, &fault, x->faults, sizeof fault);
    jd__ragged_fault_compare(x->ragged, comm->size, comm->index, x->taken,
                             &fault);
    jd_status status = jd__host_cpu()->all_gather(comm->control, &call, 1);
    const struct jd_ragged_fault *said = &x->faults[0];
    for (int i = 1; i < comm->size && status == JD_OK; i++)
        if (jd__ragged_fault_goes_before(&x->faults[i], said))
            said = &x->faults[i];
    if (status != JD_OK || said->kind == JD_RAGGED_FITS)
        return status;
    return jd__ragged_fault_fail(jd__signature_activity_name(x->call->activity),
                                 x->call->detail, comm->processes, said);
}

static jd_status meet_and_compare(const struct ragged_exchange *x)
{
    struct jd_cuda_terms terms = {
        .source = -1,
        .digest = x->ragged->rest,
        .lacks_memory = !x->given,
    };
    jd_status status = jd__cuda_meet(x->comm, x->call, terms);
    if (status != JD_OK || x->ragged->known)
        return status;
    if (x->ragged->per_member)
        status = tell_consumers(x);
    return status == JD_OK ? compare_all(x) : status;
}

/* ---- on the device ------------------------------------------------------ */

static void copy_alone(const struct ragged_exchange *x,
                       struct jd_cuda_task *task)
{
    for (int k = 0; k < x->ragged->per_member; k++) {
        struct jd_ragged_entry own =
            x->taken[jd__ragged_fault_place(x->ragged, 0, k)];
        jd__task_copy(
            task, jd__strided_place(task->call->out, (size_t)own.to * x->row),
            jd__strided_place(task->call->in, (size_t)own.from * x->row),
            (size_t)own.size * x->row);
    }
}

/* Pieces of no rows are neither sent nor received. */
static void move_piece(const struct ragged_exchange *x,
                       struct jd_cuda_task *task, int member, int piece)
{
    size_t place = jd__ragged_fault_place(x->ragged, member, piece);
    struct jd_ragged_entry given = x->given[place], taken = x->taken[place];
    jd__task_send(
        task, jd__strided_place(task->call->in, (size_t)given.from * x->row),
        (size_t)given.size * x->row, member);
    jd__task_receive(
        task, jd__strided_place(task->call->out, (size_t)taken.to * x->row),
        (size_t)taken.size * x->row, member);
}

static jd_status move_rows(const struct ragged_exchange *x)
{
    const struct jd_ragged *ragged = x->ragged;
    struct jd_cuda_task task;
    jd__task_begin(&task, x->comm, x->call, ragged->in_rows * x->row,
                   ragged->out_rows * x->row, true);
    if (x->comm->size > 1)
        jd__connect_all(&task);
    if (x->comm->size == 1) {
        copy_alone(x, &task);
    } else if (jd__task_group_begin(&task)) {
        for (int i = 0; i < x->comm->size; i++)
            for (int k = 0; k < ragged->per_member; k++)
                move_piece(x, &task, i, k);
        jd__task_group_end(&task);
    }
    return jd__task_end(&task);
}

jd_status jd__cuda_ragged_all_to_all(struct jd_comm *comm,
                                     const struct jd_collective *call,
                                     const struct jd_ragged *ragged)
{
    struct ragged_exchange x = { .comm = comm,
                                 .call = call,
                                 .ragged = ragged,
                                 .row =
                                     call->count * jd_dtype_size(call->dtype) };
    void *memory = make_tables(&x);
    jd_status status = meet_and_compare(&x);
    if (status == JD_OK && x.row && ragged->per_member)
        status = move_rows(&x);
    free(memory);
    return status;
}
