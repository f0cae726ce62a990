/* SPDX-License-Identifier: BSD-3-Clause */
/* comm.c - one device's end of a communicator on the cpu platform. */
#include "collectives/cpu/comm.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/ranges.h"
#include "base/text.h"
#include "collectives/cpu/bootstrap.h"
#include "collectives/cpu/bootstrap_tags.h"
#include "collectives/cpu/inter/inter.h"
#include "collectives/cpu/local_rendezvous.h"
#include "collectives/cpu/shm/shm_levels.h"
#include "jd_coordination.h"
#include "runtime/mpi/lock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the ends of one process have in common; the last of them frees it. */
struct shared {
    atomic_int references;
    atomic_bool has_failed; /* messages may still come with its tags */
    int first_tag;          /* -1: none */
    struct jd_heap_view **views;
    int num_views;
    int *tags; /* of each member: the first of the messages to it; then, where
                * a process has several, their numbers in it. NULL: no wire */
    int numbers[]; /* of all ends: processes, groups, places */
};

struct comm_end {
    struct jd_comm comm;
    struct shared *shared;
    struct jd_held_segment *control;
};

/* ---- what the members believe ------------------------------------------- */

/* Writes "0-3,7" in the order of the members; cut where it does not fit. text
 * is all zeros, and its last one stays. */
static void print_processes(char *text, size_t size,
                            const struct jd_layout *layout)
{
    FILE *out = fmemopen(text, size - 1, "w");
    if (!out)
        return;
    jd__ranges_print(out, layout->processes, layout->num_processes);
    fclose(out);
}

static struct jd_comm_desc describe_comm(const struct jd_comm_spec *spec,
                                         const struct jd_layout *layout)
{
    struct jd_comm_desc desc = { .digest = 0 };
    char list[128] = "";
    const char *platform = spec->members[0]->platform;
    bool several = spec->runtime->topology->num_platforms > 1;
    desc.digest = jd__digest(0, spec->axes, strlen(spec->axes));
    desc.digest = jd__digest(desc.digest, platform, strlen(platform));
    desc.digest += spec->is_started;
    for (int i = 0; i < spec->size; i++)
        desc.digest = jd__digest(desc.digest, &spec->members[i]->id,
                                 sizeof spec->members[i]->id);
    print_processes(list, sizeof list, layout);
    snprintf(desc.text, sizeof desc.text,
             "%.64s of %d %s%sdevice%s, of process%s %s", spec->axes,
             spec->size, several ? platform : "", several ? " " : "",
             jd__text_s(spec->size), jd__text_es(layout->num_processes), list);
    return desc;
}

/* ---- ends --------------------------------------------------------------- */

static struct shared *create_shared(const struct jd_bootstrap *a)
{
    const struct jd_layout *layout = a->layout;
    size_t size = (size_t)layout->size;
    struct shared *shared = calloc(1, sizeof *shared + 3 * size * sizeof(int));
    int *processes = shared ? shared->numbers : NULL;
    int *seen = calloc((size_t)a->num_groups, sizeof *seen);
    for (int i = 0; shared && seen && i < layout->size; i++) {
        int owner = layout->owners[i];
        processes[i] = layout->processes[owner];
        processes[size + (size_t)i] = a->groups[owner];
        processes[2 * size + (size_t)i] = seen[a->groups[owner]]++;
    }
    if (!seen) {
        free(shared);
        shared = NULL;
    }
    free(seen);
    if (shared)
        shared->first_tag = -1;
    return shared;
}

/* Of each member's tags, one for each number of a sender in its process. */
static jd_status list_tags(const struct jd_bootstrap *a, struct shared *shared)
{
    const struct jd_layout *layout = a->layout;
    size_t size = (size_t)layout->size;
    int most = layout->most;
    size_t bytes = (most > 1 ? 2 : 1) * size * sizeof *shared->tags;
    shared->tags = malloc(bytes);
    if (!shared->tags)
        return jd__fail_no_memory(a->spec->operation, bytes);
    for (size_t i = 0; i < size; i++) {
        shared->tags[i] =
            a->first_tags[layout->owners[i]] + layout->numbers[i] * most;
        if (most > 1)
            shared->tags[size + i] = layout->numbers[i];
    }
    return JD_OK;
}

/* What MPI may still send, after a failure, may lie in another process's
 * memory. */
static void destroy_shared(struct shared *shared)
{
    bool has_failed = atomic_load(&shared->has_failed);
    for (int i = 0; i < shared->num_views && !has_failed; i++)
        if (shared->views[i])
            jd__heap_unmap(shared->views[i]);
    if (!has_failed)
        jd__bootstrap_give_tags(shared->first_tag);
    free(shared->views);
    free(shared->tags);
    free(shared);
}

