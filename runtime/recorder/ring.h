/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring.h - the last calls of a process, in memory that another process can
 * read: while they are written, and after the writer has been killed.
 *
 *     jd__ring_init(ring, pid, "boot id");
 *     jd__ring_write(ring, &call);                        the process itself
 *     entry = jd__ring_entry(ring, call.number);
 *     jd__ring_set_state(entry, call.number, JD_CALL_DONE, JD_OK);
 *
 *     uint64_t last = jd__ring_last(ring);                anybody
 *     if (jd__ring_read(ring, last, &call))
 *         jd__ring_print(out, ring, &call);
 *
 * All that a reader needs is in the ring: texts, not pointers. A call is 64
 * bytes, written without lock and without clock; its times stand beside it,
 * and only where there are any.
 *
 * Threads: one thread writes one call; different calls at the same time. What
 * is looked up by text (names, modules, communicators) is added under a lock of
 * the writer's.
 */
#ifndef RUNTIME_RECORDER_RING_H
#define RUNTIME_RECORDER_RING_H

#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JD_RING_MAGIC "jd-ring" /* with its NUL, 8 bytes */

enum {
    JD_RING_VERSION = 6,
    JD_RING_CALLS = 4096,
    JD_RING_NAMES = 128,        /* of operations; a power of two */
    JD_RING_COMMS = 128,        /* that are told apart at a time */
    JD_RING_LANES = 64,         /* streams of GPUs, likewise */
    JD_RING_MODULES = 32,       /* programs and libraries that call */
    JD_RING_OWN_RANGES = 4096,  /* of the program; own_ranges.h */
    JD_RING_OWN_NAMES = 256,    /* of these; a power of two */
    JD_RING_OWN_BYTES = 64,     /* of such a name, with its NUL */
    JD_RING_CLOCKS = 64,        /* samples of another clock; clock_samples.h */
    JD_RING_NAMED_SITES = 1024, /* named_sites.h */
};

enum jd_call_state {
    JD_CALL_ENTERED, /* what it waits for has not come */
    JD_CALL_MET,     /* all members have, and agree */
    JD_CALL_DONE,    /* it has returned */
};

/* How far a GPU is with a call that returns when it is queued. */
enum jd_gpu_state {
    JD_GPU_NONE, /* it is not queued on one, or not known */
    JD_GPU_QUEUED,
    JD_GPU_STARTED,
    JD_GPU_DONE,
};

/* One call, as it is written and read. */
struct jd_ring_call {
    uint64_t number;   /* in its process, from 1 */
    uint64_t site;     /* the address that it returns to, or a named site's;
                        * 0: not known */
    uint64_t comm;     /* jd_ring_comm.id; 0: none */
    uint64_t sequence; /* in the communicator, from 1 */
    uint64_t count;
    uint64_t rest; /* what else members must have alike: a source, rows, the
                    * digest of a list */
    uint16_t name; /* its place in names */
    uint8_t dtype; /* jd_dtype; 0: none */
    uint8_t state; /* enum jd_call_state */
    uint8_t lane;  /* of a GPU that it is queued on, from 1; 0: none */
    uint8_t gpu;   /* enum jd_gpu_state, read only */
    int32_t member;
    int32_t status; /* of a call that is done */

    /* Where it was timed, seconds of the host's monotonic clock; else 0. */
    double came; /* it began to wait; with JD_TRACE=1, it began */
    double met;  /* what it waited for had come */
    double left;
    int32_t last; /* the process that came last; -1: not known */
};

/* A communicator, as one of its members sees it. */
struct jd_ring_comm {
    _Atomic uint64_t id;    /* the same on all members; 0: not in use */
    _Atomic uint64_t calls; /* begun so far, */
    _Atomic uint64_t transfers; /* of these, which not all members make */
    _Atomic int32_t member;
    _Atomic uint32_t users; /* 0: the next new one may have its place */
    int32_t size;
    char text[100]; /* "axis \"data\"" */
};

/* Where code lies: [begin, end) is mapped from path, at base. */
struct jd_ring_module {
    _Atomic uint64_t begin; /* 0: not in use; written last */
    uint64_t end, base;
    char path[232];
};

