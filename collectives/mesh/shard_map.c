/* SPDX-License-Identifier: BSD-3-Clause */
/* shard_map.c - one function, run for every local device of a mesh. */
#include "collectives/mesh/shard.h"
#include "base/standing.h"
#include "collectives/mesh/cores.h"
#include "jd_coordination.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/mpi/lock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAP "jd_shard_map"

/* What others have failed with comes a moment before one's own. */
#define NOTIFICATION_SECONDS 1.0

/* One body, on its thread. */
struct body_run {
    pthread_t thread;
    jd_shard *shard;
    jd_status (*body)(jd_shard *shard, void *arg);
    void *arg;
};

/* ---- failing ------------------------------------------------------------ */

/* Others of the job are told, unless it is they who failed; before the waits
 * here are ended, because that ends waits there too, and their bodies must not
 * be the first to say so. */
static void tell_job(const struct jd_mesh *mesh, jd_status status,
                     const char *sentence)
{
    if (mesh->runtime->world.count > 1 &&
        (status == JD_ABORTED || status == JD_UNAVAILABLE))
        jd__failure_exit_await_notification(NOTIFICATION_SECONDS);
    if (!jd__failure_exit_has_begun())
        jd_report_error(status, sentence);
}

static void end_bodies(struct jd_mesh *mesh, jd_status status,
                       const char *sentence)
{
    if (!jd__body_failure_set(&mesh->body_failure, status, sentence))
        return;
    tell_job(mesh, status, sentence);
    for (int i = 0; i < mesh->num_shards; i++)
        jd__shard_abort(&mesh->shards[i]);
}

static void fail_body(const struct jd_shard *shard, jd_status status)
{
    char *sentence;
    const char *text = jd_error_message();
    const jd_device *device = shard->mesh->devices[shard->position];
    if (asprintf(&sentence, MAP ": device %lld (process %d, number %d): %s: %s",
                 (long long)device->id, device->process_index,
                 device->local_ordinal, jd_status_name(status),
                 *text ? text
                       : "the body gave no sentence; jd_fail_with() gives "
                         "one") < 0)
        sentence = NULL;
    end_bodies(shard->mesh, status, sentence ? sentence : text);
    free(sentence);
}

static jd_status check_no_group(const struct jd_shard *shard)
{
    bool is_open = shard->group.is_open;
    for (const struct jd_shard *derived = atomic_load(&shard->derived); derived;
         derived = derived->next)
        is_open = is_open || derived->group.is_open;
    if (!is_open)
        return JD_OK;
    return jd_fail(JD_FAILED_PRECONDITION,
                   "the body has returned between jd_group_begin() and "
                   "jd_group_end(); call jd_group_end() before");
}

static void *run_body(void *arg)
{
    struct body_run *run = arg;
    char *before = jd__message_take(); /* not the body's, on its own thread */
    jd__runtime_enter_body();
    jd_status status = run->body(run->shard, run->arg);
    jd__runtime_leave_body();
    if (status == JD_OK)
        status = check_no_group(run->shard);
    if (status != JD_OK)
        fail_body(run->shard, status);
    jd__message_give_back(before);
    return NULL;
}

/* On a thread that is here for it. */
static void *run_on_own_thread(void *run)
{
    jd__standing_count_own(); /* it may do what others wait for */
    return run_body(run);
}

/* ---- running ------------------------------------------------------------ */

static void run_all(struct jd_mesh *mesh, struct body_run *runs)
{
    int started = 0, error = 0;
    for (; started < mesh->num_shards && error == 0; started += error == 0)
        error = pthread_create(&runs[started].thread, NULL, run_on_own_thread,
                               &runs[started]);
    if (error != 0) {
        char sentence[160];
        snprintf(sentence, sizeof sentence,
                 MAP ": the thread of device %d of %d cannot be started: %s",
                 started, mesh->num_shards, strerror(error));
        end_bodies(mesh, JD_RESOURCE_EXHAUSTED, sentence);
    }
    jd__standing_know_all();
    jd__standing_rest();
    for (int i = 0; i < started; i++)
        pthread_join(runs[i].thread, NULL);
    jd__standing_go_on();
}

static jd_status run_on_threads(struct jd_mesh *mesh,
                                const struct body_run *first)
{
    size_t bytes = (size_t)mesh->num_shards * sizeof(struct body_run);
    struct body_run *runs = calloc((size_t)mesh->num_shards, sizeof *runs);
    if (!runs)
        return jd__fail_no_memory(MAP, bytes);
    for (int i = 0; i < mesh->num_shards; i++) {
        runs[i] = *first;
        runs[i].shard = &mesh->shards[i];
    }
    run_all(mesh, runs);
    free(runs);
    return JD_OK;
}

static jd_status check_arguments(const jd_mesh *mesh,
                                 jd_status (*body)(jd_shard *shard, void *arg))
{
    if (!mesh || !body)
        return jd_fail(JD_INVALID_ARGUMENT, MAP ": %s is NULL",
                       mesh ? "body" : "mesh");
    jd_status status = jd__mesh_check_world(mesh, MAP);
    if (status == JD_OK)
        status = jd__body_failure_check(&mesh->body_failure, MAP, "");
    return status;
}

jd_status jd_shard_map(jd_mesh *mesh,
                       jd_status (*body)(jd_shard *shard, void *arg), void *arg)
{
    jd_status status = check_arguments(mesh, body);
    if (status == JD_OK && mesh->runtime->world.count > 1)
        status = jd__mpi_check_devices(MAP, mesh->num_shards);
    if (status != JD_OK)
        return status;
    struct body_run run = { .shard = mesh->shards, .body = body, .arg = arg };
    if (mesh->num_shards == 1)
        run_body(&run);
    else if (mesh->num_shards > 1) {
        jd__cores_warn_of_devices(mesh);
        status = run_on_threads(mesh, &run);
    }
    struct jd_body_failure *failure = &mesh->body_failure;
    if (status != JD_OK || !atomic_load(&failure->happened))
        return status;
    return jd_fail(failure->status, "%s",
                   failure->sentence ? failure->sentence
                                     : MAP ": a body failed (no memory for "
                                           "its sentence)");
}
