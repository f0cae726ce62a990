/* SPDX-License-Identifier: BSD-3-Clause */
/* agree_list.c - lists of processes, and what they say that they call. */
#include "collectives/mesh/agree_list.h"
#include "base/digest.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/recorder/recorder.h"
#include "runtime/recorder/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of processes -------------------------------------------------- */

/* A list and nothing else. */
static jd_status make_list(const struct jd_runtime *runtime,
                           const char *operation,
                           void (*mark)(const void *arg, char *marks),
                           const void *arg, struct jd_agree_list **ret_list)
{
    int count = runtime->world.count;
    struct jd_agree_list *list = NULL;
    size_t bytes = sizeof *list + (size_t)count * (sizeof(int) + 1);
    list = calloc(1, bytes);
    if (!list)
        return jd__fail_no_memory(operation, bytes);
    char *marks = (char *)(list->processes + count);
    if (mark)
        mark(arg, marks);
    list->index = -1;
    for (int i = 0; i < count; i++) {
        if (mark && !marks[i])
            continue;
        if (i == runtime->world.index)
            list->index = list->size;
        list->processes[list->size++] = i;
    }
    *ret_list = list;
    return JD_OK;
}

static bool is_same_list(const struct jd_agree_list *a,
                         const struct jd_agree_list *b)
{
    return a->size == b->size &&
           memcmp(a->processes, b->processes,
                  (size_t)a->size * sizeof *a->processes) == 0;
}

/* The one with that list, moved to the front; or NULL. */
static struct jd_agree_list *find_list(struct jd_agree_lists *lists,
                                       const struct jd_agree_list *list)
{
    struct jd_agree_list **link = &lists->first, *found;
    while (*link && !is_same_list(*link, list))
        link = &(*link)->next;
    found = *link;
    if (!found)
        return NULL;
    *link = found->next;
    found->next = lists->first;
    lists->first = found;
    return found;
}

/* ---- opening ------------------------------------------------------------ */

static void forget_all(struct jd_agree_lists *lists, uint64_t world)
{
    struct jd_agree_list *next;
    for (struct jd_agree_list *list = lists->first; list; list = next) {
        next = list->next;
        jd__channel_destroy(list->channel);
        jd__recorder_comm_put(list->recorded);
        free(list);
    }
    jd__failure_finish(&lists->failure);
    lists->first = NULL;
    lists->world = world;
}

/* Keeps the list, with a channel; frees it after a failure. */
static jd_status open_channel(struct jd_agree_lists *lists,
                              const struct jd_runtime *runtime,
                              const char *operation, struct jd_agree_list *list)
{
    struct jd_channel_spec spec = {
        .runtime = runtime,
        .processes = list->processes,
        .size = list->size,
        .index = list->index,
        .tag = lists->tag,
    };
    jd_status status = jd__channel_create(&spec, operation, &list->channel);
    if (status != JD_OK) {
        free(list);
        return status;
    }
    uint64_t id = jd__digest((uint64_t)lists->tag, list->processes,
                             (size_t)list->size * sizeof *list->processes);
    list->recorded =
        jd__recorder_comm_get(id, list->index, list->size, lists->name);
    list->lists = lists;
    list->next = lists->first;
    lists->first = list;
    return JD_OK;
}

/* Takes the list; gives NULL where this process is not in it. */
static jd_status open_list(struct jd_agree_lists *lists,
                           const struct jd_runtime *runtime,
                           const char *operation, struct jd_agree_list *list,
                           struct jd_agree_list **ret_list)
{
    struct jd_agree_list *found =
        list->index >= 0 ? find_list(lists, list) : NULL;
    jd_status status = JD_OK;
    if (list->index >= 0 && !found)
        status = open_channel(lists, runtime, operation, found = list);
    else
        free(list);
    if (status == JD_OK)
        *ret_list = found;
    return status;
}

/* The same, in the world in force. */
static jd_status look_up(struct jd_agree_lists *lists,
                         const struct jd_runtime *runtime,
                         const char *operation, struct jd_agree_list *list,
                         struct jd_agree_list **ret_list)
{
    pthread_mutex_lock(&lists->lock);
    if (lists->world != runtime->number)
        forget_all(lists, runtime->number);
    jd_status status = jd__failure_check(&lists->failure, operation, "");
    if (status == JD_OK)
        status = open_list(lists, runtime, operation, list, ret_list);
    else
        free(list);
    pthread_mutex_unlock(&lists->lock);
    return status;
}

