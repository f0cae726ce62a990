/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_members.c - the devices of two shardings in one order, and which of
 * those that have a block gives it to whom.
 */
#include "arrays/reshard/plan_private.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* ---- one order for all -------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    const struct jd_plan_member *x = a, *y = b;
    int64_t i = x->device->id, j = y->device->id;
    return (i > j) - (i < j);
}

static int compare_hosts(const void *a, const void *b)
{
    const struct jd_plan_member *x = a, *y = b;
    return x->host != y->host ? (x->host > y->host) - (x->host < y->host)
                              : compare_ids(a, b);
}

static void sort_members(struct jd_plan_member *members, int count,
                         int (*compare)(const void *, const void *))
{
    for (int i = 1; i < count; i++) {
        if (compare(&members[i - 1], &members[i]) <= 0)
            continue;
        qsort(members, (size_t)count, sizeof *members, compare);
        return;
    }
}

static bool has_same_devices(const struct jd_planning *p)
{
    const jd_sharding *a = p->from.sharding, *b = p->to.sharding;
    return a->num_devices == b->num_devices &&
           memcmp(a->devices, b->devices,
                  (size_t)a->num_devices * sizeof *a->devices) == 0;
}

/* Those of both shardings, some of them twice. */
static int list_all(struct jd_planning *p)
{
    const jd_sharding *from = p->from.sharding, *to = p->to.sharding;
    bool is_same = has_same_devices(p);
    int count = 0;
    for (int i = 0; i < from->num_devices; i++)
        p->members[count++] = (struct jd_plan_member){
            .device = from->devices[i], .from = i, .to = is_same ? i : -1
        };
    for (int i = 0; i < to->num_devices && !is_same; i++)
        p->members[count++] = (struct jd_plan_member){ .device = to->devices[i],
                                                       .from = -1,
                                                       .to = i };
    return count;
}

/* Of members by id: makes one of each two. */
static int merge_members(struct jd_plan_member *members, int count)
{
    int kept = 0;
    for (int i = 1; i < count; i++) {
        struct jd_plan_member *last = &members[kept], *next = &members[i];
        if (compare_ids(last, next) != 0) {
            members[++kept] = *next;
            continue;
        }
        last->from = next->from >= 0 ? next->from : last->from;
        last->to = next->to >= 0 ? next->to : last->to;
    }
    return count ? kept + 1 : 0;
}

/* The number of a name among those known, which get it where it is new. */
static int number_host(const char **known, int *count, const char *name)
{
    for (int i = *count - 1; i >= 0; i--)
        if (known[i] == name || strcmp(known[i], name) == 0)
            return i;
    known[*count] = name;
    return (*count)++;
}

/* Of members by id: a process is on one host. */
static jd_status number_hosts(struct jd_planning *p)
{
    size_t bytes = (size_t)p->num_members * sizeof(char *);
    const char **known = malloc(bytes);
    int count = 0;
    if (!known)
        return jd__fail_no_memory(p->spec->operation, bytes);
    for (int i = 0; i < p->num_members; i++) {
        struct jd_plan_member *m = &p->members[i];
        bool is_first =
            i == 0 || m->device->process_index != m[-1].device->process_index;
        m->host =
            is_first ? number_host(known, &count, m->device->host) : m[-1].host;
    }
    free(known);
    return JD_OK;
}

/* Where the members of each one's process and host begin and end. */
static void find_neighbours(struct jd_planning *p)
{
    int process = 0, host = 0;
    for (int i = 0; i < p->num_members; i++) {
        struct jd_plan_member *m = &p->members[i];
        if (m->device->process_index !=
            p->members[process].device->process_index)
            process = i;
        if (m->host != p->members[host].host)
            host = i;
        m->process_begin = process;
        m->host_begin = host;
    }
    for (int i = p->num_members - 1; i >= 0; i--) {
        struct jd_plan_member *m = &p->members[i];
        bool is_last = i == p->num_members - 1;
        m->process_end = is_last || m[1].process_begin != m->process_begin
                             ? i + 1
                             : m[1].process_end;
        m->host_end =
            is_last || m[1].host_begin != m->host_begin ? i + 1 : m[1].host_end;
    }
}

static jd_status check_platforms(const struct jd_planning *p)
{
    const char *from = p->from.sharding->devices[0]->platform;
    const char *to = p->to.sharding->devices[0]->platform;
    if (strcmp(from, to) == 0)
        return JD_OK;
    return jd_fail(JD_UNIMPLEMENTED,
                   "%s: the array is on %s devices, and the sharding on %s "
                   "ones; between platforms nothing is moved: "
                   "jd_array_to_host() or jd_process_allgather_array(), then "
                   "jd_device_put(), does it",
                   p->spec->operation, from, to);
}

jd_status jd__plan_list_members(struct jd_planning *p)
{
    size_t most = (size_t)p->from.sharding->num_devices +
                  (size_t)p->to.sharding->num_devices;
    jd_status status = check_platforms(p);
    if (status != JD_OK)
        return status;
    p->members = malloc(most * sizeof *p->members);
    if (!p->members)
        return jd__fail_no_memory(p->spec->operation,
                                  most * sizeof *p->members);
    int count = list_all(p);
    sort_members(p->members, count, compare_ids);
    p->num_members = merge_members(p->members, count);
    status = number_hosts(p);
    if (status != JD_OK)
        return status;
    sort_members(p->members, p->num_members, compare_hosts);
    find_neighbours(p);
    return JD_OK;
}

/* ---- who has what ------------------------------------------------------- */

/* Members go to their blocks in their order, so each block's ascend. */
static jd_status list_owners(struct jd_planning *p, struct jd_plan_side *side)
{
    const jd_sharding *s = side->sharding;
    size_t bytes = ((size_t)s->num_devices + (size_t)s->ways) * sizeof(int);
    side->owners = malloc(bytes);
    if (!side->owners)
        return jd__fail_no_memory(p->spec->operation, bytes);
    int *next = side->owners + s->num_devices;
    for (int i = 0; i < s->ways; i++)
        next[i] = i * side->replicas;
    for (int i = 0; i < p->num_members; i++) {
        int place = side == &p->from ? p->members[i].from : p->members[i].to;
        if (place >= 0)
            side->owners[next[s->blocks[place]]++] = i;
    }
    return JD_OK;
}

jd_status jd__plan_list_owners(struct jd_planning *p)
{
    jd_status status = list_owners(p, &p->from);
    return status == JD_OK ? list_owners(p, &p->to) : status;
}

/* ---- who gives ---------------------------------------------------------- */

/* How many of the ascending members are below one. */
static int count_below(const int *members, int count, int below)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (members[middle] < below)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* One of those in [begin, end), in turns; -1 where there is none. */
static int take_turn(const int *owners, int count, int begin, int end,
                     int64_t rank)
{
    int first = count_below(owners, count, begin);
    int among = count_below(owners, count, end) - first;
    return among ? owners[first + (int)(rank % among)] : -1;
}

int jd__plan_choose(const struct jd_planning *p, int block, int member,
                    int64_t rank)
{
    const struct jd_plan_side *from = &p->from;
    const struct jd_plan_member *m = &p->members[member];
    int count = from->replicas;
    const int *owners = from->owners + (size_t)block * (size_t)count;
    if (count == 1)
        return owners[0];
    if (m->from >= 0 && from->sharding->blocks[m->from] == block)
        return member;
    int chosen =
        take_turn(owners, count, m->process_begin, m->process_end, rank);
    if (chosen < 0)
        chosen = take_turn(owners, count, m->host_begin, m->host_end, rank);
    return chosen < 0 ? owners[rank % count] : chosen;
}
