/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * starting.h - what a start works on, and its steps, over which a watchdog
 * holds initialization_timeout.
 *
 *     struct jd_starting s = { .start = start, .begin = jd__clock_now() };
 *     ... s.runtime, s.env, its settings ...
 *     status = jd__starting_watch(&s);
 *     jd__starting_step(&s, JD_STARTING_GATHER);
 */
#ifndef RUNTIME_PROCESS_STARTING_H
#define RUNTIME_PROCESS_STARTING_H

#include "runtime/process/initialize.h"
#include "runtime/process/watchdog.h"
#include "runtime/process/world_way.h"
#include "runtime/topology/host.h"
#include "runtime/topology/records.h"

/* In their order; the last may be before those of MPI, too. */
enum jd_starting_step {
    JD_STARTING_DETECT,
    JD_STARTING_MPI_INIT,
    JD_STARTING_DUP,
    JD_STARTING_GATHER,
    JD_STARTING_ORDER,
    JD_STARTING_COORDINATE,
};

/* What a start works on; the runtime is what stays of it. */
struct jd_starting {
    const struct jd_start *start;
    struct jd_runtime *runtime;
    struct jd_env *env;
    struct jd_watchdog *watchdog;
    double begin; /* jd__clock_now() */
    enum jd_world_way way;
    struct jd_local_facts facts;
    struct jd_record *record;
    int most_devices; /* of one platform that this process may have */
    struct jd_records *records;
};

jd_status jd__starting_watch(struct jd_starting *s);

/* What the watchdog, and others after a failure, say that this process does. */
void jd__starting_step(struct jd_starting *s, enum jd_starting_step step);

/* A number of the launcher's, or another where it is not known. */
int jd__starting_number(const struct jd_cluster_number *number, int otherwise);
void jd__starting_set_number(struct jd_cluster_number *number, int value,
                             const char *source);

#endif
