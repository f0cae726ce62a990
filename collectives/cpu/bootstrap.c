/* SPDX-License-Identifier: BSD-3-Clause */
/* bootstrap.c - how the processes of a communicator-to-be come to terms. */
#include "base/digest.h"
#include "base/log.h"
#include "collectives/channel/tags.h"
#include "collectives/cpu/bootstrap.h"
#include "collectives/cpu/reach.h"
#include "runtime/mpi/lock.h"

#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum step { STEP_CARDS, STEP_SIGHTS, STEP_END };

static struct jd_tags tags = JD_TAGS;

/* Numbers of the devices of a process, of all platforms: those of one begin at
 * first, and all are below bound. */
struct jd_device_numbers {
    int64_t first, bound;
};

/* ---- tags --------------------------------------------------------------- */

/* Each process has fewer devices of the platform than this. */
static int64_t devices_bound(const struct jd_device_list *list)
{
    int most = 0;
    for (int i = 0; i < list->count; i++)
        if (list->devices[i]->local_ordinal > most)
            most = list->devices[i]->local_ordinal;
    return (int64_t)most + 1;
}

/* The devices of all platforms in one row of numbers: how many that is, and
 * where those of the spec's platform begin. */
static int64_t number_devices(const struct jd_comm_spec *spec,
                              int64_t *ret_first)
{
    const struct jd_topology *topology = spec->runtime->topology;
    int64_t bound = 0;
    for (int i = 0; i < topology->num_platforms; i++) {
        const struct jd_device_list *list = &topology->platforms[i];
        if (strcmp(list->platform, spec->members[0]->platform) == 0)
            *ret_first = bound;
        bound += devices_bound(list);
    }
    return bound;
}

static int highest_tag(MPI_Comm comm)
{
    int *highest = NULL, found = 0;
    jd__mpi_lock();
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &highest, &found);
    jd__mpi_unlock();
    return found ? *highest : 32767; /* what MPI promises at least */
}

/*
 * Two processes make as many communicators at the same time as they have
 * devices, and a device is in one of them: the lowest device of each in the
 * communicator is the number of the tag. Behind these are the tags that are
 * lent.
 */
static jd_status plan_tags(const struct jd_comm_spec *spec,
                           struct jd_device_numbers *ret_numbers,
                           struct jd_tag_range *ret_lent)
{
    int64_t first = 0, bound = number_devices(spec, &first);
    int64_t pairs = bound * bound;
    int64_t highest = highest_tag(spec->runtime->world.comm);
    int64_t room = highest - JD_TAG_FIRST_CLIQUE;
    if (pairs > room / 2)
        return jd_fail(JD_RESOURCE_EXHAUSTED,
                       "%s: a process has %" PRId64 " devices, whose pairs "
                       "need %" PRId64 " tags of MPI to find each other, and "
                       "this MPI has %" PRId64 "; set JD_NUM_CPU_DEVICES to "
                       "less",
                       spec->operation, bound, pairs, highest);
    ret_lent->first = (int)(JD_TAG_FIRST_CLIQUE + pairs);
    ret_lent->count = (int)(room - pairs);
    *ret_numbers = (struct jd_device_numbers){ first, bound };
    return JD_OK;
}

static jd_status borrow_tags(struct jd_bootstrap *a)
{
    const struct jd_layout *layout = a->layout;
    struct jd_tag_range space;
    struct jd_device_numbers numbers;
    int64_t count = (int64_t)layout->size * layout->counts[layout->self];
    if (layout->num_processes == 1)
        return JD_OK;
    jd_status status = plan_tags(a->spec, &numbers, &space);
    if (status != JD_OK)
        return status;
    return jd__tags_take(&tags, space,
                         count > INT32_MAX ? INT32_MAX : (int)count,
                         a->spec->operation, &a->first_tag);
}

void jd__bootstrap_give_tags(int first_tag)
{
    if (first_tag >= 0)
        jd__tags_give(&tags, first_tag);
}

int jd__bootstrap_tags_lent(void)
{
    return jd__tags_lent(&tags);
}

