/* SPDX-License-Identifier: BSD-3-Clause */
/* bootstrap.c - how the processes of a communicator-to-be come to terms. */
#include "base/log.h"
#include "collectives/cpu/bootstrap.h"
#include "collectives/cpu/bootstrap_tags.h"
#include "collectives/cpu/reach.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the channel -------------------------------------------------------- */

/* Arrays of a number for each process. */
enum {
    ORDER,
    GROUPS,
    FIRST_TAGS,
    NEIGHBOURS,
    PLACES,
    CHANNEL_TAGS,
    CHANNEL_NUMBERS,
    NUM_ARRAYS
};

static int *array_of(const struct jd_bootstrap *a, int which)
{
    return a->numbers + (size_t)which * (size_t)a->layout->num_processes;
}

struct numbered {
    int process, number;
};

static int compare_processes(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    return (x->process > y->process) - (x->process < y->process);
}

/* Those who mean the same processes in another order still find each other. */
static jd_status sort_processes(struct jd_bootstrap *a)
{
    int count = a->layout->num_processes;
    size_t bytes = (size_t)count * sizeof(struct numbered);
    struct numbered *all = malloc(bytes);
    if (!all)
        return jd__fail_no_memory(a->spec->operation, bytes);
    for (int i = 0; i < count; i++)
        all[i] = (struct numbered){ a->layout->processes[i], i };
    qsort(all, (size_t)count, sizeof *all, compare_processes);
    for (int i = 0; i < count; i++)
        a->order[i] = all[i].number;
    free(all);
    return JD_OK;
}

static jd_status allocate_numbers(struct jd_bootstrap *a)
{
    size_t count = (size_t)a->layout->num_processes * NUM_ARRAYS;
    a->numbers = calloc(count, sizeof *a->numbers);
    if (!a->numbers)
        return jd__fail_no_memory(a->spec->operation,
                                  count * sizeof *a->numbers);
    a->order = array_of(a, ORDER);
    a->groups = array_of(a, GROUPS);
    a->first_tags = array_of(a, FIRST_TAGS);
    a->neighbours = array_of(a, NEIGHBOURS);
    a->places = array_of(a, PLACES);
    return sort_processes(a);
}

/* A message has the tag of the lowest devices at both ends. */
static jd_status number_ends(struct jd_bootstrap *a)
{
    const struct jd_layout *layout = a->layout;
    struct jd_tag_range lent;
    struct jd_device_numbers devices = { .bound = 0 };
    int *first_tags = array_of(a, CHANNEL_TAGS);
    int *numbers = array_of(a, CHANNEL_NUMBERS);
    jd_status status = JD_OK;
    if (layout->num_processes > 1)
        status = jd__bootstrap_plan_tags(a->spec, &devices, &lent);
    for (int i = 0; status == JD_OK && i < layout->num_processes; i++) {
        numbers[i] = (int)(devices.first + layout->lowest[i]);
        first_tags[i] = (int)(devices.first_tag + numbers[i] * devices.bound);
    }
    return status;
}

static jd_status open_channel(struct jd_bootstrap *a)
{
    const struct jd_layout *layout = a->layout;
    jd_status status = allocate_numbers(a);
    if (status == JD_OK)
        status = number_ends(a);
    if (status != JD_OK)
        return status;
    struct jd_channel_spec spec = {
        .runtime = a->spec->runtime,
        .processes = layout->processes,
        .size = layout->num_processes,
        .index = layout->self,
        .first_tags = array_of(a, CHANNEL_TAGS),
        .numbers = array_of(a, CHANNEL_NUMBERS),
    };
    status = jd__channel_create(&spec, a->spec->operation, &a->channel);
    if (status != JD_OK)
        return status;
    jd__channel_begin(a->channel, a->spec->operation, a->spec->detail);
    jd__channel_set_cancel(a->channel, a->spec->is_cancelled);
    jd__channel_next_wait(a->channel)->begin = a->begin;
    return JD_OK;
}

