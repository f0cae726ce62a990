/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * liveness.h - which of the host's processes are there. Each connects to a Unix
 * socket, says its process index (a little-endian uint32) and keeps the
 * connection; it is gone at the end of file, or when its pidfd says so (a
 * forked child may hold the connection longer).
 *
 *     liveness_create(&spec, &liveness);
 *     switch (liveness_wait(liveness, deadline)) { ... }
 *     liveness_kill(liveness, false);
 *
 * The sockets belong to the loop's thread. Threads: any, where nothing else is
 * said. It is there until the program ends.
 */
#ifndef RUNTIME_WIREUP_SERVER_LIVENESS_H
#define RUNTIME_WIREUP_SERVER_LIVENESS_H

#include "runtime/coordination/net/loop.h"

#include <stdint.h>
#include <stdio.h>

/* For processes to end by themselves, with their last words, after the job has
 * failed or the server was killed. Then they get SIGKILL. */
#define LIVENESS_GRACE_SECONDS 4

struct liveness;

struct liveness_spec {
    struct jd_loop *loop;
    const char *path; /* of the socket */
    const uint32_t *processes;
    size_t count;
    int pipe_fd; /* who comes and goes is written here, for the supervisor */
};

/* What is written there. */
struct liveness_note {
    int32_t pid;
    int32_t is_there;
};

/* Listens at once. Before the loop starts. Returns JD_OK; RESOURCE_EXHAUSTED
 * naming the call that failed. */
jd_status liveness_create(const struct liveness_spec *spec,
                          struct liveness **ret_liveness);

/* The process has finalised PMIx: it no longer needs the server. */
void liveness_note_finalized(struct liveness *liveness, uint32_t process);

enum liveness_outcome {
    LIVENESS_ALL_GONE, /* every process has come and gone */
    LIVENESS_ABSENT,   /* some have not come within the deadline */
    LIVENESS_LOST,     /* liveness_end was called: the service is gone */
    LIVENESS_FAILED,   /* liveness_end was called: the job has failed */
};

/* The job ends. Only the first call counts. */
void liveness_end(struct liveness *liveness, enum liveness_outcome why);

/* Waits until one of these is so. The deadline, a jd__clock_now(), is for the
 * processes that have not come; when all have, there is none. */
enum liveness_outcome liveness_wait(struct liveness *liveness, double deadline);

/* Waits until nobody is there, at most until the deadline (INFINITY: none).
 * Returns how many are. */
size_t liveness_wait_for_nobody(struct liveness *liveness, double deadline);

/* Ends with SIGKILL those that are there; spare_finalized: but not those that
 * have finalised PMIx. Returns how many that were. */
size_t liveness_kill(struct liveness *liveness, bool spare_finalized);

/* "processes 0,3", of those that have not come. */
void liveness_print_absent(FILE *out, struct liveness *liveness);
/* The same of those that are gone without having finalised PMIx; returns how
 * many have done so before they went. */
size_t liveness_print_unfinalized(FILE *out, struct liveness *liveness);
/* "process 3 (pid 77)". */
void liveness_print_process(FILE *out, struct liveness *liveness,
                            uint32_t process);

#endif
