/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier.c - the public calls that wait for other processes at the service. */
#include "runtime/api/barrier.h"
#include "base/digest.h"
#include "base/key_text.h"
#include "base/standing.h"
#include "jd_coordination.h"
#include "runtime/coordination/client/call.h"
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/net/process_lists.h"
#include "runtime/process/runtime.h"
#include "runtime/process/wait_stack.h"
#include "runtime/recorder/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ID 4096 /* bytes of a barrier's id */

/* ---- what is common ----------------------------------------------------- */

enum { DETAIL_SIZE = JD_KEY_TEXT_SIZE + 1 };

/* " "id"", for sentences. */
static void describe_barrier(char detail[DETAIL_SIZE], const char *id)
{
    detail[0] = ' ';
    jd__key_text_format(detail + 1, jd__wire_text(id));
}

static jd_status check_id(const char *operation, const char *id)
{
    size_t length = id ? strlen(id) : 0;
    if (length >= 1 && length <= MAX_ID)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: id %s; a barrier's id has 1 to %d bytes", operation,
                   !id       ? "is NULL"
                   : !length ? "is empty"
                             : "is too long",
                   MAX_ID);
}

double jd__barrier_timeout(const struct jd_runtime *runtime, double timeout,
                           const char **ret_variable)
{
    *ret_variable = timeout == 0 ? "JD_BARRIER_TIMEOUT" : "its timeout";
    return timeout == 0 ? jd__options_seconds(runtime->settings,
                                              JD_OPTION_BARRIER_TIMEOUT)
                        : timeout;
}

/* The call with its progress noted. */
static jd_status wait_for(struct jd_client *client, struct jd_call *call)
{
    jd__recorder_enter(
        &(struct jd_recorder_call){ .operation = call->operation });
    return jd__recorder_leave(jd__client_call(client, call));
}

/* ---- barriers ----------------------------------------------------------- */

static jd_status read_processes(const char *operation, const int *process_ids,
                                size_t count, int num_processes,
                                uint32_t **ret_processes)
{
    *ret_processes = NULL;
    if (!process_ids && !count)
        return JD_OK;
    if (!process_ids || !count || count > (size_t)num_processes)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: the list of processes is %s and its count %zu; "
                       "give a list of 1 to %d, or NULL and 0 for all",
                       operation, process_ids ? "given" : "NULL", count,
                       num_processes);
    uint32_t *processes = malloc(count * sizeof *processes);
    if (!processes)
        return jd__fail_no_memory(operation, count * sizeof *processes);
    for (size_t i = 0; i < count; i++) {
        if (process_ids[i] < 0 || process_ids[i] >= num_processes) {
            free(processes);
            return jd_fail(JD_INVALID_ARGUMENT,
                           "%s: there is no process %d in the list's place "
                           "%zu; the processes are 0 to %d",
                           operation, process_ids[i], i, num_processes - 1);
        }
        processes[i] = (uint32_t)process_ids[i];
    }
    *ret_processes = processes;
    return JD_OK;
}

/* Where the one stands that has not come. What the program has said how long it
 * waits may be part of its plan: nobody is stopped for that. */
static void show_missing(const struct jd_call *call, jd_status status,
                         double timeout)
{
    if (status != JD_DEADLINE_EXCEEDED || timeout != 0 || call->missing < 0)
        return;
    char *text = strdup(jd_error_message());
    jd__wait_stack_show(call->operation, call->detail, call->missing);
    if (text)
        jd_fail(status, "%s", text);
    free(text);
}

static jd_status arrive_at_barrier(const struct jd_runtime *runtime,
                                   Jd__Arrive *body, const char *operation,
                                   const char *detail, double timeout)
{
    struct jd_call call = { .operation = operation, .detail = detail };
    call.timeout = jd__barrier_timeout(runtime, timeout, &call.variable);
    jd__recorder_enter(&(struct jd_recorder_call){
        .operation = operation,
        .rest = jd__digest(0, detail, strlen(detail)),
    });
    /* A timeout of the program's own may be part of its plan. */
    body->is_alone = timeout == 0 && jd__standing_is_only_thread();
    jd__call_init(&call, JD__MESSAGE__BODY_ARRIVE, body);
    jd_status status =
        jd__client_call(jd__session_client(runtime->session), &call);
    show_missing(&call, status, timeout);
    jd__call_finish(&call);
    return jd__recorder_leave(status);
}

