/* SPDX-License-Identifier: BSD-3-Clause */
/* comm.c - one device's end of a clique on the cpu platform. */
#include "collectives/cpu/comm.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/ranges.h"
#include "collectives/cpu/bootstrap.h"
#include "collectives/cpu/inter/inter.h"
#include "collectives/cpu/local_rendezvous.h"
#include "jd_coordination.h"
#include "runtime/mpi/lock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the ends of one process have in common; the last of them frees it. */
struct home {
    atomic_int references;
    atomic_bool has_failed; /* messages may still come with its tags */
    int first_tag;          /* -1: none */
    struct jd_arena_view **views;
    int num_views;
    int numbers[]; /* of all ends: processes, teams, places */
};

struct end {
    struct jd_clique clique;
    struct home *home;
    struct jd_held_control *control;
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

static struct jd_belief describe(const struct jd_clique_spec *spec,
                                 const struct jd_layout *layout)
{
    struct jd_belief belief = { .digest = 0 };
    char list[128] = "";
    const char *platform = spec->members[0]->platform;
    bool several = spec->runtime->topology->num_platforms > 1;
    belief.digest = jd__digest(0, spec->axes, strlen(spec->axes));
    belief.digest = jd__digest(belief.digest, platform, strlen(platform));
    for (int i = 0; i < spec->size; i++)
        belief.digest = jd__digest(belief.digest, &spec->members[i]->id,
                                   sizeof spec->members[i]->id);
    print_processes(list, sizeof list, layout);
    snprintf(belief.text, sizeof belief.text,
             "%.64s of %d %s%sdevice%s, of process%s %s", spec->axes,
             spec->size, several ? platform : "", several ? " " : "",
             spec->size == 1 ? "" : "s", layout->num_processes == 1 ? "" : "es",
             list);
    return belief;
}

/* ---- ends --------------------------------------------------------------- */

static struct home *create_home(const struct jd_agreement *a)
{
    const struct jd_layout *layout = a->layout;
    size_t size = (size_t)layout->size;
    struct home *home = calloc(1, sizeof *home + 3 * size * sizeof(int));
    int *processes = home ? home->numbers : NULL;
    int *seen = calloc((size_t)a->num_teams, sizeof *seen);
    for (int i = 0; home && seen && i < layout->size; i++) {
        int owner = layout->owners[i];
        processes[i] = layout->processes[owner];
        processes[size + (size_t)i] = a->teams[owner];
        processes[2 * size + (size_t)i] = seen[a->teams[owner]]++;
    }
    if (!seen) {
        free(home);
        home = NULL;
    }
    free(seen);
    if (home)
        home->first_tag = -1;
    return home;
}

static void destroy_home(struct home *home)
{
    for (int i = 0; i < home->num_views; i++)
        if (home->views[i])
            jd__arena_unmap(home->views[i]);
    if (!atomic_load(&home->has_failed))
        jd__agreement_give_tags(home->first_tag);
    free(home->views);
    free(home);
}

static void leave_home(struct home *home)
{
    if (atomic_fetch_sub(&home->references, 1) == 1)
        destroy_home(home);
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

static jd_status fail_control(const struct jd_agreement *a, int process)
{
    return jd_fail(JD_INTERNAL,
                   "%s%s: process %d told of a control block that is not in "
                   "its memory",
                   a->spec->operation, a->spec->detail, process);
}

/* The members of this process's team, as they are seen from here. */
static jd_status list_team(const struct jd_agreement *a,
                           struct jd_team_member *members, int *ret_size)
{
    const struct jd_layout *layout = a->layout;
    int team = a->teams[layout->self];
    *ret_size = 0;
    for (int i = 0; i < layout->size; i++) {
        int owner = layout->owners[i], process = layout->processes[owner];
        if (a->teams[owner] != team)
            continue;
        struct jd_control *control = jd__agreement_control(a, i);
        if (!control)
            return fail_control(a, process);
        members[(*ret_size)++] = (struct jd_team_member){
            .control = control,
            .arena =
                a->views[owner] ? jd__arena_view_base(a->views[owner]) : NULL,
            .arena_size = a->views[owner] ? a->cards[owner].arena.size : 0,
            .view = a->views[owner],
            .process = process,
            .number = i,
            .pid = pid_of(a->spec->runtime, process),
        };
    }
    return JD_OK;
}

/* Messages between any two members: each receives with tags of its own, one
 * for each sender. */
static jd_status open_wire(const struct jd_agreement *a,
                           struct jd_clique *clique)
{
    const struct jd_layout *layout = a->layout;
    int size = layout->size, index = clique->index;
    int *numbers = malloc(2 * (size_t)size * sizeof *numbers);
    if (!numbers)
        return jd__fail_no_memory(a->spec->operation,
                                  2 * (size_t)size * sizeof *numbers);
    int own = a->first_tag + layout->numbers[index] * size;
    for (int i = 0; i < size; i++) {
        int first = a->cards[layout->owners[i]].first_tag;
        numbers[i] = first + layout->numbers[i] * size + index;
        numbers[size + i] = own + i;
    }
    struct jd_group_spec spec = {
        .runtime = clique->runtime,
        .processes = clique->processes,
        .size = size,
        .index = index,
        .send_tags = numbers,
        .receive_tags = numbers + size,
    };
    jd_status status =
        jd__group_create(&spec, a->spec->operation, &clique->wire);
    if (status == JD_OK)
        jd__group_set_cancel(clique->wire, &clique->is_aborted);
    free(numbers);
    return status;
}

/* One member's end, whose team has those members. */
static jd_status fill_end(struct jd_agreement *a, struct end *end, int number,
                          struct jd_team_spec *team)
{
    struct jd_clique *clique = &end->clique;
    size_t size = (size_t)a->layout->size;
    clique->runtime = a->spec->runtime;
    clique->size = a->layout->size;
    clique->index = a->layout->members[number];
    clique->processes = end->home->numbers;
    clique->teams = clique->processes + size;
    clique->places = clique->teams + size;
    clique->num_teams = a->num_teams;
    team->index = clique->places[clique->index];
    jd_status status = jd__team_create(team, a->spec->operation, &clique->team);
    if (status != JD_OK)
        return status;
    end->control = a->controls[number];
    a->controls[number] = NULL;
    if (status == JD_OK && a->num_teams > 1)
        status = open_wire(a, clique);
    if (status == JD_OK && a->num_teams > 1)
        status = jd__between_create(clique, a->spec->operation);
    return status;
}

static jd_status create_end(struct jd_agreement *a, struct home *home,
                            int number, struct jd_team_spec *team,
                            struct end **ret_end)
{
    struct end *end = calloc(1, sizeof *end);
    if (!end)
        return jd__fail_no_memory(a->spec->operation, sizeof *end);
    end->home = home;
    atomic_fetch_add(&home->references, 1);
    jd_status status = fill_end(a, end, number, team);
    if (status == JD_OK)
        *ret_end = end;
    else
        jd__clique_cpu_destroy(&end->clique);
    return status;
}

/* All ends of this process. */
static jd_status create_ends(struct jd_agreement *a, struct home *home,
                             struct end **ends)
{
    const struct jd_layout *layout = a->layout;
    const struct jd_runtime *runtime = a->spec->runtime;
    size_t bytes = (size_t)layout->size * sizeof(struct jd_team_member);
    struct jd_team_member *members = malloc(bytes);
    struct jd_team_spec team = {
        .members = members,
        .wait = jd__runtime_wait(runtime, a->spec->operation),
        .cores = jd__agreement_cores(a, a->teams[layout->self]),
        .make_progress = make_progress,
        .on_stuck = report_stuck,
        .arg = (void *)(uintptr_t)runtime,
    };
    if (!members)
        return jd__fail_no_memory(a->spec->operation, bytes);
    jd_status status = list_team(a, members, &team.size);
    for (int i = 0; status == JD_OK && i < layout->counts[layout->self]; i++)
        status = create_end(a, home, i, &team, &ends[i]);
    free(members);
    return status;
}

/* ---- the speaker -------------------------------------------------------- */

/* From here on the ends have what was agreed upon. */
static void take_over(struct jd_agreement *a, struct home *home)
{
    home->views = a->views;
    home->num_views = a->layout->num_processes;
    home->first_tag = a->first_tag;
    a->views = NULL;
    a->first_tag = -1;
}

static jd_status make_ends(struct jd_agreement *a, struct end **ends)
{
    int own = a->layout->counts[a->layout->self];
    struct home *home = create_home(a);
    jd_status status =
        home ? JD_OK
             : jd__fail_no_memory(a->spec->operation,
                                  sizeof *home + 3 * sizeof(int) *
                                                     (size_t)a->layout->size);
    if (home)
        atomic_store(&home->references, 1);
    if (status == JD_OK)
        status = create_ends(a, home, ends);
    status = jd__agreement_end(a, status);
    if (status == JD_OK)
        take_over(a, home);
    for (int i = 0; status != JD_OK && i < own; i++)
        if (ends[i])
            jd__clique_cpu_destroy(&ends[i]->clique);
    if (home)
        leave_home(home);
    return status;
}

/* When the first of this process's devices made the call: it has waited for the
 * others since, and its deadline is that of all. */
static double find_begin(const struct jd_layout *layout,
                         const struct jd_arrival *speaker)
{
    double begin = speaker->wait->begin;
    for (int i = 0; i < layout->counts[layout->self]; i++) {
        const struct jd_arrival *other =
            jd__registry_find(speaker, layout->devices[i]);
        if (other->wait->begin < begin)
            begin = other->wait->begin;
    }
    return begin;
}

/* Makes the ends of all members of this process, and hands them out. */
static jd_status speak(const struct jd_clique_spec *spec,
                       const struct jd_layout *layout,
                       const struct jd_belief *belief,
                       struct jd_arrival *arrival)
{
    struct jd_agreement a = { .spec = spec,
                              .layout = layout,
                              .begin = find_begin(layout, arrival),
                              .first_tag = -1 };
    int own = layout->counts[layout->self];
    struct end **ends = calloc((size_t)own, sizeof(struct end *));
    jd_status status =
        ends ? JD_OK
             : jd__fail_no_memory(spec->operation, (size_t)own * sizeof *ends);
    if (status == JD_OK)
        status = jd__agreement_meet(&a, belief);
    if (status == JD_OK)
        status = jd__agreement_see(&a);
    if (status == JD_OK)
        status = make_ends(&a, ends);
    for (int i = 0; status == JD_OK && i < own; i++) {
        struct jd_arrival *other =
            jd__registry_find(arrival, layout->devices[i]);
        *(struct jd_clique **)other->item = &ends[i]->clique;
    }
    jd__agreement_finish(&a);
    free(ends);
    return status;
}

/* ---- the table's functions ---------------------------------------------- */

static jd_status come(const struct jd_clique_spec *spec,
                      const struct jd_layout *layout,
                      struct jd_clique **ret_clique)
{
    struct jd_belief belief = describe(spec, layout);
    struct jd_wait wait = jd__runtime_wait(spec->runtime, spec->operation);
    const char *platform = spec->members[0]->platform;
    const struct jd_topology *topology = spec->runtime->topology;
    const struct jd_device_list *list =
        jd__topology_platform(topology, platform);
    struct jd_arrival arrival = {
        .wait = &wait,
        .digest = belief.digest,
        .belief = belief.text,
        .platform = (int)(list - topology->platforms),
        .device = spec->members[spec->index]->local_ordinal,
        .devices = layout->devices,
        .num_devices = layout->counts[layout->self],
        .item = ret_clique,
        .make_progress = make_progress,
        .arg = (void *)(uintptr_t)spec->runtime,
    };
    bool speaks;
    wait.detail = spec->detail;
    wait.is_cancelled = spec->is_cancelled;
    wait.begin = jd__clock_now();
    jd_status status = jd__registry_come(&arrival, &speaks);
    if (!speaks)
        return status;
    status = speak(spec, layout, &belief, &arrival);
    jd__registry_finish(&arrival, status);
    return status;
}

jd_status jd__clique_cpu_create(const struct jd_clique_spec *spec,
                                struct jd_clique **ret_clique)
{
    struct jd_layout *layout;
    struct jd_clique *clique = NULL;
    jd_status status = jd__layout_create(spec, &layout);
    if (status != JD_OK)
        return status;
    if (layout->num_processes > 1)
        status = jd__mpi_check_thread(spec->operation);
    if (status == JD_OK)
        status = come(spec, layout, &clique);
    jd__layout_destroy(layout);
    if (status == JD_OK)
        *ret_clique = clique;
    return status;
}

void jd__clique_cpu_destroy(struct jd_clique *clique)
{
    if (!clique)
        return;
    struct end *end = (struct end *)(void *)clique;
    int team_size = clique->team ? jd__team_size(clique->team) : 1;
    if (clique->wire && jd__group_has_failed(clique->wire))
        atomic_store(&end->home->has_failed, true);
    if (clique->between)
        jd__between_destroy(clique);
    jd__group_destroy(clique->wire);
    jd__team_destroy(clique->team);
    jd__control_give(end->control, team_size);
    leave_home(end->home);
    free(end);
}

/* The members of other teams hear of it by their own shards, or from the
 * coordination service. */
void jd__clique_cpu_abort(struct jd_clique *clique)
{
    atomic_store(&clique->is_aborted, true);
    jd__team_abort(clique->team);
}