/* A call's words, as they lie in memory. */
struct jd_ring_entry {
    _Atomic uint64_t number; /* 0 while the rest is written */
    _Atomic uint64_t site, comm, sequence, count, rest;
    _Atomic uint64_t kind;  /* name, dtype, lane, member */
    _Atomic uint64_t state; /* state, status */
};

struct jd_ring_times {
    _Atomic uint64_t number; /* of the call that they are of */
    _Atomic uint64_t came, met, left;
    _Atomic int64_t last;
};

/* A name of the program's, in a place that follows from its text. */
struct jd_ring_own_name {
    _Atomic uint32_t size; /* with its NUL, written last; 0: not in use */
    char text[JD_RING_OWN_BYTES];
};

/* A range of the program's, as it lies in memory; nanoseconds. */
struct jd_ring_own_range {
    _Atomic uint64_t number;     /* 0 while the rest is written */
    _Atomic uint64_t begin, end; /* end 0: not ended */
    _Atomic uint64_t kind;       /* name, depth, thread */
};

/* A sample of process 0's clock, as it lies in memory; nanoseconds. */
struct jd_ring_clock {
    _Atomic uint64_t version; /* 0: none, or the rest is written */
    _Atomic int64_t at, offset, error;
};

/* A place that is a text: what stands under address 1 and so on. */
struct jd_ring_named_site {
    _Atomic uint32_t size; /* with its NUL, written last; 0: not in use */
    char text[124];
};

struct jd_ring {
    char magic[8];
    uint32_t version;
    _Atomic int32_t pid;
    _Atomic int32_t process; /* its index; -1: not known yet */
    uint32_t unused;
    char boot_id[40];
    char step[64]; /* of jd_initialize(), the last that began */
    char names[JD_RING_NAMES][40];
    struct jd_ring_comm comms[JD_RING_COMMS];
    struct jd_ring_module modules[JD_RING_MODULES];
    /* What the GPU does there last: jd__ring_lane_word(); 0: nothing yet. */
    _Atomic uint64_t lanes[JD_RING_LANES];
    _Alignas(64) struct jd_ring_entry entries[JD_RING_CALLS];
    struct jd_ring_times times[JD_RING_CALLS];
    _Atomic uint64_t own_count; /* of ranges written so far */
    _Atomic uint32_t own_threads;
    struct jd_ring_own_name own_names[JD_RING_OWN_NAMES];
    struct jd_ring_own_range own_ranges[JD_RING_OWN_RANGES];
    _Atomic uint64_t clock_version; /* of the last sample written */
    _Atomic uint32_t clock_newest;  /* its place */
    struct jd_ring_clock clocks[JD_RING_CLOCKS];
    struct jd_ring_named_site named_sites[JD_RING_NAMED_SITES];
};

/* Its calls that all members make: sends and receives are between two. These
 * are counted last and read first, so that there are never more of them. */
static inline uint64_t jd__ring_collectives(const struct jd_ring_comm *comm)
{
    uint64_t transfers = atomic_load(&comm->transfers);
    return atomic_load(&comm->calls) - transfers;
}

/* Of memory that is zero. */
void jd__ring_init(struct jd_ring *ring, int pid, const char *boot_id);

/* To memory that is zero, while nobody writes: of its pages only those are
 * written that something is in. */
void jd__ring_copy(struct jd_ring *to, const struct jd_ring *from);

/* Whether this is one that this version can read. */
bool jd__ring_is_valid(const struct jd_ring *ring);

/* ---- to write ----------------------------------------------------------- */

static inline struct jd_ring_entry *jd__ring_entry(struct jd_ring *ring,
                                                   uint64_t number)
{
    return &ring->entries[number % JD_RING_CALLS];
}

/* The place of the next call: its members wait for a store that is behind those
 * of the recorder, and a line that has to come from afar would hold them all
 * up. Behind the last place there are times, which that does no harm. */
static inline void jd__ring_prefetch_next(const struct jd_ring_entry *entry)
{
    __builtin_prefetch(entry + 1, 1);
}

/* Whether a newer one has the place by now, as the thread was held up since it
 * had its number. */
static inline bool jd__ring_is_late(const _Atomic uint64_t *there,
                                    uint64_t number)
{
    return atomic_load_explicit(there, memory_order_relaxed) > number;
}

