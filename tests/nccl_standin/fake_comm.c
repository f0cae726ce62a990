/* SPDX-License-Identifier: BSD-3-Clause */
/* fake_comm.c - what NCCL would report, as the test says. */
#include "fake_comm.h"
#include "fake_host.h"
#include "collectives/cuda/fold.h"

atomic_int fake_comm_polls;
atomic_bool fake_comm_is_lost;

void fake_comm_init(struct jd_comm *comm, atomic_bool *is_aborted, char *detail)
{
    static int processes[FAKE_PROCESSES] = { 0, 1, 2, 3 };
    *comm = (struct jd_comm){ .runtime = fake_runtime(),
                              .size = FAKE_PROCESSES,
                              .index = 1,
                              .processes = processes,
                              .device = fake_device(0),
                              .detail = detail,
                              .is_aborted = is_aborted };
}

void jd__cuda_comm_abort(struct jd_comm *comm)
{
    atomic_store((atomic_bool *)(uintptr_t)comm->is_aborted, true);
}

jd_status jd__cuda_comm_poll(struct jd_comm *comm, const char *operation)
{
    atomic_fetch_add(&fake_comm_polls, 1);
    if (atomic_load(comm->is_aborted))
        return jd_fail(JD_ABORTED, "%s: the communicator is aborted",
                       operation);
    if (!atomic_load(&fake_comm_is_lost))
        return JD_OK;
    jd__cuda_comm_abort(comm);
    return jd_fail(JD_UNAVAILABLE, "%s: a peer is lost", operation);
}

jd_status jd__cuda_comm_heed(struct jd_comm *comm, const char *operation,
                             double *since)
{
    (void)comm;
    (void)operation;
    (void)since;
    return JD_OK;
}

const char *jd__cuda_fold_way(void)
{
    return "none";
}
