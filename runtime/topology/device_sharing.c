/* SPDX-License-Identifier: BSD-3-Clause */
/* device_sharing.c - which of the devices that the processes of a host see are
 * each one's own. */
#include "runtime/topology/device_sharing.h"
#include "base/ranges.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INITIALIZE "jd_initialize: "
#define LET_SEE "CUDA_VISIBLE_DEVICES, srun --gpus-per-task"

/* What one process sees of the platform, and what is its own of that. */
struct view {
    struct jd_record *record;
    const struct jd_device_record **seen;
    int num_seen;
    const struct jd_device_record **own; /* as much room as seen has */
    int num_own;
    struct view *leader; /* the first of its host that sees the same */
    int num_alike;       /* of a leader: how many do */
};

struct sharing {
    struct jd_records *records;
    const char *platform;
    bool shares; /* JD_OVERSUBSCRIBE, of any process */
    bool is_short;
    struct view *views;
    struct view **sorted; /* by host, then by process */
    const struct jd_device_record **places;
};

/* ---- what they see ------------------------------------------------------ */

static bool is_shareable(const struct sharing *s,
                         const struct jd_device_record *d)
{
    return d->device.uuid[0] && strcmp(d->platform, s->platform) == 0;
}

/* Fills in the view; returns the first place behind it. */
static const struct jd_device_record **
look_at_devices(const struct sharing *s, struct view *view,
                const struct jd_device_record **places)
{
    const struct jd_record *record = view->record;
    view->seen = places;
    for (int i = 0; i < record->num_devices; i++)
        if (is_shareable(s, &record->devices[i]))
            view->seen[view->num_seen++] = &record->devices[i];
    view->own = view->seen + view->num_seen;
    return view->own + view->num_seen;
}

static int compare_hosts(const struct view *a, const struct view *b)
{
    int order = strcmp(a->record->facts.host, b->record->facts.host);
    return order ? order
                 : strcmp(a->record->facts.boot_id, b->record->facts.boot_id);
}

static int compare_views(const void *left, const void *right)
{
    const struct view *a = *(const struct view *const *)left;
    const struct view *b = *(const struct view *const *)right;
    int order = compare_hosts(a, b);
    return order ? order : a->record->process_id - b->record->process_id;
}

static void close_sharing(struct sharing *s)
{
    free(s->views);
    free(s->sorted);
    free(s->places);
}

static jd_status open_sharing(struct sharing *s)
{
    size_t count = (size_t)s->records->count, places = 1;
    for (int i = 0; i < s->records->count; i++)
        places += 2 * (size_t)s->records->items[i]->num_devices;
    s->views = calloc(count, sizeof *s->views);
    s->sorted = calloc(count, sizeof *s->sorted);
    s->places = calloc(places, sizeof *s->places);
    if (!s->views || !s->sorted || !s->places)
        return jd__fail_no_memory("jd_initialize", places * sizeof *s->places);
    const struct jd_device_record **place = s->places;
    for (size_t i = 0; i < count; i++) {
        s->views[i].record = s->records->items[i];
        s->shares = s->shares || s->views[i].record->shares_devices;
        place = look_at_devices(s, &s->views[i], place);
        s->sorted[i] = &s->views[i];
    }
    qsort(s->sorted, count, sizeof *s->sorted, compare_views);
    return JD_OK;
}

/* ---- local_device_ids --------------------------------------------------- */

static jd_status fail_range(const struct view *view, int id)
{
    const struct jd_record *r = view->record;
    char most[32] = "";
    if (view->num_seen > 1)
        snprintf(most, sizeof most, " to %d", view->num_seen - 1);
    return jd_fail(JD_INVALID_ARGUMENT,
                   INITIALIZE "%s of process %d (pid %d on %s) names the GPU "
                              "%d, but the process sees %d, which %s 0%s; "
                              "correct it or leave it out",
                   r->device_ids_source, r->process_id, r->facts.pid,
                   r->facts.host, id, view->num_seen,
                   view->num_seen == 1 ? "is" : "are", most);
}

