/* SPDX-License-Identifier: BSD-3-Clause */
/* comm.c - one device's end of a communicator on the cuda platform. */
#include "collectives/cuda/comm.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/ranges.h"
#include "collectives/cuda/aborting.h"
#include "collectives/cuda/check.h"
#include "collectives/cuda/devices.h"
#include "collectives/cuda/errors.h"
#include "collectives/cuda/host.h"
#include "collectives/cuda/ids.h"
#include "collectives/cuda/joining.h"
#include "collectives/cuda/local_meet.h"
#include "collectives/cuda/pause.h"
#include "collectives/cuda/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A job that fails is heard of by then, and those whose deadline is the same
 * have come to it. */
#define HEED_SECONDS 0.5

static void look_at_late(void *arg, bool is_first);

/* ---- creating ----------------------------------------------------------- */

static jd_status allocate_comm(const struct jd_comm_spec *spec,
                               struct jd_comm **ret_comm)
{
    size_t size = (size_t)spec->size;
    struct jd_comm *comm = calloc(1, sizeof *comm);
    int *processes = malloc(size * sizeof *processes);
    unsigned char *connections = calloc(size, sizeof *connections);
    char *detail = strdup(spec->detail);
    *ret_comm = comm;
    if (!comm || !processes || !connections || !detail) {
        free(processes);
        free(connections);
        free(detail);
        return jd__fail_no_memory(spec->operation,
                                  sizeof *comm + size * sizeof *processes);
    }
    comm->runtime = spec->runtime;
    comm->size = spec->size;
    comm->index = spec->index;
    comm->recorded = spec->recorded;
    comm->processes = processes;
    comm->connections = connections;
    comm->detail = detail;
    comm->device = spec->members[spec->index];
    comm->native = jd__cuda_native(comm->device);
    for (int i = 0; i < spec->size; i++)
        processes[i] = spec->members[i]->process_index;
    jd_status status =
        jd__cuda_nccl_comm_create(detail, spec->operation, &comm->ending);
    if (status == JD_OK)
        comm->is_aborted = jd__cuda_nccl_comm_is_aborted(comm->ending);
    return status;
}

/* Of the child, which may wait in them. */
static void look_after_calls(struct jd_comm *comm)
{
    if (!jd__late_caller_add(&comm->late.caller, look_at_late, comm))
        jd__log(JD_LOG_WARNING,
                "NCCL's communicator%s: the thread that looks after its calls "
                "cannot be started, and no deadline ends one that waits inside "
                "NCCL",
                comm->detail);
}

/* On the thread's device; status is how this member comes. */
static jd_status join_nccl(struct jd_comm *comm,
                           const struct jd_comm_spec *spec, jd_status status,
                           struct jd_cuda_member *members, int32_t *progress)
{
    status = jd__cuda_ids_exchange(spec, comm->control, status, members);
    if (status != JD_OK)
        return status;
    status = jd__cuda_join(comm, spec, members, progress);
    jd__cuda_nccl_comm_set(comm->ending,
                           comm->parent ? comm->parent : comm->comm);
    if (status == JD_OK && comm->parent)
        look_after_calls(comm);
    return status == JD_OK ? jd__cuda_local_meet_create(comm, spec) : status;
}

/* With the control communicator, and room for what the members tell. */
static jd_status meet_members(struct jd_comm *comm,
                              const struct jd_comm_spec *spec,
                              struct jd_cuda_member *members, int32_t *progress)
{
    const struct jd_platform *cpu = jd__host_cpu();
    struct jd_cuda_visit visit;
    jd_status status = cpu->comm_create(spec, &comm->control);
    if (status != JD_OK || spec->size == 1)
        return status;
    status = jd__cuda_enter(comm->native, spec->operation, &visit);
    status = join_nccl(comm, spec, status, members, progress);
    jd__cuda_leave(&visit);
    return status;
}