static void release_shared(struct shared *shared)
{
    if (atomic_fetch_sub(&shared->references, 1) == 1)
        destroy_shared(shared);
}

static void make_progress(void *arg)
{
    const struct jd_runtime *runtime = arg;
    jd__mpi_make_progress((void *)(uintptr_t)&runtime->world);
}

/* A living member that does not let go of buffers is a failure of the job. The
 * sentence is this thread's, and stays so. */
static void report_stuck(void *arg, int process, const char *text)
{
    (void)arg, (void)process;
    char *copy = strdup(text);
    if (copy && jd_report_error(JD_DEADLINE_EXCEEDED, copy) != JD_OK)
        jd_fail(JD_DEADLINE_EXCEEDED, "%s", copy);
    free(copy);
}

static int pid_of(const struct jd_runtime *runtime, int process)
{
    const struct jd_process_info *all = runtime->topology->processes;
    const struct jd_process_info *own = &all[runtime->world.index];
    return own->pid_namespace &&
                   own->pid_namespace == all[process].pid_namespace
               ? all[process].pid
               : 0;
}

static jd_status fail_control(const struct jd_bootstrap *a, int process)
{
    return jd_fail(JD_INTERNAL,
                   "%s%s: process %d told of a segment that is not in "
                   "its memory",
                   a->spec->operation, a->spec->detail, process);
}

/* The members of this process's group, as they are seen from here. */
static jd_status list_group(const struct jd_bootstrap *a,
                            struct jd_shm_member *members, int *ret_size)
{
    const struct jd_layout *layout = a->layout;
    int group = a->groups[layout->self];
    *ret_size = 0;
    for (int i = 0; i < layout->size; i++) {
        int owner = layout->owners[i], process = layout->processes[owner];
        if (a->groups[owner] != group)
            continue;
        struct jd_segment *control = jd__bootstrap_control(a, i);
        struct jd_heap_view *view = jd__bootstrap_view(a, owner);
        if (!control)
            return fail_control(a, process);
        members[(*ret_size)++] = (struct jd_shm_member){
            .control = control,
            .heap = view ? jd__heap_view_base(view) : NULL,
            .heap_size =
                view ? jd__bootstrap_peer_info(a, owner)->heap.size : 0,
            .view = view,
            .process = process,
            .number = i,
            .pid = pid_of(a->spec->runtime, process),
        };
    }
    return JD_OK;
}

/* Where the members of a group run; their number. */
static int list_localities(const struct jd_bootstrap *a,
                           const struct jd_shm_spec *group,
                           struct jd_shm_locality *where)
{
    const struct jd_topology *topology = a->spec->runtime->topology;
    for (int i = 0; i < group->size; i++) {
        const struct jd_process_info *process =
            &topology->processes[group->members[i].process];
        where[i] =
            (struct jd_shm_locality){ process->numa_node, process->cache, i };
    }
    return group->size;
}

/* Of the members of this process's group; how many there are. What the first of
 * them was told to do, all do. */
static int plan_subgroups(const struct jd_bootstrap *a,
                          const struct jd_shm_spec *group,
                          struct jd_shm_locality *where, int *subgroups)
{
    int size = list_localities(a, group, where);
    int owner = a->layout->owners[group->members[0].number];
    int64_t length = jd__bootstrap_peer_info(a, owner)->subgroup_size;
    if (length > 1 && length < size)
        return jd__shm_levels_cut(size, (int)length, subgroups);
    if (length > 0 || size > group->cores)
        return 1;
    return jd__shm_levels_plan(where, size, subgroups);
}

/* NULL in the group where its members meet all at once. The caller frees
 * *ret_subgroups. */
static jd_status set_levels(const struct jd_bootstrap *a,
                            struct jd_shm_spec *group, int **ret_subgroups)
{
    size_t size = (size_t)group->size;
    struct jd_shm_locality *where = malloc(size * sizeof *where);
    int *subgroups = malloc(size * sizeof *subgroups);
    *ret_subgroups = subgroups;
    if (!where || !subgroups) {
        free(where);
        return jd__fail_no_memory(a->spec->operation, size * sizeof *where);
    }
    if (plan_subgroups(a, group, where, subgroups) > 1)
        group->subgroups = subgroups;
    free(where);
    return JD_OK;
}