jd_status jd__agree_list_enter(struct jd_agree_lists *lists,
                               const char *operation,
                               void (*mark)(const void *arg, char *marks),
                               const void *arg, struct jd_agree_list **ret_list)
{
    const struct jd_runtime *runtime;
    struct jd_agree_list *made = NULL, *list = NULL;
    jd_status status = jd__runtime_get(&runtime, operation);
    if (status == JD_OK)
        status = jd__failure_exit_check(operation);
    if (status != JD_OK)
        return status;
    status = make_list(runtime, operation, mark, arg, &made);
    if (status == JD_OK)
        status = look_up(lists, runtime, operation, made, &list);
    if (status != JD_OK)
        return status;
    if (list) {
        jd__recorder_enter(&(struct jd_recorder_call){
            .operation = operation,
            .comm = list->recorded,
        });
        jd__channel_begin(list->channel, operation, NULL);
        list->operation = operation;
    }
    *ret_list = list;
    return JD_OK;
}

jd_status jd__agree_list_leave(struct jd_agree_list *list, jd_status status)
{
    list->operation = NULL;
    return jd__recorder_leave(status);
}

/* ---- meeting ------------------------------------------------------------ */

enum { SITE_FOLLOWS = '\n' }; /* in what a process says that it calls */

/* What a process calls, and where in its program; the place may be "". */
struct call_text {
    struct jd_site_text site;
    char text[1280 - sizeof(struct jd_site_text)];
};

static void print_call(const struct jd_agree_call *call, char *own)
{
    struct call_text said = { .site = jd__site_of_caller() };
    call->print(call->arg, said.text, sizeof said.text);
    snprintf(own, sizeof said, "%s%c%s", said.text, SITE_FOLLOWS,
             said.site.text);
}

static struct call_text read_call(const char *text)
{
    struct call_text said = { .text = "" };
    size_t length = strcspn(text, (const char[]){ SITE_FOLLOWS, 0 });
    snprintf(said.text, sizeof said.text, "%.*s", (int)length, text);
    if (text[length])
        snprintf(said.site.text, sizeof said.site.text, "%s",
                 text + length + 1);
    return said;
}

static jd_status fail_calls(const struct jd_agree_list *list,
                            const struct jd_merge_said *odd,
                            const struct jd_merge_said *other,
                            const char *odd_text, const char *other_text)
{
    struct call_text one = read_call(odd_text), two = read_call(other_text);
    jd_fail(JD_INVALID_ARGUMENT,
            "%s: process %d calls %s, process %d calls %s%s; %s",
            list->operation, odd->process, one.text, other->process, two.text,
            jd__signature_describe_sites(&odd->signature, &other->signature),
            list->lists->duty);
    jd__site_fail_both(JD_INVALID_ARGUMENT, odd->process, one.site.text,
                       other->process, two.site.text);
    return JD_INVALID_ARGUMENT;
}

/* All know that they came for different things; now they say for what. */
static jd_status fail_mismatch(struct jd_agree_list *list,
                               const struct jd_agree_call *call,
                               const struct jd_merge *merge)
{
    char own[sizeof(struct call_text)];
    const char *odd_text, *other_text;
    const struct jd_merge_said *odd = &merge->other, *other = &merge->first;
    print_call(call, own);
    jd__merge_differs(merge, &odd, &other);
    jd_status status =
        jd__failure_note(&list->lists->failure,
                         jd__merge_explain(list->channel, merge, own,
                                           sizeof own, &odd_text, &other_text));
    if (status != JD_OK)
        return status;
    return fail_calls(list, odd, other, odd_text, other_text);
}

jd_status jd__agree_list_meet(struct jd_agree_list *list,
                              const struct jd_agree_call *call,
                              struct jd_merge *ret_merge)
{
    const struct jd_merge_said *odd, *other;
    /* A failure that is the meeting's own leaves processes out of step. */
    jd_status status = jd__failure_note(
        &list->lists->failure,
        jd__merge_meet(list->channel, &call->merge, ret_merge));
    if (status == JD_OK && jd__merge_differs(ret_merge, &odd, &other))
        return fail_mismatch(list, call, ret_merge);
    return status == JD_OK ? jd__merge_check_status(list->channel, ret_merge)
                           : status;
}
