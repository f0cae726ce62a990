/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * standing.h - whether this process can do anything that another waits for: a
 * thread of it that calls jd stands in a wait that others have been told of, or
 * waits for threads of this process alone, or may do something.
 *
 *     jd__standing_count_thread();           before its first operation
 *     jd__standing_count_own();              the same of a thread of jd's
 *
 *     jd__standing_in(wait, call);           in a wait, each time it is told
 *     ... jd__progress_leave()               ends it
 *
 *     jd__standing_rest();                   pthread_join() of those threads
 *     jd__standing_go_on();
 *
 * Threads: any. Blocks: a moment, for other threads in these calls.
 */
#ifndef BASE_STANDING_H
#define BASE_STANDING_H

#include <stdbool.h>
#include <stdint.h>

/* A process with more threads that wait is not looked at. */
#define JD_STANDING_MOST 16

/* Of one thread. */
struct jd_standing_thread {
    bool is_counted; /* among those that enter operations */
    bool is_own;     /* jd has started it, and hears of its end */
    int place;       /* its own among those that stand, from 1; 0: none */
};
extern _Thread_local struct jd_standing_thread jd__standing_thread
    __attribute__((tls_model("initial-exec")));

/* The calling thread is one of those that enter operations. One of the
 * program's stays one when it has ended: another like it may follow. */
void jd__standing_count_thread(void);
/* jd has started it, for a device: it is one until it ends. */
void jd__standing_count_own(void);
/* No other thread than the calling one is one of them: while it waits, this
 * process does nothing that others wait for. */
bool jd__standing_is_only_thread(void);

/* Of all threads that call jd, as seen by one that waits. */
struct jd_standing {
    bool is_whole;  /* each other one stands or rests */
    bool knows_all; /* jd__standing_know_all() */
    int count;      /* of the others that stand */
    int num_users;  /* and of these, with the calling one, the program's */
    uint64_t waits[JD_STANDING_MOST]; /* theirs */
};

/* The calling thread, one that enters operations, stands in the wait of that
 * number, not 0, and in no other. call: the number of its operation, or 0. */
void jd__standing_in(uint64_t wait, uint64_t call);

/* What the others do. Not whole where the calling thread enters no operations:
 * it waits for another then. */
void jd__standing_look(struct jd_standing *ret_standing);

/* Who stands now, and in which operations; how many. */
int jd__standing_list(uint64_t waits[JD_STANDING_MOST],
                      uint64_t calls[JD_STANDING_MOST]);

/* The calling thread does nothing until others of this process have done what
 * they are in, and goes on. */
void jd__standing_rest(void);
void jd__standing_go_on(void);

/* This program has its threads from jd_shard_map(): none is going to call jd
 * for a device that has not called it yet. Until a second thread of the
 * program's calls jd. */
void jd__standing_know_all(void);

/* It stands in none any more; for jd__progress_leave(). */
void jd__standing_end(void);

#endif