/* All processes, by rising index. */
static struct jd_parties all_parties(const struct jd_bootstrap *a)
{
    struct jd_parties all = { a->order, a->layout->num_processes, 0 };
    while (a->order[all.self] != a->layout->self)
        all.self++;
    return all;
}

static struct jd_parties neighbour_parties(const struct jd_bootstrap *a)
{
    return (struct jd_parties){ a->neighbours, a->num_neighbours,
                                a->places[a->layout->self] };
}

/* Everybody gives bytes bytes, and gets all. status: with which this process
 * comes, which all return. */
static jd_status gather_all(struct jd_bootstrap *a, enum jd_comm_step step,
                            jd_status status, const void *own, size_t bytes,
                            void *all)
{
    struct jd_merge merge;
    struct jd_parties parties = all_parties(a);
    struct jd_merge_call call = { .signature = { .status = status },
                                  .record = own,
                                  .bytes = bytes,
                                  .all = all,
                                  .parties = &parties };
    status = jd__comm_check_merge(a->channel, step, &a->desc, &call, &merge);
    return status == JD_OK ? jd__merge_check_status(a->channel, &merge)
                           : status;
}

/* The same among the neighbours. A failure of one of them is what all
 * processes hear of in the next step of all. */
static jd_status gather_near(struct jd_bootstrap *a, enum jd_comm_step step,
                             jd_status status, const void *own, size_t bytes,
                             void *all)
{
    struct jd_merge merge;
    struct jd_parties parties = neighbour_parties(a);
    struct jd_merge_call call = { .signature = { .status = status },
                                  .record = own,
                                  .bytes = bytes,
                                  .all = all,
                                  .parties = &parties };
    return jd__comm_check_merge(a->channel, step, &a->desc, &call, &merge);
}

/* ---- who they are ------------------------------------------------------- */

/* Where collectives go by MPI that need not, one process says so, once. */
static void say_once(const struct jd_bootstrap *a, atomic_flag *said,
                     const char *consequence)
{
    enum jd_log_level level =
        a->layout->self == 0 ? JD_LOG_WARNING : JD_LOG_INFO;
    if (!atomic_flag_test_and_set(said))
        jd__log(level, "%s; %s", jd_error_message(), consequence);
}

static void say_unmapped(const struct jd_bootstrap *a)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    say_once(a, &said,
             "collectives with that process go by MPI, inside the host too");
}

static struct jd_heap *find_heap(const struct jd_bootstrap *a)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    const struct jd_topology *topology = a->spec->runtime->topology;
    int host = topology->processes[a->spec->runtime->world.index].host;
    jd__heap_expect(topology->hosts[host].num_processes);
    struct jd_heap *heap = jd__heap_get(a->spec->operation);
    if (!heap)
        say_once(a, &said,
                 "collectives with this process's devices go by MPI, inside "
                 "the host too");
    return heap;
}

/* Of the process, whatever its threads are bound to. */
static void list_cores(uint64_t *words)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(getpid(), sizeof set, &set) != 0)
        return;
    for (int i = 0; i < JD_CORE_WORDS * 64 && i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set))
            words[i / 64] |= UINT64_C(1) << i % 64;
}

static bool may_share(const struct jd_bootstrap *a)
{
    return jd__options_integer(a->spec->runtime->settings,
                               JD_OPTION_SHARED_MEMORY) != 0;
}

/* ---- all: who means the same, and who may share memory ------------------ */

/* What each process tells all. */
struct hello {
    int32_t first_tag;
    int32_t shares; /* it has memory that others may map */
};

static jd_status prepare_hello(struct jd_bootstrap *a, struct hello *ret_own)
{
    const struct jd_layout *layout = a->layout;
    if (layout->num_processes > 1) {
        jd_status status =
            jd__bootstrap_borrow_tags(a->spec, layout->most, &a->first_tag);
        if (status != JD_OK)
            return status;
    }
    a->heap = find_heap(a);
    ret_own->first_tag = a->first_tag;
    ret_own->shares = a->heap && may_share(a);
    return JD_OK;
}

