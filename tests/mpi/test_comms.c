/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals: how comms of cpu devices are made and destroyed, a thread for
 * each device of a process.
 *   together ROUNDS  eight comms at a time, over random devices in random
 *                    order, each thread at its own pace; all work
 *   many COUNT       one after the other; nothing stays behind
 *   alive COUNT      as many at the same time; all work
 *   missing          a device, or a process, that does not come is named
 *   beliefs          so are members who mean different comms
 *   cancelled        a wait ends when it is told to
 *   late             all waits together have one deadline, from the call on
 */
#include "jd.h"

#include "base/clock.h"
#include "collectives/channel/pair.h"
#include "collectives/cpu/bootstrap.h"
#include "collectives/cpu/bootstrap_tags.h"
#include "collectives/cpu/comm.h"
#include "collectives/cpu/local_rendezvous.h"
#include "collectives/cpu/shm/shm_private.h"

#include "../lib/sanitized.h"
#include "expect.h"

#include <dirent.h>
#include <malloc.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

enum { COMMS = 8, MOST_DEVICES = 64, MOST_THREADS = 8 };

static const struct jd_runtime *runtime;
static const jd_device *const *devices;
static int num_devices, num_threads, self, count;

/* The devices of one comm. */
struct plan {
    const jd_device *members[MOST_DEVICES];
    int size;
};

/* A device's thread. */
struct worker {
    pthread_t thread;
    int ordinal;
    void (*body)(struct worker *worker);
};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static void *run_body(void *arg)
{
    struct worker *worker = arg;
    worker->body(worker);
    return NULL;
}

static void run_on_all(void (*body)(struct worker *worker))
{
    struct worker workers[MOST_THREADS];
    for (int i = 0; i < num_threads; i++) {
        workers[i] = (struct worker){ .ordinal = i, .body = body };
        EXPECT(pthread_create(&workers[i].thread, NULL, run_body,
                              &workers[i]) == 0,
               "no thread %d", i);
    }
    for (int i = 0; i < num_threads; i++)
        pthread_join(workers[i].thread, NULL);
}

/* The worker's place in the plan, or -1. */
static int place_of(const struct plan *plan, const struct worker *worker)
{
    for (int i = 0; i < plan->size; i++)
        if (plan->members[i]->process_index == self &&
            plan->members[i]->local_ordinal == worker->ordinal)
            return i;
    return -1;
}

static struct jd_comm_spec spec_of(const struct plan *plan, int place)
{
    return (struct jd_comm_spec){
        .runtime = runtime,
        .members = plan->members,
        .size = plan->size,
        .index = place,
        .axes = "\"data\"",
        .detail = " over axis \"data\"",
        .operation = "jd_psum",
    };
}

static struct jd_comm *make(const struct plan *plan, int place)
{
    struct jd_comm_spec spec = spec_of(plan, place);
    struct jd_comm *comm = NULL;
    EXPECT_OK(jd__comm_create(&spec, &comm));
    return comm;
}

/* ---- does it work? ------------------------------------------------------ */

struct words {
    int64_t from, to, round;
};

/* Each member writes to each other one. */
static void write_to_all(struct jd_comm *comm, const struct plan *plan,
                         int round)
{
    struct words said[MOST_DEVICES], heard[MOST_DEVICES];
    struct jd_pair pairs[MOST_DEVICES];
    int self_place = comm->index;
    for (int i = 0; i < comm->size; i++) {
        said[i] = (struct words){ plan->members[self_place]->id,
                                  plan->members[i]->id, round };
        EXPECT_OK(jd__pair_post(
            comm->wire, &pairs[i],
            (struct jd_message_end){ i, &heard[i], sizeof heard[i] },
            (struct jd_message_end){ i, &said[i], sizeof said[i] }));
    }
    for (int i = 0; i < comm->size; i++)
        EXPECT_OK(jd__pair_finish(comm->wire, &pairs[i]));
    for (int i = 0; i < comm->size; i++)
        EXPECT(heard[i].from == plan->members[i]->id &&
                   heard[i].to == plan->members[self_place]->id &&
                   heard[i].round == round,
               "member %d wrote %lld, %lld, %lld", i, (long long)heard[i].from,
               (long long)heard[i].to, (long long)heard[i].round);
}

