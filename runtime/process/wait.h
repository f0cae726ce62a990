/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait.h - how jd waits for other processes: with a deadline, a name, and a
 * notice while it lasts; and the one loop that waits for MPI.
 *
 *     struct jd_wait wait = { .operation = "jd_psum", .timeout = 1800, ... };
 *     status = jd__wait_for_mpi(&wait, requests, ends, 2, NULL);
 *
 *     struct jd_wait_state state = jd__wait_start(&wait);
 *     while (status == JD_OK && !has_come())
 *         status = jd__wait_look(&wait, &state, find_missing, arg, 2);
 *     jd__wait_end(&state);
 *
 * A wait polls and yields between polls, and after some milliseconds sleeps
 * between them, a hundredth of its length: nobody has to wake it when a peer
 * dies. It then ends as soon as this process hears of it.
 */
#ifndef RUNTIME_PROCESS_WAIT_H
#define RUNTIME_PROCESS_WAIT_H

#include "base/status.h"
#include "runtime/coordination/failure/failure_report.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jd_topology;

/* Writes the processes that have not come, at most as many as the wait is for,
 * in any order, some perhaps twice; their number. */
typedef int (*jd_wait_missing_f)(void *arg, int *processes);

/* As many requests can tell how much came with them. */
#define JD_WAIT_CAME 2

/* What a wait is for, queued on the GPU of a member of a communicator. */
struct jd_wait_queue {
    uint64_t comm;        /* the recorder's number of it */
    int member;           /* the caller's number in it */
    const int *processes; /* of the others, some perhaps twice */
    int count;
};

/* Whom and what a wait is for; only read when the wait is long. */
struct jd_wait {
    const char *operation; /* "jd_psum" */
    const char *detail;    /* " over axis \"data\"", or NULL */
    double timeout;        /* seconds; negative: none */
    double notice;         /* seconds until the first notice; negative: none */
    const char *variable;  /* what changes the deadline */
    const struct jd_topology *topology;
    const int *processes; /* at the other ends; some may be there twice. Not
                           * of a wait for MPI, whose requests have ends */
    int self;             /* this process's index */

    /* It is for the other ends of sends and receives; and data between them
     * are under way by MPI, which takes as long as it takes. */
    bool is_transfer, is_moving;

    /* Becomes true where nobody needs the wait any more; NULL: never. */
    const atomic_bool *is_cancelled;

    /* The deadline of several waits one after the other counts from here, on
     * the clock; 0: each has its own, from its first look. */
    double begin;

    /* The same from the first look at any of them, which is written there in
     * place of 0, so that who need not look reads no clock; NULL: begin. */
    double *first_look;

    /* The clock, in seconds; NULL: the machine's (base/clock.h). */
    double (*clock)(void);

    /* Hears who is missing, sorted, where the wait lasts, at growing intervals
     * and before it ends at the deadline; NULL: nobody. */
    void (*on_missing)(void *arg, const int *processes, int count);
    void *arg;

    /* Those for whom the missing wait themselves, sorted: sentences name these
     * instead. */
    int *behind;
    int num_behind;

    /* It is for what is queued on GPUs of these communicators: of the missing
     * only those are named that have not queued as much, where there are any.
     * NULL: none. */
    const struct jd_wait_queue *queues;
    int num_queues;

    /* The call of this process that its GPU is in there, malloc'ed; NULL: none,
     * or it is not known. NULL: nobody knows. */
    char *(*describe_gpu)(void *gpu);
    void *gpu;

    /* What it is for is handed on from one to the next: those that are missing
     * may wait in the same call themselves. The service is asked for whom, and
     * sentences name these first. */
    bool is_handed_on;

    /* Sentences name this member of a communicator, and those that have not
     * come, by their numbers too: processes have several. Of a wait for MPI;
     * of another, where find_members is set and finds one. */
    bool names_members;
    int member; /* the caller's number */