static jd_status fail_named_twice(const struct view *view, int id)
{
    const struct jd_record *r = view->record;
    return jd_fail(JD_INVALID_ARGUMENT,
                   INITIALIZE "%s of process %d (pid %d on %s) names the GPU "
                              "%d twice; name each once",
                   r->device_ids_source, r->process_id, r->facts.pid,
                   r->facts.host, id);
}

static bool has_own(const struct view *view, const struct jd_device_record *d)
{
    for (int i = 0; i < view->num_own; i++)
        if (view->own[i] == d)
            return true;
    return false;
}

static jd_status take_named(struct view *view)
{
    const int32_t *ids = jd__record_device_ids(view->record);
    int count = view->num_seen ? view->record->num_device_ids : 0;
    for (int i = 0; i < count; i++) {
        if (ids[i] < 0 || ids[i] >= view->num_seen)
            return fail_range(view, ids[i]);
        if (has_own(view, view->seen[ids[i]]))
            return fail_named_twice(view, ids[i]);
        view->own[view->num_own++] = view->seen[ids[i]];
    }
    return JD_OK;
}

/* ---- the processes of a host -------------------------------------------- */

static const struct jd_device_record *find_device(const struct view *view,
                                                  const char *uuid)
{
    for (int i = 0; i < view->num_seen; i++)
        if (strcmp(view->seen[i]->device.uuid, uuid) == 0)
            return view->seen[i];
    return NULL;
}

/* The first device of a that b sees too. */
static const struct jd_device_record *find_common(const struct view *a,
                                                  const struct view *b)
{
    for (int i = 0; i < a->num_seen; i++)
        if (find_device(b, a->seen[i]->device.uuid))
            return a->seen[i];
    return NULL;
}

static bool sees_the_same(const struct view *a, const struct view *b)
{
    if (a->num_seen != b->num_seen)
        return false;
    for (int i = 0; i < a->num_seen; i++)
        if (!find_device(b, a->seen[i]->device.uuid))
            return false;
    return true;
}

static jd_status fail_overlap(const struct view *a, const struct view *b,
                              const struct jd_device_record *common)
{
    return jd_fail(JD_FAILED_PRECONDITION,
                   INITIALIZE
                   "on host %s process %d sees %d GPU%s and process %d sees "
                   "%d, and both see %s: the two lists are neither the same "
                   "nor apart, so that it is nobody's; let all processes of "
                   "the host see the same GPUs, or each its own (" LET_SEE
                   "), or say which are whose (JD_LOCAL_DEVICE_IDS), or use "
                   "none (JD_PLATFORM=cpu)",
                   a->record->facts.host, a->record->process_id, a->num_seen,
                   jd__text_s(a->num_seen), b->record->process_id, b->num_seen,
                   common->device.uuid);
}

/* Prints the processes of the leader's that see the same. */
static char *list_alike(const struct view *leader, struct view *const *host,
                        int count)
{
    struct jd_text text = { .out = NULL };
    int *numbers = calloc((size_t)count, sizeof *numbers), n = 0;
    FILE *out = numbers ? jd__text_begin(&text) : NULL;
    for (int i = 0; numbers && i < count; i++)
        if (host[i]->leader == leader)
            numbers[n++] = host[i]->record->process_id;
    if (out)
        jd__ranges_print(out, numbers, n);
    free(numbers);
    return jd__text_end(&text);
}

static jd_status fail_fewer(const struct view *leader, struct view *const *host,
                            int count)
{
    char *processes = list_alike(leader, host, count);
    jd_fail(JD_FAILED_PRECONDITION,
            INITIALIZE "on host %s %d processes (%s) see the same %d GPU%s; "
                       "start at most %d there, or give each GPUs of its own "
                       "(" LET_SEE "), or let them share (JD_OVERSUBSCRIBE=1), "
                       "or use none (JD_PLATFORM=cpu)",
            leader->record->facts.host, leader->num_alike,
            processes ? processes : "?", leader->num_seen,
            jd__text_s(leader->num_seen), leader->num_seen);
    free(processes);
    return JD_FAILED_PRECONDITION;
}