static int host_of(const struct jd_bootstrap *a, int process)
{
    const struct jd_topology *topology = a->spec->runtime->topology;
    return topology->processes[a->layout->processes[process]].host;
}

/* Of this host those who share, in the order of the processes. */
static void list_neighbours(struct jd_bootstrap *a, const bool *shares)
{
    int self = a->layout->self;
    for (int i = 0; i < a->layout->num_processes; i++) {
        bool is_near =
            shares[i] && shares[self] && host_of(a, i) == host_of(a, self);
        a->places[i] = is_near || i == self ? a->num_neighbours : -1;
        if (a->places[i] >= 0)
            a->neighbours[a->num_neighbours++] = i;
    }
}

/* Whether no host has two processes that share, nor a process two members. */
static bool is_scattered(const struct jd_bootstrap *a, const bool *shares)
{
    const struct jd_topology *topology = a->spec->runtime->topology;
    bool *taken = calloc((size_t)topology->num_hosts, sizeof *taken);
    bool scattered =
        taken && a->layout->most == 1 && a->layout->num_processes > 1;
    for (int i = 0; scattered && i < a->layout->num_processes; i++) {
        scattered = !shares[i] || !taken[host_of(a, i)];
        taken[host_of(a, i)] |= shares[i];
    }
    free(taken);
    return scattered;
}

/* hellos are by rising process. */
static jd_status read_hellos(struct jd_bootstrap *a, const struct hello *hellos)
{
    size_t count = (size_t)a->layout->num_processes;
    bool *shares = malloc(count * sizeof *shares);
    if (!shares)
        return jd__fail_no_memory(a->spec->operation, count * sizeof *shares);
    for (size_t i = 0; i < count; i++) {
        a->first_tags[a->order[i]] = hellos[i].first_tag;
        shares[a->order[i]] = hellos[i].shares;
    }
    list_neighbours(a, shares);
    a->is_scattered = is_scattered(a, shares);
    free(shares);
    return JD_OK;
}

jd_status jd__bootstrap_meet(struct jd_bootstrap *a,
                             const struct jd_comm_desc *desc)
{
    struct hello own = { -1, 0 };
    a->desc = *desc;
    a->first_tag = -1;
    jd_status status = open_channel(a);
    if (status != JD_OK)
        return status;
    size_t bytes = (size_t)a->layout->num_processes * sizeof own;
    struct hello *hellos = malloc(bytes);
    status = hellos ? prepare_hello(a, &own)
                    : jd__fail_no_memory(a->spec->operation, bytes);
    status =
        gather_all(a, JD_COMM_STEP_COMPARE, status, &own, sizeof own, hellos);
    if (status == JD_OK)
        status = read_hellos(a, hellos);
    free(hellos);
    return status;
}

/* ---- neighbours: who sees whom ------------------------------------------ */

/* What the neighbours tell comes in rows. */
static jd_status allocate_infos(struct jd_bootstrap *a)
{
    const struct jd_layout *layout = a->layout;
    size_t count = (size_t)a->num_neighbours;
    size_t own = (size_t)layout->counts[layout->self];
    size_t reach_bytes = jd__reach_bytes(a->num_neighbours);
    a->told_bytes =
        ((size_t)layout->most + (reach_bytes + 7) / 8) * sizeof(uint64_t);
    a->infos = calloc(count, sizeof *a->infos);
    a->views = calloc(count, sizeof *a->views);
    a->controls = calloc(own, sizeof *a->controls);
    a->told = calloc(count, a->told_bytes + reach_bytes);
    if (a->infos && a->views && a->controls && a->told)
        return JD_OK;
    return jd__fail_no_memory(a->spec->operation, count * a->told_bytes);
}

static void look_at(struct jd_bootstrap *a, int place)
{
    if (!a->heap)
        return;
    if (jd__heap_map(&a->infos[place].heap, &a->views[place]) != JD_OK) {
        a->views[place] = NULL;
        say_unmapped(a);
    }
}

