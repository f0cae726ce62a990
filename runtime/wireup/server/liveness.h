/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * liveness.h - which of the host's processes are there. Each connects to a Unix
 * socket, says its process index (a little-endian uint32) and keeps the
 * connection; it is gone at the end of file, or when its pidfd says so (a
 * forked child may hold the connection longer).
 *
 *     life_create(&spec, &life);
 *     switch (life_wait(life, deadline)) { ... }
 *     life_kill(life, false);
 *
 * The sockets belong to the loop's thread. Threads: any, where nothing else is
 * said. A life is there until the program ends.
 */
#ifndef RUNTIME_WIREUP_SERVER_LIVENESS_H
#define RUNTIME_WIREUP_SERVER_LIVENESS_H

#include "runtime/coordination/net/loop.h"

#include <stdint.h>
#include <stdio.h>

/* For processes to end by themselves, with their last words, after the job has
 * failed or the server was killed. Then they get SIGKILL. */
#define LIFE_GRACE_SECONDS 4

struct life;

struct life_spec {
    struct jd_loop *loop;
    const char *path; /* of the socket */
    const uint32_t *processes;
    size_t count;
    int roll; /* who comes and goes is written here, for the keeper */
};

/* What stands on the roll. */
struct life_note {
    int32_t pid;
    int32_t is_there;
};

/* Listens at once. Before the loop starts. Returns JD_OK; RESOURCE_EXHAUSTED
 * naming the call that failed. */
jd_status life_create(const struct life_spec *spec, struct life **ret_life);

/* The process has finalised PMIx: it no longer needs the server. */
void life_note_finalized(struct life *life, uint32_t process);

enum life_news {
    LIFE_ALL_GONE, /* every process has come and gone */
    LIFE_ABSENT,   /* some have not come within the deadline */
    LIFE_LOST,     /* life_end was called: the service is gone */
    LIFE_FAILED,   /* life_end was called: the job has failed */
};

/* The job ends. Only the first call counts. */
void life_end(struct life *life, enum life_news why);

/* Waits for news. The deadline, a jd__clock_now(), is for the processes that
 * have not come; when all have, there is none. */
enum life_news life_wait(struct life *life, double deadline);

/* Waits until nobody is there, at most until the deadline (INFINITY: none).
 * Returns how many are. */
size_t life_wait_for_nobody(struct life *life, double deadline);

/* Ends with SIGKILL those that are there; spare_finalized: but not those that
 * have finalised PMIx. Returns how many that were. */
size_t life_kill(struct life *life, bool spare_finalized);

/* "processes 0,3", of those that have not come. */
void life_print_absent(FILE *out, struct life *life);
/* The same of those that are gone without having finalised PMIx; returns how
 * many have done so before they went. */
size_t life_print_unfinalized(FILE *out, struct life *life);
/* "process 3 (pid 77)". */
void life_print_process(FILE *out, struct life *life, uint32_t process);

#endif