/* ---- the group ---------------------------------------------------------- */

static jd_status open_group(struct jd_bootstrap *a)
{
    const struct jd_layout *layout = a->layout;
    int count = layout->num_processes, self = layout->self;
    struct jd_tag_range lent;
    struct jd_device_numbers devices = { 0, 0 };
    int *numbers = malloc(2 * (size_t)count * sizeof *numbers);
    jd_status status = JD_OK;
    if (!numbers)
        return jd__fail_no_memory(a->spec->operation,
                                  2 * (size_t)count * sizeof *numbers);
    if (count > 1)
        status = plan_tags(a->spec, &devices, &lent);
    for (int i = 0; i < count; i++) {
        int64_t mine = devices.first + layout->lowest[self];
        int64_t theirs = devices.first + layout->lowest[i];
        numbers[i] = (int)(JD_TAG_FIRST_CLIQUE + mine * devices.bound + theirs);
        numbers[count + i] =
            (int)(JD_TAG_FIRST_CLIQUE + theirs * devices.bound + mine);
    }
    struct jd_channel_spec spec = {
        .runtime = a->spec->runtime,
        .processes = layout->processes,
        .size = count,
        .index = self,
        .send_tags = numbers,
        .receive_tags = numbers + count,
    };
    if (status == JD_OK)
        status = jd__channel_create(&spec, a->spec->operation, &a->channel);
    free(numbers);
    if (status != JD_OK)
        return status;
    jd__channel_begin(a->channel, a->spec->operation, a->spec->detail);
    jd__channel_set_cancel(a->channel, a->spec->is_cancelled);
    jd__channel_next_wait(a->channel)->begin = a->begin;
    return JD_OK;
}

/* A message of another step or of another bootstrap, left over by one that
 * failed. */
static jd_status fail_stray(const struct jd_bootstrap *a, int odd, int other)
{
    return jd_fail(JD_ABORTED,
                   "%s%s: processes %d and %d are not at the same step of "
                   "making the mesh's communicator, as an earlier one failed "
                   "between them; the job should end",
                   a->spec->operation, a->spec->detail,
                   a->layout->processes[odd], a->layout->processes[other]);
}

/*
 * Everybody gives bytes bytes, and gets all (own one's too), each process's
 * behind that of the process before. status: with which this process comes.
 */
static jd_status gather(struct jd_bootstrap *a, enum step step,
                        jd_status status, const void *own, size_t bytes,
                        void *all)
{
    struct jd_signature signature = {
        .source = step,
        .status = status,
        .count = bytes,
        .digest = a->digest,
    };
    size_t done = 0;
    do {
        size_t piece = bytes - done < JD_MEETING_PAYLOAD ? bytes - done
                                                         : JD_MEETING_PAYLOAD;
        int odd, other;
        const char *from = own;
        status = jd__channel_meet(a->channel, &signature,
                                  piece ? from + done : NULL, piece);
        if (status == JD_OK && jd__channel_find_odd(a->channel, &odd, &other))
            status = fail_stray(a, odd, other);
        if (status == JD_OK)
            status = jd__channel_check_status(a->channel);
        for (int i = 0; status == JD_OK && i < a->layout->num_processes; i++)
            if (piece)
                memcpy((char *)all + (size_t)i * bytes + done,
                       jd__channel_payload(a->channel, i), piece);
        done += piece;
    } while (status == JD_OK && done < bytes);
    return status;
}

/* ---- cards -------------------------------------------------------------- */

/* Where collectives go by MPI that need not, one process says so, once. */
static void say_once(const struct jd_bootstrap *a, atomic_flag *said,
                     const char *consequence)
{
    enum jd_log_level level =
        a->layout->self == 0 ? JD_LOG_WARNING : JD_LOG_INFO;
    if (!atomic_flag_test_and_set(said))
        jd__log(level, "%s; %s", jd_error_message(), consequence);
}

/* Two containers of one machine are two hosts where their names differ: that
 * their processes do not share memory is no news. */