/* A neighbour's row of what is told: the places of its segments, then whom
 * it sees. */
static uint64_t *told_controls(const struct jd_bootstrap *a, int place)
{
    return (uint64_t *)(void *)(a->told + (size_t)place * a->told_bytes);
}

static unsigned char *told_reach(const struct jd_bootstrap *a, int place)
{
    return (unsigned char *)(told_controls(a, place) + a->layout->most);
}

static jd_status take_controls(struct jd_bootstrap *a, int visible,
                               uint64_t *offsets)
{
    const struct jd_layout *layout = a->layout;
    jd_status status = JD_OK;
    for (int i = 0; status == JD_OK && i < layout->counts[layout->self]; i++) {
        struct jd_segment_request request = {
            .operation = a->spec->operation,
            .most = visible,
            .is_alone = a->is_scattered,
            .numa_node = a->spec->members[layout->members[i]]->numa_node,
        };
        status = jd__segment_take(a->heap, &request, &a->controls[i]);
        if (status == JD_OK)
            offsets[i] = a->controls[i]->offset;
    }
    return status;
}

/* Fills in this process's row. */
static jd_status look_around(struct jd_bootstrap *a)
{
    int visible = 0, own = a->places[a->layout->self];
    for (int i = 0; i < a->num_neighbours; i++) {
        look_at(a, i);
        if (!a->views[i] && i != own)
            continue;
        jd__reach_add(told_reach(a, own), i);
        visible += a->layout->counts[a->neighbours[i]];
    }
    return take_controls(a, visible, told_controls(a, own));
}

static jd_status tell_infos(struct jd_bootstrap *a, jd_status status)
{
    struct jd_peer_info own;
    memset(&own, 0, sizeof own);
    if (a->heap)
        jd__heap_describe(a->heap, &own.heap);
    list_cores(own.cores);
    own.subgroup_size = jd__options_integer(a->spec->runtime->settings,
                                            JD_OPTION_SUBGROUP_SIZE);
    return gather_near(a, JD_COMM_STEP_INFOS, status, &own, sizeof own,
                       a->infos);
}

/* The first process of this one's group. */
static int derive_leader(struct jd_bootstrap *a)
{
    int count = a->num_neighbours, own = a->places[a->layout->self], first = 0;
    int *groups = a->groups; /* first those of the neighbours */
    size_t bytes = jd__reach_bytes(count);
    unsigned char *rows = a->told + (size_t)count * a->told_bytes;
    for (int i = 0; i < count; i++)
        memcpy(rows + (size_t)i * bytes, told_reach(a, i), bytes);
    jd__reach_derive(rows, count, groups);
    while (groups[first] != groups[own])
        first++;
    return a->neighbours[first];
}

/* Who has failed by itself comes all the same. */
static jd_status look_at_peers(struct jd_bootstrap *a, jd_status *own)
{
    jd_status status = tell_infos(a, *own);
    if (status != JD_OK)
        return status;
    if (*own == JD_OK)
        *own = look_around(a);
    a->is_told = true;
    return gather_near(a, JD_COMM_STEP_REACH, *own,
                       a->told ? told_controls(a, a->places[a->layout->self])
                               : NULL,
                       a->told_bytes, a->told);
}

/* ---- all: the groups ---------------------------------------------------- */

/* Groups are numbered in the order of their first processes. leaders are by
 * rising process; each is the first of its group. */
static jd_status number_groups(struct jd_bootstrap *a, const int32_t *leaders)
{
    int count = a->layout->num_processes;
    for (int i = 0; i < count; i++)
        a->groups[a->order[i]] = leaders[i];
    for (int i = 0; i < count; i++) {
        int leader = a->groups[i];
        if (leader < 0 || leader > i)
            return jd_fail(JD_INTERNAL,
                           "%s%s: process %d told of process number %d as the "
                           "first of its group",
                           a->spec->operation, a->spec->detail,
                           a->layout->processes[i], leader);
        a->groups[i] = leader == i ? a->num_groups++ : a->groups[leader];
    }
    return JD_OK;
}