static jd_status make_comm(struct jd_comm *comm,
                           const struct jd_comm_spec *spec)
{
    size_t size = (size_t)spec->size;
    struct jd_cuda_member *members = calloc(size, sizeof *members);
    int32_t *progress = calloc(size, sizeof *progress);
    jd_status status =
        members && progress
            ? meet_members(comm, spec, members, progress)
            : jd__fail_no_memory(spec->operation, size * sizeof *members);
    free(members);
    free(progress);
    return status;
}

jd_status jd__cuda_comm_create(const struct jd_comm_spec *spec,
                               struct jd_comm **ret_comm)
{
    struct jd_comm *comm;
    jd_status status = allocate_comm(spec, &comm);
    if (status == JD_OK)
        status = make_comm(comm, spec);
    if (status == JD_OK) {
        *ret_comm = comm;
        return JD_OK;
    }
    if (comm)
        comm->has_failed = true;
    jd__cuda_comm_destroy(comm);
    return status;
}

/* ---- ending ------------------------------------------------------------- */

void jd__cuda_comm_destroy(struct jd_comm *comm)
{
    if (!comm)
        return;
    jd__cuda_streams_forget(comm);
    jd__late_caller_remove(&comm->late.caller);
    free(comm->late.text);
    if (comm->ending)
        jd__cuda_nccl_comm_end(comm->ending, !comm->has_failed);
    jd__cuda_nccl_comm_put(comm->ending);
    jd__host_cpu()->comm_destroy(comm->control);
    jd__cuda_inboxes_destroy(comm->inboxes, comm->size);
    jd__cuda_local_meet_destroy(comm);
    free(comm->processes);
    free(comm->connections);
    free(comm->detail);
    free(comm);
}

void jd__cuda_comm_abort(struct jd_comm *comm)
{
    if (!atomic_load(&comm->has_heeded))
        jd__host_cpu()->comm_abort(comm->control);
    jd__cuda_nccl_comm_end(comm->ending, false);
}

int jd__cuda_comm_find_failed(const struct jd_comm *comm)
{
    return jd__host_cpu()->comm_find_failed(comm->control);
}

/* A failure of this end, after which nothing but destroy is called: the others
 * hear of it by the control communicator or, from other hosts, by NCCL. */
static jd_status fail_comm(struct jd_comm *comm, jd_status status)
{
    comm->has_failed = true;
    jd__cuda_comm_abort(comm);
    return status;
}

/* ---- using -------------------------------------------------------------- */

static struct jd_wait describe_wait(const struct jd_comm *comm,
                                    const char *operation, const char *detail)
{
    struct jd_wait wait = jd__runtime_wait(comm->runtime, operation);
    wait.detail = detail;
    wait.processes = comm->processes;
    wait.is_cancelled = comm->is_aborted;
    return wait;
}

/* Why it is: the job has failed, or a call of this end, or another end of this
 * process. */
static jd_status fail_aborted(struct jd_comm *comm, const char *operation,
                              const char *detail)
{
    struct jd_wait wait = describe_wait(comm, operation, detail);
    if (comm->has_failed)
        wait.is_cancelled = NULL;
    comm->has_failed = true;
    jd_status status = jd__wait_check(&wait);
    return status == JD_OK ? jd_fail(JD_ABORTED,
                                     "%s%s: NCCL's communicator was aborted "
                                     "after a call that failed",
                                     operation, detail)
                           : status;
}

/* Whether its calls wait inside NCCL. */
static bool is_blocking(const struct jd_comm *comm,
                        const struct jd_cuda_use *use)
{
    return comm->parent && use->nccl == comm->comm;
}

static const char *operation_of(const struct jd_collective *call)
{
    return jd__signature_activity_name(call->activity);
}

jd_status jd__cuda_comm_enter(struct jd_comm *comm, struct jd_cuda_use *use)
{
    const struct jd_collective *call = use->call;
    if (!jd__cuda_nccl_comm_lock(comm->ending))
        return fail_aborted(comm, operation_of(call), call->detail);
    use->nccl = use->connects && comm->parent ? comm->parent : comm->comm;
    if (is_blocking(comm, use)) {
        comm->late.call = call;
        jd__late_caller_begin(&comm->late.caller);
    }
    return JD_OK;
}