/* All members of the group, and all of the comm by messages, tell each other
 * who they are. */
static void talk(struct jd_comm *comm, const struct plan *plan, int round)
{
    struct jd_signature signature = { .activity = JD_ACTIVITY_BARRIER };
    int64_t mine[2] = { plan->members[comm->index]->id, round };
    EXPECT_OK(jd__shm_meet(comm->group, &signature, mine, sizeof mine));
    for (int i = 0; i < comm->size; i++) {
        if (comm->groups[i] != comm->groups[comm->index])
            continue;
        const int64_t *said = jd__shm_payload(comm->group, comm->places[i]);
        EXPECT(said[0] == plan->members[i]->id && said[1] == round,
               "member %d said %lld, %lld", i, (long long)said[0],
               (long long)said[1]);
    }
    EXPECT((comm->wire != NULL) == (comm->num_groups > 1), "%d groups",
           comm->num_groups);
    if (comm->wire)
        write_to_all(comm, plan, round);
}

/* Teams are processes where memory is not shared, and one where it is. */
static void check_groups(const struct jd_comm *comm, const struct plan *plan)
{
    bool shares =
        jd__options_integer(runtime->settings, JD_OPTION_SHARED_MEMORY) != 0;
    for (int i = 0; i < plan->size; i++) {
        int process = plan->members[i]->process_index;
        EXPECT(comm->processes[i] == process, "%d", comm->processes[i]);
        for (int j = 0; j < i; j++)
            EXPECT((comm->groups[i] == comm->groups[j]) ==
                       (shares || process == comm->processes[j]),
                   "members %d and %d", j, i);
    }
}

/* Groups meet in two levels where that is asked for. */
static void check_levels(const struct jd_comm *comm)
{
    const struct jd_shm_levels *levels = comm->group->levels;
    int own = comm->places[comm->index], size = jd__shm_size(comm->group);
    int64_t length =
        jd__options_integer(runtime->settings, JD_OPTION_SUBGROUP_SIZE);
    bool wanted = length > 1 && length < size;
    EXPECT((levels != NULL) == wanted, "%d members in subgroups of %lld", size,
           (long long)length);
    if (levels)
        EXPECT(levels->leader == own / length * length &&
                   levels->num_leaders == (size + length - 1) / length,
               "member %d of %d is led by %d", own, size, levels->leader);
}

/* ---- together ----------------------------------------------------------- */

static struct plan plans[COMMS];
static uint32_t seed;

/* The same on all processes: each comm some of all devices, shuffled. */
static void make_plans(void)
{
    for (int c = 0; c < COMMS; c++) {
        const jd_device *all[MOST_DEVICES];
        memcpy(all, devices, (size_t)num_devices * sizeof *all);
        plans[c].size = num_devices > 2
                            ? 2 + (int)next_random(&seed) % (num_devices - 1)
                            : num_devices;
        for (int i = 0; i < plans[c].size; i++) {
            int from = i + (int)next_random(&seed) % (num_devices - i);
            plans[c].members[i] = all[from];
            all[from] = all[i];
        }
    }
}

static void dawdle(uint32_t *state)
{
    for (uint32_t i = next_random(state) % 64; i; i--)
        sched_yield();
}

static void use_all(struct worker *worker)
{
    struct jd_comm *comms[COMMS] = { NULL };
    uint32_t state = seed + (uint32_t)(self * MOST_THREADS + worker->ordinal);
    for (int c = 0; c < COMMS; c++) {
        int place = place_of(&plans[c], worker);
        if (place < 0)
            continue;
        dawdle(&state);
        comms[c] = make(&plans[c], place);
        check_groups(comms[c], &plans[c]);
        check_levels(comms[c]);
    }
    for (int round = 0; round < 5; round++)
        for (int c = COMMS - 1; c >= 0; c--)
            if (comms[c])
                talk(comms[c], &plans[c], round);
    for (int c = 0; c < COMMS; c++) {
        dawdle(&state);
        jd__comm_destroy(comms[c]);
    }
}