/* Only those count whose own devices nobody has named. */
static bool is_open(const struct view *view)
{
    return view->num_seen > 0 && view->record->num_device_ids == 0;
}

/* Finds the view's leader among those before it, of which it has something in
 * common with that one alone. */
static jd_status join_view(struct view *const *host, int index)
{
    struct view *view = host[index];
    view->leader = view;
    for (int i = 0; i < index; i++) {
        struct view *other = host[i];
        const struct jd_device_record *common =
            other->leader == other ? find_common(view, other) : NULL;
        if (common && !sees_the_same(view, other))
            return fail_overlap(other, view, common);
        if (common)
            view->leader = other;
    }
    view->leader->num_alike++;
    return JD_OK;
}

/* In the order of the leader's list: a launcher may turn each one's. */
static void take_one(struct view *view, int number)
{
    const struct view *leader = view->leader;
    const struct jd_device_record *d = leader->seen[number % leader->num_seen];
    view->own[view->num_own++] = find_device(view, d->device.uuid);
}

static void take_all(struct view *view)
{
    for (int i = 0; i < view->num_seen; i++)
        view->own[view->num_own++] = view->seen[i];
}

/* Which of those that see the same the view is. */
static int number_of(struct view *const *host, int index)
{
    int number = 0;
    for (int i = 0; i < index; i++)
        number += host[i]->leader == host[index]->leader;
    return number;
}

static jd_status share_host(struct sharing *s, struct view *const *host,
                            int count)
{
    jd_status status = JD_OK;
    for (int i = 0; status == JD_OK && i < count; i++)
        if (is_open(host[i]))
            status = join_view(host, i);
    for (int i = 0; status == JD_OK && i < count; i++) {
        const struct view *leader = host[i]->leader;
        if (!leader)
            continue;
        s->is_short = leader->num_alike > leader->num_seen && !s->shares;
        if (s->is_short)
            status = fail_fewer(leader, host, count);
        else if (leader->num_alike == 1)
            take_all(host[i]);
        else
            take_one(host[i], number_of(host, i));
    }
    return status;
}

/* ---- devices that are taken twice --------------------------------------- */

struct taken {
    const struct jd_device_record *device;
    const struct jd_record *record;
};

static int compare_taken(const void *left, const void *right)
{
    const struct taken *a = left, *b = right;
    int order = strcmp(a->device->device.uuid, b->device->device.uuid);
    return order ? order : a->record->process_id - b->record->process_id;
}

static jd_status fail_taken_twice(const struct taken *a, const struct taken *b)
{
    const struct jd_record *first = a->record, *second = b->record;
    return jd_fail(
        JD_FAILED_PRECONDITION,
        INITIALIZE "process %d (pid %d on %s%s%s) and process %d (pid %d on "
                   "%s%s%s) take the same GPU, %s; give each its own "
                   "(JD_LOCAL_DEVICE_IDS, CUDA_VISIBLE_DEVICES), or let them "
                   "share (JD_OVERSUBSCRIBE=1)",
        first->process_id, first->facts.pid, first->facts.host,
        first->num_device_ids ? ", by " : "", first->device_ids_source,
        second->process_id, second->facts.pid, second->facts.host,
        second->num_device_ids ? ", by " : "", second->device_ids_source,
        a->device->device.uuid);
}

