/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * traced_pool.h - traces of any jobs, as they are read; one job is then taken
 * out of them (traced_job.c).
 */
#ifndef TOOLS_JD_TRACE_TRACED_POOL_H
#define TOOLS_JD_TRACE_TRACED_POOL_H

#include "tools/jd-trace/traced.h"

struct traced_pool {
    struct traced_process *processes;
    int count, room;
    int num_warnings, num_files;
};

/* A trace that is in memory already. NULL where it is none, or there is no
 * memory: a warning says why. It stands until the next is added. */
struct traced_process *traced_pool_add(struct traced_pool *pool,
                                       const char *name, const uint8_t *bytes,
                                       size_t size, struct text_set *texts);

/* A line on standard error; of very many only the first are printed. why NULL:
 * there is no memory. */
void traced_pool_warn(struct traced_pool *pool, const char *what,
                      const char *why);

/* What the processes of the job that runs there have called so far, those that
 * can be asked. False where there is nothing to show: a line on standard error
 * says why. */
bool traced_live_read(struct traced_pool *pool, struct traced_job *job,
                      const char *address);

#endif
