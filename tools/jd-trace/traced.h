/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * traced.h - a job's traces in memory: one process each, its calls in 80
 * bytes each, in the order of their numbers, so that a job of 1,000 processes
 * with 4,096 calls takes some 330 MB.
 *
 *     struct traced_job job = { .count = 0 };
 *     if (traced_job_read(&job, paths, num_paths, NULL))
 *         ... job.processes[0] to job.processes[job.count - 1] ...
 *     traced_job_finish(&job);
 */
#ifndef TOOLS_JD_TRACE_TRACED_H
#define TOOLS_JD_TRACE_TRACED_H

#include "runtime/recorder/clock_samples.h"
#include "runtime/recorder/trace.h"
#include "runtime/recorder/trace_file.h"
#include "tools/jd-trace/text_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct traced_call {
    uint64_t number, sequence, count, rest;
    int64_t came, met, left; /* nanoseconds; 0: not known */
    uint32_t name, site;     /* their numbers in the job's texts */
    uint32_t comm;           /* its place in the process's and 1; 0: none */
    int32_t status, last;
    uint8_t dtype, state, gpu;
    bool is_fresh; /* it may go on at once: its process runs, and it has not
                    * waited for long when its trace was taken */
};

/* A range of the program's own. */
struct traced_own {
    int64_t begin, end; /* nanoseconds; end 0: not ended */
    uint32_t name, thread, depth;
};

struct traced_comm {
    uint64_t id;
    int32_t member, size;
    uint32_t text;
};

struct traced_process {
    char *path, *job, *host, *step, *end;
    char *clock; /* whose its times are */
    int index; /* -1: it had none yet */
    int processes, writer;
    uint32_t pid;
    int64_t written;
    struct timespec modified; /* the file */
    struct traced_comm *comms;
    struct traced_call *calls;
    struct traced_own *own; /* its own ranges */
    struct jd_clock_sample *samples; /* of process 0's clock */
    uint32_t num_comms, num_calls, num_own, num_samples;
};

struct traced_job {
    struct traced_process *processes; /* by their index, each there once */
    struct traced_process *unplaced;  /* those that have none */
    int count, num_unplaced;
    int num_processes; /* of the job, as far as it is known */
    const char *address; /* of one that runs; NULL: of files */
    struct text_set texts;
    struct text_set others; /* the other jobs whose files were there */
};

/* ---- one file ----------------------------------------------------------- */

/* False: why, malloc'ed, or NULL without memory. */
bool traced_process_read(struct traced_process *process, const char *path,
                         struct text_set *texts, char **ret_why);
/* The same of one that is in memory, which that name is for in sentences. */
bool traced_process_take(struct traced_process *process, const char *name,
                         const uint8_t *bytes, size_t size,
                         struct text_set *texts, char **ret_why);
void traced_process_finish(struct traced_process *process);

/* The call that says what the process did at its end: the newest that has not
 * returned, else the newest; NULL: it has called nothing. */
const struct traced_call *
traced_process_end(const struct traced_process *process);

/* Another process has written what this one did, as it could not. */
static inline bool traced_process_is_dead(const struct traced_process *process)
{
    return process->writer >= 0 && process->writer != process->index;
}

/* How long it waited, in vain too; seconds, 0: not known. */
static inline double traced_call_wait(const struct traced_call *call)
{
    int64_t end = !call->met && call->status != JD_OK ? call->left : call->met;
    double wait = (double)end - (double)call->came;
    return call->came && end && wait > 0 ? wait * 1e-9 : 0;
}

/* ---- a job -------------------------------------------------------------- */

/* Files and folders. Of several jobs the one of that id, or the newest. False
 * where there is nothing to show: a line on standard error says why. */
bool traced_job_read(struct traced_job *job, char *const *paths, int count,
                     const char *id);
/* The job whose coordination service is at the address, as it runs; that text
 * stays as long as the job. */
bool traced_job_ask(struct traced_job *job, const char *address);
void traced_job_finish(struct traced_job *job);

/* The process of that index; NULL: it has no file. */
const struct traced_process *traced_job_find(const struct traced_job *job,
                                             int index);

/* How many hosts, and how many clocks, the processes have. */
int traced_job_hosts(const struct traced_job *job);
int traced_job_clocks(const struct traced_job *job);

#endif