static jd_status check_taken(const struct sharing *s)
{
    size_t count = 0, room = 1;
    jd_status status = JD_OK;
    for (int i = 0; i < s->records->count; i++)
        room += (size_t)s->views[i].num_own;
    struct taken *all = malloc(room * sizeof *all);
    if (!all)
        return jd__fail_no_memory("jd_initialize", room * sizeof *all);
    for (int i = 0; i < s->records->count; i++)
        for (int k = 0; k < s->views[i].num_own; k++)
            all[count++] =
                (struct taken){ s->views[i].own[k], s->views[i].record };
    qsort(all, count, sizeof *all, compare_taken);
    for (size_t i = 1; status == JD_OK && i < count; i++)
        if (strcmp(all[i - 1].device->device.uuid,
                   all[i].device->device.uuid) == 0)
            status = fail_taken_twice(&all[i - 1], &all[i]);
    free(all);
    return status;
}

/* ---- the records -------------------------------------------------------- */

/* Copies what is wanted of the record's devices to the list; how many. */
static int keep_others(const struct sharing *s, const struct view *view,
                       struct jd_device_record *list)
{
    int count = 0;
    for (int i = 0; i < view->record->num_devices; i++)
        if (!is_shareable(s, &view->record->devices[i]))
            list[count++] = view->record->devices[i];
    return count;
}

static int keep_unowned(const struct view *view, struct jd_device_record *list)
{
    int count = 0;
    for (int i = 0; i < view->num_seen; i++)
        if (!has_own(view, view->seen[i]))
            list[count++] = *view->seen[i];
    return count;
}

/* list has room for the record's devices, but for those that are unowned
 * already: they stay at the end. */
static void arrange_devices(const struct sharing *s, struct view *view,
                            struct jd_device_record *list)
{
    int count = 0;
    for (int i = 0; i < view->num_own; i++)
        list[count++] = *view->own[i];
    count += keep_others(s, view, list + count);
    int num_unowned = keep_unowned(view, list + count);
    memcpy(view->record->devices, list,
           (size_t)view->record->num_devices * sizeof *list);
    view->record->num_devices = count;
    view->record->num_unowned += num_unowned;
}

static jd_status arrange_all(const struct sharing *s)
{
    size_t most = 1;
    for (int i = 0; i < s->records->count; i++)
        if ((size_t)s->records->items[i]->num_devices > most)
            most = (size_t)s->records->items[i]->num_devices;
    struct jd_device_record *list = malloc(most * sizeof *list);
    if (!list)
        return jd__fail_no_memory("jd_initialize", most * sizeof *list);
    for (int i = 0; i < s->records->count; i++)
        if (s->views[i].num_seen)
            arrange_devices(s, &s->views[i], list);
    free(list);
    return JD_OK;
}

/* ---- the whole ---------------------------------------------------------- */

static jd_status share_all(struct sharing *s)
{
    jd_status status = JD_OK;
    int count = s->records->count, end;
    for (int i = 0; status == JD_OK && i < count; i++)
        status = take_named(&s->views[i]);
    for (int begin = 0; status == JD_OK && begin < count; begin = end) {
        for (end = begin + 1; end < count; end++)
            if (compare_hosts(s->sorted[begin], s->sorted[end]) != 0)
                break;
        status = share_host(s, s->sorted + begin, end - begin);
    }
    if (status == JD_OK && !s->shares)
        status = check_taken(s);
    return status;
}

jd_status jd__device_sharing_decide(struct jd_records *records,
                                    const char *platform, bool *ret_is_short)
{
    struct sharing s = { .records = records, .platform = platform };
    jd_status status = open_sharing(&s);
    if (status == JD_OK)
        status = share_all(&s);
    if (status == JD_OK)
        status = arrange_all(&s);
    *ret_is_short = s.is_short;
    close_sharing(&s);
    return status;
}

jd_status jd__device_sharing_drop(struct jd_records *records,
                                  const char *platform)
{
    struct sharing s = { .records = records, .platform = platform };
    jd_status status = open_sharing(&s);
    if (status == JD_OK)
        status = arrange_all(&s);
    close_sharing(&s);
    return status;
}
