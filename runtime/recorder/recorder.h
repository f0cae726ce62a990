/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recorder.h - what this process calls of jd, noted in its ring (ring.h) while
 * it happens, always: so that after a failure it can be said of each process,
 * also of one that was killed, in which call it was, and where in the program.
 *
 *     JD_NOTE_CALLER();                     the begin of the public call
 *     ...
 *     jd__recorder_enter(&(struct jd_recorder_call){ "jd_psum", comm, ... });
 *     ... all members have come ...
 *     jd__recorder_met();
 *     ...
 *     jd__recorder_leave(status);
 *
 * It is also what notes the process's progress (base/progress.h): a call within
 * a call is part of it. A call that does not wait costs a few nanoseconds and
 * reads no clock; where it waits for longer than its spin, the wait notes when
 * it began and ended, and for whom it was.
 *
 * The rings of a host's processes are one memory (host_rings.h), which each of
 * them can read.
 *
 * Threads: any, but where it says otherwise; a call is left by the thread that
 * entered it.
 */
#ifndef RUNTIME_RECORDER_RECORDER_H
#define RUNTIME_RECORDER_RECORDER_H

#include "base/progress.h"
#include "runtime/recorder/clock_samples.h"
#include "runtime/recorder/host_rings.h"
#include "runtime/recorder/ring.h"
#include "runtime/recorder/waits.h"
#include "runtime/topology/host_group.h"

struct jd_recorder_call {
    const char *operation;     /* a text that stays for ever */
    struct jd_ring_comm *comm; /* NULL: none, or the recorder is off */
    uint64_t count, rest;
    uint8_t dtype;    /* 0: none */
    bool is_transfer; /* a send or a receive: not of all members */
};

/* Where jd is initialised: JD_RECORDER and JD_TRACE. Off until then. One
 * thread; nobody is in a call. */
void jd__recorder_configure(bool is_on, bool traces);

/* From here on the calls, with those so far, are in memory that the host's
 * processes share, where that can be had. Collective over the group. Blocks:
 * until all have come; the watchdog of jd_initialize() ends that. One thread;
 * nobody is in a call. Returns: JD_OK; INTERNAL when MPI fails. */
jd_status jd__recorder_share(const struct jd_host_group *group);

/* This process's index, by which others find its ring. */
void jd__recorder_set_process(int process);

/* jd_initialize() has come to a step; a text. */
void jd__recorder_step(const char *step);

/* ---- communicators ------------------------------------------------------ */

/*
 * The communicator of that id as its member, for calls on it: the same one for
 * all who ask, and its calls are counted from 1 where nobody had it. text is
 * for sentences: "axis \"data\"". Each that is got is put once.
 * Returns: NULL where the recorder is off or too many are in use: its calls are
 * then of none.
 */
struct jd_ring_comm *jd__recorder_comm_get(uint64_t id, int member, int size,
                                           const char *text);
void jd__recorder_comm_put(struct jd_ring_comm *comm);

/* ---- calls -------------------------------------------------------------- */

void jd__recorder_enter(const struct jd_recorder_call *call);

/* All members of the call have come. */
void jd__recorder_met(void);

/* Passes the status on. */
jd_status jd__recorder_leave(jd_status status);

/* The thread's call has begun to wait, at this time of the clock. */
void jd__recorder_wait_begins(double now);

/* All others have come by now. */
void jd__recorder_wait_is_for_one(void);

/* What it waited for has come, the last from that process; -1: it is not known
 * from whom. When all members have come, what they hand on is nobody's coming:
 * who was the last to come stays. Reads the clock where a wait has begun, and
 * only there. */
void jd__recorder_wait_ends(int process);

/* The waits of calls that have ended since the last time, as jd__waits_take()
 * has them; none where the recorder is off. */
int jd__recorder_take_waits(struct jd_waited worst[JD_WAITED_MOST],
                            double *ret_all);

/* As jd__waits_describe(). Blocks: as that. */
bool jd__recorder_describe_wait(uint64_t site, char text[JD_WAIT_TEXT]);

/* ---- clocks -------------------------------------------------------------- */

/* What was learned of the clock of process 0's host; one thread. */
void jd__recorder_note_clock(const struct jd_clock_sample *sample);

/* ---- GPUs ---------------------------------------------------------------- */

/* The thread's call is queued on that lane, from 1. Its number, which the GPU
 * tells when it begins it and when it has done it (jd_ring.lanes); 0: it is not
 * recorded. */
uint64_t jd__recorder_queue(int lane);

/* What the GPU has told there last, other than 0. */
void jd__recorder_set_lane(int lane, uint64_t word);

/* ---- the program's own ranges ------------------------------------------- */

/* As jd_trace_begin() and jd_trace_end(), within a world. */
jd_status jd__recorder_begin_range(const char *name);
jd_status jd__recorder_end_range(void);

/* ---- what others did ---------------------------------------------------- */

/* This process's own; NULL where the recorder is off. */
const struct jd_ring *jd__recorder_own(void);

/* The rings of this host's processes, which may have ended; none where they
 * cannot be read here. They stay until the next jd__recorder_share(). */
struct jd_host_rings jd__recorder_host_rings(void);

/* The ring of a process of this host, which may have ended; NULL where it
 * cannot be read here. It stays until the next jd__recorder_share(). */
const struct jd_ring *jd__recorder_ring_of(int process);

/*
 * "was in jd_psum of 1 x F64 over axis "x" (call 7 there), called at
 * train+0x4c1", what the process called last, and behind it "; its GPU is in
 * ..." where that is another call, malloc'ed; NULL where it cannot be read
 * here, or has called nothing.
 */
char *jd__recorder_last_call(int process);

/* The number of the call that the calling thread is in, and the id of that
 * call's communicator; 0: it has none, or is not recorded. */
uint64_t jd__recorder_current_call(void);
uint64_t jd__recorder_current_comm(void);

/* A call of this process, by its number, without the words "was in", malloc'ed;
 * NULL where it is not recorded (any more). Blocks: as jd__site_in(). */
char *jd__recorder_own_call(uint64_t number);

#endif
