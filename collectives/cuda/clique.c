/* SPDX-License-Identifier: BSD-3-Clause */
/* clique.c - one device's end of a clique on the cuda platform. */
#include "collectives/cuda/clique.h"
#include "base/ranges.h"
#include "collectives/cuda/aborting.h"
#include "collectives/cuda/check.h"
#include "collectives/cuda/devices.h"
#include "collectives/cuda/errors.h"
#include "collectives/cuda/host.h"
#include "collectives/cuda/ids.h"
#include "collectives/cuda/joining.h"
#include "collectives/cuda/pause.h"
#include "collectives/cuda/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- creating ----------------------------------------------------------- */

static jd_status allocate(const struct jd_clique_spec *spec,
                          struct jd_clique **ret_clique)
{
    size_t size = (size_t)spec->size;
    struct jd_clique *clique = calloc(1, sizeof *clique);
    int *processes = malloc(size * sizeof *processes);
    bool *is_connected = calloc(size, sizeof *is_connected);
    char *detail = strdup(spec->detail);
    *ret_clique = clique;
    if (!clique || !processes || !is_connected || !detail) {
        free(processes);
        free(is_connected);
        free(detail);
        return jd__fail_no_memory(spec->operation,
                                  sizeof *clique + size * sizeof *processes);
    }
    clique->runtime = spec->runtime;
    clique->size = spec->size;
    clique->index = spec->index;
    clique->processes = processes;
    clique->is_connected = is_connected;
    clique->detail = detail;
    clique->device = spec->members[spec->index];
    clique->native = jd__cuda_native(clique->device);
    for (int i = 0; i < spec->size; i++)
        processes[i] = spec->members[i]->process_index;
    jd_status status =
        jd__cuda_comm_create(detail, spec->operation, &clique->ending);
    if (status == JD_OK)
        clique->is_aborted = jd__cuda_comm_is_aborted(clique->ending);
    return status;
}

/* On the thread's device; status is how this member comes. */
static jd_status join(struct jd_clique *clique,
                      const struct jd_clique_spec *spec, jd_status status,
                      struct jd_cuda_member *members, int32_t *progress)
{
    status = jd__cuda_ids_exchange(spec, clique->control, status, members);
    if (status != JD_OK)
        return status;
    status = jd__cuda_join(clique, spec, members, progress);
    jd__cuda_comm_set(clique->ending, clique->comm);
    return status;
}

/* With the control clique, and room for what the members tell. */
static jd_status meet(struct jd_clique *clique,
                      const struct jd_clique_spec *spec,
                      struct jd_cuda_member *members, int32_t *progress)
{
    const struct jd_platform *cpu = jd__host_cpu();
    struct jd_cuda_visit visit;
    jd_status status = cpu->clique_create(spec, &clique->control);
    if (status != JD_OK)
        return status;
    status = jd__cuda_enter(clique->native, spec->operation, &visit);
    status = join(clique, spec, status, members, progress);
    jd__cuda_leave(&visit);
    return status;
}

static jd_status make(struct jd_clique *clique,
                      const struct jd_clique_spec *spec)
{
    size_t size = (size_t)spec->size;
    struct jd_cuda_member *members = calloc(size, sizeof *members);
    int32_t *progress = calloc(size, sizeof *progress);
    jd_status status =
        members && progress
            ? meet(clique, spec, members, progress)
            : jd__fail_no_memory(spec->operation, size * sizeof *members);
    free(members);
    free(progress);
    return status;
}

jd_status jd__cuda_clique_create(const struct jd_clique_spec *spec,
                                 struct jd_clique **ret_clique)
{
    struct jd_clique *clique;
    jd_status status = allocate(spec, &clique);
    if (status == JD_OK)
        status = make(clique, spec);
    if (status == JD_OK) {
        *ret_clique = clique;
        return JD_OK;
    }
    if (clique)
        clique->has_failed = true;
    jd__cuda_clique_destroy(clique);
    return status;
}

/* ---- ending ------------------------------------------------------------- */

void jd__cuda_clique_destroy(struct jd_clique *clique)
{
    if (!clique)
        return;
    jd__cuda_streams_forget(clique);
    if (clique->ending)
        jd__cuda_comm_end(clique->ending, !clique->has_failed);
    jd__cuda_comm_put(clique->ending);
    jd__host_cpu()->clique_destroy(clique->control);
    jd__cuda_inboxes_destroy(clique->inboxes, clique->size);
    free(clique->processes);
    free(clique->is_connected);
    free(clique->detail);
    free(clique);
}

void jd__cuda_clique_abort(struct jd_clique *clique)
{
    jd__host_cpu()->clique_abort(clique->control);
    jd__cuda_comm_end(clique->ending, false);
}

/* A failure of this end, after which nothing but destroy is called: the others
 * hear of it by NCCL, and why from the job. */
static jd_status fail(struct jd_clique *clique, jd_status status)
{
    clique->has_failed = true;
    jd__cuda_comm_end(clique->ending, false);
    return status;
}

/* ---- using -------------------------------------------------------------- */

static struct jd_wait describe_wait(const struct jd_clique *clique,
                                    const char *operation, const char *detail)
{
    struct jd_wait wait = jd__runtime_wait(clique->runtime, operation);
    wait.detail = detail;
    wait.processes = clique->processes;
    wait.is_cancelled = clique->is_aborted;
    return wait;
}