/* Messages between any two members. What it needs of each is shared. */
static jd_status open_wire(const struct jd_bootstrap *a, struct comm_end *end)
{
    struct jd_comm *comm = &end->comm;
    const int *tags = end->shared->tags;
    struct jd_channel_spec spec = {
        .runtime = comm->runtime,
        .processes = comm->processes,
        .size = comm->size,
        .index = comm->index,
        .first_tags = tags,
        .numbers = a->layout->most > 1 ? tags + comm->size : NULL,
        .names_members = a->layout->most > 1,
    };
    jd_status status =
        jd__channel_create(&spec, a->spec->operation, &comm->wire);
    if (status == JD_OK)
        jd__channel_set_cancel(comm->wire, &comm->is_aborted);
    return status;
}

/* One member's end, whose group has those members. */
static jd_status fill_end(struct jd_bootstrap *a, struct comm_end *end,
                          int number, struct jd_shm_spec *group)
{
    struct jd_comm *comm = &end->comm;
    size_t size = (size_t)a->layout->size;
    comm->runtime = a->spec->runtime;
    comm->size = a->layout->size;
    comm->index = a->layout->members[number];
    comm->processes = end->shared->numbers;
    comm->groups = comm->processes + size;
    comm->places = comm->groups + size;
    comm->num_groups = a->num_groups;
    comm->is_deterministic =
        jd__options_integer(comm->runtime->settings, JD_OPTION_DETERMINISTIC);
    group->index = comm->places[comm->index];
    jd_status status = jd__shm_create(group, a->spec->operation, &comm->group);
    if (status != JD_OK)
        return status;
    end->control = a->controls[number];
    a->controls[number] = NULL;
    if (status == JD_OK && a->num_groups > 1)
        status = open_wire(a, end);
    if (status == JD_OK && a->num_groups > 1)
        status = jd__inter_create(comm, a->spec->operation);
    return status;
}

static jd_status create_end(struct jd_bootstrap *a, struct shared *shared,
                            int number, struct jd_shm_spec *group,
                            struct comm_end **ret_end)
{
    struct comm_end *end = calloc(1, sizeof *end);
    if (!end)
        return jd__fail_no_memory(a->spec->operation, sizeof *end);
    end->shared = shared;
    atomic_fetch_add(&shared->references, 1);
    jd_status status = fill_end(a, end, number, group);
    if (status == JD_OK)
        *ret_end = end;
    else
        jd__comm_destroy(&end->comm);
    return status;
}

/* All ends of this process. */
static jd_status create_ends(struct jd_bootstrap *a, struct shared *shared,
                             struct comm_end **ends)
{
    const struct jd_layout *layout = a->layout;
    const struct jd_runtime *runtime = a->spec->runtime;
    size_t bytes = (size_t)layout->size * sizeof(struct jd_shm_member);
    struct jd_shm_member *members = malloc(bytes);
    struct jd_shm_spec group = {
        .members = members,
        .wait = jd__runtime_wait(runtime, a->spec->operation),
        .cores = jd__bootstrap_cores(a, a->groups[layout->self]),
        .make_progress = make_progress,
        .on_stuck = report_stuck,
        .arg = (void *)(uintptr_t)runtime,
    };
    group.wait.is_handed_on = a->num_groups > 1;
    if (!members)
        return jd__fail_no_memory(a->spec->operation, bytes);
    int *subgroups = NULL;
    jd_status status = list_group(a, members, &group.size);
    if (status == JD_OK)
        status = set_levels(a, &group, &subgroups);
    if (status == JD_OK && a->num_groups > 1)
        status = list_tags(a, shared);
    for (int i = 0; status == JD_OK && i < layout->counts[layout->self]; i++)
        status = create_end(a, shared, i, &group, &ends[i]);
    free(subgroups);
    free(members);
    return status;
}

/* ---- the leader --------------------------------------------------------- */

/* From here on the ends have what was agreed upon. */
static void take_over(struct jd_bootstrap *a, struct shared *shared)
{
    shared->views = a->views;
    shared->num_views = a->num_neighbours;
    shared->first_tag = a->first_tag;
    a->views = NULL;
    a->first_tag = -1;
}

static jd_status make_ends(struct jd_bootstrap *a, struct comm_end **ends)
{
    int own = a->layout->counts[a->layout->self];
    struct shared *shared = create_shared(a);
    jd_status status =
        shared
            ? JD_OK
            : jd__fail_no_memory(a->spec->operation,
                                 sizeof *shared +
                                     3 * sizeof(int) * (size_t)a->layout->size);
    if (shared)
        atomic_store(&shared->references, 1);
    if (status == JD_OK)
        status = create_ends(a, shared, ends);
    status = jd__bootstrap_end(a, status);
    if (status == JD_OK)
        take_over(a, shared);
    for (int i = 0; status != JD_OK && i < own; i++)
        if (ends[i])
            jd__comm_destroy(&ends[i]->comm);
    if (shared)
        release_shared(shared);
    return status;
}

/* When the first of this process's devices made the call: it has waited for the
 * others since, and its deadline is that of all. */
