/* SPDX-License-Identifier: BSD-3-Clause */
/* recorder.c - what this process calls of jd. */
#include "runtime/recorder/recorder.h"
#include "base/clock.h"
#include "base/text.h"
#include "runtime/recorder/host_rings.h"
#include "runtime/recorder/modules.h"
#include "runtime/recorder/named_sites.h"
#include "runtime/recorder/own_ranges.h"
#include "runtime/recorder/probes.h"
#include "runtime/topology/host.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_GPUS = 4 }; /* of a process, that a sentence tells of */

/* Until the host's memory is there, and where there is none. */
static struct jd_ring own;

static struct {
    struct jd_ring *_Atomic ring; /* NULL: off */
    atomic_bool traces;
    struct jd_host_rings shared;
    /* Where the texts of operations are, by the place of each in ring->names.
     */
    _Atomic(const char *) operations[JD_RING_NAMES];
    /* In which the last call's caller was. */
    const struct jd_ring_module *_Atomic module;
    pthread_mutex_t lock; /* of what is added to communicators, and of shared */
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The call that the thread is in. Its flags begin anew with each in one store:
 * a waits_since that is cleared too costs a nanosecond. */
static _Thread_local struct {
    uint64_t number; /* 0: none, or it is not recorded */
    bool is_timed;
    bool is_met;     /* all members have come */
    bool has_waited; /* and who of them came last is noted */
    bool is_waiting; /* now, since then, */
    double waits_since;
    double one_since; /* and from when on it is for one alone; 0: not yet */
} current __attribute__((tls_model("initial-exec")));

static struct jd_ring *get_ring(void)
{
    return atomic_load_explicit(&state.ring, memory_order_acquire);
}

/* ---- settings ----------------------------------------------------------- */

/* What was recorded before it was off, or on. */
static void forget_ring(void)
{
    memset((void *)&own, 0, sizeof own);
    atomic_store(&state.module, NULL);
    for (int i = 0; i < JD_RING_NAMES; i++)
        atomic_store(&state.operations[i], NULL);
}

void jd__recorder_configure(bool is_on, bool traces)
{
    char boot_id[40];
    atomic_store(&state.traces, is_on && traces);
    jd__own_ranges_begin_world();
    if (get_ring())
        jd__clock_samples_forget(get_ring());
    if (is_on == (get_ring() != NULL))
        return;
    jd__host_boot_id(boot_id, sizeof boot_id);
    if (jd__ring_is_valid(&own))
        forget_ring();
    jd__ring_init(&own, getpid(), boot_id);
    atomic_store(&state.ring, is_on ? &own : NULL);
}

/* A place of the texts that are looked up is the same in both. Whoever used a
 * communicator knows its old place. */
static void move_to(struct jd_ring *ring)
{
    struct jd_ring *before = get_ring();
    jd__ring_copy(ring, before);
    for (int i = 0; i < JD_RING_COMMS; i++)
        atomic_store(&ring->comms[i].users, 0);
    atomic_store(&state.module, NULL);
    atomic_store(&state.ring, ring);
}

jd_status jd__recorder_share(const struct jd_host_group *group)
{
    struct jd_host_rings before, shared;
    jd_status status = jd__host_rings_open(group, &shared);
    struct jd_ring *ring = shared.rings ? &shared.rings[group->index] : &own;
    if (get_ring() && get_ring() != ring)
        move_to(ring);
    pthread_mutex_lock(&state.lock);
    before = state.shared;
    state.shared = shared;
    pthread_mutex_unlock(&state.lock);
    jd__host_rings_close(&before);
    return status;
}

void jd__recorder_set_process(int process)
{
    struct jd_ring *ring = get_ring();
    if (ring)
        atomic_store(&ring->process, process);
}

void jd__recorder_step(const char *step)
{
    struct jd_ring *ring = get_ring();
    if (ring)
        snprintf(ring->step, sizeof ring->step, "%s", step);
}

/* ---- names -------------------------------------------------------------- */

static unsigned hash_of(const char *operation)
{
    uint64_t spread =
        (uint64_t)(uintptr_t)operation * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(spread >> 57) % JD_RING_NAMES;
}

/* Whether the place is the operation's, or has just become it. Without a lock:
 * a collective has none. Another process may read the text a moment before it
 * is there. */
static bool take_place(struct jd_ring *ring, unsigned place,
                       const char *operation)
{
    const char *there = NULL;
    if (!atomic_compare_exchange_strong(&state.operations[place], &there,
                                        operation))
        return there == operation;
    strncpy(ring->names[place], operation, sizeof ring->names[place] - 1);
    return true;
}

static __attribute__((cold, noinline)) unsigned
add_name(struct jd_ring *ring, const char *operation)
{
    unsigned place = hash_of(operation);
    for (unsigned tries = 1; tries < JD_RING_NAMES; tries++) {
        if (take_place(ring, place, operation))
            break;
        place = (place + 1) % JD_RING_NAMES;
    }
    return place;
}

static unsigned find_name(struct jd_ring *ring, const char *operation)
{
    unsigned place = hash_of(operation);
    const char *there =
        atomic_load_explicit(&state.operations[place], memory_order_acquire);
    return there == operation ? place : add_name(ring, operation);
}

/* ---- communicators ------------------------------------------------------ */

static bool is_of(const struct jd_ring_comm *comm, uint64_t id, int member)
{
    return atomic_load_explicit(&comm->id, memory_order_relaxed) == id &&
           atomic_load_explicit(&comm->member, memory_order_relaxed) == member;
}

/* Its own place, else a new one, else the first that nobody uses any more. */
static struct jd_ring_comm *find_place(struct jd_ring *ring, uint64_t id,
                                       int member)
{
    struct jd_ring_comm *best = NULL;
    for (int i = 0; i < JD_RING_COMMS; i++) {
        struct jd_ring_comm *comm = &ring->comms[i];
        if (is_of(comm, id, member))
            return comm;
        bool is_new = !atomic_load(&comm->id);
        bool is_best_new = best && !atomic_load(&best->id);
        if (!atomic_load(&comm->users) && (!best || (is_new && !is_best_new)))
            best = comm;
    }
    return best;
}

static void begin_comm(struct jd_ring_comm *comm, uint64_t id, int member,
                       int size, const char *text)
{
    atomic_store(&comm->id, 0);
    atomic_store(&comm->calls, 0);
    atomic_store(&comm->transfers, 0);
    atomic_store(&comm->member, member);
    comm->size = size;
    snprintf(comm->text, sizeof comm->text, "%s", text);
    atomic_store(&comm->id, id);
}

struct jd_ring_comm *jd__recorder_comm_get(uint64_t id, int member, int size,
                                           const char *text)
{
    struct jd_ring *ring = get_ring();
    if (!ring)
        return NULL;
    pthread_mutex_lock(&state.lock);
    struct jd_ring_comm *comm = find_place(ring, id, member);
    if (comm && atomic_fetch_add(&comm->users, 1) == 0)
        begin_comm(comm, id, member, size, text);
    pthread_mutex_unlock(&state.lock);
    return comm;
}

/* Those of an earlier world may be in memory that is no more. */
static bool is_in(const struct jd_ring *ring, const struct jd_ring_comm *comm)
{
    return ring && comm >= ring->comms && comm < ring->comms + JD_RING_COMMS;
}

void jd__recorder_comm_put(struct jd_ring_comm *comm)
{
    pthread_mutex_lock(&state.lock);
    if (is_in(get_ring(), comm) && atomic_load(&comm->users))
        atomic_fetch_sub(&comm->users, 1);
    pthread_mutex_unlock(&state.lock);
}

/* ---- calls -------------------------------------------------------------- */

static __attribute__((cold, noinline)) uint64_t
note_new_site(struct jd_ring *ring, const void *address)
{
    uint64_t at = (uint64_t)(uintptr_t)address;
    if (jd__named_sites_has(at))
        return jd__named_sites_note(ring, at);
    atomic_store_explicit(&state.module, jd__modules_note(ring, address),
                          memory_order_release);
    return at;
}

/* What others need to say the place in words. Returns: where they find it. */
static uint64_t note_site(struct jd_ring *ring, const void *address)
{
    const struct jd_ring_module *module =
        atomic_load_explicit(&state.module, memory_order_acquire);
    uint64_t at = (uint64_t)(uintptr_t)address;
    if (module && at < module->end &&
        at >= atomic_load_explicit(&module->begin, memory_order_relaxed))
        return at;
    return address ? note_new_site(ring, address) : 0;
}

/* Only its own thread counts: one thread at a time is in a communicator. */
static uint64_t count_one(_Atomic uint64_t *number)
{
    uint64_t counted = 1 + atomic_load_explicit(number, memory_order_relaxed);
    atomic_store_explicit(number, counted, memory_order_release);
    return counted;
}

static void write_call(struct jd_ring *ring, uint64_t number,
                       const struct jd_recorder_call *call)
{
    const void *caller = jd__progress_thread.caller;
    struct jd_ring_comm *comm = call->comm;
    struct jd_ring_call written = {
        .number = number,
        .site = note_site(ring, caller),
        .count = call->count,
        .rest = call->rest,
        .name = (uint16_t)find_name(ring, call->operation),
        .dtype = call->dtype,
        .member = -1,
    };
    if (comm) {
        written.comm = atomic_load_explicit(&comm->id, memory_order_relaxed);
        written.member =
            atomic_load_explicit(&comm->member, memory_order_relaxed);
        written.sequence = count_one(&comm->calls);
        if (call->is_transfer)
            count_one(&comm->transfers);
    }
    jd__ring_write(ring, &written);
    JD_PROBE_ENTER(number, call->operation, comm ? comm->text : "",
                   written.sequence, call->count, caller);
}

static void set_times(double came, double met, double left, int last)
{
    struct jd_ring_call call = { .number = current.number,
                                 .came = came,
                                 .met = met,
                                 .left = left,
                                 .last = last };
    current.is_timed = true;
    jd__ring_set_times(get_ring(), &call);
}

void jd__recorder_enter(const struct jd_recorder_call *call)
{
    uint64_t number = jd__progress_enter(call->operation);
    struct jd_ring *ring = get_ring();
    if (!number || !ring)
        return;
    write_call(ring, number, call);
    current.number = number;
    current.is_timed = current.is_met = false;
    current.has_waited = current.is_waiting = false;
    if (atomic_load_explicit(&state.traces, memory_order_relaxed))
        set_times(jd__clock_now(), 0, 0, -1);
}

/* Its place in the ring of now, which another call may have by now. */
static struct jd_ring_entry *current_entry(void)
{
    struct jd_ring *ring = get_ring();
    return current.number && ring ? jd__ring_entry(ring, current.number) : NULL;
}

void jd__recorder_met(void)
{
    struct jd_ring_entry *entry = current_entry();
    current.is_met = true;
    if (!entry)
        return;
    jd__ring_set_state(entry, current.number, JD_CALL_MET, JD_OK);
    JD_PROBE_MET(current.number);
}

jd_status jd__recorder_leave(jd_status status)
{
    if (!jd__progress_leave())
        return status;
    struct jd_ring_entry *entry = current_entry();
    jd__progress_thread.caller = NULL;
    if (entry) {
        jd__ring_set_state(entry, current.number, JD_CALL_DONE, status);
        JD_PROBE_LEAVE(current.number, status);
        jd__ring_prefetch_next(entry);
        if (current.is_timed)
            set_times(0, 0, jd__clock_now(), -1);
    }
    current.number = 0;
    return status;
}

void jd__recorder_wait_begins(double now)
{
    if (!current.number)
        return;
    current.is_waiting = true;
    current.waits_since = now;
    current.one_since = 0;
    if (!current.is_timed)
        set_times(now, 0, 0, -1);
}

void jd__recorder_wait_is_for_one(void)
{
    if (current.is_waiting && current.one_since <= 0)
        current.one_since = jd__clock_now();
}

/* While several were missing, it was nobody's alone. Of a call that has waited
 * several times each wait is for somebody of its own. */
static void note_wait(int process, double now)
{
    struct jd_ring *ring = get_ring();
    struct jd_ring_call call;
    double one_since = current.one_since > 0 ? current.one_since : now;
    if (current.is_waiting && process != atomic_load(&ring->process) &&
        jd__ring_read(ring, current.number, &call))
        jd__waits_note(process, &call, now - one_since,
                       now - current.waits_since);
    current.is_waiting = false;
}

void jd__recorder_wait_ends(int process)
{
    if (!current.number || !current.is_timed)
        return;
    double now = jd__clock_now();
    if (!current.is_met || !current.has_waited)
        set_times(0, now, 0, process);
    current.has_waited = true;
    note_wait(process, now);
}

int jd__recorder_take_waits(struct jd_waited worst[JD_WAITED_MOST],
                            double *ret_all)
{
    const struct jd_ring *ring = get_ring();
    *ret_all = 0;
    return ring ? jd__waits_take(ring, worst, ret_all) : 0;
}

bool jd__recorder_describe_wait(uint64_t site, char text[JD_WAIT_TEXT])
{
    const struct jd_ring *ring = get_ring();
    return ring && jd__waits_describe(ring, site, text);
}

/* ---- GPUs ---------------------------------------------------------------- */

uint64_t jd__recorder_queue(int lane)
{
    if (current.number)
        jd__ring_set_lane(get_ring(), current.number, lane);
    return current.number;
}

void jd__recorder_set_lane(int lane, uint64_t word)
{
    struct jd_ring *ring = get_ring();
    if (ring)
        atomic_store(&ring->lanes[lane - 1], word);
}

/* ---- clocks -------------------------------------------------------------- */

void jd__recorder_note_clock(const struct jd_clock_sample *sample)
{
    struct jd_ring *ring = get_ring();
    if (ring)
        jd__clock_samples_note(ring, sample);
}

/* ---- the program's own ranges ------------------------------------------- */

jd_status jd__recorder_begin_range(const char *name)
{
    return jd__own_ranges_begin(get_ring(), name);
}

jd_status jd__recorder_end_range(void)
{
    return jd__own_ranges_end(get_ring());
}

/* ---- what others did ---------------------------------------------------- */

const struct jd_ring *jd__recorder_own(void)
{
    return get_ring();
}

struct jd_host_rings jd__recorder_host_rings(void)
{
    pthread_mutex_lock(&state.lock);
    struct jd_host_rings shared = state.shared;
    pthread_mutex_unlock(&state.lock);
    return shared;
}

const struct jd_ring *jd__recorder_ring_of(int process)
{
    struct jd_host_rings shared = jd__recorder_host_rings();
    for (int i = 0; i < shared.count; i++) {
        const struct jd_ring *ring = &shared.rings[i];
        if (jd__ring_is_valid(ring) && atomic_load(&ring->process) == process)
            return ring;
    }
    return NULL;
}

static void print_state(FILE *out, const struct jd_ring_call *call)
{
    if (call->state != JD_CALL_DONE)
        fputs("was in ", out);
    else if (call->status == JD_OK)
        fputs("had returned from ", out);
    else
        fprintf(out, "had returned with %s from ",
                jd_status_name((jd_status)call->status));
}

static void print_gpu_state(FILE *out, const struct jd_ring_call *call)
{
    if (call->gpu == JD_GPU_QUEUED)
        fputs(", which its GPU has not begun", out);
    else if (call->gpu == JD_GPU_STARTED)
        fputs(", which its GPU is in", out);
}

/* What GPUs are in, apart from the call that was told. */
static void print_gpus(FILE *out, const struct jd_ring *ring, uint64_t told)
{
    struct jd_ring_call call;
    int printed = 0;
    for (int lane = 1; lane <= JD_RING_LANES && printed < MAX_GPUS; lane++) {
        uint64_t number = jd__ring_gpu_call(ring, lane);
        if (number == told || !jd__ring_read(ring, number, &call))
            continue;
        fputs(printed++ ? ", another in " : "; its GPU is in ", out);
        jd__ring_print(out, ring, &call);
    }
}

/* In words, malloc'ed; NULL where it is not there. */
static char *describe_call(const struct jd_ring *ring, uint64_t number,
                           bool says_state)
{
    struct jd_ring_call call;
    struct jd_text text;
    if (!ring || !jd__ring_read(ring, number, &call))
        return NULL;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    if (says_state)
        print_state(out, &call);
    jd__ring_print(out, ring, &call);
    if (says_state) {
        print_gpu_state(out, &call);
        print_gpus(out, ring, number);
    }
    return jd__text_end(&text);
}

char *jd__recorder_last_call(int process)
{
    const struct jd_ring *ring = jd__recorder_ring_of(process);
    return describe_call(ring, ring ? jd__ring_last(ring) : 0, true);
}

uint64_t jd__recorder_current_call(void)
{
    return current.number;
}

uint64_t jd__recorder_current_comm(void)
{
    struct jd_ring_call call;
    struct jd_ring *ring = get_ring();
    if (!ring || !current.number || !jd__ring_read(ring, current.number, &call))
        return 0;
    return call.comm;
}

char *jd__recorder_own_call(uint64_t number)
{
    return describe_call(get_ring(), number, false);
}