static bool has_another_host(const struct jd_bootstrap *a, int process)
{
    const struct jd_topology *topology = a->spec->runtime->topology;
    int own = a->layout->processes[a->layout->self];
    return topology->processes[own].host !=
           topology->processes[a->layout->processes[process]].host;
}

static void say_unmapped(const struct jd_bootstrap *a, int process)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (has_another_host(a, process))
        jd__log(JD_LOG_INFO,
                "%s; collectives with that process, of another container of "
                "this machine, go by MPI",
                jd_error_message());
    else
        say_once(a, &said,
                 "collectives with that process go by MPI, inside the host "
                 "too");
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

/* All that the steps need; what each process tells comes in rows. */
static jd_status allocate(struct jd_bootstrap *a)
{
    const struct jd_layout *layout = a->layout;
    size_t count = (size_t)layout->num_processes;
    size_t own = (size_t)layout->counts[layout->self];
    size_t sights = jd__reach_bytes(layout->num_processes);
    a->told_bytes =
        ((size_t)layout->most + (sights + 7) / 8) * sizeof(uint64_t);
    a->cards = calloc(count, sizeof *a->cards);
    a->views = calloc(count, sizeof *a->views);
    a->groups = calloc(count, sizeof *a->groups);
    a->controls = calloc(own, sizeof *a->controls);
    a->told = calloc(count, a->told_bytes + sights);
    if (a->cards && a->views && a->groups && a->controls && a->told)
        return JD_OK;
    return jd__fail_no_memory(a->spec->operation, count * a->told_bytes);
}

static jd_status make_card(struct jd_bootstrap *a,
                           struct jd_peer_info *ret_card)
{
    memset(ret_card, 0, sizeof *ret_card);
    jd_status status = allocate(a);
    if (status == JD_OK)
        status = borrow_tags(a);
    if (status != JD_OK)
        return status;
    a->heap = find_heap(a);
    if (a->heap)
        jd__heap_describe(a->heap, &ret_card->heap);
    ret_card->has_heap = a->heap != NULL;
    ret_card->first_tag = a->first_tag;
    list_cores(ret_card->cores);
    return JD_OK;
}

jd_status jd__bootstrap_meet(struct jd_bootstrap *a,
                             const struct jd_comm_desc *desc)
{
    struct jd_peer_info own;
    a->digest = desc->digest;
    a->first_tag = -1;
    jd_status status = open_group(a);
    if (status == JD_OK)
        status = jd__comm_check_compare(a->channel, desc);
    if (status != JD_OK)
        return status;
    status = make_card(a, &own);
    return gather(a, STEP_CARDS, status, &own, sizeof own, a->cards);
}

/* ---- sights ------------------------------------------------------------- */

static bool may_share(const struct jd_bootstrap *a)
{
    return jd__options_integer(a->spec->runtime->settings,
                               JD_OPTION_SHARED_MEMORY) != 0;
}

static bool is_neighbour(const struct jd_bootstrap *a, int process)
{
    const struct jd_peer_info *own = &a->cards[a->layout->self];
    const struct jd_peer_info *other = &a->cards[process];
    return own->has_heap && other->has_heap &&
           strncmp(own->heap.host, other->heap.host, sizeof own->heap.host) ==
               0;
}

static void look_at(struct jd_bootstrap *a, int process)
{
    bool is_own = process == a->layout->self;
    if (!is_neighbour(a, process) || (!is_own && !may_share(a)))
        return;
    if (jd__heap_map(&a->cards[process].heap, &a->views[process]) != JD_OK) {
        a->views[process] = NULL;
        say_unmapped(a, process);
    }
}

/* A process's row of what is told: the places of its segments, then whom
 * it sees. */
static uint64_t *told_controls(const struct jd_bootstrap *a, int process)
{
    return (uint64_t *)(void *)(a->told + (size_t)process * a->told_bytes);
}

static unsigned char *told_sights(const struct jd_bootstrap *a, int process)
{
    return (unsigned char *)(told_controls(a, process) + a->layout->most);
}