/* The processes of the others, as NCCL does not say whom it waits for; of a
 * communicator of one, its own. */
static int find_others(void *arg, int *processes)
{
    const struct jd_comm *comm = arg;
    int count = 0;
    for (int i = 0; i < comm->size; i++)
        if (i != comm->index)
            processes[count++] = comm->processes[i];
    if (count == 0)
        processes[count++] = comm->processes[comm->index];
    return count;
}

/* The same, sorted, each once. */
static int list_others(struct jd_comm *comm, int *others)
{
    int found = find_others(comm, others), count = 0;
    if (found)
        qsort(others, (size_t)found, sizeof *others, jd__ranges_compare);
    for (int i = 0; i < found; i++)
        if (i == 0 || others[i] != others[i - 1])
            others[count++] = others[i];
    return count;
}

/* "process 1" or "one of processes 0-2,5", cut where it does not fit. */
static void print_others(struct jd_comm *comm, char *text, size_t size)
{
    int *others = malloc((size_t)comm->size * sizeof *others);
    int count = others ? list_others(comm, others) : 0;
    FILE *out = fmemopen(text, size, "w");
    if (out) {
        fputs(count == 1 ? "process " : "one of processes ", out);
        jd__ranges_print(out, others, count);
        fclose(out);
    }
    text[size - 1] = '\0';
    free(others);
}

/* What NCCL has returned, as a status; locked, as the communicator is asked.
 * detail may be "". */
static jd_status check_result(struct jd_comm *comm, ncclComm_t nccl,
                              ncclResult_t result, const char *operation,
                              const char *detail, const char *nccl_call)
{
    char where[256], others[128] = "";
    if (result == ncclSuccess || result == ncclInProgress)
        return JD_OK;
    snprintf(where, sizeof where, "%s%s", operation, detail);
    jd_status status = jd__nccl_check(result, nccl, where, nccl_call);
    if (status != JD_UNAVAILABLE)
        return status;
    print_others(comm, others, sizeof others);
    return jd_fail(status, "%s; whom it has lost is %s", jd_error_message(),
                   others);
}

static ncclResult_t ask_nccl(ncclComm_t nccl)
{
    ncclResult_t result = ncclInternalError;
    return ncclCommGetAsyncError(nccl, &result) == ncclSuccess
               ? result
               : ncclInternalError;
}

/* Asks the communicator how it is; locks it, unless it fails. */
static jd_status ask_comm(struct jd_comm *comm, ncclComm_t nccl,
                          ncclResult_t *ret_result)
{
    if (!jd__cuda_nccl_comm_lock(comm->ending))
        return JD_ABORTED;
    *ret_result = ask_nccl(nccl);
    return JD_OK;
}

jd_status jd__cuda_comm_poll(struct jd_comm *comm, const char *operation)
{
    ncclComm_t asked = comm->comm;
    ncclResult_t result;
    if (ask_comm(comm, asked, &result) != JD_OK)
        return fail_aborted(comm, operation, comm->detail);
    if (result == ncclSuccess && comm->parent)
        result = ask_nccl(asked = comm->parent);
    jd_status status = check_result(comm, asked, result, operation,
                                    comm->detail, "a collective on the GPU");
    jd__cuda_nccl_comm_unlock(comm->ending);
    return status == JD_OK ? JD_OK : fail_comm(comm, status);
}

jd_status jd__cuda_comm_heed(struct jd_comm *comm, const char *operation,
                             double *since)
{
    int member = jd__cuda_comm_find_failed(comm);
    if (member < 0)
        return JD_OK;
    if (*since == 0)
        *since = jd__clock_now();
    if (jd__clock_now() < *since + HEED_SECONDS)
        return JD_OK;
    atomic_store(&comm->has_heeded, true);
    return fail_comm(
        comm,
        jd_fail(JD_UNAVAILABLE,
                "%s%s: a call of process %d (member %d) among the same "
                "members has failed, and it has left them; it says "
                "why itself",
                operation, comm->detail, comm->processes[member], member));
}

/* ---- a call that does not block ----------------------------------------- */

/* Until it has taken the call, or refused: then the result is not
 * ncclInProgress. */
