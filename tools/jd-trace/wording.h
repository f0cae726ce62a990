/* SPDX-License-Identifier: BSD-3-Clause */
/* wording.h - calls, processes and where they part ways, in words. Texts are
 * malloc'ed; NULL without memory. */
#ifndef TOOLS_JD_TRACE_WORDING_H
#define TOOLS_JD_TRACE_WORDING_H

#include "tools/jd-trace/groups.h"
#include "tools/jd-trace/partings.h"

/* "jd_psum of 1 x F64 at train.c:120 (step+0x4c)". */
void wording_print_call(FILE *out, const struct traced_job *job,
                        const struct traced_call *call);

/* "last call of jd: jd_kv_get at read.c:58, entered and not left"; and before
 * it, that it left. */
char *wording_of_process(const struct traced_job *job,
                         const struct traced_process *process);

/* How it ended; "" where it left, or that is not known. */
char *wording_of_end(const struct traced_process *process);

/* "axis "x", call 7". */
void wording_print_place(FILE *out, const struct traced_job *job,
                         const struct parting *parting);

/* What those that have come do there, and why the others have not. */
void wording_of_come(const struct traced_job *job,
                     const struct parting *parting, struct group_list *groups);
void wording_of_absent(const struct traced_job *job,
                       const struct parting *parting,
                       struct group_list *groups);

#endif