jd_status jd_wait_at_barrier(const char *id, double timeout,
                             const int *process_ids, size_t count)
{
    JD_NOTE_CALLER();
    static const char operation[] = "jd_wait_at_barrier";
    const struct jd_runtime *runtime;
    Jd__Arrive body = JD__ARRIVE__INIT;
    char detail[DETAIL_SIZE];
    uint32_t *processes;
    jd_status status = check_id(operation, id);
    if (status == JD_OK)
        status = jd__runtime_get(&runtime, operation);
    if (status == JD_OK)
        status = read_processes(operation, process_ids, count,
                                runtime->world.count, &processes);
    if (status != JD_OK)
        return status;
    describe_barrier(detail, id);
    body.barrier = jd__wire_text(id);
    body.processes = processes;
    body.n_processes = processes ? count : 0;
    status = arrive_at_barrier(runtime, &body, operation, detail, timeout);
    free(processes);
    return status;
}

/* Begins with a NUL, which no id does. */
static const char sync_id[] = "\0jd_sync_global_devices";

jd_status jd__barrier_sync(const struct jd_runtime *runtime, const char *name)
{
    Jd__Arrive body = JD__ARRIVE__INIT;
    char detail[DETAIL_SIZE];
    describe_barrier(detail, name);
    body.barrier = jd__wire_bytes(sync_id, sizeof sync_id - 1);
    body.label = jd__wire_text(name);
    jd_status status =
        arrive_at_barrier(runtime, &body, "jd_sync_global_devices", detail, 0);
    return status;
}

jd_status jd_cancel_barrier(const char *id)
{
    static const char operation[] = "jd_cancel_barrier";
    const struct jd_runtime *runtime;
    Jd__Cancel body = JD__CANCEL__INIT;
    char detail[DETAIL_SIZE];
    struct jd_call call = { .operation = operation };
    jd_status status = check_id(operation, id);
    if (status == JD_OK)
        status = jd__runtime_get(&runtime, operation);
    if (status != JD_OK)
        return status;
    describe_barrier(detail, id);
    call.detail = detail;
    body.barrier = jd__wire_text(id);
    jd__call_init(&call, JD__MESSAGE__BODY_CANCEL, &body);
    status = jd__client_call(jd__session_client(runtime->session), &call);
    jd__call_finish(&call);
    return status;
}

/* ---- who lives ---------------------------------------------------------- */

static jd_status copy_processes(const Jd__Reply *reply, int most,
                                int **ret_processes, size_t *ret_count)
{
    size_t count;
    int *processes = jd__process_lists_unpack(reply->ranges, reply->n_ranges,
                                              (size_t)most, &count);
    if (!processes && count)
        return jd_fail(JD_INTERNAL,
                       "jd_live_processes: the coordination service names "
                       "processes that a job of %d does not have; its program "
                       "is of another version, or it is broken",
                       most);
    if (!processes)
        return jd__fail_no_memory("jd_live_processes",
                                  (size_t)most * sizeof *processes);
    *ret_processes = processes;
    *ret_count = count;
    return JD_OK;
}

jd_status jd_live_processes(double timeout, int **ret_processes,
                            size_t *ret_count)
{
    JD_NOTE_CALLER();
    static const char operation[] = "jd_live_processes";
    const struct jd_runtime *runtime;
    struct jd_client *client;
    Jd__Live body = JD__LIVE__INIT;
    struct jd_call call = { .operation = operation };
    if (!ret_processes || !ret_count)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: %s is NULL", operation,
                       ret_processes ? "ret_count" : "ret_processes");
    jd_status status = jd__runtime_get(&runtime, operation);
    if (status != JD_OK)
        return status;
    client = jd__session_client(runtime->session);
    call.timeout = jd__barrier_timeout(runtime, timeout, &call.variable);
    jd__call_init(&call, JD__MESSAGE__BODY_LIVE, &body);
    status = wait_for(client, &call);
    if (status == JD_OK)
        status =
            copy_processes(call.reply, client->count, ret_processes, ret_count);
    jd__call_finish(&call);
    return status;
}