static jd_status await_result(struct jd_comm *comm,
                              const struct jd_cuda_use *use,
                              ncclResult_t *result)
{
    const char *operation = operation_of(use->call);
    struct jd_wait wait = describe_wait(comm, operation, use->call->detail);
    struct jd_wait_state state = jd__wait_start(&wait);
    struct jd_cuda_pace pace = jd__cuda_pace(-1);
    double failed_since = 0;
    jd_status status = JD_OK;
    while (status == JD_OK && *result == ncclInProgress) {
        bool is_short = jd__cuda_pause_is_short(&pace);
        jd__cuda_pause(&pace);
        if (!is_short) {
            jd__host_make_progress(comm->runtime);
            status =
                jd__wait_look(&wait, &state, find_others, comm, comm->size);
            if (status == JD_OK)
                status = jd__cuda_comm_heed(comm, operation, &failed_since);
        }
        if (status == JD_OK && ask_comm(comm, use->nccl, result) != JD_OK)
            status = fail_aborted(comm, operation, use->call->detail);
        else if (status == JD_OK)
            jd__cuda_nccl_comm_unlock(comm->ending);
    }
    jd__wait_end(&state);
    return status;
}

/* Locked; unlocked where it fails. */
static jd_status settle_later(struct jd_comm *comm,
                              const struct jd_cuda_use *use,
                              ncclResult_t *result)
{
    if (*result != ncclInProgress)
        return JD_OK;
    jd__cuda_nccl_comm_unlock(comm->ending);
    jd_status status = await_result(comm, use, result);
    if (status == JD_OK && !jd__cuda_nccl_comm_lock(comm->ending))
        status = fail_aborted(comm, operation_of(use->call), use->call->detail);
    return status;
}

/* ---- a call that does --------------------------------------------------- */

/* What a wait of the call's own would do; on the looking thread. */
static jd_status look_for_others(struct jd_comm *comm)
{
    struct jd_cuda_late *late = &comm->late;
    jd_status status =
        jd__wait_look(&late->wait, &late->state, find_others, comm, comm->size);
    return status == JD_OK ? jd__cuda_comm_heed(comm, late->wait.operation,
                                                &late->failed_since)
                           : status;
}

static void look_at_late(void *arg, bool is_first)
{
    struct jd_comm *comm = arg;
    struct jd_cuda_late *late = &comm->late;
    if (late->status != JD_OK)
        return;
    if (is_first) {
        late->wait =
            describe_wait(comm, operation_of(late->call), late->call->detail);
        late->state = jd__wait_start(&late->wait);
        late->failed_since = 0;
    }
    late->status = look_for_others(comm);
    if (late->status == JD_OK)
        return;
    late->text = strdup(jd_error_message());
    jd__cuda_comm_abort(comm);
}

/* Locked; unlocked where it fails. */
static jd_status settle_now(struct jd_comm *comm, const struct jd_cuda_use *use)
{
    const struct jd_cuda_late *late = &comm->late;
    jd__late_caller_end(&comm->late.caller);
    if (late->status == JD_OK && !atomic_load(comm->is_aborted))
        return JD_OK;
    jd__cuda_nccl_comm_unlock(comm->ending);
    if (late->status == JD_OK)
        return fail_aborted(comm, operation_of(use->call), use->call->detail);
    return jd_fail(late->status, "%s",
                   late->text ? late->text : operation_of(use->call));
}

jd_status jd__cuda_comm_settle(struct jd_comm *comm,
                               const struct jd_cuda_use *use,
                               ncclResult_t result, const char *nccl_call)
{
    jd_status status = is_blocking(comm, use)
                           ? settle_now(comm, use)
                           : settle_later(comm, use, &result);
    if (status != JD_OK)
        return fail_comm(comm, status);
    if (result != ncclSuccess)
        status = check_result(comm, use->nccl, result, operation_of(use->call),
                              use->call->detail, nccl_call);
    jd__cuda_nccl_comm_unlock(comm->ending);
    return status == JD_OK ? JD_OK : fail_comm(comm, status);
}
