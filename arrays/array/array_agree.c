/* SPDX-License-Identifier: BSD-3-Clause */
/* array_agree.c - how the processes of one or two shardings come to a call. */
#include "arrays/array/array_agree.h"
#include "base/digest.h"
#include "runtime/recorder/site.h"

#include <stdio.h>
#include <string.h>

static struct jd_agree_lists lists = JD_AGREE_LISTS(
    JD_TAG_ARRAYS, "the arrays' processes",
    "all processes of the meshes must make the same calls in the same order");

static void mark_devices(char *marks, const jd_sharding *sharding)
{
    for (int i = 0; sharding && i < sharding->num_devices; i++)
        marks[sharding->devices[i]->process_index] = 1;
}

static void mark_invited(const void *arg, char *marks)
{
    const struct jd_invited *invited = arg;
    mark_devices(marks, invited->a);
    mark_devices(marks, invited->b);
    if (invited->extra >= 0)
        marks[invited->extra] = 1;
}

jd_status jd__array_agree_enter(const char *operation,
                                const struct jd_invited *invited,
                                struct jd_agree_list **ret_list)
{
    return jd__agree_list_enter(&lists, operation, mark_invited, invited,
                                ret_list);
}

jd_status jd__array_agree_leave(struct jd_agree_list *list, jd_status status)
{
    return jd__agree_list_leave(list, status);
}

/* What is shared, for sentences. */
struct shared_call {
    const char *operation, *what;
};

static void print_call(const void *arg, char *text, size_t size)
{
    const struct shared_call *call = arg;
    snprintf(text, size, "%s of %s", call->operation, call->what);
}

static struct jd_signature sign_call(const struct shared_call *call,
                                     jd_status status, size_t bytes)
{
    uint64_t digest =
        jd__digest(0, call->operation, strlen(call->operation) + 1);
    return (struct jd_signature){
        .activity = JD_ACTIVITY_COUNT, /* nobody else meets with this tag */
        .site = jd__site_compared(),
        .source = -1,
        .status = status,
        .count = bytes,
        .digest = jd__digest(digest, call->what, strlen(call->what)),
    };
}

jd_status jd__array_agree_share(struct jd_agree_list *list, jd_status status,
                                const char *what, const void *own, size_t bytes,
                                void *all)
{
    struct jd_merge merge;
    struct shared_call shared = { list->operation, what };
    struct jd_agree_call call = {
        .merge = { .signature = sign_call(&shared, status, bytes),
                   .record = own,
                   .bytes = bytes,
                   .all = all },
        .print = print_call,
        .arg = &shared,
    };
    return jd__agree_list_meet(list, &call, &merge);
}
