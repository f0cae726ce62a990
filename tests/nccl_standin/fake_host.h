/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_host.h - stands in for libjd where a test runs a file of the cuda
 * platform alone: the table that the module is given, one process of a job of
 * four, and its devices.
 *
 *     fake_host_start();
 *     ... jd__cuda_memory.alloc(fake_runtime(), fake_device(0), ...) ...
 */
#ifndef NCCL_STANDIN_FAKE_HOST_H
#define NCCL_STANDIN_FAKE_HOST_H

#include "collectives/cuda/host.h"
#include "runtime/process/runtime.h"

#include <stdatomic.h>

enum { FAKE_PROCESSES = 4 };

/* What a test sets, and sees. */
struct fake_host {
    double timeout;         /* seconds; of collectives (default 30) */
    atomic_bool is_ended;   /* the job has failed: waits return ABORTED */
    atomic_long turns;      /* make_progress was called */
    char log[1024];         /* the last line */
    void (*hook)(void);     /* of the job's failure */
    atomic_ullong number;   /* of the call that the recorder is in; 0: none */
    atomic_int lane;        /* that it was queued on last */
    atomic_ullong word;     /* that the recorder was told last */
    atomic_int aborts;      /* jd_abort was called; log has why */
    atomic_int waits;       /* that have begun and not ended */
    struct jd_platform_host table; /* may be changed before the start */
};
extern struct fake_host fake_host;

/* Gives the module the table, and enumerates and settles the stand-in's
 * devices; all that are visible are this process's. */
void fake_host_start(void);

/* Process 1 of the four. */
const struct jd_runtime *fake_runtime(void);

/* The device of that ordinal. */
const jd_device *fake_device(int ordinal);
int fake_device_count(void);

#endif