static void try_together(void)
{
    seed = 4711;
    for (int round = 0; round < count; round++) {
        make_plans();
        run_on_all(use_all);
    }
}

/* ---- many --------------------------------------------------------------- */

static int count_files(void)
{
    int files = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        files++;
    closedir(folder);
    return files;
}

struct usage {
    int files, maps, tags, blocks;
    size_t heap, allocated;
};

static int count_lines(const char *path)
{
    int lines = 0;
    FILE *file = fopen(path, "r");
    for (int c; (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    fclose(file);
    return lines;
}

static struct usage measure(void)
{
    struct usage usage = {
        .files = count_files(),
        .maps = count_lines("/proc/self/maps"),
        .tags = jd__bootstrap_tags_lent(),
        .allocated = mallinfo2().uordblks,
    };
    size_t allocations;
    struct jd_heap *heap = jd__heap_get("test");
    while ((usage.blocks = jd__segment_sweep()) > 0)
        sched_yield(); /* the others' ends are being destroyed */
    jd__heap_usage(heap, &usage.heap, &allocations);
    usage.blocks = (int)allocations;
    return usage;
}

static void make_many(struct worker *worker)
{
    for (int i = 0; i < count; i++) {
        int place = place_of(&plans[i % COMMS], worker);
        if (place < 0)
            continue;
        struct jd_comm *comm = make(&plans[i % COMMS], place);
        if (i % 7 == 0)
            talk(comm, &plans[i % COMMS], i);
        jd__comm_destroy(comm);
    }
}

/* The arenas that this process has mapped, its own among them. */
static int count_heaps(void)
{
    unsigned long inodes[16], inode;
    int heaps = 0, i;
    char line[512];
    FILE *file = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, file)) {
        if (!strstr(line, "/memfd:jd-heap") ||
            sscanf(line, "%*s %*s %*s %*s %lu", &inode) != 1)
            continue;
        for (i = 0; i < heaps && inodes[i] != inode; i++)
            continue;
        if (i == heaps && heaps < 16)
            inodes[heaps++] = inode;
    }
    fclose(file);
    return heaps;
}

/* MPI keeps some memory for the next messages. */
static size_t heap_slack(void)
{
    return runtime->world.count == 1 ? 8 << 10
                                     : (128 << 10) + (size_t)count * 100;
}

static void try_many(void)
{
    int wanted = count;
    seed = 4712;
    make_plans();
    count = 2 * COMMS;
    run_on_all(make_many);
    EXPECT_OK(jd_sync_global_devices("warm"));
    struct usage before = measure();
    count = wanted;
    run_on_all(make_many);
    EXPECT_OK(jd_sync_global_devices("done"));
    struct usage after = measure();
    EXPECT(after.files <= before.files, "%d files before, %d after",
           before.files, after.files);
    EXPECT(after.tags == 0, "%d ranges of tags", after.tags);
    EXPECT(after.blocks == before.blocks && after.heap == before.heap,
           "%d blocks of %zu bytes before, %d of %zu after", before.blocks,
           before.heap, after.blocks, after.heap);
    EXPECT(after.maps < before.maps + 16, "%d mappings before, %d after",
           before.maps, after.maps);
    EXPECT(after.allocated < before.allocated + heap_slack(),
           "%zu bytes of heap before, %zu after", before.allocated,
           after.allocated);
    EXPECT(count_heaps() <= 1, "%d arenas are mapped", count_heaps());
    EXPECT(jd__local_rendezvous_count() == 0, "somebody is left");
}

/* ---- alive --------------------------------------------------------------- */

struct memory {
    size_t resident, heap; /* bytes */
};

static struct memory look_at_memory(void)
{
    struct memory memory = { 0, 0 };
    size_t pages = 0, allocations;
    FILE *file = fopen("/proc/self/statm", "r");
    EXPECT(fscanf(file, "%*u %zu", &pages) == 1, "no memory");
    fclose(file);
    memory.resident = pages * (size_t)sysconf(_SC_PAGESIZE);
    jd__heap_usage(jd__heap_get("test"), &memory.heap, &allocations);
    return memory;
}

