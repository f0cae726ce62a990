/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint.h - the two parts of `jd-bench checkpoint`: the parent,
 * which starts the job and prints, and the job (checkpoint_job.c).
 */
#ifndef BENCH_CHECKPOINT_CHECKPOINT_H
#define BENCH_CHECKPOINT_CHECKPOINT_H

#include <stddef.h>

/* What is timed, in the order of a round. */
enum checkpoint_step {
    CHECKPOINT_SAVE,     /* jd_array_save */
    CHECKPOINT_DD_WRITE, /* dd conv=fsync */
    CHECKPOINT_RESTORE,  /* jd_array_restore of files that are not in memory */
    CHECKPOINT_DD_READ,
    CHECKPOINT_STEPS
};

struct checkpoint_request {
    const char *dir; /* the job's own, which is there */
    size_t bytes;    /* whole MiB */
    int rounds;
};

/* One process of a job; an exit status. */
int checkpoint_job(const struct checkpoint_request *request);

#endif
