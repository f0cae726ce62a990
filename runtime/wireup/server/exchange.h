/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exchange.h - each host's bytes to all hosts that take part. Each server puts
 * its own into the store, waits for those of the others, and has all of them in
 * the order of hosts:
 *
 *     "\0jd/wireup/fence/WHO/K/HOST"
 *
 * K counts the exchanges of these hosts, which come in the same order
 * everywhere. Who is in exchange K has left K - 1, whose keys are then deleted.
 */
#ifndef RUNTIME_WIREUP_SERVER_EXCHANGE_H
#define RUNTIME_WIREUP_SERVER_EXCHANGE_H

#include "runtime/wireup/server/serving.h"

enum { EXCHANGE_WHO = 48 };

struct host_exchange {
    const struct serving *serving;
    char who[EXCHANGE_WHO]; /* "all", "pmi", or a digest of the processes */
    uint64_t number;        /* 1, 2, 3, ... */
    double deadline;        /* a jd__clock_now(); INFINITY: none */
    size_t *hosts;          /* that take part, sorted; malloc'ed */
    size_t num_hosts;
    char *own; /* this host's bytes, malloc'ed, and how many */
    size_t own_size;
    struct jd_bytes all; /* empty; gets those of all hosts */
};

/*
 * Blocks until the bytes of all have come, or the deadline; not on the loop's
 * thread. Returns: JD_OK; DEADLINE_EXCEEDED; UNAVAILABLE where the job has
 *   failed or the service is gone; RESOURCE_EXHAUSTED where they are more than
 *   a message takes. Then all is empty.
 */
jd_status exchange_run(struct host_exchange *exchange);

/* Frees what the exchange has. */
void exchange_finish(struct host_exchange *exchange);

#endif