/* AddressSanitizer writes on what malloc() gives, so that all is resident. */
enum { SEES_RESIDENT = !HAS_ASAN };

/* What MPI keeps for a process that it has had messages with. A program without
 * jd that had three with each of 64 took 4 MiB with Open MPI 4.1, 1 with
 * MPICH 4.0, 5 with Intel MPI 2021.19 and 14 with MPICH 5.0. */
#ifdef OPEN_MPI
enum { MPI_PEER_BYTES = 0 }; /* within the 4 MiB below */
#else
enum { MPI_PEER_BYTES = 256 << 10 };
#endif

/* A communicator's messages may have 64 KiB, twice, which count where malloc()
 * fills what it gives (MALLOC_PERTURB_). */
static size_t most_resident(const struct memory *before)
{
    return before->resident + (4 << 20) + (size_t)count * (112 << 10) +
           (size_t)jd_process_count() * MPI_PEER_BYTES;
}

/* Of members that are all alone: nothing that others could need. */
static void check_memory(const struct memory *before)
{
    struct memory now = look_at_memory();
    bool shares =
        jd__options_integer(runtime->settings, JD_OPTION_SHARED_MEMORY) != 0;
    if (shares || num_threads > 1)
        return;
    EXPECT(now.heap == before->heap, "%zu bytes of the heap for %d",
           now.heap - before->heap, count);
    EXPECT(!SEES_RESIDENT || now.resident < most_resident(before),
           "%zu bytes for %d", now.resident - before->resident, count);
}

static void keep_alive(struct worker *worker)
{
    struct jd_comm **comms = calloc((size_t)count, sizeof(struct jd_comm *));
    struct memory before = look_at_memory();
    for (int i = 0; i < count; i++)
        comms[i] = make(&plans[0], place_of(&plans[0], worker));
    check_memory(&before);
    for (int i = 0; i < count; i += 1 + count / 20)
        talk(comms[i], &plans[0], i);
    talk(comms[count - 1], &plans[0], 0);
    for (int i = 0; i < count; i++)
        jd__comm_destroy(comms[i]);
    free(comms);
}

static void try_alive(void)
{
    run_on_all(keep_alive);
    EXPECT(jd__bootstrap_tags_lent() == 0, "%d ranges of tags",
           jd__bootstrap_tags_lent());
}

/* ---- not made ----------------------------------------------------------- */

static void plan_all(void)
{
    plans[0].size = num_devices;
    memcpy(plans[0].members, devices, (size_t)num_devices * sizeof *devices);
}

/* The last device of the last process does not come. */
static void miss_last(struct worker *worker)
{
    struct jd_comm_spec spec = spec_of(&plans[0], place_of(&plans[0], worker));
    struct jd_comm *comm = NULL;
    char text[160];
    if (spec.index == num_devices - 1)
        return;
    jd_status status = jd__comm_create(&spec, &comm);
    EXPECT(status == JD_DEADLINE_EXCEEDED && !comm, "%s",
           jd_status_name(status));
    int last = runtime->world.count - 1;
    if (self == last)
        snprintf(text, sizeof text,
                 " s for device %d of the same process, whose thread has not "
                 "made this call",
                 num_threads - 1);
    else
        snprintf(text, sizeof text, " s for process %d", last);
    EXPECT(strstr(jd_error_message(), text), "%s\nwanted: %s",
           jd_error_message(), text);
    EXPECT(strncmp(jd_error_message(), "jd_psum over axis \"data\": ", 25) == 0,
           "%s", jd_error_message());
}

/* Those of the last process come with another axis, and, where it has several
 * devices, in another order. */