/* Why it is: the job has failed, or a call of this end, or another end of this
 * process. */
static jd_status fail_aborted(struct jd_clique *clique, const char *operation,
                              const char *detail)
{
    struct jd_wait wait = describe_wait(clique, operation, detail);
    if (clique->has_failed)
        wait.is_cancelled = NULL;
    clique->has_failed = true;
    jd_status status = jd__wait_check(&wait);
    return status == JD_OK ? jd_fail(JD_ABORTED,
                                     "%s%s: NCCL's communicator was aborted "
                                     "after a call that failed",
                                     operation, detail)
                           : status;
}

jd_status jd__cuda_clique_enter(struct jd_clique *clique,
                                const struct jd_collective *call)
{
    if (jd__cuda_comm_lock(clique->ending))
        return JD_OK;
    return fail_aborted(clique, jd__activity_name(call->activity),
                        call->detail);
}

/* The processes of the others, as NCCL does not say whom it waits for; of a
 * clique of one, its own. */
static int find_others(void *arg, int *processes)
{
    const struct jd_clique *clique = arg;
    int count = 0;
    for (int i = 0; i < clique->size; i++)
        if (i != clique->index)
            processes[count++] = clique->processes[i];
    if (count == 0)
        processes[count++] = clique->processes[clique->index];
    return count;
}

static int compare_ints(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* The same, sorted, each once. */
static int list_others(struct jd_clique *clique, int *others)
{
    int found = find_others(clique, others), count = 0;
    if (found)
        qsort(others, (size_t)found, sizeof *others, compare_ints);
    for (int i = 0; i < found; i++)
        if (i == 0 || others[i] != others[i - 1])
            others[count++] = others[i];
    return count;
}

/* "process 1" or "one of processes 0-2,5", cut where it does not fit. */
static void print_others(struct jd_clique *clique, char *text, size_t size)
{
    int *others = malloc((size_t)clique->size * sizeof *others);
    int count = others ? list_others(clique, others) : 0;
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
static jd_status check(struct jd_clique *clique, ncclResult_t result,
                       const char *operation, const char *detail,
                       const char *nccl_call)
{
    char where[256], others[128] = "";
    if (result == ncclSuccess || result == ncclInProgress)
        return JD_OK;
    snprintf(where, sizeof where, "%s%s", operation, detail);
    jd_status status = jd__nccl_check(result, clique->comm, where, nccl_call);
    if (status != JD_UNAVAILABLE)
        return status;
    print_others(clique, others, sizeof others);
    return jd_fail(status, "%s; whom it has lost is %s", jd_error_message(),
                   others);
}

/* Asks the communicator how it is. */
static jd_status ask(struct jd_clique *clique, ncclResult_t *ret_result)
{
    if (!jd__cuda_comm_lock(clique->ending))
        return JD_ABORTED;
    if (ncclCommGetAsyncError(clique->comm, ret_result) != ncclSuccess)
        *ret_result = ncclInternalError;
    return JD_OK;
}

jd_status jd__cuda_clique_poll(struct jd_clique *clique, const char *operation)
{
    ncclResult_t result;
    if (ask(clique, &result) != JD_OK)
        return fail_aborted(clique, operation, clique->detail);
    jd_status status = check(clique, result, operation, clique->detail,
                             "a collective on the GPU");
    jd__cuda_comm_unlock(clique->ending);
    return status == JD_OK ? JD_OK : fail(clique, status);
}

/* Until it has taken the call, or refused: then the result is not
 * ncclInProgress. */
static jd_status await_result(struct jd_clique *clique,
                              const struct jd_collective *call,
                              ncclResult_t *result)
{
    const char *operation = jd__activity_name(call->activity);
    struct jd_wait wait = describe_wait(clique, operation, call->detail);
    struct jd_wait_state state = jd__wait_start(&wait);
    struct jd_cuda_patience patience = jd__cuda_patience(-1);
    jd_status status = JD_OK;
    while (status == JD_OK && *result == ncclInProgress) {
        bool is_short = jd__cuda_pause_is_short(&patience);
        jd__cuda_pause(&patience);
        if (!is_short) {
            jd__host_make_progress(clique->runtime);
            status =
                jd__wait_look(&wait, &state, find_others, clique, clique->size);
        }
        if (status == JD_OK && ask(clique, result) != JD_OK)
            status = fail_aborted(clique, operation, call->detail);
        else if (status == JD_OK)
            jd__cuda_comm_unlock(clique->ending);
    }
    return status;
}

jd_status jd__cuda_clique_settle(struct jd_clique *clique, ncclResult_t result,
                                 const struct jd_collective *call,
                                 const char *nccl_call)
{
    jd_status status = JD_OK;
    if (result == ncclInProgress) {
        jd__cuda_comm_unlock(clique->ending);
        status = await_result(clique, call, &result);
        if (status == JD_OK && !jd__cuda_comm_lock(clique->ending))
            status = fail_aborted(clique, jd__activity_name(call->activity),
                                  call->detail);
        if (status != JD_OK)
            return fail(clique, status);
    }
    if (result != ncclSuccess)
        status = check(clique, result, jd__activity_name(call->activity),
                       call->detail, nccl_call);
    jd__cuda_comm_unlock(clique->ending);
    return status == JD_OK ? JD_OK : fail(clique, status);
}
