/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * failure_report.h - this process's own failures, told to the service before
 * they end it, so that all others hear at once what it was.
 *
 *     jd__failure_report_open(client);       jd_initialize
 *     ...
 *     if (jd__failure_report_check(text, &told))      JD_CHECK, jd_abort, exit
 *         ... the others know ...
 *     ...
 *     jd__failure_report_close();                  jd_shutdown
 *
 * Nothing here takes the runtime's lock: a process may fail on any thread and
 * in the middle of jd_initialize. In a world of one, in a forked child and
 * where the service cannot be asked there is nobody to tell.
 * Threads: any; open and close on one.
 */
#ifndef RUNTIME_COORDINATION_FAILURE_FAILURE_REPORT_H
#define RUNTIME_COORDINATION_FAILURE_FAILURE_REPORT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jd_client;

/* From here on failures are told to this service. */
void jd__failure_report_open(struct jd_client *client);

/* Not any more; waits for those that are just being told, at most three
 * seconds. */
void jd__failure_report_close(void);

/* What the service answers to a JD_CHECK. */
struct jd_report_answer {
    bool prints;    /* this process prints the sentence */
    int *processes; /* of all that said the same, sorted; free() it */
    size_t num_processes;
};

/*
 * These return within 1.75 s, and whether all others have been told by then.
 * Of a check, an exit and a jd_initialize() that fails after all have met they
 * first stay for a moment, to see whether it is
 * another process's failure that this one has run into: then that ends it.
 */
bool jd__failure_report_check(jd_status status, const char *text,
                              struct jd_report_answer *ret_told);
bool jd__failure_report_start(jd_status status, const char *text);
bool jd__failure_report_abort(int code, const char *why);
void jd__failure_report_exit(int code);

/* jd_report_error(): this process goes on. JD_OK where there is nobody to tell;
 * else as a call of the service returns. */
jd_status jd__failure_report_error(jd_status error, const char *text);
/* A callback is set: process 0 stays for what it does. Does not block. */
void jd__failure_report_armed(void);

/* Who is waited for: a process, and which member of a communicator it is. */
struct jd_wait_end {
    int process, member;
    bool receives; /* a message of it, that has not been counted yet */
};

/* The service is told of so many at most. */
enum { JD_WAIT_NAMED = 16 };

/* A wait of this process for others that lasts. */
struct jd_blocked_wait {
    uint64_t number; /* of the wait, of jd__failure_report_number */
    const char *operation, *detail; /* "jd_psum", " over axis \"x\"" or NULL */
    const int *processes;           /* those that have not come, sorted */
    int count;
    const struct jd_wait_end *members; /* the same, where they are named */
    int num_members;
    const uint64_t *messages; /* of each process, as Blocked has them; NULL: it
                                 is for no messages */
    double waited;
    bool is_far, is_alone, is_transfer;
    const uint64_t *others; /* where it is alone: as Blocked has them */
    int num_others;
    uint64_t comm; /* as Blocked has it */
    uint64_t look; /* jd__failure_report_looks() before the processes were found
                      out */
};

/* Tells the service, which ends the job where the wait cannot end
 * (blocked.c). Does not block. */
void jd__failure_report_blocked(const struct jd_blocked_wait *wait);
/* What these processes do, as they say it now: "process 3 (train, pid 99 on
 * n1), last heard ...", malloc'ed; NULL where it cannot be had. Of many only
 * the first sixteen are asked. Blocks: some 0.2 s, at most one second. */
char *jd__failure_report_ask(const int *processes, int count);

/* Where that process's threads stand, for whom a wait that ends has waited:
 * "process 3 (train, pid 99 on n1):\n#0 ...\n", malloc'ed. NULL with JD_OK:
 * nobody can be asked, or another process that gives up is shown it.
 * Blocks: as long as a debugger takes there, some 6 seconds at most.
 * Returns: JD_OK; as jd__agent_call(), with the sentence, which says whose
 * stack it is not. The others go on when it has been told that this one has
 * shown it, whatever it was answered. Does not block. */
jd_status jd__failure_report_stack(int process, char **ret_text);
void jd__failure_report_stack_shown(int process);

/* For whom others wait in the end. */
#define JD_FOLLOWED 64
struct jd_followed {
    int processes[JD_FOLLOWED]; /* sorted */
    int count;
    struct jd_wait_end members[JD_FOLLOWED]; /* of them, where they are named */
    int num_members;
};

/* Those for whom the ones that this wait is for wait themselves, in the same
 * call; none where it cannot be had. Blocks: at most one second. */
void jd__failure_report_follow(const struct jd_blocked_wait *wait,
                               struct jd_followed *ret_followed);
/* Which processes have queued as many calls of a communicator (queued.h). */
struct jd_queued_answer {
    uint32_t *ranges; /* they, and those of whom it is not known: by twos, the
                         first and how many; free() them */
    size_t num_ranges;
    int num_unknown; /* processes, members or not */
    uint64_t fewest; /* calls of another one that has told of any; else 0 */
};

/* False where it cannot be had. Blocks: at most one second. */
bool jd__failure_report_queued(uint64_t comm, uint64_t calls,
                               struct jd_queued_answer *ret_answer);

/* For a wait that is told the first time. */
uint64_t jd__failure_report_number(void);

/* The last Look that has come: who waits tells again, for whom. */
uint64_t jd__failure_report_looks(void);
void jd__failure_report_on_look(uint64_t number);

/* A Look that asks how many messages this process has sent to another, from
 * the agent's thread. */
void jd__failure_report_sent(struct jd_client *client, uint64_t look,
                             int receiver);

#endif