static void disagree(struct worker *worker)
{
    struct jd_comm_spec spec = spec_of(&plans[0], place_of(&plans[0], worker));
    struct jd_comm *comm = NULL;
    if (self == runtime->world.count - 1)
        spec.axes = "\"model\"";
    EXPECT_STATUS(jd__comm_create(&spec, &comm), JD_INVALID_ARGUMENT,
                  "jd_psum: process ");
    const char *text = jd_error_message();
    char wanted[160];
    snprintf(wanted, sizeof wanted,
             "process %d comes with a mesh \"model\" of %d devices, of "
             "processes 0-%d",
             runtime->world.count - 1, num_devices, runtime->world.count - 1);
    EXPECT(strstr(text, wanted), "%s\nwanted: %s", text, wanted);
    snprintf(wanted, sizeof wanted,
             "process 0 with a mesh \"data\" of %d devices", num_devices);
    EXPECT(strstr(text, wanted), "%s\nwanted: %s", text, wanted);
}

/* After that they agree, and it works. */
static void agree(struct worker *worker)
{
    struct jd_comm *comm = make(&plans[0], place_of(&plans[0], worker));
    talk(comm, &plans[0], 1);
    jd__comm_destroy(comm);
}

static atomic_bool is_cancelled;

/* Process 0 comes, and is told that it need not wait any more. */
static void be_cancelled(struct worker *worker)
{
    struct jd_comm_spec spec = spec_of(&plans[0], place_of(&plans[0], worker));
    struct jd_comm *comm = NULL;
    spec.is_cancelled = &is_cancelled;
    if (self != 0)
        return;
    if (worker->ordinal == num_threads - 1)
        atomic_store(&is_cancelled, true);
    EXPECT_STATUS(jd__comm_create(&spec, &comm), JD_ABORTED,
                  "jd_psum over axis \"data\": another device of this process "
                  "has failed, and this one waits no longer");
}

/* Process 0 comes alone, and its call began long before its deadline; not as
 * long ago as the machine's start, from which its clock counts. */
static void come_late(void)
{
    struct jd_comm_spec spec = spec_of(&plans[0], -1);
    struct jd_comm_desc desc = { .digest = 1, .text = "\"data\"" };
    struct jd_layout *layout;
    for (int i = 0; i < plans[0].size && spec.index < 0; i++)
        if (plans[0].members[i]->process_index == self)
            spec.index = i;
    EXPECT_OK(jd__layout_create(&spec, &layout));
    struct jd_bootstrap a = {
        .spec = &spec,
        .layout = layout,
        .begin = jd__clock_now() - 100,
    };
    if (self == 0) {
        EXPECT_STATUS(jd__bootstrap_meet(&a, &desc), JD_DEADLINE_EXCEEDED,
                      "process 0 has waited 10");
        jd__bootstrap_finish(&a);
    }
    jd__layout_destroy(layout);
    EXPECT_OK(jd_wait_at_barrier("was late", 60, NULL, 0));
}

int main(int argc, char **argv)
{
    EXPECT(argc >= 2, "what?");
    JD_CHECK(jd_initialize());
    EXPECT_OK(jd__runtime_get(&runtime, "test"));
    devices = jd_platform_devices("cpu", &num_devices);
    num_threads = jd_local_device_count();
    self = jd_process_index();
    count = argc > 2 ? atoi(argv[2]) : 1;
    EXPECT(num_devices <= MOST_DEVICES && num_threads <= MOST_THREADS,
           "%d devices", num_devices);
    plan_all();
    if (strcmp(argv[1], "together") == 0) {
        try_together();
    } else if (strcmp(argv[1], "many") == 0) {
        try_many();
    } else if (strcmp(argv[1], "alive") == 0) {
        try_alive();
    } else if (strcmp(argv[1], "missing") == 0) {
        EXPECT_OK(jd_sync_global_devices("begin together"));
        run_on_all(miss_last);
        /* One that left while others wait for it would end the job. */
        EXPECT_OK(jd_wait_at_barrier("gave up", 60, NULL, 0));
    } else if (strcmp(argv[1], "beliefs") == 0) {
        run_on_all(disagree);
        run_on_all(agree);
    } else if (strcmp(argv[1], "late") == 0) {
        come_late();
    } else {
        run_on_all(be_cancelled);
    }
    if (jd_shutdown() != JD_OK)
        return 1;
    return 0;
}