static double find_begin(const struct jd_layout *layout,
                         const struct jd_rendezvous *speaker)
{
    double begin = speaker->wait->begin;
    for (int i = 0; i < layout->counts[layout->self]; i++) {
        const struct jd_rendezvous *other =
            jd__local_rendezvous_find(speaker, layout->devices[i]);
        if (other->wait->begin < begin)
            begin = other->wait->begin;
    }
    return begin;
}

/* Makes the ends of all members of this process, and hands them out. */
static jd_status bootstrap_ends(const struct jd_comm_spec *spec,
                                const struct jd_layout *layout,
                                const struct jd_comm_desc *desc,
                                struct jd_rendezvous *rendezvous)
{
    struct jd_bootstrap a = { .spec = spec,
                              .layout = layout,
                              .begin = find_begin(layout, rendezvous),
                              .first_tag = -1 };
    int own = layout->counts[layout->self];
    struct comm_end **ends = calloc((size_t)own, sizeof(struct comm_end *));
    jd_status status =
        ends ? JD_OK
             : jd__fail_no_memory(spec->operation, (size_t)own * sizeof *ends);
    if (status == JD_OK)
        status = jd__bootstrap_meet(&a, desc);
    if (status == JD_OK)
        status = jd__bootstrap_see(&a);
    if (status == JD_OK)
        status = make_ends(&a, ends);
    for (int i = 0; status == JD_OK && i < own; i++) {
        struct jd_rendezvous *other =
            jd__local_rendezvous_find(rendezvous, layout->devices[i]);
        *(struct jd_comm **)other->item = &ends[i]->comm;
    }
    jd__bootstrap_finish(&a);
    free(ends);
    return status;
}

/* ---- the table's functions ---------------------------------------------- */

static jd_status come_together(const struct jd_comm_spec *spec,
                               const struct jd_layout *layout,
                               struct jd_comm **ret_comm)
{
    struct jd_comm_desc desc = describe_comm(spec, layout);
    struct jd_wait wait = jd__runtime_wait(spec->runtime, spec->operation);
    const char *platform = spec->members[0]->platform;
    const struct jd_topology *topology = spec->runtime->topology;
    const struct jd_device_list *list =
        jd__topology_platform(topology, platform);
    struct jd_rendezvous rendezvous = {
        .wait = &wait,
        .digest = desc.digest,
        .desc = desc.text,
        .platform = (int)(list - topology->platforms),
        .device = spec->members[spec->index]->local_ordinal,
        .is_started = spec->is_started,
        .devices = layout->devices,
        .num_devices = layout->counts[layout->self],
        .item = ret_comm,
        .make_progress = make_progress,
        .arg = (void *)(uintptr_t)spec->runtime,
    };
    bool speaks;
    wait.detail = spec->detail;
    wait.is_cancelled = spec->is_cancelled;
    wait.begin = jd__clock_now();
    jd_status status = jd__local_rendezvous_come(&rendezvous, &speaks);
    if (!speaks)
        return status;
    status = bootstrap_ends(spec, layout, &desc, &rendezvous);
    jd__local_rendezvous_finish(&rendezvous, status);
    return status;
}

jd_status jd__comm_create(const struct jd_comm_spec *spec,
                          struct jd_comm **ret_comm)
{
    struct jd_layout *layout;
    struct jd_comm *comm = NULL;
    jd_status status = jd__layout_create(spec, &layout);
    if (status != JD_OK)
        return status;
    if (layout->num_processes > 1)
        status = jd__mpi_check_thread(spec->operation);
    if (status == JD_OK)
        status = come_together(spec, layout, &comm);
    jd__layout_destroy(layout);
    if (status == JD_OK)
        *ret_comm = comm;
    return status;
}

void jd__comm_destroy(struct jd_comm *comm)
{
    if (!comm)
        return;
    struct comm_end *end = (struct comm_end *)(void *)comm;
    int group_size = comm->group ? jd__shm_size(comm->group) : 1;
    if (comm->wire && jd__channel_has_failed(comm->wire))
        atomic_store(&end->shared->has_failed, true);
    if (comm->inter)
        jd__inter_destroy(comm);
    jd__channel_destroy(comm->wire);
    jd__shm_destroy(comm->group);
    jd__segment_give(end->control, group_size);
    release_shared(end->shared);
    free(end);
}

/* The members of other groups hear of it by their own shards, or from the
 * coordination service. */
void jd__comm_abort(struct jd_comm *comm)
{
    atomic_store(&comm->is_aborted, true);
    jd__shm_abort(comm->group);
}

int jd__comm_find_failed(const struct jd_comm *comm)
{
    return jd__shm_find_failed(comm->group);
}