static jd_status take_controls(struct jd_bootstrap *a, int visible)
{
    const struct jd_layout *layout = a->layout;
    uint64_t *offsets = told_controls(a, layout->self);
    jd_status status = JD_OK;
    for (int i = 0; status == JD_OK && i < layout->counts[layout->self]; i++) {
        struct jd_segment_request request = {
            .operation = a->spec->operation,
            .most = visible,
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
    const struct jd_layout *layout = a->layout;
    int visible = 0;
    for (int i = 0; i < layout->num_processes; i++) {
        look_at(a, i);
        if (!a->views[i] && i != layout->self)
            continue;
        jd__reach_add(told_sights(a, layout->self), i);
        visible += layout->counts[i];
    }
    return take_controls(a, visible);
}

/* From all rows of sights, one behind the other. */
static void derive_groups(struct jd_bootstrap *a)
{
    int count = a->layout->num_processes;
    size_t bytes = jd__reach_bytes(count);
    unsigned char *rows = a->told + (size_t)count * a->told_bytes;
    for (int i = 0; i < count; i++)
        memcpy(rows + (size_t)i * bytes, told_sights(a, i), bytes);
    jd__reach_derive(rows, count, a->groups);
    for (int i = 0; i < count; i++)
        if (a->groups[i] >= a->num_groups)
            a->num_groups = a->groups[i] + 1;
}

jd_status jd__bootstrap_see(struct jd_bootstrap *a)
{
    jd_status status = look_around(a);
    a->is_told = true;
    status = gather(a, STEP_SIGHTS, status, told_controls(a, a->layout->self),
                    a->told_bytes, a->told);
    if (status != JD_OK) {
        a->is_told = jd__channel_has_failed(a->channel);
        return status;
    }
    derive_groups(a);
    if (a->num_groups == 1) {
        jd__bootstrap_give_tags(a->first_tag);
        a->first_tag = -1;
    }
    return JD_OK;
}

struct jd_segment *jd__bootstrap_control(const struct jd_bootstrap *a,
                                         int member)
{
    const struct jd_layout *layout = a->layout;
    int owner = layout->owners[member], number = layout->numbers[member];
    if (owner == layout->self)
        return a->controls[number]->control;
    uint64_t offset = told_controls(a, owner)[number];
    uint64_t size = a->cards[owner].heap.size;
    uint64_t bytes = jd__shm_segment_size(layout->size);
    if (!a->views[owner] || offset >= size ||
        size - offset < jd__shm_segment_size(1))
        return NULL;
    if (bytes > size - offset)
        bytes = size - offset;
    if (jd__heap_view_open(a->views[owner], offset + bytes) < offset + bytes)
        return NULL;
    return (struct jd_segment *)(void *)(jd__heap_view_base(a->views[owner]) +
                                         offset);
}

int jd__bootstrap_cores(const struct jd_bootstrap *a, int group)
{
    int count = 0;
    for (int word = 0; word < JD_CORE_WORDS; word++) {
        uint64_t cores = 0;
        for (int i = 0; i < a->layout->num_processes; i++)
            cores |= a->groups[i] == group ? a->cards[i].cores[word] : 0;
        for (; cores; cores &= cores - 1)
            count++;
    }
    return count;
}

jd_status jd__bootstrap_end(struct jd_bootstrap *a, jd_status status)
{
    return gather(a, STEP_END, status, NULL, 0, NULL);
}

void jd__bootstrap_finish(struct jd_bootstrap *a)
{
    const struct jd_layout *layout = a->layout;
    int own = a->controls ? layout->counts[layout->self] : 0;
    for (int i = 0; i < own; i++)
        jd__segment_give(a->controls[i], a->is_told ? JD_CONTROL_NEVER : 1);
    for (int i = 0; a->views && i < layout->num_processes; i++)
        if (a->views[i])
            jd__heap_unmap(a->views[i]);
    if (!a->channel || !jd__channel_has_failed(a->channel))
        jd__bootstrap_give_tags(a->first_tag);
    jd__channel_destroy(a->channel);
    free(a->cards);
    free(a->views);
    free(a->groups);
    free(a->controls);
    free(a->told);
}