/* Becomes the newest call, in place of one that is JD_RING_CALLS older; nothing
 * where a thread was held up for so many calls of others that a newer one has
 * its place. Its state is JD_CALL_ENTERED; its times are not written. */
static inline void jd__ring_write(struct jd_ring *ring,
                                  const struct jd_ring_call *call)
{
    struct jd_ring_entry *entry = jd__ring_entry(ring, call->number);
    const memory_order order = memory_order_release; /* after the 0 */
    if (jd__ring_is_late(&entry->number, call->number))
        return;
    atomic_store_explicit(&entry->number, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->site, call->site, order);
    atomic_store_explicit(&entry->comm, call->comm, order);
    atomic_store_explicit(&entry->sequence, call->sequence, order);
    atomic_store_explicit(&entry->count, call->count, order);
    atomic_store_explicit(&entry->rest, call->rest, order);
    atomic_store_explicit(&entry->kind,
                          call->name | (uint64_t)call->dtype << 16 |
                              (uint64_t)(uint32_t)call->member << 32,
                          order);
    atomic_store_explicit(&entry->state, JD_CALL_ENTERED, order);
    atomic_store_explicit(&entry->number, call->number, order);
}

/* Of a call that the thread has written there; nothing where a newer one has
 * its place by now. */
static inline void jd__ring_set_state(struct jd_ring_entry *entry,
                                      uint64_t number, enum jd_call_state state,
                                      jd_status status)
{
    if (atomic_load_explicit(&entry->number, memory_order_relaxed) == number)
        atomic_store_explicit(&entry->state,
                              (uint64_t)state | (uint64_t)status << 32,
                              memory_order_release);
}

/* Of a call that the thread has written: it is queued there. */
static inline void jd__ring_set_lane(struct jd_ring *ring, uint64_t number,
                                     int lane)
{
    struct jd_ring_entry *entry = jd__ring_entry(ring, number);
    uint64_t kind = atomic_load_explicit(&entry->kind, memory_order_relaxed);
    if (atomic_load_explicit(&entry->number, memory_order_relaxed) == number)
        atomic_store_explicit(&entry->kind,
                              (kind & ~(UINT64_C(0xff) << 24)) | (uint64_t)lane
                                                                     << 24,
                              memory_order_release);
}

/* What is not known is 0, and last -1; a later one replaces what it knows.
 * Nothing where a newer call has the place. */
void jd__ring_set_times(struct jd_ring *ring, const struct jd_ring_call *call);

/* ---- to read ------------------------------------------------------------ */

/* The number of the newest call; 0: none. */
uint64_t jd__ring_last(const struct jd_ring *ring);

/* False where the call was never written, is being written, or has been
 * replaced: what is read is never of two. */
bool jd__ring_read(const struct jd_ring *ring, uint64_t number,
                   struct jd_ring_call *ret_call);

/*
 * A GPU has begun that call's work on a lane, or has done it. serial: how often
 * it has begun any there: a call may have several pieces.
 */
static inline uint64_t jd__ring_lane_word(uint64_t number, unsigned serial,
                                          bool is_done)
{
    return number << 16 | (uint64_t)(serial & 0x7fff) << 1 | is_done;
}

/* The call that a GPU is in; 0: none. */
static inline uint64_t jd__ring_lane_call(uint64_t word)
{
    return word & 1 ? 0 : word >> 16;
}

/* Of no call it is said that the GPU is in it, or has not begun it. */
#define JD_RING_LANE_UNKNOWN UINT64_MAX

/* The call that the GPU is in on that lane; 0: none, or it is not known. */
uint64_t jd__ring_gpu_call(const struct jd_ring *ring, int lane);

/* The communicator of that id; NULL: its place was given to another. */
const struct jd_ring_comm *jd__ring_find_comm(const struct jd_ring *ring,
                                              uint64_t id);

/* The module that has code at the address; NULL: not known. */
const struct jd_ring_module *jd__ring_find_module(const struct jd_ring *ring,
                                                  uint64_t address);

/* "jd_psum of 1 x F64 over axis \"x\" (call 7 there), called at train+0x4c1".
 */
void jd__ring_print(FILE *out, const struct jd_ring *ring,
                    const struct jd_ring_call *call);

#endif