static jd_status agree_on_groups(struct jd_bootstrap *a, jd_status status)
{
    size_t bytes = (size_t)a->layout->num_processes * sizeof(int32_t);
    int32_t leader = a->layout->self, *leaders = malloc(bytes);
    if (!leaders)
        status = jd__fail_no_memory(a->spec->operation, bytes);
    if (status == JD_OK)
        leader = derive_leader(a);
    status = gather_all(a, JD_COMM_STEP_GROUPS, status, &leader, sizeof leader,
                        leaders);
    if (status == JD_OK)
        status = number_groups(a, leaders);
    free(leaders);
    return status;
}

jd_status jd__bootstrap_see(struct jd_bootstrap *a)
{
    jd_status own = allocate_infos(a);
    jd_status status = look_at_peers(a, &own);
    if (status == JD_OK)
        status = agree_on_groups(a, own);
    if (status != JD_OK) {
        a->is_told = jd__channel_has_failed(a->channel);
        return status;
    }
    if (a->num_groups == 1) {
        jd__bootstrap_give_tags(a->first_tag);
        a->first_tag = -1;
    }
    return JD_OK;
}

/* ---- what is known then ------------------------------------------------- */

const struct jd_peer_info *jd__bootstrap_peer_info(const struct jd_bootstrap *a,
                                                   int process)
{
    return &a->infos[a->places[process]];
}

struct jd_heap_view *jd__bootstrap_view(const struct jd_bootstrap *a,
                                        int process)
{
    return a->views[a->places[process]];
}

struct jd_segment *jd__bootstrap_control(const struct jd_bootstrap *a,
                                         int member)
{
    const struct jd_layout *layout = a->layout;
    int owner = layout->owners[member], number = layout->numbers[member];
    if (owner == layout->self)
        return a->controls[number]->control;
    uint64_t offset = told_controls(a, a->places[owner])[number];
    uint64_t size = jd__bootstrap_peer_info(a, owner)->heap.size;
    uint64_t bytes = jd__shm_segment_size(layout->size);
    struct jd_heap_view *view = jd__bootstrap_view(a, owner);
    if (!view || offset >= size || size - offset < jd__shm_segment_size(1))
        return NULL;
    if (bytes > size - offset)
        bytes = size - offset;
    if (jd__heap_view_open(view, offset + bytes) < offset + bytes)
        return NULL;
    return (struct jd_segment *)(void *)(jd__heap_view_base(view) + offset);
}

int jd__bootstrap_cores(const struct jd_bootstrap *a, int group)
{
    int count = 0;
    for (int word = 0; word < JD_CORE_WORDS; word++) {
        uint64_t cores = 0;
        for (int i = 0; i < a->num_neighbours; i++)
            if (a->groups[a->neighbours[i]] == group)
                cores |= a->infos[i].cores[word];
        for (; cores; cores &= cores - 1)
            count++;
    }
    return count;
}

jd_status jd__bootstrap_end(struct jd_bootstrap *a, jd_status status)
{
    return gather_all(a, JD_COMM_STEP_END, status, NULL, 0, NULL);
}

void jd__bootstrap_finish(struct jd_bootstrap *a)
{
    const struct jd_layout *layout = a->layout;
    int own = a->controls ? layout->counts[layout->self] : 0;
    for (int i = 0; i < own; i++)
        jd__segment_give(a->controls[i], a->is_told ? JD_CONTROL_NEVER : 1);
    for (int i = 0; a->views && i < a->num_neighbours; i++)
        if (a->views[i])
            jd__heap_unmap(a->views[i]);
    if (!a->channel || !jd__channel_has_failed(a->channel))
        jd__bootstrap_give_tags(a->first_tag);
    jd__channel_destroy(a->channel);
    free(a->numbers);
    free(a->infos);
    free(a->views);
    free(a->controls);
    free(a->told);
}
