/* SPDX-License-Identifier: BSD-3-Clause */
/* array_agree.c - how the processes of one or two shardings come to a call. */
#include "arrays/array/array_agree.h"
#include "base/digest.h"
#include "collectives/channel/merge.h"
#include "collectives/mesh/failure.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/recorder/recorder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One list of processes that has met. */
struct jd_array_agree {
    struct jd_array_agree *next;
    const char *operation; /* under way */
    struct jd_channel *group;
    struct jd_ring_comm *recorded;
    int index;
    int size;
    int processes[]; /* rising */
};

/* Of the world in force, the last one used first. Their messages have the same
 * tag: lists that share processes call in the same order there. */
static struct {
    pthread_mutex_t lock; /* of the list; never held while anybody waits */
    uint64_t world;       /* the number of the runtime; 0: none yet */
    struct jd_array_agree *first;
    struct jd_failure failure;
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- lists of processes -------------------------------------------------- */

static void mark(char *marks, const jd_sharding *sharding)
{
    for (int i = 0; sharding && i < sharding->num_devices; i++)
        marks[sharding->devices[i]->process_index] = 1;
}

/* A list and nothing else. */
static jd_status make_list(const struct jd_runtime *runtime,
                           const char *operation,
                           const struct jd_invited *invited,
                           struct jd_array_agree **ret_list)
{
    int count = runtime->world.count;
    struct jd_array_agree *list = NULL;
    size_t bytes = sizeof *list + (size_t)count * (sizeof(int) + 1);
    list = calloc(1, bytes);
    if (!list)
        return jd__fail_no_memory(operation, bytes);
    char *marks = (char *)(list->processes + count);
    mark(marks, invited->a);
    mark(marks, invited->b);
    if (invited->extra >= 0)
        marks[invited->extra] = 1;
    list->index = -1;
    for (int i = 0; i < count; i++) {
        if (!marks[i])
            continue;
        if (i == runtime->world.index)
            list->index = list->size;
        list->processes[list->size++] = i;
    }
    *ret_list = list;
    return JD_OK;
}

static bool is_same_list(const struct jd_array_agree *a,
                         const struct jd_array_agree *b)
{
    return a->size == b->size &&
           memcmp(a->processes, b->processes,
                  (size_t)a->size * sizeof *a->processes) == 0;
}

/* The one with that list, moved to the front; or NULL. */
static struct jd_array_agree *find(const struct jd_array_agree *list)
{
    struct jd_array_agree **link = &kept.first, *found;
    while (*link && !is_same_list(*link, list))
        link = &(*link)->next;
    found = *link;
    if (!found)
        return NULL;
    *link = found->next;
    found->next = kept.first;
    kept.first = found;
    return found;
}

/* ---- opening ------------------------------------------------------------ */

static void forget_all(uint64_t world)
{
    struct jd_array_agree *next;
    for (struct jd_array_agree *g = kept.first; g; g = next) {
        next = g->next;
        jd__channel_destroy(g->group);
        jd__recorder_comm_put(g->recorded);
        free(g);
    }
    jd__failure_finish(&kept.failure);
    kept.first = NULL;
    kept.world = world;
}

/* Keeps the list, with a group; frees it after a failure. */
static jd_status open_group(const struct jd_runtime *runtime,
                            const char *operation, struct jd_array_agree *list)
{
    struct jd_channel_spec spec = {
        .runtime = runtime,
        .processes = list->processes,
        .size = list->size,
        .index = list->index,
        .tag = JD_TAG_ARRAYS,
    };
    jd_status status = jd__channel_create(&spec, operation, &list->group);
    if (status != JD_OK) {
        free(list);
        return status;
    }
    uint64_t id = jd__digest(JD_TAG_ARRAYS, list->processes,
                             (size_t)list->size * sizeof *list->processes);
    list->recorded = jd__recorder_comm_get(id, list->index, list->size,
                                           "the arrays' processes");
    list->next = kept.first;
    kept.first = list;
    return JD_OK;
}

/* Takes the list; gives NULL where this process is not in it. */
static jd_status open_list(const struct jd_runtime *runtime,
                           const char *operation, struct jd_array_agree *list,
                           struct jd_array_agree **ret_array_agree)
{
    struct jd_array_agree *found = list->index >= 0 ? find(list) : NULL;
    jd_status status = JD_OK;
    if (list->index >= 0 && !found)
        status = open_group(runtime, operation, found = list);
    else
        free(list);
    if (status == JD_OK)
        *ret_array_agree = found;
    return status;
}

/* The same, in the world in force. */
static jd_status look_up(const struct jd_runtime *runtime,
                         const char *operation, struct jd_array_agree *list,
                         struct jd_array_agree **ret_array_agree)
{
    pthread_mutex_lock(&kept.lock);
    if (kept.world != runtime->number)
        forget_all(runtime->number);
    jd_status status = jd__failure_check(&kept.failure, operation, "");
    if (status == JD_OK)
        status = open_list(runtime, operation, list, ret_array_agree);
    else
        free(list);
    pthread_mutex_unlock(&kept.lock);
    return status;
}

jd_status jd__array_agree_enter(const char *operation,
                                const struct jd_invited *invited,
                                struct jd_array_agree **ret_array_agree)
{
    const struct jd_runtime *runtime;
    struct jd_array_agree *list = NULL, *array_agree = NULL;
    jd_status status = jd__runtime_get(&runtime, operation);
    if (status == JD_OK)
        status = jd__failure_exit_check(operation);
    if (status != JD_OK)
        return status;
    status = make_list(runtime, operation, invited, &list);
    if (status == JD_OK)
        status = look_up(runtime, operation, list, &array_agree);
    if (status != JD_OK)
        return status;
    if (array_agree) {
        jd__recorder_enter(&(struct jd_recorder_call){
            .operation = operation,
            .comm = array_agree->recorded,
        });
        jd__channel_begin(array_agree->group, operation, NULL);
        array_agree->operation = operation;
    }
    *ret_array_agree = array_agree;
    return JD_OK;
}

jd_status jd__array_agree_leave(struct jd_array_agree *array_agree,
                                jd_status status)
{
    array_agree->operation = NULL;
    return jd__recorder_leave(status);
}

int jd__array_agree_size(const struct jd_array_agree *array_agree)
{
    return array_agree->size;
}

int jd__array_agree_process(const struct jd_array_agree *array_agree, int i)
{
    return array_agree->processes[i];
}

/* ---- sharing ------------------------------------------------------------ */

/* All know that they came for different things; now they say for what. */
static jd_status fail_mismatch(struct jd_array_agree *g,
                               const struct jd_merge *merge, const char *what)
{
    char text[1024];
    const char *odd_text, *other_text;
    const struct jd_merge_said *odd = &merge->other, *other = &merge->first;
    snprintf(text, sizeof text, "%s of %s", g->operation, what);
    jd__merge_differs(merge, &odd, &other);
    jd_status status = jd__failure_note(
        &kept.failure, jd__merge_explain(g->group, merge, text, sizeof text,
                                         &odd_text, &other_text));
    if (status != JD_OK)
        return status;
    return jd_fail(
        JD_INVALID_ARGUMENT,
        "%s: process %d calls %s, process %d calls %s; all "
        "processes of the meshes must make the same calls in the same "
        "order",
        g->operation, odd->process, odd_text, other->process, other_text);
}

static struct jd_signature sign(const struct jd_array_agree *g,
                                jd_status status, const char *what,
                                size_t bytes)
{
    uint64_t digest = jd__digest(0, g->operation, strlen(g->operation) + 1);
    return (struct jd_signature){
        .activity = JD_ACTIVITY_COUNT, /* nobody else meets with this tag */
        .source = -1,
        .status = status,
        .count = bytes,
        .digest = jd__digest(digest, what, strlen(what)),
    };
}

jd_status jd__array_agree_share(struct jd_array_agree *g, jd_status status,
                                const char *what, const void *own, size_t bytes,
                                void *all)
{
    struct jd_merge merge;
    const struct jd_merge_said *odd, *other;
    struct jd_merge_call call = { .signature = sign(g, status, what, bytes),
                                  .record = own,
                                  .bytes = bytes,
                                  .all = all };
    /* A failure that is the meeting's own leaves processes out of step. */
    status = jd__failure_note(&kept.failure,
                              jd__merge_meet(g->group, &call, &merge));
    if (status == JD_OK && jd__merge_differs(&merge, &odd, &other))
        return fail_mismatch(g, &merge, what);
    return status == JD_OK ? jd__merge_check_status(g->group, &merge) : status;
}