    /* Writes those of the missing, with find_missing's arg, as many as it may;
     * their number, 0 where they are not to be named. NULL: never. */
    int (*find_members)(void *arg, struct jd_wait_end *members);
};

/* JD_OK; ABORTED where the job has failed, or the wait is cancelled. Threads:
 * any. */
jd_status jd__wait_check(const struct jd_wait *wait);

/* How far one wait is. */
struct jd_wait_state {
    double begin;       /* on the clock, the first look; negative: not yet */
    double before;      /* seconds that the waits before this one took */
    double next_notice; /* seconds of all of them; negative: never */
    /* Who is missing is certain: where it lasts, the service is told, and ends
     * the job where the wait cannot end. Set after jd__wait_start. */
    bool is_exact;
    uint64_t told; /* the number of the wait there; 0: not told yet */
    uint64_t look; /* the last of the service's that was answered */
    double next_tell;
    int num_ended; /* how often all that are missing had ended */
};

/* A wait that has not been looked at yet; does not read the clock. */
struct jd_wait_state jd__wait_start(const struct jd_wait *wait);

/* What it was for has come: the calling thread goes on, and others wait for it
 * in vain no more. */
void jd__wait_end(const struct jd_wait_state *state);

/*
 * What a wait of any kind does now and then: ends where the job has failed, or
 * where it is cancelled; prints a notice where it is time for one; ends at the
 * deadline, unless nobody is missing then; tells on_missing.
 * wait->processes has count entries.
 * Reads the clock: not to be called at each poll. Returns: JD_OK: go on;
 * DEADLINE_EXCEEDED naming the operation, the missing processes and what can be
 * seen of those on this host; ABORTED. Threads: any, each with a wait of its
 * own.
 */
jd_status jd__wait_look(const struct jd_wait *wait, struct jd_wait_state *state,
                        jd_wait_missing_f find_missing, void *arg, int count);

/*
 * Another process whose deadline was about the same has given up: so does this
 * one, in its own words, where most of its time is over.
 * Returns: JD_OK: it is not, or nobody is missing; DEADLINE_EXCEEDED as
 *   jd__wait_look.
 */
jd_status jd__wait_give_up(const struct jd_wait *wait,
                           const struct jd_wait_state *state,
                           jd_wait_missing_f find_missing, void *arg,
                           int count);

/* A wait for other threads of this process, as it is to be said. */
struct jd_wait_own {
    /* The text about it, malloc'ed; NULL without memory. */
    char *(*describe)(void *arg, double waited);
    void *arg;
    bool is_silent; /* another of the waiting threads gives the notices */
};

/*
 * The same of one whose missing are threads of this process, after so many
 * seconds: also tells the service where it lasts, as of one that is exact.
 * Returns: JD_OK: go on; DEADLINE_EXCEEDED with the text; ABORTED. Threads:
 * any, each with a wait of its own.
 */
jd_status jd__wait_look_own(const struct jd_wait *wait,
                            struct jd_wait_state *state, double waited,
                            const struct jd_wait_own *own);

/*
 * Tests the requests until all are complete, under jd__mpi_try_lock(). Each has
 * an end, a null one any that does not receive. What has come is counted
 * (message_count.h). ret_came: how many bytes came with each, 0 with one that
 * sends, of JD_WAIT_CAME requests at most, written on success; NULL: not asked.
 * Returns: as jd__wait_look, where the missing are those whose requests are
 *   open; INTERNAL when MPI fails. On failure the requests stay open (MPI
 *   cannot cancel a collective) and their buffers with MPI: the communicator
 *   must not be used again.
 */
jd_status jd__wait_for_mpi(const struct jd_wait *wait, MPI_Request *requests,
                           struct jd_wait_end *ends, int count, int *ret_came);

/* The same until one is complete, of any number; ret_index says which, -1 where
 * none was open, and ret_came how many bytes came with that one. */
jd_status jd__wait_for_any_mpi(const struct jd_wait *wait,
                               MPI_Request *requests, struct jd_wait_end *ends,
                               int count, int *ret_index, int *ret_came);

#endif
